/* Decides what the oracle computes and where. Input: a checked kernel and its extents; output: the values that are
 * stored, and the bodies that compute them.
 *
 * A value is stored if several elements of its readers share it (it lacks an axis of theirs), if several readers share
 * it, if it is read at other positions than its own, or if it runs along an axis. Every other value is evaluated where
 * it is read. Invariant: a value that a body evaluates in place has the axes the body runs over, or is inline. */
#include "oracle/eval_internal.h"

/* ---- what a value is ---- */

static bool is_leaf(const struct value *v) { return v->kind == V_NUM || v->kind == V_SCALAR || v->kind == V_LOAD; }

static bool has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

static bool is_scan(const struct value *v) {
    bool is_recurrence = v->reduction == RED_RECUR, runs = false;
    if (v->n_args != 1 + is_recurrence || v->dtype == FX_BOOL || (v->reduction > RED_MIN && !is_recurrence))
        return false;
    for (int i = 0; i < v->n_args; i++) {
        runs |= has_axis(v->args[i], v->axis);
        if (v->args[i]->dtype != v->dtype) return false;
    }
    return runs;
}

static bool is_well_typed(const struct value *v) {
    bool is_integer = fx_is_integer(v->dtype);
    for (int i = 0; i < v->n_args; i++)
        if (!v->args[i] || v->args[i]->id >= v->id) return false;
    switch (v->kind) {
    case V_OP:
        if (v->n_args != op_info[v->op].arity) return false;
        if (op_info[v->op].rule == RULE_COMPARE)
            return fx_is_integer(v->args[0]->dtype) == fx_is_integer(v->args[v->n_args - 1]->dtype);
        for (int i = 0; i < v->n_args; i++) {
            enum fx_dtype t = v->args[i]->dtype;
            if (t != FX_BOOL && fx_is_integer(t) != is_integer) return false;
        }
        return true;
    case V_SCAN: return is_scan(v);
    case V_REDUCE:
        if (v->n_args != 1 || v->reduction >= N_REDUCTIONS) return false;
        if (v->reduction == RED_ARGMAX || v->reduction == RED_ARGMIN) return v->dtype == FX_I64 && v->n_reduced == 1;
        if (v->dtype == FX_BOOL && (v->reduction == RED_SUM || v->reduction == RED_PROD)) return false;
        return v->dtype == v->args[0]->dtype && v->reduction != RED_RECUR;
    case V_CAST: return v->n_args == 1 && v->dtype == fx_compute_type(v->to);
    case V_ACCESS:
        if (v->n_at < 1 || v->n_args != 1 + v->n_at + v->has_fill) return false;
        for (int i = 0; i < v->n_at; i++)
            if (!fx_is_integer(v->args[1 + i]->dtype) || !has_axis(v->args[0], v->at[i])) return false;
        return fx_is_integer(v->args[0]->dtype) == is_integer &&
               (!v->has_fill || fx_is_integer(v->args[1 + v->n_at]->dtype) == is_integer);
    default: return v->n_args == 0;
    }
}

static bool is_static(const struct eval *ev, const struct value *v) {
    if (!fx_is_integer(v->dtype) && v->dtype != FX_BOOL) return false;
    if (v->kind == V_LOAD || v->kind == V_REDUCE || v->kind == V_SCAN || v->kind == V_ACCESS) return false;
    for (int i = 0; i < v->n_args; i++)
        if (!ev->nodes[v->args[i]->id].is_static) return false;
    return true;
}

/* A window, a half or a renamed axis of a parameter costs no more to read than the parameter. */
static int window_depth(const struct eval *ev, const struct value *v) {
    if (v->kind != V_ACCESS) return 0;
    const struct oracle_node *source = &ev->nodes[v->args[0]->id];
    if ((v->args[0]->kind != V_LOAD && !source->is_inline) || source->depth == DEPTH_MAX) return 0;
    for (int i = 1; i < v->n_args; i++)
        if (!ev->nodes[v->args[i]->id].is_static && !(i > v->n_at && is_leaf(v->args[i]) && v->args[i]->kind != V_LOAD))
            return 0;
    return source->depth + 1;
}

/* Whether an access reads this source from its cells. */
static bool has_cells(const struct eval *ev, const struct value *source) {
    return source->kind != V_LOAD && !ev->nodes[source->id].is_inline;
}

/* ---- licences (docs/language.md, "Accumulation") ---- */

static const struct value *accessed(const struct value *v) {
    while (v->kind == V_ACCESS) v = v->args[0];
    return v;
}

/* The largest finite value of a float dtype. */
static double largest_of(enum fx_dtype t) {
    double power = 1;
    while (isfinite(fx_round_to(t, 2 * power)) && fx_round_to(t, 2 * power) == 2 * power) power *= 2;
    return power * (2 - 2 * fx_unit_roundoff(t));
}

static bool is_made(const struct value *source, enum fx_dtype t) {
    return source->kind == V_OP || source->kind == V_REDUCE || source->kind == V_SCAN ||
           (source->kind == V_CAST && source->to != t);
}

static struct licence licence_of(enum fx_dtype t) {
    return (struct licence){fx_unit_roundoff(t), fx_smallest(t), largest_of(t)};
}

/* To round `computed` once to the dtype of `stored`, a tensor of at most 16 bits (f8: to bf16). */
static struct licence stored_licence(const struct kernel *k, const struct value *stored, const struct value *computed) {
    struct licence none = {.unit = 0};
    const struct value *tensor = accessed(stored), *source = accessed(computed);
    if (tensor->kind != V_LOAD || computed->n_axes == 0) return none;
    enum fx_dtype t = k->params[tensor->param].dtype;
    if (!fx_is_float(t) || fx_dtype_bits(t) > 16) return none;
    if (fx_dtype_bits(t) < 16) t = FX_BF16;
    return is_made(source, t) ? licence_of(t) : none;
}

static bool carries_all(const struct value *factor, const struct value *sum) {
    for (int i = 0; i < sum->n_reduced; i++)
        if (!has_axis(factor, sum->reduced[i])) return false;
    return true;
}

/* What rounding the factors of a sum's product may undergo; false for none. */
static bool find_licences(const struct kernel *k, const struct value *sum, struct licence out[2]) {
    static const struct licence tf32 = {0x1p-11, 0x1p-136, 0x1.ffcp127};
    const struct value *product = sum->args[0];
    out[0] = out[1] = (struct licence){.unit = 0};
    if (kernel_is_ieee(k) || sum->kind != V_REDUCE || sum->reduction != RED_SUM || sum->dtype != FX_F32)
        return false;
    if (product->kind != V_OP || product->op != O_MUL) return false;
    bool is_tf32 = k->precision == PRECISION_TF32 && carries_all(product->args[0], sum) &&
                   carries_all(product->args[1], sum);
    const enum fx_dtype both = value_rounds_to(k, sum);
    for (int i = 0; i < 2; i++) {
        out[i] = stored_licence(k, product->args[1 - i], product->args[i]);
        if (both != FX_BOOL && out[i].unit == 0 && is_made(accessed(product->args[i]), both)) out[i] = licence_of(both);
        if (is_tf32 && out[i].unit == 0) out[i] = tf32;
    }
    return out[0].unit > 0 || out[1].unit > 0;
}

enum { MOST_FACTORS = 64 }; /* operands visited at most: squares of squares would double them each time */

/* Factors of a term that are f8 tensors, wherever they are read. */
static int count_f8(const struct kernel *k, const struct value *v, int *left) {
    while (v->kind == V_ACCESS || v->kind == V_CAST) v = v->args[0];
    if (--*left < 0) return 0;
    if (v->kind == V_OP && v->op == O_MUL) return count_f8(k, v->args[0], left) + count_f8(k, v->args[1], left);
    return v->kind == V_LOAD && fx_is_f8(k->params[v->param].dtype);
}

static double rounded_error(const struct kernel *k, const struct value *v) {
    const bool has_form = v->kind == V_OP && op_rounded_form(v->op, FX_BF16);
    return has_form ? op_rounded_ulps(v->op, value_read_as(k, v)) * 0x1p-24 : 0;
}

/* Whether partial sums of v may keep few bits, as tensor cores that multiply f8 have them. */
static bool is_short(const struct kernel *k, const struct value *v) {
    int left = MOST_FACTORS;
    return !kernel_is_ieee(k) && v->kind == V_REDUCE && v->reduction == RED_SUM && v->dtype == FX_F32 &&
           count_f8(k, v->args[0], &left) >= 2;
}

static bool is_narrow_factor(const struct kernel *k, const struct value *v) {
    const struct value *at = accessed(v);
    enum fx_dtype t = at->kind == V_LOAD ? k->params[at->param].dtype : at->kind == V_CAST ? at->to : at->dtype;
    return fx_is_float(t) && fx_dtype_bits(t) <= 16;
}

/* Terms of v as a sum of products with a factor of at most 16 bits; 0: it is none. */
static double sum_terms(const struct eval *ev, const struct value *v) {
    if (v->kind != V_REDUCE || v->reduction != RED_SUM || v->dtype != FX_F32) return 0;
    const struct value *product = v->args[0];
    if (product->kind != V_OP || product->op != O_MUL ||
        (!is_narrow_factor(ev->k, product->args[0]) && !is_narrow_factor(ev->k, product->args[1])))
        return 0;
    double n = 1;
    for (int i = 0; i < v->n_reduced; i++) n *= (double)ev->extents[v->reduced[i]];
    return n;
}

/* An addition may join such sums, and additions that have: operands before what reads them, each value once. */
static void find_joined(struct eval *ev, const struct value *v) {
    struct oracle_node *node = &ev->nodes[v->id];
    if (v->kind != V_OP || v->op != O_ADD) {
        node->sum_terms = sum_terms(ev, v);
        return;
    }
    const double a = ev->nodes[v->args[0]->id].sum_terms, b = ev->nodes[v->args[1]->id].sum_terms;
    node->sum_terms = a + b > 0 ? a + b + (a == 0 || b == 0) : 0;
    node->joined = v->dtype == FX_F32 && a > 0 && b > 0 ? a + b : 0;
}

/* ---- what is stored ---- */

enum { MANY = -1 };

static void read_by(struct eval *ev, const struct value *v, int reader, int n_axes) {
    struct oracle_node *node = &ev->nodes[v->id];
    node->reader = !node->is_read || node->reader == reader ? reader : MANY;
    node->is_read = true;
    if (!is_leaf(v) && !node->is_inline && v->n_axes != n_axes) node->is_stored = true;
}

/* Read at positions of its own choosing: a parameter and what is inline there, anything else from its cells. */
static void read_at_positions(struct eval *ev, const struct value *source) {
    ev->nodes[source->id].is_read = true;
    ev->nodes[source->id].is_stored = has_cells(ev, source);
    ev->nodes[source->id].is_source = ev->nodes[source->id].is_inline;
}

/* The operands of a value that is read. A body is known by 2 * id of the stored value or the output's result, 2 * id +
 * 1 for the operand of a reduction or scan. A licensed product is computed by its sum, whoever else reads it. */
static void read_operands(struct eval *ev, const struct value *v) {
    struct oracle_node *node = &ev->nodes[v->id];
    struct licence licence[2];
    bool is_total = v->kind == V_REDUCE || v->kind == V_SCAN;
    int reader = is_total ? 2 * v->id + 1 : node->is_stored ? 2 * v->id : node->reader;
    int n_axes = v->n_axes + (v->kind == V_REDUCE ? v->n_reduced : 0);
    for (int i = 0; i < v->n_args; i++) {
        if (v->kind == V_ACCESS && i == 0) read_at_positions(ev, v->args[0]);
        else read_by(ev, v->args[i], reader, n_axes);
    }
    if (is_total && find_licences(ev->k, v, licence))
        for (int i = 0; i < 2; i++) read_by(ev, v->args[0]->args[i], reader, n_axes);
}

/* Readers before operands. */
static fx_status find_stored(struct eval *ev, const struct value *result) {
    read_by(ev, result, 2 * result->id, ev->output.n);
    for (int id = result->id; id >= 0; id--) {
        const struct value *v = ev->k->values[id];
        struct oracle_node *node = &ev->nodes[id];
        if (!node->is_read) continue;
        if (!is_well_typed(v)) return FX_ERR_INTERNAL;
        const struct param *p = v->kind == V_LOAD ? &ev->k->params[v->param] : NULL;
        if (!layout_init(&node->layout, p ? p->n_axes : v->n_axes, p ? p->axes : v->axes, ev->extents))
            return FX_ERR_USAGE;
        if (is_leaf(v)) continue;
        bool is_shared = node->reader == MANY &&
                         (v->kind == V_REDUCE || (!node->is_inline && node->layout.numel <= SHARE_MAX));
        if (is_shared || v->kind == V_SCAN || (v->kind == V_REDUCE && v->n_reduced == 0)) node->is_stored = true;
        read_operands(ev, v);
    }
    return FX_OK;
}

/* ---- which values carry the magnitude of their innermost terms ---- */

static bool is_sum(const struct value *v) {
    return (v->kind == V_REDUCE || v->kind == V_SCAN) && v->reduction == RED_SUM && fx_is_float(v->dtype);
}

/* Whether v is linear in operand i. */
static bool passes_m(const struct value *v, int i) {
    if (!fx_is_float(v->dtype) || !fx_is_float(v->args[i]->dtype)) return false;
    if (v->kind == V_CAST) return true;
    if (v->kind == V_ACCESS) return i == 0 || i > v->n_at;
    if (v->kind != V_OP) return false;
    return v->op == O_ADD || v->op == O_SUB || v->op == O_MUL || v->op == O_NEG || v->op == O_FMA || v->op == O_WHERE ||
           (v->op == O_DIV && i == 0);
}

static void find_magnitudes(struct eval *ev, const struct value *result) {
    bool *has = NEW_ARRAY(ev->arena, bool, result->id + 1);
    for (int id = 0; id <= result->id; id++) {
        const struct value *v = ev->k->values[id];
        if (!ev->nodes[id].is_read) continue;
        has[id] = is_sum(v);
        for (int i = 0; !has[id] && i < v->n_args; i++) has[id] = passes_m(v, i) && has[v->args[i]->id];
    }
    for (int id = result->id; id >= 0; id--) {
        const struct value *v = ev->k->values[id];
        if (!ev->nodes[id].is_read) continue;
        for (int i = 0; i < v->n_args; i++) {
            bool is_wanted = is_sum(v) || ev->nodes[id].joined > 0 || (ev->nodes[id].carries_m && passes_m(v, i));
            if (is_wanted && has[v->args[i]->id]) ev->nodes[v->args[i]->id].carries_m = true;
        }
    }
}

/* ---- bodies ---- */

static void add_id(struct eval *ev, int **ids, int *n, int id) {
    for (int i = 0; i < *n; i++)
        if ((*ids)[i] == id) return;
    PUSH(ev->arena, *ids, *n) = id;
}

/* What a body reads and what it needs inside, of a step it evaluates. */
static void add_step(struct eval *ev, struct oracle_body *b, const struct step *s, int *inside) {
    const struct value *v = s->value;
    const struct oracle_body *operand = ev->nodes[v->id].operand;
    if (s->is_fetched && !is_leaf(v)) add_id(ev, &b->stored, &b->n_stored, v->id);
    if (s->is_fetched) return;
    if (v->kind == V_ACCESS && has_cells(ev, v->args[0])) add_id(ev, &b->accesses, &b->n_accesses, v->id);
    if (v->kind == V_ACCESS && ev->nodes[v->args[0]->id].is_inline) {
        int n_lines = v->n_at + ev->nodes[v->args[0]->id].own->n_lines;
        if (n_lines > *inside) *inside = n_lines;
    }
    if (v->kind != V_REDUCE) return;
    if (operand->n_lines > *inside) *inside = operand->n_lines;
    for (int i = 0; i < operand->n_stored; i++) add_id(ev, &b->stored, &b->n_stored, operand->stored[i]);
    for (int i = 0; i < operand->n_accesses; i++) add_id(ev, &b->accesses, &b->n_accesses, operand->accesses[i]);
}

/* The steps from leaves to the results; the first, or only, is computed here even when it is stored, if `computes` says
 * so. */
static struct oracle_body *build_body(struct eval *ev, struct value *const *results, int n_results, bool computes) {
    struct oracle_body *b = NEW(ev->arena, struct oracle_body);
    int *step_of = ev->step_of, inside = 0, last = 0;
    for (int i = 0; i < n_results; i++)
        if (results[i]->id > last) last = results[i]->id;
    for (int id = 0; id <= last; id++) step_of[id] = -1;
    for (int i = 0; i < n_results; i++) step_of[results[i]->id] = 0;
    for (int pass = 0; pass < 2; pass++) {
        /* which values, readers first; then the steps, operands first */
        for (int j = 0, n = 0; j <= last; j++) {
            const struct value *v = ev->k->values[pass ? j : last - j];
            const struct oracle_node *node = &ev->nodes[v->id];
            if (step_of[v->id] < 0) continue;
            bool is_fetched = is_leaf(v) || (node->is_stored && !(computes && v == results[0]));
            int first = v->kind == V_ACCESS, n_read = is_fetched || v->kind == V_REDUCE ? 0 : v->n_args;
            b->n_steps += pass == 0;
            for (int i = first; pass == 0 && i < n_read; i++) step_of[v->args[i]->id] = 0;
            if (pass == 0) continue;
            struct step *s = &b->steps[step_of[v->id] = n++];
            *s = (struct step){.value = v,
                .is_fetched = is_fetched,
                .carries_m = node->carries_m,
                .joined = node->joined,
                .rounded = rounded_error(ev->k, v),
                .is_short = is_short(ev->k, v),
                .args = NEW_ARRAY(ev->arena, int, n_read + 1)};
            for (int i = first; i < n_read; i++) s->args[i] = step_of[v->args[i]->id];
            add_step(ev, b, s, &inside);
        }
        if (pass == 0) b->steps = NEW_ARRAY(ev->arena, struct step, b->n_steps);
    }
    b->n_lines = b->n_steps + 1 + inside;
    if (b->n_lines > ev->n_lines) ev->n_lines = b->n_lines;
    return b;
}

static struct oracle_body *build_operand(struct eval *ev, struct value *total) {
    struct licence licence[2];
    bool is_licensed = find_licences(ev->k, total, licence);
    struct oracle_body *b = build_body(ev, total->args, total->n_args, is_licensed);
    for (int i = 0; i < total->n_args; i++) ev->nodes[total->id].terms[i] = ev->step_of[total->args[i]->id];
    struct step *last = &b->steps[b->n_steps - 1];
    last->licence[0] = licence[0];
    last->licence[1] = licence[1];
    return b;
}

/* The positions of an access to a stored value that are known before the value is: they tell which of its elements are
 * needed. */
static void build_positions(struct eval *ev, const struct value *access) {
    struct oracle_node *node = &ev->nodes[access->id];
    struct value *known[MAX_AXES];
    int n = 0;
    node->positions = NEW_ARRAY(ev->arena, int, access->n_at);
    for (int i = 0; i < access->n_at; i++)
        if (ev->nodes[access->args[1 + i]->id].is_static) known[n++] = access->args[1 + i];
    if (n > 0) node->where = build_body(ev, known, n, false);
    for (int i = 0; i < access->n_at; i++) {
        bool is_known = ev->nodes[access->args[1 + i]->id].is_static;
        node->positions[i] = is_known ? ev->step_of[access->args[1 + i]->id] : -1;
    }
}

fx_status eval_plan(struct eval *ev, int output_param) {
    const struct kernel *k = ev->k;
    const struct param *out = &k->params[output_param];
    ev->nodes = NEW_ARRAY(ev->arena, struct oracle_node, k->n_values);
    ev->tensors = NEW_ARRAY(ev->arena, struct oracle_tensor, k->n_params);
    ev->step_of = NEW_ARRAY(ev->arena, int, k->n_values);
    ev->at = NEW_ARRAY(ev->arena, int64_t, k->n_axes + 1);
    ev->positions = NEW_ARRAY(ev->arena, const int64_t *, k->n_axes + 1);
    if (!layout_init(&ev->output, out->n_axes, out->axes, ev->extents)) return FX_ERR_USAGE;
    for (int id = 0; id <= out->result->id; id++) {
        struct oracle_node *node = &ev->nodes[id];
        node->is_static = is_static(ev, k->values[id]);
        node->depth = window_depth(ev, k->values[id]);
        node->is_inline = node->is_static || node->depth > 0;
    }
    fx_status status = find_stored(ev, out->result);
    if (status != FX_OK) return status;
    for (int id = 0; id <= out->result->id; id++) find_joined(ev, k->values[id]);
    find_magnitudes(ev, out->result);
    for (int id = 0; id <= out->result->id; id++) {
        struct value *v = k->values[id];
        struct oracle_node *node = &ev->nodes[id];
        if (!node->is_read) continue;
        if (v->kind == V_REDUCE || v->kind == V_SCAN) node->operand = build_operand(ev, v);
        if (v->kind == V_ACCESS && has_cells(ev, v->args[0])) build_positions(ev, v);
        if ((node->is_stored && v->kind != V_SCAN) || node->is_source) node->own = build_body(ev, &v, 1, true);
    }
    struct value *result = out->result;
    ev->root = build_body(ev, &result, 1, false);
    return FX_OK;
}
