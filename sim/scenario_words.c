/* The words of the scenario language. */
#include "sim/scenario_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define NAME_OF(array, n)                                                      \
    ((n) >= 0 && (n) < COUNT_OF(array) ? (array)[n] : NULL)

static const struct {
    const char *name, *usage;
} kinds[SCN_KIND_COUNT] = {
    [SCN_PROFILE] = {"profile", "profile NAME"},
    [SCN_RANKS] = {"ranks", "ranks N mesh | ranks N ring [WIRES]"},
    [SCN_DEVICE] = {"device", "device RANK NAME [KEY=VALUE...]"},
    [SCN_NODEVICES] = {"nodevices", "nodevices RANK [ERRNO]"},
    [SCN_CABLE] = {"cable", "cable RANK:NAME RANK:NAME"},
    [SCN_CELL] = {"cell", "cell VIEW ROW COLUMN [NAME...]"},
    [SCN_ROWS] = {"rows", "rows VIEW N"},
    [SCN_COORDINATOR] = {"coordinator", "coordinator VIEW ADDRESS"},
    [SCN_SETTING] = {"setting", "setting VIEW topology|backend|fallback VALUE"},
    [SCN_LATE] = {"late", "late RANK MILLISECONDS"},
    [SCN_LIBRARY] = {"library", "library RANK absent | library RANK without "
                                "SYMBOL"},
    [SCN_FAULT] = {"fault", "fault RANK VERB NTH[+] EFFECT [VALUE]"},
    [SCN_CHANNEL] = {"channel", "channel RANK close|silent|garble N"},
    [SCN_PEER] = {"peer", "peer RANK sends HEX..."},
    [SCN_STRAY] = {"stray", "stray"},
    [SCN_ORDER] = {"order", "order SEED | order bytes HEX..."},
    [SCN_RUN] = {"run", "run init|barrier|finalize | run OPERATION TYPE COUNT "
                        "[in-place] | run send TYPE COUNT FROM TO"},
    [SCN_CALL] = {"call", "call RANK VERB(ARGUMENTS) = ANSWER [; DETAILS]"},
    [SCN_EXPECT] = {"expect", "expect SUBJECT OUTCOME [\"TITLE\"]"},
    [SCN_COMMENT] = {"#", "# COMMENT"},
};

static const struct {
    const char *name;
    size_t size;
} types[SCN_TYPE_COUNT] = {
    [SCN_BOOL] = {"bool", 1},         [SCN_INT8] = {"int8", 1},
    [SCN_INT16] = {"int16", 2},       [SCN_INT32] = {"int32", 4},
    [SCN_INT64] = {"int64", 8},       [SCN_UINT8] = {"uint8", 1},
    [SCN_UINT16] = {"uint16", 2},     [SCN_UINT32] = {"uint32", 4},
    [SCN_UINT64] = {"uint64", 8},     [SCN_FLOAT16] = {"float16", 2},
    [SCN_BFLOAT16] = {"bfloat16", 2}, [SCN_FLOAT32] = {"float32", 4},
    [SCN_FLOAT64] = {"float64", 8},   [SCN_COMPLEX64] = {"complex64", 8},
};

static const char *const outcomes[SCN_OUTCOME_COUNT] = {
    [SCN_READY] = "ready",           [SCN_ERROR] = "error", [SCN_LEAK] = "leak",
    [SCN_VIOLATION] = "violation",   [SCN_HANG] = "hang",   [SCN_SPIN] = "spin",
    [SCN_WRONG_DATA] = "wrong-data", [SCN_CRASH] = "crash",
};
static const char *const topologies[] = {
    [SCN_MESH] = "mesh",
    [SCN_RING] = "ring",
};
static const char *const channels[] = {
    [SCN_CHANNEL_CLOSE] = "close",
    [SCN_CHANNEL_SILENT] = "silent",
    [SCN_CHANNEL_GARBLE] = "garble",
};
static const char *const operations[SCN_OPERATION_COUNT] = {
    [SCN_INIT] = "init",
    [SCN_ALL_SUM] = "all_sum",
    [SCN_ALL_MAX] = "all_max",
    [SCN_ALL_MIN] = "all_min",
    [SCN_ALL_GATHER] = "all_gather",
    [SCN_SUM_SCATTER] = "sum_scatter",
    [SCN_SEND] = "send",
    [SCN_BARRIER] = "barrier",
    [SCN_FINALIZE] = "finalize",
};
static const char *const settings[SCN_SETTING_COUNT] = {
    [SCN_SETTING_TOPOLOGY] = "topology",
    [SCN_SETTING_BACKEND] = "backend",
    [SCN_SETTING_FALLBACK] = "fallback",
};
static const char *const backends[] = {"rdma", "sockets"};
static const char *const fallbacks[] = {"none", "sockets"};
static const char *const libraries[] = {"absent", "without"};
static const char *const keys[SCN_KEY_COUNT] = {
    [SCN_KEY_PORT] = "port",       [SCN_KEY_IPV4] = "ipv4",
    [SCN_KEY_MAX_MR] = "max_mr",   [SCN_KEY_MAX_QP] = "max_qp",
    [SCN_KEY_MAX_PD] = "max_pd",   [SCN_KEY_USED_MR] = "used_mr",
    [SCN_KEY_USED_QP] = "used_qp", [SCN_KEY_USED_PD] = "used_pd",
};

static const char *kind_name(int n)
{
    /* A comment is not a word one can start a statement with. */
    return n >= 0 && n < SCN_COMMENT ? kinds[n].name : NULL;
}

static const char *profile_name(int n)
{
    const struct vf_profile *profile = vf_profile_at(n);
    return profile ? profile->name : NULL;
}

static const char *topology_name(int n)
{
    return NAME_OF(topologies, n);
}

static const char *verb_name(int n)
{
    return vf_verb_name((enum vf_verb)n);
}

static const char *effect_name(int n)
{
    return vf_effect_name((enum vf_effect)n);
}

static const char *channel_name(int n)
{
    return NAME_OF(channels, n);
}

static const char *operation_name(int n)
{
    return NAME_OF(operations, n);
}

static const char *setting_name(int n)
{
    return NAME_OF(settings, n);
}

static const char *backend_name(int n)
{
    return NAME_OF(backends, n);
}

static const char *fallback_name(int n)
{
    return NAME_OF(fallbacks, n);
}

static const char *type_name(int n)
{
    return scn_type_name((enum scn_type)n);
}

static const char *outcome_name(int n)
{
    return scn_outcome_name((enum scn_outcome)n);
}

static const char *library_name(int n)
{
    return NAME_OF(libraries, n);
}

static const char *key_name(int n)
{
    return NAME_OF(keys, n);
}

const struct scn_words scn_kind_words = {"statement", SCN_COMMENT, kind_name};
const struct scn_words scn_profile_words = {"profile", 16, profile_name};
const struct scn_words scn_topology_words = {"topology", COUNT_OF(topologies),
                                             topology_name};
const struct scn_words scn_verb_words = {"verb", VF_VERB_COUNT, verb_name};
const struct scn_words scn_effect_words = {"effect", VF_EFFECT_COUNT,
                                           effect_name};
/* Numbers without a word are NULL in between; 255 covers every system. */
const struct scn_words scn_errno_words = {"errno", 255, vf_errno_name};
const struct scn_words scn_status_words = {"status", 23, vf_status_name};
const struct scn_words scn_channel_words = {"channel fault", COUNT_OF(channels),
                                            channel_name};
const struct scn_words scn_setting_words = {"setting", COUNT_OF(settings),
                                            setting_name};
const struct scn_words scn_operation_words = {"operation", COUNT_OF(operations),
                                              operation_name};
const struct scn_words scn_type_words = {"type", SCN_TYPE_COUNT, type_name};
const struct scn_words scn_outcome_words = {"outcome", SCN_OUTCOME_COUNT,
                                            outcome_name};
const struct scn_words scn_library_words = {"library state",
                                            COUNT_OF(libraries), library_name};
const struct scn_words scn_key_words = {"key", SCN_KEY_COUNT, key_name};

const char *scn_kind_name(enum scn_kind kind)
{
    return (unsigned)kind < SCN_KIND_COUNT ? kinds[kind].name : NULL;
}

const char *scn_kind_usage(enum scn_kind kind)
{
    return (unsigned)kind < SCN_KIND_COUNT ? kinds[kind].usage : NULL;
}

const char *scn_operation_name(enum scn_operation operation)
{
    return operation_name((int)operation);
}

const char *scn_setting_name(enum scn_setting setting)
{
    return setting_name((int)setting);
}

const struct scn_words *scn_setting_values(enum scn_setting setting)
{
    static const struct scn_words backend = {"backend", COUNT_OF(backends),
                                             backend_name};
    static const struct scn_words fallback = {"fallback", COUNT_OF(fallbacks),
                                              fallback_name};
    switch (setting) {
    case SCN_SETTING_BACKEND:
        return &backend;
    case SCN_SETTING_FALLBACK:
        return &fallback;
    default:
        return &scn_topology_words;
    }
}

const char *scn_setting_value_name(enum scn_setting setting, int value)
{
    return scn_setting_values(setting)->name(value);
}

bool scn_has_data(enum scn_operation operation)
{
    return operation >= SCN_ALL_SUM && operation <= SCN_SEND;
}

bool scn_can_be_in_place(enum scn_operation operation)
{
    return scn_has_data(operation) && operation != SCN_SEND;
}

int scn_count_most(enum scn_operation operation)
{
    return operation == SCN_ALL_GATHER || operation == SCN_SUM_SCATTER
               ? SCN_PART_MAX
               : SCN_COUNT_MAX;
}

const char *scn_type_name(enum scn_type type)
{
    return (unsigned)type < SCN_TYPE_COUNT ? types[type].name : NULL;
}

size_t scn_type_size(enum scn_type type)
{
    return (unsigned)type < SCN_TYPE_COUNT ? types[type].size : 0;
}

const char *scn_outcome_name(enum scn_outcome outcome)
{
    return (unsigned)outcome < SCN_OUTCOME_COUNT ? outcomes[outcome] : NULL;
}

enum scn_outcome scn_outcome_by_name(const char *name)
{
    int n = scn_word_find(&scn_outcome_words, name, (int)strlen(name));
    return n < 0 ? SCN_OUTCOME_COUNT : (enum scn_outcome)n;
}

int scn_word_find(const struct scn_words *words, const char *word, int length)
{
    for (int n = 0; n < words->count; n++) {
        const char *name = words->name(n);
        /* The first letter decides nearly always, and without a call. */
        if (name && length > 0 && name[0] == word[0] &&
            strncmp(name, word, (size_t)length) == 0 && name[length] == '\0')
            return n;
    }
    return -1;
}

#define DISTANCE_MAX 24 /* longer words are not compared */

/* Insertions, removals and changes of a letter between two words. */
static int distance(const char *one, int one_length, const char *other)
{
    int other_length = (int)strlen(other);
    int row[DISTANCE_MAX + 1];
    if (one_length > DISTANCE_MAX || other_length > DISTANCE_MAX)
        return DISTANCE_MAX;
    for (int j = 0; j <= other_length; j++)
        row[j] = j;
    for (int i = 1; i <= one_length; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= other_length; j++) {
            int change = diagonal + (one[i - 1] != other[j - 1]);
            int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < best ? change : best;
        }
    }
    return row[other_length];
}

static const char *nearest(const struct scn_words *words, const char *word,
                           int length)
{
    /* A third of the letters may be wrong; at least one, at most three. */
    int limit = length < 5 ? 1 : length < 9 ? 2 : 3;
    const char *best = NULL;
    for (int n = 0; n < words->count; n++) {
        const char *name = words->name(n);
        int apart = name ? distance(word, length, name) : DISTANCE_MAX;
        if (apart <= limit) {
            best = name;
            limit = apart - 1;
        }
    }
    return best;
}

/* Appends "; one of a, b, c" if all of it fits. */
static void append_words(const struct scn_words *words, char *message,
                         size_t room)
{
    size_t begin = strlen(message), length = begin;
    for (int n = 0; n < words->count; n++) {
        const char *name = words->name(n);
        if (!name)
            continue;
        int more = snprintf(message + length, room - length, "%s%s",
                            length == begin ? "; one of " : ", ", name);
        if (more < 0 || (size_t)more >= room - length) {
            message[begin] = '\0';
            return;
        }
        length += (size_t)more;
    }
}

void scn_word_explain(const struct scn_words *words, const char *word,
                      int length, char *message, size_t room)
{
    const char *near = nearest(words, word, length);
    int shown = length > 40 ? 40 : length;
    if (near) {
        snprintf(message, room, "unknown %s \"%.*s\"; did you mean %s?",
                 words->what, shown, word, near);
        return;
    }
    snprintf(message, room, "unknown %s \"%.*s\"", words->what, shown, word);
    append_words(words, message, room);
}
