/* The dtypes, iterated from dtypes.def, and the conversions between their storage and double (dtype.c). */
#ifndef FX_DTYPE_H
#define FX_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fx_dtype {
#define DTYPE(id, spelling, bits, class, ctype) FX_##id,
#include "dtypes.def"
#undef DTYPE
    FX_N_DTYPES
};

enum fx_dtype_class { FX_CLASS_B = 'B', FX_CLASS_U = 'U', FX_CLASS_S = 'S', FX_CLASS_F = 'F' };

const char *fx_dtype_name(enum fx_dtype t); /* "no dtype" of a number that is none */
int fx_dtype_bits(enum fx_dtype t);
enum fx_dtype_class fx_dtype_class_of(enum fx_dtype t);
/* The type arithmetic on values of t happens in: f32 for the narrow floats, i32 for the narrow integers, itself for the
 * others. */
enum fx_dtype fx_compute_type(enum fx_dtype t);
bool fx_is_integer(enum fx_dtype t); /* signed or unsigned, not bool */
bool fx_is_float(enum fx_dtype t);
bool fx_is_f8(enum fx_dtype t); /* a float of 8 bits */

/* Integers travel as int64_t, u64 by its bits. Element i of an array of integer or bool dtype t; 4-bit ones lie two a
 * byte, the first low. */
int64_t fx_load_integer(enum fx_dtype t, const void *array, size_t i);
void fx_store_integer(enum fx_dtype t, void *array, size_t i, int64_t v); /* the low bits of v */
int64_t fx_wrap(enum fx_dtype t, int64_t v);       /* the low bits of v as a t */
int64_t fx_saturate(enum fx_dtype t, double v);    /* truncated, saturated to integer dtype t; NaN 0 */
double fx_integer_to_double(enum fx_dtype t, int64_t v); /* rounded to nearest even beyond 2^53 */
double fx_round_integer(enum fx_dtype t, enum fx_dtype from,
    int64_t v); /* v, of integer dtype `from`, rounded once to what float dtype t holds */
bool fx_integer_fits(
    enum fx_dtype t, enum fx_dtype from, int64_t v); /* v, of integer dtype `from`, is a value of integer dtype t */

/* Element i of an array of dtype t as a double (exact but for 64-bit integers beyond 2^53). Not for 4-bit types. */
double fx_load_double(enum fx_dtype t, const void *array, size_t i);
/* Stores v rounded once, to nearest even (integers: truncated and saturated, NaN 0). */
void fx_store_double(enum fx_dtype t, void *array, size_t i, double v);
/* v rounded to what dtype t holds. */
double fx_round_to(enum fx_dtype t, double v);
/* Half the relative spacing of t's values (2^-11 for f16); 0 for integers and bool. */
double fx_unit_roundoff(enum fx_dtype t);
/* The least positive value t holds, subnormals counted; 0 for integers and bool. */
double fx_smallest(enum fx_dtype t);

#ifdef __cplusplus
}
#endif

#endif
