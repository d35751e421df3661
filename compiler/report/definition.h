/* Which lines of a spec a kernel is made of. */
#ifndef FX_DEFINITION_H
#define FX_DEFINITION_H

#include "front/ast.h"
#include "fx.h"

/* As fx_definition, of the items of files[0] alone. */
int definition_lines(struct cx *cx, const struct ast_file *file, const char *kernel, struct fx_lines *lines, int most);

#endif
