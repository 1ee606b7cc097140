#include "sim/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario_words.h"

/* Keep the order of mocks/front/detail.c. */
static const struct {
    const char *word, *about;
} details[] = {
    {"planned=", "EFFECT[:VALUE] of the plan that answered"},
    {"device=", "a device of the list, in its order"},
    {"max_qp=", "the device's limits, as query_device answered ..."},
    {"max_qp_wr=", "... requests of a queue"},
    {"max_sge=", "... entries of a request"},
    {"max_cq=", "... completion queues"},
    {"max_cqe=", "... completions of a queue"},
    {"max_mr=", "... regions"},
    {"max_pd=", "... domains"},
    {"max_ah=", "... address handles"},
    {"max_srq=", "... shared receive queues"},
    {"max_srq_wr=", "... their requests"},
    {"max_srq_sge=", "... and the entries of those"},
    {"ports=", "ports of the device"},
    {"state=", "of a port or a queue pair; compared"},
    {"mtu=", "enum ibv_mtu: a port's active one, a path's"},
    {"max_mtu=", "a port's largest"},
    {"gids=", "length of a port's GID table"},
    {"lid=", "set or none"},
    {"link=", "a port's link layer"},
    {"gid=", "what kind of address: zero, link, ipv4, other; of a path: "
             "the index in the peer's table"},
    {"name=", "the address itself (--keep-names)"},
    {"find", "query_gid: the search for an address"},
    {"table", "query_gid: all of a table"},
    {"entry", "query_gid: an entry with all that is known of it"},
    {"at=", "a region's place in a page of 64 KiB; or NULL"},
    {"channel=", "of a completion queue"},
    {"granted=", "sizes that the device granted; compared"},
    {"send_cq=", "of a queue pair"},
    {"recv_cq=", "likewise"},
    {"srq=", "likewise"},
    {"sge=", "entries asked for; in a request REGION:OFFSET:LENGTH"},
    {"sges=", "NULL:COUNT or many:COUNT: entries that nobody could read"},
    {"inline=", "bytes asked for"},
    {"all_signaled", "a queue pair whose sends all complete"},
    {"NULL", "no attributes, no list"},
    {"cur_state=", "attributes of modify_qp ..."},
    {"access=", "..."},
    {"pkey=", "..."},
    {"port=", "..."},
    {"qkey=", "..."},
    {"timeout=", "..."},
    {"retries=", "..."},
    {"rnr_retries=", "..."},
    {"rq_psn=", "..."},
    {"sq_psn=", "..."},
    {"rd=", "..."},
    {"rnr_timer=", "..."},
    {"dest_rd=", "..."},
    {"num=", "a queue pair's number, for record --join"},
    {"key=", "RKEY:ADDRESS of a region (low 32 bits), likewise"},
    {"mark=", "0 to 15: tells a few addresses apart, likewise"},
    {"dest=", "RANK:QP at the other end; ?:NUM of nobody recorded"},
    {"to=", "RANK:DEVICE that an address leads to"},
    {"sgid=", "index of a path's source address"},
    {"hops=", "of a path"},
    {"dlid=", "set or none"},
    {"sl=", "of a path"},
    {"limit=", "of a shared receive queue"},
    {"wr=", "likewise"},
    {"op=", "enum ibv_wr_opcode"},
    {"signaled", "flags of a request ..."},
    {"solicited", "..."},
    {"fence", "..."},
    {"inline", "..."},
    {"ah=", "a datagram's address handle"},
    {"remote=", "RANK:REGION:OFFSET that RDMA goes to; ?:RKEY:ADDRESS"},
    {"next=", "the next request's WR_ID"},
    {"cq=", "the queue that an event is of"},
    {"also=", "a completion more than the answer shows, '/' for spaces"},
};

#define COUNT ((int)(sizeof details / sizeof details[0]))

const char *scn_detail_word(int n, const char **about)
{
    if (n < 0 || n >= COUNT)
        return NULL;
    *about = details[n].about;
    return details[n].word;
}

/* ---- words ---- */

static bool parts(char c)
{
    return c == ' ' || c == ',' || c == '\t';
}

struct scn_piece scn_next_word(struct scn_piece *words)
{
    struct scn_piece word = {NULL, 0};
    size_t at = 0;
    if (!words->text)
        return word;
    while (at < words->length && parts(words->text[at]))
        at++;
    words->text += at;
    words->length -= at;
    if (words->length == 0)
        return word;
    word.text = words->text;
    while (word.length < words->length && !parts(word.text[word.length]))
        word.length++;
    words->text += word.length;
    words->length -= word.length;
    return word;
}

bool scn_is_key(struct scn_piece word, const char *key, struct scn_piece *value)
{
    size_t length = strlen(key);
    if (word.length <= length || word.text[length] != '=' ||
        memcmp(word.text, key, length) != 0)
        return false;
    value->text = word.text + length + 1;
    value->length = word.length - length - 1;
    return true;
}

struct scn_piece scn_value(struct scn_piece words, const char *key)
{
    struct scn_piece word, value = {NULL, 0};
    while ((word = scn_next_word(&words)).text)
        if (scn_is_key(word, key, &value))
            return value;
    return value;
}

static bool is(struct scn_piece piece, const char *word)
{
    return piece.text && piece.length == strlen(word) &&
           memcmp(piece.text, word, piece.length) == 0;
}

bool scn_has_word(struct scn_piece words, const char *word)
{
    struct scn_piece one;
    while ((one = scn_next_word(&words)).text)
        if (is(one, word))
            return true;
    return false;
}

static int digit(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : 16;
    return value < base ? value : -1;
}

int64_t scn_number(struct scn_piece value, int64_t otherwise)
{
    bool negative = value.length > 0 && value.text[0] == '-';
    size_t at = negative;
    int base = 10;
    uint64_t number = 0;
    if (value.length > at + 2 && memcmp(value.text + at, "0x", 2) == 0) {
        base = 16;
        at += 2;
    }
    if (at == value.length || !value.text)
        return otherwise;
    for (; at < value.length; at++) {
        int next = digit(value.text[at], base);
        if (next < 0)
            return otherwise;
        number = number * (unsigned)base + (unsigned)next;
    }
    return (int64_t)(negative ? 0 - number : number);
}

/* ---- a line ---- */

/* Where `what` begins in piece from `at` on, or its length. */
static size_t find(struct scn_piece piece, size_t at, const char *what)
{
    size_t length = strlen(what);
    for (; at + length <= piece.length; at++)
        if (memcmp(piece.text + at, what, length) == 0)
            return at;
    return piece.length;
}

static struct scn_piece cut(struct scn_piece piece, size_t from, size_t to)
{
    struct scn_piece part = {piece.text + from, to - from};
    return part;
}

/* 0, or -1 with what is wrong and where, counted from the verb. */
static int split(struct scn_call *call, struct scn_piece line,
                 const char **wrong, size_t *at)
{
    size_t open = find(line, 0, "("), end = find(line, 0, " ; ");
    size_t equals = find(line, 0, ") = ");
    int verb = scn_word_find(&scn_verb_words, line.text, (int)open);
    *at = 0;
    *wrong = "no such verb";
    if (verb < 0 || vf_verb_answer((enum vf_verb)verb) == VF_ANSWER_EVENT)
        return -1;
    *at = open;
    *wrong = "expected (ARGUMENTS) = ANSWER behind the verb";
    if (open == line.length || equals >= end || equals < open ||
        equals + 4 == end)
        return -1;
    call->verb = (enum vf_verb)verb;
    call->line = line;
    call->arguments = cut(line, open + 1, equals);
    call->answer = cut(line, equals + 4, end);
    call->details.text = NULL;
    call->details.length = 0;
    if (end < line.length)
        call->details = cut(line, end + 3, line.length);
    return 0;
}

bool scn_is_call(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return length - at > 4 && memcmp(line + at, "call", 4) == 0 &&
           (line[at + 4] == ' ' || line[at + 4] == '\t');
}

bool scn_call_read_bare(struct scn_call *call, const char *line, size_t length)
{
    struct scn_piece piece = {line, length};
    const char *wrong;
    size_t at;
    call->rank = 0;
    return split(call, piece, &wrong, &at) == 0;
}

static bool is_detail(struct scn_piece word)
{
    const char *equals = memchr(word.text, '=', word.length);
    size_t length = equals ? (size_t)(equals - word.text) + 1 : word.length;
    for (int n = 0; n < COUNT; n++)
        if (strlen(details[n].word) == length &&
            memcmp(details[n].word, word.text, length) == 0)
            return true;
    return false;
}

__attribute__((format(printf, 4, 5))) static int
fail(char *message, size_t room, int *column, const char *format, ...)
{
    va_list arguments;
    (void)column;
    va_start(arguments, format);
    vsnprintf(message, room, format, arguments);
    va_end(arguments);
    return -1;
}

static int check_details(const struct scn_call *call, const char *line,
                         char *message, size_t room, int *column)
{
    struct scn_piece words = call->details, word;
    while ((word = scn_next_word(&words)).text) {
        *column = (int)(word.text - line) + 1;
        if (!is_detail(word))
            return fail(message, room, column,
                        "no detail \"%.*s\"; see verbfault list details",
                        (int)(word.length < 40 ? word.length : 40), word.text);
    }
    return 0;
}

int scn_call_read(struct scn_call *call, const char *line, size_t length,
                  char *message, size_t room, int *column)
{
    struct scn_piece rest = {line, length};
    struct scn_piece word = scn_next_word(&rest);
    const char *wrong;
    size_t at;
    int64_t rank;
    for (size_t i = 0; i < length; i++) {
        *column = (int)i + 1;
        if (line[i] == '\t')
            continue;
        if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7f)
            return fail(message, room, column, "not text: byte 0x%02x",
                        (unsigned)(unsigned char)line[i]);
    }
    word = scn_next_word(&rest);
    *column = word.text ? (int)(word.text - line) + 1 : (int)length + 1;
    rank = scn_number(word, -1);
    if (rank < 0 || rank >= SCN_RANKS_MAX)
        return fail(message, room, column,
                    "expected call RANK VERB(...) = ANSWER, with a rank from 0 "
                    "to %d",
                    SCN_RANKS_MAX - 1);
    while (rest.length > 0 && (rest.text[0] == ' ' || rest.text[0] == '\t')) {
        rest.text++;
        rest.length--;
    }
    if (split(call, rest, &wrong, &at) != 0) {
        *column = (int)(rest.text - line) + (int)at + 1;
        return fail(message, room, column, "%s", wrong);
    }
    call->rank = (int)rank;
    return check_details(call, line, message, room, column);
}

bool scn_has_calls(const struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_CALL)
            return true;
    return false;
}
