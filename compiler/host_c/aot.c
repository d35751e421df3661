/* A C file compiled ahead of time (fxc aot): machine code for several architectures, with the functions that load it
 * and launch it on the current device; and the header that declares them. At run time it needs only libcuda, by dlopen.
 *
 * In: a plan and a cubin per architecture, of one spec. Out: text that is C99 and C++17. host_c_kernel.c writes the
 * launches; this file writes the functions around them, with names of their own for each architecture. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "fx.h"
#include "host_c/host_c.h"

extern const char fx_text_tensor_maps[], fx_text_ahead[];

enum { N_CONSTANTS = 4 }; /* functions beside the others where something depends on `const` tensors alone */

struct ahead { /* a file while it is written */
    struct arena *arena;
    const struct fx_image **images; /* the best first */
    int n_images;
    const char *name;     /* of the file, as an identifier */
    const char **kernels; /* names of the kernels */
    const char **forms;   /* names of kernel k on image i, at k * n_images + i */
};

/* ---- names, order ---- */

static int capability(const struct fx_image *i) { return (int)strtol(i->plan->arch + 3, NULL, 10); }
static bool is_exact(const struct fx_image *i) {
    return strspn(i->plan->arch + 3, "0123456789") < strlen(i->plan->arch + 3);
}

static bool is_better(const struct fx_image *a, const struct fx_image *b) {
    return is_exact(a) != is_exact(b) ? is_exact(a) : capability(a) > capability(b);
}

static struct ahead open_file(struct arena *arena, const struct fx_image *images, int n, const char *name) {
    struct ahead f = {.arena = arena, .n_images = n, .name = host_c_encoded(arena, name)};
    struct identifiers scope = {.arena = arena};
    const struct fx_plan *p = images[0].plan;
    f.images = NEW_ARRAY(arena, const struct fx_image *, n);
    f.kernels = NEW_ARRAY(arena, const char *, p->n_kernels + 1);
    f.forms = NEW_ARRAY(arena, const char *, p->n_kernels *n + 1);
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && is_better(&images[i], f.images[at - 1]); at--) f.images[at] = f.images[at - 1];
        f.images[at] = &images[i];
    }
    for (int k = 0; k < p->n_kernels; k++)
        f.kernels[k] = identifiers_take(&scope, host_c_encoded(arena, p->kernels[k].name));
    for (int k = 0; k < p->n_kernels; k++)
        for (int i = 0; i < n; i++)
            f.forms[k * n + i] = identifiers_take(
                &scope, arena_printf(arena, "%s_%s", f.kernels[k], f.images[i]->plan->arch));
    return f;
}

/* Whether something of kernel k depends on `const` tensors alone, on some architecture. */
static bool has_constants(const struct ahead *f, int k) {
    for (int i = 0; i < f->n_images; i++)
        if (host_c_has_constants(&f->images[i]->plan->kernels[k])) return true;
    return false;
}

/* ---- machine code ---- */

/* Eight bytes a number: as the machines that CUDA runs on have them, the first one lowest. */
static void put_image(struct buf *out, const struct fx_image *image) {
    const unsigned char *bytes = image->cubin;
    buf_printf(out, "static const uint64_t fx_code_%s[] = { /* %zu bytes */", image->plan->arch, image->n_bytes);
    for (size_t at = 0; at < image->n_bytes; at += 8) {
        uint64_t word = 0;
        for (size_t b = 0; b < 8 && at + b < image->n_bytes; b++) word |= (uint64_t)bytes[at + b] << 8 * b;
        buf_printf(out, "%s0x%llx,", at % 64 ? "" : "\n", (unsigned long long)word);
    }
    buf_puts(out, "\n};\n\n");
}

static void put_codes(struct buf *out, const struct ahead *f) {
    for (int i = 0; i < f->n_images; i++) put_image(out, f->images[i]);
    buf_puts(out,
        "static const struct fx_code { /* the best first */\n    const void *image;\n"
        "    int capability; /* 10 * major + minor */\n    bool is_exact; /* it runs on no other */\n} fx_codes[] = {\n");
    for (int i = 0; i < f->n_images; i++)
        buf_printf(out, "    {fx_code_%s, %d, %s},\n", f->images[i]->plan->arch, capability(f->images[i]),
            is_exact(f->images[i]) ? "true" : "false");
    buf_printf(out, "};\nenum { FX_CODES = %d };\n\n", f->n_images);
}

/* ---- a kernel on one architecture ---- */

static void put_find(struct host_writer *w, const char *form) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].n_variants)
            put_c(w, "static CUfunction %s_entries%d[%d];\n", form, i, k->launches[i].n_variants);
    put_c(w, "static CUresult %s_find(const struct fx_device *m) {\n    (void)m;\n    CUresult r = CUDA_SUCCESS;\n",
        form);
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) {
            const struct fx_variant *f = &k->launches[i].variants[v];
            int shared = host_c_shared(f);
            put_c(w, "    if (r == CUDA_SUCCESS) r = fx_find(m, \"%s\", %s, &%s_entries%d[%d]);\n", f->entry,
                shared < 0 ? "m->max_shared" : arena_printf(w->arena, "%d", shared), form, i, v);
        }
    put_c(w, "    return r;\n}\n\n");
}

static void put_form(struct host_writer *w, const struct fx_image *image, int k, const struct ahead *f, int i) {
    const char *form = f->forms[k * f->n_images + i];
    host_c_begin(w, &image->plan->kernels[k]);
    w->entries = arena_printf(w->arena, "%s_entries", form);
    w->compiled = image->compiled;
    put_c(w, "/* ---- %s ---- */\n\n", form);
    put_find(w, form);
    put_c(w, "static size_t %s_bytes(const struct fx_device *m", form);
    host_c_put_extents(w, ", ");
    put_c(w, ") {\n    (void)m;\n");
    host_c_put_bytes(w);
    put_c(w, "static CUresult %s_launch(const struct fx_device *m, CUstream stream", form);
    host_c_put_parameters(w, false);
    put_c(w, ") {\n");
    host_c_put_launch(w);
    w->base = f->kernels[k], w->form = form, w->module = "struct fx_device";
    if (has_constants(f, k)) host_c_put_constants(w, "static ");
}

/* ---- what a user calls ---- */

static void put_prepare(struct host_writer *w, const char *name) { put_c(w, "int %s_prepare(void)", name); }

static void put_workspace(struct host_writer *w, const char *name) {
    put_c(w, "int %s_workspace(size_t *bytes", name);
    host_c_put_extents(w, ", ");
    put_c(w, ")");
}

static void put_launch(struct host_writer *w, const char *name) {
    put_c(w, "int %s_launch(struct CUstream_st *stream", name);
    host_c_put_parameters(w, true);
    put_c(w, ")");
}

/* Of what is computed once: bytes, computing, the workspace of a launch with it, that launch. */
static void put_of_constants(struct host_writer *w, const char *name, int which) {
    static const char *const names[N_CONSTANTS] = {"bytes", "prepare", "workspace", "launch"};
    const bool is_size = which % 2 == 0;
    put_c(w, "int %s_const_%s(%s", name, names[which], is_size ? "size_t *bytes" : "struct CUstream_st *stream");
    if (is_size) host_c_put_extents(w, ", ");
    else host_c_put_constants_parameters(w, true, which == 1);
    put_c(w, ")");
}

/* Opens a function that needs the device. */
static void put_use(struct host_writer *w, const char *name) {
    put_c(w, " {\n    const struct fx_device *m;\n    const int r = fx_use(%s_finds, %s_ready, &m);\n", name, name);
    put_c(w, "    if (r != CUDA_SUCCESS) return r;\n");
}

/* `if` the device has image i; nothing of the last, which it has where it has no other. */
static void put_case(struct host_writer *w, const struct ahead *f, int i) {
    put_c(w, i + 1 < f->n_images ? "    if (m->code == %d) " : "    ", i);
}

/* Each hands on to the one of the image. */
static void put_constants(struct host_writer *w, const struct ahead *f, int k) {
    static const char *const names[N_CONSTANTS] = {"bytes", "prepare", "workspace", "launch"};
    for (int which = 0; which < N_CONSTANTS; which++) {
        const bool is_size = which % 2 == 0;
        put_of_constants(w, f->kernels[k], which);
        put_use(w, f->kernels[k]);
        for (int i = 0; i < f->n_images; i++) {
            put_case(w, f, i);
            put_c(w, "%s%s_const_%s(m%s", is_size ? "*bytes = " : "return ", f->forms[k * f->n_images + i],
                names[which], is_size ? "" : ", stream");
            if (is_size) host_c_put_given_extents(w);
            else host_c_put_constants_given(w, which == 1);
            put_c(w, is_size && i + 1 < f->n_images ? ");\n    else\n" : ");\n");
        }
        put_c(w, is_size ? "    return *bytes == SIZE_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;\n}\n\n" : "}\n\n");
    }
}

static void put_public(struct host_writer *w, const struct ahead *f, int k) {
    const char *name = f->kernels[k], **forms = &f->forms[k * f->n_images];
    host_c_begin(w, &f->images[0]->plan->kernels[k]);
    put_c(w, "/* ---- %s ---- */\n\nstatic CUresult (*const %s_finds[])(const struct fx_device *m) = {", name, name);
    for (int i = 0; i < f->n_images; i++) put_c(w, "%s%s_find", i ? ", " : "", forms[i]);
    put_c(w, "};\nstatic bool %s_ready[FX_MAX_DEVICES];\n\n", name);
    put_prepare(w, name);
    put_c(w, " {\n    const struct fx_device *m;\n    return fx_use(%s_finds, %s_ready, &m);\n}\n\n", name, name);
    put_workspace(w, name);
    put_use(w, name);
    for (int i = 0; i < f->n_images; i++) {
        put_case(w, f, i);
        put_c(w, "*bytes = %s_bytes(m", forms[i]);
        host_c_put_given_extents(w);
        put_c(w, i + 1 < f->n_images ? ");\n    else\n" : ");\n");
    }
    put_c(w, "    return *bytes == SIZE_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;\n}\n\n");
    put_launch(w, name);
    put_use(w, name);
    for (int i = 0; i < f->n_images; i++) {
        put_case(w, f, i);
        put_c(w, "return %s_launch(m, stream", forms[i]);
        host_c_put_given(w);
        put_c(w, ");\n");
    }
    put_c(w, "}\n\n");
    w->base = name;
    if (has_constants(f, k)) put_constants(w, f, k);
}

static const char *const own_errors[] = {"NO_DRIVER", "OLD_DRIVER", "NO_CODE", "DEVICE_NUMBER"};
enum { N_OWN_ERRORS = sizeof own_errors / sizeof *own_errors };

static void put_errors(struct host_writer *w, const struct ahead *f) {
    put_c(w, "const char *%s_error_name(int error) {\n    static const char *const own[] = {", f->name);
    for (int i = 0; i < N_OWN_ERRORS; i++) put_c(w, "%s\"%s_%s\"", i ? ", " : "", f->name, own_errors[i]);
    put_c(w,
        "};\n    const char *name = NULL;\n    if (error == CUDA_SUCCESS) return \"CUDA_SUCCESS\";\n"
        "    if (error == CUDA_ERROR_INVALID_VALUE) return \"CUDA_ERROR_INVALID_VALUE\";\n"
        "    if (error < 0) return error >= -%d ? own[-error - 1] : \"unknown\";\n"
        "    pthread_mutex_lock(&fx_lock);\n"
        "    if (!cuGetErrorName || cuGetErrorName(error, &name) != CUDA_SUCCESS) name = NULL;\n"
        "    pthread_mutex_unlock(&fx_lock);\n    return name ? name : \"unknown\";\n}\n\n",
        N_OWN_ERRORS);
}

static void put_unload(struct host_writer *w, const struct ahead *f) {
    put_c(w, "int %s_unload(void) {\n    pthread_mutex_lock(&fx_lock);\n", f->name);
    for (int k = 0; k < f->images[0]->plan->n_kernels; k++) {
        put_c(w, "    memset(%s_ready, 0, sizeof %s_ready);\n", f->kernels[k], f->kernels[k]);
        for (int i = 0; i < f->n_images; i++) {
            const struct fx_kernel *kernel = &f->images[i]->plan->kernels[k];
            const char *form = f->forms[k * f->n_images + i];
            for (int l = 0; l < kernel->n_launches; l++)
                if (kernel->launches[l].n_variants)
                    put_c(w, "    memset(%s_entries%d, 0, sizeof %s_entries%d);\n", form, l, form, l);
        }
    }
    put_c(w, "    const int r = fx_unload_all();\n    pthread_mutex_unlock(&fx_lock);\n    return r;\n}\n");
}

/* ---- the files ---- */

static void put_opening(struct buf *out, const struct ahead *f, const char *what) {
    buf_printf(out, "/* Written by fxc %s: %s Machine code for ", FX_VERSION, what);
    for (int i = 0; i < f->n_images; i++) buf_printf(out, "%s%s", i ? ", " : "", f->images[i]->plan->arch);
    buf_printf(out,
        " is in it.\n *\n"
        " * For each kernel NAME below, on the device of the CUDA context that is current on the thread:\n"
        " *   NAME_prepare    finds the driver, loads the code for the device; once for each device, ahead of the first launch that is captured or\n"
        " *                   must be quick. The calls below do it where it was not called\n"
        " *   NAME_workspace  how much device memory NAME_launch needs besides the tensors\n"
        " *   NAME_launch     enqueues the work on a stream: it allocates nothing and waits for nothing\n");
    bool any = false;
    for (int k = 0; k < f->images[0]->plan->n_kernels; k++) any |= has_constants(f, k);
    if (any) buf_puts(out, host_c_about_constants);
    buf_printf(out,
        " * All return 0, or an error above 0, a CUresult of the driver's, or below 0, one of those below; %s_error_name says its name. 1,\n"
        " * CUDA_ERROR_INVALID_VALUE: the arguments do not fit, and nothing was launched.\n"
        " *\n"
        " * Tensors are row-major and contiguous, of the extents given, or have the strides given, in elements; outputs share memory\n"
        " * with nothing else, and no two elements of one do. The workspace is aligned to 256 bytes and belongs to one launch at a\n"
        " * time. Every call may be made from several threads at once, but for %s_unload. */\n",
        f->name, f->name);
}

static void put_header(struct buf *out, const struct fx_image *images, int n, const char *name) {
    struct ahead f = open_file(out->arena, images, n, name);
    struct host_writer w = {.out = out, .arena = out->arena};
    put_opening(out, &f, "declares kernels that were compiled ahead of time.");
    put_c(&w,
        "#pragma once\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nstruct CUstream_st; /* what CUstream and cudaStream_t point to */\n\n");
    static const char *const why[] = {"libcuda was not found", "it is older than CUDA 12",
        "there is no code for the device among that of the file", "it is the 65th or a later one"};
    put_c(&w, "enum {\n");
    for (int i = 0; i < N_OWN_ERRORS; i++)
        put_c(
            &w, "    %s_%s = %d%s /* %s */\n", f.name, own_errors[i], -1 - i, i + 1 < N_OWN_ERRORS ? "," : "", why[i]);
    put_c(&w, "};\n/* Never NULL. */\nconst char *%s_error_name(int error);\n", f.name);
    put_c(&w,
        "/* Unloads all code, when nothing of it runs any more and no other call is made meanwhile. It may be loaded again. */\nint %s_unload(void);\n\n",
        f.name);
    for (int k = 0; k < images[0].plan->n_kernels; k++) {
        host_c_begin(&w, &f.images[0]->plan->kernels[k]);
        host_c_put_title(&w, f.kernels[k]);
        put_prepare(&w, f.kernels[k]);
        put_c(&w, ";\n");
        put_workspace(&w, f.kernels[k]);
        put_c(&w, ";\n");
        put_launch(&w, f.kernels[k]);
        put_c(&w, ";\n");
        w.base = f.kernels[k];
        if (has_constants(&f, k)) host_c_put_constants_type(&w);
        for (int which = 0; has_constants(&f, k) && which < N_CONSTANTS; which++) {
            put_of_constants(&w, f.kernels[k], which);
            put_c(&w, ";\n");
        }
        put_c(&w, "\n");
    }
    put_c(&w, "#ifdef __cplusplus\n}\n#endif\n");
}

static void put_file(struct buf *out, const struct fx_image *images, int n, const char *name) {
    struct ahead f = open_file(out->arena, images, n, name);
    struct buf kernels;
    struct host_writer w = {.out = &kernels, .arena = out->arena, .early = "m->starts_early", .is_ahead = true};
    buf_init(&kernels, out->arena);
    for (int k = 0; k < images[0].plan->n_kernels; k++) {
        for (int i = 0; i < n; i++) put_form(&w, f.images[i], k, &f, i);
        put_public(&w, &f, k);
    }
    put_errors(&w, &f);
    put_unload(&w, &f);
    put_opening(
        out, &f, "kernels compiled ahead of time, loaded and launched through the driver, which is found by dlopen.");
    buf_printf(out, "#include \"%s.h\"\n\n#include <dlfcn.h>\n#include <pthread.h>\n#include <string.h>\n\n", name);
    host_c_put_part(out, fx_text_tensor_maps, " */\n", NULL);
    host_c_put_part(out, fx_text_ahead, "/* ==== the driver ==== */\n", "/* ==== loading ==== */\n");
    buf_puts(out, "\n");
    host_c_put_types(out, false);
    put_codes(out, &f);
    host_c_put_part(out, fx_text_ahead, "/* ==== loading ==== */\n", NULL);
    buf_puts(out, "\n");
    host_c_put_functions(out, &w);
    buf_put(out, kernels.s, kernels.len);
}

/* The first extent from e on that a launch is given; n_extents where there is no other. */
static int open_extent(const struct fx_kernel *k, int e) {
    while (e < k->n_extents && !host_c_is_given(&k->extents[e])) e++;
    return e;
}

static bool same_extent(const struct fx_extent *a, const struct fx_extent *b) {
    return strcmp(a->name, b->name) == 0 && a->value == b->value;
}

/* Whether the axes of every parameter have the same extents, fixed or open. */
static bool same_shapes(const struct fx_kernel *x, const struct fx_kernel *y) {
    for (int i = 0; i < x->n_params; i++) {
        const struct fx_param *p = &x->params[i], *q = &y->params[i];
        if (p->rank != q->rank) return false;
        for (int a = 0; a < p->rank; a++)
            if (!same_extent(&x->extents[p->extents[a]], &y->extents[q->extents[a]])) return false;
    }
    return true;
}

/* Whether two plans declare the same, for two architectures. Extents that passes have made, of slices of k, are
 * given by nobody: each architecture has its own. */
static bool go_together(const struct fx_plan *a, const struct fx_plan *b) {
    bool is_so = a->n_kernels == b->n_kernels && strcmp(a->arch, b->arch) != 0;
    for (int k = 0; is_so && k < a->n_kernels; k++) {
        const struct fx_kernel *x = &a->kernels[k], *y = &b->kernels[k];
        int e = open_extent(x, 0), f = open_extent(y, 0);
        is_so = strcmp(x->name, y->name) == 0 && x->n_params == y->n_params && same_shapes(x, y);
        for (; is_so && (e < x->n_extents || f < y->n_extents); e = open_extent(x, e + 1), f = open_extent(y, f + 1))
            is_so = e < x->n_extents && f < y->n_extents && same_extent(&x->extents[e], &y->extents[f]);
    }
    return is_so;
}

fx_status fx_ahead(const struct fx_image *images, int n, const char *name, bool is_header, char **text) {
    struct arena a;
    jmp_buf oom;
    if (text) *text = NULL;
    if (!images || n <= 0 || !name || !*name || strpbrk(name, "/\\\"\n") || !text) return FX_ERR_USAGE;
    for (int i = 0; i < n; i++) {
        const struct fx_plan *p = images[i].plan;
        if (!p || !p->source || !*p->source || !images[i].cubin || strncmp(p->arch, "sm_", 3) != 0) return FX_ERR_USAGE;
        for (int j = 0; j < i; j++)
            if (!go_together(p, images[j].plan)) return FX_ERR_USAGE;
    }
    arena_init(&a, &oom);
    if (setjmp(oom) == 0) {
        struct buf b;
        buf_init(&b, &a);
        (is_header ? put_header : put_file)(&b, images, n, name);
        *text = strdup(b.s);
    }
    arena_release(&a);
    return *text ? FX_OK : FX_ERR_NOMEM;
}
