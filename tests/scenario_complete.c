/* Defaults, canonical order, and what counts as nothing being wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/mutate.h"
#include "sim/scenario.h"

static struct scn scenario;
static char text[1 << 16], other_text[1 << 16];

static void must_parse(const char *from)
{
    struct scn_error error;
    if (scn_parse(&scenario, from, strlen(from), &error) < 0)
        fail_msg("%d:%d %s\n%s", error.line, error.column, error.message, from);
}

static void must_complete(const char *from, const char *to)
{
    must_parse(from);
    assert_int_equal(scn_complete(&scenario), 0);
    scn_print(&scenario, text, sizeof text);
    assert_string_equal(text, to);
}

static int count(enum scn_kind kind)
{
    int sum = 0;
    for (int i = 0; i < scenario.count; i++)
        sum += scenario.statements[i].kind == kind;
    return sum;
}

static void a_mesh_has_a_device_for_each_peer(void **state)
{
    (void)state;
    must_complete("", "device * rdma_en2\n"
                      "cable 0:rdma_en2 1:rdma_en2\n"
                      "cell * 0 1 rdma_en2\n"
                      "cell * 1 0 rdma_en2\n");
    must_complete("ranks 3 mesh", "ranks 3 mesh\n"
                                  "device * rdma_en2\n"
                                  "device * rdma_en3\n"
                                  "cable 0:rdma_en2 1:rdma_en2\n"
                                  "cable 0:rdma_en3 2:rdma_en2\n"
                                  "cable 1:rdma_en3 2:rdma_en3\n"
                                  "cell * 0 1 rdma_en2\n"
                                  "cell * 0 2 rdma_en3\n"
                                  "cell * 1 0 rdma_en2\n"
                                  "cell * 1 2 rdma_en3\n"
                                  "cell * 2 0 rdma_en2\n"
                                  "cell * 2 1 rdma_en3\n");
    must_parse("ranks 8 mesh");
    assert_int_equal(scn_complete(&scenario), 0);
    assert_int_equal(count(SCN_DEVICE), 7);
    assert_int_equal(count(SCN_CELL), 56);
    assert_int_equal(count(SCN_CABLE), 28);
}

static void a_ring_has_left_wires_then_right_wires(void **state)
{
    (void)state;
    must_complete("ranks 2 ring", "ranks 2 ring\n"
                                  "device * rdma_en2\n"
                                  "cable 0:rdma_en2 1:rdma_en2\n"
                                  "cell * 0 1 rdma_en2\n"
                                  "cell * 1 0 rdma_en2\n");
    must_complete("ranks 2 ring 2", "ranks 2 ring 2\n"
                                    "device * rdma_en2\n"
                                    "device * rdma_en3\n"
                                    "cable 0:rdma_en2 1:rdma_en2\n"
                                    "cable 0:rdma_en3 1:rdma_en3\n"
                                    "cell * 0 1 rdma_en2 rdma_en3\n"
                                    "cell * 1 0 rdma_en2 rdma_en3\n");
    must_complete("ranks 3 ring", "ranks 3 ring\n"
                                  "device * rdma_en2\n"
                                  "device * rdma_en3\n"
                                  "cable 0:rdma_en2 2:rdma_en3\n"
                                  "cable 0:rdma_en3 1:rdma_en2\n"
                                  "cable 1:rdma_en3 2:rdma_en2\n"
                                  "cell * 0 1 rdma_en3\n"
                                  "cell * 0 2 rdma_en2\n"
                                  "cell * 1 0 rdma_en2\n"
                                  "cell * 1 2 rdma_en3\n"
                                  "cell * 2 0 rdma_en3\n"
                                  "cell * 2 1 rdma_en2\n");
    must_parse("ranks 4 ring");
    assert_int_equal(scn_complete(&scenario), 0);
    assert_int_equal(count(SCN_DEVICE), 2);
    assert_int_equal(count(SCN_CELL), 8);
    assert_int_equal(count(SCN_CABLE), 4);
    assert_null(scn_cell(&scenario, 0, 0, 2));
    must_parse("ranks 8 ring 4\nnodevices 7");
    assert_int_equal(scn_complete(&scenario), 0);
    assert_int_equal(count(SCN_DEVICE), 56);
    assert_int_equal(count(SCN_CELL), 16);
    assert_int_equal(count(SCN_CABLE), 24);
}

static void what_is_said_replaces_its_part_of_the_default(void **state)
{
    (void)state;
    /* Cells follow the devices, cables the cells. */
    must_complete("device 0 mlx5_0", "device 0 mlx5_0\n"
                                     "device 1 rdma_en2\n"
                                     "cable 0:mlx5_0 1:rdma_en2\n"
                                     "cell * 0 1 mlx5_0\n"
                                     "cell * 1 0 rdma_en2\n");
    must_complete("cell * 0 1 rdma_en3", "device * rdma_en2\n"
                                         "cell * 0 1 rdma_en3\n"
                                         "cell * 1 0 rdma_en2\n");
    /* One view's cell leaves the other views theirs. */
    must_complete("cell 1 0 1 \"\"", "device * rdma_en2\n"
                                     "cable 0:rdma_en2 1:rdma_en2\n"
                                     "cell * 0 1 rdma_en2\n"
                                     "cell * 1 0 rdma_en2\n"
                                     "cell 1 0 1 \"\"\n");
    must_complete("nodevices 1 ENOENT", "device 0 rdma_en2\n"
                                        "nodevices 1 ENOENT\n"
                                        "cell * 0 1 rdma_en2\n"
                                        "cell * 1 0 rdma_en2\n");
    must_complete("rows * 1", "device * rdma_en2\nrows * 1\n");
    must_complete("ranks 3 mesh\ncable 2:rdma_en3 1:rdma_en2",
                  "ranks 3 mesh\n"
                  "device * rdma_en2\n"
                  "device * rdma_en3\n"
                  "cable 1:rdma_en2 2:rdma_en3\n"
                  "cell * 0 1 rdma_en2\n"
                  "cell * 0 2 rdma_en3\n"
                  "cell * 1 0 rdma_en2\n"
                  "cell * 1 2 rdma_en3\n"
                  "cell * 2 0 rdma_en2\n"
                  "cell * 2 1 rdma_en3\n");
}

static void a_ranks_own_view_goes_before_all(void **state)
{
    (void)state;
    must_parse("cell 1 0 1 a\ncell * 0 1 b\nrows 1 3\nrows * 2\n"
               "device 0 d\ndevice * c\ndevice 0 a");
    assert_string_equal(scn_cell(&scenario, 1, 0, 1)->u.cell.names[0], "a");
    assert_string_equal(scn_cell(&scenario, 0, 0, 1)->u.cell.names[0], "b");
    assert_int_equal(scn_rows(&scenario, 1), 3);
    assert_int_equal(scn_rows(&scenario, 0), 2);
    assert_string_equal(scn_device(&scenario, 0, 0)->u.device.name, "c");
    assert_string_equal(scn_device(&scenario, 0, 1)->u.device.name, "d");
    assert_string_equal(scn_device(&scenario, 0, 2)->u.device.name, "a");
    assert_null(scn_device(&scenario, 1, 1));
}

static void canonical_order_keeps_the_meaning(void **state)
{
    (void)state;
    must_parse("# a comment\n"
               "expect b crash\nexpect a hang\nrun init # more\nrun barrier\n"
               "run init\norder 3\nfault 1 reg_mr 9 exit\n"
               "fault 0 reg_mr 5 exit\nfault 0 reg_mr 7+ hang\n"
               "fault 0 alloc_pd 1 exit\nfault 0 reg_mr 3+ exit\n"
               "fault 0 reg_mr 2 hang\ndevice 1 b\ndevice 1 a\ndevice 0 z\n"
               "cable 1:b 0:z\nprofile rxe");
    scn_canonical(&scenario);
    scn_print(&scenario, text, sizeof text);
    assert_string_equal(
        text, "profile rxe\ndevice 0 z\ndevice 1 b\ndevice 1 a\n"
              "cable 0:z 1:b\nfault 0 alloc_pd 1 exit\n"
              "fault 0 reg_mr 2 hang\nfault 0 reg_mr 5 exit\n"
              "fault 0 reg_mr 7+ hang\nfault 0 reg_mr 3+ exit\n"
              "fault 1 reg_mr 9 exit\norder 3\nrun init\nrun barrier\n"
              "run init\nexpect a hang\nexpect b crash\n");
    must_parse(text);
}

/* Canonical form is canonical, completing is done once, and both give
 * scenarios that check. */
static void forms_are_stable(void **state)
{
    struct scn_random random;
    struct scn_error error;
    (void)state;
    scn_random_seed(&random, 2);
    scenario.count = 0;
    for (int i = 0; i < 20000; i++) {
        static struct scn copy;
        if (i % 64 == 0)
            scenario.count = 0;
        scn_mutate(&scenario, &random);
        scn_copy(&copy, &scenario);
        scn_canonical(&copy);
        assert_int_equal(scn_check(&copy, &error), 0);
        scn_print(&copy, text, sizeof text);
        scn_canonical(&copy);
        scn_print(&copy, other_text, sizeof other_text);
        assert_string_equal(text, other_text);
        assert_int_equal(scn_complete(&copy), 0);
        assert_int_equal(scn_check(&copy, &error), 0);
        assert_int_equal(scn_is_sound(&copy), scn_is_sound(&scenario));
        scn_print(&copy, text, sizeof text);
        assert_int_equal(scn_complete(&copy), 0);
        scn_print(&copy, other_text, sizeof other_text);
        assert_string_equal(text, other_text);
        scn_without_faults(&copy);
        assert_int_equal(scn_check(&copy, &error), 0);
    }
}

static const struct {
    const char *text;
    bool sound;
} soundness[] = {
    {"", true},
    {"run init\nrun all_sum float32 7\n# well", true},
    {"ranks 3 ring 2\norder 7\nexpect cjaccl crash", true},
    {"ranks 2 ring 4\nrun init", true},
    {"ranks 8 mesh\nprofile rxe", true},
    {"device 0 mlx5_0", true},
    {"device * a\ncell * 0 1 a\ncell * 1 0 a\ncable 0:a 1:a", true},
    {"rows 0 2", true},
    {"ranks 3 mesh\ncell * 0 1 rdma_en3\ncell * 0 2 rdma_en2", true},
    {"ranks 1 mesh\nrun init\nrun all_sum bool 3", true},
    {"setting * fallback sockets\nsetting 1 fallback none", true},
    {"setting * backend sockets", true},
    {"setting 0 backend sockets", false},
    {"setting * backend sockets\nsetting 0 backend rdma", false},
    {"ranks 3 mesh\nsetting * topology ring", true},
    {"ranks 3 mesh\nsetting 2 topology ring", false},
    {"ranks 3 ring 2\nsetting * topology mesh", true},
    {"run init\nrun send int8 4 1 0", true},
    {"run init\nrun send int8 4 1 1", false},
    {"run init\nrun send int8 4 0 2", false},
    {"run init\nrun send int8 4 2 0", false},
    {"ranks 5 mesh\nrun init\nrun send int8 4 0 2", true},
    {"ranks 5 mesh\nsetting * topology ring\nrun init\nrun send int8 4 0 2",
     false},
    {"ranks 5 mesh\nsetting * backend sockets\nrun init\nrun send int8 4 0 2",
     false},
    {"ranks 5 ring\nrun init\nrun send int8 4 0 4\nrun send int8 4 4 0", true},
    {"ranks 5 ring\nrun init\nrun send int8 4 0 3", false},
    {"ranks 5 ring\nsetting * topology mesh\nrun init\nrun send int8 4 0 3",
     false},
    {"late 0 30000\nlate 1 1", true},
    {"late 0 30001", false},
    {"rows 0 3", false},
    {"fault 0 reg_mr 99999 exit", false},
    {"channel 0 silent 99", false},
    {"peer 1 sends", false},
    {"stray", false},
    {"library 0 without ibv_reg_mr", false},
    {"coordinator 0 10.0.0.1:9000", false},
    {"nodevices 0", false},
    {"device * rdma_en2 port=down", false},
    {"device * rdma_en2 max_mr=100", false},
    {"device * rdma_en2 used_qp=1", false},
    {"cell * 0 1 rdma_en3", false},
    {"cell 0 0 1 rdma_en3", false},
    {"cell 1 0 1 rdma_en3", false},
    {"cell * 0 1", false},
    {"cell * 0 1 \"\"", false},
    {"cell * 0 0 rdma_en2", false},
    {"cell * 0 1 rdma_en2 rdma_en3", false},
    {"ranks 2 ring 2\ncell * 0 1 rdma_en2 rdma_en2\n"
     "cell * 1 0 rdma_en2 rdma_en2",
     false},
    {"ranks 3 mesh\ncable 0:rdma_en2 1:rdma_en2", false},
    {"ranks 3 mesh\ndevice 0 a", false},
    {"device * a\ndevice * b\ncable 0:a 1:b", false},
};

static void sound_is_what_cannot_go_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof soundness / sizeof soundness[0]; i++) {
        must_parse(soundness[i].text);
        if (scn_is_sound(&scenario) != soundness[i].sound)
            fail_msg("not %d: %s", soundness[i].sound, soundness[i].text);
    }
}

/* The queue-pair limit of a profile is a fault that no statement names. */
/* A ring of two ranks has two queue pairs on a device. */
static void a_ring_of_two_needs_twice_the_queue_pairs(void **state)
{
    static const char *const rings[] = {"ranks 2 ring",
                                        "setting * topology ring"};
    (void)state;
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        must_parse(rings[i]);
        for (uint32_t k = 0; k < vf_profile_thunderbolt.qp_limit / 2; k++)
            scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_INIT;
        assert_true(scn_is_sound(&scenario));
        scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_INIT;
        assert_false(scn_is_sound(&scenario));
    }
}

static void a_setting_of_one_view_goes_before_all(void **state)
{
    (void)state;
    must_parse("ranks 3 ring\nsetting 1 backend sockets\n"
               "setting * backend rdma\nsetting * fallback sockets\n"
               "setting 0 topology mesh");
    assert_int_equal(scn_setting(&scenario, 0, SCN_SETTING_BACKEND), 0);
    assert_int_equal(scn_setting(&scenario, 1, SCN_SETTING_BACKEND), 1);
    assert_int_equal(scn_setting(&scenario, 2, SCN_SETTING_FALLBACK), 1);
    assert_int_equal(scn_setting(&scenario, 0, SCN_SETTING_TOPOLOGY), SCN_MESH);
    assert_int_equal(scn_setting(&scenario, 1, SCN_SETTING_TOPOLOGY), SCN_RING);
}

static void more_groups_than_the_profile_allows_are_not_sound(void **state)
{
    (void)state;
    must_parse("profile thunderbolt");
    uint32_t limit = vf_profile_thunderbolt.qp_limit;
    assert_true(limit > 0 && limit < 100);
    for (uint32_t i = 0; i < limit; i++)
        scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_INIT;
    assert_true(scn_is_sound(&scenario));
    scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_FINALIZE;
    scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_INIT;
    assert_true(scn_is_sound(&scenario));
    scn_add(&scenario, SCN_RUN)->u.run.operation = SCN_INIT;
    assert_false(scn_is_sound(&scenario));
}

static void without_faults_keeps_the_machines(void **state)
{
    (void)state;
    must_parse("ranks 3 mesh\nnodevices 0\nlibrary 1 absent\n"
               "fault 0 reg_mr 1 exit\nchannel 1 close 3\npeer 2 sends 00\n"
               "stray\norder 4\nrun init\nexpect a crash");
    scn_without_faults(&scenario);
    scn_print(&scenario, text, sizeof text);
    assert_string_equal(text, "ranks 3 mesh\nnodevices 0\norder 4\nrun init\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mesh_has_a_device_for_each_peer),
        cmocka_unit_test(a_ring_has_left_wires_then_right_wires),
        cmocka_unit_test(what_is_said_replaces_its_part_of_the_default),
        cmocka_unit_test(a_ranks_own_view_goes_before_all),
        cmocka_unit_test(canonical_order_keeps_the_meaning),
        cmocka_unit_test(forms_are_stable),
        cmocka_unit_test(sound_is_what_cannot_go_wrong),
        cmocka_unit_test(more_groups_than_the_profile_allows_are_not_sound),
        cmocka_unit_test(a_ring_of_two_needs_twice_the_queue_pairs),
        cmocka_unit_test(a_setting_of_one_view_goes_before_all),
        cmocka_unit_test(without_faults_keeps_the_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
