/*
 * Whoever was not recorded: a machine in the world, with a device for each one
 * that leads there, on which no program runs.
 */
#include "sim/subjects/recording.h"

#include <string.h>

/* Which of the stranger's devices each one leads to, and 1; 0: none yet. */
static struct {
    int machine; /* -1: not there yet */
    int count;
    int led[SCN_RANKS_MAX][VF_DEVICE_MAX];
} stranger;

void recording_forget_stranger(void)
{
    memset(&stranger, 0, sizeof stranger);
    stranger.machine = -1;
}

static int add_device(void)
{
    static const struct vf_device_setup fresh = {
        "stranger", NULL, false, false, -1, -1, -1, 0, 0, 0};
    struct vf_device_setup setup = fresh;
    setup.profile = scn_profile(sim.scenario);
    setup.name[strlen(setup.name)] = (char)('a' + stranger.count);
    if (vf_machine_add_device(sim.world, stranger.machine, &setup) != 0)
        return -1;
    return stranger.count++;
}

bool recording_stranger(int rank, int device, int *machine, int *there)
{
    const struct scn_statement *own = scn_device(sim.scenario, rank, device);
    char name[] = "strangera";
    int *led;
    if (device < 0 || device >= VF_DEVICE_MAX)
        return false;
    led = &stranger.led[rank][device];
    if (stranger.machine < 0)
        stranger.machine = vf_world_add_machine(sim.world);
    if (stranger.machine < 0)
        return false;
    if (*led == 0)
        *led = add_device() + 1;
    if (*led == 0)
        return false;
    *machine = stranger.machine;
    *there = *led - 1;
    name[sizeof name - 2] = (char)('a' + *there);
    if (own && scn_profile(sim.scenario)->needs_cable)
        vf_world_cable(sim.world, rank, own->u.device.name, *machine, name);
    return true;
}
