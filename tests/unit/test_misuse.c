/* Everything that can go wrong around a launch, a check each, over the stand-ins for driver and NVRTC: every argument
 * of a call spoilt in every way, in every call that takes arguments; every call that is made of the driver failing;
 * every call of NVRTC failing, by every code. Each must be a status with a message, enqueue nothing, leave nothing
 * behind, and the same call must work afterwards. Check's own line counts the cases. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes.h"
#include "fx.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "suite.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- kernels ---- */

enum { MAX_PARAMS = 5, M = 64, K = 32, N = 48, TENSOR_BYTES = 1 << 20 };

static const struct spec {
    const char *text;
    bool has_constants;
    const struct fx_hint hints[3];
    int n_hints;
} specs[] = {
    /* tensor maps, a cluster where that is chosen */
    {"kernel f(x: f16[M,K], w: f16[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }", false,
        {{"M", M}, {"K", K}, {"N", N}}, 3},
    {"kernel f(x: f32[M,N], w: const f32[K,N], v: const f32[K]) -> y: f32[M,N] { y = x * sum[K](w * v) }", true,
        {{"M", M}, {"K", K}, {"N", N}}, 3},
    /* in place, any strides, scalars, an alignment that the spec promises */
    {"kernel f(x: inout f32[M,N], g: f32[M,N] strided, b: f32[N] align 16, n: i8) -> y: f32[M,N] "
     "{ y = g * b + f32(n); x = x + g }",
        false, {{"M", M}, {"N", N}}, 2},
    /* rows in parts, with a workspace between two launches */
    {"kernel f(x: f32[M,N]) -> y: f32[N] { y = softmax[N](sum[M](x)) }", false, {{"M", M}, {"N", N}}, 2},
    /* blocks that wait for each other */
    {"kernel f(x: f16[M=256,K=512], w: f16[K,N=256]) -> y: f16[M,N] with { fuse: require } "
     "{ y = f16(rmsnorm[K](f32(x))) @ w }",
        false, {{0}}, 0},
    /* windows by tensor maps */
    {"kernel f(x: bf16[B=2,H=14,W=14,C=64], k: bf16[U=3,V=3,C,N=64]) -> y: f32[B,H,W,N] "
     "{ y = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) }",
        false, {{0}}, 0},
};

static struct loaded { /* a spec */
    fx_compilation *compiled;
    fx_prepared *prepared;
} all[COUNT(specs)];
static fx_context *context;
static char memory[MAX_PARAMS + 2][TENSOR_BYTES] __attribute__((aligned(256)));

struct call { /* of a spec, with arguments that are right */
    const struct fx_kernel *kernel;
    DLTensor tensors[MAX_PARAMS];
    int64_t shapes[MAX_PARAMS][FX_MAX_RANK], strides[MAX_PARAMS][FX_MAX_RANK];
    struct fx_value values[MAX_PARAMS];
    int n;
    void *workspace;
    size_t workspace_bytes;
};

static int64_t extent_of(const struct fx_kernel *k, int label) {
    const char *name = k->extents[label].name;
    if (k->extents[label].value >= 0) return k->extents[label].value;
    return *name == 'M' ? M : *name == 'K' ? K : N;
}

static void make_call(const struct fx_kernel *k, struct call *c) {
    static const struct {
        uint8_t code, bits;
    } dtypes[] = {[FX_F32] = {2, 32}, [FX_F16] = {2, 16}, [FX_BF16] = {4, 16}};
    *c = (struct call){.kernel = k, .n = k->n_params, .workspace = memory[MAX_PARAMS], .workspace_bytes = TENSOR_BYTES};
    ck_assert_int_le(k->n_params, MAX_PARAMS);
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        int64_t stride = 1;
        if (p->is_scalar) continue;
        for (int axis = p->rank - 1; axis >= 0; axis--) {
            c->shapes[i][axis] = extent_of(k, p->extents[axis]);
            c->strides[i][axis] = stride;
            stride *= c->shapes[i][axis];
        }
        c->tensors[i] = (DLTensor){.data = memory[i],
            .device = {2, 0},
            .ndim = p->rank,
            .dtype = {dtypes[p->dtype].code, dtypes[p->dtype].bits, 1},
            .shape = c->shapes[i],
            .strides = c->strides[i]};
        c->values[i].tensor = &c->tensors[i];
    }
}

/* ---- spoilt arguments ---- */

enum way { LAUNCH, SIZES, CONST_BYTES, CONST_PREPARE, CONST_LAUNCH, N_WAYS };
static const char *const way_names[] = {
    "fx_launch", "fx_workspace_bytes", "fx_const_bytes", "fx_const_prepare", "fx_const_launch"};

enum of { SHAPE, CONTENTS, SCALAR, WHOLE };
enum spoilt {
    NO_TENSOR,
    CODE,
    BITS,
    LANES,
    RANK_LESS,
    RANK_MORE,
    RANK_NEGATIVE,
    RANK_HUGE,
    NO_SHAPE,
    EXTENT_NEGATIVE,
    EXTENT_HUGE,
    FIRST_EXTENT,
    LAST_EXTENT,
    FIRST_STRIDE,
    LAST_STRIDE,
    DEVICE_TYPE,
    DEVICE,
    NO_DATA,
    ODD_ADDRESS,
    HALF_ADDRESS,
    PAST_THE_END,
    SHARED,
    SCALAR_TENSOR,
    SCALAR_MORE,
    SCALAR_LESS,
    FEWER,
    MORE,
    NONE,
    NO_WORKSPACE,
    SMALL_WORKSPACE,
    ODD_WORKSPACE,
    SHARED_WORKSPACE,
    N_SPOILT
};
static const struct {
    const char *name;
    enum of of;
} spoilts[] = {{"no tensor", CONTENTS}, {"code of the dtype", SHAPE}, {"bits", SHAPE}, {"lanes", SHAPE},
    {"a rank less", SHAPE}, {"a rank more", SHAPE}, {"rank -1", SHAPE}, {"rank 1000", SHAPE}, {"no shape", SHAPE},
    {"extent -1", SHAPE}, {"extent 2^41", SHAPE}, {"another first extent", SHAPE}, {"another last extent", SHAPE},
    {"first stride", SHAPE}, {"last stride", SHAPE}, {"host memory", CONTENTS}, {"device 1", CONTENTS},
    {"no data", CONTENTS}, {"odd address", CONTENTS}, {"address off a promise", CONTENTS}, {"past the end", SHAPE},
    {"shared", CONTENTS}, {"tensor for a scalar", SCALAR}, {"scalar too large", SCALAR}, {"scalar too small", SCALAR},
    {"one less", WHOLE}, {"one more", WHOLE}, {"none", WHOLE}, {"no workspace", WHOLE}, {"small workspace", WHOLE},
    {"workspace off", WHOLE}, {"shared workspace", WHOLE}};

struct spoil {
    int spec, param;
    enum way way;
    enum spoilt what;
};
static struct spoil spoils[4096];
static int n_spoils;

/* Whether another tensor of the call has the label too. */
static bool is_bound_twice(const struct fx_kernel *k, int param, int label) {
    int n = 0;
    for (int i = 0; i < k->n_params; i++)
        for (int axis = 0; i != param && axis < k->params[i].rank; axis++) n += k->params[i].extents[axis] == label;
    return n > 0;
}

/* Spoils the call; false where that spoils nothing. */
static bool spoil(struct call *c, const struct spoil *s, size_t needed) {
    const struct fx_param *p = &c->kernel->params[s->param];
    DLTensor *t = &c->tensors[s->param];
    const int last = p->rank - 1, output = c->kernel->n_params - 1;
    const bool is_const_only = s->way == CONST_PREPARE && !p->is_const; /* whose contents nobody reads */
    if (spoilts[s->what].of == SHAPE && p->is_scalar) return false;
    if (spoilts[s->what].of == CONTENTS && (p->is_scalar || is_const_only)) return false;
    if (spoilts[s->what].of == SCALAR && (!p->is_scalar || s->way != LAUNCH)) return false;
    switch (s->what) {
    case NO_TENSOR: c->values[s->param].tensor = NULL; return true;
    case CODE: t->dtype.code = 7; return true;
    case BITS: t->dtype.bits = t->dtype.bits == 16 ? 32 : 64; return true;
    case LANES: t->dtype.lanes = 2; return true;
    case RANK_LESS: t->ndim--; return true;
    case RANK_MORE: t->ndim++, c->shapes[s->param][p->rank] = 1, c->strides[s->param][p->rank] = 1; return true;
    case RANK_NEGATIVE: t->ndim = -1; return true;
    case RANK_HUGE: t->ndim = 1000; return true;
    case NO_SHAPE: t->shape = NULL; return true;
    case EXTENT_NEGATIVE: t->shape[0] = -1; return true;
    case EXTENT_HUGE: t->shape[0] = (int64_t)1 << 41; return true;
    case FIRST_EXTENT: t->shape[0]++; return is_bound_twice(c->kernel, s->param, p->extents[0]);
    case LAST_EXTENT: t->shape[last]++; return last > 0 && is_bound_twice(c->kernel, s->param, p->extents[last]);
    case FIRST_STRIDE: t->strides[0]++; return !p->is_strided;
    case LAST_STRIDE: t->strides[last] = 2; return !p->is_strided && last > 0;
    case DEVICE_TYPE: t->device.device_type = 1; return true;
    case DEVICE: t->device.device_id = 1; return true;
    case NO_DATA: t->data = NULL; return true;
    case ODD_ADDRESS: t->byte_offset = 1; return true;
    case HALF_ADDRESS: t->byte_offset = 8; return p->align > 8;
    case PAST_THE_END: t->byte_offset = UINT64_MAX - 4095; return true;
    case SHARED:
        if (p->is_output) t->data = memory[s->param == output ? 0 : output];
        else c->tensors[output].data = t->data;
        return s->way == LAUNCH || s->way == CONST_LAUNCH;
    case SCALAR_TENSOR: c->values[s->param].tensor = &c->tensors[0]; return true;
    case SCALAR_MORE: c->values[s->param].integer = 128; return true;
    case SCALAR_LESS: c->values[s->param].integer = -129; return true;
    case FEWER: c->n--; return s->param == 0;
    case MORE: c->n++; return s->param == 0;
    case NONE: c->n = 0; return s->param == 0;
    case NO_WORKSPACE: c->workspace = NULL; return s->param == 0 && needed;
    case SMALL_WORKSPACE: c->workspace_bytes = needed - 1; return s->param == 0 && needed;
    case ODD_WORKSPACE: c->workspace = memory[MAX_PARAMS] + 8; return s->param == 0 && needed;
    case SHARED_WORKSPACE: c->workspace = t->data; return !p->is_scalar && !is_const_only && needed;
    default: return false;
    }
}

/* Bytes that a way takes of memory besides its tensors; `constants` is made of a call that is right. */
static size_t needed_by(const struct spoil *s, const struct call *right, fx_constants **constants) {
    size_t n = 0;
    const fx_prepared *p = all[s->spec].prepared;
    *constants = NULL;
    if (s->way == LAUNCH) ck_assert_int_eq(fx_workspace_bytes(p, right->values, right->n, &n), FX_OK);
    if (s->way == CONST_PREPARE) ck_assert_int_eq(fx_const_bytes(p, right->values, right->n, &n), FX_OK);
    if (s->way != CONST_LAUNCH) return n;
    ck_assert_msg(
        fx_const_prepare(p, right->values, right->n, memory[MAX_PARAMS + 1], TENSOR_BYTES, NULL, constants) == FX_OK,
        "%s", fx_last_error());
    ck_assert_int_eq(fx_const_workspace_bytes(*constants, right->values, right->n, &n), FX_OK);
    return n;
}

static fx_status take(const struct spoil *s, const struct call *c, fx_constants *constants) {
    const fx_prepared *p = all[s->spec].prepared;
    size_t n_bytes;
    fx_status status;
    fx_constants *made = NULL;
    switch (s->way) {
    case LAUNCH: return fx_launch(p, c->values, c->n, c->workspace, c->workspace_bytes, NULL);
    case SIZES: return fx_workspace_bytes(p, c->values, c->n, &n_bytes);
    case CONST_BYTES: return fx_const_bytes(p, c->values, c->n, &n_bytes);
    case CONST_PREPARE:
        status = fx_const_prepare(p, c->values, c->n, c->workspace, c->workspace_bytes, NULL, &made);
        ck_assert((made != NULL) == (status == FX_OK));
        fx_constants_release(made);
        return status;
    default: return fx_const_launch(constants, c->values, c->n, c->workspace, c->workspace_bytes, NULL);
    }
}

START_TEST(arguments_that_are_wrong) {
    const struct spoil *s = &spoils[_i];
    const struct fx_kernel *k = &fx_get_plan(all[s->spec].compiled)->kernels[0];
    struct call right, wrong;
    fx_constants *constants;
    make_call(k, &right);
    make_call(k, &wrong);
    size_t needed = needed_by(s, &right, &constants);
    ck_assert(spoil(&wrong, s, needed));
    cuda.clear();
    int live = cuda.live();
    for (int turn = 0; turn < 2; turn++) { /* the second time something is recalled of a launch that was right */
        fx_status status = take(s, &wrong, constants);
        ck_assert_msg(status == FX_ERR_USAGE, "%s, %s of %s: status %d, \"%s\"", way_names[s->way],
            spoilts[s->what].name, k->params[s->param].name, status, status == FX_OK ? "" : fx_last_error());
        ck_assert_msg(strncmp(fx_last_error(), "kernel f", 8) == 0, "%s, %s of %s: \"%s\"", way_names[s->way],
            spoilts[s->what].name, k->params[s->param].name, fx_last_error());
        if (turn == 0) ck_assert_msg(!strstr(cuda.log(), "cuLaunch"), "%s", cuda.log());
        ck_assert_int_eq(cuda.live(), live);
        ck_assert_int_eq(cuda.depth(), 0);
        ck_assert_msg(take(s, &right, constants) == FX_OK, "%s", fx_last_error());
    }
    fx_constants_release(constants);
}
END_TEST

/* A call whose contents do not count takes no fault in them. */
static bool looks_at(enum way way, enum spoilt what) {
    enum of of = spoilts[what].of;
    if (way == SIZES || way == CONST_BYTES) return of == SHAPE || what == FEWER || what == MORE || what == NONE;
    return true;
}

static void list_spoils(void) {
    for (int spec = 0; spec < COUNT(specs); spec++) {
        const struct fx_kernel *k = &fx_get_plan(all[spec].compiled)->kernels[0];
        for (int way = 0; way < N_WAYS; way++) {
            if (way >= CONST_BYTES && !specs[spec].has_constants) continue;
            for (int what = 0; what < N_SPOILT; what++) {
                for (int param = 0; param < k->n_params; param++) {
                    struct spoil s = {.spec = spec, .param = param, .way = way, .what = what};
                    struct call c;
                    fx_constants *constants;
                    make_call(k, &c);
                    size_t needed = needed_by(&s, &c, &constants);
                    ck_assert_int_lt(n_spoils, COUNT(spoils));
                    if (looks_at(way, what) && spoil(&c, &s, needed)) spoils[n_spoils++] = s;
                    fx_constants_release(constants);
                }
            }
        }
    }
}

/* ---- a driver that fails ---- */

static const char *const driver_names[] = {
#define DRIVER(name, symbol, parameters) symbol,
#include "lib/cuda_api.def"
};
static struct {
    int name, nth;
    bool is_told; /* it is made by a call that returns a status */
} faults[4096];
static int n_faults;
static char told[1 << 16]; /* the log as the last of those calls returned */

static fx_status walk_kernel(fx_context *ctx, int spec, void *stream) {
    fx_prepared *p = NULL;
    fx_constants *constants = NULL;
    struct call c;
    make_call(&fx_get_plan(all[spec].compiled)->kernels[0], &c);
    fx_status status = fx_prepare(
        ctx, fx_get_plan(all[spec].compiled), NULL, specs[spec].hints, specs[spec].n_hints, &p);
    if (status == FX_OK) status = fx_launch(p, c.values, c.n, c.workspace, c.workspace_bytes, stream);
    if (status == FX_OK && specs[spec].has_constants) {
        status = fx_const_prepare(p, c.values, c.n, memory[MAX_PARAMS + 1], TENSOR_BYTES, stream, &constants);
        if (status == FX_OK) status = fx_const_launch(constants, c.values, c.n, c.workspace, c.workspace_bytes, stream);
    }
    fx_constants_release(constants);
    fx_prepared_release(p);
    return status;
}

/* In a context that is current. */
static fx_status walk_within(void) {
    fx_context *ctx = NULL;
    void *popped;
    cuda.make_current();
    fx_status status = fx_context_open(0, &ctx);
    fx_context_close(ctx);
    (void)cuda_driver.cuCtxPopCurrent(&popped);
    return status;
}

/* Everything that the driver is used for. */
static fx_status walk(void) {
    fx_context *ctx = NULL;
    fx_timer *timer = NULL;
    void *stream = NULL, *place = NULL;
    double us = 0;
    float value = 1;
    fx_status status = walk_within();
    if (status == FX_OK) status = fx_context_open(0, &ctx);
    if (status == FX_OK) status = fx_stream_open(ctx, &stream);
    if (status == FX_OK) status = fx_timer_open(ctx, &timer);
    if (status == FX_OK) status = fx_device_alloc(ctx, 64, &place);
    if (status == FX_OK) status = fx_device_write(ctx, place, &value, sizeof value);
    if (status == FX_OK) status = fx_device_fill(ctx, place, 0, 4, stream);
    if (status == FX_OK) status = fx_timer_start(timer, stream);
    for (int spec = 0; spec < COUNT(specs) && status == FX_OK; spec++) status = walk_kernel(ctx, spec, stream);
    if (status == FX_OK) status = fx_timer_stop(timer, stream);
    if (status == FX_OK) status = fx_stream_wait(ctx, stream);
    if (status == FX_OK) status = fx_device_read(ctx, &value, place, sizeof value);
    if (status == FX_OK) status = fx_timer_read(timer, &us);
    snprintf(told, sizeof told, "%s", cuda.log());
    fx_device_free(ctx, place);
    fx_timer_close(timer);
    fx_stream_close(ctx, stream);
    fx_context_close(ctx);
    return status;
}

static int count_calls(const char *log, const char *name) {
    int n = 0;
    for (const char *at = log; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        n += strncmp(at, name, strlen(name)) == 0 && strchr(" \n", at[strlen(name)]);
    return n;
}

static bool gives_back(const char *name) {
    static const char *const words[] = {"Unload", "Release", "Free", "Destroy", "PopCurrent", "Error", "GetVersion"};
    for (int i = 0; i < COUNT(words); i++)
        if (strstr(name, words[i])) return true;
    return false;
}

static void list_faults(void) {
    cuda.clear();
    ck_assert_msg(walk() == FX_OK, "%s", fx_last_error());
    for (int name = 0; name < COUNT(driver_names); name++) {
        int n = count_calls(cuda.log(), driver_names[name]), n_told = count_calls(told, driver_names[name]);
        ck_assert_msg(n || strstr(driver_names[name], "cuGetError"), "%s is not called", driver_names[name]);
        for (int nth = 1; nth <= n; nth++) {
            ck_assert_int_lt(n_faults, COUNT(faults));
            faults[n_faults].name = name, faults[n_faults].nth = nth;
            faults[n_faults++].is_told = nth <= n_told && !gives_back(driver_names[name]);
        }
    }
}

START_TEST(a_driver_call_fails) {
    static const int codes[] = {1, 2, 201, 700, 999};
    const char *name = driver_names[faults[_i].name];
    int nth = faults[_i].nth, code = codes[_i % COUNT(codes)], live = cuda.live();
    cuda.clear();
    cuda.let_fail(name, nth, code);
    fx_status status = walk();
    ck_assert_msg(cuda.has_failed(), "%s, call %d was not made", name, nth);
    if (status != FX_OK) {
        char number[16];
        snprintf(number, sizeof number, "(%d, ", code);
        ck_assert_int_eq(status, FX_ERR_GPU);
        ck_assert_msg(strstr(fx_last_error(), number) && strstr(fx_last_error(), ".c:"), "%s, call %d: %s", name, nth,
            fx_last_error());
    } else ck_assert_msg(!faults[_i].is_told, "%s, call %d: nobody was told of error %d", name, nth, code);
    ck_assert_int_eq(cuda.depth(), 0);
    ck_assert_int_eq(nvrtc.live(), 0);
    /* what lives in a context that is lost goes with it */
    if (code != 700 && faults[_i].is_told)
        ck_assert_msg(cuda.live() == live, "%s, call %d: %d objects are left", name, nth, cuda.live() - live);
    cuda.clear();
    ck_assert_msg(walk() == FX_OK, "after %s, call %d: %s", name, nth, fx_last_error());
}
END_TEST

/* ---- an NVRTC that fails ---- */

static const char *const nvrtc_names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog", "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "nvrtcDestroyProgram", "nvrtcGetPTXSize",
    "nvrtcGetPTX"};
enum { N_CODES = 18 }; /* the last one is none that NVRTC has a name for */

static fx_status build(bool ptx, const char *source) {
    struct fx_plan plan = *fx_get_plan(all[0].compiled);
    fx_prepared *p = NULL;
    void *image = NULL;
    char *log = NULL;
    size_t n;
    plan.source = source;
    fx_status status = ptx ? fx_nvrtc(source, "s.cu", "sm_90a", true, &image, &n, &log)
                           : fx_prepare(context, &plan, NULL, specs[0].hints, specs[0].n_hints, &p);
    ck_assert((status == FX_OK) == (p || image));
    fx_prepared_release(p);
    free(image);
    free(log);
    return status;
}

START_TEST(an_nvrtc_call_fails) {
    const char *name = nvrtc_names[_i / N_CODES];
    int code = _i % N_CODES + 1;
    bool ptx = strstr(name, "PTX") != NULL;
    nvrtc.behave(10, 0, 13);
    nvrtc.clear();
    nvrtc.let_fail(name, 1, code);
    ck_assert_int_eq(build(ptx, name), code == 1 ? FX_ERR_NOMEM : FX_ERR_TOOLCHAIN);
    ck_assert_msg(
        strstr(fx_last_error(), code < N_CODES ? "NVRTC_ERROR_" : "an unknown NVRTC error"), "%s", fx_last_error());
    ck_assert_int_eq(nvrtc.live(), 0);
    nvrtc.clear();
    ck_assert_msg(build(ptx, name) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(nvrtc.live(), 0);
}
END_TEST

/* ---- once for all cases, each of which runs in a process made of this one ---- */

START_TEST(what_is_right_works) {
    use_fakes();
    ck_assert_msg(fx_context_open(0, &context) == FX_OK, "%s", fx_last_error());
    for (int i = 0; i < COUNT(specs); i++) {
        struct fx_options o = FX_OPTIONS;
        o.arch = "sm_90a";
        ck_assert_msg(fx_compile(specs[i].text, strlen(specs[i].text), "spec.fx", &o, &all[i].compiled) == FX_OK, "%s",
            fx_messages(all[i].compiled));
        ck_assert_msg(fx_prepare(context, fx_get_plan(all[i].compiled), NULL, specs[i].hints, specs[i].n_hints,
                          &all[i].prepared) == FX_OK,
            "%s", fx_last_error());
    }
    list_spoils();
    list_faults();
}
END_TEST

static void close_all(void) {
    for (int i = 0; i < COUNT(specs); i++) {
        fx_prepared_release(all[i].prepared);
        fx_close(all[i].compiled);
    }
    fx_context_close(context);
}

/* It runs in this process, and leaves there what the others begin with. */
static int set_up(void) {
    Suite *suite = suite_create("set-up");
    TCase *first = tcase_create("first");
    tcase_add_test(first, what_is_right_works);
    suite_add_tcase(suite, first);
    SRunner *r = srunner_create(suite);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int n_failed = srunner_ntests_failed(r);
    srunner_free(r);
    return n_failed;
}

int main(void) {
    if (set_up()) return 1;
    Suite *suite = suite_create("misuse");
    TCase *arguments = tcase_create("arguments"), *driver = tcase_create("driver"), *compiler = tcase_create("nvrtc");
    tcase_add_loop_test(arguments, arguments_that_are_wrong, 0, n_spoils);
    tcase_add_loop_test(driver, a_driver_call_fails, 0, n_faults);
    tcase_add_loop_test(compiler, an_nvrtc_call_fails, 0, COUNT(nvrtc_names) * N_CODES);
    suite_add_tcase(suite, arguments);
    suite_add_tcase(suite, driver);
    suite_add_tcase(suite, compiler);
    printf(
        "%d spoilt arguments, %d calls of the driver, %d of NVRTC\n", n_spoils, n_faults, COUNT(nvrtc_names) * N_CODES);
    fflush(stdout);
    int status = run_suite(suite);
    close_all();
    return status;
}
