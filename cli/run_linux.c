/* verbfault run: what only Linux has. */
#define _GNU_SOURCE

#include "cli/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

const char *const run_os_preload = "LD_PRELOAD";
const char *const run_os_library_path = "LD_LIBRARY_PATH";
const char *const run_os_library_suffix = ".so";

bool run_os_plain_folder(const char *folder, char name[RUN_PATH_MAX])
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(name, RUN_PATH_MAX, "/proc/%ld/fd/%d", (long)getpid(), fd);
    return true;
}

void run_os_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void run_os_die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) /* it died before that */
        _exit(1);
}

/* ---- all processes, with their parents
 * ----------------------------------------- */

struct process {
    pid_t pid, parent;
    bool dead; /* only its status is left */
};

struct processes {
    struct process *list;
    int count, room;
};

/* Of "pid (any name) state ppid ...". */
static bool read_process(pid_t pid, struct process *process)
{
    char path[32], text[512];
    const char *after;
    char state;
    int parent, fd;
    ssize_t length;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    after = strrchr(text, ')');
    if (!after || sscanf(after + 1, " %c %d", &state, &parent) != 2)
        return false;
    process->pid = pid;
    process->parent = (pid_t)parent;
    process->dead = state == 'Z' || state == 'X';
    return true;
}

static bool add(struct processes *all, const struct process *process)
{
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 256;
        struct process *larger =
            realloc(all->list, (size_t)room * sizeof *larger);
        if (!larger)
            return false;
        all->list = larger;
        all->room = room;
    }
    all->list[all->count++] = *process;
    return true;
}

static void read_all(struct processes *all)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    struct process process;
    memset(all, 0, sizeof *all);
    if (!directory)
        return;
    while ((entry = readdir(directory)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && read_process((pid_t)pid, &process) &&
            !add(all, &process))
            break;
    }
    closedir(directory);
}

static const struct process *find(const struct processes *all, pid_t pid)
{
    for (int i = 0; i < all->count; i++)
        if (all->list[i].pid == pid)
            return &all->list[i];
    return NULL;
}

static bool is_among(pid_t pid, const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* Up from the process to this one, past nobody who is spared. The list is not
 * of one moment: a loop in it must not be followed for ever. */
static bool is_below_me(const struct processes *all,
                        const struct process *process, const pid_t *spare,
                        int spare_count)
{
    pid_t me = getpid();
    for (int steps = 0; process && steps < all->count; steps++) {
        if (is_among(process->pid, spare, spare_count))
            return false;
        if (process->parent == me)
            return true;
        process = find(all, process->parent);
    }
    return false;
}

int run_os_signal_all(int signal, const pid_t *groups, int group_count,
                      const pid_t *spare, int spare_count)
{
    struct processes all;
    int count = 0;
    (void)groups;
    (void)group_count;
    read_all(&all);
    for (int i = 0; i < all.count; i++)
        if (!all.list[i].dead &&
            is_below_me(&all, &all.list[i], spare, spare_count) &&
            kill(all.list[i].pid, signal) == 0)
            count++;
    free(all.list);
    return count;
}

int run_os_children(pid_t *pids, int room)
{
    struct processes all;
    int count = 0;
    read_all(&all);
    for (int i = 0; i < all.count && count < room; i++)
        if (all.list[i].parent == getpid())
            pids[count++] = all.list[i].pid;
    free(all.list);
    return count;
}

/* ---- files
 * -------------------------------------------------------------------------- */

int run_os_file(const char *text, size_t length, char path[RUN_FILE_MAX],
                int *fd)
{
    *fd = memfd_create("verbfault-devices", MFD_CLOEXEC);
    if (*fd < 0)
        return -1;
    if (write(*fd, text, length) != (ssize_t)length) {
        close(*fd);
        *fd = -1;
        return -1;
    }
    snprintf(path, RUN_FILE_MAX, "/proc/%ld/fd/%d", (long)getpid(), *fd);
    return 0;
}

bool run_os_executable(char path[RUN_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, RUN_PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return true;
}
