/*
 * A few devices for the tests of cjaccl alone: enough verbs to start a group of
 * threads in one process, to move its messages, and to fail where a test says.
 * (What devices really do is the business of the mock provider, which cjaccl
 * knows nothing of.)
 *
 * Each rank is a machine with one device, or several. A thread says with
 * fake_enter() which machine it is on. The machine counts its living objects
 * and keeps a log of what was released, in order.
 */
#ifndef CJACCL_FAKE_H
#define CJACCL_FAKE_H

#include "cjaccl/cjaccl.h"

#include <pthread.h>
#include <stdbool.h>

#define FAKE_LOG_SIZE 4096
#define FAKE_REGIONS 16

struct fake_machine {
    /* Set by the test. */
    const char
        *names[CJ_MAX_MESH_RANKS + 1]; /* of its devices, NULL at the end */
    bool no_list;                      /* get_device_list answers NULL */
    int transport;                     /* 100: Thunderbolt */
    bool drops;                        /* a SEND without receive is lost */
    enum ibv_port_state port_state;
    int gid_index; /* of the IPv4-mapped entry, -1: there is none */
    int gid_count;
    int depth;             /* granted to queues; one that is full says ENOMEM */
    int max_cqe;           /* one that asks for more gets EINVAL */
    int entries;           /* that a request may have */
    bool slow;             /* reads a SEND's bytes at a poll, one message at a
                              time */
    bool late_sends;       /* completions come one by one, receives first */
    const char *fail_verb; /* e.g. "reg_mr", or NULL */
    int fail_call;         /* the n-th call of it, counted from 1 */
    int fail_errno;        /* 0: a completion status, a poll_cq of -1, ... */
    enum ibv_wc_status fail_status;
    const char *broken_verb; /* one that releases and always fails: EBUSY */

    /* Read by the test. */
    int alive;      /* contexts, domains, regions, queues */
    int calls;      /* of fail_verb */
    int lost;       /* SENDs that met no receive and were dropped */
    int regions;    /* registered so far */
    int straight;   /* SENDs of two entries, whose first is in a region of the
                       caller's */
    int opened;     /* devices opened so far */
    int sgid_index; /* of the last RTR */
    int cq_entries; /* of the last completion queue */
    int polls;
    const struct ibv_mr *live[FAKE_REGIONS];
    char log[FAKE_LOG_SIZE]; /* names of the releasing verbs, with spaces */
};

extern const struct cj_verbs fake_verbs;

/* A machine with one device "rdma_en2" where everything works. */
void fake_machine_init(struct fake_machine *machine);

/* The calling thread is on that machine from now on. */
void fake_enter(struct fake_machine *machine);

/* A port of 127.0.0.1 that is free, as a coordinator: "127.0.0.1:port". */
const char *fake_coordinator(char text[32]);

#endif
