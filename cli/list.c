/* verbfault list: the words of scenarios and of reports. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "sim/calls.h"

static const char help[] =
    "usage: verbfault list [subjects|profiles|verbs|effects|outcomes|types|\n"
    "                       operations|settings|details]\n"
    "\n"
    "Lists the words that scenarios and reports are made of; without an\n"
    "argument, all of them.\n";

static void list_subjects(void)
{
    for (int i = 0; sim_subject_at(i); i++)
        printf("subject %-18s %s\n", sim_subject_at(i)->name,
               sim_subject_at(i)->about);
    printf("subject %-18s %s\n", "recording",
           sim_subject_by_name("recording")->about);
    if (sim_subject_left_out("native"))
        printf("subject %-18s left out: %s\n", "native",
               sim_subject_left_out("native"));
}

static void list_profiles(void)
{
    for (int i = 0; vf_profile_at(i); i++)
        printf("profile %s\n", vf_profile_at(i)->name);
}

static void list_verbs(void)
{
    for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
        printf("verb %-20s", vf_verb_name((enum vf_verb)verb));
        for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
            if (vf_effect_fits((enum vf_effect)effect, (enum vf_verb)verb))
                printf(" %s", vf_effect_name((enum vf_effect)effect));
        printf("\n");
    }
}

static const char *value_word(enum vf_value value)
{
    switch (value) {
    case VF_VALUE_NONE:
        return "";
    case VF_VALUE_ERRNO:
        return "ERRNO";
    case VF_VALUE_NUMBER:
        return "NUMBER";
    case VF_VALUE_STATUS:
        return "STATUS";
    case VF_VALUE_MILLISECONDS:
        return "MILLISECONDS";
    }
    return "";
}

static void list_effects(void)
{
    static const char *const about[VF_EFFECT_COUNT] = {
        [VF_EFFECT_NULL] = "the call answers NULL with this errno",
        [VF_EFFECT_ERRNO] = "the call answers this errno",
        [VF_EFFECT_RETURN] = "the call answers this number as it is",
        [VF_EFFECT_UNWRITTEN] = "success, but the output is not written",
        [VF_EFFECT_GARBLED] = "success, but the output is garbage",
        [VF_EFFECT_STATUS] = "the completion carries this status",
        [VF_EFFECT_DROP] = "the completion never comes",
        [VF_EFFECT_DUPLICATE] = "the completion comes twice",
        [VF_EFFECT_DELAY] = "the completion comes late",
        [VF_EFFECT_UNPLUG] = "the device's cable goes at this call",
        [VF_EFFECT_EXIT] = "the process ends here, as by kill -9",
        [VF_EFFECT_HANG] = "the process stops here for ever",
        [VF_EFFECT_OVERTAKEN] = "it comes late, later ones before it",
    };
    for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
        printf(
            "effect %-10s %-13s %s\n", vf_effect_name((enum vf_effect)effect),
            value_word(vf_effect_value((enum vf_effect)effect)), about[effect]);
}

static void list_outcomes(void)
{
    static const char *const about[SCN_OUTCOME_COUNT] = {
        [SCN_READY] = "all went well",
        [SCN_ERROR] = "the subject answered with an error",
        [SCN_LEAK] = "objects, memory or sockets were left at the end",
        [SCN_VIOLATION] = "an illegal call that does not fault by itself",
        [SCN_HANG] = "waits for what can no longer come",
        [SCN_SPIN] = "calls for ever while nothing changes",
        [SCN_WRONG_DATA] = "success with a wrong result",
        [SCN_CRASH] = "a fault: segmentation fault or memory error",
    };
    for (int outcome = 0; outcome < SCN_OUTCOME_COUNT; outcome++)
        printf("outcome %-11s %s\n",
               scn_outcome_name((enum scn_outcome)outcome), about[outcome]);
}

static void list_types(void)
{
    for (int type = 0; type < SCN_TYPE_COUNT; type++)
        printf("type %-10s %zu\n", scn_type_name((enum scn_type)type),
               scn_type_size((enum scn_type)type));
}

static void list_operations(void)
{
    static const char *const about[SCN_OPERATION_COUNT] = {
        [SCN_INIT] = "starts a group",
        [SCN_ALL_SUM] = "every rank gets the sum over all ranks",
        [SCN_ALL_MAX] = "every rank gets the largest of all ranks",
        [SCN_ALL_MIN] = "every rank gets the smallest of all ranks",
        [SCN_ALL_GATHER] = "every rank gets what all ranks have",
        [SCN_SUM_SCATTER] = "every rank gets its part of the sum",
        [SCN_SEND] = "one rank sends to another",
        [SCN_BARRIER] = "all ranks meet",
        [SCN_FINALIZE] = "ends the newest group",
    };
    for (int n = 0; n < SCN_OPERATION_COUNT; n++) {
        enum scn_operation operation = (enum scn_operation)n;
        printf("operation %-12s %-21s %s\n", scn_operation_name(operation),
               operation == SCN_SEND            ? "TYPE COUNT FROM TO"
               : scn_can_be_in_place(operation) ? "TYPE COUNT [in-place]"
                                                : "",
               about[operation]);
    }
}

static void list_settings(void)
{
    for (int n = 0; n < SCN_SETTING_COUNT; n++) {
        printf("setting %-10s", scn_setting_name((enum scn_setting)n));
        for (int value = 0; scn_setting_value_name((enum scn_setting)n, value);
             value++)
            printf(" %s", scn_setting_value_name((enum scn_setting)n, value));
        printf("\n");
    }
}

static void list_details(void)
{
    const char *about;
    for (int n = 0; scn_detail_word(n, &about); n++)
        printf("detail %-13s %s\n", scn_detail_word(n, &about), about);
}

static const struct {
    const char *name;
    void (*list)(void);
} lists[] = {{"subjects", list_subjects},     {"profiles", list_profiles},
             {"verbs", list_verbs},           {"effects", list_effects},
             {"outcomes", list_outcomes},     {"types", list_types},
             {"operations", list_operations}, {"settings", list_settings},
             {"details", list_details}};

#define LISTS (sizeof lists / sizeof lists[0])

int cli_list(int argc, char **argv)
{
    if (argc == 1) {
        for (size_t i = 0; i < LISTS; i++)
            lists[i].list();
        return CLI_FINE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return CLI_FINE;
    }
    for (size_t i = 0; i < LISTS; i++)
        if (strcmp(lists[i].name, argv[1]) == 0) {
            lists[i].list();
            return CLI_FINE;
        }
    return cli_usage("list", "no list of \"%s\"", argv[1]);
}
