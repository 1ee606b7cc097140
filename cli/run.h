/*
 * run.h: `verbfault run`, real processes on a shared world.
 *
 * Three kinds of processes are at work:
 *
 *   front    the process that was started. It reads the options, builds the
 *            world, forks the keeper, passes it signals and waits for it
 *   keeper   holds the room (verbfault/room.h), starts the ranks, moves their
 *            output, prints reports, ends what is to be ended. It is in a
 *            session of its own, so a terminal's Ctrl-C reaches it only through
 *            the front
 *   ranks    each in a process group of its own
 *
 * Nothing that was started survives, whoever dies how. A rank that dies is the
 * keeper's business. When the front dies, even by SIGKILL, the keeper's pipe
 * to it ends and the keeper kills everything at once. When the keeper dies,
 * the front does. Where the system lets them (Linux), front and keeper are
 * subreapers: a process that has left its rank's group, session and parent is
 * still their descendant and is found; and should both die together, each rank
 * is killed as its parent dies. Shared memory and device files have no name
 * there, so they go by themselves.
 *
 * The keeper is one loop around poll(): output of the ranks, signals through a
 * pipe to itself, the front's pipe, what can be written. Its own output is
 * queued and written when that does not block, so that a slow reader slows the
 * ranks, not the deadlines.
 *
 * With --device the world has machines and plans and no devices: the library
 * over the machine's own takes libverbfault's place in the ranks
 * (mocks/device), and its variables are VERBFAULT_DEVICE_..., so that such a
 * run may itself be a rank of a run over the mock.
 *
 * Files: run.c options; run_world.c the world; run_device.c that of --device;
 * run_program.c the command and whether the library can reach it; run_library.c
 * where the library is; run_jaccl.c JACCL's device file; run_environment.c a
 * rank's environment; run_guard.c front and keeper; run_keeper.c the keeper's
 * life; run_spawn.c how a rank starts; run_end.c how it is made to end;
 * run_output.c lines; run_report.c what is said; run_signal.c signals as
 * events; run_linux.c and run_posix.c what differs between systems (CMake picks
 * one).
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "verbfault/room.h"
#include "verbfault/world.h"

#define RUN_RANKS_MAX VF_MACHINE_MAX
#define RUN_PATH_MAX 4096
#define RUN_FILE_MAX 256 /* a device file's path */

struct run_options {
    int ranks;                        /* 0: not given */
    const struct vf_profile *profile; /* NULL: not given */
    const char *scenario;             /* NULL: none */
    const char *trace;                /* NULL: none */
    bool device;                      /* real ones */
    bool keep_going, leaks, copy_twice;
    bool record;     /* trace is FILE.part of a recording: cli/record.h */
    bool keep_names; /* of a recording */
    int64_t grace, timeout; /* milliseconds; timeout -1: none */
    char **command;         /* ends in NULL */
};

/* ---- run_world.c: the world ---------------------------------------------- */

struct run_setup {
    int ranks; /* processes to start; the world may have more machines */
    struct vf_world *world;
    const struct vf_profile *profile; /* without a scenario */
    bool from_scenario;
    struct cli_file file; /* from_scenario: as it was read, and ... */
    struct scn complete;  /* ... with the defaults filled in */
};

/* Builds the world of a scenario or of the defaults. CLI_FINE, or another code
 * after one line on standard error. */
int run_setup(const struct run_options *options, struct run_setup *setup);
void run_setup_end(struct run_setup *setup);
/* The same of a scenario with the defaults filled in; CLI_FINE, or CLI_USAGE
 * after one line. */
int run_fill_in(struct run_setup *setup);
/* The faults of the rank; 0, or -1: too many. */
int run_add_plan(struct run_setup *setup, int rank);
/* run_device.c: machines with plans, for --device. */
int run_device_world(const struct run_options *options,
                     struct run_setup *setup);
/* The device of a rank without a scenario that leads to a peer. */
void run_device_name(const struct run_setup *setup, int rank, int peer,
                     char name[VF_NAME_MAX]);
/* Does the scenario say that the rank has no verbs library? */
bool run_library_absent(const struct run_setup *setup, int rank);

/* run.c: runs the command in that world, to its end; the run's exit code.
 * options->trace becomes an absolute path. */
int run_execute(struct run_options *options, struct run_setup *setup);

/* ---- run_program.c: the command ------------------------------------------ */

struct run_program {
    char path[RUN_PATH_MAX];
    bool needs_rdmacm;
    char runtime[64]; /* a sanitizer's shared runtime that it needs, or "" */
};

/* Looks name up as a shell does, and whether a preloaded library can reach the
 * program. CLI_FINE, or CLI_USAGE after one line. */
int run_program_find(struct run_program *program, const char *name);

/* ---- run_library.c: libverbfault ----------------------------------------- */

struct run_library {
    char file[RUN_PATH_MAX];          /* to preload */
    char path[2 * RUN_PATH_MAX + 16]; /* directories for the loader */
};

/* $VERBFAULT_LIBRARY, or lib/ beside the command; the one over real devices, or
 * the mock's. CLI_FINE, or CLI_ENVIRONMENT after one line. */
int run_library_find(struct run_library *library, bool device);

/* ---- run_jaccl.c: what JACCL reads --------------------------------------- */

/* The device file of a rank as JSON, malloc'ed; NULL: memory is out. */
char *run_device_file(const struct run_setup *setup, int rank);
/* A TCP port on 127.0.0.1 that is free now, or -1. */
int run_free_port(void);
/* What the rank is told as coordinator. */
void run_coordinator(const struct run_setup *setup, int rank, int port,
                     char *text, size_t room);
/* The value of a setting on a rank; without a scenario the default. */
int run_setting(const struct run_setup *setup, int rank, enum scn_setting what);

/* ---- run_environment.c: a list of NAME=VALUE ------------------------------
 */

struct run_environment {
    char **entries; /* ends in NULL; each malloc'ed */
    size_t count;
    bool failed; /* memory ran out; sticky */
};

/* Starts with a copy of from. */
void run_environment_open(struct run_environment *environment, char **from);
void run_environment_close(struct run_environment *environment);
void run_environment_set(struct run_environment *environment, const char *name,
                         const char *value);
/* value, then separator and the old value if there is one. */
void run_environment_prepend(struct run_environment *environment,
                             const char *name, const char *value,
                             char separator);
/* The old value and separator if there is one, then value. */
void run_environment_append(struct run_environment *environment,
                            const char *name, const char *value,
                            char separator);
/* argv with {rank} and {ranks} replaced, malloc'ed as a whole; NULL: memory. */
char **run_arguments(char **argv, int rank, int ranks);
void run_arguments_free(char **argv);

/* ---- run_output.c: lines ---------------------------------------------------
 */

enum run_to { RUN_STDOUT, RUN_STDERR };

/* Bytes on their way to standard output or standard error. */
struct run_sink {
    int fd;
    bool colour;
    bool regular; /* a file: writing does not block */
    bool broken;  /* nobody reads any more */
    char *data;
    size_t start, end, room;
};

/* Both sinks. Where they are one file, one queue serves both: then lines of
 * the two never mix, and keep their order. */
struct run_output {
    struct run_sink sinks[2];
    struct run_sink *to[2];
};

void run_output_open(struct run_output *output);
void run_output_close(struct run_output *output);
/* A line (without its newline) of a rank; rank -1: no prefix. */
void run_output_line(struct run_output *output, enum run_to to, int rank,
                     const char *line, size_t length);
/* A line on standard error that begins with "verbfault run: ". */
void run_say(struct run_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes what can be written without waiting. */
void run_output_write(struct run_output *output);
/* Where to wait for more room: fills at most 2, answers how many. */
int run_output_polls(const struct run_output *output, struct pollfd *polls);
/* So much waits that the ranks should wait too. */
bool run_output_full(const struct run_output *output);

/* What a rank writes: complete lines go on, the rest is kept. */
struct run_stream {
    int fd; /* -1: at its end */
    char *part;
    size_t length, room;
};

/* Reads once; closes the stream at its end, with its last line. false: there
 * is nothing more to read now. */
bool run_stream_read(struct run_stream *stream, struct run_output *output,
                     enum run_to to, int rank);
/* What is left of a line becomes one; the stream is closed. */
void run_stream_close(struct run_stream *stream, struct run_output *output,
                      enum run_to to, int rank);

/* ---- run_signal.c: signals as events ---------------------------------------
 */

/* What was in force before verbfault changed it: the ranks get it back. */
void run_signal_save(void);
void run_signal_restore(void);
/* From now on signals are bytes on a pipe, whose reading end is answered; -1:
 * errno. SIGINT and SIGHUP stay ignored if they were. */
int run_signal_open(void);
/* The next signal that came, or 0. */
int run_signal_next(void);
/* "SIGSEGV"; text has room for 32. */
const char *run_signal_name(int number, char *text);

/* ---- run_linux.c, run_posix.c: systems --------------------------------------
 */

/* Orphans among the descendants become children of this process. */
void run_os_adopt(void);
/* This process is killed when its parent, which is `parent`, dies. */
void run_os_die_with(pid_t parent);
/* Sends a signal to every live descendant of this process but those below
 * `spare` (the children it had before); where descendants cannot be told, to
 * the groups instead. Answers to how many; signal 0 only counts. */
int run_os_signal_all(int signal, const pid_t *groups, int group_count,
                      const pid_t *spare, int spare_count);
/* The children of this process, at most room. */
int run_os_children(pid_t *pids, int room);
/* A file with this text, for other processes of this user to open by path. *fd
 * keeps it, or is -1: then the path is a name to unlink. -1: errno. */
int run_os_file(const char *text, size_t length, char path[RUN_FILE_MAX],
                int *fd);
/* Where this program's file is; false: not known. */
bool run_os_executable(char path[RUN_PATH_MAX]);
/* Another name of the folder, without a blank or a colon, for as long as this
 * process lives; false: there is none. */
bool run_os_plain_folder(const char *folder, char name[RUN_PATH_MAX]);
/* How the loader is told, and how a library's name ends. */
extern const char *const run_os_preload, *const run_os_library_path,
                                             *const run_os_library_suffix;

/* ---- run_guard.c: front and keeper ------------------------------------------
 */

/* What the front needs should the keeper die: in memory that both share. */
struct run_shared {
    pid_t groups[RUN_RANKS_MAX];             /* 0: none */
    char files[RUN_RANKS_MAX][RUN_FILE_MAX]; /* to unlink; "": none */
};

/* Runs keep() in the keeper and answers its exit code. front is the reading
 * end of a pipe that ends when the front dies. */
int run_guarded(int (*keep)(void *context, int front,
                            struct run_shared *shared),
                void *context);
void run_unlink_files(struct run_shared *shared);

/* ---- run_keeper.c: the keeper
 * ------------------------------------------------ */

struct run_rank {
    pid_t pid; /* also its group; 0: never started */
    bool running;
    bool made_to_end; /* a signal of verbfault's came before its end */
    int status;       /* waitpid's, once it does not run */
    unsigned findings;
    struct run_stream streams[2];
};

enum run_stage { RUN_GOING, RUN_INTERRUPT, RUN_TERMINATE, RUN_KILL };

/* A report that was printed before is only counted. */
struct run_seen {
    int machine;
    char title[sizeof((struct vf_report *)NULL)->title];
    unsigned count;
};
#define RUN_SEEN_MAX 64

struct run {
    const struct run_options *options;
    const struct run_setup *setup;
    const struct run_program *program;
    const struct run_library *library;
    struct run_shared *shared;
    struct vf_room *room;
    char room_path[VF_ROOM_PATH_MAX];
    struct run_output output;
    struct run_rank ranks[RUN_RANKS_MAX];
    struct run_seen seen[RUN_SEEN_MAX];
    int seen_count;
    int device_files[RUN_RANKS_MAX]; /* descriptors, -1: none */
    int port;
    int running;
    bool children;  /* there are processes to wait for */
    bool cut_short; /* interrupted, out of time, or its output is gone */
    bool front_died;
    bool failed_start; /* that has been said; the rest is of no interest */
    enum run_stage stage;
    /* Milliseconds of run_now(); -1: not set. */
    int64_t stage_since, stage_ends;
    int64_t grace_ends, timeout_at, strays_at, give_up_at;
};

/* For run_guarded: context is a struct run with the first four members set. */
int run_keep(void *context, int front, struct run_shared *shared);
/* Monotonic time in milliseconds. */
int64_t run_now(void);

/* ---- run_spawn.c
 * --------------------------------------------------------------- */

/* Starts every rank. CLI_FINE; else, after one line, CLI_USAGE (it cannot be
 * executed) or CLI_ENVIRONMENT; ranks may run then. */
int run_spawn(struct run *run);

/* ---- run_end.c
 * ------------------------------------------------------------------ */

/* Makes everything end, from this stage on: a signal to every rank, and the
 * next stage when its time is over. An earlier stage than now: nothing. */
void run_end(struct run *run, enum run_stage stage);
/* The signal that came to the keeper. */
void run_end_on_signal(struct run *run, int number);
/* Does what is due at now. false: what is left cannot be ended. */
bool run_end_when_due(struct run *run, int64_t now);

/* ---- run_report.c
 * ---------------------------------------------------------------- */

/* Prints the reports that have come. */
void run_reports(struct run *run);
/* Says how a rank died, if it did not exit. */
void run_report_death(struct run *run, int rank);
/* The last lines: what became of each rank unless all is fine, and notes.
 * Answers the exit code. */
int run_report_all(struct run *run);
/* Did the rank end other than by exit status 0? */
bool run_rank_failed(const struct run_rank *rank);
/* "0 to 3, 7": the ranks for which is() holds; answers how many. */
int run_list_ranks(const struct run *run,
                   bool (*is)(const struct run *run, int rank), char *text,
                   size_t room);

#endif
