/* verbfault replay --device: what the process of one rank does. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/replay_device.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim/live.h"

/* Where ranks meet, in memory that they share. */
struct meeting {
    atomic_int times[SCN_RANKS_MAX]; /* that the rank has come */
    atomic_int pid[SCN_RANKS_MAX];   /* 0: it has not started yet */
    atomic_int door;                 /* the last start in which it was opened */
};

struct self {
    struct meeting *meeting;
    struct sim_live live;
    struct sim_result result;
    int ranks;
    bool waited_for; /* a rank is to stop for ever: run's grace ends it, which
                        begins when another ends with a failure */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- meeting ---------------------------------------------------------------
 */

/* Has the rank come that often, or will it come no more? */
static bool has_come(const struct self *self, int rank, int times)
{
    int pid = atomic_load(&self->meeting->pid[rank]);
    if (atomic_load(&self->meeting->times[rank]) >= times)
        return true;
    return pid != 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

/* One that stopped for ever is waited for until the time is over. */
static void meet(void *context)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    struct self *self = context;
    int own = self->live.rank;
    int times = atomic_fetch_add(&self->meeting->times[own], 1) + 1;
    int64_t until = now_ms() + self->live.timeout / 1000000;
    for (int rank = 0; rank < self->ranks; rank++)
        while (!has_come(self, rank, times) && now_ms() < until)
            nanosleep(&moment, NULL);
}

/* How often the rank has come is which start it is in. */
static int own_start(const struct self *self)
{
    return atomic_load(&self->meeting->times[self->live.rank]);
}

static void open_door(void *context)
{
    const struct self *self = context;
    atomic_store(&self->meeting->door, own_start(self));
}

static bool is_door_open(void *context)
{
    const struct self *self = context;
    return atomic_load(&self->meeting->door) >= own_start(self);
}

/* NULL after one line. */
static struct meeting *open_meeting(const char *path, int rank)
{
    struct meeting *meeting = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    _Static_assert(sizeof *meeting <= REPLAY_MEETING_BYTES, "a larger file");
    if (fd >= 0)
        meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE,
                       MAP_SHARED, fd, 0);
    if (meeting == MAP_FAILED) {
        fprintf(stderr, "verbfault replay: %s: %s\n", path, strerror(errno));
        meeting = NULL;
    } else {
        atomic_store(&meeting->pid[rank], (int)getpid());
    }
    if (fd >= 0)
        close(fd);
    return meeting;
}

/* ---- its end ----------------------------------------------------------------
 */

static void tell(const struct self *self)
{
    const struct sim_rank_result *result = &self->result.rank[self->live.rank];
    printf(REPLAY_RESULT "%s\t%x\t%s\t%s\n", scn_outcome_name(result->outcome),
           result->channel_struck, result->title, result->message);
    fflush(stdout);
}

static int exit_code(const struct self *self)
{
    return self->waited_for ? CLI_FINDINGS : CLI_FINE;
}

static void stop(void *context, bool hangs)
{
    const struct self *self = context;
    tell(self);
    while (hangs)
        pause();
    exit(exit_code(self));
}

static bool stops_for_ever(const struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_FAULT &&
            scenario->statements[i].u.fault.effect == VF_EFFECT_HANG)
            return true;
    return false;
}

int cli_replay_rank(int argc, char **argv)
{
    static struct cli_file file;
    static struct self self;
    const struct sim_subject *subject;
    enum scn_topology topology;
    struct scn_error error;
    int wires;
    if (argc != REPLAY_RANK_WORDS)
        return cli_usage("replay", "--rank is for replay --device itself");
    if (cli_subject(&subject, argv[REPLAY_RANK_SUBJECT]) != CLI_FINE ||
        cli_load(&file, argv[REPLAY_RANK_FILE]) != CLI_FINE)
        return CLI_USAGE;
    scn_topology(&file.scenario, &self.ranks, &topology, &wires);
    self.live = (struct sim_live){
        .rank = atoi(argv[REPLAY_RANK_NUMBER]),
        .device = argv[REPLAY_RANK_DEVICE],
        .port = atoi(argv[REPLAY_RANK_PORT]),
        .timeout = (int64_t)(strtod(argv[REPLAY_RANK_SECONDS], NULL) * 1e9),
        .meet = meet,
        .open_door = open_door,
        .is_door_open = is_door_open,
        .stop = stop,
        .context = &self};
    if (self.live.rank < 0 || self.live.rank >= self.ranks)
        return cli_usage("replay", "--rank %d of %d", self.live.rank,
                         self.ranks);
    self.waited_for = stops_for_ever(&file.scenario);
    self.meeting = open_meeting(argv[REPLAY_RANK_MEETING], self.live.rank);
    if (!self.meeting)
        return CLI_ENVIRONMENT;
    if (sim_live(&file.scenario, subject, &self.live, &self.result, &error) !=
        0) {
        fprintf(stderr, "%s: %s\n", file.path, error.message);
        return CLI_USAGE;
    }
    tell(&self);
    return exit_code(&self);
}
