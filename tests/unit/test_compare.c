/* How results are judged: which elements of a large output are compared, what the default tolerance refuses at real
 * extents, and what a comparison says of the elements that it stands on.
 *
 * The products at 4096^3 are not computed: sampled elements are, as a right kernel would and as kernels with a mistake
 * would, one term after another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/draw.h"
#include "suite.h"

/* ---- the sample ---- */

static const struct fx_shape shapes[] = {
    {.rank = 1, .extents = {5000}},
    {.rank = 2, .extents = {4096, 4096}},
    {.rank = 2, .extents = {1, 1 << 20}},
    {.rank = 3, .extents = {3, 1, 70001}},
    {.rank = 2, .extents = {INT64_C(1) << 33, 129}},
    {.rank = 8, .extents = {3, 5, 2, 7, 3, 2, 5, 4}},
    {.rank = 8, .extents = {1, 1, 1, 1, 1, 1, 1, 9000}},
};

static bool has_element(const int64_t *elements, int64_t n, int64_t flat) {
    for (int64_t i = 0; i < n; i++)
        if (elements[i] == flat) return true;
    return false;
}

START_TEST(sample_is_spread) {
    const struct fx_shape *s = &shapes[_i];
    static int64_t elements[SAMPLED_ELEMENTS], again[SAMPLED_ELEMENTS];
    int64_t n = sample_elements(s, elements), total = 1, n_edges = 0, at[8] = {0};
    for (int a = 0; a < s->rank; a++) total *= s->extents[a];
    ck_assert_int_gt(n, 0);
    ck_assert_int_le(n, SAMPLED_ELEMENTS);
    ck_assert_int_eq(sample_elements(s, again), n); /* the same every time */
    ck_assert_mem_eq(elements, again, (size_t)n * sizeof *elements);
    for (int64_t i = 0; i < n; i++) {
        ck_assert(elements[i] >= 0 && elements[i] < total);
        ck_assert(i == 0 || elements[i - 1] < elements[i]);
        int64_t last = elements[i] % s->extents[s->rank - 1];
        n_edges += last == s->extents[s->rank - 1] - 1 || last % 64 <= 1 || last % 64 == 63;
        at[last % 8]++;
    }
    for (int corner = 0; corner < 1 << s->rank; corner++) {
        int64_t flat = 0;
        for (int a = 0; a < s->rank; a++) flat = flat * s->extents[a] + (corner >> a & 1 ? s->extents[a] - 1 : 0);
        ck_assert_msg(has_element(elements, n, flat), "corner %d is missing", corner);
    }
    /* beside tiles twice as many as the 3 of 64 that uniform indices would be */
    if (s->extents[s->rank - 1] > 1000) ck_assert_int_gt(n_edges * 10, n);
    /* at a tile's end and beside it, and no further away more than anywhere */
    for (int i = 2; i < 7 && s->extents[s->rank - 1] > 1000; i++) ck_assert_int_lt(at[i] * 2, at[0] + at[4]);
    if (s->extents[s->rank - 1] > 1000) ck_assert(at[2] * 4 < at[4] * 5 && at[6] * 4 < at[4] * 5);
    if (total > 1 << 20) ck_assert_int_gt(n, SAMPLED_ELEMENTS * 8 / 10);
}
END_TEST

/* ---- the tolerance at 4096^3 ---- */

enum { SIZE = 4096, TILE = 128, STAGE = 64, DROPPED_K = 1234, MOVED_ROW = 5 };

static const char *const specs[] = {
    "kernel f(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
    "kernel f(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[M,N] { y = x @ w + b }",
    "kernel f(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { precision: ieee } { y = x @ w + b }",
    "kernel f(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w + b }",
    "kernel f(x: f32[M,K], w: bf16[K,N], b: bf16[N]) -> y: f32[M,N] { y = tanh(x) @ w + b }",
};
static const enum fx_dtype dtypes[][3] = {{FX_BF16, FX_BF16, FX_BF16}, {FX_F16, FX_F16, FX_F32},
    {FX_F32, FX_F32, FX_F32}, {FX_F32, FX_F32, FX_F32}, {FX_F32, FX_BF16, FX_F32}}; /* x, w, y */
enum { N_SPECS = sizeof specs / sizeof *specs, PLAIN = 1, LICENSED = 4 };

static struct {
    fx_compilation *c;
    struct fx_host in[3];
    int64_t elements[SAMPLED_ELEMENTS], n;
    double value[SAMPLED_ELEMENTS], bound[SAMPLED_ELEMENTS];
    enum fx_dtype y;
} f;

/* The first `most` elements of the sample are evaluated. */
static void open_product(int spec, const struct draw *d, enum fx_bound kind, int64_t most) {
    struct fx_options options = FX_OPTIONS;
    const struct fx_shape y = {.rank = 2, .extents = {SIZE, SIZE}};
    const enum fx_dtype of[3] = {dtypes[spec][0], dtypes[spec][1], dtypes[spec][1]};
    char message[256] = "";
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(specs[spec], strlen(specs[spec]), "f.fx", &options, &f.c), FX_OK);
    for (int i = 0; i < 3; i++) {
        size_t n = i < 2 ? (size_t)SIZE * SIZE : SIZE;
        void *data = malloc(n * (size_t)fx_dtype_bits(of[i]) / 8);
        ck_assert_ptr_nonnull(data);
        draw_fill(d, (uint64_t)i << 32, of[i], data, n);
        f.in[i] = (struct fx_host){.dtype = of[i], .rank = i < 2 ? 2 : 1, .extents = {SIZE, SIZE}, .data = data};
    }
    f.y = dtypes[spec][2];
    f.n = sample_elements(&y, f.elements);
    f.n = f.n < most ? f.n : most;
    ck_assert_msg(fx_evaluate(f.c, "f", f.in, 3, 0, f.elements, f.n, f.value, NULL, kind, f.bound, message,
                      sizeof message) == FX_OK,
        "%s", message);
}

static void close_product(void) {
    for (int i = 0; i < 3; i++) free((void *)f.in[i].data);
    fx_close(f.c);
}

static double input(int i, int64_t at) { return fx_load_double(f.in[i].dtype, f.in[i].data, (size_t)at); }

/* As the kernel has it: 10 fraction bits of both factors, or 7 of what is computed. */
static double rounded(int spec, int i, double v) {
    if (spec == LICENSED && i == 0) return fx_round_to(FX_BF16, tanh(v));
    if (spec != 3) return v;
    uint32_t bits;
    float single = (float)v;
    memcpy(&bits, &single, sizeof bits);
    bits += 0x1000;
    bits &= ~UINT32_C(0x1fff);
    memcpy(&single, &bits, sizeof single);
    return single;
}

enum way { /* in which sums are added up, or the mistake that is made */
    FORWARDS, BACKWARDS, IN_TWO, TRUNCATED, LAST_RIGHT = TRUNCATED,
    WITHOUT_K, WITHOUT_STAGE, STAGE_TWICE, ROW_MOVED, LAST_K_LOST, N_WAYS
};

static float truncate_sum(double v) {
    float r = (float)v;
    return fabsf(r) > fabs(v) ? nextafterf(r, 0) : r;
}

/* What the element's sum is of, which all ways have in common: a column of w lies all over memory. */
static const double *terms_of(int spec, int64_t row, int64_t n) {
    static double terms[SIZE];
    static int64_t last = -1;
    for (int k = 0; last != row * SIZE + n && k < SIZE; k++)
        terms[k] = rounded(spec, 0, input(0, row * SIZE + k)) * rounded(spec, 1, input(1, (int64_t)k * SIZE + n));
    last = row * SIZE + n;
    return terms;
}

static double compute(int spec, enum way way, int64_t flat) {
    int64_t m = flat / SIZE, n = flat % SIZE, row = way == ROW_MOVED && m % TILE == MOVED_ROW ? m - 1 : m;
    const double *terms = terms_of(spec, row, n);
    float sum = 0, half = 0;
    double step = 0;
    for (int j = 0; j < SIZE; j++) {
        int k = way == BACKWARDS ? SIZE - 1 - j : j;
        if ((way == WITHOUT_K && k == DROPPED_K) || (way == WITHOUT_STAGE && k / STAGE == 9) ||
            (way == LAST_K_LOST && k == SIZE - 1))
            continue;
        double term = terms[k];
        if (way == STAGE_TWICE && k / STAGE == 9) term *= 2;
        if (way == TRUNCATED) { /* eight terms a step, cut off beyond the sum's 24 bits */
            step += term;
            if (j % 8 == 7) sum = truncate_sum(sum + step), step = 0;
        } else if (way == IN_TWO && k % 2) half = (float)(half + term);
        else sum = (float)(sum + term);
    }
    double v = (double)(float)(sum + half) + input(2, n);
    v = (float)v;
    return spec == 0 ? v * 0.5 * erfc(-v * M_SQRT1_2) : v;
}

/* How many each way refuses of every STEP-th element of the sample; of a moved row, of those in it. */
#ifdef __SANITIZE_ADDRESS__
enum { STEP = 64 };
#else
enum { STEP = 8 };
#endif
struct refusals {
    int64_t of[N_WAYS];
};
static struct refusals refused(int spec, enum way first, enum way last) {
    struct refusals n = {0};
    for (int64_t i = 0; i < f.n; i++)
        for (enum way way = first; way <= last; way++) {
            bool is_looked_at = way == ROW_MOVED ? f.elements[i] / SIZE % TILE == MOVED_ROW : i % STEP == 0;
            if (is_looked_at)
                n.of[way] +=
                    !fx_is_right(f.y, fx_round_to(f.y, compute(spec, way, f.elements[i])), f.value[i], f.bound[i]);
        }
    return n;
}

START_TEST(mistakes_are_refused) {
    const struct draw normal = {DRAW_NORMAL, 0, 1};
    open_product(_i, &normal, FX_BOUND_INDEPENDENT, SAMPLED_ELEMENTS);
    const struct refusals all = refused(_i, FORWARDS, N_WAYS - 1);
    for (enum way way = FORWARDS; way < N_WAYS; way++) {
        int64_t n = all.of[way];
        if (way <= LAST_RIGHT)
            ck_assert_msg(n == 0, "right in way %d, but %lld elements are refused", way, (long long)n);
        /* a row of each tile is one of 128, weighted by how rows are drawn; the other mistakes are in every element */
        else
            ck_assert_msg(n > (way == ROW_MOVED ? 4 : f.n / STEP / 32),
                "mistake %d is refused at %lld of %lld elements", way, (long long)n, (long long)f.n);
    }
    close_product();
}
END_TEST

static void none_refused(int spec) {
    const struct refusals all = refused(spec, FORWARDS, LAST_RIGHT);
    for (enum way way = FORWARDS; way <= LAST_RIGHT; way++) ck_assert_int_eq(all.of[way], 0);
}

/* All of one sign, where tensor cores err in one direction: right ways are right. */
START_TEST(positive_is_right) {
    const struct draw uniform = {DRAW_UNIFORM, 0, 1};
    open_product(_i, &uniform, FX_BOUND_INDEPENDENT, SAMPLED_ELEMENTS);
    none_refused(_i);
    close_product();
}
END_TEST

/* Equal terms err in one direction all through a binade: these do so as much as any. */
START_TEST(constants_are_right) {
    static const double constants[] = {
        0.7108516367701414, 0.9790083590567857, 0.866025403784}; /* roots of 0.505310059, 0.958497167, 3 / 4 */
    const struct draw constant = {DRAW_FILL, constants[_i / N_SPECS], 0};
    open_product(_i % N_SPECS, &constant, FX_BOUND_INDEPENDENT, 512); /* all are one */
    none_refused(_i % N_SPECS);
    close_product();
}
END_TEST

/* Of small integers every sum is exact: the value alone is right. */
START_TEST(integers_are_exact) {
    const struct draw integers = {DRAW_INTEGERS, -4, 4};
    open_product(_i, &integers, FX_BOUND_INDEPENDENT, SAMPLED_ELEMENTS);
    for (int64_t i = 0; i < f.n; i++) ck_assert(f.bound[i] == 0);
    ck_assert_int_eq(refused(_i, IN_TWO, IN_TWO).of[IN_TWO], 0);
    ck_assert_int_gt(refused(_i, WITHOUT_K, WITHOUT_K).of[WITHOUT_K], f.n / STEP / 2);
    close_product();
}
END_TEST

/* The worst case allows more, and it is what is asked for by name. */
START_TEST(worst_is_wider) {
    const struct draw normal = {DRAW_NORMAL, 0, 1};
    static double independent[SAMPLED_ELEMENTS];
    open_product(PLAIN, &normal, FX_BOUND_INDEPENDENT, SAMPLED_ELEMENTS);
    memcpy(independent, f.bound, sizeof independent);
    close_product();
    open_product(PLAIN, &normal, FX_BOUND_WORST, SAMPLED_ELEMENTS);
    for (int64_t i = 0; i < f.n; i++) ck_assert(independent[i] * 10 < f.bound[i] && f.bound[i] > 0.5);
    close_product();
}
END_TEST

/* ---- what was compared ---- */

static struct comparison compare_values(
    const double *values, const double *bounds, int64_t n, enum fx_tolerance_kind kind) {
    float result[8];
    int64_t integer[8] = {0};
    static const struct fx_param y = {.name = "y", .dtype = FX_F32, .is_output = true};
    for (int64_t i = 0; i < n; i++) result[i] = (float)values[i];
    struct argument a = {
        .param = &y, .shape = {.dtype = FX_F32, .rank = 1, .extents = {n}}, .n_elements = (size_t)n, .result = result};
    const struct expected e = {
        .n = n, .value = (double *)values, .bound = (double *)bounds, .integer = integer, .largest = 1};
    const struct fx_tolerance tolerance = {kind, 0.5};
    return compare(&a, &e, &tolerance);
}

static const double none[8] = {0}, wide[8] = {1, 1, 1, 1, 1, 1, 1, 1},
                    open_[8] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
static const struct {
    double values[4];
    const double *bounds;
    int64_t n;
    enum fx_tolerance_kind kind;
    bool is_limited, is_varied;
} rows[] = {
    {{1, 2, 3, 4}, none, 4, FX_TOL_DERIVED, true, true},
    {{NAN, NAN, NAN, NAN}, none, 4, FX_TOL_DERIVED, false, false},
    {{NAN, NAN, 1, NAN}, none, 4, FX_TOL_DERIVED, true, false},
    {{NAN, NAN, 1, 2}, none, 4, FX_TOL_DERIVED, true, true},
    {{1, 2, 3, 4}, open_, 4, FX_TOL_DERIVED, false, false},
    {{1, 2, 1, 2}, wide, 4, FX_TOL_DERIVED, true, false}, /* 1.5 would be right everywhere */
    {{1, 2, 3.5, 2}, wide, 4, FX_TOL_DERIVED, true, true},
    {{0, 0, 0, 0}, none, 4, FX_TOL_DERIVED, true, false},
    {{0, 0, 0, 0}, none, 4, FX_TOL_EXACT, true, true},
    {{NAN, NAN, NAN, NAN}, none, 4, FX_TOL_EXACT, true, true},
    {{NAN, NAN, NAN, NAN}, none, 4, FX_TOL_ABS, false, false},
    {{1, 2, 3, 4}, open_, 4, FX_TOL_ABS, true, true}, /* what is stated takes the bound's place */
    {{INFINITY, INFINITY, INFINITY, INFINITY}, none, 4, FX_TOL_DERIVED, true, false},
    {{7}, none, 1, FX_TOL_DERIVED, true, true},
    {{NAN}, none, 1, FX_TOL_DERIVED, false, false},
    {{0}, none, 0, FX_TOL_DERIVED, true, false},
};

START_TEST(kinds_are_seen) {
    struct comparison c = compare_values(rows[_i].values, rows[_i].bounds, rows[_i].n, rows[_i].kind);
    ck_assert_int_eq(c.n_wrong, 0);
    ck_assert_int_eq(c.n_compared, rows[_i].n);
    ck_assert_int_eq(c.is_limited, rows[_i].is_limited);
    ck_assert_int_eq(c.is_varied, rows[_i].is_varied);
}
END_TEST

START_TEST(elements_are_counted) {
    static const double values[] = {2, 2, NAN, INFINITY, 2, -1, 2, 5}, bounds[] = {0, 0, 0, 0, 0, INFINITY, 0, 0};
    struct comparison c = compare_values(values, bounds, 8, FX_TOL_DERIVED);
    ck_assert_int_eq(c.n_nan, 1);
    ck_assert_int_eq(c.n_infinite, 1);
    ck_assert_int_eq(c.n_open, 1);
    ck_assert_int_eq(c.n_common, 4);
    ck_assert(c.common == 2);
}
END_TEST

/* One output of which nothing can be said leaves a kernel unchecked, whatever the others say; one that varies is enough
 * beside constants. */
START_TEST(verdicts) {
    static const double some[] = {1, 2}, nans[] = {NAN, NAN}, same[] = {3, 3};
    struct verdict v = {0};
    ck_assert_str_eq(why_unchecked(&v), "every output is empty");
    struct comparison c = compare_values(same, none, 2, FX_TOL_DERIVED);
    add_comparison(&v, &c);
    ck_assert_ptr_nonnull(strstr(why_unchecked(&v), "one value"));
    c = compare_values(some, none, 2, FX_TOL_DERIVED);
    add_comparison(&v, &c);
    ck_assert_ptr_null(why_unchecked(&v));
    c = compare_values(nans, none, 2, FX_TOL_DERIVED);
    add_comparison(&v, &c);
    ck_assert_ptr_nonnull(strstr(why_unchecked(&v), "NaN or open"));
    v.n_wrong = 1;
    ck_assert_ptr_null(why_unchecked(&v)); /* it is wrong, which is more */
}
END_TEST

/* ---- integers that index ---- */

static const struct {
    const char *spec, *param;
    int64_t below; /* at M = 40, N = 30; -1: nothing is known */
} draws[] = {
    {"kernel f(x: f32[M,N], i: i64[T]) -> y: f32[T,N] { y = x[M: i] ?? 0 }", "i", 40},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: clamp(i64(i), 0, size(M) - 1)] ?? 0 }", "i", 40},
    {"kernel f(x: f32[M,N], i: u8[T]) -> y: f32[T] { y = x[M: i, N: 3] ?? 0 }", "i", 40},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: i * 8 + 3] ?? 0 }", "i", 5},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: 39 - 8 * i] ?? 0 }", "i", 5},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: i * size(N)] ?? 0 }", "i", 1},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: i * -8] ?? 0 }", "i", -1},
    {"kernel f(x: f32[M,N], i: i32[T]) -> y: f32[T,N] { y = x[M: i * 0 + 3] ?? 0 }", "i", -1},
    {"kernel f(x: f32[M,N], n: i32[M]) -> y: f32[M] { y = sum[N](where(idx(N) < n, x, 0)) }", "n", 31},
    {"kernel f(x: f32[M,N], n: i64[M]) -> y: f32[M,N] { y = where(idx(N) == n, x, 0) }", "n", 30},
    {"kernel f(x: f32[M,N], i: i32[M]) -> y: f32[M,N] { y = x * f32(i) }", "i", -1},
    {"kernel f(x: f32[M,N], i: i32[M], j: i32[T]) -> y: f32[T,N] { a = i + i\n b = a + a\n c = b + b\n y = x[M: c[M: j] ?? 0] ?? 0 }",
        "i", 40},
};

START_TEST(positions_are_drawn_inside) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    const char *text = draws[_i].spec;
    options.oracle_only = true;
    ck_assert_msg(fx_compile(text, strlen(text), "f.fx", &options, &c) == FX_OK, "%s", fx_messages(c));
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int64_t extents[8], below = -1;
    for (int i = 0; i < k->n_extents; i++) extents[i] = k->extents[i].name[0] == 'M' ? 40 : 30;
    const struct fx_env env = {.extents = extents};
    for (int i = 0; i < k->n_params; i++) {
        if (strcmp(k->params[i].name, draws[_i].param) != 0)
            ck_assert(k->params[i].below.n == 0 || k->params[i].dtype != FX_F32);
        else if (k->params[i].below.n) ck_assert(fx_expr_eval(&k->params[i].below, &env, &below));
    }
    ck_assert_int_eq(below, draws[_i].below);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("compare");
    TCase *elements = tcase_create("elements"), *tolerance = tcase_create("tolerance");
    tcase_add_loop_test(elements, sample_is_spread, 0, sizeof shapes / sizeof *shapes);
    tcase_add_loop_test(elements, kinds_are_seen, 0, sizeof rows / sizeof *rows);
    tcase_add_test(elements, elements_are_counted);
    tcase_add_test(elements, verdicts);
    tcase_add_loop_test(elements, positions_are_drawn_inside, 0, sizeof draws / sizeof *draws);
    tcase_add_loop_test(tolerance, mistakes_are_refused, 0, N_SPECS);
    tcase_add_loop_test(tolerance, positive_is_right, 0, N_SPECS);
    tcase_add_loop_test(tolerance, constants_are_right, 0, 3 * N_SPECS);
    tcase_add_loop_test(tolerance, integers_are_exact, 1, 4);
    tcase_add_test(tolerance, worst_is_wider);
    tcase_set_timeout(tolerance, 300);
    suite_add_tcase(s, elements);
    suite_add_tcase(s, tolerance);
    return run_suite(s);
}
