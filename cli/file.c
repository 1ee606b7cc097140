/* Files that are whole or not there. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _XOPEN_SOURCE 700 /* realpath, mkstemp */
#endif

#include "cli/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define FRESH ".XXXXXX" /* mkstemp's */

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

int cli_file_refuse(const char *who, const char *path, int err)
{
    fprintf(stderr, "%s: %s: cannot be written%s%s\n", who,
            is_stdout(path) ? "standard output" : path, err ? ": " : "",
            err ? strerror(err) : "");
    return CLI_ENVIRONMENT;
}

/* ---- where it goes ------------------------------------------------------- */

/* What is there, if anything: its mode is 0 for nothing. false: nothing can be
 * written there, errno says why. */
static bool look_at(const char *path, struct stat *there)
{
    if (*path == '\0') {
        errno = ENOENT;
        return false;
    }
    if (stat(path, there) != 0) {
        there->st_mode = 0;
        return errno == ENOENT; /* a folder of it may be missing, too */
    }
    if (S_ISDIR(there->st_mode)) {
        errno = EISDIR;
        return false;
    }
    return access(path, W_OK) == 0;
}

/* Is it written beside its place, or in it? What is open already (/dev/stdout)
 * is not replaced. */
static bool is_plain(const char *path, mode_t mode)
{
    struct stat link;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
        return false;
    if (mode != 0)
        return S_ISREG(mode);
    /* A link to nothing makes what it leads to. */
    return lstat(path, &link) != 0;
}

/* As the old file was, or as new ones are. false: errno. */
static bool make_alike(int fd, const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    if (old->st_mode == 0)
        return fchmod(fd, 0666 & ~mask) == 0;
    if (old->st_uid != geteuid() && fchown(fd, old->st_uid, old->st_gid) != 0)
        return false;
    return fchmod(fd, old->st_mode & 0777) == 0;
}

/* A new file beside the place, open; -1: errno. */
static int open_beside(struct cli_written *file, const struct stat *old)
{
    size_t length = strlen(file->place);
    int fd, err;
    file->fresh = malloc(length + sizeof FRESH);
    if (!file->fresh)
        return -1;
    memcpy(file->fresh, file->place, length);
    memcpy(file->fresh + length, FRESH, sizeof FRESH);
    fd = mkstemp(file->fresh);
    if (fd >= 0 && make_alike(fd, old))
        return fd;
    err = errno;
    if (fd >= 0) {
        close(fd);
        unlink(file->fresh);
    }
    free(file->fresh);
    file->fresh = NULL;
    errno = err;
    return -1;
}

static bool is_no_room_beside(int err)
{
    return err == EACCES || err == EPERM || err == EROFS || err == ENAMETOOLONG;
}

/* Its descriptor; -1: it is written in its place; -2: errno. */
static int begin_beside(struct cli_written *file, const char *path)
{
    struct stat old;
    bool plain;
    int fd;
    if (!look_at(path, &old))
        return -2;
    plain = is_plain(path, old.st_mode);
    /* The file that a link leads to is replaced, not the link. */
    file->place =
        plain && old.st_mode != 0 ? realpath(path, NULL) : strdup(path);
    if (!file->place)
        return -2;
    if (!plain)
        return -1;
    fd = open_beside(file, &old);
    if (fd >= 0)
        return fd;
    return old.st_mode != 0 && is_no_room_beside(errno) ? -1 : -2;
}

/* ---- its life ------------------------------------------------------------ */

static void forget(struct cli_written *file)
{
    free(file->fresh);
    free(file->place);
    file->fresh = file->place = NULL;
    file->stream = NULL;
}

FILE *cli_file_begin(struct cli_written *file, const char *path)
{
    int fd;
    memset(file, 0, sizeof *file);
    file->path = path;
    if (is_stdout(path)) {
        file->stream = stdout;
        return stdout;
    }
    fd = begin_beside(file, path);
    if (fd >= 0)
        file->stream = fdopen(fd, "w");
    else if (fd == -1)
        file->stream = fopen(file->place, "w");
    if (!file->stream)
        file->err = errno;
    return file->stream;
}

static bool put_in_place(struct cli_written *file)
{
    if (!file->fresh)
        return true;
    if (rename(file->fresh, file->place) != 0)
        return false;
    free(file->fresh);
    file->fresh = NULL;
    return true;
}

bool cli_file_settle(struct cli_written *file)
{
    return fflush(file->stream) == 0 && !ferror(file->stream) &&
           put_in_place(file);
}

/* false: errno, which is that of a write that failed before, if one did. */
static bool close_stream(struct cli_written *file)
{
    bool failed = ferror(file->stream) != 0;
    int err = errno, status;
    status = file->stream == stdout ? fflush(stdout) : fclose(file->stream);
    if (failed && status == 0)
        errno = err;
    return !failed && status == 0;
}

int cli_file_end(struct cli_written *file, const char *who, bool whole)
{
    bool good = file->stream && close_stream(file);
    int err = file->stream ? errno : file->err;
    if (good && whole) {
        good = put_in_place(file);
        err = errno;
    } else if (good) {
        good = false;
        err = 0;
    }
    if (!good && file->fresh)
        unlink(file->fresh);
    if (!good)
        cli_file_refuse(who, file->path, err);
    forget(file);
    return good ? CLI_FINE : CLI_ENVIRONMENT;
}

/* ---- before a run -------------------------------------------------------- */

int cli_file_check(const char *who, const char *path)
{
    struct cli_written file;
    int fd, err;
    memset(&file, 0, sizeof file);
    if (!path || is_stdout(path))
        return CLI_FINE;
    fd = begin_beside(&file, path);
    err = errno;
    if (fd >= 0) {
        close(fd);
        unlink(file.fresh);
    }
    forget(&file);
    return fd == -2 ? cli_file_refuse(who, path, err) : CLI_FINE;
}

/* The same file under whatever names. */
static bool is_same(const char *a, const char *b)
{
    struct stat one, other;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* What this command is to write, for cli_file_is_output(). */
static const char *outputs[8];
static int output_count;

static void note_output(const char *path)
{
    int room = (int)(sizeof outputs / sizeof *outputs);
    if (path && !is_stdout(path) && output_count < room)
        outputs[output_count++] = path;
}

bool cli_file_is_output(const char *path)
{
    for (int i = 0; i < output_count; i++)
        if (is_same(outputs[i], path))
            return true;
    return false;
}

/* A new file has no number yet: it is made for the question, and goes again. */
static bool would_be_same(const char *a, const char *b)
{
    struct stat there;
    const char *name = a;
    FILE *made;
    bool same;
    if (is_stdout(a) || is_stdout(b) || stat(a, &there) == 0 ||
        stat(b, &there) == 0)
        return is_same(a, b);
    made = fopen(name, "wx");
    if (!made) { /* a link, perhaps to the other */
        name = b;
        made = fopen(name, "wx");
    }
    same = is_same(a, b);
    if (made) {
        fclose(made);
        unlink(name);
    }
    return same;
}

int cli_file_check_all(const char *subcommand, const char *const *paths,
                       int count)
{
    char who[64];
    int code = CLI_FINE;
    snprintf(who, sizeof who, "verbfault %s", subcommand);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (paths[i] && paths[k] && would_be_same(paths[i], paths[k]))
                return is_stdout(paths[i])
                           ? cli_usage(subcommand,
                                       "standard output is for one of them")
                           : cli_usage(subcommand, "%s is for one of them",
                                       paths[i]);
    for (int i = 0; i < count && code == CLI_FINE; i++) {
        code = cli_file_check(who, paths[i]);
        note_output(paths[i]);
    }
    return code;
}

int cli_file_check_folder(const char *who, const char *path)
{
    struct stat there;
    if (!path)
        return CLI_FINE;
    if (stat(path, &there) == 0) {
        if (S_ISDIR(there.st_mode) && access(path, W_OK | X_OK) == 0)
            return CLI_FINE;
        return cli_file_refuse(who, path,
                               S_ISDIR(there.st_mode) ? errno : ENOTDIR);
    }
    if (errno == ENOENT && mkdir(path, 0777) == 0) {
        rmdir(path);
        return CLI_FINE;
    }
    return cli_file_refuse(who, path, errno);
}
