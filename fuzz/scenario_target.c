/* Scenarios against a subject: what every target of that kind is made of. */
#include "scenario_target.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run.h"
#include "verbfault/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* Of an input that is seeds: what comes after is as good as not there. */
#define STEPS_MAX 64
#define COUNTERS (VF_COVERAGE_SIZE + SCN_RANKS_MAX * SCN_OUTCOME_COUNT)

/* libFuzzer looks for this section; without libFuzzer it is only memory. */
#if defined(__linux__)
__attribute__((section("__libfuzzer_extra_counters")))
#endif
static unsigned char counters[COUNTERS];

static const struct sim_subject *subject;
static bool wanted[SCN_OUTCOME_COUNT];
static const char *only;   /* this title, or NULL: any */
static const char *except; /* not these, or NULL */
static bool mutate = true;
static bool from_seeds; /* an input is the mutator's seeds, not a text */

static void read_wanted(void)
{
    const char *also = getenv("VERBFAULT_ALSO");
    char words[256], *word;
    const char *word_mutate = getenv("VERBFAULT_MUTATE");
    const char *seeds = getenv("VERBFAULT_SEEDS");
    only = getenv("VERBFAULT_ONLY");
    except = getenv("VERBFAULT_EXCEPT");
    mutate = !word_mutate || strcmp(word_mutate, "0") != 0;
    from_seeds = seeds && strcmp(seeds, "0") != 0;
    wanted[SCN_CRASH] = true;
    if (!also)
        return;
    snprintf(words, sizeof words, "%s", also);
    for (word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        enum scn_outcome outcome = scn_outcome_by_name(word);
        if (outcome == SCN_OUTCOME_COUNT) {
            fprintf(stderr, "VERBFAULT_ALSO: unknown outcome %s\n", word);
            exit(2);
        }
        wanted[outcome] = true;
    }
}

/* The inputs that libFuzzer copies for each run must not walk through fresh
 * memory: nothing here looks for a use of freed heap memory that old. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:detect_stack_use_after_return=0:"
           "allocator_may_return_null=1"
#ifdef FUZZ_LEAKS_EXCEPTIONS
           /* A rank that is stopped in the middle of one leaves it behind. */
           ":detect_leaks=0"
#endif
        ;
}

static void set_up(void)
{
    if (subject)
        return;
    subject = sim_subject_by_name(FUZZ_SUBJECT);
    if (!subject)
        abort();
    read_wanted();
    vf_coverage = counters;
    atexit(sim_shutdown);
}

static void print_scenario(const struct scn *scenario)
{
    static char text[1 << 16];
    scn_print(scenario, text, sizeof text);
    fprintf(stderr, "---- scenario\n%s", text);
}

/* Of the calls only the last few are printed: how many there are is counted
 * in a run of its own, because the one that prints does not come back. */
#define CALLS_SHOWN 12

struct calls {
    int total, seen;
    bool found; /* total is that of the calls before the finding */
};

static void count_calls(void *context, int rank, const char *line)
{
    struct calls *calls = context;
    (void)rank;
    (void)line;
    calls->total += !calls->found;
}

static void mark_finding(void *context, const struct vf_finding *finding)
{
    struct calls *calls = context;
    (void)finding;
    calls->found = true;
}

static void print_calls(void *context, int rank, const char *line)
{
    struct calls *calls = context;
    (void)rank;
    if (calls->seen++ >= calls->total - CALLS_SHOWN)
        fprintf(stderr, "%s\n", line);
}

/* The finding in words, then the fault itself. */
static void report(const struct scn *scenario, const struct sim_result *first)
{
    static struct sim_result again;
    struct calls calls = {0, 0, false};
    struct sim_options options = {.subject = subject,
                                  .recover = subject->fixed,
                                  .trace = count_calls,
                                  .finding = mark_finding,
                                  .context = &calls};
    struct scn_error error;
    fprintf(stderr, "\n==== verbfault: %s: %s: %s\n", subject->name,
            scn_outcome_name(first->outcome),
            first->broken[0] ? first->broken : first->title);
    print_scenario(scenario);
    fprintf(stderr, "---- the last calls before it\n");
    sim_run(scenario, &options, &again, &error);
    options.trace = print_calls;
    options.finding = NULL;
    options.keep_going = true;
    sim_run(scenario, &options, &again, &error);
    fprintf(stderr, "==== verbfault: it went on past the finding\n");
    abort();
}

static bool is_listed(const char *list, const char *title)
{
    size_t length = strlen(title);
    for (const char *at = list; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, title, length) == 0 &&
            (at[length] == '|' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_finding(const struct sim_result *result)
{
    if ((only && strcmp(only, result->title) != 0) ||
        (except && is_listed(except, result->title)))
        return false;
    return subject->fixed ? result->broken[0] != '\0' : wanted[result->outcome];
}

static void mutate_once(struct scn *scenario, struct scn_random *random)
{
    if (!target_mutate(scenario, random)) {
        scn_mutate(scenario, random);
        target_shape(scenario, random);
    }
}

/* The mutator's steps from the empty scenario, four bytes of the input each. */
static void grow_scenario(struct scn *scenario, const uint8_t *data,
                          size_t size)
{
    struct scn_random random;
    scenario->count = 0;
    for (size_t i = 0; i + 4 <= size && i < (size_t)4 * STEPS_MAX; i += 4) {
        scn_random_seed(&random, (unsigned)data[i] |
                                     (unsigned)data[i + 1] << 8 |
                                     (unsigned)data[i + 2] << 16 |
                                     (unsigned)data[i + 3] << 24);
        mutate_once(scenario, &random);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scn scenario;
    static struct sim_result result;
    struct sim_options options = {0};
    struct scn_error error;
    set_up();
    if (from_seeds)
        grow_scenario(&scenario, data, size);
    else if (scn_parse(&scenario, (const char *)data, size, &error) != 0)
        return 0;
    options.subject = subject;
    options.recover = subject->fixed;
    if (sim_run(&scenario, &options, &result, &error) != 0)
        return 0;
    for (int i = 0; i < result.ranks; i++)
        counters[VF_COVERAGE_SIZE + i * SCN_OUTCOME_COUNT +
                 (int)result.rank[i].outcome] = 1;
    if (is_finding(&result))
        report(&scenario, &result);
    return 0;
}

static size_t print_into(const struct scn *scenario, uint8_t *data,
                         size_t max_size)
{
    static char text[1 << 16];
    size_t length = scn_print(scenario, text, sizeof text);
    if (length >= sizeof text || length > max_size)
        return 0;
    memcpy(data, text, length);
    return length;
}

static void parse_or_empty(struct scn *scenario, const uint8_t *data,
                           size_t size)
{
    struct scn_error error;
    scenario->count = 0;
    if (size > 0 && scn_parse(scenario, (const char *)data, size, &error) != 0)
        scenario->count = 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    static struct scn scenario;
    struct scn_random random;
    size_t length;
    set_up();
    if (!mutate)
        return size;
    scn_random_seed(&random, seed);
    parse_or_empty(&scenario, data, size);
    mutate_once(&scenario, &random);
    length = print_into(&scenario, data, max_size);
    return length > 0 ? length : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    static struct scn a, b, result;
    struct scn_random random;
    set_up();
    if (!mutate) {
        if (one_size > max_size)
            return 0;
        memcpy(out, one, one_size);
        return one_size;
    }
    scn_random_seed(&random, seed);
    parse_or_empty(&a, one, one_size);
    parse_or_empty(&b, other, other_size);
    if (!target_cross(&result, &a, &b, &random)) {
        scn_cross(&result, &a, &b, &random);
        target_shape(&result, &random);
    }
    return print_into(&result, out, max_size);
}
