/*
 * What is left when a program ends: leaks, and what the kernel takes back.
 */
#include <stdio.h>

#include "front/contract.h"

static const struct {
    enum vf_kind kind;
    enum vf_verb made_by;
} leak_kinds[] = {
    {VF_KIND_DEVICE_LIST, VF_VERB_get_device_list},
    {VF_KIND_CONTEXT, VF_VERB_open_device},
    {VF_KIND_PD, VF_VERB_alloc_pd},
    {VF_KIND_MR, VF_VERB_reg_mr},
    {VF_KIND_MW, VF_VERB_alloc_mw},
    {VF_KIND_CHANNEL, VF_VERB_create_comp_channel},
    {VF_KIND_CQ, VF_VERB_create_cq},
    {VF_KIND_QP, VF_VERB_create_qp},
    {VF_KIND_AH, VF_VERB_create_ah},
    {VF_KIND_SRQ, VF_VERB_create_srq},
};
#define LEAK_KINDS (sizeof(leak_kinds) / sizeof(leak_kinds[0]))

static void report(struct vf_machine *machine, enum vf_kind kind,
                   enum vf_verb verb, unsigned count, bool planned)
{
    const struct vf_hooks *hooks = &machine->world->hooks;
    struct vf_finding finding = {
        .machine = machine->number,
        .verb = verb,
        .leak = true,
        .planned = planned,
    };

    snprintf(finding.title, sizeof(finding.title), "leak of %s",
             vf_kind_word(kind));
    snprintf(finding.detail, sizeof(finding.detail), "%u left at the end%s",
             count, planned ? ": not released, as planned" : "");
    if (hooks->finding)
        hooks->finding(hooks->context, &finding);
}

static unsigned count_leaked(const struct vf_machine *machine,
                             enum vf_kind kind, bool planned)
{
    const struct vf_object *object = machine->live[kind];
    unsigned count = 0;

    for (; object; object = object->next)
        count += object->excused == planned && !object->stranger;
    return count;
}

unsigned vf_machine_leaks(struct vf_world *world, int machine)
{
    struct vf_machine *owner = &world->machines[machine];
    unsigned total = 0;

    for (size_t i = 0; i < 2 * LEAK_KINDS; i++) {
        enum vf_kind kind = leak_kinds[i / 2].kind;
        bool planned = i % 2 == 1;
        unsigned count = count_leaked(owner, kind, planned);

        if (count > 0)
            report(owner, kind, leak_kinds[i / 2].made_by, count, planned);
        total += count;
    }
    return total;
}

/* Children first, so that nothing is taken from under another. */
static const enum vf_kind reclaim_order[] = {
    VF_KIND_QP,      VF_KIND_SRQ,         VF_KIND_AH, VF_KIND_MW,
    VF_KIND_MR,      VF_KIND_CQ,          VF_KIND_PD, VF_KIND_CHANNEL,
    VF_KIND_CONTEXT, VF_KIND_DEVICE_LIST,
};
#define RECLAIM_KINDS (sizeof(reclaim_order) / sizeof(reclaim_order[0]))

void vf_machine_reboot(struct vf_world *world, int machine)
{
    struct vf_machine *rebooted = &world->machines[machine];

    vf_world_lock(world);
    for (int i = 0; i < rebooted->device_count; i++)
        rebooted->devices[i].state->kept_pds = 0;
    vf_world_unlock(world);
}

void vf_machine_end(struct vf_world *world, int machine)
{
    struct vf_machine *owner = &world->machines[machine];

    vf_world_lock(world);
    for (size_t i = 0; i < RECLAIM_KINDS; i++) {
        while (owner->live[reclaim_order[i]]) {
            struct vf_object *object = owner->live[reclaim_order[i]];

            if (object->kind == VF_KIND_PD && !object->orphan &&
                object->device->setup.profile->death_keeps_pd)
                object->device->state->kept_pds++;
            vf_contract_forget(object);
            if (!object->orphan && object->kind != VF_KIND_DEVICE_LIST)
                world->provider->reclaim(object);
            vf_object_release(object);
        }
    }
    /* The call that it died in keeps its number. */
    owner->told += owner->waiting;
    owner->remembered += owner->waiting;
    owner->waiting = 0;
    owner->inside = VF_VERB_COUNT;
    vf_world_unlock(world);
}
