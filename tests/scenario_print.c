/* Printing and parsing are each other's reverse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/mutate.h"
#include "sim/scenario.h"

static struct scn scenario, again;
static char text[1 << 17], text_again[1 << 17];

static void must_parse(struct scn *into, const char *from)
{
    struct scn_error error;
    if (scn_parse(into, from, strlen(from), &error) < 0)
        fail_msg("%d:%d %s\n%s", error.line, error.column, error.message, from);
}

static void must_print(const char *from, const char *to)
{
    must_parse(&scenario, from);
    assert_int_equal(scn_print(&scenario, text, sizeof text), strlen(to));
    assert_string_equal(text, to);
    must_parse(&again, text);
    scn_print(&again, text_again, sizeof text_again);
    assert_string_equal(text, text_again);
}

static void the_example_keeps_its_comments(void **state)
{
    (void)state;
    must_print("# the region limit is hit while a peer is still starting\n"
               "profile thunderbolt\n"
               "ranks 2 mesh\n"
               "\n"
               "device * rdma_en2                      # state and limits  \n"
               "cable 0:rdma_en2 1:rdma_en2\n"
               "fault 0 reg_mr 37 null ENOMEM          #rank\n"
               "run init\n"
               "run all_sum float32 1024\n"
               "expect legacy-2026-08-22 crash\n"
               "expect cjaccl error",
               "# the region limit is hit while a peer is still starting\n"
               "profile thunderbolt\n"
               "ranks 2 mesh\n"
               "\n"
               "device * rdma_en2  # state and limits\n"
               "cable 0:rdma_en2 1:rdma_en2\n"
               "fault 0 reg_mr 37 null ENOMEM  #rank\n"
               "run init\n"
               "run all_sum float32 1024\n"
               "expect legacy-2026-08-22 crash\n"
               "expect cjaccl error\n");
}

static void every_statement_has_one_spelling(void **state)
{
    (void)state;
    must_print(
        "profile   ideal\n ranks +03 ring 01\n"
        "device 1 a used_pd=0 max_mr=007 ipv4=no port=up used_mr=1\n"
        "nodevices 2 2\nnodevices 0 4000\ncell * 0 1 rdma_en3 \"\" \"x\"\n"
        "cell 0 1 0\nrows 1 4\ncoordinator * \"\"\ncoordinator 1 [::1]:9\n"
        "coordinator 0 \"a # b\"\nlibrary 1 without ibv_reg_mr\n"
        "library 0 absent\nfault 1 reg_mr 00007+ null 12\n"
        "fault 1 completion 1 status 1\nfault 1 completion 2 delay 20\n"
        "fault 1 poll_cq 2 return -0001\nfault 1 dereg_mr 1 errno 4000\n"
        "channel 1 garble 3\nchannel 0 close 0\n"
        "peer 2 sends 0102 03 04050a 0B\nstray\nstray\norder 0\nrun init\n"
        "run barrier\nrun  all_max int8 +04 in-place\n"
        "run all_min bool 00\nrun all_gather float16 1\t in-place\n"
        "run sum_scatter int64 2\nrun send uint8 3 01 00\n"
        "setting 1 topology  ring\nsetting * backend sockets\n"
        "setting * fallback none\nlate 0 00700\n"
        "run finalize\nexpect a.b-1 hang \"a # b\"\n",
        "profile ideal\nranks 3 ring\n"
        "device 1 a ipv4=no max_mr=7 used_mr=1 used_pd=0\n"
        "nodevices 2 ENOENT\nnodevices 0 4000\ncell * 0 1 rdma_en3 \"\" x\n"
        "cell 0 1 0\nrows 1 4\ncoordinator * \"\"\ncoordinator 1 [::1]:9\n"
        "coordinator 0 \"a # b\"\nlibrary 1 without ibv_reg_mr\n"
        "library 0 absent\nfault 1 reg_mr 7+ null ENOMEM\n"
        "fault 1 completion 1 status LOC_LEN_ERR\n"
        "fault 1 completion 2 delay 20\n"
        "fault 1 poll_cq 2 return -1\nfault 1 dereg_mr 1 errno 4000\n"
        "channel 1 garble 3\nchannel 0 close 0\n"
        "peer 2 sends 01020304 050a0b\nstray\nstray\norder 0\nrun init\n"
        "run barrier\nrun all_max int8 4 in-place\n"
        "run all_min bool 0\nrun all_gather float16 1 in-place\n"
        "run sum_scatter int64 2\nrun send uint8 3 1 0\n"
        "setting 1 topology ring\nsetting * backend sockets\n"
        "setting * fallback none\nlate 0 700\n"
        "run finalize\nexpect a.b-1 hang \"a # b\"\n");
}

static void an_order_is_a_seed_or_bytes(void **state)
{
    (void)state;
    must_print("order 007\n", "order 7\n");
    must_print("order  bytes 0A 0b0c0d 0e0f # so\n",
               "order bytes 0a0b0c0d 0e0f  # so\n");
}

static void a_small_room_is_not_overrun(void **state)
{
    char small[10];
    (void)state;
    must_parse(&scenario, "run init\nrun barrier\n");
    memset(small, 'x', sizeof small);
    assert_int_equal(scn_print(&scenario, small, 6), 21);
    assert_string_equal(small, "run i");
    assert_int_equal(small[6], 'x');
    assert_int_equal(scn_print(&scenario, NULL, 0), 21);
}

static void a_printed_line_is_never_too_long(void **state)
{
    char line[SCN_LINE_MAX * 2] = "peer 1 sends ";
    (void)state;
    for (int i = 0; i < SCN_BYTES_MAX; i++)
        strcat(line, "ff");
    strcat(line, "#");
    size_t length = strlen(line);
    memset(line + length, 'c', SCN_REMARK_MAX);
    line[length + SCN_REMARK_MAX] = '\0';
    must_parse(&scenario, line);
    scn_print(&scenario, text, sizeof text);
    must_parse(&again, text);
}

/* 100,000 scenarios, each a mutation of the one before it. */
static void any_scenario_survives_print_and_parse(void **state)
{
    struct scn_random random;
    (void)state;
    scn_random_seed(&random, 1);
    scenario.count = 0;
    for (int i = 0; i < 100000; i++) {
        if (i % 64 == 0)
            scenario.count = 0;
        scn_mutate(&scenario, &random);
        size_t length = scn_print(&scenario, text, sizeof text);
        assert_true(length < sizeof text);
        must_parse(&again, text);
        scn_print(&again, text_again, sizeof text_again);
        assert_string_equal(text, text_again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_keeps_its_comments),
        cmocka_unit_test(every_statement_has_one_spelling),
        cmocka_unit_test(an_order_is_a_seed_or_bytes),
        cmocka_unit_test(a_small_room_is_not_overrun),
        cmocka_unit_test(a_printed_line_is_never_too_long),
        cmocka_unit_test(any_scenario_survives_print_and_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
