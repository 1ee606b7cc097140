/* verbfault doctor: a message is posted, completes, and is compared. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cjaccl/src/defaults.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

enum { RECV_ID = 0x5ec1, SEND_ID = 0x5e9d };

static struct ibv_sge piece(const struct doctor_end *end, size_t offset)
{
    return (struct ibv_sge){.addr = (uintptr_t)(end->memory + offset),
                            .length = DOCTOR_BYTES,
                            .lkey = end->mr->lkey};
}

#define POSTED                                                                 \
    "the device takes no work: look at the cable; if another program's "       \
    "messages pass, tell the device's maker"

bool doctor_post_recv(const struct doctor_end *end, struct doctor_flaw *flaw)
{
    struct ibv_sge sge = piece(end, DOCTOR_BYTES);
    struct ibv_recv_wr wr = {.wr_id = RECV_ID, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;
    int err_no;
    errno = 0;
    err_no = cji_verbs_errno(ibv_post_recv(end->qp, &wr, &bad));
    return err_no == 0 ||
           doctor_flaw(flaw, "message", POSTED, "a receive is refused: %s",
                       cji_errno_text(err_no).text);
}

static unsigned char byte_of(unsigned salt, size_t at)
{
    return (unsigned char)((at * 31 + at / 251 + salt) & 0xff);
}

bool doctor_post_send(const struct doctor_end *end, unsigned salt,
                      struct doctor_flaw *flaw)
{
    struct ibv_sge sge = piece(end, 0);
    struct ibv_send_wr wr = {.wr_id = SEND_ID,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad = NULL;
    int err_no;
    for (size_t i = 0; i < DOCTOR_BYTES; i++)
        end->memory[i] = byte_of(salt, i);
    errno = 0;
    err_no = cji_verbs_errno(ibv_post_send(end->qp, &wr, &bad));
    return err_no == 0 ||
           doctor_flaw(flaw, "message", POSTED, "a send is refused: %s",
                       cji_errno_text(err_no).text);
}

/* ---- completions -------------------------------------------------------- */

#define OUT_OF_ORDER "its driver is out of order: update the system"

static const char *status_advice(int status)
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
        return "both ends have to post as many 4 KiB frames: are both this "
               "version of the doctor?";
    case IBV_WC_WR_FLUSH_ERR:
        return "the queue pair fell into the error state: is the cable still "
               "plugged in?";
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "the other end does not answer: look at the cable, and at that "
               "machine";
    default:
        return "look at the cable and at the system's log; JACCL takes such a "
               "completion for success and computes with what is there";
    }
}

/* A completion with an error has no other field that is sure to be valid. */
static bool failed(const struct ibv_wc *wc, struct doctor_flaw *flaw)
{
    return doctor_flaw(flaw, "message", status_advice((int)wc->status),
                       "the %s completed with an error: %s",
                       wc->wr_id == SEND_ID   ? "send"
                       : wc->wr_id == RECV_ID ? "receive"
                                              : "message",
                       cji_wc_status_text((int)wc->status).text);
}

/* One completion of those that are still to come. */
static bool take(const struct doctor_device *device, const struct ibv_wc *wc,
                 bool *send, bool *recv, struct doctor_flaw *flaw)
{
    bool is_send = *send && wc->wr_id == SEND_ID;
    bool is_recv = *recv && wc->wr_id == RECV_ID;
    if (wc->status != IBV_WC_SUCCESS)
        return failed(wc, flaw);
    if (!is_send && !is_recv && device->failed_before &&
        (wc->wr_id == SEND_ID || wc->wr_id == RECV_ID))
        return true; /* what the first direction waited for in vain */
    if (!is_send && !is_recv)
        return doctor_flaw(flaw, "message", OUT_OF_ORDER,
                           "a completion names request %#llx, which was not "
                           "posted or is complete already",
                           (unsigned long long)wc->wr_id);
    if (is_recv && wc->byte_len != DOCTOR_BYTES)
        return doctor_flaw(flaw, "message", OUT_OF_ORDER,
                           "a message of %d bytes came with a length of %u",
                           DOCTOR_BYTES, wc->byte_len);
    *send = *send && !is_send;
    *recv = *recv && !is_recv;
    return true;
}

static bool too_late(bool send, bool recv, int64_t wait_ns,
                     struct doctor_flaw *flaw)
{
    double seconds = (double)wait_ns / 1e9;
    if (send && recv)
        return doctor_flaw(flaw, "message",
                           "the message does not leave: look at the cable and "
                           "at the other machine",
                           "neither the send nor the receive completed in "
                           "%.1f s",
                           seconds);
    if (send)
        return doctor_flaw(flaw, "message",
                           "a Thunderbolt device sends when the other end has "
                           "a receive posted: is that process alive?",
                           "the send did not complete in %.1f s", seconds);
    return doctor_flaw(flaw, "message",
                       "it was lost on its way: look at the cable, and at a "
                       "firewall (soft-RoCE: UDP port 4791)",
                       "the message did not come in %.1f s", seconds);
}

/* Everything has completed: nothing more may come. */
static bool is_quiet(const struct doctor_device *device,
                     struct doctor_flaw *flaw)
{
    struct ibv_wc wc;
    memset(&wc, 0, sizeof wc);
    return ibv_poll_cq(device->cq, 1, &wc) <= 0 || device->failed_before ||
           doctor_flaw(flaw, "message", OUT_OF_ORDER,
                       "a completion came twice");
}

bool doctor_await(const struct doctor_device *device, bool send, bool recv,
                  int64_t wait_ns, struct doctor_flaw *flaw)
{
    int64_t until = doctor_now() + wait_ns;
    for (unsigned round = 0; send || recv; round++) {
        struct ibv_wc wc;
        int count;
        memset(&wc, 0, sizeof wc);
        count = ibv_poll_cq(device->cq, 1, &wc);
        if (count < 0)
            return doctor_flaw(flaw, "message",
                               "its driver is out of order: JACCL never gets "
                               "out of that",
                               "the completion queue cannot be polled: it "
                               "answers %d",
                               count);
        if (count > 0 && !take(device, &wc, &send, &recv, flaw))
            return false;
        if (count > 0) {
            round = 0;
            continue;
        }
        if (cli_interrupted())
            return doctor_flaw(flaw, "message", NULL, "interrupted");
        if (doctor_now() >= until)
            return too_late(send, recv, wait_ns, flaw);
        (void)cji_default_clock.idle(NULL, until, round);
    }
    return is_quiet(device, flaw);
}

void doctor_slow(int64_t began, char text[DOCTOR_TIME])
{
    double seconds = (double)(doctor_now() - began) / 1e9;
    text[0] = '\0';
    if (seconds >= 0.3)
        snprintf(text, DOCTOR_TIME, ", after %.1f s", seconds);
}

bool doctor_compare(const struct doctor_end *end, unsigned salt,
                    struct doctor_flaw *flaw)
{
    const unsigned char *came = end->memory + DOCTOR_BYTES;
    for (size_t i = 0; i < DOCTOR_BYTES; i++)
        if (came[i] != byte_of(salt, i))
            return doctor_flaw(flaw, "message",
                               "nothing this machine computes over that cable "
                               "can be trusted: try another cable, and report "
                               "it",
                               "byte %zu of %d came as %#x and was sent as %#x",
                               i, DOCTOR_BYTES, came[i], byte_of(salt, i));
    return true;
}
