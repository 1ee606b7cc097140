/*
 * mock/mock.h: the mock provider.
 *
 * What a program holds begins with the verbs struct and points to the object in
 * the room (mock/room.h) that is the device's side of it. Everything that may
 * concern a peer works on room objects; only their owner's process follows
 * `owner` back to the handle.
 *
 *   route.c     addresses, and which device they lead to
 *   work.c      posting: work requests into queues
 *   short.c     a short message that finds all it needs
 *   move.c      messages between queue pairs
 *   datagram.c  UD
 *   remote.c    RDMA WRITE, READ and atomics
 *   hold.c      what is marked while bytes are copied
 *   copy.c      bytes from process to process
 *   complete.c  completions to their queues, planned faults among them
 *   expire.c    what happens when nothing happens: retry and RNR timers
 *   notice.c    async events
 *   death.c     what a dead process leaves
 *
 * In all of them the room is entered, except where a function says otherwise.
 */
#ifndef VF_MOCK_MOCK_H
#define VF_MOCK_MOCK_H

#include "front/handles.h"
#include "front/provider.h"
#include "front/world_private.h"
#include "mock/os.h"
#include "mock/room.h"

/* In a completion's wc_flags, until a program sees it: the sender asked for an
 * event. */
#define MOCK_WC_SOLICITED (1u << 30)
/* Beside a completion's receive: its bytes are being copied just now, by its
 * owner, or by a peer that has the room entered. */
#define MOCK_WORK_OWNER 0x80000000u
#define MOCK_WORK_PEER 0x40000000u
#define MOCK_WORK_TAKEN (MOCK_WORK_OWNER | MOCK_WORK_PEER)

struct mock_pd {
    struct ibv_pd pd;
    uint32_t domain; /* its number in the room */
};

struct mock_mr {
    struct ibv_mr mr;
    struct room_region *room;
};

struct mock_mw {
    struct ibv_mw mw;
    struct room_region *room;
};

struct mock_completion {
    struct mock_completion *next;
    struct ibv_wc wc;
};

struct mock_cq {
    struct vf_cq_handle handle;
    struct room_cq *room;
    struct mock_completion *first, *last; /* arrived, not polled */
    uint32_t events;                      /* that nobody has taken */
};

struct mock_srq {
    struct ibv_srq srq;
    struct room_srq *room;
};

/* What the next send of a queue pair will touch that its peer has had since. */
struct mock_ahead {
    const void *receives;                     /* the receiver's queue */
    const void *receive;                      /* the first one in it */
    const struct room_completion *completion; /* the next one's place */
};

struct mock_qp {
    struct vf_qp_handle handle;
    struct room_qp *room;
    struct mock_ahead ahead;
    struct vf_device *route; /* to the other end, as far as addresses tell;
                                NULL: not known */
};

struct mock_ah {
    struct ibv_ah ah;
    struct ibv_ah_attr attr;
};

/* Whose is it? The device of any object; the handle only of our own. */
static inline struct vf_device *mock_device(struct vf_world *world,
                                            const struct room_object *object)
{
    return &world->machines[object->machine].devices[object->device];
}

static inline const struct vf_profile *
mock_profile(struct vf_world *world, const struct room_object *object)
{
    return mock_device(world, object)->setup.profile;
}

static inline bool mock_is_ours(const struct vf_world *world,
                                const struct room_object *object)
{
    return object->process == world->view->self;
}

static inline struct vf_object *mock_owner(const struct room_object *object)
{
    return (struct vf_object *)object->owner;
}

static inline uint32_t mock_domain(const struct vf_object *pd)
{
    return ((const struct mock_pd *)pd->handle)->domain;
}

/* device.c */
int mock_open_device(struct vf_object *context);
int mock_close_device(struct vf_object *context);
int mock_query_device(struct vf_object *context, struct ibv_device_attr *attr);
int mock_query_port(struct vf_object *context, unsigned port,
                    struct ibv_port_attr *attr);
int mock_query_gid(struct vf_object *context, unsigned port, int index,
                   union ibv_gid *gid);
int mock_query_pkey(struct vf_object *context, unsigned port, int index,
                    __be16 *pkey);
bool mock_port_up(const struct vf_device *device);
/* Its port's; 0 where ports have none. */
uint16_t mock_lid(const struct vf_device *device);
void mock_add_device(struct vf_device *device);
void mock_unplug(struct vf_device *device);
void mock_port(struct vf_device *device, bool up);

/* pd.c */
int mock_alloc_pd(struct vf_object *pd);
int mock_dealloc_pd(struct vf_object *pd);
void mock_release_pd(struct vf_object *pd);
int mock_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr);
int mock_destroy_ah(struct vf_object *ah);

/* mr.c */
int mock_reg_mr(struct vf_object *mr, void *address, size_t length,
                uint64_t iova, unsigned access);
int mock_dereg_mr(struct vf_object *mr);
int mock_rereg_mr(struct vf_object *mr, int flags, struct vf_object *pd,
                  void *address, size_t length, unsigned access);
struct vf_object *mock_region_of_key(const struct vf_object *asking,
                                     uint32_t key);
struct vf_object *mock_window_of_key(const struct vf_object *asking,
                                     uint32_t key);
/* Where the entry's bytes are, by the addresses that its region was given and
 * what the device makes of them; what no region knows, as it is. */
uint64_t mock_place(const struct vf_object *owner, const struct ibv_sge *sge);
/* The live region or window with the key on the device that qp is of, with
 * these access flags, when the bytes lie in it; else NULL and *status. remote:
 * by its rkey. qp is the one whose domain counts. */
struct room_region *mock_region(struct vf_world *world,
                                const struct room_qp *qp, uint32_t key,
                                bool remote, uint64_t address, uint64_t length,
                                uint32_t access, bool *outside);

/* mw.c */
int mock_alloc_mw(struct vf_object *mw, enum ibv_mw_type type);
int mock_dealloc_mw(struct vf_object *mw);
int mock_bind_mw(struct vf_object *qp, struct vf_object *mw,
                 struct ibv_mw_bind *bind);
/* Binds as the request says; an enum ibv_wc_status. */
int mock_bind(struct vf_world *world, struct room_qp *qp,
              const struct room_bind *bind);
/* Takes the key of a window of type 2 or of a region away; false: there is no
 * such key, or its kind cannot. remote: a peer asks for it. */
bool mock_invalidate(struct vf_world *world, struct room_qp *qp, uint32_t key,
                     bool remote);
void mock_unbind(struct vf_world *world, struct room_region *window);
/* Its windows lose the region. */
void mock_unbind_all(struct vf_world *world, const struct room_region *region);

/* cq.c */
int mock_create_cq(struct vf_object *cq, int cqe, int vector);
int mock_destroy_cq(struct vf_object *cq);
void mock_release_cq(struct vf_object *cq);
/* Gives the ring of a queue back, if it has one. Entered. */
void mock_drop_ring(struct room_view *view, struct room_cq *cq);
int mock_resize_cq(struct vf_object *cq, int cqe);
int mock_poll_cq(struct vf_object *cq, int room, struct ibv_wc *wc);
bool mock_is_empty_cq(const struct vf_object *cq);
int mock_req_notify_cq(struct vf_object *cq, int solicited_only);
int mock_get_cq_event(struct vf_object *channel, struct vf_object **cq);
void mock_deliver(struct vf_object *cq, const struct ibv_wc *wc);
/* The program is to be told of the queue's event. Not entered. */
void mock_take_event(struct vf_object *cq);
/* A completion has come that may be held back: its owner looks at it now, and
 * what is due by then comes by itself. Not entered. */
void mock_take_planned(struct vf_object *cq);
/* Takes out what the queue pair with the number completed. Not entered. */
void mock_drop_completions(struct vf_object *cq, uint32_t number);
/* Takes what has arrived. The room need not be entered. */
void mock_harvest(struct vf_object *cq);

/* complete.c */
/* Does a message wait in its receive, for the owner to take it? */
enum mock_kept {
    MOCK_NOT_KEPT = 0,
    MOCK_KEPT = 1,      /* a peer that writes there takes it out first, */
    MOCK_UNREACHED = 2, /* unless no peer can reach any memory of its owner's */
    MOCK_INSIDE = 4     /* it lies beside the completion that comes next */
};

/* Completes the request, which is off its queue, and frees it; unless kept, a
 * receive that its bytes lie in. wc: may be that of mock_next(). fault: what
 * the plan has for this completion; a send that makes none is not asked for. */
void mock_complete(struct vf_world *world, struct room_qp *qp, uint32_t work,
                   bool recv, const struct ibv_wc *wc,
                   const struct vf_fault *fault, enum mock_kept kept);
/* A send completes with the status; the plan is asked. */
void mock_complete_send(struct vf_world *world, struct room_qp *qp,
                        uint32_t work, int status);
/* The wc_flags of a send's completion. */
unsigned mock_send_flags(struct vf_world *world, const struct room_qp *qp,
                         uint8_t opcode);
/* A receive completes with an error. */
void mock_complete_error(struct vf_world *world, struct room_qp *qp,
                         uint32_t work, bool recv, int status);
/* The entry of the next completion in the queue (index); NULL: it is full, or
 * gone. A message's bytes may be laid there before it completes, and so may its
 * wc, which mock_complete() then leaves as it is: to copy what was written in
 * pieces just now takes as long as the peer takes to give up the bytes' lines,
 * for a load that no single store satisfies waits for all of them. */
struct room_completion *mock_next(struct vf_world *world, uint32_t cq);
/* Where it will be when so many more have come; only to ask for the cache
 * lines. NULL: the queue is gone. */
const struct room_completion *mock_next_ahead(struct vf_world *world,
                                              uint32_t cq, unsigned more);
const struct vf_fault *mock_plan(struct vf_world *world,
                                 const struct room_qp *qp);
uint32_t mock_count_completion(struct vf_machine *machine);
/* The message that waits for a receive's owner is not to be. */
void mock_unpark(struct vf_world *world, uint32_t work);
/* Gives a request back that nobody completes; 0: none. */
void mock_drop_work(struct vf_world *world, uint32_t work);
/* Likewise, before long: a peer has its cache line just now, which is asked
 * for, and nobody waits. The room need not be entered. */
void mock_drop_work_later(struct vf_world *world, uint32_t work);
/* Copies the bytes that wait with the entry to where its receive says. */
void mock_unpack_bytes(struct vf_world *world, struct room_completion *entry,
                       uint32_t work);
/* Likewise, of an entry that peers may reach; and frees the receive. taken:
 * what it was taken with. */
void mock_unpack(struct vf_world *world, struct room_completion *entry,
                 uint32_t taken);

/* qp.c */
int mock_create_qp(struct vf_object *qp, struct ibv_qp_init_attr *attr);
int mock_modify_qp(struct vf_object *qp, const struct ibv_qp_attr *attr,
                   int mask);
int mock_query_qp(struct vf_object *qp, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init);
int mock_destroy_qp(struct vf_object *qp);
void mock_fail_qp(struct vf_object *qp);
/* To ERR, flushing both queues. */
void mock_fail(struct vf_world *world, struct room_qp *qp);
/* Frees it, however its program ended. */
void mock_drop_qp(struct vf_world *world, struct room_qp *qp);
uint32_t mock_grant(const struct vf_profile *profile, uint32_t asked);
int mock_attach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid);
int mock_detach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid);

/* srq.c */
int mock_create_srq(struct vf_object *srq, struct ibv_srq_init_attr *attr);
int mock_destroy_srq(struct vf_object *srq);
void mock_release_srq(struct vf_object *srq);
int mock_modify_srq(struct vf_object *srq, const struct ibv_srq_attr *attr,
                    int mask);
int mock_query_srq(struct vf_object *srq, struct ibv_srq_attr *attr);
int mock_post_srq_recv(struct vf_object *srq, struct ibv_recv_wr *wr,
                       struct ibv_recv_wr **bad);
/* A receive was taken from it: the limit's event. */
void mock_srq_taken(struct vf_world *world, struct room_srq *srq);

/* short.c: see there. False: nothing was done. */
bool short_send(struct vf_object *object, struct room_qp *qp,
                const struct ibv_send_wr *wr);

/* work.c */
int mock_post_send(struct vf_object *qp, struct ibv_send_wr *wr,
                   struct ibv_send_wr **bad);
int mock_post_recv(struct vf_object *qp, struct ibv_recv_wr *wr,
                   struct ibv_recv_wr **bad);
int mock_post_one_recv(struct vf_object *owner, struct room_queue *queue,
                       uint32_t max_sge, const struct ibv_recv_wr *wr,
                       uint32_t *posted);
void mock_put(struct room_view *view, struct room_queue *queue, uint32_t work);
void mock_put_first(struct room_view *view, struct room_queue *queue,
                    uint32_t work);
/* Takes the first request from the queue; 0: there is none. */
uint32_t mock_take(struct room_view *view, struct room_queue *queue);
void mock_empty(struct room_view *view, struct room_queue *queue);
static inline struct room_work *mock_work(const struct room_view *view,
                                          uint32_t work)
{
    return room_at(view, work);
}
/* What follows the entries, if it does. */
static inline struct room_extra *mock_extra(struct room_work *work)
{
    return (struct room_extra *)&work->sge[work->entries];
}
/* An inline request's bytes; where a short message may wait in a receive. */
static inline unsigned char *mock_bytes(struct room_work *work)
{
    return (unsigned char *)&work->sge[work->entries] +
           (work->extra ? sizeof(struct room_extra) : 0);
}
uint32_t mock_bytes_room(const struct room_work *work);

/* route.c */
/* The GID at this index of the device's table; false: the entry is empty. */
bool route_gid(const struct vf_device *device, int index, union ibv_gid *gid);
/* Is it an IPv4 address, mapped? */
bool route_is_ipv4(const union ibv_gid *gid);
/* 0, or an errno: may the device's queue pairs send along this way? It need not
 * lead to anybody. */
int route_check(const struct vf_device *device,
                const struct ibv_global_route *way);
bool route_reaches(const struct vf_device *from, const struct vf_device *to);
/* The device that has this GID and can be reached from here, or NULL. */
struct vf_device *route(const struct vf_device *from, const union ibv_gid *gid);
/* Likewise, by its LID. */
struct vf_device *route_lid(const struct vf_device *from, uint16_t lid);
/* The device at the other end of a connection; NULL: it is not reached. */
/* By its GID, or without one by LID where the profile has LIDs. */
struct vf_device *route_path(const struct vf_device *from,
                             const struct ibv_ah_attr *path);
struct vf_device *route_other_device(struct vf_world *world,
                                     const struct room_qp *qp);
/* The queue pair at the other end of a connection, in whatever state, on that
 * device; NULL: nobody there. */
struct room_qp *route_end_on(struct vf_world *world, const struct room_qp *qp,
                             const struct vf_device *to);
/* Likewise, wherever it is. */
struct room_qp *route_other_end(struct vf_world *world,
                                const struct room_qp *qp);

/* move.c */
/* Moves what can be moved of the queue pair's sends. */
void move_pump(struct vf_world *world, struct room_qp *sender);
/* The queue pair can receive from now on: moves what its peer has for it. */
void move_ready(struct vf_world *world, struct room_qp *receiver);
/* It can receive more: likewise, if a peer waits for that. */
void move_posted(struct vf_world *world, struct room_qp *receiver);
/* It receives no more: its peer over RC, which may wait for it, begins to count
 * the time. */
void move_gone(struct vf_world *world, const struct room_qp *receiver);
bool move_can_receive(const struct room_qp *qp);
/* Does the receiver take what this sender of a connection sends to it? */
bool move_is_ready(const struct room_qp *sender,
                   const struct room_qp *receiver);
/* Fills the completion of the receive that has got the message. lead: bytes of
 * its header. */
void move_describe(struct vf_world *world, const struct room_qp *sender,
                   struct room_work *sent, const struct room_qp *receiver,
                   uint32_t lead, struct ibv_wc *wc);
/* Do the bytes that wait for this receive count as such that peers reach? */
enum mock_kept move_how_kept(const struct vf_world *world,
                             const struct room_work *received);
/* Counts the packets of a message of so many bytes. receiver: who has taken
 * some of it, or NULL; taken: how many bytes of it, before the packet that
 * failed. Over RC none is sent after that. */
#define MOVE_ALL UINT32_MAX
void move_count(struct room_qp *sender, struct room_qp *receiver,
                uint32_t length, uint32_t taken);
/* Where the sender's process will look for the message that comes next to the
 * receiver, after so many more completions of it. The room is shared. */
void move_note_ahead(struct vf_world *world, struct mock_qp *sender,
                     struct room_qp *receiver, unsigned more);
/* Waits until nobody copies to it or moves its sends. */
void move_settle(struct vf_world *world, struct room_qp *qp);
/* IBV_WC_SUCCESS, or what is wrong with the entries of the request. */
int move_check_entries(struct vf_world *world, const struct room_qp *qp,
                       const struct room_work *work, bool recv,
                       uint32_t access);
bool move_has_receive(const struct vf_world *world, struct room_qp *receiver);
/* The first send, off its queue: to be completed by whoever takes it. */
uint32_t move_take_send(struct vf_world *world, struct room_qp *sender);
/* The receive that the next message takes, likewise; 0: none is posted. */
uint32_t move_take_receive(struct vf_world *world, struct room_qp *receiver);

/* remote.c */
/* The first send, an RDMA request, to the other end. What it answers is as
 * move_one's: see move.c. */
enum move {
    MOVE_DONE, /* completed, whatever the status: go on */
    MOVE_WAITS /* for a receive, or for a peer */
};
enum move remote_move(struct vf_world *world, struct room_qp *sender,
                      struct room_qp *receiver);
/* Nobody takes the first send. not_ready: its receiver, which has no receive
 * for it; NULL: there is nobody. */
enum move move_lost(struct vf_world *world, struct room_qp *sender,
                    struct room_qp *not_ready);
/* The message meets the receive; both are off their queues. lead: the header
 * that goes before it. Completes the receive; its status. MOVE_PEER_DEAD: the
 * receive is back in its queue. */
#define MOVE_PEER_DEAD (-1)
int move_land(struct vf_world *world, struct room_qp *sender,
              struct room_work *sent, struct room_qp *receiver,
              uint32_t received, struct ibv_sge *lead);
/* The first send has waited for long enough: it is lost, the others move. */
void move_forget(struct vf_world *world, struct room_qp *sender);
/* The first send fails: completes it and moves the queue pair to ERR. */
void move_refuse(struct vf_world *world, struct room_qp *sender, int status);

/* datagram.c */
/* Is the first send of a UD queue pair too long, and nobody told? Its entries
 * are never looked at then. */
bool datagram_is_lost(struct vf_world *world, const struct room_qp *sender);
/* Sends the first send of a UD queue pair. */
enum move datagram_move(struct vf_world *world, struct room_qp *sender);
/* The queue pair can receive (more): moves what waits for that. */
void datagram_ready(struct vf_world *world, struct room_qp *receiver);
/* The completion's sl: 0, or how it came, where the profile's devices say. */
uint8_t datagram_service(struct vf_world *world, const struct room_qp *receiver,
                         struct room_work *sent);

/* copy.c */
/* A walk along the entries of a request. */
struct copy_place {
    uint32_t process;
    const struct ibv_sge *list;
    int count;
    int entry;
    uint32_t offset;
};
/* From so many bytes on the room is left while they are copied. */
#define COPY_LONG 4096u
/* Copies length bytes; both places move on. 0 or an errno. Long copies leave
 * the room meanwhile: hold what must not change (hold.h). */
int copy_move(struct vf_world *world, struct copy_place *to,
              struct copy_place *from, uint64_t length);
/* Likewise, and never leaves the room, nor need it be entered. */
int copy_short(struct vf_world *world, struct copy_place *to,
               struct copy_place *from, uint64_t length);
/* Copies between an address of a process and memory of ours. */
int copy_out(struct vf_world *world, uint32_t process, uint64_t to,
             const void *from, size_t length);
int copy_in(struct vf_world *world, uint32_t process, void *to, uint64_t from,
            size_t length);

/* expire.c */
/* The first send of qp has until then (0: no deadline). */
void expire_set(struct vf_world *world, struct room_qp *qp, int64_t when);
/* The list has been made anew; it may be empty. */
void expire_mend(struct vf_world *world);
/* Ends what is over; the next deadline or -1. Enters the room by itself. */
int64_t expire_advance(struct vf_world *world, int64_t now);
int64_t expire_now(const struct vf_world *world);

/* notice.c */
void notice_object(struct vf_world *world, struct room_object *object,
                   enum ibv_event_type type);
void notice_port(struct vf_world *world, struct vf_device *device,
                 enum ibv_event_type type);
/* Tells the program what others have noticed for it. Not entered. */
void notice_take(struct vf_world *world);
/* Something has happened that the process's attendant shall look at. */
void notice_ring(struct vf_world *world, uint32_t process);
/* Something of this process is due later, by time alone. */
void notice_due(struct vf_world *world);

/* provider.c */
void mock_reclaim(struct vf_object *object);

#endif
