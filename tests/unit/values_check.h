/* The oracle's values of a kernel beside those of a case of a .values file. */
#ifndef FX_TEST_VALUES_CHECK_H
#define FX_TEST_VALUES_CHECK_H

#include "values_file.h"

/* Every output of the case's kernel, evaluated on the case's inputs; `name` is the file's, for messages. */
void values_check(const fx_compilation *c, const char *name, const struct sample *s);

#endif
