/* ops.def as a table, and the value of each op in double: the meaning every test compares with. */
#include "op.h"

#include <math.h>
#include <string.h>

const struct op_info op_info[N_OPS] = {
#define OP(id, name, arity, rule, eval, cuda, ulps) \
    [O_##id] = {name, #id, arity, RULE_##rule, name[0] == '-' || name[0] == '!' || name[1] == ' ', cuda, ulps},
#include "ops.def"
#undef OP
};

enum op op_find(const char *name, unsigned len) {
    for (int i = 0; i < N_OPS; i++)
        if (!op_info[i].is_infix && strlen(op_info[i].name) == len && memcmp(op_info[i].name, name, len) == 0)
            return i;
    return N_OPS;
}

/* max and min propagate NaN, which fmax does not, and hold -0 < +0, so that they commute to the bit. */
static double nan_max(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b || (a == b && !signbit(a)) ? a : b; }
static double nan_min(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b || (a == b && signbit(a)) ? a : b; }
static double sign(double a) { return isnan(a) ? a : (a > 0) - (a < 0); }
static double sigmoid(double a) { return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)); }
/* At -inf its limit, as gelu: -inf * 0 would be NaN. */
static double silu(double a) { return isinf(a) && a < 0 ? -0.0 : a * sigmoid(a); }
/* erfc keeps the negative tail, where 1 + erf would cancel. */
static double gelu(double a) { return isinf(a) && a < 0 ? -0.0 : 0.5 * a * erfc(-a * 0.70710678118654752440); }

double op_eval(enum op op, double a, double b, double c) {
    (void)b, (void)c;
    switch (op) {
#define OP(id, name, arity, rule, eval, cuda, ulps) \
    case O_##id: return eval;
#include "ops.def"
#undef OP
    case N_OPS: break;
    }
    return NAN;
}
