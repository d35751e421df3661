/* Gradients against central differences of the kernel they are of, both through the oracle in f64, for every rule: each
 * op of ops.def, reductions, scans, accesses of every form that is solved, and what the prelude makes of them. Also
 * what is chosen where there is no derivative, the names of a gradient's parameters, and what is refused.
 *
 * The tolerance. With L = the sum of outputs times adjoints and D(h) = (L(x + h) - L(x - h)) / 2h, the limit is taken
 * as (4 D(h) - D(2h)) / 3. Its error is below |D(h) - D(2h)|, which is about 3 h^2 / 6 L''', by another power of h^2; L
 * itself is off by a few roundings of the sum S of its terms' magnitudes, which h divides: 256 * 2^-53 * S / h. A
 * tolerance above 2e-5 of the gradient's scale would say nothing and is a failure. */
#define FX_EVERY_OP
#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "base/op.h"
#include "spec_gen.h"
#include "suite.h"

enum { MAX_PARAMS = 16, MAX_ELEMENTS = 512 };

enum flavour { POSITIVE, SIGNED, WITH_ZEROS }; /* 0.3 .. 2.5; of either sign; likewise and some exactly 0 */

struct argument {
    struct fx_host host;
    int n;
    double f[MAX_ELEMENTS];
    int64_t i[MAX_ELEMENTS];
};

struct sample { /* a kernel, its gradient, and arguments of both */
    fx_compilation *c;
    const struct fx_kernel *f, *g;
    struct argument in[2 * MAX_PARAMS]; /* of g: f's inputs first */
    int n_in;                           /* of f */
};

static fx_compilation *compile(const char *text) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    fx_status status = fx_compile(text, strlen(text), "spec.fx", &options, &c);
    ck_assert_msg(status == FX_OK, "%s\n%s", text, fx_messages(c));
    return c;
}

/* ---- arguments ---- */

/* The extent of a label: fixed, or from a list "A=3 B=4". */
static int64_t extent_of(const struct fx_kernel *k, int axis, const char *extents) {
    const char *name = k->extents[axis].name;
    size_t len = strlen(name);
    if (k->extents[axis].value >= 0) return k->extents[axis].value;
    for (const char *s = extents; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strncmp(s, name, len) == 0 && s[len] == '=') return atoi(s + len + 1);
    ck_abort_msg("no extent for %s in %s", name, extents);
    return 0;
}

static double draw(enum flavour flavour, uint64_t *random) {
    double u = (double)(random_next(random) >> 11) * 0x1p-53;
    if (flavour == WITH_ZEROS && random_below(random, 4) == 0) return 0;
    return (0.3 + 2.2 * u) * (flavour != POSITIVE && random_below(random, 2) ? -1 : 1);
}

static int count_inputs(const struct fx_kernel *k) {
    int n = 0;
    for (int i = 0; i < k->n_params; i++) n += k->params[i].is_input;
    return n;
}

/* Fills the arguments of g, whose inputs begin with f's. */
static void fill(struct sample *s, const char *extents, enum flavour flavour, uint64_t random) {
    int n = 0;
    for (int i = 0; i < s->g->n_params; i++) {
        const struct fx_param *p = &s->g->params[i];
        if (!p->is_input) continue;
        struct argument *a = &s->in[n++];
        bool is_float = fx_is_float(p->dtype);
        ck_assert_msg(!is_float || p->dtype == FX_F64, "%s is not f64: a step would be rounded away", p->name);
        ck_assert_msg(is_float || p->dtype == FX_I64, "%s is an integer of another type than i64", p->name);
        *a = (struct argument){.n = 1, .host = {.dtype = p->dtype, .rank = p->rank}};
        for (int x = 0; x < p->rank; x++) a->n *= (int)(a->host.extents[x] = extent_of(s->g, p->extents[x], extents));
        ck_assert_int_le(a->n, MAX_ELEMENTS);
        for (int e = 0; e < a->n; e++) {
            a->f[e] = draw(n > s->n_in ? SIGNED : flavour, &random);
            a->i[e] = random_below(&random, 3);
        }
    }
}

static void open_sample(struct sample *s, const char *text, const char *f, const char *g, const char *extents,
    enum flavour flavour, uint64_t random) {
    memset(s, 0, sizeof *s);
    s->c = compile(text);
    s->f = fx_find_kernel(fx_get_plan(s->c), f);
    s->g = fx_find_kernel(fx_get_plan(s->c), g);
    ck_assert(s->f && s->g);
    s->n_in = count_inputs(s->f);
    fill(s, extents, flavour, random);
}

/* ---- values ---- */

/* Output number `output` of k into value[0..n), n from the label extents; how many. */
static int evaluate(
    struct sample *s, const struct fx_kernel *k, int n_inputs, int output, const char *extents, double *value) {
    struct fx_host hosts[2 * MAX_PARAMS];
    int64_t n = 1;
    char message[256];
    int at = -1;
    for (int i = 0; i < n_inputs; i++) {
        hosts[i] = s->in[i].host;
        hosts[i].data = fx_is_float(hosts[i].dtype) ? (const void *)s->in[i].f : s->in[i].i;
    }
    for (int i = 0, o = 0; i < k->n_params; i++)
        if (k->params[i].is_output && o++ == output) at = i;
    ck_assert_int_ge(at, 0);
    for (int x = 0; x < k->params[at].rank; x++) n *= extent_of(k, k->params[at].extents[x], extents);
    ck_assert_int_le((int)n, MAX_ELEMENTS);
    fx_status status = fx_evaluate(
        s->c, k->name, hosts, n_inputs, output, NULL, n, value, NULL, FX_BOUND_WORST, NULL, message, sizeof message);
    ck_assert_msg(status == FX_OK, "%s: %s", k->name, message);
    return (int)n;
}

/* The sum of f's float outputs times their adjoints; *magnitude is that of its terms. */
static double total(struct sample *s, const char *extents, double *magnitude) {
    static double value[MAX_ELEMENTS];
    double sum = 0;
    int o = 0, adjoint = s->n_in;
    *magnitude = 0;
    for (int i = 0; i < s->f->n_params; i++) {
        if (!s->f->params[i].is_output) continue;
        if (fx_is_float(s->f->params[i].dtype)) {
            int n = evaluate(s, s->f, s->n_in, o, extents, value);
            for (int e = 0; e < n; e++)
                sum += value[e] * s->in[adjoint].f[e], *magnitude += fabs(value[e] * s->in[adjoint].f[e]);
            adjoint++;
        }
        o++;
    }
    return sum;
}

static double slope(struct sample *s, const char *extents, double *at, double h, double *magnitude) {
    double x = *at, other;
    *at = x + h;
    double above = total(s, extents, magnitude);
    *at = x - h;
    double below = total(s, extents, &other);
    *at = x;
    return (above - below) / (2 * h);
}

/* The input of f whose gradient g's output d<name> is. */
static int input_of(const struct sample *s, const struct fx_param *gradient) {
    int n = 0;
    for (int i = 0; i < s->f->n_params; i++) {
        if (!s->f->params[i].is_input) continue;
        size_t len = strlen(s->f->params[i].name);
        if (gradient->name[0] == 'd' && strncmp(gradient->name + 1, s->f->params[i].name, len) == 0 &&
            strspn(gradient->name + 1 + len, "_") == strlen(gradient->name + 1 + len))
            return n;
        n++;
    }
    ck_abort_msg("%s is the gradient of nothing", gradient->name);
    return -1;
}

static void compare(struct sample *s, const char *text, const char *extents) {
    static double got[MAX_ELEMENTS];
    const double h = 1e-4;
    int o = 0;
    for (int i = 0; i < s->g->n_params; i++) {
        if (!s->g->params[i].is_output) continue;
        int input = input_of(s, &s->g->params[i]), n = evaluate(s, s->g, count_inputs(s->g), o++, extents, got);
        ck_assert_int_eq(n, s->in[input].n);
        for (int e = 0; e < n; e++) {
            double magnitude, d = slope(s, extents, &s->in[input].f[e], h, &magnitude),
                              d2 = slope(s, extents, &s->in[input].f[e], 2 * h, &magnitude);
            double want = (4 * d - d2) / 3, tolerance = fabs(d - d2) + 256 * 0x1p-53 * magnitude / h;
            ck_assert_msg(tolerance <= 2e-5 * (1 + fabs(want) + magnitude),
                "%s\nthe difference of %s[%d] is not smooth: %g, %g", text, s->g->params[i].name, e, d, d2);
            ck_assert_msg(fabs(got[e] - want) <= tolerance,
                "%s\n%s[%d] is %.12g, the difference %.12g, the tolerance %g", text, s->g->params[i].name, e, got[e],
                want, tolerance);
        }
    }
}

static void check_case(const char *text, const char *f, const char *g, const char *extents, enum flavour flavour) {
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct sample *s = malloc(sizeof *s);
        ck_assert(s != NULL);
        open_sample(s, text, f, g, extents, flavour, seed * 1234567);
        compare(s, text, extents);
        fx_close(s->c);
        free(s);
    }
}

/* ---- ops: each row of the table ---- */

/* The op over a, b, c, as a spec writes it; false where no float comes of floats. */
static bool op_text(enum op op, char *out, size_t size) {
    const struct op_info *info = &op_info[op];
    if (info->rule != RULE_ARITH && info->rule != RULE_FLOAT) return false;
    if (info->is_infix) snprintf(out, size, "%s", info->name);
    else snprintf(out, size, "%s(a%s%s)", info->name, info->arity > 1 ? ", b" : "", info->arity > 2 ? ", c" : "");
    return true;
}

START_TEST(ops) {
    char call[64], text[512];
    if (_i == O_DETACH || !op_text((enum op)_i, call, sizeof call)) return;
    bool is_positive = _i == O_POW || _i == O_LOG || _i == O_LOG2 || _i == O_LOG1P || _i == O_SQRT ||
                       _i == O_RSQRT;
    snprintf(text, sizeof text,
        "kernel f(a: f64[A], b: f64[A], c: f64[A]) -> y: f64[A] { y = %s }\nkernel g = grad(f, wrt: a, b, c)", call);
    check_case(text, "f", "g", "A=7", POSITIVE);
    if (!is_positive) check_case(text, "f", "g", "A=7", SIGNED);
}
END_TEST

/* Whoever adds an op whose derivative is not 0 has to say it: these are constant wherever they are smooth. */
START_TEST(every_op_has_a_derivative) {
    bool is_step = _i == O_SIGN || _i == O_FLOOR || _i == O_CEIL || _i == O_ROUND || _i == O_DETACH;
    const struct op_info *info = &op_info[_i];
    bool is_smooth = (info->rule == RULE_ARITH || info->rule == RULE_FLOAT || info->rule == RULE_SELECT) && !is_step;
    ck_assert_msg(is_smooth == (*info->derivative != 0), "the derivative of %s", info->id);
}
END_TEST

/* ---- everything else ---- */

static const struct {
    const char *body;    /* of `kernel f`, from its axes or parameters on; the gradient is g */
    const char *wrt, *extents;
    enum flavour flavour;
} cases[] = {
    /* broadcasting, scalars, where */
    {"(x: f64[A,B], y: f64[B], s: f64) -> z: f64[A,B] { z = s * x * y + y / x }", "x, y, s", "A=3 B=4", SIGNED},
    {"(x: f64[A], y: f64[B]) -> z: f64[A,B] { z = x * exp(y) }", "x, y", "A=3 B=4", SIGNED},
    {"(x: f64[A], y: f64[B]) -> z: f64[A] { z = sum[B](x + y) }", "x, y", "A=3 B=4", SIGNED},
    {"(x: f64[A], y: f64[B]) -> z: f64[] { z = sum[A,B](x + 0 * y) + sum[B](y ** 2) }", "x, y", "A=3 B=4", SIGNED},
    {"(x: f64[A]) -> z: f64[A,B=3] { z = x * x }", "x", "A=4", SIGNED},
    {"(x: f64[A], y: f64[A]) -> z: f64[A] { z = where(x > y, x * y, x - 3 * y) }", "x, y", "A=9", SIGNED},
    {"(x: f64[A], y: f64[A]) -> z: f64[A] { z = detach(x) * y + x }", "y", "A=5", SIGNED},
    {"(x: f64[A], y: f64[A]) -> (a: f64[A], n: i64[A], b: f64[]) { a = x * y\n n = idx(A)\n b = sum[A](x) }", "x, y",
        "A=4", SIGNED},
    {"(x: f64[A], y: f64[]) -> z: f64[A] { z = x / y }", "x, y", "A=4", SIGNED},
    {"(x: f64[A], y: f64[A]) -> z: f64[A] { z = y }", "x, y", "A=4", SIGNED},
    {"(x: f64[A], n: i64[A]) -> z: f64[A] { z = x * n + where(n > 0, x * x, 0) }", "x", "A=6", SIGNED},
    /* contractions */
    {"(x: f64[M,K], w: f64[K,N], b: f64[N]) -> y: f64[M,N] { y = gelu(x @ w + b) }", "x, w, b", "M=3 K=4 N=2", SIGNED},
    {"(x: f64[B,M,K], w: f64[N,K], s: f64) -> y: f64[B,M,N] { y = tanh(x @ w * s) }", "x, w, s", "B=2 M=3 K=4 N=2",
        SIGNED},
    {"(x: f64[M,K], w: f64[K,H], v: f64[H,N]) -> y: f64[M,N] { y = silu(x @ w) @ v - x @ w @ v }", "x, w, v",
        "M=3 K=4 N=2 H=3", SIGNED},
    {"(x: f64[M,K]) -> y: f64[M,J=M] { y = x @ x{M->J} }", "x", "M=3 K=4 J=3", SIGNED},
    {"(x: f64[I,J,K], y: f64[K,J,L]) -> z: f64[I,L] { z = x @[J,K] y }", "x, y", "I=2 J=3 K=2 L=3", SIGNED},
    /* reductions */
    {"(x: f64[A,B]) -> y: f64[A] { y = max[B](x) * min[B](x) }", "x", "A=3 B=5", SIGNED},
    {"(x: f64[A,B]) -> y: f64[A] { y = prod[B](x) }", "x", "A=3 B=4", WITH_ZEROS},
    {"(x: f64[A,B,C]) -> y: f64[A] { y = prod[B,C](x) + prod[C](prod[B](x)) }", "x", "A=2 B=2 C=3", WITH_ZEROS},
    {"(x: f64[A], y: f64[B]) -> z: f64[] { z = prod[A,B](x + y) }", "x, y", "A=2 B=3", SIGNED},
    {"(x: f64[A,B]) -> y: f64[] { y = max[A,B](abs(x)) }", "x", "A=3 B=5", SIGNED},
    {"(x: f64[A,B]) -> y: f64[A] { y = mean[B](x * x) + var[B](x) + var[B](x, correction: 1) }", "x", "A=3 B=5",
        SIGNED},
    /* scans */
    {"(x: f64[A,B]) -> y: f64[A,B] { y = cumsum[B](x * x) }", "x", "A=2 B=5", SIGNED},
    {"(x: f64[A,B]) -> y: f64[A] { y = sum[B](cumsum[B](x) + cumsum[A](x)) }", "x", "A=3 B=4", SIGNED},
    {"(x: f64[A,B]) -> y: f64[A,B] { y = cumprod[B](x) }", "x", "A=3 B=5", WITH_ZEROS},
    {"(x: f64[A,B]) -> y: f64[A] { y = sum[B](cumprod[B](x)) }", "x", "A=2 B=5", WITH_ZEROS},
    {"(x: f64[A,B]) -> (y: f64[A,B], z: f64[A,B]) { y = cummax[B](x * x)\n z = cummin[A](x) }", "x", "A=4 B=7", SIGNED},
    {"(x: f64[A,B]) -> y: f64[A] { y = sum[B](cummax[B](x)) }", "x", "A=2 B=6", SIGNED},
    {"(a: f64[A,B], b: f64[A,B]) -> y: f64[A,B] { y = recur[B](a, b) }", "a, b", "A=3 B=6", SIGNED},
    {"(a: f64[A], b: f64[A,B], h: f64[A]) -> y: f64[A,B] { y = recur[B](a, b * b, from: h) }", "a, b, h", "A=3 B=5",
        SIGNED},
    {"(a: f64[A,B], b: f64[B], h: f64) -> y: f64[B] { y = sum[A](recur[A](sin(a), b, h)) }", "a, b, h", "A=4 B=2", SIGNED},
    {"(a: f64, b: f64[A,B]) -> y: f64[B] { y = sum[A](recur[A](a, b)) }", "a, b", "A=4 B=2", SIGNED},
    /* norms, softmax, attention */
    {"(x: f64[B,T]) -> z: f64[B,T] { z = softmax[T](x) }", "x", "B=3 T=5", SIGNED},
    {"(x: f64[B,T]) -> z: f64[B] { z = logsumexp[T](x) }", "x", "B=3 T=5", SIGNED},
    {"(x: f64[B,T,C]) -> z: f64[B,T,C] { z = softmax[T,C](x) }", "x", "B=2 T=2 C=3", SIGNED},
    {"(x: f64[M,K], g: f64[K], b: f64[K]) -> y: f64[M,K] { y = layernorm[K](x) * g + b }", "x, g, b", "M=3 K=5",
        SIGNED},
    {"(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = gelu_tanh(rmsnorm[K](x) @ w) }", "x, w", "M=3 K=5 N=2", SIGNED},
    {"(q: f64[H,S,D], k: f64[H,T,D], v: f64[H,T,D], scale: f64) -> (o: f64[H,S,D], lse: f64[H,S]) {\n"
     "s = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)\n lse = logsumexp[T](s)\n o = softmax[T](s) @ v }",
        "q, k, v, scale", "H=2 S=3 T=4 D=2", SIGNED},
    /* activations of the prelude */
    {"(x: f64[A]) -> y: f64[A] { y = relu(x) + relu6(2 * x) + leaky_relu(x) + hardtanh(x / 2) + elu(x) + selu(x) }",
        "x", "A=9", SIGNED},
    {"(x: f64[A]) -> y: f64[A] { y = softplus(x) + mish(x) + hardswish(x) + hardsigmoid(x) + gelu_tanh(x) + dgelu(x) }",
        "x", "A=9", SIGNED},
    /* relabels */
    {"(x: f64[A,B]) -> y: f64[B,C=A] { y = x{A->C} * x{A->C} }", "x", "A=3 B=2 C=3", SIGNED},
    {"(x: f64[A,B], w: f64[P=A*B]) -> y: f64[P] { y = x{(A,B)->P} * w }", "x, w", "A=3 B=2 P=6", SIGNED},
    {"(x: f64[A,B,C], w: f64[P=A*B*C]) -> y: f64[P] { y = x{(C,A,B)->P} * w }", "x, w", "A=3 B=2 C=2 P=12", SIGNED},
    {"(x: f64[P], w: f64[A,B=3]) -> y: f64[B,A] { y = x{P->(A,B)} * w }", "x, w", "P=6 A=2", SIGNED},
    {"(x: f64[P], w: f64[A,B,C]) -> y: f64[B,A] { y = x{P->(A,B,C)} @[C] w }", "x, w", "P=12 A=2 B=3 C=2", SIGNED},
    {"(x: f64[M, F=2*N]) -> y: f64[M,N] { l, r = halves[F->N](x)\n y = l * sigmoid(r) }", "x", "M=2 F=6 N=3", SIGNED},
    {"(x: f64[M, F=2*N]) -> y: f64[M,N] { l, r = evenodd[F->N](x)\n y = l * exp(r) }", "x", "M=2 F=6 N=3", SIGNED},
    {"(x: f64[M,K], w: f64[K,F=2*N]) -> y: f64[M,N] { l, r = halves[F->N](x @ w)\n y = l * tanh(r) }", "x, w",
        "M=2 K=3 F=6 N=3", SIGNED},
    {"(a: f64[A], b: f64[B], c: f64[B], w: f64[P=A+2*B]) -> y: f64[] { p = concat[P](a{A->P}, b{B->P}, c{B->P})\n y = sum[P](p * p * w) }",
        "a, b, c, w", "A=3 B=2 P=7", SIGNED},
    /* windows */
    {"(x: f64[C,H,W], k: f64[O,C,U=3,V=2]) -> z: f64[O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }",
        "x, k", "C=2 H=4 W=3 O=2", SIGNED},
    {"(x: f64[T], k: f64[U]) -> z: f64[T] { z = sum[U](k * (x[T: T+U-1] ?? 0)) }", "x, k", "T=5 U=3", SIGNED},
    {"(x: f64[T], k: f64[U]) -> z: f64[Q=T//2] { z = sum[U](k * exp(x[T: 2*Q+U] ?? 0)) }", "x, k", "T=7 U=3 Q=3",
        SIGNED},
    {"(x: f64[T], k: f64[U=3]) -> z: f64[Q=(T-1)//2] { z = sum[U](k * x[T: 2*Q+U]) }", "x, k", "T=7 Q=3", SIGNED},
    {"(x: f64[T], k: f64[U=2]) -> z: f64[Q=T//3] { z = sum[U](k * x[T: 3*Q+U]) }", "x, k", "T=8 Q=2", SIGNED},
    {"(x: f64[T], k: f64[U=3]) -> z: f64[Q=T//3] { z = sum[U](k * (x[T: 3*Q+2*U] ?? 0.5)) }", "x, k", "T=8 Q=2",
        SIGNED},
    {"(x: f64[T], w: f64[U=3]) -> z: f64[Q=(T-1)//2] { z = max[U](w * x[T: 2*Q+U]) }", "x, w", "T=9 Q=4", SIGNED},
    {"[U=3](x: f64[B,T]) -> z: f64[B] { require T >= U\n z = sum[U](x[T: U] * x[T: size(T)-1-U]) }", "x", "B=2 T=5 U=3",
        SIGNED},
    {"(x: f64[T]) -> z: f64[T] { z = x[T: size(T)-1-T] * x }", "x", "T=5", SIGNED},
    {"(x: f64[T]) -> z: f64[T] { z = x[T: T-1] ?? 3 }", "x", "T=5", SIGNED},
    {"(x: f64[T], y: f64[T], s: f64) -> z: f64[T] { z = (x[T: T+2] ?? y) * s + (x[T: T+3] ?? s) }", "x, y, s", "T=5",
        SIGNED},
    {"(x: f64[T], o: i64) -> z: f64[T] { z = x[T: T+o] ?? 0 }", "x", "T=5", SIGNED},
    /* positions shared, repeated, constant, folded */
    {"(x: f64[A,B=A]) -> z: f64[A] { z = x[A: A, B: A] }", "x", "A=4 B=4", SIGNED},
    {"(x: f64[A,B=A]) -> z: f64[A,B] { z = x[A: B, B: A] * x }", "x", "A=3 B=3", SIGNED},
    {"(x: f64[A,B]) -> z: f64[A] { z = x[B: A] ?? 0 }", "x", "A=3 B=4", SIGNED},
    {"(x: f64[A,B=3]) -> z: f64[A] { z = x[B: 0] * x[B: 2] }", "x", "A=3", SIGNED},
    {"(x: f64[A,B], w: f64[I,J]) -> z: f64[I,J] { z = w * (x[A: I+J, B: I] ?? 0) }", "x, w", "A=4 B=3 I=3 J=2", SIGNED},
    {"(x: f64[A,B], w: f64[I,J]) -> z: f64[I,J] { z = w * (x[A: I+J, B: I-J] ?? 0) }", "x, w", "A=4 B=3 I=3 J=2",
        SIGNED},
    {"(s: f64[G], x: f64[L]) -> y: f64[L] { y = x * (s[G: L//2] ?? 0) }", "s, x", "L=7 G=4", SIGNED},
    {"(s: f64[G], x: f64[L]) -> y: f64[L] { y = x * (s[G: L%3] ?? 0) }", "s, x", "L=7 G=3", SIGNED},
    {"(s: f64[G=L/2], x: f64[L]) -> y: f64[L] { y = x * s[G: L/2] }", "s, x", "L=6 G=3", SIGNED},
    {"(s: f64[A,B], x: f64[L]) -> y: f64[L] { y = x * (s[A: L//3, B: L%3] ?? 0) }", "s, x", "L=7 A=3 B=4", SIGNED},
    {"(s: f64[A,B], x: f64[L]) -> y: f64[L] { y = x * (s[A: L//6, B: L//2%3] ?? 0) }", "s, x", "L=13 A=2 B=3", SIGNED},
    {"(s: f64[G], x: f64[L]) -> y: f64[L] { y = x * (s[G: min(L, 2)] ?? 0) }", "s, x", "L=5 G=4", SIGNED},
    {"(s: f64[G], x: f64[L,M]) -> y: f64[L,M] { y = x * (s[G: L*M] ?? 0) }", "s, x", "L=3 M=3 G=5", SIGNED},
    {"(s: f64[G], x: f64[L]) -> y: f64[L] { y = x * (s[G: (L+1)//2] ?? 0) }", "s, x", "L=5 G=4", SIGNED},
    {"[B=5](x: f64[A]) -> z: f64[] { z = sum[B](x[A: B] ?? 2) }", "x", "A=7", SIGNED},
    {"(x: f64[H,U]) -> z: f64[H,U] { z = x[H: H+U] ?? 0 }", "x", "H=4 U=3", SIGNED},
    {"(x: f64[H], w: f64[H,Q]) -> z: f64[Q,H] { z = w * exp(x[H: 2*Q+H] ?? 0) }", "x, w", "H=5 Q=2", SIGNED},
    {"(x: f64[H], w: f64[H=5,Q=9]) -> z: f64[Q,H] { z = w * exp(x[H: 2*Q+H] ?? 0) }", "x, w", "", SIGNED},
    {"(x: f64[T], k: f64[U=3]) -> z: f64[Q=T//6] { z = sum[U](k * (x[T: 6*Q+2*U] ?? 0.5)) }", "x, k", "T=14 Q=2",
        SIGNED},
    {"(x: f64[T], y: f64[Q,T]) -> z: f64[Q] { z = sum[T](y * (x[T: Q] ?? 0)) }", "x, y", "T=4 Q=3", SIGNED},
    {"(d: f64[B,E], s: f64[B,S,E], W: f64[H, P=(S+1)*E, Q=P]) -> h: f64[B,H] {\n c = concat[P](d{E->P}, s{(S,E)->P})\n h = silu((c * c{P->Q}) @[P,Q] W) }",
        "d, s, W", "B=2 P=4 S=1 E=2 H=2 Q=4", SIGNED},
    /* positions of the source's own label, which is renamed in them: of an op of three operands, of two, of a cast */
    {"(x: f64[T], w: f64[T]) -> z: f64[T] { z = w * (x[T: where(T < 2, T + 1, 0)] ?? 0) }", "x, w", "T=5", SIGNED},
    {"(x: f64[T], w: f64[T]) -> z: f64[T] { z = w * (x[T: min(T, 2)] ?? 0) }", "x, w", "T=5", SIGNED},
    {"(x: f64[T], w: f64[T]) -> z: f64[T] { z = w * (x[T: i64(i32(T) * i32(T))] ?? 0) }", "x, w", "T=5", SIGNED},
    /* digits of the first label that the kernel has */
    {"(w: f64[L=10], s: f64[G]) -> z: f64[L] { z = w * (s[G: L%4] ?? 0) }", "s, w", "G=4", SIGNED},
    /* positions that are data of labels which pass through */
    {"(x: f64[M,V], t: i64[M]) -> y: f64[M] { y = logsumexp[V](x) - (x[V: t] ?? 0) }", "x", "M=3 V=4", SIGNED},
    {"(x: f64[M,V], t: i64[M], f: f64[M]) -> y: f64[M] { y = x[V: 2*t-1] ?? f }", "x, f", "M=4 V=3", SIGNED},
    {"(x: f64[B,T], k: f64[U=3], t: i64[B]) -> y: f64[B] { y = sum[U](k * (x[T: t+2*U] ?? 0)) }", "x, k", "B=3 T=5", SIGNED},
    {"(x: f64[B,S,T], i: i64[B], j: i64[B]) -> y: f64[B,U=2] { y = exp(x[S: i, T: j-U] ?? 0) }", "x", "B=3 S=3 T=4", SIGNED},
    {"(x: f64[B,T], w: f64[B,T]) -> y: f64[B] { y = x[T: argmax[T](w)] ?? 0 }", "x", "B=3 T=4", SIGNED},
    {"(x: f64[B,T], t: i64[B]) -> y: f64[B,Q=T] { y = x[T: (Q+t)%size(T)] ?? 0 }", "x", "B=3 T=4 Q=4", SIGNED},
    {"(w: f64[L], s: f64[G], k: f64[B]) -> z: f64[L] { z = w * sum[B](k) * (s[G: L//size(B)] ?? 0) }", "s, w",
        "L=7 G=3 B=3", SIGNED},
    {"(w: f64[L], s: f64[G], k: f64[B]) -> z: f64[L] { z = w * sum[B](k) * (s[G: L%size(B)] ?? 0) }", "s, w",
        "L=7 G=3 B=3", SIGNED},
};

START_TEST(rules) {
    char text[1024];
    snprintf(text, sizeof text, "kernel f%s\nkernel g = grad(f, wrt: %s)", cases[_i].body, cases[_i].wrt);
    check_case(text, "f", "g", cases[_i].extents, cases[_i].flavour);
}
END_TEST

/* ---- what the forward has stored ---- */

static const struct {
    const char *body, *wrt, *saved, *extents;
} saved_cases[] = {
    {"(q: f64[H,S,D], k: f64[H,T,D], v: f64[H,T,E], c: f64) -> (y: f64[H,S,E], l: f64[H,S]) {\n"
     "s = where(idx(T) <= idx(S), (q @ k) * c, -inf)\n l = logsumexp[T](s)\n y = softmax[T](s) @ v }",
        "q, k, v, c", "y, l", "H=2 S=3 T=4 D=2 E=3"},
    {"(q: f64[H,S,D], k: f64[H,T,D], v: f64[H,T,E]) -> (y: f64[H,S,E], l: f64[H,S]) {\n"
     "y = softmax[T](q @ k) @ v\n l = logsumexp[T](q @ k) }",
        "q, k, v", "l", "H=2 S=3 T=4 D=2 E=3"},
    {"(q: f64[S,D], k: f64[T,D], v: f64[T,E], b: f64[S]) -> (l: f64[S], y: f64[S,E], z: f64[S,E]) {\n"
     "s = tanh(q @ k) + b\n m = max[T](s)\n e = exp(s - m)\n r = sum[T](e)\n l = m + log(r)\n p = e / r\n y = p @ v\n z = (p * p) @ v }",
        "q, k, v, b", "y, l", "S=3 T=4 D=2 E=3"},
    {"(x: f64[A,B], w: f64[B]) -> (p: f64[A,B], l: f64[A]) { p = softmax[B](x * w)\n l = logsumexp[B](x * w) }", "x, w", "l, p", "A=3 B=4"},
    {"(x: f64[B], c: f64[A]) -> (l: f64[A], p: f64[A,B]) {\n"
     "r = sum[B](exp(x - c))\n l = c + log(r)\n p = exp(x - c) / r }",
        "x", "l", "A=3 B=4"}, /* the shift has a label more than what is shifted */
    {"(x: f64[A,B], w: f64[B]) -> (h: f64[A,B], z: f64[A]) { h = tanh(x * w)\n z = sum[B](exp(h) * x) }", "x, w", "h", "A=3 B=4"},
    {"(x: f64[A,B], w: f64[B]) -> (h: f64[A,B], z: f64[A]) { h = tanh(x * w)\n z = sum[B](exp(h) * x) }", "x, w", "z", "A=3 B=4"},
};

/* The arguments of b, of which those that a lacks are outputs of f. */
static void give_saved(struct sample *a, struct sample *b, const char *extents) {
    for (int i = 0, n = 0; i < b->g->n_params; i++) {
        int from = 0, output = 0;
        bool is_found = false;
        if (!b->g->params[i].is_input) continue;
        for (int j = 0; j < a->g->n_params && !is_found; j++) {
            if (!a->g->params[j].is_input) continue;
            is_found = strcmp(a->g->params[j].name, b->g->params[i].name) == 0;
            if (is_found) b->in[n] = a->in[from];
            from++;
        }
        for (int j = 0; j < a->f->n_params && !is_found; j++) {
            if (!a->f->params[j].is_output) continue;
            if (strcmp(a->f->params[j].name, b->g->params[i].name) == 0)
                evaluate(a, a->f, a->n_in, output, extents, b->in[n].f);
            output++;
        }
        n++;
    }
}

START_TEST(saved) {
    static double want[MAX_ELEMENTS], got[MAX_ELEMENTS];
    const char *extents = saved_cases[_i].extents;
    char text[1024];
    struct sample *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    ck_assert(a && b);
    snprintf(text, sizeof text, "kernel f%s\nkernel g = grad(f, wrt: %s)\nkernel h = grad(f, wrt: %s, saved: %s)",
        saved_cases[_i].body, saved_cases[_i].wrt, saved_cases[_i].wrt, saved_cases[_i].saved);
    open_sample(a, text, "f", "g", extents, SIGNED, 77);
    open_sample(b, text, "f", "h", extents, SIGNED, 78);
    give_saved(a, b, extents);
    for (int i = 0, o = 0; i < a->g->n_params; i++) {
        if (!a->g->params[i].is_output) continue;
        int n = evaluate(a, a->g, count_inputs(a->g), o, extents, want);
        evaluate(b, b->g, count_inputs(b->g), o++, extents, got);
        for (int e = 0; e < n; e++)
            ck_assert_msg(fabs(got[e] - want[e]) <= 1e-10 * (1 + fabs(want[e])), "%s\n%s[%d]: %.15g, anew %.15g", text,
                a->g->params[i].name, e, got[e], want[e]);
    }
    fx_close(a->c);
    fx_close(b->c);
    free(a);
    free(b);
}
END_TEST

/* ---- accesses at random ---- */

static const char labels[] = "ABIJK"; /* A and B are the source's */

struct random_access { /* z = w * x at random positions, or a sum of it */
    uint64_t random;
    int length[5];     /* by label */
    bool is_fixed[5], is_used[5];
    char text[1024], extents[64];
};

static int put(char *out, size_t size, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    return n;
}

static char some_label(struct random_access *r) {
    int i = random_below(&r->random, 5);
    r->is_used[i] = true;
    return labels[i];
}

static int put_position(struct random_access *r, char *out, size_t size) {
    static const int n_labels[] = {0, 1, 1, 2, 1, 1, 1, 2, 3, 3};
    uint64_t *random = &r->random;
    int form = random_below(random, 10), c = 1 + random_below(random, 3), d = random_below(random, 4) - 1,
        e = random_below(random, 3);
    char l[3] = {0};
    for (int i = 0; i < n_labels[form]; i++) l[i] = some_label(r);
    switch (form) {
    case 0: return put(out, size, "%d", e);
    case 1: case 2: return put(out, size, "%c %+d", l[0], d);
    case 3: return put(out, size, "%d*%c + %d*%c %+d", c + 1, l[0], e, l[1], d);
    case 4: return put(out, size, "%c // %d", l[0], c);
    case 5: return put(out, size, "%c %% %d", l[0], c + 1);
    case 6: return put(out, size, "%c // %d %% %d", l[0], c, 1 + e);
    case 7: return put(out, size, "size(%c) - 1 - %c", l[0], l[1]);
    case 8: return put(out, size, "size(%c) * %c + %c", l[0], l[1], l[2]);
    default: return put(out, size, "(%d*%c + %c) // %d - %c", c, l[0], l[1], 1 + e % 2, l[2]);
    }
}

/* `[A=3,I]` of the labels used but for `without`. */
static int put_type(const struct random_access *r, char *out, size_t size, int without) {
    int n = put(out, size, "f64[");
    for (int i = 0, first = 1; i < 5; i++) {
        if (!r->is_used[i] || i == without) continue;
        n += put(out + n, size - (size_t)n, "%s%c", first ? "" : ",", labels[i]);
        first = 0;
    }
    return n + put(out + n, size - (size_t)n, "]");
}

static void make_access(struct random_access *r, uint64_t seed) {
    char access[256], x[64] = "x: f64[A,B]", declared[64] = "";
    uint64_t *random = &r->random;
    *r = (struct random_access){.random = seed * 0x9e3779b97f4a7c15u + 1};
    int n = put(access, sizeof access, "x[A: "), pair = random_below(random, 3);
    n += put_position(r, access + n, sizeof access - (size_t)n);
    if (pair)
        n += put(access + n, sizeof access - (size_t)n, ", B: "),
            n += put_position(r, access + n, sizeof access - (size_t)n);
    else r->is_used[1] = true; /* it passes through */
    put(access + n, sizeof access - (size_t)n, "] ?? 0.5");
    int e = 0, d = 0, summed = -1, at = 0;
    for (int i = 0; i < 5; i++) {
        r->length[i] = 2 + random_below(random, 4);
        r->is_fixed[i] = random_below(random, 2);
        if (r->is_used[i] && random_below(random, 4) == 0) summed = i;
        if (r->is_fixed[i] && (i < 2 || r->is_used[i]))
            d += put(declared + d, sizeof declared - (size_t)d, "%s%c=%d", d ? ", " : "[", labels[i], r->length[i]);
        else e += put(r->extents + e, sizeof r->extents - (size_t)e, "%c=%d ", labels[i], r->length[i]);
    }
    at += put(r->text, sizeof r->text, "kernel f%s%s(%s, w: ", declared, d ? "]" : "", x);
    at += put_type(r, r->text + at, sizeof r->text - (size_t)at, -1);
    at += put(r->text + at, sizeof r->text - (size_t)at, ") -> z: ");
    at += put_type(r, r->text + at, sizeof r->text - (size_t)at, summed);
    if (summed >= 0)
        put(r->text + at, sizeof r->text - (size_t)at, " { z = sum[%c](w * (%s)) }\nkernel g = grad(f, wrt: x, w)",
            labels[summed], access);
    else put(r->text + at, sizeof r->text - (size_t)at, " { z = w * (%s) }\nkernel g = grad(f, wrt: x, w)", access);
}

enum { N_ACCESSES = 400, ACCESSES_A_TEST = 20 };

START_TEST(random_accesses) {
    for (int i = 0; i < ACCESSES_A_TEST; i++) {
        struct random_access r;
        make_access(&r, (uint64_t)(_i * ACCESSES_A_TEST + i + 1));
        int64_t n = 1;
        for (int a = 0; a < 5; a++) n *= r.is_used[a] ? r.length[a] : 1;
        if (n <= MAX_ELEMENTS) check_case(r.text, "f", "g", r.extents, SIGNED);
    }
}
END_TEST

/* The gradient of a gradient, whichever stands first in the file. */
START_TEST(second_order) {
    static const char text[] =
        "kernel h = grad(g, wrt: x, dy)\nkernel g = grad(f, wrt: x)\nkernel f(x: f64[A,B], w: f64[B]) -> y: f64[A] { y = tanh(x) @ w + prod[B](x) }";
    check_case(text, "g", "h", "A=2 B=3", SIGNED);
}
END_TEST

/* ---- where there is no derivative ---- */

static void evaluate_at(const char *text, const double *x, int n, const double *d, int n_d, double *out, int n_out) {
    char message[256];
    fx_compilation *c = compile(text);
    struct fx_host in[2] = {{.dtype = FX_F64, .rank = 1, .extents = {n}, .data = x},
        {.dtype = FX_F64, .rank = 1, .extents = {n_d}, .data = d}};
    if (n_d == 1) in[1].rank = 0;
    fx_status status = fx_evaluate(
        c, "g", in, 2, 0, NULL, n_out, out, NULL, FX_BOUND_WORST, NULL, message, sizeof message);
    ck_assert_msg(status == FX_OK, "%s", message);
    fx_close(c);
}

static const struct {
    const char *value;  /* over x: f64[A]; the adjoint is 1, 2, 3 */
    double x[3], want[3];
} points[] = {
    {"relu(x)", {0, -1, 1}, {0, 0, 3}},
    {"max(x, 0)", {0, -1, 1}, {0, 0, 3}},
    {"max(0, x)", {0, -1, 1}, {0, 0, 3}},
    {"-min(-x, 0)", {0, -1, 1}, {0, 0, 3}},
    {"max(x, 2 * x)", {0, -1, 1}, {1.5, 2, 6}},
    {"max(x, x)", {0, -1, 1}, {1, 2, 3}},
    {"relu6(x)", {0, 6, 5}, {0, 0, 3}},
    {"abs(x)", {0, -1, 1}, {0, -2, 3}},
    {"detach(x)", {0, -1, 1}, {0, 0, 0}},
    {"floor(x) + sign(x) + round(x) + ceil(x)", {0.25, -1.5, 1.75}, {0, 0, 0}},
    {"x ** 0.0", {0, 1, 2}, {0, 0, 0}},
    {"x ** 2.0", {0, -1, 3}, {0, -4, 18}},
    {"where(x > 0, log(x), 0)", {1, 2, -1}, {1, 1, -0.0}},
    {"f16(x)", {1.00001, 2.00001, 70000}, {1, 2, 3}},
    {"f64(i64(x)) * x", {1.5, -2.5, 3.5}, {1, -4, 9}},
    {"f64(x > 0) * x", {1.5, -2.5, 3.5}, {1, 0, 3}},
};

START_TEST(chosen_values) {
    static const double d[3] = {1, 2, 3};
    char text[512];
    double got[3];
    snprintf(
        text, sizeof text, "kernel f(x: f64[A]) -> y: f64[A] { y = %s }\nkernel g = grad(f, wrt: x)", points[_i].value);
    evaluate_at(text, points[_i].x, 3, d, 3, got, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(got[i] == points[_i].want[i], "%s at %g: %g, expected %g", points[_i].value, points[_i].x[i],
            got[i], points[_i].want[i]);
}
END_TEST

START_TEST(equal_extremes_share) {
    static const double x[4] = {2, 5, 5, 1}, d[1] = {3}, nan[4] = {2, NAN, 5, 1};
    double got[4];
    evaluate_at("kernel f(x: f64[A]) -> y: f64[] { y = max[A](x) }\nkernel g = grad(f, wrt: x)", x, 4, d, 1, got, 4);
    ck_assert(got[0] == 0 && got[1] == 1.5 && got[2] == 1.5 && got[3] == 0);
    evaluate_at("kernel f(x: f64[A]) -> y: f64[] { y = min[A](-x) }\nkernel g = grad(f, wrt: x)", x, 4, d, 1, got, 4);
    ck_assert(got[0] == 0 && got[1] == -1.5 && got[2] == -1.5 && got[3] == 0);
    evaluate_at("kernel f(x: f64[A]) -> y: f64[] { y = max[A](x) }\nkernel g = grad(f, wrt: x)", nan, 4, d, 1, got, 4);
    for (int i = 0; i < 4; i++) ck_assert(got[i] == 0);
}
END_TEST

/* A row that is masked whole has no gradient, rather than NaN. */
START_TEST(masked_rows) {
    static const double x[3] = {-INFINITY, -INFINITY, -INFINITY}, d[3] = {1, 2, 3}, one[1] = {1};
    double got[3];
    evaluate_at(
        "kernel f(x: f64[A]) -> y: f64[A] { y = softmax[A](x) }\nkernel g = grad(f, wrt: x)", x, 3, d, 3, got, 3);
    for (int i = 0; i < 3; i++) ck_assert_msg(got[i] == 0, "%g", got[i]);
    evaluate_at(
        "kernel f(x: f64[A]) -> y: f64[] { y = logsumexp[A](x) }\nkernel g = grad(f, wrt: x)", x, 3, one, 1, got, 3);
    for (int i = 0; i < 3; i++) ck_assert_msg(got[i] == 0, "%g", got[i]);
}
END_TEST

/* ---- signatures ---- */

static const struct {
    const char *text, *want;
} signatures[] = {
    {"kernel f(x: f32[A], s: f32) -> (y: f16[A], n: i32[A], z: f32[]) { y = x * s\n n = i32(x)\n z = sum[A](x) }\nkernel g = grad(f, wrt: s, x)",
        "x f32[A] s f32 dy f16[A] dz f32[] -> ds f32[] dx f32[A]"},
    {"kernel f(x: f32[A], dy: f32[A]) -> y: f32[A] { y = x * dy }\nkernel g = grad(f, wrt: dy, x)",
        "x f32[A] dy f32[A] dy_ f32[A] -> ddy f32[A] dx f32[A]"},
    {"kernel f(x: inout f32[A], b: bf16[A]) { x = x * b }\nkernel g = grad(f, wrt: x, b)",
        "x f32[A] b bf16[A] dx f32[A] -> dx_ f32[A] db bf16[A]"},
    {"kernel f(x: f32[], n: i64[A]) -> y: f32[A] { y = x * n }\nkernel g = grad(f, wrt: x)",
        "x f32[] n i64[A] dy f32[A] -> dx f32[]"},
};

START_TEST(signature) {
    fx_compilation *c = compile(signatures[_i].text);
    const struct fx_kernel *g = fx_find_kernel(fx_get_plan(c), "g");
    char got[512] = "";
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) n += (size_t)snprintf(got + n, sizeof got - n, "%s->", n ? " " : "");
        for (int i = 0; i < g->n_params; i++) {
            const struct fx_param *p = &g->params[i];
            if (p->is_output != pass) continue;
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%s %s", n ? " " : "", p->name, fx_dtype_name(p->dtype));
            for (int x = 0; x < p->rank; x++)
                n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", x ? "," : "[", g->extents[p->extents[x]].name);
            if (!p->is_scalar) n += (size_t)snprintf(got + n, sizeof got - n, p->rank ? "]" : "[]");
        }
    }
    ck_assert_str_eq(got, signatures[_i].want);
    fx_close(c);
}
END_TEST

/* A kernel asked for alone is made though the one it is of is not asked for. */
START_TEST(alone) {
    static const char text[] = "kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(f, wrt: x)";
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    options.kernel = "g";
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &options, &c) == FX_OK, "%s", fx_messages(c));
    ck_assert_int_eq(fx_get_plan(c)->n_kernels, 1);
    ck_assert_str_eq(fx_get_plan(c)->kernels[0].name, "g");
    fx_close(c);
}
END_TEST

/* ---- refusals ---- */

static const struct {
    const char *text, *code, *says;
} rejects[] = {
    {"kernel f(t: f32[V,E], i: i64[S]) -> y: f32[S,E] { y = t[V: i] ?? 0 }\nkernel g = grad(f, wrt: t)", "FX2050",
        "the position along V depends on data, i"},
    {"kernel f(x: f32[B,T], i: i32[B,T]) -> y: f32[B,T] { y = x[T: i] ?? 0 }\nkernel g = grad(f, wrt: x)", "FX2050",
        "the position along T depends on data, i"},
    {"kernel f(t: f32[V], s: u64) -> y: f32[S=4] { y = t[V: i64(philox(idx(S), s, 0))] ?? 0 }\nkernel g = grad(f, wrt: t)",
        "FX2050", "t[V: "},
    {"kernel f(x: f32[A], n: i32[A]) -> y: f32[A] { y = x * n }\nkernel g = grad(f, wrt: n)", "FX2051", "n is i32"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x * x }\nkernel g = grad(f, wrt: x, saved: z)", "FX2001", "f has no output named z"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x * x }\nkernel g = grad(f, wrt: x, saved: y, y)", "FX2002", "y is saved twice"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x * x }\nkernel g = grad(f, wrt: x, kept: y)", "FX1004", "expected `saved`"},
    {"kernel f(x: inout f32[A], z: f32[A]) { x = x * z }\nkernel g = grad(f, wrt: z, saved: x)", "FX2051", "no saved output"},
    {"kernel f(x: f32[A]) -> y: i32[A] { y = i32(x) }\nkernel g = grad(f, wrt: x)", "FX2051",
        "f has no output of floats"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(f, wrt: z)", "FX2001", "f has no input named z"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(f, wrt: y)", "FX2001", "f has no input named y"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(f, wrt: x, x)", "FX2002", "asked for twice"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(h, wrt: x)", "FX2001", "no kernel h"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel f = grad(f, wrt: x)", "FX2002", "f is defined twice"},
    {"kernel f = grad(g, wrt: x)\nkernel g = grad(f, wrt: x)", "FX2012", "one of itself"},
    {"kernel g = grad(g, wrt: x)", "FX2012", "one of itself"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x }\nkernel g = grad(f, wrt: x) with { fuse: maybe }", "FX2017",
        "fuse is"},
    {"kernel f(x: f32[A,B,C,D,E,F,G,H], w: f32[I]) -> y: f32[I] { y = prod[A,B,C,D,E,F,G,H](x * w) }\nkernel g = grad(f, wrt: x)",
        "FX2022", "16 labels"},
};

START_TEST(refusals) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(rejects[_i].text, strlen(rejects[_i].text), "spec.fx", &options, &c), FX_ERR_COMPILE);
    ck_assert_msg(strstr(fx_messages(c), rejects[_i].code) && strstr(fx_messages(c), rejects[_i].says), "%s:\n%s",
        rejects[_i].text, fx_messages(c));
    fx_close(c);
}
END_TEST

/* A position of 101 ops one in another is read back through, of one more it is not. */
START_TEST(positions_of_many_ops) {
    enum { MOST_OPS = 101 };
    struct fx_options options = FX_OPTIONS;
    options.oracle_only = true;
    for (int n_ops = MOST_OPS; n_ops <= MOST_OPS + 1; n_ops++) {
        char text[1024], position[512] = "T";
        fx_compilation *c;
        for (int i = 0; i < n_ops; i++) strcat(position, i % 2 ? "-1" : "+1");
        snprintf(text, sizeof text,
            "kernel f(x: f32[T], w: f32[S]) -> y: f32[S] { y = w * (x[T: S%s] ?? 0) }\nkernel g = grad(f, wrt: x)",
            position + 1);
        fx_status status = fx_compile(text, strlen(text), "spec.fx", &options, &c);
        ck_assert_msg(status == (n_ops == MOST_OPS ? FX_OK : FX_ERR_COMPILE), "%d ops: %s", n_ops, fx_messages(c));
        if (status != FX_OK) ck_assert_ptr_nonnull(strstr(fx_messages(c), "FX2050"));
        fx_close(c);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("grad");
    TCase *t = tcase_create("grad");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, ops, 0, N_OPS);
    tcase_add_loop_test(t, every_op_has_a_derivative, 0, N_OPS);
    tcase_add_loop_test(t, rules, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(t, saved, 0, sizeof saved_cases / sizeof *saved_cases);
    tcase_add_loop_test(t, random_accesses, 0, N_ACCESSES / ACCESSES_A_TEST);
    tcase_add_test(t, second_order);
    tcase_add_loop_test(t, chosen_values, 0, sizeof points / sizeof *points);
    tcase_add_test(t, equal_extremes_share);
    tcase_add_test(t, masked_rows);
    tcase_add_loop_test(t, signature, 0, sizeof signatures / sizeof *signatures);
    tcase_add_test(t, alone);
    tcase_add_loop_test(t, refusals, 0, sizeof rejects / sizeof *rejects);
    tcase_add_test(t, positions_of_many_ops);
    suite_add_tcase(s, t);
    return run_suite(s);
}
