/* report_json.c: a report of the command about one job, as JSON. */
#ifndef COMMAND_REPORT_JSON_H
#define COMMAND_REPORT_JSON_H

#include "command/command.h"

struct json;

struct report_json {
    int version; /* of the report's schema */
    const struct job *job;
    const char *device; /* NULL: no GPU was asked */
    const char *before; /* printed in front of the object */
    void (*put_members)(struct json *j, const void *of); /* writes the members after kernel, device and extents */
    const void *of;
};

/* Prints the object on stdout. */
fx_status report_json(const struct report_json *r);

#endif
