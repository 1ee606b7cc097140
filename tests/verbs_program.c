/*
 * The programs of fuzz_verbs: text that stays itself, the seeds of corpus/verbs
 * as they are meant, and a stage that sees what it is there to see.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/verbs_stage.h"

#define TEXT_ROOM 65536

static struct verbs_program program, again;
static char text[TEXT_ROOM], text_again[TEXT_ROOM];

static void parse(struct verbs_program *into, const char *from)
{
    verbs_parse(into, from, strlen(from));
}

static void prints(const char *from, const char *to)
{
    parse(&program, from);
    assert_int_equal(verbs_print(&program, text, sizeof(text)), strlen(to));
    assert_string_equal(text, to);
}

static void any_text_is_a_program(void **state)
{
    (void)state;
    prints("", "world thunderbolt 2\n");
    prints(
        "world rxe 3 orderly threads shared # so\n\talloc_pd 0x10 7 # and so\n",
        "world rxe 3 shared threads orderly\nalloc_pd 16 7\n");
    prints("world nowhere 9\nno_call 1\npoll_cq 1 0 0\r\n\x80\xff alloc_pd",
           "world thunderbolt 2\npoll_cq 1\n");
    prints("alloc_pd 4294967295 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
           "19 20 21",
           "world thunderbolt 2\nalloc_pd 4294967295 1 2 3 4 5 6 7 8 9 10 11 "
           "12 13 14 15 16 17 18 19\n");
}

static void a_small_room_is_not_overrun(void **state)
{
    char small[32];

    (void)state;
    parse(&program, "world ideal 1\nalloc_pd 1\n");
    memset(small, 'x', sizeof(small));
    assert_int_equal(verbs_print(&program, small, 10), 25);
    for (size_t i = 10; i < sizeof(small); i++)
        assert_int_equal(small[i], 'x');
}

static void a_mutated_program_survives_print_and_parse(void **state)
{
    struct scn_random random;
    bool seen[VERBS_NAMES] = {false};

    (void)state;
    scn_random_seed(&random, 1);
    parse(&program, "");
    for (int i = 0; i < 3000; i++) {
        verbs_mutate(&program, &random);
        assert_in_range(program.count, 0, VERBS_CALLS);
        assert_in_range(program.machines, 1, VERBS_MACHINES);
        for (int k = 0; k < program.count; k++)
            seen[program.calls[k].name] = true;
        assert_true(verbs_print(&program, text, sizeof(text)) < sizeof(text));
        parse(&again, text);
        verbs_print(&again, text_again, sizeof(text_again));
        assert_string_equal(text, text_again);
        if (i % 40 == 0) /* from anew, else all are long */
            parse(&program, "");
    }
    for (int i = 0; i < VERBS_NAMES; i++)
        if (!seen[i])
            fail_msg("no mutation calls %s", verbs_name((enum verbs_name)i));
}

static void a_cross_has_a_part_of_each(void **state)
{
    static struct verbs_program child;
    struct scn_random random;
    int both = 0;

    (void)state;
    scn_random_seed(&random, 1);
    parse(&program, "world rxe 3\nalloc_pd 1\nalloc_pd 2\n");
    parse(&again, "poll_cq 1\npoll_cq 2\n");
    for (int i = 0; i < 100; i++) {
        int first = 0, last = 0;

        verbs_cross(&child, &program, &again, &random);
        assert_int_equal(child.machines, 3);
        for (int k = 0; k < child.count; k++) {
            first += child.calls[k].name == VERBS_alloc_pd;
            last += child.calls[k].name == VERBS_poll_cq;
            assert_true(child.calls[k].name == VERBS_poll_cq || last == 0);
        }
        both += first > 0 && last > 0;
    }
    assert_in_range(both, 20, 80);
}

/* ---- the seeds ---- */

static void run(const struct verbs_program *what)
{
    stage_start(what);
    for (int i = 0; i < what->count; i++)
        stage_call(&what->calls[i]);
    stage_end(what->orderly);
}

static void run_seed(const char *name)
{
    char path[512];
    FILE *file;
    size_t size;

    snprintf(path, sizeof(path), "%s/corpus/verbs/%s", SOURCE_DIR, name);
    file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read", path);
    size = fread(text, 1, sizeof(text), file);
    fclose(file);
    verbs_parse(&program, text, size);
    run(&program);
}

/* How many completions there are, without and with an error, and findings. */
static const struct {
    const char *name;
    unsigned done, failed, findings;
} seeds[] = {
    {"rc", 4, 0, 0},
    {"rc-rxe", 4, 0, 0},
    {"rc-threads", 4, 0, 0},
    {"uc", 4, 0, 0},
    {"uc-thunderbolt", 4, 0, 0},
    {"ud", 4, 0, 0},
    {"srq", 4, 0, 0},
    {"rdma", 5, 0, 0},
    {"windows", 5, 0, 0},
    {"atomics", 2, 1, 1},
    {"events", 2, 0, 0},
    {"extended", 10, 0, 0},
    {"extended-ud", 2, 0, 0},
    {"questions", 0, 0, 0},
};

static void seeds_do_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        run_seed(seeds[i].name);
        if (stage_done != seeds[i].done || stage_failed != seeds[i].failed ||
            stage_findings != seeds[i].findings)
            fail_msg("%s: %u completions, %u with errors, %u findings",
                     seeds[i].name, stage_done, stage_failed, stage_findings);
    }
}

/* A fatal mistake ends one machine's process, and the others go on. */
static void a_mistake_ends_its_process_only(void **state)
{
    (void)state;
    parse(&program, "world ideal 2 orderly\n"
                    "get_device_list 0\nopen_device 0\nalloc_pd 0\n"
                    "get_device_list 1\nopen_device 16\nalloc_pd 16\n");
    stage_start(&program);
    for (int i = 0; i < program.count; i++)
        stage_call(&program.calls[i]);
    parse(&again, "dereg_mr 100\n");
    stage_call(&again.calls[0]);
    assert_int_equal(stage_findings, 1);
    assert_null(stage_handle(VF_KIND_PD, 0));
    assert_non_null(stage_handle(VF_KIND_PD, 16));
    assert_non_null(stage_handle(VF_KIND_PD, VERBS_FREED));
    stage_end(true);
}

static void a_program_runs_the_same_each_time(void **state)
{
    struct scn_random random;

    (void)state;
    scn_random_seed(&random, 7);
    run_seed("shared");
    for (int i = 0; i < 300; i++) {
        unsigned findings, done, failed, calls;

        run(&program);
        findings = stage_findings;
        done = stage_done;
        failed = stage_failed;
        calls = vf_machine_all_calls(stage_world, 0);
        run(&program);
        assert_int_equal(stage_findings, findings);
        assert_int_equal(stage_done, done);
        assert_int_equal(stage_failed, failed);
        assert_int_equal(vf_machine_all_calls(stage_world, 0), calls);
        verbs_mutate(&program, &random);
    }
}

/* ---- what the stage sees ---- */

static void write_a_byte(void)
{
    stage_memory(1)[77] ^= 1;
}

static void complete_twice(void)
{
    struct ibv_wc wc = {.wr_id = 1, .status = IBV_WC_SUCCESS};

    stage_completed(stage_handle(VF_KIND_CQ, 0),
                    &wc); /* its request has completed before */
}

/* Both ends' queue pairs have other queues. */
static void complete_elsewhere(void)
{
    const struct ibv_qp *qp = stage_handle(VF_KIND_QP, 0);
    struct ibv_wc wc = {.wr_id = 0, .qp_num = qp->qp_num};

    parse(&again, "create_cq 0\n");
    stage_call(&again.calls[0]);
    stage_completed(stage_handle(VF_KIND_CQ, 1), &wc);
}

static void complete_what_is_none(void)
{
    struct ibv_wc wc = {.wr_id = 1000, .status = IBV_WC_SUCCESS};

    stage_completed(stage_handle(VF_KIND_CQ, 0), &wc);
}

static void hold_a_region(void)
{
    stage_world->machines[0].devices[0].state->mrs++;
}

static void nothing(void)
{
}

static int ends_with(void (*mischief)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        signal(SIGABRT, SIG_DFL);
        run_seed("rc");
        stage_start(&program);
        for (int i = 0; i < program.count; i++)
            stage_call(&program.calls[i]);
        mischief();
        stage_end(true);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) != pid)
        continue;
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void a_broken_promise_aborts(void **state)
{
    (void)state;
    assert_int_equal(ends_with(nothing), 0);
    assert_int_equal(ends_with(write_a_byte), SIGABRT);
    assert_int_equal(ends_with(complete_twice), SIGABRT);
    assert_int_equal(ends_with(complete_elsewhere), SIGABRT);
    assert_int_equal(ends_with(complete_what_is_none), SIGABRT);
    assert_int_equal(ends_with(hold_a_region), SIGABRT);
}

static int tear_down(void **state)
{
    (void)state;
    stage_stop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_text_is_a_program),
        cmocka_unit_test(a_small_room_is_not_overrun),
        cmocka_unit_test(a_mutated_program_survives_print_and_parse),
        cmocka_unit_test(a_cross_has_a_part_of_each),
        cmocka_unit_test(seeds_do_what_they_say),
        cmocka_unit_test(a_mistake_ends_its_process_only),
        cmocka_unit_test(a_program_runs_the_same_each_time),
        cmocka_unit_test(a_broken_promise_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
