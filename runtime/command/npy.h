/* Arrays as .npy files hold them: bytes to an array and back (npy.c). Opens no file, prints nothing. */
#ifndef NPY_H
#define NPY_H

#include "plan.h"

struct npy {
    struct fx_shape shape; /* of a raw array, dtype is the one npy_convert gave it */
    int raw_bytes;         /* element size of '<V1' or '<V2', whose meaning the file does not say; 0 otherwise */
    size_t n_elements;
    void *data;            /* malloc'ed, row-major; at least one byte */
};

#define NPY_BEGINS "\x93NUMPY"
/* Reads bytes[0..n), a whole file of format version 1 to 3. False with a message when it is not one, or holds what fx
 * has no dtype for; nothing is then left to release. */
bool npy_read(const void *bytes, size_t n, struct npy *out, char *message, size_t size);
/* Makes the array one of dtype `want`: a raw array is taken for it, a wider floating-point array is rounded once, to
 * nearest even. False with a message when neither applies. */
bool npy_convert(struct npy *a, enum fx_dtype want, char *message, size_t size);
void npy_release(struct npy *a);

enum { NPY_HEADER_MAX = 320 };
/* Writes the header of a row-major array, a multiple of 64 bytes; returns its length. A dtype NumPy lacks (bf16, f8) is
 * written as raw bytes, '<V2' or '<V1'. */
size_t npy_header(const struct fx_shape *shape, char header[NPY_HEADER_MAX]);

/* Product of the extents; false beyond the language's limits (rank 8, extent 2^40, 2^48 elements) or when negative. */
bool npy_count(int rank, const int64_t *extents, size_t *n_elements);

#endif
