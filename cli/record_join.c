/* verbfault record --join: recordings of some ranks each become one of all. */
#include "cli/record_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the files ---- */

/* The ranks of a recording: those that it says it has. */
static int ranks_of(const struct scn *scenario)
{
    enum scn_topology topology;
    int ranks, wires;
    scn_topology(scenario, &ranks, &topology, &wires);
    return ranks;
}

static void take_line(struct join *join, int file, const char *line,
                      size_t length)
{
    char message[160];
    struct join_call *call;
    int column;
    while (length > 0 && strchr("\r\t ", line[length - 1]))
        length--;
    if (!scn_is_call(line, length))
        return;
    join->calls = text_grow(join->calls, join->call_count, &join->call_room,
                            sizeof *join->calls);
    call = &join->calls[join->call_count];
    if (scn_call_read(&call->call, line, length, message, sizeof message,
                      &column) != 0)
        return; /* the parser has read it before */
    call->call.rank += join->base[file];
    call->file = file;
    join->call_count++;
}

static void take_lines(struct join *join, int file, const char *text,
                       size_t length)
{
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) : length;
        take_line(join, file, text, line);
        text += newline ? line + 1 : line;
        length -= newline ? line + 1 : line;
    }
}

static int check_file(const struct join *join, int file)
{
    const struct scn *scenario = &join->file[file].scenario;
    const char *path = join->file[file].path;
    if (!scn_has_calls(scenario)) {
        fprintf(stderr, "verbfault record: %s: no recording: it has no calls\n",
                path);
        return CLI_USAGE;
    }
    if (scn_profile(scenario) != scn_profile(&join->file[0].scenario)) {
        fprintf(stderr,
                "verbfault record: %s has the profile %s, %s has %s: write the "
                "right one into both\n",
                join->file[0].path, scn_profile(&join->file[0].scenario)->name,
                path, scn_profile(scenario)->name);
        return CLI_USAGE;
    }
    if (join->ranks + ranks_of(scenario) <= SCN_RANKS_MAX)
        return CLI_FINE;
    fprintf(stderr, "verbfault record: %s: together more than %d ranks\n", path,
            SCN_RANKS_MAX);
    return CLI_USAGE;
}

static int load(struct join *join, int count, char **paths)
{
    int code = CLI_FINE;
    for (int i = 0; i < count && code == CLI_FINE; i++) {
        const struct scn *scenario = &join->file[i].scenario;
        code = cli_load(&join->file[i], paths[i]);
        if (code != CLI_FINE)
            return code;
        join->files++;
        code = check_file(join, i);
        if (code != CLI_FINE)
            return code;
        join->base[i] = join->ranks;
        join->ranks += ranks_of(scenario);
        join->begins[i] = join->call_count;
        for (int k = 0; k < scenario->count; k++)
            if (scenario->statements[k].kind == SCN_CALL)
                take_lines(join, i, scenario->statements[k].u.calls.text,
                           scenario->statements[k].u.calls.length);
        join->begins[i + 1] = join->call_count;
    }
    return code;
}

static void release(struct join *join)
{
    for (int i = 0; i < join->files; i++)
        cli_unload(&join->file[i]);
    free(join->file);
    free(join->calls);
    free(join->pairs);
    free(join->regions);
    free(join->handles);
    free(join->marks);
    free(join->places);
}

/* ---- what stands before the calls ---- */

static void put_statement(struct text *text, const struct scn_statement *from,
                          int rank, int base)
{
    static struct scn one;
    char line[SCN_LINE_MAX];
    one.count = 1;
    one.statements[0] = *from;
    one.statements[0].comment = NULL;
    one.statements[0].rank = rank + base;
    if (from->kind == SCN_CABLE)
        one.statements[0].u.cable.other_rank += base;
    scn_print(&one, line, sizeof line);
    text_put(text, line);
}

/* A statement as the joined recording has it: `*` is each rank of its file. */
static void put_statements(const struct join *join, struct text *text,
                           enum scn_kind kind)
{
    for (int file = 0; file < join->files; file++) {
        const struct scn *scenario = &join->file[file].scenario;
        for (int i = 0; i < scenario->count; i++) {
            const struct scn_statement *s = &scenario->statements[i];
            if (s->kind != kind)
                continue;
            if (s->rank != SCN_ALL)
                put_statement(text, s, s->rank, join->base[file]);
            for (int rank = 0; s->rank == SCN_ALL && rank < ranks_of(scenario);
                 rank++)
                put_statement(text, s, rank, join->base[file]);
        }
    }
}

static const char *device_name(const struct join *join, int rank, int device)
{
    int file = join->files - 1;
    const struct scn_statement *s;
    while (rank < join->base[file])
        file--;
    s = scn_device(&join->file[file].scenario, rank - join->base[file], device);
    return s ? s->u.device.name : NULL;
}

/* The wires of real machines are in no recording: queue pairs tell them. */
static void put_wires(const struct join *join, struct text *text)
{
    bool wired[SCN_RANKS_MAX][VF_DEVICE_MAX] = {{false}};
    for (int i = 0; i < join->pair_count; i++) {
        const struct join_pair *a = &join->pairs[i], *b;
        const char *one, *other;
        if (a->leads_to < 0 || a->peer_rank < 0)
            continue;
        b = join_pair(join, a->peer_rank, a->peer_id);
        if (!b || a->device < 0 || a->device >= VF_DEVICE_MAX ||
            b->device < 0 || b->device >= VF_DEVICE_MAX ||
            wired[a->rank][a->device] || wired[b->rank][b->device])
            continue;
        one = device_name(join, a->rank, a->device);
        other = device_name(join, b->rank, b->device);
        if (!one || !other)
            continue;
        wired[a->rank][a->device] = wired[b->rank][b->device] = true;
        text_add(text, "cable %d:%s %d:%s\n", a->rank, one, b->rank, other);
    }
}

static void put_head(const struct join *join, struct text *text)
{
    const struct vf_profile *profile = scn_profile(&join->file[0].scenario);
    text_add(text, "# %d calls of %d recordings, joined by verbfault record\n",
             join->call_count, join->files);
    text_add(text, "profile %s\nranks %d mesh\n", profile->name, join->ranks);
    put_statements(join, text, SCN_DEVICE);
    put_statements(join, text, SCN_NODEVICES);
    put_statements(join, text, SCN_CABLE);
    if (profile->needs_cable)
        put_wires(join, text);
    put_statements(join, text, SCN_FAULT);
}

/* ---- all of it ---- */

static void take_calls(const struct join *join, const int *places,
                       struct recording *recording)
{
    bool keep = join->strangers > 0;
    int room = 0;
    recording->calls =
        text_grow(NULL, join->call_count, &room, sizeof *recording->calls);
    for (int n = 0; n < join->call_count; n++) {
        const struct join_call *from = &join->calls[places[n]];
        struct record_call *call = &recording->calls[n];
        struct text line = {NULL, 0, 0};
        join_line(join, from, keep, &line);
        call->rank = from->call.rank;
        call->key = call->at = n;
        call->line = line.at;
    }
    recording->count = join->call_count;
    recording->ranks = join->ranks;
}

static int write_joined(struct join *join, const char *output)
{
    static struct recording recording;
    struct text head = {NULL, 0, 0};
    int *places = join_order(join);
    int code;
    put_head(join, &head);
    take_calls(join, places, &recording);
    recording.head = head.at;
    if (join->strangers > 0)
        fprintf(stderr,
                "verbfault record: note: %d way%s to somebody who is in none "
                "of the recordings\n",
                join->strangers, join->strangers == 1 ? " leads" : "s lead");
    code = record_finish(&recording, output);
    record_free(&recording);
    free(head.at);
    free(places);
    return code;
}

/* Not one of the ways led into another file: they are of no one run. */
static int refuse_strangers(const struct join *join)
{
    fprintf(stderr,
            "verbfault record: no queue pair of %s leads to one of the other "
            "files: were they recorded at the same time, each from its "
            "start?\n",
            join->file[0].path);
    return CLI_USAGE;
}

int record_join(const char *output, int count, char **paths)
{
    struct join join;
    int code;
    memset(&join, 0, sizeof join);
    if (count > SCN_RANKS_MAX)
        return cli_usage("record", "at most %d ranks", SCN_RANKS_MAX);
    join.file = calloc((size_t)count, sizeof *join.file);
    if (!join.file) {
        fprintf(stderr, "verbfault record: out of memory\n");
        return CLI_ENVIRONMENT;
    }
    code = load(&join, count, paths);
    if (code == CLI_FINE) {
        join_collect(&join);
        code = join_match(&join);
    }
    if (code == CLI_FINE && join.met == 0 && join.strangers > 0)
        code = refuse_strangers(&join);
    if (code == CLI_FINE)
        code = write_joined(&join, output);
    release(&join);
    return code;
}
