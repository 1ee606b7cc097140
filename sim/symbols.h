/*
 * symbols.h: whose number is it?
 *
 * A recorded line (mocks/front/detail.h) has numbers that the device chose:
 * queue pair numbers, keys, GIDs, LIDs, addresses. They are other numbers next
 * time, and some of them say which machine it was. Here every rank's lines come
 * by in their order; what each number belongs to is remembered from the line of
 * the call that made it, and in later lines the number becomes its owner: rank
 * and object. The recorder translates what a program did; the replay, what it
 * does itself, and the two are compared.
 *
 *   num=0x11 of create_qp       gone, remembered
 *   dqpn=17 dgid=fe80...        dest=1:1 gid=1
 *   remote=0x1a80:0x7f0000400   remote=1:2:1024
 *   device=rxe0, = "rxe0"       device=dev0, = "dev0", unless names are kept
 *   = 0x505400fffe123456        = guid
 *
 * Numbers repeat, on one machine and from machine to machine: of several owners
 * the youngest one that fits best is taken, one on another rank before one's
 * own, and one's own only if the address is, too. What leads to none of the
 * ranks is a stranger's: dest=?, remote=?, to=?. To join recordings
 * (cli/record_join.h) the numbers by which ranks know each other are kept:
 *
 *   num=17 of create_qp, key=RKEY:ADDRESS of reg_mr (its low 32 bits)
 *   dest=?:17, remote=?:RKEY:ADDRESS
 *   mark=0 ... 15 beside an address: of two different ones it mostly differs
 */
#ifndef SIM_SYMBOLS_H
#define SIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct symbols;

/* NULL: memory is out. */
struct symbols *symbols_new(bool keep_names);
void symbols_free(struct symbols *symbols);
/* From now on the numbers are kept. */
void symbols_keep_numbers(struct symbols *symbols);
/* How many ways led to strangers so far. */
int symbols_strangers(const struct symbols *symbols);
/*
 * Writes what a recorded line (from the verb on) of a rank becomes, into room
 * bytes. false: it is no line of a call, or memory is out, or room is too
 * small.
 */
bool symbols_translate(struct symbols *symbols, int rank, const char *line,
                       char *text, size_t room);
/* The name of a rank's n-th device as it is written, and as it was; NULL: none
 * was listed. */
const char *symbols_device(const struct symbols *symbols, int rank, int n,
                           const char **original);

#endif
