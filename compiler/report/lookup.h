/* What stands at a place of a spec: for editors. */
#ifndef FX_LOOKUP_H
#define FX_LOOKUP_H

#include "check/check.h"
#include "fx.h"

/* file: as read; program: NULL where nothing was checked. False where nothing is known of that byte. */
bool lookup_place(
    struct cx *cx, const struct ast_file *file, const struct program *program, size_t offset, struct fx_found *out);

#endif
