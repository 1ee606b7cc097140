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

static bool is_leaked(const struct vf_naming *naming,
                      const struct vf_object *object)
{
    return object->kind == (uint8_t)naming->kind &&
           object->excused == naming->planned && !object->stranger;
}

static void report(const struct vf_naming *leaked, enum vf_verb verb,
                   unsigned count, const char *names)
{
    const struct vf_hooks *hooks = &leaked->machine->world->hooks;
    struct vf_finding finding = {
        .machine = leaked->machine->number,
        .verb = verb,
        .leak = true,
        .planned = leaked->planned,
    };

    snprintf(finding.title, sizeof(finding.title), "leak of %s",
             vf_kind_word(leaked->kind));
    snprintf(finding.detail, sizeof(finding.detail), "%u left at the end: %s%s",
             count, names, leaked->planned ? "; not released, as planned" : "");
    if (hooks->finding)
        hooks->finding(hooks->context, &finding);
}

unsigned vf_machine_leaks(struct vf_world *world, int machine)
{
    unsigned total = 0;

    for (size_t i = 0; i < 2 * LEAK_KINDS; i++) {
        const struct vf_naming leaked = {
            .machine = &world->machines[machine],
            .is = is_leaked,
            .kind = leak_kinds[i / 2].kind,
            .planned = i % 2 == 1,
        };
        char names[128];
        unsigned count = vf_name_objects(&leaked, names, sizeof(names));

        if (count > 0)
            report(&leaked, leak_kinds[i / 2].made_by, count, names);
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
