/*
 * front/map.h: from a number to what is known of it.
 *
 * An open table with linear probing: a key lies in its place or behind it,
 * without a gap. Taking one out moves up those behind it, so there are no
 * tombstones and a look-up never gets slower with age. It grows by doubling, at
 * three quarters. Whoever shares one locks it.
 */
#ifndef VF_FRONT_MAP_H
#define VF_FRONT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct vf_map_entry {
    uint64_t key;
    void *value; /* NULL: the place is free */
};

/* Zeroed, it is empty. */
struct vf_map {
    struct vf_map_entry *entries;
    size_t places; /* 0, or a power of two */
    size_t count;
    unsigned shift; /* from a hash of 64 bits to a place */
};

/* Neighbouring addresses, numbers and keys are spread by the golden ratio. */
static inline size_t vf_map_place(const struct vf_map *map, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> map->shift);
}

/* The value of the key, or NULL. */
static inline void *vf_map_find(const struct vf_map *map, uint64_t key)
{
    size_t at;

    if (map->count == 0)
        return NULL;
    at = vf_map_place(map, key);
    while (map->entries[at].value && map->entries[at].key != key)
        at = (at + 1) & (map->places - 1);
    return map->entries[at].value;
}

/* Sets the value, which is not NULL. 0, or ENOMEM: the map is as it was. */
int vf_map_put(struct vf_map *map, uint64_t key, void *value);
/* Takes the key out, if it is there. */
void vf_map_take(struct vf_map *map, uint64_t key);
/* Empties it and gives its memory back. */
void vf_map_clear(struct vf_map *map);

#endif
