/*
 * fuzz_scenario: the scenario parser and printer.
 *
 * Any bytes are parsed. What is a scenario must survive being printed: the
 * text parses, to the same text; its canonical form stays as it is; it can be
 * completed and is still a scenario. One that is not is refused with a place
 * and a message.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario.h"

#define TEXT_ROOM ((size_t)SCN_STATEMENTS_MAX * (SCN_LINE_MAX + 2))

static struct scn scenario, again;
static char text[TEXT_ROOM], text_again[TEXT_ROOM];

static void expect(int holds, const char *promise,
                   const struct scn_error *error)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n%d:%d %s\n%s\n", promise, error->line,
            error->column, error->message, text);
    abort();
}

/* text is a scenario's; it means the same when it is read again. */
static void check_round_trip(const struct scn *printed, struct scn_error *error)
{
    size_t length = scn_print(printed, text, sizeof text);
    expect(length < sizeof text, "the text fits", error);
    expect(scn_parse(&again, text, length, error) == 0,
           "what was printed parses", error);
    expect(again.count == printed->count, "no statement is lost", error);
    scn_print(&again, text_again, sizeof text_again);
    expect(strcmp(text, text_again) == 0, "it prints the same text", error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scn_error error = {0, 0, ""};
    text[0] = '\0';
    if (scn_parse(&scenario, (const char *)data, size, &error) < 0) {
        expect(error.line > 0 && error.column > 0 && error.message[0],
               "an error has a place and a message", &error);
        return 0;
    }
    check_round_trip(&scenario, &error);
    scn_canonical(&scenario);
    check_round_trip(&scenario, &error);
    scn_canonical(&again);
    scn_print(&again, text_again, sizeof text_again);
    expect(strcmp(text, text_again) == 0, "canonical stays canonical", &error);
    bool sound = scn_is_sound(&scenario);
    expect(scn_complete(&scenario) == 0, "it can be completed", &error);
    check_round_trip(&scenario, &error);
    expect(scn_is_sound(&scenario) == sound, "completing changes nothing",
           &error);
    return 0;
}
