/* A sweep as a page: its data, and what stands in it without a script. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/words.h"

#define UNREACHED SCN_OUTCOME_COUNT
/* Bytes of the messages of runs that a page holds. */
#define MESSAGES_MAX ((size_t)1 << 19)

static int number_of(struct page *page, const char *words)
{
    return page_strings_number(&page->strings, words);
}

/* ---- totals -------------------------------------------------------------- */

static void put_total(struct page *page, const struct page_part *part,
                      const struct sweep_entry *entry)
{
    struct text *text = &page->totals;
    int outcome = (int)entry->outcome;
    text_add(text,
             "<tr%s><td><span class=\"c o%d\">%c</span> %s%s</td>"
             "<td class=\"n\">%lu</td><td><button class=\"t\" "
             "data-part=\"%d\" data-title=\"%d\">",
             entry->broken ? " class=\"broken\"" : "", outcome,
             words_letter(entry->outcome), scn_outcome_name(entry->outcome),
             entry->broken ? ", a broken promise" : "", entry->count,
             page->parts - 1, number_of(page, entry->title));
    text_html(text, entry->title[0] ? entry->title : "all went well");
    text_put(text, "</button>");
    if (entry->broken || part->programs) {
        text_put(text, "<br/><span class=\"m\">");
        text_html(text, entry->why);
        text_put(text, "</span>");
    }
    text_put(text, "</td></tr>\n");
}

static void put_totals(struct page *page, const struct page_part *part)
{
    struct text *text = &page->totals;
    text_add(text, "<section tabindex=\"0\" style=\"--rows:%d\"><h2>",
             part->totals->count);
    text_html(text, part->subject);
    text_put(text, "</h2>\n<p class=\"m\">");
    text_html(text, part->scenario);
    text_put(text, ": ");
    if (part->done < part->points)
        text_add(text, "%d of ", part->done);
    text_add(text, "%d point%s, %lu run%s%s%s", part->points,
             cli_s((unsigned long)part->points), part->totals->runs,
             cli_s(part->totals->runs),
             part->depth == 2 ? ", two faults at a time" : "",
             part->done < part->points ? " (not all of it is done)" : "");
    if (part->unreached > 0)
        text_add(text, ", %lu more never came to %s fault", part->unreached,
                 part->unreached == 1 ? "its" : "their");
    text_put(text, "</p>\n<table><thead><tr><th scope=\"col\">outcome</th>"
                   "<th scope=\"col\" class=\"n\">runs</th>"
                   "<th scope=\"col\">title</th></tr></thead><tbody>\n");
    for (int i = 0; i < part->totals->count; i++)
        put_total(page, part, &part->totals->entries[i]);
    text_put(text, "</tbody></table></section>\n");
}

/* ---- data ---------------------------------------------------------------- */

void page_begin(struct page *page)
{
    memset(page, 0, sizeof *page);
    text_put(&page->totals, "");
    text_put(&page->heads, "");
    text_put(&page->maps, "");
}

static void close_part(struct page *page)
{
    if (page->parts == 0)
        return;
    text_add(&page->maps, "<script type=\"application/json\" id=\"map-%d\">\n",
             page->parts - 1);
    page_map_end(&page->map, &page->maps);
    text_put(&page->maps, "\n</script>\n");
}

static void put_field(struct page *page, const char *name, const char *words)
{
    text_add(&page->heads, "\"%s\":", name);
    text_json(&page->heads, words);
    text_put(&page->heads, ",");
}

void page_part(struct page *page, const struct page_part *part)
{
    close_part(page);
    page_map_begin(&page->map);
    text_put(&page->heads, page->parts++ > 0 ? ",\n{" : "\n{");
    put_field(page, "subject", part->subject);
    put_field(page, "scenario", part->scenario);
    put_field(page, "text", part->text);
    put_field(page, "replay", part->replay);
    put_field(page, "explain", part->explain ? part->explain : "");
    text_add(&page->heads, "\"depth\":%d}", part->depth);
    put_totals(page, part);
}

void page_point(struct page *page, int rank, const char *label, int number,
                const char *name)
{
    page_map_point(&page->map, rank, number_of(page, label), number,
                   name ? number_of(page, name) : PAGE_NO_NAME);
}

/* Words with `#` for the number of the call, behind what stands before it. */
static void put_hash(struct text *to, const char *words, const char *before)
{
    const char *at = strstr(words, before);
    if (!at) {
        text_put(to, words);
        return;
    }
    at += strlen(before);
    text_put_n(to, words, (size_t)(at - words));
    text_put(to, "#");
    text_put(to, at + strspn(at, "0123456789"));
}

/* What stands before the number in the statement and in the sentence. */
static void say_before(const struct scn_statement *fault, char *statement,
                       char *sentence, size_t room)
{
    static const char *const channels[] = {[SCN_CHANNEL_CLOSE] = "close ",
                                           [SCN_CHANNEL_SILENT] = "silent ",
                                           [SCN_CHANNEL_GARBLE] = "garble "};
    static const char *const sentences[] = {
        [SCN_CHANNEL_CLOSE] = "it has sent ",
        [SCN_CHANNEL_SILENT] = "arrives after ",
        [SCN_CHANNEL_GARBLE] = "after the first "};
    enum vf_verb verb = fault->u.fault.verb;
    if (fault->kind == SCN_CHANNEL) {
        snprintf(statement, room, "%s", channels[fault->u.channel.what]);
        snprintf(sentence, room, "%s", sentences[fault->u.channel.what]);
        return;
    }
    snprintf(statement, room, "fault %d %s ", fault->rank, vf_verb_name(verb));
    snprintf(sentence, room, "%s",
             verb == VF_VERB_completion ? "completion "
             : verb == VF_VERB_alloc    ? "allocation "
                                        : "call ");
}

/* Numbers of the strings for a run: statements, sentence. */
static void say_run(struct page *page, const struct sweep_entry *entry,
                    const struct scn *scenario, int own, bool second,
                    int *statement, int *sentence)
{
    struct text words = {NULL, 0, 0}, hashed = {NULL, 0, 0};
    char before[2][64];
    bool hash = scenario && !second && scenario->count == own + 1 &&
                (scenario->statements[own].kind == SCN_FAULT ||
                 scenario->statements[own].kind == SCN_CHANNEL);
    text_put(&words, "");
    for (int i = own; scenario && i < scenario->count; i++) {
        char one[400];
        words_of_statement(&scenario->statements[i], one, sizeof one);
        text_add(&words, "%s%s", words.length && *one ? " " : "", one);
    }
    if (hash) {
        say_before(&scenario->statements[own], before[0], before[1],
                   sizeof before[0]);
        put_hash(&hashed, entry->example, before[0]);
        *statement = number_of(page, hashed.at);
        hashed.length = 0;
        put_hash(&hashed, words.at, before[1]);
        *sentence = number_of(page, hashed.at);
    } else {
        *statement = number_of(page, entry->example);
        *sentence = number_of(page, words.at);
    }
    free(words.at);
    free(hashed.at);
}

/* The number of a run's message. Messages differ from run to run, and a page is
 * for looking at: past so many bytes it sends its reader to the command. */
static int number_of_message(struct page *page, const char *message)
{
    if (page->message_bytes > MESSAGES_MAX)
        message = "(The command below prints the message: this page holds no "
                  "more of them.)";
    return page_map_message(&page->map, &page->strings, message,
                            &page->message_bytes);
}

void page_run(struct page *page, const struct sweep_entry *entry,
              const struct scn *scenario, int own, bool second, bool reached)
{
    int statement, sentence;
    char kind[128];
    say_run(page, entry, scenario, own, second, &statement, &sentence);
    snprintf(kind, sizeof kind, "[%d,%d,%d,%d,%d,%d,%lu]",
             reached ? (int)entry->outcome : UNREACHED, entry->broken,
             number_of(page, entry->title), number_of_message(page, entry->why),
             statement, sentence, entry->count);
    page_map_run(&page->map, kind, second);
}

/* ---- the page ------------------------------------------------------------ */

static void put_legend(struct text *text)
{
    text_put(text, "<p id=\"filter\">");
    for (int i = 0; i < SCN_OUTCOME_COUNT; i++) {
        enum scn_outcome outcome = (enum scn_outcome)i;
        text_add(text,
                 "<button class=\"f\" aria-pressed=\"false\" "
                 "data-outcome=\"%d\" title=\"%s\"><span class=\"c o%d\">%c"
                 "</span> %s</button>\n",
                 i, words_of_outcome(outcome), i, words_letter(outcome),
                 scn_outcome_name(outcome));
    }
    text_add(text,
             "<button class=\"f\" aria-pressed=\"false\" data-outcome=\"%d\" "
             "title=\"The run never came to its fault.\"><span class=\"c "
             "o%d\">-</span> not reached</button>\n",
             UNREACHED, UNREACHED);
    text_put(text, "<button id=\"clear\" hidden=\"hidden\">show all</button>"
                   "</p>\n");
}

static void put_outcomes(struct text *text)
{
    text_put(text, "\"outcomes\":[");
    for (int i = 0; i < SCN_OUTCOME_COUNT; i++)
        text_add(text, "[\"%s\",\"%c\",\"%s\"],",
                 scn_outcome_name((enum scn_outcome)i),
                 words_letter((enum scn_outcome)i),
                 words_of_outcome((enum scn_outcome)i));
    text_put(text, "[\"not reached\",\"-\",\"The run never came to its "
                   "fault.\"]],\n");
}

static void put_data(struct page *page, struct text *text)
{
    text_put(text, "<script type=\"application/json\" id=\"data\">\n{");
    put_outcomes(text);
    text_put(text, "\"strings\":");
    page_strings_put(&page->strings, text, false);
    text_add(text, ",\n\"parts\":[%s]}\n</script>\n", page->heads.at);
    text_put(text, page->maps.at);
}

static void put_page(struct page *page, struct text *text)
{
    text_put(
        text,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
        "&#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src "
        "&#39;unsafe-inline&#39;\"/>\n"
        "<title>verbfault sweep</title>\n<style>\n");
    page_style(text);
    text_put(text, "</style>\n</head>\n<body>\n<main>\n"
                   "<h1>Every fault, and what became of it</h1>\n"
                   "<div id=\"totals\">\n");
    text_put(text, page->totals.at);
    text_put(text,
             "</div>\n<h2>Map</h2>\n"
             "<p>A row is a verb, a cell is one of its calls, with the worst "
             "that became of any run in which that call went wrong. A cell "
             "opens the runs.</p>\n");
    put_legend(text);
    text_put(text, "<div id=\"map\"><noscript><p>The map is drawn by a script "
                   "in this page; the totals above need none.</p></noscript>"
                   "</div>\n</main>\n"
                   "<aside id=\"panel\" aria-live=\"polite\" "
                   "hidden=\"hidden\"></aside>\n");
    put_data(page, text);
    text_put(text, "<script>\n/*<![CDATA[*/\n"); /* for XML's readers */
    page_script(text);
    text_put(text, "/*]]>*/\n</script>\n</body>\n</html>\n");
}

int page_end(struct page *page, const char *path)
{
    struct text text = {NULL, 0, 0};
    int code = CLI_FINE;
    close_part(page);
    if (path) {
        put_page(page, &text);
        code = text_write(&text, "verbfault sweep", path);
    }
    page_strings_free(&page->strings);
    free(page->totals.at);
    free(page->heads.at);
    free(page->maps.at);
    free(text.at);
    return code;
}
