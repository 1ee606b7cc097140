/*
 * doctor.h: verbfault doctor, which says why a JACCL start-up fails here.
 *
 * It makes the calls of a start-up one after the other, on the devices of this
 * machine and by its own verbs library, and says of each step what was seen.
 * Three verdicts: ok; FAIL, with what is wrong and what to do; skip, with why
 * the step was not made. What fails ends the steps that need it, no others.
 *
 *   doctor.c          options, and the order of things
 *   doctor_report.c   the lines, for people and as JSON
 *   doctor_library.c  the verbs library, and which of its symbols are missing
 *   doctor_names.c    what the device file or hostfile names, and what exists
 *   doctor_device.c   one device: opened, its port, its GIDs, its domain
 *   doctor_limits.c   queue pairs and regions, up to the limit
 *   doctor_pair.c     a queue pair, from RESET to RTS
 *   doctor_message.c  a message: posted, completed, compared
 *   doctor_self.c     from the device to itself
 *   doctor_line.c     lines over TCP, with deadlines
 *   doctor_meet.c     how two doctors find each other
 *   doctor_peer.c     between two machines, in step
 *
 * The verbs. The command has the mock's ibv_* functions linked into it, for the
 * simulator; they must not be taken for the machine's. So every call here goes
 * through a table that is looked up in the handle of the opened library, and
 * what the command exports leaves the mock's functions out (CMakeLists.txt).
 * Posts and polls go through the context, as they do in every program.
 *
 * Undo. Each step that builds something is undone where it was made, in
 * reverse, whatever came between; what the device does not take back is a FAIL
 * of its own. Ctrl-C sets a flag that every loop and every wait looks at, so it
 * takes the same way out. Every wait has a deadline.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cjaccl/cjaccl.h"
#include "cli/cli.h"

enum {
    DOCTOR_PORT = 32324, /* where --listen listens; mlx.launch's and one */
    DOCTOR_DEVICES = 64, /* no more are examined */
    DOCTOR_BYTES = 4096, /* of a message: JACCL's smallest, one frame */
    DOCTOR_TEXT = 512,   /* bytes of a line */
    DOCTOR_TIME = 32
};

struct doctor_options {
    const char *file;   /* a device file or hostfile; NULL: none */
    const char *device; /* the only one to look at; NULL: all */
    const char *peer;   /* HOST[:PORT] to connect to; NULL: nobody */
    bool listen;        /* wait for the other machine's doctor */
    uint16_t port;      /* where; 0: any that is free */
    bool json;
    int rank;           /* -1: not said */
    int64_t timeout_ns; /* of each wait for the other machine */
};

/* A device that is to be examined. */
struct doctor_want {
    const char *name;
    bool asked;  /* by the file or --device; else it is just there */
    int row;     /* of the file; -1: not in it */
    int column;  /* the first cell that names it */
    int pairs;   /* queue pairs that JACCL makes on it */
    int regions; /* that JACCL registers with it (2026-08-22) */
};

enum doctor_verdict { DOCTOR_OK, DOCTOR_FAIL, DOCTOR_SKIP };

struct doctor {
    const struct doctor_options *options;
    bool colour;
    int counts[3]; /* of lines, by verdict */
    json_t *lines; /* NULL: for people */
    bool no_library;
    void *library;
    struct cj_verbs verbs;
    struct ibv_device **list;
    int listed;
    struct cj_settings settings;
    struct doctor_want wants[DOCTOR_DEVICES];
    int want_count;
    int active; /* devices with an active port */
    bool met;   /* the peer's part was played, well or not */
};

/* One device while it is examined. */
struct doctor_device {
    const struct doctor_want *want;
    const char *name;
    struct ibv_context *context;
    struct ibv_device_attr limits; /* zeros: not told */
    struct ibv_port_attr port;
    bool thunderbolt;
    int gid_index; /* -1: no IPv4-mapped entry */
    union ibv_gid gid;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    bool failed_before; /* a message did: its completions may come yet */
};

/* Where a queue pair is, for the other end. */
struct doctor_place {
    uint32_t qp_num;
    uint16_t lid;
    union ibv_gid gid;
};

/* One end: a queue pair, and a region with room for a message each way. */
struct doctor_end {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* DOCTOR_BYTES to send, then as many to receive */
};

/* What was wrong, in words, and what to do: both ends of a line tell it. */
struct doctor_flaw {
    const char *step;
    const char *advice;
    char text[DOCTOR_TEXT];
};

/* ---- doctor_report.c */
void doctor_open_report(struct doctor *doctor);
/* One line. device, advice: NULL for none. */
void doctor_say(struct doctor *doctor, enum doctor_verdict verdict,
                const char *step, const char *device, const char *advice,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
void doctor_say_flaw(struct doctor *doctor, const struct doctor_flaw *flaw,
                     const char *device);
/* Notes a flaw; answers false. */
bool doctor_flaw(struct doctor_flaw *flaw, const char *step, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The summary; answers the exit code. */
int doctor_close_report(struct doctor *doctor);

/* ---- doctor_library.c */
bool doctor_open_library(struct doctor *doctor);
void doctor_close_library(struct doctor *doctor);

/* ---- doctor_names.c */
/* Reads options->file: CLI_FINE, or CLI_USAGE after a line on stderr. */
int doctor_read_file(struct doctor *doctor);
/* Lists the devices and settles which are to be examined. */
bool doctor_list_devices(struct doctor *doctor);
void doctor_free_devices(struct doctor *doctor);

/* ---- doctor_device.c */
void doctor_examine(struct doctor *doctor, const struct doctor_want *want);
/* After each release: says so if the device did not take it back. */
void doctor_undone(struct doctor *doctor, const char *device, const char *what,
                   int answer);

/* ---- doctor_limits.c */
void doctor_count_pairs(struct doctor *doctor, struct doctor_device *device);
void doctor_count_regions(struct doctor *doctor, struct doctor_device *device);

/* ---- doctor_pair.c */
/* In RESET. True, or false with errno set and *qp NULL. */
bool doctor_create_qp(struct doctor *doctor, const struct doctor_device *device,
                      struct ibv_qp **qp);
/* Each: true, or false with *flaw filled. */
bool doctor_to_init(struct doctor *doctor, struct ibv_qp *qp,
                    struct doctor_flaw *flaw);
bool doctor_to_rtr(struct doctor *doctor, const struct doctor_device *device,
                   struct ibv_qp *qp, const struct doctor_place *there,
                   struct doctor_flaw *flaw, int *err_no);
bool doctor_to_rts(struct doctor *doctor, struct ibv_qp *qp,
                   struct doctor_flaw *flaw);
/* Queue pair in INIT and region. On false *flaw says why, and what there is
 * still wants doctor_close_end(). */
bool doctor_open_end(struct doctor *doctor, const struct doctor_device *device,
                     struct doctor_end *end, struct doctor_flaw *flaw);
void doctor_close_end(struct doctor *doctor, const struct doctor_device *device,
                      struct doctor_end *end);
struct doctor_place doctor_place_of(const struct doctor_device *device,
                                    const struct doctor_end *end);

/* ---- doctor_message.c */
bool doctor_post_recv(const struct doctor_end *end, struct doctor_flaw *flaw);
/* The salt makes one message unlike another. */
bool doctor_post_send(const struct doctor_end *end, unsigned salt,
                      struct doctor_flaw *flaw);
/* Waits until what is wanted has completed. */
bool doctor_await(const struct doctor_device *device, bool send, bool recv,
                  int64_t wait_ns, struct doctor_flaw *flaw);
/* ", after 0.5 s" where a message took a while, else "". */
void doctor_slow(int64_t began, char text[DOCTOR_TIME]);
bool doctor_compare(const struct doctor_end *end, unsigned salt,
                    struct doctor_flaw *flaw);

/* ---- doctor_self.c */
void doctor_talk_to_itself(struct doctor *doctor, struct doctor_device *device);

/* ---- doctor_line.c */
struct doctor_wire {
    int end; /* of cji_default_net; -1: closed */
    char peer[128];
    int64_t wait_ns; /* of each line */
};
int64_t doctor_now(void);
/* Sends a line, without its newline: 0 or a negative errno. */
int doctor_send_line(const struct doctor_wire *wire, const char *line);
/* Receives one, printable, zero-terminated: its length, or a negative errno;
 * -EPIPE: closed, -EINTR: Ctrl-C, -EPROTO: longer than room. */
int doctor_recv_line(const struct doctor_wire *wire, char *line, size_t room);

/* ---- doctor_meet.c */
/* What is wrong with --peer's HOST[:PORT], in words, or NULL. */
const char *doctor_flaw_of_peer(const char *text);
/* Connects or listens, and says hello. False after a FAIL. */
bool doctor_meet(struct doctor *doctor, struct doctor_wire *wire);

/* ---- doctor_peer.c */
/* The device may be NULL: none came so far, and the peer is to know. */
void doctor_with_peer(struct doctor *doctor, struct doctor_device *device);

#endif
