/*
 * Rows: regions, keys and ranges.
 */
#include "rows.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Regions. */

static void mr_good(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 1, 100, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 2, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 3, 0, PLACE_ARENA, 0, 1, 0);
}

static void mr_bad_lengths(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 0, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)-1, 0);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)1 << 62, 0);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)1 << 46, 0);
}

static void mr_bad_access(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, 1 << 15);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, IBV_ACCESS_REMOTE_ATOMIC);
}

static void mr_other_access(struct bench *bench)
{
    static const int access[] = {IBV_ACCESS_MW_BIND, IBV_ACCESS_ZERO_BASED,
                                 IBV_ACCESS_ON_DEMAND, IBV_ACCESS_HUGETLB,
                                 IBV_ACCESS_REMOTE_READ};

    bench_start(bench);
    for (size_t i = 0; i < sizeof(access) / sizeof(access[0]); i++) {
        if (act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096,
                       access[i] | IBV_ACCESS_LOCAL_WRITE))
            act_dereg_mr(bench, 1);
    }
}

static void mr_relaxed(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096,
               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
}

static void mr_bad_memory(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_NULL, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_UNMAPPED, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_HALF, 0, 8192, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_READ_ONLY, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_READ_ONLY, 0, 4096, 0);
}

/* Keys and ranges. */

static void dereg_under_receive(struct bench *bench)
{
    struct work work = usual_recv();

    bench_pair(bench, IBV_QPT_UC);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    work.mr = 1;
    act_post_recv(bench, 1, &work);
    act_dereg_mr(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void send_keys(struct bench *bench, int type, enum key key,
                      size_t offset, uint32_t length)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, type);
    if (key == KEY_DEAD) {
        act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, 0);
        act_dereg_mr(bench, 1);
    }
    recv_on(bench, 1);
    work.key = key;
    work.offset = offset;
    work.length = length;
    act_post_send(bench, 0, &work);
    send_on(bench, 0);
    finish(bench);
}

static void send_bogus_key(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_BOGUS, 0, 64);
}

static void send_dead_key(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_DEAD, 0, 64);
}

static void send_outside(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_GOOD, ARENA - 32, 64);
}

static void send_bogus_key_rc(struct bench *bench)
{
    send_keys(bench, IBV_QPT_RC, KEY_BOGUS, 0, 64);
}

static void send_outside_rc(struct bench *bench)
{
    send_keys(bench, IBV_QPT_RC, KEY_GOOD, ARENA - 32, 64);
}

static void send_bogus_key_ud(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UD, KEY_BOGUS, 0, 64);
}

static void recv_keys(struct bench *bench, int type, enum key key, int access,
                      size_t offset)
{
    struct work work = usual_recv();

    bench_pair(bench, type);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, access);
    work.mr = 1;
    work.key = key;
    work.offset = offset;
    act_post_recv(bench, 1, &work);
    recv_on(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void recv_bogus_key(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_BOGUS, IBV_ACCESS_LOCAL_WRITE, RECV_AT);
}

static void recv_read_only(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_GOOD, 0, RECV_AT);
}

static void recv_outside(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_GOOD, IBV_ACCESS_LOCAL_WRITE, ARENA - 32);
}

static void recv_bogus_key_rc(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_RC, KEY_BOGUS, IBV_ACCESS_LOCAL_WRITE, RECV_AT);
}

static void recv_read_only_rc(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_RC, KEY_GOOD, 0, RECV_AT);
}

static void foreign_domain(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UC);
    act_alloc_pd(bench, 1, 0);
    act_reg_mr(bench, 1, 1, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    recv_on(bench, 1);
    work.mr = 1;
    act_post_send(bench, 0, &work);
    finish(bench);
}

/* Limits of the process: an ordinary user may lock so much. */
static void memlock(struct bench *bench)
{
    struct rlimit limit = {8192, 8192};

    bench_start(bench);
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (setuid(65534) != 0)
        printf("(not root)\n");
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
}

const struct row rows_memory[] = {
    {ROW(mr_good)},
    {ROW(mr_bad_lengths)},
    {ROW(mr_bad_access)},
    {ROW(mr_other_access)},
    {ROW(mr_relaxed)},
    {ROW(mr_bad_memory)},
    {ROW(dereg_under_receive)},
    {ROW(send_bogus_key)},
    {ROW(send_dead_key)},
    {ROW(send_outside)},
    {ROW(send_bogus_key_rc)},
    {ROW(send_outside_rc)},
    {ROW(send_bogus_key_ud)},
    {ROW(recv_bogus_key)},
    {ROW(recv_read_only)},
    {ROW(recv_outside)},
    {ROW(recv_bogus_key_rc)},
    {ROW(recv_read_only_rc)},
    {ROW(foreign_domain)},
    {ROW(memlock)},
    {0},
};
