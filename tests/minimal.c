/*
 * Every reproducer is 1-minimal: without any one of its statements, or with any
 * value made simpler, its title is gone. One test a folder of repro/.
 */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>

#include "sim/minimize.h"
#include "sim/run.h"

#define FOLDERS_MAX 128
#define NAME_MAX_LENGTH 96

static char names[FOLDERS_MAX][NAME_MAX_LENGTH];
static struct scn scenario, trial;

/* The folder's name is the title with dashes for spaces. */
static bool names_title(const char *folder, const char *title)
{
    size_t i = 0;
    for (; title[i]; i++)
        if (folder[i] != (title[i] == ' ' ? '-' : title[i]))
            return false;
    return folder[i] == '\0';
}

/* The newest subject that the folder is about, and what it is to keep. */
static const struct scn_statement *aim(const char *folder)
{
    static struct scn_statement found;
    bool any = false;
    for (int i = scenario.count - 1; i >= 0; i--) {
        if (scenario.statements[i].kind != SCN_EXPECT)
            continue;
        if (!any &&
            names_title(folder, scenario.statements[i].u.expect.title)) {
            found = scenario.statements[i];
            any = true;
        }
        scn_remove(&scenario, i);
    }
    return any ? &found : NULL;
}

static bool holds(const struct scn *of, const struct scn_statement *goal)
{
    static struct sim_result result;
    struct sim_options options = {
        .subject = sim_subject_by_name(goal->u.expect.subject)};
    struct scn_error error;
    return scn_check(of, &error) == 0 &&
           sim_run(of, &options, &result, &error) == 0 &&
           result.outcome == goal->u.expect.outcome &&
           strcmp(result.title, goal->u.expect.title) == 0;
}

static void complain(const char *folder, const struct scn *smaller)
{
    char text[4096];
    scn_print(smaller, text, sizeof text);
    fail_msg("%s is not minimal; this does it too:\n%s", folder, text);
}

static void a_reproducer_is_minimal(void **state)
{
    const char *folder = *state;
    const struct scn_statement *goal;
    enum scn_simpler made;
    struct scn_error error;
    char path[512], *text = NULL;
    snprintf(path, sizeof path, "%s/repro/%s/scenario.scn", SOURCE_DIR, folder);
    if (scn_load(&scenario, path, &text, &error) != 0)
        fail_msg("%s:%d: %s", path, error.line, error.message);
    goal = aim(folder);
    if (!goal)
        fail_msg("%s expects no subject to end with that title", path);
    scn_canonical(&scenario);
    assert_true(holds(&scenario, goal));
    for (int i = 0; i < scenario.count; i++) {
        scn_copy(&trial, &scenario);
        scn_remove(&trial, i);
        if (holds(&trial, goal))
            complain(folder, &trial);
        for (int n = 0;; n++) {
            made = scn_simpler(&scenario, i, n, &trial);
            if (made == SCN_SIMPLER_END)
                break;
            if (made == SCN_SIMPLER_MADE && holds(&trial, goal))
                complain(folder, &trial);
        }
    }
    free(text);
}

static int list_folders(void)
{
    struct dirent **entries;
    int count = scandir(SOURCE_DIR "/repro", &entries, NULL, alphasort);
    int folders = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && folders < FOLDERS_MAX)
            snprintf(names[folders++], NAME_MAX_LENGTH, "%.95s",
                     entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return folders;
}

int main(void)
{
    static struct CMUnitTest tests[FOLDERS_MAX];
    int count = list_folders(), status;
    if (count == 0) {
        fprintf(stderr, "no reproducers in %s/repro\n", SOURCE_DIR);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        tests[i].name = names[i];
        tests[i].test_func = a_reproducer_is_minimal;
        tests[i].initial_state = names[i];
    }
    status =
        _cmocka_run_group_tests("minimal", tests, (size_t)count, NULL, NULL);
    sim_shutdown();
    return status;
}
