/* verbfault run: what is said of the ranks. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE
#endif

#include "cli/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define TABLE_WHOLE                                                            \
    8 /* of more ranks only those that are not fine are shown                  \
       */

/* ---- as it happens
 * -------------------------------------------------------------------- */

static const char *kind_of(const struct vf_report *report)
{
    switch (report->kind) {
    case VF_REPORT_FINDING:
        return "finding: ";
    case VF_REPORT_CRASH:
        return "crash: ";
    case VF_REPORT_LEAK: /* its title says so: "leak of qp" */
        return strncmp(report->title, "leak", 4) == 0 ? "" : "leak: ";
    case VF_REPORT_NOTE:
        return "note: ";
    }
    return "";
}

static void print_report(struct run *run, const struct vf_report *report)
{
    char line[VF_REPORT_TEXT + 8]; /* the whole text may be one line */
    const char *text = report->text;
    snprintf(line, sizeof line, "r%d: %s%s", report->machine, kind_of(report),
             report->title);
    run_output_line(&run->output, RUN_STDERR, -1, line, strlen(line));
    while (*text) {
        int length = (int)strcspn(text, "\n");
        snprintf(line, sizeof line, "    %.*s", length, text);
        run_output_line(&run->output, RUN_STDERR, -1, line, strlen(line));
        text += length;
        text += *text == '\n';
    }
}

/* Reports of one title and rank: the first few tell, the rest is a number. */
#define TOLD_WHOLE 3

static bool is_worth_telling(struct run *run, const struct vf_report *report)
{
    struct run_seen *seen = run->seen;
    struct run_seen *end = run->seen + run->seen_count;
    while (seen < end && (seen->machine != report->machine ||
                          strcmp(seen->title, report->title) != 0))
        seen++;
    if (seen == run->seen + RUN_SEEN_MAX)
        return true;
    if (seen == end) {
        run->seen_count++;
        seen->machine = report->machine;
        snprintf(seen->title, sizeof seen->title, "%s", report->title);
    }
    return ++seen->count <= TOLD_WHOLE;
}

static void print_repeated(struct run *run)
{
    for (int i = 0; i < run->seen_count; i++) {
        const struct run_seen *seen = &run->seen[i];
        if (seen->count > TOLD_WHOLE)
            run_say(&run->output, "r%d: %u more of \"%s\"", seen->machine,
                    seen->count - TOLD_WHOLE, seen->title);
    }
}

void run_reports(struct run *run)
{
    static struct vf_report report; /* large */
    while (vf_room_report(run->room, &report)) {
        if (is_worth_telling(run, &report))
            print_report(run, &report);
        if (report.kind != VF_REPORT_NOTE && report.machine >= 0 &&
            report.machine < run->setup->ranks)
            run->ranks[report.machine].findings++;
    }
}

void run_report_death(struct run *run, int rank)
{
    int status = run->ranks[rank].status;
    const char *core = "";
    char name[32], line[128];
    if (!WIFSIGNALED(status) || run->failed_start)
        return;
#ifdef WCOREDUMP
    if (WCOREDUMP(status))
        core = " (core dumped)";
#endif
    snprintf(line, sizeof line, "r%d: ended by %s%s", rank,
             run_signal_name(WTERMSIG(status), name), core);
    run_output_line(&run->output, RUN_STDERR, -1, line, strlen(line));
}

/* ---- at the end
 * ------------------------------------------------------------------------- */

bool run_rank_failed(const struct run_rank *rank)
{
    return !WIFEXITED(rank->status) || WEXITSTATUS(rank->status) != 0;
}

/* from..to in words, after what is in text already. */
static void add_range(char *text, size_t room, int from, int to)
{
    size_t used = strlen(text);
    const char *comma = used > 0 ? ", " : "";
    if (from == to)
        snprintf(text + used, room - used, "%s%d", comma, from);
    else
        snprintf(text + used, room - used, "%s%d%s%d", comma, from,
                 to == from + 1 ? ", " : " to ", to);
}

int run_list_ranks(const struct run *run,
                   bool (*is)(const struct run *run, int rank), char *text,
                   size_t room)
{
    int count = 0, from = -1;
    text[0] = '\0';
    for (int rank = 0; rank <= run->setup->ranks; rank++) {
        bool holds = rank < run->setup->ranks && is(run, rank);
        count += holds;
        if (holds && from < 0)
            from = rank;
        if (!holds && from >= 0) {
            add_range(text, room, from, rank - 1);
            from = -1;
        }
    }
    return count;
}

static bool is_bad(const struct run *run, int rank)
{
    return run->ranks[rank].running || run_rank_failed(&run->ranks[rank]) ||
           run->ranks[rank].findings > 0;
}

static bool never_called(const struct run *run, int rank)
{
    return WIFEXITED(run->ranks[rank].status) &&
           !run->ranks[rank].made_to_end &&
           (run->options->device || !run_library_absent(run->setup, rank)) &&
           vf_room_visitors(run->room, rank) == 0;
}

static void print_rank(struct run *run, int number)
{
    const struct run_rank *rank = &run->ranks[number];
    char name[32], end[64];
    if (rank->running)
        snprintf(end, sizeof end, "cannot be ended");
    else if (WIFEXITED(rank->status))
        snprintf(end, sizeof end, "exit %d", WEXITSTATUS(rank->status));
    else
        snprintf(end, sizeof end, "%s",
                 run_signal_name(WTERMSIG(rank->status), name));
    run_say(&run->output, "rank %d: %s%s, %u finding%s", number, end,
            rank->made_to_end ? " (ended)" : "", rank->findings,
            rank->findings == 1 ? "" : "s");
}

static void print_table(struct run *run)
{
    int fine = 0;
    for (int rank = 0; rank < run->setup->ranks; rank++)
        if (is_bad(run, rank) || run->setup->ranks <= TABLE_WHOLE)
            print_rank(run, rank);
        else
            fine++;
    if (fine > 0)
        run_say(&run->output, "%d more: exit 0, 0 findings", fine);
}

/* A fault that was never reached tests nothing. */
static void print_faults(struct run *run)
{
    for (int rank = 0; rank < run->setup->ranks; rank++) {
        struct vf_fault fault;
        bool hit;
        for (unsigned n = 0; vf_room_fault(run->room, rank, n, &fault, &hit);
             n++)
            if (fault.verb != VF_VERB_alloc)
                run_say(&run->output, "%s: fault %d %s %u%s %s",
                        hit ? "as planned" : "note: never reached", rank,
                        vf_verb_name(fault.verb), fault.nth,
                        fault.onward ? "+" : "", vf_effect_name(fault.effect));
    }
}

static void print_notes(struct run *run, bool failed)
{
    char ranks[256];
    int count = run_list_ranks(run, never_called, ranks, sizeof ranks);
    if (count > 0)
        run_say(&run->output,
                "note: rank%s %s never called a verb: does the command link "
                "libibverbs, and does it get as far?",
                count == 1 ? "" : "s", ranks);
    print_faults(run);
    if (failed && run->program->needs_rdmacm && !run->options->device)
        run_say(&run->output,
                "note: %s uses librdmacm, which verbfault does not replace",
                run->program->path);
}

int run_report_all(struct run *run)
{
    unsigned lost = vf_room_reports_lost(run->room);
    bool failed = false, bad = lost > 0;
    for (int rank = 0; rank < run->setup->ranks; rank++) {
        failed = failed || run_rank_failed(&run->ranks[rank]);
        bad = bad || is_bad(run, rank);
    }
    if (lost > 0)
        run_say(&run->output, "%u reports were lost: they came too fast", lost);
    print_repeated(run);
    print_notes(run, failed);
    if (bad || run->cut_short)
        print_table(run);
    if (vf_room_trace_error(run->room)) {
        run_say(&run->output, "%s: cannot be written: %s", run->options->trace,
                strerror(vf_room_trace_error(run->room)));
        return CLI_ENVIRONMENT;
    }
    return bad || run->cut_short ? CLI_FINDINGS : CLI_FINE;
}
