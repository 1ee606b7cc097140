/*
 * The memory of a rank's program.
 *
 * Each rank has a reserved stretch of address space and takes from it in one
 * direction, so that an address means one block for the whole run: a freed
 * block is known for what it is when it is used again. Between runs the pages
 * stay where they are. What the last run wrote is cleared, so that what a
 * program reads without having written it is the same on every run. Clearing
 * all of it would cost more than the run, so it is looked for: a buffer is
 * written from its start, or from the start of a slot in it, without a gap; and
 * of memory that verbs were given only the places that messages used.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE /* MAP_ANON, MAP_NORESERVE */
#endif

#include "sim/state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/sanitizer.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define PAGE ((size_t)4096)
#define PAGE_MAX ((size_t)65536) /* the largest page of any machine */
#define LINE ((size_t)64)
/* Slots within a block start at multiples of this. */
#define PART ((size_t)131072)
#define MESSAGE (4 * PART) /* the largest message of any subject */
/* Pages stay from run to run until so much was written, run for run: keeping
 * all that any run ever touched would grow without end. */
#define KEPT_BYTES ((size_t)64 << 20)
/* Poisoning all of a large block costs as much as touching it. Its head is
 * where a stray access starts. */
#define POISON_BYTES ((size_t)256)
/* So much of a new block counts as uninitialised for MemorySanitizer: all of
 * it would be most of the run's time. */
#define UNINITIALISED ((size_t)16384)
#define GAP ((size_t)64) /* behind each small block, poisoned */

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

int sim_memory_open(struct sim_rank *rank)
{
    if (rank->arena)
        return 0;
    rank->blocks = malloc(SIM_BLOCKS_MAX * sizeof *rank->blocks);
    if (!rank->blocks)
        return -1;
    rank->arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (rank->arena != MAP_FAILED)
        return 0;
    rank->arena = NULL;
    free(rank->blocks);
    rank->blocks = NULL;
    return -1;
}

void sim_memory_close(struct sim_rank *rank)
{
    if (rank->arena) {
        sim_memory_reset(rank);
        munmap(rank->arena, ARENA_BYTES);
    }
    free(rank->blocks);
    rank->arena = NULL;
    rank->blocks = NULL;
}

static size_t poisoned_part(size_t size)
{
    return size < POISON_BYTES ? size : POISON_BYTES;
}

SANITIZER_SKIPS static bool written(const char *line, size_t size)
{
    uint64_t bits = 0, word;
    if (size < LINE) {
        for (size_t i = 0; i < size; i++)
            bits |= (unsigned char)line[i];
        return bits != 0;
    }
    for (size_t i = 0; i < LINE; i += sizeof word) {
        memcpy(&word, line + i, sizeof word);
        bits |= word;
    }
    return bits != 0;
}

/* Which of a block's parts bit n of `parts` stands for. */
static unsigned part_bit(size_t offset)
{
    size_t part = offset / PART;
    return part < 63 ? (unsigned)part : 63;
}

static bool may_be_written(const struct sim_block *block, size_t offset)
{
    return !block->seen || (block->parts >> part_bit(offset) & 1) != 0;
}

/* Returns how many bytes it had to clear. */
SANITIZER_SKIPS static size_t clear_block(const struct sim_block *block)
{
    size_t cleared = 0;
    for (size_t part = 0; part < block->size; part += PART) {
        size_t end = block->size - part < PART ? block->size : part + PART;
        if (!may_be_written(block, part))
            continue;
        for (size_t at = part; at < end; at += PAGE) {
            size_t size = end - at < PAGE ? end - at : PAGE;
            if (!written(block->address + at, size))
                break;
            memset(block->address + at, 0, size);
            cleared += size;
        }
    }
    return cleared;
}

/* A verb was given this memory. A whole region says nothing of its parts. */
static void see(struct sim_block *block, size_t offset, size_t length)
{
    size_t end = length <= MESSAGE ? offset + length : offset + 1;
    block->seen = true;
    for (size_t at = offset / PART * PART; at < end; at += PART)
        block->parts |= (uint64_t)1 << part_bit(at);
}

static void clear_all(struct sim_rank *rank)
{
    for (int i = 0; i < rank->block_count; i++)
        rank->arena_written += clear_block(&rank->blocks[i]);
}

/* New pages in the old ones' place: they are zero, and the old ones are given
 * back. (MADV_DONTNEED would do on Linux; on macOS it does not zero.) */
static void replace_pages(struct sim_rank *rank)
{
    size_t bytes = (rank->arena_reach + PAGE_MAX - 1) / PAGE_MAX * PAGE_MAX;
    void *fresh =
        mmap(rank->arena, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (fresh == MAP_FAILED)
        return; /* the old ones stay, cleared */
    rank->arena_written = rank->arena_reach = 0;
}

void sim_memory_reset(struct sim_rank *rank)
{
    for (int i = 0; i < rank->block_count; i++) {
        struct sim_block *block = &rank->blocks[i];
        sanitizer_unpoison(block->address, poisoned_part(block->size));
        if (block->size < PAGE)
            sanitizer_unpoison(block->address + block->size, GAP);
    }
    if (rank->arena_used > rank->arena_reach)
        rank->arena_reach = rank->arena_used;
    clear_all(rank);
    if (rank->arena_written > KEPT_BYTES)
        replace_pages(rank);
    rank->block_count = rank->block_hint = 0;
    rank->arena_used = 0;
}

void sim_memory_end(struct sim_rank *rank)
{
    for (int i = 0; i < rank->block_count; i++)
        rank->blocks[i].live = false;
}

void *sim_alloc(struct sim_rank *rank, size_t alignment, size_t size)
{
    size_t start, end;
    struct sim_block *block;
    if (!vf_machine_alloc(sim.world, rank->number, size))
        return NULL;
    if (alignment < 16)
        alignment = 16;
    if (size == 0)
        size = 1;
    start = (rank->arena_used + alignment - 1) / alignment * alignment;
    if (start > ARENA_BYTES || size > ARENA_BYTES - start - GAP ||
        rank->block_count == SIM_BLOCKS_MAX)
        return NULL;
    end = start + size;
    if (size < PAGE)
        end += GAP;
    block = &rank->blocks[rank->block_count++];
    block->address = rank->arena + start;
    block->size = size;
    block->live = true;
    block->seen = false;
    block->parts = 1;
    rank->arena_used = end;
    if (size < PAGE)
        sanitizer_poison(block->address + size, GAP);
    sanitizer_uninitialised(block->address,
                            size < UNINITIALISED ? size : UNINITIALISED);
    return block->address;
}

static bool holds(const struct sim_rank *rank, int i, const char *address)
{
    return i < rank->block_count && rank->blocks[i].address <= address &&
           address < rank->blocks[i].address + rank->blocks[i].size;
}

/* The block that holds the address: they are in the order of addresses, and
 * the next one asked for is nearly always the last one or the one behind it. */
SANITIZER_SKIPS static struct sim_block *find(struct sim_rank *rank,
                                              const char *address)
{
    int low = 0, high = rank->block_count;
    for (int i = rank->block_hint; i <= rank->block_hint + 1; i++)
        if (holds(rank, i, address)) {
            rank->block_hint = i;
            return &rank->blocks[i];
        }
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (rank->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !holds(rank, low - 1, address))
        return NULL;
    rank->block_hint = low - 1;
    return &rank->blocks[low - 1];
}

void sim_free(struct sim_rank *rank, void *memory)
{
    struct sim_block *block;
    if (!memory)
        return;
    block = find(rank, memory);
    if (!block || block->address != memory || !block->live) {
        sim_crash(rank, "free of what is not allocated", "");
        return;
    }
    block->live = false;
    sanitizer_poison(block->address, poisoned_part(block->size));
}

bool sim_memory_holds(const struct sim_rank *rank, const void *address)
{
    const char *at = address;
    return rank->arena && at >= rank->arena && at < rank->arena + ARENA_BYTES;
}

bool sim_memory_alive(const void *address, size_t length)
{
    const char *at = address;
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank *rank = &sim.ranks[i];
        struct sim_block *block;
        if (!rank->arena || at < rank->arena || at >= rank->arena + ARENA_BYTES)
            continue;
        block = find(rank, at);
        if (!block || !block->live ||
            length > (size_t)(block->address + block->size - at))
            return false;
        see(block, (size_t)(at - block->address), length);
        return true;
    }
    return true; /* not ours: a static or stack buffer */
}

int sim_memory_live(const struct sim_rank *rank, size_t *bytes)
{
    int count = 0;
    *bytes = 0;
    for (int i = 0; i < rank->block_count; i++) {
        if (!rank->blocks[i].live)
            continue;
        count++;
        *bytes += rank->blocks[i].size;
    }
    return count;
}
