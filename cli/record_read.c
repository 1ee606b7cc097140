/* verbfault record: what the processes wrote. */
#include "cli/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line as it was written. */
struct raw {
    long pid;
    long long began, ended;
    int rank;
    const char *verb; /* points into the line */
};

/* "PID BEGAN ENDED r0 #17 VERB..."; false: it is cut. */
static bool take_apart(const char *line, struct raw *raw)
{
    unsigned number;
    int at = 0;
    if (sscanf(line, "%ld %lld %lld r%d #%u %n", &raw->pid, &raw->began,
               &raw->ended, &raw->rank, &number, &at) < 5 ||
        at == 0)
        return false;
    raw->verb = line + at;
    return true;
}

/* The recorded rank of a process: the first one of a rank has its number. -1:
 * there are too many. */
static int rank_of(struct recording *recording, const struct raw *raw,
                   int ranks)
{
    int n;
    for (n = 0; n < RECORD_PROCESSES_MAX; n++)
        if (recording->used[n] && recording->processes[n].pid == raw->pid)
            return n;
    n = raw->rank;
    if (n < 0 || n >= ranks)
        return -1;
    if (recording->used[n])
        for (n = ranks; n < RECORD_PROCESSES_MAX && recording->used[n];)
            n++;
    if (n >= SCN_RANKS_MAX)
        return -1;
    recording->used[n] = true;
    recording->processes[n].pid = raw->pid;
    recording->processes[n].rank = raw->rank;
    if (n >= recording->ranks)
        recording->ranks = n + 1;
    return n;
}

static bool begins_with(const char *line, const char *verb)
{
    size_t length = strlen(verb);
    return strncmp(line, verb, length) == 0 && line[length] == '(';
}

/* It took effect no later than it ended and no earlier than it began: which of
 * the two is safe? What lets others succeed, early; what needs them, late. */
static int64_t key_of(const struct raw *raw)
{
    static const char *const early[] = {"post_recv", "post_srq_recv",
                                        "modify_qp", "modify_srq",
                                        "req_notify_cq"};
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++)
        if (begins_with(raw->verb, early[i]))
            return raw->began;
    return raw->ended;
}

static struct record_call *add(struct recording *recording)
{
    if (recording->count == recording->room) {
        int room = recording->room ? 2 * recording->room : 1024;
        struct record_call *more =
            realloc(recording->calls, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        recording->calls = more;
        recording->room = room;
    }
    return &recording->calls[recording->count];
}

static int out_of_memory(void)
{
    fprintf(stderr, "verbfault record: %s\n", strerror(ENOMEM));
    return CLI_ENVIRONMENT;
}

static int take_line(struct recording *recording, const char *line, int ranks)
{
    static char text[SCN_CALL_LINE_MAX];
    struct record_call *call;
    struct record_process *process;
    struct raw raw;
    int rank;
    if (!take_apart(line, &raw))
        return CLI_FINE; /* its process was killed as it wrote */
    rank = rank_of(recording, &raw, ranks);
    if (rank < 0) {
        fprintf(stderr,
                "verbfault record: more than %d processes made verbs calls: "
                "too many for a scenario\n",
                SCN_RANKS_MAX);
        return CLI_USAGE;
    }
    if (!symbols_translate(recording->symbols, rank, raw.verb, text,
                           sizeof text))
        return CLI_FINE;
    call = add(recording);
    if (!call)
        return out_of_memory();
    call->line = malloc(strlen(text) + 1);
    if (!call->line)
        return out_of_memory();
    strcpy(call->line, text);
    process = &recording->processes[rank];
    call->rank = rank;
    call->at = recording->count++;
    call->key = key_of(&raw) > process->last ? key_of(&raw) : process->last;
    process->last = call->key;
    return CLI_FINE;
}

static int compare(const void *a, const void *b)
{
    const struct record_call *one = a, *other = b;
    if (one->key != other->key)
        return one->key < other->key ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

/* A scenario's machines are all there, whether a process runs on them or not.
 */
static int machines(const struct recording *recording, int ranks)
{
    enum scn_topology topology;
    int count, wires;
    if (!recording->setup->from_scenario || recording->options->device)
        return ranks;
    scn_topology(&recording->setup->complete, &count, &topology, &wires);
    return count > ranks ? count : ranks;
}

static int take_lines(struct recording *recording, FILE *file, int ranks)
{
    static char line[VF_RECORDED_MAX + 128];
    int code = CLI_FINE;
    while (code == CLI_FINE && fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        if (length == 0 || line[length - 1] != '\n')
            continue;
        line[length - 1] = '\0';
        code = take_line(recording, line, ranks);
    }
    return code;
}

static int read_all(struct recording *recording, FILE *file, int ranks,
                    bool keep_names, bool keep_numbers)
{
    recording->ranks = machines(recording, ranks);
    recording->symbols = symbols_new(keep_names);
    if (!recording->symbols)
        return out_of_memory();
    if (keep_numbers)
        symbols_keep_numbers(recording->symbols);
    rewind(file);
    return take_lines(recording, file, ranks);
}

/* Were all recorded that had to do with each other? Else their numbers are
 * kept, by which --join finds them. */
static bool is_whole(const struct recording *recording)
{
    return recording->ranks > 1 && symbols_strangers(recording->symbols) == 0;
}

int record_read(struct recording *recording, const char *path, int ranks,
                bool keep_names)
{
    FILE *file = fopen(path, "r");
    int code;
    if (!file) {
        fprintf(stderr, "verbfault record: %s: %s\n", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    code = read_all(recording, file, ranks, keep_names, false);
    if (code == CLI_FINE && !is_whole(recording)) {
        record_free(recording);
        code = read_all(recording, file, ranks, keep_names, true);
    }
    fclose(file);
    if (recording->count > 0)
        qsort(recording->calls, (size_t)recording->count,
              sizeof recording->calls[0], compare);
    return code;
}

void record_free(struct recording *recording)
{
    for (int i = 0; i < recording->count; i++)
        free(recording->calls[i].line);
    free(recording->calls);
    symbols_free(recording->symbols);
    recording->calls = NULL;
    recording->symbols = NULL;
    recording->count = recording->room = 0;
    memset(recording->processes, 0, sizeof recording->processes);
    memset(recording->used, 0, sizeof recording->used);
}
