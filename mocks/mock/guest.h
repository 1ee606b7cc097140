/*
 * mock/guest.h: the library in a process that `verbfault run` started.
 *
 * The environment names the room and the machine (verbfault/room.h). The
 * process enters at its first verb, with a place of its own; a child that it
 * forks enters anew, at its own first verb. At an ordinary end it tells what
 * it still held, if that is asked for, and gives its place back. One that
 * dies is buried by the others (mock/death.h).
 */
#ifndef VF_MOCK_GUEST_H
#define VF_MOCK_GUEST_H

#include <stdbool.h>

struct vf_world;

/* What differs between the library of the mock and the one over real devices:
 * that one's room has a plan, a trace and reports, and no devices. */
struct guest_kind {
    struct vf_world *(*create)(void);
    bool fabric; /* it copies for others, and is told of events */
};

/* Is this process to be a guest? */
bool guest_invited(void);
/* Once the process has left, does not return to any other thread than the one
 * that ends it: what they were about to do has no answer any more. */
void guest_stay_away(void);
/* Enters and installs the world; says on the standard error why it cannot. */
void guest_enter(const struct guest_kind *kind);

#endif
