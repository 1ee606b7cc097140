#include "front/trace.h"
#include "front/infiniband.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "front/registry.h"
#include "front/transition.h"

/* A line that is being written; what does not fit is cut. */
struct line {
    char *text;
    size_t room;
    size_t used;
};

static void add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    size_t left = line->room - line->used;
    va_list list;
    int wrote;

    va_start(list, format);
    wrote = vsnprintf(line->text + line->used, left, format, list);
    va_end(list);
    if (wrote > 0)
        line->used += (size_t)wrote < left ? (size_t)wrote : left - 1;
}

static void add_errno(struct line *line, int number)
{
    const char *name = vf_errno_name(number);

    if (name)
        add(line, " %s", name);
    else
        add(line, " %d", number);
}

static void add_handle(struct line *line, const struct vf_record *record)
{
    if (record->handle == 0)
        add(line, "NULL");
    else if (record->handle == 2)
        add(line, "?");
    else
        add(line, "%u", (unsigned)record->handle_id);
}

static void add_opcode(struct line *line, uint64_t opcode)
{
    static const char *const names[] = {
        [IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
        [IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
        [IBV_WR_SEND] = "SEND",
        [IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
        [IBV_WR_RDMA_READ] = "RDMA_READ",
        [IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
        [IBV_WR_LOCAL_INV] = "LOCAL_INV",
        [IBV_WR_BIND_MW] = "BIND_MW",
        [IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
        [IBV_WR_TSO] = "TSO",
        [IBV_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
    };

    if (opcode < sizeof(names) / sizeof(names[0]) && names[opcode])
        add(line, "%s", names[opcode]);
    else
        add(line, "%llu", (unsigned long long)opcode);
}

static void add_number(struct line *line, char type, uint64_t value)
{
    if (type == 'x')
        add(line, "0x%llx", (unsigned long long)value);
    else if (type == 's')
        add(line, "%s", (int)value < 0 ? "same" : vf_state_name((int)value));
    else
        add(line, "%llu", (unsigned long long)value);
}

/* "label:type" separated by commas, see verbs.def. */
static void add_arguments(struct line *line, const struct vf_record *record)
{
    const char *spec = vf_verb_arguments(record->verb);
    const char *comma = "";
    unsigned n = 0;

    while (*spec) {
        size_t label = strcspn(spec, ":");
        char type = spec[label + 1];

        if (type != 'o' || record->args[n] != IBV_WR_SEND) {
            add(line, "%s%.*s=", comma, (int)label, spec);
            if (type == 'h')
                add_handle(line, record);
            else if (type == 'o')
                add_opcode(line, record->args[n++]);
            else
                add_number(line, type, record->args[n++]);
        }
        spec += label + 2;
        spec += *spec == ',';
        comma = ", ";
    }
}

/* What was completed; a number that is none of verbs.h's is a SEND or RECV. */
static const char *completion_word(unsigned opcode)
{
    static const char *const sends[] = {
        [IBV_WC_SEND] = "SEND",           [IBV_WC_RDMA_WRITE] = "RDMA_WRITE",
        [IBV_WC_RDMA_READ] = "RDMA_READ", [IBV_WC_COMP_SWAP] = "COMP_SWAP",
        [IBV_WC_FETCH_ADD] = "FETCH_ADD", [IBV_WC_BIND_MW] = "BIND_MW",
        [IBV_WC_LOCAL_INV] = "LOCAL_INV", [IBV_WC_TSO] = "TSO",
    };

    if (opcode == IBV_WC_RECV_RDMA_WITH_IMM)
        return "RECV_RDMA_WITH_IMM";
    if (opcode & IBV_WC_RECV)
        return "RECV";
    return opcode < sizeof(sends) / sizeof(sends[0]) ? sends[opcode] : "SEND";
}

static void add_completion(struct line *line,
                           const struct vf_record_completion *completion)
{
    const char *status = vf_status_name(completion->status);

    add(line, "[wr_id=0x%llx", (unsigned long long)completion->wr_id);
    if (completion->status == IBV_WC_SUCCESS)
        add(line, " %s", completion_word(completion->opcode));
    if (status)
        add(line, " %s", status);
    else
        add(line, " status %d", completion->status);
    if (completion->status == IBV_WC_SUCCESS &&
        (completion->opcode & IBV_WC_RECV))
        add(line, " len=%u", (unsigned)completion->length);
    add(line, "]");
}

void vf_completion_print(const struct vf_record_completion *completion,
                         char *text, size_t room)
{
    struct line line = {.text = text, .room = room};

    if (room == 0)
        return;
    text[0] = '\0';
    add_completion(&line, completion);
}

static void add_count(struct line *line, const struct vf_record *record)
{
    if (record->verb == VF_VERB_get_device_guid) {
        add(line, "0x%016llx", (unsigned long long)record->result);
        return;
    }
    add(line, "%lld", (long long)record->result);
    for (int i = 0; i < record->completions && i < VF_RECORD_COMPLETIONS; i++) {
        add(line, " ");
        add_completion(line, &record->completion[i]);
    }
    if (record->completions > VF_RECORD_COMPLETIONS)
        add(line, " ...");
}

static void add_pointer(struct line *line, const struct vf_record *record)
{
    if (record->err) {
        add(line, "NULL");
        add_errno(line, record->err);
    } else if (record->name) {
        add(line, "\"%s\"", record->name);
    } else {
        add(line, "%s=%u", vf_kind_label((enum vf_kind)record->made_kind),
            (unsigned)record->made_id);
    }
}

static void add_answer(struct line *line, const struct vf_record *record)
{
    switch (vf_verb_answer(record->verb)) {
    case VF_ANSWER_POINTER:
        add_pointer(line, record);
        break;
    case VF_ANSWER_ERRNO:
        add(line, "%d", record->err ? record->err : (int)record->result);
        if (record->err)
            add_errno(line, record->err);
        break;
    case VF_ANSWER_MINUS:
        add(line, "%d", record->err ? -1 : (int)record->result);
        if (record->err)
            add_errno(line, record->err);
        break;
    case VF_ANSWER_COUNT:
        add_count(line, record);
        break;
    case VF_ANSWER_NOTHING:
        add(line, "void");
        break;
    case VF_ANSWER_EVENT:
        add(line, "%s", record->name ? record->name : "0");
        break;
    }
}

static void add_end(struct line *line, const struct vf_record *record)
{
    switch ((enum vf_record_end)record->end) {
    case VF_RECORD_OPEN:
        add(line, "?");
        break;
    case VF_RECORD_EXIT:
        add(line, "? (exit)");
        return;
    case VF_RECORD_HANG:
        add(line, "? (hang)");
        return;
    case VF_RECORD_FAULT:
        add(line, "?");
        break;
    case VF_RECORD_DONE:
        add_answer(line, record);
        break;
    }
    if (record->planned)
        add(line, " (planned)");
    if (record->reason)
        add(line, " (%s)", record->reason);
    if (record->finding)
        add(line, " (%s)", record->finding);
}

void vf_record_print(const struct vf_record *record, int machine, char *line,
                     size_t room)
{
    struct line out = {.text = line, .room = room};

    if (room == 0)
        return;
    line[0] = '\0';
    add(&out, "r%d #%u %s(", machine, record->number,
        vf_verb_name(record->verb));
    add_arguments(&out, record);
    add(&out, ") = ");
    add_end(&out, record);
}
