/* The dtypes: their facts, and conversion between storage and double.
 *
 * In: a dtype of dtypes.def and bits or a double. Out: the other. Every conversion from double rounds exactly once, to
 * nearest even, straight to the target: a detour over float would round twice. f8 and integers saturate. */
#include "dtype.h"

#include <math.h>
#include <string.h>

static const struct dtype_info {
    const char *name;
    int bits;
    enum fx_dtype_class class;
} infos[] = {
#define DTYPE(id, spelling, bits, class, ctype) {spelling, bits, (#class)[0]},
#include "dtypes.def"
#undef DTYPE
};

struct float_layout { /* a binary float: sign, exponent, fraction; bias 2^(exponent_bits - 1) - 1 */
    int exponent_bits, fraction_bits;
    uint32_t max_finite; /* bits of the largest finite value */
    uint32_t overflow;   /* bits stored for what lies above it: infinity where the format has it and casts keep it */
    uint32_t nan;        /* bits of the NaN that is stored */
    bool has_infinity;   /* max_finite + 1 is infinity */
};

static const struct float_layout *layout_of(enum fx_dtype t) {
    static const struct float_layout e4m3 = {4, 3, 0x7e, 0x7e, 0x7f, false};
    static const struct float_layout e5m2 = {5, 2, 0x7b, 0x7b, 0x7e, true};
    static const struct float_layout f16 = {5, 10, 0x7bff, 0x7c00, 0x7e00, true};
    static const struct float_layout bf16 = {8, 7, 0x7f7f, 0x7f80, 0x7fc0, true};
    static const struct float_layout f32 = {8, 23, 0x7f7fffff, 0x7f800000, 0x7fc00000, true};
    switch (t) {
    case FX_F8E4M3: return &e4m3;
    case FX_F8E5M2: return &e5m2;
    case FX_F16: return &f16;
    case FX_BF16: return &bf16;
    case FX_F32: return &f32;
    default: return NULL;
    }
}

const char *fx_dtype_name(enum fx_dtype t) { return (unsigned)t < FX_N_DTYPES ? infos[t].name : "no dtype"; }
int fx_dtype_bits(enum fx_dtype t) { return infos[t].bits; }
bool fx_is_integer(enum fx_dtype t) { return infos[t].class == FX_CLASS_U || infos[t].class == FX_CLASS_S; }
bool fx_is_float(enum fx_dtype t) { return infos[t].class == FX_CLASS_F; }
bool fx_is_f8(enum fx_dtype t) { return fx_is_float(t) && infos[t].bits == 8; }

enum fx_dtype fx_compute_type(enum fx_dtype t) {
    if (infos[t].class == FX_CLASS_F) return t == FX_F64 ? FX_F64 : FX_F32;
    return infos[t].class == FX_CLASS_B || infos[t].bits >= 32 ? t : FX_I32;
}
enum fx_dtype_class fx_dtype_class_of(enum fx_dtype t) { return infos[t].class; }

static int bias(const struct float_layout *l) { return (1 << (l->exponent_bits - 1)) - 1; }

/* ---- a double's bits: 1 of sign, 11 of exponent with a bias of 1023, 52 of fraction ---- */

enum { DOUBLE_BIAS = 1023, DOUBLE_FRACTION = 52 };

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* 2^n, which is a normal number. */
static double power_of_two(int n) { return from_bits((uint64_t)(n + DOUBLE_BIAS) << DOUBLE_FRACTION); }

/* v = m 2^n with m from 1/2 up to 1; of zero and of subnormals some n that is no greater. v is finite. */
static int exponent_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (int)(bits >> DOUBLE_FRACTION & 0x7ff) - DOUBLE_BIAS + 1;
}

static double decode(const struct float_layout *l, uint32_t bits) {
    uint32_t sign_bit = 1u << (l->exponent_bits + l->fraction_bits);
    uint32_t magnitude = bits & (sign_bit - 1), one = 1u << l->fraction_bits;
    uint32_t exponent = magnitude >> l->fraction_bits, fraction = magnitude & (one - 1);
    double v;
    if (magnitude > l->max_finite) v = l->has_infinity && fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0) v = fraction * power_of_two(1 - bias(l) - l->fraction_bits);
    else
        v = from_bits((uint64_t)magnitude << (DOUBLE_FRACTION - l->fraction_bits)) *
            power_of_two(DOUBLE_BIAS - bias(l));
    return bits & sign_bit ? -v : v;
}

/* To nearest even whatever rounding mode the host program runs in; 0 <= v < 2^53. */
static uint64_t round_half_even(double v) {
    uint64_t below = (uint64_t)v;
    double rest = v - (double)below;
    return below + (rest > 0.5 || (rest == 0.5 && below % 2));
}

static uint32_t encode(const struct float_layout *l, double v) {
    uint32_t sign = signbit(v) ? 1u << (l->exponent_bits + l->fraction_bits) : 0;
    if (isnan(v)) return sign | l->nan;
    if (isinf(v)) return sign | l->overflow;
    /* In units of the spacing at v; below the least normal the spacing stays that of the subnormals. */
    int exponent = exponent_of(v), least = 2 - bias(l);
    if (exponent < least) exponent = least;
    uint64_t units = round_half_even(fabs(v) * power_of_two(l->fraction_bits + 1 - exponent));
    /* A carry out of the fraction lands in the exponent: the bits of neighbouring values are neighbours. */
    uint64_t bits = ((uint64_t)(exponent - least) << l->fraction_bits) + units;
    return sign | (bits > l->max_finite ? l->overflow : (uint32_t)bits);
}

/* ---- integers: truncated, saturated, NaN 0 ---- */

static int64_t to_signed(double v, int bits) {
    double limit = power_of_two(bits - 1);
    int64_t most = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    if (isnan(v)) return 0;
    return v >= limit ? most : v < -limit ? -most - 1 : (int64_t)v;
}

static uint64_t to_unsigned(double v, int bits) {
    if (isnan(v) || v <= 0) return 0;
    return v >= power_of_two(bits) ? UINT64_MAX >> (64 - bits) : (uint64_t)v;
}

int64_t fx_wrap(enum fx_dtype t, int64_t v) {
    int unused = 64 - infos[t].bits;
    if (infos[t].class == FX_CLASS_S) return (int64_t)((uint64_t)v << unused) >> unused;
    return (int64_t)((uint64_t)v << unused >> unused);
}

int64_t fx_saturate(enum fx_dtype t, double v) {
    return infos[t].class == FX_CLASS_U ? (int64_t)to_unsigned(v, infos[t].bits) : to_signed(v, infos[t].bits);
}

double fx_integer_to_double(enum fx_dtype t, int64_t v) { return t == FX_U64 ? (double)(uint64_t)v : (double)v; }

/* What 53 bits do not hold is rounded to odd, which keeps what a second rounding to no more than 51 bits must know. */
double fx_round_integer(enum fx_dtype t, enum fx_dtype from, int64_t v) {
    bool is_negative = from != FX_U64 && v < 0;
    uint64_t magnitude = is_negative ? -(uint64_t)v : (uint64_t)v;
    if (t == FX_F64) return fx_integer_to_double(from, v);
    int unused = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> unused;
    if (kept << unused != magnitude) kept |= 1;
    return fx_round_to(t, ldexp(is_negative ? -(double)kept : (double)kept, unused));
}

bool fx_integer_fits(enum fx_dtype t, enum fx_dtype from, int64_t v) {
    bool is_huge = from == FX_U64 && v < 0; /* beyond 2^63 */
    if (t == FX_U64) return is_huge || v >= 0;
    return !is_huge && fx_wrap(t, v) == v;
}

/* ---- storage ---- */

/* Arrays may be unaligned (a slice of a file), so elements go through memcpy, of constant sizes, which are single
 * instructions. The host is little-endian. */
static uint64_t get_bits(const void *array, size_t i, size_t n_bytes) {
    const char *at = (const char *)array + i * n_bytes;
    uint64_t bits = 0;
    switch (n_bytes) {
    case 1: memcpy(&bits, at, 1); break;
    case 2: memcpy(&bits, at, 2); break;
    case 4: memcpy(&bits, at, 4); break;
    default: memcpy(&bits, at, 8);
    }
    return bits;
}

static void put_bits(void *array, size_t i, size_t n_bytes, uint64_t bits) {
    char *at = (char *)array + i * n_bytes;
    switch (n_bytes) {
    case 1: memcpy(at, &bits, 1); break;
    case 2: memcpy(at, &bits, 2); break;
    case 4: memcpy(at, &bits, 4); break;
    default: memcpy(at, &bits, 8);
    }
}

int64_t fx_load_integer(enum fx_dtype t, const void *array, size_t i) {
    int n_bits = infos[t].bits;
    if (infos[t].class == FX_CLASS_B) return ((const unsigned char *)array)[i] != 0;
    if (n_bits == 4) return fx_wrap(t, ((const unsigned char *)array)[i / 2] >> (i % 2 * 4));
    return fx_wrap(t, (int64_t)get_bits(array, i, (size_t)n_bits / 8));
}

void fx_store_integer(enum fx_dtype t, void *array, size_t i, int64_t v) {
    size_t n_bytes = (size_t)infos[t].bits / 8;
    unsigned char *byte = (unsigned char *)array + i / 2;
    if (infos[t].class == FX_CLASS_B) ((unsigned char *)array)[i] = v != 0;
    else if (n_bytes == 0) *byte = (unsigned char)(i % 2 ? (*byte & 0x0f) | (v & 15) << 4 : (*byte & 0xf0) | (v & 15));
    else put_bits(array, i, n_bytes, (uint64_t)v);
}

double fx_load_double(enum fx_dtype t, const void *array, size_t i) {
    int n_bits = infos[t].bits;
    uint64_t bits = get_bits(array, i, (size_t)n_bits / 8);
    float f;
    double v;
    switch (infos[t].class) {
    case FX_CLASS_B: return bits != 0;
    case FX_CLASS_U: return (double)bits;
    case FX_CLASS_S: return (double)((int64_t)(bits << (64 - n_bits)) >> (64 - n_bits));
    case FX_CLASS_F: break;
    }
    if (t == FX_F64) {
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    if (t == FX_F32) {
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    return decode(layout_of(t), (uint32_t)bits);
}

void fx_store_double(enum fx_dtype t, void *array, size_t i, double v) {
    int n_bits = infos[t].bits;
    uint64_t bits = 0;
    float f = (float)v;
    switch (infos[t].class) {
    case FX_CLASS_B: bits = v != 0; break;
    case FX_CLASS_U: bits = to_unsigned(v, n_bits); break;
    case FX_CLASS_S: bits = (uint64_t)to_signed(v, n_bits); break;
    case FX_CLASS_F:
        if (t == FX_F64)
            memcpy(&bits, &v, sizeof v);
        else if (t == FX_F32)
            memcpy(&bits, &f, sizeof f);
        else
            bits = encode(layout_of(t), v);
        break;
    }
    put_bits(array, i, (size_t)n_bits / 8, bits);
}

double fx_round_to(enum fx_dtype t, double v) {
    switch (infos[t].class) {
    case FX_CLASS_B: return v != 0;
    case FX_CLASS_U: return (double)to_unsigned(v, infos[t].bits);
    case FX_CLASS_S: return (double)to_signed(v, infos[t].bits);
    case FX_CLASS_F: break;
    }
    if (t == FX_F32) return (float)v;
    return t == FX_F64 ? v : decode(layout_of(t), encode(layout_of(t), v));
}

/* ---- the grain of a float ---- */

double fx_unit_roundoff(enum fx_dtype t) {
    if (t == FX_F64) return ldexp(1, -53);
    return layout_of(t) ? ldexp(1, -layout_of(t)->fraction_bits - 1) : 0;
}

double fx_smallest(enum fx_dtype t) {
    if (t == FX_F64) return ldexp(1, -1074);
    return layout_of(t) ? ldexp(1, 1 - bias(layout_of(t)) - layout_of(t)->fraction_bits) : 0;
}
