#include "front/world_private.h"

_Static_assert(VF_VERB_COUNT <= 64, "a bit of vf_plan.verbs for each verb");

const struct vf_fault *vf_plan_search(const struct vf_plan *plan,
                                      enum vf_verb verb, unsigned nth)
{
    for (unsigned i = 0; i < plan->count; i++) {
        const struct vf_fault *fault = &plan->faults[i];

        if (fault->verb != verb)
            continue;
        if (fault->nth == nth || (fault->onward && nth > fault->nth))
            return fault;
    }
    return NULL;
}

void vf_plan_hit(struct vf_machine *machine, const struct vf_fault *fault)
{
    const struct vf_hooks *hooks = &machine->world->hooks;

    machine->faults_hit++;
    if (hooks->planned)
        hooks->planned(hooks->context, machine->number,
                       (unsigned)(fault - machine->plan.faults));
}

int vf_machine_plan(struct vf_world *world, int machine,
                    const struct vf_fault *fault)
{
    struct vf_plan *plan;

    if (machine < 0 || machine >= world->machine_count)
        return -1;
    plan = &world->machines[machine].plan;
    if (plan->count >= VF_PLAN_MAX || fault->nth == 0 ||
        !vf_effect_fits(fault->effect, fault->verb))
        return -1;
    plan->faults[plan->count++] = *fault;
    plan->verbs |= UINT64_C(1) << fault->verb;
    return 0;
}

void vf_machine_clear_plan(struct vf_world *world, int machine)
{
    world->machines[machine].plan.count = 0;
    world->machines[machine].plan.verbs = 0;
}
