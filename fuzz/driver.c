/*
 * driver.c: replays files through a fuzz target, without libFuzzer.
 *
 *   replay_TARGET FILE_OR_DIRECTORY...
 *
 * Each file is one input; a directory is replayed file by file, in the order
 * of names. A finding ends the process as it would under libFuzzer, with the
 * file's name as the last line on standard error. Exit 0: no finding.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_MAX ((size_t)1 << 20)

static const char *current = "";

static void say_current(void)
{
    if (*current)
        fprintf(stderr, "replay: while replaying %s\n", current);
}

static bool replay_file(const char *path)
{
    static uint8_t buffer[FILE_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;
    uint8_t *exact;
    if (!file) {
        fprintf(stderr, "replay: %s: cannot be read\n", path);
        return false;
    }
    size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    /* A block of exactly this size: reading past it is seen. */
    exact = malloc(size ? size : 1);
    if (!exact)
        return false;
    memcpy(exact, buffer, size);
    current = path;
    fprintf(stderr, "replay: %s\n", path);
    LLVMFuzzerTestOneInput(exact, size);
    current = "";
    free(exact);
    return true;
}

static bool replay(const char *path);

static bool replay_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool fine = count >= 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        if (entries[i]->d_name[0] != '.') {
            snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
            fine = replay(inner) && fine;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return fine;
}

static bool replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return replay_directory(path);
    return replay_file(path);
}

int main(int argc, char **argv)
{
    bool fine = true;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE_OR_DIRECTORY...\n", argv[0]);
        return 2;
    }
    atexit(say_current);
    for (int i = 1; i < argc; i++)
        fine = replay(argv[i]) && fine;
    return fine ? 0 : 2;
}
