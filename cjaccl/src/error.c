#include "error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct cji_about cji_about_none(int err_no)
{
    return (struct cji_about){.peer = -1, .err_no = err_no};
}

struct cji_about cji_about_peer(int peer, int err_no)
{
    return (struct cji_about){.peer = peer, .err_no = err_no};
}

struct cji_about cji_about_device(const char *device, int err_no)
{
    return (struct cji_about){.peer = -1, .device = device, .err_no = err_no};
}

struct cji_about cji_about_link(const struct cji_link *link, int err_no)
{
    return (struct cji_about){
        .peer = link->peer,
        .device = link->device == NULL ? NULL : link->device->name,
        .err_no = err_no,
    };
}

struct cji_device_text cji_on_device(const struct cji_link *link)
{
    struct cji_device_text result = {""};

    if (link->device != NULL)
        (void)snprintf(result.text, sizeof result.text, " on device %s",
                       link->device->name);
    return result;
}

/* "cjaccl: rank 0: rdma_en2: "; texts that begin with the device name it. */
static void begin_message(struct cj_error *error, const char *format)
{
    bool named = strncmp(format, "device %", 8) == 0;

    if (error->rank < 0)
        (void)snprintf(error->message, sizeof error->message, "cjaccl: ");
    else if (error->device[0] == '\0' || named)
        (void)snprintf(error->message, sizeof error->message,
                       "cjaccl: rank %d: ", error->rank);
    else
        (void)snprintf(error->message, sizeof error->message,
                       "cjaccl: rank %d: %s: ", error->rank, error->device);
}

static void fill(struct cj_error *error, enum cj_status code, enum cj_step step,
                 int rank, struct cji_about about, const char *format,
                 va_list arguments)
{
    size_t used;

    memset(error, 0, sizeof *error);
    error->code = code;
    error->step = step;
    error->rank = rank;
    error->peer = about.peer;
    error->err_no = about.err_no;
    if (about.device != NULL)
        (void)snprintf(error->device, sizeof error->device, "%s", about.device);
    begin_message(error, format);
    used = strlen(error->message);
    (void)vsnprintf(error->message + used, sizeof error->message - used, format,
                    arguments);
}

int cji_error_fill(struct cj_error *error, enum cj_status code,
                   enum cj_step step, int rank, struct cji_about about,
                   const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(error, code, step, rank, about, format, arguments);
    va_end(arguments);
    return code;
}

int cji_error_null(struct cj_error *error, enum cj_step step, const char *what)
{
    struct cj_error unwanted;

    return cji_error_fill(error != NULL ? error : &unwanted, CJ_INVALID, step,
                          -1, cji_about_none(0), "%s: %s is NULL",
                          cj_strstep(step), what);
}

int cji_fail(struct cj_group *group, enum cj_status code,
             struct cji_about about, const char *format, ...)
{
    va_list arguments;

    if (group->error.code != CJ_OK)
        return code;
    va_start(arguments, format);
    fill(&group->error, code, group->step, group->rank, about, format,
         arguments);
    va_end(arguments);
    return code;
}

void cji_tame(char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size && text[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte < 0x20 || byte == 0x7f)
            text[i] = '?';
    }
    text[size - 1] = '\0';
}

const char *cj_strstatus(int status)
{
    switch (status) {
    case CJ_OK:
        return "no error";
    case CJ_INVALID:
        return "invalid configuration or argument";
    case CJ_UNSUPPORTED:
        return "not supported";
    case CJ_NO_MEMORY:
        return "out of memory";
    case CJ_NO_LIBRARY:
        return "no usable verbs library";
    case CJ_NO_DEVICE:
        return "no usable device";
    case CJ_VERBS:
        return "a verbs call failed";
    case CJ_NETWORK:
        return "the side channel failed";
    case CJ_PEER_GONE:
        return "another rank went away";
    case CJ_PROTOCOL:
        return "another rank broke the protocol";
    case CJ_TIMEOUT:
        return "a deadline passed";
    case CJ_COMPLETION:
        return "a completion reported an error";
    case CJ_GROUP_FAILED:
        return "the group failed earlier";
    case CJ_NO_CONFIGURATION:
        return "this process is no rank of a group";
    default:
        return "unknown status";
    }
}

const char *cj_strstep(int step)
{
    static const char *const words[CJ_STEP_COUNT] = {
        [CJ_STEP_NONE] = "none",
        [CJ_STEP_CONFIG] = "configuration",
        [CJ_STEP_LISTEN] = "listen",
        [CJ_STEP_ACCEPT] = "accept",
        [CJ_STEP_CONNECT] = "connect",
        [CJ_STEP_HELLO] = "hello",
        [CJ_STEP_LIBRARY] = "library",
        [CJ_STEP_DEVICE_LIST] = "device list",
        [CJ_STEP_OPEN_DEVICE] = "open device",
        [CJ_STEP_QUERY_PORT] = "query port",
        [CJ_STEP_QUERY_GID] = "query GID",
        [CJ_STEP_ALLOC_PD] = "allocate domain",
        [CJ_STEP_ARENA] = "allocate arena",
        [CJ_STEP_REG_MR] = "register arena",
        [CJ_STEP_CREATE_CQ] = "create completion queue",
        [CJ_STEP_CREATE_QP] = "create queue pair",
        [CJ_STEP_INIT_QP] = "queue pair to INIT",
        [CJ_STEP_EXCHANGE] = "exchange of addresses",
        [CJ_STEP_RTR] = "queue pair to RTR",
        [CJ_STEP_RTS] = "queue pair to RTS",
        [CJ_STEP_START_BARRIER] = "start barrier",
        [CJ_STEP_FALLBACK] = "fallback",
        [CJ_STEP_ALL_SUM] = "all_sum",
        [CJ_STEP_ALL_MAX] = "all_max",
        [CJ_STEP_ALL_MIN] = "all_min",
        [CJ_STEP_ALL_GATHER] = "all_gather",
        [CJ_STEP_SUM_SCATTER] = "sum_scatter",
        [CJ_STEP_SEND] = "send",
        [CJ_STEP_RECV] = "recv",
        [CJ_STEP_BARRIER] = "barrier",
        [CJ_STEP_FINALIZE] = "finalize",
    };

    if (step < 0 || step >= CJ_STEP_COUNT)
        return "unknown step";
    return words[step];
}

struct errno_words {
    int number;
    const char *words;
};

static const struct errno_words errnos[] = {
    /* keep sorted */
    {EACCES, "permission denied, EACCES"},
    {EADDRINUSE, "the address is in use, EADDRINUSE"},
    {EADDRNOTAVAIL, "no such address here, EADDRNOTAVAIL"},
    {EAGAIN, "try again, EAGAIN"},
    {EBUSY, "device or resource busy, EBUSY"},
    {ECONNABORTED, "connection aborted, ECONNABORTED"},
    {ECONNREFUSED, "connection refused, ECONNREFUSED"},
    {ECONNRESET, "connection reset, ECONNRESET"},
    {EFAULT, "bad address, EFAULT"},
    {EHOSTDOWN, "host is down, EHOSTDOWN"},
    {EHOSTUNREACH, "no route to host, EHOSTUNREACH"},
    {EINVAL, "invalid argument, EINVAL"},
    {EIO, "input/output error, EIO"},
    {EISDIR, "it is a directory, EISDIR"},
    {EMFILE, "too many open files, EMFILE"},
    {ENETDOWN, "network is down, ENETDOWN"},
    {ENETUNREACH, "network is unreachable, ENETUNREACH"},
    {ENFILE, "too many open files in the system, ENFILE"},
    {ENODATA, "no data available, ENODATA"},
    {ENODEV, "no such device, ENODEV"},
    {ENOENT, "no such file or directory, ENOENT"},
    {ENOMEM, "cannot allocate memory, ENOMEM"},
    {ENOSPC, "no space left, ENOSPC"},
    {ENOSYS, "not implemented, ENOSYS"},
    {EOPNOTSUPP, "operation not supported, EOPNOTSUPP"},
    {EPERM, "operation not permitted, EPERM"},
    {EPIPE, "broken pipe, EPIPE"},
    {EPROTO, "protocol error, EPROTO"},
    {ETIMEDOUT, "timed out, ETIMEDOUT"},
};

/* In words of its own: strerror() speaks the user's language, and no two
 * systems alike. */
static const char *errno_words(int err_no)
{
    for (size_t i = 0; i < sizeof errnos / sizeof *errnos; i++) {
        if (errnos[i].number == err_no)
            return errnos[i].words;
    }
    return NULL;
}

int cji_verbs_errno(int answer)
{
    if (answer >= 0)
        return answer;
    if (answer != -1)
        return answer == INT_MIN ? EIO : -answer;
    return errno > 0 ? errno : EIO;
}

struct cji_errno_text cji_errno_text(int err_no)
{
    struct cji_errno_text result;
    const char *name = errno_words(err_no);

    if (err_no == 0)
        (void)snprintf(result.text, sizeof result.text, "no errno");
    else if (name == NULL)
        (void)snprintf(result.text, sizeof result.text, "errno %d", err_no);
    else
        (void)snprintf(result.text, sizeof result.text, "%s (%d)", name,
                       err_no);
    return result;
}

struct cji_errno_text cji_limit_text(int limit)
{
    struct cji_errno_text result;

    if (limit > 0)
        (void)snprintf(result.text, sizeof result.text, "%d", limit);
    else
        (void)snprintf(result.text, sizeof result.text,
                       "a number that it does not tell");
    return result;
}

struct cji_errno_text cji_wc_status_text(int status)
{
    static const char *const words[] = {
        [IBV_WC_SUCCESS] = "success",
        [IBV_WC_LOC_LEN_ERR] = "local length",
        [IBV_WC_LOC_QP_OP_ERR] = "queue pair operation",
        [IBV_WC_LOC_EEC_OP_ERR] = "EE context operation",
        [IBV_WC_LOC_PROT_ERR] = "local protection",
        [IBV_WC_WR_FLUSH_ERR] = "flushed",
        [IBV_WC_MW_BIND_ERR] = "memory window bind",
        [IBV_WC_BAD_RESP_ERR] = "bad response",
        [IBV_WC_LOC_ACCESS_ERR] = "local access",
        [IBV_WC_REM_INV_REQ_ERR] = "remote invalid",
        [IBV_WC_REM_ACCESS_ERR] = "remote access",
        [IBV_WC_REM_OP_ERR] = "remote operation",
        [IBV_WC_RETRY_EXC_ERR] = "retries exceeded",
        [IBV_WC_RNR_RETRY_EXC_ERR] = "receiver not ready",
    };
    struct cji_errno_text result;
    const char *name = NULL;

    if (status >= 0 && (size_t)status < sizeof words / sizeof *words)
        name = words[status];
    (void)snprintf(result.text, sizeof result.text, "%s (%d)",
                   name == NULL ? "status" : name, status);
    return result;
}
