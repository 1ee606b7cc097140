/*
 * front/infiniband.h: <infiniband/verbs.h>, whichever is installed.
 *
 * The front door answers for every function of rdma-core's newest library, also
 * when the header that it is built with is older: Ubuntu 22.04 has rdma-core
 * 39, 20.04 has 28, and which one Apple's SDK goes back to nobody says. What
 * such a header lacks, and what is used here, is declared here, with the values
 * and the layout that programs see who were compiled with a newer one.
 *
 * cmake/Verbs.cmake finds out what is lacking (VF_LACKS_...). Members of
 * structs cannot be added from outside: who uses one asks for it with #ifndef,
 * and the library then answers as that older one did, which programs reckon
 * with (they pass the size of the struct that they know).
 */
#ifndef VF_FRONT_INFINIBAND_H
#define VF_FRONT_INFINIBAND_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef VF_LACKS_ATOMIC_WRITE
enum { IBV_WR_ATOMIC_WRITE = 15 };
#endif

#ifdef VF_LACKS_FAST_RATES
#define IBV_RATE_800_GBPS ((enum ibv_rate)23)
#define IBV_RATE_1200_GBPS ((enum ibv_rate)24)
#endif

#ifdef VF_LACKS_CQ_DOMAIN
enum { IBV_CQ_INIT_ATTR_MASK_PD = 1 << 1 };
#endif

#ifdef VF_LACKS_FORK_STATUS
enum ibv_fork_status {
    IBV_FORK_DISABLED,
    IBV_FORK_ENABLED,
    IBV_FORK_UNNEEDED,
};
#endif

#ifdef VF_LACKS_ECE
struct ibv_ece {
    uint32_t vendor_id; /* an IEEE OUI */
    uint32_t options;
    uint32_t comp_mask;
};
#endif

#ifdef VF_LACKS_GID_ENTRY
enum ibv_gid_type {
    IBV_GID_TYPE_IB,
    IBV_GID_TYPE_ROCE_V1,
    IBV_GID_TYPE_ROCE_V2,
};

struct ibv_gid_entry {
    union ibv_gid gid;
    uint32_t gid_index;
    uint32_t port_num;
    uint32_t gid_type; /* enum ibv_gid_type */
    uint32_t ndev_ifindex;
};
#endif

/* Functions. Saying again what the header says does no harm; a name in
 * parentheses is no macro of it. */
enum ibv_fork_status(ibv_is_fork_initialized)(void);
int(ibv_set_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
int(ibv_query_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
int(ibv_query_qp_data_in_order)(struct ibv_qp *qp, enum ibv_wr_opcode op,
                                uint32_t flags);
int(ibv_get_device_index)(struct ibv_device *device);
struct ibv_context *(ibv_import_device)(int cmd_fd);
struct ibv_pd *(ibv_import_pd)(struct ibv_context *context, uint32_t pd_handle);
void(ibv_unimport_pd)(struct ibv_pd *pd);
struct ibv_mr *(ibv_import_mr)(struct ibv_pd *pd, uint32_t mr_handle);
void(ibv_unimport_mr)(struct ibv_mr *mr);
struct ibv_dm *(ibv_import_dm)(struct ibv_context *context, uint32_t dm_handle);
void(ibv_unimport_dm)(struct ibv_dm *dm);
struct ibv_mr *(ibv_reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset,
                                   size_t length, uint64_t iova, int fd,
                                   int access);
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
                      uint32_t gid_index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t entry_size);
ssize_t _ibv_query_gid_table(struct ibv_context *context,
                             struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size);

#ifdef VF_LACKS_GID_ENTRY
static inline int ibv_query_gid_ex(struct ibv_context *context,
                                   uint32_t port_num, uint32_t gid_index,
                                   struct ibv_gid_entry *entry, uint32_t flags)
{
    return _ibv_query_gid_ex(context, port_num, gid_index, entry, flags,
                             sizeof(*entry));
}

static inline ssize_t ibv_query_gid_table(struct ibv_context *context,
                                          struct ibv_gid_entry *entries,
                                          size_t max_entries, uint32_t flags)
{
    return _ibv_query_gid_table(context, entries, max_entries, flags,
                                sizeof(*entries));
}
#endif

#endif
