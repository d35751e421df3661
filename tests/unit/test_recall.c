/* Launches that recall what the one before found out (runtime/lib/recall.c), over the stand-ins for driver and NVRTC:
 * each of a random sequence is made twice, the second time by a kernel that has just forgotten everything; status,
 * message, calls of the driver and what the kernel is given have to be the same. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fakes.h"
#include "fx.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "suite.h"

/* ---- calls, drawn ---- */

enum { MAX_ARGS = 5, MAX_TAKEN = 16 };

static uint64_t state;
static uint64_t draw(uint64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % n;
}

struct call {
    DLTensor tensors[MAX_ARGS];
    int64_t shapes[MAX_ARGS][FX_MAX_RANK], strides[MAX_ARGS][FX_MAX_RANK];
    struct fx_value values[MAX_ARGS];
    int n;
    void *workspace, *stream;
    size_t workspace_bytes;
};

static const int64_t sizes[] = {64, 128, 129, 1, 0, 4096};
static const uint64_t offsets[] = {0, 0, 0, 256, 16, 8, 4, 2, 1};

static void draw_call(const struct fx_kernel *k, struct call *c, int64_t *extents, bool is_wild) {
    static const struct {
        uint8_t code, bits;
    } dlpack[FX_N_DTYPES] = {[FX_F32] = {2, 32}, [FX_BF16] = {4, 16}, [FX_I32] = {0, 32}, [FX_F64] = {2, 64}};
    if (draw(3) == 0)
        for (int e = 0; e < k->n_extents; e++) /* no argument has those that passes made */
            if (!k->extents[e].is_made) extents[e] = sizes[draw(is_wild ? 6 : 3)];
    *c = (struct call){.n = k->n_params, .stream = (void *)(uintptr_t)draw(2)};
    for (int i = 0; i < c->n; i++) {
        const struct fx_param *p = &k->params[i];
        DLTensor *t = &c->tensors[i];
        c->values[i] = (struct fx_value){.number = (double)draw(4), .integer = (int64_t)draw(is_wild ? 5 : 3)};
        if (p->is_scalar) continue;
        int64_t stride = 1 + (int64_t)draw(2) * (p->is_strided ? 1 : draw(9) == 0);
        *t = (DLTensor){.data = (void *)((UINT64_C(1) << 40) * (uint64_t)(i + 1) + offsets[draw(is_wild ? 9 : 4)]),
            .device = {2, is_wild && draw(30) == 0},
            .ndim = p->rank,
            .dtype = {dlpack[p->dtype].code, dlpack[p->dtype].bits, 1},
            .shape = c->shapes[i],
            .strides = p->is_strided || draw(2) ? c->strides[i] : NULL};
        for (int a = p->rank - 1; a >= 0; a--) {
            c->shapes[i][a] = extents[p->extents[a]], c->strides[i][a] = stride;
            stride *= c->shapes[i][a] ? c->shapes[i][a] : 1;
        }
        if (p->is_strided && t->strides && draw(4) == 0 && p->rank) c->strides[i][0] = -c->strides[i][0];
        if (is_wild && draw(30) == 0) t->data = NULL;
        if (is_wild && draw(30) == 0 && i) t->data = c->tensors[draw((uint64_t)i)].data;
        if (is_wild && draw(30) == 0) t->byte_offset = draw(2) ? 256 : UINT64_MAX - 5;
        if (is_wild && draw(30) == 0) t->dtype.bits = 8;
        if (is_wild && draw(30) == 0 && t->ndim) c->shapes[i][draw((uint64_t)t->ndim)]++;
        if (is_wild && draw(40) == 0) t->ndim++;
        if (draw(60)) c->values[i].tensor = t;
    }
    c->workspace = (void *)((UINT64_C(1) << 50) + (is_wild && draw(20) == 0 ? 8 : 0));
    c->workspace_bytes = is_wild && draw(20) == 0 ? 1 : (size_t)1 << 40;
    if (is_wild && draw(30) == 0) c->workspace = c->tensors[0].data;
    if (is_wild && draw(30) == 0) c->n--;
}

struct outcome {
    fx_status status;
    char message[600], calls[1 << 14];
    uint64_t given[MAX_TAKEN];
    bool makes_maps;
};

/* Maps that are recalled are not made. */
static void copy_calls(const char *from, struct outcome *o) {
    char *to = o->calls;
    for (const char *line = from, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        bool is_map = strncmp(line, "cuTensorMap", 11) == 0;
        o->makes_maps |= is_map;
        if (!is_map) memcpy(to, line, (size_t)(end - line)), to += end - line;
    }
    *to = 0;
}

static void make(const fx_prepared *p, const struct call *c, int n_taken, struct outcome *o) {
    memset(o, 0, sizeof *o);
    cuda.clear();
    cuda.take_arguments(n_taken);
    o->status = fx_launch(p, c->values, c->n, c->workspace, c->workspace_bytes, c->stream);
    if (o->status != FX_OK) snprintf(o->message, sizeof o->message, "%s", fx_last_error());
    copy_calls(cuda.log(), o);
    for (int i = 0; i < n_taken; i++) o->given[i] = cuda.argument(i);
}

static const char *const specs[] = {
    "kernel g(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
    "kernel p(x: f32[M,N], a: f32, n: i32) -> y: f32[M,N] { require n < 2; y = a * x + f32(n) }",
    "kernel s(x: f32[M,N] strided, z: inout f32[N,M] strided) -> y: f32[M,N] strided { y = x + 1; z = x * 2 }",
    "kernel r(x: bf16[M,N] align 16) -> (y: f32[M], z: f32[N]) { y = sum[N](x); z = max[M](x) }",
    "kernel m(x: bf16[M,N], w: bf16[N,K]) -> y: f32[M] { y = sum[K](relu(x @ w)) }",
};

START_TEST(as_the_long_way) {
    static struct outcome first, second;
    use_fakes();
    fx_context *context;
    fx_compilation *c;
    fx_prepared *p;
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    struct fx_options options = FX_OPTIONS;
    options.arch = "sm_90a";
    ck_assert_msg(fx_compile(specs[_i], strlen(specs[_i]), "spec.fx", &options, &c) == FX_OK, "%s", fx_messages(c));
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    ck_assert_msg(fx_prepare(context, fx_get_plan(c), NULL, NULL, 0, &p) == FX_OK, "%s", fx_last_error());
    int n_taken = MAX_TAKEN, n_made = 0, n_refused = 0, n_recalled = 0;
    bool has_maps = true, has_some = false;
    for (int i = 0; i < k->n_launches; i++) {
        has_maps &= k->launches[i].n_maps > 0, has_some |= k->launches[i].n_maps > 0;
        if (k->launches[i].n_args < n_taken) n_taken = k->launches[i].n_args;
    }
    state = 77 + (uint64_t)_i;
    int64_t extents[FX_MAX_EXTENTS] = {64, 64, 64, 64, 64, 64, 64, 64};
    struct call call;
    for (int i = 0; i < 6000; i++) {
        /* every third call is the one before, which is recalled: what is drawn hardly ever comes twice */
        if (i % 3 != 2) draw_call(k, &call, extents, i % 4 == 3);
        make(p, &call, n_taken + has_maps, &first);
        ck_assert_int_eq(fx_pin_partition(p, -1), FX_OK);
        make(p, &call, n_taken + has_maps, &second);
        ck_assert_msg(first.status == second.status, "%d: %s | %s", i, first.message, second.message);
        ck_assert_str_eq(first.message, second.message);
        ck_assert_str_eq(first.calls, second.calls);
        for (int a = 0; first.status == FX_OK && a < n_taken + (second.makes_maps && has_maps); a++)
            ck_assert_msg(first.given[a] == second.given[a], "%d: argument %d: %llx | %llx", i, a,
                (unsigned long long)first.given[a], (unsigned long long)second.given[a]);
        n_recalled += second.makes_maps && !first.makes_maps;
        n_made += first.status == FX_OK, n_refused += first.status != FX_OK;
    }
    ck_assert_int_gt(n_made, 1000);
    ck_assert_int_gt(n_refused, 100);
    if (has_some) ck_assert_int_gt(n_recalled, 500); /* what is recalled makes no map */
    fx_prepared_release(p);
    fx_close(c);
    fx_context_close(context);
}
END_TEST

/* Recalled in truth: the second launch makes no map; another kernel, a pin and what was released are not mixed up. */
START_TEST(recalls) {
    static struct outcome o;
    use_fakes();
    fx_context *context;
    fx_compilation *c;
    fx_prepared *p, *other;
    ck_assert_int_eq(fx_context_open(0, &context), FX_OK);
    ck_assert_msg(fx_compile(specs[0], strlen(specs[0]), "spec.fx", NULL, &c) == FX_OK, "%s", fx_messages(c));
    ck_assert_int_eq(fx_prepare(context, fx_get_plan(c), NULL, NULL, 0, &p), FX_OK);
    ck_assert_int_eq(fx_prepare(context, fx_get_plan(c), NULL, NULL, 0, &other), FX_OK);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int64_t extents[FX_MAX_EXTENTS] = {128, 128, 128};
    struct call call;
    state = 1;
    do draw_call(k, &call, extents, false);
    while (!call.values[0].tensor || !call.values[1].tensor || !call.values[2].tensor || !call.values[3].tensor);
    for (int i = 0; i < 4; i++) {
        call.tensors[i].data = (void *)(UINT64_C(4096) << 20 << i), call.tensors[i].strides = NULL;
        for (int a = 0; a < call.tensors[i].ndim; a++) call.shapes[i][a] = 128;
    }
    make(p, &call, 4, &o);
    ck_assert_int_eq(o.status, FX_OK);
    ck_assert(o.makes_maps);
    make(p, &call, 4, &o);
    ck_assert(!o.makes_maps);
    call.tensors[0].data = (char *)call.tensors[0].data + 4096;
    make(p, &call, 4, &o);
    ck_assert(o.makes_maps);
    make(other, &call, 4, &o);
    ck_assert(o.makes_maps);
    make(p, &call, 4, &o);
    make(p, &call, 4, &o);
    ck_assert(!o.makes_maps);
    ck_assert_int_eq(fx_pin_variant(p, 0, -1), FX_OK);
    make(p, &call, 4, &o);
    ck_assert(o.makes_maps);
    cuda.clear();
    cuda.let_fail("cuLaunchKernel", 1, 2);
    cuda.let_fail("cuLaunchKernelEx", 1, 2);
    ck_assert_int_eq(fx_launch(p, call.values, call.n, NULL, 0, NULL), FX_ERR_GPU);
    make(p, &call, 4, &o);
    ck_assert_int_eq(o.status, FX_OK);
    fx_prepared_release(p);
    fx_prepared_release(other);
    fx_close(c);
    fx_context_close(context);
}
END_TEST

int main(void) {
    Suite *s = suite_create("recall");
    TCase *t = tcase_create("recall");
    tcase_add_loop_test(t, as_the_long_way, 0, (int)(sizeof specs / sizeof *specs));
    tcase_add_test(t, recalls);
    suite_add_tcase(s, t);
    return run_suite(s);
}
