/* Memory that runs out at every allocation of every call of the public API. malloc, calloc and realloc of this program,
 * of libfx, of libc and of the stand-ins for driver and NVRTC are those below, which let the n-th call fail, alone or
 * with all that follow. For n from 1 on until there is no n-th call: the status is FX_ERR_NOMEM, nothing is leaked,
 * nothing crashes, and the same call without a failure then works. Every scenario runs in a process of its own. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakes.h"
#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"

/* ---- the allocator ---- */

static atomic_int calls_left;    /* until one fails; 0: none is to */
static atomic_bool fails_on;     /* so do all that follow */
static atomic_int n_failed;      /* since the failure was asked for */
static atomic_long n_live;       /* blocks handed out and not given back */

static bool fails(void) {
    int left = atomic_load(&calls_left);
    if (left == 0) return false;
    if (left > 1) return atomic_fetch_sub(&calls_left, 1), false;
    if (!atomic_load(&fails_on)) atomic_store(&calls_left, 0);
    atomic_fetch_add(&n_failed, 1);
    errno = ENOMEM;
    return true;
}

/* What they stand before, by the names that do not lead back here. */
#ifdef __SANITIZE_ADDRESS__
#define NEXT(name) __interceptor_##name
#define next_aligned_alloc __interceptor_aligned_alloc
#else
#define NEXT(name) __libc_##name
#define next_aligned_alloc __libc_memalign
#endif
void *NEXT(malloc)(size_t n);
void *NEXT(calloc)(size_t n, size_t size);
void *NEXT(realloc)(void *p, size_t n);
void NEXT(free)(void *p);
void *next_aligned_alloc(size_t alignment, size_t n);

static void *counted(void *p) {
    if (p) atomic_fetch_add(&n_live, 1);
    return p;
}

void *malloc(size_t n) { return fails() ? NULL : counted(NEXT(malloc)(n)); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : counted(NEXT(calloc)(n, size)); }
/* The stand-in's device memory: it never fails. */
void *aligned_alloc(size_t alignment, size_t n) { return counted(next_aligned_alloc(alignment, n)); }
void *realloc(void *p, size_t n) {
    if (fails()) return NULL;
    void *moved = NEXT(realloc)(p, n);
    return p ? moved : counted(moved);
}
void free(void *p) {
    if (p) atomic_fetch_sub(&n_live, 1);
    NEXT(free)(p);
}

/* ---- what is called: each gives a status and takes back what it made ---- */

static const char *const specs[] = {
    "kernel f(x: f32[M,N], a: f32 = 0.5) -> y: f32[M,N] { y = a * x }\ntest f { M=4 N=8 }\n",
    "kernel f(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }\ntest f { M=3 K=5 N=8 }\n",
    "kernel f(x: f32[M,N]) -> y: f32[M,N] { y = softmax[N](x) }\n",
    "kernel f(x: f32[M]) -> y: f32[M] { y = x + z }\n",
};
enum { N_SPECS = sizeof specs / sizeof *specs, SCALE = 0, GELU = 1, BROKEN = 3 };

static const char *wrong; /* what a scenario found, while it cannot say so: messages take memory */
static fx_compilation *c;
static fx_context *context;

static fx_status compile(int spec, const struct fx_options *options, fx_compilation **out) {
    return fx_compile(specs[spec], strlen(specs[spec]), "spec.fx", options, out);
}

static fx_status compiles(int spec) {
    fx_compilation *made = (fx_compilation *)&made;
    fx_status status = compile(spec, NULL, &made), wanted = spec == BROKEN ? FX_ERR_COMPILE : FX_OK;
    if ((status == FX_ERR_NOMEM) != !made) wrong = "*out";
    /* Who overlooks the status goes on with NULL. */
    if (status == FX_ERR_NOMEM && (*fx_messages(made) || fx_get_plan(made) || fx_text(made, FX_TEXT_CU)))
        wrong = "what a NULL compilation says";
    fx_close(made);
    return status == wanted ? FX_OK : status;
}

static fx_status reads_options(int i) {
    static const char *const defines[] = {"M=4", "N=8"};
    struct fx_options options = FX_OPTIONS;
    fx_compilation *made;
    (void)i;
    options.defines = defines, options.n_defines = 2, options.kernel = "f", options.ablate = 1;
    options.dump_after = "all", options.skip = "cse";
    fx_status status = compile(SCALE, &options, &made);
    fx_close(made);
    return status;
}

/* Its arena goes with the compilation: of these only the last one's leaks are seen. */
static fx_status prints(int stage) {
    const char *text = fx_text(c, (enum fx_text)stage);
    if (!text != (fx_last_status(c) != FX_OK)) wrong = "fx_last_status";
    return fx_last_status(c);
}

static fx_status prints_others(int which) {
    struct fx_lines lines[4];
    int n = 0;
    bool is_there = which == 0   ? fx_receipt(c, FX_FORMAT_TEXT, NULL) != NULL
                    : which == 1 ? fx_receipt(c, FX_FORMAT_JSON, NULL) != NULL
                    : which == 2 ? fx_ablations(c, "f", NULL, 0, &n) != NULL
                    : which == 3 ? fx_definition(c, "f", lines, 4) > 0
                    : which == 4 ? fx_receipt_wants(c, NULL, (bool[64]){false})
                                 : fx_messages_json(c) != NULL;
    if (fx_tests(c, &n) == NULL || n != 1) wrong = "fx_tests";
    if (is_there != (fx_last_status(c) == FX_OK)) wrong = "fx_last_status";
    return fx_last_status(c);
}

static fx_status evaluates(int i) {
    static float x[32];
    static const float a = 2;
    static double value[32], bound[32];
    static const struct fx_host inputs[] = {{.dtype = FX_F32, .rank = 2, .extents = {4, 8}, .data = x},
        {.dtype = FX_F32, .data = &a}};
    char message[256];
    x[31] = (float)(i + 1), value[31] = 0;
    fx_status status = fx_evaluate(
        c, "f", inputs, 2, 0, NULL, 32, value, NULL, FX_BOUND_WORST, bound, message, sizeof message);
    if (status == FX_OK && value[31] != 2 * x[31]) wrong = "the value";
    return status;
}

static fx_status opens(int i) {
    fx_context *ctx;
    (void)i;
    fx_status status = fx_context_open(0, &ctx);
    if ((status == FX_OK) == !ctx) wrong = "*out";
    fx_context_close(ctx);
    return status;
}

static fx_status launches(int with_hints) {
    static char memory[512] __attribute__((aligned(256)));
    static int64_t shape[] = {4, 8};
    static const struct fx_hint hints[] = {{"M", 4}, {"N", 8}};
    DLTensor x = {.data = memory, .device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape}, y = x;
    y.data = memory + 256;
    const struct fx_value args[] = {{.tensor = &x}, {.number = 2}, {.tensor = &y}};
    fx_prepared *p;
    size_t n;
    fx_status status = fx_prepare(context, fx_get_plan(c), "f", with_hints ? hints : NULL, with_hints ? 2 : 0, &p);
    if ((status == FX_OK) == !p) wrong = "*out";
    if (status == FX_OK) status = fx_workspace_bytes(p, args, 3, &n);
    if (status == FX_OK) status = fx_launch(p, args, 3, NULL, 0, NULL);
    if (status == FX_OK) status = fx_pin_variant(p, 0, 0);
    fx_prepared_release(p);
    return status;
}

/* In a context of its own: what the other one has loaded is not compiled again. */
static fx_status prepares_anew(int i) {
    fx_context *kept = context;
    fx_status status = fx_context_open(0, &context);
    if (status == FX_OK) status = launches(i);
    fx_context_close(context);
    context = kept;
    return status;
}

static fx_status uses_the_device(int i) {
    void *p = NULL, *stream = NULL;
    fx_timer *timer = NULL;
    char bytes[16] = {0};
    (void)i;
    fx_status status = fx_device_alloc(context, 16, &p);
    if (status == FX_OK) status = fx_device_write(context, p, bytes, sizeof bytes);
    if (status == FX_OK) status = fx_stream_open(context, &stream);
    if (status == FX_OK) status = fx_timer_open(context, &timer);
    fx_timer_close(timer);
    fx_stream_close(context, stream);
    fx_device_free(context, p);
    return status;
}

static fx_status compiles_cuda(int as_resources) {
    void *image = NULL;
    char *log = NULL;
    size_t n;
    static bool wanted[64];
    static struct fx_resources r[64];
    for (size_t i = 0; i < sizeof wanted; i++) wanted[i] = true;
    fx_status status = as_resources ? fx_compile_resources(fx_get_plan(c), fx_get_plan(c)->kernels, false, wanted, r)
        : fx_nvrtc("source", NULL, "sm_90a", false, &image, &n, &log);
    if (status != FX_OK && (image || log)) wrong = "an image beside a failure";
    free(image);
    free(log);
    /* The stand-in's image is no cubin. */
    return as_resources && status == FX_ERR_USAGE ? FX_OK : status;
}

static fx_status describes(int i) {
    char text[4096];
    (void)i;
    fx_cache_describe(text, sizeof text);
    return fx_doctor(text, sizeof text);
}

/* ---- every allocation of each ---- */

/* STRICT: no failure is absorbed. NEEDS: what is there before. FROM the first call on: nothing is called beforehand.
 * KEEPS: the compilation keeps texts until it
 * is closed, the process keeps libraries. */
enum { STRICT = 1, NEEDS_SPEC = 2, NEEDS_CONTEXT = 4, FROM_FIRST = 8, KEEPS = 16 };
static const struct scenario {
    const char *name;
    fx_status (*run)(int i);
    int from, to; /* values of i */
    int how;
} scenarios[] = {
    {"fx_compile", compiles, 0, N_SPECS - 1, STRICT},
    {"fx_compile with options", reads_options, 0, 0, STRICT},
    {"fx_text", prints, FX_TEXT_AST, FX_TEXT_VENDOR, STRICT | NEEDS_SPEC | KEEPS},
    {"fx_receipt, fx_receipt_wants, fx_ablations, fx_definition, fx_messages_json", prints_others, 0, 5,
        STRICT | NEEDS_SPEC | KEEPS},
    {"fx_evaluate", evaluates, 0, 0, NEEDS_SPEC},
    {"fx_context_open, first", opens, 0, 0, FROM_FIRST | KEEPS},
    {"fx_nvrtc, first", compiles_cuda, 0, 0, FROM_FIRST | KEEPS},
    {"fx_context_open", opens, 0, 0, STRICT},
    {"fx_prepare, fx_launch", launches, 0, 1, NEEDS_SPEC | NEEDS_CONTEXT},
    {"fx_prepare in a new context", prepares_anew, 0, 1, NEEDS_SPEC | NEEDS_CONTEXT},
    {"fx_device_alloc, fx_stream_open, fx_timer_open", uses_the_device, 0, 0, NEEDS_CONTEXT},
    {"fx_nvrtc, fx_compile_resources", compiles_cuda, 0, 1, NEEDS_SPEC},
    {"fx_doctor", describes, 0, 0, 0},
};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* With the n-th allocation failing; whether there was one. */
static bool run_failing(const struct scenario *s, int i, int n, fx_status *status) {
    wrong = NULL;
    atomic_store(&n_failed, 0);
    atomic_store(&calls_left, n);
    *status = s->run(i);
    atomic_store(&calls_left, 0);
    return atomic_load(&n_failed) > 0;
}

static void check_run(const struct scenario *s, int i, int n, bool has_failed, fx_status status) {
    ck_assert_msg(!wrong, "%s(%d), allocation %d: %s is wrong", s->name, i, n, wrong);
    ck_assert_msg(status == FX_ERR_NOMEM || (status == FX_OK && !(has_failed && s->how & STRICT)),
        "%s(%d), allocation %d: status %d, %s", s->name, i, n, status, fx_last_error());
}

static void try_all(const struct scenario *s, int i) {
    bool has_failed = true;
    fx_status status = FX_OK;
    int n_nomem = 0;
    if (!(s->how & FROM_FIRST)) ck_assert_msg(s->run(i) == FX_OK, "%s(%d): %s", s->name, i, fx_last_error());
    for (int n = 1; has_failed; n++) {
        long before = atomic_load(&n_live);
        has_failed = run_failing(s, i, n, &status);
        long kept = atomic_load(&n_live) - before;
        check_run(s, i, n, has_failed, status);
        n_nomem += status == FX_ERR_NOMEM;
        /* The message of an error is kept, and replaced by the next. The address sanitizer sees leaks itself, and takes
         * some functions of libc for its own. */
#ifndef __SANITIZE_ADDRESS__
        if (!(s->how & KEEPS))
            ck_assert_msg(kept <= 1, "%s(%d), allocation %d: %ld blocks are leaked", s->name, i, n, kept);
#endif
        if (!(s->how & FROM_FIRST))
            ck_assert_msg(s->run(i) == FX_OK, "%s(%d) after %d failed: %s", s->name, i, n, fx_last_error());
        (void)kept;
    }
    ck_assert_msg(status == FX_OK, "%s(%d): %s", s->name, i, fx_last_error());
    /* A small text finds room in what its compilation has. */
    if (!(s->how & KEEPS)) ck_assert_msg(n_nomem > 0 || s->run == describes, "%s(%d) allocates nothing", s->name, i);
}

START_TEST(every_allocation_fails) {
    const struct scenario *s = &scenarios[_i / 2];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0); /* no threads: which of them is short is chance */
    take_fakes();
    atomic_store(&fails_on, _i % 2);
    if (s->how & NEEDS_CONTEXT) ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    for (int i = s->from; i <= s->to; i++) {
        if (s->how & NEEDS_SPEC) ck_assert_int_eq(compile(SCALE, NULL, &c), FX_OK);
        try_all(s, i);
        fx_close(c);
        c = NULL;
    }
    fx_context_close(context);
}
END_TEST

/* A failure is forced on each text: one that needs no allocation would not be tried above. */
START_TEST(texts_without_memory) {
    for (int stage = FX_TEXT_AST; stage <= FX_TEXT_VENDOR; stage++) {
        int n_nomem = 0;
        ck_assert_int_eq(compile(GELU, NULL, &c), FX_OK);
        for (int n = 0; n < 3000 && n_nomem == 0; n++) {
            fx_status status;
            (void)run_failing(&(const struct scenario){.run = prints}, stage, 1, &status);
            ck_assert(!wrong);
            n_nomem += status == FX_ERR_NOMEM;
        }
        ck_assert_msg(n_nomem == 1, "stage %d never runs out of memory", stage);
        ck_assert_ptr_nonnull(fx_text(c, (enum fx_text)stage));
        ck_assert_int_eq(fx_last_status(c), FX_OK);
        fx_close(c);
    }
}
END_TEST

/* Blocks that a compilation holds: chunks of its arena, nearly all of them of one size. */
static long blocks_held(const char *text, const char *const *defines, int n_defines) {
    struct fx_options o = FX_OPTIONS;
    const long before = atomic_load(&n_live);
    o.arch = "sm_90a", o.defines = defines, o.n_defines = n_defines;
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &o, &c) == FX_OK, "%s", fx_messages(c));
    const long held = atomic_load(&n_live) - before;
    fx_close(c);
    c = NULL;
    return held;
}

/* With open extents a kernel is taken at some sixteen points. What is held is that of the few partitions that stay and
 * of one that is tried. */
START_TEST(open_extents_hold_little) {
    static const char text[] =
        "kernel f(q: f16[H,S,D], k: f16[H,T,D], v: f16[H,T,D], c: f32) -> o: f16[H,S,D] {\n"
        "  o = softmax[T](where(idx(T) <= idx(S), (q @ k) * c, -inf)) @ v\n}\n"
        "kernel g = grad(f, wrt: q, k, v)\n";
    static const char *const all[] = {"H=16", "S=4096", "T=4096", "D=128"};
    const long fixed = blocks_held(text, all, 4), open = blocks_held(text, all, 0);
    ck_assert_msg(open <= 8 * fixed, "%ld blocks with open extents, %ld with fixed ones", open, fixed);
}
END_TEST

static long blocks_of_norms(int n) {
    static const char *const all[] = {"M=1024", "N=1024"};
    char text[2048] = "kernel f(x: f32[M,N]) -> y: f32[M,N] {\n  h = x\n";
    for (int i = 0; i < n; i++) strcat(text, "  h = softmax[N](h)\n  h = softmax[M](h)\n");
    return blocks_held(strcat(text, "  y = h\n}\n"), all, 2);
}

/* Launches that cannot be joined take no memory pair by pair: three times as many launches do not hold six times
 * as much. */
START_TEST(launches_hold_little) {
    const long few = blocks_of_norms(10), many = blocks_of_norms(30);
    ck_assert_msg(many <= 5.5 * few, "%ld blocks of 20 launches, %ld of 60", few, many);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_allocation_fails, 0, 2 * N_SCENARIOS);
    tcase_add_test(tests, texts_without_memory);
    tcase_add_test(tests, open_extents_hold_little);
    tcase_add_test(tests, launches_hold_little);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
