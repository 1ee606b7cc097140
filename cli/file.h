/*
 * file.h: the files that a command writes.
 *
 * Who has run for an hour wants its results: so a command asks, before it runs
 * anything, whether each file that it is to write can be written, and says so
 * in one line if not, as all commands do: the file, the system's words for the
 * reason, exit code CLI_ENVIRONMENT. What is asked changes nothing.
 *
 * A file is written beside its place and renamed into it when it is whole, so
 * there is the old one or the new one, never half of one. What is no ordinary
 * file (/dev/stdout, a pipe), or lies in a folder that takes no new files, is
 * written in its place. A symbolic link keeps leading where it led; a new file
 * has the old one's permissions.
 *
 *   struct cli_written file;
 *   if (cli_file_check(who, path) != CLI_FINE) ...      before the run
 *   stream = cli_file_begin(&file, path);               NULL: end tells why
 *   ...
 *   code = cli_file_end(&file, who, whole);
 *
 * who is what the line begins with: "verbfault sweep". The path `-` is standard
 * output, NULL is no file at all.
 */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct cli_written {
    FILE *stream;
    const char *path;
    char *place; /* where it goes: the path, or what it links to; malloc'ed */
    char *fresh; /* what is renamed; NULL: it is written in its place */
    int err;     /* errno: why it could not be begun */
};

/* CLI_FINE, or CLI_ENVIRONMENT after a line. */
int cli_file_check(const char *who, const char *path);
/* The same of all files of a subcommand; NULLs are left out. Two that are the
 * same, under whatever names: CLI_USAGE. The strings stay. */
int cli_file_check_all(const char *subcommand, const char *const *paths,
                       int count);
/* Is it one of those? Then it is not to be read as well. */
bool cli_file_is_output(const char *path);
/* The same of a folder that is to be made or filled. */
int cli_file_check_folder(const char *who, const char *path);
/* The stream to write to; NULL: it cannot be, which cli_file_end() tells. */
FILE *cli_file_begin(struct cli_written *file, const char *path);
/* What was written so far is whole: it goes into its place, and what is written
 * from now on is added there. false: errno. */
bool cli_file_settle(struct cli_written *file);
/* Closes it. whole: all of it was written as it should be (else the old file
 * stays). CLI_FINE, or CLI_ENVIRONMENT after a line. */
int cli_file_end(struct cli_written *file, const char *who, bool whole);
/* The line: "WHO: PATH: cannot be written: ...", of this errno; answers
 * CLI_ENVIRONMENT. */
int cli_file_refuse(const char *who, const char *path, int err);

#endif
