/*
 * The legacy subjects make the calls that JACCL makes.
 *
 * tests/traces holds what the real library did over this project's mock, one
 * file a run and rank (traces/README.md). Every file is a test of its own: its
 * scenario is run with the subject of its revision, and the calls of its rank
 * must be the recorded ones, in their order, with their arguments and answers;
 * so must the findings and the outcome. A difference is told with the file's
 * line.
 *
 *   test_traces [DIRECTORY]    default: the repository's tests/traces
 *
 * A file is first a head of "# KEY: VALUE" lines, then the calls. A line
 * "... mr=5++ x3" stands for three calls, with 5, 6 and 7. After a line
 * "# unspecified" it was uninitialised memory that decided: neither the rest of
 * the calls nor the outcome is compared. With "# posts: by queue" threads have
 * posted side by side: only the order within a queue is compared.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run.h"

#define FILES_MAX 512
#define CALLS_MAX 2048
#define LINE_MAX_LENGTH 256
#define TITLES_MAX 8

static const char *const revisions[] = {"2026-04", "2026-08-04", "2026-08-22"};

struct call {
    int line; /* of the file */
    char text[LINE_MAX_LENGTH];
};

struct calls {
    int count;
    struct call at[CALLS_MAX];
};

/* A file, read. */
struct recording {
    char scenario[1024];
    int rank;
    char outcome[96];
    char findings[TITLES_MAX][96];
    int finding_count;
    bool unspecified; /* after its last call */
    bool by_queue;    /* order holds only within a queue */
    struct calls calls;
};

/* A test's state. */
struct file {
    const char *revision;
    char name[128]; /* of the test: "2026-04/mesh-clean-rank-0" */
    char path[512];
};

static struct recording recorded;
static struct calls made;
static struct sim_result result;

/* ---- reading ------------------------------------------------------------ */

static void append(struct calls *calls, int line, const char *text)
{
    if (calls->count == CALLS_MAX)
        fail_msg("more than %d calls", CALLS_MAX);
    struct call *call = &calls->at[calls->count];
    calls->count++;
    call->line = line;
    snprintf(call->text, sizeof call->text, "%s", text);
}

/* text with every number that "++" follows grown by `step`. */
static void grown(const char *text, long step, char *to, size_t room)
{
    size_t used = 0;
    while (*text && used + 24 < room) {
        char *end;
        long number = strtol(text, &end, 10);
        if (*text >= '0' && *text <= '9' && strncmp(end, "++", 2) == 0) {
            used +=
                (size_t)snprintf(to + used, room - used, "%ld", number + step);
            text = end + 2;
        } else {
            to[used] = *text;
            used++;
            text++;
        }
    }
    to[used] = '\0';
}

/* One line of calls: one call, or "... xN". */
static void add_calls(struct calls *calls, int line, char *text)
{
    char one[LINE_MAX_LENGTH];
    char *times = strstr(text, "++") ? strrchr(text, 'x') : NULL;
    if (!times) {
        append(calls, line, text);
        return;
    }
    long count = strtol(times + 1, NULL, 10);
    times[-1] = '\0'; /* the space before it */
    for (long i = 0; i < count; i++) {
        grown(text, i, one, sizeof one);
        append(calls, line, one);
    }
}

/* The value if the line is "# KEY: VALUE", else NULL. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    if (strncmp(line, "# ", 2) != 0 || strncmp(line + 2, key, length) != 0 ||
        strncmp(line + 2 + length, ": ", 2) != 0)
        return NULL;
    return line + length + 4;
}

static void add_head(const char *line)
{
    const char *value = value_of(line, "scn");
    size_t used = strlen(recorded.scenario);
    if (value) {
        snprintf(recorded.scenario + used, sizeof recorded.scenario - used,
                 "%s\n", value);
        return;
    }
    value = value_of(line, "rank");
    if (value)
        recorded.rank = (int)strtol(value, NULL, 10);
    value = value_of(line, "posts");
    if (value)
        recorded.by_queue = strcmp(value, "by queue") == 0;
    value = value_of(line, "outcome");
    if (value)
        snprintf(recorded.outcome, sizeof recorded.outcome, "%.95s", value);
    value = value_of(line, "finding");
    if (value && recorded.finding_count < TITLES_MAX) {
        snprintf(recorded.findings[recorded.finding_count],
                 sizeof recorded.findings[0], "%.95s", value);
        recorded.finding_count++;
    }
}

static void read_recording(const char *path)
{
    char line[LINE_MAX_LENGTH];
    FILE *stream = fopen(path, "r");
    memset(&recorded, 0, sizeof recorded);
    if (!stream)
        fail_msg("%s: cannot be read", path);
    for (int number = 1; fgets(line, sizeof line, stream); number++) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "# unspecified") == 0) {
            recorded.unspecified = true;
            break;
        }
        if (line[0] == '#')
            add_head(line);
        else
            add_calls(&recorded.calls, number, line);
    }
    fclose(stream);
    if (recorded.outcome[0] == '\0' || recorded.calls.count == 0)
        fail_msg("%s: no outcome or no calls", path);
}

/* ---- running ------------------------------------------------------------ */

/* As the recordings are normalised: without the call's number, without the
 * polls, whose number is a matter of timing; and without the simulator's
 * allocations, which a real library does not tell of. */
static void trace(void *context, int rank, const char *line)
{
    const char *text = strchr(line, '#');
    (void)context;
    if (rank != recorded.rank || !text)
        return;
    text += strcspn(text, " ");
    text += strspn(text, " ");
    if (strncmp(text, "poll_cq(", 8) != 0 && strncmp(text, "alloc(", 6) != 0)
        append(&made, 0, text);
}

static void run_subject(const struct file *file)
{
    struct scn_error error;
    static struct scn scenario;
    struct sim_options options;
    char name[64];
    memset(&options, 0, sizeof options);
    snprintf(name, sizeof name, "legacy-%s", file->revision);
    options.subject = sim_subject_by_name(name);
    options.trace = trace;
    made.count = 0;
    if (!options.subject)
        fail_msg("no subject %s", name);
    if (scn_parse(&scenario, recorded.scenario, strlen(recorded.scenario),
                  &error) != 0)
        fail_msg("%s: scenario, %d:%d: %s", file->path, error.line,
                 error.column, error.message);
    if (sim_run(&scenario, &options, &result, &error) != 0)
        fail_msg("%s: %s", file->path, error.message);
}

/* ---- comparing ---------------------------------------------------------- */

static bool is_post(const struct call *call)
{
    return strncmp(call->text, "post_", 5) == 0;
}

/* By "post_send(qp=2", which is a queue. */
static bool goes_before(const struct call *a, const struct call *b)
{
    size_t length = strcspn(a->text, ","), other = strcspn(b->text, ",");
    size_t least = length < other ? length : other;
    int order = strncmp(a->text, b->text, least);
    return order != 0 ? order < 0 : length < other;
}

/* Posts that follow one another sorted by their queues; stable. */
static void sort_posts(struct calls *calls)
{
    for (int i = 1; i < calls->count; i++) {
        struct call moved = calls->at[i];
        int to = i;
        while (to > 0 && is_post(&moved) && is_post(&calls->at[to - 1]) &&
               goes_before(&moved, &calls->at[to - 1])) {
            calls->at[to] = calls->at[to - 1];
            to--;
        }
        calls->at[to] = moved;
    }
}

static void compare_calls(const struct file *file)
{
    int last = 0;
    if (recorded.by_queue) {
        sort_posts(&made);
        sort_posts(&recorded.calls);
    }
    for (int i = 0; i < recorded.calls.count; i++) {
        const struct call *call = &recorded.calls.at[i];
        const char *text = i < made.count ? made.at[i].text : "(no more calls)";
        if (strcmp(call->text, text) != 0)
            fail_msg("%s:%d: call %d\n  recorded: %s\n  subject:  %s",
                     file->path, call->line, i + 1, call->text, text);
        last = call->line;
    }
    if (!recorded.unspecified && made.count > recorded.calls.count)
        fail_msg("%s:%d: after the last call\n  subject:  %s", file->path, last,
                 made.at[recorded.calls.count].text);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), rest = strlen(end);
    return length >= rest && strcmp(text + length - rest, end) == 0;
}

/*
 * "crash WHERE WHAT": where is a verb, which faulted on a NULL handle that the
 * front door has named; or else a vector of JACCL's, whose title the model
 * gives: what is "overflow" when there was an element, or an address near 0.
 */
static bool same_crash(const char *title)
{
    char where[48], what[32], wanted[112];
    if (sscanf(recorded.outcome, "crash %47s %31s", where, what) != 2)
        return false;
    if (vf_verb_by_name(where) != VF_VERB_COUNT) {
        snprintf(wanted, sizeof wanted, " in %s", where);
        return starts_with(title, "null-") && ends_with(title, wanted);
    }
    snprintf(wanted, sizeof wanted, "%s %s in ",
             strcmp(what, "overflow") == 0 ? "read past" : "index of empty",
             where);
    return starts_with(title, wanted);
}

/* Findings that the mock makes; a crash outside of a verb is the model's own.
 */
static int mock_findings(const struct sim_rank_result *rank,
                         const char **titles)
{
    int count = 0;
    for (int i = 0; i < rank->findings && i < SIM_FINDINGS_MAX; i++)
        if (rank->finding[i].leak || rank->finding[i].verb != VF_VERB_COUNT)
            titles[count++] = rank->finding[i].title;
    return count;
}

static void compare_findings(const struct file *file,
                             const struct sim_rank_result *rank)
{
    const char *titles[SIM_FINDINGS_MAX];
    int count = mock_findings(rank, titles);
    for (int i = 0; i < count || i < recorded.finding_count; i++) {
        const char *there =
            i < recorded.finding_count ? recorded.findings[i] : "(none)";
        const char *here = i < count ? titles[i] : "(none)";
        if (strcmp(there, here) != 0)
            fail_msg("%s: finding %d\n  recorded: %s\n  subject:  %s",
                     file->path, i + 1, there, here);
    }
}

/* A leak or a violation goes before `error` and `ready` in the simulator; they
 * have been compared as findings. */
static void compare_outcome(const struct file *file,
                            const struct sim_rank_result *rank)
{
    const char *name = scn_outcome_name(rank->outcome);
    bool same = starts_with(recorded.outcome, "crash ")
                    ? rank->outcome == SCN_CRASH && same_crash(rank->title)
                    : strcmp(recorded.outcome, name) == 0;
    if (!same && recorded.finding_count > 0 && rank->findings > 0)
        same = !starts_with(recorded.outcome, "crash ") &&
               (rank->outcome == SCN_LEAK || rank->outcome == SCN_VIOLATION);
    if (!same)
        fail_msg("%s: outcome\n  recorded: %s\n  subject:  %s \"%s\": %s",
                 file->path, recorded.outcome, name, rank->title,
                 rank->message);
}

static void subject_does_as_recorded(void **state)
{
    const struct file *file = *state;
    read_recording(file->path);
    run_subject(file);
    const struct sim_rank_result *rank = &result.rank[recorded.rank];
    compare_calls(file);
    if (recorded.unspecified)
        return;
    compare_findings(file, rank);
    compare_outcome(file, rank);
}

/* ---- the files ---------------------------------------------------------- */

static struct file files[FILES_MAX];
static int file_count;

static void add_directory(const char *root, const char *revision)
{
    char path[384];
    snprintf(path, sizeof path, "%s/%s", root, revision);
    DIR *directory = opendir(path);
    if (!directory)
        return;
    for (struct dirent *entry = readdir(directory); entry;
         entry = readdir(directory)) {
        struct file *file = &files[file_count];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".trace") != 0 || file_count == FILES_MAX)
            continue;
        file_count++;
        file->revision = revision;
        snprintf(file->name, sizeof file->name, "%s/%.*s", revision,
                 (int)(dot - entry->d_name) % 100, entry->d_name);
        snprintf(file->path, sizeof file->path, "%s/%.100s", path,
                 entry->d_name);
    }
    closedir(directory);
}

static int by_name(const void *a, const void *b)
{
    const struct file *one = a, *other = b;
    return strcmp(one->name, other->name);
}

/* Every revision has recordings: an empty folder proves nothing. */
static void there_are_recordings_of_every_revision(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        int count = 0;
        for (int k = 0; k < file_count; k++)
            count += strcmp(files[k].revision, revisions[i]) == 0;
        assert_true(count > 0);
    }
}

int main(int count, char **arguments)
{
    static struct CMUnitTest tests[FILES_MAX + 1];
    const char *root = count > 1 ? arguments[1] : SOURCE_DIR "/tests/traces";
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++)
        add_directory(root, revisions[i]);
    qsort(files, (size_t)file_count, sizeof *files, by_name);
    tests[0].name = "there_are_recordings_of_every_revision";
    tests[0].test_func = there_are_recordings_of_every_revision;
    for (int i = 0; i < file_count; i++) {
        tests[i + 1].name = files[i].name;
        tests[i + 1].test_func = subject_does_as_recorded;
        tests[i + 1].initial_state = &files[i];
    }
    int status = _cmocka_run_group_tests("traces", tests,
                                         (size_t)file_count + 1, NULL, NULL);
    sim_shutdown();
    return status;
}
