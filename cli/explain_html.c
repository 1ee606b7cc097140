/* A run as a page: what came of it in words, the picture, and how to repeat
 * it. */
#include <stdlib.h>
#include <string.h>

#include "cli/explain_svg.h"

static const char *const css[] = {
    "body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--bg);",
    "color:var(--fg);font:16px/1.5 system-ui,sans-serif}\n",
    "h1{font-size:1.4rem;margin:.2rem 0;overflow-wrap:anywhere}",
    "h2{font-size:1.05rem;margin:1.4rem 0 .3rem}\n",
    "p{margin:.2rem 0}.m{color:var(--muted)}\n",
    "pre{background:var(--hover);padding:.6rem .8rem;border-radius:6px;",
    "overflow-x:auto;margin:.3rem 0;font-size:.85rem}\n",
    "table{border-collapse:collapse}th,td{text-align:left;",
    "vertical-align:top;padding:.25rem .8rem .25rem 0;",
    "border-bottom:1px solid var(--lane)}td{overflow-wrap:anywhere}\n",
    ".scroll{overflow-x:auto}\n",
};

static void put_html(struct text *to, const struct text *words)
{
    if (words->at)
        text_html(to, words->at);
}

static void put_head(const struct explain *explain, struct text *text)
{
    text_put(text, "<!DOCTYPE html>\n<html lang=\"en\" class=\"vf\">\n<head>\n"
                   "<meta charset=\"utf-8\"/>\n"
                   "<meta name=\"viewport\" "
                   "content=\"width=device-width,initial-scale=1\"/>\n"
                   "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                   "<title>");
    text_html(text, explain->name);
    text_add(text, " on %s</title>\n<style>\n", explain->subject->name);
    explain_css(text);
    for (size_t i = 0; i < sizeof css / sizeof css[0]; i++)
        text_put(text, css[i]);
    text_put(text, "</style>\n</head>\n<body>\n<main>\n<h1>");
    text_add(text, "%s%s", scn_outcome_name(explain->result.outcome),
             explain->result.title[0] ? ": " : "");
    text_html(text, explain->result.title);
    text_put(text, "</h1>\n<p class=\"m\">");
    text_html(text, explain->name);
    text_add(text, " on %s</p>\n", explain->subject->name);
    if (explain->result.partial[0])
        text_add(text, "<p>%s</p>\n", explain->result.partial);
}

static void put_plan(const struct explain *explain, struct text *text)
{
    struct text plan = {NULL, 0, 0};
    explain_plan(explain, &plan);
    if (plan.length > 0) {
        text_put(text, "<h2>What is planned to go wrong</h2>\n");
        for (char *line = plan.at, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            text_put(text, "<p>");
            text_html_n(text, line, (size_t)(end - line));
            text_put(text, "</p>\n");
        }
    }
    free(plan.at);
}

static void put_ranks(const struct explain *explain, struct text *text)
{
    text_put(text, "<h2>What became of the ranks</h2>\n<table>\n<tr>"
                   "<th scope=\"col\">rank</th><th scope=\"col\">outcome</th>"
                   "<th scope=\"col\">objects</th></tr>\n");
    for (int i = 0; i < explain->result.ranks; i++) {
        struct text words = {NULL, 0, 0};
        text_add(text, "<tr><th scope=\"row\">%d</th><td>", i);
        explain_outcome(explain, i, &words);
        put_html(text, &words);
        text_put(text, "</td><td class=\"m\">");
        words.length = 0;
        explain_balance(explain, i, &words);
        put_html(text, &words);
        text_put(text, "</td></tr>\n");
        free(words.at);
    }
    text_put(text, "</table>\n");
    if (explain->result.broken[0]) {
        text_put(text, "<p>Broken promise: ");
        text_html(text, explain->result.broken);
        text_put(text, "</p>\n");
    }
}

/* A here-document's end that is no line of the scenario. */
static void put_repeat(const struct explain *explain, struct text *text)
{
    struct text scenario = {NULL, 0, 0};
    if (explain_is_recording(explain)) {
        text_add(&scenario, "%s explain ", cli_self());
        if (strcmp(explain->name, "standard input") == 0)
            text_put(&scenario, "- <RECORDING");
        else
            text_shell(&scenario, explain->name);
        text_put(text, "<h2>To repeat it</h2>\n<pre>");
        put_html(text, &scenario);
        text_put(text, "</pre>\n");
        free(scenario.at);
        return;
    }
    text_add(&scenario, "%s explain --subject %s - <<'END'\n", cli_self(),
             explain->subject->name);
    explain_scenario(explain, &scenario);
    text_put(&scenario, "END\n");
    text_put(text, "<h2>To repeat it</h2>\n<pre>");
    put_html(text, &scenario);
    text_put(text, "</pre>\n");
    free(scenario.at);
}

void explain_html(const struct explain *explain, struct text *text)
{
    put_head(explain, text);
    put_plan(explain, text);
    put_ranks(explain, text);
    text_put(text, "<h2>What happened, from top to bottom</h2>\n"
                   "<div class=\"scroll\">\n");
    explain_svg(explain, true, text);
    text_put(text, "</div>\n");
    put_repeat(explain, text);
    text_put(text, "</main>\n</body>\n</html>\n");
}
