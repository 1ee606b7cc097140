/* verbfault record: the scenario. */
#include "cli/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calls.h"

struct text {
    char *bytes;
    size_t length, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text,
                                                      const char *format, ...)
{
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || text->failed)
        return;
    if (text->length + (size_t)length + 1 > text->room) {
        size_t room = 2 * text->room + (size_t)length + 4096;
        char *more = realloc(text->bytes, room);
        text->failed = !more;
        if (!more)
            return;
        text->bytes = more;
        text->room = room;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, text->room - text->length, format,
              arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* ---- devices ---- */

/* As the machine of a recorded rank was set up. */
static int machine_of(const struct recording *recording, int rank)
{
    return recording->used[rank] ? recording->processes[rank].rank : rank;
}

/* How many devices the mock's machine has, without a scenario. */
static int default_devices(const struct run_setup *setup)
{
    return setup->profile->needs_cable && setup->ranks > 2 ? setup->ranks - 1
                                                           : 1;
}

/* The name of the machine's n-th device; false: it has no more. */
static bool original_name(const struct recording *recording, int rank, int n,
                          char name[VF_NAME_MAX])
{
    const struct run_setup *setup = recording->setup;
    int machine = machine_of(recording, rank);
    const struct scn_statement *device;
    const char *listed = NULL;
    if (recording->options->device) {
        if (symbols_device(recording->symbols, rank, n, &listed))
            snprintf(name, VF_NAME_MAX, "%s", listed);
        return listed != NULL;
    }
    if (setup->from_scenario) {
        device = scn_device(&setup->complete, machine, n);
        if (device)
            snprintf(name, VF_NAME_MAX, "%s", device->u.device.name);
        return device != NULL;
    }
    if (n >= default_devices(setup))
        return false;
    run_device_name(setup, machine, n < machine ? n : n + 1, name);
    return true;
}

static void written_name(const struct recording *recording, int n,
                         const char *original, bool keep, char *name)
{
    (void)recording;
    if (keep)
        snprintf(name, SCN_NAME_MAX, "%.*s", SCN_NAME_MAX - 1, original);
    else
        snprintf(name, SCN_NAME_MAX, "dev%d", n);
}

/* The limits that the device told, where they are the language's. */
static void put_told_limits(const struct recording *recording, int rank, int n,
                            struct text *text)
{
    static const char *const keys[] = {"max_mr", "max_qp", "max_pd"};
    for (int i = 0; i < recording->count; i++) {
        const struct record_call *recorded = &recording->calls[i];
        struct scn_call call;
        if (recorded->rank != rank ||
            !scn_call_read_bare(&call, recorded->line,
                                strlen(recorded->line)) ||
            call.verb != VF_VERB_query_device ||
            !scn_value(call.details, "max_mr").text)
            continue;
        /* Which device a context is on: the n-th context of most programs. */
        if (scn_number(scn_value(call.arguments, "context"), 0) != n + 1)
            continue;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            int64_t limit = scn_number(scn_value(call.details, keys[k]), -1);
            if (limit >= 0 && limit <= SCN_LIMIT_MAX)
                put(text, " %s=%lld", keys[k], (long long)limit);
        }
        return;
    }
}

static void put_keys(struct text *text, const struct scn_statement *device)
{
    const struct {
        const char *key;
        int value;
    } limits[] = {{"max_mr", device->u.device.max_mr},
                  {"max_qp", device->u.device.max_qp},
                  {"max_pd", device->u.device.max_pd},
                  {"used_mr", device->u.device.used_mr},
                  {"used_qp", device->u.device.used_qp},
                  {"used_pd", device->u.device.used_pd}};
    if (device->u.device.port_down)
        put(text, " port=down");
    if (device->u.device.no_ipv4)
        put(text, " ipv4=no");
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (limits[i].value >= 0)
            put(text, " %s=%d", limits[i].key, limits[i].value);
}

static bool keeps_names(const struct recording *recording)
{
    return recording->options->keep_names;
}

static void put_devices(const struct recording *recording, int rank,
                        struct text *text)
{
    const struct run_setup *setup = recording->setup;
    char original[VF_NAME_MAX], name[SCN_NAME_MAX];
    int n = 0;
    for (; original_name(recording, rank, n, original); n++) {
        written_name(recording, n, original, keeps_names(recording), name);
        put(text, "device %d %s", rank, name);
        if (recording->options->device)
            put_told_limits(recording, rank, n, text);
        else if (setup->from_scenario)
            put_keys(text, scn_device(&setup->complete,
                                      machine_of(recording, rank), n));
        put(text, "\n");
    }
    if (n == 0 && setup->from_scenario && !recording->options->device)
        put(text, "nodevices %d\n", rank);
    else if (n == 0)
        put(text, "device %d dev0\n", rank);
}

/* ---- cables ---- */

/* The place of a device in its rank's list, or -1. */
static int place_of(const struct recording *recording, int rank,
                    const char *name)
{
    char original[VF_NAME_MAX];
    for (int n = 0; original_name(recording, rank, n, original); n++)
        if (strcmp(original, name) == 0)
            return n;
    return -1;
}

static void put_cable(const struct recording *recording, struct text *text,
                      int rank, const char *name, int other,
                      const char *other_name)
{
    char one[SCN_NAME_MAX], two[SCN_NAME_MAX];
    int n = place_of(recording, rank, name);
    int m = place_of(recording, other, other_name);
    if (n < 0 || m < 0)
        return;
    written_name(recording, n, name, keeps_names(recording), one);
    written_name(recording, m, other_name, keeps_names(recording), two);
    put(text, "cable %d:%s %d:%s\n", rank, one, other, two);
}

static void put_cables(const struct recording *recording, struct text *text)
{
    const struct run_setup *setup = recording->setup;
    char name[VF_NAME_MAX], other[VF_NAME_MAX];
    if (recording->options->device)
        return;
    for (int i = 0; setup->from_scenario && i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind == SCN_CABLE)
            put_cable(recording, text, s->rank, s->u.cable.name,
                      s->u.cable.other_rank, s->u.cable.other_name);
    }
    if (setup->from_scenario || !setup->profile->needs_cable)
        return;
    for (int a = 0; a < setup->ranks; a++)
        for (int b = a + 1; b < setup->ranks; b++) {
            run_device_name(setup, a, b, name);
            run_device_name(setup, b, a, other);
            put_cable(recording, text, a, name, b, other);
        }
}

/* ---- the rest ---- */

static const char *profile_name(const struct recording *recording)
{
    char original[VF_NAME_MAX];
    if (recording->options->profile)
        return recording->options->profile->name;
    if (recording->setup->from_scenario && !recording->options->device)
        return scn_profile(&recording->setup->complete)->name;
    if (!recording->options->device)
        return recording->setup->profile->name;
    for (int rank = 0; rank < recording->ranks; rank++) {
        if (!original_name(recording, rank, 0, original))
            continue;
        if (strncmp(original, "rxe", 3) == 0)
            return "rxe";
        if (strncmp(original, "rdma_en", 7) == 0)
            return "thunderbolt";
    }
    return "ideal";
}

/* Faults of completions are no call's: they stay statements. */
static void put_faults(const struct recording *recording, struct text *text)
{
    const struct run_setup *setup = recording->setup;
    static struct scn one;
    char line[SCN_LINE_MAX];
    for (int i = 0; setup->from_scenario && i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind != SCN_FAULT || s->u.fault.verb != VF_VERB_completion)
            continue;
        one.count = 1;
        one.statements[0] = *s;
        one.statements[0].comment = NULL;
        scn_print(&one, line, sizeof line);
        put(text, "%s", line);
    }
}

/* The last parenthesis of an answer that is a finding's word: "(null-mr)". */
static bool finding_of(const struct scn_call *call, char title[96], bool *fatal)
{
    struct scn_piece answer = call->answer;
    size_t at = answer.length;
    *fatal = answer.length > 0 && answer.text[0] == '?';
    if (at == 0 || answer.text[at - 1] != ')')
        return false;
    while (at > 0 && answer.text[at - 1] != '(')
        at--;
    snprintf(title, 96, "%.*s in %s", (int)(answer.length - at - 1),
             answer.text + at, vf_verb_name(call->verb));
    return strncmp(title, "planned in", 10) != 0 &&
           strncmp(title, "exit in", 7) != 0 &&
           strncmp(title, "hang in", 7) != 0;
}

/* The worst that the calls tell, of the first rank that has it. */
static void put_expectation(const struct recording *recording,
                            struct text *text)
{
    char title[96], worst[96] = "";
    int level = 0, worst_rank = SCN_RANKS_MAX;
    for (int i = 0; i < recording->count; i++) {
        const struct record_call *recorded = &recording->calls[i];
        struct scn_call call;
        bool fatal;
        int grade;
        if (!scn_call_read_bare(&call, recorded->line,
                                strlen(recorded->line)) ||
            !finding_of(&call, title, &fatal))
            continue;
        grade = fatal ? 2 : 1;
        if (grade > level || (grade == level && recorded->rank < worst_rank)) {
            level = grade;
            worst_rank = recorded->rank;
            memcpy(worst, title, sizeof worst);
        }
    }
    if (level == 0)
        put(text, "expect recording ready\n");
    else
        put(text, "expect recording %s \"%s\"\n",
            level == 2 ? "crash" : "violation", worst);
}

static void put_head(const struct recording *recording, struct text *text)
{
    put(text, "# %d call%s, recorded on %s by verbfault record\n",
        recording->count, cli_s((unsigned long)recording->count),
        recording->options->device ? "a device" : "the mock");
    put(text, "profile %s\n", profile_name(recording));
    put(text, "ranks %d mesh\n", recording->ranks);
    for (int rank = 0; rank < recording->ranks; rank++)
        put_devices(recording, rank, text);
    put_cables(recording, text);
    put_faults(recording, text);
}

char *record_text(const struct recording *recording)
{
    struct text text = {NULL, 0, 0, false};
    if (recording->head)
        put(&text, "%s", recording->head);
    else
        put_head(recording, &text);
    for (int i = 0; i < recording->count; i++)
        put(&text, "call %d %s\n", recording->calls[i].rank,
            recording->calls[i].line);
    put_expectation(recording, &text);
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}
