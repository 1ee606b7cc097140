/*
 * Names of errno values that verbs programs meet. The words are POSIX's, so a
 * scenario means the same on systems that number them differently.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "verbfault/fault.h"

#define NAMED(word)                                                            \
    {                                                                          \
#word, word                                                            \
    }

/* keep sorted; where two words share a number the first one is printed */
static const struct {
    const char *name;
    int number;
} errnos[] = {
    NAMED(E2BIG),        NAMED(EACCES),
    NAMED(EADDRINUSE),   NAMED(EADDRNOTAVAIL),
    NAMED(EAGAIN),       NAMED(EALREADY),
    NAMED(EBADF),        NAMED(EBUSY),
    NAMED(ECANCELED),    NAMED(ECONNABORTED),
    NAMED(ECONNREFUSED), NAMED(ECONNRESET),
    NAMED(EDEADLK),      NAMED(EDOM),
    NAMED(EEXIST),       NAMED(EFAULT),
    NAMED(EFBIG),        NAMED(EHOSTUNREACH),
    NAMED(EINPROGRESS),  NAMED(EINTR),
    NAMED(EINVAL),       NAMED(EIO),
    NAMED(EISCONN),      NAMED(EMFILE),
    NAMED(EMSGSIZE),     NAMED(ENETDOWN),
    NAMED(ENETUNREACH),  NAMED(ENFILE),
    NAMED(ENOBUFS),      NAMED(ENODATA),
    NAMED(ENODEV),       NAMED(ENOENT),
    NAMED(ENOMEM),       NAMED(ENOSPC),
    NAMED(ENOSYS),       NAMED(ENOTCONN),
    NAMED(ENOTSUP),      NAMED(ENXIO),
    NAMED(EOPNOTSUPP),   NAMED(EOVERFLOW),
    NAMED(EPERM),        NAMED(EPIPE),
    NAMED(EPROTO),       NAMED(EPROTONOSUPPORT),
    NAMED(ERANGE),       NAMED(ESRCH),
    NAMED(ESTALE),       NAMED(ETIMEDOUT),
    NAMED(EXDEV),
};
#define ERRNO_COUNT (sizeof(errnos) / sizeof(errnos[0]))

const char *vf_errno_name(int number)
{
    /* Linux gives ENOTSUP the same number; verbs programs know this word. */
    if (number == EOPNOTSUPP)
        return "EOPNOTSUPP";
    for (size_t i = 0; i < ERRNO_COUNT; i++)
        if (errnos[i].number == number)
            return errnos[i].name;
    return NULL;
}

int vf_errno_by_name(const char *name)
{
    for (size_t i = 0; i < ERRNO_COUNT; i++)
        if (strcmp(errnos[i].name, name) == 0)
            return errnos[i].number;
    return 0;
}
