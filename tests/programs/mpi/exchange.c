/*
 * An MPI program for tests/programs.sh: every pair of neighbours exchanges
 * messages of 0 bytes to 1 MiB, then all sum up; whatever is not exact ends it
 * with status 1. Built by the test with mpicc, where that is installed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (1 << 20)

static unsigned char pattern(int rank, int length, int at)
{
    return (unsigned char)(rank * 31 + length * 7 + at);
}

/* To the next rank, from the one before; 1 if what came is not what was sent */
static int exchange(int rank, int ranks, int length, unsigned char *out,
                    unsigned char *in)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

    for (int i = 0; i < length; i++)
        out[i] = pattern(rank, length, i);
    memset(in, 0, LONGEST);
    MPI_Sendrecv(out, length, MPI_BYTE, next, length, in, length, MPI_BYTE,
                 before, length, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++)
        if (in[i] != pattern(before, length, i)) {
            fprintf(stderr, "rank %d: byte %d of %d is wrong\n", rank, i,
                    length);
            return 1;
        }
    return 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all = 0;
    long sum = 0, mine;
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    wrong |= exchange(rank, ranks, 0, out, in);
    for (int length = 1; length <= LONGEST; length *= 4)
        wrong |= exchange(rank, ranks, length, out, in);
    mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong |= sum != (long)ranks * (ranks + 1) / 2;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %s\n", ranks, all ? "wrong" : "exact");
    MPI_Finalize();
    free(out);
    free(in);
    return all;
}
