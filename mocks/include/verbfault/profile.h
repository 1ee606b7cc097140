/*
 * verbfault/profile.h: what a device does, as data.
 *
 * A profile is a constant table: limits, which services exist, and how the
 * device behaves where devices differ. Nothing in the mock asks for a
 * profile's name; it asks the fields. mocks/mock/profiles.c holds the tables
 * with the source of each value beside it.
 */
#ifndef VERBFAULT_PROFILE_H
#define VERBFAULT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct vf_profile {
    const char *name;
    int node_type; /* enum ibv_node_type */
    int transport; /* enum ibv_transport_type, or 100 for Thunderbolt */
    uint32_t vendor_id;

    /* Limits of the device. *_limit is what the device does, max_* what
     * query_device says where that differs. 0 for a limit means none. */
    uint32_t max_qp;   /* query_device's answer */
    uint32_t qp_limit; /* live queue pairs; the next create_qp is refused */
    int qp_limit_errno;
    uint32_t mr_limit; /* live regions; the next reg_mr is refused */
    int mr_limit_errno;
    uint32_t pd_limit;
    int pd_limit_errno;
    uint32_t max_cq;
    uint32_t max_cqe;
    uint32_t max_qp_wr;
    uint32_t max_sge;
    uint32_t max_inline;
    uint64_t max_mr_size; /* query_device's answer */
    uint64_t max_message; /* bytes of one SEND */
    uint32_t depth_floor; /* granted queue depth is never below this */
    bool depth_round;     /* granted depth and cqe round up to 2^n - 1 */
    uint32_t depth_cap;   /* and never above this */
    bool depth_as_asked;  /* create_qp and create_srq say what was asked for;
                             query_* what there is */
    bool entries_inline;  /* inline bytes have the room of the send's entries,
                             16 each, and the other way about: the larger of
                             the two is granted for both */
    uint32_t srq_least_sge;

    /* What query_device and query_port say besides. 0: there is none. */
    uint32_t cap_flags;     /* enum ibv_device_cap_flags */
    uint32_t max_rd_atomic; /* READs and atomics underway, of one queue pair,
                               at either end */
    uint32_t max_res_rd_atomic; /* likewise, of the device as responder */
    uint32_t max_sge_read;
    uint32_t max_ah;
    uint32_t max_mw;
    uint32_t max_srq, max_srq_wr, max_srq_sge;
    uint32_t max_mr;        /* where mr_limit is 0 */
    uint32_t max_pkeys;     /* 0: as many as there are, one */
    uint64_t page_size_cap; /* 0: page_size */
    const char *firmware;   /* fw_ver */
    uint32_t max_mcast_grp, max_mcast_qp_attach;
    uint8_t ack_delay;       /* 4.096 us times 2 to the power of it */
    uint8_t port_width;      /* 1: 1x, 2: 4x, 4: 8x, 8: 12x */
    uint8_t port_speed;      /* of a lane: 1: 2.5, 2: 5, 4 and 8: 10, 16: 14,
                                32: 25, 64: 50 Gbit/s */
    uint32_t port_cap_flags; /* enum ibv_port_cap_flags */
    uint8_t port_flags;      /* IBV_QPF_* */
    uint8_t link_layer;      /* IBV_LINK_LAYER_*; 0: Ethernet's */
    int no_pkey_errno;       /* query_pkey past the table or the ports */
    bool lids; /* ports have one, and connections without a GID go by it */
    bool cable_lids; /* they count on each machine from 1; a connection without
                        a GID goes down the cable, to a port of that LID */

    /* Services. */
    bool rc, uc, ud;
    bool srq, rdma, atomics, windows;
    bool rereg;             /* rereg_mr */
    int unsupported_errno;  /* answer for a service that is not there */
    uint8_t mr_offset_bits; /* of an offset into a region, so many bits count:
                               past them it begins anew; 0: all count */
    bool mr_page_aligned;   /* reg_mr refuses an unaligned start */
    bool mr_counts_pages;   /* a region's length is right when it has pages,
                               and fewer than 2^32; else when it is not 0 */
    bool on_demand;         /* IBV_ACCESS_ON_DEMAND */
    int bound_mr_errno; /* dereg_mr of a region with a window bound to it; 0:
                           the windows are closed */
    uint32_t page_size;

    /* How messages move. */
    uint32_t frame_bytes; /* 0: bytes count. Else SEND and RECV must cover the
                             same number of frames, and queues are counted in
                             frames */
    bool send_waits;      /* a SEND waits for a posted RECV; else it is dropped
                             and completes with success */
    uint32_t ud_wait_ms;  /* a UD send waits so long for a receive; then it is
                             lost and completes with success. 0: at once */
    bool ud_packet_type;  /* sl of a datagram's completion says whether it came
                             by IPv6 (1) or IPv4 (2), as mlx5's do: UCX goes by
                             it */
    bool reset_drops; /* a queue pair's move to RESET takes its completions out
                         of their queues */
    bool death_is_silent;     /* a peer's death leaves posted work unanswered */
    bool alloc_pd_needs_port; /* alloc_pd answers NULL while the port is down */
    bool recv_over_depth_refused; /* ENOMEM; else taken and lost */
    bool needs_cable;      /* reaches nothing but the other end of its cable */
    bool unplug_faults;    /* a post after the cable went faults inside of it */
    bool death_keeps_pd;   /* a dead process's domains stay taken */
    bool recv_grh;         /* receive completions carry IBV_WC_GRH */
    bool send_imm_flagged; /* a send's own completion has IBV_WC_WITH_IMM,
                              with 0, where its request has an immediate */
    bool ud_opcode_is_late; /* what UD cannot do fails when it is sent
                               (IBV_WC_LOC_QP_OP_ERR), not when posted */
    bool atomics_checked;   /* post_send refuses atomics that do not fit, with
                               EINVAL; else the responder does */
    int fetch_key_status;   /* where a READ or an atomic puts what it fetches is
                               looked at when that comes, and this is the status
                               then; 0: before it is sent, as with a SEND */
    bool receive_before_key; /* a WRITE with immediate, of one packet, takes its
                                receive before its key is looked at: there may
                                be none, and it ends with REM_ACCESS_ERR */
    bool responder_is_quiet; /* no QP_ACCESS_ERR or QP_REQ_ERR for what a peer
                                asked for, and no QP_LAST_WQE_REACHED */
    bool touched_only; /* of a receive's entries only those that the message
                          fills are looked at; else all */
    bool late_receives_stay;  /* what is posted to a queue pair in ERR is not
                                 flushed */
    bool state_error_is_bare; /* a post in the wrong state leaves *bad_wr as it
                                 was; else it names the first request */

    /* Completion statuses (enum ibv_wc_status) where devices differ. */
    int send_key_status;   /* an sge's lkey is not one of the domain's */
    int send_range_status; /* an sge goes past its region */
    int recv_key_status;   /* likewise when a message arrives, or the region
                              lacks LOCAL_WRITE */
    int recv_range_status;
    int too_long_status;    /* the message is longer than the receive */
    int frames_status;      /* its frames are not as many as the receive's */
    int rc_refused_status;  /* at an RC sender, when the receiver could not take
                               it for another reason than its length */
    int rc_too_long_status; /* likewise, for its length */
    int ud_too_long_status; /* a datagram longer than the MTU; SUCCESS: lost */

    /* The GID table: which kind of address each index holds. */
    enum vf_gid_kind {
        VF_GID_NONE,
        VF_GID_LINK_LOCAL, /* from the MAC */
        VF_GID_IPV4,       /* ::ffff:a.b.c.d of the paired interface */
        VF_GID_LINK_LOCAL_INTERFACE
    } gid_table[4];
    int gid_table_len; /* query_port's gid_tbl_len */
    int active_mtu;    /* enum ibv_mtu */

    /* Answers of modify_qp to RTR. */
    int rtr_zero_gid_errno;       /* destination GID unset */
    int rtr_unroutable_errno;     /* nobody has it; 0: accepted */
    int rtr_link_local_gid_errno; /* sgid_index names a link-local entry; 0:
                                     accepted */
    int rtr_empty_gid_errno;      /* sgid_index names an empty entry */
    int rtr_families_errno; /* one of source and destination is an IPv4 address
                               and the other is not; 0: accepted */
    int rtr_stale_errno; /* a process died with a domain of the device, which is
                            still taken (death_keeps_pd); 0: no matter */
    bool rtr_needs_global; /* is_global 0 is refused with EINVAL */

    /* Answers of query_qp. */
    bool query_keeps_cur_state; /* cur_qp_state is what modify_qp was given,
                                   RESET until then; else the state */
    bool query_counts_packets;  /* sq_psn and rq_psn are the next packets';
                                   else what modify_qp has set */
    int unset_mtu;              /* path_mtu before it is set: enum ibv_mtu */
    bool attr_outlives_reset;   /* what was set before a move to RESET */

    /* Other answers. */
    int port_down_pd_errno; /* alloc_pd, where alloc_pd_needs_port */
    int null_address_errno; /* reg_mr of the NULL address */
    int memlock_errno;      /* reg_mr of more than an ordinary user may lock
                               (RLIMIT_MEMLOCK), in real processes; 0: taken */
    int dead_memory_errno;  /* reg_mr of memory that is not there; 0: taken */
    int open_leaves_errno;  /* what a successful open_device leaves in errno;
                               0: errno is not touched */
};

extern const struct vf_profile vf_profile_thunderbolt;
extern const struct vf_profile vf_profile_rxe;
extern const struct vf_profile vf_profile_ideal;

/* The n-th profile, or NULL past the last. */
const struct vf_profile *vf_profile_at(int n);
/* The profile called name, or NULL. */
const struct vf_profile *vf_profile_by_name(const char *name);

#endif
