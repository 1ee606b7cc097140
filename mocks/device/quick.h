/*
 * device/quick.h: posts and polls of which there is nothing to say.
 *
 * These stand in a context's operations, before the front door's own. While no
 * fault is planned for the machine and nobody listens to the trace, a post of
 * one request of the plain kind, and any poll, is counted, checked and
 * remembered right here, in a tenth of the instructions of front/call.c. They
 * only ever answer "as it should be": a request that is anything else (a freed
 * handle, a key that does not fit, a queue that is full, a list, a read, a
 * datagram) is left to the five steps, before anything was done. What is
 * checked and remembered is what the way of front/quick.h does, by the same
 * functions; that one keeps the history besides, and finds its handles without
 * a map.
 *
 * What is not kept is the history: the last calls before a crash show no quick
 * post or poll.
 *
 * A process of one thread takes no lock here: there is nobody to keep out.
 */
#ifndef VF_DEVICE_QUICK_H
#define VF_DEVICE_QUICK_H

#include "front/infiniband.h"

int device_quick_poll(struct ibv_cq *cq, int room, struct ibv_wc *wc);
int device_quick_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                      struct ibv_send_wr **bad);
int device_quick_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                      struct ibv_recv_wr **bad);

#endif
