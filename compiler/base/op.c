/* ops.def as a table, and the value of each op, in double and over integers: the meaning every test compares with. */
#define FX_EVERY_OP
#include "base/op.h"

#include <math.h>
#include <string.h>

const int op_count = N_OPS;

const struct op_info op_info[N_OPS] = {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative)                                 \
    [O_##id] = {name, #id, arity, RULE_##rule, name[0] == '-' || name[0] == '!' || name[1] == ' ', cuda, cuda_integer, \
        derivative},
#include "base/ops.def"
#undef OP
};

static const struct {
    enum op op;
    enum fx_dtype to;
    const char *form;
    double ulps;
} rounded_forms[] = {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative)
#define ROUNDED(id, dtype, cuda, ulps) {O_##id, FX_##dtype, cuda, ulps},
#include "base/ops.def"
#undef OP
};
enum { N_ROUNDED = sizeof rounded_forms / sizeof *rounded_forms };

const char *op_rounded_form(enum op op, enum fx_dtype to) {
    for (int i = 0; i < N_ROUNDED; i++)
        if (rounded_forms[i].op == op && rounded_forms[i].to == to) return rounded_forms[i].form;
    return NULL;
}

double op_rounded_ulps(enum op op, enum fx_dtype to) {
    for (int i = 0; i < N_ROUNDED; i++)
        if (rounded_forms[i].op == op && rounded_forms[i].to == to) return rounded_forms[i].ulps;
    return 0;
}

bool op_find(const char *name, unsigned len, enum op *out) {
    for (int i = 0; i < N_OPS; i++)
        if (!op_info[i].is_infix && strlen(op_info[i].name) == len && memcmp(op_info[i].name, name, len) == 0)
            return *out = (enum op)i, true;
    return false;
}

/* ---- in double ---- */

/* max and min propagate NaN, which fmax does not, and hold -0 < +0, so that they commute to the bit. */
static double nan_max(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a > b || (a == b && !signbit(a)) ? a : b;
}
static double nan_min(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a < b || (a == b && signbit(a)) ? a : b;
}
static double sign(double a) { return isnan(a) ? a : (a > 0) - (a < 0); }
static double sigmoid(double a) { return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)); }
/* At -inf its limit, as gelu: -inf * 0 would be NaN. */
static double silu(double a) { return isinf(a) && a < 0 ? -0.0 : a * sigmoid(a); }
/* erfc keeps the negative tail, where 1 + erf would cancel. */
static double gelu(double a) { return isinf(a) && a < 0 ? -0.0 : 0.5 * a * erfc(-a * 0.70710678118654752440); }

double op_eval(enum op op, double a, double b, double c) {
    (void)b, (void)c;
    switch (op) {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative) \
    case O_##id: return eval;
#include "base/ops.def"
#undef OP
    case N_OPS: break;
    }
    return NAN;
}

double op_ulps(enum op op, double a) {
    (void)a;
    switch (op) {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative) \
    case O_##id: return ulps;
#include "base/ops.def"
#undef OP
    case N_OPS: break;
    }
    return 0;
}

/* ---- over integers ---- */

__extension__ typedef __int128
    wide; /* holds every result of 64-bit operands but a product's, which wraps as its low bits must */
__extension__ typedef unsigned __int128 wide_bits;

static wide wide_mul(wide a, wide b) { return (wide)((wide_bits)a * (wide_bits)b); }
static wide wide_fma(wide a, wide b, wide c) { return (wide)((wide_bits)a * (wide_bits)b + (wide_bits)c); }

static wide floor_div(wide a, wide b) {
    if (b == 0) return 0;
    wide q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

void fx_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53u * x[0], q = (uint64_t)0xCD9E8D57u * x[2];
        uint32_t next[4] = {
            (uint32_t)(q >> 32) ^ x[1] ^ k[0], (uint32_t)q, (uint32_t)(p >> 32) ^ x[3] ^ k[1], (uint32_t)p};
        memcpy(x, next, sizeof x);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(out, x, sizeof x);
}

uint32_t fx_philox(uint64_t element, uint64_t seed, uint64_t offset) {
    uint64_t block = element / 4;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)offset, (uint32_t)(offset >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
    fx_philox_block(counter, key, out);
    return out[element % 4];
}

static wide philox_word(wide a, wide b, wide c) { return fx_philox((uint64_t)a, (uint64_t)b, (uint64_t)c); }

#define NONE 0
static wide eval_wide(enum op op, wide a, wide b, wide c) {
    (void)a, (void)b, (void)c;
    switch (op) {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative) \
    case O_##id: return integer;
#include "base/ops.def"
#undef OP
    case N_OPS: break;
    }
    return 0;
}

int64_t op_eval_integer(enum op op, enum fx_dtype t, int64_t a, int64_t b, int64_t c) {
    bool is_u64 = t == FX_U64;
    wide x[3] = {is_u64 ? (wide)(uint64_t)a : a, is_u64 ? (wide)(uint64_t)b : b, is_u64 ? (wide)(uint64_t)c : c};
    int64_t r = (int64_t)(uint64_t)(wide_bits)eval_wide(op, x[0], x[1], x[2]);
    return op_info[op].rule == RULE_COMPARE ? r : fx_wrap(op_info[op].rule == RULE_BITS ? FX_U32 : t, r);
}
