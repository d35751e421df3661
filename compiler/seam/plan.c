/* What can be computed from a plan alone: extents, conditions, the variant a launch takes, the workspace.
 *
 * In: a plan, the shapes and scalars it is bound to. Out: numbers, or a message for the caller. Pure: no allocation, no
 * state, and nothing an argument can make overflow. */
#include "symbolic/plan_expr.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORKSPACE_ALIGN = 256 };
static const int64_t max_extent = INT64_C(1) << 40, max_elements = FX_MAX_ELEMENTS;

/* Text of limited size, cut where it ends. */
struct text {
    char *s;
    size_t size, n;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...) {
    va_list ap;
    if (t->n >= t->size) return;
    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->n, t->size - t->n, fmt, ap);
    va_end(ap);
    t->n += n > 0 ? (size_t)n : 0;
}

/* ---- arguments ---- */

static bool is_packed_axis(const struct fx_param *p, int axis) { return p->packed.factor && p->packed.axis == axis; }

enum fx_dtype fx_argument_dtype(const struct fx_param *p) { return p->packed.factor ? p->packed.storage : p->dtype; }

int64_t fx_argument_extent(const struct fx_param *p, int axis, const int64_t *extents) {
    int64_t extent = extents[p->extents[axis]];
    return is_packed_axis(p, axis) ? extent / p->packed.factor + (extent % p->packed.factor != 0) : extent;
}

/* ---- extents ---- */

/* "f16[M,K]", as far as size goes; of a packed tensor that of its words: "i32[J,L/8]", rounded up. */
static void describe(const struct fx_kernel *k, const struct fx_param *p, struct text *t) {
    put(t, "%s[", fx_dtype_name(fx_argument_dtype(p)));
    for (int i = 0; i < p->rank; i++) {
        put(t, "%s%s", i ? "," : "", k->extents[p->extents[i]].name);
        if (is_packed_axis(p, i)) put(t, "/%d", p->packed.factor);
    }
    put(t, "]");
}

static fx_status check_type(
    const struct fx_kernel *k, const struct fx_param *p, const struct fx_shape *s, char *message, size_t size) {
    char want[256];
    if (s->dtype == fx_argument_dtype(p) && s->rank == p->rank) return FX_OK;
    describe(k, p, &(struct text){want, sizeof want, 0});
    if (s->rank != p->rank) snprintf(message, size, "%s has rank %d, but %s is expected", p->name, s->rank, want);
    else snprintf(message, size, "%s is %s, but %s is expected", p->name, fx_dtype_name(s->dtype), want);
    return FX_ERR_USAGE;
}

static fx_status check_limits(
    const struct fx_kernel *k, const struct fx_param *p, const struct fx_shape *s, char *message, size_t size) {
    int64_t n = 1;
    bool is_empty = false, is_huge = false;
    for (int i = 0; i < s->rank; i++) {
        int64_t extent = s->extents[i];
        if (extent < 0 || extent > max_extent) {
            snprintf(message, size, "axis %s of %s is %lld, but an extent lies between 0 and 2^40",
                k->extents[p->extents[i]].name, p->name, (long long)extent);
            return FX_ERR_USAGE;
        }
        is_empty |= extent == 0;
        is_huge |= __builtin_mul_overflow(n, extent ? extent : 1, &n) || n > max_elements;
        if (is_huge) n = max_elements;
    }
    if (!is_huge || is_empty) return FX_OK;
    snprintf(message, size, "%s has more than 2^48 elements", p->name);
    return FX_ERR_USAGE;
}

/* Who gave extent e its value: a parameter before `before`, or NULL for the spec. */
static const struct fx_param *binder(
    const struct fx_kernel *k, const struct fx_shape *const *shapes, int e, int before) {
    if (k->extents[e].value >= 0) return NULL;
    for (int i = 0; i <= before; i++)
        for (int a = 0; shapes[i] && !k->params[i].is_scalar && a < k->params[i].rank; a++)
            if (k->params[i].extents[a] == e && !is_packed_axis(&k->params[i], a)) return &k->params[i];
    return NULL;
}

static fx_status bind_param(const struct fx_kernel *k, const struct fx_shape *const *shapes, int i, int64_t *extents,
                            char *message, size_t size) {
    const struct fx_param *p = &k->params[i];
    fx_status status = check_type(k, p, shapes[i], message, size);
    if (status == FX_OK) status = check_limits(k, p, shapes[i], message, size);
    for (int a = 0; status == FX_OK && a < p->rank; a++) {
        int e = p->extents[a];
        int64_t given = shapes[i]->extents[a];
        if (is_packed_axis(p, a)) continue; /* several extents have as many words */
        if (extents[e] < 0) extents[e] = given;
        if (extents[e] == given) continue;
        const struct fx_param *other = binder(k, shapes, e, i);
        if (other)
            snprintf(message, size, "axis %s of %s is %lld, but of %s it is %lld", k->extents[e].name, p->name,
                (long long)given, other->name, (long long)extents[e]);
        else
            snprintf(message, size, "axis %s of %s is %lld, but the spec fixes %s = %lld", k->extents[e].name, p->name,
                     (long long)given, k->extents[e].name, (long long)extents[e]);
        status = FX_ERR_USAGE;
    }
    return status;
}

/* The words of a packed axis against the extent that other tensors or the spec give. */
static fx_status check_packed(const struct fx_kernel *k, const struct fx_param *p, const struct fx_shape *s,
    const int64_t *extents, char *message, size_t size) {
    if (!p->packed.factor) return FX_OK;
    int axis = p->packed.axis;
    int64_t want = fx_argument_extent(p, axis, extents), extent = extents[p->extents[axis]];
    if (s->extents[axis] == want) return FX_OK;
    snprintf(message, size, "%s has %lld words of %s along %s, but %s = %lld, %d a word, takes %lld", p->name,
        (long long)s->extents[axis], fx_dtype_name(p->packed.storage), k->extents[p->extents[axis]].name,
        k->extents[p->extents[axis]].name, (long long)extent, p->packed.factor, (long long)want);
    return FX_ERR_USAGE;
}

/* ---- equations between extents ---- */

static bool mentions(const struct fx_equation *q, int extent) {
    return q->extent == extent || expr_has(&q->value, FX_T_EXTENT, extent);
}

/* The one extent without a value that the equation mentions; -1 when there is none, -2 when there are several. */
static int unknown_of(const struct fx_kernel *k, const struct fx_equation *q, const int64_t *extents) {
    int unknown = -1;
    for (int e = 0; e < k->n_extents; e++) {
        if (extents[e] >= 0 || !mentions(q, e)) continue;
        unknown = unknown == -1 ? e : -2;
    }
    return unknown;
}

/* Whether the equation gives the extent its value when the others are known. */
static bool determines(const struct fx_equation *q, int extent) {
    return expr_has(&q->value, FX_T_EXTENT, extent) ? fx_is_linear(&q->value, extent) : q->extent == extent;
}

/* "F is 13, Q is 4": those that are known. */
static void put_extents(
    struct text *t, const struct fx_kernel *k, const struct fx_equation *q, const int64_t *extents) {
    const char *separator = "";
    for (int e = 0; e < k->n_extents; e++) {
        if (extents[e] < 0 || !mentions(q, e)) continue;
        put(t, "%s%s is %lld", separator, k->extents[e].name, (long long)extents[e]);
        separator = ", ";
    }
}

static fx_status solve(
    const struct fx_kernel *k, const struct fx_equation *q, int unknown, int64_t *extents, char *message, size_t size) {
    const struct fx_env env = {.extents = extents};
    int64_t v;
    if (expr_solve(q, unknown, extents, &v) && v >= 0 && v <= max_extent) {
        extents[unknown] = v;
        return FX_OK;
    }
    struct text t = {message, size, 0};
    put(&t, "no extent %s satisfies %s: ", k->extents[unknown].name, q->text);
    if (unknown == q->extent && expr_eval(&q->value, &env, &v) == EXPR_INEXACT)
        put(&t, "`/` must divide exactly, but ");
    put_extents(&t, k, q, extents);
    return FX_ERR_USAGE;
}

static fx_status check_equation(
    const struct fx_kernel *k, const struct fx_equation *q, const int64_t *extents, char *message, size_t size) {
    int64_t v;
    enum expr_state state = expr_eval(&q->value, &(struct fx_env){.extents = extents}, &v);
    if (state == EXPR_OK && v == extents[q->extent]) return FX_OK;
    struct text t = {message, size, 0};
    put(&t, "%s does not hold: ", q->text);
    if (state == EXPR_INEXACT) put(&t, "`/` must divide exactly, but ");
    if (state == EXPR_OVERFLOW) put(&t, "it goes beyond 64 bits, as ");
    put_extents(&t, k, q, extents);
    return FX_ERR_USAGE;
}

fx_status fx_solve_extents(const struct fx_kernel *k, int64_t *extents, char *message, size_t size) {
    for (bool progress = true; progress;) {
        progress = false;
        for (int i = 0; i < k->n_equations; i++) {
            int unknown = unknown_of(k, &k->equations[i], extents);
            if (unknown < 0 || !determines(&k->equations[i], unknown)) continue;
            fx_status status = solve(k, &k->equations[i], unknown, extents, message, size);
            if (status != FX_OK) return status;
            progress = true;
        }
    }
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < k->n_equations; i++)
        if (unknown_of(k, &k->equations[i], extents) == -1)
            status = check_equation(k, &k->equations[i], extents, message, size);
    return status;
}

static fx_status unknown_extent(const struct fx_kernel *k, int e, const int64_t *extents, char *message, size_t size) {
    for (int i = 0; i < k->n_equations; i++) {
        if (unknown_of(k, &k->equations[i], extents) != e) continue;
        snprintf(message, size,
            "extent %s is not known: no argument with that axis was given, and %s may hold for more than one",
            k->extents[e].name, k->equations[i].text);
        return FX_ERR_USAGE;
    }
    snprintf(message, size, "extent %s is not known: no argument with that axis was given", k->extents[e].name);
    return FX_ERR_USAGE;
}

/* ---- conditions ---- */

static fx_status check_extents(const struct fx_kernel *k, const int64_t *extents, char *message, size_t size) {
    struct fx_env env = {.extents = extents};
    for (int i = 0; i < k->n_checks; i++) {
        if (expr_is_on_scalars(&k->checks[i].holds) || fx_expr_holds(&k->checks[i].holds, &env)) continue;
        snprintf(message, size, "%s", k->checks[i].message);
        return FX_ERR_USAGE;
    }
    return FX_OK;
}

/* A scalar as a person would write it, whatever the locale. */
static void put_scalar(struct text *t, const struct fx_param *p, const void *at) {
    char number[40];
    uint64_t word = 0;
    int bits = fx_dtype_bits(p->dtype);
    bool is_float = fx_dtype_class_of(p->dtype) == FX_CLASS_F;
    if (bits == 64) memcpy(&word, at, sizeof word);
    if (bits == 64 && !is_float)
        snprintf(number, sizeof number, p->dtype == FX_U64 ? "%llu" : "%lld", (unsigned long long)word);
    else
        snprintf(number, sizeof number,
            bits == 64 ? "%.17g"
            : is_float ? "%.9g"
                       : "%.0f",
            fx_load_double(p->dtype, at, 0));
    number[strcspn(number, ",")] = strchr(number, ',') ? '.' : 0;
    put(t, "%s is %s", p->name, number);
}

/* "p is 1.5, K is 30": everything the condition mentions, once. */
static void put_values(struct text *t, const struct fx_kernel *k, const struct fx_expr *e, const int64_t *extents,
    const void *const *scalars) {
    const char *separator = "";
    for (int i = 0; i < e->n; i++) {
        const struct fx_term *term = &e->terms[i];
        const struct fx_expr before = {i, e->terms};
        if ((term->op != FX_T_SCALAR && term->op != FX_T_EXTENT) || expr_has(&before, term->op, term->v)) continue;
        put(t, "%s", separator);
        if (term->op == FX_T_SCALAR) put_scalar(t, &k->params[term->v], scalars[term->v]);
        else put(t, "%s is %lld", k->extents[term->v].name, (long long)extents[term->v]);
        separator = ", ";
    }
}

fx_status fx_check_scalars(
    const struct fx_kernel *k, const int64_t *extents, const void *const *scalars, char *message, size_t size) {
    for (int i = 0; i < k->n_checks; i++) {
        const struct fx_check *c = &k->checks[i];
        bool holds;
        if (!expr_is_on_scalars(&c->holds)) continue;
        enum expr_state state = expr_on_scalars(k, &c->holds, extents, scalars, &holds);
        if (state == EXPR_OK && holds) continue;
        struct text t = {message, size, 0};
        put(&t, "%s: ", c->message);
        if (state == EXPR_INEXACT) put(&t, "`/` must divide exactly, but ");
        if (state == EXPR_OVERFLOW) put(&t, "it goes beyond 64 bits, as ");
        if (state == EXPR_MALFORMED) put(&t, "it cannot be evaluated");
        else put_values(&t, k, &c->holds, extents, scalars);
        return FX_ERR_USAGE;
    }
    return FX_OK;
}

/* ---- all of it ---- */

fx_status fx_bind_extents(
    const struct fx_kernel *k, const struct fx_shape *const *shapes, int64_t *extents, char *message, size_t size) {
    for (int e = 0; e < k->n_extents; e++) extents[e] = k->extents[e].value;
    for (int i = 0; i < k->n_params; i++) {
        if (k->params[i].is_scalar || !shapes[i]) continue;
        fx_status status = bind_param(k, shapes, i, extents, message, size);
        if (status != FX_OK) return status;
    }
    fx_status solved = fx_solve_extents(k, extents, message, size);
    if (solved != FX_OK) return solved;
    for (int e = 0; e < k->n_extents; e++)
        if (extents[e] < 0) return unknown_extent(k, e, extents, message, size);
    for (int i = 0; i < k->n_params; i++) {
        if (k->params[i].is_scalar || !shapes[i]) continue;
        fx_status status = check_packed(k, &k->params[i], shapes[i], extents, message, size);
        if (status != FX_OK) return status;
    }
    return check_extents(k, extents, message, size);
}

/* ---- launches ---- */

void fx_row_major_strides(const struct fx_kernel *k, const int64_t *extents, int64_t *strides) {
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        int64_t inner = 1;
        bool is_empty = false;
        if (!p->is_strided) continue;
        for (int axis = 0; axis < p->rank; axis++) is_empty |= fx_argument_extent(p, axis, extents) == 0;
        for (int axis = p->rank - 1; axis >= 0; axis--) {
            int64_t n = fx_argument_extent(p, axis, extents);
            strides[fx_stride_index(i, axis)] = is_empty || n == 1 ? 0 : inner;
            if (!is_empty && __builtin_mul_overflow(inner, n, &inner)) inner = INT64_MAX;
        }
    }
}

bool fx_is_passed_over(const struct fx_launch *l, int v, const struct fx_resources *compiled) {
    return l->variants[v].most_local >= 0 && compiled->local_bytes > l->variants[v].most_local;
}

/* The variant by the rule among those compiled; with instead_of, among those of its kind that are not passed over. */
static int choose(
    const struct fx_launch *l, const struct fx_env *env, const struct fx_resources *const *compiled, int instead_of) {
    int first = -1, best = -1;
    int64_t cost, least = 0;
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *f = &l->variants[v];
        if (compiled && !compiled[v]) continue;
        if (instead_of >= 0 && (f->kind != l->variants[instead_of].kind || fx_is_passed_over(l, v, compiled[v])))
            continue;
        if (best >= 0 && (!f->cost.n || f->kind != l->variants[best].kind)) continue;
        if (!fx_expr_holds(&f->needs, env)) continue;
        if (first < 0) first = v;
        if (!fx_expr_holds(&f->prefers, env)) continue;
        if (!f->cost.n) return v;
        if (!fx_expr_eval(&f->cost, env, &cost)) cost = INT64_MAX;
        if (best < 0 || cost < least) best = v, least = cost;
    }
    return best >= 0 ? best : first;
}

int fx_choose_variant(const struct fx_launch *l, const struct fx_env *env) { return choose(l, env, NULL, -1); }

int fx_choose_compiled(
    const struct fx_launch *l, const struct fx_env *env, const struct fx_resources *const *compiled) {
    int v = choose(l, env, compiled, -1);
    if (v < 0 || !fx_is_passed_over(l, v, compiled[v])) return v;
    int other = choose(l, env, compiled, v);
    return other < 0 ? v : other;
}

int fx_entry_count(const struct fx_plan *p) {
    int n = 0;
    for (int k = 0; p && k < p->n_kernels; k++)
        for (int l = 0; l < p->kernels[k].n_launches; l++)
            for (int v = 0; v < p->kernels[k].launches[l].n_variants; v++) {
                int number = p->kernels[k].launches[l].variants[v].number;
                if (number >= n) n = number + 1;
            }
    return n;
}

int fx_partition_count(const struct fx_kernel *k) { return k->n_partitions > 0 ? k->n_partitions : 1; }

struct fx_partition fx_get_partition(const struct fx_kernel *k, int number) {
    if (number >= 0 && number < k->n_partitions) return k->partitions[number];
    return (struct fx_partition){.name = "", .n_launches = k->n_launches, .n_buffers = k->n_buffers};
}

/* Alignments are left out: what is asked of before there are arguments is what a launch takes. */
bool fx_partition_fits(const struct fx_kernel *k, const struct fx_partition *p, const struct fx_env *launch) {
    const struct fx_env env = {.extents = launch->extents, .sm_count = launch->sm_count};
    for (int i = p->first_launch; i < p->first_launch + p->n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        bool any = !l->n_variants;
        for (int v = 0; v < l->n_variants && !any; v++) any = fx_expr_holds(&l->variants[v].needs, &env);
        if (!any) return false;
    }
    return true;
}

int fx_choose_partition(const struct fx_kernel *k, const struct fx_env *env) {
    const int last = fx_partition_count(k) - 1;
    for (int i = 0; i < last; i++)
        if (fx_expr_holds(&k->partitions[i].takes, env) && fx_partition_fits(k, &k->partitions[i], env)) return i;
    return last;
}

/* Adds the constants, or the others, behind *total. */
static bool add_buffers(const struct fx_kernel *k, const struct fx_partition *partition, const struct fx_env *env,
    bool are_constants, size_t *offsets, size_t *total) {
    size_t at = *total;
    for (int i = partition->first_buffer; i < partition->first_buffer + partition->n_buffers; i++) {
        int64_t bytes;
        if ((k->buffers[i].kind == FX_BUFFER_CONST) != are_constants) continue;
        if (!fx_expr_eval(&k->buffers[i].bytes, env, &bytes) || bytes < 0) return false;
        if (offsets) offsets[i] = at;
        if (__builtin_add_overflow(at, (size_t)bytes, &at) || __builtin_add_overflow(at, WORKSPACE_ALIGN - 1, &at))
            return false;
        at -= at % WORKSPACE_ALIGN;
    }
    *total = at;
    return true;
}

bool fx_workspace_layout(const struct fx_kernel *k, const struct fx_partition *partition, const struct fx_env *env,
    size_t *offsets, size_t *total) {
    *total = 0;
    return add_buffers(k, partition, env, false, offsets, total) &&
           add_buffers(k, partition, env, true, offsets, total);
}

bool fx_const_layout(const struct fx_kernel *k, const struct fx_partition *partition, const struct fx_env *env,
    size_t *offsets, size_t *total) {
    *total = 0;
    return add_buffers(k, partition, env, true, offsets, total);
}

const struct fx_kernel *fx_find_kernel(const struct fx_plan *p, const char *name) {
    for (int i = 0; p && i < p->n_kernels; i++)
        if (!name || !strcmp(p->kernels[i].name, name)) return &p->kernels[i];
    return NULL;
}
