/*
 * The functions of the first libibverbs, of 2006, under the version that they
 * have to this day. Their structs had other fields, and programs that were
 * linked with them are older than any that is tested here: each fails, with one
 * line that says what to do.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static void complain(const char *name)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&told))
        fprintf(stderr,
                "verbfault: %s of 2006 (IBVERBS_1.0) is not there: "
                "link the program again with a libibverbs of today\n",
                name);
    errno = ENOSYS;
}

/* ibv_NAME@VERSION answers so, whatever it is called with. */
#define OLD(version, type, name, answer)                                       \
    type vf_old_##name(void);                                                  \
    __asm__(".symver vf_old_" #name ", ibv_" #name "@" version);               \
    type vf_old_##name(void)                                                   \
    {                                                                          \
        complain("ibv_" #name);                                                \
        return answer;                                                         \
    }
#define OLD_POINTER(name) OLD("IBVERBS_1.0", void *, name, NULL)
#define OLD_ERRNO(name) OLD("IBVERBS_1.0", int, name, ENOSYS)
#define OLD_MINUS(name) OLD("IBVERBS_1.0", int, name, -1)
#define OLD_NOTHING(version, name)                                             \
    void vf_old_##name(void);                                                  \
    __asm__(".symver vf_old_" #name ", ibv_" #name "@" version);               \
    void vf_old_##name(void)                                                   \
    {                                                                          \
        complain("ibv_" #name);                                                \
    }

OLD_POINTER(alloc_pd)
OLD_POINTER(create_ah)
OLD_POINTER(create_cq)
OLD_POINTER(create_qp)
OLD_POINTER(create_srq)
OLD_POINTER(get_device_list)
OLD_POINTER(get_device_name)
OLD_POINTER(open_device)
OLD_POINTER(reg_mr)

OLD("IBVERBS_1.0", uint64_t, get_device_guid, 0)

OLD_ERRNO(attach_mcast)
OLD_ERRNO(close_device)
OLD_ERRNO(dealloc_pd)
OLD_ERRNO(dereg_mr)
OLD_ERRNO(destroy_ah)
OLD_ERRNO(destroy_cq)
OLD_ERRNO(destroy_qp)
OLD_ERRNO(destroy_srq)
OLD_ERRNO(detach_mcast)
OLD_ERRNO(modify_qp)
OLD_ERRNO(modify_srq)
OLD_ERRNO(query_device)
OLD_ERRNO(query_port)
OLD_ERRNO(query_qp)
OLD_ERRNO(query_srq)
OLD_ERRNO(resize_cq)

OLD_MINUS(get_async_event)
OLD_MINUS(get_cq_event)
OLD_MINUS(query_gid)
OLD_MINUS(query_pkey)

OLD_NOTHING("IBVERBS_1.0", ack_async_event)
OLD_NOTHING("IBVERBS_1.0", ack_cq_events)
OLD_NOTHING("IBVERBS_1.0", free_device_list)
/* A provider's way to make itself known, until 2017. */
OLD_NOTHING("IBVERBS_1.1", register_driver)
