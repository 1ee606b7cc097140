/* What a sweep tells at its end. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int sweep_points_wanted(const struct sweep_campaign *campaign,
                        const struct sweep *sweep, int *done)
{
    int wanted = 0;
    *done = 0;
    for (int i = 0; i < sweep->count; i++) {
        if (!sweep_in_shard(i, campaign->shard, campaign->shards))
            continue;
        wanted++;
        *done += sweep->groups[i].done;
    }
    return wanted;
}

/* Sorted; freed by the caller. false: memory. */
static bool total_of(const struct sweep *sweep, struct sweep_tally *total)
{
    memset(total, 0, sizeof *total);
    if (sweep_total(sweep, total) != 0) {
        fprintf(stderr, "verbfault sweep: out of memory\n");
        free(total->entries);
        return false;
    }
    sweep_sort(total);
    return true;
}

unsigned long sweep_campaign_broken(const struct sweep_campaign *campaign)
{
    unsigned long broken = 0;
    for (int i = 0; i < campaign->count; i++) {
        const struct sweep *sweep = &campaign->parts[i]->sweep;
        for (int k = 0; k < sweep->count; k++)
            if (sweep->groups[k].done)
                broken += sweep_broken(&sweep->groups[k].tally);
    }
    return broken;
}

/* 1234567 as "1,234,567". */
static const char *grouped(unsigned long number, char *text, size_t room)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lu", number);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < room; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static void print_entry(const struct sweep_entry *entry, bool why)
{
    char count[32];
    printf("%12s  %-10s  %s\n", grouped(entry->count, count, sizeof count),
           scn_outcome_name(entry->outcome), entry->title);
    if (entry->broken)
        printf("%12s  BROKEN PROMISE: %s\n", "", entry->why);
    else if (why && entry->why[0])
        printf("%12s      %s\n", "", entry->why);
    printf("%12s      %s\n", "", entry->example);
}

void sweep_print_tally(const struct sweep_tally *tally, bool why)
{
    for (int i = 0; i < tally->count; i++)
        print_entry(&tally->entries[i], why);
}

static void print_part(const struct sweep_campaign *campaign,
                       const struct sweep_part *part)
{
    struct sweep_tally total;
    unsigned long broken_count;
    char runs[32], broken[64] = "";
    int done, wanted = sweep_points_wanted(campaign, &part->sweep, &done);
    if (!total_of(&part->sweep, &total))
        return;
    broken_count = sweep_broken(&total);
    if (part->plan.subject->fixed)
        snprintf(broken, sizeof broken, ", %lu broken promise%s", broken_count,
                 cli_s(broken_count));
    printf("== %s, %s, depth %d: ", part->plan.subject->name, part->name,
           part->plan.depth);
    if (done < wanted)
        printf("%d of ", done);
    printf("%d point%s, %s run%s%s\n", wanted, cli_s((unsigned long)wanted),
           grouped(total.runs, runs, sizeof runs), cli_s(total.runs), broken);
    sweep_print_tally(&total, false);
    free(total.entries);
}

void sweep_report(const struct sweep_campaign *campaign, bool interrupted)
{
    unsigned long broken = sweep_campaign_broken(campaign);
    for (int i = 0; i < campaign->count; i++)
        print_part(campaign, campaign->parts[i]);
    printf("\nUnder each title is the first fault that led to it: with the "
           "scenario it is one\nthat verbfault replay repeats. ");
    printf("%lu broken promise%s%s\n", broken, cli_s(broken),
           interrupted ? " so far (interrupted)" : "");
}

/* ---- for other programs -------------------------------------------------- */

static enum cli_verdict verdict_of(const struct sweep_entry *entry)
{
    return entry->broken                ? CLI_ROW_WRONG
           : entry->outcome > SCN_ERROR ? CLI_ROW_FOUND
                                        : CLI_ROW_FINE;
}

static void put_rows(const struct sweep_part *part,
                     const struct sweep_tally *total,
                     struct cli_results *results)
{
    for (int i = 0; i < total->count; i++) {
        const struct sweep_entry *entry = &total->entries[i];
        struct cli_row row = {.scenario = part->name,
                              .is_file = part->is_file,
                              .subject = part->plan.subject->name,
                              .outcome = entry->outcome,
                              .title = entry->title,
                              .message = entry->why,
                              .example = entry->example,
                              .count = entry->count,
                              .verdict = verdict_of(entry)};
        cli_results_row(results, &row);
    }
}

void sweep_results(const struct sweep_campaign *campaign,
                   struct cli_results *results)
{
    for (int i = 0; i < campaign->count; i++) {
        const struct sweep_part *part = campaign->parts[i];
        struct cli_walk walk = {.scenario = part->name,
                                .subject = part->plan.subject->name,
                                .depth = part->plan.depth};
        struct sweep_tally total;
        walk.points = sweep_points_wanted(campaign, &part->sweep, &walk.done);
        if (!total_of(&part->sweep, &total))
            continue;
        walk.runs = total.runs;
        walk.broken = sweep_broken(&total);
        cli_results_walk(results, &walk);
        put_rows(part, &total, results);
        free(total.entries);
    }
}

/* ---- scenarios ----------------------------------------------------------- */

/* Letters, digits and points; all else is a dash, never two. */
static void append_slug(char *name, size_t room, const char *text)
{
    size_t length = strlen(name);
    for (; *text && length + 2 < room; text++) {
        bool plain =
            isalnum((unsigned char)*text) || *text == '_' || *text == '.';
        if (!plain && (length == 0 || name[length - 1] == '-'))
            continue;
        name[length++] = (char)(plain ? *text : '-');
    }
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
}

/* subject: of which it is expected; NULL: of none. What was expected before the
 * faults were added does not hold with them, and was dropped. */
static void put_example(const struct scn *scenario, const char *subject,
                        const struct sweep_entry *entry, FILE *stream)
{
    fprintf(stream, "# %lu of the faults that were swept end%s so.\n",
            entry->count, entry->count == 1 ? "s" : "");
    cli_print(scenario, stream);
    for (const char *at = entry->example; *at;) {
        const char *end = strstr(at, "; ");
        size_t length = end ? (size_t)(end - at) : strlen(at);
        fprintf(stream, "%.*s\n", (int)length, at);
        at += length + (end ? 2 : 0);
    }
    if (!subject) {
        fprintf(stream, "# %s: %s\n", scn_outcome_name(entry->outcome),
                entry->title);
        return;
    }
    fprintf(stream, "expect %s %s", subject, scn_outcome_name(entry->outcome));
    if (entry->title[0] && strcmp(entry->title, "other titles") != 0)
        fprintf(stream, " \"%s\"", entry->title);
    fputc('\n', stream);
}

static int write_example(const struct scn *scenario, const char *subject,
                         int number, bool expected,
                         const struct sweep_entry *entry, const char *directory)
{
    char name[160] = "", path[1024];
    struct cli_written file;
    FILE *stream;
    append_slug(name, sizeof name, subject);
    snprintf(name + strlen(name), sizeof name - strlen(name), "-%d-%s-", number,
             scn_outcome_name(entry->outcome));
    append_slug(name, sizeof name, entry->title);
    snprintf(path, sizeof path, "%s/%s.scn", directory, name);
    stream = cli_file_begin(&file, path);
    if (stream)
        put_example(scenario, expected ? subject : NULL, entry, stream);
    return cli_file_end(&file, "verbfault sweep", stream != NULL);
}

int sweep_write_examples(const struct scn *scenario, const char *subject,
                         int number, bool expected,
                         const struct sweep_tally *tally, const char *directory)
{
    int code = CLI_FINE;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cli_file_refuse("verbfault sweep", directory, errno);
    /* What goes well needs no example. */
    for (int i = 0; i < tally->count && code == CLI_FINE; i++)
        if (tally->entries[i].outcome != SCN_READY)
            code = write_example(scenario, subject, number, expected,
                                 &tally->entries[i], directory);
    return code;
}

int sweep_examples(const struct sweep_campaign *campaign, const char *directory)
{
    int code = CLI_FINE;
    for (int i = 0; i < campaign->count && code == CLI_FINE; i++) {
        const struct sweep_part *part = campaign->parts[i];
        struct sweep_tally total;
        if (!total_of(&part->sweep, &total))
            return CLI_ENVIRONMENT;
        code = sweep_write_examples(&part->scenario, part->plan.subject->name,
                                    i, true, &total, directory);
        free(total.entries);
    }
    return code;
}
