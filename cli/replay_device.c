/* verbfault replay --device: scenarios on the machine's own devices. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/replay_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"

/* ---- a scenario for real devices ------------------------------------------
 */

/* What a process is refused for, and not what came of somebody's fault. */
static bool is_a_limit(enum vf_verb verb)
{
    return verb == VF_VERB_open_device || verb == VF_VERB_alloc_pd ||
           verb == VF_VERB_reg_mr || verb == VF_VERB_create_cq ||
           verb == VF_VERB_create_qp;
}

static void add_fault(struct scn *scenario, int rank,
                      const struct vf_fault *fault)
{
    struct scn_statement *statement = scn_add(scenario, SCN_FAULT);
    if (!statement)
        return; /* it ran with so many statements: one refusal less */
    statement->rank = rank;
    statement->u.fault = *fault;
}

/* What the mock's devices refused by themselves is planned. */
static void plan_refusals(struct scn *scenario)
{
    struct vf_fault refused[16];
    int ranks[16];
    int count = sim_refused_isolated(refused, ranks, 16);
    int statements = scenario->count;
    for (int i = 0; i < count; i++)
        if (is_a_limit(refused[i].verb))
            add_fault(scenario, ranks[i], &refused[i]);
    for (int i = 0; i < statements; i++) {
        const struct scn_statement *statement = &scenario->statements[i];
        struct vf_fault fault = {.verb = VF_VERB_get_device_list,
                                 .nth = 1,
                                 .onward = true,
                                 .effect = VF_EFFECT_NULL,
                                 .value = statement->u.number};
        if (statement->kind == SCN_NODEVICES && statement->u.number != 0)
            add_fault(scenario, statement->rank, &fault);
    }
}

/* ---- what became of it ----------------------------------------------------
 */

/* The part of line up to the next tab; the rest goes on behind it. */
static const char *part_of(char **line)
{
    char *part = *line;
    char *tab = strchr(part, '\t');
    if (tab)
        *tab = '\0';
    *line = tab ? tab + 1 : part + strlen(part);
    return part;
}

static enum scn_outcome outcome_called(const char *name)
{
    int outcome = 0;
    while (outcome < SCN_OUTCOME_COUNT &&
           strcmp(scn_outcome_name((enum scn_outcome)outcome), name) != 0)
        outcome++;
    return (enum scn_outcome)outcome;
}

static void become(struct sim_rank_result *result, enum scn_outcome outcome,
                   const char *title, const char *message)
{
    if (outcome >= SCN_OUTCOME_COUNT || outcome < result->outcome)
        return;
    result->outcome = outcome;
    snprintf(result->title, sizeof result->title, "%s", title);
    snprintf(result->message, sizeof result->message, "%s", message);
}

/* A line of a rank's. */
static void said(void *context, int rank, const char *line)
{
    struct replay_device *device = context;
    struct sim_rank_result *result = &device->result->rank[rank];
    char text[sizeof result->title + sizeof result->message + 64];
    char *at = text;
    const char *outcome, *title;
    if (strncmp(line, REPLAY_RESULT, strlen(REPLAY_RESULT)) != 0)
        return;
    snprintf(text, sizeof text, "%s", line + strlen(REPLAY_RESULT));
    outcome = part_of(&at);
    result->channel_struck = (unsigned)strtoul(part_of(&at), NULL, 16);
    title = part_of(&at);
    become(result, outcome_called(outcome), title, at);
    device->told[rank] = true;
}

/* Is it said of the rank that it ends, or stops for ever? */
static bool ends_by_plan(const struct scn *scenario, int rank)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_FAULT &&
            (s->u.fault.effect == VF_EFFECT_EXIT ||
             s->u.fault.effect == VF_EFFECT_HANG) &&
            (s->rank == rank || s->rank == SCN_ALL))
            return true;
    }
    return false;
}

/* What the run says of a rank that did not tell. */
static void judge_silence(struct replay_device *device,
                          const struct scn *scenario, const struct trial *trial)
{
    for (int rank = 0; rank < device->ranks; rank++) {
        struct sim_rank_result *result = &device->result->rank[rank];
        if (device->told[rank])
            continue;
        if (ends_by_plan(scenario, rank))
            become(result, SCN_READY, "", "its process ended, as planned");
        else if (trial->outcome == SCN_CRASH)
            become(result, SCN_CRASH, trial->title, trial->message);
        else
            become(result, SCN_HANG, "did not come to its end", trial->message);
    }
}

/* A plan has kept an object from being released, and the rank says that
 * something went wrong: it could do no more. */
static bool is_planned_leak(const struct scn *scenario, int rank,
                            const struct sim_rank_result *result)
{
    static const enum vf_verb releases[] = {
        VF_VERB_dealloc_pd, VF_VERB_dereg_mr, VF_VERB_destroy_cq,
        VF_VERB_destroy_qp, VF_VERB_close_device};
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        for (size_t k = 0; k < sizeof releases / sizeof releases[0]; k++)
            if (s->kind == SCN_FAULT && s->u.fault.verb == releases[k] &&
                (s->rank == rank || s->rank == SCN_ALL))
                return result->outcome == SCN_ERROR;
    }
    return false;
}

/* Findings of the passage are the run's, whoever made them. */
static void judge(struct replay_device *device, const struct scn *scenario,
                  const struct trial *trial)
{
    struct sim_result *result = device->result;
    int whose = trial->whose < 0 ? 0 : trial->whose;
    judge_silence(device, scenario, trial);
    if (trial->outcome > SCN_ERROR && trial->outcome != SCN_HANG &&
        !(trial->outcome == SCN_LEAK &&
          is_planned_leak(scenario, whose, &result->rank[whose])))
        become(&result->rank[whose], trial->outcome, trial->title,
               trial->message);
    for (int rank = 0; rank < device->ranks; rank++)
        if (result->rank[rank].outcome > result->outcome) {
            result->outcome = result->rank[rank].outcome;
            result->worst = rank;
        }
    snprintf(result->title, sizeof result->title, "%s",
             result->rank[result->worst].title);
    if (result->outcome > SCN_ERROR)
        snprintf(result->broken, sizeof result->broken,
                 "rank %d: %s: %s (promise 1: never)", result->worst,
                 scn_outcome_name(result->outcome), result->title);
}

/* ---- a run ----------------------------------------------------------------
 */

static bool has_faults(const struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_FAULT &&
            scenario->statements[i].u.fault.verb != VF_VERB_alloc)
            return true;
    return false;
}

/* Some faults are for another subject, which makes more calls. */
static bool was_reached(const struct sim_result *simulated)
{
    for (int rank = 0; rank < simulated->ranks; rank++)
        if (simulated->rank[rank].faults_hit > 0)
            return true;
    return false;
}

/* Did each fault of a channel strike that does in the simulator? */
static bool were_channels_struck(const struct sim_result *simulated,
                                 const struct sim_result *result)
{
    for (int rank = 0; rank < simulated->ranks; rank++)
        if (simulated->rank[rank].channel_struck &
            ~result->rank[rank].channel_struck)
            return false;
    return true;
}

static bool clear_meeting(const char *path)
{
    static const char zeros[REPLAY_MEETING_BYTES];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool written =
        fd >= 0 && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
    if (fd >= 0)
        close(fd);
    return written;
}

/* The words of a rank's command: {rank} and {ranks} are `verbfault run`'s. */
static int start(struct replay_device *device, const char *scenario,
                 const struct sim_subject *subject, struct trial *trial)
{
    static char replay[] = "replay", rank[] = "--rank", number[] = "{rank}";
    char meeting[TRIAL_PATH_MAX + 16], file[TRIAL_PATH_MAX + 16];
    char name[SCN_WORD_MAX], port[16], seconds[32];
    char *words[] = {device->trial.self,
                     replay,
                     rank,
                     number,
                     name,
                     device->device,
                     port,
                     seconds,
                     meeting,
                     file,
                     NULL};
    snprintf(meeting, sizeof meeting, "%s/meeting", device->trial.scratch);
    snprintf(file, sizeof file, "%s/run.scn", device->trial.scratch);
    snprintf(name, sizeof name, "%s", subject->name);
    snprintf(port, sizeof port, "%d", run_free_port());
    snprintf(seconds, sizeof seconds, "%g", device->seconds);
    if (!clear_meeting(meeting)) {
        fprintf(stderr, "verbfault replay: %s: %s\n", meeting, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    device->trial.command = words;
    return trial_run(&device->trial, scenario, NULL, trial);
}

int replay_device_run(struct replay_device *device, const struct scn *scenario,
                      const struct sim_subject *subject,
                      struct sim_result *result)
{
    static struct scn planned;
    struct sim_options options = {.subject = subject, .stop = cli_interrupted};
    enum scn_topology topology;
    struct scn_error error;
    struct trial trial;
    char *text;
    int wires, code;
    int status =
        sim_run_isolated(scenario, &options, 60, &device->simulated, &error);
    if (status == -3)
        return CLI_FINE;
    if (status != 0) {
        fprintf(stderr, "verbfault replay: %s\n", error.message);
        return CLI_USAGE;
    }
    scn_copy(&planned, scenario);
    plan_refusals(&planned);
    scn_topology(scenario, &device->ranks, &topology, &wires);
    memset(device->told, 0, sizeof device->told);
    memset(result, 0, sizeof *result);
    result->ranks = device->trial.ranks = device->ranks;
    device->result = result;
    text = cli_text(&planned);
    code = text ? start(device, text, subject, &trial) : CLI_ENVIRONMENT;
    free(text);
    if (code != CLI_FINE || cli_interrupted())
        return code;
    judge(device, &planned, &trial);
    device->reached = (trial.reached || !has_faults(&planned) ||
                       !was_reached(&device->simulated)) &&
                      were_channels_struck(&device->simulated, result);
    device->unreached += !device->reached;
    return CLI_FINE;
}

/* ---- before and after all runs --------------------------------------------
 */

static int no_device(const struct real_devices *devices)
{
    fprintf(stderr, "verbfault replay: no active RDMA device here (%s): %s\n",
            devices->count > 0 ? "their ports are down" : devices->why,
            real_devices_advice);
    return CLI_ENVIRONMENT;
}

int replay_device_open(struct replay_device *device)
{
    static char timeout[32], grace[32];
    struct real_devices devices;
    real_devices_ask(&devices);
    if (devices.no_library) {
        fprintf(stderr, "verbfault replay: %s\n", devices.why);
        return CLI_ENVIRONMENT;
    }
    if (!devices.active[0] && !device->device[0])
        return no_device(&devices);
    if (!device->device[0])
        snprintf(device->device, sizeof device->device, "%s", devices.active);
    /* A start and an operation, and as much for the machine. */
    snprintf(timeout, sizeof timeout, "%g", 6 * device->seconds + 30);
    device->trial.timeout = timeout;
    snprintf(grace, sizeof grace, "%g", device->seconds + 2);
    device->trial.grace = grace;
    device->trial.leaks = device->trial.device = true;
    device->trial.said = said;
    device->trial.context = device;
    return trial_open(&device->trial, "replay");
}

void replay_device_close(void)
{
    trial_close();
}
