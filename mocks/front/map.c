#include "front/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHIFT 57 /* 128 places */

static size_t next(const struct vf_map *map, size_t at)
{
    return (at + 1) & (map->places - 1);
}

static size_t seek(const struct vf_map *map, uint64_t key)
{
    size_t at = vf_map_place(map, key);

    while (map->entries[at].value && map->entries[at].key != key)
        at = next(map, at);
    return at;
}

static int grow(struct vf_map *map)
{
    struct vf_map larger = {
        .shift = map->places ? map->shift - 1 : FIRST_SHIFT,
        .count = map->count,
    };

    larger.places = (size_t)1 << (64 - larger.shift);
    larger.entries = calloc(larger.places, sizeof(larger.entries[0]));
    if (!larger.entries)
        return ENOMEM;
    for (size_t i = 0; i < map->places; i++)
        if (map->entries[i].value)
            larger.entries[seek(&larger, map->entries[i].key)] =
                map->entries[i];
    free(map->entries);
    *map = larger;
    return 0;
}

int vf_map_put(struct vf_map *map, uint64_t key, void *value)
{
    size_t at;

    if (map->count + 1 > map->places / 4 * 3 && grow(map) != 0)
        return ENOMEM;
    at = seek(map, key);
    if (!map->entries[at].value)
        map->count++;
    map->entries[at].key = key;
    map->entries[at].value = value;
    return 0;
}

/* Does an entry that lies at `at` belong no further back than `gap`? Then it
 * can move there. Places go round. */
static int can_move(const struct vf_map *map, size_t gap, size_t at)
{
    size_t home = vf_map_place(map, map->entries[at].key);
    size_t mask = map->places - 1;

    return ((at - home) & mask) >= ((at - gap) & mask);
}

void vf_map_take(struct vf_map *map, uint64_t key)
{
    size_t gap, at;

    if (map->count == 0)
        return;
    gap = seek(map, key);
    if (!map->entries[gap].value)
        return;
    for (at = next(map, gap); map->entries[at].value; at = next(map, at))
        if (can_move(map, gap, at)) {
            map->entries[gap] = map->entries[at];
            gap = at;
        }
    map->entries[gap].value = NULL;
    map->count--;
}

void vf_map_clear(struct vf_map *map)
{
    free(map->entries);
    memset(map, 0, sizeof(*map));
}
