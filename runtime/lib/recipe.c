/* Copies plans. In: a kernel of a plan. Out: a copy in one block of memory that does not refer to the plan, so that the
 * compilation may be closed while prepared kernels are launched. The receipt is not copied: no launch needs it. */
#include <stdlib.h>
#include <string.h>

#include "lib/runtime.h"

struct recipe_room { /* what is copied lies one behind the other; a first walk counts, a second one copies */
    char *at;     /* NULL: bytes are counted alone */
    size_t n;     /* taken so far */
};

/* A copy of the bytes; NULL where they are counted. */
static void *put(struct recipe_room *r, const void *bytes, size_t n) {
    enum { ALIGN = 16 };
    char *to = r->at && n ? r->at + r->n : NULL;
    if (to) memcpy(to, bytes, n);
    r->n += (n + ALIGN - 1) / ALIGN * ALIGN;
    return to;
}

static const char *put_text(struct recipe_room *r, const char *s) { return s ? put(r, s, strlen(s) + 1) : NULL; }

/* An array with its elements as they are; what they point to is copied element by element. */
#define PUT(r, array, n) put((r), (array), (size_t)(n) * sizeof *(array))

static struct fx_expr copy_expr(struct recipe_room *r, const struct fx_expr *e) {
    return (struct fx_expr){e->n, PUT(r, e->terms, e->n)};
}

static struct fx_variant copy_variant(struct recipe_room *r, const struct fx_variant *v) {
    struct fx_variant c = *v;
    c.entry = put_text(r, v->entry);
    c.config = put_text(r, v->config);
    c.needs = copy_expr(r, &v->needs);
    c.prefers = copy_expr(r, &v->prefers);
    c.cost = copy_expr(r, &v->cost);
    c.grid = copy_expr(r, &v->grid);
    c.smem = copy_expr(r, &v->smem);
    c.cluster = copy_expr(r, &v->cluster);
    return c;
}

static const struct fx_map *copy_maps(struct recipe_room *r, const struct fx_launch *l) {
    struct fx_map *to = PUT(r, l->maps, l->n_maps);
    for (int i = 0; i < l->n_maps; i++) {
        struct fx_map m = l->maps[i];
        m.offset = copy_expr(r, &m.offset);
        for (int d = 0; d < m.rank; d++) {
            m.extents[d] = copy_expr(r, &m.extents[d]);
            m.strides[d] = copy_expr(r, &m.strides[d]);
        }
        for (int d = 0; m.is_im2col && d < m.rank - 2; d++) {
            m.first[d] = copy_expr(r, &m.first[d]);
            m.last[d] = copy_expr(r, &m.last[d]);
        }
        if (to) to[i] = m;
    }
    return to;
}

static struct fx_launch copy_launch(struct recipe_room *r, const struct fx_launch *l) {
    struct fx_launch c = *l;
    struct fx_variant *variants = PUT(r, l->variants, l->n_variants);
    c.name = put_text(r, l->name);
    c.driver = put_text(r, l->driver);
    c.flops = copy_expr(r, &l->flops);
    c.bytes = copy_expr(r, &l->bytes);
    c.written = copy_expr(r, &l->written);
    c.args = PUT(r, l->args, l->n_args);
    c.maps = copy_maps(r, l);
    c.variants = variants;
    for (int i = 0; i < l->n_variants; i++) {
        struct fx_variant v = copy_variant(r, &l->variants[i]);
        if (variants) variants[i] = v;
    }
    return c;
}

static const struct fx_extent *copy_extents(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_extent *to = PUT(r, k->extents, k->n_extents);
    for (int i = 0; i < k->n_extents; i++) {
        const char *name = put_text(r, k->extents[i].name);
        if (to) to[i].name = name;
    }
    return to;
}

static const struct fx_param *copy_params(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_param *to = PUT(r, k->params, k->n_params);
    for (int i = 0; i < k->n_params; i++) {
        const char *name = put_text(r, k->params[i].name);
        if (to) to[i].name = name;
    }
    return to;
}

static const struct fx_equation *copy_equations(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_equation *to = PUT(r, k->equations, k->n_equations);
    for (int i = 0; i < k->n_equations; i++) {
        struct fx_equation q = k->equations[i];
        q.value = copy_expr(r, &q.value);
        q.text = put_text(r, q.text);
        if (to) to[i] = q;
    }
    return to;
}

static const struct fx_buffer *copy_buffers(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_buffer *to = PUT(r, k->buffers, k->n_buffers);
    for (int i = 0; i < k->n_buffers; i++) {
        struct fx_buffer b = k->buffers[i];
        b.name = put_text(r, b.name);
        b.bytes = copy_expr(r, &b.bytes);
        if (to) to[i] = b;
    }
    return to;
}

static const struct fx_check *copy_checks(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_check *to = PUT(r, k->checks, k->n_checks);
    for (int i = 0; i < k->n_checks; i++) {
        struct fx_check c = k->checks[i];
        c.holds = copy_expr(r, &c.holds);
        c.message = put_text(r, c.message);
        if (to) to[i] = c;
    }
    return to;
}

static const struct fx_launch *copy_launches(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_launch *to = PUT(r, k->launches, k->n_launches);
    for (int i = 0; i < k->n_launches; i++) {
        struct fx_launch l = copy_launch(r, &k->launches[i]);
        if (to) to[i] = l;
    }
    return to;
}

static const struct fx_partition *copy_partitions(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_partition *to = PUT(r, k->partitions, k->n_partitions);
    for (int i = 0; i < k->n_partitions; i++) {
        struct fx_partition p = k->partitions[i];
        p.name = put_text(r, p.name);
        p.takes = copy_expr(r, &p.takes);
        if (to) to[i] = p;
    }
    return to;
}

static struct fx_kernel *copy_kernel(struct recipe_room *r, const struct fx_kernel *k) {
    struct fx_kernel *to = put(r, k, sizeof *k), c = *k;
    c.name = put_text(r, k->name);
    c.extents = copy_extents(r, k);
    c.equations = copy_equations(r, k);
    c.params = copy_params(r, k);
    c.buffers = copy_buffers(r, k);
    c.launches = copy_launches(r, k);
    c.partitions = copy_partitions(r, k);
    c.checks = copy_checks(r, k);
    c.unfused_bytes = copy_expr(r, &k->unfused_bytes);
    c.receipt = NULL;
    if (to) *to = c;
    return to;
}

struct fx_kernel *recipe_copy(const struct fx_kernel *k) {
    struct recipe_room r = {0};
    (void)copy_kernel(&r, k);
    r = (struct recipe_room){.at = malloc(r.n)};
    return r.at ? copy_kernel(&r, k) : NULL;
}
