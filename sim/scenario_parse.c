/*
 * Reading a scenario.
 *
 * Line by line: bytes become words (tokenize), the first word picks the
 * statement's kind, and that kind's reader turns the other words into fields.
 * Whether the fields are possible is scenario_check.c's to say, which names the
 * offending word by its number. Nothing is allocated; words point into the
 * text.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/calls.h"
#include "sim/scenario.h"
#include "sim/scenario_check.h"
#include "sim/scenario_words.h"

#define WORDS_MAX 64 /* more than any statement has: 3 + SCN_BYTES_MAX */

struct word {
    const char *text;
    int length, column; /* of a quoted word: without and at the quotes */
    bool quoted;
};

struct parser {
    struct scn *scenario;
    struct scn_error *error;
    int line;
    struct word words[WORDS_MAX];
    int count;           /* of words */
    int end;             /* the column behind the last word */
    const char *comment; /* NULL: none */
    int comment_length;
};

/* ---- errors ---- */

__attribute__((format(printf, 3, 4))) static int
fail(struct parser *parser, int column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->message, sizeof parser->error->message, format,
              arguments);
    va_end(arguments);
    parser->error->line = parser->line;
    parser->error->column = column;
    return -1;
}

static int fail_at(struct parser *parser, int word, const char *message)
{
    int column =
        word < parser->count ? parser->words[word].column : parser->end;
    return fail(parser, column, "%s", message);
}

static int fail_unknown(struct parser *parser, int word,
                        const struct scn_words *words)
{
    char message[sizeof parser->error->message];
    scn_word_explain(words, parser->words[word].text,
                     parser->words[word].length, message, sizeof message);
    return fail_at(parser, word, message);
}

/* ---- words ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_control(char c)
{
    unsigned char byte = (unsigned char)c;
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

static int fail_not_text(struct parser *parser, int column, char c)
{
    return fail(parser, column, "not text: byte 0x%02x", (unsigned char)c);
}

/* The comment behind `#` up to the end of the line, without spaces at its end.
 */
static int take_comment(struct parser *parser, const char *line, int at,
                        int length)
{
    while (length > at && is_space(line[length - 1]))
        length--;
    for (int i = at; i < length; i++) {
        if (is_control(line[i]))
            return fail_not_text(parser, i + 1, line[i]);
    }
    if (parser->count > 0 && length - at > SCN_REMARK_MAX)
        return fail(parser, at, "comment behind a statement longer than %d",
                    SCN_REMARK_MAX);
    parser->comment = line + at;
    parser->comment_length = length - at;
    return 0;
}

/* The word that begins at *at; leaves *at behind it. */
static int take_word(struct parser *parser, const char *line, int *at,
                     int length)
{
    int begin = *at, i = begin;
    bool quoted = line[i] == '"';
    if (quoted)
        i++;
    for (; i < length; i++) {
        if (is_control(line[i]) || (unsigned char)line[i] >= 0x80)
            return fail_not_text(parser, i + 1, line[i]);
        if (line[i] == '"' ||
            (!quoted && (is_space(line[i]) || line[i] == '#')))
            break;
    }
    if (quoted && i == length)
        return fail(parser, begin + 1, "the closing quote is missing");
    if (!quoted && i < length && line[i] == '"')
        return fail(parser, i + 1, "a quote inside of a word");
    if (parser->count == WORDS_MAX)
        return fail(parser, begin + 1, "too many words");
    struct word *word = &parser->words[parser->count++];
    word->text = line + begin + quoted;
    word->length = i - begin - quoted;
    word->column = begin + 1;
    word->quoted = quoted;
    *at = i + quoted;
    if (quoted && *at < length && !is_space(line[*at]) && line[*at] != '#' &&
        !is_control(line[*at]))
        return fail(parser, *at + 1, "a space is missing behind the quote");
    parser->end = *at + 1;
    return 0;
}

static int tokenize(struct parser *parser, const char *line, size_t size)
{
    int length = size > SCN_LINE_MAX ? SCN_LINE_MAX + 1 : (int)size;
    int at = 0;
    parser->count = 0;
    parser->end = 1;
    parser->comment = NULL;
    parser->comment_length = 0;
    while (at < length) {
        if (is_space(line[at])) {
            at++;
        } else if (line[at] == '#') {
            if (take_comment(parser, line, at + 1, length) < 0)
                return -1;
            break;
        } else if (take_word(parser, line, &at, length) < 0) {
            return -1;
        }
    }
    if (length > SCN_LINE_MAX)
        return fail(parser, length, "line longer than %d characters",
                    SCN_LINE_MAX);
    return 0;
}

/* Length of the line at text, without its end; *next is the line's whole size.
 */
static size_t line_length(const char *text, size_t rest, size_t *next)
{
    const char *newline = memchr(text, '\n', rest);
    size_t length = newline ? (size_t)(newline - text) : rest;
    *next = newline ? length + 1 : rest;
    return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

/* ---- fields ---- */

static bool is(const struct word *word, const char *text)
{
    return strncmp(word->text, text, (size_t)word->length) == 0 &&
           text[word->length] == '\0' && !word->quoted;
}

static int pick(struct parser *parser, int word, const struct scn_words *words)
{
    const struct word *w = &parser->words[word];
    int n = w->quoted ? -1 : scn_word_find(words, w->text, w->length);
    return n < 0 ? fail_unknown(parser, word, words) : n;
}

/* A decimal number, with a sign or without; what is too large for an int is
 * its largest (smallest) value, which no field allows. */
static bool read_digits(const char *text, int length, int64_t *number)
{
    int64_t sum = 0;
    int i = length > 0 && (text[0] == '-' || text[0] == '+');
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        if (sum < (int64_t)1 << 40)
            sum = sum * 10 + (text[i] - '0');
    }
    *number = text[0] == '-' ? -sum : sum;
    return true;
}

static int clamp(int64_t number)
{
    return number > INT_MAX   ? INT_MAX
           : number < INT_MIN ? INT_MIN
                              : (int)number;
}

static int read_text_number(struct parser *parser, int word, const char *text,
                            int length, int *number)
{
    int64_t value;
    if (!read_digits(text, length, &value))
        return fail(parser, parser->words[word].column,
                    "expected a number, not \"%.*s\"",
                    length > 40 ? 40 : length, text);
    *number = clamp(value);
    return 0;
}

static int read_number(struct parser *parser, int word, int *number)
{
    const struct word *w = &parser->words[word];
    return read_text_number(parser, word, w->text, w->length, number);
}

static int read_rank_text(struct parser *parser, int word, const char *text,
                          int length, int *rank)
{
    if (length == 1 && *text == '*') {
        *rank = SCN_ALL;
        return 0;
    }
    if (read_text_number(parser, word, text, length, rank) < 0)
        return -1;
    if (*rank < 0)
        return fail_at(parser, word, "a rank is not negative");
    return 0;
}

static int read_rank(struct parser *parser, struct scn_statement *s)
{
    const struct word *w = &parser->words[1];
    return read_rank_text(parser, 1, w->text, w->length, &s->rank);
}

/* Copies a piece of a word into room bytes with a terminating zero. */
static int read_text(struct parser *parser, int word, const char *text,
                     int length, char *copy, int room)
{
    if (length >= room)
        return fail(parser, parser->words[word].column,
                    "longer than %d characters", room - 1);
    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    return 0;
}

static int read_word(struct parser *parser, int word, char *copy, int room)
{
    const struct word *w = &parser->words[word];
    return read_text(parser, word, w->text, w->length, copy, room);
}

/* A number, or a name from words and thereby its number. */
static int read_named(struct parser *parser, int word,
                      const struct scn_words *words, int *number)
{
    const struct word *w = &parser->words[word];
    int64_t value;
    if (read_digits(w->text, w->length, &value)) {
        *number = clamp(value);
        return 0;
    }
    int n = pick(parser, word, words);
    if (n < 0)
        return -1;
    *number = n;
    return 0;
}

static int read_errno(struct parser *parser, int word, int *number)
{
    /* Some numbers have several names, so the table of names is asked. */
    const struct word *w = &parser->words[word];
    char name[24];
    if (w->length < (int)sizeof name) {
        memcpy(name, w->text, (size_t)w->length);
        name[w->length] = '\0';
        *number = vf_errno_by_name(name);
        if (*number > 0)
            return 0;
    }
    return read_named(parser, word, &scn_errno_words, number);
}

/* ---- statements ---- */

static int read_profile(struct parser *parser, struct scn_statement *s)
{
    int n = pick(parser, 1, &scn_profile_words);
    s->u.profile = n < 0 ? NULL : vf_profile_at(n);
    return n < 0 ? -1 : 0;
}

static int read_ranks(struct parser *parser, struct scn_statement *s)
{
    if (read_number(parser, 1, &s->u.ranks.count) < 0)
        return -1;
    int n = pick(parser, 2, &scn_topology_words);
    if (n < 0)
        return -1;
    s->u.ranks.topology = (enum scn_topology)n;
    s->u.ranks.wires = 1;
    if (n == SCN_MESH && parser->count > 3)
        return fail_at(parser, 3, "a mesh has no number of wires");
    return parser->count > 3 ? read_number(parser, 3, &s->u.ranks.wires) : 0;
}

static int read_choice(struct parser *parser, int word, const char *value,
                       int length, const char *yes, const char *no, bool *is_no)
{
    *is_no = strncmp(value, no, (size_t)length) == 0 && no[length] == '\0';
    if (*is_no ||
        (strncmp(value, yes, (size_t)length) == 0 && yes[length] == '\0'))
        return 0;
    return fail(parser, parser->words[word].column, "expected %s or %s", no,
                yes);
}

static int *limit_of(struct scn_statement *s, int key)
{
    switch (key) {
    case SCN_KEY_MAX_MR:
        return &s->u.device.max_mr;
    case SCN_KEY_MAX_QP:
        return &s->u.device.max_qp;
    case SCN_KEY_MAX_PD:
        return &s->u.device.max_pd;
    case SCN_KEY_USED_MR:
        return &s->u.device.used_mr;
    case SCN_KEY_USED_QP:
        return &s->u.device.used_qp;
    default:
        return &s->u.device.used_pd;
    }
}

static int read_limit(struct parser *parser, int word, const char *value,
                      int length, int *limit)
{
    if (read_text_number(parser, word, value, length, limit) < 0)
        return -1;
    if (*limit >= 0 && *limit <= SCN_LIMIT_MAX)
        return 0;
    return fail(parser, parser->words[word].column,
                "out of range: from 0 to %d", SCN_LIMIT_MAX);
}

static int read_key(struct parser *parser, int word, struct scn_statement *s,
                    unsigned *seen)
{
    const struct word *w = &parser->words[word];
    const char *equals = memchr(w->text, '=', (size_t)w->length);
    int length = equals ? (int)(equals - w->text) : w->length;
    int key = scn_word_find(&scn_key_words, w->text, length);
    if (key < 0) {
        char message[sizeof parser->error->message];
        scn_word_explain(&scn_key_words, w->text, length, message,
                         sizeof message);
        return fail_at(parser, word, message);
    }
    if (!equals || length + 1 == w->length)
        return fail_at(parser, word, "expected KEY=VALUE");
    if (*seen & 1U << key)
        return fail_at(parser, word, "this key is given already");
    *seen |= 1U << key;
    const char *value = equals + 1;
    int rest = w->length - length - 1;
    if (key == SCN_KEY_PORT)
        return read_choice(parser, word, value, rest, "up", "down",
                           &s->u.device.port_down);
    if (key == SCN_KEY_IPV4)
        return read_choice(parser, word, value, rest, "yes", "no",
                           &s->u.device.no_ipv4);
    return read_limit(parser, word, value, rest, limit_of(s, key));
}

static int read_device(struct parser *parser, struct scn_statement *s)
{
    unsigned seen = 0;
    if (read_rank(parser, s) < 0 ||
        read_word(parser, 2, s->u.device.name, SCN_NAME_MAX) < 0)
        return -1;
    for (int word = 3; word < parser->count; word++) {
        if (read_key(parser, word, s, &seen) < 0)
            return -1;
    }
    return 0;
}

static int read_nodevices(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    if (parser->count == 2)
        return 0;
    if (read_errno(parser, 2, &s->u.number) < 0)
        return -1;
    if (s->u.number == 0)
        return fail_at(parser, 2, "errno out of range: from 1 to 4095");
    return 0;
}

static int read_end(struct parser *parser, int word, int *rank, char *name)
{
    const struct word *w = &parser->words[word];
    const char *colon = memchr(w->text, ':', (size_t)w->length);
    if (!colon)
        return fail_at(parser, word, "expected RANK:NAME");
    int length = (int)(colon - w->text);
    if (read_rank_text(parser, word, w->text, length, rank) < 0)
        return -1;
    return read_text(parser, word, colon + 1, w->length - length - 1, name,
                     SCN_NAME_MAX);
}

static int read_cable(struct parser *parser, struct scn_statement *s)
{
    if (read_end(parser, 1, &s->rank, s->u.cable.name) < 0)
        return -1;
    return read_end(parser, 2, &s->u.cable.other_rank, s->u.cable.other_name);
}

static int read_cell(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0 ||
        read_number(parser, 2, &s->u.cell.row) < 0 ||
        read_number(parser, 3, &s->u.cell.column) < 0)
        return -1;
    for (int word = 4; word < parser->count; word++) {
        if (read_word(parser, word, s->u.cell.names[word - 4], SCN_NAME_MAX) <
            0)
            return -1;
    }
    s->u.cell.count = parser->count - 4;
    return 0;
}

static int read_rank_number(struct parser *parser, struct scn_statement *s)
{
    return read_rank(parser, s) < 0 ? -1 : read_number(parser, 2, &s->u.number);
}

static int read_coordinator(struct parser *parser, struct scn_statement *s)
{
    return read_rank(parser, s) < 0
               ? -1
               : read_word(parser, 2, s->u.text.word, SCN_WORD_MAX);
}

static int read_setting(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    int what = pick(parser, 2, &scn_setting_words);
    if (what < 0)
        return -1;
    s->u.setting.what = (enum scn_setting)what;
    s->u.setting.value = pick(parser, 3, scn_setting_values(s->u.setting.what));
    return s->u.setting.value < 0 ? -1 : 0;
}

static int read_library(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    int n = pick(parser, 2, &scn_library_words);
    if (n < 0)
        return -1;
    if (n == 0 && parser->count > 3)
        return fail_at(parser, 3, "nothing comes behind absent");
    if (n == 0)
        return 0;
    if (parser->count == 3)
        return fail_at(parser, 3, "which symbol? One is ibv_reg_mr");
    if (parser->words[3].length == 0)
        return fail_at(parser, 3, "a symbol is not empty");
    return read_word(parser, 3, s->u.text.word, SCN_WORD_MAX);
}

static int read_call(struct parser *parser, struct vf_fault *fault)
{
    const struct word *w = &parser->words[3];
    int nth = 0;
    fault->onward = w->length > 1 && w->text[w->length - 1] == '+';
    if (read_text_number(parser, 3, w->text, w->length - fault->onward, &nth) <
        0)
        return -1;
    fault->nth = nth < 1 ? 0 : (unsigned)nth;
    return 0;
}

static int read_value(struct parser *parser, struct vf_fault *fault)
{
    static const char *const wanted[] = {
        [VF_VALUE_NONE] = NULL,
        [VF_VALUE_ERRNO] = "an errno, such as ENOMEM",
        [VF_VALUE_NUMBER] = "a number, such as -1",
        [VF_VALUE_STATUS] = "a status, such as LOC_LEN_ERR",
        [VF_VALUE_MILLISECONDS] = "a number of milliseconds",
    };
    enum vf_value kind = vf_effect_value(fault->effect);
    const char *name = vf_effect_name(fault->effect);
    if (kind == VF_VALUE_NONE && parser->count > 5)
        return fail(parser, parser->words[5].column, "%s has no value", name);
    if (kind == VF_VALUE_NONE)
        return 0;
    if (parser->count == 5)
        return fail(parser, parser->end, "%s needs %s", name, wanted[kind]);
    if (kind == VF_VALUE_ERRNO)
        return read_errno(parser, 5, &fault->value);
    if (kind == VF_VALUE_STATUS)
        return read_named(parser, 5, &scn_status_words, &fault->value);
    return read_number(parser, 5, &fault->value);
}

static int read_fault(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    int verb = pick(parser, 2, &scn_verb_words);
    if (verb < 0 || read_call(parser, &s->u.fault) < 0)
        return -1;
    int effect = pick(parser, 4, &scn_effect_words);
    if (effect < 0)
        return -1;
    s->u.fault.verb = (enum vf_verb)verb;
    s->u.fault.effect = (enum vf_effect)effect;
    return read_value(parser, &s->u.fault);
}

static int read_channel(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    int n = pick(parser, 2, &scn_channel_words);
    if (n < 0)
        return -1;
    s->u.channel.what = (enum scn_channel)n;
    return read_number(parser, 3, &s->u.channel.bytes);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Adds the word's bytes to *count others. */
static int read_bytes(struct parser *parser, int word, const char *who,
                      int most, unsigned char *bytes, int *count)
{
    const struct word *w = &parser->words[word];
    for (int i = 0; i < w->length; i++) {
        if (hex_digit(w->text[i]) < 0)
            return fail(parser, w->column + i, "not a hexadecimal digit");
    }
    if (w->length % 2 != 0)
        return fail_at(parser, word, "a byte has two hexadecimal digits");
    for (int i = 0; i < w->length; i += 2) {
        if (*count == most)
            return fail(parser, w->column + i, "%s at most %d bytes", who,
                        most);
        bytes[(*count)++] = (unsigned char)(hex_digit(w->text[i]) * 16 +
                                            hex_digit(w->text[i + 1]));
    }
    return 0;
}

static int read_peer(struct parser *parser, struct scn_statement *s)
{
    if (read_rank(parser, s) < 0)
        return -1;
    if (!is(&parser->words[2], "sends"))
        return fail_at(parser, 2, "expected `sends`");
    for (int word = 3; word < parser->count; word++) {
        if (read_bytes(parser, word, "a peer sends", SCN_BYTES_MAX,
                       s->u.peer.bytes, &s->u.peer.count) < 0)
            return -1;
    }
    return 0;
}

static int read_stray(struct parser *parser, struct scn_statement *s)
{
    (void)parser;
    (void)s;
    return 0;
}

static int read_order_bytes(struct parser *parser, struct scn_statement *s)
{
    if (parser->count < 3)
        return fail_at(parser, 1, "expected bytes behind `bytes`");
    for (int word = 2; word < parser->count; word++) {
        if (read_bytes(parser, word, "an order has", SCN_ORDER_MAX,
                       s->u.order.bytes, &s->u.order.count) < 0)
            return -1;
    }
    return 0;
}

static int read_order(struct parser *parser, struct scn_statement *s)
{
    const struct word *w = &parser->words[1];
    int64_t seed;
    if (is(w, "bytes"))
        return read_order_bytes(parser, s);
    if (parser->count > 2)
        return fail_at(parser, 2, "nothing comes behind a seed");
    if (!read_digits(w->text, w->length, &seed) || seed < 0 ||
        seed > (int64_t)UINT32_MAX)
        return fail_at(parser, 1, "expected a seed from 0 to 4294967295");
    s->u.order.seed = (uint32_t)seed;
    return 0;
}

static int read_in_place(struct parser *parser, struct scn_statement *s)
{
    if (parser->count > 5)
        return fail_at(parser, 5, "nothing comes behind in-place");
    s->u.run.in_place = parser->count == 5;
    if (s->u.run.in_place && !is(&parser->words[4], "in-place"))
        return fail_at(parser, 4, "expected in-place, or nothing");
    return 0;
}

/* The two ranks of a send. */
static int read_ends(struct parser *parser, struct scn_statement *s)
{
    int *ranks[] = {&s->u.run.from, &s->u.run.to};
    for (int i = 0; i < 2; i++) {
        const struct word *w = &parser->words[4 + i];
        if (read_rank_text(parser, 4 + i, w->text, w->length, ranks[i]) < 0)
            return -1;
    }
    return 0;
}

static int read_run(struct parser *parser, struct scn_statement *s)
{
    int n = pick(parser, 1, &scn_operation_words);
    if (n < 0)
        return -1;
    s->u.run.operation = (enum scn_operation)n;
    if (!scn_has_data(s->u.run.operation))
        return parser->count == 2 ? 0
                                  : fail(parser, parser->words[2].column,
                                         "nothing comes behind %s",
                                         scn_operation_words.name(n));
    if (parser->count < (n == SCN_SEND ? 6 : 4))
        return fail(parser, parser->end, "expected run %s TYPE COUNT%s",
                    scn_operation_words.name(n),
                    n == SCN_SEND ? " FROM TO" : "");
    int type = pick(parser, 2, &scn_type_words);
    if (type < 0)
        return -1;
    s->u.run.type = (enum scn_type)type;
    if (read_number(parser, 3, &s->u.run.count) < 0)
        return -1;
    return n == SCN_SEND ? read_ends(parser, s) : read_in_place(parser, s);
}

/* The word alone: read_calls() reads all others. */
static int read_no_call(struct parser *parser, struct scn_statement *s)
{
    (void)s;
    return fail(parser, parser->end, "something is missing: %s",
                scn_kind_usage(SCN_CALL));
}

static int read_expect(struct parser *parser, struct scn_statement *s)
{
    if (read_word(parser, 1, s->u.expect.subject, SCN_WORD_MAX) < 0)
        return -1;
    int n = pick(parser, 2, &scn_outcome_words);
    if (n < 0)
        return -1;
    s->u.expect.outcome = (enum scn_outcome)n;
    if (parser->count == 3)
        return 0;
    if (!parser->words[3].quoted || parser->words[3].length == 0)
        return fail_at(parser, 3, "a title is in quotes and not empty");
    return read_word(parser, 3, s->u.expect.title, SCN_WORD_MAX * 2);
}

/* How each statement is read. quotable is its first word that may be quoted. */
static const struct reader {
    int (*read)(struct parser *, struct scn_statement *);
    int least, most, quotable; /* words */
} readers[SCN_COMMENT] = {
    [SCN_PROFILE] = {read_profile, 2, 2, WORDS_MAX},
    [SCN_RANKS] = {read_ranks, 3, 4, WORDS_MAX},
    [SCN_DEVICE] = {read_device, 3, 3 + SCN_KEY_COUNT, WORDS_MAX},
    [SCN_NODEVICES] = {read_nodevices, 2, 3, WORDS_MAX},
    [SCN_CABLE] = {read_cable, 3, 3, WORDS_MAX},
    [SCN_CELL] = {read_cell, 4, 4 + SCN_NAMES_MAX, 4},
    [SCN_ROWS] = {read_rank_number, 3, 3, WORDS_MAX},
    [SCN_COORDINATOR] = {read_coordinator, 3, 3, 2},
    [SCN_SETTING] = {read_setting, 4, 4, WORDS_MAX},
    [SCN_LATE] = {read_rank_number, 3, 3, WORDS_MAX},
    [SCN_LIBRARY] = {read_library, 3, 4, WORDS_MAX},
    [SCN_FAULT] = {read_fault, 5, 6, WORDS_MAX},
    [SCN_CHANNEL] = {read_channel, 4, 4, WORDS_MAX},
    [SCN_PEER] = {read_peer, 3, WORDS_MAX, WORDS_MAX},
    [SCN_STRAY] = {read_stray, 1, 1, WORDS_MAX},
    [SCN_ORDER] = {read_order, 2, WORDS_MAX, WORDS_MAX},
    [SCN_RUN] = {read_run, 2, 6, WORDS_MAX},
    [SCN_CALL] = {read_no_call, 1, WORDS_MAX, WORDS_MAX},
    [SCN_EXPECT] = {read_expect, 3, 4, 3},
};

static int read_statement(struct parser *parser, enum scn_kind kind,
                          struct scn_statement *s)
{
    const struct reader *reader = &readers[kind];
    struct scn_complaint complaint;
    if (parser->count < reader->least)
        return fail(parser, parser->end, "something is missing: %s",
                    scn_kind_usage(kind));
    if (parser->count > reader->most)
        return fail(parser, parser->words[reader->most].column,
                    "too many words: %s", scn_kind_usage(kind));
    for (int i = 1; i < parser->count && i < reader->quotable; i++) {
        if (parser->words[i].quoted)
            return fail_at(parser, i, "no quotes here");
    }
    if (reader->read(parser, s) < 0)
        return -1;
    if (scn_check_statement(s, &complaint) < 0)
        return fail_at(parser, complaint.word, complaint.message);
    return 0;
}

static int read_line(struct parser *parser)
{
    int kind = SCN_COMMENT;
    if (parser->count > 0) {
        kind = pick(parser, 0, &scn_kind_words);
        if (kind < 0)
            return -1;
    }
    struct scn_statement *s = scn_add(parser->scenario, (enum scn_kind)kind);
    if (!s)
        return fail(parser, 1, "more than %d lines", SCN_STATEMENTS_MAX);
    s->line = parser->line;
    s->column = parser->count > 0 ? parser->words[0].column : 1;
    s->comment = parser->comment;
    s->comment_length = parser->comment_length;
    return kind == SCN_COMMENT ? 0
                               : read_statement(parser, (enum scn_kind)kind, s);
}

static struct scn_statement *find_calls(struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_CALL)
            return &scenario->statements[i];
    return NULL;
}

/* All calls are one statement, whatever stands between them. */
static int read_calls(struct parser *parser, const char *line, size_t size)
{
    struct scn *scenario = parser->scenario;
    struct scn_statement *s = find_calls(scenario);
    char message[sizeof parser->error->message];
    struct scn_call call;
    int column = 1;
    while (size > 0 && is_space(line[size - 1]))
        size--;
    if (size > SCN_CALL_LINE_MAX)
        return fail(parser, SCN_CALL_LINE_MAX, "line longer than %d characters",
                    SCN_CALL_LINE_MAX);
    if (scn_call_read(&call, line, size, message, sizeof message, &column) != 0)
        return fail(parser, column, "%s", message);
    if (!s) {
        s = scn_add(scenario, SCN_CALL);
        if (!s)
            return fail(parser, 1, "more than %d lines", SCN_STATEMENTS_MAX);
        s->line = parser->line;
        s->column = 1;
        s->u.calls.text = line;
    }
    s->u.calls.length = (size_t)(line - s->u.calls.text) + size;
    s->u.calls.count++;
    if (call.rank > s->u.calls.highest)
        s->u.calls.highest = call.rank;
    return 0;
}

/* Reports a contradiction at the word it is about: its line is read again. */
static int fail_whole(struct parser *parser, const char *text, size_t length,
                      const struct scn_complaint *complaint)
{
    int line = parser->scenario->statements[complaint->statement].line;
    size_t next, size = line_length(text, length, &next);
    for (parser->line = 1; parser->line < line; parser->line++) {
        text += next;
        length -= next;
        size = line_length(text, length, &next);
    }
    tokenize(parser, text, size);
    return fail_at(parser, complaint->word, complaint->message);
}

int scn_parse(struct scn *scenario, const char *text, size_t length,
              struct scn_error *error)
{
    struct parser parser;
    struct scn_complaint complaint;
    parser.scenario = scenario;
    parser.error = error;
    parser.line = 1;
    scenario->count = 0;
    if (length > SCN_TEXT_MAX)
        /* cppcheck-suppress ctuuninitvar ; error is set above */
        return fail(&parser, 1, "a text longer than %d bytes", SCN_TEXT_MAX);
    for (size_t at = 0, next; at < length; at += next, parser.line++) {
        size_t size = line_length(text + at, length - at, &next);
        if (scn_is_call(text + at, size)) {
            if (read_calls(&parser, text + at, size) < 0)
                return -1;
        } else if (tokenize(&parser, text + at, size) < 0 ||
                   read_line(&parser) < 0) {
            return -1;
        }
    }
    if (scn_check_whole(scenario, &complaint) < 0)
        return fail_whole(&parser, text, length, &complaint);
    return 0;
}
