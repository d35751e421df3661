/* Names of values: as in the spec, otherwise after the operation.
 *
 * In: the graph and the fields of a problem struct. Out: C names. A value that a statement names has that name. A call
 * `mean[K](x)` and a reduction of x are mean_x and max_x. Any other value is named after its operation. Names end in an
 * underscore, like all names from a spec (base/names.h), so that they collide with no macro, function or other name of
 * the emitted text. They have a number only if another value of the same scope has the name. */
#include "emit/emit_name.h"

#include <ctype.h>
#include <string.h>

enum { MOST = 40 }; /* letters of a name that is put together */

static struct arena *arena(const struct value_names *x) { return &x->g->cx->arena; }

/* What a spec reads by a name of its own. */
static struct name own_name(const struct value_names *x, const struct node *n) {
    if (n->name.len || (n->kind != N_INPUT && n->kind != N_SCALAR)) return n->name;
    return x->g->kernel->params[n->param].ast->name;
}

static const char *op_word(const struct value_names *x, const struct node *n) {
    char *word = arena_printf(arena(x), "%s", op_info[n->op].is_infix ? op_info[n->op].id : op_info[n->op].name);
    for (char *c = word; *c; c++) *c = (char)tolower((unsigned char)*c);
    return word;
}

static const char *kind_word(const struct value_names *x, const struct node *n) {
    static const char *const reductions[N_REDUCTIONS] = {[RED_SUM] = "sum",
        [RED_PROD] = "prod",
        [RED_MAX] = "max",
        [RED_MIN] = "min",
        [RED_ARGMAX] = "argmax",
        [RED_ARGMIN] = "argmin",
        [RED_RECUR] = "recur"};
    switch (n->kind) {
    case N_OP: return op_word(x, n);
    case N_CAST: return fx_dtype_name(n->to);
    case N_REDUCE: case N_SHARE: return reductions[n->reduction];
    case N_SCAN:
        return n->reduction == RED_RECUR ? reductions[RED_RECUR]
                                         : arena_printf(arena(x), "cum%s", reductions[n->reduction]);
    case N_INDEX: case N_SIZE:
        return arena_printf(arena(x), "%s_%s", n->kind == N_SIZE ? "size" : "idx",
            name_encoded(arena(x), x->g->kernel->axes[n->axis].name));
    default: return "value";
    }
}

/* What an access reads, where it has no name itself: it is called after that. */
static const struct node *read_by(const struct value_names *x, const struct node *n) {
    while (!own_name(x, n).len && n->kind == N_ACCESS) n = n->args[0];
    return n;
}

/* n as the operand of something: `x`, or what was done last. */
static const char *operand_word(const struct value_names *x, const struct node *n) {
    while (!own_name(x, n).len && (n->kind == N_ACCESS || n->kind == N_CAST)) n = n->args[0];
    struct name own = own_name(x, n);
    return own.len ? name_encoded(arena(x), own) : kind_word(x, n);
}

static const char *joined(const struct value_names *x, const char *what, const char *of) {
    const char *s = arena_printf(arena(x), "%s_%s", what, of);
    return strlen(s) <= MOST ? s : what;
}

/* Of a value that a call comes to; within a function of the language the argument has the function's name for it. */
static const char *call_word(const struct value_names *x, const struct node *n) {
    const struct ast_expr *e = n->source;
    const char *callee = name_encoded(arena(x), e->name);
    if (e->span.file != n->span.file) return callee;
    if (e->args && e->args->value && e->args->value->kind == AST_ID)
        return joined(x, callee, name_encoded(arena(x), e->args->value->name));
    return n->kind == N_REDUCE || n->kind == N_SCAN ? joined(x, callee, operand_word(x, n->args[0])) : callee;
}

static bool is_call(const struct value_names *x, const struct node *n) {
    bool is_kind = n->kind == N_REDUCE || n->kind == N_SCAN ||
                   n->kind == N_SHARE; /* called after its operand, which a function of the language does not know */
    return n->source && n->source->kind == AST_CALL && !x->is_part[n->id] &&
           !(is_kind && n->source->span.file != n->span.file);
}

static const char *word_of(const struct value_names *x, const struct node *n) {
    struct name own = own_name(x, n = read_by(x, n));
    if (own.len) return name_encoded(arena(x), own);
    if (is_call(x, n)) return call_word(x, n);
    bool has_one = n->n_args == 1, is_plain = n->kind == N_OP && !own_name(x, n->args[0]).len;
    return has_one && !is_plain ? joined(x, kind_word(x, n), operand_word(x, n->args[0])) : kind_word(x, n);
}

static const char *base_of(struct value_names *x, const struct node *n) {
    if (x->base[n->id]) return x->base[n->id];
    const char *word = word_of(x, n), *base = arena_printf(arena(x), "%s_", word);
    if (identifiers_have(&x->fields, base))
        base = arena_printf(arena(x), "%s_v_", word); /* the tensor has the name, this is a value of it */
    return x->base[n->id] = base;
}

/* Whether it is that of a tensor that is only written: no member of a struct that values are handed on in. */
static bool is_only_written(const struct value_names *x, const char *name) {
    const struct kernel *k = x->g->kernel;
    for (int i = 0; i < k->n_params; i++)
        if (!k->params[i].is_input && strcmp(name, x->params[i]) == 0) return true;
    return false;
}

static void take_all(struct value_names *x, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (names[i]) identifiers_take(&x->fields, names[i]);
}

struct value_names *emit_names(const struct scheduled_graph *c, const struct launch *l) {
    struct arena *a = &c->graph->cx->arena;
    const struct kernel *k = c->graph->kernel;
    struct value_names *x = NEW(a, struct value_names);
    *x = (struct value_names){c->graph, l->param_names, NEW_ARRAY(a, const char *, c->graph->n_nodes + 1),
        NEW_ARRAY(a, const char *, c->graph->n_nodes + 1), NEW_ARRAY(a, bool, c->graph->n_nodes + 1), {.arena = a},
        {.arena = a, .around = &x->fields}, {.arena = a, .around = &x->own}, {.arena = a, .around = &x->members}};
    take_all(x, &l->struct_name, 1);
    take_all(x, l->param_names, k->n_params);
    take_all(x, l->axis_names, k->n_axes);
    take_all(x, l->stride_names, fx_stride_index(k->n_params, 0));
    take_all(x, l->buffer_names, plan_flags_buffer(c) + 1);
    for (int i = 0; i < c->graph->n_nodes; i++) {
        const struct node *n = c->graph->nodes[i];
        for (int j = 0; j < n->n_args; j++) x->is_part[n->args[j]->id] |= n->args[j]->source == n->source;
        if (n->name.len && n->kind != N_INPUT && n->kind != N_SCALAR && !identifiers_have(&x->own, base_of(x, n)))
            identifiers_take(&x->own, x->base[i]);
    }
    return x;
}

void emit_begin_function(struct value_names *x) { identifiers_give_back(&x->locals, 0); }

const char *emit_local_as(struct value_names *x, const char *base) { return identifiers_take(&x->locals, base); }

/* Around what stands n's name: one of the spec's own is given to no other value. */
static const struct identifiers *around(const struct value_names *x, const struct node *n) {
    return own_name(x, read_by(x, n)).len ? &x->fields : &x->own;
}

const char *emit_local(struct value_names *x, const struct node *n) {
    const char *member = x->member[n->id], *name = NULL;
    struct identifiers *s = &x->locals;
    if (member) { /* where it is a local's, a member's own name means the same value */
        s->around = &x->fields;
        if (!identifiers_have(s, member)) name = identifiers_take(s, member);
        s->around = &x->members;
    }
    x->members.around = around(x, n);
    if (!name) name = identifiers_take(s, base_of(x, n));
    x->members.around = &x->own;
    return name;
}

const char *emit_local_position(struct value_names *x, const struct node *n, int axis) {
    return emit_local_as(x,
        arena_printf(arena(x), "%s_at_%s_", operand_word(x, n), name_encoded(arena(x), x->g->kernel->axes[axis].name)));
}

const char *emit_member_as(struct value_names *x, const char *base) { return identifiers_take(&x->members, base); }

const char *emit_member(struct value_names *x, const struct node *n) {
    if (x->member[n->id]) return x->member[n->id];
    const char *plain = arena_printf(arena(x), "%s_", word_of(x, n));
    bool is_free = is_only_written(x, plain);
    x->members.around = is_free ? NULL : around(x, n);
    x->member[n->id] = identifiers_take(&x->members, is_free ? plain : base_of(x, n));
    x->members.around = &x->own;
    return x->member[n->id];
}
