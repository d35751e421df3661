/* The runtime over stand-ins for driver and NVRTC (fake_cuda.so, fake_nvrtc.so in $FX_TEST_FAKES, else in the folder of
 * the tests): prepare and launch as the driver sees them, every refusal of an argument; test_misuse has every call failing.
 * Where a real NVRTC is found, it compiles too. Every test runs in a process of its own, since libraries are found once
 * a process. */
#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cuda_api.h"
#include "fakes.h"
#include "fx_runtime.h"
#include "json_tree.h"
#include "lib/runtime.h"
#include "suite.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define EXPR(...) {COUNT(((const struct fx_term[]){__VA_ARGS__})), (const struct fx_term[]){__VA_ARGS__}}
#define C(v) {FX_T_CONST, v}
#define X(e) {FX_T_EXTENT, e}
#define OP(op) {FX_T_##op, 0}

static int occurrences(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

/* ---- the plan: f(x: f32[M,K], w: f16[K], a: f32, n: i8) -> y: f32[M,K], two launches with a buffer between ---- */

enum { M, K };
enum { P_X, P_W, P_A, P_N, P_Y, N_PARAMS };
static const struct fx_extent extents_of[] = {{"M", -1, false}, {"K", -1, false}};
static const struct fx_param params_of[] = {
    {.name = "x", .dtype = FX_F32, .is_input = true, .rank = 2, .extents = {M, K}},
    {.name = "w", .dtype = FX_F16, .is_input = true, .rank = 1, .extents = {K}},
    {.name = "a", .dtype = FX_F32, .is_scalar = true, .is_input = true},
    {.name = "n", .dtype = FX_I8, .is_scalar = true, .is_input = true},
    {.name = "y", .dtype = FX_F32, .is_output = true, .rank = 2, .extents = {M, K}}};
static const struct fx_buffer buffers_of[] = {{"h", FX_BUFFER_WORKSPACE, EXPR(X(M), X(K), OP(MUL), C(4), OP(MUL))}};
static const struct fx_variant first_of[] = {{.entry = "f_0_big",
                                                 .number = 0,
                                                 .needs = EXPR({FX_T_ALIGN, P_X}, C(16), OP(LT), OP(NOT)),
                                                 .prefers = EXPR(C(64), X(M), OP(LT)),
                                                 .grid = EXPR(X(M), C(128), OP(CDIV)),
                                                 .smem = EXPR(C(100000)),
                                                 .block = 256},
    {.entry = "f_0_aligned",
        .number = 1,
        .needs = EXPR({FX_T_ALIGN, P_X}, C(16), OP(LT), OP(NOT)),
        .grid = EXPR(X(M), C(64), OP(CDIV)),
        .smem = EXPR(C(1024)),
        .block = 128},
    {.entry = "f_0_any", .number = 2, .grid = EXPR(X(M), C(32), OP(CDIV)), .block = 64},
    {.entry = "f_0_huge", .number = 3, .smem = EXPR(C(1000000)), .grid = EXPR(C(1)), .block = 64}};
static const struct fx_variant second_of[] = {{.entry = "f_1",
    .number = 4,
    .grid = EXPR(X(M), X(K), OP(MUL), C(2), OP(MUL)),
    .smem = EXPR(X(K), C(4), OP(MUL)),
    .block = 32,
    .cluster = EXPR(C(2))}};
static const struct fx_arg first_args[] = {
    {FX_ARG_PARAM, P_X}, {FX_ARG_PARAM, P_W}, {FX_ARG_BUFFER, 0}, {FX_ARG_PARAM, P_A}};
static const struct fx_arg second_args[] = {
    {FX_ARG_BUFFER, 0}, {FX_ARG_PARAM, P_Y}, {FX_ARG_PARAM, P_N}, {FX_ARG_EXTENT, K}};
static const struct fx_launch launches_of[] = {
    {.name = "f_0", .n_args = 4, .n_variants = 4, .args = first_args, .variants = first_of},
    {.name = "f_1", .n_args = 4, .n_variants = 1, .args = second_args, .variants = second_of}};
static const struct fx_kernel f = {.name = "f",
    .n_extents = 2,
    .n_params = N_PARAMS,
    .n_buffers = 1,
    .n_launches = 2,
    .extents = extents_of,
    .params = params_of,
    .buffers = buffers_of,
    .launches = launches_of};
static const struct fx_plan plan = {
    .file = "f.fx", .arch = "sm_90a", .source = "the source", .source_len = 10, .n_kernels = 1, .kernels = &f};

/* ---- a call of it, on memory that is only pointed to ---- */

struct call {
    int64_t x_shape[2], w_shape[1], y_shape[2], strides[2];
    DLTensor x, w, y;
    struct fx_value values[N_PARAMS];
    size_t workspace_bytes;
};

static char memory[1 << 16] __attribute__((aligned(256)));
static void *const workspace = memory + 0x8000;

static DLTensor tensor(void *data, int rank, int64_t *shape, int bits) {
    return (DLTensor){.data = data, .device = {2, 0}, .ndim = rank, .dtype = {2, (uint8_t)bits, 1}, .shape = shape};
}

static void make_call(struct call *c, int64_t m, int64_t k) {
    *c = (struct call){.x_shape = {m, k}, .w_shape = {k}, .y_shape = {m, k}, .workspace_bytes = 0x8000};
    c->x = tensor(memory, 2, c->x_shape, 32);
    c->w = tensor(memory + 0x2000, 1, c->w_shape, 16);
    c->y = tensor(memory + 0x4000, 2, c->y_shape, 32);
    c->values[P_X].tensor = &c->x;
    c->values[P_W].tensor = &c->w;
    c->values[P_A].number = 0.5;
    c->values[P_N].integer = -3;
    c->values[P_Y].tensor = &c->y;
}

static fx_context *context;
static fx_prepared *prepared;

static fx_status launch(const struct call *c, void *stream) {
    return fx_launch(prepared, c->values, N_PARAMS, workspace, c->workspace_bytes, stream);
}

static void open_all(void) {
    use_fakes();
    ck_assert_msg(fx_context_open(0, &context) == FX_OK, "%s", fx_last_error());
    ck_assert_msg(fx_prepare(context, &plan, NULL, NULL, 0, &prepared) == FX_OK, "%s", fx_last_error());
}

static void close_all(void) {
    fx_prepared_release(prepared);
    fx_context_close(context);
    ck_assert_int_eq(cuda.live(), 0);
    ck_assert_int_eq(cuda.depth(), 0);
    ck_assert_int_eq(nvrtc.live(), 0);
}

__attribute__((format(printf, 1, 2))) static void says(const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    ck_assert_str_eq(fx_last_error(), text);
}

/* ---- prepare ---- */

START_TEST(opens_a_context) {
    open_all();
    ck_assert_str_eq(fx_context_arch(context), "sm_90a");
    ck_assert_str_eq(fx_context_device(context), "Fake GPU");
    ck_assert_int_eq(fx_context_sm_count(context), 132);
    close_all();
    fx_context_close(NULL);
    fx_prepared_release(NULL);
    ck_assert_int_eq(fx_context_open(7, &context), FX_ERR_GPU);
    ck_assert_ptr_null(context);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "cuDeviceGet("));
}
END_TEST

START_TEST(uses_the_current_context) {
    use_fakes();
    void *own = cuda.make_current();
    open_all();
    ck_assert_ptr_null(strstr(cuda.log(), "PrimaryCtx"));
    ck_assert_ptr_null(strstr(cuda.log(), "PushCurrent"));
    fx_prepared_release(prepared);
    fx_context_close(context);
    ck_assert_int_eq(cuda.depth(), 1);
    ck_assert_ptr_nonnull(own);
}
END_TEST

START_TEST(compiles_each_entry_alone) {
    open_all();
    for (int i = 0; i < 5; i++) {
        char only[32];
        snprintf(only, sizeof only, "-DFX_ONLY=%d\n", i);
        ck_assert_int_eq(occurrences(nvrtc.log(), only), i != 3); /* 3 asks for more shared memory than there is */
    }
    ck_assert_ptr_nonnull(strstr(nvrtc.log(), "--gpu-architecture=sm_90a --std=c++17"));
    ck_assert_ptr_nonnull(strstr(cuda.log(), "cuFuncSetAttribute 8 100000\n"));
    ck_assert_ptr_nonnull(strstr(cuda.log(), "cuFuncSetAttribute 8 232448\n"));
    ck_assert_int_eq(occurrences(cuda.log(), "cuFuncSetAttribute"), 2);
    nvrtc.clear();
    fx_prepared *again;
    ck_assert_int_eq(fx_prepare(context, &plan, "f", NULL, 0, &again), FX_OK);
    ck_assert_str_eq(nvrtc.log(), "");
    fx_prepared_release(again);
    struct fx_plan other = plan;
    other.source = "another";
    ck_assert_int_eq(fx_prepare(context, &other, "f", NULL, 0, &again), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 4);
    fx_prepared_release(again);
    close_all();
}
END_TEST

START_TEST(hints_leave_variants_out) {
    use_fakes();
    struct call c;
    const struct fx_hint small[] = {{"M", 8}, {"K", 4}}, large[] = {{"M", 100}, {"K", 4}};
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &plan, "f", small, 2, &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 4);
    ck_assert_ptr_null(strstr(nvrtc.log(), "FX_ONLY=0"));
    struct fx_resources r;
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 0, &r), FX_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "M = 8, K = 4"));
    make_call(&c, 100, 4);
    ck_assert_str_eq(fx_chosen_entry(prepared, 0, c.values, N_PARAMS), "f_0_aligned");
    fx_prepared_release(prepared);
    ck_assert_int_eq(fx_prepare(context, &plan, "f", large, 2, &prepared), FX_OK);
    ck_assert_str_eq(fx_chosen_entry(prepared, 0, c.values, N_PARAMS), "f_0_big");
    c.x.byte_offset = 4;
    ck_assert_str_eq(fx_chosen_entry(prepared, 0, c.values, N_PARAMS), "f_0_any");
    close_all();
}
END_TEST

/* A long rule is evaluated again for other extents and alignments alone: big costs 121, aligned M. */
START_TEST(choices_are_remembered) {
    enum { TERMS = 241 };
    static struct fx_term constant[TERMS] = {C(1)};
    static const struct {
        int64_t m;
        int off;
        const char *block;
    } calls[] = {{8, 0, "block 128 "}, {8, 0, "block 128 "}, {200, 0, "block 256 "}, {8, 4, "block 64 "},
        {8, 0, "block 128 "}, {200, 0, "block 256 "}, {200, 4, "block 64 "}};
    for (int i = 1; i < TERMS; i += 2) constant[i] = (struct fx_term)C(1), constant[i + 1] = (struct fx_term)OP(ADD);
    struct fx_variant variants[4];
    struct fx_launch launches[2] = {launches_of[0], launches_of[1]};
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    struct call c;
    memcpy(variants, first_of, sizeof variants);
    variants[0].prefers = (struct fx_expr){0};
    variants[0].cost = (struct fx_expr){TERMS, constant};
    variants[1].cost = (struct fx_expr)EXPR(X(M));
    variants[2].kind = variants[3].kind = 1;
    launches[0].variants = variants;
    g.launches = launches;
    other.kernels = &g;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &other, "f", NULL, 0, &prepared), FX_OK);
    for (int i = 0; i < COUNT(calls); i++) {
        make_call(&c, calls[i].m, 4);
        c.x.byte_offset = (uint64_t)calls[i].off;
        cuda.clear();
        ck_assert_int_eq(launch(&c, NULL), FX_OK);
        ck_assert_msg(strstr(cuda.log(), calls[i].block) != NULL, "call %d: %s", i, cuda.log());
    }
    close_all();
}
END_TEST

/* An extent that no hint gives, but an equation, is known too; hints that contradict it are refused. */
START_TEST(hints_give_what_follows) {
    use_fakes();
    const struct fx_equation half = {.extent = K, .value = EXPR(X(M), C(2), OP(DIV)), .text = "K = M // 2"};
    const struct fx_hint one = {"M", 8}, both[] = {{"M", 8}, {"K", 5}};
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    struct fx_resources r;
    g.n_equations = 1, g.equations = &half;
    other.kernels = &g;
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &other, "f", &one, 1, &prepared), FX_OK);
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 0, &r), FX_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "M = 8, K = 4"));
    fx_prepared_release(prepared);
    ck_assert_int_eq(fx_prepare(context, &other, "f", both, 2, &prepared), FX_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "K = M // 2"));
    close_all();
}
END_TEST

static const struct fx_variant few_or_many[] = {
    {.entry = "g_few", .needs = EXPR(X(M), C(10), OP(LT)), .grid = EXPR(C(1)), .block = 32},
    {.entry = "g_many", .number = 1, .needs = EXPR(C(9), X(M), OP(LT)), .grid = EXPR(C(1)), .block = 32}};

START_TEST(refuses_launches_beyond_the_hints) {
    struct fx_launch l = launches_of[0];
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    const struct fx_hint hints[] = {{"K", 4}, {"M", 8}};
    struct call c;
    use_fakes();
    l.n_variants = 2, l.variants = few_or_many;
    g.n_launches = 1, g.launches = &l;
    other.kernels = &g;
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &other, NULL, hints, 2, &prepared), FX_OK);
    make_call(&c, 8, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    make_call(&c, 80, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(),
        "kernel f: no variant of f_0 that was compiled takes these arguments; it was prepared for M = 8, K = 4");
    close_all();
}
END_TEST

START_TEST(refuses_to_prepare) {
    const struct fx_hint unknown = {"Z", 1}, negative = {"M", -1};
    const struct fx_hint twice[] = {{"M", 1}, {"M", 2}};
    struct fx_plan other = plan;
    struct fx_kernel wide = f;
    open_all();
    fx_prepared *p;
    ck_assert_int_eq(fx_prepare(context, &plan, "g", NULL, 0, &p), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "the plan has no kernel g");
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, &unknown, 1, &p), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "kernel f has no extent Z");
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, &negative, 1, &p), FX_ERR_USAGE);
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, twice, 2, &p), FX_ERR_USAGE);
    other.arch = "sm_100a";
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &p), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "the plan is for sm_100a, but the device (Fake GPU) is sm_90a");
    other.arch = "nonsense";
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &p), FX_ERR_USAGE);
    other = plan;
    wide.n_params = 100000;
    other.kernels = &wide;
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &p), FX_ERR_USAGE);
    ck_assert_ptr_null(p);
    close_all();
}
END_TEST

static const struct { /* the arch that a device sm_90a compiles a plan's for; NULL: refused */
    const char *plan, *arch;
} arches[] = {
    {"sm_90a", "sm_90a"}, {"sm_90", "sm_90"}, {"sm_80", "sm_90"}, {"sm_89", "sm_90"}, {"sm_1", "sm_90"},
    {"sm_80a", NULL}, {"sm_91", NULL}, {"sm_100a", NULL}, {"sm_0", NULL}, {"sm_", NULL}, {"nonsense", NULL},
};

START_TEST(compiles_older_plans_for_the_device) {
    struct fx_plan older = plan;
    char option[64];
    older.arch = arches[_i].plan;
    open_all();
    fx_prepared *p;
    older.source = "another";
    nvrtc.clear();
    fx_status status = fx_prepare(context, &older, NULL, NULL, 0, &p);
    snprintf(option, sizeof option, "--gpu-architecture=%s ", arches[_i].arch ? arches[_i].arch : "");
    if (arches[_i].arch) ck_assert_int_eq(occurrences(nvrtc.log(), option), 4);
    else says("the plan is for %s, but the device (Fake GPU) is sm_90a", arches[_i].plan);
    ck_assert_int_eq(status, arches[_i].arch ? FX_OK : FX_ERR_USAGE);
    fx_prepared_release(p);
    close_all();
}
END_TEST

/* ---- what prepare takes and refuses ---- */

/* A kernel is refused for one more than a launch has room for; for as many it is not, but for its plan's arch. */
START_TEST(a_kernel_of_limited_size_is_prepared) {
    static struct fx_launch many[FX_MAX_LAUNCHES + 1];
    struct fx_kernel g;
    const struct { const char *what; int *n, limit; } sizes[] = {{"parameters", &g.n_params, FX_MAX_PARAMS},
        {"extents", &g.n_extents, FX_MAX_EXTENTS}, {"buffers", &g.n_buffers, FX_MAX_BUFFERS},
        {"launches", &g.n_launches, FX_MAX_LAUNCHES}};
    struct fx_plan other = plan;
    fx_prepared *p;
    other.kernels = &g;
    other.arch = "sm_100a";
    open_all();
    for (int i = 0; i < COUNT(sizes) + 2; i++)
        for (int more = 0; more < 2; more++) {
            int of = i - COUNT(sizes); /* the launch of many arguments */
            memset(many, 0, sizeof many);
            g = f;
            g.launches = many;
            many[0].name = many[1].name = "l";
            if (of >= 0) many[of].n_args = FX_MAX_ARGS + more;
            else *sizes[i].n = sizes[i].limit + more;
            ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &p), FX_ERR_USAGE);
            if (!more) says("the plan is for sm_100a, but the device (Fake GPU) is sm_90a");
            else if (of >= 0) says("launch l has %d arguments, at most %d are possible", FX_MAX_ARGS + 1, FX_MAX_ARGS);
            else says("kernel f has %d %s, at most %d can be launched", *sizes[i].n, sizes[i].what, sizes[i].limit);
        }
    close_all();
}
END_TEST

/* An extent may be 0, by a hint and by the plan. */
START_TEST(hints_of_0) {
    const struct fx_extent empty[] = {{"M", 0, false}, {"K", -1, false}};
    const struct fx_hint zero[] = {{"M", 0}, {"K", 4}}, twice[] = {{"M", 0}, {"M", 2}}, below = {"M", -1};
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    struct fx_resources r = {.registers = 7};
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, zero, 2, &prepared), FX_OK);
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 0, &r), FX_ERR_USAGE);
    says("f_0_big was not compiled: M = 0, K = 4 were the extents to prepare for");
    ck_assert_int_eq(r.registers, 0);
    fx_prepared_release(prepared);
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, twice, 2, &prepared), FX_ERR_USAGE);
    says("the hint M = 2 of kernel f contradicts 0");
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, &below, 1, &prepared), FX_ERR_USAGE);
    says("the hint M = -1 of kernel f contradicts 0");
    g.extents = empty;
    other.kernels = &g;
    ck_assert_int_eq(fx_prepare(context, &other, NULL, &twice[1], 1, &prepared), FX_ERR_USAGE);
    says("the hint M = 2 of kernel f contradicts 0");
    close_all();
}
END_TEST

/* Hints of some extents alone leave nothing out, whichever is not known. */
START_TEST(hints_of_some_extents) {
    const struct fx_hint hints[] = {{"M", 8}, {"K", 4}};
    use_fakes();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
        nvrtc.clear();
        ck_assert_int_eq(fx_prepare(context, &plan, NULL, &hints[i], 1, &prepared), FX_OK);
        ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 4);
        ck_assert_ptr_nonnull(strstr(nvrtc.log(), "nvrtcCreateProgramf.cu\n"));
        if (i == 0) fx_prepared_release(prepared), fx_context_close(context);
    }
    close_all();
}
END_TEST

/* With hints what is compiled is for arguments of any alignment, and of the best. */
START_TEST(hints_stand_for_both_ends_of_alignment) {
    const struct fx_hint hints[] = {{"M", 8}, {"K", 4}};
    struct fx_variant variants[3];
    struct fx_launch launches[2];
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    memcpy(variants, first_of, sizeof variants);
    memcpy(launches, launches_of, sizeof launches);
    variants[0].needs = (struct fx_expr)EXPR({FX_T_ALIGN, P_Y}, C(256), OP(LT), OP(NOT));
    variants[1].needs = (struct fx_expr)EXPR({FX_T_ALIGN, P_Y}, C(2), OP(LT), OP(NOT));
    variants[0].prefers = (struct fx_expr){0};
    launches[0].n_variants = 3, launches[0].variants = variants;
    g.launches = launches;
    other.kernels = &g;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &other, NULL, hints, 2, &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY=0\n"), 1);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY=1\n"), 0);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY=2\n"), 1);
    close_all();
}
END_TEST

/* A variant may take all the shared memory that there is; a launch of which none fits has none. */
START_TEST(variants_of_much_shared_memory) {
    const struct fx_hint hints[] = {{"M", 8}, {"K", 4}};
    struct fx_variant variants[4];
    struct fx_launch launches[2];
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    memcpy(variants, first_of, sizeof variants);
    memcpy(launches, launches_of, sizeof launches);
    variants[0].smem = (struct fx_expr)EXPR(C(232448));
    launches[0].variants = variants;
    g.launches = launches;
    other.kernels = &g;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY=0\n"), 1);
    fx_prepared_release(prepared);
    ck_assert_int_eq(fx_prepare(context, &other, NULL, hints, 2, &prepared), FX_OK);
    ck_assert_msg(fx_pin_variant(prepared, 0, 0) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(fx_pin_variant(prepared, 0, 3), FX_ERR_USAGE);
    says("f_0_huge needs 1000000 bytes of shared memory, Fake GPU has 232448");
    fx_prepared_release(prepared);
    launches[0].n_variants = 1, launches[0].variants = &first_of[3];
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &prepared), FX_ERR_USAGE);
    says("launch f_0 of kernel f has no variant for Fake GPU");
    ck_assert_int_eq(fx_prepare(context, &other, NULL, hints, 2, &prepared), FX_ERR_USAGE);
    says("launch f_0 of kernel f has no variant for Fake GPU and M = 8, K = 4");
    close_all();
}
END_TEST

/* What an expression gives no number for, or one below 0, no launch can have. */
START_TEST(variants_of_no_shared_memory) {
    const struct fx_expr wrong[] = {EXPR(C(-16)), EXPR(C(INT64_MAX), C(1), OP(ADD)), EXPR(C(16), OP(ADD))};
    struct fx_variant variant = first_of[2];
    struct fx_launch launches[2];
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    memcpy(launches, launches_of, sizeof launches);
    launches[0].n_variants = 1, launches[0].variants = &variant;
    g.launches = launches;
    other.kernels = &g;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    variant.smem = (struct fx_expr)EXPR(C(0));
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &prepared), FX_OK);
    fx_prepared_release(prepared);
    variant.smem = wrong[_i];
    ck_assert_int_eq(fx_prepare(context, &other, NULL, NULL, 0, &prepared), FX_ERR_USAGE);
    says("launch f_0 of kernel f has no variant for Fake GPU");
    close_all();
}
END_TEST

/* A prepared kernel has a recipe of its own: that of the plan may be written over. */
START_TEST(equations_are_kept) {
    struct fx_term terms[][3] = {{X(M), C(2), OP(MUL)}, {X(M), C(4), OP(ADD)}};
    char texts[][16] = {"K = 2 * M", "K = M + 4"};
    struct fx_equation equations[] = {{K, {3, terms[0]}, texts[0]}, {K, {3, terms[1]}, texts[1]}};
    struct fx_kernel g = f;
    struct fx_plan other = plan;
    struct call c;
    g.equations = equations, g.n_equations = 2;
    other.kernels = &g;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_msg(fx_prepare(context, &other, NULL, NULL, 0, &prepared) == FX_OK, "%s", fx_last_error());
    memset(terms, 0x55, sizeof terms);
    memset(texts, 'x', sizeof texts);
    memset(equations, 0x55, sizeof equations);
    make_call(&c, 4, 8);
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    make_call(&c, 8, 12);
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    ck_assert_msg(strstr(fx_last_error(), "K = 2 * M") != NULL, "%s", fx_last_error());
    make_call(&c, 3, 6);
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    ck_assert_msg(strstr(fx_last_error(), "K = M + 4") != NULL, "%s", fx_last_error());
    close_all();
}
END_TEST

START_TEST(numbers_of_launches_and_variants) {
    open_all();
    for (int i = -1; i < 3; i += 3) {
        ck_assert_int_eq(fx_pin_variant(prepared, i, 0), FX_ERR_USAGE);
        says("kernel f has 2 launches, there is no number %d", i);
    }
    for (int v = -2; v < 5; v += 6) {
        ck_assert_int_eq(fx_pin_variant(prepared, 0, v), FX_ERR_USAGE);
        says("launch f_0 has 4 variants, there is no number %d", v);
    }
    close_all();
}
END_TEST

struct racer { fx_prepared *p; fx_status status; };
static void *race(void *racer) {
    struct racer *r = racer;
    r->status = fx_prepare(context, &plan, NULL, NULL, 0, &r->p);
    return NULL;
}

START_TEST(threads_share_compilations) {
    pthread_t threads[8];
    struct racer racers[8];
    use_fakes();
    nvrtc.behave(0, 20000, 13);
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    for (int i = 0; i < 8; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(racers[i].status, FX_OK);
        fx_prepared_release(racers[i].p);
    }
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 4);
    fx_context_close(context);
    ck_assert_int_eq(cuda.live(), 0);
}
END_TEST

START_TEST(pins_variants) {
    struct call c;
    struct fx_resources r;
    const struct fx_hint hints[] = {{"M", 8}, {"K", 4}};
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &plan, "f", hints, 2, &prepared), FX_OK);
    make_call(&c, 8, 4);
    ck_assert_int_eq(fx_pin_variant(prepared, 0, 0), FX_OK);
    ck_assert_str_eq(fx_chosen_entry(prepared, 0, c.values, N_PARAMS), "f_0_big");
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 0, &r), FX_OK);
    ck_assert(r.registers == 40 && r.max_threads == 1024 && r.local_bytes == 0);
    c.x.byte_offset = 8;
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "kernel f: f_0_big is pinned, but does not take these arguments");
    ck_assert_int_eq(fx_pin_variant(prepared, 0, -1), FX_OK);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    ck_assert_int_eq(fx_pin_variant(prepared, 0, 3), FX_ERR_USAGE);
    ck_assert_int_eq(fx_pin_variant(prepared, 0, 4), FX_ERR_USAGE);
    ck_assert_int_eq(fx_pin_variant(prepared, 2, 0), FX_ERR_USAGE);
    ck_assert_int_eq(fx_variant_resources(prepared, 0, -1, &r), FX_ERR_USAGE);
    ck_assert_ptr_null(fx_chosen_entry(prepared, 9, c.values, N_PARAMS));
    close_all();
}
END_TEST

START_TEST(loads_what_is_asked_for) {
    const bool wanted[] = {[1] = true, [4] = true};
    struct call c;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(prepared_open(context, &plan, "f", &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 0);
    make_call(&c, 8, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_INTERNAL);
    says("kernel f: f_0_aligned is not loaded");
    ck_assert_int_eq(prepared_load(prepared, wanted), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 2);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    make_call(&c, 100, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_INTERNAL);
    says("kernel f: f_0_big is not loaded");
    close_all();
}
END_TEST

/* f with variants that may have no local memory, the last two of another kind. */
static struct fx_plan plan_with_kinds(void) {
    static struct fx_variant variants[4];
    static struct fx_launch launches[2];
    static struct fx_kernel kernel;
    memcpy(variants, first_of, sizeof variants);
    memcpy(launches, launches_of, sizeof launches);
    kernel = f;
    variants[2].kind = variants[3].kind = 1;
    launches[0].variants = variants;
    kernel.launches = launches;
    struct fx_plan p = plan;
    p.kernels = &kernel;
    return p;
}

static const struct { /* which entry is launched where one spills, for M = 100, which prefers f_0_big */
    const char *spills;
    int n_bytes, most_local; /* what its threads have, and may have */
    int64_t m;
    bool is_aligned;
    const char *launched;
    int n_compiled;          /* with hints: f_1 too, and once more with its extents compiled in */
} spills[] = {
    {"", 0, 0, 100, true, "f_0_big", 3},
    {"f_0_big", 16, 0, 100, true, "f_0_aligned", 4},   /* only now is that one compiled */
    {"f_0_big", 16, 16, 100, true, "f_0_big", 3},
    {"f_0_big", 17, 16, 100, true, "f_0_aligned", 4},
    {"f_0_big", 1000, -1, 100, true, "f_0_big", 3},
    {"f_0_big", 16, 0, 100, false, "f_0_any", 4},      /* for aligned ones */
    {"f_0_any", 16, 0, 100, false, "f_0_any", 3},      /* no other of its kind */
    {"f_0_any", 16, 0, 100, true, "f_0_big", 3},
    {"f_0_aligned", 16, 0, 8, true, "f_0_big", 4},     /* not its preference, but it takes the arguments */
};

START_TEST(passes_over_what_spills) {
    struct call c;
    struct fx_resources r;
    struct fx_plan p = plan_with_kinds();
    for (int v = 0; v < 4; v++)
        ((struct fx_variant *)p.kernels->launches[0].variants)[v].most_local = spills[_i].most_local;
    use_fakes();
    cuda.spill(spills[_i].spills, spills[_i].n_bytes);
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    for (int hinted = 0; hinted < 2; hinted++) {
        const struct fx_hint hints[] = {{"M", spills[_i].m}, {"K", 4}};
        fx_context *own;
        ck_assert_int_eq(fx_context_open(0, &own), FX_OK);
        nvrtc.clear();
        ck_assert_int_eq(fx_prepare(own, &p, "f", hinted ? hints : NULL, 2, &prepared), FX_OK);
        ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), hinted ? spills[_i].n_compiled + 1 : 4);
        make_call(&c, spills[_i].m, 4);
        if (!spills[_i].is_aligned) c.x.byte_offset = 4;
        ck_assert_str_eq(fx_chosen_entry(prepared, 0, c.values, N_PARAMS), spills[_i].launched);
        ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
        for (int v = 0; *spills[_i].spills && v < 3; v++) {
            bool is_it = strcmp(first_of[v].entry, spills[_i].spills) == 0;
            if (fx_variant_resources(prepared, 0, v, &r) == FX_OK)
                ck_assert_int_eq(r.local_bytes, is_it ? spills[_i].n_bytes : 0);
        }
        fx_prepared_release(prepared);
        fx_context_close(own);
    }
    prepared = NULL;
    close_all();
}
END_TEST

/* f in two partitions: as it is up to M = 10, and in one launch without workspace elsewhere. */
static const struct fx_variant alone_of[] = {
    {.entry = "f_2", .number = 5, .grid = EXPR(X(M)), .smem = EXPR(C(0)), .block = 96}};
static const struct fx_arg alone_args[] = {{FX_ARG_PARAM, P_X}, {FX_ARG_PARAM, P_Y}};
static const struct fx_partition partitions_of[] = {
    {.name = "two", .n_launches = 2, .n_buffers = 1, .takes = EXPR(X(M), C(10), OP(LE))},
    {.name = "one", .first_launch = 2, .n_launches = 1, .first_buffer = 1}};
static struct fx_plan plan_in_partitions(void) {
    static struct fx_launch launches[3];
    static struct fx_kernel kernel;
    memcpy(launches, launches_of, sizeof launches_of);
    launches[2] = (struct fx_launch){
        .name = "f_2", .n_args = 2, .n_variants = 1, .args = alone_args, .variants = alone_of};
    kernel = f;
    kernel.n_launches = 3, kernel.launches = launches;
    kernel.n_partitions = 2, kernel.partitions = partitions_of;
    struct fx_plan p = plan;
    p.kernels = &kernel;
    return p;
}

/* The extents of a launch say which partition it takes, and so its workspace. */
START_TEST(takes_a_partition) {
    const struct fx_plan p = plan_in_partitions();
    struct call c;
    size_t n;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &p, NULL, NULL, 0, &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 5);
    make_call(&c, 10, 4);
    ck_assert(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n) == FX_OK && n == 256);
    ck_assert_str_eq(fx_chosen_entry(prepared, 1, c.values, N_PARAMS), "f_1");
    ck_assert_ptr_null(fx_chosen_entry(prepared, 2, c.values, N_PARAMS));
    cuda.clear();
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(occurrences(cuda.log(), "cuLaunchKernel"), 2);
    c.workspace_bytes = 0;
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    make_call(&c, 11, 4);
    c.workspace_bytes = 0;
    ck_assert(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n) == FX_OK && n == 0);
    ck_assert_str_eq(fx_chosen_entry(prepared, 2, c.values, N_PARAMS), "f_2");
    ck_assert_ptr_null(fx_chosen_entry(prepared, 0, c.values, N_PARAMS));
    cuda.clear();
    cuda.take_arguments(2);
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(occurrences(cuda.log(), "cuLaunchKernel"), 1);
    ck_assert_ptr_nonnull(strstr(cuda.log(), "grid 11 1 1 block 96 1 1 shared 0"));
    ck_assert_uint_eq(cuda.argument(1), (uintptr_t)c.y.data);
    close_all();
}
END_TEST

/* With hints for all extents the partition is that of the hints, which alone is compiled, whatever extents come; one
 * that is pinned is compiled then. */
START_TEST(pins_partitions) {
    const struct fx_plan p = plan_in_partitions();
    const struct fx_hint hints[] = {{"M", 11}, {"K", 4}};
    struct fx_resources r;
    struct call c;
    size_t n;
    use_fakes();
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &p, NULL, hints, 2, &prepared), FX_OK);
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 1);
    make_call(&c, 4, 4);
    ck_assert_str_eq(fx_chosen_entry(prepared, 2, c.values, N_PARAMS), "f_2");
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 2, &r), FX_ERR_USAGE);
    ck_assert_int_eq(fx_pin_partition(prepared, 2), FX_ERR_USAGE);
    says("kernel f has 2 partitions, there is no number 2");
    nvrtc.let_fail("nvrtcCompileProgram", 1, 6);
    ck_assert_int_eq(fx_pin_partition(prepared, 0), FX_ERR_TOOLCHAIN);
    ck_assert_str_eq(fx_chosen_entry(prepared, 2, c.values, N_PARAMS), "f_2");
    ck_assert_msg(fx_pin_partition(prepared, 0) == FX_OK, "%s", fx_last_error());
    ck_assert_ptr_null(fx_chosen_entry(prepared, 2, c.values, N_PARAMS));
    ck_assert_str_eq(fx_chosen_entry(prepared, 1, c.values, N_PARAMS), "f_1");
    ck_assert_int_eq(fx_variant_resources(prepared, 0, 2, &r), FX_OK);
    ck_assert(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n) == FX_OK && n == 256);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    ck_assert_int_eq(fx_pin_partition(prepared, -1), FX_OK);
    ck_assert_str_eq(fx_chosen_entry(prepared, 2, c.values, N_PARAMS), "f_2");
    fx_prepared_release(prepared);
    ck_assert_int_eq(fx_prepare(context, &p, NULL, NULL, 0, &prepared), FX_OK);
    ck_assert_int_eq(fx_pin_partition(prepared, 1), FX_OK);
    ck_assert_str_eq(fx_chosen_entry(prepared, 2, c.values, N_PARAMS), "f_2");
    ck_assert_int_eq(fx_pin_partition(prepared, -1), FX_OK);
    ck_assert_str_eq(fx_chosen_entry(prepared, 1, c.values, N_PARAMS), "f_1");
    close_all();
}
END_TEST

/* ---- launch ---- */

START_TEST(launches) {
    struct call c;
    size_t n;
    float a;
    int8_t small;
    open_all();
    make_call(&c, 100, 5);
    ck_assert_int_eq(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n), FX_OK);
    ck_assert_uint_eq(n, 2048);
    cuda.clear();
    cuda.take_arguments(4);
    ck_assert_msg(launch(&c, &c) == FX_OK, "%s", fx_last_error());
    ck_assert_str_eq(cuda.log(),
        "cuCtxGetCurrent\ncuCtxPushCurrent_v2\n"
        "cuLaunchKernel grid 1 1 1 block 256 1 1 shared 100000 stream 1\n"
        "cuLaunchKernelEx grid 1000 block 32 shared 20 stream 1 attributes 1 id 4 cluster 2 1 1\n"
        "cuCtxPopCurrent_v2\n");
    ck_assert_uint_eq(cuda.argument(0), (uintptr_t)workspace);
    ck_assert_uint_eq(cuda.argument(1), (uintptr_t)c.y.data);
    uint64_t slot = cuda.argument(2);
    memcpy(&small, &slot, sizeof small);
    ck_assert_int_eq(small, -3);
    ck_assert_uint_eq(cuda.argument(3), 5);
    cuda.let_fail("cuLaunchKernelEx", 1, 1); /* stops behind the first */
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_GPU);
    ck_assert_uint_eq(cuda.argument(0), (uintptr_t)c.x.data);
    slot = cuda.argument(3);
    memcpy(&a, &slot, sizeof a);
    ck_assert(a == 0.5f);
    close_all();
}
END_TEST

/* All blocks at once: no more than the SMs hold of the entry, which is asked when it is loaded. */
START_TEST(launches_resident_blocks) {
    struct fx_launch l = launches_of[0];
    struct fx_kernel resident_f = f;
    struct fx_plan resident_plan = plan;
    struct call c;
    const struct fx_variant each_row[] = {
        {.entry = "f_0_big", .grid = EXPR(X(M)), .smem = EXPR(C(100000)), .block = 256}};
    l.is_cooperative = true;
    l.variants = each_row, l.n_variants = 1;
    resident_f.launches = &l, resident_f.n_launches = 1;
    resident_plan.kernels = &resident_f;
    use_fakes();
    cuda.hold(1);
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_msg(fx_prepare(context, &resident_plan, NULL, NULL, 0, &prepared) == FX_OK, "%s", fx_last_error());
    ck_assert_ptr_nonnull(strstr(cuda.log(), "cuOccupancyMaxActiveBlocksPerMultiprocessor block 256 shared 100000\n"));
    make_call(&c, 131, 5);
    cuda.clear();
    ck_assert_msg(launch(&c, &c) == FX_OK, "%s", fx_last_error());
    ck_assert_ptr_nonnull(strstr(
        cuda.log(), "cuLaunchKernelEx grid 131 block 256 shared 100000 stream 1 attributes 1 id 2 cluster 1 0 0\n"));
    make_call(&c, 133, 5);
    cuda.clear();
    ck_assert_int_eq(launch(&c, &c), FX_OK);
    ck_assert_ptr_nonnull(strstr(cuda.log(), "cuLaunchKernelEx grid 132 block 256 "));
    make_call(&c, 0, 5);
    cuda.clear();
    ck_assert_int_eq(launch(&c, &c), FX_OK);
    ck_assert_ptr_null(strstr(cuda.log(), "cuLaunch"));
    close_all();
}
END_TEST

/* An entry of which not one block fits is no entry. */
START_TEST(refuses_what_is_never_resident) {
    struct fx_launch l = launches_of[0];
    struct fx_kernel resident_f = f;
    struct fx_plan resident_plan = plan;
    l.is_cooperative = true;
    resident_f.launches = &l, resident_f.n_launches = 1;
    resident_plan.kernels = &resident_f;
    use_fakes();
    cuda.hold(0);
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_int_eq(fx_prepare(context, &resident_plan, NULL, NULL, 0, &prepared), FX_ERR_GPU);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "Fake GPU has no room for a block of f_0_big"));
    ck_assert_int_eq(cuda.live(), 1); /* the context alone */
    close_all();
}
END_TEST

START_TEST(launches_nothing_for_nothing) {
    struct call c;
    open_all();
    make_call(&c, 0, 5);
    c.x.data = c.y.data = NULL;
    c.x.strides = c.strides;
    cuda.clear();
    ck_assert_msg(fx_launch(prepared, c.values, N_PARAMS, NULL, 0, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_str_eq(cuda.log(), "");
    make_call(&c, 5, 0); /* the second launch has no blocks, the first has */
    ck_assert_int_eq(fx_launch(prepared, c.values, N_PARAMS, NULL, 0, NULL), FX_OK);
    ck_assert_int_eq(occurrences(cuda.log(), "cuLaunchKernel"), 1);
    close_all();
}
END_TEST

START_TEST(takes_what_is_right) {
    struct call c;
    open_all();
    make_call(&c, 1, 5);
    c.strides[0] = 77, c.strides[1] = 1; /* any stride where the extent is 1 */
    c.x.strides = c.strides;
    c.y.device = (DLDevice){13, 3};
    c.w.data = memory + 0x1ffe, c.w.byte_offset = 4;
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    make_call(&c, 4, 5);
    c.y.data = memory + 80; /* right behind x */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.values[P_X].tensor = c.values[P_W].tensor = c.values[P_Y].tensor = NULL;
    size_t n;
    ck_assert_int_eq(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n), FX_ERR_USAGE);
    c.values[P_X].tensor = &c.x;
    c.x.data = NULL;
    ck_assert_int_eq(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n), FX_OK);
    ck_assert_uint_eq(n, 256);
    close_all();
}
END_TEST

static void refused(const struct call *c, const char *want) {
    cuda.clear();
    ck_assert_int_eq(launch(c, NULL), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), want);
    ck_assert_ptr_null(strstr(cuda.log(), "cuLaunch"));
}

START_TEST(refuses_shapes_and_dtypes) {
    struct call c;
    open_all();
    make_call(&c, 4, 5);
    ck_assert_int_eq(fx_launch(prepared, c.values, 4, workspace, 8192, NULL), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "kernel f takes 5 arguments, but 4 are given");
    ck_assert_int_eq(fx_launch(prepared, NULL, 5, workspace, 8192, NULL), FX_ERR_USAGE);
    c.values[P_X].tensor = NULL;
    refused(&c, "kernel f: x is a tensor, but none is given");
    make_call(&c, 4, 5), c.values[P_A].tensor = &c.x;
    refused(&c, "kernel f: a is a scalar, but a tensor is given");
    make_call(&c, 4, 5), c.values[P_N].integer = 128;
    refused(&c, "kernel f: n is 128, which i8 cannot hold");
    make_call(&c, 4, 5), c.x.ndim = 1;
    refused(&c, "kernel f: x has rank 1, but f32[M,K] is expected");
    make_call(&c, 4, 5), c.x.ndim = 99;
    refused(&c, "kernel f: x has rank 99, but rank 2 is expected");
    make_call(&c, 4, 5), c.x.ndim = -1;
    refused(&c, "kernel f: x has rank -1, but rank 2 is expected");
    make_call(&c, 4, 5), c.x.shape = NULL;
    refused(&c, "kernel f: x has rank 2 and no shape, but rank 2 is expected");
    make_call(&c, 4, 5), c.w.dtype.code = 4;
    refused(&c, "kernel f: w is bf16, but f16[K] is expected");
    make_call(&c, 4, 5), c.w.dtype.lanes = 2;
    refused(&c, "kernel f: w has a dtype there is no name for (code 2, 16 bits, 2 lanes), but f16 is expected");
    make_call(&c, 4, 5), c.w_shape[0] = 6;
    refused(&c, "kernel f: axis K of w is 6, but of x it is 5");
    make_call(&c, 4, 5), c.y_shape[0] = -4;
    refused(&c, "kernel f: axis M of y is -4, but an extent lies between 0 and 2^40");
    close_all();
}
END_TEST

/* ---- parameters that are not plain tensors: f with other declarations ---- */

static struct fx_param other_params[N_PARAMS];
static struct fx_kernel other_kernel;
static struct fx_plan other_plan;

/* Opens f with `change` made to parameter p, and with the checks given. */
static void open_other(int p, struct fx_param change, const struct fx_check *checks, int n_checks) {
    use_fakes();
    memcpy(other_params, params_of, sizeof other_params);
    change.name = params_of[p].name, change.is_scalar = params_of[p].is_scalar, change.rank = params_of[p].rank;
    memcpy(change.extents, params_of[p].extents, sizeof change.extents);
    other_params[p] = change;
    other_kernel = f;
    other_kernel.params = other_params, other_kernel.checks = checks, other_kernel.n_checks = n_checks;
    other_plan = plan;
    other_plan.kernels = &other_kernel;
    ck_assert_msg(fx_context_open(0, &context) == FX_OK, "%s", fx_last_error());
    ck_assert_msg(fx_prepare(context, &other_plan, NULL, NULL, 0, &prepared) == FX_OK, "%s", fx_last_error());
}

START_TEST(holds_to_promised_alignment) {
    struct call c;
    size_t n;
    open_other(P_X, (struct fx_param){.dtype = FX_F32, .is_input = true, .align = 64}, NULL, 0);
    make_call(&c, 4, 5);
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.x.byte_offset = 128;
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    c.x.byte_offset = 32;
    refused(&c, "kernel f: x is at an address that is no multiple of 64 bytes, which the spec promises: `align 64`");
    ck_assert_int_eq(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n), FX_OK);
    make_call(&c, 0, 5), c.x.byte_offset = 32; /* nothing is there */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    close_all();
}
END_TEST

START_TEST(writes_in_place) {
    struct call c;
    open_other(P_X, (struct fx_param){.dtype = FX_F32, .is_input = true, .is_output = true}, NULL, 0);
    make_call(&c, 4, 5);
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.w.data = memory + 16;
    refused(&c, "kernel f: inout x shares memory with w");
    make_call(&c, 4, 5), c.y.data = memory;
    refused(&c, "kernel f: inout x shares memory with y");
    close_all();
}
END_TEST

START_TEST(takes_strides) {
    struct call c;
    open_other(P_Y, (struct fx_param){.dtype = FX_F32, .is_output = true, .is_strided = true}, NULL, 0);
    make_call(&c, 4, 5);
    c.y.strides = c.strides;
    c.strides[0] = 1, c.strides[1] = 4; /* column-major */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.strides[0] = -5, c.strides[1] = 1; /* rows upwards: it begins three rows before its address */
    c.y.data = memory + 0x2000 + 16 + 60;
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.y.data = memory + 0x2000 + 8 + 60; /* w ends at + 10 */
    refused(&c, "kernel f: output y shares memory with w");
    c.y.data = memory + 0x4000;
    c.strides[0] = 4, c.strides[1] = 1;
    refused(&c, "kernel f: output y has elements that may share memory: axis M has stride 4");
    c.strides[0] = 5, c.strides[1] = 0;
    refused(&c, "kernel f: output y has elements that may share memory: axis K has stride 0");
    c.strides[0] = INT64_MAX / 2, c.strides[1] = 1;
    refused(&c, "kernel f: y ends beyond the address space");
    c.strides[0] = INT64_MIN;
    refused(&c, "kernel f: y ends beyond the address space");
    make_call(&c, 1, 5), c.y.strides = c.strides, c.strides[0] = INT64_MIN, c.strides[1] = 1; /* one row: no stride */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    close_all();
    open_other(P_X, (struct fx_param){.dtype = FX_F32, .is_input = true, .is_strided = true}, NULL, 0);
    make_call(&c, 4, 5), c.x.strides = c.strides, c.strides[0] = 0, c.strides[1] = 0; /* what is read may repeat */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    close_all();
}
END_TEST

static const struct fx_arg strided_args[] = {
    {FX_ARG_PARAM, P_X}, {FX_ARG_STRIDE, P_X *FX_MAX_RANK}, {FX_ARG_STRIDE, P_X *FX_MAX_RANK + 1}};
static const struct fx_variant strided_variants[] = {
    {.entry = "s_unit",
        .number = 0,
        .needs = EXPR({FX_T_STRIDE, P_X *FX_MAX_RANK + 1}, C(1), OP(EQ), {FX_T_STRIDE, P_X *FX_MAX_RANK}, C(4), OP(MOD),
            C(0), OP(EQ), OP(AND)),
        .grid = EXPR(C(1)),
        .block = 32},
    {.entry = "s_any", .number = 1, .grid = EXPR(C(1)), .block = 32}};
static const struct fx_launch strided_launch = {
    .name = "s", .n_args = 3, .n_variants = 2, .args = strided_args, .variants = strided_variants};

/* The kernel gets the strides of the tensor, and those of a row-major one where it has none; 0 where an axis has one
 * element. */
static void launch_strided(struct call *c, const char *entry, int64_t stride_m, int64_t stride_k) {
    ck_assert_msg(launch(c, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq((int64_t)cuda.argument(1), stride_m);
    ck_assert_int_eq((int64_t)cuda.argument(2), stride_k);
    ck_assert_str_eq(fx_chosen_entry(prepared, 0, c->values, N_PARAMS), entry);
}

START_TEST(gives_strides) {
    struct call c;
    const struct fx_hint hints[] = {{"M", 8}, {"K", 4}}, odd[] = {{"M", 8}, {"K", 5}};
    fx_prepared *hinted;
    open_other(P_X, (struct fx_param){.dtype = FX_F32, .is_input = true, .is_strided = true}, NULL, 0);
    fx_prepared_release(prepared);
    other_kernel.n_launches = 1, other_kernel.launches = &strided_launch;
    ck_assert_int_eq(fx_prepare(context, &other_plan, NULL, NULL, 0, &prepared), FX_OK);
    cuda.take_arguments(3);
    make_call(&c, 8, 4);
    launch_strided(&c, "s_unit", 4, 1);
    make_call(&c, 8, 5);
    launch_strided(&c, "s_any", 5, 1);
    c.x.strides = c.strides, c.strides[0] = -8, c.strides[1] = 1;
    c.x.data = memory + 0x1000;
    launch_strided(&c, "s_unit", -8, 1);
    c.strides[0] = 1, c.strides[1] = 8;
    launch_strided(&c, "s_any", 1, 8);
    c.strides[0] = c.strides[1] = 0;
    launch_strided(&c, "s_any", 0, 0);
    make_call(&c, 1, 5), c.x.strides = c.strides, c.strides[0] = INT64_MIN, c.strides[1] = 1;
    launch_strided(&c, "s_unit", 0, 1);
    nvrtc.clear();
    other_plan.source = "s";
    ck_assert_int_eq(
        fx_prepare(context, &other_plan, NULL, hints, 2, &hinted), FX_OK); /* row-major or not: both may be reached */
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 2);
    fx_prepared_release(hinted);
    nvrtc.clear();
    other_plan.source = "t";
    ck_assert_int_eq(
        fx_prepare(context, &other_plan, NULL, odd, 2, &hinted), FX_OK); /* row-major rows of 5: not as vectors */
    ck_assert_int_eq(occurrences(nvrtc.log(), "FX_ONLY"), 1);
    fx_prepared_release(hinted);
    close_all();
}
END_TEST

START_TEST(takes_packed_words) {
    struct call c;
    int64_t shape[2] = {4, 2};
    open_other(P_X, (struct fx_param){.dtype = FX_U4, .is_input = true, .packed = {8, FX_I32, 1, false}}, NULL, 0);
    make_call(&c, 4, 13);
    c.x.shape = shape, c.x.dtype = (DLDataType){0, 32, 1};
    c.y.data = memory + 32; /* right behind the words */
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.y.data = memory + 28;
    refused(&c, "kernel f: output y shares memory with x");
    make_call(&c, 4, 13), c.x.shape = shape, c.x.dtype = (DLDataType){0, 32, 1}, c.x.byte_offset = 2;
    refused(&c, "kernel f: x is at an address that is no multiple of its element's 4 bytes");
    c.x.byte_offset = 0, shape[1] = 13;
    refused(&c, "kernel f: x has 13 words of i32 along K, but K = 13, 8 a word, takes 2");
    close_all();
}
END_TEST

static const struct fx_check on_scalars[] = {
    {EXPR({FX_T_SCALAR, P_A}, X(M), OP(LT), {FX_T_SCALAR, P_N}, C(0), OP(LT), OP(AND)),
        "`require a < M && n < 0` does not hold (f, line 2)"}};

START_TEST(requires_of_scalars) {
    struct call c;
    size_t n;
    open_other(P_X, (struct fx_param){.dtype = FX_F32, .is_input = true}, on_scalars, 1);
    make_call(&c, 4, 5);
    ck_assert_msg(launch(&c, NULL) == FX_OK, "%s", fx_last_error());
    c.values[P_A].number = 4;
    refused(&c, "kernel f: `require a < M && n < 0` does not hold (f, line 2): a is 4, M is 4, n is -3");
    ck_assert_int_eq(fx_workspace_bytes(prepared, c.values, N_PARAMS, &n), FX_OK); /* only shapes count */
    c.values[P_A].number = 3.9999999999; /* what the kernel is given is 4 */
    refused(&c, "kernel f: `require a < M && n < 0` does not hold (f, line 2): a is 4, M is 4, n is -3");
    make_call(&c, 4, 5), c.values[P_N].integer = 0;
    refused(&c, "kernel f: `require a < M && n < 0` does not hold (f, line 2): a is 0.5, M is 4, n is 0");
    close_all();
}
END_TEST

START_TEST(refuses_memory) {
    struct call c;
    open_all();
    make_call(&c, 4, 5), c.strides[0] = 6, c.strides[1] = 1, c.x.strides = c.strides;
    refused(&c, "kernel f: x is not contiguous: axis M has stride 6, but row-major order has 5");
    c.strides[0] = 1, c.strides[1] = 4;
    refused(&c, "kernel f: x is not contiguous: axis K has stride 4, but row-major order has 1");
    make_call(&c, 4, 5), c.strides[0] = 0, c.strides[1] = 1, c.y.strides = c.strides;
    refused(&c, "kernel f: y is not contiguous: axis M has stride 0, but row-major order has 5");
    make_call(&c, 4, 5), c.x.device.device_type = 1;
    refused(&c, "kernel f: x is on a device of type 1, but CUDA memory (2, or 13 when managed) is expected");
    make_call(&c, 4, 5), c.x.device.device_id = 1;
    refused(&c, "kernel f: x is on CUDA device 1, but the kernel is on device 0");
    make_call(&c, 4, 5), c.x.data = NULL;
    refused(&c, "kernel f: x has 20 elements, but its address is NULL");
    make_call(&c, 4, 5), c.x.byte_offset = 2;
    refused(&c, "kernel f: x is at an address that is no multiple of its element's 4 bytes");
    make_call(&c, 4, 5), c.x.byte_offset = UINT64_MAX;
    refused(&c, "kernel f: x ends beyond the address space");
    make_call(&c, 4, 5), c.y.data = c.x.data;
    refused(&c, "kernel f: output y shares memory with x");
    make_call(&c, 4, 5), c.y.data = memory + 0x2000 - 76; /* its last element over w's first */
    refused(&c, "kernel f: output y shares memory with w");
    make_call(&c, 4, 5), c.workspace_bytes = 255;
    refused(&c, "kernel f needs 256 bytes of workspace, but 255 are given");
    make_call(&c, 4, 5), c.y.data = (char *)workspace + 252;
    refused(&c, "kernel f: the workspace shares memory with y");
    make_call(&c, 4, 5);
    ck_assert_int_eq(fx_launch(prepared, c.values, N_PARAMS, NULL, 8192, NULL), FX_ERR_USAGE);
    ck_assert_int_eq(fx_launch(prepared, c.values, N_PARAMS, (char *)workspace + 8, 8192, NULL), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "kernel f: the workspace is not aligned to 256 bytes");
    close_all();
}
END_TEST

START_TEST(refuses_sizes) {
    struct call c;
    open_all();
    make_call(&c, 1 << 20, 1 << 12); /* 2^33 blocks of the second launch */
    c.x.data = (void *)(uintptr_t)(1ull << 44), c.y.data = (void *)(uintptr_t)(1ull << 45);
    c.workspace_bytes = SIZE_MAX / 2;
    refused(&c, "kernel f: f_1 would need more than 2^31 - 1 blocks");
    make_call(&c, 1, 1 << 17);
    c.x.data = (void *)(uintptr_t)(1ull << 44), c.y.data = (void *)(uintptr_t)(1ull << 45);
    c.w.data = (void *)(uintptr_t)(1ull << 46);
    c.workspace_bytes = SIZE_MAX / 2;
    refused(&c, "kernel f: f_1 would need more shared memory than the 232448 bytes of Fake GPU");
    for (int more = 0; more < 2; more++) { /* as much as there is, and a float more */
        make_call(&c, 1, 232448 / 4 + more);
        c.x.data = (void *)(uintptr_t)(1ull << 44), c.y.data = (void *)(uintptr_t)(1ull << 45);
        c.w.data = (void *)(uintptr_t)(1ull << 46);
        c.workspace_bytes = SIZE_MAX / 2;
        if (more) refused(&c, "kernel f: f_1 would need more shared memory than the 232448 bytes of Fake GPU");
        else
            ck_assert_msg(fx_launch(prepared, c.values, N_PARAMS, workspace, c.workspace_bytes, NULL) == FX_OK, "%s",
                fx_last_error());
    }
    close_all();
}
END_TEST

/* ---- failures ---- */

START_TEST(failures_say_everything) {
    open_all();
    void *p;
    cuda.let_fail("cuMemAlloc_v2", 1, 2);
    ck_assert_int_eq(fx_device_alloc(context, 64, &p), FX_ERR_GPU);
    ck_assert_ptr_null(p);
    const char *text = fx_last_error();
    ck_assert_ptr_nonnull(
        strstr(text, "out of memory (2, CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc(&address, n_bytes) at "));
    ck_assert_ptr_nonnull(strstr(text, "device.c:"));
    close_all();
}
END_TEST

START_TEST(a_lost_context_is_left_alone) {
    static const int codes[] = {700, 702, 714, 715, 716, 717, 718, 719};
    struct call c;
    use_fakes();
    make_call(&c, 8, 4);
    for (int i = 0; i < COUNT(codes); i++) {
        void *stream, *p;
        fx_timer *timer;
        open_all();
        ck_assert_int_eq(fx_stream_open(context, &stream), FX_OK);
        ck_assert_int_eq(fx_timer_open(context, &timer), FX_OK);
        ck_assert_int_eq(fx_device_alloc(context, 8, &p), FX_OK);
        ck_assert_int_eq(launch(&c, stream), FX_OK);
        cuda.let_fail("cuStreamSynchronize", 1, codes[i]);
        ck_assert_int_eq(fx_stream_wait(context, stream), FX_ERR_GPU);
        ck_assert_ptr_nonnull(strstr(fx_last_error(), "the CUDA context is lost, the kernel launched last was f_1"));
        cuda.clear();
        ck_assert_int_eq(launch(&c, stream), FX_ERR_GPU);
        ck_assert_ptr_nonnull(strstr(fx_last_error(), "is lost since error 7"));
        ck_assert_int_eq(fx_stream_wait(context, stream), FX_ERR_GPU);
        ck_assert_int_eq(fx_timer_start(timer, stream), FX_ERR_GPU);
        fx_device_free(context, p);
        fx_stream_close(context, stream);
        fx_timer_close(timer);
        fx_prepared_release(prepared);
        fx_context_close(context);
        ck_assert_str_eq(cuda.log(), "");
    }
}
END_TEST

START_TEST(a_log_of_any_size_is_kept) {
    void *image;
    char *log;
    size_t n, bytes = 10 << 20;
    use_fakes();
    ck_assert_int_eq(fx_doctor(NULL, 0), FX_OK);
    nvrtc.behave(bytes, 0, 13);
    ck_assert_int_eq(fx_nvrtc("s", "s.cu", "sm_90a", true, &image, &n, &log), FX_OK);
    ck_assert_uint_eq(strlen(log), bytes);
    ck_assert_uint_eq(strlen(image), n);
    ck_assert_ptr_nonnull(strstr(image, "compute_90a"));
    free(image);
    free(log);
    nvrtc.let_fail("nvrtcCompileProgram", 1, 6);
    ck_assert_int_eq(fx_nvrtc("s", "s.cu", "sm_90a", false, &image, &n, &log), FX_ERR_TOOLCHAIN);
    ck_assert(!image && !log && strlen(fx_last_error()) > bytes);
    ck_assert_ptr_nonnull(
        strstr(fx_last_error(), "NVRTC cannot compile s.cu for sm_90a: NVRTC_ERROR_COMPILATION (6)\nxxx"));
    static const char *const wrong[] = {"", "sm", "sm_", "sm_9", "sm_90b", "sm_90a ", "90a", "sm_90a --x"};
    for (int i = 0; i < COUNT(wrong); i++)
        ck_assert_int_eq(fx_nvrtc("s", "s.cu", wrong[i], false, &image, &n, &log), FX_ERR_USAGE);
}
END_TEST

START_TEST(a_driver_older_than_nvrtc_is_named) {
    use_fakes();
    cuda.device(12040, 90);
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    cuda.let_fail("cuModuleLoadData", 1, 209);
    ck_assert_int_eq(fx_prepare(context, &plan, NULL, NULL, 0, &prepared), FX_ERR_GPU);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "NVRTC is of CUDA 13.0, the driver of 12.4 only"));
    fx_context_close(context);
}
END_TEST

/* ---- finding libraries ---- */

START_TEST(the_stub_is_passed_over) {
    static char text[16384];
    use_fakes();
    cuda.let_fail("cuInit", 1, 34);
    ck_assert_int_eq(fx_doctor(text, sizeof text), FX_OK);
    ck_assert_ptr_nonnull(strstr(text, "fake_cuda.so: it is the toolkit's stub\n"));
    ck_assert_ptr_nonnull(strstr(text, "libcuda.so.1: "));
    ck_assert_ptr_null(strstr(text, "fake_cuda.so: driver"));
}
END_TEST

START_TEST(what_the_driver_answers_is_told) {
    static char text[16384];
    use_fakes();
    cuda.device(12040, 90);
    cuda.let_fail("cuInit", 1, 999);
    fx_doctor(text, sizeof text);
    ck_assert_msg(strstr(text, "fake_cuda.so: driver for CUDA 12.4, cuInit returns 999\n") != NULL, "%s", text);
}
END_TEST

START_TEST(an_nvrtc_that_cannot_compile_is_passed_over) {
    static const char *const calls[] = {"nvrtcCompileProgram", "nvrtcVersion"};
    static const char *const lines[] = {
        "fake_nvrtc.so: it cannot compile a line: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)\n",
        "fake_nvrtc.so: nvrtcVersion returns 7\n"};
    static char text[16384];
    use_fakes();
    nvrtc.let_fail(calls[_i], 1, 7);
    fx_doctor(text, sizeof text);
    ck_assert_msg(strstr(text, lines[_i]) != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "fake_cuda.so: driver for CUDA 13.0\n"));
}
END_TEST

START_TEST(a_library_that_is_another_is_passed_over) {
    static char text[16384];
    use_fakes();
    setenv("FX_LIBCUDA", getenv("FX_LIBNVRTC"), 1);
    fx_doctor(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "fake_nvrtc.so: it has no cuInit\n"));
    fx_doctor(text, 1);
    ck_assert_str_eq(text, "");
}
END_TEST

/* ---- a real NVRTC, where there is one ---- */

static bool has_nvrtc(void) {
    void *image;
    size_t n;
    char *log;
    fx_status status = fx_nvrtc(
        "extern \"C\" __global__ void f(float *y) { y[threadIdx.x] = 1; }", "f.cu", "sm_90a", false, &image, &n, &log);
    if (status == FX_ERR_TOOLCHAIN && strstr(fx_last_error(), "no library of NVRTC works")) return false;
    ck_assert_msg(status == FX_OK, "%s", fx_last_error());
    ck_assert(n > 64 && !memcmp(image, "\x7f" "ELF", 4));
    ck_assert_str_eq(log, "");
    free(image);
    free(log);
    return true;
}

START_TEST(nvrtc_compiles) {
    void *image;
    size_t n;
    char *log;
    if (!has_nvrtc()) SKIP_TEST("no NVRTC works here");
    ck_assert_int_eq(fx_nvrtc("__global__ void f() {}", "f.cu", "sm_80", true, &image, &n, &log), FX_OK);
    ck_assert_ptr_nonnull(strstr(image, ".target sm_80"));
    ck_assert_uint_eq(strlen(image), n);
    free(image);
    free(log);
}
END_TEST

START_TEST(nvrtc_errors_are_whole) {
    static char source[8192];
    void *image;
    size_t n = 0;
    char *log;
    if (!has_nvrtc()) SKIP_TEST("no NVRTC works here");
    for (int i = 0; i < 60; i++)
        n += (size_t)snprintf(source + n, sizeof source - n, "__device__ int v%d = undeclared_%d;\n", i, i);
    ck_assert_int_eq(fx_nvrtc(source, "wrong.cu", "sm_90a", false, &image, &n, &log), FX_ERR_TOOLCHAIN);
    ck_assert(!image && !log);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "wrong.cu(1): error: identifier \"undeclared_0\" is undefined"));
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "undeclared_59"));
    ck_assert_int_eq(fx_nvrtc("", "f.cu", "sm_999", false, &image, &n, &log), FX_ERR_TOOLCHAIN);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "f.cu for sm_999"));
}
END_TEST

/* ---- FX_TRACE ---- */

static char trace_path[64];
static struct arena trace_arena;
static jmp_buf trace_oom;

static void want_trace(void) {
    snprintf(trace_path, sizeof trace_path, "/tmp/fx_trace_%d.json", (int)getpid());
    ck_assert_int_eq(setenv("FX_TRACE", "/tmp/fx_trace_%p.json", 1), 0);
    arena_init(&trace_arena, &trace_oom);
}

/* As it stands in the file now, which has to be JSON at any time. */
static const struct json_value *read_trace(void) {
    static char text[1 << 22];
    size_t wrong;
    FILE *file = fopen(trace_path, "r");
    ck_assert_msg(file != NULL, "%s is not there", trace_path);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const struct json_value *v = json_read(&trace_arena, text, &wrong);
    ck_assert_msg(v != NULL && v->kind == JSON_LIST, "no JSON from byte %zu:\n%.300s", wrong,
        text + (wrong > 100 ? wrong - 100 : 0));
    return v;
}

static const char *text_of(const struct json_value *event, const char *key) {
    const struct json_value *v = json_member(event, key);
    ck_assert_msg(v != NULL && v->text != NULL, "no %s", key);
    return v->text;
}

/* The event number `nth` of that name, with whole numbers of everything a viewer wants; NULL where there are fewer. */
static const struct json_value *find_event(const struct json_value *trace, const char *name, int nth) {
    for (int i = 0; i < trace->n; i++) {
        const struct json_value *e = trace->items[i];
        if (strcmp(text_of(e, "name"), name) != 0 || nth-- > 0) continue;
        ck_assert_str_eq(text_of(e, "ph"), "X");
        ck_assert(atof(text_of(e, "ts")) > 0 && atof(text_of(e, "dur")) >= 0);
        ck_assert_int_eq(atoi(text_of(e, "pid")), (int)getpid());
        ck_assert_int_gt(atoi(text_of(e, "tid")), 0);
        return e;
    }
    return NULL;
}

static bool is_within(const struct json_value *inner, const struct json_value *outer) {
    double from = atof(text_of(inner, "ts")), begin = atof(text_of(outer, "ts"));
    return begin <= from && from + atof(text_of(inner, "dur")) <= begin + atof(text_of(outer, "dur")) + 0.002;
}

START_TEST(traces) {
    struct call c;
    want_trace();
    open_all();
    const struct json_value *t = read_trace(), *prepare = find_event(t, "prepare f", 0),
                            *build = find_event(t, "build f_0_big", 0), *load = find_event(t, "load f_1", 0);
    ck_assert(fx_trace_is_on(NULL));
    ck_assert(find_event(t, "open Fake GPU", 0) && prepare && build && load);
    ck_assert(is_within(build, prepare) && is_within(load, prepare));
    ck_assert_str_eq(text_of(json_member(build, "args"), "by"), "NVRTC");
    ck_assert_str_eq(text_of(json_member(build, "args"), "cache"), "none");
    ck_assert_str_eq(text_of(json_member(load, "args"), "registers"), "40");
    ck_assert_ptr_null(find_event(t, "launch f", 0));
    make_call(&c, 100, 4);
    ck_assert_int_eq(launch(&c, (void *)0x1230), FX_OK);
    t = read_trace();
    const struct json_value *whole = find_event(t, "launch f", 0), *first = find_event(t, "enqueue f_0_big", 0),
                            *second = find_event(t, "enqueue f_1", 0);
    ck_assert(whole && first && second && is_within(first, whole) && is_within(second, whole));
    const struct json_value *args = json_member(second, "args");
    ck_assert_str_eq(text_of(args, "kernel"), "f");
    ck_assert_str_eq(text_of(args, "grid"), "800");
    ck_assert_str_eq(text_of(args, "block"), "32");
    ck_assert_str_eq(text_of(args, "shared_bytes"), "16");
    ck_assert_str_eq(text_of(args, "stream"), "0x1230");
    c.workspace_bytes = 0;
    ck_assert_int_eq(launch(&c, NULL), FX_ERR_USAGE);
    const struct json_value *refused = find_event(read_trace(), "launch f", 1);
    ck_assert(refused && atoi(text_of(json_member(refused, "args"), "status")) == FX_ERR_USAGE);
    close_all();
    ck_assert_int_eq(read_trace()->n, t->n + 1);
    ck_assert_int_eq(remove(trace_path), 0);
}
END_TEST

/* What the driver is asked for, by launches above all, is the same with a trace and without. */
START_TEST(traces_ask_the_driver_for_nothing) {
    static char without[1 << 16];
    struct call c;
    use_fakes();
    if (_i) want_trace();
    open_all();
    make_call(&c, 100, 4);
    cuda.clear();
    for (int i = 0; i < 3; i++) ck_assert_int_eq(launch(&c, NULL), FX_OK);
    snprintf(without, sizeof without, "%s", cuda.log());
    ck_assert_int_eq(occurrences(without, "cuLaunchKernel"), 6);
    ck_assert_int_eq(occurrences(without, "\n"), 3 * 5); /* current, pushed, launched twice, popped */
    close_all();
    if (_i) ck_assert_int_eq(remove(trace_path), 0);
}
END_TEST

enum { N_LAUNCHING = 8, N_EACH = 40 };

static void *launch_often(void *unused) {
    struct call c;
    make_call(&c, 100, 4);
    for (int i = 0; i < N_EACH; i++)
        if (launch(&c, NULL) != FX_OK) return unused;
    return NULL;
}

START_TEST(traces_of_threads) {
    pthread_t threads[N_LAUNCHING];
    static int n_by[1 << 22];
    int n_launches = 0, n_threads = 0;
    want_trace();
    open_all();
    for (int i = 0; i < N_LAUNCHING; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &threads), 0);
    for (int i = 0; i < N_LAUNCHING; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    const struct json_value *t = read_trace();
    for (int i = 0; i < t->n; i++) {
        if (strcmp(text_of(t->items[i], "name"), "launch f") != 0) continue;
        int tid = atoi(text_of(t->items[i], "tid")) & ((1 << 22) - 1);
        n_threads += n_by[tid]++ == 0;
        n_launches++;
    }
    ck_assert_int_eq(n_launches, N_LAUNCHING * N_EACH);
    ck_assert_int_eq(n_threads, N_LAUNCHING);
    close_all();
    ck_assert_int_eq(remove(trace_path), 0);
}
END_TEST

/* As soon as anything is known. */
static void *trace_early(void *is_there) {
    atomic_store((atomic_bool *)is_there, true);
    while (atomic_load(&timeline_state) == TIMELINE_UNKNOWN) {}
    fx_trace_stage(NULL, "early", "", false);
    fx_trace_stage(NULL, "early", "", true);
    return NULL;
}

/* Nothing is left out while another thread finds out whether there is a trace. */
START_TEST(traces_while_the_file_is_opened) {
    pthread_t thread;
    atomic_bool is_there = false;
    want_trace();
    ck_assert_int_eq(pthread_create(&thread, NULL, trace_early, &is_there), 0);
    while (!atomic_load(&is_there)) {}
    ck_assert(fx_trace_is_on(NULL));
    pthread_join(thread, NULL);
    ck_assert(find_event(read_trace(), "early", 0) != NULL);
    ck_assert_int_eq(remove(trace_path), 0);
}
END_TEST

/* Stages nest; what a stage left open, since memory ran out in it, is over with the one around it. Texts stay text. */
START_TEST(traces_stages) {
    want_trace();
    fx_trace_stage(NULL, "compile", "a", false);
    fx_trace_stage(NULL, "parse", "a", false);
    fx_trace_stage(NULL, "compile", "a", true);
    fx_trace_stage(NULL, "compile", "b", false);
    fx_trace_stage(NULL, "parse", "b", false);
    fx_trace_stage(NULL, "parse", "b", true);
    fx_trace_stage(NULL, "compile", "b\"\\\n\x80", true);
    fx_trace_stage(NULL, "parse", "none began", true);
    const struct json_value *t = read_trace();
    ck_assert_int_eq(t->n, 4);
    ck_assert(find_event(t, "compile a", 0) && !find_event(t, "parse a", 0));
    ck_assert(is_within(find_event(t, "parse b", 0), find_event(t, "compile b\"\\\n?", 0)));
    ck_assert_int_eq(remove(trace_path), 0);
}
END_TEST

START_TEST(traces_that_cannot_be_written) {
    struct call c;
    const char *why_not;
    setenv("FX_TRACE", "/nowhere/at/all.json", 1);
    open_all();
    make_call(&c, 100, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    ck_assert(!fx_trace_is_on(&why_not));
    ck_assert_str_eq(why_not, "cannot write /nowhere/at/all.json: No such file or directory");
    close_all();
}
END_TEST

/* A disk without room: the launch works all the same. */
START_TEST(traces_on_a_full_disk) {
    struct call c;
    setenv("FX_TRACE", "/dev/full", 1);
    open_all();
    make_call(&c, 100, 4);
    ck_assert_int_eq(launch(&c, NULL), FX_OK);
    ck_assert(!fx_trace_is_on(NULL));
    close_all();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("runtime");
    TCase *tests = tcase_create("runtime");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, opens_a_context);
    tcase_add_test(tests, uses_the_current_context);
    tcase_add_test(tests, compiles_each_entry_alone);
    tcase_add_test(tests, hints_leave_variants_out);
    tcase_add_test(tests, choices_are_remembered);
    tcase_add_test(tests, hints_give_what_follows);
    tcase_add_test(tests, refuses_launches_beyond_the_hints);
    tcase_add_test(tests, refuses_to_prepare);
    tcase_add_loop_test(tests, compiles_older_plans_for_the_device, 0, COUNT(arches));
    tcase_add_test(tests, a_kernel_of_limited_size_is_prepared);
    tcase_add_test(tests, hints_of_0);
    tcase_add_test(tests, hints_of_some_extents);
    tcase_add_test(tests, hints_stand_for_both_ends_of_alignment);
    tcase_add_test(tests, variants_of_much_shared_memory);
    tcase_add_loop_test(tests, variants_of_no_shared_memory, 0, 3);
    tcase_add_test(tests, equations_are_kept);
    tcase_add_test(tests, numbers_of_launches_and_variants);
    tcase_add_test(tests, threads_share_compilations);
    tcase_add_test(tests, pins_variants);
    tcase_add_test(tests, loads_what_is_asked_for);
    tcase_add_test(tests, takes_a_partition);
    tcase_add_test(tests, pins_partitions);
    tcase_add_loop_test(tests, passes_over_what_spills, 0, COUNT(spills));
    tcase_add_test(tests, launches);
    tcase_add_test(tests, launches_resident_blocks);
    tcase_add_test(tests, refuses_what_is_never_resident);
    tcase_add_test(tests, launches_nothing_for_nothing);
    tcase_add_test(tests, takes_what_is_right);
    tcase_add_test(tests, refuses_shapes_and_dtypes);
    tcase_add_test(tests, refuses_memory);
    tcase_add_test(tests, holds_to_promised_alignment);
    tcase_add_test(tests, writes_in_place);
    tcase_add_test(tests, takes_strides);
    tcase_add_test(tests, gives_strides);
    tcase_add_test(tests, takes_packed_words);
    tcase_add_test(tests, requires_of_scalars);
    tcase_add_test(tests, refuses_sizes);
    tcase_add_test(tests, failures_say_everything);
    tcase_add_test(tests, a_lost_context_is_left_alone);
    tcase_add_test(tests, a_log_of_any_size_is_kept);
    tcase_add_test(tests, a_driver_older_than_nvrtc_is_named);
    tcase_add_test(tests, the_stub_is_passed_over);
    tcase_add_test(tests, what_the_driver_answers_is_told);
    tcase_add_loop_test(tests, an_nvrtc_that_cannot_compile_is_passed_over, 0, 2);
    tcase_add_test(tests, a_library_that_is_another_is_passed_over);
    tcase_add_test(tests, traces);
    tcase_add_loop_test(tests, traces_ask_the_driver_for_nothing, 0, 2);
    tcase_add_test(tests, traces_of_threads);
    tcase_add_loop_test(tests, traces_while_the_file_is_opened, 0, 100);
    tcase_add_test(tests, traces_stages);
    tcase_add_test(tests, traces_that_cannot_be_written);
    tcase_add_test(tests, traces_on_a_full_disk);
    tcase_add_test(tests, nvrtc_compiles);
    tcase_add_test(tests, nvrtc_errors_are_whole);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
