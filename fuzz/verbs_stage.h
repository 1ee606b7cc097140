/*
 * verbs_stage.h: the world that a program of fuzz_verbs runs in, and what must
 * hold there.
 *
 * Each machine has one device, MEMORY bytes, and the handles that its program
 * was given. The stage watches what the mock does to the program's memory:
 *
 * - a byte of MEMORY changes only where a request of the program's or of a peer
 *   said that it may, in a region that was there and had the access for it;
 * - what a call only reads is as it was when the call is over;
 * - every block that a call is given is its own piece of heap, of exactly the
 *   size that the verb's manual says: AddressSanitizer sees a byte past it;
 * - no request completes twice, none that was not posted, and none in a queue
 *   that its queue pair does not have;
 * - at the end nothing lives.
 *
 * A finding after which rdma-core would fault ends the machine's process there,
 * as the fault would: stage_call() comes back, the machine's handles are freed
 * ones, and the program goes on with what is left.
 */
#ifndef FUZZ_VERBS_STAGE_H
#define FUZZ_VERBS_STAGE_H

#include "front/infiniband.h"
#include "front/world_private.h"
#include "fuzz/verbs_program.h"

#define STAGE_MEMORY 8192u /* of a machine */
#define STAGE_GROUPS 3

/* A region as its program knows it. What was one stays in the table. */
struct stage_region {
    const struct ibv_mr *handle;
    int machine;
    uintptr_t address;
    uint64_t iova;
    uint64_t length;
    unsigned access;
    uint32_t lkey, rkey;
    bool live;
    unsigned died; /* in this call */
};

extern struct vf_world *stage_world;
/* Of the last completion with a global route header that was polled. */
extern struct ibv_wc stage_wc;
/* The last async event that was taken. */
extern struct ibv_async_event stage_event;

void stage_start(const struct verbs_program *program);
/* Runs the call; comes back also when it ends its process. */
void stage_call(const struct verbs_call *call);
/* Releases everything, by verbs or by the kernel, and looks at what is left. */
void stage_end(bool orderly);
void stage_stop(void);

/* Says which promise is broken, and aborts. */
void stage_broken(const char *promise, ...)
    __attribute__((format(printf, 1, 2), noreturn));
/* Findings since stage_start(), fatal ones too; completions without and with an
 * error: for tests of programs. */
extern unsigned stage_findings, stage_done, stage_failed;
/* Trace lines and findings go to standard error. */
extern bool stage_tells;

/* ---- for the calls ---- */

/* The call's next argument; 0 when there are no more. */
uint32_t stage_next(void);
/* Likewise, as a length or an address: the highest 256 are negative, the 64
 * below them powers of two. */
uint64_t stage_next_wide(void);
/* Likewise, as a number that is `usual` where the argument is 0. */
uint32_t stage_next_or(uint32_t usual);
/* Likewise, as the number of a machine. */
int stage_next_machine(void);
/* Likewise, as a handle of the kind. */
void *stage_next_handle(enum vf_kind kind);
/* The handle that the argument means. */
void *stage_handle(enum vf_kind kind, uint32_t argument);
/* 0 is no handle, 1 the handle of argument 0, and so on. */
void *stage_next_optional(enum vf_kind kind);

/* May the inline verbs read it? */
bool stage_is_usable(const void *handle, enum vf_kind kind);
/* The machine of the handle; the thread's, for one that is none of ours. */
int stage_machine_of(const void *handle);
unsigned char *stage_memory(int machine);
/* The address of an argument: an offset into the machine's memory, or none. */
uintptr_t stage_address(int machine, uint32_t argument);
/* The region of a live or once live handle, or NULL. */
struct stage_region *stage_region_of(const void *handle);

/* Heap of exactly this size, until the call is over; zeroed. */
void *stage_block(size_t size);
/* The call must leave this block as it is now. */
void stage_seal(const void *block);

/* What the program was given and has given back. */
void stage_made(enum vf_kind kind, void *handle);
void stage_region_made(const struct ibv_mr *mr, uintptr_t address,
                       uint64_t length, uint64_t iova, unsigned access);
/* The region of a handle that stays is another one from now on. */
void stage_region_gone(const void *handle);
/* The bytes that a key and an address mean may be written from now on, by the
 * program's own requests or by its peers'. */
void stage_may_write(uint32_t lkey, uint64_t address, uint64_t length);
void stage_may_be_written(uint64_t address, uint64_t length);

/* A number for the next request, and what became of it. */
uint64_t stage_next_id(void);
void stage_posted(uint64_t wr_id);
void stage_completed(const void *cq, const struct ibv_wc *wc);
/* Faults are planned: completions may come twice, or be garbage. */
void stage_planned(void);
bool stage_is_planned(void);

const union ibv_gid *stage_group(uint32_t number);
/* The GID of the machine's device, as its program has read it. */
union ibv_gid stage_gid(int machine, uint32_t index);
void stage_pass(int64_t nanoseconds);

/* verbs_make.c, verbs_post.c, verbs_extended.c: each runs the call that is
 * begun if it is one of theirs. */
bool verbs_make(enum verbs_name name);
bool verbs_post(enum verbs_name name);
bool verbs_extended(enum verbs_name name);

#endif
