/*
 * replay_device.h: `verbfault replay --device`, scenarios on the machine's own
 * devices.
 *
 * Each scenario is one `verbfault run --device`: a process for every rank, the
 * passage (mocks/device) between it and the real library, the scenario's faults
 * planned there, the subject's own code in it (sim/live.h). What the ranks say
 * of themselves and what the run says of them make the outcome, which is
 * compared with what the file expects of the subject; where it expects nothing,
 * with what the simulator makes of the scenario.
 *
 * All ranks share one device, the first whose port is active: what leaves a
 * device comes back to it, while two devices of one machine need not reach each
 * other. (A Thunderbolt device has no way to itself: there only what ends
 * before RTR is as expected.) Subjects are cjaccl and sockets; the models know
 * the simulator's host only.
 *
 * **What a device refused.** The simulator runs the scenario first. A call that
 * the mock device refused by itself (a limit, what another process holds, a
 * missing list) is planned for the same call on the real one, as the minimizer
 * does when it names a cause. So limits are no reason to skip.
 *
 * **The side channel** is TCP, and no device: what a scenario does to it
 * (channel, peer, stray) is done to the ranks' sockets, at the same byte
 * (sim/live_net.h).
 *
 * **What is skipped**, each with one of these reasons, by name:
 *
 *   devices        no devices at all, a port that is down, one without an
 *                  address, cables of the scenario's own: the machine has what
 *                  it has
 *   time           late, where that is longer than the time-out
 *   crash          the simulated provider faults after its cable has gone
 *   recording      its answers are one device's
 *   nothing runs
 *
 * No reason to skip: profile and limits (above); order, since what is expected
 * of a subject that keeps its promises holds in every order, and processes take
 * their own. After a run the faults are not lifted to start again.
 *
 * A run says "not reached" where the simulator comes to a fault and no rank did
 * here: the n-th open of a device, when all cells name one device, or the n-th
 * poll of a process that polled less. Of a channel's faults each has to strike
 * on the rank on which it does in the simulator. Then only what breaks a
 * promise counts against it.
 *
 * A leak that the plan caused is excused where the rank says that something
 * went wrong, as in the simulator.
 *
 * Files: replay_device.c the runs; replay_skip.c the reasons; replay_rank.c
 * what each process does.
 */
#ifndef CLI_REPLAY_DEVICE_H
#define CLI_REPLAY_DEVICE_H

#include "cli/real_devices.h"
#include "cli/sweep_programs.h"

/* ---- replay_skip.c --------------------------------------------------------
 */

enum replay_skip {
    REPLAY_RUNS,
    REPLAY_DEVICES,
    REPLAY_TIME,
    REPLAY_CRASH,
    REPLAY_RECORDING,
    REPLAY_IDLE,
    REPLAY_SKIP_COUNT
};

/* Why the subject is not run on a device; what: which statement, in words. */
enum replay_skip replay_skip(const struct scn *scenario, const char *subject,
                             int64_t timeout_ms, char *what, size_t room);
/* "side channel" */
const char *replay_skip_name(enum replay_skip why);

/* ---- replay_device.c ------------------------------------------------------
 */

struct replay_device {
    struct trial_options trial;
    char device[REAL_NAME_MAX]; /* "": the first that is active */
    double seconds;             /* the time-out */
    int ranks;
    bool reached;                   /* the last run's fault, or none */
    bool told[SCN_RANKS_MAX];       /* it has given a result */
    struct sim_result *result;      /* of the run that goes on */
    struct sim_result simulated;    /* of the same scenario */
    int skipped[REPLAY_SKIP_COUNT]; /* how many, for each reason */
    int unreached;
};

/* Finds the devices and a place for files. CLI_FINE, or CLI_ENVIRONMENT after
 * one line. */
int replay_device_open(struct replay_device *device);
void replay_device_close(void);
/* Runs it. CLI_FINE; else, after a line, CLI_USAGE or CLI_ENVIRONMENT. */
int replay_device_run(struct replay_device *device, const struct scn *scenario,
                      const struct sim_subject *subject,
                      struct sim_result *result);

/* ---- replay_rank.c --------------------------------------------------------
 */

/* `verbfault replay --rank ...`: one rank. The words are replay_device.c's. */
enum {
    REPLAY_RANK_NUMBER = 2, /* in argv */
    REPLAY_RANK_SUBJECT,
    REPLAY_RANK_DEVICE,
    REPLAY_RANK_PORT,
    REPLAY_RANK_SECONDS,
    REPLAY_RANK_MEETING, /* a file that all ranks share */
    REPLAY_RANK_FILE,
    REPLAY_RANK_WORDS
};
int cli_replay_rank(int argc, char **argv);

/* A rank's last line on standard output: these words, then outcome, which
 * faults of its channel struck (hexadecimal), title and message with tabs
 * between. */
#define REPLAY_RESULT "verbfault-result\t"

/* The file that ranks meet by: zeros to begin with. */
#define REPLAY_MEETING_BYTES ((SCN_RANKS_MAX * 2 + 1) * sizeof(int))

#endif
