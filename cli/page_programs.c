/* The page of a sweep of real programs. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/page_sweep.h"

#include <stdlib.h>
#include <string.h>

void page_note(struct sweep_programs *programs, const struct sweep_point *point,
               const struct trial *trial, const struct sweep_fault *fault)
{
    static struct sim_result result;
    struct sweep_entry entry;
    struct sweep_tally one = {0, 0, 1, &entry};
    struct sweep_noted *noted;
    result.outcome = trial->outcome;
    snprintf(result.title, sizeof result.title, "%s", trial->title);
    snprintf(result.rank[0].message, sizeof result.rank[0].message, "%s",
             trial->message);
    sweep_list(&one, &result, fault);
    programs->noted = text_grow(programs->noted, programs->noted_count,
                                &programs->noted_room, sizeof *noted);
    noted = &programs->noted[programs->noted_count++];
    noted->point = *point;
    noted->reached = trial->reached;
    noted->entry = entry;
    noted->fault = *fault;
}

void page_forget(struct sweep_programs *programs)
{
    free(programs->noted);
    programs->noted = NULL;
}

static bool is_same(const struct sweep_point *a, const struct sweep_point *b)
{
    return a->rank == b->rank && a->verb == b->verb && a->nth == b->nth;
}

static void put_run(struct page *page, const struct sweep_programs *programs,
                    const struct sweep_noted *noted)
{
    static struct scn scenario;
    scn_copy(&scenario, &programs->base);
    if (sweep_add(&scenario, programs->base.count, &noted->fault))
        page_run(page, &noted->entry, &scenario, programs->base.count, false,
                 noted->reached);
}

static void put_points(struct page *page, const struct sweep_programs *programs)
{
    for (int i = 0; i < programs->noted_count; i++) {
        const struct sweep_noted *noted = &programs->noted[i];
        if (i == 0 || !is_same(&noted->point, &programs->noted[i - 1].point))
            page_point(page, noted->point.rank, vf_verb_name(noted->point.verb),
                       noted->point.nth, NULL);
        put_run(page, programs, noted);
    }
}

/* `verbfault run` as the sweep calls it, with the scenario from its standard
 * input. A directory is made for {scratch}. */
static void put_command(const struct sweep_programs *programs,
                        struct text *text)
{
    const struct trial_options *trial = &programs->trial;
    text_add(text, "%s run -n %d --scenario - --timeout ", cli_self(),
             trial->ranks);
    text_shell(text, trial->timeout);
    text_put(text, " --grace ");
    text_shell(text, trial->grace);
    text_put(text, trial->leaks ? " --leaks --" : " --");
    for (char **word = trial->command; *word; word++) {
        const char *at = *word, *scratch;
        text_put(text, " ");
        for (scratch = strstr(at, "{scratch}"); scratch;
             scratch = strstr(at, "{scratch}")) {
            struct text before = {NULL, 0, 0};
            text_put_n(&before, at, (size_t)(scratch - at));
            if (before.length > 0)
                text_shell(text, before.at);
            text_put(text, "\"$(mktemp -d)\"");
            free(before.at);
            at = scratch + strlen("{scratch}");
        }
        if (*at || at == *word)
            text_shell(text, at);
    }
}

int page_of_programs(const struct sweep_programs *programs, const char *path)
{
    size_t length = scn_print(&programs->base, NULL, 0);
    char *words = malloc(length + 1);
    struct text command = {NULL, 0, 0};
    struct page page;
    struct page_part part = {.subject = programs->name,
                             .scenario = programs->scenario ? programs->scenario
                                         : programs->profile ? programs->profile
                                                             : "ideal",
                             .depth = 1,
                             .programs = true,
                             .totals = &programs->tally,
                             .points = programs->point_count,
                             .done = programs->point_count,
                             .unreached = (unsigned long)programs->unreached};
    int code;
    if (!words)
        return CLI_ENVIRONMENT;
    scn_print(&programs->base, words, length + 1);
    put_command(programs, &command);
    part.text = words;
    part.replay = command.at;
    page_begin(&page);
    page_part(&page, &part);
    put_points(&page, programs);
    code = page_end(&page, path);
    free(words);
    free(command.at);
    return code;
}
