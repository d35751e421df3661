/* What every kind of kernel the language has computes on the GPU, against the oracle and against values worked out
 * independently of it.
 *
 * In: tests/language with its .values, the examples written by hand in tests/language/hand for the same values, and
 * specs generated here (spec_gen.h), freely grown ones and ones around contractions, each at three shapes: on small
 * integers, which most of them compute exactly, those around contractions at the second shape on fractions too. Out: a
 * line a kernel of a file, the first wrong element of what failed, a line a part with what was compared, what failed
 * and what was not checked; a status that is not 0 where anything failed or nothing was compared. A generated spec that
 * fails is written to FOUND/KIND-SEED.fx with a test block of the shape. A kernel that no schedule takes is counted and
 * named, but is no failure. Invariant: memory beside every tensor, and between the elements of a strided one, holds a
 * pattern before a launch and after it, outputs and workspace hold one before it, inputs are what they were; every
 * variant whose `needs` holds runs, of contractions three of four times only those that the shape can choose; and all
 * tensors are aligned once and once an element off; strided ones lie in every way of enum layout.
 *
 *   test_values [FILTER] [--generated N] [--contractions N] [--seed S] [--folder DIR] [--found DIR] [--emu | --watched]
 *               [--brief] [--seconds N]
 *       kernels whose "spec: kernel" contains FILTER; N specs of a kind, S the first. --seed alone: that one of each
 *       kind and nothing else
 *   --seconds: no generated spec is begun any more so many after the first one
 *   --emu: on the emulator instead of a GPU: every tensor ends where memory does, once, and begins an element behind
 *       where it begins, once
 *   --watched: on the emulator, which sees every access
 *   --brief: what is chosen alone, for each shape in one layout and alignment, which change from seed to seed; on the
 *       emulator under one order of threads, the random one, unless it is watched
 *   FX_DRY=right|wrong|outside test_values ..
 *       without a GPU: the oracle's results stand for the launch's, kept as they are or spoilt, which must pass and
 *       must fail: a test of this program and of the generator alone */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fx.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "spec_gen.h"
#include "values_file.h"

enum {
    MAX_PARAMS = 40,
    MAX_THREADS = 64,
    GUARD = 512,
    MOST_DRAWS = 12,
    REPORT_SIZE = 3072,
    N_SHAPES = 3,
    MOST_POINTS = 60000,
    DRY_SM_COUNT = 132,
    EMULATED_SM_COUNT = 5,
    EMULATED_BYTES = 1 << 21,
    EMULATED_POINTS = 1 << 13,
    EMULATED_SHARE = 8,
    PAGE = 4096
};

static fx_context *context; /* NULL when dry */
static enum { DRY_NOT, DRY_RIGHT, DRY_WRONG, DRY_OUTSIDE } dry;
static bool is_emulated, is_watched, is_brief;
static const char *found_folder = "build/found";
static struct values language, hand; /* the folder; in hand/ the same kernels written out, for the same values */
static atomic_int next_job;
static double most_seconds = INFINITY; /* from the first generated spec on, after which no other is begun */

enum outcome { RIGHT, WRONG, REFUSED };
enum part { FILES, BY_HAND, GENERATED, CONTRACTIONS, N_PARTS };
static const char *const part_names[] = {"files", "hand", "generated", "contractions"};
enum data { INTEGERS, FRACTIONS };

struct job { /* a case of a file, or a generated spec at all its shapes */
    enum part part;
    const struct sample *sample; /* of FILES and BY_HAND */
    const char *text;            /* the spec they are of, NULL where there is none */
    uint64_t seed;               /* of the others */
    const char *at;              /* "shape 1, fractions, ": where it is in its shapes */
    char name[160];
    char note[64];               /* what it was refused for, or how it was relaxed */
    char *report;                /* of what is wrong, "" while nothing is; NULL before it is begun */
    enum outcome outcome;
    atomic_bool is_done;
    int n_shapes;                /* of a generated spec, that were compared */
    long n_launches, n_elements, n_exact, n_open; /* exact: only one result is right; open: any is */
};

static struct job *jobs;
static int n_jobs;

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "test_values: out of memory\n");
    exit(1);
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct job *j, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    if (j->outcome != WRONG) {
        int n = snprintf(j->report, REPORT_SIZE, "%s", j->at ? j->at : "");
        vsnprintf(j->report + n, REPORT_SIZE - (size_t)n, format, ap);
    }
    va_end(ap);
    j->outcome = WRONG;
    return false;
}

static bool must(struct job *j, fx_status status, const char *what) {
    return status == FX_OK || wrong(j, "%s: %.1500s", what, fx_last_error());
}

/* ---- a kernel and its arguments ---- */

struct argument {
    const struct fx_param *param;
    struct fx_host host;  /* dtype and shape as the launch takes them; an input's data */
    void *owned;          /* data drawn here */
    const struct array *want; /* what the file says of an output, or NULL */
    size_t n, n_bytes, at; /* elements and bytes; where its first element lies in the block */
    int64_t strides[FX_MAX_RANK]; /* in elements */
    size_t below, above;   /* bytes it reaches before its first element, and from there on */
    unsigned char *device;     /* emulated: its own memory */
    size_t lead, n_device;     /* likewise: bytes before its first element, and in all */
    DLTensor tensor;
    double *value, *bound; /* of an output, by the oracle */
    int64_t *integer;      /* likewise, of integers and conditions */
};

struct trial {
    struct job *job;
    fx_compilation *compilation;
    const struct fx_kernel *kernel;
    fx_prepared *prepared;
    void *stream;
    bool keeps_constants; /* launches read what was computed once from `const` tensors */
    bool is_hinted;       /* prepared for one shape: only what is chosen runs */
    bool takes_all;       /* partitions; else the last alone */
    bool *listed;         /* by number, the entries that launches would take: nothing is launched. Else NULL */
    int shape;            /* of a generated spec */
    struct argument args[MAX_PARAMS];
    struct fx_value values[MAX_PARAMS];
    unsigned align[MAX_PARAMS];
    int64_t strides[MAX_PARAMS * FX_MAX_RANK]; /* as expressions of the plan see them */
    int64_t extents[FX_MAX_EXTENTS];
    int layout; /* of strided tensors */
    size_t block_bytes, workspace_bytes;
    unsigned char *block, *workspace; /* on the device: all tensors; the workspace, a guard behind it */
    unsigned char *image, *got;       /* the block before and after a launch */
};

static size_t bytes_of(enum fx_dtype t) { return (size_t)fx_dtype_bits(t) / 8; }

static DLDataType tensor_dtype(enum fx_dtype t) {
    int code = t == FX_BF16     ? 4
               : t == FX_BOOL   ? 6
               : t == FX_F8E4M3 ? 10
               : t == FX_F8E5M2 ? 12
               : fx_is_float(t) ? 2
                                : fx_dtype_class_of(t) == FX_CLASS_U;
    return (DLDataType){.code = (uint8_t)code, .bits = (uint8_t)fx_dtype_bits(t), .lanes = 1};
}

/* Binds the extents from the inputs; false, with why, where the kernel does not take them. */
static bool bind_extents(struct trial *t, char *message, size_t size) {
    const struct fx_shape *shapes[MAX_PARAMS] = {0};
    struct fx_shape shape[MAX_PARAMS];
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        if (a->param->is_scalar || !a->param->is_input) continue;
        shape[p] = (struct fx_shape){.dtype = a->host.dtype, .rank = a->host.rank};
        memcpy(shape[p].extents, a->host.extents, sizeof shape[p].extents);
        shapes[p] = &shape[p];
    }
    return fx_bind_extents(t->kernel, shapes, t->extents, message, size) == FX_OK;
}

/* The shapes of all parameters, the extents being known. */
static void shape_arguments(struct trial *t) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        a->host.dtype = fx_argument_dtype(a->param);
        a->host.rank = a->param->rank;
        a->n = 1;
        for (int i = 0; i < a->host.rank; i++)
            a->n *= (size_t)(a->host.extents[i] = fx_argument_extent(a->param, i, t->extents));
        a->n_bytes = a->n * bytes_of(a->host.dtype);
    }
}

/* ---- what is right ---- */

static bool ask_oracle(struct trial *t) {
    struct fx_host inputs[MAX_PARAMS];
    char message[256];
    int n_inputs = 0, n_outputs = 0;
    for (int p = 0; p < t->kernel->n_params; p++)
        if (t->args[p].param->is_input) inputs[n_inputs++] = t->args[p].host;
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (!a->param->is_output) continue;
        a->value = need(calloc(a->n + 1, sizeof *a->value));
        a->bound = need(calloc(a->n + 1, sizeof *a->bound));
        a->integer = need(calloc(a->n + 1, sizeof *a->integer));
        fx_status status = fx_evaluate(t->compilation, t->kernel->name, inputs, n_inputs, n_outputs++, NULL,
            (int64_t)a->n, a->value, a->integer, FX_BOUND_INDEPENDENT, a->bound, message, sizeof message);
        if (status != FX_OK) return wrong(t->job, "the oracle: %s", message);
        if (a->want && a->want->n != (int64_t)a->n)
            return wrong(t->job, "%s has %zu elements, its values %lld", a->param->name, a->n, (long long)a->want->n);
        for (size_t i = 0; i < a->n; i++)
            t->job->n_exact += a->bound[i] == 0, t->job->n_open += !(a->bound[i] < INFINITY);
        t->job->n_elements += (long)a->n;
    }
    return true;
}

static bool is_right(const struct argument *a, const unsigned char *data, size_t i) {
    enum fx_dtype t = a->host.dtype;
    if (fx_is_float(t)) {
        double got = fx_load_double(t, data, i);
        return fx_is_right(t, got, a->value[i], a->bound[i]) &&
               (!a->want || fx_is_right(t, got, a->want->value[i], a->bound[i] + array_slack(a->want)));
    }
    int64_t got = t == FX_BOOL ? data[i] : fx_load_integer(t, data, i); /* a condition is 0 or 1, not any byte */
    return fx_is_right_integer(t, got, a->integer[i], a->bound[i]) &&
           (!a->want || fx_is_right_integer(t, got, a->want->integer[i], a->bound[i]));
}

static bool output_is_right(
    const struct trial *t, const struct argument *a, const unsigned char *data, const char *entry, const char *sizes) {
    size_t n_wrong = 0, first = 0;
    char want[64] = "";
    for (size_t i = 0; i < a->n; i++)
        if (!is_right(a, data, i) && n_wrong++ == 0) first = i;
    if (!n_wrong) return true;
    if (a->want) snprintf(want, sizeof want, ", the file says %.9g", array_value(a->want, (int64_t)first));
    if (fx_is_float(a->host.dtype))
        return wrong(t->job, "%s, %s: %s[%zu] is %.9g, expected %.9g, bound %.3g%s; %zu of %zu wrong", entry, sizes,
            a->param->name, first, fx_load_double(a->host.dtype, data, first), a->value[first], a->bound[first], want,
            n_wrong, a->n);
    return wrong(t->job, "%s, %s: %s[%zu] is %lld, expected %lld, bound %.3g%s; %zu of %zu wrong", entry, sizes,
        a->param->name, first,
        a->host.dtype == FX_BOOL ? (long long)data[first] : (long long)fx_load_integer(a->host.dtype, data, first),
        (long long)a->integer[first], a->bound[first], want, n_wrong, a->n);
}

/* Where element i, in row-major order, lies in the block. */
static size_t place_of(const struct argument *a, size_t i) {
    int64_t at = 0;
    for (int axis = a->host.rank - 1; axis >= 0; axis--) {
        at += (int64_t)(i % (size_t)a->host.extents[axis]) * a->strides[axis];
        i /= (size_t)a->host.extents[axis];
    }
    return (size_t)((int64_t)a->at + at * (int64_t)bytes_of(a->host.dtype));
}

/* Brings the elements of a between `dense`, where they are row-major, and a copy of the block. */
static void put_elements(const struct argument *a, unsigned char *block, const unsigned char *dense) {
    size_t size = bytes_of(a->host.dtype);
    for (size_t i = 0; i < a->n; i++) memcpy(block + place_of(a, i), dense + i * size, size);
}

static void get_elements(const struct argument *a, const unsigned char *block, unsigned char *dense) {
    size_t size = bytes_of(a->host.dtype);
    for (size_t i = 0; i < a->n; i++) memcpy(dense + i * size, block + place_of(a, i), size);
}

/* Looks at every output and makes it in `got` what it was before the launch. */
static bool outputs_are_right(struct trial *t, const char *entry, const char *sizes) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        if (!a->param->is_output) continue;
        unsigned char *dense = need(malloc(a->n_bytes + 1));
        get_elements(a, t->got, dense);
        bool is_fine = output_is_right(t, a, dense, entry, sizes);
        get_elements(a, t->image, dense);
        put_elements(a, t->got, dense);
        free(dense);
        if (!is_fine) return false;
    }
    return true;
}

/* Whether every byte that belongs to no output is what it was. */
static bool rest_holds(const struct trial *t, const char *entry, const char *sizes) {
    for (size_t i = 0; i < t->block_bytes; i++) {
        if (t->got[i] == t->image[i]) continue;
        for (int p = 0; p < t->kernel->n_params; p++) {
            const struct argument *a = &t->args[p];
            if (!a->param->is_scalar && i + GUARD >= a->at - a->below && i < a->at + a->above + GUARD)
                return wrong(t->job, "%s, %s: byte %lld of %s, which has %zu, was written", entry, sizes,
                    (long long)i - (long long)a->at, a->param->name, a->n_bytes);
        }
    }
    return true;
}

/* ---- running ---- */

enum layout { /* of strided tensors; others are row-major */
    ROW_MAJOR,     /* no strides given */
    PADDED,        /* rows of a multiple of 16 elements and 16 more: vectors where the last axis is contiguous */
    TRANSPOSED,    /* the first axis is contiguous */
    BACKWARDS,     /* every stride negative */
    ROWS_BACKWARDS, /* all but the last axis, rows padded */
    SPREAD,        /* every third element */
    REPEATED,      /* stride 0 along axes of an input along which its data do not change; else padded by one */
    N_LAYOUTS,
};

/* Whether the data of a are the same all along an axis. */
static bool is_constant(const struct argument *a, int axis) {
    size_t inner = 1, size = bytes_of(a->host.dtype);
    for (int i = axis + 1; i < a->host.rank; i++) inner *= (size_t)a->host.extents[i];
    for (size_t i = 0; i < a->n; i++) {
        size_t at = i / inner % (size_t)a->host.extents[axis];
        if (memcmp((const char *)a->host.data + i * size, (const char *)a->host.data + (i - at * inner) * size, size))
            return false;
    }
    return true;
}

/* The strides of a, and how far it reaches. */
static void lay_out(struct argument *a, enum layout layout) {
    int64_t step = layout == SPREAD ? 3 : 1, below = 0, above = 0, size = (int64_t)bytes_of(a->host.dtype);
    for (int i = 0; i < a->host.rank; i++) {
        int axis = layout == TRANSPOSED ? i : a->host.rank - 1 - i;
        int64_t n = a->host.extents[axis];
        bool is_last = axis == a->host.rank - 1,
             is_backwards = layout == BACKWARDS || (layout == ROWS_BACKWARDS && !is_last);
        bool is_repeated = layout == REPEATED && a->param->is_input && !a->param->is_output && n > 1 &&
                           is_constant(a, axis);
        a->strides[axis] = is_repeated ? 0 : is_backwards ? -step : step;
        if (n > 0) (is_backwards ? &below : &above)[0] += (is_repeated ? 0 : step) * (n - 1);
        if (!is_repeated) step *= n > 0 ? n : 1;
        if (is_last && (layout == PADDED || layout == ROWS_BACKWARDS)) step = (step + 15) / 16 * 16 + 16;
        if (is_last && layout == REPEATED) step++;
    }
    a->below = a->n ? (size_t)(below * size) : 0;
    a->above = a->n ? (size_t)((above + 1) * size) : 0;
}

/* Where the tensors lie: 256-byte boundaries, then `shift` elements on. */
static void place_arguments(struct trial *t, unsigned shift, enum layout layout) {
    size_t end = 0;
    t->layout = layout;
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        size_t promised = a->param->align ? (size_t)a->param->align : 1, off = shift * bytes_of(a->host.dtype);
        if (a->param->is_scalar) continue;
        lay_out(a, a->param->is_strided ? layout : ROW_MAJOR);
        a->at = (end + GUARD + a->below + 255) / 256 * 256 + (off % promised ? 0 : off);
        end = a->at + a->above + GUARD;
        for (int i = 0; i < a->host.rank; i++)
            t->strides[fx_stride_index(p, i)] = a->n == 0 || a->host.extents[i] == 1 ? 0 : a->strides[i];
    }
    t->block_bytes = end;
}

/* On the emulator every tensor has memory of its own, at whose ends nothing can be touched: it ends there or, `shift`
 * elements on, begins there. */
static bool take_memory(struct trial *t, unsigned shift) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        void *device;
        size_t promised = a->param->align ? (size_t)a->param->align : 1, off = shift ? a->at % 256 : 0,
               least = a->n ? a->below + a->above : 1;
        if (a->param->is_scalar) continue;
        a->lead = off + a->below;
        a->n_device = shift ? (off + least + PAGE - 1) / PAGE * PAGE : (least + promised - 1) / promised * promised;
        if (!must(t->job, fx_device_alloc(context, a->n_device, &device), "cannot allocate")) return false;
        a->device = device;
    }
    return true;
}

static void give_memory(struct trial *t) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        fx_device_free(context, t->args[p].device);
        t->args[p].device = NULL;
    }
}

/* A tensor and the bytes around it that are its own, into `got` or from `image`. */
static bool move_memory(struct trial *t, bool is_read) {
    bool is_fine = true;
    for (int p = 0; p < t->kernel->n_params && is_fine; p++) {
        const struct argument *a = &t->args[p];
        size_t end = a->lead + a->above, n = end + GUARD;
        if (!a->device) continue;
        if (n > a->n_device) n = a->n_device;
        if (a->lead == a->below) n = end; /* what makes up a promised alignment is nobody's */
        unsigned char *host = (is_read ? t->got : t->image) + (a->at - a->lead);
        is_fine = must(t->job,
            is_read ? fx_device_read(context, host, a->device, n) : fx_device_write(context, a->device, host, n),
            "cannot move memory");
    }
    return is_fine;
}

static void bind_values(struct trial *t, enum layout layout) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        t->align[p] = 256;
        if (a->param->is_scalar) {
            bool is_float = fx_is_float(a->host.dtype);
            t->values[p] = is_float ? (struct fx_value){.number = fx_load_double(a->host.dtype, a->host.data, 0)}
                                    : (struct fx_value){.integer = fx_load_integer(a->host.dtype, a->host.data, 0)};
            continue;
        }
        a->tensor = (DLTensor){.data = is_emulated ? a->device + a->lead : t->block + a->at,
            .device = {.device_type = 2},
            .ndim = a->host.rank,
            .dtype = tensor_dtype(a->host.dtype),
            .shape = a->host.extents,
            .strides = a->param->is_strided && layout != ROW_MAJOR ? a->strides : NULL};
        t->values[p] = (struct fx_value){.tensor = &a->tensor};
        uintptr_t at = (uintptr_t)a->tensor.data, lowest = at & (~at + 1);
        if (lowest < 256) t->align[p] = (unsigned)lowest;
    }
}

static const char *sizes_text(const struct trial *t, char *s, size_t size) {
    size_t n = 0;
    *s = '\0';
    for (int e = 0; e < t->kernel->n_extents && n < size; e++)
        n += (size_t)snprintf(
            s + n, size - n, "%s%s=%lld", e ? " " : "", t->kernel->extents[e].name, (long long)t->extents[e]);
    return s;
}

/* What a GPU does, as the oracle has it. */
static void launch_dry(struct trial *t) {
    memcpy(t->got, t->image, t->block_bytes);
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        if (!a->param->is_output) continue;
        for (size_t i = 0; i < a->n; i++) {
            bool is_spoilt = dry == DRY_WRONG && i + 1 == a->n && a->bound[i] < INFINITY;
            double off = is_spoilt ? 1 + 3 * a->bound[i] + fabs(a->value[i]) : 0;
            if (fx_is_float(a->host.dtype))
                fx_store_double(a->host.dtype, t->got + place_of(a, i), 0, a->value[i] + off);
            else
                fx_store_integer(a->host.dtype, t->got + place_of(a, i), 0, is_spoilt ? !a->integer[i] : a->integer[i]);
        }
        if (dry == DRY_OUTSIDE) t->got[a->at + a->above] ^= 1;
    }
}

/* Launches with constants in memory of their own, behind which a guard stands. */
static bool launch_constants(struct trial *t, const char *entry, unsigned char pattern) {
    struct job *j = t->job;
    const int n = t->kernel->n_params;
    unsigned char guard[GUARD];
    void *memory = NULL;
    fx_constants *constants = NULL;
    size_t n_bytes = 0, workspace_bytes;
    bool is_fine = must(j, fx_const_bytes(t->prepared, t->values, n, &n_bytes), "no size of the constants") &&
                   must(j, fx_device_alloc(context, n_bytes + GUARD, &memory), "cannot allocate") &&
                   must(j, fx_device_fill(context, memory, pattern, n_bytes + GUARD, t->stream), "cannot fill") &&
                   must(j, fx_const_prepare(t->prepared, t->values, n, memory, n_bytes, t->stream, &constants), entry) &&
                   must(j, fx_const_workspace_bytes(constants, t->values, n, &workspace_bytes), entry) &&
                   must(j, fx_const_launch(constants, t->values, n, t->workspace, workspace_bytes, t->stream), entry) &&
                   must(j, fx_stream_wait(context, t->stream), entry) &&
                   must(j, fx_device_read(context, guard, (unsigned char *)memory + n_bytes, GUARD), "cannot read");
    for (int i = 0; is_fine && i < GUARD; i++)
        if (guard[i] != pattern) is_fine = wrong(j, "%s: memory behind the constants was written", entry);
    fx_constants_release(constants);
    if (memory) fx_device_free(context, memory);
    return is_fine;
}

static bool launch_for_real(struct trial *t, const char *entry, unsigned char pattern, unsigned char *guard) {
    struct job *j = t->job;
    if (is_emulated) memcpy(t->got, t->image, t->block_bytes);
    return (is_emulated ? move_memory(t, false)
                        : must(j, fx_device_write(context, t->block, t->image, t->block_bytes), "cannot write")) &&
           must(j, fx_device_fill(context, t->workspace, pattern, t->workspace_bytes + GUARD, t->stream),
               "cannot fill") &&
           (t->keeps_constants ? launch_constants(t, entry, pattern)
                               : must(j, fx_launch(t->prepared, t->values, t->kernel->n_params, t->workspace,
                                             t->workspace_bytes, t->stream), entry)) &&
           must(j, fx_stream_wait(context, t->stream), entry) &&
           (is_emulated ? move_memory(t, true)
                        : must(j, fx_device_read(context, t->got, t->block, t->block_bytes), "cannot read")) &&
           must(j, fx_device_read(context, guard, t->workspace + t->workspace_bytes, GUARD), "cannot read");
}

static const char *const layout_names[N_LAYOUTS] = {
    "", "padded, ", "transposed, ", "backwards, ", "rows backwards, ", "spread, ", "repeated, "};

static struct fx_env env_of(const struct trial *t) {
    return (struct fx_env){.extents = t->extents,
        .align = t->align,
        .sm_count = dry ? DRY_SM_COUNT : fx_context_sm_count(context),
        .strides = t->strides};
}

/* What a launch would take, as the runtime chooses with what is pinned. */
static bool list_taken(struct trial *t, const int64_t *strides) {
    struct fx_env env = env_of(t);
    env.strides = strides;
    const fx_prepared *p = t->prepared;
    const struct fx_partition taken = fx_get_partition(
        t->kernel, p->partition >= 0 ? p->partition : fx_choose_partition(t->kernel, &env));
    for (int i = taken.first_launch; i < taken.first_launch + taken.n_launches; i++) {
        int v = stage_choose(&p->stages[i], &t->kernel->launches[i], &env);
        if (v >= 0) t->listed[t->kernel->launches[i].variants[v].number] = true;
    }
    return true;
}

/* One launch from memory that holds `pattern` wherever no input lies. */
static bool launch(struct trial *t, const char *entry, unsigned char pattern) {
    struct job *j = t->job;
    if (t->listed) return list_taken(t, t->strides);
    unsigned char guard[GUARD];
    char sizes[256];
    snprintf(sizes, sizeof sizes, "%s", layout_names[t->layout]);
    sizes_text(t, sizes + strlen(sizes), sizeof sizes - strlen(sizes));
    memset(t->image, pattern, t->block_bytes);
    for (int p = 0; p < t->kernel->n_params; p++)
        if (t->args[p].param->is_input && !t->args[p].param->is_scalar)
            put_elements(&t->args[p], t->image, t->args[p].host.data);
    if (dry) launch_dry(t), memset(guard, pattern, GUARD);
    else if (!launch_for_real(t, entry, pattern, guard)) return false;
    j->n_launches++;
    if (!outputs_are_right(t, entry, sizes)) return false;
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != pattern) return wrong(j, "%s, %s: memory behind the workspace was written", entry, sizes);
    return rest_holds(t, entry, sizes);
}

/* A workspace for the partition that is taken now. */
static bool open_workspace(struct trial *t) {
    struct job *j = t->job;
    void *workspace = NULL;
    bool is_fine = dry || (must(j, fx_workspace_bytes(t->prepared, t->values, t->kernel->n_params, &t->workspace_bytes),
                               "no size of the workspace") &&
                              must(j, fx_device_alloc(context, t->workspace_bytes + GUARD, &workspace), "cannot allocate"));
    t->workspace = workspace;
    return is_fine;
}

static void close_workspace(struct trial *t) {
    if (t->workspace) fx_device_free(context, t->workspace);
    t->workspace = NULL;
}

/* Once more with what depends on `const` tensors computed ahead: the same bits. */
static bool launch_with_constants(struct trial *t, const struct fx_partition *taken) {
    bool is_fine = true, has_const = false;
    for (int p = 0; p < t->kernel->n_params; p++) has_const |= t->kernel->params[p].is_const;
    if (dry || !has_const || t->listed) return true;
    unsigned char *before = need(malloc(t->block_bytes + 1));
    memcpy(before, t->got, t->block_bytes);
    t->keeps_constants = true;
    is_fine = launch(t, "with constants", 0xFF) &&
              (memcmp(before, t->got, t->block_bytes) == 0 ||
                  wrong(t->job, "partition %s: with constants computed ahead it gives other bits", taken->name));
    t->keeps_constants = false;
    free(before);
    return is_fine;
}

/* As the plan chooses, then every variant that takes the arguments, one launch of the partition at a time; on the
 * emulator those of the last partition alone, as the others have much the same, and not of strided tensors. */
static bool launch_variants(struct trial *t, const struct fx_partition *taken, bool is_last) {
    const struct fx_env env = env_of(t);
    bool is_fine = launch(t, "as chosen", 0xFF) && launch_with_constants(t, taken);
    if (dry || t->is_hinted || (is_emulated && (t->layout != ROW_MAJOR || !is_last))) return is_fine;
    for (int l = taken->first_launch; l < taken->first_launch + taken->n_launches && is_fine; l++) {
        const struct fx_launch *of = &t->kernel->launches[l];
        for (int v = 0; v < of->n_variants && is_fine; v++) {
            if (!fx_expr_holds(&of->variants[v].needs, &env)) continue;
            is_fine = must(t->job, fx_pin_variant(t->prepared, l, v), "cannot pin") &&
                      launch(t, of->variants[v].entry, 0x5A);
        }
        fx_pin_variant(t->prepared, l, -1);
    }
    return is_fine;
}

/* Every partition, whichever the extents would take, on the emulator in one of the ways; with hints the one that was
 * compiled. */
static bool launch_partitions(struct trial *t) {
    bool is_one = dry || t->is_hinted || fx_partition_count(t->kernel) == 1, is_fine = true;
    int n = is_one ? 1 : fx_partition_count(t->kernel);
    const struct fx_env env = env_of(t);
    for (int i = t->takes_all ? 0 : n - 1; i < n && is_fine; i++) {
        const struct fx_partition taken = fx_get_partition(t->kernel, is_one ? -1 : i);
        if (!is_one && !fx_partition_fits(t->kernel, &taken, &env)) continue; /* never taken here */
        is_fine = (is_one || must(t->job, fx_pin_partition(t->prepared, i), "cannot pin a partition")) &&
                  open_workspace(t) && launch_variants(t, &taken, i + 1 == n);
        close_workspace(t);
    }
    if (!is_one) fx_pin_partition(t->prepared, -1);
    return is_fine;
}

static void free_data(struct trial *t) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        free(a->value), free(a->bound), free(a->integer), free(a->owned);
        a->value = a->bound = NULL, a->integer = NULL, a->owned = NULL;
    }
}

/* The kernel on arguments that have shapes: both alignments, all layouts, all variants; the emulator has strided ones
 * by the variant that is chosen. */
static bool run_ways(struct trial *t) {
    struct job *j = t->job;
    void *block = NULL;
    bool is_fine = true, is_strided = false;
    for (int p = 0; p < t->kernel->n_params; p++) is_strided |= t->args[p].param->is_strided;
    unsigned n_ways = is_strided ? 2 * N_LAYOUTS : 2, only = (unsigned)(j->seed + (unsigned)t->shape) % n_ways;
    for (unsigned way = 0; way < n_ways && is_fine; way++) {
        if (is_brief && way != only) continue;
        unsigned shift = way % 2;
        t->takes_all = !is_emulated || way == only; /* there each takes long */
        enum layout layout = (enum layout)(way / 2);
        place_arguments(t, shift, layout);
        is_fine = dry ||
                  (is_emulated ? take_memory(t, shift)
                               : must(j, fx_device_alloc(context, t->block_bytes + 256, &block), "cannot allocate"));
        t->block = block;
        if (is_fine) bind_values(t, layout);
        t->image = need(malloc(t->block_bytes + 1));
        t->got = need(malloc(t->block_bytes + 1));
        is_fine = is_fine && launch_partitions(t);
        free(t->image), free(t->got);
        if (block) fx_device_free(context, block);
        if (is_emulated) give_memory(t);
        block = NULL;
    }
    return is_fine;
}

/* Likewise, of data that stand. */
static bool run_trial(struct trial *t) { return ask_oracle(t) && run_ways(t); }

/* ---- compiling ---- */

/* The code of the first error, "" where there is none; whether all are ones that say that no schedule
 * takes the kernel. */
static bool is_refusal(const char *messages, char code[8]) {
    bool all = true;
    *code = '\0';
    for (const char *at = messages; (at = strstr(at, "error: ")); at++) {
        const char *open = at;
        while (*open && *open != '\n' && strncmp(open, "[FX", 3) != 0) open++;
        if (strncmp(open, "[FX", 3) != 0) return false;
        if (!*code) snprintf(code, 8, "%.6s", open + 1);
        all &= !strncmp(open, "[FX3001]", 8) || !strncmp(open, "[FX3003]", 8);
    }
    return all && *code;
}

static bool compile_kernel(
    struct trial *t, const char *text, const char *kernel, const char *const *defines, int n_defines) {
    struct job *j = t->job;
    struct fx_options options = FX_OPTIONS;
    char code[8];
    options.arch = dry ? "sm_90a" : fx_context_arch(context);
    options.kernel = kernel;
    options.defines = defines;
    options.n_defines = n_defines;
    fx_status status = fx_compile(text, strlen(text), "test.fx", &options, &t->compilation);
    if (status == FX_ERR_COMPILE && is_refusal(fx_messages(t->compilation), code)) {
        j->outcome = REFUSED;
        snprintf(j->note, sizeof j->note, "%s", code);
        return false;
    }
    if (status != FX_OK)
        return wrong(j, "does not compile (%d): %.2000s", status, t->compilation ? fx_messages(t->compilation) : "");
    t->kernel = fx_find_kernel(fx_get_plan(t->compilation), kernel);
    if (!t->kernel || t->kernel->n_params > MAX_PARAMS) return wrong(j, "no such kernel, or too many parameters");
    for (int p = 0; p < t->kernel->n_params; p++) t->args[p].param = &t->kernel->params[p];
    return true;
}

/* Whether no extent before it has the name: later ones are those of the parts of a concat,
 * which follow from equations. */
static bool is_first(const struct fx_kernel *k, int extent) {
    for (int e = 0; e < extent; e++)
        if (strcmp(k->extents[e].name, k->extents[extent].name) == 0) return false;
    return true;
}

/* For every shape, or for the extents at hand. */
static bool prepare_kernel(struct trial *t, bool is_hinted) {
    struct fx_hint hints[FX_MAX_EXTENTS];
    int n = 0;
    for (int e = 0; is_hinted && e < t->kernel->n_extents; e++)
        if (is_first(t->kernel, e)) hints[n++] = (struct fx_hint){t->kernel->extents[e].name, t->extents[e]};
    fx_prepared_release(t->prepared);
    t->prepared = NULL, t->is_hinted = is_hinted;
    return dry ||
           must(t->job, fx_prepare(context, fx_get_plan(t->compilation), t->kernel->name, hints, n, &t->prepared),
               "cannot be prepared");
}

static void close_kernel(struct trial *t) {
    fx_prepared_release(t->prepared);
    fx_close(t->compilation);
    t->prepared = NULL, t->compilation = NULL;
}

/* ---- cases of files ---- */

/* The text with every `fuse: require` as `fuse: prefer`: what is asked here is what kernels compute, not how many there
 * are. */
static char *relaxed(const char *text) {
    char *copy = need(strdup(text));
    for (char *at = copy; (at = strstr(at, "fuse: require"));) memcpy(at, "fuse: prefer ", 13);
    return copy;
}

static bool take_arrays(struct trial *t, const struct sample *s) {
    char message[256];
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        const struct array *in = sample_find(s, a->param->name, false);
        a->want = a->param->is_output ? sample_find(s, a->param->name, true) : NULL;
        if (in) a->host = in->host;
        if ((a->param->is_input && !in) || (a->param->is_output && !a->want))
            return wrong(t->job, "no values of %s", a->param->name);
    }
    if (!bind_extents(t, message, sizeof message)) return wrong(t->job, "%s", message);
    shape_arguments(t);
    return true;
}

static bool is_of_one_kernel(const struct job *a, const struct job *b) {
    const struct sample *x = a->sample, *y = b->sample;
    if (!y || a->part != b->part || x->spec != y->spec || strcmp(x->kernel, y->kernel) != 0) return false;
    if (x->n_defines != y->n_defines) return false;
    for (int i = 0; i < x->n_defines; i++)
        if (strcmp(x->defines[i], y->defines[i]) != 0) return false;
    return true;
}

/* The emulator compiles, at once, what the cases of a file launch of this kernel, and nothing else: of some plans
 * that is one entry in ten. */
static bool prepare_samples(struct trial *t) {
    const struct fx_plan *plan = fx_get_plan(t->compilation);
    if (!is_emulated || dry) return prepare_kernel(t, false);
    if (!must(t->job, prepared_open(context, plan, t->kernel->name, &t->prepared), "cannot be prepared")) return false;
    t->listed = need(calloc((size_t)fx_entry_count(plan) + 1, sizeof *t->listed));
    bool is_fine = true;
    for (int i = 0; i < n_jobs && is_fine; i++)
        if (is_of_one_kernel(t->job, &jobs[i]) && !jobs[i].sample->error[0])
            is_fine = take_arrays(t, jobs[i].sample) && run_ways(t);
    is_fine = is_fine && must(t->job, prepared_load(t->prepared, t->listed), "cannot be loaded");
    free(t->listed);
    t->listed = NULL;
    return is_fine;
}

static void run_sample(struct job *j, void *stream) {
    const struct sample *s = j->sample;
    const char *defines[VALUES_MAX_DEFINES];
    struct trial t = {.job = j, .stream = stream};
    if (s->error[0] || !j->text) {
        wrong(j, "%s", s->error[0] ? s->error : "there is no such .fx");
        return;
    }
    for (int i = 0; i < s->n_defines; i++) defines[i] = s->defines[i];
    char *text = relaxed(j->text);
    if (compile_kernel(&t, text, s->kernel, defines, s->n_defines) && prepare_samples(&t) && take_arrays(&t, s))
        run_trial(&t);
    if (t.kernel) free_data(&t);
    close_kernel(&t);
    free(text);
}

/* ---- generated specs ---- */

/* Extents of the labels for shape `shape`: the spec's own; then others, the last label still made of the two it is made
 * of. The others come to at most so many points, the last label left aside. */
static void choose_extents(struct spec *s, const int *own, int shape, int most, uint64_t *random) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 130};
    int points = 1;
    memcpy(s->extents, own, sizeof s->extents);
    for (int i = 0; i < s->n_labels && shape; i++) {
        int n = sizes[random_below(random, (int)(sizeof sizes / sizeof *sizes))];
        if (random_below(random, 40) == 0) n = 0;
        if (s->is_fixed[i]) n = own[i];
        while (!s->is_fixed[i] && n > 1 && (int64_t)points * n > most / (s->n_labels - i)) n /= 2;
        s->extents[i] = n;
        points *= n > 1 ? n : 1;
    }
    int last = s->n_labels - 1;
    if (s->parts[0] >= 0 && !s->is_fixed[last]) {
        int m = s->extents[s->parts[0]], n = s->extents[s->parts[1]];
        s->extents[last] = s->is_joined ? m + n : m * n;
    }
}

/* Small integers in whatever dtype, or fractions; any bits of packed words; of what is read through, positions in and
 * around a small table. */
static void *draw(const struct fx_param *p, enum fx_dtype t, size_t n, enum data kind, uint64_t *random) {
    void *data = need(calloc(n + 1, 8));
    bool is_position = strncmp(p->name, "ids", 3) == 0;
    for (size_t i = 0; i < n; i++) {
        int v = random_below(random, 5) - (fx_dtype_class_of(t) == FX_CLASS_U ? 0 : 2);
        if (t == FX_BOOL) fx_store_integer(t, data, i, random_below(random, 2));
        else if (p->packed.factor) fx_store_integer(t, data, i, (int64_t)random_next(random));
        else if (fx_is_integer(t)) fx_store_integer(t, data, i, is_position ? random_below(random, 8) - 1 : v);
        else fx_store_double(t, data, i, kind == FRACTIONS ? (random_below(random, 20001) - 10000) / 7001.0 : v);
    }
    return data;
}

/* Gives every extent of the kernel the generator's; those it does not know follow from equations. False where they
 * contradict. */
static bool take_extents(struct trial *t, const struct spec *s, char *message, size_t size) {
    snprintf(message, size, "an extent is not known");
    for (int e = 0; e < t->kernel->n_extents; e++) {
        const struct fx_extent *x = &t->kernel->extents[e];
        t->extents[e] = x->value >= 0            ? x->value
                        : is_first(t->kernel, e) ? spec_extent(s, x->name, strlen(x->name))
                                                 : -1;
    }
    if (fx_solve_extents(t->kernel, t->extents, message, size) != FX_OK) return false;
    for (int e = 0; e < t->kernel->n_extents; e++)
        if (t->extents[e] < 0) return false;
    shape_arguments(t);
    return bind_extents(t, message, size);
}

/* How many points the loops of a contraction may run over at a shape, for the oracle's sake: enough for an extent
 * beyond the edge of a tile. */
static const int64_t most_points[N_SHAPES] = {300000, 1000000, 6000000};

/* Whether a tensor carries the label: a test block gives no other. */
static bool is_declared(const struct fx_kernel *k, int extent) {
    for (int p = 0; p < k->n_params; p++)
        for (int i = 0; i < k->params[p].rank && !k->params[p].is_scalar; i++)
            if (k->params[p].extents[i] == extent) return true;
    return false;
}

/* The spec in a file of its own, with a test block of the shape at hand: `fxc test FILE` runs it again. */
static void write_found(const struct trial *t, const char *text) {
    const struct job *j = t->job;
    char path[512];
    mkdir(found_folder, 0777);
    snprintf(path, sizeof path, "%s/%s-%llu.fx", found_folder, part_names[j->part], (unsigned long long)j->seed);
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f, "# test_values --seed %llu; %s\n%s", (unsigned long long)j->seed, j->at ? j->at : "as compiled", text);
    fprintf(f, "test g {");
    for (int e = 0; t->kernel && e < t->kernel->n_extents; e++)
        if (t->extents[e] >= 0 && is_declared(t->kernel, e))
            fprintf(f, " %s=%lld", t->kernel->extents[e].name, (long long)t->extents[e]);
    fprintf(f, " init: integers(-2,2) }\n");
    fclose(f);
}

static void draw_inputs(struct trial *t, enum data kind, uint64_t *random) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (!a->param->is_input) continue;
        a->host.data = a->owned = draw(a->param, a->host.dtype, a->n, kind, random);
        if (a->param->is_scalar && fx_is_float(a->host.dtype))
            fx_store_double(a->host.dtype, a->owned, 0, 1 + random_below(random, 2));
    }
}

static enum data last_data(const struct trial *t, int shape) {
    return t->job->part == CONTRACTIONS && shape == 1 ? FRACTIONS : INTEGERS;
}

static void run_shape(struct trial *t, int shape, bool is_prepared, uint64_t *random) {
    static const char *const at[N_SHAPES][2] = {{"shape 0, integers, ", "shape 0, fractions, "},
        {"shape 1, integers, ", "shape 1, fractions, "}, {"shape 2, integers, ", "shape 2, fractions, "}};
    t->shape = shape;
    t->job->at = at[shape][INTEGERS];
    if (!is_prepared && !prepare_kernel(t, true)) return;
    for (enum data kind = INTEGERS; kind <= last_data(t, shape) && t->job->outcome == RIGHT; kind++) {
        t->job->at = at[shape][kind];
        draw_inputs(t, kind, random);
        run_trial(t);
        free_data(t);
    }
}

/* Labels made of others make loops and tensors that take the emulator minutes. */
static bool is_large(const struct trial *t, const struct spec *s) {
    size_t n = 0;
    int64_t points = 1;
    for (int p = 0; p < t->kernel->n_params; p++) n += t->args[p].n_bytes;
    for (int i = 0; i < s->n_labels; i++) points *= s->extents[i] > 1 ? s->extents[i] : 1;
    return n > EMULATED_BYTES || (t->job->part == GENERATED && points > EMULATED_POINTS);
}

/* Extents that the kernel takes; smaller ones where the emulator would take too long. False, with why, where there are
 * none. */
static bool find_extents(
    struct trial *t, struct spec *s, const int *own, int shape, uint64_t *random, char *message, size_t size) {
    int share = is_emulated ? EMULATED_SHARE : 1;
    for (int i = 0; i < MOST_DRAWS; i++) {
        if (t->job->part == CONTRACTIONS) spec_draw_extents(s, shape, most_points[shape] / share, random);
        else choose_extents(s, own, shape, MOST_POINTS / share, random);
        if (!take_extents(t, s, message, size)) continue;
        if (!is_emulated || !is_large(t, s)) return true;
        snprintf(message, size, "all extents found are too large for the emulator");
        share *= share < MOST_POINTS ? 4 : 1;
    }
    return false;
}

/* What fx_prepare compiles for the extents at hand. */
static void list_prepared(struct trial *t) {
    static const unsigned ends[] = {256, 1};
    int64_t strides[FX_MAX_STRIDES];
    fx_row_major_strides(t->kernel, t->extents, strides);
    for (int end = 0; end < 2; end++) {
        for (int p = 0; p < t->kernel->n_params; p++) t->align[p] = ends[end];
        list_taken(t, end ? NULL : strides);
    }
}

/* The emulator compiles what all shapes need at once, so that its compiler reads the text once. What is drawn here is
 * drawn again. */
static bool compile_shapes(struct trial *t, const struct spec *spec, const int *own, uint64_t random) {
    const struct fx_plan *plan = fx_get_plan(t->compilation);
    struct spec s = *spec;
    char message[256];
    if (!must(t->job, prepared_open(context, plan, t->kernel->name, &t->prepared), "cannot be prepared")) return false;
    t->listed = need(calloc((size_t)fx_entry_count(plan) + 1, sizeof *t->listed));
    for (int shape = 0; shape < N_SHAPES; shape++) {
        if (!find_extents(t, &s, own, shape, &random, message, sizeof message)) continue;
        list_prepared(t);
        for (enum data kind = INTEGERS; kind <= last_data(t, shape); kind++)
            draw_inputs(t, kind, &random), free_data(t);
    }
    bool is_fine = must(t->job, prepared_load(t->prepared, t->listed), "cannot be loaded");
    free(t->listed);
    t->listed = NULL;
    return is_fine;
}

static void run_shapes(struct trial *t, struct spec *s, const char *text) {
    struct job *j = t->job;
    uint64_t random = j->seed * 0x9E3779B97F4A7C15u + 77;
    int own[SPEC_MAX_LABELS], n_run = 0;
    char message[256] = "";
    bool prepares_all = !is_brief && ((j->part != CONTRACTIONS && !is_emulated) || j->seed % 4 == 0);
    memcpy(own, s->extents, sizeof own);
    if (prepares_all && !prepare_kernel(t, false)) return;
    if (!prepares_all && is_emulated && !dry && !compile_shapes(t, s, own, random)) {
        write_found(t, text);
        return;
    }
    for (int shape = 0; shape < N_SHAPES && j->outcome == RIGHT; shape++) {
        if (!find_extents(t, s, own, shape, &random, message, sizeof message)) continue;
        n_run++;
        run_shape(t, shape, prepares_all, &random);
        j->n_shapes += j->outcome == RIGHT;
    }
    if (!n_run && j->outcome == RIGHT) wrong(j, "no extents were found: %s", message);
    if (j->part == CONTRACTIONS && n_run < N_SHAPES && j->outcome == RIGHT)
        wrong(j, "extents were found for %d shapes only: %s", n_run, message);
    if (j->outcome == WRONG) write_found(t, text);
}

static void run_generated(struct job *j, void *stream) {
    struct trial t = {.job = j, .stream = stream};
    struct arena arena;
    struct buf text;
    jmp_buf oom;
    if (setjmp(oom)) need(NULL);
    arena_init(&arena, &oom);
    struct spec *s = j->part == CONTRACTIONS ? spec_generate_contraction(&arena, j->seed)
                                             : spec_generate(&arena, j->seed);
    buf_init(&text, &arena);
    spec_print(&text, s);
    if (compile_kernel(&t, text.s, NULL, NULL, 0)) run_shapes(&t, s, text.s);
    if (j->outcome == WRONG) {
        size_t n = strlen(j->report);
        snprintf(j->report + n, REPORT_SIZE - n, "\n%s", text.s);
    }
    close_kernel(&t);
    arena_release(&arena);
}

/* ---- all of them ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_job(int i);

/* Prints, in order, what is done and follows what was printed: a run that is ended early has told what it saw. */
static void print_done(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int n_printed;
    pthread_mutex_lock(&lock);
    for (; n_printed < n_jobs && jobs[n_printed].is_done; n_printed++) print_job(n_printed);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

static bool is_late(const struct job *j) {
    static _Atomic double first;
    double none = 0, t = now();
    return !j->sample && !atomic_compare_exchange_strong(&first, &none, t) && t - none > most_seconds;
}

static void *work(void *unused) {
    void *stream;
    (void)unused;
    if (dry) stream = NULL;
    else if (fx_stream_open(context, &stream) != FX_OK) return NULL;
    for (int i; (i = next_job++) < n_jobs && !is_late(&jobs[i]);) {
        jobs[i].report = need(calloc(1, REPORT_SIZE));
        if (jobs[i].sample) run_sample(&jobs[i], stream);
        else run_generated(&jobs[i], stream);
        jobs[i].is_done = true;
        print_done();
    }
    if (!dry) fx_stream_close(context, stream);
    return NULL;
}

static void run_jobs(void) {
    pthread_t threads[MAX_THREADS];
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n_started = 0;
    while (n_started < MAX_THREADS && n_started < (n_cores > 0 ? n_cores : 1) &&
           !pthread_create(&threads[n_started], NULL, work, NULL))
        n_started++;
    for (int i = 0; i < n_started; i++) pthread_join(threads[i], NULL);
}

/* Forgets what was never begun. */
static void drop_jobs(void) {
    int n = 0;
    for (int i = 0; i < n_jobs; i++)
        if (jobs[i].is_done) jobs[n++] = jobs[i];
    n_jobs = n;
}

static struct job *add_job(void) {
    struct job *j = &jobs[n_jobs++];
    *j = (struct job){0};
    return j;
}

static void add_seed(enum part part, const char *filter, uint64_t seed) {
    struct job *j = add_job();
    j->part = part, j->seed = seed;
    snprintf(j->name, sizeof j->name, "%s: seed %llu", part_names[part], (unsigned long long)seed);
    if (filter && !strstr(j->name, filter)) n_jobs--;
}

/* Both kinds in turn, so that one that is ended early has had both. */
static void add_generated(const char *filter, const int *n_of, uint64_t seed) {
    for (int i = 0; i < n_of[GENERATED] || i < n_of[CONTRACTIONS]; i++) {
        if (i < n_of[GENERATED]) add_seed(GENERATED, filter, seed + (uint64_t)i);
        if (i < n_of[CONTRACTIONS]) add_seed(CONTRACTIONS, filter, seed + (uint64_t)i);
    }
}

/* The kernels of the folder with the values of their files; where another folder has a spec of the name, and no
 * definition changes it, that one's. */
static void add_files(enum part part, const struct values *texts, const char *filter) {
    for (int i = 0; i < language.n_samples; i++) {
        const struct sample *s = language.samples[i];
        const char *text = NULL;
        for (int t = 0; t < texts->n_specs; t++)
            if (strcmp(texts->specs[t].name, language.specs[s->spec].name) == 0) text = texts->specs[t].text;
        if (part == BY_HAND && (!text || s->n_defines)) continue;
        struct job *j = add_job();
        j->part = part, j->sample = s, j->text = text;
        snprintf(j->name, sizeof j->name, "%s%s: %s", part == BY_HAND ? "hand/" : "", language.specs[s->spec].name,
            s->kernel);
        if (filter && !strstr(j->name, filter)) n_jobs--;
    }
}

/* A line a kernel of a file, whose cases stand together; of generated specs one a failure. */
static void print_job(int i) {
    const struct job *j = &jobs[i];
    bool is_first = i == 0 || strcmp(jobs[i - 1].name, j->name) != 0,
         is_last = i + 1 == n_jobs || strcmp(jobs[i + 1].name, j->name) != 0;
    static bool has_failed;
    static long n_launches;
    if (is_first) has_failed = false, n_launches = 0;
    n_launches += j->n_launches;
    has_failed |= j->outcome == WRONG;
    if (j->outcome == WRONG && j->sample)
        printf("%s FAILED (.values, line %d): %s\n", j->name, j->sample->line, j->report);
    else if (j->outcome == WRONG) printf("%s FAILED: %s\n", j->name, j->report);
    else if (j->outcome == REFUSED && (is_last || !j->sample)) printf("%s refused, %s\n", j->name, j->note);
    else if (is_last && !has_failed && j->sample) printf("%s ok, %ld launches\n", j->name, n_launches);
}

/* A line a part: how many kernels were compared, failed, were not checked, and in which launches and elements; then the
 * sum of them. */
static int report(const int *n_wanted, double seconds) {
    long total[3] = {0};
    bool is_hollow = false;
    for (int part = 0; part < N_PARTS; part++) {
        long count[3] = {0}, n_shapes = 0, n_launches = 0, n_elements = 0, n_exact = 0, n_open = 0;
        for (int i = 0; i < n_jobs; i++) {
            const struct job *j = &jobs[i];
            if ((int)j->part != part) continue;
            count[j->outcome]++, total[j->outcome]++;
            n_shapes += j->n_shapes, n_launches += j->n_launches, n_elements += j->n_elements, n_exact += j->n_exact,
                n_open += j->n_open;
        }
        if (!n_wanted[part]) continue;
        printf("%s: %ld compared, %ld failed, %ld not checked; ", part_names[part], count[RIGHT], count[WRONG],
            count[REFUSED]);
        if (n_shapes) printf("%ld shapes, ", n_shapes);
        printf("%ld launches, %ld elements, %ld of them exact, %ld open\n", n_launches, n_elements, n_exact, n_open);
        is_hollow |= n_launches == 0 || n_elements == n_open;
    }
    if (is_hollow || n_jobs == 0) {
        printf("values: a part in which nothing was compared\n");
        total[WRONG]++;
    }
    printf("values: %.0f s\n%ld passed, %ld failed\n", seconds, total[RIGHT], total[WRONG]);
    return total[WRONG] != 0;
}

static bool choose_dry(void) {
    const char *how = getenv("FX_DRY");
    dry = !how ? DRY_NOT : !strcmp(how, "right") ? DRY_RIGHT : !strcmp(how, "wrong") ? DRY_WRONG : DRY_OUTSIDE;
    struct fx_emulation emulation = {.sm_count = EMULATED_SM_COUNT,
        .is_watched = is_watched,
        .n_schedules = is_brief && !is_watched,
        .seed = is_brief && !is_watched};
    if (is_emulated && !dry && fx_emulate(&emulation) != FX_OK) return false;
    return dry || fx_context_open(0, &context) == FX_OK;
}

static bool has_any(enum part part) {
    for (int i = 0; i < n_jobs; i++)
        if (jobs[i].part == part) return true;
    return false;
}

static int usage(void) {
    fprintf(stderr,
        "usage: test_values [FILTER] [--generated N] [--contractions N] [--seed S] [--folder DIR] [--found DIR] [--emu | --watched] [--brief] [--seconds N]\n"
        "N is at most 1000000\n");
    return 2;
}

int main(int argc, char **argv) {
    const char *filter = NULL, *folder = "tests/language";
    int n_of[N_PARTS] = {1, 1, -1, -1};
    char hand_folder[600]; /* values_read keeps it */
    bool has_seed = false;
    uint64_t seed = 0;
    for (int i = 1; i < argc; i++) {
        bool has_more = i + 1 < argc;
        if (!strcmp(argv[i], "--generated") && has_more) n_of[GENERATED] = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--contractions") && has_more) n_of[CONTRACTIONS] = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seed") && has_more) has_seed = true, seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--folder") && has_more) folder = argv[++i];
        else if (!strcmp(argv[i], "--found") && has_more) found_folder = argv[++i];
        else if (!strcmp(argv[i], "--emu")) is_emulated = true;
        else if (!strcmp(argv[i], "--watched")) is_emulated = is_watched = true;
        else if (!strcmp(argv[i], "--brief")) is_brief = true;
        else if (!strcmp(argv[i], "--seconds") && has_more) most_seconds = atof(argv[++i]);
        else if (argv[i][0] != '-' && !filter) filter = argv[i];
        else return usage();
    }
    bool is_one = has_seed && n_of[GENERATED] < 0 && n_of[CONTRACTIONS] < 0;
    if (is_one) n_of[FILES] = n_of[BY_HAND] = 0, n_of[GENERATED] = n_of[CONTRACTIONS] = 1;
    if (n_of[GENERATED] < 0) n_of[GENERATED] = 150;
    if (n_of[CONTRACTIONS] < 0) n_of[CONTRACTIONS] = 500;
    if (n_of[GENERATED] > 1000000 || n_of[CONTRACTIONS] > 1000000) return usage();
    if (!choose_dry()) return printf("values: no GPU: %s\n0 passed, 1 failed\n", fx_last_error()), 1;
    double start = now();
    if (n_of[FILES]) {
        snprintf(hand_folder, sizeof hand_folder, "%s/hand", folder);
        values_read(&language, folder), values_read(&hand, hand_folder);
    }
    jobs = need(calloc((size_t)(2 * language.n_samples + n_of[GENERATED] + n_of[CONTRACTIONS] + 1), sizeof *jobs));
    add_files(FILES, &language, filter), add_files(BY_HAND, &hand, filter);
    add_generated(filter, n_of, seed);
    for (int part = 0; part < N_PARTS; part++) n_of[part] = has_any((enum part)part) || (n_of[part] && !filter);
    run_jobs();
    drop_jobs();
    int status = report(n_of, now() - start);
    if (!dry) fx_context_close(context);
    return status;
}
