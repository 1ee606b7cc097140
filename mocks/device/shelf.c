/*
 * What is remembered of handles beside any world: a child of fork() that enters
 * a world of its own finds it again.
 */
#include <errno.h>
#include <pthread.h>

#include "device/device.h"

static struct vf_map shelves[DEVICE_SHELVES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child must not find it locked by a thread that it does not have. */
static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void arm(void)
{
    pthread_atfork(take_lock, give_lock, give_lock);
}

int device_keep(enum device_shelf shelf, const void *handle, void *what)
{
    int err = 0;

    pthread_mutex_lock(&lock);
    if (what)
        err = vf_map_put(&shelves[shelf], (uintptr_t)handle, what);
    else
        vf_map_take(&shelves[shelf], (uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return err;
}

void *device_kept(enum device_shelf shelf, const void *handle)
{
    void *what;

    pthread_mutex_lock(&lock);
    what = vf_map_find(&shelves[shelf], (uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return what;
}

struct device_context *device_context_of(const struct ibv_context *handle)
{
    return device_kept(DEVICE_CONTEXTS, handle);
}

struct device_cq *device_cq_of(const struct ibv_cq *handle)
{
    return device_kept(DEVICE_CQS, handle);
}

struct device_qp *device_qp_of(const struct ibv_qp *handle)
{
    return device_kept(DEVICE_QPS, handle);
}
