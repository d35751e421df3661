/* The arguments of a call, against the parameters of the kernel. In: borrowed tensors and numbers. Out: extents,
 * addresses and alignments, or a refusal that names the parameter. Runs within a launch: allocates nothing unless it
 * refuses. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/runtime.h"

enum { DEVICE_CUDA = 2, DEVICE_CUDA_MANAGED = 13 };
enum { CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_BFLOAT = 4, CODE_BOOL = 6, CODE_E4M3FN = 10, CODE_E5M2 = 12 };

/* ---- dtype, shape ---- */

static bool find_dtype(DLDataType d, enum fx_dtype *out) {
    static const struct {
        uint8_t code, bits, dtype;
    } rows[] = {
        {CODE_FLOAT, 32, FX_F32},
        {CODE_FLOAT, 16, FX_F16},
        {CODE_BFLOAT, 16, FX_BF16},
        {CODE_FLOAT, 64, FX_F64},
        {CODE_INT, 32, FX_I32},
        {CODE_INT, 64, FX_I64},
        {CODE_INT, 8, FX_I8},
        {CODE_INT, 16, FX_I16},
        {CODE_UINT, 8, FX_U8},
        {CODE_UINT, 32, FX_U32},
        {CODE_UINT, 64, FX_U64},
        {CODE_BOOL, 8, FX_BOOL},
        {CODE_INT, 4, FX_I4},
        {CODE_UINT, 4, FX_U4},
        {CODE_E4M3FN, 8, FX_F8E4M3},
        {CODE_E5M2, 8, FX_F8E5M2},
    };
    for (size_t i = 0; d.lanes == 1 && i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].code != d.code || rows[i].bits != d.bits) continue;
        *out = (enum fx_dtype)rows[i].dtype;
        return true;
    }
    return false;
}

static fx_status read_shape(const struct fx_param *p, const DLTensor *t, struct fx_shape *out) {
    if (!find_dtype(t->dtype, &out->dtype))
        return error_set(FX_ERR_USAGE,
            "%s has a dtype there is no name for (code %d, %d bits, %d lanes), but %s is expected", p->name,
            t->dtype.code, t->dtype.bits, t->dtype.lanes, fx_dtype_name(fx_argument_dtype(p)));
    if (t->ndim < 0 || t->ndim > FX_MAX_RANK || (t->ndim > 0 && !t->shape))
        return error_set(FX_ERR_USAGE, "%s has rank %d%s, but rank %d is expected", p->name, t->ndim,
                         t->ndim > 0 && !t->shape ? " and no shape" : "", p->rank);
    out->rank = t->ndim;
    for (int i = 0; i < t->ndim; i++) out->extents[i] = t->shape[i];
    return FX_OK;
}

/* ---- memory ---- */

/* Axes of extent 1 may have any stride, and so may an empty tensor. */
static fx_status check_strides(
    const struct fx_kernel *k, const struct fx_param *p, const DLTensor *t, int64_t n_elements) {
    int64_t expected = 1;
    if (!t->strides || n_elements == 0) return FX_OK;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != expected)
            return error_set(FX_ERR_USAGE,
                "%s is not contiguous: axis %s has stride %lld, but row-major order has %lld", p->name,
                k->extents[p->extents[i]].name, (long long)t->strides[i], (long long)expected);
        expected *= t->shape[i];
    }
    return FX_OK;
}

static fx_status check_device(const fx_context *ctx, const struct fx_param *p, const DLTensor *t) {
    if (t->device.device_type == DEVICE_CUDA_MANAGED) return FX_OK;
    if (t->device.device_type != DEVICE_CUDA)
        return error_set(FX_ERR_USAGE,
            "%s is on a device of type %d, but CUDA memory (2, or 13 when managed) is expected", p->name,
            t->device.device_type);
    if (t->device.device_id != ctx->device)
        return error_set(FX_ERR_USAGE, "%s is on CUDA device %d, but the kernel is on device %d", p->name,
            t->device.device_id, ctx->device);
    return FX_OK;
}

/* The shape is bound: unless it is empty, the product fits by the language's limits. */
static int64_t count_elements(const DLTensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return 0;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

/* The elements a tensor reaches, counted from its first: *low of them before it, *high behind it. False on overflow. */
static bool reach(const struct fx_param *p, const DLTensor *t, int64_t n, int64_t *low, int64_t *high) {
    *low = 0;
    *high = n - 1;
    if (!p->is_strided || !t->strides || n == 0) return true;
    *high = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t span, *end = t->strides[i] < 0 ? low : high;
        if (__builtin_mul_overflow(t->strides[i], t->shape[i] - 1, &span)) return false;
        if (t->strides[i] < 0 ? __builtin_sub_overflow(*end, span, end) : __builtin_add_overflow(*end, span, end))
            return false;
    }
    return *low < INT64_MAX / 8 && *high < INT64_MAX / 8 - *low;
}

/* Two elements of an output at one address would race. Axes by rising stride:
 * each must step over all that is inside. */
static fx_status check_self_overlap(const struct fx_kernel *k, const struct fx_param *p, const DLTensor *t, int64_t n) {
    if (!p->is_strided || !p->is_output || !t->strides || n == 0) return FX_OK;
    bool is_seen[FX_MAX_RANK];
    int64_t inside = 0; /* elements that the axes taken so far reach beyond the first */
    for (int i = 0; i < t->ndim; i++) is_seen[i] = t->shape[i] == 1;
    for (;;) {
        int least = -1;
        for (int i = 0; i < t->ndim; i++)
            if (!is_seen[i] && (least < 0 || llabs(t->strides[i]) < llabs(t->strides[least]))) least = i;
        if (least < 0) return FX_OK;
        is_seen[least] = true;
        if (llabs(t->strides[least]) <= inside)
            return error_set(FX_ERR_USAGE, "output %s has elements that may share memory: axis %s has stride %lld",
                p->name, k->extents[p->extents[least]].name, (long long)t->strides[least]);
        inside += (t->shape[least] - 1) * llabs(t->strides[least]);
    }
}

/* Bytes of an element, or of a packed tensor's word. */
static int element_bytes(const struct fx_param *p) {
    int bits = fx_dtype_bits(fx_argument_dtype(p));
    return bits < 8 ? 1 : bits / 8;
}

/* The strides a kernel is given: without any the tensor is row-major. Where an axis has one element, or the tensor
 * none, no address needs them. */
static void bind_strides(const struct fx_param *p, const DLTensor *t, int64_t n, int64_t *strides) {
    int64_t row_major = 1;
    for (int i = t->ndim - 1; p->is_strided && i >= 0; i--) {
        strides[i] = n == 0 || t->shape[i] == 1 ? 0 : t->strides ? t->strides[i] : row_major;
        if (n) row_major *= t->shape[i];
    }
}

/* Where the tensor lies. */
static fx_status bind_memory(const struct fx_param *p, const DLTensor *t, int64_t n, int i, struct bound *out) {
    int64_t bytes = element_bytes(p), low, high;
    bool fits = reach(p, t, n, &low, &high) &&
                !__builtin_add_overflow((uint64_t)(uintptr_t)t->data, t->byte_offset, &out->slots[i]);
    if (fits) {
        out->n_bytes[i] = (size_t)((low + high + 1) * bytes);
        out->starts[i] = out->slots[i] - (uint64_t)(low * bytes);
        fits = out->slots[i] <= UINT64_MAX - (uint64_t)((high + 1) * bytes) &&
               (!t->data || out->starts[i] <= out->slots[i]);
    }
    if (!fits) return error_set(FX_ERR_USAGE, "%s ends beyond the address space", p->name);
    out->align[i] = address_alignment(out->slots[i]);
    return FX_OK;
}

static fx_status check_address(const struct fx_param *p, const DLTensor *t, int64_t n, uint64_t address) {
    int bytes = element_bytes(p);
    if (n == 0) return FX_OK;
    if (!t->data)
        return error_set(FX_ERR_USAGE, "%s has %lld elements, but its address is NULL", p->name, (long long)n);
    if (address % (unsigned)bytes)
        return error_set(
            FX_ERR_USAGE, "%s is at an address that is no multiple of its element's %d bytes", p->name, bytes);
    if (p->align && address % (unsigned)p->align)
        return error_set(FX_ERR_USAGE,
            "%s is at an address that is no multiple of %d bytes, which the spec promises: `align %d`", p->name,
            p->align, p->align);
    return FX_OK;
}

/* Whether the contents of a parameter count: of all in a launch, of `const` ones where they are looked at once. */
static bool counts(const struct fx_param *p, enum bound_for what) {
    return what == FOR_LAUNCH || (what == FOR_CONSTANTS && p->is_const);
}

static fx_status bind_tensor(
    const fx_prepared *prepared, int i, const DLTensor *t, enum bound_for what, struct bound *out) {
    const struct fx_param *p = &prepared->kernel->params[i];
    int64_t n = count_elements(t);
    fx_status status = p->is_strided ? FX_OK : check_strides(prepared->kernel, p, t, n);
    if (status == FX_OK) status = bind_memory(p, t, n, i, out);
    bind_strides(p, t, n, out->strides + fx_stride_index(i, 0));
    if (status == FX_OK) status = check_self_overlap(prepared->kernel, p, t, n);
    if (status == FX_OK && counts(p, what)) status = check_device(prepared->ctx, p, t);
    return status == FX_OK && counts(p, what) ? check_address(p, t, n, out->slots[i]) : status;
}

/* Two inputs may share memory; what is written shares it with nothing, an `inout` tensor being one argument. */
static fx_status check_overlap(const struct fx_kernel *k, const struct bound *b) {
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_output && j < k->n_params; j++)
            if (i != j && memory_overlaps(b, i, j))
                return error_set(FX_ERR_USAGE, "%s %s shares memory with %s",
                    k->params[i].is_input ? "inout" : "output", k->params[i].name, k->params[j].name);
    return FX_OK;
}

/* ---- scalars ---- */

static bool fits(enum fx_dtype t, int64_t v) {
    int bits = fx_dtype_bits(t);
    if (bits == 64) return true;
    if (t == FX_BOOL) return v == 0 || v == 1;
    if (fx_dtype_class_of(t) == FX_CLASS_U) return v >= 0 && v < INT64_C(1) << bits;
    return v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1);
}

static fx_status bind_scalar(const struct fx_param *p, const struct fx_value *v, uint64_t *slot) {
    *slot = 0;
    if (v->tensor) return error_set(FX_ERR_USAGE, "%s is a scalar, but a tensor is given", p->name);
    if (fx_dtype_class_of(p->dtype) == FX_CLASS_F) {
        fx_store_double(p->dtype, slot, 0, v->number);
        return FX_OK;
    }
    if (!fits(p->dtype, v->integer))
        return error_set(
            FX_ERR_USAGE, "%s is %lld, which %s cannot hold", p->name, (long long)v->integer, fx_dtype_name(p->dtype));
    /* The kernel reads the low bytes, which come first. */
    memcpy(slot, &v->integer, sizeof *slot);
    return FX_OK;
}

/* Conditions on scalars, whose values lie in the slots. */
static fx_status check_scalars(const struct fx_kernel *k, const struct bound *b) {
    const void *scalars[FX_MAX_PARAMS];
    char message[512];
    for (int i = 0; i < k->n_params; i++) scalars[i] = k->params[i].is_scalar ? &b->slots[i] : NULL;
    fx_status status = fx_check_scalars(k, b->extents, scalars, message, sizeof message);
    return status == FX_OK ? FX_OK : error_set(status, "%s", message);
}

fx_status arguments_bind_scalars(const fx_prepared *p, const struct fx_value *args, struct bound *out) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < p->kernel->n_params; i++)
        if (p->kernel->params[i].is_scalar) status = bind_scalar(&p->kernel->params[i], &args[i], &out->slots[i]);
    return status == FX_OK ? check_scalars(p->kernel, out) : status;
}

/* ---- all of them ---- */

static fx_status bind_shapes(
    const struct fx_kernel *k, const struct fx_value *args, enum bound_for what, int64_t *extents) {
    struct fx_shape shapes[FX_MAX_PARAMS];
    const struct fx_shape *known[FX_MAX_PARAMS];
    char message[512];
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        known[i] = NULL;
        if (p->is_scalar) continue;
        if (!args[i].tensor && counts(p, what))
            return error_set(FX_ERR_USAGE, "%s is a tensor, but none is given", p->name);
        if (!args[i].tensor) continue;
        fx_status status = read_shape(p, args[i].tensor, &shapes[i]);
        if (status != FX_OK) return status;
        known[i] = &shapes[i];
    }
    fx_status status = fx_bind_extents(k, known, extents, message, sizeof message);
    return status == FX_OK ? FX_OK : error_set(status, "%s", message);
}

fx_status arguments_bind(
    const fx_prepared *p, const struct fx_value *args, int n_args, enum bound_for what, struct bound *out) {
    const struct fx_kernel *k = p->kernel;
    if (n_args != k->n_params || (n_args > 0 && !args))
        return error_set(
            FX_ERR_USAGE, "kernel %s takes %d arguments, but %d are given", k->name, k->n_params, args ? n_args : 0);
    fx_status status = bind_shapes(k, args, what, out->extents);
    for (int i = 0; status == FX_OK && i < k->n_params; i++) {
        out->n_bytes[i] = out->slots[i] = out->starts[i] = 0;
        out->align[i] = ADDRESS_ALIGN;
        if (k->params[i].is_scalar) status = bind_scalar(&k->params[i], &args[i], &out->slots[i]);
        else if (args[i].tensor) status = bind_tensor(p, i, args[i].tensor, what, out);
    }
    if (status == FX_OK && what == FOR_LAUNCH) status = check_scalars(k, out);
    if (status == FX_OK && what == FOR_LAUNCH) status = check_overlap(k, out);
    return status == FX_OK ? FX_OK : error_set(status, "kernel %s: %s", k->name, fx_last_error());
}
