/* The values of tests/language: what every kernel of every spec there gives on given data, worked out independently of
 * the compiler (tests/language/values.py, which states the format of a .values file).
 *
 * In: the folder. Out: its specs in order, with their texts, and every case of every .values file. What is wrong with a
 * file is kept with the case that it concerns, for the test to report; nothing is ever freed. */
#ifndef FX_TEST_VALUES_FILE_H
#define FX_TEST_VALUES_FILE_H

#include "fx.h"

enum { VALUES_MAX_SPECS = 128, VALUES_MAX_SAMPLES = 1024, VALUES_MAX_ARRAYS = 24, VALUES_MAX_DEFINES = 4 };

struct array { /* an input or an output as the file gives it */
    char name[64];
    int line;              /* where it stands */
    bool is_output;
    struct fx_host host;   /* dtype and shape; an input's data */
    int64_t n;             /* elements */
    double *value;         /* of an output of floats */
    int64_t *integer;      /* of an output of integers or bools, bit for bit */
};

struct sample { /* one `kernel` of a file */
    int spec;              /* index into values_specs */
    int line;
    char kernel[64];
    char defines[VALUES_MAX_DEFINES][64];
    int n_defines;
    struct array arrays[VALUES_MAX_ARRAYS];
    int n_arrays;
    char error[256];       /* what is wrong with the file, "" when nothing is */
};

struct values_spec {
    char name[64];         /* "01_linear_gelu" */
    char *text;            /* of the .fx, NULL when there is none */
    int n_samples;
};

struct values { /* a folder */
    const char *folder;
    struct values_spec specs[VALUES_MAX_SPECS];
    struct sample *samples[VALUES_MAX_SAMPLES];
    int n_specs, n_samples;
};

void values_read(struct values *v, const char *folder);
/* An input or output by name, NULL where there is none. */
const struct array *sample_find(const struct sample *s, const char *name, bool is_output);
/* Element i of an output as a double. */
double array_value(const struct array *a, int64_t i);
/* How far from what the file says a right value may be (the tolerance of test_language.c): 1e-11 of the largest of the
 * output; 0 of integers. */
double array_slack(const struct array *a);
bool values_equal(double a, double b); /* NaN is NaN */

#endif
