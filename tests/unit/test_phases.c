/* Launches of several phases, as a plan: what comes out of specs said in several ways, and what has to hold of every
 * joined launch for any extents and alignments. Expectations are written by hand; the properties are checked on what
 * fx_expr_eval and fx_choose_variant make of the plan. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

/* ---- what comes out ---- */

struct subject {
    const char *text;
    int n_launches, n_phases; /* of the plan, of its last launch; n_launches 0: refused with code */
    int n_waits;              /* barriers of all blocks in one entry of the last launch */
    const char *code;
};

#define REQUIRE "with { fuse: require } "
static const struct subject subjects[] = {
    /* statistics of rows before the contraction whose epilogue reads them, in any order and by any name */
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] " REQUIRE "{ r = rsqrt(mean[K](x * x))\n y = r * (x @ w) }", 1,
        2, 1, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] " REQUIRE "{ y = (x @ w) * rsqrt(mean[K](x * x)) }", 1, 2, 1,
        NULL},
    {"kernel f(b: f16[P,Q], a: f16[R,P]) -> y: f16[R,Q] " REQUIRE "{ y = sum[P](b * a) / sqrt(sum[P](a ** 2)) }", 1, 2,
        1, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { kernels: 1 } { y = (x @ w) * rsqrt(mean[K](x * x)) }", 1,
        2, 1, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { kernels: 2 } { y = (x @ w) * rsqrt(mean[K](x * x)) }", 2,
        1, 0, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = (x @ w) * rsqrt(mean[K](x * x)) }", 2, 1, 0, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> (y: f16[M,N], m: f32[M]) " REQUIRE "{ m = sum[K](x)\n y = (x @ w) * m }", 1,
        2, 1, NULL},
    /* a product of low rank; of a rank that may be any; in f32; of small matrices */
    {"kernel f(x: f16[M,K], a: f16[K,R=16], b: f16[R,N]) -> y: f16[M,N] " REQUIRE "{ y = x @ a @ b }", 1, 2, 1, NULL},
    {"kernel f(x: f32[M,K], a: f32[R=8,K], b: f32[N,R]) -> y: f32[M,N] " REQUIRE "{ y = sum[R](b * sum[K](a * x)) }", 1,
        2, 1, NULL},
    {"kernel f(x: f16[M,K], a: f16[K,R], b: f32[R,N]) -> y: f16[M,N] " REQUIRE "{ y = x @ a @ b }", 0, 0, 0, "FX3001"},
    {"kernel f(x: f16[M=64,K=64], a: f16[K,R=64], b: f32[R,N=64]) -> y: f16[M,N] " REQUIRE "{ y = x @ a @ b }", 1, 2, 1,
        NULL},
    {"kernel f(x: f16[M,K], a: f16[K,R], b: f32[R,N]) -> y: f16[M,N] with { kernels: 1 } { y = x @ a @ b }", 0, 0, 0,
        "FX3002"},
    /* a chain hands nothing over; beside the kernel of what it leaves on the chip; behind one that makes an operand of
       it */
    {"kernel f(x: f16[M,K], a: f16[K,R], b: f16[R,N]) -> y: f16[M,N] " REQUIRE "{ y = x @ a @ b }", 1, 1, 0, NULL},
    {"kernel f(x: f16[M,K], a: f16[K,R], b: f16[R,N]) -> (h: f16[M,R], y: f16[M,N]) " REQUIRE
     "{ h = relu(x @ a)\n y = h @ b }",
        1, 2, 0, NULL},
    {"kernel f(x: f16[M,K=64], w: f16[K,D=64], k: f16[T,D], v: f16[T,N]) -> y: f16[M,N] " REQUIRE
     "{ y = softmax[T]((x @ w) @ k) @ v }",
        1, 2, 1, NULL},
    /* a large factor that one launch could make as it is loaded is stored by a phase, where tensor maps then fetch it;
       not where that gains little, nor where consumers make it of what has k contiguous */
    {"kernel f(x: f32[K=4096,M=4096], w: bf16[K,N=4096]) -> y: bf16[M,N] " REQUIRE "{ y = bf16(x) @[K] w }", 1, 2, 1,
        NULL},
    {"kernel f(x: f32[M=4096,K=4096], w: bf16[K,N=4096]) -> y: bf16[M,N] " REQUIRE "{ y = bf16(x) @ w }", 1, 1, 0,
        NULL},
    {"kernel f(x: bf16[M=64,K=64], s: f32[K], w: bf16[K,N=64]) -> y: bf16[M,N] " REQUIRE "{ y = (x * s) @ w }", 1, 1, 0,
        NULL},
    /* two such factors need not wait for each other */
    {"kernel f(x: f32[K=4096,M=4096], w: f32[K,N=4096]) -> y: bf16[M,N] " REQUIRE "{ y = bf16(x) @[K] bf16(w) }", 1, 3,
        1, NULL},
    /* what one phase leaves is read by the next one, and that by the last */
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] " REQUIRE "{ y = (x @ w) * var[K](x) + max[M,K](x * 2) }", 1, 4,
        2, NULL},
    /* the last one reads by boxes what the first one wrote, and waits for none itself */
    {"kernel f(u: bf16[M=256,R=64], v: bf16[R,N=256], w: bf16[N,J=256]) -> (z: bf16[M,N], y: bf16[M,J]) with "
     "{ kernels: 1 } { h = bf16(u @ v)\n z = h[N: (idx(N) + 1) % size(N)]\n y = h @ w }",
        1, 3, 1, NULL},
    /* rows in parts: each walk is a phase */
    {"kernel f(x: f32[M,N]) -> t: f32[] " REQUIRE "{ t = sum[M,N](x) }", 1, 2, 1, NULL},
    {"kernel f(x: f32[M,N]) -> v: f32[] " REQUIRE "{ v = var[M,N](x) }", 1, 3, 2, NULL},
    {"kernel f(x: f32[M,N]) -> t: f32[] { t = sum[M,N](x) }", 2, 1, 0, NULL},
    /* nothing is handed over: nobody waits */
    {"kernel f(x: f32[M,N]) -> (r: f32[M], c: f32[N]) " REQUIRE "{ r = sum[N](x)\n c = sum[M](x) }", 1, 2, 0, NULL},
    {"kernel f(x: f16[M,K], w: f16[K,N], v: f16[K,P]) -> (y: f16[M,N], z: f16[M,P]) " REQUIRE
     "{ y = x @ w\n z = x @ v }",
        1, 2, 0, NULL},
    /* more sums than a tile of f64 tensor cores has room for, though entries for few rows have */
    {"kernel f(x: f64[M,K], w: f64[N,K], v: f64[N,K], a: f64[N,K], b: f64[N,K]) -> y: f64[M,N] " REQUIRE
     "{ y = (x @ w) * (x @ v) + (x @ a) * (x @ b) }",
        1, 1, 0, NULL},
    /* a long k in slices, whose sums are handed over; where these are more than a side product it is not cut */
    {"kernel f(x: f32[M=128,K=65536], w: f32[K,N=1024]) -> y: f32[M,N] with { fuse: require, precision: fma } "
     "{ y = relu(x @ w) }", 1, 2, 1, NULL},
    {"kernel f(x: f32[M=20,K=4096], w: f32[K,N=20]) -> y: f32[M,N] with { kernels: 1 } { y = relu(x @ w) }", 1, 2, 1,
        NULL},
    {"kernel f(c: f32[M=128,P=432], w: f32[N=512,P,Q=P]) -> y: f32[M,N] " REQUIRE "{ y = (c * c{P->Q}) @[P,Q] w }", 1,
        2, 1, NULL},
    {"kernel f(x: f32[M=1280,K=4096], w: f32[K,N=128]) -> y: f32[M,N] " REQUIRE "{ y = relu(x @ w) }", 1, 1, 0, NULL},
    /* two contractions, one apart from the joined walks */
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], t: f32[]) with { kernels: 2 } { y = x @ w\n t = sum[M,K](x) }",
        2, 2, 1, NULL},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *s = strstr(text, what); s; s = strstr(s + 1, what)) n++;
    return n;
}

/* Barriers in the body of an entry. Where boxes are read behind one, writes are published ahead of it. */
static int waits_of(const struct fx_plan *p, const char *entry) {
    static const char barrier[] = "fx_grid_barrier(",
                      published[] = "fx_tma_publish_all();  // memory, for the boxes behind\n  fx_grid_barrier(";
    char name[256], body[4096] = "", *boxes = NULL;
    snprintf(name, sizeof name, "\n%s(", entry);
    const char *from = strstr(p->source, name), *to = from ? strstr(from, "\n}\n") : NULL;
    ck_assert_msg(to != NULL && to - from < (int)sizeof body, "%s has no body", entry);
    memcpy(body, from, (size_t)(to - from));
    const int n = count(body, barrier);
    for (char *s = strstr(body, "fx_gemm_wgmma"); s; s = strstr(s + 1, "fx_gemm_wgmma")) boxes = s;
    if (boxes) *boxes = '\0';
    ck_assert_msg(!boxes || count(body, published) == count(body, barrier), "%s does not publish", entry);
    return n;
}

START_TEST(test_subject) {
    const struct subject *s = &subjects[_i];
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    fx_status status = fx_compile(s->text, strlen(s->text), "spec.fx", &o, &c);
    ck_assert_msg((status == FX_OK) == (s->code == NULL) && (!s->code || strstr(fx_messages(c), s->code)), "%s\n%s",
        s->text, fx_messages(c));
    if (status != FX_OK) {
        fx_close(c);
        return;
    }
    const struct fx_plan *p = fx_get_plan(c);
    const struct fx_kernel *k = &p->kernels[0];
    const struct fx_partition taken = fx_get_partition(k, fx_partition_count(k) - 1); /* at nominal extents */
    const struct fx_launch *last = &k->launches[k->n_launches - 1];
    ck_assert_msg(taken.n_launches == s->n_launches && last->n_phases == s->n_phases, "%s\n%d launches, %d phases",
        s->text, taken.n_launches, last->n_phases);
    ck_assert_int_eq(last->is_cooperative, s->n_waits > 0);
    for (int v = 0; v < last->n_variants; v++) ck_assert_int_eq(waits_of(p, last->variants[v].entry), s->n_waits);
    fx_close(c);
}
END_TEST

/* ---- what holds of every joined launch ---- */

enum { SM_COUNT = 132, MOST_EXTENTS = 24 };

static int64_t evaluated(const struct fx_expr *e, const struct fx_env *env) {
    int64_t value = 0;
    ck_assert(fx_expr_eval(e, env, &value));
    return value;
}

static uint64_t next_random(uint64_t *s) {
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s >> 11;
}

/* Whether some output of k has elements. */
static bool has_output(const struct fx_kernel *k, const int64_t *extents) {
    for (int i = 0; i < k->n_params; i++) {
        bool is_empty = !k->params[i].is_output;
        for (int a = 0; a < k->params[i].rank; a++) is_empty |= extents[k->params[i].extents[a]] == 0;
        if (!is_empty) return true;
    }
    return false;
}

/* Variant v of a joined launch: its blocks have flags, and room on the device at once. */
static void check_variant(const struct fx_kernel *k, const struct fx_partition *p, const struct fx_launch *l,
    const struct fx_variant *v, const struct fx_env *env) {
    int64_t grid = evaluated(&v->grid, env), flags = 0;
    for (int b = p->first_buffer; b < p->first_buffer + p->n_buffers; b++)
        if (k->buffers[b].kind == FX_BUFFER_FLAGS) flags = evaluated(&k->buffers[b].bytes, env);
    ck_assert_msg(!l->is_cooperative || grid * 8 <= flags, "%s: %lld blocks, %lld bytes of flags", v->entry,
        (long long)grid, (long long)flags);
    if (l->is_beside) return; /* a block of these waits for no other one */
    ck_assert_msg(grid <= 2048 / v->block * SM_COUNT, "%s: %lld blocks of %d threads are not resident at once",
        v->entry, (long long)grid, v->block);
    ck_assert(grid == 0 || evaluated(&v->smem, env) * ((grid + SM_COUNT - 1) / SM_COUNT) <= 227 * 1024);
    ck_assert_msg(grid > 0 || p->n_launches > 1 || !has_output(k, env->extents),
        "%s does not run, but something is to be written", v->entry);
}

/* The launches of a partition; where it fits the extents, each has a variant, however tensors are aligned. */
static void check_env(const struct fx_kernel *k, const struct fx_partition *p, bool fits, const struct fx_env *env,
    int *n_joined) {
    for (int i = p->first_launch; i < p->first_launch + p->n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        ck_assert_msg(!fits || fx_choose_variant(l, env) >= 0, "%s has no variant", l->name);
        for (int v = 0; l->n_phases > 1 && v < l->n_variants; v++)
            if (fx_expr_holds(&l->variants[v].needs, env)) check_variant(k, p, l, &l->variants[v], env), ++*n_joined;
    }
}

/* Those of the spec at random; those that passes made are what their equations say of them. */
static void draw_extents(const struct fx_kernel *k, int64_t *extents, uint64_t *seed) {
    static const int64_t sizes[] = {0, 1, 2, 7, 16, 64, 129, 1000, 4096, 65536, 1 << 20};
    for (int e = 0; e < k->n_extents; e++) {
        const int64_t drawn = sizes[next_random(seed) % (sizeof sizes / sizeof *sizes)];
        extents[e] = k->extents[e].value >= 0 ? k->extents[e].value : drawn;
    }
    for (int q = 0; q < k->n_equations; q++) {
        const struct fx_equation *made = &k->equations[q];
        if (k->extents[made->extent].is_made)
            extents[made->extent] = evaluated(&made->value, &(struct fx_env){.extents = extents});
    }
}

START_TEST(test_any_extents) {
    const struct subject *s = &subjects[_i];
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    uint64_t seed = 88172645463325252u + (uint64_t)_i;
    int n_joined = 0;
    if (s->code) return;
    ck_assert_int_eq(fx_compile(s->text, strlen(s->text), "spec.fx", &o, &c), FX_OK);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    for (int n = 0; n < 300; n++) {
        int64_t extents[MOST_EXTENTS];
        unsigned align[16];
        ck_assert(k->n_extents <= MOST_EXTENTS && k->n_params <= 16);
        draw_extents(k, extents, &seed);
        for (int i = 0; i < k->n_params; i++) align[i] = n % 3 ? 256 : 4u << next_random(&seed) % 7;
        struct fx_env env = {.extents = extents, .align = align, .sm_count = SM_COUNT};
        for (int i = 0; i < fx_partition_count(k); i++) {
            const struct fx_partition p = fx_get_partition(k, i);
            const bool fits = fx_partition_fits(k, &p, &env);
            ck_assert_msg(fits || i + 1 < fx_partition_count(k), "partition %s, the last, does not fit", p.name);
            check_env(k, &p, fits, &env, &n_joined);
        }
    }
    ck_assert(n_joined > 0 || s->n_phases == 1);
    fx_close(c);
}
END_TEST

/* What joins many launches finds a schedule for each phase once: 3 s here, where once for each launch that was tried
 * took more than a minute. */
START_TEST(test_many_phases) {
    enum { DEPTH = 40 };
    char text[DEPTH * 40 + 200];
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    size_t n = (size_t)snprintf(text, sizeof text, "kernel f(x: f32[M,N]) -> y: f32[M,N] " REQUIRE "{\nv0 = x\n");
    for (int i = 0; i < DEPTH; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "v%d = softmax[%c](v%d)\n", i + 1, i % 2 ? 'N' : 'M', i);
    n += (size_t)snprintf(text + n, sizeof text - n, "y = v%d\n}", DEPTH);
    ck_assert_uint_lt(n, sizeof text);
    ck_assert_int_eq(fx_compile(text, n, "many.fx", &options, &c), FX_OK);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), "f");
    ck_assert_int_eq(k->n_launches, 1);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("phases");
    TCase *t = tcase_create("phases");
    tcase_add_loop_test(t, test_subject, 0, N_SUBJECTS);
    tcase_add_loop_test(t, test_any_extents, 0, N_SUBJECTS);
    suite_add_tcase(s, t);
    t = tcase_create("many");
    tcase_set_timeout(t, 40);
    tcase_add_test(t, test_many_phases);
    suite_add_tcase(s, t);
    return run_suite(s);
}
