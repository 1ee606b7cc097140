/*
 * record_join.h: recordings of some ranks each become one of all.
 *
 * On two machines everybody records their own: verbfault record -o rank0.scn on
 * the first, -o rank1.scn on the second. Neither replays beyond the first
 * message. `verbfault record --join -o both.scn rank0.scn rank1.scn` makes one
 * scenario of them, whose ranks are the files' in their order:
 *
 *   - whose stranger is whose (record_match.c): a recording names who was not
 *     in it by number, dest=?:256. The other end is a queue pair of another
 *     file with that number which leads back to this one's number; where there
 *     are several, the marks of the addresses and the PSNs decide, and of queue
 *     pairs that had the number one after the other, the turn. What stays
 *     undecided is refused: a wrong wire would be worse than none. Memory is
 *     found by its key, on the rank that the queue pair leads to;
 *   - in which order (record_order.c): a file's calls keep their own. Nothing
 *     is known of the clocks of two machines, and nothing is made up: a call
 *     waits for what it cannot do without (a send for the receive that takes
 *     it, RDMA for its memory, a poll for the messages that it found), and
 *     what ends something for others comes last. The replay does not insist
 *     on more (sim/subjects/recording.h);
 *   - then it is replayed and mended as what was recorded here (record.c).
 */
#ifndef CLI_RECORD_JOIN_H
#define CLI_RECORD_JOIN_H

#include "cli/record.h"
#include "cli/text.h"
#include "sim/calls.h"

struct join_call {
    struct scn_call call; /* its rank is that of the joined recording */
    int file;
};

/* A queue pair. */
struct join_pair {
    int rank, file, device, type;
    int64_t id;
    int64_t number;         /* -1: not told */
    int64_t leads_to;       /* the number of its stranger; -1: none */
    int64_t rq_psn, sq_psn; /* -1: never set */
    int mark;               /* of the stranger's address; -1: none */
    int turn;               /* the how manieth of that number */
    int64_t srq;            /* 0: none */
    int peer_rank;          /* -1: nobody, or not known */
    int64_t peer_id;
    bool there, ready;      /* while they are put in order ... */
    int64_t received, sent; /* receives posted, messages to it */
};

struct join_region {
    int rank;
    int64_t id;
    uint64_t key, address, length;
    bool there;
};

/* An address handle; where it leads, or -1. */
struct join_handle {
    int rank, mark, to_rank, to_device;
    int64_t id;
};

/* An address in a table. */
struct join_mark {
    int rank, device, mark;
    int64_t index;
};

/* What a context or a domain is on. */
struct join_place {
    int rank, device;
    int64_t id;
    bool domain;
};

struct join {
    int files, ranks;
    struct cli_file *file;         /* of each */
    int base[SCN_RANKS_MAX + 1];   /* the first rank of each file */
    int begins[SCN_RANKS_MAX + 1]; /* the first call of each file */
    struct join_call *calls;       /* of all files, one behind the other */
    struct join_pair *pairs;
    struct join_region *regions;
    struct join_handle *handles;
    struct join_mark *marks;
    struct join_place *places;
    int call_count, pair_count, region_count, handle_count, mark_count,
        place_count;
    int call_room, pair_room, region_room, handle_room, mark_room, place_room;
    int met, strangers; /* ways that were found, and that were not */
};

/* record_meet.c: what there is in the calls. */
void join_collect(struct join *join);
/* Of a rank's kind by its number, from 1; NULL: none. Of a region the youngest
 * that had the number. */
struct join_pair *join_pair(const struct join *join, int rank, int64_t id);
struct join_handle *join_handle(const struct join *join, int rank, int64_t id);
struct join_region *join_region(const struct join *join, int rank, int64_t id);
/* What stands at place n of A:B:C, from 0; -1: nothing, or no number. */
int64_t join_part(struct scn_piece value, int n);

/* record_match.c: who is at the other end of each. CLI_FINE, or CLI_USAGE after
 * a line: it cannot be told. */
int join_match(struct join *join);
/* record_line.c: a call from the verb on, with the ranks of the joined
 * recording; without the numbers unless they are to be kept. */
void join_line(const struct join *join, const struct join_call *call, bool keep,
               struct text *text);

/* Who gets a datagram: at the address of the handle, by the number; NULL:
 * nobody is known. base: the first rank of the sender's file. */
struct join_pair *join_receiver(const struct join *join, int rank, int64_t ah,
                                struct scn_piece dest, int base);

/* record_order.c: the places of the calls in their order; malloc'ed. */
int *join_order(struct join *join);

#endif
