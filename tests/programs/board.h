/*
 * board.h: what test programs of several ranks tell each other.
 *
 * A board is a file that every rank maps: a row for each rank's addresses, and
 * counters. Its path is an argument of the program, and each run wants a new
 * one. Who is a rank, and of how many, is what `verbfault run` put into the
 * environment.
 */
#ifndef PROGRAMS_BOARD_H
#define PROGRAMS_BOARD_H

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOARD_RANKS 64

struct board_row {
    _Atomic int32_t pid;       /* 0: has not come yet */
    _Atomic uint32_t progress; /* up to the program */
    union ibv_gid gid;
    uint64_t address;             /* of memory that peers may use, */
    uint32_t rkey;                /* and its key */
    uint32_t number[BOARD_RANKS]; /* queue pair for each peer */
};

struct board {
    _Atomic uint32_t arrived; /* at barriers, by all ranks together */
    struct board_row rows[BOARD_RANKS];
};

static inline int board_number(const char *variable)
{
    const char *text = getenv(variable);

    return text ? atoi(text) : -1;
}

static inline struct board *board_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    void *memory = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)sizeof(struct board)) == 0)
        memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    return memory;
}

/* All ranks have come so far. Each counts its own barriers in *passed. */
static inline void board_barrier(struct board *board, int ranks,
                                 uint32_t *passed)
{
    uint32_t all = ++*passed * (uint32_t)ranks;

    atomic_fetch_add(&board->arrived, 1);
    while ((int32_t)(atomic_load(&board->arrived) - all) < 0)
        sched_yield();
}

#endif
