/* verbfault run: how a rank starts. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- its environment
 * ------------------------------------------------------------- */

static void set_number(struct run_environment *environment, const char *name,
                       int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    run_environment_set(environment, name, text);
}

/* Under both of the names that JACCL knows: the first it finds counts. */
static void set_jaccl(struct run_environment *environment, const char *name,
                      const char *value)
{
    static const struct {
        const char *name, *mlx, *jaccl;
    } variables[] = {
        {"rank", "MLX_RANK", "JACCL_RANK"},
        {"devices", "MLX_IBV_DEVICES", "JACCL_IBV_DEVICES"},
        {"coordinator", "MLX_JACCL_COORDINATOR", "JACCL_COORDINATOR"},
        {"ring", "MLX_JACCL_RING", "JACCL_RING"}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (strcmp(variables[i].name, name) == 0) {
            run_environment_set(environment, variables[i].mlx, value);
            run_environment_set(environment, variables[i].jaccl, value);
        }
}

/* The rank's device file; 0, or -1 with errno. */
static int give_device_file(struct run *run, int rank,
                            struct run_environment *environment)
{
    char path[RUN_FILE_MAX];
    char *text = run_device_file(run->setup, rank);
    int status;
    if (!text) {
        errno = ENOMEM;
        return -1;
    }
    status = run_os_file(text, strlen(text), path, &run->device_files[rank]);
    free(text);
    if (run->device_files[rank] < 0 && path[0])
        strcpy(run->shared->files[rank], path);
    if (status == 0)
        set_jaccl(environment, "devices", path);
    return status;
}

/* How the program comes to call libverbfault. */
static void give_library(const struct run *run, int rank,
                         struct run_environment *environment)
{
    if (!run->options->device && run_library_absent(run->setup, rank))
        return;
    run_environment_prepend(environment, run_os_library_path,
                            run->library->path, ':');
    run_environment_prepend(environment, run_os_preload, run->library->file,
                            ':');
    if (run->program->runtime[0])
        run_environment_prepend(environment, run_os_preload,
                                run->program->runtime, ':');
    /* For programs that it starts: those are not looked into. */
    run_environment_append(environment, "ASAN_OPTIONS",
                           "verify_asan_link_order=0", ':');
}

/* Of a launcher's variables none is touched. Within a run over the mock the
 * rank stays that one's. */
static int make_device_environment(struct run *run, int rank,
                                   struct run_environment *environment)
{
    run_environment_set(environment, "VERBFAULT_DEVICE_ROOM", run->room_path);
    set_number(environment, "VERBFAULT_DEVICE_RANK", rank);
    if (!getenv("VERBFAULT_ROOM")) {
        set_number(environment, "VERBFAULT_RANK", rank);
        set_number(environment, "VERBFAULT_RANKS", run->setup->ranks);
    }
    give_library(run, rank, environment);
    if (!environment->failed)
        return 0;
    errno = ENOMEM;
    return -1;
}

static int make_environment(struct run *run, int rank,
                            struct run_environment *environment)
{
    char text[SCN_WORD_MAX + 32];
    run_environment_open(environment, environ);
    if (run->options->device)
        return make_device_environment(run, rank, environment);
    run_environment_set(environment, "VERBFAULT_ROOM", run->room_path);
    set_number(environment, "VERBFAULT_RANK", rank);
    set_number(environment, "VERBFAULT_RANKS", run->setup->ranks);
    give_library(run, rank, environment);
    snprintf(text, sizeof text, "%d", rank);
    set_jaccl(environment, "rank", text);
    run_coordinator(run->setup, rank, run->port, text, sizeof text);
    set_jaccl(environment, "coordinator", text);
    if (run_setting(run->setup, rank, SCN_SETTING_TOPOLOGY) == SCN_RING)
        set_jaccl(environment, "ring", "1");
    if (run_setting(run->setup, rank, SCN_SETTING_BACKEND) != 0)
        run_environment_set(environment, "CJ_BACKEND", "sockets");
    if (run_setting(run->setup, rank, SCN_SETTING_FALLBACK) != 0)
        run_environment_set(environment, "CJ_FALLBACK", "sockets");
    if (give_device_file(run, rank, environment) != 0)
        return -1;
    if (!environment->failed)
        return 0;
    errno = ENOMEM;
    return -1;
}

/* ---- its process
 * --------------------------------------------------------------------- */

/* What a new process is made of. */
struct birth {
    char **argv;
    struct run_environment environment;
    int input; /* descriptors; -1: the keeper's own */
    int writing[2];
    int errors; /* takes a struct failure */
};

struct failure {
    int rank, err_no;
};

/* A script without a first line that names its interpreter is the shell's. */
static void execute_as_script(const char *path, char **argv, char **environment)
{
    static char shell[] = "/bin/sh";
    size_t count = 0;
    char **all;
    while (argv[count])
        count++;
    all = calloc(count + 2, sizeof *all);
    if (!all)
        return;
    all[0] = shell;
    all[1] = (char *)(size_t)path;
    for (size_t i = 1; i < count; i++)
        all[i + 1] = argv[i];
    execve(shell, all, environment);
    free(all);
}

static void become_rank(const struct run *run, int rank, pid_t keeper,
                        const struct birth *birth)
{
    struct failure failure = {.rank = rank};
    setpgid(0, 0);
    run_os_die_with(keeper);
    if (birth->input >= 0)
        dup2(birth->input, STDIN_FILENO);
    for (int to = 0; to < 2; to++)
        if (birth->writing[to] >= 0)
            dup2(birth->writing[to],
                 to == RUN_STDOUT ? STDOUT_FILENO : STDERR_FILENO);
    run_signal_restore();
    execve(run->program->path, birth->argv, birth->environment.entries);
    failure.err_no = errno;
    if (failure.err_no == ENOEXEC)
        execute_as_script(run->program->path, birth->argv,
                          birth->environment.entries);
    if (write(birth->errors, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

/* Both ends are closed in programs that are executed. */
static int open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* One rank on a terminal of its own needs nobody to sort its lines. */
static bool keeps_terminal(const struct run *run)
{
    return run->setup->ranks == 1 && isatty(STDIN_FILENO) &&
           isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

static int open_streams(const struct run *run, struct run_rank *rank,
                        struct birth *birth)
{
    int ends[2];
    birth->writing[0] = birth->writing[1] = -1;
    for (int to = 0; to < 2 && !keeps_terminal(run); to++) {
        if (open_pipe(ends) != 0)
            return -1;
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        rank->streams[to].fd = ends[0];
        birth->writing[to] = ends[1];
    }
    return 0;
}

static int start(struct run *run, int number, struct birth *birth)
{
    struct run_rank *rank = &run->ranks[number];
    pid_t keeper = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_rank(run, number, keeper, birth);
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* whoever comes first */
    rank->pid = pid;
    rank->running = run->children = true;
    run->shared->groups[number] = pid;
    run->running++;
    return 0;
}

/* 0, or -1 with errno. */
static int spawn(struct run *run, int number, int input, int errors)
{
    struct birth birth = {.input = input, .errors = errors};
    int status = -1, kept;
    birth.argv =
        run_arguments(run->options->command, number, run->setup->ranks);
    if (!birth.argv)
        errno = ENOMEM;
    else if (make_environment(run, number, &birth.environment) == 0 &&
             open_streams(run, &run->ranks[number], &birth) == 0)
        status = start(run, number, &birth);
    kept = errno;
    for (int to = 0; birth.argv && to < 2; to++)
        if (birth.writing[to] > 0)
            close(birth.writing[to]);
    run_environment_close(&birth.environment);
    run_arguments_free(birth.argv);
    errno = kept;
    return status;
}

static int spawn_all(struct run *run, int input, int errors)
{
    for (int rank = 0; rank < run->setup->ranks; rank++)
        if (spawn(run, rank, input, errors) != 0) {
            run_say(&run->output, "rank %d cannot be started: %s", rank,
                    strerror(errno));
            return CLI_ENVIRONMENT;
        }
    return CLI_FINE;
}

/* The pipe ends when every rank executes its program, or has failed to. */
static int failures(struct run *run, int errors)
{
    struct failure failure;
    ssize_t got;
    do
        got = read(errors, &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof failure)
        return CLI_FINE;
    run_say(&run->output, "%s: cannot be executed: %s%s", run->program->path,
            strerror(failure.err_no),
            failure.err_no == ENOENT ? " (its interpreter)" : "");
    return CLI_USAGE;
}

int run_spawn(struct run *run)
{
    int errors[2] = {-1, -1}, input = -1, code = CLI_ENVIRONMENT;
    run->port = run_free_port();
    if (run->setup->ranks > 1)
        input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (run->port < 0 || (run->setup->ranks > 1 && input < 0) ||
        open_pipe(errors) != 0)
        run_say(&run->output, "%s", strerror(errno));
    else
        code = spawn_all(run, input, errors[1]);
    if (errors[1] >= 0)
        close(errors[1]);
    if (input >= 0)
        close(input);
    if (code == CLI_FINE)
        code = failures(run, errors[0]);
    if (errors[0] >= 0)
        close(errors[0]);
    return code;
}
