/* Calls in scenarios: read, printed, translated, and made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/calls.h"
#include "sim/mutate.h"
#include "sim/recording.h"
#include "sim/run.h"
#include "sim/symbols.h"

#define HEAD "profile ideal\nranks 2 mesh\ndevice 0 dev0\ndevice 1 dev0\n"
#define OPENED                                                                 \
    "call 0 get_device_list() = list=1 ; device=dev0\n"                        \
    "call 0 open_device(device=1) = context=1\n"

static struct scn scenario, other;
static struct scn_error error;
static struct sim_result result;
static char text[1 << 16];

static void must_parse(const char *from)
{
    if (scn_parse(&scenario, from, strlen(from), &error) < 0)
        fail_msg("%d:%d %s\n%s", error.line, error.column, error.message, from);
}

static void prints_as(const char *from, const char *wanted)
{
    must_parse(from);
    scn_print(&scenario, text, sizeof text);
    assert_string_equal(text, wanted);
    assert_int_equal(scn_parse(&other, text, strlen(text), &error), 0);
    assert_int_equal(other.count, scenario.count);
    scn_canonical(&scenario);
    scn_print(&scenario, text, sizeof text);
    assert_int_equal(scn_parse(&other, text, strlen(text), &error), 0);
    assert_int_equal(other.count, scenario.count);
}

static void a_recording_prints_as_it_was_read(void **state)
{
    (void)state;
    prints_as(HEAD OPENED "expect recording ready\n",
              HEAD OPENED "expect recording ready\n");
    prints_as(HEAD "\t call  0\t close_device(context=1) = 0  \r\n",
              HEAD "call 0 close_device(context=1) = 0\n");
    prints_as(HEAD OPENED "# between\n" OPENED,
              HEAD OPENED OPENED "# between\n");
    assert_true(scn_has_calls(&scenario));
    prints_as(HEAD "call 1 dealloc_pd(pd=1) = 0", /* no newline at the end */
              HEAD "call 1 dealloc_pd(pd=1) = 0\n");
}

static void is_refused(const char *from, int line, int column,
                       const char *message)
{
    int status = scn_parse(&scenario, from, strlen(from), &error);
    if (status == 0 || error.line != line || error.column != column ||
        !strstr(error.message, message))
        fail_msg("%s\n%d:%d %s", from, error.line, error.column, error.message);
}

static void what_is_no_call_is_refused_where_it_is(void **state)
{
    (void)state;
    is_refused("call\n", 1, 5, "something is missing");
    is_refused("call 8 dealloc_pd(pd=1) = 0\n", 1, 6, "a rank from 0");
    is_refused("call 0 deallocpd(pd=1) = 0\n", 1, 8, "no such verb");
    is_refused("call 0 completion(qp=1) = 0\n", 1, 8, "no such verb");
    is_refused("call 0 dealloc_pd(pd=1)\n", 1, 18, "expected (ARGUMENTS)");
    is_refused("call 0 dealloc_pd(pd=1) = 0 ; what=1\n", 1, 31, "no detail");
    is_refused("call 0 dealloc_pd(pd=1) = \x01\n", 1, 27, "not text");
    is_refused("call 2 dealloc_pd(pd=1) = 0\n", 1, 6, "rank 2 does not exist");
    is_refused(OPENED "run init\n", 3, 1, "calls in place of runs");
}

static void every_detail_has_a_word(void **state)
{
    const char *about, *word;
    int n = 0;
    (void)state;
    for (; (word = scn_detail_word(n, &about)) != NULL; n++) {
        assert_true(strlen(word) > 1);
        assert_non_null(about);
    }
    assert_true(n > 40);
}

/* ---- numbers become owners ---- */

static struct symbols *symbols;

static void becomes(int rank, const char *line, const char *wanted)
{
    assert_true(symbols_translate(symbols, rank, line, text, sizeof text));
    assert_string_equal(text, wanted);
}

static void connect_all(void)
{
    for (int rank = 0; rank < 2; rank++) {
        becomes(rank, "get_device_list() = list=1 ; device=rxe7",
                "get_device_list() = list=1 ; device=dev0");
        becomes(rank, "open_device(device=1) = context=1",
                "open_device(device=1) = context=1");
        becomes(rank, "alloc_pd(context=1) = pd=1",
                "alloc_pd(context=1) = pd=1");
        becomes(rank,
                "create_qp(pd=1, type=2, send=1, recv=1) = qp=1 ; num=0x11",
                "create_qp(pd=1, type=2, send=1, recv=1) = qp=1");
    }
    becomes(0,
            "query_gid(context=1, port=1, index=1) = 0 ; "
            "gid=00000000000000000000ffff0a000001",
            "query_gid(context=1, port=1, index=1) = 0 ; gid=ipv4");
    becomes(1,
            "query_gid(context=1, port=1, index=1) = 0 ; "
            "gid=00000000000000000000ffff0a000002",
            "query_gid(context=1, port=1, index=1) = 0 ; gid=ipv4");
}

static void numbers_become_their_owners(void **state)
{
    (void)state;
    symbols = symbols_new(false);
    assert_non_null(symbols);
    connect_all();
    becomes(0,
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 "
            "dgid=00000000000000000000ffff0a000002 sgid=1 dlid=0 port=1",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; sgid=1 port=1 dest=1:1 "
            "gid=1 dlid=none");
    becomes(0,
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 "
            "dgid=00000000000000000000ffff0a000001 dlid=0",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=0:1 gid=1 "
            "dlid=none");
    becomes(0, "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=18",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=?");
    becomes(1,
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0 addr=0x7000 "
            "lkey=0x80 rkey=0x81",
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0");
    becomes(0,
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=0x81:0x7010",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=?");
    becomes(0,
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 "
            "dgid=00000000000000000000ffff0a000002",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=1:1 gid=1");
    becomes(0,
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=0x81:0x7010",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=1:1:16");
    becomes(0, "get_device_name(device=1) = \"rxe7\"",
            "get_device_name(device=1) = \"dev0\"");
    becomes(0, "get_device_guid(device=1) = 0x505400fffe000001",
            "get_device_guid(device=1) = guid");
    assert_false(symbols_translate(symbols, 0, "no line", text, sizeof text));
    assert_false(
        symbols_translate(symbols, 0, "dealloc_pd(pd=1) = 0", text, 4));
    symbols_free(symbols);
}

/* Devices number alike: what leads elsewhere is not one's own. */
static void a_stranger_is_not_taken_for_oneself(void **state)
{
    (void)state;
    symbols = symbols_new(false);
    assert_non_null(symbols);
    connect_all();
    becomes(0,
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 "
            "dgid=00000000000000000000ffff0a000003 dlid=0",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=? gid=? "
            "dlid=none");
    assert_int_equal(symbols_strangers(symbols), 1);
    becomes(0, "query_port(context=1, port=1) = 0 ; lid=7",
            "query_port(context=1, port=1) = 0 ; lid=set");
    becomes(0,
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0 addr=0x7000 "
            "lkey=0x80 rkey=0x81",
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0");
    becomes(0,
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=0x81:0x7010",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 remote=?");
    /* The GID says more than a LID that the two ports have both. */
    becomes(0,
            "create_ah(pd=1) = ah=1 ; "
            "dgid=00000000000000000000ffff0a000003 sgid=1 dlid=7",
            "create_ah(pd=1) = ah=1 ; sgid=1 to=? gid=? dlid=set");
    becomes(0, "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=2 ah=1 dqpn=17",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=2 ah=1 dest=?");
    becomes(2, "get_device_list() = list=1 ; device=rxe7",
            "get_device_list() = list=1 ; device=dev0");
    becomes(2, "open_device(device=1) = context=1",
            "open_device(device=1) = context=1");
    becomes(2, "alloc_pd(context=1) = pd=1", "alloc_pd(context=1) = pd=1");
    becomes(2, "create_qp(pd=1, type=2, send=1, recv=1) = qp=1 ; num=0x31",
            "create_qp(pd=1, type=2, send=1, recv=1) = qp=1");
    becomes(2, "query_port(context=1, port=1) = 0 ; lid=1",
            "query_port(context=1, port=1) = 0 ; lid=set");
    becomes(2,
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=49 "
            "dgid=00000000000000000000ffff0a000004 dlid=1",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=? gid=? "
            "dlid=set");
    becomes(0, "create_ah(pd=1) = ah=2 ; dlid=7",
            "create_ah(pd=1) = ah=2 ; to=0:0 dlid=set");
    becomes(0, "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=2 ah=2 dqpn=17",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=2 ah=2 dest=0:1");
    becomes(0, "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 dlid=7",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=0:1 dlid=set");
    becomes(0, "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=17 dlid=8",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=1:1 dlid=set");
    symbols_free(symbols);
}

static void numbers_are_kept_for_joining(void **state)
{
    (void)state;
    symbols = symbols_new(false);
    assert_non_null(symbols);
    symbols_keep_numbers(symbols);
    becomes(0, "create_qp(pd=1, type=2, send=1, recv=1) = qp=1 ; num=0x11",
            "create_qp(pd=1, type=2, send=1, recv=1) = qp=1 ; num=17");
    becomes(0,
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0 "
            "addr=0x7f0012345000 lkey=0x80 rkey=0x81",
            "reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; at=0 "
            "key=0x81:0x12345000");
    becomes(0, "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dqpn=18",
            "modify_qp(qp=1, state=RTR, mask=0x1) = 0 ; dest=?:18");
    becomes(0,
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 "
            "remote=0x91:0x7f0000007010",
            "post_send(qp=1, wr_id=0x0, len=8) = 0 ; op=0 "
            "remote=?:0x91:0x7010");
    symbols_free(symbols);
}

/* ---- the calls, made again ---- */

static void replays_to(const char *from, enum scn_outcome outcome,
                       const char *title)
{
    struct sim_options options = {.subject = sim_subject_by_name("recording")};
    must_parse(from);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
    if (result.outcome != outcome || strcmp(result.title, title) != 0)
        fail_msg("%s %s: %s", scn_outcome_name(result.outcome), result.title,
                 result.rank[result.worst].message);
}

static void a_recording_is_compared_call_by_call(void **state)
{
    struct sim_parting parting;
    (void)state;
    replays_to(HEAD OPENED "call 0 alloc_pd(context=1) = pd=1\n"
                           "call 0 dealloc_pd(pd=1) = 0\n",
               SCN_READY, "");
    sim_recording_parting(&parting);
    assert_int_equal(parting.call, -1);
    replays_to(HEAD OPENED "call 0 alloc_pd(context=1) = NULL ENOMEM\n",
               SCN_ERROR, "parted in alloc_pd");
    sim_recording_parting(&parting);
    assert_int_equal(parting.call, 2);
    assert_non_null(strstr(result.rank[0].message, "call 3 of rank 0"));
    replays_to(HEAD OPENED "call 0 alloc_pd(context=1) = NULL ENOMEM (planned) "
                           "; planned=null:ENOMEM\n",
               SCN_READY, "");
    replays_to(HEAD OPENED
               "call 0 create_cq(context=1, cqe=8) = cq=1 ; granted=7\n",
               SCN_ERROR, "parted in create_cq");
}

static void a_finding_is_the_same_again(void **state)
{
    (void)state;
    replays_to(HEAD OPENED "call 0 dereg_mr(mr=NULL) = ? (null-mr)\n",
               SCN_CRASH, "null-mr in dereg_mr");
    replays_to(HEAD OPENED "call 0 alloc_pd(context=1) = pd=1\n"
                           "call 0 dealloc_pd(pd=1) = 0\n"
                           "call 0 dealloc_pd(pd=1) = ? (freed-pd)\n",
               SCN_CRASH, "freed-pd in dealloc_pd");
    replays_to(HEAD OPENED "call 0 reg_mr(pd=NULL, len=64, access=0x1) = ? "
                           "(null-pd) ; at=0\n",
               SCN_CRASH, "null-pd in reg_mr");
    /* What the device's contract found and the mock's does not. */
    replays_to(HEAD OPENED "call 0 alloc_pd(context=1) = pd=1 (odd)\n",
               SCN_ERROR, "parted in alloc_pd");
}

static void what_never_comes_is_a_parting(void **state)
{
    (void)state;
    replays_to(HEAD OPENED
               "call 0 create_comp_channel(context=1) = channel=1\n"
               "call 0 create_cq(context=1, cqe=8) = cq=1 ; channel=1\n"
               "call 0 poll_cq(cq=1, room=1) = 1 [wr_id=0x1 SEND SUCCESS]\n",
               SCN_ERROR, "parted in poll_cq");
    replays_to(HEAD OPENED
               "call 0 create_comp_channel(context=1) = channel=1\n"
               "call 0 create_cq(context=1, cqe=8) = cq=1 ; channel=1\n"
               "call 0 get_cq_event(channel=1) = 0 ; cq=1\n",
               SCN_ERROR, "parted in get_cq_event");
    replays_to(HEAD OPENED "call 0 poll_cq(cq=1, room=1) = 1 [wr_id=0x1]\n",
               SCN_ERROR, "parted in poll_cq");
}

#define CONNECTED                                                              \
    OPENED "call 0 alloc_pd(context=1) = pd=1\n"                               \
           "call 0 create_cq(context=1, cqe=8) = cq=1\n"                       \
           "call 0 create_qp(pd=1, type=3, send=1, recv=1) = qp=1 ; "          \
           "send_cq=1 recv_cq=1 sge=1:1 num=17\n"                              \
           "call 0 modify_qp(qp=1, state=INIT, mask=0x39) = 0 ; access=0 "     \
           "pkey=0 port=1\n"                                                   \
           "call 0 modify_qp(qp=1, state=RTR, mask=0x101181) = 0 ; mtu=3 "     \
           "rq_psn=7 sgid=1 hops=1 port=1 sl=0 dest=?:17 gid=?\n"

/* Of one side: no parting, and it says how far it went. */
static void what_only_a_peer_could_cause_ends_a_replay(void **state)
{
    static const char *const profiles[] = {"ideal", "rxe", "thunderbolt"};
    static char one[4096];
    struct sim_parting parting;
    (void)state;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        snprintf(one, sizeof one,
                 "profile %s\nranks 1 mesh\ndevice 0 dev0\n" CONNECTED
                 "call 0 poll_cq(cq=1, room=1) = 1 [wr_id=0x1 RECV SUCCESS "
                 "len=64]\n"
                 "call 0 dealloc_pd(pd=NULL) = ? (null-pd)\n",
                 profiles[i]);
        replays_to(one, SCN_READY, "");
        assert_non_null(strstr(result.partial, "rank 0 up to call 7 of 9 "));
        sim_recording_parting(&parting);
        assert_int_equal(parting.call, -1);
    }
    /* What came before is what it was. */
    replays_to("profile ideal\nranks 1 mesh\ndevice 0 dev0\n" CONNECTED
               "call 0 destroy_cq(cq=1) = 16 EBUSY (children-alive)\n"
               "call 0 poll_cq(cq=1, room=1) = 1 [wr_id=0x1 RECV SUCCESS]\n",
               SCN_VIOLATION, "children-alive in destroy_cq");
    assert_non_null(strstr(result.partial, "up to call 8 of 9 "));
    /* Before it was connected nobody could have sent anything. */
    replays_to("profile ideal\nranks 1 mesh\ndevice 0 dev0\n" OPENED
               "call 0 create_cq(context=1, cqe=8) = cq=1\n"
               "call 0 poll_cq(cq=1, room=1) = 1 [wr_id=0x1 RECV SUCCESS]\n",
               SCN_ERROR, "parted in poll_cq");
    assert_string_equal(result.partial, "");
}

/* As ibv_create_ah_from_wc() makes it, which sees whom it answers in what came.
 */
static void the_search_for_an_address_is_made_again(void **state)
{
    static const char *const profiles[] = {"ideal", "rxe", "thunderbolt"};
    static char one[1024];
    (void)state;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        snprintf(one, sizeof one,
                 "profile %s\nranks 1 mesh\ndevice 0 dev0\n" OPENED
                 "call 0 query_gid(context=1, port=1, index=0) = 1 ; find\n"
                 "call 0 query_gid(context=1, port=1, index=0) = -1 ENOENT ; "
                 "find\n",
                 profiles[i]);
        replays_to(one, SCN_READY, "");
    }
    replays_to(HEAD OPENED
               "call 0 query_gid(context=1, port=1, index=0) = 7 ; find\n",
               SCN_ERROR, "parted in query_gid");
}

/* One rank's calls until its queue pair is in INIT, with a receive. */
#define SET_UP(rank)                                                           \
    "call " rank " get_device_list() = list=1 ; device=dev0\n"                 \
    "call " rank " open_device(device=1) = context=1\n"                        \
    "call " rank " alloc_pd(context=1) = pd=1\n"                               \
    "call " rank " create_comp_channel(context=1) = channel=1\n"               \
    "call " rank " create_cq(context=1, cqe=8) = cq=1 ; channel=1\n"           \
    "call " rank " reg_mr(pd=1, len=64, access=0x1) = mr=1 ; at=0\n"           \
    "call " rank " create_qp(pd=1, type=3, send=2, recv=2) = qp=1 ; "          \
    "send_cq=1 recv_cq=1 sge=1:1 all_signaled\n"                               \
    "call " rank " modify_qp(qp=1, state=INIT, mask=0x39) = 0 ; access=0 "     \
    "pkey=0 port=1\n"                                                          \
    "call " rank " post_recv(qp=1, wr_id=0x1, len=64) = 0 ; sge=1:0:64\n"
#define CONNECT(rank, peer)                                                    \
    "call " rank " modify_qp(qp=1, state=RTR, mask=0x101181) = 0 ; mtu=3 "     \
    "rq_psn=7 sgid=1 hops=1 port=1 sl=0 dest=" peer ":1 gid=1\n"               \
    "call " rank " modify_qp(qp=1, state=RTS, mask=0x10001) = 0 ; sq_psn=7\n"

/* One after the other: an event that was due then, and is not now. */
#define SENT(rank)                                                             \
    "call " rank " post_send(qp=1, wr_id=0x2, len=8) = 0 ; op=2 sge=1:0:8\n"   \
    "call " rank " poll_cq(cq=1, room=1) = 1 [wr_id=0x2 SEND SUCCESS]\n"
#define WOKEN(rank)                                                            \
    "call " rank " req_notify_cq(cq=1) = 0\n"                                  \
    "call " rank " get_cq_event(channel=1) = 0 ; cq=1\n"                       \
    "call " rank " ack_cq_events(cq=1, count=1) = void\n"
#define GOT(rank)                                                              \
    "call " rank " poll_cq(cq=1, room=1) = 1 [wr_id=0x1 RECV SUCCESS len=8]\n" \
    "call " rank " post_recv(qp=1, wr_id=0x1, len=64) = 0 ; sge=1:0:64\n"

/* It is given when patience is at an end; who waits for what comes behind it
 * has none of it used up. */
static void an_event_that_is_given_starts_the_patience_again(void **state)
{
    (void)state;
    replays_to(
        "profile rxe\nranks 2 mesh\ndevice 0 dev0\ndevice 1 dev0\n" SET_UP("0")
            SET_UP("1") CONNECT("0", "1") CONNECT("1", "0") SENT("0") WOKEN("1")
                GOT("1") "call 1 post_send(qp=1, wr_id=0x2, len=8) = 0 ; op=2 "
                         "sge=1:0:8\n" GOT("0") SENT("0")
                             WOKEN("0") "call 1 poll_cq(cq=1, room=1) = 1 "
                                        "[wr_id=0x2 SEND SUCCESS]\n" WOKEN("1")
                                            GOT("1") SENT("1") GOT("0"),
        SCN_READY, "");
}

static void subjects_keep_to_their_scenarios(void **state)
{
    struct sim_options options = {.subject = sim_subject_by_name("recording")};
    (void)state;
    must_parse("run init\n");
    assert_int_equal(sim_run(&scenario, &options, &result, &error), -1);
    options.subject = sim_subject_by_name("cjaccl");
    must_parse(HEAD OPENED);
    assert_ptr_equal(sim_subject_for(&scenario),
                     sim_subject_by_name("recording"));
    assert_int_equal(sim_run(&scenario, &options, &result, &error), -1);
}

static void mutation_leaves_calls_as_they_are(void **state)
{
    struct scn_random random;
    (void)state;
    must_parse(HEAD OPENED "expect recording ready\n");
    scn_random_seed(&random, 7);
    for (int i = 0; i < 2000; i++) {
        scn_copy(&other, &scenario);
        scn_mutate(&other, &random);
        for (int k = 0; k < other.count; k++)
            if (other.statements[k].kind == SCN_CALL)
                assert_int_equal(other.statements[k].u.calls.count, 2);
    }
}

static int stop(void **state)
{
    (void)state;
    sim_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_prints_as_it_was_read),
        cmocka_unit_test(what_is_no_call_is_refused_where_it_is),
        cmocka_unit_test(every_detail_has_a_word),
        cmocka_unit_test(numbers_become_their_owners),
        cmocka_unit_test(a_stranger_is_not_taken_for_oneself),
        cmocka_unit_test(numbers_are_kept_for_joining),
        cmocka_unit_test(what_only_a_peer_could_cause_ends_a_replay),
        cmocka_unit_test(the_search_for_an_address_is_made_again),
        cmocka_unit_test(an_event_that_is_given_starts_the_patience_again),
        cmocka_unit_test(a_recording_is_compared_call_by_call),
        cmocka_unit_test(a_finding_is_the_same_again),
        cmocka_unit_test(what_never_comes_is_a_parting),
        cmocka_unit_test(subjects_keep_to_their_scenarios),
        cmocka_unit_test(mutation_leaves_calls_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
