/* The arguments of a kernel in C: their names, how a function declares them, and how it hands them on.
 *
 * In: a kernel of a plan. Out: identifiers by index in host_writer, and text. Names of a spec are encoded and end in an
 * underscore, which keeps them apart from keywords, macros and what a file names itself. */
#include <string.h>

#include "base/names.h"
#include "host_c/host_c.h"
#include "seam/print.h"

const char *host_c_encoded(struct arena *a, const char *name) {
    return name_encoded(a, (struct name){name, (uint32_t)strlen(name)});
}

/* `a_` of {"a"}, `a_stride_b_` of {"a", "b"}. */
static const char *take_argument(struct identifiers *s, const char *name, const char *stride_of) {
    const char *base = host_c_encoded(s->arena, name);
    return identifiers_take(s, stride_of
                                   ? arena_printf(s->arena, "%s_stride_%s_", base, host_c_encoded(s->arena, stride_of))
                                   : arena_printf(s->arena, "%s_", base));
}

/* The emitter's own name of a buffer, encoded already; any other bytes become a name too. */
static const char *buffer_name(struct arena *a, const char *name) {
    size_t len = strlen(name);
    char *word = arena_printf(a, "%s%s", *name ? name : "buffer", len && name[len - 1] == '_' ? "" : "_");
    for (char *c = word; *c; c++)
        if (!is_word_byte(*c)) *c = 'x';
    return word;
}

void host_c_begin(struct host_writer *w, const struct fx_kernel *k) {
    w->k = k;
    struct identifiers scope = {.arena = w->arena};
    w->params = NEW_ARRAY(w->arena, const char *, k->n_params + 1);
    w->buffers = NEW_ARRAY(w->arena, const char *, k->n_buffers + 1);
    w->extents = NEW_ARRAY(w->arena, const char *, k->n_extents + 1);
    w->strides = NEW_ARRAY(w->arena, const char *, fx_stride_index(k->n_params, 0) + 1);
    for (int i = 0; i < k->n_params; i++) w->params[i] = take_argument(&scope, k->params[i].name, NULL);
    for (int i = 0; i < k->n_extents; i++) w->extents[i] = take_argument(&scope, k->extents[i].name, NULL);
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            w->strides[fx_stride_index(i, j)] = take_argument(
                &scope, k->params[i].name, k->extents[k->params[i].extents[j]].name);
    for (int i = 0; i < k->n_buffers; i++)
        w->buffers[i] = identifiers_take(&scope, buffer_name(w->arena, k->buffers[i].name));
}

const char *host_c_scalar_type(enum fx_dtype t) {
    static const char *const types[3][4] = {
        {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
        {"int8_t", "int16_t", "int32_t", "int64_t"},
        {"uint8_t", "uint16_t", "float", "double"},
    };
    enum fx_dtype_class class = fx_dtype_class_of(t);
    int bits = fx_dtype_bits(t);
    if (class == FX_CLASS_B) return "bool";
    return types[class == FX_CLASS_U   ? 0
                 : class == FX_CLASS_S ? 1
                                       : 2][bits == 64   ? 3
                                            : bits == 32 ? 2
                                            : bits == 16 ? 1
                                                         : 0];
}

static void put_shape(struct host_writer *w, const struct fx_param *p) {
    if (p->is_scalar && p->has_value) put_c(w, " = %.9g", p->value);
    if (p->is_scalar) return;
    put_c(w, "[");
    for (int i = 0; i < p->rank; i++) {
        const struct fx_extent *e = &w->k->extents[p->extents[i]];
        put_c(w, "%s%s", i ? "," : "", w->extents[p->extents[i]]);
        if (e->value >= 0) put_c(w, "=%lld", (long long)e->value);
    }
    put_c(w, p->is_strided ? "] strided" : "]");
}

void host_c_put_title(struct host_writer *w, const char *name) {
    put_c(w, "/* ---- %s ----\n *\n", name);
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        put_c(w, " *   %-6s %s: %s", plan_param_role(p), w->params[i], fx_dtype_name(p->dtype));
        put_shape(w, p);
        put_c(w, "\n");
    }
    put_c(w, " */\n\n");
}

bool host_c_is_given(const struct fx_extent *e) { return e->value < 0 && !e->is_made; }

int host_c_put_extents(struct host_writer *w, const char *sep) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++)
        if (host_c_is_given(&w->k->extents[i])) put_c(w, "%slong long %s", n++ ? ", " : sep, w->extents[i]);
    return n;
}

void host_c_put_parameters(struct host_writer *w, bool is_outer) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        put_c(w, ",%s%s%s", i ? " " : "\n    ",
            p->is_scalar   ? host_c_scalar_type(p->dtype)
            : !is_outer    ? "CUdeviceptr"
            : p->is_output ? "void *"
                           : "const void *",
            is_outer && !p->is_scalar ? "" : " ");
        put_c(w, "%s", w->params[i]);
    }
    put_c(w, is_outer ? ",\n    void *workspace" : ",\n    CUdeviceptr workspace");
    host_c_put_extents(w, ", ");
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            put_c(w, ", long long %s", w->strides[fx_stride_index(i, j)]);
}

void host_c_put_given_extents(struct host_writer *w) {
    for (int i = 0; i < w->k->n_extents; i++)
        if (host_c_is_given(&w->k->extents[i])) put_c(w, ", %s", w->extents[i]);
}

void host_c_put_given(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    for (int i = 0; i < k->n_params; i++)
        put_c(w, k->params[i].is_scalar ? ", %s" : ", (unsigned long long)(uintptr_t)%s", w->params[i]);
    put_c(w, ", (unsigned long long)(uintptr_t)workspace");
    host_c_put_given_extents(w);
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            put_c(w, ", %s", w->strides[fx_stride_index(i, j)]);
}
