/*
 * fuzz_verbs: any sequence of verbs calls, legal or not, on the mock.
 *
 *   fuzz_verbs [libFuzzer's options] [CORPUS...]
 *   replay_verbs FILE_OR_DIRECTORY...
 *
 * An input is the text of a program (verbs_program.h), which the mutator
 * changes call by call. Whatever the program does, the mock only reports: it
 * corrupts nothing, reads and writes nothing that it must not, forgets nothing
 * and always answers. verbs_stage.h lists what is looked at. A finding is the
 * program's mistake and no finding of the fuzzer's; a broken promise is: it is
 * printed with the machines' last calls, and the process aborts.
 *
 * VERBFAULT_TELL=1 prints each call and finding, for looking at one input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/verbs_stage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* libFuzzer looks for this section; without libFuzzer it is only memory. */
#if defined(__linux__)
__attribute__((section("__libfuzzer_extra_counters")))
#endif
static unsigned char counters[VF_COVERAGE_SIZE];

/* A program makes many small blocks, and none of them stays. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:detect_stack_use_after_return=0";
}

static void set_up(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    stage_tells = getenv("VERBFAULT_TELL") != NULL;
    atexit(stage_stop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct verbs_program program;

    set_up();
    verbs_parse(&program, (const char *)data, size);
    /* Nobody counts on the shorter way. */
    vf_coverage = program.threads ? NULL : counters;
    stage_start(&program);
    for (int i = 0; i < program.count; i++)
        stage_call(&program.calls[i]);
    stage_end(program.orderly);
    return 0;
}

static size_t print_into(const struct verbs_program *program, uint8_t *data,
                         size_t max_size)
{
    static char text[1 << 16];
    size_t length = verbs_print(program, text, sizeof(text));

    if (length >= sizeof(text) || length > max_size)
        return 0;
    memcpy(data, text, length);
    return length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    static struct verbs_program program;
    struct scn_random random;
    size_t length;

    scn_random_seed(&random, seed);
    verbs_parse(&program, (const char *)data, size);
    verbs_mutate(&program, &random);
    length = print_into(&program, data, max_size);
    return length > 0 ? length : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    static struct verbs_program a, b, result;
    struct scn_random random;

    scn_random_seed(&random, seed);
    verbs_parse(&a, (const char *)one, one_size);
    verbs_parse(&b, (const char *)other, other_size);
    verbs_cross(&result, &a, &b, &random);
    return print_into(&result, out, max_size);
}
