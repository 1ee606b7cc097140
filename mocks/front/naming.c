/*
 * Objects by their names, for a finding's detail: "mr 1, mr 4, qp 2 and 3
 * more".
 */
#include <stdio.h>

#include "front/contract.h"

#define NAMED_MOST 3

/* The one of this kind that has the next number after `after`; NULL: none. */
static const struct vf_object *next_of(const struct vf_naming *naming,
                                       enum vf_kind kind, uint32_t after)
{
    const struct vf_object *object = naming->machine->live[kind];
    const struct vf_object *next = NULL;

    for (; object; object = object->next)
        if (object->id > after && (!next || object->id < next->id) &&
            naming->is(naming, object))
            next = object;
    return next;
}

static unsigned count_kind(const struct vf_naming *naming, enum vf_kind kind)
{
    const struct vf_object *object = naming->machine->live[kind];
    unsigned count = 0;

    for (; object; object = object->next)
        count += naming->is(naming, object);
    return count;
}

static size_t add(char *text, size_t room, size_t used, unsigned named,
                  const struct vf_object *object)
{
    int length = snprintf(
        text + used, room - used, "%s%s %u", named ? ", " : "",
        vf_kind_word((enum vf_kind)object->kind), (unsigned)object->id);

    return length > 0 && used + (size_t)length < room ? used + (size_t)length
                                                      : used;
}

unsigned vf_name_objects(const struct vf_naming *naming, char *text,
                         size_t room)
{
    unsigned count = 0, named = 0;
    size_t used = 0;

    text[0] = '\0';
    for (int kind = 0; kind < VF_KIND_COUNT; kind++) {
        const struct vf_object *object = next_of(naming, (enum vf_kind)kind, 0);

        count += count_kind(naming, (enum vf_kind)kind);
        for (; object && named < NAMED_MOST; named++) {
            used = add(text, room, used, named, object);
            object = next_of(naming, (enum vf_kind)kind, object->id);
        }
    }
    if (count > named)
        snprintf(text + used, room - used, " and %u more", count - named);
    return count;
}
