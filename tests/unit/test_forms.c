/* The emitted form of every op, run on the host: what stands in the cuda columns of ops.def and in kernels/math.cuh and
 * integer.cuh, over a sweep of operands in f32, f64 and the integer types, against the op's value in the table and
 * within the error that the table states.
 *
 * The forms are written by the emitter's own value_operation and compiled as C++ by $CLANG behind host twins of the few
 * items of ptx.cuh they name. A GPU's own exp, reciprocal and so on are swept by test_gpu; here an op's form is held to
 * its row wherever tests run. */
#define FX_EVERY_OP
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/op.h"
#include "emit/emit_value.h"
#include "spec_gen.h"
#include "suite.h"

enum { N_TYPES = 7, N_RANDOM = 1 << 16, N_RANDOM_MORE = 1 << 14 };
static const enum fx_dtype halves[] = {FX_BF16, FX_F16};
static const enum fx_dtype types[N_TYPES] = {FX_F32, FX_F64, FX_I32, FX_U32, FX_I64, FX_U64, FX_BOOL};

static const char prelude[] =
    "#include <math.h>\n#include <string.h>\n#define FX_DEVICE static inline\n"
    "FX_DEVICE float fx_from_bits(unsigned b) { float x; memcpy(&x, &b, 4); return x; }\n"
    "FX_DEVICE unsigned fx_bits(float x) { unsigned b; memcpy(&b, &x, 4); return b; }\n"
    "FX_DEVICE unsigned fx_and_or(unsigned x, unsigned mask, unsigned y) { return (x & mask) | y; }\n"
    "FX_DEVICE float fx_max(float x, float y) { return x != x || y != y ? x + y : x > y ? x : y; }\n"
    "FX_DEVICE float fx_min(float x, float y) { return x != x || y != y ? x + y : x < y ? x : y; }\n"
    "FX_DEVICE float fx_exp2_approx(float x) { float y = exp2f(x); return y < 1.17549435e-38f ? 0 : y; }\n"
    "FX_DEVICE float fx_rcp_approx(float x) { return fabsf(x) > 0x1p126f ? copysignf(0, x) : 1 / x; }\n"
    "FX_DEVICE float rsqrtf(float x) { return (float)(1 / sqrt((double)x)); }\n"
    "FX_DEVICE double rsqrt(double x) { return 1 / sqrt(x); }\n"
    "#include \"compiler/kernels/math.cuh\"\n#include \"compiler/kernels/integer.cuh\"\n";

struct word { /* an operand, or a value, of any type */
    double f;
    int64_t i;
};

static void *library;

/* ---- the forms, compiled ---- */

static bool is_integer(enum fx_dtype t) { return t != FX_BOOL && fx_is_integer(t); }

/* Whether the op takes operands of type t (of SELECT: behind the condition), and runs on a GPU then. */
static bool takes(enum op op, enum fx_dtype t) {
    const struct op_info *info = &op_info[op];
    if (info->rule == RULE_LOGIC) return t == FX_BOOL;
    if (info->rule == RULE_BITS) return t == FX_U64;
    if (t == FX_BOOL || (info->rule == RULE_INTEGER && !is_integer(t)) || (info->rule == RULE_FLOAT && is_integer(t)))
        return false;
    return *(is_integer(t) ? info->cuda_integer : info->cuda) != 0;
}

static enum fx_dtype result_type(enum op op, enum fx_dtype t) {
    enum op_rule rule = op_info[op].rule;
    return rule == RULE_COMPARE || rule == RULE_LOGIC ? FX_BOOL : rule == RULE_BITS ? FX_U32 : t;
}

/* What floats are converted to, from f32 and from f64. */
static const enum fx_dtype saturated[] = {FX_I4, FX_U4, FX_I8, FX_U8, FX_I16, FX_I32, FX_U32, FX_I64, FX_U64};
enum { N_SATURATED = sizeof saturated / sizeof *saturated };

/* `to`: what the result is rounded to at once, else t. */
static void print_form(FILE *out, struct values *w, enum op op, enum fx_dtype t, enum fx_dtype to) {
    static const char *const names[] = {"a", "b", "c"};
    struct node operands[MAX_ARGS] = {0},
                n = {.kind = N_OP, .op = op, .dtype = result_type(op, t), .to = to, .n_args = op_info[op].arity};
    fprintf(out, "extern \"C\" void form_%s_%s(const struct word *x, struct word *y) {\n", op_info[op].id,
        fx_dtype_name(to));
    for (int i = 0; i < n.n_args; i++) {
        bool is_condition = op_info[op].rule == RULE_SELECT && i == 0;
        operands[i] = (struct node){.kind = N_INPUT, .dtype = is_condition ? FX_BOOL : t};
        n.args[i] = &operands[i];
        fprintf(out, "  const %s %s = x[%d].%s;\n", value_ctype(operands[i].dtype), names[i], i,
            is_condition || !fx_is_float(t) ? "i" : "f");
    }
    fprintf(out, "  y->%s = (%s)(%s);\n}\n", fx_is_float(n.dtype) ? "f" : "i", value_ctype(n.dtype),
        value_operation(w, &n, names));
}

static void build_forms(void) {
    static struct cx cx;
    struct graph g = {.cx = &cx};
    struct values w = {.g = &g};
    const char *clang = getenv("CLANG"), *source = FX_TEST_DIR "/forms.cpp", *object = FX_TEST_DIR "/forms.so";
    char command[1000];
    arena_init(&cx.arena, &cx.oom);
    if (setjmp(cx.oom)) abort();
    FILE *out = fopen(source, "w");
    if (!out) return;
    fprintf(out, "%sstruct word { double f; long long i; };\n", prelude);
    for (int op = 0; op < N_OPS; op++)
        for (int t = 0; t < N_TYPES; t++)
            if (takes((enum op)op, types[t])) print_form(out, &w, (enum op)op, types[t], types[t]);
    for (int op = 0; op < N_OPS; op++)
        for (int t = 0; t < 2; t++)
            if (op_rounded_form((enum op)op, halves[t])) print_form(out, &w, (enum op)op, FX_F32, halves[t]);
    for (int i = 0; i < N_SATURATED; i++)
        fprintf(out,
            "extern \"C\" void saturate_%s(const struct word *x, struct word *y) {\n"
            "  y[0].i = fx_saturate_%s((float)x->f), y[1].i = fx_saturate_%s(x->f);\n}\n",
            fx_dtype_name(saturated[i]), fx_dtype_name(saturated[i]), fx_dtype_name(saturated[i]));
    fprintf(out, "extern \"C\" void divided(const struct word *x, struct word *y) {\n"
                 "  y->f = fx_divided((float)x[0].f, fx_divisor_of((float)x[1].f));\n}\n"
                 "extern \"C\" void ratio(const struct word *x, struct word *y) {\n"
                 "  y->f = fx_ratio((float)x[0].f, (float)x[1].f);\n}\n");
    fclose(out);
    arena_release(&cx.arena);
    snprintf(command, sizeof command,
        "%s -x c++ -std=c++17 -O1 -w -ffp-contract=off -fno-exceptions -fPIC -shared -iquote . -o %s %s",
        clang && *clang ? clang : "clang", object, source);
    if (system(command) == 0) library = dlopen(FX_TEST_DIR "/forms.so", RTLD_NOW);
}

typedef void form(const struct word *, struct word *);

static form *find_function(const char *name) {
    ck_assert_msg(library != NULL, "the forms do not compile");
    form *f = NULL;
    *(void **)&f = dlsym(library, name);
    ck_assert_msg(f != NULL, "%s is missing", name);
    return f;
}

static form *find_form(enum op op, enum fx_dtype t) {
    char name[80];
    snprintf(name, sizeof name, "form_%s_%s", op_info[op].id, fx_dtype_name(t));
    return find_function(name);
}

/* ---- operands ---- */

static const double landmarks[] = {0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 0.59999, 0.6, -0.7, 9.5, -9.6, -13, 30,
    -30.5, 89, -104, -110, 127, -1e-30, 1e30, 1e-38, 3e38, -3e38, INFINITY, -INFINITY, NAN};
static const int64_t integer_landmarks[] = {
    0, 1, -1, 2, -2, 3, -3, 7, -8, 10, 65536, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
enum {
    N_LANDMARKS = sizeof landmarks / sizeof *landmarks,
    N_INTEGERS = sizeof integer_landmarks / sizeof *integer_landmarks
};

/* Operand number i of its type: landmarks, then half of any bits, half of a middling size. */
static struct word operand(enum fx_dtype t, int i, uint64_t *random) {
    struct word x = {0};
    uint64_t bits = random_next(random);
    if (t == FX_BOOL) x.i = i >= 0 ? i & 1 : (int64_t)(bits & 1);
    else if (is_integer(t))
        x.i = fx_wrap(t, i >= 0     ? integer_landmarks[i % N_INTEGERS]
                         : bits & 1 ? (int64_t)bits
                                    : (int64_t)(bits >> 8 & 255) - 128);
    else if (i >= 0) x.f = landmarks[i % N_LANDMARKS];
    else if (bits & 1) x.f = ((double)(bits >> 11) * 0x1p-53 - 0.5) * 40;
    else memcpy(&x.f, &bits, 8);
    if (t == FX_F32 && i < 0 && !(bits & 1)) {
        float f;
        uint32_t low = (uint32_t)(bits >> 16);
        memcpy(&f, &low, 4);
        x.f = f;
    }
    if (t == FX_F32) x.f = (float)x.f;
    return x;
}

/* ---- comparing ---- */

/* How far a form may be from the value f over operands x: what the table states, and the errors of op_eval itself. */
static double allowed(enum op op, enum fx_dtype t, const struct word *x, double f) {
    bool is_f64 = t == FX_F64;
    double ulps = op_ulps(op, x->f), unit = is_f64 ? 0x1p-52 : 0x1p-24, normal = is_f64 ? DBL_MIN : FLT_MIN;
    if (is_f64 && ulps > 1 && ulps < 4) ulps = 4;
    double own = op == O_FMA ? fabs(x[0].f * x[1].f) * 0x1p-52 : fabs(f) * 0x1p-52;
    return ulps * unit * fmax(fabs(f), normal) + (ulps > 1 && fabs(f) < 2 * normal ? normal : 0) + (ulps > 0 ? own : 0);
}

static bool is_right(enum op op, enum fx_dtype t, const struct word *x, double want, double got) {
    if (isnan(want)) return isnan(got);
    if (t == FX_F32 && fabs(want) > FLT_MAX * (1 - 0x1p-22))
        return got == (want > 0 ? INFINITY : -INFINITY) || fabs(got) > FLT_MAX * (1 - 0x1p-20);
    if (isinf(want) || isinf(got)) return want == got || fabs(want) > DBL_MAX / 2;
    return fabs(got - want) <= allowed(op, t, x, want);
}

static void check_at(enum op op, enum fx_dtype t, form *f, const struct word *x) {
    enum fx_dtype r = result_type(op, t);
    bool has_floats = fx_is_float(t) || t == FX_BOOL;
    struct word got = {0};
    f(x, &got);
    if (fx_is_float(r)) {
        double want = op_info[op].rule == RULE_SELECT ? op_eval(op, (double)x[0].i, x[1].f, x[2].f)
                                                      : op_eval(op, x[0].f, x[1].f, x[2].f);
        ck_assert_msg(is_right(op, t, x, want, got.f), "%s of %s: %.17g, %.17g, %.17g give %.17g, not %.17g",
            op_info[op].id, fx_dtype_name(t), x[0].f, x[1].f, x[2].f, got.f, want);
        return;
    }
    int64_t want = !has_floats    ? op_eval_integer(op, t, x[0].i, x[1].i, x[2].i)
                   : t == FX_BOOL ? (int64_t)op_eval(op, (double)x[0].i, (double)x[1].i, 0)
                                  : (int64_t)op_eval(op, x[0].f, x[1].f, x[2].f);
    ck_assert_msg(got.i == want, "%s of %s: %.17g, %.17g or %lld, %lld, %lld give %lld, not %lld", op_info[op].id,
        fx_dtype_name(t), x[0].f, x[1].f, (long long)x[0].i, (long long)x[1].i, (long long)x[2].i, (long long)got.i,
        (long long)want);
}

static void check_form(enum op op, enum fx_dtype t) {
    int arity = op_info[op].arity, n_landmarks = is_integer(t) ? N_INTEGERS : t == FX_BOOL ? 2 : N_LANDMARKS, n = 1;
    uint64_t random = (uint64_t)op * N_TYPES + t + 1;
    form *f = find_form(op, t);
    for (int i = 0; i < arity; i++) n *= n_landmarks;
    int n_random = arity == 1 ? N_RANDOM : N_RANDOM_MORE;
    for (int i = 0; i < n + n_random; i++) {
        struct word x[3] = {{0}};
        for (int j = 0, at = i; j < arity; j++, at /= n_landmarks)
            x[j] = operand(
                op_info[op].rule == RULE_SELECT && j == 0 ? FX_BOOL : t, i < n ? at % n_landmarks : -1, &random);
        check_at(op, t, f, x);
    }
}

/* f64 is held to its own digits, so a form that passes through f32 is found. */
/* Forms of what is rounded to 16 bits at once, within what the table states; of f16 what is less than half its least
 * number is 0. */
START_TEST(test_rounded) {
    int n = 0;
    for (int op = 0; op < N_OPS; op++) {
        const enum fx_dtype to = halves[_i];
        uint64_t random = (uint64_t)op + 1;
        if (!op_rounded_form((enum op)op, to)) continue;
        form *f = find_form((enum op)op, to);
        n++;
        for (int i = 0; i < N_LANDMARKS + N_RANDOM; i++) {
            const struct word x = operand(FX_F32, i < N_LANDMARKS ? i : -1, &random);
            const double want = op_eval((enum op)op, x.f, 0, 0);
            struct word got = {0};
            f(&x, &got);
            const double most = op_rounded_ulps((enum op)op, to) * 0x1p-24 * fmax(fabs(want), FLT_MIN) +
                                (to == FX_F16 ? 0x1p-25 : fabs(want) < 2 * FLT_MIN ? FLT_MIN : 0);
            const bool is_right = isnan(want) ? isnan(got.f) : isinf(want) ? got.f == want : fabs(got.f - want) <= most;
            ck_assert_msg(is_right, "%s rounded to %s: %.17g gives %.17g, not %.17g", op_info[op].id,
                fx_dtype_name(to), x.f, got.f, want);
        }
    }
    ck_assert_int_ge(n, 3);
}
END_TEST

START_TEST(form_of) {
    int n = 0;
    for (int t = 0; t < N_TYPES; t++)
        if (takes((enum op)_i, types[t])) check_form((enum op)_i, types[t]), n++;
    ck_assert_msg(n > 0, "%s has no form", op_info[_i].id);
}
END_TEST

/* Every 1021st f32, and those at the ends of the dtype: its own conversion and that of doubles. */
START_TEST(saturation_to) {
    enum fx_dtype t = saturated[_i];
    char name[40];
    snprintf(name, sizeof name, "saturate_%s", fx_dtype_name(t));
    form *f = find_function(name);
    int bits = fx_dtype_bits(t);
    for (int64_t i = -16; i <= UINT32_MAX; i += i < 0 ? 1 : 1021) {
        uint32_t word = (uint32_t)i;
        float v;
        memcpy(&v, &word, 4);
        if (i < 0) { /* -1, 1 and 2 to powers about those of the ends, and what stands next to them */
            float end = ldexpf(1, bits - (i & 1)), sign = i & 2 ? -1 : 1;
            v = sign * (i & 4 ? nextafterf(end, i & 8 ? 0 : INFINITY) : i & 8 ? end : end - 1);
        }
        struct word x = {.f = v}, y[2] = {{0}};
        f(&x, y);
        int64_t want = fx_saturate(t, v);
        ck_assert_msg(y[0].i == want && y[1].i == want, "%s of %.9g is %lld, of a double %lld, and should be %lld", name,
            v, (long long)y[0].i, (long long)y[1].i, (long long)want);
    }
}
END_TEST

static float drawn(int i, uint64_t *random) {
    uint32_t bits = (uint32_t)random_next(random);
    float x;
    memcpy(&x, &bits, 4);
    return i < N_LANDMARKS ? (float)landmarks[i] : x;
}

static const char *const quotients[] = {"divided", "ratio"};
enum { N_QUOTIENTS = sizeof quotients / sizeof *quotients };

/* Quotients by the divisor of a row, and those without a branch, are those of `/`, or as near; the least are within a
 * unit in the last place. */
START_TEST(division_by) {
    form *f = find_function(quotients[_i]);
    uint64_t random = 1;
    for (int i = 0; i < N_LANDMARKS * N_LANDMARKS + 64 * N_RANDOM; i++) {
        bool is_random = i >= N_LANDMARKS * N_LANDMARKS;
        const float x = drawn(is_random ? N_LANDMARKS : i % N_LANDMARKS, &random),
                    d = drawn(is_random ? N_LANDMARKS : i / N_LANDMARKS, &random), want = x / d;
        struct word given[2] = {{.f = x}, {.f = d}}, got;
        f(given, &got);
        const float y = (float)got.f;
        const double ulp = fmax(fabs(want) - nextafterf(fabsf(want), 0), 0x1p-149), off = fabs((double)x / d - y);
        const bool is_same = memcmp(&y, &want, 4) == 0 || (y != y && want != want);
        const bool is_near = off <= (fabsf(want) < 0x1p-100f ? 1.0 : 0.50001) * ulp;
        ck_assert_msg(is_same || is_near, "%.9g / %.9g is %.9g, and should be %.9g", x, d, y, want);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("forms");
    TCase *tests = tcase_create("forms");
    tcase_add_unchecked_fixture(tests, build_forms, NULL);
    tcase_add_loop_test(tests, form_of, 0, N_OPS);
    tcase_add_loop_test(tests, test_rounded, 0, 2);
    tcase_add_loop_test(tests, saturation_to, 0, N_SATURATED);
    tcase_add_loop_test(tests, division_by, 0, N_QUOTIENTS);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
