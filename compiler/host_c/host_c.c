/* A C launcher (--emit=host-c): one self-contained file that loads and launches every kernel of a plan through the CUDA
 * driver API, for programs that link neither compiler nor runtime; and the header that declares it (--emit=host-h).
 *
 * In: a plan, nothing else. Out: C99 text that is C++17 too; host_c_kernel.c writes what a launch does. */
#include <string.h>

#include "base/names.h"
#include "host_c/host_c.h"

/* ---- a kernel ---- */

/* What functions for its constants are named after. */
static void name_constants(struct host_writer *w, const char *name) {
    w->base = w->form = name;
    w->module = arena_printf(w->arena, "struct %s_module", name);
}

static void put_module(struct host_writer *w, const char *name) {
    put_c(w, "struct %s_module {\n    CUmodule module;\n    int64_t sm_count;\n", name);
    for (int i = 0; i < w->k->n_launches; i++)
        if (w->k->launches[i].n_variants) put_c(w, "    CUfunction launch%d[%d];\n", i, w->k->launches[i].n_variants);
    put_c(w, "};\n");
}

#define FIND "CUresult (*find)(void *user, const char *entry, CUfunction *out), void *user"

static void put_load_entries(struct host_writer *w) {
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            const struct fx_variant *f = &w->k->launches[i].variants[v];
            int shared = host_c_shared(f);
            put_c(w, "    if (r == CUDA_SUCCESS) r = %s(find, user, \"%s\", %s, &m->launch%d[%d]);\n",
                host_c_call(w, "fx_entry"), f->entry, shared < 0 ? "max_shared" : arena_printf(w->arena, "%d", shared),
                i, v);
        }
}

static void put_load(struct host_writer *w, const char *name) {
    bool is_sized_at_launch = false, has_entries = false;
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            is_sized_at_launch |= !host_c_is_known(&w->k->launches[i].variants[v].smem);
            has_entries = true;
        }
    put_c(w, "CUresult %s_load_from(struct %s_module *m, " FIND ") {\n    CUdevice device;\n    int sm_count = 0;\n",
        name, name);
    if (is_sized_at_launch) put_c(w, "    int max_shared = 0;\n");
    put_c(w, "    m->module = NULL;\n    CUresult r = cuCtxGetDevice(&device);\n");
    put_c(w,
        "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);\n    m->sm_count = sm_count;\n");
    if (is_sized_at_launch)
        put_c(w,
            "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&max_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);\n");
    if (has_entries) put_load_entries(w);
    else put_c(w, "    (void)find, (void)user;\n");
    put_c(w, "    return r;\n}\n\n");
    put_c(w,
        "CUresult %s_load(struct %s_module *m, const void *cubin) {\n    CUmodule module;\n    CUresult r = cuModuleLoadData(&module, cubin);\n",
        name, name);
    put_c(w, "    if (r != CUDA_SUCCESS) return r;\n    r = %s_load_from(m, %s, module);\n    m->module = module;\n",
        name, host_c_call(w, "fx_find_in"));
    put_c(w, "    if (r != CUDA_SUCCESS) cuModuleUnload(module);\n    return r;\n}\n\n");
    put_c(w,
        "CUresult %s_unload(struct %s_module *m) { return m->module ? cuModuleUnload(m->module) : CUDA_SUCCESS; }\n\n",
        name, name);
}

static void put_workspace_signature(struct host_writer *w, const char *name) {
    const char *device = host_c_sizes_use_device(w->k) ? arena_printf(w->arena, "const struct %s_module *m", name) : "";
    put_c(w, "size_t %s_workspace_bytes(%s", name, device);
    int n = host_c_put_extents(w, *device ? ", " : "");
    put_c(w, "%s)", n || *device ? "" : "void");
}

static void put_workspace(struct host_writer *w, const char *name) {
    put_workspace_signature(w, name);
    put_c(w, " {\n");
    host_c_put_bytes(w);
}

static void put_signature(struct host_writer *w, const char *name) {
    put_c(w, "CUresult %s_launch(const struct %s_module *m, CUstream stream", name, name);
    host_c_put_parameters(w, false);
    put_c(w, ")");
}

static void put_kernel(struct host_writer *w, const struct fx_kernel *k, const char *name) {
    host_c_begin(w, k);
    host_c_put_title(w, name);
    put_c(w, "#ifndef %s_ENTRIES /* its header is not included */\n", name);
    put_module(w, name);
    name_constants(w, name);
    if (host_c_has_constants(k)) host_c_put_constants_type(w);
    put_c(w, "#endif\n\n");
    put_load(w, name);
    put_workspace(w, name);
    put_signature(w, name);
    put_c(w, " {\n");
    host_c_put_launch(w);
    if (host_c_has_constants(k)) host_c_put_constants(w, "");
}

/* What the header says of a kernel. */
static void put_declarations(struct buf *out, const struct fx_kernel *k, const char *name) {
    struct host_writer w = {.out = out, .arena = out->arena};
    host_c_begin(&w, k);
    host_c_put_title(&w, name);
    put_module(&w, name);
    name_constants(&w, name);
    if (host_c_has_constants(k)) host_c_put_constants_type(&w);
    put_c(&w, "\nCUresult %s_load(struct %s_module *m, const void *cubin);\n", name, name);
    put_c(&w, "CUresult %s_load_from(struct %s_module *m, " FIND ");\n", name, name);
    put_c(&w, "CUresult %s_unload(struct %s_module *m);\n", name, name);
    put_workspace_signature(&w, name);
    put_c(&w, ";\n");
    put_signature(&w, name);
    put_c(&w, ";\n");
    if (host_c_has_constants(k)) host_c_put_constants_declarations(&w);
    put_c(&w, "#define %s_ENTRIES(X)", name);
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) put_c(&w, " X(%s)", k->launches[i].variants[v].entry);
    put_c(&w, "\n\n");
}

/* ---- the files ---- */

static void put_opening(struct buf *out, const struct fx_plan *p, const char *what) {
    bool has_constants = false;
    for (int i = 0; i < p->n_kernels; i++) has_constants |= host_c_has_constants(&p->kernels[i]);
    buf_printf(out, "/* Written by fxc %s for %s: %s\n", FX_VERSION, p->arch, what);
    buf_puts(out,
        " *\n"
        " * For each kernel NAME below, in order:\n"
        " *   NAME_load             once a context, which must be current; cubin is what `fxc --emit=cubin` makes of the same spec\n"
        " *   NAME_load_from        instead, where the kernels come from elsewhere, as when the .cu is compiled into the program: find gives each of them\n"
        " *   NAME_workspace_bytes  how much device memory NAME_launch needs besides the tensors; SIZE_MAX for impossible extents\n"
        " *   NAME_launch           enqueues the work on a stream; neither allocates nor synchronises\n"
        " *   NAME_unload           when nothing of it runs any more\n");
    if (has_constants) buf_puts(out, host_c_about_constants);
    buf_puts(out,
        " * Tensors are row-major and contiguous, of the extents given, or have the strides given, in elements; outputs share memory\n"
        " * with nothing else, and no two elements of one do. The workspace is aligned to 256 bytes and belongs to one launch at a\n"
        " * time. CUDA_ERROR_INVALID_VALUE: the arguments do not fit, and nothing was launched. A loaded module may be used from\n"
        " * several threads. */\n");
}

static void put_includes(struct buf *out) {
    buf_puts(out, "#include <cuda.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n");
}

void emit_host_c(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    struct buf kernels;
    struct host_writer w = {.out = &kernels, .arena = out->arena, .entries = "m->launch", .early = "true"};
    buf_init(&kernels, out->arena);
    for (int i = 0; i < p->n_kernels; i++)
        put_kernel(&w, &p->kernels[i], identifiers_take(&scope, host_c_encoded(out->arena, p->kernels[i].name)));
    put_opening(out, p, "loads and launches its kernels through the CUDA driver API. Link with libcuda.");
    host_c_put_types(out, true);
    host_c_put_functions(out, &w);
    buf_put(out, kernels.s, kernels.len ? kernels.len - 1 : 0);
}

void emit_host_h(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    put_opening(out, p,
        "declares what `fxc --emit=host-c` makes of the same spec. NAME_ENTRIES(X) is X(entry) for each of its entries.");
    buf_puts(out, "#pragma once\n\n");
    put_includes(out);
    buf_puts(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int i = 0; i < p->n_kernels; i++)
        put_declarations(out, &p->kernels[i], identifiers_take(&scope, host_c_encoded(out->arena, p->kernels[i].name)));
    buf_puts(out, "#ifdef __cplusplus\n}\n#endif\n");
}
