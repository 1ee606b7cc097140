/*
 * Words for numbers, so that a difference can be read. What has no word is
 * printed as a number.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct word {
    int number;
    const char *text;
};

/* Several may be in one line, so each answer has a place of its own. */
static const char *look(const struct word *words, int count, int number)
{
    static char spare[8][16];
    static int next;
    char *text;

    for (int i = 0; i < count; i++)
        if (words[i].number == number)
            return words[i].text;
    text = spare[next++ % 8];
    snprintf(text, sizeof(spare[0]), "%d", number);
    return text;
}

const char *errno_word(int number)
{
    static const struct word words[] = {
        {0, "0"},
        {E2BIG, "E2BIG"},
        {EACCES, "EACCES"},
        {EAGAIN, "EAGAIN"},
        {EBADF, "EBADF"},
        {EBUSY, "EBUSY"},
        {EFAULT, "EFAULT"},
        {EINVAL, "EINVAL"},
        {EIO, "EIO"},
        {EMSGSIZE, "EMSGSIZE"},
        {ENODATA, "ENODATA"},
        {ENODEV, "ENODEV"},
        {ENOENT, "ENOENT"},
        {ENOMEM, "ENOMEM"},
        {ENOSPC, "ENOSPC"},
        {ENOSYS, "ENOSYS"},
        {EOPNOTSUPP, "EOPNOTSUPP"},
        {EOVERFLOW, "EOVERFLOW"},
        {EPERM, "EPERM"},
        {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
        {ERANGE, "ERANGE"},
        {ETIMEDOUT, "ETIMEDOUT"},
    };
    return look(words, COUNT(words), number);
}

const char *status_word(int status)
{
    static const struct word words[] = {
        {IBV_WC_SUCCESS, "SUCCESS"},
        {IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR"},
        {IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR"},
        {IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR"},
        {IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR"},
        {IBV_WC_MW_BIND_ERR, "MW_BIND_ERR"},
        {IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR"},
        {IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR"},
        {IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR"},
        {IBV_WC_REM_OP_ERR, "REM_OP_ERR"},
        {IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR"},
        {IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR"},
        {IBV_WC_GENERAL_ERR, "GENERAL_ERR"},
    };
    return look(words, COUNT(words), status);
}

const char *state_word(int state)
{
    static const struct word words[] = {
        {IBV_QPS_RESET, "RESET"}, {IBV_QPS_INIT, "INIT"}, {IBV_QPS_RTR, "RTR"},
        {IBV_QPS_RTS, "RTS"},     {IBV_QPS_SQD, "SQD"},   {IBV_QPS_SQE, "SQE"},
        {IBV_QPS_ERR, "ERR"},
    };
    return look(words, COUNT(words), state);
}

const char *type_word(int type)
{
    static const struct word words[] = {
        {IBV_QPT_RC, "RC"},
        {IBV_QPT_UC, "UC"},
        {IBV_QPT_UD, "UD"},
        {IBV_QPT_RAW_PACKET, "RAW_PACKET"},
    };
    return look(words, COUNT(words), type);
}

const char *opcode_word(int opcode)
{
    static const struct word words[] = {
        {IBV_WR_RDMA_WRITE, "WRITE"},
        {IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE_IMM"},
        {IBV_WR_SEND, "SEND"},
        {IBV_WR_SEND_WITH_IMM, "SEND_IMM"},
        {IBV_WR_RDMA_READ, "READ"},
        {IBV_WR_ATOMIC_CMP_AND_SWP, "CMP_SWAP"},
        {IBV_WR_ATOMIC_FETCH_AND_ADD, "FETCH_ADD"},
        {IBV_WR_LOCAL_INV, "LOCAL_INV"},
        {IBV_WR_BIND_MW, "BIND_MW"},
        {IBV_WR_SEND_WITH_INV, "SEND_INV"},
        {IBV_WR_TSO, "TSO"},
    };
    return look(words, COUNT(words), opcode);
}

const char *completion_word(int opcode)
{
    static const struct word words[] = {
        {IBV_WC_SEND, "SEND"},
        {IBV_WC_RDMA_WRITE, "WRITE"},
        {IBV_WC_RDMA_READ, "READ"},
        {IBV_WC_COMP_SWAP, "CMP_SWAP"},
        {IBV_WC_FETCH_ADD, "FETCH_ADD"},
        {IBV_WC_BIND_MW, "BIND_MW"},
        {IBV_WC_LOCAL_INV, "LOCAL_INV"},
        {IBV_WC_RECV, "RECV"},
        {IBV_WC_RECV_RDMA_WITH_IMM, "RECV_WRITE_IMM"},
    };
    return look(words, COUNT(words), opcode);
}

const char *event_word(int event)
{
    static const struct word words[] = {
        {IBV_EVENT_CQ_ERR, "CQ_ERR"},
        {IBV_EVENT_QP_FATAL, "QP_FATAL"},
        {IBV_EVENT_QP_REQ_ERR, "QP_REQ_ERR"},
        {IBV_EVENT_QP_ACCESS_ERR, "QP_ACCESS_ERR"},
        {IBV_EVENT_COMM_EST, "COMM_EST"},
        {IBV_EVENT_SQ_DRAINED, "SQ_DRAINED"},
        {IBV_EVENT_PORT_ACTIVE, "PORT_ACTIVE"},
        {IBV_EVENT_PORT_ERR, "PORT_ERR"},
        {IBV_EVENT_SRQ_ERR, "SRQ_ERR"},
        {IBV_EVENT_SRQ_LIMIT_REACHED, "SRQ_LIMIT_REACHED"},
        {IBV_EVENT_QP_LAST_WQE_REACHED, "QP_LAST_WQE_REACHED"},
        {IBV_EVENT_GID_CHANGE, "GID_CHANGE"},
    };
    return look(words, COUNT(words), event);
}

const char *gid_word(const union ibv_gid *gid)
{
    static const union ibv_gid zero;
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (memcmp(gid, &zero, sizeof(zero)) == 0)
        return "zero";
    if (gid->raw[0] == 0xfe && gid->raw[1] == 0x80)
        return "link-local";
    return memcmp(gid, mapped, sizeof(mapped)) == 0 ? "IPv4" : "other";
}

const char *key_word(enum key key)
{
    static const char *const words[KEY_COUNT] = {"good", "bogus", "dead"};

    return words[key];
}

const char *place_word(enum place place)
{
    static const char *const words[PLACE_COUNT] = {"arena", "NULL", "unmapped",
                                                   "half", "read-only"};

    return words[place];
}

void say_result(int result)
{
    int error = errno;

    if (result == -1)
        printf(" = -1 %s\n", errno_word(error));
    else
        printf(" = %s\n", errno_word(result));
}

void say_pointer(const void *pointer)
{
    int error = errno;

    if (pointer)
        printf(" = OK");
    else
        printf(" = NULL %s", errno_word(error));
}
