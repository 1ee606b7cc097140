/* Writing a scenario. */
#include <string.h>

#include "sim/calls.h"
#include "sim/scenario.h"
#include "sim/scenario_words.h"

/* What did not fit is counted, not written. */
struct out {
    char *text;
    size_t room, length;
};

static void put_bytes(struct out *out, const char *bytes, size_t count)
{
    if (out->length < out->room) {
        size_t left = out->room - out->length;
        memcpy(out->text + out->length, bytes, count < left ? count : left);
    }
    out->length += count;
}

static void put(struct out *out, const char *word)
{
    put_bytes(out, word, strlen(word));
}

static void put_number(struct out *out, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *--at = '-';
    put_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

static void put_rank(struct out *out, int rank)
{
    if (rank == SCN_ALL)
        put(out, "*");
    else
        put_number(out, rank);
}

/* A space and a word. */
static void put_next(struct out *out, const char *word)
{
    put(out, " ");
    put(out, word);
}

static void put_next_number(struct out *out, int64_t number)
{
    put(out, " ");
    put_number(out, number);
}

/* The name that number has, or the number. */
static void put_named(struct out *out, const char *name, int number)
{
    if (name)
        put_next(out, name);
    else
        put_next_number(out, number);
}

static void put_limit(struct out *out, enum scn_key key, int number)
{
    if (number < 0)
        return;
    put_next(out, scn_key_words.name((int)key));
    put(out, "=");
    put_number(out, number);
}

static void put_device(struct out *out, const struct scn_statement *s)
{
    put_next(out, s->u.device.name);
    if (s->u.device.port_down)
        put(out, " port=down");
    if (s->u.device.no_ipv4)
        put(out, " ipv4=no");
    put_limit(out, SCN_KEY_MAX_MR, s->u.device.max_mr);
    put_limit(out, SCN_KEY_MAX_QP, s->u.device.max_qp);
    put_limit(out, SCN_KEY_MAX_PD, s->u.device.max_pd);
    put_limit(out, SCN_KEY_USED_MR, s->u.device.used_mr);
    put_limit(out, SCN_KEY_USED_QP, s->u.device.used_qp);
    put_limit(out, SCN_KEY_USED_PD, s->u.device.used_pd);
}

static void put_ranks(struct out *out, const struct scn_statement *s)
{
    put_next_number(out, s->u.ranks.count);
    put_next(out, scn_topology_words.name((int)s->u.ranks.topology));
    if (s->u.ranks.wires > 1)
        put_next_number(out, s->u.ranks.wires);
}

static void put_cable(struct out *out, const struct scn_statement *s)
{
    put(out, ":");
    put(out, s->u.cable.name);
    put_next_number(out, s->u.cable.other_rank);
    put(out, ":");
    put(out, s->u.cable.other_name);
}

static void put_cell(struct out *out, const struct scn_statement *s)
{
    put_next_number(out, s->u.cell.row);
    put_next_number(out, s->u.cell.column);
    for (int i = 0; i < s->u.cell.count; i++) {
        const char *name = s->u.cell.names[i];
        put_next(out, *name ? name : "\"\"");
    }
}

static bool needs_quotes(const char *word)
{
    return *word == '\0' || strpbrk(word, " #") != NULL;
}

static void put_address(struct out *out, const char *word)
{
    const char *quote = needs_quotes(word) ? "\"" : "";
    put_next(out, quote);
    put(out, word);
    put(out, quote);
}

static void put_setting(struct out *out, const struct scn_statement *s)
{
    put_next(out, scn_setting_name(s->u.setting.what));
    put_next(out,
             scn_setting_value_name(s->u.setting.what, s->u.setting.value));
}

static void put_fault(struct out *out, const struct vf_fault *fault)
{
    put_next(out, vf_verb_name(fault->verb));
    put_next_number(out, fault->nth);
    if (fault->onward)
        put(out, "+");
    put_next(out, vf_effect_name(fault->effect));
    switch (vf_effect_value(fault->effect)) {
    case VF_VALUE_NONE:
        return;
    case VF_VALUE_ERRNO:
        put_named(out, vf_errno_name(fault->value), fault->value);
        return;
    case VF_VALUE_STATUS:
        put_named(out, vf_status_name(fault->value), fault->value);
        return;
    case VF_VALUE_NUMBER:
    case VF_VALUE_MILLISECONDS:
        put_next_number(out, fault->value);
        return;
    }
}

static void put_hex(struct out *out, const unsigned char *bytes, int count)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < count; i++) {
        unsigned byte = bytes[i];
        char pair[2] = {digits[byte >> 4], digits[byte & 15]};
        if (i % 4 == 0)
            put(out, " ");
        put_bytes(out, pair, sizeof pair);
    }
}

static void put_order(struct out *out, const struct scn_statement *s)
{
    if (s->u.order.count == 0) {
        put_next_number(out, s->u.order.seed);
        return;
    }
    put(out, " bytes");
    put_hex(out, s->u.order.bytes, s->u.order.count);
}

static void put_run(struct out *out, const struct scn_statement *s)
{
    put_next(out, scn_operation_words.name((int)s->u.run.operation));
    if (!scn_has_data(s->u.run.operation))
        return;
    put_next(out, scn_type_name(s->u.run.type));
    put_next_number(out, s->u.run.count);
    if (s->u.run.operation == SCN_SEND) {
        put_next_number(out, s->u.run.from);
        put_next_number(out, s->u.run.to);
    } else if (s->u.run.in_place) {
        put_next(out, "in-place");
    }
}

static void put_expect(struct out *out, const struct scn_statement *s)
{
    put_next(out, s->u.expect.subject);
    put_next(out, scn_outcome_name(s->u.expect.outcome));
    if (*s->u.expect.title == '\0')
        return;
    put(out, " \"");
    put(out, s->u.expect.title);
    put(out, "\"");
}

static bool starts_with_rank(enum scn_kind kind)
{
    return kind >= SCN_DEVICE && kind <= SCN_PEER;
}

static void put_fields(struct out *out, const struct scn_statement *s)
{
    if (starts_with_rank(s->kind)) {
        put(out, " ");
        put_rank(out, s->rank);
    }
    switch (s->kind) {
    case SCN_PROFILE:
        put_next(out, s->u.profile->name);
        return;
    case SCN_RANKS:
        put_ranks(out, s);
        return;
    case SCN_DEVICE:
        put_device(out, s);
        return;
    case SCN_NODEVICES:
        if (s->u.number)
            put_named(out, vf_errno_name(s->u.number), s->u.number);
        return;
    case SCN_CABLE:
        put_cable(out, s);
        return;
    case SCN_CELL:
        put_cell(out, s);
        return;
    case SCN_ROWS:
    case SCN_LATE:
        put_next_number(out, s->u.number);
        return;
    case SCN_COORDINATOR:
        put_address(out, s->u.text.word);
        return;
    case SCN_SETTING:
        put_setting(out, s);
        return;
    case SCN_LIBRARY:
        put(out, *s->u.text.word ? " without " : " absent");
        put(out, s->u.text.word);
        return;
    case SCN_FAULT:
        put_fault(out, &s->u.fault);
        return;
    case SCN_CHANNEL:
        put_next(out, scn_channel_words.name((int)s->u.channel.what));
        put_next_number(out, s->u.channel.bytes);
        return;
    case SCN_PEER:
        put(out, " sends");
        put_hex(out, s->u.peer.bytes, s->u.peer.count);
        return;
    case SCN_ORDER:
        put_order(out, s);
        return;
    case SCN_RUN:
        put_run(out, s);
        return;
    case SCN_EXPECT:
        put_expect(out, s);
        return;
    case SCN_CALL:
    case SCN_STRAY:
    case SCN_COMMENT:
    case SCN_KIND_COUNT:
        return;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end && is_blank(text[at]))
        at++;
    return at;
}

/* As it is, but for what is around it and behind "call" and the rank. */
static void put_call(struct out *out, const char *text, size_t end)
{
    size_t at = skip_blanks(text, 0, end);
    for (int word = 0; word < 2; word++) {
        size_t begin = at;
        while (at < end && !is_blank(text[at]))
            at++;
        put_bytes(out, text + begin, at - begin);
        put(out, " ");
        at = skip_blanks(text, at, end);
    }
    while (end > at && is_blank(text[end - 1]))
        end--;
    put_bytes(out, text + at, end - at);
    put(out, "\n");
}

static void put_calls(struct out *out, const struct scn_statement *s)
{
    const char *text = s->u.calls.text;
    size_t left = s->u.calls.length;
    while (left > 0) {
        const char *newline = memchr(text, '\n', left);
        size_t end = newline ? (size_t)(newline - text) : left;
        if (scn_is_call(text, end))
            put_call(out, text, end);
        end += newline != NULL;
        text += end;
        left -= end;
    }
}

static void put_statement(struct out *out, const struct scn_statement *s)
{
    if (s->kind == SCN_CALL) {
        put_calls(out, s);
        return;
    }
    if (s->kind != SCN_COMMENT) {
        put(out, scn_kind_name(s->kind));
        put_fields(out, s);
        if (s->comment)
            put(out, "  ");
    }
    if (s->comment) {
        put(out, "#");
        put_bytes(out, s->comment, (size_t)s->comment_length);
    }
    put(out, "\n");
}

size_t scn_print(const struct scn *scenario, char *text, size_t room)
{
    struct out out = {text, room, 0};
    for (int i = 0; i < scenario->count; i++)
        put_statement(&out, &scenario->statements[i]);
    if (room > 0)
        text[out.length < room ? out.length : room - 1] = '\0';
    return out.length;
}
