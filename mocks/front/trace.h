/*
 * front/trace.h: what is remembered of a call, and its line.
 *
 * A record is small and is kept for every call, traced or not, so that the
 * last calls before a crash can be told. A line shows no pointer and no time:
 * handles appear as the number of their kind on their machine, from 1.
 */
#ifndef VF_FRONT_TRACE_H
#define VF_FRONT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbfault/fault.h"

#define VF_RECORD_COMPLETIONS 16
#define VF_LINE_MAX 1280

enum vf_record_end {
    VF_RECORD_OPEN,  /* still inside */
    VF_RECORD_DONE,  /* answered */
    VF_RECORD_FAULT, /* a fatal finding: nothing comes after it */
    VF_RECORD_EXIT,
    VF_RECORD_HANG
};

struct vf_record_completion {
    uint64_t wr_id;
    uint32_t length;
    uint8_t status;
    uint8_t opcode;
};

struct vf_record {
    enum vf_verb verb;
    unsigned number; /* among the machine's traced calls */
    uint8_t end;     /* enum vf_record_end */
    uint8_t handle;  /* 0: NULL, 1: ours, 2: foreign */
    bool planned;
    uint8_t made_kind; /* enum vf_kind */
    uint32_t handle_id;
    uint32_t made_id;
    int err;
    int completions;
    int64_t result;
    uint64_t args[3];
    const char *name;    /* get_device_name's answer */
    const char *finding; /* the short word of a finding; NULL: none */
    const char *reason;  /* why the device said no, where the errno does not
                            tell; NULL: nothing to add */
    struct vf_record_completion completion[VF_RECORD_COMPLETIONS];
};

/* Writes the record's line, without a newline, cut at room. */
void vf_record_print(const struct vf_record *record, int machine, char *line,
                     size_t room);

/* A completion as in a line: "[wr_id=0x6 SEND SUCCESS]". */
void vf_completion_print(const struct vf_record_completion *completion,
                         char *text, size_t room);

#endif
