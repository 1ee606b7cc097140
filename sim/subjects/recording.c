/* The subject `recording`: whose turn it is, and the comparison. */
#include "sim/subjects/recording.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/recording.h"
#include "sim/subjects/subjects.h"
#include "sim/symbols.h"

/* Virtual time after which a completion does not come any more. */
#define PATIENCE (INT64_C(100) * 1000000000)

/* Characters of an answer in a message. */
#define SHOWN 160

struct recording_rank recording_ranks[SCN_RANKS_MAX];

static struct {
    struct scn_call *calls; /* of all ranks, in their order */
    int count;
    struct symbols *symbols;
    bool ready, over; /* over: the first difference was found */
    struct sim_parting parting;
} play;

void sim_recording_parting(struct sim_parting *parting)
{
    *parting = play.parting;
}

/* ---- the calls ---- */

static int count_calls(const struct scn *scenario)
{
    int count = 0;
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_CALL)
            count += scenario->statements[i].u.calls.count;
    return count;
}

/* The lines were read once before, so they are right. */
static void read_lines(const char *text, size_t length, int room)
{
    char message[8];
    int column;
    while (length > 0 && play.count < room) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) : length;
        size_t size = line;
        while (size > 0 && strchr("\r\t ", text[size - 1]))
            size--;
        if (scn_is_call(text, size) &&
            scn_call_read(&play.calls[play.count], text, size, message,
                          sizeof message, &column) == 0)
            play.count++;
        text += newline ? line + 1 : line;
        length -= newline ? line + 1 : line;
    }
}

static void forget(void)
{
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        recording_forget_objects(&recording_ranks[i]);
    recording_forget_stranger();
    memset(recording_ranks, 0, sizeof recording_ranks);
    free(play.calls);
    symbols_free(play.symbols);
    play.calls = NULL;
    play.symbols = NULL;
    play.count = 0;
    play.ready = play.over = false;
}

/* The next call of the rank from `at` on, or the number of all. */
static int next_call(int rank, int at)
{
    while (at < play.count && play.calls[at].rank != rank)
        at++;
    return at;
}

static bool start(void)
{
    const struct scn *scenario = sim.scenario;
    int count = count_calls(scenario);
    forget();
    play.parting.call = -1;
    play.calls = calloc((size_t)count + 1, sizeof *play.calls);
    play.symbols = symbols_new(true);
    if (!play.calls || !play.symbols)
        return false;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_CALL)
            read_lines(s->u.calls.text, s->u.calls.length, count);
    }
    for (int i = 0; i < SCN_RANKS_MAX; i++) {
        recording_ranks[i].number = i;
        recording_ranks[i].at = next_call(i, 0);
        recording_ranks[i].done = i >= sim.rank_count;
    }
    vf_world_pace(sim.world);
    play.ready = true;
    return true;
}

/* ---- parting ---- */

__attribute__((format(printf, 2, 3))) static void
part(struct recording_rank *rank, const char *format, ...)
{
    const struct scn_call *call = rank->call;
    char title[96], message[1024];
    va_list arguments;
    int length;
    if (play.over)
        return;
    play.over = true;
    play.parting.call = rank->at;
    snprintf(title, sizeof title, "parted in %s", vf_verb_name(call->verb));
    length = snprintf(message, sizeof message,
                      "call %d of rank %d, %.*s: ", rank->nth, rank->number,
                      (int)(call->answer.text - call->line.text - 3 < SHOWN
                                ? call->answer.text - call->line.text - 3
                                : SHOWN),
                      call->line.text);
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - (size_t)length, format,
              arguments);
    va_end(arguments);
    sim_outcome(&sim.ranks[rank->number], SCN_ERROR, title, message);
    sim_changed();
}

/* ---- comparison ---- */

static struct scn_piece without_plan(struct scn_piece answer)
{
    static const char mark[] = " (planned)";
    size_t length = sizeof mark - 1;
    for (size_t at = 0; at + length <= answer.length; at++)
        if (memcmp(answer.text + at, mark, length) == 0)
            answer.length = at; /* a finding behind it is compared by sim */
    return answer;
}

static bool same(struct scn_piece a, struct scn_piece b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

/* A detail that counts: what the two say of it, where both say something. */
static bool same_detail(const struct scn_call *a, const struct scn_call *b,
                        const char *key)
{
    struct scn_piece one = scn_value(a->details, key);
    struct scn_piece other = scn_value(b->details, key);
    return !one.text || !other.text || same(one, other);
}

static void compare(struct recording_rank *rank, const struct scn_call *mine)
{
    static const char *const counted[] = {"granted", "state", "cq", "lid"};
    const struct scn_call *call = rank->call;
    struct scn_piece was = without_plan(call->answer);
    struct scn_piece is = without_plan(mine->answer);
    if (mine->verb != call->verb) {
        part(rank, "the mock saw %s", vf_verb_name(mine->verb));
        return;
    }
    play.parting.mock_refused = scn_value(mine->details, "planned").text ||
                                (is.length > 0 && is.text[0] != '0');
    if (!same(mine->arguments, call->arguments))
        part(rank, "recorded (%.*s), the mock has (%.*s)",
             (int)call->arguments.length, call->arguments.text,
             (int)mine->arguments.length, mine->arguments.text);
    else if (call->verb != VF_VERB_get_device_index && !same(was, is))
        part(rank, "recorded = %.*s, the mock = %.*s",
             (int)(was.length < SHOWN ? was.length : SHOWN), was.text,
             (int)(is.length < SHOWN ? is.length : SHOWN), is.text);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (!same_detail(call, mine, counted[i]))
            part(rank, "recorded %s=%.*s, the mock %s=%.*s", counted[i],
                 (int)scn_value(call->details, counted[i]).length,
                 scn_value(call->details, counted[i]).text, counted[i],
                 (int)scn_value(mine->details, counted[i]).length,
                 scn_value(mine->details, counted[i]).text);
}

/* "r0 #17 reg_mr(...) = ..." */
static void told(struct sim_rank *sim_rank, const char *line)
{
    static char text[SCN_CALL_LINE_MAX];
    struct recording_rank *rank = &recording_ranks[sim_rank->number];
    const char *verb = strchr(line, '#');
    struct scn_call mine;
    verb = verb ? strchr(verb, ' ') : NULL;
    if (!verb || !rank->call || rank->told)
        return;
    if (!symbols_translate(play.symbols, rank->number, verb + 1, text,
                           sizeof text) ||
        !scn_call_read_bare(&mine, text, strlen(text)))
        return;
    rank->told = true;
    compare(rank, &mine);
}

/* ---- whose turn it is ---- */

/* Is what the call names of another rank there, or will it never be? */
static bool has_target(const struct recording_rank *rank)
{
    const struct scn_call *call = &play.calls[rank->at];
    struct scn_piece value, words;
    struct recording_rank *peer;
    int64_t number;
    bool remote = false;
    if (call->verb != VF_VERB_modify_qp && call->verb != VF_VERB_post_send)
        return true;
    words = call->details;
    value = words.text ? scn_value(words, "dest") : words;
    if (words.text && !value.text) {
        value = scn_value(words, "remote");
        remote = true;
    }
    if (!value.text || value.text[0] < '0' || value.text[0] > '7')
        return true;
    peer = &recording_ranks[value.text[0] - '0'];
    number = recording_number(value, 1);
    return peer->done || sim.ranks[peer->number].state == SIM_ENDED ||
           recording_object(peer, remote ? RECORDING_MR : RECORDING_QP,
                            number) != NULL;
}

/* It has looked since anything changed, and cannot go on. */
static bool waits_in_vain(const struct recording_rank *rank)
{
    if (rank->call)
        return rank->waits && rank->looked == sim.epoch;
    return !has_target(rank);
}

static bool may_go(const struct recording_rank *rank)
{
    if (!has_target(rank))
        return false;
    for (int i = 0; i < sim.rank_count; i++) {
        const struct recording_rank *other = &recording_ranks[i];
        int state = (int)sim.ranks[i].state;
        if (i == rank->number || other->done || waits_in_vain(other) ||
            state == SIM_ENDED || state == SIM_STOPPED || state == SIM_DONE)
            continue;
        if (other->at < rank->at)
            return false;
    }
    return true;
}

/* What ranks hold whose calls are over goes, as with a process that ends. */
static bool bury_the_done(void)
{
    bool any = false;
    for (int i = 0; i < sim.rank_count; i++) {
        struct recording_rank *rank = &recording_ranks[i];
        if (!rank->done || rank->buried || sim.ranks[i].state != SIM_DONE)
            continue;
        rank->buried = any = true;
        vf_machine_end(sim.world, i);
    }
    if (any)
        sim_changed();
    return any;
}

/* Whether an event was due depended on who was faster: who waits for one and
 * has completions in the queue gets it. */
static bool give_events(void)
{
    bool any = false;
    for (int i = 0; i < sim.rank_count; i++) {
        struct recording_rank *rank = &recording_ranks[i];
        const struct recording_object *cq;
        if (!rank->call || !rank->waits ||
            rank->call->verb != VF_VERB_get_cq_event)
            continue;
        cq = recording_object(
            rank, RECORDING_CQ,
            scn_number(scn_value(rank->call->details, "cq"), 0));
        if (cq && vf_machine_event(sim.world, i, cq->handle))
            any = true;
    }
    if (any)
        sim_changed();
    return any;
}

/* Nobody goes on: whose fault is it? Who got something else than was recorded,
 * or else has waited longest. */
static struct recording_rank *culprit(void)
{
    struct recording_rank *worst = NULL;
    bool other_came = false;
    for (int i = 0; i < sim.rank_count; i++) {
        struct recording_rank *rank = &recording_ranks[i];
        char instead[8];
        bool came;
        if (!rank->call || !rank->waits)
            continue;
        vf_machine_unexpected(sim.world, i, instead, sizeof instead);
        came = instead[0] != '\0';
        if (!worst || (came && !other_came) ||
            (came == other_came && rank->at < worst->at)) {
            worst = rank;
            other_came = came;
        }
    }
    return worst;
}

/* Can a queue pair that completes to that queue have a stranger for its peer?
 * Anybody may send to one for datagrams. */
static bool serves_a_stranger(struct recording_rank *rank, int64_t cq)
{
    for (int64_t n = 1; n <= rank->count[RECORDING_QP]; n++) {
        const struct recording_object *qp =
            recording_object(rank, RECORDING_QP, n);
        if ((qp->send_cq == cq || qp->recv_cq == cq) &&
            (qp->to_stranger || (qp->datagrams && sim.rank_count == 1)))
            return true;
    }
    return false;
}

static bool needs_its_peer(struct recording_rank *rank)
{
    const struct scn_call *call = rank->call;
    struct scn_piece cq = call->verb == VF_VERB_get_cq_event
                              ? scn_value(call->details, "cq")
                              : scn_value(call->arguments, "cq");
    return (call->verb == VF_VERB_get_cq_event ||
            call->verb == VF_VERB_poll_cq) &&
           serves_a_stranger(rank, scn_number(cq, 0));
}

/* The rest needs who was not recorded. */
static void stop_short(const struct recording_rank *rank)
{
    int all = 0;
    for (int i = 0; i < play.count; i++)
        all += play.calls[i].rank == rank->number;
    play.over = true;
    snprintf(sim.result->partial, sizeof sim.result->partial,
             "rank %d up to call %d of %d as recorded; the rest needs the "
             "recording of its peer: verbfault record --join",
             rank->number, rank->nth - 1, all);
    sim_changed();
}

static void part_waiting(struct recording_rank *rank)
{
    struct scn_piece answer = rank->call->answer;
    char instead[SHOWN];
    if (needs_its_peer(rank)) {
        stop_short(rank);
        return;
    }
    vf_machine_unexpected(sim.world, rank->number, instead, sizeof instead);
    part(rank, "recorded = %.*s, on the mock it never comes%s%s",
         (int)(answer.length < SHOWN ? answer.length : SHOWN), answer.text,
         instead[0] ? ", but " : "", instead);
}

/* Those that wait for their turn look again whether it has come: nothing has
 * changed but that one more has looked in vain. */
static void wake_the_next(void)
{
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].state == SIM_WAITING && !recording_ranks[i].call)
            sim.ranks[i].state = SIM_RUNNABLE;
}

/* Something came of it: whoever waits has not waited in vain so far. */
static void be_patient_again(void)
{
    for (int i = 0; i < sim.rank_count; i++)
        if (recording_ranks[i].waits)
            recording_ranks[i].since = sim.now;
}

/* Inside of a call that waits for what others do. */
static void empty(struct sim_rank *sim_rank)
{
    struct recording_rank *rank = &recording_ranks[sim_rank->number];
    if (!rank->call)
        return;
    if (!rank->waits) {
        rank->waits = true;
        rank->since = sim.now;
    }
    rank->looked = sim.epoch;
    wake_the_next();
    sim_wait(sim_rank, rank->since + PATIENCE, "what was recorded");
    if (sim.now < rank->since + PATIENCE && !play.over)
        return;
    if (!play.over && (bury_the_done() || give_events())) {
        be_patient_again();
        return;
    }
    if (!play.over)
        part_waiting(culprit());
    sim_stop_rank(sim_rank, SIM_ENDED);
}

/* ---- the program ---- */

/* The plan of the scenario for completions, and the recorded answer. */
static void plan(struct recording_rank *rank, const struct scn_call *call)
{
    struct scn_piece planned = scn_value(call->details, "planned");
    const char *colon =
        planned.text ? memchr(planned.text, ':', planned.length) : NULL;
    size_t length = colon ? (size_t)(colon - planned.text) : planned.length;
    struct vf_fault fault = {.verb = call->verb};
    char value[32] = "";
    vf_machine_clear_plan(sim.world, rank->number);
    for (int i = 0; i < sim.scenario->count; i++)
        if (sim.scenario->statements[i].kind == SCN_FAULT &&
            sim.scenario->statements[i].rank == rank->number)
            vf_machine_plan(sim.world, rank->number,
                            &sim.scenario->statements[i].u.fault);
    if (!planned.text)
        return;
    if (colon)
        snprintf(value, sizeof value, "%.*s",
                 (int)(planned.length - length - 1), colon + 1);
    fault.nth = vf_machine_calls(sim.world, rank->number, call->verb) + 1;
    fault.value = vf_errno_by_name(value);
    if (fault.value <= 0)
        fault.value = atoi(value);
    for (int e = 0; e < VF_EFFECT_COUNT; e++)
        if (strlen(vf_effect_name((enum vf_effect)e)) == length &&
            memcmp(vf_effect_name((enum vf_effect)e), planned.text, length) ==
                0) {
            fault.effect = (enum vf_effect)e;
            vf_machine_plan(sim.world, rank->number, &fault);
        }
}

static void make_call(struct sim_rank *sim_rank, struct recording_rank *rank)
{
    const struct scn_call *call = &play.calls[rank->at];
    bool plans =
        call->details.text && scn_value(call->details, "planned").text != NULL;
    rank->call = call;
    rank->told = rank->waits = false;
    rank->nth++;
    if (plans)
        plan(rank, call);
    if (!recording_issue(rank, call))
        part(rank, "a call that cannot be made again");
    else if (!rank->told && !play.over)
        part(rank, "recorded = %.*s, the mock found nothing",
             (int)call->answer.length, call->answer.text);
    rank->waits = false;
    rank->call = NULL;
    rank->at = next_call(rank->number, rank->at + 1);
    (void)sim_rank;
    sim_changed();
}

static void program(struct sim_rank *sim_rank)
{
    struct recording_rank *rank = &recording_ranks[sim_rank->number];
    struct sim_failure failure = {.step = NULL};
    if (!play.ready && !start()) {
        snprintf(failure.message, sizeof failure.message, "out of memory");
        sim_failed(sim_rank, "start", &failure);
        return;
    }
    while (rank->at < play.count && !play.over) {
        while (!may_go(rank) && !play.over)
            sim_wait(sim_rank, SIM_FOREVER, "its turn");
        if (!play.over)
            make_call(sim_rank, rank);
    }
    rank->done = true;
    sim_changed();
}

const struct sim_subject sim_subject_recording = {
    .name = "recording",
    .about = "the calls of a recording, made again: verbfault record",
    .program = program,
    .told = told,
    .empty = empty,
    .forget = forget,
};
