/*
 * The smallest scenario that still does it.
 *
 * One candidate after the other is made from the best scenario so far and
 * tried; if it still does it, it is the best. Candidates are in canonical form,
 * so equal scenarios have equal texts.
 */
#include "sim/minimize.h"

#include <stdlib.h>
#include <string.h>

#include "sim/scenario_check.h"

#define CAUSES_MAX 16
#define TEXT_ROOM ((size_t)SCN_STATEMENTS_MAX * SCN_LINE_MAX)

/* ---- trials that were made ---- */

/* A set of the hashes of texts; 0 is an empty place. */
struct memory {
    uint64_t *hashes;
    size_t room, used; /* room is a power of two */
};

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash ? hash : 1;
}

/* Puts a hash into its place; false if it was there. */
static bool insert(uint64_t *hashes, size_t room, uint64_t hash)
{
    size_t at = (size_t)hash & (room - 1);
    while (hashes[at] && hashes[at] != hash)
        at = (at + 1) & (room - 1);
    bool is_new = hashes[at] == 0;
    hashes[at] = hash;
    return is_new;
}

static bool grow(struct memory *memory)
{
    size_t room = memory->room ? memory->room * 2 : 1024;
    uint64_t *hashes = calloc(room, sizeof *hashes);
    if (!hashes)
        return false;
    for (size_t i = 0; i < memory->room; i++) {
        if (memory->hashes[i])
            insert(hashes, room, memory->hashes[i]);
    }
    free(memory->hashes);
    memory->hashes = hashes;
    memory->room = room;
    return true;
}

/* False if the hash was remembered before. Without memory to remember with,
 * trials are made again: slower, not wrong. */
static bool remember(struct memory *memory, uint64_t hash)
{
    if (memory->used * 2 >= memory->room && !grow(memory) &&
        memory->used + 1 >= memory->room)
        return true;
    bool is_new = insert(memory->hashes, memory->room, hash);
    memory->used += is_new;
    return is_new;
}

/* ---- the search ---- */

struct search {
    const struct minimize *how;
    struct memory memory;
    struct scn best, candidate;
    struct vf_fault causes[CAUSES_MAX]; /* of the best */
    int cause_ranks[CAUSES_MAX], cause_count;
    long trials;
    bool stopped;
    char text[TEXT_ROOM];
};

/* Does it still do it? A trial; if so, it is the best. */
static bool test(struct search *search, const struct scn *scenario)
{
    const struct minimize *how = search->how;
    search->stopped = search->stopped || (how->stop && how->stop(how->context));
    if (search->stopped)
        return false;
    search->trials++;
    bool holds = how->holds(how->context, scenario);
    if (holds) {
        if (scenario != &search->best)
            scn_copy(&search->best, scenario);
        search->cause_count = how->causes
                                  ? how->causes(how->context, search->causes,
                                                search->cause_ranks, CAUSES_MAX)
                                  : 0;
    }
    if (how->progress)
        how->progress(how->context, (unsigned)search->trials,
                      search->best.count);
    return holds;
}

/* The same for the candidate, unless it contradicts itself or was tried. */
static bool try_candidate(struct search *search)
{
    struct scn_complaint complaint;
    scn_canonical(&search->candidate);
    if (scn_check_all(&search->candidate, &complaint) < 0)
        return false;
    scn_print(&search->candidate, search->text, sizeof search->text);
    return remember(&search->memory, hash_of(search->text)) &&
           test(search, &search->candidate);
}

/* ---- step 2: fewer statements ---- */

static bool try_without(struct search *search, int at, int count)
{
    scn_copy(&search->candidate, &search->best);
    for (int i = 0; i < count; i++)
        scn_remove(&search->candidate, at);
    return try_candidate(search);
}

/* From the end on: what comes last depends on what comes before. */
static bool drop_pieces(struct search *search, int size)
{
    bool changed = false;
    for (int end = search->best.count; end > 0; end -= size) {
        int at = end > size ? end - size : 0;
        changed = try_without(search, at, end - at) || changed;
    }
    return changed;
}

static bool drop_statements(struct search *search)
{
    bool changed = false;
    for (int size = (search->best.count + 1) / 2; size > 1; size /= 2)
        changed = drop_pieces(search, size) || changed;
    while (drop_pieces(search, 1))
        changed = true;
    return changed;
}

/* ---- step 3: a cause is named ---- */

static bool has_state(const struct scn_statement *s)
{
    return s->kind == SCN_NODEVICES ||
           (s->kind == SCN_DEVICE &&
            (s->u.device.port_down || s->u.device.no_ipv4 ||
             s->u.device.max_mr >= 0 || s->u.device.max_qp >= 0 ||
             s->u.device.max_pd >= 0 || s->u.device.used_mr >= 0 ||
             s->u.device.used_qp >= 0 || s->u.device.used_pd >= 0));
}

/* Devices keep their names only; true if that is a change. */
static bool forget_states(struct scn *scenario, bool whole)
{
    bool changed = false;
    for (int i = scenario->count - 1; i >= 0; i--) {
        struct scn_statement *s = &scenario->statements[i];
        if (!has_state(s))
            continue;
        changed = true;
        if (whole || s->kind == SCN_NODEVICES) {
            scn_remove(scenario, i);
            continue;
        }
        s->u.device.port_down = s->u.device.no_ipv4 = false;
        s->u.device.max_mr = s->u.device.max_qp = s->u.device.max_pd = -1;
        s->u.device.used_mr = s->u.device.used_qp = s->u.device.used_pd = -1;
    }
    return changed;
}

static bool try_with_fault(struct search *search, int rank,
                           const struct vf_fault *fault)
{
    struct scn_statement *s = scn_add(&search->candidate, SCN_FAULT);
    if (!s)
        return false;
    s->rank = rank;
    s->u.fault = *fault;
    return try_candidate(search);
}

/* The fault in the place of all states, or else of any one statement that is
 * not a fault; so there are fewer of those each time, and an end. */
static bool try_instead(struct search *search, int rank,
                        const struct vf_fault *fault)
{
    for (int whole = 1; whole >= 0; whole--) {
        scn_copy(&search->candidate, &search->best);
        if (forget_states(&search->candidate, whole) &&
            try_with_fault(search, rank, fault))
            return true;
    }
    for (int i = 0; i < search->best.count; i++) {
        if (search->best.statements[i].kind == SCN_FAULT)
            continue;
        scn_copy(&search->candidate, &search->best);
        scn_remove(&search->candidate, i);
        if (try_with_fault(search, rank, fault))
            return true;
    }
    return false;
}

static bool name_cause(struct search *search)
{
    struct vf_fault causes[CAUSES_MAX];
    int ranks[CAUSES_MAX], count = search->cause_count;
    memcpy(causes, search->causes, sizeof causes);
    memcpy(ranks, search->cause_ranks, sizeof ranks);
    for (int i = 0; i < count; i++) {
        struct vf_fault first = causes[i];
        first.nth = 1;
        first.onward = false;
        if (try_instead(search, ranks[i], &first) ||
            try_instead(search, ranks[i], &causes[i]))
            return true;
    }
    return false;
}

/* ---- step 4: simpler values ---- */

static bool simplify_statement(struct search *search, int i)
{
    enum scn_simpler made = SCN_SIMPLER_MADE;
    for (int n = 0; made != SCN_SIMPLER_END && !search->stopped; n++) {
        made = scn_simpler(&search->best, i, n, &search->candidate);
        if (made == SCN_SIMPLER_MADE && try_candidate(search))
            return true;
    }
    return false;
}

static bool simplify(struct search *search)
{
    bool changed = false;
    for (int i = 0; i < search->best.count; i++) {
        if (simplify_statement(search, i)) {
            changed = true;
            i = -1; /* statements may have moved */
        }
    }
    return changed;
}

/* ---- all of it ---- */

static void drop_words(struct scn *scenario)
{
    for (int i = scenario->count - 1; i >= 0; i--) {
        if (scenario->statements[i].kind == SCN_EXPECT)
            scn_remove(scenario, i);
    }
    scn_canonical(scenario);
}

static long minimize(struct search *search, struct scn *scenario)
{
    scn_copy(&search->candidate, scenario);
    drop_words(&search->candidate);
    /* Canonical means the same; but if it does not, the scenario as it is may
     * still do it. */
    if (!try_candidate(search) && !test(search, scenario))
        return -1;
    bool changed = true;
    while (changed && !search->stopped) {
        changed = drop_statements(search);
        while (name_cause(search))
            changed = true;
        changed = simplify(search) || changed;
    }
    scn_copy(scenario, &search->best);
    return search->trials;
}

long scn_minimize(struct scn *scenario, const struct minimize *how)
{
    struct search *search = calloc(1, sizeof *search);
    if (!search)
        return -1;
    search->how = how;
    long trials = minimize(search, scenario);
    free(search->memory.hashes);
    free(search);
    return trials;
}
