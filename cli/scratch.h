/*
 * scratch.h: the folder of a command that starts one run after the other.
 *
 * Whoever is killed removes nothing any more. So a child is made with the
 * folder, the sitter, which sees at the end of a pipe that the command is gone,
 * however it went: it ends the run that goes on, waits for it, and removes the
 * folder with all that is in it. A command that ends by itself has the sitter
 * do the same. Each child that is a run tells the sitter who it is.
 *
 * There is one such folder in a process.
 */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H

#include <stddef.h>

/* Makes $TMPDIR/verbfault-WORD-XXXXXX; CLI_FINE, or CLI_ENVIRONMENT after a
 * line of `verbfault WORD`. */
int cli_scratch_open(const char *word, char *path, size_t room);
/* In a child that is about to become a run. */
void cli_scratch_run(void);
/* The run has ended, and was waited for. */
void cli_scratch_idle(void);
/* Removes the folder. Nothing without one. */
void cli_scratch_close(void);
/* Removes a folder and all that is in it. */
void cli_scratch_remove(const char *directory);

#endif
