/* Reads of elements ahead of the computation, as members of the problem struct.
 *
 * In: the tensors that the kernel loads. Out: frag, the values that V adjacent elements of a row read, and columns,
 * those of them that are the same for all rows; fetch and fetch_columns, which read them, as vectors where the elements
 * are adjacent. An index into a tensor is written over the driver's indices (batch, m, n or row, col) and the extents
 * by name. */
#include <string.h>

#include "emit/emit_body.h"

/* ---- index expressions ---- */

/* Elements between neighbours along position i of t. */
const char *body_step(struct body *b, const struct tensor *t, int i) {
    return address_group(arena(b), address_stride(&b->w, t, i), " ");
}

/* Adds what the flattened index `var` over the labels of l contributes to an offset into t. */
void body_add_index(
    struct body *b, struct buf *s, const struct tensor *t, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var, .type = b->is_gemm ? "int" : NULL};
    for (int i = 0, last; i < l->n; i = last + 1) { /* labels that t has adjacent are one index */
        int at = tensor_axis(t, l->axes[last = i]);
        if (at < 0) continue;
        while (!t->is_strided && last + 1 < l->n && tensor_axis(t, l->axes[last + 1]) == at + last + 1 - i) last++;
        address_add(s, address_factor(arena(b), b->l->axis_names, &f, i, last), body_step(b, t, at + last - i));
    }
}

/* `x_ + batch * (..) + m * (..)`: t's element at the indices other than the one V elements run along. */
const char *body_address(struct body *b, const struct tensor *t, const char *along) {
    struct buf s;
    buf_init(&s, arena(b));
    if (b->is_gemm) {
        body_add_index(b, &s, t, &b->l->kernel->gemm.batch, "batch");
        body_add_index(b, &s, t, &b->l->kernel->gemm.m, "m");
    } else {
        body_add_index(b, &s, t, &b->l->kernel->pointwise.rows,
            b->row_number ? arena_printf(arena(b), "(row + %d)", b->row_number) : "row");
    }
    if (along) body_add_index(b, &s, t, &b->along, along);
    return s.len ? arena_printf(arena(b), "%s + %s", tensor_name(b, t), s.s) : tensor_name(b, t);
}

enum along body_along(const struct body *b, const struct tensor *t) {
    int at = find_run(t, &b->along);
    if (t->is_strided && at >= 0 && at + b->along.n == t->n_axes) return ALONG_UNIT;
    return at == -2                       ? ALONG_NONE
           : at == -1                     ? ALONG_SCATTERED
           : at + b->along.n == t->n_axes ? ALONG_CONTIGUOUS
                                          : ALONG_STRIDED;
}

const char *body_piece(struct body *b, const struct tensor *t) {
    const struct axis_list *l = &b->along;
    const int n = count_piece(t, l);
    if (!b->is_gemm || !n || t->is_split || fx_dtype_bits(t->dtype) < 16) return NULL;
    return address_group(arena(b), address_product(arena(b), b->w.axis_names, l->axes + l->n - n, n), " ");
}

void body_emit_pieces(
    struct body *b, const struct tensor *t, const char *piece, const char *function, bool is_load, const char *held) {
    const char *at = body_address(b, t, b->along_var),
               *at_v = body_address(b, t, arena_printf(arena(b), "(%s + v)", b->along_var)), *four = "(V < 4 ? V : 4)";
    buf_line(b->w.out, "    if (%s %% V == 0) {", piece);
    buf_line(b->w.out, "      %s<V, false>(%s, %s, n_valid);", function, is_load ? held : at, is_load ? at : held);
    buf_line(b->w.out, "    } else if (%s %% 4 == 0) {", piece);
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "      for (int v = 0; v < V; v += 4) {");
    held = arena_printf(arena(b), "fx_part<%s>(%s, v)", four, held);
    buf_line(b->w.out, "        %s%s<%s, false>(%s, %s, n_valid - v);", is_load ? "" : "if (v < n_valid) ", function,
        four, is_load ? held : at_v, is_load ? at_v : held);
    buf_line(b->w.out, "      }");
    buf_line(b->w.out, "    } else {");
}

/* ---- fetch ---- */

const char *body_place_args(const struct body *b) {
    return b->is_gemm ? "int batch, int m, int n" : "index row, index col";
}

/* Whether t is read once for all rows of a tile. */
static bool is_of_columns(const struct body *b, const struct tensor *t) {
    const struct axis_list *m = &b->l->kernel->gemm.m;
    for (int i = 0; b->is_gemm && i < m->n; i++)
        if (tensor_axis(t, m->axes[i]) >= 0) return false;
    return b->is_gemm;
}

/* What holds t where it is fetched and where elements are computed. */
const char *body_holder(const struct body *b, const struct tensor *t) { return is_of_columns(b, t) ? "c" : "f"; }

const char *body_held(const struct body *b, const struct tensor *t) {
    const char *of_row = b->n_rows > 1 ? arena_printf(arena(b), "[%d]", b->row_number) : "";
    return arena_printf(arena(b), "%s%s.%s%s", body_holder(b, t), of_row, tensor_name(b, t),
        body_along(b, t) == ALONG_NONE ? "" : "[v]");
}

static int count_fetched(const struct body *b, bool of_columns) {
    int n = 0;
    for (int i = 0; i < b->l->kernel->n_loads; i++) n += is_of_columns(b, &b->l->kernel->loads[i]) == of_columns;
    return n;
}

void body_emit_frag(struct body *b, bool of_columns) {
    const char *name = of_columns ? "columns" : "frag";
    if (!count_fetched(b, of_columns)) {
        buf_line(b->w.out, "  template <int V> using %s = fx_nothing;  // nothing is read %s", name,
            of_columns   ? "that is the same for all rows"
            : b->is_gemm ? "of a row besides the operands"
                         : "ahead of what is computed");
        return;
    }
    buf_line(b->w.out, "  template <int V> struct %s {  // what V adjacent columns %s", name,
        of_columns ? "read from memory for all rows" : "of a row read from memory");
    for (int i = 0; i < b->l->kernel->n_loads; i++) {
        const struct tensor *t = &b->l->kernel->loads[i];
        if (is_of_columns(b, t) == of_columns)
            buf_line(b->w.out, "    %s %s%s;", emit_held_ctype(t->dtype), tensor_name(b, t),
                body_along(b, t) == ALONG_NONE ? "" : "[V]");
    }
    buf_line(b->w.out, "  };");
}

const char *body_along_stride(struct body *b, const struct tensor *t) {
    return address_stride(&b->w, t, tensor_axis(t, b->along.axes[b->along.n - 1]));
}

/* V elements of t one by one. */
static void emit_fetch_items(struct body *b, const struct tensor *t, const char *indent) {
    bool converts = emit_is_converted(t->dtype);
    const char *at = body_address(b, t, arena_printf(arena(b), "(%s + v)", b->along_var));
    const char *none = converts ? "0.0f" : "0";
    if (!converts && strncmp(emit_ctype(t->dtype), "fx_", 3) == 0)
        none = arena_printf(arena(b), "%s{}", emit_ctype(t->dtype));
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out,
        converts ? "%sfor (int v = 0; v < V; ++v) %s.%s[v] = v < n_valid ? fx_load_one(%s) : %s;"
                 : "%sfor (int v = 0; v < V; ++v) %s.%s[v] = v < n_valid ? *(%s) : %s;",
        indent, body_holder(b, t), tensor_name(b, t), at, none);
}

/* Whether fetch_rows reads t by words of several rows. */
static bool is_by_words(const struct body *b, const struct tensor *t) {
    return !b->is_gemm && b->l->kernel->pointwise.word_rows &&
           pointwise_is_turned(b->g, t, &b->l->kernel->pointwise);
}

static void emit_fetch_one(struct body *b, const struct tensor *t) {
    const char *held = arena_printf(arena(b), "%s.%s", body_holder(b, t), tensor_name(b, t));
    enum along along = body_along(b, t);
    bool converts = emit_is_converted(t->dtype);
    switch (along) {
    case ALONG_NONE:
        buf_line(b->w.out, converts ? "    %s = fx_load_one(%s);" : "    %s = *(%s);", held, body_address(b, t, NULL));
        return;
    case ALONG_CONTIGUOUS:
        if (b->holds)
            buf_line(b->w.out, "    if constexpr (V == fx_held_columns) fx_load_held(%s, %s, n_valid);\n    else", held,
                body_address(b, t, b->along_var));
        buf_line(b->w.out, "    %s<V, ALIGNED>(%s, %s, n_valid);", converts ? "fx_load" : "fx_load_items", held,
            body_address(b, t, b->along_var));
        return;
    case ALONG_UNIT:
        buf_line(b->w.out, "    if constexpr (ALIGNED) {");
        buf_line(b->w.out, "      %s<V, true>(%s, %s, n_valid);", converts ? "fx_load" : "fx_load_items", held,
            body_address(b, t, b->along_var));
        buf_line(b->w.out, "    } else {");
        if (converts)
            buf_line(b->w.out, "      fx_load_strided<V>(%s, %s, %s, n_valid);", held, body_address(b, t, b->along_var),
                body_along_stride(b, t));
        else emit_fetch_items(b, t, "      ");
        buf_line(b->w.out, "    }");
        return;
    case ALONG_STRIDED:
        if (is_by_words(b, t)) buf_line(b->w.out, "    if constexpr (TURNED) {");
        if (converts)
            buf_line(b->w.out, "    %sfx_load_strided<V>(%s, %s, %s, n_valid);", is_by_words(b, t) ? "  " : "", held,
                body_address(b, t, b->along_var), body_along_stride(b, t));
        else emit_fetch_items(b, t, is_by_words(b, t) ? "      " : "    ");
        if (is_by_words(b, t)) buf_line(b->w.out, "    }");
        return;
    case ALONG_SCATTERED:
        if (!converts || !body_piece(b, t)) {
            emit_fetch_items(b, t, "    ");
            return;
        }
        body_emit_pieces(b, t, body_piece(b, t), "fx_load", true, held);
        emit_fetch_items(b, t, "      ");
        buf_line(b->w.out, "    }");
        return;
    }
}

/* fetch for R adjacent rows, and whether words of them may be read: no word then has elements of two columns. */
static void emit_fetch_rows(struct body *b) {
    const char *may = NULL;
    value_open_function(&b->w,
        "  template <int V, int R> FX_DEVICE void fetch_rows(frag<V> (&f)[R], index row, index col) const");
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int i = 0; i < R; ++i) fetch<V, true, false>(f[i], row + i, col, V);");
    for (int i = 0; i < b->l->kernel->n_loads; i++) {
        const struct tensor *t = &b->l->kernel->loads[i];
        if (!is_by_words(b, t)) continue;
        const char *name = tensor_name(b, t), *length = body_step(b, t, t->n_axes - 2);
        buf_line(b->w.out, "    fx_load_turned<V>(f, &frag<V>::%s, %s, (index)%s);", name,
            body_address(b, t, b->along_var), body_along_stride(b, t));
        const char *own = arena_printf(arena(b), "fx_is_aligned<%d>(%s) && %s %% %d == 0",
            b->l->kernel->pointwise.word_rows, name, length, b->l->kernel->pointwise.word_rows);
        may = may ? arena_printf(arena(b), "%s && %s", may, own) : own;
    }
    value_close_function(&b->w);
    emit_function(b->w.out, "  FX_DEVICE bool by_words() const", arena_printf(arena(b), "return %s;", may));
}

void body_emit_fetch(struct body *b, bool of_columns) {
    const bool has_words = !b->is_gemm && b->l->kernel->pointwise.word_rows;
    if (!count_fetched(b, of_columns)) return;
    if (of_columns)
        value_open_function(&b->w,
            "  template <int V, bool ALIGNED> FX_DEVICE void fetch_columns(columns<V> &c, int batch, int n, "
            "int n_valid) const");
    else
        value_open_function(&b->w,
            "  template <int V, bool ALIGNED%s> FX_DEVICE void fetch(frag<V> &f, %s, int n_valid) const",
            has_words ? ", bool TURNED = true" : "", body_place_args(b));
    for (int i = 0; i < b->l->kernel->n_loads; i++)
        if (is_of_columns(b, &b->l->kernel->loads[i]) == of_columns) emit_fetch_one(b, &b->l->kernel->loads[i]);
    value_close_function(&b->w);
    if (has_words) emit_fetch_rows(b);
}
