/* The run that is explained, taken down as items. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 60       /* seconds without a sign of life */
#define ITEMS_MAX 2000000 /* what is behind them is not drawn */

static struct explain_item *add(struct explain *explain, enum explain_kind kind,
                                int rank)
{
    struct explain_item *item;
    if (explain->count == ITEMS_MAX)
        return NULL;
    explain->items = text_grow(explain->items, explain->count, &explain->room,
                               sizeof *explain->items);
    item = &explain->items[explain->count++];
    memset(item, 0, sizeof *item);
    item->kind = kind;
    item->rank = rank;
    item->peer = item->row = item->statement = -1;
    item->verb = VF_VERB_COUNT;
    return item;
}

static char *copy(const char *words)
{
    struct text text = {NULL, 0, 0};
    text_put(&text, words);
    return text.at;
}

/* Only what answers something can say no. */
static bool is_refusal(enum vf_verb verb, const char *answer)
{
    switch (vf_verb_answer(verb)) {
    case VF_ANSWER_POINTER:
        return strncmp(answer, "NULL", 4) == 0;
    case VF_ANSWER_ERRNO:
        return answer[0] > '0' && answer[0] <= '9';
    case VF_ANSWER_MINUS:
        return answer[0] == '-';
    case VF_ANSWER_COUNT:
        return answer[0] == '-';
    default:
        return false;
    }
}

/* A poll that brings a completion that is none of success. */
static bool brings_failure(const char *answer)
{
    for (const char *at = strstr(answer, "[wr_id="); at;
         at = strstr(at + 1, "[wr_id=")) {
        const char *end = strchr(at, ']');
        const char *good = strstr(at, " SUCCESS");
        if (end && (!good || good > end))
            return true;
    }
    return false;
}

static bool is_release(const char *verb)
{
    static const char *const words[] = {"free_", "close_", "dealloc_", "dereg_",
                                        "destroy_"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(verb, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* "r0 #8 reg_mr(pd=1, len=4096) = NULL ENOMEM (planned)" */
static void take_line(void *context, int rank, const char *line)
{
    struct explain_item *item = add(context, EXPLAIN_CALL, rank);
    const char *call = strchr(line, '#'), *answer;
    char verb[48];
    if (!item || !call)
        return;
    item->number = (unsigned)strtoul(call + 1, NULL, 10);
    call += strcspn(call, " ");
    call += *call == ' ';
    snprintf(verb, sizeof verb, "%.*s", (int)strcspn(call, "("), call);
    item->text = copy(call);
    item->verb = vf_verb_by_name(verb);
    item->planned = strstr(call, " (planned)") != NULL ||
                    strstr(call, "= ? (exit)") || strstr(call, "= ? (hang)");
    answer = strstr(call, ") = ");
    if (!answer || item->verb == VF_VERB_COUNT)
        return;
    item->refused = !item->planned && (is_refusal(item->verb, answer + 4) ||
                                       brings_failure(answer + 4));
    item->release = is_release(verb) && !is_refusal(item->verb, answer + 4) &&
                    answer[4] != '?';
}

static void take_finding(void *context, const struct vf_finding *finding)
{
    struct explain_item *item = add(context, EXPLAIN_FINDING, finding->machine);
    struct text text = {NULL, 0, 0};
    if (!item)
        return;
    text_put(&text, finding->title);
    if (finding->detail[0])
        text_add(&text, ": %s", finding->detail);
    item->text = text.at;
    item->fatal = finding->fatal;
}

static void take_event(void *context, const struct sim_event *event)
{
    static const enum explain_kind kinds[] = {
        [SIM_EVENT_BEGIN] = EXPLAIN_BEGIN,
        [SIM_EVENT_END] = EXPLAIN_END,
        [SIM_EVENT_SENT] = EXPLAIN_SENT,
        [SIM_EVENT_RECEIVED] = EXPLAIN_RECEIVED,
        [SIM_EVENT_CHANNEL] = EXPLAIN_CHANNEL,
        [SIM_EVENT_TIME] = EXPLAIN_TIME};
    struct explain_item *item = add(context, kinds[event->kind], event->rank);
    if (!item)
        return;
    item->peer = event->peer;
    item->statement = event->number;
    item->bytes = event->bytes;
    item->now = event->now;
    item->planned = event->kind == SIM_EVENT_CHANNEL;
}

static bool is_told(const struct explain *explain, int rank, const char *title)
{
    for (int i = 0; i < explain->count; i++)
        if (explain->items[i].kind == EXPLAIN_FINDING &&
            explain->items[i].rank == rank &&
            strncmp(explain->items[i].text, title, strlen(title)) == 0)
            return true;
    return false;
}

/* What is known of a rank only when all is over: that it waits for ever, that
 * its data are wrong, that its process has died by itself. */
static void add_endings(struct explain *explain)
{
    for (int i = 0; i < explain->result.ranks; i++) {
        const struct sim_rank_result *rank = &explain->result.rank[i];
        struct text text = {NULL, 0, 0};
        struct explain_item *item;
        if (rank->outcome <= SCN_ERROR || is_told(explain, i, rank->title))
            continue;
        item = add(explain, EXPLAIN_FINDING, i);
        if (!item)
            continue;
        text_put(&text, rank->title);
        if (rank->message[0])
            text_put(&text, ": ");
        text_clean(&text, rank->message);
        item->text = text.at;
        item->fatal = rank->outcome == SCN_CRASH;
    }
}

static void find_trouble(struct explain *explain)
{
    explain->trouble = -1;
    for (int i = 0; i < explain->count; i++) {
        struct explain_item *item = &explain->items[i];
        if (item->planned || item->refused || item->kind == EXPLAIN_FINDING) {
            if (explain->trouble < 0)
                explain->trouble = i;
        }
        /* A list of devices goes as soon as it was read. */
        item->undo = item->release && explain->trouble >= 0 &&
                     item->verb != VF_VERB_free_device_list;
    }
}

int explain_record(struct explain *explain)
{
    struct sim_options options = {.subject = explain->subject,
                                  .trace = take_line,
                                  .finding = take_finding,
                                  .event = take_event,
                                  .context = explain};
    struct scn_error error;
    int status = sim_run_isolated(explain->scenario, &options, PATIENCE,
                                  &explain->result, &error);
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", explain->name, error.message);
        return status == -2 ? CLI_ENVIRONMENT : CLI_USAGE;
    }
    scn_copy(&explain->complete, explain->scenario);
    scn_complete(&explain->complete);
    add_endings(explain);
    find_trouble(explain);
    return CLI_FINE;
}

void explain_free(struct explain *explain)
{
    for (int i = 0; i < explain->count; i++)
        free(explain->items[i].text);
    for (int i = 0; i < explain->row_count; i++)
        free(explain->rows[i].text);
    free(explain->items);
    free(explain->messages);
    free(explain->objects);
    free(explain->rows);
    free(explain->arrows);
}
