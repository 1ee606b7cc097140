/*
 * cases_support.h: a scenario in a line or two, and what has to come of it.
 *
 * Every run checks the promises of a fixed subject (sim/verdict.c), also that
 * it starts again once the faults are gone.
 */
#ifndef CASES_SUPPORT_H
#define CASES_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run.h"

static struct sim_result result;

static inline void run(const char *subject, const char *text)
{
    static struct scn scenario;
    struct sim_options options = {.subject = sim_subject_by_name(subject)};
    struct scn_error error;
    options.recover = options.subject->fixed;
    if (scn_parse(&scenario, text, strlen(text), &error) != 0)
        fail_msg("%d:%d: %s\n%s", error.line, error.column, error.message,
                 text);
    if (sim_run(&scenario, &options, &result, &error) != 0)
        fail_msg("%s\n%s", error.message, text);
    if (result.broken[0] != '\0')
        fail_msg("%s: %s\n%s", subject, result.broken, text);
}

/* title: what the outcome's title begins with; NULL: any. */
static inline void expect(const char *subject, const char *text,
                          enum scn_outcome outcome, const char *title)
{
    run(subject, text);
    if (result.outcome != outcome ||
        (title && strncmp(result.title, title, strlen(title)) != 0))
        fail_msg("%s: %s: %s, not %s: %s\n%s", subject,
                 scn_outcome_name(result.outcome), result.title,
                 scn_outcome_name(outcome), title ? title : "", text);
}

/* cjaccl: ready, or an error that names what it is about. */
static inline void cjaccl_says(const char *text, int rank, const char *word)
{
    expect("cjaccl", text, SCN_ERROR, NULL);
    if (!strstr(result.rank[rank].message, word))
        fail_msg("no \"%s\" in \"%s\"\n%s", word, result.rank[rank].message,
                 text);
}

static inline int stop(void **state)
{
    (void)state;
    sim_shutdown();
    return 0;
}

#endif
