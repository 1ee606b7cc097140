#define _POSIX_C_SOURCE 200809L

#include "fuzz/verbs_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock/mock.h"

#define HANDLES 512 /* of one kind, ever */
#define REGIONS 256
#define BLOCKS 64 /* of one call */
#define REQUESTS 4096
#define MARK_LOCAL 1u
#define MARK_REMOTE 2u
#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define DEVICE "mock0"
#define MILLISECOND INT64_C(1000000)

enum request { UNKNOWN, POSTED, COMPLETED };

struct block {
    unsigned char *bytes, *sealed; /* sealed: how it must stay; or NULL */
    size_t size;
};

struct vf_world *stage_world;
struct ibv_wc stage_wc;
struct ibv_async_event stage_event;
unsigned stage_findings, stage_done, stage_failed;
bool stage_tells;

static struct {
    void *handles[VF_KIND_COUNT][HANDLES];
    int handle_count[VF_KIND_COUNT];
    struct stage_region regions[REGIONS];
    int region_count;
    unsigned char *memory[VERBS_MACHINES];
    unsigned char mirror[VERBS_MACHINES][STAGE_MEMORY];
    unsigned char marks[VERBS_MACHINES][STAGE_MEMORY];
    union ibv_gid gids[VERBS_MACHINES][2];
    struct block blocks[BLOCKS];
    int block_count;
    unsigned char requests[REQUESTS]; /* enum request, by wr_id */
    uint64_t next_id;
    const struct verbs_call *call;
    int next_argument;
    unsigned number; /* of the call */
    int victim;      /* whose process has just ended; -1 */
    int machines;
    int64_t clock;
    bool planned, inside;
    jmp_buf out;
} stage;

void stage_broken(const char *promise, ...)
{
    va_list list;
    char line[VF_LINE_MAX];

    fprintf(stderr, "\n==== verbfault: broken: ");
    va_start(list, promise);
    vfprintf(stderr, promise, list);
    va_end(list);
    fprintf(stderr, "\n---- in call %u, %s\n", stage.number,
            stage.call ? verbs_name(stage.call->name) : "the end");
    for (int i = 0; i < stage.machines; i++)
        for (unsigned n = 0;
             vf_machine_history(stage_world, i, n, line, sizeof(line)); n++)
            fprintf(stderr, "%s\n", line);
    abort();
}

/* ---- hooks ---- */

static int64_t hook_now(void *context)
{
    (void)context;
    return stage.clock;
}

static void leave(int victim)
{
    stage.victim = victim;
    if (!stage.inside)
        stage_broken("a process ended outside of any call");
    longjmp(stage.out, 1);
}

/* From within a call, which has locked the world. */
static void leave_call(int victim)
{
    vf_world_unlock(stage_world);
    leave(victim);
}

/* Memory that is not there: the library or the device would fault. */
static bool faults(const struct vf_finding *finding)
{
    return finding->fatal || strncmp(finding->title, "memory-freed", 12) == 0;
}

static void hook_finding(void *context, const struct vf_finding *finding)
{
    (void)context;
    if (finding->leak)
        return;
    stage_findings++;
    if (stage_tells)
        fprintf(stderr, "r%d !! %s: %s\n", finding->machine, finding->title,
                finding->detail);
    if (faults(finding))
        leave_call(finding->machine);
}

static void hook_exit(void *context, int machine)
{
    (void)context;
    leave_call(machine);
}

/* It holds what it held. */
static void hook_hang(void *context, int machine)
{
    (void)context;
    (void)machine;
    leave(-1);
}

static void hook_trace(void *context, int machine, const char *line)
{
    (void)context;
    (void)machine;
    fprintf(stderr, "%s\n", line);
}

static bool hook_memory_alive(void *context, const void *address, size_t length)
{
    (void)context;
    for (int i = 0; i < stage.machines; i++) {
        uint64_t start =
            (uint64_t)((uintptr_t)address - (uintptr_t)stage.memory[i]);

        if (start <= STAGE_MEMORY && length <= STAGE_MEMORY - start)
            return true;
    }
    return false;
}

/* ---- arguments ---- */

uint32_t stage_next(void)
{
    if (stage.next_argument >= stage.call->count)
        return 0;
    return stage.call->argument[stage.next_argument++];
}

uint64_t stage_next_wide(void)
{
    uint32_t number = stage_next();

    if (number >= 0xffffff00u)
        return (uint64_t)(int64_t)(int32_t)number;
    if (number >= 0xffffffc0u - 0x100)
        return UINT64_C(1) << (number & 63);
    return number;
}

uint32_t stage_next_or(uint32_t usual)
{
    uint32_t number = stage_next();

    return number ? number : usual;
}

int stage_next_machine(void)
{
    int machine = (int)(stage_next() % (uint32_t)stage.machines);

    vf_thread_set_machine(machine);
    return machine;
}

static struct vf_object *find(const void *handle)
{
    return vf_registry_find(&stage_world->registry, handle);
}

bool stage_is_usable(const void *handle, enum vf_kind kind)
{
    const struct vf_object *object = find(handle);
    const struct vf_object *root = object;

    if (!object || !object->live || object->orphan ||
        object->kind != (uint8_t)kind)
        return false;
    while (root->kind > VF_KIND_CONTEXT && root->parent[0])
        root = root->parent[0];
    return root->live;
}

int stage_machine_of(const void *handle)
{
    const struct vf_object *object = find(handle);

    return object ? object->machine->number : vf_thread_machine();
}

/* The n-th live one of the machine, modulo how many there are. */
static void *live_handle(enum vf_kind kind, int machine, uint32_t n)
{
    void *found[HANDLES];
    uint32_t count = 0;

    for (int i = 0; i < stage.handle_count[kind]; i++) {
        void *handle = stage.handles[kind][i];

        if (stage_is_usable(handle, kind) &&
            stage_machine_of(handle) == machine)
            found[count++] = handle;
    }
    return count ? found[n % count] : NULL;
}

static void *freed_handle(enum vf_kind kind, bool last)
{
    void *found = NULL;

    for (int i = 0; i < stage.handle_count[kind]; i++) {
        void *handle = stage.handles[kind][i];

        if (stage_is_usable(handle, kind))
            continue;
        found = handle;
        if (!last)
            break;
    }
    return found;
}

void *stage_handle(enum vf_kind kind, uint32_t argument)
{
    static char place[64];
    int machine = (int)(argument / 16 % (uint32_t)stage.machines);

    if (argument < VERBS_NULL)
        return live_handle(kind, machine, argument % 16);
    switch (argument) {
    case VERBS_FREED:
    case VERBS_FREED_FIRST:
        return freed_handle(kind, argument == VERBS_FREED);
    case VERBS_INSIDE: {
        char *handle = live_handle(kind, 0, 0);

        return handle ? handle + 8 : NULL;
    }
    case VERBS_WILD:
        return (void *)(uintptr_t)0xdead0008;
    case VERBS_STACK:
        return place;
    default:
        if (argument >= VERBS_OTHER_KIND &&
            argument < VERBS_OTHER_KIND + VF_KIND_COUNT)
            return live_handle((enum vf_kind)(argument - VERBS_OTHER_KIND), 0,
                               0);
        return NULL;
    }
}

void *stage_next_handle(enum vf_kind kind)
{
    return stage_handle(kind, stage_next());
}

void *stage_next_optional(enum vf_kind kind)
{
    uint32_t argument = stage_next();

    return argument ? stage_handle(kind, argument - 1) : NULL;
}

unsigned char *stage_memory(int machine)
{
    return stage.memory[machine % stage.machines];
}

uintptr_t stage_address(int machine, uint32_t argument)
{
    switch (argument) {
    case 0x80000000u:
        return 0;
    case 0x80000001u:
        return 0xdead0000u;
    case 0x80000002u:
        return UINTPTR_MAX - 100;
    default:
        return (uintptr_t)stage_memory(machine) +
               (argument < 0x80000000u ? argument : argument & 0x1fff);
    }
}

/* ---- blocks ---- */

void *stage_block(size_t size)
{
    struct block *block = &stage.blocks[stage.block_count];

    if (stage.block_count == BLOCKS)
        stage_broken("a call has too many blocks");
    block->bytes = calloc(1, size ? size : 1);
    if (!block->bytes)
        stage_broken("no memory");
    block->size = size;
    block->sealed = NULL;
    stage.block_count++;
    return block->bytes;
}

void stage_seal(const void *bytes)
{
    for (int i = 0; i < stage.block_count; i++) {
        struct block *block = &stage.blocks[i];

        if (block->bytes != bytes || block->sealed || block->size == 0)
            continue;
        block->sealed = malloc(block->size);
        if (!block->sealed)
            stage_broken("no memory");
        memcpy(block->sealed, block->bytes, block->size);
    }
}

static void drop_blocks(void)
{
    for (int i = 0; i < stage.block_count; i++) {
        struct block *block = &stage.blocks[i];

        if (block->sealed &&
            memcmp(block->sealed, block->bytes, block->size) != 0)
            stage_broken("what a call reads was written to");
        free(block->sealed);
        free(block->bytes);
    }
    stage.block_count = 0;
}

/* ---- memory ---- */

struct stage_region *stage_region_of(const void *handle)
{
    for (int i = stage.region_count; handle && i > 0; i--)
        if (stage.regions[i - 1].handle == handle)
            return &stage.regions[i - 1];
    return NULL;
}

void stage_region_made(const struct ibv_mr *mr, uintptr_t address,
                       uint64_t length, uint64_t iova, unsigned access)
{
    if (stage.region_count == REGIONS)
        return; /* none of its bytes is marked */
    stage.regions[stage.region_count++] = (struct stage_region){
        .handle = mr,
        .machine = stage_machine_of(mr),
        .address = address,
        .iova = iova,
        .length = length,
        .access = access,
        .lkey = mr->lkey,
        .rkey = mr->rkey,
        .live = true,
    };
}

void stage_region_gone(const void *handle)
{
    for (int i = 0; i < stage.region_count; i++) {
        struct stage_region *region = &stage.regions[i];

        if (region->handle == handle && region->live) {
            region->live = false;
            region->died = stage.number;
        }
    }
}

static void mark(const struct stage_region *region, uint64_t offset,
                 uint64_t length, unsigned char how)
{
    uint64_t base =
        (uint64_t)(region->address - (uintptr_t)stage.memory[region->machine]);

    if (offset >= region->length)
        return;
    if (length > region->length - offset)
        length = region->length - offset;
    for (uint64_t i = base + offset;
         i < base + offset + length && i < STAGE_MEMORY; i++)
        stage.marks[region->machine][i] |= how;
}

void stage_may_write(uint32_t lkey, uint64_t address, uint64_t length)
{
    for (int i = 0; i < stage.region_count; i++)
        if (stage.regions[i].lkey == lkey)
            mark(&stage.regions[i], address - stage.regions[i].iova, length,
                 MARK_LOCAL);
}

void stage_may_be_written(uint64_t address, uint64_t length)
{
    for (int i = 0; i < stage.region_count; i++) {
        mark(&stage.regions[i], address - stage.regions[i].iova, length,
             MARK_REMOTE);
        /* Through a window that counts from its own start. */
        mark(&stage.regions[i], 0, address + length, MARK_REMOTE);
    }
}

static bool may_change(int machine, uint32_t at)
{
    unsigned char how = stage.marks[machine][at];
    uintptr_t address = (uintptr_t)stage.memory[machine] + at;

    for (int i = 0; i < stage.region_count; i++) {
        const struct stage_region *region = &stage.regions[i];
        unsigned access = region->access;

        if ((!region->live && region->died != stage.number) ||
            address - region->address >= region->length)
            continue;
        if (access & IBV_ACCESS_LOCAL_WRITE &&
            (how & MARK_LOCAL ||
             (how & MARK_REMOTE &&
              access & (REMOTE_CHANGES | IBV_ACCESS_MW_BIND))))
            return true;
    }
    return false;
}

/* Released by its program, with its context, or by the kernel. */
static void lose_regions(void)
{
    for (int i = 0; i < stage.region_count; i++) {
        const struct stage_region *region = &stage.regions[i];

        if (region->live && !stage_is_usable(region->handle, VF_KIND_MR))
            stage_region_gone(region->handle);
    }
}

static void look_at_memory(void)
{
    lose_regions();
    for (int i = 0; i < stage.machines; i++) {
        const unsigned char *bytes = stage.memory[i];

        if (memcmp(bytes, stage.mirror[i], STAGE_MEMORY) == 0)
            continue;
        for (uint32_t at = 0; at < STAGE_MEMORY; at++)
            if (bytes[at] != stage.mirror[i][at] && !may_change(i, at))
                stage_broken("byte %u of machine %d was written to", at, i);
        memcpy(stage.mirror[i], bytes, STAGE_MEMORY);
    }
}

/* ---- requests ---- */

uint64_t stage_next_id(void)
{
    return ++stage.next_id;
}

void stage_posted(uint64_t wr_id)
{
    if (wr_id < REQUESTS)
        stage.requests[wr_id] = POSTED;
}

void stage_planned(void)
{
    stage.planned = true;
}

bool stage_is_planned(void)
{
    return stage.planned;
}

/* A queue pair that has gone may have left completions anywhere. */
static void look_at_queue(const void *cq, uint32_t qp_num)
{
    const struct vf_object *queue = find(cq);
    const struct vf_object *qp =
        queue ? queue->machine->live[VF_KIND_QP] : NULL;

    for (; qp; qp = qp->next)
        if (((const struct ibv_qp *)qp->handle)->qp_num == qp_num &&
            qp->parent[1] != queue && qp->parent[2] != queue)
            stage_broken("a completion of queue pair %u is in another queue",
                         (unsigned)qp->id);
}

void stage_completed(const void *cq, const struct ibv_wc *wc)
{
    unsigned char *request = &stage.requests[wc->wr_id % REQUESTS];

    if (stage.planned)
        return;
    look_at_queue(cq, wc->qp_num);
    if (wc->status == IBV_WC_SUCCESS) {
        stage_done++;
        if (wc->wc_flags & IBV_WC_GRH)
            stage_wc = *wc;
    } else {
        stage_failed++;
    }
    if (!vf_status_name((int)wc->status))
        stage_broken("status %d", (int)wc->status);
    if (wc->wr_id == 0 || wc->wr_id >= REQUESTS)
        return; /* one that was posted as a ring */
    if (*request == UNKNOWN)
        stage_broken("request %u completed and was not posted",
                     (unsigned)wc->wr_id);
    if (*request == COMPLETED)
        stage_broken("request %u completed twice", (unsigned)wc->wr_id);
    *request = COMPLETED;
}

/* ---- the world ---- */

void stage_made(enum vf_kind kind, void *handle)
{
    int *count = &stage.handle_count[kind];

    if (!handle)
        return;
    /* A handle that rests long enough comes again. */
    for (int i = 0; i < *count; i++)
        if (stage.handles[kind][i] == handle)
            return;
    if (*count < HANDLES)
        stage.handles[kind][(*count)++] = handle;
}

const union ibv_gid *stage_group(uint32_t number)
{
    static const union ibv_gid groups[STAGE_GROUPS] = {
        {.raw = {0xff, 0x0e, [15] = 1}},
        {.raw = {[10] = 0xff, 0xff, 0xe0, 0, 0, 9}},
        {.raw = {0xfe, 0x80, [15] = 1}}, /* none */
    };

    return number < STAGE_GROUPS ? &groups[number] : NULL;
}

union ibv_gid stage_gid(int machine, uint32_t index)
{
    return stage.gids[machine % stage.machines][index & 1];
}

void stage_pass(int64_t nanoseconds)
{
    if (nanoseconds > 0 && stage.clock < INT64_MAX / 2)
        stage.clock += nanoseconds;
    vf_world_advance(stage_world);
}

static void add_machine(const struct vf_profile *profile, int number)
{
    struct vf_device_setup setup = {.name = DEVICE,
                                    .profile = profile,
                                    .max_mr = -1,
                                    .max_qp = -1,
                                    .max_pd = -1};

    vf_world_add_machine(stage_world);
    vf_machine_add_device(stage_world, number, &setup);
    if (!stage.memory[number] &&
        posix_memalign((void **)&stage.memory[number], 4096, STAGE_MEMORY) != 0)
        stage_broken("no memory");
    for (uint32_t i = 0; i < STAGE_MEMORY; i++)
        stage.memory[number][i] = (unsigned char)(i * 7 + (uint32_t)number);
    memcpy(stage.mirror[number], stage.memory[number], STAGE_MEMORY);
    memset(stage.marks[number], 0, STAGE_MEMORY);
}

/* What programs tell each other of themselves, by means of their own. */
static void read_gids(int machine)
{
    struct vf_device *device = &stage_world->machines[machine].devices[0];
    struct vf_object context = {
        .kind = VF_KIND_CONTEXT, .machine = device->machine, .device = device};

    for (int i = 0; i < 2; i++)
        stage_world->provider->query_gid(&context, 1, i,
                                         &stage.gids[machine][i]);
}

static void forget(void)
{
    memset(stage.handle_count, 0, sizeof(stage.handle_count));
    memset(stage.requests, 0, sizeof(stage.requests));
    memset(&stage_wc, 0, sizeof(stage_wc));
    memset(&stage_event, 0, sizeof(stage_event));
    memset(stage.gids, 0, sizeof(stage.gids));
    stage.region_count = stage.block_count = 0;
    stage.next_id = 0;
    stage.number = 0;
    stage.clock = MILLISECOND;
    stage.planned = stage.inside = false;
    stage_findings = stage_done = stage_failed = 0;
}

void stage_start(const struct verbs_program *program)
{
    const struct vf_profile *profile = vf_profile_at(program->profile);
    struct vf_hooks hooks = {
        .now = hook_now,
        .finding = hook_finding,
        .exit = hook_exit,
        .hang = hook_hang,
        .trace = stage_tells ? hook_trace : NULL,
        .memory_alive = hook_memory_alive,
        .threads = program->threads,
    };

    if (!stage_world)
        stage_world = vf_world_create();
    if (!stage_world)
        stage_broken("no memory");
    forget();
    stage.machines = program->machines;
    stage_world->view->shared = false;
    vf_world_reset(stage_world, &hooks);
    vf_world_install(stage_world);
    for (int i = 0; i < stage.machines; i++)
        add_machine(profile, i);
    if (stage.machines > 1)
        vf_world_cable(stage_world, 0, DEVICE, 1, DEVICE);
    for (int i = 0; i < stage.machines; i++)
        read_gids(i);
    stage_world->view->shared = program->shared;
}

/* ---- what is no verb ---- */

static void plan(void)
{
    int machine = stage_next_machine();
    struct vf_fault fault = {
        .verb = (enum vf_verb)(stage_next() % VF_VERB_COUNT),
        .nth = 1 + stage_next() % 64,
        .onward = stage_next() & 1,
        .effect = (enum vf_effect)(stage_next() % VF_EFFECT_OVERTAKEN),
        .value = (int)(1 + stage_next() % 22),
    };

    fault.nth += vf_machine_calls(stage_world, machine, fault.verb);
    if (vf_machine_plan(stage_world, machine, &fault) == 0)
        stage_planned();
}

static bool happen(enum verbs_name name)
{
    int machine;

    switch (name) {
    case VERBS_advance:
        stage_pass((int64_t)(1 + stage_next()) * MILLISECOND);
        return true;
    case VERBS_unplug:
        vf_device_unplug(stage_world, stage_next_machine(), DEVICE);
        return true;
    case VERBS_port:
        machine = stage_next_machine();
        vf_device_port(stage_world, machine, DEVICE, stage_next() & 1);
        return true;
    case VERBS_attend:
        stage_world->home = stage_next_machine();
        notice_take(stage_world);
        stage_world->home = -1;
        return true;
    case VERBS_plan:
        plan();
        return true;
    case VERBS_end:
        vf_machine_end(stage_world, stage_next_machine());
        return true;
    default:
        return false;
    }
}

static void run(const struct verbs_call *call)
{
    stage.victim = -1;
    stage.inside = true;
    if (setjmp(stage.out) == 0) {
        if (!happen(call->name) && !verbs_make(call->name) &&
            !verbs_post(call->name))
            verbs_extended(call->name);
    } else if (stage.victim >= 0) {
        vf_machine_end(stage_world, stage.victim);
    }
    stage.inside = false;
}

void stage_call(const struct verbs_call *call)
{
    stage.call = call;
    stage.next_argument = 0;
    stage.number++;
    vf_thread_set_machine(0);
    run(call);
    drop_blocks();
    look_at_memory();
}

/* ---- the end ---- */

static const struct {
    enum vf_kind kind;
    enum verbs_name name;
} releases[] = {
    {VF_KIND_QP, VERBS_destroy_qp},
    {VF_KIND_SRQ, VERBS_destroy_srq},
    {VF_KIND_AH, VERBS_destroy_ah},
    {VF_KIND_MW, VERBS_dealloc_mw},
    {VF_KIND_MR, VERBS_dereg_mr},
    {VF_KIND_CQ, VERBS_destroy_cq},
    {VF_KIND_CHANNEL, VERBS_destroy_comp_channel},
    {VF_KIND_PD, VERBS_dealloc_pd},
    {VF_KIND_CONTEXT, VERBS_close_device},
    {VF_KIND_DEVICE_LIST, VERBS_free_device_list},
};
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

static void leave_groups(uint32_t qp)
{
    for (uint32_t i = 0; i < STAGE_GROUPS; i++) {
        struct verbs_call call = {
            .name = VERBS_detach_mcast, .count = 3, .argument = {qp, i}};

        stage_call(&call);
    }
}

/* Children first, each with a verb that has no reason to refuse. */
static void release_all(int machine)
{
    for (size_t i = 0; i < RELEASES; i++) {
        enum vf_kind kind = releases[i].kind;
        struct verbs_call call = {.name = releases[i].name,
                                  .count = 1,
                                  .argument = {16 * (uint32_t)machine}};
        void *handle = live_handle(kind, machine, 0);

        while (handle) {
            if (kind == VF_KIND_QP)
                leave_groups(call.argument[0]);
            stage_call(&call);
            if (stage_is_usable(handle, kind))
                stage_broken("%s does not release its last user's",
                             verbs_name(call.name));
            handle = live_handle(kind, machine, 0);
        }
    }
}

/* What a context took with it stays its program's leak. */
static unsigned count_orphans(int machine)
{
    const struct vf_machine *owner = &stage_world->machines[machine];
    unsigned count = 0;

    for (int kind = VF_KIND_CONTEXT; kind < VF_KIND_COUNT; kind++)
        for (struct vf_object *object = owner->live[kind]; object;
             object = object->next)
            count += object->orphan;
    return count;
}

static void look_at_device(int machine)
{
    const struct vf_device_state *state =
        stage_world->machines[machine].devices[0].state;

    if (state->qps || state->mrs || state->pds)
        stage_broken("machine %d's device holds %u queue pairs, %u regions, "
                     "%u domains of nobody's",
                     machine, (unsigned)state->qps, (unsigned)state->mrs,
                     (unsigned)state->pds);
}

static void look_at_room(void)
{
    const struct room *room = stage_world->view->room;
    const struct room_process *self = &room->processes[stage_world->view->self];

    for (int kind = 0; kind < ROOM_KINDS; kind++)
        if (room->tables[kind].free != room->tables[kind].count ||
            self->objects[kind])
            stage_broken(
                "%u objects of kind %d live in the room",
                (unsigned)(room->tables[kind].count - room->tables[kind].free),
                kind);
    if (room->waiting)
        stage_broken("a queue pair of nobody's has a deadline");
    if (room->group_count)
        stage_broken("a multicast group has members that are gone");
    if (self->held)
        stage_broken("a region is held that nobody copies to");
}

void stage_end(bool orderly)
{
    for (int i = 0; i < stage.machines; i++)
        vf_machine_clear_plan(stage_world, i);
    for (int i = 0; orderly && i < stage.machines; i++)
        release_all(i);
    stage.call = NULL;
    for (int i = 0; i < stage.machines; i++) {
        unsigned orphans = count_orphans(i);

        if (orderly && vf_machine_leaks(stage_world, i) != orphans)
            stage_broken("machine %d leaks after everything was released", i);
        vf_machine_end(stage_world, i);
        if (vf_machine_leaks(stage_world, i) != 0)
            stage_broken("machine %d leaks after its process has ended", i);
        look_at_device(i);
    }
    stage_pass(INT64_C(1000000) * MILLISECOND);
    look_at_room();
    look_at_memory();
}

void stage_stop(void)
{
    if (stage_world)
        vf_world_destroy(stage_world);
    stage_world = NULL;
    for (int i = 0; i < VERBS_MACHINES; i++) {
        free(stage.memory[i]);
        stage.memory[i] = NULL;
    }
}
