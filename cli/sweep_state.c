/* What is known of a sweep, in a file. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "verbfault sweep 1\n"
#define FIELDS_PART 9
#define FIELDS_POINT 5
#define FIELDS_ENTRY 6

/* ---- writing ------------------------------------------------------------- */

static const char *ways(const struct sweep_plan *plan)
{
    return !plan->once ? "onward" : !plan->onward ? "once" : "once,onward";
}

static void put_scenario(const struct sweep_part *part, int number,
                         FILE *stream)
{
    size_t length = scn_print(&part->scenario, NULL, 0);
    char *text = malloc(length + 1), *at = text;
    if (!text)
        return;
    scn_print(&part->scenario, text, length + 1);
    while (*at) {
        size_t line = strcspn(at, "\n");
        fprintf(stream, "scenario\t%d\t%.*s\n", number, (int)line, at);
        at += line + (at[line] == '\n');
    }
    free(text);
}

static void put_head(const struct sweep_campaign *campaign, FILE *stream)
{
    fputs(FIRST_LINE, stream);
    for (int i = 0; i < campaign->count; i++) {
        const struct sweep_part *part = campaign->parts[i];
        char verbs[SWEEP_LIST_MAX], ranks[32];
        sweep_print_verbs(&part->plan, verbs, sizeof verbs);
        sweep_print_ranks(&part->plan, ranks, sizeof ranks);
        fprintf(stream, "part\t%d\t%s\t%d\t%s\t%s\t%s\t%d\t%s%s\n", i,
                part->plan.subject->name, part->plan.depth, verbs, ranks,
                ways(&part->plan), part->sweep.count,
                part->is_file ? "file:" : "", part->name);
        put_scenario(part, i, stream);
    }
}

static void put_point(const struct sweep_campaign *campaign, int part,
                      int number, FILE *stream)
{
    const struct sweep_group *group =
        &campaign->parts[part]->sweep.groups[number];
    fprintf(stream, "point\t%d\t%d\t%s\t%lu", part, number, group->name,
            group->tally.runs);
    for (int i = 0; i < group->tally.count; i++) {
        const struct sweep_entry *entry = &group->tally.entries[i];
        fprintf(stream, "\t%s\t%s\t%lu\t%s\t%s\t%s",
                scn_outcome_name(entry->outcome),
                entry->broken ? "broken" : "kept", entry->count, entry->title,
                entry->why, entry->example);
    }
    fputc('\n', stream);
}

static void put_all(const struct sweep_campaign *campaign, FILE *stream)
{
    put_head(campaign, stream);
    fprintf(stream, "shard\t%d/%d\n", campaign->shard + 1, campaign->shards);
    for (int i = 0; i < campaign->count; i++)
        for (int k = 0; k < campaign->parts[i]->sweep.count; k++)
            if (campaign->parts[i]->sweep.groups[k].done)
                put_point(campaign, i, k, stream);
}

int sweep_state_open(struct sweep_campaign *campaign, const char *path)
{
    FILE *stream = cli_file_begin(&campaign->state, path);
    if (stream)
        put_all(campaign, stream);
    /* From here on it is there, and grows. */
    if (stream && cli_file_settle(&campaign->state))
        return CLI_FINE;
    return cli_file_end(&campaign->state, "verbfault sweep", false);
}

void sweep_state_add(struct sweep_campaign *campaign, int part, int group)
{
    if (!campaign->state.stream)
        return;
    put_point(campaign, part, group, campaign->state.stream);
    if (fflush(campaign->state.stream) != 0)
        campaign->state_full = errno;
}

int sweep_state_close(struct sweep_campaign *campaign, const char *path)
{
    struct cli_written file;
    FILE *stream;
    /* What was added is written again, in order. */
    if (cli_file_end(&campaign->state, "verbfault sweep", true) != CLI_FINE)
        return CLI_ENVIRONMENT;
    stream = cli_file_begin(&file, path);
    if (stream)
        put_all(campaign, stream);
    return cli_file_end(&file, "verbfault sweep", stream != NULL);
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const char *path;
    char *text; /* all of it, malloc'ed */
    char *at;   /* the next line */
    int line;
};

static int complain(const struct reader *reader, const char *what)
{
    if (reader->line > 0)
        fprintf(stderr, "%s:%d: %s\n", reader->path, reader->line, what);
    else
        fprintf(stderr, "%s: %s\n", reader->path, what);
    return CLI_USAGE;
}

static int read_file(struct reader *reader, const char *path)
{
    FILE *stream = fopen(path, "r");
    size_t length = 0, room = 1 << 16;
    memset(reader, 0, sizeof *reader);
    reader->path = path;
    if (!stream)
        return complain(reader, strerror(errno));
    reader->text = malloc(room);
    while (reader->text) {
        length += fread(reader->text + length, 1, room - length - 1, stream);
        if (length + 1 < room)
            break;
        room *= 2;
        char *larger = realloc(reader->text, room);
        if (!larger)
            free(reader->text);
        reader->text = larger;
    }
    fclose(stream);
    if (!reader->text)
        return complain(reader, "out of memory");
    reader->text[length] = '\0';
    reader->at = reader->text;
    if (strncmp(reader->text, FIRST_LINE, strlen(FIRST_LINE)) == 0)
        return CLI_FINE;
    free(reader->text);
    reader->text = NULL;
    return complain(reader, "is not the state of a sweep");
}

/* The next whole line, cut off at its end; NULL: there is none. What was being
 * written when a sweep was killed has no end. */
static char *next_line(struct reader *reader)
{
    char *line = reader->at, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    reader->at = end + 1;
    reader->line++;
    return line;
}

/* Words of a line, tabs between them: at most room; the last has the rest. */
static int split(char *line, char **words, int room)
{
    int count = 0;
    words[count++] = line;
    while (count < room) {
        char *tab = strchr(words[count - 1], '\t');
        if (!tab)
            break;
        *tab = '\0';
        words[count++] = tab + 1;
    }
    return count;
}

static bool number(const char *word, long low, long high, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(word, &end, 10);
    return errno == 0 && *word && *end == '\0' && *value >= low &&
           *value <= high;
}

/* ---- the parts that a file names ----------------------------------------- */

/* What stands of a part in the head, until its scenario is whole. */
struct half_part {
    char name[SWEEP_PATH_MAX], text[1 << 16];
    size_t length;
    bool is_file, begun;
    struct sweep_plan plan;
};

static int finish_part(struct sweep_campaign *campaign, struct half_part *half)
{
    struct sweep_part *part;
    if (!half->begun)
        return CLI_FINE;
    half->begun = false;
    part = sweep_part_add(campaign, half->name, half->is_file, half->text,
                          half->length, half->plan.subject, &half->plan);
    return part ? CLI_FINE : CLI_USAGE;
}

static int begin_part(struct reader *reader, struct half_part *half,
                      char **words, int count)
{
    const struct sim_subject *subject;
    const char *wrong;
    long depth;
    int code;
    if (count != FIELDS_PART)
        return complain(reader, "a part has 8 words");
    code = cli_subject(&subject, words[2]);
    if (code != CLI_FINE)
        return code;
    sweep_plan_default(&half->plan, NULL, subject);
    if (!number(words[3], 1, 2, &depth) ||
        !sweep_parse_verbs(words[4], &half->plan, &wrong) ||
        !sweep_parse_ranks(words[5], &half->plan, &wrong))
        return complain(reader, "a part that this version does not know");
    half->plan.depth = (int)depth;
    half->plan.once = strstr(words[6], "once") != NULL;
    half->plan.onward = strstr(words[6], "onward") != NULL;
    half->is_file = strncmp(words[8], "file:", 5) == 0;
    snprintf(half->name, sizeof half->name, "%s",
             words[8] + (half->is_file ? 5 : 0));
    half->length = 0;
    half->begun = true;
    return CLI_FINE;
}

static int add_line(struct reader *reader, struct half_part *half,
                    const char *line)
{
    size_t length = strlen(line);
    if (!half->begun || half->length + length + 2 > sizeof half->text)
        return complain(reader, "a scenario out of place, or too long");
    memcpy(half->text + half->length, line, length);
    half->length += length;
    half->text[half->length++] = '\n';
    return CLI_FINE;
}

int sweep_state_parts(struct sweep_campaign *campaign, const char *path)
{
    static struct half_part half;
    struct reader reader;
    char *line, *words[FIELDS_PART] = {NULL};
    int code = read_file(&reader, path);
    if (code != CLI_FINE)
        return code;
    half.begun = false;
    next_line(&reader);
    for (line = next_line(&reader); line && code == CLI_FINE;
         line = next_line(&reader)) {
        int count = split(line, words, FIELDS_PART);
        if (strcmp(words[0], "part") == 0) {
            code = finish_part(campaign, &half);
            if (code == CLI_FINE)
                code = begin_part(&reader, &half, words, count);
        } else if (strcmp(words[0], "scenario") == 0 && count == 3) {
            code = add_line(&reader, &half, words[2]);
        } else {
            break;
        }
    }
    if (code == CLI_FINE)
        code = finish_part(campaign, &half);
    if (code == CLI_FINE && campaign->count == 0)
        code = complain(&reader, "names no part");
    free(reader.text);
    return code;
}

/* ---- the points that it knows -------------------------------------------- */

static bool read_entry(struct sweep_entry *entry, char **words)
{
    long count;
    memset(entry, 0, sizeof *entry);
    entry->outcome = scn_outcome_by_name(words[0]);
    entry->broken = strcmp(words[1], "broken") == 0;
    if (entry->outcome == SCN_OUTCOME_COUNT ||
        !number(words[2], 1, INT64_MAX, &count))
        return false;
    entry->count = (unsigned long)count;
    snprintf(entry->title, sizeof entry->title, "%s", words[3]);
    snprintf(entry->why, sizeof entry->why, "%s", words[4]);
    snprintf(entry->example, sizeof entry->example, "%s", words[5]);
    return true;
}

static int read_entries(struct reader *reader, struct sweep_group *group,
                        char *rest)
{
    while (rest) {
        char *words[FIELDS_ENTRY + 1];
        struct sweep_entry entry;
        struct sweep_tally one = {0, 1, 1, &entry};
        int count = split(rest, words, FIELDS_ENTRY + 1);
        if (count < FIELDS_ENTRY || !read_entry(&entry, words))
            return complain(reader, "a point that is not whole");
        if (sweep_sum(&group->tally, &one) != 0)
            return complain(reader, "out of memory");
        rest = count > FIELDS_ENTRY ? words[FIELDS_ENTRY] : NULL;
    }
    return CLI_FINE;
}

static int read_point(struct sweep_campaign *campaign, struct reader *reader,
                      char *line)
{
    char *words[FIELDS_POINT + 1] = {NULL};
    int count = split(line, words, FIELDS_POINT + 1);
    struct sweep_group *group;
    long part, place, runs;
    if (count < FIELDS_POINT || strcmp(words[0], "point") != 0 ||
        !number(words[1], 0, campaign->count - 1, &part) ||
        !number(words[2], 0, campaign->parts[part]->sweep.count - 1, &place) ||
        !number(words[4], 0, INT64_MAX, &runs))
        return complain(reader, "not a point of this sweep");
    group = &campaign->parts[part]->sweep.groups[place];
    if (strcmp(group->name, words[3]) != 0)
        return complain(reader, "another version's point of that number");
    if (group->done) /* known from another file */
        return CLI_FINE;
    group->done = true;
    group->tally.runs = (unsigned long)runs;
    return read_entries(reader, group,
                        count > FIELDS_POINT ? words[FIELDS_POINT] : NULL);
}

static char *head_of(const struct sweep_campaign *campaign)
{
    char *head = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&head, &length);
    if (!stream)
        return NULL;
    put_head(campaign, stream);
    return fclose(stream) == 0 ? head : NULL;
}

/* Skips the head, which has to be the campaign's. */
static int skip_head(struct sweep_campaign *campaign, struct reader *reader)
{
    char *head = head_of(campaign);
    size_t same = 0, length = head ? strlen(head) : 0;
    int code = CLI_FINE;
    while (same < length && reader->text[same] == head[same]) {
        reader->line += head[same] == '\n';
        same++;
    }
    if (same < length || !head) {
        reader->line++;
        code = complain(reader, "the state of another sweep: other scenarios, "
                                "subjects, options or versions");
    }
    reader->at = reader->text + length;
    free(head);
    return code;
}

int sweep_state_load(struct sweep_campaign *campaign, const char *path,
                     bool shard)
{
    struct reader reader;
    char own[32], *line;
    int code = read_file(&reader, path);
    if (code != CLI_FINE)
        return code;
    snprintf(own, sizeof own, "shard\t%d/%d", campaign->shard + 1,
             campaign->shards);
    code = skip_head(campaign, &reader);
    if (code == CLI_FINE) {
        line = next_line(&reader);
        if (!line || strncmp(line, "shard\t", 6) != 0)
            code = complain(&reader, "a shard is missing");
        else if (shard && strcmp(line, own) != 0)
            code = complain(&reader, "the state of another shard");
    }
    while (code == CLI_FINE) {
        line = next_line(&reader);
        if (!line)
            break;
        code = read_point(campaign, &reader, line);
    }
    free(reader.text);
    return code;
}
