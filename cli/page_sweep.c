/* The page of a sweep of simulated subjects. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/page_sweep.h"

#include <stdlib.h>
#include <string.h>

/* What the rows of the map are called. */
static const char *label_of(const struct sweep_point *point)
{
    switch (point->kind) {
    case SWEEP_CALL:
        return vf_verb_name(point->verb);
    case SWEEP_CHANNEL:
        return "side channel";
    case SWEEP_SETUP:
        break;
    }
    return "before the first call";
}

/* The scenario with the statements of an example ("; " between them), for a
 * sentence about them. false: it cannot be said. */
static bool parse_example(const struct scn *base, const char *example,
                          struct text *room, struct scn *scenario)
{
    struct scn_error error;
    size_t length = scn_print(base, NULL, 0);
    room->length = 0;
    text_put(room, "");
    for (size_t i = 0; i < length; i++) /* room for it */
        text_put(room, " ");
    scn_print(base, room->at, length + 1);
    while (*example) {
        const char *end = strstr(example, "; ");
        text_put_n(room, example,
                   end ? (size_t)(end - example) : strlen(example));
        text_put(room, "\n");
        example = end ? end + 2 : "";
    }
    return scn_parse(scenario, room->at, room->length, &error) == 0;
}

static void put_entries(struct page *page, const struct scn *base,
                        const struct sweep_tally *tally, bool second)
{
    static struct scn scenario;
    struct text room = {NULL, 0, 0};
    for (int i = 0; i < tally->count; i++) {
        bool parsed =
            parse_example(base, tally->entries[i].example, &room, &scenario);
        page_run(page, &tally->entries[i], parsed ? &scenario : NULL,
                 base->count, second, true);
    }
    free(room.at);
}

static int make_runs(const struct sweep_campaign *campaign,
                     const struct sweep_part *part, struct sweep *each)
{
    struct sweep_plan plan = part->plan;
    struct sweep_work work = {.jobs = campaign->jobs,
                              .shard = campaign->shard,
                              .shards = campaign->shards,
                              .patience = campaign->patience};
    struct scn_error error;
    int status;
    plan.depth = 1;
    plan.each = true;
    status = sweep_prepare(each, &plan, &error);
    /* What was not swept has no runs to show. */
    for (int i = 0; i < each->count && status == 0; i++)
        each->groups[i].done = !part->sweep.groups[i].done;
    if (status == 0)
        status = sweep_work(each, &work, &error);
    if (status == 0)
        return CLI_FINE;
    fprintf(stderr, "verbfault sweep: %s\n", error.message);
    return CLI_ENVIRONMENT;
}

static void put_points(struct page *page, const struct sweep_part *part,
                       const struct sweep *each)
{
    for (int i = 0; i < each->count; i++) {
        const struct sweep_group *group = &part->sweep.groups[i];
        if (!group->done)
            continue;
        page_point(page, group->point.rank, label_of(&group->point),
                   group->point.kind == SWEEP_SETUP ? i + 1 : group->point.nth,
                   group->point.kind == SWEEP_SETUP ? group->name : NULL);
        put_entries(page, &part->scenario, &each->groups[i].tally, false);
        if (part->plan.depth == 2)
            put_entries(page, &part->scenario, &group->tally, true);
    }
}

static int put_part(struct page *page, const struct sweep_campaign *campaign,
                    const struct sweep_part *part)
{
    const char *subject = part->plan.subject->name;
    struct sweep_tally total = {0, 0, 0, NULL};
    struct sweep each;
    struct text replay = {NULL, 0, 0}, explain = {NULL, 0, 0};
    struct page_part head = {.subject = subject,
                             .scenario = part->name,
                             .depth = part->plan.depth,
                             .totals = &total};
    size_t length = scn_print(&part->scenario, NULL, 0);
    char *text = malloc(length + 1);
    int code = CLI_ENVIRONMENT;
    memset(&each, 0, sizeof each);
    text_add(&replay, "%s replay --verbose --subject %s -", cli_self(),
             subject);
    text_add(&explain, "%s explain --subject %s -", cli_self(), subject);
    head.replay = replay.at;
    head.explain = explain.at;
    head.points = sweep_points_wanted(campaign, &part->sweep, &head.done);
    if (text && sweep_total(&part->sweep, &total) == 0) {
        scn_print(&part->scenario, text, length + 1);
        head.text = text;
        sweep_sort(&total);
        code = make_runs(campaign, part, &each);
    }
    if (code == CLI_FINE) {
        page_part(page, &head);
        put_points(page, part, &each);
    }
    sweep_free(&each);
    free(replay.at);
    free(explain.at);
    free(total.entries);
    free(text);
    return code;
}

int page_of_campaign(const struct sweep_campaign *campaign, const char *path)
{
    struct page page;
    int code = CLI_FINE, written;
    page_begin(&page);
    for (int i = 0; i < campaign->count && code == CLI_FINE; i++)
        code = put_part(&page, campaign, campaign->parts[i]);
    written = page_end(&page, code == CLI_FINE ? path : NULL);
    return code != CLI_FINE ? code : written;
}
