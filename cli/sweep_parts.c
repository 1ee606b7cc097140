/* What a sweep is made of: scenarios, subjects, and how far. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/sweep.h"

#include <stdlib.h>
#include <string.h>

#define SUM "run init\nrun all_sum float32 1024\n"

/* What a project runs on every change, and what it runs over night. */
static const struct {
    const char *preset, *name, *text;
    int depth;
} presets[] = {
    {"quick", "2 ranks mesh", SUM, 1},
    {"quick", "2 ranks ring", "ranks 2 ring\n" SUM, 1},
    {"quick", "3 ranks mesh", "ranks 3 mesh\n" SUM, 1},
    {"full", "2 ranks mesh", SUM, 1},
    {"full", "2 ranks ring", "ranks 2 ring\n" SUM, 1},
    {"full", "2 ranks ring of 2 wires", "ranks 2 ring 2\n" SUM, 1},
    {"full", "3 ranks mesh", "ranks 3 mesh\n" SUM, 1},
    {"full", "3 ranks ring", "ranks 3 ring\n" SUM, 1},
    {"full", "3 ranks ring of 2 wires", "ranks 3 ring 2\n" SUM, 1},
    {"full", "4 ranks mesh", "ranks 4 mesh\n" SUM, 1},
    {"full", "4 ranks ring", "ranks 4 ring\n" SUM, 1},
    {"full", "4 ranks ring of 2 wires", "ranks 4 ring 2\n" SUM, 1},
    {"full", "2 ranks mesh on soft-RoCE", "profile rxe\n" SUM, 1},
    {"full", "2 ranks mesh, two faults", SUM, 2},
};

const char *sweep_default_text(void)
{
    return SUM;
}

/* Expectations are for the scenario as it is, not with a fault more. */
static void drop_expectations(struct scn *scenario)
{
    for (int i = scenario->count - 1; i >= 0; i--)
        if (scenario->statements[i].kind == SCN_EXPECT ||
            scenario->statements[i].kind == SCN_COMMENT)
            scn_remove(scenario, i);
        else
            scenario->statements[i].comment = NULL;
}

static int parse(struct sweep_part *part, const char *text, size_t length)
{
    struct scn_error error;
    part->text = malloc(length + 1);
    if (!part->text)
        return -1;
    memcpy(part->text, text, length);
    part->text[length] = '\0';
    if (scn_parse(&part->scenario, part->text, length, &error) != 0) {
        fprintf(stderr, "%s:%d:%d: %s\n", part->name, error.line, error.column,
                error.message);
        return -1;
    }
    drop_expectations(&part->scenario);
    return 0;
}

/* A state file has a line for it, with tabs between words. */
static void put_name(struct sweep_part *part, const char *name)
{
    snprintf(part->name, sizeof part->name, "%s", name);
    for (char *at = part->name; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = '?';
}

struct sweep_part *sweep_part_add(struct sweep_campaign *campaign,
                                  const char *name, bool is_file,
                                  const char *text, size_t length,
                                  const struct sim_subject *subject,
                                  const struct sweep_plan *plan)
{
    struct sweep_part *part;
    if (campaign->count == SWEEP_PARTS_MAX) {
        fprintf(stderr, "verbfault sweep: too many scenarios and subjects\n");
        return NULL;
    }
    part = calloc(1, sizeof *part);
    if (!part) {
        fprintf(stderr, "verbfault sweep: out of memory\n");
        return NULL;
    }
    put_name(part, name);
    part->is_file = is_file;
    if (parse(part, text, length) != 0) {
        free(part->text);
        free(part);
        return NULL;
    }
    part->plan = *plan;
    part->plan.scenario = &part->scenario;
    part->plan.subject = subject;
    campaign->parts[campaign->count++] = part;
    return part;
}

int sweep_preset_add(struct sweep_campaign *campaign, const char *preset,
                     const struct sim_subject *subject,
                     const struct sweep_plan *plan)
{
    int found = 0;
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        struct sweep_plan own = *plan;
        if (strcmp(presets[i].preset, preset) != 0)
            continue;
        found++;
        own.depth =
            presets[i].depth > plan->depth ? presets[i].depth : plan->depth;
        if (!sweep_part_add(campaign, presets[i].name, false, presets[i].text,
                            strlen(presets[i].text), subject, &own))
            return CLI_USAGE;
    }
    if (found == 0)
        return cli_usage("sweep", "no preset \"%s\": quick or full", preset);
    return CLI_FINE;
}

static bool runs_something(const struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_RUN)
            return true;
    return false;
}

static int prepare_part(struct sweep_part *part)
{
    struct scn_error error;
    int status = sweep_prepare(&part->sweep, &part->plan, &error);
    if (status != 0) {
        fprintf(stderr, "%s: %s: %s\n", part->name, part->plan.subject->name,
                error.message);
        return status == -2 ? CLI_ENVIRONMENT : CLI_USAGE;
    }
    part->prepared = true;
    if (!runs_something(&part->scenario))
        fprintf(stderr,
                "%s: nothing runs in it, so no call can fail: it has no "
                "\"run init\"\n",
                part->name);
    if (part->sweep.outcome != SCN_READY)
        fprintf(stderr, "%s: %s ends so without any fault: %s: %s\n",
                part->name, part->plan.subject->name,
                scn_outcome_name(part->sweep.outcome), part->sweep.title);
    if (part->sweep.left_out)
        fprintf(stderr,
                "%s: %s makes more than %d calls of one verb, or sends more "
                "than %d bytes: those behind them are left out\n",
                part->name, part->plan.subject->name, SWEEP_CALLS_MAX,
                SWEEP_BYTES_MAX);
    return CLI_FINE;
}

/* Every rank that was asked for, of any of the scenarios. */
static int check_ranks(const struct sweep_campaign *campaign)
{
    int most = 0;
    for (int i = 0; i < campaign->count; i++) {
        int ranks = sweep_ranks_of(&campaign->parts[i]->scenario);
        most = ranks > most ? ranks : most;
    }
    for (int i = 0; i < campaign->count; i++) {
        int code = sweep_check_ranks(&campaign->parts[i]->plan, most);
        if (code != CLI_FINE)
            return code;
    }
    return CLI_FINE;
}

/* A bit for each verb that some part has a point of, and the two words that are
 * none. */
static void find_points(const struct sweep_campaign *campaign,
                        struct sweep_plan *found)
{
    memset(found, 0, sizeof *found);
    for (int i = 0; i < campaign->count; i++)
        for (int k = 0; k < campaign->parts[i]->sweep.count; k++) {
            const struct sweep_point *point =
                &campaign->parts[i]->sweep.groups[k].point;
            if (point->kind == SWEEP_CALL)
                found->verbs |= (uint64_t)1 << point->verb;
            found->channel = found->channel || point->kind == SWEEP_CHANNEL;
            found->setup = found->setup || point->kind == SWEEP_SETUP;
        }
}

/* What was asked for and chooses nothing is told. */
static void tell_idle(const struct sweep_campaign *campaign)
{
    struct sweep_plan found;
    int points = 0;
    for (int i = 0; i < campaign->count; i++) {
        const struct sweep_part *part = campaign->parts[i];
        for (int k = 0; k < part->sweep.count; k++)
            points += sweep_in_shard(k, campaign->shard, campaign->shards);
        if (part->sweep.count == 0)
            fprintf(stderr,
                    "%s: %s: nothing of what was asked for can go wrong in "
                    "it\n",
                    part->name, part->plan.subject->name);
    }
    find_points(campaign, &found);
    sweep_tell_unused(&campaign->parts[0]->plan, &found);
    if (points == 0)
        fprintf(stderr,
                "verbfault sweep: --shard %d/%d: there are fewer points than "
                "shards, and this one has none\n",
                campaign->shard + 1, campaign->shards);
}

int sweep_campaign_prepare(struct sweep_campaign *campaign)
{
    int code = check_ranks(campaign);
    bool any = false;
    for (int i = 0; i < campaign->count && code == CLI_FINE; i++) {
        code = prepare_part(campaign->parts[i]);
        any = any || campaign->parts[i]->sweep.count > 0;
    }
    if (code != CLI_FINE)
        return code;
    /* A gate that tests nothing must not be green. */
    if (!any)
        return cli_usage("sweep", "there is nothing that can go wrong: the "
                                  "scenarios run nothing, or nothing of what "
                                  "was asked for");
    tell_idle(campaign);
    return CLI_FINE;
}

void sweep_campaign_free(struct sweep_campaign *campaign)
{
    for (int i = 0; i < campaign->count; i++) {
        struct sweep_part *part = campaign->parts[i];
        if (part->prepared)
            sweep_free(&part->sweep);
        free(part->text);
        free(part);
    }
    campaign->count = 0;
}

/* ---- lists --------------------------------------------------------------- */

/* The next word of a list into word; false: there is none. */
static bool next_word(const char **at, char *word, size_t room)
{
    size_t length = strcspn(*at, ",");
    if (**at == '\0')
        return false;
    snprintf(word, room, "%.*s", (int)(length < room ? length : room - 1), *at);
    *at += length;
    if (**at == ',')
        ++*at;
    return true;
}

bool sweep_parse_verbs(const char *list, struct sweep_plan *plan,
                       const char **wrong)
{
    char word[SCN_WORD_MAX];
    plan->verbs = 0;
    plan->channel = plan->setup = false;
    for (*wrong = list; next_word(&list, word, sizeof word); *wrong = list) {
        enum vf_verb verb = vf_verb_by_name(word);
        if (verb != VF_VERB_COUNT) {
            plan->verbs |= (uint64_t)1 << verb;
        } else if (strcmp(word, "channel") == 0) {
            plan->channel = true;
        } else if (strcmp(word, "setup") == 0) {
            plan->setup = true;
        } else if (strcmp(word, "all") == 0) {
            plan->verbs = ((uint64_t)1 << VF_VERB_COUNT) - 1;
            plan->channel = plan->setup = true;
        } else {
            return false;
        }
    }
    return plan->verbs != 0 || plan->channel || plan->setup;
}

bool sweep_parse_ranks(const char *list, struct sweep_plan *plan,
                       const char **wrong)
{
    char word[SCN_WORD_MAX];
    plan->ranks = 0;
    for (*wrong = list; next_word(&list, word, sizeof word); *wrong = list) {
        if (strcmp(word, "all") == 0)
            plan->ranks = (1u << SCN_RANKS_MAX) - 1;
        else if (word[0] >= '0' && word[0] < '0' + SCN_RANKS_MAX &&
                 word[1] == '\0')
            plan->ranks |= 1u << (word[0] - '0');
        else
            return false;
    }
    return plan->ranks != 0;
}

static void append(char *list, size_t room, const char *word)
{
    size_t length = strlen(list);
    snprintf(list + length, room - length, "%s%s", length ? "," : "", word);
}

void sweep_print_verbs(const struct sweep_plan *plan, char *list, size_t room)
{
    list[0] = '\0';
    if (plan->channel && plan->setup &&
        plan->verbs == ((uint64_t)1 << VF_VERB_COUNT) - 1) {
        append(list, room, "all");
        return;
    }
    for (int verb = 0; verb < VF_VERB_COUNT; verb++)
        if (plan->verbs >> verb & 1)
            append(list, room, vf_verb_name((enum vf_verb)verb));
    if (plan->channel)
        append(list, room, "channel");
    if (plan->setup)
        append(list, room, "setup");
}

void sweep_print_ranks(const struct sweep_plan *plan, char *list, size_t room)
{
    list[0] = '\0';
    if (plan->ranks == (1u << SCN_RANKS_MAX) - 1) {
        append(list, room, "all");
        return;
    }
    for (int rank = 0; rank < SCN_RANKS_MAX; rank++) {
        char digit[2] = {(char)('0' + rank), '\0'};
        if (plan->ranks >> rank & 1)
            append(list, room, digit);
    }
}

/* ---- what they choose ---------------------------------------------------- */

int sweep_ranks_of(const struct scn *scenario)
{
    enum scn_topology topology;
    int ranks, wires;
    scn_topology(scenario, &ranks, &topology, &wires);
    return ranks;
}

int sweep_check_ranks(const struct sweep_plan *plan, int ranks)
{
    if (plan->ranks == (1u << SCN_RANKS_MAX) - 1)
        return CLI_FINE;
    for (int rank = ranks; rank < SCN_RANKS_MAX; rank++)
        if (plan->ranks >> rank & 1)
            return cli_usage("sweep",
                             "--ranks: there is no rank %d: %d rank%s, from 0 "
                             "on",
                             rank, ranks, ranks == 1 ? "" : "s");
    return CLI_FINE;
}

void sweep_tell_unused(const struct sweep_plan *asked,
                       const struct sweep_plan *found)
{
    struct sweep_plan unused = *asked;
    char list[SWEEP_LIST_MAX];
    if (asked->verbs == ((uint64_t)1 << VF_VERB_COUNT) - 1)
        return;
    unused.verbs &= ~found->verbs;
    unused.channel = asked->channel && !found->channel;
    unused.setup = asked->setup && !found->setup;
    sweep_print_verbs(&unused, list, sizeof list);
    if (list[0])
        fprintf(stderr, "verbfault sweep: --verbs: no point of %s\n", list);
}
