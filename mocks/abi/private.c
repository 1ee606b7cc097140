/*
 * What rdma-core's libibverbs exports for its own providers and tools. Nothing
 * here talks to a kernel, so each answers as an operation that a device does
 * not have. They are here because a provider (libmlx5 and its like, which many
 * programs are linked with) must load beside this library, and because nothing
 * that a program may call should be missing or end it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a destroy may find its kernel object gone; providers read it. */
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;

/* The arguments are not looked at, so none are named. */
#define PRIVATE(type, name, answer)                                            \
    type name(void);                                                           \
    type name(void)                                                            \
    {                                                                          \
        errno = EOPNOTSUPP;                                                    \
        return answer;                                                         \
    }
#define PRIVATE_ERRNO(name) PRIVATE(int, name, EOPNOTSUPP)
#define PRIVATE_MINUS(name) PRIVATE(int, name, -1)
#define PRIVATE_POINTER(name) PRIVATE(void *, name, NULL)
#define PRIVATE_NOTHING(name)                                                  \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
    }

/* Commands to the kernel. */
PRIVATE_ERRNO(ibv_cmd_advise_mr)
PRIVATE_ERRNO(ibv_cmd_alloc_dm)
PRIVATE_ERRNO(ibv_cmd_alloc_mw)
PRIVATE_ERRNO(ibv_cmd_alloc_pd)
PRIVATE_ERRNO(ibv_cmd_attach_mcast)
PRIVATE_ERRNO(ibv_cmd_close_xrcd)
PRIVATE_ERRNO(ibv_cmd_create_ah)
PRIVATE_ERRNO(ibv_cmd_create_counters)
PRIVATE_ERRNO(ibv_cmd_create_cq)
PRIVATE_ERRNO(ibv_cmd_create_cq_ex)
PRIVATE_ERRNO(ibv_cmd_create_flow)
PRIVATE_ERRNO(ibv_cmd_create_flow_action_esp)
PRIVATE_ERRNO(ibv_cmd_create_qp)
PRIVATE_ERRNO(ibv_cmd_create_qp_ex)
PRIVATE_ERRNO(ibv_cmd_create_qp_ex2)
PRIVATE_ERRNO(ibv_cmd_create_rwq_ind_table)
PRIVATE_ERRNO(ibv_cmd_create_srq)
PRIVATE_ERRNO(ibv_cmd_create_srq_ex)
PRIVATE_ERRNO(ibv_cmd_create_wq)
PRIVATE_ERRNO(ibv_cmd_dealloc_mw)
PRIVATE_ERRNO(ibv_cmd_dealloc_pd)
PRIVATE_ERRNO(ibv_cmd_dereg_mr)
PRIVATE_ERRNO(ibv_cmd_destroy_ah)
PRIVATE_ERRNO(ibv_cmd_destroy_counters)
PRIVATE_ERRNO(ibv_cmd_destroy_cq)
PRIVATE_ERRNO(ibv_cmd_destroy_flow)
PRIVATE_ERRNO(ibv_cmd_destroy_flow_action)
PRIVATE_ERRNO(ibv_cmd_destroy_qp)
PRIVATE_ERRNO(ibv_cmd_destroy_rwq_ind_table)
PRIVATE_ERRNO(ibv_cmd_destroy_srq)
PRIVATE_ERRNO(ibv_cmd_destroy_wq)
PRIVATE_ERRNO(ibv_cmd_detach_mcast)
PRIVATE_ERRNO(ibv_cmd_free_dm)
PRIVATE_ERRNO(ibv_cmd_get_context)
PRIVATE_ERRNO(ibv_cmd_modify_cq)
PRIVATE_ERRNO(ibv_cmd_modify_flow_action_esp)
PRIVATE_ERRNO(ibv_cmd_modify_qp)
PRIVATE_ERRNO(ibv_cmd_modify_qp_ex)
PRIVATE_ERRNO(ibv_cmd_modify_srq)
PRIVATE_ERRNO(ibv_cmd_modify_wq)
PRIVATE_ERRNO(ibv_cmd_open_qp)
PRIVATE_ERRNO(ibv_cmd_open_xrcd)
PRIVATE_ERRNO(ibv_cmd_post_recv)
PRIVATE_ERRNO(ibv_cmd_post_send)
PRIVATE_ERRNO(ibv_cmd_post_srq_recv)
PRIVATE_ERRNO(ibv_cmd_query_context)
PRIVATE_ERRNO(ibv_cmd_query_device_any)
PRIVATE_ERRNO(ibv_cmd_query_mr)
PRIVATE_ERRNO(ibv_cmd_query_port)
PRIVATE_ERRNO(ibv_cmd_query_qp)
PRIVATE_ERRNO(ibv_cmd_query_srq)
PRIVATE_ERRNO(ibv_cmd_read_counters)
PRIVATE_ERRNO(ibv_cmd_reg_dm_mr)
PRIVATE_ERRNO(ibv_cmd_reg_dmabuf_mr)
PRIVATE_ERRNO(ibv_cmd_reg_mr)
PRIVATE_ERRNO(ibv_cmd_req_notify_cq)
PRIVATE_ERRNO(ibv_cmd_rereg_mr)
PRIVATE_ERRNO(ibv_cmd_resize_cq)
PRIVATE_MINUS(ibv_cmd_poll_cq)
PRIVATE_ERRNO(execute_ioctl)

/* A provider's making of devices and contexts. */
PRIVATE_POINTER(_verbs_init_and_alloc_context)
PRIVATE_POINTER(verbs_open_device)
PRIVATE_NOTHING(verbs_init_cq)
PRIVATE_NOTHING(verbs_register_driver_34)
PRIVATE_NOTHING(verbs_set_ops)
PRIVATE_NOTHING(verbs_uninit_context)

/* Where a device has its files: it has none. */
PRIVATE_MINUS(ibv_read_ibdev_sysfs_file)

/* How many attributes a command has with those of its links: it has none. */
unsigned __ioctl_final_num_attrs(unsigned count, const void *link);
unsigned __ioctl_final_num_attrs(unsigned count, const void *link)
{
    (void)link;
    return count;
}

void __verbs_log(const void *context, unsigned level, const char *format, ...);
void __verbs_log(const void *context, unsigned level, const char *format, ...)
{
    (void)context;
    (void)level;
    (void)format;
}
