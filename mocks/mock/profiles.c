/*
 * What the devices do, with the source of each value beside it.
 *
 * TN3205 is Apple's technote "Low-latency communication with RDMA over
 * Thunderbolt"; mlx#N, hellas#N and llama#N are issues or pull requests of
 * ml-explore/mlx, hellas-ai/thunderbolt-ibverbs and ggml-org/llama.cpp.
 * osaurus and tb4-rdma-enabler are fixtures and the README of
 * osaurus-ai/osaurus and zhaofengli/tb4-rdma-enabler, with outputs of Macs.
 * "measured" for rxe: rdma-core 44 on Linux 6.1 in a virtual machine.
 * "inferred": nobody has published it; the value is the likeliest one.
 * An errno is meant by its POSIX word: Darwin's 102 is EOPNOTSUPP, its 60
 * ETIMEDOUT.
 */
#include "front/infiniband.h"
#include "verbfault/profile.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const struct vf_profile vf_profile_thunderbolt = {
    .name = "thunderbolt",
    .node_type = IBV_NODE_CA, /* inferred */
    .transport = 100,         /* TN3205: "Thunderbolt (100)" */
    .vendor_id = 0x05ac,      /* Apple's USB vendor number; inferred */

    .max_qp = 11,             /* mlx#4209 */
    .qp_limit = 10,           /* TN3205, mlx#4209 */
    .qp_limit_errno = EBUSY,  /* mlx#4209 */
    .mr_limit = 100,          /* mlx#3162: about 100 */
    .mr_limit_errno = ENOMEM, /* inferred */
    .pd_limit = 64,           /* mlx#3207: some number; inferred */
    .pd_limit_errno = ENOMEM, /* inferred */
    .max_cq = 64,             /* inferred */
    .max_cqe = 8191,          /* inferred */
    .max_qp_wr = 4095,        /* TN3205, in frames */
    .max_sge = 1,             /* measured by others */
    .max_inline = 0,          /* inferred */
    .max_mr_size = 16773120,  /* reads about 16.4 MB, not enforced */
    .max_message = 16773120,  /* TN3205: 4095 frames */
    .depth_floor = 1023,      /* a request for 256 was granted 1023 */
    .depth_round = true,      /* inferred from 1023 and 4095 */
    .depth_cap = 4095,        /* TN3205 */

    .ack_delay = 15,  /* inferred */
    .port_width = 2,  /* a Thunderbolt 5 link has 80 Gbit/s: with what verbs */
    .port_speed = 32, /* can say, 4 lanes of 25 Gbit/s; inferred */
    .port_cap_flags = IBV_PORT_CM_SUP, /* inferred */
    .link_layer = 100,  /* IBV_LINK_LAYER_THUNDERBOLT in Apple's verbs.h alone;
                           two public programs for Macs name it */
    .cable_lids = true, /* osaurus: ibv_devinfo has 1, 2, 3, sm_lid the same;
                           tb4-rdma-enabler: connects without a GID */
    .firmware = "verbfault",
    .no_pkey_errno = EINVAL, /* inferred */

    .uc = true,                      /* TN3205: UC only */
    .rereg = true,                   /* inferred */
    .unsupported_errno = EOPNOTSUPP, /* TN3205, mlx#4530: 102 on Darwin */
    .mr_offset_bits = 32,            /* measured by others: a region past 2^32
                                        bytes returns wrong data */
    .mr_page_aligned = true,         /* TN3205 */
    .on_demand = true,               /* inferred: nobody looks at it */
    .page_size = 4096, /* Apple silicon's is 16 KiB; a program built for Linux
                          aligns to that system's pages */

    .frame_bytes = 4096,             /* TN3205, llama#26421 */
    .send_waits = true,              /* TN3205: credit-based flow control */
    .death_is_silent = true,         /* mlx#3910, mlx#4278 */
    .alloc_pd_needs_port = true,     /* mlx#4530 */
    .recv_over_depth_refused = true, /* hellas#39; another report: lost */
    .needs_cable = true,             /* a cable joins two ports */
    .unplug_faults = true,           /* mlx#4192, mlx#4319 */
    .death_keeps_pd = true,          /* mlx#3207 */
    .recv_grh = false,               /* inferred */
    .state_error_is_bare = false,    /* inferred: the verbs manual */

    .send_key_status = IBV_WC_LOC_PROT_ERR,   /* inferred: the verbs rule */
    .send_range_status = IBV_WC_LOC_PROT_ERR, /* inferred */
    .recv_key_status = IBV_WC_LOC_PROT_ERR,   /* inferred */
    .recv_range_status = IBV_WC_LOC_PROT_ERR, /* inferred */
    .too_long_status = IBV_WC_LOC_LEN_ERR,    /* inferred */
    .frames_status = IBV_WC_LOC_LEN_ERR,      /* TN3205, llama#26421 */

    .gid_table = {VF_GID_LINK_LOCAL, VF_GID_IPV4,
                  VF_GID_LINK_LOCAL_INTERFACE}, /* TN3205 */
    .gid_table_len = 3,                         /* TN3205 */
    .active_mtu = IBV_MTU_1024,                 /* what JACCL asks for */

    .rtr_zero_gid_errno = EINVAL,          /* mlx#3467: 22 */
    .rtr_unroutable_errno = EINVAL,        /* mlx#3467 */
    .rtr_link_local_gid_errno = ETIMEDOUT, /* mlx#3468: 60 on Darwin */
    .rtr_empty_gid_errno = EINVAL,         /* mlx#4191 */
    .rtr_stale_errno = EBUSY,              /* mlx#3467, mlx#3207: 16 */

    .port_down_pd_errno = EIO,    /* mlx#4530 says NULL; inferred */
    .null_address_errno = EINVAL, /* inferred */
    .dead_memory_errno = EFAULT,  /* inferred: pages cannot be wired */
};

const struct vf_profile vf_profile_rxe = {
    .name = "rxe",
    .node_type = IBV_NODE_CA,      /* measured: InfiniBand channel adapter */
    .transport = IBV_TRANSPORT_IB, /* measured */
    .vendor_id = 0xffffff,         /* the driver's constant */

    .max_qp = 1048560, /* measured, tests/vm; the other large limits: the
                          driver's constants of Linux 6.1, measured likewise */
    .qp_limit_errno = ENOMEM,
    .mr_limit = 0,
    .mr_limit_errno = ENOMEM,
    .pd_limit = 0,
    .pd_limit_errno = ENOMEM,
    .max_cq = 1048576,
    .max_cqe = 32767,
    .max_qp_wr = 1048576,
    .max_sge = 32,
    .max_inline = 512,
    .max_mr_size = UINT64_MAX,
    .max_message = 8388608,
    .depth_floor = 0,
    .depth_round = true, /* measured: depth 4 grants 7, cqe 10 gives 15 */
    .depth_cap = 0,
    .depth_as_asked = true, /* measured, tests/vm */
    .entries_inline = true, /* likewise */
    .srq_least_sge = 1,     /* likewise */

    /* From here to port_cap_flags: the driver's constants of Linux 6.1, in
     * rxe_param.h, by the name that is beside them. */
    .cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                 IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_CHANGE_PHY_PORT |
                 IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
                 IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
                 IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                 IBV_DEVICE_MEM_WINDOW |
                 IBV_DEVICE_MEM_WINDOW_TYPE_2B, /* RXE_DEVICE_CAP_FLAGS */
    .max_rd_atomic = 128,         /* RXE_MAX_QP_RD_ATOM, ..INIT_RD_ATOM */
    .max_res_rd_atomic = 0x3f000, /* RXE_MAX_RES_RD_ATOM */
    .max_sge_read = 32,           /* RXE_MAX_SGE_RD */
    .max_ah = 32767,              /* RXE_MAX_AH */
    .max_mw = 524287,             /* RXE_MAX_MW; measured */
    .max_srq = 917503,            /* RXE_MAX_SRQ */
    .max_srq_wr = 1048576,        /* RXE_MAX_SRQ_WR */
    .max_srq_sge = 27,            /* RXE_MAX_SRQ_SGE */
    .max_mcast_grp = 8192,        /* RXE_MAX_MCAST_GRP */
    .max_mcast_qp_attach = 56,    /* RXE_MAX_MCAST_QP_ATTACH */
    .ack_delay = 15,              /* RXE_LOCAL_CA_ACK_DELAY */
    .port_width = 1,              /* as of an interface of unknown speed, */
    .port_speed = 1,              /* by ib_get_eth_speed() of the kernel */
    .port_cap_flags = IBV_PORT_CM_SUP, /* RXE_PORT_PORT_CAP_FLAGS */
    .max_mr = 524287,                  /* from here on: measured, tests/vm */
    .max_pkeys = 64,
    .page_size_cap = 0xfffff000,
    .firmware = "0.0.0",
    .port_flags = IBV_QPF_GRH_REQUIRED,
    .no_pkey_errno = ENOENT, /* a file of sysfs that is not there */

    .rc = true, /* measured */
    .uc = true,
    .ud = true,
    .srq = true,
    .rdma = true,
    .atomics = true,
    .windows = true,
    .rereg = false,                  /* rdma-core 44's rxe has none */
    .unsupported_errno = EOPNOTSUPP, /* measured: RAW_PACKET */
    .mr_page_aligned = false,        /* measured */
    .mr_counts_pages = true,         /* measured: 0 and 2^46 bytes; the number
                                        is the kernel's, for all its devices */
    .on_demand = false,              /* measured */
    .bound_mr_errno = EINVAL,        /* measured */
    .page_size = 4096,

    .frame_bytes = 0,
    .send_waits = false,      /* measured: dropped, sender SUCCESS */
    .death_is_silent = false, /* measured: sends to nobody are SUCCESS */
    .alloc_pd_needs_port = false,
    .recv_over_depth_refused = true, /* measured: ENOMEM */
    .needs_cable = false,
    .unplug_faults = false,
    .death_keeps_pd = false,   /* measured: exit without clean-up is fine */
    .recv_grh = true,          /* measured */
    .send_imm_flagged = true,  /* measured */
    .ud_opcode_is_late = true, /* measured */
    .atomics_checked = true,   /* measured; rdma-core's check */
    .fetch_key_status = IBV_WC_LOC_PROT_ERR, /* measured */
    .receive_before_key = true,              /* measured */
    .responder_is_quiet = true,              /* measured */
    .touched_only = true,                    /* measured */
    .late_receives_stay = true, /* measured on Linux 6.1: the ring is not looked
                                   at again */
    .state_error_is_bare = true, /* measured: EINVAL, bad_wr not set */

    .send_key_status = IBV_WC_LOC_QP_OP_ERR,   /* measured */
    .send_range_status = IBV_WC_LOC_PROT_ERR,  /* measured */
    .recv_key_status = IBV_WC_LOC_QP_OP_ERR,   /* measured */
    .recv_range_status = IBV_WC_LOC_QP_OP_ERR, /* as recv_key_status */
    .too_long_status = IBV_WC_LOC_QP_OP_ERR,   /* measured */
    .rc_refused_status = IBV_WC_REM_OP_ERR,    /* as rc_too_long_status */
    .rc_too_long_status = IBV_WC_REM_OP_ERR,   /* measured */
    .ud_too_long_status = IBV_WC_SUCCESS, /* the driver's comment: "believed
                                             sent" */

    .gid_table = {VF_GID_LINK_LOCAL, VF_GID_IPV4}, /* measured */
    .gid_table_len = 1024,                         /* the driver's constant */
    .active_mtu = IBV_MTU_1024,                    /* measured */

    .rtr_zero_gid_errno = EINVAL,   /* measured */
    .rtr_unroutable_errno = 0,      /* measured: an absent peer is accepted */
    .rtr_link_local_gid_errno = 0,  /* measured */
    .rtr_families_errno = EINVAL,   /* measured: from the link-local entry to
                                       an IPv4 one; the other way inferred */
    .rtr_empty_gid_errno = ENODATA, /* measured */
    .rtr_needs_global = true,       /* measured */

    .query_keeps_cur_state = true, /* measured, tests/vm, as all here */
    .query_counts_packets = true,
    .unset_mtu = IBV_MTU_256,
    .attr_outlives_reset = true,

    .null_address_errno = EFAULT, /* measured */
    .memlock_errno = ENOMEM,      /* measured */
    .dead_memory_errno = EFAULT,  /* measured: unmapped ranges; pages that may
                                     not be written to */
    .open_leaves_errno = ENOENT,  /* measured: dirty; which number, not */
};

/* All of it, generously: a device that says no to nothing but mistakes. */
const struct vf_profile vf_profile_ideal = {
    .name = "ideal",
    .node_type = IBV_NODE_CA,
    .transport = IBV_TRANSPORT_IB,
    .vendor_id = 0x027666, /* locally administered: nobody's */

    .max_qp = 1048576,
    .qp_limit_errno = ENOMEM,
    .mr_limit_errno = ENOMEM,
    .pd_limit_errno = ENOMEM,
    .max_cq = 1048576,
    .max_cqe = 1048575,
    .max_qp_wr = 65535,
    .max_sge = 32,
    .max_inline = 1024,
    .max_mr_size = UINT64_MAX,
    .max_message = 1u << 31,

    .cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                 IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                 IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
    .max_rd_atomic = 16,
    .max_res_rd_atomic = 1u << 24,
    .max_sge_read = 32,
    .max_ah = 1048576,
    .max_mw = 1048576,
    .max_srq = 1048576,
    .max_srq_wr = 65535,
    .max_srq_sge = 32,
    .max_mcast_grp = 256,
    .max_mcast_qp_attach = 256,
    .ack_delay = 15,
    .port_width = 2, /* 100 Gbit/s: 4 lanes of 25 */
    .port_speed = 32,
    .port_cap_flags = IBV_PORT_CM_SUP,
    .firmware = "verbfault",
    .no_pkey_errno = EINVAL,
    .lids = true,

    .rc = true,
    .uc = true,
    .ud = true,
    .srq = true,
    .rdma = true,
    .atomics = true,
    .windows = true,
    .rereg = true,
    .unsupported_errno = EOPNOTSUPP,
    .on_demand = true,
    .page_size = 4096,

    .send_waits = true,
    .ud_wait_ms = 200,
    .ud_packet_type = true,
    .reset_drops = true,
    .recv_over_depth_refused = true,

    .send_key_status = IBV_WC_LOC_PROT_ERR,
    .send_range_status = IBV_WC_LOC_PROT_ERR,
    .recv_key_status = IBV_WC_LOC_PROT_ERR,
    .recv_range_status = IBV_WC_LOC_PROT_ERR,
    .too_long_status = IBV_WC_LOC_LEN_ERR,
    .rc_refused_status = IBV_WC_REM_OP_ERR,
    .rc_too_long_status = IBV_WC_REM_INV_REQ_ERR,
    .ud_too_long_status = IBV_WC_LOC_LEN_ERR,

    .gid_table = {VF_GID_LINK_LOCAL, VF_GID_IPV4},
    .gid_table_len = 2,
    .active_mtu = IBV_MTU_4096,

    .rtr_zero_gid_errno = EINVAL,
    .rtr_empty_gid_errno = EINVAL,

    .null_address_errno = EFAULT,
    .dead_memory_errno = EFAULT,
};

static const struct vf_profile *const profiles[] = {
    &vf_profile_thunderbolt,
    &vf_profile_rxe,
    &vf_profile_ideal,
};
#define PROFILES ((int)(sizeof(profiles) / sizeof(profiles[0])))

const struct vf_profile *vf_profile_at(int n)
{
    return n >= 0 && n < PROFILES ? profiles[n] : NULL;
}

const struct vf_profile *vf_profile_by_name(const char *name)
{
    for (int i = 0; i < PROFILES; i++)
        if (strcmp(profiles[i]->name, name) == 0)
            return profiles[i];
    return NULL;
}
