#include "front/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/contract.h"
#include "front/descriptor.h"
#include "front/detail.h"
#include "front/sanitize.h"

#define GARBAGE 0xa5
/* Bytes of output that a fault can keep from their place. */
#define SCRATCH 1024

void (*vf_world_missing)(void);
unsigned char *vf_coverage;
bool (*vf_call_inside)(void);

enum outcome { OUTCOME_SUCCESS, OUTCOME_PLANNED, OUTCOME_REFUSED };
#define OUTCOME_FINDING 3

static void cover(const struct vf_call *call, int outcome)
{
    int machine = call->machine->number;

    if (vf_coverage && machine < 4)
        vf_coverage[(machine * VF_VERB_COUNT + (int)call->verb) * 4 + outcome] =
            1;
}

/* The world behind the entry; NULL: none, or one without machines. */
static struct vf_world *find_world(void)
{
    struct vf_world *world =
        atomic_load_explicit(&vf_installed_world, memory_order_acquire);

    if (!world && vf_world_missing) {
        vf_world_missing();
        world = vf_world_installed();
    }
    return world && world->machine_count > 0 ? world : NULL;
}

/* Whose call is it? The handle knows; else the thread does. */
static struct vf_machine *thread_s_machine(struct vf_world *world)
{
    int number = world->home >= 0 ? world->home : vf_thread_machine();

    if (number < 0 || number >= world->machine_count)
        number = 0;
    return &world->machines[number];
}

static void locate(struct vf_call *call)
{
    struct vf_world *world = call->world;

    call->found =
        call->handle ? vf_registry_find(&world->registry, call->handle) : NULL;
    call->machine =
        call->found ? call->found->machine : thread_s_machine(world);
}

/* A place where another rank may run: it must not find the world locked. */
static void step(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;

    call->machine->inside = call->verb;
    if (hooks->record && hooks->now)
        call->began = hooks->now(hooks->context);
    if (!hooks->step)
        return;
    vf_world_unlock(call->world);
    hooks->step(hooks->context, call->machine->number);
    vf_world_lock(call->world);
}

/* Step 1. */
static void count(struct vf_call *call)
{
    struct vf_machine *machine = call->machine;

    call->nth = ++machine->calls[call->verb];
    machine->all_calls++;
    call->record = vf_record_next(machine, call->verb);
    call->world->running = call;
    call->record->handle = call->handle ? 2 : 0;
    memcpy(call->record->args, call->args, sizeof(call->record->args));
}

static void tell(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;
    char line[VF_LINE_MAX];

    if (!hooks->trace)
        return;
    if (hooks->record)
        vf_detail_tell(call);
    vf_record_print(call->record, call->machine->number, line, sizeof(line));
    hooks->trace(hooks->context, call->machine->number, line);
}

static void end_process(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;

    call->record->end = VF_RECORD_EXIT;
    tell(call);
    if (!hooks->exit)
        _exit(0);
    hooks->exit(hooks->context, call->machine->number);
}

static void hang_process(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;

    call->record->end = VF_RECORD_HANG;
    tell(call);
    vf_world_unlock(call->world);
    if (hooks->hang)
        hooks->hang(hooks->context, call->machine->number);
    while (!hooks->hang)
        pause();
    vf_world_lock(call->world);
}

static void unplug(struct vf_call *call)
{
    const struct vf_object *object = call->found;

    if (object && object->device)
        call->provider->unplug(object->device);
}

/* Step 2. What ends the call is kept until the contract has had its say. */
static void plan(struct vf_call *call)
{
    const struct vf_fault *fault =
        vf_plan_find(&call->machine->plan, call->verb, call->nth);

    if (!fault)
        return;
    call->fault = fault;
    call->record->planned = true;
    vf_plan_hit(call->machine, fault);
    if (fault->effect == VF_EFFECT_EXIT)
        end_process(call);
    else if (fault->effect == VF_EFFECT_HANG)
        hang_process(call);
    else if (fault->effect == VF_EFFECT_UNPLUG)
        unplug(call);
}

static bool is_unchecked(const struct vf_call *call)
{
    return call->world->hooks.unchecked &&
           (call->verb == VF_VERB_post_send ||
            call->verb == VF_VERB_post_recv ||
            call->verb == VF_VERB_post_srq_recv ||
            call->verb == VF_VERB_poll_cq);
}

/* Step 3. */
static void check(struct vf_call *call, vf_step *contract)
{
    if (call->kind != VF_KIND_NONE) {
        call->object = vf_contract_handle(call, call->handle, call->kind,
                                          call->first_read);
        if (!call->object)
            return;
    }
    if (contract && !is_unchecked(call))
        contract(call);
}

static bool answered_by_plan(struct vf_call *call)
{
    if (!call->fault)
        return false;
    switch (call->fault->effect) {
    case VF_EFFECT_NULL:
    case VF_EFFECT_ERRNO:
        call->err = call->fault->value;
        return true;
    case VF_EFFECT_RETURN:
        call->result = call->fault->value;
        return true;
    default:
        return false;
    }
}

static bool releases(enum vf_verb verb)
{
    switch (verb) {
    case VF_VERB_free_device_list:
    case VF_VERB_close_device:
    case VF_VERB_dealloc_pd:
    case VF_VERB_dereg_mr:
    case VF_VERB_dealloc_mw:
    case VF_VERB_destroy_comp_channel:
    case VF_VERB_destroy_cq:
    case VF_VERB_destroy_qp:
    case VF_VERB_destroy_ah:
    case VF_VERB_destroy_srq:
        return true;
    default:
        return false;
    }
}

/* The program may not be blamed for what the plan keeps it from releasing. */
static void excuse(struct vf_call *call)
{
    if (!call->object || !releases(call->verb))
        return;
    vf_contract_forget(call->object);
    vf_object_excuse(call->object);
}

/* The provider works, but its output goes astray. */
static void provide_astray(struct vf_call *call, vf_step *provider)
{
    uint64_t scratch[SCRATCH / sizeof(uint64_t)];
    void *out = call->out;
    size_t size = call->out_size;

    memset(scratch, 0, sizeof(scratch));
    if (call->verb == VF_VERB_poll_cq &&
        call->args[0] * call->out_size > SCRATCH)
        call->args[0] = SCRATCH / call->out_size;
    call->out = scratch;
    provider(call);
    call->out = out;
    if (call->fault->effect != VF_EFFECT_GARBLED || call->err || !out)
        return;
    if (call->verb == VF_VERB_poll_cq)
        size *= call->result > 0 ? (size_t)call->result : 0;
    memset(out, GARBAGE, size);
}

/* Step 4. */
static void provide(struct vf_call *call, vf_step *provider)
{
    if (!provider)
        return;
    if (call->fault && (call->fault->effect == VF_EFFECT_UNWRITTEN ||
                        call->fault->effect == VF_EFFECT_GARBLED))
        provide_astray(call, provider);
    else
        provider(call);
}

static bool nothing_polled(const struct vf_call *call)
{
    return call->verb == VF_VERB_poll_cq && call->result == 0 &&
           !call->record->planned && !call->record->finding;
}

static bool refused(const struct vf_call *call)
{
    return !call->record->planned && (call->err || call->result < 0);
}

/* For a minimizer: the device said no by itself. */
static void tell_refused(const struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;

    if (hooks->refused && refused(call))
        hooks->refused(hooks->context, call->machine->number, call->verb,
                       call->nth, call->err);
}

/* Step 5. How often an empty queue is polled depends on who waits how, so it
 * takes no number and leaves no line. */
static void trace(struct vf_call *call)
{
    struct vf_record *record = call->record;
    struct vf_machine *machine = call->machine;

    machine->inside = VF_VERB_COUNT;
    if (nothing_polled(call)) {
        vf_record_give_back(machine);
        cover(call, OUTCOME_SUCCESS);
        return;
    }
    record->err = call->err;
    record->result = call->result;
    record->name = call->name;
    if (call->made && call->made->id) {
        record->made_kind = call->made->kind;
        record->made_id = call->made->id;
    }
    record->end = VF_RECORD_DONE;
    tell(call);
    tell_refused(call);
    cover(call, record->planned ? OUTCOME_PLANNED
                : refused(call) ? OUTCOME_REFUSED
                                : OUTCOME_SUCCESS);
    if (record->finding)
        cover(call, OUTCOME_FINDING);
}

/* A post or poll of an unchecked world, when no plan waits for it: counted and
 * handed on. Its record is one that nobody reads. False: it takes the steps. */
static bool run_unchecked(struct vf_call *call, vf_step *provider)
{
    struct vf_machine *machine = call->machine;

    if (!is_unchecked(call) || !call->world->hooks.threads ||
        vf_plan_has(&machine->plan, call->verb) || call->world->hooks.trace ||
        !call->found || !call->found->live ||
        call->found->kind != (uint8_t)call->kind)
        return false;
    call->object = call->found;
    call->record = &machine->history[0];
    machine->calls[call->verb]++;
    provider(call);
    return true;
}

/* A library behind the provider, or a driver of its, makes a call of its own
 * while it is in one: that is no call of the program's. What it makes is not
 * entered, what it releases need not be known. */
static void run_straight(struct vf_call *call, vf_step *provider)
{
    static struct vf_record nobody_s; /* under the world's lock */
    struct vf_call *around = call->world->running;
    struct vf_object *unknown = NULL;

    call->straight = true;
    call->record = &nobody_s;
    if (call->kind != VF_KIND_NONE && !call->found) {
        unknown = vf_object_new(call->machine, call->kind,
                                call->provider->size[call->kind], 0);
        if (!unknown) {
            call->err = ENOMEM;
            return;
        }
        unknown->handle = (void *)(uintptr_t)call->handle;
    }
    call->object = call->found ? call->found : unknown;
    call->world->running = call;
    provider(call);
    call->world->running = around;
    if (unknown)
        vf_object_discard(unknown);
}

void vf_call_run(struct vf_call *call, vf_step *contract, vf_step *provider)
{
    call->world = find_world();
    if (!call->world) {
        call->err = ENOSYS;
        return;
    }
    call->provider = call->world->provider;
    vf_world_lock(call->world);
    locate(call);
    if (vf_call_inside && vf_call_inside()) {
        run_straight(call, provider);
        vf_world_unlock(call->world);
        return;
    }
    if (run_unchecked(call, provider)) {
        vf_world_unlock(call->world);
        return;
    }
    step(call);
    count(call);
    plan(call);
    check(call, contract);
    if (!call->answered) {
        if (answered_by_plan(call))
            excuse(call);
        else
            provide(call, provider);
    }
    if (call->settle && call->object && !is_unchecked(call))
        call->settle(call);
    trace(call);
    vf_world_unlock(call->world);
}

void *vf_call_pointer(const struct vf_call *call)
{
    if (call->err) {
        errno = call->err;
        return NULL;
    }
    return call->made ? call->made->handle : NULL;
}

int vf_call_errno(const struct vf_call *call)
{
    if (call->err)
        errno = call->err;
    return call->err ? call->err : (int)call->result;
}

int vf_call_minus(const struct vf_call *call)
{
    if (call->err) {
        errno = call->err;
        return -1;
    }
    return (int)call->result;
}

int vf_call_count(const struct vf_call *call)
{
    return call->err ? -1 : (int)call->result;
}

/* All of a record that a call which has no answer yet has filled. */
#define RECORD_HEAD offsetof(struct vf_record, completion)

/* The record is given back meanwhile: other threads' calls come between. */
static void put_record_aside(struct vf_call *call, struct vf_record *kept)
{
    memcpy(kept, call->record, RECORD_HEAD);
    vf_record_give_back(call->machine);
    call->machine->waiting = 1;
    vf_world_unlock(call->world);
}

static void take_record_again(struct vf_call *call, struct vf_record *kept)
{
    vf_world_lock(call->world);
    call->record = vf_record_next(call->machine, call->verb);
    call->world->running = call;
    kept->number = call->record->number;
    memcpy(call->record, kept, RECORD_HEAD);
    call->machine->inside = call->verb;
}

void vf_call_leave(struct vf_call *call, struct vf_record *kept)
{
    if (!call->straight)
        put_record_aside(call, kept);
}

void vf_call_return(struct vf_call *call, struct vf_record *kept)
{
    if (!call->straight)
        take_record_again(call, kept);
}

bool vf_call_wait(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;
    uint8_t generation = call->object->generation;
    struct vf_record kept;

    if (!hooks->empty)
        return false;
    put_record_aside(call, &kept);
    hooks->empty(hooks->context, call->machine->number);
    take_record_again(call, &kept);
    return call->object->live && call->object->generation == generation;
}

bool vf_call_read(struct vf_call *call, int fd)
{
    uint8_t generation = call->object->generation;
    struct vf_record kept;
    int err;

    put_record_aside(call, &kept);
    err = vf_descriptor_take(call->world, fd);
    take_record_again(call, &kept);
    call->err = err;
    return err == 0 && call->object->live &&
           call->object->generation == generation;
}

struct vf_object *vf_call_new(struct vf_call *call, enum vf_kind kind,
                              struct vf_object *parent)
{
    size_t offset =
        kind == VF_KIND_CONTEXT ? offsetof(struct verbs_context, context) : 0;
    struct vf_object *object =
        vf_object_new(call->machine, kind, call->provider->size[kind], offset);

    if (!object) {
        call->err = ENOMEM;
        return NULL;
    }
    object->parent[0] = parent;
    object->device = parent->device;
    return object;
}

void vf_call_made(struct vf_call *call, struct vf_object *object, int err)
{
    if (err) {
        vf_object_discard(object);
        call->err = err;
        return;
    }
    call->made = object;
    if (call->straight)
        vf_object_discard(object);
    else
        vf_object_adopt(object);
}

void vf_call_released(struct vf_call *call, int err)
{
    call->err = err;
    if (err || !call->object->live)
        return;
    if (call->object->kind == VF_KIND_CQ || call->object->kind == VF_KIND_QP ||
        call->object->kind == VF_KIND_SRQ)
        vf_async_forget(call->object);
    vf_object_release(call->object);
}

VF_READS_ANYTHING uintptr_t vf_dereference(const void *handle, ptrdiff_t offset)
{
    uintptr_t address = (uintptr_t)handle + (uintptr_t)offset;

    return *(volatile const uintptr_t *)address;
}
