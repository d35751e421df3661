/* The public API, called as it should not be: every function with NULL where a handle, a name or a place for a result
 * belongs, options of every size, plans that cannot be launched, a compilation that is closed early. Every test runs in
 * a process of its own, over the stand-ins for driver and NVRTC. */
#include <check.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes.h"
#include "fx.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "suite.h"

static const char spec[] = "kernel f(x: f32[M,N], a: f32 = 0.5) -> y: f32[M,N] { y = a * x }\n"
                           "kernel g(x: f32[M]) -> y: f32[M] { require M <= 4096; y = x + 1 }\n"
                           "test f { M=4 N=8 }\n";

static fx_compilation *compiled(const struct fx_options *options) {
    fx_compilation *c;
    fx_status status = fx_compile(spec, sizeof spec - 1, "spec.fx", options, &c);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    return c;
}

static fx_context *opened(void) {
    fx_context *ctx;
    take_fakes();
    ck_assert_msg(fx_context_open(0, &ctx) == FX_OK, "%s", fx_last_error());
    return ctx;
}

/* ---- NULL: tests/arch.sh holds that every function with a pointer among its parameters is here ---- */

#define REFUSES(call) ck_assert_int_eq(call, FX_ERR_USAGE)

START_TEST(compilations_that_are_null) {
    struct fx_lines lines[1];
    struct fx_host host = {0};
    char message[64];
    double value;
    int n = 7;
    fx_close(NULL);
    REFUSES(fx_compile(spec, sizeof spec - 1, NULL, NULL, NULL));
    ck_assert_int_eq(fx_last_status(NULL), FX_ERR_NOMEM);
    ck_assert_str_eq(fx_messages(NULL), "");
    ck_assert_ptr_null(fx_messages_json(NULL));
    ck_assert_ptr_null(fx_messages_sarif(NULL));
    ck_assert_ptr_null(fx_get_plan(NULL));
    ck_assert_int_eq(fx_definition(NULL, "f", lines, 1), 0);
    struct fx_found found;
    ck_assert(!fx_find(NULL, 0, &found));
    ck_assert_ptr_null(fx_receipt(NULL, FX_FORMAT_TEXT, NULL));
    ck_assert(!fx_receipt_wants(NULL, NULL, NULL));
    REFUSES(fx_predict(NULL, "f", NULL, 0, NULL, NULL));
    ck_assert_ptr_null(fx_tests(NULL, &n));
    ck_assert_int_eq(n, 0);
    n = 7;
    ck_assert_ptr_null(fx_ablations(NULL, "f", NULL, 0, &n));
    ck_assert_int_eq(n, 0);
    for (int stage = FX_TEXT_AST; stage <= FX_TEXT_VENDOR; stage++)
        ck_assert_ptr_null(fx_text(NULL, (enum fx_text)stage));
    REFUSES(fx_evaluate(NULL, "f", &host, 1, 0, NULL, 1, &value, NULL, FX_BOUND_WORST, NULL, message, sizeof message));
    ck_assert_str_eq(message, "the compilation is NULL");
    REFUSES(fx_evaluate(NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, FX_BOUND_WORST, NULL, NULL, 0));
    char *text = message;
    const struct fx_image no_plan = {0};
    REFUSES(fx_ahead(NULL, 1, "t", false, &text));
    ck_assert_ptr_null(text);
    REFUSES(fx_ahead(&no_plan, 1, "t", false, &text));
    REFUSES(fx_ahead(&no_plan, 1, NULL, true, &text));
    REFUSES(fx_ahead(&no_plan, 1, "t", true, NULL));
    ck_assert_ptr_null(fx_find_kernel(NULL, NULL));
    ck_assert_int_eq(fx_entry_count(NULL), 0);
    ck_assert(fx_is_within(NULL, 1, FX_F32, 1, 1, 0, NULL));
    ck_assert(!fx_is_within(NULL, 1, FX_F32, 2, 1, 0, NULL));
}
END_TEST

/* Of a compilation that is there, the other arguments. */
START_TEST(arguments_that_are_null) {
    fx_compilation *c = compiled(NULL), *refused;
    int64_t integer = 3;
    double value[32];
    char message[128];
    float x[32] = {0};
    const struct fx_host inputs[] = {{.dtype = FX_F32, .rank = 2, .extents = {4, 8}, .data = x}, {.dtype = FX_F32}};
    const struct fx_host empty[] = {{.dtype = FX_F32, .rank = 2, .extents = {0, 8}}, {.dtype = FX_F32, .data = x}};
    ck_assert_int_eq(fx_definition(c, NULL, NULL, 0), 0);
    ck_assert_int_eq(fx_definition(c, "f", NULL, 5), 0);
    ck_assert(!fx_find(c, 0, NULL));
    ck_assert_ptr_nonnull(fx_tests(c, NULL));
    ck_assert_ptr_null(fx_ablations(c, "f", NULL, 3, NULL));
    int n;
    ck_assert_ptr_nonnull(fx_ablations(c, NULL, NULL, 3, &n));
    REFUSES(fx_evaluate(c, "f", inputs, 2, 0, NULL, 32, value, NULL, FX_BOUND_WORST, NULL, message, sizeof message));
    ck_assert_str_eq(message, "a is given no data");
    const struct fx_host no_dtype[] = {{.dtype = (enum fx_dtype)999, .rank = 2, .extents = {4, 8}, .data = x},
        {.dtype = FX_F32, .data = x}};
    REFUSES(fx_evaluate(c, "f", no_dtype, 2, 0, NULL, 32, value, NULL, FX_BOUND_WORST, NULL, message, sizeof message));
    ck_assert_str_eq(message, "x is no dtype, but f32[M,N] is expected");
    REFUSES(fx_evaluate(c, "f", NULL, 2, 0, NULL, 32, value, &integer, FX_BOUND_WORST, NULL, message, sizeof message));
    ck_assert_str_eq(message, "inputs is NULL");
    REFUSES(fx_evaluate(c, "f", inputs, 2, 0, NULL, 32, NULL, NULL, FX_BOUND_WORST, NULL, message, sizeof message));
    ck_assert_str_eq(message, "value is NULL");
    REFUSES(fx_evaluate(c, "f", inputs, 2, 0, NULL, 32, value, NULL, FX_BOUND_WORST, NULL, NULL, 100));
    ck_assert_int_eq(
        fx_evaluate(c, "f", empty, 2, 0, NULL, 0, value, NULL, FX_BOUND_WORST, NULL, message, sizeof message), FX_OK);
    fx_close(c);
    REFUSES(fx_compile(NULL, 5, NULL, NULL, &refused));
    ck_assert_ptr_nonnull(strstr(fx_messages(refused), "the text is NULL, but 5 bytes long"));
    fx_close(refused);
    ck_assert_int_eq(fx_compile(NULL, 0, NULL, NULL, &refused), fx_compile("", 0, NULL, NULL, &c));
    ck_assert_str_eq(fx_messages(refused), fx_messages(c));
    fx_close(c);
    fx_close(refused);
}
END_TEST

START_TEST(contexts_that_are_null) {
    char bytes[4];
    void *p = bytes;
    fx_timer *timer;
    ck_assert_str_eq(fx_context_arch(NULL), "");
    ck_assert_str_eq(fx_context_device(NULL), "");
    ck_assert_int_eq(fx_context_sm_count(NULL), 0);
    fx_context_close(NULL);
    REFUSES(fx_context_open(0, NULL));
    REFUSES(fx_device_alloc(NULL, 4, &p));
    ck_assert_ptr_null(p);
    REFUSES(fx_device_alloc(NULL, 4, NULL));
    fx_device_free(NULL, bytes);
    REFUSES(fx_device_write(NULL, bytes, bytes, 4));
    REFUSES(fx_device_write(NULL, NULL, NULL, 0));
    REFUSES(fx_device_read(NULL, bytes, bytes, 4));
    REFUSES(fx_device_fill(NULL, bytes, 0, 4, NULL));
    REFUSES(fx_stream_open(NULL, &p));
    REFUSES(fx_stream_open(NULL, NULL));
    fx_stream_close(NULL, bytes);
    REFUSES(fx_stream_wait(NULL, NULL));
    REFUSES(fx_timer_open(NULL, &timer));
    ck_assert_ptr_null(timer);
    REFUSES(fx_timer_open(NULL, NULL));
    fx_timer_close(NULL);
    REFUSES(fx_timer_start(NULL, NULL));
    REFUSES(fx_timer_stop(NULL, NULL));
    double microseconds;
    REFUSES(fx_timer_read(NULL, &microseconds));
    REFUSES(fx_timer_read(NULL, NULL));
    ck_assert_str_eq(fx_last_error(), "the place for a time is NULL");
}
END_TEST

START_TEST(prepared_that_are_null) {
    struct fx_resources r;
    fx_prepared *p = (fx_prepared *)&r;
    size_t n = 5;
    fx_prepared_release(NULL);
    REFUSES(fx_prepare(NULL, NULL, NULL, NULL, 0, &p));
    ck_assert_ptr_null(p);
    ck_assert_str_eq(fx_last_error(), "the context is NULL");
    REFUSES(fx_prepare(NULL, NULL, NULL, NULL, 0, NULL));
    REFUSES(fx_workspace_bytes(NULL, NULL, 0, &n));
    ck_assert_int_eq(n, 0);
    REFUSES(fx_workspace_bytes(NULL, NULL, 0, NULL));
    REFUSES(fx_launch(NULL, NULL, 0, NULL, 0, NULL));
    ck_assert_str_eq(fx_last_error(), "what was prepared is NULL");
    ck_assert_ptr_null(fx_chosen_entry(NULL, 0, NULL, 0));
    REFUSES(fx_pin_variant(NULL, 0, 0));
    REFUSES(fx_pin_partition(NULL, 0));
    REFUSES(fx_variant_resources(NULL, 0, 0, &r));
    REFUSES(fx_variant_resources(NULL, 0, 0, NULL));
    fx_constants *c = (fx_constants *)&r;
    fx_constants_release(NULL);
    REFUSES(fx_const_bytes(NULL, NULL, 0, &n));
    REFUSES(fx_const_bytes(NULL, NULL, 0, NULL));
    REFUSES(fx_const_prepare(NULL, NULL, 0, NULL, 0, NULL, &c));
    ck_assert_ptr_null(c);
    REFUSES(fx_const_prepare(NULL, NULL, 0, NULL, 0, NULL, NULL));
    REFUSES(fx_const_workspace_bytes(NULL, NULL, 0, &n));
    REFUSES(fx_const_launch(NULL, NULL, 0, NULL, 0, NULL));
    ck_assert_str_eq(fx_last_error(), "the handle of constants is NULL");
}
END_TEST

/* Without an interpreter: tests/python/direct.py has one. */
START_TEST(python_that_is_null) {
    struct fx_python_arrays arrays = {.size = sizeof arrays};
    struct fx_kernel kernel = {.n_params = 1};
    int object;
    void *like[2] = {NULL};
    REFUSES(fx_python_open(NULL, NULL));
    ck_assert_str_eq(fx_last_error(), "the interpreter is NULL");
    REFUSES(fx_python_open(&object, NULL));
    REFUSES(fx_python_open(NULL, &arrays));
    REFUSES(fx_python_open(&object, &arrays));
    arrays.size = 4;
    REFUSES(fx_python_open(&object, &arrays));
    ck_assert_str_eq(fx_last_error(), "what the arrays are is not said whole");
    ck_assert_ptr_null(fx_python_call(NULL, NULL));
    ck_assert_ptr_null(fx_python_call(&kernel, NULL));
    REFUSES(fx_python_add(NULL, NULL, NULL, false, like, NULL, 0));
    REFUSES(fx_python_add(&object, NULL, NULL, false, like, NULL, 0));
    ck_assert_str_eq(fx_last_error(), "what was prepared is NULL");
}
END_TEST

START_TEST(plans_that_are_null) {
    fx_context *ctx = opened();
    fx_prepared *p;
    bool wanted[8] = {false};
    struct fx_resources r[8];
    REFUSES(fx_prepare(ctx, NULL, NULL, NULL, 0, &p));
    ck_assert_str_eq(fx_last_error(), "the plan is NULL");
    fx_compilation *c = compiled(NULL);
    REFUSES(fx_compile_resources(NULL, NULL, false, wanted, r));
    REFUSES(fx_prepare(ctx, fx_get_plan(c), "none", NULL, 0, &p));
    REFUSES(fx_prepare(ctx, fx_get_plan(c), NULL, &(struct fx_hint){NULL, 4}, 1, &p));
    ck_assert_str_eq(fx_last_error(), "the name of a hint is NULL");
    ck_assert_int_eq(fx_prepare(ctx, fx_get_plan(c), NULL, NULL, 3, &p), FX_OK);
    REFUSES(fx_launch(p, NULL, 3, NULL, 0, NULL));
    REFUSES(fx_launch(p, (struct fx_value[3]){{.tensor = NULL}}, 3, NULL, 0, NULL));
    ck_assert_ptr_null(fx_chosen_entry(p, 0, NULL, 3));
    fx_prepared_release(p);
    ck_assert_int_eq(fx_compile_resources(fx_get_plan(c), NULL, false, wanted, r), FX_OK); /* all, none wanted */
    REFUSES(fx_compile_resources(fx_get_plan(c), fx_get_plan(c)->kernels, false, NULL, r));
    REFUSES(fx_compile_resources(fx_get_plan(c), fx_get_plan(c)->kernels, false, wanted, NULL));
    fx_close(c);
    fx_context_close(ctx);
}
END_TEST

START_TEST(texts_that_are_null) {
    void *image = &image;
    char *log;
    size_t n;
    struct fx_resources r;
    const char *why_not;
    take_fakes();
    ck_assert_int_eq(fx_doctor(NULL, 100), FX_OK);
    fx_cache_describe(NULL, 100);
    REFUSES(fx_nvrtc(NULL, NULL, "sm_90a", false, &image, &n, &log));
    ck_assert_ptr_null(image);
    REFUSES(fx_nvrtc("", NULL, NULL, false, &image, &n, &log));
    REFUSES(fx_nvrtc("", NULL, "sm_90a", false, NULL, NULL, NULL));
    REFUSES(fx_cubin_resources(NULL, 8, "f", &r));
    REFUSES(fx_cubin_resources("12345678", 8, NULL, &r));
    REFUSES(fx_cubin_resources("12345678", 8, "f", NULL));
    ck_assert(!fx_trace_is_on(NULL));
    ck_assert(!fx_trace_is_on(&why_not));
    fx_trace_stage(NULL, NULL, NULL, false);
    fx_trace_stage(NULL, NULL, NULL, true);
}
END_TEST

START_TEST(stages_of_a_trace_that_are_null) {
    setenv("FX_TRACE", "/dev/null", 1);
    ck_assert(fx_trace_is_on(NULL));
    fx_trace_stage(NULL, NULL, NULL, false);
    fx_trace_stage(NULL, "parse", NULL, false);
    fx_trace_stage(NULL, "parse", NULL, true);
    fx_trace_stage(NULL, NULL, NULL, true);
}
END_TEST

START_TEST(an_emulation_that_is_null) {
    fx_context *ctx;
    ck_assert_int_eq(fx_emulate(NULL), FX_OK);
    ck_assert_int_eq(fx_context_open(0, &ctx), FX_OK);
    ck_assert_int_eq(fx_context_sm_count(ctx), 132);
    fx_context_close(ctx);
}
END_TEST

/* ---- the size of options ---- */

/* Of every size there could be, which are taken; `arch` is refused where it is read. */
START_TEST(options_of_every_size) {
    enum { MOST = 8192 };
    struct { struct fx_options options; char beyond[MOST]; } given = {.options = FX_OPTIONS};
    given.options.arch = "nonsense";
    for (size_t size = 0; size <= sizeof given.options + MOST; size++) {
        fx_compilation *c;
        given.options.size = size;
        bool is_taken = size >= offsetof(struct fx_options, tests_only) &&
            size % _Alignof(struct fx_options) == 0 && size <= 4096;
        REFUSES(fx_compile(spec, sizeof spec - 1, NULL, &given.options, &c));
        const char *says = is_taken ? "unknown architecture nonsense" : "which is the size of no struct fx_options";
        ck_assert_msg(strstr(fx_messages(c), says), "%zu: %s", size, fx_messages(c));
        fx_close(c);
    }
}
END_TEST

START_TEST(options_of_a_later_version) {
    struct { struct fx_options options; char beyond[64]; } given = {.options = FX_OPTIONS};
    fx_compilation *c;
    given.options.size = sizeof given;
    ck_assert_int_eq(fx_compile(spec, sizeof spec - 1, NULL, &given.options, &c), FX_OK);
    fx_close(c);
    for (int i = 0; i < 64; i++) {
        memset(given.beyond, 0, sizeof given.beyond);
        given.beyond[i] = 1;
        REFUSES(fx_compile(spec, sizeof spec - 1, NULL, &given.options, &c));
        ck_assert_ptr_nonnull(strstr(fx_messages(c), "options has fields that fx " FX_VERSION " does not know"));
        ck_assert_ptr_null(fx_get_plan(c));
        fx_close(c);
    }
}
END_TEST

/* A program built against an older header hands over a shorter struct: what lies behind it is not its. */
START_TEST(options_of_an_earlier_version) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.size = offsetof(struct fx_options, tests_only);
    memset((char *)&options + options.size, 0x55, sizeof options - options.size);
    ck_assert_int_eq(fx_compile(spec, sizeof spec - 1, NULL, &options, &c), FX_OK);
    ck_assert_ptr_nonnull(fx_text(c, FX_TEXT_CU));
    fx_close(c);
}
END_TEST

START_TEST(options_with_lists_that_are_null) {
    const char *const holes[] = {"M=4", NULL};
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.n_defines = 2;
    REFUSES(fx_compile(spec, sizeof spec - 1, NULL, &options, &c));
    ck_assert_ptr_nonnull(strstr(fx_messages(c), "options.n_defines is 2, but number 0 of options.defines is NULL"));
    fx_close(c);
    options.defines = holes;
    REFUSES(fx_compile(spec, sizeof spec - 1, NULL, &options, &c));
    ck_assert_ptr_nonnull(strstr(fx_messages(c), "number 1 of options.defines"));
    fx_close(c);
    options = (struct fx_options)FX_OPTIONS;
    options.kernel = "f", options.ablate = 1, options.n_ablate_extents = 1;
    REFUSES(fx_compile(spec, sizeof spec - 1, NULL, &options, &c));
    ck_assert_ptr_nonnull(strstr(fx_messages(c), "options.n_ablate_extents is 1"));
    fx_close(c);
}
END_TEST

/* ---- what there is, and what there is not ---- */

START_TEST(the_last_status) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c = compiled(NULL);
    struct fx_lines lines[4];
    int n;
    ck_assert_int_eq(fx_last_status(c), FX_OK);
    ck_assert_ptr_nonnull(fx_text(c, FX_TEXT_IR));
    ck_assert_int_eq(fx_last_status(c), FX_OK);
    ck_assert_ptr_null(fx_ablations(c, "none", NULL, 0, &n));
    ck_assert_int_eq(fx_last_status(c), FX_ERR_USAGE);
    ck_assert_ptr_nonnull(fx_messages_json(c));
    ck_assert_int_eq(fx_last_status(c), FX_OK);
    ck_assert_int_eq(fx_definition(c, "none", lines, 4), 0);
    ck_assert_int_eq(fx_last_status(c), FX_ERR_USAGE);
    ck_assert_int_eq(fx_definition(c, "g", lines, 4), 1);
    ck_assert_int_eq(fx_last_status(c), FX_OK);
    ck_assert_ptr_nonnull(fx_receipt(c, FX_FORMAT_JSON, NULL));
    ck_assert_int_eq(fx_last_status(c), FX_OK);
    fx_close(c);
    options.oracle_only = true;
    c = compiled(&options);
    static const enum fx_text none[] = {FX_TEXT_IR, FX_TEXT_FUSED, FX_TEXT_CU, FX_TEXT_HOST_C, FX_TEXT_HOST_H,
        FX_TEXT_VENDOR};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_ptr_nonnull(fx_text(c, FX_TEXT_FX));
        ck_assert_ptr_null(fx_text(c, none[i]));
        ck_assert_int_eq(fx_last_status(c), FX_ERR_USAGE);
    }
    ck_assert_ptr_null(fx_receipt(c, FX_FORMAT_JSON, NULL));
    ck_assert_int_eq(fx_last_status(c), FX_ERR_USAGE);
    fx_close(c);
    ck_assert_int_eq(fx_compile("kernel", 6, NULL, NULL, &c), FX_ERR_COMPILE);
    ck_assert_int_eq(fx_last_status(c), FX_ERR_COMPILE);
    fx_close(c);
}
END_TEST

/* The price of a product by each of its tiles, at extents that only a launch knows; the receipt stays as it was. */
START_TEST(times_of_variants) {
    static const char product[] = "kernel f(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @ w }";
    struct fx_prediction any, one, none;
    fx_compilation *c;
    ck_assert_int_eq(fx_compile(product, sizeof product - 1, "f.fx", NULL, &c), FX_OK);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), "f");
    const int last = fx_partition_count(k) - 1;
    const struct fx_launch *l = &k->launches[fx_get_partition(k, last).first_launch];
    const int64_t large[] = {8192, 8192, 8192}, small[] = {64, 64, 64}, bad[] = {64, -1, 64};
    char *receipt = strdup(fx_receipt(c, FX_FORMAT_TEXT, NULL));
    ck_assert_int_eq(fx_predict(c, NULL, large, last, NULL, &any), FX_OK);
    double least = INFINITY;
    for (int v = 0; v < l->n_variants; v++) {
        ck_assert_int_eq(fx_predict(c, "f", large, last, &v, &one), FX_OK);
        ck_assert(one.us >= any.us * (1 - 1e-12) || !l->variants[v].cost.n);
        ck_assert(one.us < 1e6 && one.bytes_us == any.bytes_us && one.flops_us == any.flops_us);
        if (l->variants[v].cost.n) least = fmin(least, one.us);
    }
    ck_assert_double_eq_tol(least, any.us, 1e-9 * least);
    ck_assert(any.flops_us > 1000 && any.flops_us < any.us && any.bytes_us < any.flops_us);
    ck_assert_int_eq(fx_predict(c, NULL, small, last, NULL, &one), FX_OK);
    ck_assert(one.us < any.us / 100);
    ck_assert_str_eq(fx_receipt(c, FX_FORMAT_TEXT, NULL), receipt);
    REFUSES(fx_predict(c, "g", small, 0, NULL, &none));
    REFUSES(fx_predict(c, "f", small, last + 1, NULL, &none));
    REFUSES(fx_predict(c, "f", small, -1, NULL, &none));
    REFUSES(fx_predict(c, "f", bad, 0, NULL, &none));
    REFUSES(fx_predict(c, "f", NULL, 0, NULL, &none));
    REFUSES(fx_predict(c, "f", small, 0, NULL, NULL));
    ck_assert_int_eq(fx_last_status(c), FX_ERR_USAGE);
    free(receipt);
    fx_close(c);
}
END_TEST

START_TEST(plans_for_the_oracle_are_not_prepared) {
    struct fx_options options = FX_OPTIONS;
    struct fx_resources r[8];
    const bool wanted[8] = {true};
    fx_prepared *p;
    options.oracle_only = true;
    fx_compilation *c = compiled(&options);
    fx_context *ctx = opened();
    REFUSES(fx_prepare(ctx, fx_get_plan(c), "f", NULL, 0, &p));
    ck_assert_ptr_null(p);
    ck_assert_str_eq(fx_last_error(), "the plan of spec.fx cannot be launched: it was compiled with oracle_only, "
                                      "which stops before any CUDA");
    REFUSES(fx_compile_resources(fx_get_plan(c), fx_get_plan(c)->kernels, false, wanted, r));
    fx_context_close(ctx);
    fx_close(c);
}
END_TEST

/* What was prepared is as it was when its compilation is closed: sizes, launches, refusals with names of the spec,
 * pins. */
START_TEST(a_compilation_closed_before_the_launch) {
    static char memory[512] __attribute__((aligned(256)));
    int64_t shape[] = {4, 8}, wrong[] = {4, 9};
    DLTensor x = {.data = memory, .device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape}, y = x;
    const struct fx_hint hints[] = {{"M", 4}, {"N", 8}};
    fx_context *ctx = opened();
    fx_compilation *c = compiled(NULL);
    fx_prepared *p;
    size_t n_bytes;
    ck_assert_msg(fx_prepare(ctx, fx_get_plan(c), "f", hints, 2, &p) == FX_OK, "%s", fx_last_error());
    fx_close(c);
    y.data = memory + 256;
    struct fx_value args[] = {{.tensor = &x}, {.number = 2}, {.tensor = &y}};
    ck_assert_int_eq(fx_workspace_bytes(p, args, 3, &n_bytes), FX_OK);
    ck_assert_msg(fx_launch(p, args, 3, NULL, 0, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_ptr_nonnull(strstr(fx_chosen_entry(p, 0, args, 3), "fx_f"));
    x.shape = wrong;
    REFUSES(fx_launch(p, args, 3, NULL, 0, NULL));
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "kernel f: "));
    x.shape = shape;
    REFUSES(fx_pin_variant(p, 0, 1000));
    ck_assert_int_eq(fx_pin_variant(p, 0, 0), FX_OK);
    REFUSES(fx_pin_partition(p, 1));
    REFUSES(fx_pin_partition(p, -2));
    ck_assert_int_eq(fx_pin_partition(p, 0), FX_OK);
    fx_prepared_release(p);
    /* One whose plan has more in it: conditions, free extents. */
    c = compiled(NULL);
    ck_assert_int_eq(fx_prepare(ctx, fx_get_plan(c), "g", NULL, 0, &p), FX_OK);
    fx_close(c);
    int64_t many[] = {5000};
    x.shape = y.shape = many, x.ndim = y.ndim = 1;
    REFUSES(fx_launch(p, (struct fx_value[]){{.tensor = &x}, {.tensor = &y}}, 2, NULL, 0, NULL));
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "4096"));
    fx_prepared_release(p);
    fx_context_close(ctx);
}
END_TEST

/* ---- recipes ---- */

/* The copy's block, and what of it the copy points to. */
static const char *block, *block_end;

static void lies_within(const void *p, const char *what) {
    ck_assert_msg(!p || ((const char *)p >= block && (const char *)p < block_end), "%s is not copied", what);
}

static void expr_lies_within(const struct fx_expr *e, const char *what) {
    if (e->n) lies_within(e->terms, what);
}

static void launch_lies_within(const struct fx_launch *l) {
    lies_within(l->name, "a launch's name"), lies_within(l->driver, "a driver");
    expr_lies_within(&l->flops, "flops"), expr_lies_within(&l->bytes, "bytes");
    expr_lies_within(&l->written, "written");
    if (l->n_args) lies_within(l->args, "arguments");
    if (l->n_maps) lies_within(l->maps, "maps");
    for (int i = 0; i < l->n_maps; i++) {
        expr_lies_within(&l->maps[i].offset, "a map's offset");
        for (int d = 0; d < l->maps[i].rank; d++)
            expr_lies_within(&l->maps[i].extents[d], "a map's extent"),
                expr_lies_within(&l->maps[i].strides[d], "a map's stride");
        for (int d = 0; l->maps[i].is_im2col && d < l->maps[i].rank - 2; d++)
            expr_lies_within(&l->maps[i].first[d], "a map's first pixel"),
                expr_lies_within(&l->maps[i].last[d], "a map's last pixel");
    }
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *x = &l->variants[v];
        lies_within(x, "a variant"), lies_within(x->entry, "an entry"), lies_within(x->config, "a configuration");
        expr_lies_within(&x->needs, "needs"), expr_lies_within(&x->prefers, "prefers");
        expr_lies_within(&x->grid, "a grid"), expr_lies_within(&x->smem, "shared memory");
    }
}

/* What is prepared owes the compilation nothing, the tensor maps of its launches neither. */
START_TEST(recipes_hold_all_they_name) {
    static const char text[] =
        "kernel k(x: bf16[M,K], w: bf16[K,F=2*N], s: f32, v: bf16[F,P], b: bf16[N])\n"
        "    -> (y: bf16[M,F], z: bf16[M,P], c: bf16[N]) {\n"
        "  require s > 0 && M > 1\n  y = gelu(s * (x @ w))\n  z = y @ v\n  c = -b\n}\n";
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.arch = "sm_90a";
    ck_assert_int_eq(fx_compile(text, strlen(text), "spec.fx", &options, &c), FX_OK);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    struct fx_kernel *copy = recipe_copy(k);
    ck_assert_ptr_nonnull(copy);
    block = (const char *)copy, block_end = block + malloc_usable_size(copy);
    int n_maps = 0;
    ck_assert(copy->n_equations > 0 && copy->n_checks > 0 && copy->n_extents > 3);
    lies_within(copy->name, "the name"), lies_within(copy->receipt, "the receipt");
    expr_lies_within(&copy->unfused_bytes, "the unfused bytes");
    for (int i = 0; i < copy->n_extents; i++)
        lies_within(&copy->extents[i], "an extent"), lies_within(copy->extents[i].name, "an extent's name");
    for (int i = 0; i < copy->n_params; i++)
        lies_within(&copy->params[i], "a parameter"), lies_within(copy->params[i].name, "a parameter's name");
    for (int i = 0; i < copy->n_equations; i++) {
        lies_within(&copy->equations[i], "an equation"), lies_within(copy->equations[i].text, "an equation's text");
        expr_lies_within(&copy->equations[i].value, "an equation's value");
    }
    for (int i = 0; i < copy->n_buffers; i++) {
        lies_within(&copy->buffers[i], "a buffer"), lies_within(copy->buffers[i].name, "a buffer's name");
        expr_lies_within(&copy->buffers[i].bytes, "a buffer's bytes");
    }
    for (int i = 0; i < copy->n_checks; i++) {
        lies_within(&copy->checks[i], "a condition"), lies_within(copy->checks[i].message, "a message");
        expr_lies_within(&copy->checks[i].holds, "what must hold");
    }
    for (int i = 0; i < copy->n_launches; i++) {
        lies_within(&copy->launches[i], "a launch");
        launch_lies_within(&copy->launches[i]);
        n_maps += copy->launches[i].n_maps;
    }
    ck_assert_int_gt(n_maps, 0);
    free(copy);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("api");
    TCase *tests = tcase_create("api");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, compilations_that_are_null);
    tcase_add_test(tests, arguments_that_are_null);
    tcase_add_test(tests, contexts_that_are_null);
    tcase_add_test(tests, prepared_that_are_null);
    tcase_add_test(tests, python_that_is_null);
    tcase_add_test(tests, plans_that_are_null);
    tcase_add_test(tests, texts_that_are_null);
    tcase_add_test(tests, stages_of_a_trace_that_are_null);
    tcase_add_test(tests, an_emulation_that_is_null);
    tcase_add_test(tests, options_of_every_size);
    tcase_add_test(tests, options_of_a_later_version);
    tcase_add_test(tests, options_of_an_earlier_version);
    tcase_add_test(tests, options_with_lists_that_are_null);
    tcase_add_test(tests, the_last_status);
    tcase_add_test(tests, times_of_variants);
    tcase_add_test(tests, plans_for_the_oracle_are_not_prepared);
    tcase_add_test(tests, a_compilation_closed_before_the_launch);
    tcase_add_test(tests, recipes_hold_all_they_name);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
