/*
 * front/detail.h: what a recording holds of a call beyond its trace line.
 *
 * A trace line is what a person wants to read. To make the same call again more
 * is needed: the attributes that modify_qp was given, a request's entries, what
 * query_device answered. While somebody records (vf_hooks.record), each call
 * gives one line more, its trace line and behind " ; " these details:
 *
 *   r0 #9 reg_mr(pd=1, len=4096, access=0x7) = mr=1 ; addr=0x7f.. lkey=0x180 ..
 *   r0 #14 post_send(qp=1, wr_id=0x6, len=64) = 0 ; SEND signaled sge=1:0:64
 *
 * A detail is a word, or KEY=VALUE; several requests of one post are parted by
 * next=WR_ID. Objects of the rank appear as in traces, by the number of their
 * kind, and a place in memory as REGION:OFFSET. Numbers that the device chose
 * (queue pairs, keys, addresses, GIDs) stand there as they are: only who has
 * the lines of all ranks can say whose they are (sim/symbols.h). No byte of a
 * message is ever read here.
 *
 * An entry does nothing for it but to set vf_call.given; without a recording
 * that is all there is.
 */
#ifndef VF_FRONT_DETAIL_H
#define VF_FRONT_DETAIL_H

#include "front/call.h"

/* Tells the record hook, which must be set, of the call as its record is now.
 * The world is locked. */
void vf_detail_tell(const struct vf_call *call);

#endif
