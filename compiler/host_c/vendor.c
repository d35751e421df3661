/* A .cu to be committed elsewhere (--emit=vendor): kernels with the functions that launch them through the CUDA
 * runtime, which nvcc compiles by itself.
 *
 * In: a plan, nothing else. Out: the text of its kernels, then functions in C++17 within a namespace of the file;
 * host_c_kernel.c writes the body of each. */
#include <string.h>

#include "base/names.h"
#include "host_c/host_c.h"

extern const char fx_text_tensor_maps[], fx_text_vendored[];

/* ---- inside the namespace ---- */

static void put_entries(struct host_writer *w, const char *name) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_launches; i++) {
        if (!k->launches[i].n_variants) continue;
        put_c(w, "static const CUfunction %s_entries%d[] = {", name, i);
        for (int v = 0; v < k->launches[i].n_variants; v++)
            put_c(w, "%s(const void *)%s", v ? ", " : "", k->launches[i].variants[v].entry);
        put_c(w, "};\n");
    }
    put_c(w, "static CUresult %s_allow(const fx_gpu *m) {\n    (void)m;\n    CUresult r = cudaSuccess;\n", name);
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) {
            int shared = host_c_shared(&k->launches[i].variants[v]);
            if (!shared) continue;
            put_c(w, "    if (r == cudaSuccess) r = %s(m, %s_entries%d[%d], %s);\n", host_c_call(w, "fx_allow"), name,
                i, v, shared < 0 ? "m->max_shared" : arena_printf(w->arena, "%d", shared));
        }
    put_c(w, "    return r;\n}\nstatic bool %s_ready[FX_MAX_DEVICES];\n\n", name);
}

static void put_inner(struct host_writer *w, const struct fx_kernel *k, const char *name) {
    host_c_begin(w, k);
    w->entries = arena_printf(w->arena, "%s_entries", name);
    put_entries(w, name);
    put_c(w, "static size_t %s_bytes(const fx_gpu *m", name);
    host_c_put_extents(w, ", ");
    put_c(w, ") {\n    (void)m;\n");
    host_c_put_bytes(w);
    put_c(w, "static CUresult %s_enqueue(const fx_gpu *m, CUstream stream", name);
    host_c_put_parameters(w, false);
    put_c(w, ") {\n");
    host_c_put_launch(w);
    w->base = w->form = name, w->module = "fx_gpu";
    if (host_c_has_constants(k)) host_c_put_constants(w, "static ");
}

/* ---- what a user calls ---- */

static void put_prepare(struct host_writer *w, const char *name) {
    put_c(w, "extern \"C\" cudaError_t %s_prepare(void)", name);
}

static void put_workspace(struct host_writer *w, const char *name) {
    put_c(w, "extern \"C\" cudaError_t %s_workspace(size_t *bytes", name);
    host_c_put_extents(w, ", ");
    put_c(w, ")");
}

static void put_launch(struct host_writer *w, const char *name) {
    put_c(w, "extern \"C\" cudaError_t %s_launch(cudaStream_t stream", name);
    host_c_put_parameters(w, true);
    put_c(w, ")");
}

enum { N_CONSTANTS = 4 }; /* functions beside the others where something depends on `const` tensors alone */
static const char *const of_constants[N_CONSTANTS] = {"bytes", "prepare", "workspace", "launch"};

static void put_of_constants(struct host_writer *w, const char *name, int which) {
    const bool is_size = which % 2 == 0;
    w->base = name;
    put_c(w, "extern \"C\" cudaError_t %s_const_%s(%s", name, of_constants[which],
        is_size ? "size_t *bytes" : "cudaStream_t stream");
    if (is_size) host_c_put_extents(w, ", ");
    else host_c_put_constants_parameters(w, true, which == 1);
    put_c(w, ")");
}

static void put_use(struct host_writer *w, const char *name) {
    put_c(w, "    const %s::fx_gpu *m;\n    cudaError_t r = %s::fx_use(%s::%s_allow, %s::%s_ready, &m);\n", w->space,
        w->space, w->space, name, w->space, name);
}

static void put_outer(struct host_writer *w, const struct fx_kernel *k, const char *name) {
    host_c_begin(w, k);
    put_prepare(w, name);
    put_c(w, " {\n");
    put_use(w, name);
    put_c(w, "    return r;\n}\n\n");
    put_workspace(w, name);
    put_c(w, " {\n");
    put_use(w, name);
    put_c(w, "    if (r != cudaSuccess) return r;\n    *bytes = %s::%s_bytes(m", w->space, name);
    host_c_put_given_extents(w);
    put_c(w, ");\n    return *bytes == SIZE_MAX ? cudaErrorInvalidValue : cudaSuccess;\n}\n\n");
    put_launch(w, name);
    put_c(w, " {\n");
    put_use(w, name);
    put_c(w, "    if (r == cudaSuccess) r = %s::%s_enqueue(m, stream", w->space, name);
    host_c_put_given(w);
    put_c(w, ");\n    return r;\n}\n\n");
    for (int which = 0; host_c_has_constants(k) && which < N_CONSTANTS; which++) {
        const bool is_size = which % 2 == 0;
        put_of_constants(w, name, which);
        put_c(w, " {\n");
        put_use(w, name);
        put_c(w, "    if (r != cudaSuccess) return r;\n    %s%s::%s_const_%s(m%s", is_size ? "*bytes = " : "return ",
            w->space, name, of_constants[which], is_size ? "" : ", stream");
        if (is_size) host_c_put_given_extents(w);
        else host_c_put_constants_given(w, which == 1);
        put_c(w, is_size ? ");\n    return *bytes == SIZE_MAX ? cudaErrorInvalidValue : cudaSuccess;\n}\n\n"
                         : ");\n}\n\n");
    }
}

/* ---- the file ---- */

static void put_opening(struct host_writer *w, const struct fx_plan *p, const char *const *names) {
    put_c(w,
        "/* Written by fxc %s for %s, to be committed: kernels, and functions that launch them through the CUDA runtime. Compile with\n"
        " * nvcc -gencode arch=compute_%s,code=%s, CUDA 12 or 13; nothing else is needed. A program declares what it calls:\n *\n",
        FX_VERSION, p->arch, p->arch + strcspn(p->arch, "0123456789"), p->arch);
    for (int i = 0; i < p->n_kernels; i++) {
        void (*const declarations[])(struct host_writer *, const char *) = {put_prepare, put_workspace, put_launch};
        struct buf text;
        struct host_writer one = {.out = &text, .arena = w->arena};
        buf_init(&text, w->arena);
        host_c_begin(&one, &p->kernels[i]);
        for (int d = 0; d < 3; d++) {
            declarations[d](&one, names[i]);
            put_c(&one, ";\n");
        }
        one.base = names[i];
        if (host_c_has_constants(&p->kernels[i])) host_c_put_constants_type(&one);
        for (int d = 0; host_c_has_constants(&p->kernels[i]) && d < N_CONSTANTS; d++) {
            put_of_constants(&one, names[i], d);
            put_c(&one, ";\n");
        }
        for (const char *line = text.s; line && *line; line += strcspn(line, "\n") + 1)
            put_c(w, " *   %.*s\n", (int)strcspn(line, "\n"), line);
    }
    put_c(w,
        " *\n"
        " * NAME_prepare makes the kernels of NAME ready on the current device, once, ahead of the first launch that is captured or must be quick; the\n"
        " * others do it where it was not called. NAME_workspace says how much device memory NAME_launch needs besides the tensors. NAME_launch\n"
        " * enqueues the work: it allocates nothing and waits for nothing. cudaErrorInvalidValue: the arguments do not fit, and nothing was\n"
        " * launched. Tensors are row-major and contiguous, of the extents given, or have the strides given, in elements; outputs share memory with\n"
        " * nothing else, and no two elements of one do. The workspace is aligned to 256 bytes and belongs to one launch at a time. Every call\n"
        " * may be made from several threads at once.");
    bool any = false;
    for (int i = 0; i < p->n_kernels; i++) any |= host_c_has_constants(&p->kernels[i]);
    put_c(w, any ? "\n *\n%s */\n" : " */\n", host_c_about_constants);
}

void emit_vendor(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    struct buf kernels;
    struct host_writer w = {.out = &kernels,
        .arena = out->arena,
        .early = "m->starts_early",
        .is_ahead = true,
        .instead = fx_text_vendored};
    const char **names = NEW_ARRAY(out->arena, const char *, p->n_kernels + 1);
    buf_init(&kernels, out->arena);
    for (int i = 0; i < p->n_kernels; i++)
        names[i] = identifiers_take(&scope, host_c_encoded(out->arena, p->kernels[i].name));
    w.space = p->n_kernels ? arena_printf(out->arena, "%s_host", names[0]) : "fx_host";
    for (int i = 0; i < p->n_kernels; i++) put_inner(&w, &p->kernels[i], names[i]);
    struct host_writer all = {.out = out, .arena = out->arena, .space = w.space};
    put_opening(&all, p, names);
    buf_puts(out,
        "#include <cuda_runtime.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cstring>\n#include <mutex>\n\n");
    buf_put(out, p->source, p->source_len);
    put_c(&all, "\n// ==== launching, on the host ====\n");
    for (int i = 0; i < p->n_kernels; i++) {
        struct host_writer of = {.out = out, .arena = out->arena, .base = names[i]};
        host_c_begin(&of, &p->kernels[i]);
        if (host_c_has_constants(&p->kernels[i])) host_c_put_constants_type(&of);
    }
    put_c(&all, "namespace %s {\n\n", w.space);
    host_c_put_part(out, fx_text_tensor_maps, " */\n", NULL);
    host_c_put_part(out, fx_text_vendored, "/* ==== types ==== */\n", "/* ==== devices ==== */\n");
    buf_puts(out, "\n");
    host_c_put_types(out, false);
    host_c_put_part(out, fx_text_vendored, "/* ==== devices ==== */\n", "/* ==== functions ==== */\n");
    host_c_put_functions(out, &w);
    buf_put(out, kernels.s, kernels.len);
    put_c(&all, "} // namespace %s\n\n", w.space);
    for (int i = 0; i < p->n_kernels; i++) put_outer(&all, &p->kernels[i], names[i]);
}
