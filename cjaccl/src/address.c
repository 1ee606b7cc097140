#include "address.h"

#include <stddef.h>
#include <string.h>

static int parse_port(const char *text, uint16_t *port)
{
    unsigned long value = 0;

    if (*text == '\0')
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (unsigned long)(*text - '0');
        if (value > 65535)
            return -1;
    }
    if (value == 0)
        return -1;
    *port = (uint16_t)value;
    return 0;
}

/* The colon before the port; *host and *length are what is before it. */
static const char *split(const char *text, const char **host, size_t *length)
{
    const char *end;

    if (*text != '[') {
        *host = text;
        *length = strcspn(text, ":");
        return text + *length;
    }
    end = strchr(text, ']');
    if (end == NULL)
        return NULL;
    *host = text + 1;
    *length = (size_t)(end - text) - 1;
    return end + 1;
}

const char *cji_address_parse(struct cji_address *address, const char *text)
{
    const char *host;
    size_t length;
    const char *colon = split(text, &host, &length);

    if (colon == NULL)
        return "has a \"[\" without a \"]\"";
    if (*text != '[' && *colon == ':' && strchr(colon + 1, ':') != NULL)
        return "has more than one colon (an IPv6 address needs brackets)";
    if (length == 0)
        return "has no address before its port";
    if (length >= sizeof address->host)
        return "is too long";
    if (*colon != ':')
        return "has no port";
    if (parse_port(colon + 1, &address->port) != 0)
        return "has no port from 1 to 65535";
    memcpy(address->host, host, length);
    address->host[length] = '\0';
    return NULL;
}
