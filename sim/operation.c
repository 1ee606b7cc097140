/*
 * One `run` of an operation that moves data: what goes in, the call, and what
 * has to come out.
 *
 * Buffers begin at another place each time, so that what is only right for
 * aligned ones is seen, and what is around them has to stay as it is. So does
 * the input, unless the operation is in place.
 */
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

#include "sim/sanitizer.h"

#define GUARD ((size_t)64) /* bytes in front of a buffer and behind it */
#define UNWRITTEN 0xa5     /* what is not written stays wrong */

void sim_failed(struct sim_rank *rank, const char *what,
                const struct sim_failure *failure)
{
    char title[96];
    if (failure->step && strcmp(failure->step, what) != 0)
        snprintf(title, sizeof title, "error in %s: %s", what, failure->step);
    else
        snprintf(title, sizeof title, "error in %s", what);
    rank->result->err_code = failure->code;
    sim_outcome(rank, SCN_ERROR, title, failure->message);
}

/* What one rank does in an operation. */
struct part {
    struct sim_rank *rank;
    const struct scn_statement *run;
    unsigned number;
    bool sends, receives; /* of a send; of the others both */
    size_t in, out;       /* elements */
    size_t element;       /* bytes */
    char *input, *output; /* in place: they overlap */
    char *memory[2];      /* with the guards */
    struct sim_data given;
};

static bool is_comparison(enum scn_operation operation)
{
    return operation == SCN_ALL_MAX || operation == SCN_ALL_MIN;
}

static void set_sizes(struct part *part)
{
    size_t count = (size_t)part->run->u.run.count;
    size_t ranks = (size_t)sim_rank_size(part->rank);
    part->sends = part->receives = true;
    part->in = part->out = count;
    if (part->run->u.run.operation == SCN_ALL_GATHER)
        part->out = ranks * count;
    if (part->run->u.run.operation == SCN_SUM_SCATTER)
        part->in = ranks * count;
    if (part->run->u.run.operation == SCN_SEND) {
        part->sends = part->rank->number == part->run->u.run.from;
        /* Who sends to itself has only one call to make. */
        part->receives =
            !part->sends && part->rank->number == part->run->u.run.to;
    }
}

/* A buffer for that many elements, which are not yet written. */
static char *buffer(struct part *part, int which, size_t count)
{
    size_t shift = part->number % 4 * part->element;
    size_t bytes = count * part->element;
    char *memory = sim_data_buffer(part->rank->number, which,
                                   GUARD + shift + bytes + GUARD);
    if (!memory)
        return NULL;
    memset(memory, UNWRITTEN, GUARD + shift + bytes + GUARD);
    part->memory[which] = memory;
    return memory + GUARD + shift;
}

static bool set_buffers(struct part *part)
{
    size_t own = (size_t)part->rank->number;
    size_t most = part->in > part->out ? part->in : part->out;
    bool in_place = part->run->u.run.in_place;
    part->output = buffer(part, 1, in_place ? most : part->out);
    part->input = in_place ? part->output : buffer(part, 0, part->in);
    if (!part->input || !part->output)
        return false;
    if (in_place && part->run->u.run.operation == SCN_ALL_GATHER)
        part->input += own * part->in * part->element;
    part->given = (struct sim_data){
        .kind = is_comparison(part->run->u.run.operation) ? SIM_DATA_ORDERED
                                                          : SIM_DATA_OF_RANK,
        .which = part->rank->number,
        .type = part->run->u.run.type,
        .operation = part->number,
        .count = part->in};
    sim_data_write(&part->given, part->input);
    return true;
}

static bool call(struct part *part, void *group, struct sim_failure *failure)
{
    const struct scn_statement *run = part->run;
    struct sim_operation operation = {
        .what = run->u.run.operation,
        .type = run->u.run.type,
        .count = (size_t)run->u.run.count,
        .input = part->sends ? part->input : NULL,
        .output = part->receives ? part->output : NULL,
        .peer = part->sends ? run->u.run.to : run->u.run.from};
    failure->code = 0;
    failure->refused = false;
    failure->step = NULL;
    failure->message[0] = '\0';
    return sim.options->subject->operate(part->rank, group, &operation,
                                         failure) == 0;
}

static bool gathered(const struct part *part, struct sim_data *right)
{
    for (int rank = 0; rank < sim_rank_size(part->rank); rank++) {
        size_t at = (size_t)rank * part->in * part->element;
        right->which = rank;
        right->count = part->in;
        if (!sim_data_is(right, part->output + at))
            return false;
    }
    return true;
}

/* Is the output what it has to be? */
static bool is_right(const struct part *part)
{
    struct sim_data right = part->given;
    right.count = part->out;
    right.which = sim_rank_size(part->rank);
    switch (part->run->u.run.operation) {
    case SCN_ALL_GATHER:
        return gathered(part, &right);
    case SCN_ALL_MAX:
        right.kind = SIM_DATA_MAX;
        break;
    case SCN_ALL_MIN:
        right.kind = SIM_DATA_MIN;
        break;
    case SCN_SEND:
        right.which = part->run->u.run.from;
        break;
    case SCN_SUM_SCATTER:
        right.from = (size_t)part->rank->number * part->out;
        right.kind = SIM_DATA_SUM;
        break;
    default:
        right.kind = SIM_DATA_SUM;
        break;
    }
    return sim_data_is(&right, part->output);
}

static bool untouched(const char *from, const char *to)
{
    for (; from < to; from++)
        if ((unsigned char)*from != UNWRITTEN)
            return false;
    return true;
}

/* The bytes in front of and behind a buffer of that many elements. */
static bool guards_stand(const struct part *part, int which, const char *at,
                         size_t count)
{
    const char *end = at + count * part->element;
    return untouched(part->memory[which], at) && untouched(end, end + GUARD);
}

/* NULL, or what is wrong with what the operation wrote. */
static const char *find_wrong(const struct part *part)
{
    bool in_place = part->run->u.run.in_place;
    size_t most = part->in > part->out ? part->in : part->out;
    if (part->receives && !is_right(part))
        return "answered success with a wrong result";
    if (!sim.options->subject->fixed)
        return NULL;
    if (!guards_stand(part, 1, part->output, in_place ? most : part->out))
        return "wrote beside its output";
    if (!in_place && (!sim_data_is(&part->given, part->input) ||
                      !guards_stand(part, 0, part->input, part->in)))
        return "changed its input";
    return NULL;
}

static void check(struct part *part, const char *name)
{
    char title[96], message[160];
    const char *wrong;
    if (!sim.options->subject->fixed && part->receives)
        sanitizer_initialised(part->output, part->out * part->element);
    wrong = find_wrong(part);
    if (!wrong)
        return;
    snprintf(title, sizeof title, "wrong data in %s", name);
    snprintf(message, sizeof message, "%s %s", name, wrong);
    sim_outcome(part->rank, SCN_WRONG_DATA, title, message);
}

/* A send that goes nowhere. */
static bool is_wrong_call(const struct part *part)
{
    const struct scn_statement *run = part->run;
    int size = sim_rank_size(part->rank);
    return run->u.run.operation == SCN_SEND && run->u.run.count > 0 &&
           (run->u.run.from == run->u.run.to || run->u.run.from >= size ||
            run->u.run.to >= size);
}

bool sim_operate(struct sim_rank *rank, void *group,
                 const struct scn_statement *run, unsigned number)
{
    struct part part = {.rank = rank,
                        .run = run,
                        .number = number,
                        .element = scn_type_size(run->u.run.type)};
    struct sim_failure failure;
    const char *name = scn_operation_name(run->u.run.operation);
    set_sizes(&part);
    if (!part.sends && !part.receives)
        return true;
    if (!set_buffers(&part))
        return false;
    if (!part.sends)
        name = "recv";
    if (!call(&part, group, &failure)) {
        sim_failed(rank, name, &failure);
        return failure.refused;
    }
    if (!is_wrong_call(&part))
        check(&part, name);
    else if (sim.options->subject->fixed)
        sim_outcome(rank, SCN_VIOLATION, "success of a wrong call",
                    "a send or receive that leads nowhere was no error");
    return true;
}
