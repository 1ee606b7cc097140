/*
 * output_json.h: JSON's strings, for the writers that use jansson.
 */
#ifndef CLI_OUTPUT_JSON_H
#define CLI_OUTPUT_JSON_H

#include <jansson.h>

/* The text as a string; what is no valid UTF-8 becomes "?". NULL: memory. */
json_t *cli_json_text(const char *text);

#endif
