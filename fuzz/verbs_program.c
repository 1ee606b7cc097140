#include "fuzz/verbs_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbfault/profile.h"

#define WORD_MAX 32
#define PROFILES 3

static const char *const names[VERBS_NAMES] = {
#define VERBS_CALL(name) #name,
#include "fuzz/verbs_calls.def"
#undef VERBS_CALL
};

const char *verbs_name(enum verbs_name name)
{
    return name < VERBS_NAMES ? names[name] : "no call";
}

/* ---- text ---- */

struct text {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line; false: it is over. */
static bool next_word(struct text *line, char word[WORD_MAX])
{
    size_t length = 0;

    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    if (line->at == line->end || *line->at == '#')
        return false;
    while (line->at < line->end && !is_blank(*line->at) && *line->at != '#') {
        if (length < WORD_MAX - 1)
            word[length++] = *line->at;
        line->at++;
    }
    word[length] = '\0';
    return true;
}

static int profile_by_name(const char *name)
{
    for (int i = 0; i < PROFILES; i++)
        if (strcmp(vf_profile_at(i)->name, name) == 0)
            return i;
    return 0;
}

static int machines_of(uint32_t number)
{
    return number >= 1 && number <= VERBS_MACHINES ? (int)number : 2;
}

static void parse_world(struct verbs_program *program, struct text *line)
{
    char word[WORD_MAX];

    if (next_word(line, word))
        program->profile = profile_by_name(word);
    while (next_word(line, word)) {
        if (strcmp(word, "shared") == 0)
            program->shared = true;
        else if (strcmp(word, "threads") == 0)
            program->threads = true;
        else if (strcmp(word, "orderly") == 0)
            program->orderly = true;
        else
            program->machines = machines_of((uint32_t)strtoul(word, NULL, 0));
    }
}

static void parse_call(struct verbs_program *program, const char *name,
                       struct text *line)
{
    struct verbs_call *call = &program->calls[program->count];
    char word[WORD_MAX];
    int i = 0;

    while (i < VERBS_NAMES && strcmp(names[i], name) != 0)
        i++;
    if (i == VERBS_NAMES || program->count == VERBS_CALLS)
        return;
    memset(call, 0, sizeof(*call));
    call->name = (enum verbs_name)i;
    while (call->count < VERBS_ARGUMENTS && next_word(line, word))
        call->argument[call->count++] = (uint32_t)strtoull(word, NULL, 0);
    program->count++;
}

void verbs_parse(struct verbs_program *program, const char *text, size_t size)
{
    const char *end = text + size;

    memset(program, 0, sizeof(*program));
    program->machines = 2;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct text line = {text, stop ? stop : end};
        char word[WORD_MAX];

        if (next_word(&line, word)) {
            if (strcmp(word, "world") == 0)
                parse_world(program, &line);
            else
                parse_call(program, word, &line);
        }
        text = stop ? stop + 1 : end;
    }
}

struct sink {
    char *text;
    size_t room, length;
};

static void put(struct sink *sink, const char *word)
{
    size_t length = strlen(word);

    if (sink->length + length < sink->room)
        memcpy(sink->text + sink->length, word, length + 1);
    sink->length += length;
}

static void print_call(const struct verbs_call *call, struct sink *sink)
{
    int count = call->count;

    /* What is left out is 0. */
    while (count > 0 && call->argument[count - 1] == 0)
        count--;
    put(sink, verbs_name(call->name));
    for (int i = 0; i < count; i++) {
        char number[16];

        snprintf(number, sizeof(number), " %lu",
                 (unsigned long)call->argument[i]);
        put(sink, number);
    }
    put(sink, "\n");
}

size_t verbs_print(const struct verbs_program *program, char *text, size_t room)
{
    struct sink sink = {text, room, 0};
    char number[16];

    snprintf(number, sizeof(number), " %d", program->machines);
    put(&sink, "world ");
    put(&sink, vf_profile_at(program->profile)->name);
    put(&sink, number);
    put(&sink, program->shared ? " shared" : "");
    put(&sink, program->threads ? " threads" : "");
    put(&sink, program->orderly ? " orderly" : "");
    put(&sink, "\n");
    for (int i = 0; i < program->count; i++)
        print_call(&program->calls[i], &sink);
    return sink.length;
}

/* ---- changing programs ---- */

static const uint32_t edges[] = {
    4,          5,          7,          8,          15,         31,
    32,         63,         64,         65,         127,        128,
    255,        256,        512,        1000,       1023,       1024,
    4095,       4096,       4097,       8191,       8192,       16384,
    65535,      65536,      1048576,    0x7ffffffe, 0x7fffffff, 0x80000000,
    0x80000001, 0x80000002, 0xfffffff0, 0xfffffffe, 0xffffffff};

static const uint32_t handles[] = {0,           1,
                                   2,           16,
                                   17,          18,
                                   32,          33,
                                   VERBS_NULL,  VERBS_FREED,
                                   VERBS_WILD,  VERBS_INSIDE,
                                   VERBS_STACK, VERBS_FREED_FIRST};

#define COUNT(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))

static uint32_t any_argument(struct scn_random *random)
{
    uint32_t kind = scn_random_below(random, 20);

    if (kind < 8)
        return scn_random_below(random, 4);
    if (kind < 13)
        return handles[scn_random_below(random, COUNT(handles))];
    if (kind < 14)
        return VERBS_OTHER_KIND + scn_random_below(random, 12);
    if (kind < 18)
        return edges[scn_random_below(random, COUNT(edges))];
    if (kind < 19)
        return 1u << scn_random_below(random, 32);
    return scn_random_below(random, UINT32_MAX);
}

static void any_call(struct verbs_call *call, struct scn_random *random)
{
    memset(call, 0, sizeof(*call));
    call->name = (enum verbs_name)scn_random_below(random, VERBS_NAMES);
    call->count = (int)scn_random_below(random, 14);
    for (int i = 0; i < call->count; i++)
        if (scn_random_below(random, 2) == 0)
            call->argument[i] = any_argument(random);
}

static void insert(struct verbs_program *program, int at,
                   const struct verbs_call *call)
{
    struct verbs_call *place = &program->calls[at];

    if (program->count == VERBS_CALLS)
        return;
    memmove(place + 1, place, (size_t)(program->count - at) * sizeof(*place));
    *place = *call;
    program->count++;
}

static void erase(struct verbs_program *program, int at)
{
    struct verbs_call *place = &program->calls[at];

    program->count--;
    memmove(place, place + 1, (size_t)(program->count - at) * sizeof(*place));
}

static void change_argument(struct verbs_call *call, struct scn_random *random)
{
    uint32_t most = (uint32_t)call->count + 2;
    uint32_t at;

    most = most < VERBS_ARGUMENTS ? most : VERBS_ARGUMENTS;
    at = scn_random_below(random, most);
    if (scn_random_below(random, 4) == 0)
        call->argument[at] += scn_random_below(random, 2) ? 1u : UINT32_MAX;
    else
        call->argument[at] = any_argument(random);
    if (call->count <= (int)at)
        call->count = (int)at + 1;
}

static void change_world(struct verbs_program *program,
                         struct scn_random *random)
{
    switch (scn_random_below(random, 5)) {
    case 0:
        program->profile = (int)scn_random_below(random, PROFILES);
        break;
    case 1:
        program->machines = 1 + (int)scn_random_below(random, VERBS_MACHINES);
        break;
    case 2:
        program->shared = !program->shared;
        break;
    case 3:
        program->threads = !program->threads;
        break;
    default:
        program->orderly = !program->orderly;
        break;
    }
}

/* One call, somewhere: it comes again here or elsewhere, moves, or goes. */
static void rearrange(struct verbs_program *program, struct scn_random *random)
{
    int count = program->count;
    int from = (int)scn_random_below(random, (uint32_t)count);
    int to = (int)scn_random_below(random, (uint32_t)count);
    struct verbs_call call = program->calls[from];

    switch (scn_random_below(random, 4)) {
    case 0:
        erase(program, from);
        break;
    case 1:
        insert(program, to, &call);
        break;
    case 2:
        insert(program, from, &call);
        break;
    default:
        program->calls[from] = program->calls[to];
        program->calls[to] = call;
        break;
    }
}

static void step(struct verbs_program *program, struct scn_random *random)
{
    struct verbs_call call;
    uint32_t count = (uint32_t)program->count;
    uint32_t kind = scn_random_below(random, 16);

    if (kind == 0) {
        change_world(program, random);
    } else if (kind < 6 || count == 0) {
        any_call(&call, random);
        insert(program, (int)scn_random_below(random, count + 1), &call);
    } else if (kind < 10) {
        rearrange(program, random);
    } else {
        change_argument(&program->calls[scn_random_below(random, count)],
                        random);
    }
}

void verbs_mutate(struct verbs_program *program, struct scn_random *random)
{
    do
        step(program, random);
    while (scn_random_below(random, 3) > 0);
}

void verbs_cross(struct verbs_program *result, const struct verbs_program *one,
                 const struct verbs_program *other, struct scn_random *random)
{
    int first = (int)scn_random_below(random, (uint32_t)one->count + 1);
    int from = (int)scn_random_below(random, (uint32_t)other->count + 1);

    *result = *one;
    result->count = first;
    for (int i = from; i < other->count; i++)
        insert(result, result->count, &other->calls[i]);
}
