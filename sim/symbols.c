#include "sim/symbols.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calls.h"

#define HEX 32 /* digits of a GID */
#define NAME 64

#define MULTICAST 0xffffff /* the number of no queue pair, but of a group */

enum kind { DEVICE, CONTEXT, PD, QP, MR, AH, GID, LID };

/* Where a queue pair or an address handle leads, if to no rank. */
enum { UNKNOWN = -1, STRANGER = -2 };

/* One thing with a number. */
struct owner {
    enum kind kind;
    int rank, id;    /* id: the object's; of GID and LID the index, the port */
    int device;      /* that it is on, counted from 0 */
    uint64_t number; /* of a QP; the rkey of an MR; a LID */
    uint64_t address, length;
    int peer_rank;       /* of a QP or an AH: where it leads, or see above */
    int peer_device;     /* of an AH */
    char text[NAME];     /* a GID's digits; a device's name as written */
    char original[NAME]; /* ... as it was */
};

struct symbols {
    bool keep_names, keep_numbers;
    int strangers;
    struct owner *owners;
    size_t count, room;
};

struct symbols *symbols_new(bool keep_names)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols)
        symbols->keep_names = keep_names;
    return symbols;
}

void symbols_keep_numbers(struct symbols *symbols)
{
    symbols->keep_numbers = true;
}

int symbols_strangers(const struct symbols *symbols)
{
    return symbols->strangers;
}

void symbols_free(struct symbols *symbols)
{
    if (symbols)
        free(symbols->owners);
    free(symbols);
}

static struct owner *add_owner(struct symbols *symbols, enum kind kind,
                               int rank, int id, int device)
{
    struct owner *owner;
    if (symbols->count == symbols->room) {
        size_t room = symbols->room ? 2 * symbols->room : 64;
        struct owner *more =
            realloc(symbols->owners, room * sizeof *symbols->owners);
        if (!more)
            return NULL;
        symbols->owners = more;
        symbols->room = room;
    }
    owner = &symbols->owners[symbols->count++];
    memset(owner, 0, sizeof *owner);
    owner->kind = kind;
    owner->rank = rank;
    owner->id = id;
    owner->device = device;
    owner->peer_rank = UNKNOWN;
    return owner;
}

/* The youngest of that kind, rank and id. */
static struct owner *find(const struct symbols *symbols, enum kind kind,
                          int rank, int id)
{
    for (size_t i = symbols->count; i-- > 0;) {
        struct owner *owner = &symbols->owners[i];
        if (owner->kind == kind && owner->rank == rank && owner->id == id)
            return owner;
    }
    return NULL;
}

static int device_of(const struct symbols *symbols, enum kind kind, int rank,
                     int id)
{
    const struct owner *owner = find(symbols, kind, rank, id);
    return owner ? owner->device : 0;
}

const char *symbols_device(const struct symbols *symbols, int rank, int n,
                           const char **original)
{
    const struct owner *owner = find(symbols, DEVICE, rank, n);
    if (owner && original)
        *original = owner->original;
    return owner ? owner->text : NULL;
}

/* ---- a line that is being translated ---- */

struct work {
    struct symbols *symbols;
    const struct scn_call *call;
    int rank;
    char *text;
    size_t room, used;
    bool full, details; /* details: one is there already */
    /* A path's parts until all are read. */
    int64_t number;         /* dqpn; -1: none */
    struct scn_piece gid;   /* dgid */
    int64_t lid;            /* dlid; -1: none */
    int handle;             /* a datagram's address handle; 0: none */
    int to_rank, to_device; /* where a new one leads */
    int listed;             /* devices, entries of a table so far */
    uint64_t address, rkey; /* of a region */
};

__attribute__((format(printf, 2, 3))) static void put(struct work *work,
                                                      const char *format, ...)
{
    size_t left = work->room - work->used;
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(work->text + work->used, left, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= left)
        work->full = true;
    else
        work->used += (size_t)length;
}

static void put_piece(struct work *work, struct scn_piece piece)
{
    put(work, "%.*s", (int)piece.length, piece.text);
}

/* Begins the next detail. */
static void next(struct work *work)
{
    put(work, work->details ? " " : " ; ");
    work->details = true;
}

static int argument(const struct work *work, const char *key)
{
    return (int)scn_number(scn_value(work->call->arguments, key), 0);
}

/* The id of what the call made; 0: nothing. */
static int made(const struct work *work)
{
    struct scn_piece words = work->call->answer;
    struct scn_piece word = scn_next_word(&words);
    const char *equals = word.text ? memchr(word.text, '=', word.length) : NULL;
    struct scn_piece id = {NULL, 0};
    if (!equals)
        return 0;
    id.text = equals + 1;
    id.length = (size_t)(word.text + word.length - id.text);
    return (int)scn_number(id, 0);
}

/* ---- what the call made is remembered ---- */

static void remember(struct work *work)
{
    struct symbols *symbols = work->symbols;
    int id = made(work), device;
    struct owner *owner = NULL;
    if (id == 0)
        return;
    switch (work->call->verb) {
    case VF_VERB_open_device:
        add_owner(symbols, CONTEXT, work->rank, id,
                  argument(work, "device") - 1);
        return;
    case VF_VERB_alloc_pd:
        device =
            device_of(symbols, CONTEXT, work->rank, argument(work, "context"));
        add_owner(symbols, PD, work->rank, id, device);
        return;
    case VF_VERB_create_qp:
        device = device_of(symbols, PD, work->rank, argument(work, "pd"));
        owner = add_owner(symbols, QP, work->rank, id, device);
        if (owner)
            owner->number =
                (uint64_t)scn_number(scn_value(work->call->details, "num"), 0);
        return;
    case VF_VERB_reg_mr:
        device = device_of(symbols, PD, work->rank, argument(work, "pd"));
        owner = add_owner(symbols, MR, work->rank, id, device);
        break;
    case VF_VERB_create_ah:
        owner = add_owner(symbols, AH, work->rank, id, 0);
        if (owner) {
            owner->peer_rank = work->to_rank;
            owner->peer_device = work->to_device;
        }
        return;
    default:
        return;
    }
    if (!owner)
        return;
    owner->number =
        (uint64_t)scn_number(scn_value(work->call->details, "rkey"), 0);
    owner->address =
        (uint64_t)scn_number(scn_value(work->call->details, "addr"), 0);
    owner->length =
        (uint64_t)scn_number(scn_value(work->call->arguments, "len"), 0);
}

/* ---- addresses ---- */

static bool begins(struct scn_piece digits, const char *with)
{
    size_t length = strlen(with);
    return digits.length >= length && memcmp(digits.text, with, length) == 0;
}

static const char *kind_of_gid(struct scn_piece digits)
{
    size_t zeros = 0;
    while (zeros < digits.length && digits.text[zeros] == '0')
        zeros++;
    if (zeros == digits.length)
        return "zero";
    if (begins(digits, "fe80"))
        return "link";
    return begins(digits, "00000000000000000000ffff") ? "ipv4" : "other";
}

static void note_gid(struct work *work, struct scn_piece digits, int index)
{
    int device = device_of(work->symbols, CONTEXT, work->rank,
                           argument(work, "context"));
    struct owner *owner;
    if (digits.length != HEX || strcmp(kind_of_gid(digits), "zero") == 0)
        return;
    owner = add_owner(work->symbols, GID, work->rank, index, device);
    if (owner)
        memcpy(owner->text, digits.text, HEX);
}

/* A sixteenth of all addresses have the same mark: it tells a few apart, and
 * not which they are. */
static void put_mark(struct work *work, struct scn_piece digits)
{
    uint32_t hash = 2166136261u;
    if (!work->symbols->keep_numbers ||
        strcmp(kind_of_gid(digits), "zero") == 0)
        return;
    for (size_t i = 0; i < digits.length; i++)
        hash = (hash ^ (unsigned char)digits.text[i]) * 16777619u;
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    next(work);
    put(work, "mark=%u", (unsigned)((hash ^ hash >> 4) & 15));
}

/* Whose address it is: the youngest owner on another rank, else one's own. */
static const struct owner *owner_of_gid(const struct work *work,
                                        struct scn_piece digits, int rank)
{
    const struct owner *own = NULL;
    for (size_t i = work->symbols->count; i-- > 0;) {
        const struct owner *owner = &work->symbols->owners[i];
        if (owner->kind != GID || digits.length != HEX ||
            memcmp(owner->text, digits.text, HEX) != 0)
            continue;
        if (rank >= 0 ? owner->rank == rank : owner->rank != work->rank)
            return owner;
        if (!own)
            own = owner;
    }
    return own;
}

/* Does a port of that device have the path's address? Devices of two machines
 * number alike, queue pairs and LIDs: a GID says most. */
enum fit { NEVER, MAYBE, SURELY };

static enum fit fits_gid(const struct work *work, int rank, int device)
{
    enum fit fit = MAYBE;
    if (!work->gid.text || work->gid.length != HEX ||
        strcmp(kind_of_gid(work->gid), "zero") == 0)
        return MAYBE;
    for (size_t i = 0; i < work->symbols->count && fit != SURELY; i++) {
        const struct owner *gid = &work->symbols->owners[i];
        if (gid->kind == GID && gid->rank == rank && gid->device == device)
            fit = memcmp(gid->text, work->gid.text, HEX) == 0 ? SURELY : NEVER;
    }
    return fit;
}

static enum fit fits_lid(const struct work *work, int rank, int device)
{
    enum fit fit = MAYBE;
    for (size_t i = 0; work->lid > 0 && i < work->symbols->count; i++) {
        const struct owner *lid = &work->symbols->owners[i];
        if (lid->kind != LID || lid->rank != rank || lid->device != device)
            continue;
        fit = (int64_t)lid->number == work->lid ? SURELY : NEVER;
        if (fit == SURELY)
            break;
    }
    return fit;
}

static enum fit fits_handle(const struct work *work, int rank, int device)
{
    const struct owner *ah = find(work->symbols, AH, work->rank, work->handle);
    if (!ah || ah->peer_rank == UNKNOWN)
        return MAYBE;
    return ah->peer_rank == rank && ah->peer_device == device ? SURELY : NEVER;
}

static enum fit fits(const struct work *work, int rank, int device)
{
    enum fit fit = work->handle > 0 ? fits_handle(work, rank, device)
                                    : fits_gid(work, rank, device);
    /* Ports may have one LID on both ends of a cable: with a GID, it is no
     * proof that it is oneself. */
    if (fit == MAYBE && rank == work->rank && work->gid.text &&
        strcmp(kind_of_gid(work->gid), "zero") != 0)
        return NEVER;
    return fit == MAYBE ? fits_lid(work, rank, device) : fit;
}

/* The queue pair at the other end. One's own only if the address is one's own:
 * a peer that was not recorded may well have the same number. */
static const struct owner *owner_of_number(const struct work *work)
{
    const struct owner *best = NULL;
    int most = 0;
    for (size_t i = work->symbols->count; i-- > 0;) {
        const struct owner *qp = &work->symbols->owners[i];
        int points;
        if (qp->kind != QP || (int64_t)qp->number != work->number)
            continue;
        points = 2 * (int)fits(work, qp->rank, qp->device);
        if (points < 2 * (int)SURELY && qp->rank == work->rank)
            continue;
        points += points > 0 && qp->rank != work->rank;
        if (points <= most)
            continue;
        best = qp;
        most = points;
    }
    return best;
}

/* A port with that address, on another rank rather than on one's own. */
static const struct owner *owner_of_address(const struct work *work)
{
    const struct owner *own = NULL;
    for (size_t i = work->symbols->count; i-- > 0;) {
        const struct owner *owner = &work->symbols->owners[i];
        if ((owner->kind != GID && owner->kind != LID) ||
            fits(work, owner->rank, owner->device) != SURELY)
            continue;
        if (owner->rank != work->rank)
            return owner;
        if (!own)
            own = owner;
    }
    return own;
}

/* dest=RANK:QP, or dest=?:NUMBER where numbers are kept. */
static void put_destination(struct work *work, const struct owner *qp)
{
    struct owner *own =
        find(work->symbols, QP, work->rank, argument(work, "qp"));
    next(work);
    if (qp)
        put(work, "dest=%d:%d", qp->rank, qp->id);
    else if (work->symbols->keep_numbers)
        put(work, "dest=?:%lld", (long long)work->number);
    else
        put(work, "dest=?");
    if (!qp && work->number != MULTICAST)
        work->symbols->strangers++;
    if (own && work->call->verb == VF_VERB_modify_qp)
        own->peer_rank = qp ? qp->rank : STRANGER;
}

/* to=RANK:DEVICE of a new address handle. */
static void put_place(struct work *work)
{
    const struct owner *place = owner_of_address(work);
    next(work);
    if (place)
        put(work, "to=%d:%d", place->rank, place->device);
    else
        put(work, "to=?");
    work->to_rank = place ? place->rank : STRANGER;
    work->to_device = place ? place->device : 0;
}

/* Where a path leads, and the index of the address there. */
static void put_path(struct work *work)
{
    const struct owner *qp = work->number >= 0 ? owner_of_number(work) : NULL;
    const struct owner *gid =
        work->gid.text ? owner_of_gid(work, work->gid, qp ? qp->rank : -1)
                       : NULL;
    if (work->number >= 0)
        put_destination(work, qp);
    else if (work->gid.text || work->lid >= 0)
        put_place(work);
    if (work->gid.text) {
        next(work);
        if (gid && gid->id >= 0)
            put(work, "gid=%d", gid->id);
        else
            put(work, "gid=%s",
                strcmp(kind_of_gid(work->gid), "zero") == 0 ? "zero" : "?");
        put_mark(work, work->gid);
    }
    if (work->lid >= 0) {
        next(work);
        put(work, "dlid=%s", work->lid > 0 ? "set" : "none");
    }
    work->number = work->lid = -1;
    work->gid.text = NULL;
    work->handle = 0;
}

/* Can a request of the queue pair touch memory of that rank? Keys repeat, too:
 * not one's own memory by a path that leads elsewhere. */
static bool may_reach(const struct owner *qp, int rank)
{
    if (qp->peer_rank == STRANGER)
        return false;
    return rank != qp->rank || qp->peer_rank == UNKNOWN ||
           qp->peer_rank == rank;
}

/* KEY:ADDRESS */
static void put_remote(struct work *work, struct scn_piece value)
{
    const char *colon = memchr(value.text, ':', value.length);
    struct scn_piece key = value, place = {NULL, 0};
    const struct owner *own =
        find(work->symbols, QP, work->rank, argument(work, "qp"));
    const struct owner *best = NULL;
    uint64_t rkey, address;
    int most = -1;
    if (colon) {
        key.length = (size_t)(colon - value.text);
        place.text = colon + 1;
        place.length = value.length - key.length - 1;
    }
    rkey = (uint64_t)scn_number(key, -1);
    address = (uint64_t)scn_number(place, 0);
    for (size_t i = work->symbols->count; i-- > 0;) {
        const struct owner *mr = &work->symbols->owners[i];
        int points = (own && mr->rank == own->peer_rank) +
                     2 * (address - mr->address < mr->length);
        if (mr->kind != MR || mr->number != rkey || points <= most ||
            (own && !may_reach(own, mr->rank)))
            continue;
        best = mr;
        most = points;
    }
    next(work);
    if (best)
        put(work, "remote=%d:%d:%lld", best->rank, best->id,
            (long long)(address - best->address));
    else if (work->symbols->keep_numbers)
        put(work, "remote=?:0x%llx:0x%x", (unsigned long long)rkey,
            (unsigned)(uint32_t)address);
    else
        put(work, "remote=?");
}

/* ---- details ---- */

static void put_device(struct work *work, struct scn_piece name)
{
    int n = work->listed++;
    struct owner *owner = find(work->symbols, DEVICE, work->rank, n);
    if (!owner)
        owner = add_owner(work->symbols, DEVICE, work->rank, n, n);
    if (!owner)
        return;
    snprintf(owner->original, NAME, "%.*s", (int)name.length, name.text);
    if (work->symbols->keep_names)
        memcpy(owner->text, owner->original, NAME);
    else
        snprintf(owner->text, NAME, "dev%d", n);
    next(work);
    put(work, "device=%s", owner->text);
}

static void put_gid(struct work *work, struct scn_piece digits)
{
    bool table = scn_has_word(work->call->details, "table");
    note_gid(work, digits, table ? -1 : argument(work, "index"));
    next(work);
    put(work, "gid=%s", kind_of_gid(digits));
    put_mark(work, digits);
    if (!work->symbols->keep_names)
        return;
    next(work);
    put(work, "name=");
    put_piece(work, digits);
}

static void put_lid(struct work *work, int64_t lid)
{
    int device = device_of(work->symbols, CONTEXT, work->rank,
                           argument(work, "context"));
    struct owner *owner = NULL;
    if (lid > 0)
        owner = add_owner(work->symbols, LID, work->rank,
                          argument(work, "port"), device);
    if (owner)
        owner->number = (uint64_t)lid;
    next(work);
    put(work, "lid=%s", lid > 0 ? "set" : "none");
}

static bool is_dropped(struct scn_piece word)
{
    struct scn_piece value;
    return scn_is_key(word, "num", &value) ||
           scn_is_key(word, "addr", &value) ||
           scn_is_key(word, "lkey", &value) || scn_is_key(word, "rkey", &value);
}

/* What others find a queue pair and a region by, for who joins recordings. Of
 * an address so much as it takes to count from it. */
static void put_number(struct work *work, struct scn_piece word)
{
    struct scn_piece value, address;
    if (scn_is_key(word, "num", &value)) {
        next(work);
        put(work, "num=%lld", (long long)scn_number(value, 0));
    } else if (scn_is_key(word, "rkey", &value)) {
        address = scn_value(work->call->details, "addr");
        next(work);
        put(work, "key=0x%llx:0x%x", (unsigned long long)scn_number(value, 0),
            (unsigned)(uint32_t)scn_number(address, 0));
    }
}

static bool is_path(struct work *work, struct scn_piece word)
{
    struct scn_piece value;
    if (scn_is_key(word, "dqpn", &value))
        work->number = scn_number(value, -1);
    else if (scn_is_key(word, "dgid", &value))
        work->gid = value;
    else if (scn_is_key(word, "dlid", &value))
        work->lid = scn_number(value, -1);
    else
        return false;
    return true;
}

static void put_detail(struct work *work, struct scn_piece word)
{
    struct scn_piece value;
    if (work->symbols->keep_numbers)
        put_number(work, word);
    if (is_dropped(word) || is_path(work, word))
        return;
    if (scn_is_key(word, "next", &value))
        put_path(work); /* the request before it is whole */
    if (scn_is_key(word, "ah", &value))
        work->handle = (int)scn_number(value, 0);
    if (scn_is_key(word, "device", &value)) {
        put_device(work, value);
    } else if (scn_is_key(word, "gid", &value)) {
        put_gid(work, value);
    } else if (scn_is_key(word, "lid", &value)) {
        put_lid(work, scn_number(value, 0));
    } else if (scn_is_key(word, "remote", &value)) {
        put_remote(work, value);
    } else {
        next(work);
        put_piece(work, word);
    }
}

/* ---- the head ---- */

static bool answers_name(const struct scn_call *call)
{
    return call->verb == VF_VERB_get_device_name && call->answer.text[0] == '"';
}

static void put_head(struct work *work)
{
    const struct scn_call *call = work->call;
    const char *name;
    put(work, "%s(", vf_verb_name(call->verb));
    put_piece(work, call->arguments);
    put(work, ") = ");
    if (answers_name(call)) {
        name = symbols_device(work->symbols, work->rank,
                              argument(work, "device") - 1, NULL);
        put(work, "\"%s\"", name ? name : "dev0");
    } else if (call->verb == VF_VERB_get_device_guid &&
               begins(call->answer, "0x")) {
        put(work, "guid");
    } else {
        put_piece(work, call->answer);
    }
}

bool symbols_translate(struct symbols *symbols, int rank, const char *line,
                       char *text, size_t room)
{
    struct scn_call call;
    struct work work = {.symbols = symbols,
                        .call = &call,
                        .rank = rank,
                        .text = text,
                        .room = room,
                        .number = -1,
                        .lid = -1,
                        .to_rank = UNKNOWN};
    struct scn_piece words, word;
    if (room == 0 || !scn_call_read_bare(&call, line, strlen(line)))
        return false;
    put_head(&work);
    words = call.details;
    while (words.text && (word = scn_next_word(&words)).text)
        put_detail(&work, word);
    put_path(&work);
    remember(&work);
    return !work.full;
}
