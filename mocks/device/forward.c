/*
 * Everything else that libibverbs has for programs: handed on. It is here for
 * those that look the library's functions up by name (device/loader.h).
 *
 * Functions of which no header tells are declared by what rdma-core's own
 * sources and this library's mocks/abi know of them: pointers and numbers.
 */
#include <errno.h>
#include <string.h>

#include "device/device.h"

/* Hands a call on; a library that does not have the function answers so. */
#define FORWARD(type, name, parameters, arguments, missing)                    \
    type name parameters;                                                      \
    type name parameters                                                       \
    {                                                                          \
        static type(*function) parameters;                                     \
                                                                               \
        if (!function && !real_find(#name, &function, sizeof(function))) {     \
            errno = ENOSYS;                                                    \
            return missing;                                                    \
        }                                                                      \
        return function arguments;                                             \
    }
#define FORWARD_NOTHING(name, parameters, arguments)                           \
    void name parameters;                                                      \
    void name parameters                                                       \
    {                                                                          \
        static void(*function) parameters;                                     \
                                                                               \
        if (function || real_find(#name, &function, sizeof(function)))         \
            function arguments;                                                \
    }

/* ---- words and numbers ------------------------------------------------------
 */

FORWARD(const char *, ibv_wc_status_str, (enum ibv_wc_status status), (status),
        "unknown")
FORWARD(const char *, ibv_node_type_str, (enum ibv_node_type type), (type),
        "unknown")
FORWARD(const char *, ibv_port_state_str, (enum ibv_port_state state), (state),
        "unknown")
FORWARD(const char *, ibv_event_type_str, (enum ibv_event_type event), (event),
        "unknown")
FORWARD(int, ibv_rate_to_mult, (enum ibv_rate rate), (rate), -1)
FORWARD(enum ibv_rate, mult_to_ibv_rate, (int mult), (mult), IBV_RATE_MAX)
FORWARD(int, ibv_rate_to_mbps, (enum ibv_rate rate), (rate), -1)
FORWARD(enum ibv_rate, mbps_to_ibv_rate, (int mbps), (mbps), IBV_RATE_MAX)

/* ---- fork and files ---------------------------------------------------------
 */

FORWARD(int, ibv_fork_init, (void), (), ENOSYS)
FORWARD(enum ibv_fork_status, ibv_is_fork_initialized, (void), (),
        IBV_FORK_DISABLED)
FORWARD(int, ibv_dontfork_range, (void *base, size_t size), (base, size), 0)
FORWARD(int, ibv_dofork_range, (void *base, size_t size), (base, size), 0)
FORWARD(const char *, ibv_get_sysfs_path, (void), (), "/sys")
FORWARD(int, ibv_read_sysfs_file,
        (const char *dir, const char *file, char *buf, size_t size),
        (dir, file, buf, size), -1)

/* ---- addresses --------------------------------------------------------------
 */

FORWARD(int, ibv_init_ah_from_wc,
        (struct ibv_context * context, uint8_t port, struct ibv_wc *wc,
         struct ibv_grh *grh, struct ibv_ah_attr *attr),
        (context, port, wc, grh, attr), -1)
FORWARD(int, ibv_resolve_eth_l2_from_gid,
        (struct ibv_context * context, struct ibv_ah_attr *attr,
         uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid),
        (context, attr, mac, vid), ENOSYS)
FORWARD(int, ibv_get_pkey_index,
        (struct ibv_context * context, uint8_t port, __be16 pkey),
        (context, port, pkey), -1)

/* ---- structs from the kernel's ----------------------------------------------
 */

FORWARD_NOTHING(ibv_copy_ah_attr_from_kern,
                (struct ibv_ah_attr * to, const void *from), (to, from))
FORWARD_NOTHING(ibv_copy_qp_attr_from_kern,
                (struct ibv_qp_attr * to, const void *from), (to, from))
FORWARD_NOTHING(ibv_copy_path_rec_from_kern, (void *to, const void *from),
                (to, from))
FORWARD_NOTHING(ibv_copy_path_rec_to_kern, (void *to, const void *from),
                (to, from))

/* ---- queue pairs ------------------------------------------------------------
 */

FORWARD(struct ibv_qp_ex *, ibv_qp_to_qp_ex, (struct ibv_qp * qp), (qp), NULL)
FORWARD(int, ibv_set_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece),
        EOPNOTSUPP)
FORWARD(int, ibv_query_ece, (struct ibv_qp * qp, struct ibv_ece *ece),
        (qp, ece), EOPNOTSUPP)
FORWARD(int, ibv_query_qp_data_in_order,
        (struct ibv_qp * qp, enum ibv_wr_opcode op, uint32_t flags),
        (qp, op, flags), 0)

/* ---- objects of other processes, memory of other devices --------------------
 *
 * Strangers where they are used; their keys may be ones that were ours. */

FORWARD(struct ibv_pd *, ibv_import_pd,
        (struct ibv_context * context, uint32_t handle), (context, handle),
        NULL)
FORWARD_NOTHING(ibv_unimport_pd, (struct ibv_pd * pd), (pd))
FORWARD_NOTHING(ibv_unimport_mr, (struct ibv_mr * mr), (mr))
FORWARD(struct ibv_dm *, ibv_import_dm,
        (struct ibv_context * context, uint32_t handle), (context, handle),
        NULL)
FORWARD_NOTHING(ibv_unimport_dm, (struct ibv_dm * dm), (dm))

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
    struct ibv_mr *mr = NULL;

    errno = ENOSYS;
    if (real_open() && real.ibv_import_mr)
        mr = real.ibv_import_mr(pd, mr_handle);
    if (mr)
        device_key_lost(pd, mr->lkey);
    return mr;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
                                 size_t length, uint64_t iova, int fd,
                                 int access)
{
    struct ibv_mr *mr = NULL;

    errno = ENOSYS;
    if (real_open() && real.ibv_reg_dmabuf_mr)
        mr = real.ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
    if (mr)
        device_key_lost(pd, mr->lkey);
    return mr;
}
