/*
 * The coordinator's address, as it is written and as it is used.
 */
#ifndef CJACCL_ADDRESS_H
#define CJACCL_ADDRESS_H

#include <stdint.h>

struct cji_address {
    char host[256]; /* a name or an address, without brackets */
    uint16_t port;  /* 1 .. 65535 */
};

/*
 * Parses "host:port" or "[v6]:port". Returns NULL, or what is wrong with the
 * text: a static string that continues "the coordinator \"...\" ".
 */
const char *cji_address_parse(struct cji_address *address, const char *text);

#endif
