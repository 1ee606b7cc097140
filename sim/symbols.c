#include "sim/symbols.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calls.h"

#define HEX 32 /* digits of a GID */
#define NAME 64

enum kind { DEVICE, CONTEXT, PD, QP, MR, GID, LID };

/* One thing with a number. */
struct owner {
    enum kind kind;
    int rank, id;    /* id: the object's; of GID and LID the index, the port */
    int device;      /* that it is on, counted from 0 */
    uint64_t number; /* of a QP; the rkey of an MR; a LID */
    uint64_t address, length;
    int peer_rank;       /* of a QP: where it leads; -1: not known */
    char text[NAME];     /* a GID's digits; a device's name as written */
    char original[NAME]; /* ... as it was */
};

struct symbols {
    bool keep_names;
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
    owner->peer_rank = -1;
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

static const struct owner *owner_of_lid(const struct work *work, int64_t lid)
{
    for (size_t i = work->symbols->count; lid > 0 && i-- > 0;) {
        const struct owner *owner = &work->symbols->owners[i];
        if (owner->kind == LID && (int64_t)owner->number == lid)
            return owner;
    }
    return NULL;
}

/* How well a queue pair fits as the other end. */
static int fits(const struct work *work, const struct owner *qp)
{
    int points = qp->rank != work->rank;
    const struct owner *lid = owner_of_lid(work, work->lid);
    for (size_t i = 0; work->gid.text && i < work->symbols->count; i++) {
        const struct owner *gid = &work->symbols->owners[i];
        if (gid->kind == GID && gid->rank == qp->rank &&
            gid->device == qp->device && work->gid.length == HEX &&
            memcmp(gid->text, work->gid.text, HEX) == 0) {
            points += 4;
            break;
        }
    }
    if (lid && lid->rank == qp->rank && lid->device == qp->device)
        points += 2;
    return points;
}

static const struct owner *owner_of_number(const struct work *work)
{
    const struct owner *best = NULL;
    int most = -1;
    for (size_t i = work->symbols->count; i-- > 0;) {
        const struct owner *qp = &work->symbols->owners[i];
        if (qp->kind != QP || (int64_t)qp->number != work->number ||
            fits(work, qp) <= most)
            continue;
        best = qp;
        most = fits(work, qp);
    }
    return best;
}

/* dest=RANK:QP or to=RANK:DEVICE, and the index of the address there. */
static void put_path(struct work *work)
{
    const struct owner *qp = work->number >= 0 ? owner_of_number(work) : NULL;
    const struct owner *gid =
        work->gid.text ? owner_of_gid(work, work->gid, qp ? qp->rank : -1)
                       : NULL;
    const struct owner *lid = owner_of_lid(work, work->lid);
    const struct owner *place = gid ? gid : lid;
    struct owner *own =
        find(work->symbols, QP, work->rank, argument(work, "qp"));
    if (work->number >= 0) {
        next(work);
        if (qp)
            put(work, "dest=%d:%d", qp->rank, qp->id);
        else
            put(work, "dest=?");
        if (qp && own && work->call->verb == VF_VERB_modify_qp)
            own->peer_rank = qp->rank;
    } else if (work->gid.text || work->lid >= 0) {
        next(work);
        if (place)
            put(work, "to=%d:%d", place->rank, place->device);
        else
            put(work, "to=?");
    }
    if (work->gid.text) {
        next(work);
        if (gid && gid->id >= 0)
            put(work, "gid=%d", gid->id);
        else
            put(work, "gid=%s",
                strcmp(kind_of_gid(work->gid), "zero") == 0 ? "zero" : "?");
    }
    if (work->lid >= 0) {
        next(work);
        put(work, "dlid=%s", work->lid > 0 ? "set" : "none");
    }
    work->number = work->lid = -1;
    work->gid.text = NULL;
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
        if (mr->kind != MR || mr->number != rkey || points <= most)
            continue;
        best = mr;
        most = points;
    }
    next(work);
    if (best)
        put(work, "remote=%d:%d:%lld", best->rank, best->id,
            (long long)(address - best->address));
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
    if (is_dropped(word) || is_path(work, word))
        return;
    if (scn_is_key(word, "next", &value))
        put_path(work); /* the request before it is whole */
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
                        .lid = -1};
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
