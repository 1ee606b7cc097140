/* verbfault replay --device: what a real device cannot be made to do. */
#include "cli/replay_device.h"

#include <stdio.h>
#include <string.h>

const char *replay_skip_name(enum replay_skip why)
{
    static const char *const names[REPLAY_SKIP_COUNT] = {
        [REPLAY_RUNS] = "none",           [REPLAY_DEVICES] = "devices",
        [REPLAY_TIME] = "time",           [REPLAY_CRASH] = "crash",
        [REPLAY_RECORDING] = "recording", [REPLAY_IDLE] = "nothing runs"};
    return names[why];
}

/* One statement of the file's own. */
static enum replay_skip skip_statement(const struct scn_statement *statement,
                                       const char *subject, int64_t timeout_ms,
                                       char *what, size_t room)
{
    snprintf(what, room, "%s", scn_kind_name(statement->kind));
    switch (statement->kind) {
    case SCN_CALL:
        snprintf(what, room, "its answers are one device's");
        return REPLAY_RECORDING;
    case SCN_CABLE:
        return REPLAY_DEVICES;
    case SCN_NODEVICES:
        return statement->u.number == 0 ? REPLAY_DEVICES : REPLAY_RUNS;
    case SCN_DEVICE:
        if (!statement->u.device.port_down && !statement->u.device.no_ipv4)
            return REPLAY_RUNS;
        snprintf(what, room, "%s",
                 statement->u.device.port_down ? "port=down" : "ipv4=no");
        return REPLAY_DEVICES;
    case SCN_LATE:
        if (statement->u.number < timeout_ms)
            return REPLAY_RUNS;
        snprintf(what, room, "late %d", statement->u.number);
        return REPLAY_TIME;
    case SCN_EXPECT:
        if (strcmp(statement->u.expect.subject, subject) != 0 ||
            statement->u.expect.outcome != SCN_CRASH)
            return REPLAY_RUNS;
        snprintf(what, room, "%s", statement->u.expect.title);
        return REPLAY_CRASH;
    default:
        return REPLAY_RUNS;
    }
}

/* Over sockets it is all the same what devices there are. */
static bool counts(enum replay_skip why, const char *subject)
{
    return why != REPLAY_RUNS &&
           (why != REPLAY_DEVICES || strcmp(subject, "sockets") != 0);
}

enum replay_skip replay_skip(const struct scn *scenario, const char *subject,
                             int64_t timeout_ms, char *what, size_t room)
{
    bool runs = false;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *statement = &scenario->statements[i];
        enum replay_skip why =
            skip_statement(statement, subject, timeout_ms, what, room);
        if (counts(why, subject))
            return why;
        runs = runs || statement->kind == SCN_RUN;
    }
    snprintf(what, room, "there is no \"run\" in it");
    return runs ? REPLAY_RUNS : REPLAY_IDLE;
}
