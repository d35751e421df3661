/* The database of tuned choices: which way of a kernel was the fastest, at which extents, on which device. Advisory:
 * what does not fit is as if it were not there, and nothing fails for it. */
#ifndef TUNING_H
#define TUNING_H

#include "lib/runtime.h"

struct tuned_way { /* a row that fits a kernel */
    int64_t extents[FX_MAX_EXTENTS]; /* it is of; -1: of a part, which follows from others */
    int partition;
    int variants[FX_MAX_LAUNCHES]; /* by launch of the partition */
};

struct tuning_row { /* what is written */
    const struct fx_kernel *kernel;
    const char *device;      /* as fx_context_device gives it */
    const int64_t *extents;  /* of the kernel */
    int partition;
    const int *variants;     /* by launch of the partition */
    double us, plans_us, predicted_us; /* of a launch; what the plan's own choice takes; predicted */
};

/* Writes a row, in the place of one of the same kernel, device, extents and version. FX_ERR_IO with what was wrong,
 * FX_ERR_TOOLCHAIN where SQLite is not found. */
fx_status tuning_store(const char *path, const struct tuning_row *row);
/* Reads the rows that fit a kernel on this device, of so many multiprocessors, *rows malloc'ed; none where there is no
 * database, or none that can be read. */
void tuning_load(
    const char *path, const struct fx_kernel *k, const char *device, int sm_count, struct tuned_way **rows, int *n);
/* The row of these extents, or NULL. */
const struct tuned_way *tuning_find(
    const struct tuned_way *rows, int n, const struct fx_kernel *k, const int64_t *extents);
/* One line about the database at path, for people. */
void tuning_describe(const char *path, char *text, size_t size);

#endif
