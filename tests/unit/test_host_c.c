/* The C launcher: it compiles without warnings, and launches what the plan says.
 *
 * Every launcher is compiled against the toolkit's cuda.h where there is one, and against a small one of this test
 * whose driver records what it is asked to launch; that recording is compared with fx_choose_variant and fx_expr_eval.
 * Plans come from specs and, with random expressions that overflow, divide by zero and nest anyhow,
 * from a generator. */
#include "fx.h"

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_c/host_c.h"
#include "symbolic/plan_expr.h"
#include "suite.h"

enum {
    MAX_NAMES = 16,
    MAX_RECORDS = 16,
    HELD = 3,
    COOPERATIVE = 1000,
    EARLY = 2000
}; /* blocks an SM of the fake driver holds; recorded for a cluster */

static const char fake_cuda[] =
    "#pragma once\n#include <stddef.h>\ntypedef unsigned long long CUdeviceptr;\n"
    "typedef enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_FOUND = 500 } CUresult;\n"
    "typedef int CUdevice;\n"
    "typedef struct fake_module *CUmodule;\n"
    "typedef const char *CUfunction;\n" /* its name */
    "typedef struct fake_stream *CUstream;\n"
    "enum { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN };\n"
    "enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES };\n"
    "enum { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };\n"
    "typedef struct { int id; union { struct { unsigned x, y, z; } clusterDim; int programmaticStreamSerializationAllowed; } value; } CUlaunchAttribute;\n"
    "typedef struct { unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; CUstream hStream;\n"
    "                 CUlaunchAttribute *attrs; unsigned numAttrs; } CUlaunchConfig;\n"
    "#include <stdint.h>\ntypedef uint64_t cuuint64_t;\ntypedef uint32_t cuuint32_t;\n"
    "typedef struct { cuuint64_t opaque[16]; } CUtensorMap;\n"
    "typedef enum { CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9 } CUtensorMapDataType;\n"
    "typedef enum { CU_TENSOR_MAP_INTERLEAVE_NONE } CUtensorMapInterleave;\n"
    "typedef enum { CU_TENSOR_MAP_SWIZZLE_128B = 3 } CUtensorMapSwizzle;\n"
    "typedef enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2, CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 } CUtensorMapL2promotion;\n"
    "typedef enum { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE } CUtensorMapFloatOOBfill;\n"
    "CUresult cuTensorMapEncodeTiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,\n"
    "                                const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);\n"
    "CUresult cuTensorMapEncodeIm2col(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *, const int *,\n"
    "                                 cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);\n"
    "CUresult cuModuleLoadData(CUmodule *, const void *);\n"
    "CUresult cuModuleUnload(CUmodule);\n"
    "CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);\n"
    "CUresult cuFuncSetAttribute(CUfunction, int, int);\n"
    "CUresult cuCtxGetDevice(CUdevice *);\n"
    "CUresult cuDeviceGetAttribute(int *, int, CUdevice);\n"
    "CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);\n"
    "CUresult cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);\n"
    "CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **);\n"
    "CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t);\n";

/* What the fake driver records, in the same form on both sides. */
#define RECORD                                                                             \
    struct record {                                                                        \
        const char *entry;                                                                 \
        unsigned grid, block, shared, cluster;                                             \
        unsigned long long args[32], maps[8][16];                                          \
    };
RECORD
#define TEXT_OF(...) #__VA_ARGS__
#define EXPAND(...) TEXT_OF(__VA_ARGS__)

static const char fake_driver[] = "#include <string.h>\n" EXPAND(
    RECORD) "\n"
            "int sm_count, n_records, shared_limit, is_loaded; struct record records[16];\n"
            "int (*arg_bytes)(const char *entry, int i); int (*shared_bytes)(const char *entry, int bytes);\n"
            "CUresult cuModuleLoadData(CUmodule *m, const void *p) { *m = (CUmodule)&is_loaded; is_loaded++; return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }\n"
            "CUresult cuModuleUnload(CUmodule m) { is_loaded -= m == (CUmodule)&is_loaded; return CUDA_SUCCESS; }\n"
            "CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) { *f = name; return m == (CUmodule)&is_loaded && arg_bytes(name, -1) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND; }\n"
            "CUresult cuFuncSetAttribute(CUfunction f, int what, int n) { (void)what; return shared_bytes(f, n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }\n"
            "CUresult cuCtxGetDevice(CUdevice *d) { *d = 0; return CUDA_SUCCESS; }\n"
            "CUresult cuDeviceGetAttribute(int *v, int what, CUdevice d) {\n"
            "    (void)d; *v = what == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? sm_count : shared_limit; return CUDA_SUCCESS; }\n"
            "static CUresult record(CUfunction f, unsigned grid, unsigned block, unsigned shared, unsigned cluster, void **args) {\n"
            "    struct record *r = &records[n_records++];\n"
            "    memset(r, 0, sizeof *r);\n"
            "    r->entry = f, r->grid = grid, r->block = block, r->shared = shared, r->cluster = cluster;\n"
            "    int at = 0;\n"
            "    for (int n; (n = arg_bytes(f, at)) > 0; at++) memcpy(&r->args[at], args[at], (size_t)n);\n"
            "    if (arg_bytes(f, -2)) memcpy(r->maps, args[at], (size_t)arg_bytes(f, -2));\n"
            "    return CUDA_SUCCESS; }\n"
            "CUresult cuTensorMapEncodeTiled(CUtensorMap *m, CUtensorMapDataType t, cuuint32_t rank, void *p, const cuuint64_t *extents, const cuuint64_t *strides,\n"
            "    const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave i, CUtensorMapSwizzle s, CUtensorMapL2promotion l, CUtensorMapFloatOOBfill o) {\n"
            "    cuuint64_t *w = m->opaque;\n"
            "    if (i || s != 3 || l != (strides[0] % 256 ? 2 : 3) || o) return CUDA_ERROR_NOT_FOUND;\n"
            "    *w++ = (cuuint64_t)p, *w++ = t * 8u + rank;\n"
            "    for (unsigned d = 0; d < rank; d++) { *w++ = extents[d]; if (d) *w++ = strides[d - 1] << 16 | box[d]; if (steps[d] != 1) return CUDA_ERROR_NOT_FOUND; }\n"
            "    *w = box[0]; return CUDA_SUCCESS; }\n"
            "CUresult cuTensorMapEncodeIm2col(CUtensorMap *m, CUtensorMapDataType t, cuuint32_t rank, void *p, const cuuint64_t *extents, const cuuint64_t *strides,\n"
            "    const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave i, CUtensorMapSwizzle s,\n"
            "    CUtensorMapL2promotion l, CUtensorMapFloatOOBfill o) {\n"
            "    cuuint64_t *w = m->opaque;\n"
            "    if (i || s != 3 || l != (strides[0] % 256 ? 2 : 3) || o || steps[0] != 1 || steps[rank - 1] != 1) return CUDA_ERROR_NOT_FOUND;\n"
            "    *w++ = (cuuint64_t)p, *w++ = t * 8u + rank;\n"
            "    for (unsigned d = 0; d < rank; d++) { *w++ = extents[d]; if (d) *w++ = strides[d - 1] << 16 | (d == 1 ? pixels : 0); }\n"
            "    *w++ = channels;\n"
            "    for (unsigned d = 0; d < rank - 2; d++) *w++ = (cuuint64_t)steps[1 + d] << 32 | (lower[d] & 0xffffu) << 16 | (upper[d] & 0xffffu);\n"
            "    return CUDA_SUCCESS; }\n"
            "CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s,\n"
            "                        void **args, void **extra) {\n"
            "    (void)extra; return gy * gz * by * bz == 1 && s == (CUstream)8 ? record(f, gx, bx, shared, 1, args) : CUDA_ERROR_NOT_FOUND; }\n"
            "CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **args, void **extra) {\n"
            "    (void)extra; return record(f, c->gridDimX, c->blockDimX, c->sharedMemBytes, !c->numAttrs ? 1 : c->attrs->id == 4 ? c->attrs->value.clusterDim.x : c->attrs->id == 6 && c->attrs->value.programmaticStreamSerializationAllowed ? 2000 : 0, args); }\n"
            "CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s,\n"
            "                                   void **args) { return gy * gz * by * bz == 1 && s == (CUstream)8 ? record(f, gx, bx, shared, 1000, args) : CUDA_ERROR_NOT_FOUND; }\n"
            "CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int block, size_t shared) {\n"
            "    (void)shared; *n = 3; return f && block > 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND; }\n";

/* ---- compiling what was emitted ---- */

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
}

/* Runs a compiler on source; what it says is part of the failure. */
static void run_compiler(const char *compiler, const char *source, const char *flags, const char *out) {
    char command[1200], said[4000] = "";
    snprintf(command, sizeof command, "%s -Wall -Wextra -Werror %s -o %s %s 2>&1", compiler, flags, out, source);
    FILE *p = popen(command, "r");
    ck_assert(p != NULL);
    size_t n = fread(said, 1, sizeof said - 1, p);
    said[n] = 0;
    ck_assert_msg(pclose(p) == 0, "%s\n%.1500s", command, said);
}

static void compile(const char *source, const char *flags, const char *out) {
    char compiler[300];
    const char *cc = getenv("CC");
    snprintf(compiler, sizeof compiler, "%s -std=c99 -O1 -Wpedantic", cc && *cc ? cc : "cc");
    run_compiler(compiler, source, flags, out);
}

/* A launcher is C++ as well, as PyTorch's extensions build it. */
static void check_cxx(const char *source, const char *flags) {
    char compiler[300];
    const char *cxx = getenv("FX_CXX");
    snprintf(compiler, sizeof compiler, "%s -x c++ -std=c++17 -fsyntax-only -Wpedantic", cxx && *cxx ? cxx : "g++");
    run_compiler(compiler, source, flags, "/dev/null");
}

static const char *cuda_include(void) {
    static char path[600];
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/usr"};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        if (!homes[i]) continue;
        snprintf(path, sizeof path, "%s/include/cuda.h", homes[i]);
        if (access(path, R_OK)) continue;
        snprintf(path, sizeof path, "-isystem %s/include", homes[i]);
        return path;
    }
    return NULL;
}

struct library { /* a launcher with the fake driver, loaded */
    char dir[200];
    void *handle;
    int *sm_count, *n_records, *shared_limit, *is_loaded;
    struct record *records;
};

static void *symbol(const struct library *l, const char *name) {
    void *p = dlsym(l->handle, name);
    ck_assert_msg(p != NULL, "%s is missing", name);
    return p;
}

static const char *const scalar_types[FX_N_DTYPES] = {[FX_BOOL] = "bool",
    [FX_I8] = "int8_t",
    [FX_U8] = "uint8_t",
    [FX_I16] = "int16_t",
    [FX_I32] = "int32_t",
    [FX_I64] = "int64_t",
    [FX_U32] = "uint32_t",
    [FX_U64] = "uint64_t",
    [FX_F8E4M3] = "uint8_t",
    [FX_F8E5M2] = "uint8_t",
    [FX_F16] = "uint16_t",
    [FX_BF16] = "uint16_t",
    [FX_F32] = "float",
    [FX_F64] = "double"};

static bool has_once(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].is_once) return true;
    return false;
}

/* Whether extent j is an argument of launchers: those that passes made they compute. */
static bool is_given(const struct fx_kernel *k, int j) { return k->extents[j].value < 0 && !k->extents[j].is_made; }

static void put_extents(struct buf *out, const struct fx_kernel *k) {
    for (int j = 0; j < k->n_extents; j++)
        if (is_given(k, j)) buf_printf(out, ", e[%d]", j);
}

static void put_strides(struct buf *out, const struct fx_kernel *k, bool of_const) {
    for (int j = 0; j < k->n_params; j++)
        for (int axis = 0; k->params[j].is_strided && (!of_const || k->params[j].is_const) && axis < k->params[j].rank; axis++)
            buf_printf(out, ", s[%d]", fx_stride_index(j, axis));
}

static void put_scalars(struct buf *out, const struct fx_kernel *k) {
    for (int j = 0; j < k->n_params; j++)
        if (k->params[j].is_scalar)
            buf_printf(out, "    %s s%d; memcpy(&s%d, &p[%d], sizeof s%d);\n", scalar_types[k->params[j].dtype], j, j, j, j);
}

/* kept_I(params, memory, workspace, extents, strides, off): the constants computed into memory, the launch with them,
 * its `const` tensors `off` bytes away from those; const_bytes_I, const_workspace_I. */
static void put_kept_shim(struct buf *out, const struct fx_kernel *k, const char *name, int i) {
    buf_printf(out,
        "int kept_%d(unsigned long long *p, unsigned long long memory, unsigned long long workspace, long long *e, long long *s, int off) {\n"
        "    struct %s_constants constants;\n    (void)s;\n",
        i, name);
    put_scalars(out, k);
    buf_printf(out, "    int r = (int)%s_const_prepare(&module_%d, (CUstream)8", name, i);
    for (int j = 0; j < k->n_params; j++)
        if (k->params[j].is_const) buf_printf(out, ", p[%d]", j);
    buf_puts(out, ", memory, &constants");
    put_extents(out, k);
    put_strides(out, k, true);
    buf_printf(out, ");\n    return r ? r : (int)%s_const_launch(&module_%d, (CUstream)8", name, i);
    for (int j = 0; j < k->n_params; j++) buf_printf(out, k->params[j].is_const ? ", p[%d] + off" : k->params[j].is_scalar ? ", s%d" : ", p[%d]", j);
    buf_puts(out, ", &constants, workspace");
    put_extents(out, k);
    put_strides(out, k, false);
    buf_puts(out, ");\n}\n");
    static const char *const sizes[] = {"bytes", "workspace"};
    for (int w = 0; w < 2; w++) {
        buf_printf(out, "unsigned long long const_%s_%d(long long *e) { return %s_const_%s(&module_%d", sizes[w], i, name,
            sizes[w], i);
        put_extents(out, k);
        buf_puts(out, "); }\n");
    }
}

/* A function of one shape for every kernel: run_I(params, workspace, extents), load_I, workspace_I(extents). */
static void put_shim(struct buf *out, const struct fx_plan *p, const char *const *names) {
    for (int i = 0; i < p->n_kernels; i++) {
        const struct fx_kernel *k = &p->kernels[i];
        const char *name = names[i];
        buf_printf(out, "static struct %s_module module_%d;\n", name, i);
        buf_printf(out,
            "int load_%d(void) { return %s_load(&module_%d, \"cubin\"); }\nint unload_%d(void) { return %s_unload(&module_%d); }\n",
            i, name, i, i, name, i);
        buf_printf(out,
            "int run_%d(unsigned long long *p, unsigned long long workspace, long long *e, long long *s) {\n    (void)p, (void)e, (void)s;\n",
            i);
        put_scalars(out, k);
        buf_printf(out, "    return %s_launch(&module_%d, (CUstream)8", name, i);
        for (int j = 0; j < k->n_params; j++) buf_printf(out, k->params[j].is_scalar ? ", s%d" : ", p[%d]", j);
        buf_puts(out, ", workspace");
        put_extents(out, k);
        for (int j = 0; j < k->n_params; j++)
            for (int axis = 0; k->params[j].is_strided && axis < k->params[j].rank; axis++)
                buf_printf(out, ", s[%d]", fx_stride_index(j, axis));
        buf_puts(out, ");\n}\n");
        if (has_once(k)) put_kept_shim(out, k, name, i);
        buf_printf(out, "unsigned long long workspace_%d(long long *e) { (void)e; return %s_workspace_bytes(", i, name);
        bool has_device = false;
        for (int b = 0; b < k->n_buffers; b++) has_device |= expr_has(&k->buffers[b].bytes, FX_T_SM_COUNT, 0);
        for (int q = 0; k->n_buffers && q < k->n_partitions; q++)
            has_device |= expr_has(&k->partitions[q].takes, FX_T_SM_COUNT, 0);
        const char *separator = has_device ? ", " : "";
        if (has_device) buf_printf(out, "&module_%d", i);
        for (int j = 0; j < k->n_extents; j++)
            if (is_given(k, j)) {
                buf_printf(out, "%se[%d]", separator, j);
                separator = ", ";
            }
        buf_puts(out, "); }\n");
    }
}

static const struct fx_kernel *current; /* whose entries the fake driver asks about */

static const struct fx_launch *launch_of(const char *entry, int *variant) {
    for (int i = 0; i < current->n_launches; i++)
        for (int v = 0; v < current->launches[i].n_variants; v++)
            if (strcmp(current->launches[i].variants[v].entry, entry) == 0) return *variant = v, &current->launches[i];
    return NULL;
}

/* Bytes of argument i of an entry, 0 past the last; for i = -1 whether there is such an entry, for -2 those of its
 * tensor maps. */
static int arg_bytes(const char *entry, int i) {
    int v;
    const struct fx_launch *l = launch_of(entry, &v);
    if (l && i == -2) return l->variants[v].takes_maps ? l->n_maps * 128 : 0;
    if (i < 0 || !l) return l != NULL;
    if (i >= l->n_args) return 0;
    const struct fx_param *p = l->args[i].kind == FX_ARG_PARAM ? &current->params[l->args[i].index] : NULL;
    return p && p->is_scalar ? fx_dtype_bits(p->dtype) / 8 : 8;
}

/* Whether `bytes` is a right limit of shared memory for the entry: what it needs,
 * or all there is where that depends. */
static int shared_bytes(const char *entry, int bytes) {
    int v;
    int64_t need;
    const struct fx_launch *l = launch_of(entry, &v);
    if (!l) return 0;
    for (int i = 0; i < l->variants[v].smem.n; i++)
        if (l->variants[v].smem.terms[i].op >= FX_T_EXTENT && l->variants[v].smem.terms[i].op <= FX_T_STRIDE)
            return bytes == 100000;
    return fx_expr_eval(&l->variants[v].smem, &(struct fx_env){0}, &need) &&
           bytes == (need < INT_MAX ? need : INT_MAX) && need > 48 * 1024;
}

/* The file behind the header that declares it: they agree. */
static void check_header(struct arena *a, const struct fx_plan *p, const char *dir, const char *host_c) {
    struct buf text;
    char *h = arena_printf(a, "%s/declared.h", dir), *c = arena_printf(a, "%s/both.c", dir),
         *o = arena_printf(a, "%s/both.o", dir);
    buf_init(&text, a);
    emit_host_h(&text, p);
    write_file(h, text.s);
    write_file(c, arena_printf(a, "#include \"declared.h\"\n%s", host_c));
    compile(c, arena_printf(a, "-I%s -c", dir), o);
    check_cxx(c, arena_printf(a, "-I%s", dir));
    remove(h), remove(c), remove(o);
}

static struct library load_library(
    struct arena *a, const struct fx_plan *p, const char *host_c, const char *const *names) {
    struct library l;
    struct buf source;
    const char *include = cuda_include();
    mkdir(FX_TEST_DIR, 0777);
    snprintf(l.dir, sizeof l.dir, "%s/host_c.XXXXXX", FX_TEST_DIR);
    ck_assert(mkdtemp(l.dir) != NULL);
    char *header = arena_printf(a, "%s/cuda.h", l.dir), *c = arena_printf(a, "%s/launcher.c", l.dir),
         *so = arena_printf(a, "%s/launcher.so", l.dir);
    write_file(c, host_c);
    if (include) compile(c, arena_printf(a, "%s -c", include), so); /* see has_cuda_h */
    buf_init(&source, a);
    buf_puts(&source, host_c);
    buf_puts(&source, fake_driver);
    put_shim(&source, p, names);
    write_file(header, fake_cuda);
    check_header(a, p, l.dir, host_c);
    write_file(c, source.s);
    /* Undefined behaviour traps: it would be an overflow in an expression. */
    compile(c,
        arena_printf(
            a, "-I%s -shared -fPIC -Wl,-Bsymbolic -fsanitize=undefined -fsanitize-undefined-trap-on-error", l.dir),
        so);
    l.handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(l.handle != NULL, "%s", dlerror());
    l.sm_count = symbol(&l, "sm_count"), l.n_records = symbol(&l, "n_records"), l.records = symbol(&l, "records");
    l.shared_limit = symbol(&l, "shared_limit"), l.is_loaded = symbol(&l, "is_loaded");
    *(int (**)(const char *, int))symbol(&l, "arg_bytes") = arg_bytes;
    *(int (**)(const char *, int))symbol(&l, "shared_bytes") = shared_bytes;
    *l.shared_limit = 100000;
    remove(c), remove(so), remove(header), rmdir(l.dir);
    return l;
}

/* ---- one launch, compared ---- */

struct call { /* arguments of a launch */
    unsigned long long params[32], workspace;
    long long extents[32], strides[32 * FX_MAX_RANK];
    int sm_count;
};

static unsigned align_of(unsigned long long p) {
    unsigned a = 1;
    while (a < 256 && p % (2 * a) == 0) a *= 2;
    return a;
}

/* Strides as a launch takes them: 0 where an axis has one element or the tensor none. */
static void take_strides(const struct fx_kernel *k, const struct call *c, const int64_t *extents, int64_t *strides) {
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++) {
            bool is_free = fx_argument_extent(&k->params[i], j, extents) == 1;
            for (int axis = 0; axis < k->params[i].rank; axis++)
                is_free |= fx_argument_extent(&k->params[i], axis, extents) == 0;
            strides[fx_stride_index(i, j)] = is_free ? 0 : c->strides[fx_stride_index(i, j)];
        }
}

static int64_t value_of(const struct fx_expr *e, const struct fx_env *env) {
    int64_t v = 0;
    ck_assert(fx_expr_eval(e, env, &v));
    return v;
}

/* As the fake driver encodes a map; nothing of an output that lies at no multiples of 16 bytes. */
static void expect_map(
    const struct fx_map *m, unsigned long long base, const struct fx_env *env, unsigned long long *words) {
    const int bytes = fx_dtype_bits(m->dtype) / 8;
    bool is_apart = (base + bytes * (unsigned long long)value_of(&m->offset, env)) % 16 != 0;
    for (int d = 0; d < m->rank; d++) {
        int64_t extent = value_of(&m->extents[d], env);
        if (extent == 0) return;
        is_apart |= d && extent != 1 && bytes * value_of(&m->strides[d], env) % 16;
    }
    if (m->is_stored && is_apart) return;
    int box[FX_MAX_MAP_RANK];
    memcpy(box, m->box, sizeof box);
    if (m->is_tail && value_of(&m->extents[1], env) % box[1]) box[1] = (int)(value_of(&m->extents[1], env) % box[1]);
    *words++ = base + bytes * (unsigned long long)value_of(&m->offset, env);
    *words++ = (m->dtype == FX_U32 ? 2 : m->dtype == FX_F16 ? 6 : m->dtype == FX_F32 ? 7 : 9) * 8u + (unsigned)m->rank;
    for (int d = 0; d < m->rank; d++) {
        int64_t extent = value_of(&m->extents[d], env);
        *words++ = (unsigned long long)extent;
        if (d)
            *words++ = (extent == 1 ? 16 : bytes * (unsigned long long)value_of(&m->strides[d], env)) << 16 |
                       (unsigned)box[d];
    }
    *words++ = (unsigned)box[0];
    for (int d = 0; m->is_im2col && d < m->rank - 2; d++) {
        int64_t lower = value_of(&m->first[d], env),
                upper = value_of(&m->last[d], env) - (value_of(&m->extents[1 + d], env) - 1);
        *words++ = (unsigned long long)m->steps[d] << 32 | ((unsigned)lower & 0xffffu) << 16 | ((unsigned)upper & 0xffffu);
    }
}

enum which { RUN_ALL, RUN_ONCE, RUN_KEPT };

/* The launches of a partition, where its buffers lie as said; how many there are, -1: they are refused. */
static int expect_launches(const struct fx_kernel *k, const struct call *c, const struct fx_partition *taken,
    const struct fx_env *env, const unsigned long long *buffers, enum which which, struct record *out) {
    int n = 0;
    for (int i = taken->first_launch; i < taken->first_launch + taken->n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        int64_t grid, shared, cluster = 1;
        if (which != RUN_ALL && l->is_once != (which == RUN_ONCE)) continue;
        int v = fx_choose_variant(l, env);
        if (v >= 0 && l->variants[v].cluster.n && !fx_expr_eval(&l->variants[v].cluster, env, &cluster)) return -1;
        if (v < 0 || !fx_expr_eval(&l->variants[v].grid, env, &grid) || grid < 0 || grid > INT_MAX) return -1;
        if (!fx_expr_eval(&l->variants[v].smem, env, &shared) || shared < 0 || shared > INT_MAX) return -1;
        if (grid == 0) continue;
        if (l->is_cooperative && grid > HELD * (int64_t)c->sm_count) grid = HELD * c->sm_count;
        struct record *r = &out[n++];
        *r = (struct record){l->variants[v].entry, (unsigned)grid, (unsigned)l->variants[v].block, (unsigned)shared,
            l->is_cooperative             ? COOPERATIVE
            : cluster > 1                 ? (unsigned)cluster
            : l->variants[v].starts_early ? EARLY
                                          : 1,
            {0}, {{0}}};
        for (int a = 0; a < l->n_args; a++) {
            int at = l->args[a].index;
            r->args[a] = l->args[a].kind == FX_ARG_PARAM ? c->params[at]
                         : l->args[a].kind == FX_ARG_BUFFER
                             ? buffers[at]
                             : (unsigned long long)(l->args[a].kind == FX_ARG_STRIDE ? env->strides[at] : env->extents[at]);
        }
        for (int m = 0; l->variants[v].takes_maps && m < l->n_maps; m++) {
            int at = l->maps[m].base.index;
            expect_map(&l->maps[m], l->maps[m].base.kind == FX_ARG_PARAM ? c->params[at] : buffers[at],
                env, r->maps[m]);
        }
    }
    return n;
}

/* Where constants are kept: they are computed, of every partition that has some, and then launched with. */
static const unsigned long long kept_at = 0x600000000000;

/* Of the launches, the first `n_once` are those that compute. */
static int expect_kept(const struct fx_kernel *k, const struct call *c, const struct fx_partition *taken,
    const struct fx_env *env, unsigned long long *at, struct record *out, int *n_once) {
    unsigned long long base = kept_at, buffers[FX_MAX_BUFFERS];
    int n = 0;
    for (int q = 0; q < fx_partition_count(k); q++) {
        const struct fx_partition p = fx_get_partition(k, q);
        size_t offsets[FX_MAX_BUFFERS], own;
        if (!fx_const_layout(k, &p, env, offsets, &own)) return -1;
        for (int i = p.first_buffer; i < p.first_buffer + p.n_buffers; i++) {
            buffers[i] = base + offsets[i];
            if (k->buffers[i].kind == FX_BUFFER_CONST && p.first_launch == taken->first_launch) at[i] = buffers[i];
        }
        int more = expect_launches(k, c, &p, env, buffers, RUN_ONCE, out + n);
        if (more < 0) return -1;
        n += more, base += own;
    }
    *n_once = n;
    int more = expect_launches(k, c, taken, env, at, RUN_KEPT, out + n);
    return more < 0 ? -1 : n + more;
}

/* The extents of a call, those that passes made by their equations; false: one is none. */
static bool take_extents(const struct fx_kernel *k, const long long *given, int64_t *extents) {
    const struct fx_env env = {.extents = extents};
    for (int i = 0; i < k->n_extents; i++) {
        extents[i] = k->extents[i].value >= 0 ? k->extents[i].value : given[i];
        if (is_given(k, i) && (extents[i] < 0 || extents[i] > INT64_C(1) << 40)) return false;
        for (int q = 0; k->extents[i].value < 0 && k->extents[i].is_made && q < k->n_equations; q++)
            if (k->equations[q].extent == i && !fx_expr_eval(&k->equations[q].value, &env, &extents[i])) return false;
    }
    return true;
}

/* What the launcher must record, with constants kept where `n_once` is not NULL; -1 when it must refuse. */
static int expect(const struct fx_kernel *k, const struct call *c, struct record *out, int *n_once) {
    unsigned align[32];
    int64_t extents[32], strides[32 * FX_MAX_RANK];
    size_t offsets[32], total;
    const void *scalars[32];
    char message[256];
    if (!take_extents(k, c->extents, extents)) return -1;
    for (int i = 0; i < k->n_params; i++) {
        align[i] = k->params[i].is_scalar ? 256 : align_of(c->params[i]);
        if (!k->params[i].is_scalar && c->params[i] % (unsigned)(fx_dtype_bits(fx_argument_dtype(&k->params[i])) / 8))
            return -1;
        if (k->params[i].align && c->params[i] % (unsigned)k->params[i].align) return -1;
        scalars[i] = k->params[i].is_scalar ? &c->params[i] : NULL;
    }
    struct fx_env env = {.extents = extents, .sm_count = c->sm_count};
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, &env));
    if (!fx_workspace_layout(k, &taken, &env, offsets, &total) || (total && c->workspace % 256)) return -1;
    take_strides(k, c, extents, strides);
    env.align = align;
    env.strides = strides;
    for (int i = 0; i < k->n_checks; i++)
        if (!expr_is_on_scalars(&k->checks[i].holds) && !fx_expr_holds(&k->checks[i].holds, &env)) return -1;
    if (fx_check_scalars(k, extents, scalars, message, sizeof message)) return -1;
    unsigned long long at[FX_MAX_BUFFERS];
    for (int i = taken.first_buffer; i < taken.first_buffer + taken.n_buffers; i++) at[i] = c->workspace + offsets[i];
    return n_once ? expect_kept(k, c, &taken, &env, at, out, n_once)
                  : expect_launches(k, c, &taken, &env, at, RUN_ALL, out);
}

static void check_records(const struct library *l, const struct record *want, int n) {
    ck_assert_int_eq(*l->n_records, n);
    for (int r = 0; r < n; r++) {
        ck_assert_str_eq(l->records[r].entry, want[r].entry);
        l->records[r].entry = want[r].entry;
        for (int a = 0; a < (int)(sizeof want->args / sizeof *want->args); a++)
            ck_assert_msg(l->records[r].args[a] == want[r].args[a], "%s: argument %d is %llx, expected %llx",
                want[r].entry, a, (unsigned long long)l->records[r].args[a], (unsigned long long)want[r].args[a]);
        ck_assert_msg(memcmp(&l->records[r], &want[r], sizeof *want) == 0,
            "%s: grid %u block %u shared %u, expected %u %u %u, or a map differs", want[r].entry, l->records[r].grid,
            l->records[r].block, l->records[r].shared, want[r].grid, want[r].block, want[r].shared);
    }
}

static void check_call(const struct library *l, const struct fx_kernel *k, int i, struct call *c) {
    char name[40];
    struct record want[MAX_RECORDS];
    *l->sm_count = c->sm_count;
    *l->n_records = 0;
    current = k;
    snprintf(name, sizeof name, "load_%d", i);
    ck_assert_int_eq(((int (*)(void))symbol(l, name))(), 0);
    snprintf(name, sizeof name, "run_%d", i);
    int got = ((int (*)(unsigned long long *, unsigned long long, long long *, long long *))symbol(l, name))(
        c->params, c->workspace, c->extents, c->strides);
    int n = expect(k, c, want, NULL);
    ck_assert_msg(got == (n < 0), "%s: launch gave %d, expected %s", k->name, got, n < 0 ? "a refusal" : "success");
    check_records(l, want, n < 0 ? 0 : n);
    snprintf(name, sizeof name, "unload_%d", i);
    ck_assert_int_eq(((int (*)(void))symbol(l, name))(), 0);
    ck_assert_int_eq(*l->is_loaded, 0);
}

/* The same where what depends on `const` tensors alone is computed once; other tensors then are refused. */
static void check_kept(const struct library *l, const struct fx_kernel *k, int i, struct call *c) {
    char name[40];
    struct record want[MAX_RECORDS];
    int n_once, n = expect(k, c, want, &n_once);
    if (n < 0) return;
    *l->sm_count = c->sm_count;
    current = k;
    snprintf(name, sizeof name, "load_%d", i);
    ck_assert_int_eq(((int (*)(void))symbol(l, name))(), 0);
    snprintf(name, sizeof name, "kept_%d", i);
    for (int off = 0; off <= 256; off += 256) {
        *l->n_records = 0;
        int r = ((int (*)(unsigned long long *, unsigned long long, unsigned long long, long long *, long long *, int))symbol(
            l, name))(c->params, kept_at, c->workspace, c->extents, c->strides, off);
        ck_assert_msg(r == (off ? 1 : 0), "%s: with constants it gave %d", k->name, r);
        check_records(l, want, off ? n_once : n);
    }
    char size[40];
    snprintf(size, sizeof size, "const_bytes_%d", i);
    if (((unsigned long long (*)(long long *))symbol(l, size))(c->extents))
        ck_assert_int_ne(((int (*)(unsigned long long *, unsigned long long, unsigned long long, long long *, long long *,
            int))symbol(l, name))(c->params, kept_at + 128, c->workspace, c->extents, c->strides, 0), 0);
    *l->is_loaded = 0;
}

static void check_workspace(const struct library *l, const struct fx_kernel *k, int i, struct call *c) {
    char name[40];
    int64_t extents[32];
    size_t total;
    bool is_valid = take_extents(k, c->extents, extents);
    const struct fx_env env = {.extents = extents, .sm_count = c->sm_count};
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, &env));
    is_valid = is_valid && fx_workspace_layout(k, &taken, &env, NULL, &total);
    snprintf(name, sizeof name, "load_%d", i);
    *l->sm_count = c->sm_count;
    current = k;
    ck_assert_int_eq(((int (*)(void))symbol(l, name))(), 0);
    snprintf(name, sizeof name, "workspace_%d", i);
    unsigned long long got = ((unsigned long long (*)(long long *))symbol(l, name))(c->extents);
    ck_assert_msg(
        got == (is_valid ? (unsigned long long)total : ULLONG_MAX), "%s: workspace of %llu bytes", k->name, got);
    *l->is_loaded = 0;
}

static uint64_t next_random(uint64_t *s) {
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s >> 11;
}

/* Bits of a scalar: small numbers, special ones, any. */
static uint64_t random_scalar(uint64_t *seed, enum fx_dtype t) {
    static const double special[] = {0, 1, -1, 0.5, 1.5, 3, -2.25, 100, 448, 1e30, -1e30, INFINITY, -INFINITY, NAN};
    uint64_t bits = 0;
    if (next_random(seed) % 3)
        fx_store_double(t, &bits, 0, special[next_random(seed) % (sizeof special / sizeof *special)]);
    else bits = next_random(seed) ^ next_random(seed) << 32;
    if (t == FX_BOOL) bits &= 1;
    return fx_dtype_bits(t) == 64 ? bits : bits & ((UINT64_C(1) << fx_dtype_bits(t)) - 1);
}

/* Shapes from empty to impossible, addresses of every alignment, devices of several sizes. */
static void check_kernel(const struct library *l, const struct fx_kernel *k, int i, int n_calls) {
    static const long long extents[] = {0, 1, 2, 3, 7, 8, 16, 17, 64, 100, 128, 129, 512, 4096, 4097, 65536, 1 << 20,
        2147418112, 2147483648, 1099511627775, 1099511627776, 1099511627777, -1, LLONG_MIN};
    static const long long strides[] = {
        1, 1, 1, 0, -1, 2, 8, 16, -16, 4096, 4100, -7, 1099511627776, 1152921504606846975, -1152921504606846975};
    static const int n_extents = sizeof extents / sizeof *extents, sms[] = {1, 20, 132};
    uint64_t seed = 0x9E3779B97F4A7C15u + (unsigned)i;
    for (int call = 0; call < n_calls; call++) {
        struct call c = {.workspace = 0x700000000000, .sm_count = sms[next_random(&seed) % 3]};
        int kinds = call % 8 == 0 ? n_extents : call % 8 < 3 ? n_extents - 6 : 16;
        if (call % 32 == 5) c.workspace += 128;
        for (int e = 0; e < k->n_extents; e++) c.extents[e] = extents[next_random(&seed) % (unsigned)kinds];
        for (int s = 0; s < fx_stride_index(k->n_params, 0); s++)
            c.strides[s] = strides[next_random(&seed) % (call % 2 ? sizeof strides / sizeof *strides : 9)];
        for (int p = 0; p < k->n_params; p++) {
            unsigned shift = call % 4 ? 8 : (unsigned)(next_random(&seed) % 9);
            c.params[p] = 0x500000000000 + ((uint64_t)(p + 1) << 32) + (UINT64_C(1) << shift);
            if (k->params[p].is_scalar) c.params[p] = random_scalar(&seed, k->params[p].dtype);
        }
        check_call(l, k, i, &c);
        if (has_once(k)) check_kept(l, k, i, &c);
        check_workspace(l, k, i, &c);
    }
}

/* ---- plans of specs ---- */

static const struct {
    const char *text;
    const char *names[4]; /* of the kernels, re-encoded */
} specs[] = {
    {"kernel linear_gelu(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
        {"linear_gelu"}},
    {"kernel f(x: f16[M,K], w: f16[K,N], v: f32[N,P], s: f32 = 2) -> (y: f32[M,P], z: f16[N,M]) {\n h = x @ w\n z = relu(h) * s\n y = h @ v + s\n}",
        {"f"}},
    {"kernel phases(x: f16[M,K], w: f16[K,N], g: f32[M,N]) -> (y: f16[M,N], t: f32[]) with { kernels: 1 } {\n r = rsqrt(mean[K](x * x) + 1e-5)\n y = r * (x @ w)\n t = sum[M,N](g)\n}",
        {"phases"}},
    {"kernel fixed(x: f32[M=64,K=32], w: f32[K,N=16]) -> y: f32[M,N] { y = x @ w }", {"fixed"}},
    {"kernel batched(x: f16[B,H,M,K], w: f16[B,H,K,N]) -> y: f16[B,M,H,N] { y = x @ w }", {"batched"}},
    {"kernel windows[U=3,V=2](x: f16[B,H,W,C=64], k: f16[U,V,C,O], l: f16[W,O]) -> (y: f16[B,P=(H+1)//2,W,O]) {\n y = sum[U,V,C]((x[H: 2*idx(P) + idx(U) - 1, W: idx(W) - 3*idx(V)] ?? 0) * k) + l\n}",
        {"windows"}},
    {"kernel add(x: f32[M,N], b: f16[N]) -> (y: bf16[M,N], z: f32[N,M]) { y = x + b\n z = x * b }\nkernel twice(x: f32[]) -> y: f32[] { y = 2 * x }",
        {"add", "twice"}},
    {"kernel move(x: f32[M,N] strided, i: i32[M,K=1] strided, y: inout f16[M,N] strided) -> z: bf16[N,M] strided { y = y + x\n z = x * i[K: 0] }\n"
     "kernel product(x: f16[M,K] strided, w: f16[K,N] strided, q: u4[N,K] packed(i32, K, lsb) strided) -> y: f16[M,N] { y = x @ w + sum[K](q) }",
        {"move", "product"}},
    {"kernel stride(x: f32[M,N] strided, x_stride: f32[M], x_stride_M: f32[N]) -> y: f32[M,N] { y = x * x_stride + x_stride_M }",
        {"stride"}},
    /* what depends on `const` tensors alone: in one partition, in some of several, with strides */
    {"kernel norm(x: f16[M,K], w: const f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {\n"
     " y = (x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) + b\n}\n"
     "kernel dequant(x: bf16[M,K], w: const i8[N,K] strided, s: const bf16[N], t: f32) -> y: bf16[M,N] { y = x @ (w * s) * t }",
        {"norm", "dequant"}},
    /* a partition taken under one of several conditions, where its variants fit */
    {"kernel loss(x: bf16[B,D], w: bf16[V,D], t: i32[B]) -> l: f32[B] {\n"
     " z = x @ w\n l = logsumexp[V](z) - sum[V](where(t == idx(V), z, 0))\n}",
        {"loss"}},
    /* Names that are words of C, macros, or what the launcher calls its own things. */
    {"kernel atomic(int: f32[return,for=3], unused: bf16[Z]) -> (x: f32[return,for], x_: f32[Z]) { x = exp(int)\n x_ = 1 + unused }\n"
     "kernel __atomic(m: f32[], __LINE_: f32, stream: f32[workspace,args], r: f32[args,bytes]) -> ready: f32[workspace,bytes] { ready = stream @ r + m * __LINE_ }\n"
     "kernel fx(cuda: f32[sizes,offsets], NULL: f32[offsets]) -> out: f32[sizes] { out = relu(cuda @ NULL) @[sizes] cuda @ NULL + cuda @ NULL }",
        {"atomic", "x_x_atomic", "fx"}},
};
enum { N_SPECS = sizeof specs / sizeof *specs };

START_TEST(test_spec) {
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    struct arena a;
    jmp_buf oom;
    arena_init(&a, &oom);
    fx_status status = fx_compile(specs[_i].text, strlen(specs[_i].text), "t.fx", &o, &c);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    const struct fx_plan *p = fx_get_plan(c);
    struct library l = load_library(&a, p, fx_text(c, FX_TEXT_HOST_C), specs[_i].names);
    for (int k = 0; k < p->n_kernels; k++) check_kernel(&l, &p->kernels[k], k, 2000);
    dlclose(l.handle);
    arena_release(&a);
    fx_close(c);
}
END_TEST

/* ---- random plans: expressions that no spec leads to ---- */

struct random_plan {
    struct arena *arena;
    uint64_t seed;
    int n_extents, n_params;
    int n_scalars;      /* they come first among the parameters */
    bool is_on_scalars; /* the expression now written is a condition on scalars */
    bool has_strides;   /* it may mention strides: the last parameter has them */
};

static int pick(struct random_plan *r, int n) { return (int)(next_random(&r->seed) % (unsigned)n); }

static void add_terms(struct random_plan *r, struct fx_expr *e, struct fx_term **terms, int depth) {
    static const enum fx_term_op scalar_leaves[] = {
        FX_T_CONST, FX_T_EXTENT, FX_T_SCALAR, FX_T_SCALAR, FX_T_SCALAR, FX_T_REAL};
    static const double reals[] = {0.5, -1.5, 3, 0.1, 1e300, INFINITY, NAN};
    static const int64_t constants[] = {
        0, 1, 2, 3, 128, 255, -1, -7, 1000000, INT_MAX, INT64_C(1) << 40, INT64_MAX, INT64_MAX - 1, INT64_MIN + 1};
    struct fx_term t = {.op = (enum fx_term_op)pick(r, r->has_strides ? 5 : 4)};
    if (r->is_on_scalars) t.op = scalar_leaves[pick(r, 6)];
    if (depth > 0 && pick(r, 5)) t.op = (enum fx_term_op)(FX_T_ADD + pick(r, FX_T_NOT - FX_T_ADD + 1));
    if (r->is_on_scalars && t.op >= FX_T_CDIV && t.op <= FX_T_MAX) t.op = FX_T_DIV; /* no condition has them */
    if (t.op > FX_T_LAST_LEAF) add_terms(r, e, terms, depth - 1);
    if (t.op > FX_T_LAST_LEAF && t.op != FX_T_NOT) add_terms(r, e, terms, depth - 1);
    if (t.op == FX_T_CONST) t.v = constants[pick(r, pick(r, 3) ? 6 : sizeof constants / sizeof *constants)];
    if (t.op == FX_T_EXTENT) t.v = pick(r, r->n_extents);
    if (t.op == FX_T_ALIGN) t.v = pick(r, r->n_params);
    if (t.op == FX_T_STRIDE) t.v = fx_stride_index(r->n_params - 1, pick(r, 2));
    if (t.op == FX_T_SCALAR) t.v = pick(r, r->n_scalars);
    if (t.op == FX_T_REAL) memcpy(&t.v, &reals[pick(r, sizeof reals / sizeof *reals)], sizeof t.v);
    PUSH(r->arena, *terms, e->n) = t;
    e->terms = *terms;
}

static struct fx_expr random_expr(struct random_plan *r, int depth) {
    struct fx_expr e = {0};
    struct fx_term *terms = NULL;
    if (pick(r, 12)) add_terms(r, &e, &terms, depth);
    return e;
}

/* Grids and sizes that are often possible. */
static struct fx_expr random_size(struct random_plan *r, int64_t below) {
    struct fx_expr e = {0};
    struct fx_term *terms = NULL;
    add_terms(r, &e, &terms, 3);
    PUSH(r->arena, terms, e.n) = (struct fx_term){FX_T_CONST, below};
    PUSH(r->arena, terms, e.n) = (struct fx_term){FX_T_MOD, 0};
    e.terms = terms;
    return e;
}

/* Always the same. */
static struct fx_expr a_number(struct random_plan *r, int64_t v) {
    struct fx_expr e = {0};
    struct fx_term *terms = NULL;
    PUSH(r->arena, terms, e.n) = (struct fx_term){FX_T_CONST, v};
    e.terms = terms;
    return e;
}

/* Comparisons of what scalars come to, half of the time true. */
static struct fx_expr random_condition(struct random_plan *r) {
    struct fx_expr e = {0};
    struct fx_term *terms = NULL;
    r->is_on_scalars = true;
    for (int side = 0; side < 2; side++) add_terms(r, &e, &terms, pick(r, 4));
    PUSH(r->arena, terms, e.n) = (struct fx_term){(enum fx_term_op)(FX_T_LT + pick(r, 3)), 0};
    if (pick(r, 2)) PUSH(r->arena, terms, e.n) = (struct fx_term){FX_T_NOT, 0};
    e.terms = terms;
    r->is_on_scalars = false;
    return e;
}

static struct fx_launch random_launch(struct random_plan *r, int number, int n_buffers) {
    int n = 1 + pick(r, 4), n_args = pick(r, 6);
    bool is_cooperative = pick(r, 4) == 0;
    r->has_strides = true;
    struct fx_variant *variants = NEW_ARRAY(r->arena, struct fx_variant, n);
    struct fx_arg *args = NEW_ARRAY(r->arena, struct fx_arg, n_args + 1);
    for (int v = 0; v < n; v++)
        variants[v] = (struct fx_variant){.entry = arena_printf(r->arena, "fx_random_%d_%d", number, v),
            .config = "",
            .needs = random_expr(r, 4),
            .prefers = random_expr(r, 4),
            .cost = pick(r, 2) ? random_size(r, 100) : random_expr(r, 0),
            .kind = pick(r, 2),
            .grid = random_size(r, 1 << 20),
            .smem = pick(r, 2) ? random_size(r, 200000) : random_expr(r, 0),
            .block = 32 << v,
            .cluster = number == 1 && !is_cooperative ? a_number(r, v + 1) : (struct fx_expr){0}};
    for (int i = 0; i < n_args; i++) {
        static const enum fx_arg_kind kinds[] = {FX_ARG_PARAM, FX_ARG_STRIDE, FX_ARG_BUFFER, FX_ARG_EXTENT};
        args[i].kind = kinds[pick(r, n_buffers ? 4 : 2)];
        args[i].index = pick(r, args[i].kind == FX_ARG_PARAM    ? r->n_params
                                : args[i].kind == FX_ARG_BUFFER ? n_buffers
                                                                : r->n_extents);
        if (args[i].kind == FX_ARG_STRIDE) args[i].index = fx_stride_index(r->n_params - 1, pick(r, 2));
    }
    r->has_strides = false;
    return (struct fx_launch){.name = "l",
        .driver = "pointwise",
        .is_cooperative = is_cooperative,
        .n_args = n_args,
        .n_variants = n,
        .args = args,
        .variants = variants};
}

static struct fx_kernel random_kernel(struct random_plan *r) {
    static const enum fx_dtype dtypes[] = {FX_F32, FX_F16, FX_I8, FX_BOOL, FX_F64};
    static const enum fx_dtype scalars[] = {
        FX_F32, FX_F64, FX_F16, FX_BF16, FX_F8E4M3, FX_F8E5M2, FX_BOOL, FX_I8, FX_I16, FX_I32, FX_U32, FX_I64, FX_U64};
    struct fx_kernel k = {.name = "random",
        .n_extents = r->n_extents,
        .n_params = r->n_params,
        .n_buffers = pick(r, 3),
        .n_launches = 1 + pick(r, 2),
        .n_checks = pick(r, 6) == 0 ? 2 : pick(r, 2),
        .receipt = ""};
    struct fx_extent *extents = NEW_ARRAY(r->arena, struct fx_extent, k.n_extents);
    struct fx_param *params = NEW_ARRAY(r->arena, struct fx_param, k.n_params);
    struct fx_buffer *buffers = NEW_ARRAY(r->arena, struct fx_buffer, k.n_buffers + 1);
    struct fx_launch *launches = NEW_ARRAY(r->arena, struct fx_launch, k.n_launches);
    struct fx_check *checks = NEW_ARRAY(r->arena, struct fx_check, 2);
    for (int i = 0; i < k.n_extents; i++)
        extents[i] = (struct fx_extent){arena_printf(r->arena, "E%d", i), pick(r, 3) ? -1 : pick(r, 500), false};
    for (int i = 0; i < k.n_params; i++) {
        bool is_scalar = i < r->n_scalars;
        params[i] = (struct fx_param){.name = i ? "p" : "\xc3\xa9*/",
            .dtype = is_scalar ? scalars[pick(r, sizeof scalars / sizeof *scalars)] : dtypes[pick(r, 5)],
            .is_scalar = is_scalar,
            .is_input = i != k.n_params - 1,
            .is_output = i >= k.n_params - 2,
            .is_strided = i == k.n_params - 1,
            .rank = is_scalar             ? 0
                    : i == k.n_params - 1 ? 2
                                          : 1,
            .extents = {0, 1},
            .align = is_scalar || pick(r, 8) ? 0 : 1 << pick(r, 9)};
    }
    for (int i = 0; i < k.n_buffers; i++)
        buffers[i] = (struct fx_buffer){
            "", FX_BUFFER_WORKSPACE, pick(r, 8) ? random_size(r, 1 << 30) : random_expr(r, 3)};
    for (int i = 0; i < k.n_launches; i++) launches[i] = random_launch(r, i, k.n_buffers);
    checks[0] = (struct fx_check){random_condition(r), "a check on scalars"};
    checks[1] = (struct fx_check){random_expr(r, 3), "a check"};
    k.extents = extents, k.params = params, k.buffers = buffers, k.launches = launches, k.checks = checks;
    struct random_plan own = *r;
    if (k.n_launches == 2 && pick(&own, 2)) { /* a launch each, and the buffers in common */
        struct fx_partition *partitions = NEW_ARRAY(r->arena, struct fx_partition, 2);
        for (int i = 0; i < 2; i++)
            partitions[i] = (struct fx_partition){
                .name = "p", .first_launch = i, .n_launches = 1, .n_buffers = k.n_buffers, .takes = random_expr(&own, 3)};
        k.n_partitions = 2, k.partitions = partitions;
    }
    return k;
}

START_TEST(test_random_plan) {
    struct arena a;
    jmp_buf oom;
    struct buf text;
    const char *names[MAX_NAMES];
    struct fx_kernel kernels[8];
    arena_init(&a, &oom);
    struct random_plan r = {
        .arena = &a, .seed = 88172645463325252u + 77 * (unsigned)_i, .n_extents = 3, .n_params = 6, .n_scalars = 3};
    for (int i = 0; i < 8; i++) {
        kernels[i] = random_kernel(&r);
        names[i] = i ? arena_printf(&a, "random%d", i + 1) : "random";
    }
    struct fx_plan p = {.file = "t.fx", .arch = "sm_90a", .source = "", .n_kernels = 8, .kernels = kernels};
    buf_init(&text, &a);
    emit_host_c(&text, &p);
    struct library l = load_library(&a, &p, text.s, names);
    for (int i = 0; i < p.n_kernels; i++) check_kernel(&l, &kernels[i], i, 400);
    dlclose(l.handle);
    arena_release(&a);
}
END_TEST

/* Conditions on scalars alone: launches without anything to launch. */
START_TEST(test_random_conditions) {
    enum { N_CONDITIONS = 100 };
    struct arena a;
    jmp_buf oom;
    struct buf text;
    arena_init(&a, &oom);
    struct random_plan r = {
        .arena = &a, .seed = 362436069u + 77 * (unsigned)_i, .n_extents = 3, .n_params = 6, .n_scalars = 3};
    struct fx_kernel *kernels = NEW_ARRAY(&a, struct fx_kernel, N_CONDITIONS);
    const char **names = NEW_ARRAY(&a, const char *, N_CONDITIONS);
    for (int i = 0; i < N_CONDITIONS; i++) {
        kernels[i] = random_kernel(&r);
        kernels[i].n_checks = 1, kernels[i].n_launches = kernels[i].n_buffers = kernels[i].n_partitions = 0;
        kernels[i].n_params = r.n_scalars;
        names[i] = i ? arena_printf(&a, "random%d", i + 1) : "random";
    }
    struct fx_plan p = {.file = "t.fx", .arch = "sm_90a", .source = "", .n_kernels = N_CONDITIONS, .kernels = kernels};
    buf_init(&text, &a);
    emit_host_c(&text, &p);
    struct library l = load_library(&a, &p, text.s, names);
    for (int i = 0; i < p.n_kernels; i++) check_kernel(&l, &kernels[i], i, 1000);
    dlclose(l.handle);
    arena_release(&a);
}
END_TEST

/* A launch that nothing can run, and a kernel without any, still give a file that compiles and answers. */
START_TEST(test_nothing_to_launch) {
    struct arena a;
    jmp_buf oom;
    struct buf text;
    arena_init(&a, &oom);
    const struct fx_param params[] = {{.name = "x", .dtype = FX_F32, .is_scalar = true, .is_input = true},
        {.name = "y", .dtype = FX_F32, .is_output = true, .rank = 1}};
    const struct fx_extent extents[] = {{"N", -1, false}};
    const struct fx_arg args[] = {{FX_ARG_PARAM, 0}, {FX_ARG_PARAM, 1}};
    const struct fx_launch launches[] = {{.name = "l", .driver = "gemm", .n_args = 2, .args = args}};
    const struct fx_kernel kernels[] = {{.name = "f",
                                            .n_extents = 1,
                                            .n_params = 2,
                                            .n_launches = 1,
                                            .extents = extents,
                                            .params = params,
                                            .launches = launches},
        {.name = "g", .n_extents = 1, .n_params = 2, .extents = extents, .params = params}};
    const struct fx_plan p = {.file = "t.fx", .arch = "sm_90a", .source = "", .n_kernels = 2, .kernels = kernels};
    const char *const names[] = {"f", "g"};
    buf_init(&text, &a);
    emit_host_c(&text, &p);
    struct library l = load_library(&a, &p, text.s, names);
    for (int i = 0; i < 2; i++) check_kernel(&l, &kernels[i], i, 50);
    dlclose(l.handle);
    arena_release(&a);
}
END_TEST

/* More shared memory than any kernel has is asked for when it is loaded; what it has anyway is not. */
START_TEST(test_shared_memory) {
    static const struct {
        int64_t bytes;
        const char *asked;
    } rows[] = {{0, "0"}, {49152, "0"}, {49153, "49153"}, {INT_MAX, "2147483647"}, {INT64_MAX, "2147483647"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena a;
        jmp_buf oom;
        struct buf text;
        char wanted[80];
        arena_init(&a, &oom);
        buf_init(&text, &a);
        const struct fx_term term = {FX_T_CONST, rows[i].bytes};
        const struct fx_variant variant = {.entry = "e", .config = "c", .smem = {1, &term}};
        const struct fx_launch launch = {.name = "l", .driver = "d", .n_variants = 1, .variants = &variant};
        const struct fx_kernel kernel = {.name = "f", .n_launches = 1, .launches = &launch};
        const struct fx_plan p = {.file = "t.fx", .arch = "sm_90a", .source = "", .n_kernels = 1, .kernels = &kernel};
        emit_host_c(&text, &p);
        snprintf(wanted, sizeof wanted, "fx_entry(find, user, \"e\", %s, &m->launch0[0])", rows[i].asked);
        ck_assert_msg(strstr(text.s, wanted) != NULL, "no %s for %lld bytes in\n%s", wanted, (long long)rows[i].bytes,
            text.s);
        arena_release(&a);
    }
}
END_TEST

/* Every launcher above compiles with the toolkit's own cuda.h as well, where there is one. */
START_TEST(has_cuda_h) {
    if (!cuda_include()) SKIP_TEST("no cuda.h: the launchers were compiled with a stand-in for it alone");
}
END_TEST

int main(void) {
    Suite *s = suite_create("host_c");
    TCase *t = tcase_create("host_c");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_spec, 0, N_SPECS);
    tcase_add_loop_test(t, test_random_plan, 0, 6);
    tcase_add_loop_test(t, test_random_conditions, 0, 2);
    tcase_add_test(t, test_nothing_to_launch);
    tcase_add_test(t, test_shared_memory);
    tcase_add_test(t, has_cuda_h);
    suite_add_tcase(s, t);
    return run_suite(s);
}
