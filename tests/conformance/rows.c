/*
 * What is known of soft-RoCE, a sequence for each fact, by name. What a row
 * shows is in its name; that it is so on both devices is the comparison's
 * matter. The rows stand in rows_*.c.
 */
#include "rows.h"

static const struct row *const tables[] = {
    rows_device,  rows_queue,  rows_state,  rows_memory,
    rows_message, rows_remote, rows_shared,
};
#define TABLES ((int)(sizeof(tables) / sizeof(tables[0])))

static const struct row *row_at(int n)
{
    for (int table = 0; table < TABLES; table++)
        for (const struct row *row = tables[table]; row->name; row++)
            if (n-- == 0)
                return row;
    return NULL;
}

bool row_name(int n, const char **name)
{
    const struct row *row = row_at(n);

    if (row)
        *name = row->name;
    return row != NULL;
}

void row_run(int n, struct bench *bench)
{
    row_at(n)->run(bench);
}

struct work usual_recv(void)
{
    struct work work = usual_work(IBV_WR_SEND);

    work.offset = RECV_AT;
    work.length = 128;
    return work;
}

void recv_on(struct bench *bench, int qp)
{
    struct work work = usual_recv();

    act_post_recv(bench, qp, &work);
}

void send_on(struct bench *bench, int qp)
{
    struct work work = usual_work(IBV_WR_SEND);

    act_post_send(bench, qp, &work);
}

void move_to(struct bench *bench, int qp, int to, int peer)
{
    struct move move = usual_move(to, peer);

    act_modify_qp(bench, qp, &move);
}

void finish(struct bench *bench)
{
    act_drain_sends(bench, 0);
    act_drain(bench, 1);
    act_query_qp(bench, 0);
    act_query_qp(bench, 1);
    act_events(bench, 0);
    act_memory(bench);
}

void create(struct bench *bench, int qp, int type)
{
    struct queue_wish wish = usual_wish(type);

    act_create_qp(bench, qp, &wish);
}

void reach(struct bench *bench, int qp, int state)
{
    static const int steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

    for (int i = 0; i < 3 && state != IBV_QPS_RESET; i++) {
        move_to(bench, qp, steps[i], 1 - qp);
        if (steps[i] == state || state == IBV_QPS_ERR)
            break;
    }
    if (state == IBV_QPS_ERR)
        move_to(bench, qp, IBV_QPS_ERR, 1 - qp);
}
