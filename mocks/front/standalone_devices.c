/*
 * The machines and devices of a program that nobody told of any: the mock's,
 * from the environment (front/standalone.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/standalone.h"
#include "mock/guest.h"

static bool set_limit(struct vf_device_setup *setup, char *text)
{
    char *equals = strchr(text, '=');
    long value;

    if (!equals || !standalone_number(equals + 1, 0, 1 << 30, &value))
        return false;
    *equals = '\0';
    if (strcmp(text, "max_mr") == 0)
        setup->max_mr = (int)value;
    else if (strcmp(text, "max_qp") == 0)
        setup->max_qp = (int)value;
    else if (strcmp(text, "max_pd") == 0)
        setup->max_pd = (int)value;
    else if (strcmp(text, "used_mr") == 0)
        setup->used_mr = (int)value;
    else if (strcmp(text, "used_qp") == 0)
        setup->used_qp = (int)value;
    else if (strcmp(text, "used_pd") == 0)
        setup->used_pd = (int)value;
    else if (strcmp(text, "port_down") == 0)
        setup->port_down = value != 0;
    else if (strcmp(text, "no_ipv4") == 0)
        setup->no_ipv4 = value != 0;
    else
        return false;
    return true;
}

static bool read_setup(struct vf_device_setup *setup)
{
    const char *profile = getenv("VERBFAULT_PROFILE");
    char text[STANDALONE_TEXT_MAX];
    char *rest = text;
    char *word;

    memset(setup, 0, sizeof(*setup));
    setup->max_mr = -1;
    setup->max_qp = -1;
    setup->max_pd = -1;
    setup->profile = vf_profile_by_name(profile ? profile : "thunderbolt");
    if (!setup->profile)
        return standalone_complain("VERBFAULT_PROFILE", profile);
    if (!standalone_copy("VERBFAULT_LIMITS", text))
        return false;
    while ((word = strtok_r(rest, ", ", &rest)) != NULL)
        if (!set_limit(setup, word))
            return standalone_complain("VERBFAULT_LIMITS", word);
    return true;
}

static int peer_of(int machine, int place)
{
    return place < machine ? place : place + 1;
}

static void usual_name(char *name, int ranks, int wires, int peer, int wire)
{
    if (ranks == 2)
        snprintf(name, VF_NAME_MAX, "rdma_en%d", 2 + wire);
    else if (wires == 1)
        snprintf(name, VF_NAME_MAX, "rdma_en%d", peer);
    else
        snprintf(name, VF_NAME_MAX, "rdma_en%d_%d", peer, wire);
}

static void add_usual_devices(struct vf_world *world,
                              struct vf_device_setup *setup, int machine,
                              int ranks, int wires)
{
    for (int place = 0; place < ranks - 1; place++)
        for (int wire = 0; wire < wires; wire++) {
            usual_name(setup->name, ranks, wires, peer_of(machine, place),
                       wire);
            vf_machine_add_device(world, machine, setup);
        }
}

static bool add_named_devices(struct vf_world *world,
                              struct vf_device_setup *setup, int machine,
                              char *names)
{
    char *rest = names;
    char *name;

    while ((name = strtok_r(rest, ", ", &rest)) != NULL) {
        if (strlen(name) >= VF_NAME_MAX)
            return standalone_complain("VERBFAULT_DEVICES", name);
        strcpy(setup->name, name);
        if (vf_machine_add_device(world, machine, setup) != 0)
            return standalone_complain("VERBFAULT_DEVICES", name);
    }
    return true;
}

/* The machine's part of VERBFAULT_DEVICES: the last one serves the rest. */
static const char *names_of(const char *all, int machine, size_t *length)
{
    while (machine-- > 0 && strchr(all, ';'))
        all = strchr(all, ';') + 1;
    *length = strcspn(all, ";");
    return all;
}

static bool add_devices(struct vf_world *world, int ranks, int wires)
{
    const char *names = getenv("VERBFAULT_DEVICES");
    struct vf_device_setup setup;

    if (!read_setup(&setup))
        return false;
    for (int machine = 0; machine < ranks; machine++) {
        char own[STANDALONE_TEXT_MAX];
        size_t length;
        const char *from;

        vf_world_add_machine(world);
        if (!names) {
            add_usual_devices(world, &setup, machine, ranks, wires);
            continue;
        }
        from = names_of(names, machine, &length);
        snprintf(own, sizeof(own), "%.*s", (int)length, from);
        if (!add_named_devices(world, &setup, machine, own))
            return false;
    }
    return true;
}

/* The n-th device of one machine goes to the n-th place of its peer. */
static void add_cables(struct vf_world *world, int ranks, int wires)
{
    struct vf_machine *machines = world->machines;

    for (int a = 0; a < ranks; a++)
        for (int n = 0; n < machines[a].device_count; n++) {
            int b = peer_of(a, n / wires);
            int back = (a < b ? a : a - 1) * wires + n % wires;

            if (b < a || b >= ranks || back >= machines[b].device_count)
                continue;
            vf_world_cable(world, a, machines[a].devices[n].setup.name, b,
                           machines[b].devices[back].setup.name);
        }
}

bool standalone_furnish(struct vf_world *world)
{
    int ranks, wires;

    if (!standalone_number_from("VERBFAULT_RANKS", 2, 1, VF_MACHINE_MAX,
                                &ranks) ||
        !standalone_number_from("VERBFAULT_WIRES", 1, 1, VF_DEVICE_MAX,
                                &wires) ||
        !add_devices(world, ranks, wires))
        return false;
    add_cables(world, ranks, wires);
    return true;
}

struct vf_world *standalone_world(void)
{
    struct vf_world *world = vf_world_create();

    if (!world)
        standalone_complain("memory", "out of it");
    return world;
}

void standalone_guest(void)
{
    static const struct guest_kind mock = {vf_world_create, true};

    guest_enter(&mock);
}
