/* What a fault and an outcome are, in a sentence for people. */
#include "cli/words.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *meaning;
    char letter;
} outcomes[SCN_OUTCOME_COUNT] = {
    [SCN_READY] = {"All went well, and the data are exact.", '.'},
    [SCN_ERROR] = {"The program answered with an error.", 'e'},
    [SCN_LEAK] = {"Objects, memory or sockets were left at the end.", 'L'},
    [SCN_VIOLATION] = {"A call was made that verbs do not allow there.", 'V'},
    [SCN_HANG] = {"A rank waits for what can no longer come.", 'H'},
    [SCN_SPIN] = {"A rank calls for ever while nothing changes.", 'S'},
    [SCN_WRONG_DATA] = {"The program said success, and its data are wrong.",
                        'W'},
    [SCN_CRASH] = {"The program's process would fault.", 'C'},
};

const char *words_of_outcome(enum scn_outcome outcome)
{
    return outcomes[outcome].meaning;
}

char words_letter(enum scn_outcome outcome)
{
    return outcomes[outcome].letter;
}

/* ---- a call -------------------------------------------------------------- */

static void name_errno(int number, char *name, size_t room)
{
    if (vf_errno_name(number))
        snprintf(name, room, "%s", vf_errno_name(number));
    else
        snprintf(name, room, "%d", number);
}

static void name_status(int status, char *name, size_t room)
{
    if (vf_status_name(status))
        snprintf(name, room, "%s", vf_status_name(status));
    else
        snprintf(name, room, "%d", status);
}

/* What becomes of it: "answers NULL with errno ENOMEM". */
static void effect(const struct vf_fault *fault, char *words, size_t room)
{
    char name[32];
    switch (fault->effect) {
    case VF_EFFECT_NULL:
        name_errno(fault->value, name, sizeof name);
        if (fault->verb == VF_VERB_alloc)
            snprintf(words, room, "answers NULL");
        else
            snprintf(words, room, "answers NULL with errno %s", name);
        break;
    case VF_EFFECT_ERRNO:
        name_errno(fault->value, name, sizeof name);
        snprintf(words, room, "answers the error %s", name);
        break;
    case VF_EFFECT_RETURN:
        snprintf(words, room, "answers %d", fault->value);
        break;
    case VF_EFFECT_UNWRITTEN:
        snprintf(words, room, "answers success and writes no output");
        break;
    case VF_EFFECT_GARBLED:
        snprintf(words, room, "%s",
                 fault->verb == VF_VERB_completion
                     ? "comes with garbage in it"
                     : "answers success and writes garbage");
        break;
    case VF_EFFECT_STATUS:
        name_status(fault->value, name, sizeof name);
        snprintf(words, room, "comes with status %s", name);
        break;
    case VF_EFFECT_DROP:
        snprintf(words, room, "never comes");
        break;
    case VF_EFFECT_DUPLICATE:
        snprintf(words, room, "comes twice");
        break;
    case VF_EFFECT_DELAY:
        snprintf(words, room, "comes %d ms late", fault->value);
        break;
    case VF_EFFECT_OVERTAKEN:
        snprintf(words, room, "comes %d ms late, and later ones before it",
                 fault->value);
        break;
    case VF_EFFECT_UNPLUG:
        snprintf(words, room, "finds the device's cable gone");
        break;
    case VF_EFFECT_EXIT:
        snprintf(words, room, "is the last: the process ends there");
        break;
    case VF_EFFECT_HANG:
        snprintf(words, room, "never comes back: the process stops there");
        break;
    case VF_EFFECT_COUNT:
        snprintf(words, room, "?");
        break;
    }
}

static void fault_words(int rank, const struct vf_fault *fault, char *words,
                        size_t room)
{
    char what[96], which[64];
    effect(fault, what, sizeof what);
    if (fault->verb == VF_VERB_completion)
        snprintf(which, sizeof which, "completion %u", fault->nth);
    else if (fault->verb == VF_VERB_alloc)
        snprintf(which, sizeof which, "allocation %u", fault->nth);
    else
        snprintf(which, sizeof which, "call %u of %s", fault->nth,
                 vf_verb_name(fault->verb));
    snprintf(words, room, "Rank %d: %s%s %s.", rank, which,
             fault->onward ? ", as every later one," : "", what);
}

/* ---- the rest ------------------------------------------------------------ */

static void channel_words(const struct scn_statement *statement, char *words,
                          size_t room)
{
    int bytes = statement->u.channel.bytes;
    switch (statement->u.channel.what) {
    case SCN_CHANNEL_CLOSE:
        snprintf(words, room,
                 "Rank %d's side channel closes once it has sent %d byte%s.",
                 statement->rank, bytes, cli_s((unsigned long)bytes));
        break;
    case SCN_CHANNEL_SILENT:
        snprintf(words, room,
                 "Of what rank %d sends on the side channel, nothing arrives "
                 "after %d byte%s.",
                 statement->rank, bytes, cli_s((unsigned long)bytes));
        break;
    case SCN_CHANNEL_GARBLE:
        snprintf(words, room,
                 "The byte after the first %d that rank %d sends on the side "
                 "channel arrives inverted.",
                 bytes, statement->rank);
        break;
    }
}

/* ", at most 3 regions"; what: one of them. A negative number: nothing. */
static void limit(char *words, size_t room, int number, const char *what)
{
    size_t length = strlen(words);
    if (number >= 0)
        snprintf(words + length, room - length, ", at most %d %s%s", number,
                 what, cli_s((unsigned long)number));
}

/* ", 3 regions are held by others" */
static void held(char *words, size_t room, int number, const char *what)
{
    size_t length = strlen(words);
    if (number > 0)
        snprintf(words + length, room - length, ", %d %s%s held by others",
                 number, what, number == 1 ? " is" : "s are");
}

/* Only of a device that is not as its profile makes it. */
static void device_words(const struct scn_statement *statement, const char *who,
                         char *words, size_t room)
{
    char what[160] = "";
    size_t length = 0;
    if (statement->u.device.port_down)
        length = (size_t)snprintf(what, sizeof what, ", its port is down");
    if (statement->u.device.no_ipv4)
        snprintf(what + length, sizeof what - length,
                 ", it has no IPv4 address");
    limit(what, sizeof what, statement->u.device.max_mr, "region");
    limit(what, sizeof what, statement->u.device.max_qp, "queue pair");
    limit(what, sizeof what, statement->u.device.max_pd, "domain");
    held(what, sizeof what, statement->u.device.used_mr, "region");
    held(what, sizeof what, statement->u.device.used_qp, "queue pair");
    held(what, sizeof what, statement->u.device.used_pd, "domain");
    if (what[0])
        snprintf(words, room, "%s: device %s: %s.", who,
                 statement->u.device.name, what + 2);
}

static void cell_words(const struct scn_statement *statement, const char *who,
                       char *words, size_t room)
{
    char names[SCN_NAMES_MAX * SCN_NAME_MAX] = "nothing";
    size_t length = 0;
    for (int i = 0; i < statement->u.cell.count; i++)
        length += (size_t)snprintf(
            names + length, sizeof names - length, "%s%s", i ? ", " : "",
            statement->u.cell.names[i][0] ? statement->u.cell.names[i]
                                          : "the empty name");
    snprintf(words, room, "%s: the device file says %s in row %d, column %d.",
             who, names, statement->u.cell.row, statement->u.cell.column);
}

void words_of_statement(const struct scn_statement *statement, char *words,
                        size_t room)
{
    char who[32] = "Every rank";
    words[0] = '\0';
    if (statement->rank >= 0)
        snprintf(who, sizeof who, "Rank %d", statement->rank);
    switch (statement->kind) {
    case SCN_FAULT:
        fault_words(statement->rank, &statement->u.fault, words, room);
        break;
    case SCN_CHANNEL:
        channel_words(statement, words, room);
        break;
    case SCN_DEVICE:
        device_words(statement, who, words, room);
        break;
    case SCN_CELL:
        cell_words(statement, who, words, room);
        break;
    case SCN_NODEVICES:
        snprintf(words, room, "%s: %s.", who,
                 statement->u.number ? "there is no list of devices"
                                     : "the list of devices is empty");
        break;
    case SCN_ROWS:
        snprintf(words, room, "%s: the device file has %d row%s.", who,
                 statement->u.number,
                 cli_s((unsigned long)statement->u.number));
        break;
    case SCN_COORDINATOR:
        snprintf(words, room, "%s is told to connect to %s.", who,
                 statement->u.text.word);
        break;
    case SCN_LATE:
        snprintf(words, room, "%s begins %d ms late.", who,
                 statement->u.number);
        break;
    case SCN_LIBRARY:
        if (statement->u.text.word[0])
            snprintf(words, room, "%s: the verbs library lacks %s.", who,
                     statement->u.text.word);
        else
            snprintf(words, room, "%s: there is no verbs library.", who);
        break;
    case SCN_PEER:
        snprintf(words, room,
                 "In rank %d's place a stranger connects, sends %d byte%s "
                 "and stays silent.",
                 statement->rank, statement->u.peer.count,
                 cli_s((unsigned long)statement->u.peer.count));
        break;
    case SCN_STRAY:
        snprintf(words, room, "A stranger connects first and says nothing.");
        break;
    default:
        break;
    }
}
