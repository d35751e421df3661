/* A C launcher (--emit=host-c): one self-contained file that loads and launches every kernel of a plan through the CUDA
 * driver API, for programs that link neither compiler nor runtime; and the header that declares it (--emit=host-h).
 *
 * In: a plan, nothing else. Out: C11 text that is C++ too; of the spec only re-encoded identifiers and numbers reach it. What it computes at launch are
 * expressions of the plan (host_c_expr.c). */
#include <limits.h>
#include <string.h>

#include "base/names.h"
#include "host_c/host_c.h"
#include "seam/print.h"
#include "symbolic/plan_expr.h"

enum { DEFAULT_SHARED = 48 * 1024 }; /* bytes of dynamic shared memory a kernel has without asking */

static void put(struct host_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct host_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(w->out, fmt, ap);
    va_end(ap);
}

/* ---- names ---- */

/* Without the underscore that an argument ends in. */
static const char *encoded(struct arena *a, const char *name) { return name_encoded(a, (struct name){name, (uint32_t)strlen(name)}); }

/* `a_` of {"a"}, `a_stride_b_` of {"a", "b"}: the trailing underscore keeps arguments apart from keywords, macros and what this file names itself. */
static const char *take_argument(struct identifiers *s, const char *name, const char *stride_of) {
    const char *base = encoded(s->arena, name);
    return identifiers_take(s, stride_of ? arena_printf(s->arena, "%s_stride_%s_", base, encoded(s->arena, stride_of)) : arena_printf(s->arena, "%s_", base));
}

/* The emitter's own name of a buffer, encoded already; any other bytes become a name too. */
static const char *buffer_name(struct arena *a, const char *name) {
    size_t len = strlen(name);
    char *word = arena_printf(a, "%s%s", *name ? name : "buffer", len && name[len - 1] == '_' ? "" : "_");
    for (char *c = word; *c; c++)
        if (!is_word_byte(*c)) *c = 'x';
    return word;
}

static void name_arguments(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    struct identifiers scope = {.arena = w->arena};
    w->params = NEW_ARRAY(w->arena, const char *, k->n_params + 1);
    w->buffers = NEW_ARRAY(w->arena, const char *, k->n_buffers + 1);
    w->extents = NEW_ARRAY(w->arena, const char *, k->n_extents + 1);
    w->strides = NEW_ARRAY(w->arena, const char *, fx_stride_index(k->n_params, 0) + 1);
    for (int i = 0; i < k->n_params; i++) w->params[i] = take_argument(&scope, k->params[i].name, NULL);
    for (int i = 0; i < k->n_extents; i++) w->extents[i] = take_argument(&scope, k->extents[i].name, NULL);
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            w->strides[fx_stride_index(i, j)] = take_argument(&scope, k->params[i].name, k->extents[k->params[i].extents[j]].name);
    for (int i = 0; i < k->n_buffers; i++) w->buffers[i] = identifiers_take(&scope, buffer_name(w->arena, k->buffers[i].name));
}

/* ---- the functions every file may need, written into it where they are used ---- */

static const struct helper {
    const char *name, *text;
} helpers[] = {
    {"fx_add", "static int64_t fx_add(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD || (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)) return FX_BAD;\n"
               "    return a + b;\n"
               "}\n"},
    {"fx_sub", "static int64_t fx_sub(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD || (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b)) return FX_BAD;\n"
               "    return a - b;\n"
               "}\n"},
    {"fx_mul", "static int64_t fx_mul(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD) return FX_BAD;\n"
               "    if (a == 0 || b == 0) return 0;\n"
               "    const bool is_negative = (a < 0) != (b < 0);\n"
               "    const int64_t size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;\n"
               "    if (size_a > INT64_MAX / size_b) return FX_BAD;\n"
               "    return is_negative ? -(size_a * size_b) : size_a * size_b;\n"
               "}\n"},
    {"fx_div", "/* Rounded down; by zero it is 0. */\n"
               "static int64_t fx_div(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD) return FX_BAD;\n"
               "    if (b == 0) return 0;\n"
               "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
               "}\n"},
    {"fx_mod", "/* The remainder of fx_div. */\n"
               "static int64_t fx_mod(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD) return FX_BAD;\n"
               "    if (b == 0) return 0;\n"
               "    return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;\n"
               "}\n"},
    {"fx_cdiv", "/* Rounded up; by zero it is 0. */\n"
                "static int64_t fx_cdiv(int64_t a, int64_t b) {\n"
                "    if (a == FX_BAD || b == FX_BAD) return FX_BAD;\n"
                "    if (b == 0) return 0;\n"
                "    return a / b + (a % b != 0 && (a < 0) == (b < 0));\n"
                "}\n"},
    {"fx_exact", "/* No value where b does not divide a. */\n"
                 "static int64_t fx_exact(int64_t a, int64_t b) {\n"
                 "    if (a == FX_BAD || b == FX_BAD || b == 0 || a % b != 0) return FX_BAD;\n"
                 "    return a / b;\n"
                 "}\n"},
    {"fx_min", "static int64_t fx_min(int64_t a, int64_t b) { return a < b ? a : b; }\n"},
    {"fx_max", "static int64_t fx_max(int64_t a, int64_t b) {\n"
               "    if (a == FX_BAD || b == FX_BAD) return FX_BAD;\n"
               "    return a > b ? a : b;\n"
               "}\n"},
    {"fx_lt", "static int64_t fx_lt(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a < b; }\n"},
    {"fx_le", "static int64_t fx_le(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a <= b; }\n"},
    {"fx_eq", "static int64_t fx_eq(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a == b; }\n"},
    {"fx_and", "static int64_t fx_and(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a != 0 && b != 0; }\n"},
    {"fx_or", "static int64_t fx_or(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a != 0 || b != 0; }\n"},
    {"fx_not", "static int64_t fx_not(int64_t a) { return a == FX_BAD ? FX_BAD : a == 0; }\n"},
    {"fx_holds", "static bool fx_holds(int64_t a) { return a != FX_BAD && a != 0; }\n"},
    {"fx_align", "/* The largest power of two up to 256 that divides the address. */\n"
                 "static int64_t fx_align(CUdeviceptr p) { return p % 256 == 0 ? 256 : (int64_t)(p & (~p + 1)); }\n"},
    {"fx_small", "/* The value of a float of few bits. */\n"
                 "static long double fx_small(unsigned bits, int n_exponent, int n_fraction, bool is_finite) {\n"
                 "    const unsigned most = (1u << n_exponent) - 1, exponent = bits >> n_fraction & most, fraction = bits & ((1u << n_fraction) - 1);\n"
                 "    long double v = fraction + (exponent != 0 ? 1u << n_fraction : 0);\n"
                 "    int e = (int)(exponent != 0 ? exponent : 1) - (int)(most >> 1) - n_fraction;\n"
                 "    if (exponent == most && (!is_finite || fraction == (1u << n_fraction) - 1)) v = fraction != 0 ? 0.0L / 0.0L : 1.0L / 0.0L, e = 0;\n"
                 "    for (; e > 0; e--) v *= 2;\n"
                 "    for (; e < 0; e++) v /= 2;\n"
                 "    return bits >> (n_exponent + n_fraction) != 0 ? -v : v;\n"
                 "}\n"},
    {"fx_whole", "/* A whole number, exact up to 64 bits. */\n"
                 "static long double fx_whole(bool *ok, long double v) {\n"
                 "    if (!(v >= -(long double)UINT64_MAX && v <= (long double)UINT64_MAX)) *ok = false;\n"
                 "    return *ok ? v : 0;\n"
                 "}\n"},
    {"fx_quotient", "/* Of whole numbers, rounded down, or the remainder that goes with it; by zero both are 0. */\n"
                    "static long double fx_quotient(long double a, long double b, bool is_rest) {\n"
                    "    const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b);\n"
                    "    const bool is_apart = (a < 0) != (b < 0);\n"
                    "    if (y == 0) return 0;\n"
                    "    const long double rest = (long double)(is_apart && x % y != 0 ? y - x % y : x % y), quotient = (long double)(x / y);\n"
                    "    if (is_rest) return b < 0 ? -rest : rest;\n"
                    "    return is_apart ? -quotient - (x % y != 0) : quotient;\n"
                    "}\n"},
    {"fx_exactly", "/* The quotient of whole numbers, where there is one. */\n"
                   "static long double fx_exactly(bool *ok, long double a, long double b) {\n"
                   "    const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b);\n"
                   "    if (y == 0 || x % y != 0) return *ok = false, 0;\n"
                   "    return (a < 0) != (b < 0) ? -(long double)(x / y) : (long double)(x / y);\n"
                   "}\n"},
    {"fx_floored", "/* A quotient rounded down, or the remainder that goes with it; by zero both are 0. A zero keeps its sign. */\n"
                   "static long double fx_floored(long double a, long double b, bool is_rest) {\n"
                   "    long double q = b == 0 ? 0 : a / b;\n"
                   "    if (b == 0) return 0;\n"
                   "    if (q > -0x1p63L && q < 0x1p63L && q != 0) q = (long double)(int64_t)q - ((long double)(int64_t)q > q);\n"
                   "    return is_rest ? a - b * q : q;\n"
                   "}\n"},
    {"fx_is_extent", "static bool fx_is_extent(long long n) { return n >= 0 && n <= FX_MAX_EXTENT; }\n"},
    {"fx_place", "/* Places buffers one after another, each on 256 bytes; the bytes of all, SIZE_MAX where that overflows. */\n"
                 "static size_t fx_place(const int64_t *bytes, int n, size_t *offsets) {\n"
                 "    size_t at = 0;\n"
                 "    for (int i = 0; i < n; i++) {\n"
                 "        if (bytes[i] < 0 || (uint64_t)bytes[i] > SIZE_MAX - 255 - at) return SIZE_MAX;\n"
                 "        offsets[i] = at;\n"
                 "        at = (at + (size_t)bytes[i] + 255) / 256 * 256;\n"
                 "    }\n"
                 "    return at;\n"
                 "}\n"},
    {"fx_entry", "/* Finds a kernel and raises its limit of dynamic shared memory where it needs more than it has unasked. */\n"
                 "static CUresult fx_entry(CUresult (*find)(void *user, const char *entry, CUfunction *out), void *user, const char *entry, int shared,\n"
                 "                         CUfunction *out) {\n"
                 "    const CUresult r = find(user, entry, out);\n"
                 "    if (r != CUDA_SUCCESS || shared <= 48 * 1024) return r;\n"
                 "    return cuFuncSetAttribute(*out, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);\n"
                 "}\n"},
    {"fx_choose", "/* The first variant that is right and preferred, else the first that is right. False when there is none. */\n"
                  "static bool fx_choose(const struct fx_variant *v, int n, const CUfunction *entries, struct fx_ready *out) {\n"
                  "    int chosen = -1;\n"
                  "    for (int i = 0; i < n; i++) {\n"
                  "        if (!v[i].needs || (chosen >= 0 && !v[i].prefers)) continue;\n"
                  "        chosen = i;\n"
                  "        if (v[i].prefers) break;\n"
                  "    }\n"
                  "    if (chosen < 0) return false;\n"
                  "    v += chosen;\n"
                  "    if (v->grid < 0 || v->grid > INT32_MAX || v->shared < 0 || v->shared > INT32_MAX) return false;\n"
                  "    *out = (struct fx_ready){entries[chosen], (unsigned)v->grid, v->block, v->cluster, (unsigned)v->shared};\n"
                  "    return true;\n"
                  "}\n"},
    {"fx_start", "/* An empty grid has nothing to do. */\n"
                 "static CUresult fx_start(const struct fx_ready *r, CUstream stream, void **args) {\n"
                 "    if (r->grid == 0) return CUDA_SUCCESS;\n"
                 "    return cuLaunchKernel(r->entry, r->grid, 1, 1, r->block, 1, 1, r->shared, stream, args, NULL);\n"
                 "}\n"},
    {"fx_start_resident", "/* All blocks at once: no more than the device holds. An empty grid has nothing to do. */\n"
                          "static CUresult fx_start_resident(const struct fx_ready *r, int64_t sm_count, CUstream stream, void **args) {\n"
                          "    int held = 0;\n"
                          "    if (r->grid == 0) return CUDA_SUCCESS;\n"
                          "    const CUresult e = cuOccupancyMaxActiveBlocksPerMultiprocessor(&held, r->entry, (int)r->block, r->shared);\n"
                          "    if (e != CUDA_SUCCESS) return e;\n"
                          "    const unsigned most = (unsigned)(held * sm_count), grid = r->grid < most ? r->grid : most;\n"
                          "    return cuLaunchCooperativeKernel(r->entry, grid, 1, 1, r->block, 1, 1, r->shared, stream, args);\n"
                          "}\n"},
    {"fx_start_clusters", "/* An empty grid has nothing to do. */\n"
                          "static CUresult fx_start_clusters(const struct fx_ready *r, CUstream stream, void **args) {\n"
                          "    if (r->grid == 0) return CUDA_SUCCESS;\n"
                          "    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};\n"
                          "    cluster.value.clusterDim.x = r->cluster;\n"
                          "    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;\n"
                          "    CUlaunchConfig config = {.gridDimX = r->grid, .gridDimY = 1, .gridDimZ = 1, .blockDimX = r->block,\n"
                          "                             .blockDimY = 1, .blockDimZ = 1, .sharedMemBytes = r->shared, .hStream = stream,\n"
                          "                             .attrs = &cluster, .numAttrs = r->cluster > 1};\n"
                          "    return cuLaunchKernelEx(&config, r->entry, args, NULL);\n"
                          "}\n"},
};
enum { N_HELPERS = sizeof helpers / sizeof *helpers };

static void put_helpers(struct buf *out, const char *body) {
    for (int i = 0; i < N_HELPERS; i++)
        if (strstr(body, arena_printf(out->arena, "%s(", helpers[i].name))) buf_printf(out, "%s\n", helpers[i].text);
}

/* ---- a kernel ---- */

static const char *scalar_type(enum fx_dtype t) {
    static const char *const types[3][4] = {
        {"uint8_t", "uint16_t", "uint32_t", "uint64_t"}, {"int8_t", "int16_t", "int32_t", "int64_t"}, {"uint8_t", "uint16_t", "float", "double"}};
    enum fx_dtype_class class = fx_dtype_class_of(t);
    int bits = fx_dtype_bits(t);
    if (class == FX_CLASS_B) return "bool";
    return types[class == FX_CLASS_U ? 0 : class == FX_CLASS_S ? 1 : 2][bits == 64 ? 3 : bits == 32 ? 2 : bits == 16 ? 1 : 0];
}

static void put_shape(struct host_writer *w, const struct fx_param *p) {
    if (p->is_scalar && p->has_value) put(w, " = %.9g", p->value);
    if (p->is_scalar) return;
    put(w, "[");
    for (int i = 0; i < p->rank; i++) {
        const struct fx_extent *e = &w->k->extents[p->extents[i]];
        put(w, "%s%s", i ? "," : "", w->extents[p->extents[i]]);
        if (e->value >= 0) put(w, "=%lld", (long long)e->value);
    }
    put(w, p->is_strided ? "] strided" : "]");
}

static void put_title(struct host_writer *w, const char *name) {
    put(w, "/* ---- %s ----\n *\n", name);
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        put(w, " *   %-6s %s: %s", plan_param_role(p), w->params[i], fx_dtype_name(p->dtype));
        put_shape(w, p);
        put(w, "\n");
    }
    put(w, " */\n\n");
}

/* Declares the extents the caller gives; `sep` stands before the first. Returns how many. */
static int put_extents(struct host_writer *w, const char *sep) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++)
        if (w->k->extents[i].value < 0) put(w, "%slong long %s", n++ ? ", " : sep, w->extents[i]);
    return n;
}

static void put_module(struct host_writer *w, const char *name) {
    put(w, "struct %s_module {\n    CUmodule module;\n    int64_t sm_count;\n", name);
    for (int i = 0; i < w->k->n_launches; i++)
        if (w->k->launches[i].n_variants) put(w, "    CUfunction launch%d[%d];\n", i, w->k->launches[i].n_variants);
    put(w, "};\n");
}

/* Whether e is the same at every launch. */
static bool is_known(const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op > FX_T_CONST && e->terms[i].op <= FX_T_LAST_LEAF) return false;
    return true;
}

#define FIND "CUresult (*find)(void *user, const char *entry, CUfunction *out), void *user"

static void put_load_entries(struct host_writer *w) {
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            const struct fx_variant *f = &w->k->launches[i].variants[v];
            int64_t shared = 0;
            if (is_known(&f->smem) && (!fx_expr_eval(&f->smem, &(struct fx_env){0}, &shared) || shared <= DEFAULT_SHARED)) shared = 0;
            put(w, "    if (r == CUDA_SUCCESS) r = fx_entry(find, user, \"%s\", %s, &m->launch%d[%d]);\n", f->entry,
                is_known(&f->smem) ? arena_printf(w->arena, "%d", shared < INT_MAX ? (int)shared : INT_MAX) : "max_shared", i, v);
        }
}

static void put_load(struct host_writer *w, const char *name) {
    bool is_sized_at_launch = false, has_entries = false;
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            is_sized_at_launch |= !is_known(&w->k->launches[i].variants[v].smem);
            has_entries = true;
        }
    put(w, "CUresult %s_load_from(struct %s_module *m, " FIND ") {\n    CUdevice device;\n    int sm_count = 0;\n", name, name);
    if (is_sized_at_launch) put(w, "    int max_shared = 0;\n");
    put(w, "    m->module = NULL;\n    CUresult r = cuCtxGetDevice(&device);\n");
    put(w, "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);\n    m->sm_count = sm_count;\n");
    if (is_sized_at_launch)
        put(w, "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&max_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);\n");
    if (has_entries) put_load_entries(w);
    else put(w, "    (void)find, (void)user;\n");
    put(w, "    return r;\n}\n\n");
    put(w, "CUresult %s_load(struct %s_module *m, const void *cubin) {\n    CUmodule module;\n    CUresult r = cuModuleLoadData(&module, cubin);\n", name, name);
    put(w, "    if (r != CUDA_SUCCESS) return r;\n    r = %s_load_from(m, fx_find_in, module);\n    m->module = module;\n", name);
    put(w, "    if (r != CUDA_SUCCESS) cuModuleUnload(module);\n    return r;\n}\n\n");
    put(w, "CUresult %s_unload(struct %s_module *m) { return m->module ? cuModuleUnload(m->module) : CUDA_SUCCESS; }\n\n", name, name);
}

/* A refusal when some extent is out of range; nothing where the spec fixes them all. */
static void put_extent_check(struct host_writer *w, const char *result) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++) {
        if (w->k->extents[i].value >= 0) continue;
        put(w, n++ ? " || !fx_is_extent(%s)" : "    if (!fx_is_extent(%s)", w->extents[i]);
    }
    if (n) put(w, ") return %s;\n", result);
}

static bool sizes_use_device(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_buffers; i++)
        if (expr_has(&k->buffers[i].bytes, FX_T_SM_COUNT, 0)) return true;
    return false;
}

/* The size of each buffer, and where it lies in the workspace; `bytes` is that of all. */
static void put_layout(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put(w, "    const int64_t sizes[] = {\n");
    w->is_any_alignment = true;
    for (int i = 0; i < k->n_buffers; i++) put(w, "        %s, /* %s */\n", host_c_value(w, &k->buffers[i].bytes), w->buffers[i]);
    w->is_any_alignment = false;
    put(w, "    };\n    size_t offsets[%d];\n    const size_t bytes = fx_place(sizes, %d, offsets);\n", k->n_buffers, k->n_buffers);
}

static void put_workspace_signature(struct host_writer *w, const char *name) {
    const char *device = sizes_use_device(w->k) ? arena_printf(w->arena, "const struct %s_module *m", name) : "";
    put(w, "size_t %s_workspace_bytes(%s", name, device);
    int n = put_extents(w, *device ? ", " : "");
    put(w, "%s)", n || *device ? "" : "void");
}

static void put_workspace(struct host_writer *w, const char *name) {
    put_workspace_signature(w, name);
    put(w, " {\n");
    put_extent_check(w, "SIZE_MAX");
    if (w->k->n_buffers) put_layout(w);
    put(w, "    return %s;\n}\n\n", w->k->n_buffers ? "bytes" : "0");
}

/* The variants of launch i with what they come to for these arguments, and the choice. */
static void put_choice(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    put(w, "    const struct fx_variant variants%d[] = {\n", i);
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *f = &l->variants[v];
        put(w, "        {/* %s */\n", f->entry);
        put(w, "         .needs = %s,\n", host_c_condition(w, &f->needs));
        put(w, "         .prefers = %s,\n", host_c_condition(w, &f->prefers));
        put(w, "         .grid = %s,\n", host_c_value(w, &f->grid));
        put(w, "         .shared = %s,\n", host_c_value(w, &f->smem));
        put(w, "         .block = %d, .cluster = %d},\n", f->block, f->cluster);
    }
    put(w, "    };\n    if (!fx_choose(variants%d, %d, m->launch%d, &ready[%d])) return CUDA_ERROR_INVALID_VALUE;\n", i, l->n_variants, i, i);
}

static void put_start(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    bool has_clusters = false;
    for (int v = 0; v < l->n_variants; v++) has_clusters |= l->variants[v].cluster > 1;
    put(w, "    if (r == CUDA_SUCCESS) {\n        void *args[] = {");
    for (int a = 0; a < l->n_args; a++) {
        const struct fx_arg *arg = &l->args[a];
        const char *const *names[] = {[FX_ARG_PARAM] = w->params, [FX_ARG_BUFFER] = w->buffers, [FX_ARG_EXTENT] = w->extents, [FX_ARG_STRIDE] = w->strides};
        put(w, "%s&%s", a ? ", " : "", names[arg->kind][arg->index]);
    }
    put(w, "%s};\n        r = %s(&ready[%d], %sstream, args);\n    }\n", l->n_args ? "" : "NULL",
        l->is_cooperative ? "fx_start_resident" : has_clusters ? "fx_start_clusters" : "fx_start", i, l->is_cooperative ? "m->sm_count, " : "");
}

static void put_signature(struct host_writer *w, const char *name) {
    const struct fx_kernel *k = w->k;
    put(w, "CUresult %s_launch(const struct %s_module *m, CUstream stream", name, name);
    for (int i = 0; i < k->n_params; i++)
        put(w, ",%s%s %s", i ? " " : "\n    ", k->params[i].is_scalar ? scalar_type(k->params[i].dtype) : "CUdeviceptr", w->params[i]);
    put(w, ",\n    CUdeviceptr workspace");
    put_extents(w, ", ");
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++) put(w, ", long long %s", w->strides[fx_stride_index(i, j)]);
    put(w, ")");
}

/* Elements, or words, along an axis of a parameter. */
static const char *axis_length(struct host_writer *w, const struct fx_param *p, int axis) {
    const struct fx_extent *e = &w->k->extents[p->extents[axis]];
    const char *n = e->value >= 0 ? arena_printf(w->arena, "%lld", (long long)e->value) : w->extents[p->extents[axis]];
    return p->packed.factor && p->packed.axis == axis ? arena_printf(w->arena, "(%s + %d) / %d", n, p->packed.factor - 1, p->packed.factor) : n;
}

/* Where an axis has one element, or the tensor none, any stride will do: it is 0. */
static void put_strides(struct host_writer *w) {
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        for (int j = 0; p->is_strided && j < p->rank; j++) {
            const char *stride = w->strides[fx_stride_index(i, j)];
            put(w, "    if (%s == 1", axis_length(w, p, j));
            for (int axis = 0; axis < p->rank; axis++) put(w, " || %s == 0", axis_length(w, p, axis));
            put(w, ") %s = 0;\n    (void)%s;\n", stride, stride);
        }
    }
}

/* Whether every launch has a way to run. */
static bool is_launchable(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].n_variants == 0) return false;
    return k->n_launches > 0;
}

static bool is_argument(const struct fx_kernel *k, enum fx_arg_kind kind, int index) {
    for (int i = 0; is_launchable(k) && i < k->n_launches; i++)
        for (int a = 0; a < k->launches[i].n_args; a++)
            if (k->launches[i].args[a].kind == kind && k->launches[i].args[a].index == index) return true;
    return false;
}

/* Refuses tensors that are not aligned to their elements, or as the spec promises: what every variant takes for granted. */
static void put_alignment_check(struct host_writer *w) {
    int n = 0;
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        int bytes = fx_dtype_bits(fx_argument_dtype(p)) / 8;
        if (bytes < p->align) bytes = p->align;
        if (p->is_scalar || bytes <= 1) continue;
        put(w, "%s%s %% %d != 0", n++ ? " || " : "    if (", w->params[i], bytes);
    }
    if (n) put(w, ") return CUDA_ERROR_INVALID_VALUE;\n");
}

/* Refusals where a `require` does not hold. */
static void put_checks(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    bool has_ok = false;
    for (int i = 0; i < k->n_checks; i++) {
        const struct fx_expr *e = &k->checks[i].holds;
        if (e->n && !expr_is_on_scalars(e)) put(w, "    if (!(%s)) return CUDA_ERROR_INVALID_VALUE;\n", host_c_condition(w, e));
        if (!expr_is_on_scalars(e)) continue;
        put(w, "%s    if (!%s || !ok) return CUDA_ERROR_INVALID_VALUE;\n", has_ok ? "" : "    bool ok = true;\n",
            host_c_condition_on_scalars(w, e));
        has_ok = true;
    }
}

/* Refusals that concern the arguments alone, and what the launches take besides them. */
static void put_arguments(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put_extent_check(w, "CUDA_ERROR_INVALID_VALUE");
    put_alignment_check(w);
    for (int i = 0; i < k->n_params; i++)
        if (!is_argument(k, FX_ARG_PARAM, i)) put(w, "    (void)%s;\n", w->params[i]);
    put_strides(w);
    put_checks(w);
    for (int i = 0; i < k->n_extents; i++)
        if (k->extents[i].value >= 0 && is_argument(k, FX_ARG_EXTENT, i))
            put(w, "    long long %s = %lld;\n", w->extents[i], (long long)k->extents[i].value);
    if (!k->n_buffers) {
        put(w, "    (void)workspace;\n");
        return;
    }
    put_layout(w);
    put(w, "    if (bytes == SIZE_MAX || (bytes != 0 && (workspace == 0 || workspace %% 256 != 0))) return CUDA_ERROR_INVALID_VALUE;\n");
    for (int i = 0; i < k->n_buffers; i++)
        if (is_argument(k, FX_ARG_BUFFER, i)) put(w, "    CUdeviceptr %s = workspace + offsets[%d];\n", w->buffers[i], i);
}

static void put_launch(struct host_writer *w, const char *name) {
    const struct fx_kernel *k = w->k;
    put_signature(w, name);
    put(w, " {\n");
    put_arguments(w);
    if (!is_launchable(k)) {
        put(w, "    (void)m, (void)stream;\n    return %s;\n}\n\n", k->n_launches ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_SUCCESS");
        return;
    }
    put(w, "    struct fx_ready ready[%d];\n", k->n_launches);
    for (int i = 0; i < k->n_launches; i++) put_choice(w, i);
    put(w, "    CUresult r = CUDA_SUCCESS;\n");
    for (int i = 0; i < k->n_launches; i++) put_start(w, i);
    put(w, "    return r;\n}\n\n");
}

static void put_kernel(struct buf *out, const struct fx_kernel *k, const char *name) {
    struct host_writer w = {.out = out, .arena = out->arena, .k = k};
    name_arguments(&w);
    put_title(&w, name);
    put(&w, "#ifndef %s_ENTRIES /* its header is not included */\n", name);
    put_module(&w, name);
    put(&w, "#endif\n\n");
    put_load(&w, name);
    put_workspace(&w, name);
    put_launch(&w, name);
}

/* What the header says of a kernel. */
static void put_declarations(struct buf *out, const struct fx_kernel *k, const char *name) {
    struct host_writer w = {.out = out, .arena = out->arena, .k = k};
    name_arguments(&w);
    put_title(&w, name);
    put_module(&w, name);
    put(&w, "\nCUresult %s_load(struct %s_module *m, const void *cubin);\n", name, name);
    put(&w, "CUresult %s_load_from(struct %s_module *m, " FIND ");\n", name, name);
    put(&w, "CUresult %s_unload(struct %s_module *m);\n", name, name);
    put_workspace_signature(&w, name);
    put(&w, ";\n");
    put_signature(&w, name);
    put(&w, ";\n#define %s_ENTRIES(X)", name);
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) put(&w, " X(%s)", k->launches[i].variants[v].entry);
    put(&w, "\n\n");
}

/* ---- the files ---- */

static void put_opening(struct buf *out, const struct fx_plan *p, const char *what) {
    buf_printf(out, "/* Written by fxc %s for %s: %s\n", FX_VERSION, p->arch, what);
    buf_puts(out, " *\n"
                  " * For each kernel NAME below, in order:\n"
                  " *   NAME_load             once a context, which must be current; cubin is what `fxc --emit=cubin` makes of the same spec\n"
                  " *   NAME_load_from        instead, where the kernels come from elsewhere, as when the .cu is compiled into the program: find gives each of them\n"
                  " *   NAME_workspace_bytes  how much device memory NAME_launch needs besides the tensors; SIZE_MAX for impossible extents\n"
                  " *   NAME_launch           enqueues the work on a stream; neither allocates nor synchronises\n"
                  " *   NAME_unload           when nothing of it runs any more\n"
                  " * Tensors are row-major and contiguous, of the extents given, or have the strides given, in elements; outputs share memory\n"
                  " * with nothing else, and no two elements of one do. The workspace is aligned to 256 bytes and belongs to one launch at a\n"
                  " * time. CUDA_ERROR_INVALID_VALUE: the arguments do not fit, and nothing was launched. A loaded module may be used from\n"
                  " * several threads. */\n");
}

static void put_includes(struct buf *out) {
    buf_puts(out, "#include <cuda.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n");
}

static void put_types(struct buf *out) {
    buf_puts(out, "#define FX_MAX_EXTENT (INT64_C(1) << 40)\n"
                  "#define FX_BAD INT64_MIN /* what an overflow gives; it spreads to every result, and no condition accepts it */\n\n"
                  "struct fx_variant { /* one way to run a launch */\n"
                  "    bool needs, prefers; /* it is right for these arguments; it is the faster choice */\n"
                  "    int64_t grid, shared; /* blocks; bytes of dynamic shared memory */\n"
                  "    unsigned block, cluster; /* threads a block; blocks a cluster */\n"
                  "};\n\n"
                  "struct fx_ready { /* a launch, chosen */\n"
                  "    CUfunction entry;\n"
                  "    unsigned grid, block, cluster, shared;\n"
                  "};\n\n"
                  "/* Of a module. */\n"
                  "static CUresult fx_find_in(void *user, const char *entry, CUfunction *out) { return cuModuleGetFunction(out, (CUmodule)user, entry); }\n\n");
}

void emit_host_c(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    struct buf kernels;
    buf_init(&kernels, out->arena);
    for (int i = 0; i < p->n_kernels; i++) put_kernel(&kernels, &p->kernels[i], identifiers_take(&scope, encoded(out->arena, p->kernels[i].name)));
    put_opening(out, p, "loads and launches its kernels through the CUDA driver API. Link with libcuda.");
    put_includes(out);
    put_types(out);
    put_helpers(out, kernels.s ? kernels.s : "");
    buf_put(out, kernels.s, kernels.len ? kernels.len - 1 : 0);
}

void emit_host_h(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    put_opening(out, p, "declares what `fxc --emit=host-c` makes of the same spec. NAME_ENTRIES(X) is X(entry) for each of its entries.");
    buf_puts(out, "#pragma once\n\n");
    put_includes(out);
    buf_puts(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int i = 0; i < p->n_kernels; i++) put_declarations(out, &p->kernels[i], identifiers_take(&scope, encoded(out->arena, p->kernels[i].name)));
    buf_puts(out, "#ifdef __cplusplus\n}\n#endif\n");
}
