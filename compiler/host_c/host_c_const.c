/* Part of a C launcher: values that depend on `const` parameters alone, computed once into the caller's memory.
 *
 * In: a plan some of whose launches are once. Out: for such a kernel NAME, in addition to its other functions,
 * NAME_const_bytes, NAME_const_prepare, NAME_const_workspace and NAME_const_launch, and a struct that records the
 * tensors that the constants were computed from. A launch with other tensors is refused. host_c_kernel.c has the
 * bodies. */
#include "host_c/host_c.h"

const char host_c_about_constants[] =
    " * Where something depends on `const` tensors alone, it is computed at every NAME_launch, or once:\n"
    " *   NAME_const_bytes      how much device memory that takes\n"
    " *   NAME_const_prepare    computes it there, and fills a struct NAME_constants\n"
    " *   NAME_const_workspace  as above, of\n"
    " *   NAME_const_launch     the rest of the work. Other `const` tensors than it was computed from do not fit\n";

bool host_c_has_constants(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].is_once) return true;
    return false;
}

static bool is_const(const struct fx_param *p) { return p->is_const && !p->is_scalar; }

/* Whether a `const` tensor has the extent, and the launch brings it. */
static bool is_of_const(const struct fx_kernel *k, int extent) {
    for (int i = 0; i < k->n_params; i++)
        for (int a = 0; is_const(&k->params[i]) && a < k->params[i].rank; a++)
            if (k->params[i].extents[a] == extent) return k->extents[extent].value < 0;
    return false;
}

/* What is kept of the tensors, each by `put` of its C name: addresses, extents, strides. */
static void for_each_kept(struct host_writer *w, void (*put)(struct host_writer *, const char *, bool is_address)) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_params; i++)
        if (is_const(&k->params[i])) put(w, w->params[i], true);
    for (int e = 0; e < k->n_extents; e++)
        if (is_of_const(k, e)) put(w, w->extents[e], false);
    for (int i = 0; i < k->n_params; i++)
        for (int a = 0; is_const(&k->params[i]) && k->params[i].is_strided && a < k->params[i].rank; a++)
            put(w, w->strides[fx_stride_index(i, a)], false);
}

static void put_member(struct host_writer *w, const char *name, bool is_address) {
    put_c(w, "    %s %s;\n", is_address ? "unsigned long long" : "long long", name);
}

static void put_copy(struct host_writer *w, const char *name, bool is_address) {
    (void)is_address;
    put_c(w, "    constants->%s = %s;\n", name, name);
}

static void put_difference(struct host_writer *w, const char *name, bool is_address) {
    (void)is_address;
    put_c(w, " || constants->%s != %s", name, name);
}

void host_c_put_constants_type(struct host_writer *w) {
    put_c(w, "struct %s_constants {\n    unsigned long long memory;\n", w->base);
    for_each_kept(w, put_member);
    put_c(w, "};\n");
}

/* Strides, those of `const` parameters alone where is_prepare, each behind a comma and what stands before its name. */
static void put_strides(struct host_writer *w, bool is_prepare, const char *before) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_strided && (!is_prepare || is_const(&k->params[i])))
            for (int j = 0; j < k->params[i].rank; j++)
                put_c(w, ", %s%s", before, w->strides[fx_stride_index(i, j)]);
}

void host_c_put_constants_parameters(struct host_writer *w, bool is_outer, bool is_prepare) {
    const struct fx_kernel *k = w->k;
    const char *memory = is_outer ? "void *" : "CUdeviceptr ";
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        if (is_prepare && !is_const(p)) continue;
        put_c(w, ",%s", n++ ? " " : "\n    ");
        if (p->is_scalar) put_c(w, "%s ", host_c_scalar_type(p->dtype));
        else put_c(w, "%s", !is_outer ? "CUdeviceptr " : p->is_output ? "void *" : "const void *");
        put_c(w, "%s", w->params[i]);
    }
    if (is_prepare) put_c(w, ",\n    %smemory, struct %s_constants *constants", memory, w->base);
    else put_c(w, ",\n    const struct %s_constants *constants, %sworkspace", w->base, memory);
    host_c_put_extents(w, ", ");
    put_strides(w, is_prepare, "long long ");
}

void host_c_put_constants_given(struct host_writer *w, bool is_prepare) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_params; i++)
        if (!is_prepare || is_const(&k->params[i]))
            put_c(w, k->params[i].is_scalar ? ", %s" : ", (unsigned long long)(uintptr_t)%s", w->params[i]);
    put_c(w, is_prepare ? ", (unsigned long long)(uintptr_t)memory, constants"
                        : ", constants, (unsigned long long)(uintptr_t)workspace");
    host_c_put_given_extents(w);
    put_strides(w, is_prepare, "");
}

void host_c_put_constants_check(struct host_writer *w) {
    put_c(w, "    if (!constants");
    for_each_kept(w, put_difference);
    put_c(w, ") return CUDA_ERROR_INVALID_VALUE;\n");
}

static void put_size(struct host_writer *w, const char *storage, const char *what) {
    put_c(w, "%ssize_t %s_const_%s(const %s *m", storage, w->form, what, w->module);
    host_c_put_extents(w, ", ");
    put_c(w, ")");
}

static void put_call(struct host_writer *w, const char *storage, bool is_prepare) {
    put_c(w, "%sCUresult %s_const_%s(const %s *m, CUstream stream", storage, w->form, is_prepare ? "prepare" : "launch",
        w->module);
    host_c_put_constants_parameters(w, false, is_prepare);
    put_c(w, ")");
}

void host_c_put_constants(struct host_writer *w, const char *storage) {
    put_c(w, "static size_t %s_const_below(const %s *m, int partition", w->form, w->module);
    host_c_put_extents(w, ", ");
    put_c(w, ") {\n");
    host_c_put_kept_bytes(w);
    put_size(w, storage, "bytes");
    put_c(w, " {\n    return %s_const_below(m, %d", w->form, fx_partition_count(w->k));
    host_c_put_given_extents(w);
    put_c(w, ");\n}\n\n");
    put_size(w, storage, "workspace");
    put_c(w, " {\n    (void)m;\n");
    w->run = HOST_KEPT;
    host_c_put_bytes(w);
    put_call(w, storage, true);
    put_c(w, " {\n");
    host_c_put_once(w);
    put_c(w, "    if (r == CUDA_SUCCESS) {\n    constants->memory = memory;\n");
    for_each_kept(w, put_copy);
    put_c(w, "    }\n    return r;\n}\n\n");
    put_call(w, storage, false);
    put_c(w, " {\n");
    w->run = HOST_KEPT;
    host_c_put_launch(w);
    w->run = HOST_ALL;
}

void host_c_put_constants_declarations(struct host_writer *w) {
    put_size(w, "", "bytes");
    put_c(w, ";\n");
    put_size(w, "", "workspace");
    put_c(w, ";\n");
    put_call(w, "", true);
    put_c(w, ";\n");
    put_call(w, "", false);
    put_c(w, ";\n");
}
