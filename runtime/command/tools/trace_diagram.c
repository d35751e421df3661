/* Diagrams of a page. In: dataflow before and after fusion; the shape of an mma. Out: SVG. Invariant: which lane holds
 * which element follows from the formulas that the engine's fragments follow, the same for all shapes: 32 bytes along
 * k, four of them in a lane's register. */
#include <string.h>

#include "command/tools/trace.h"

/* ---- dataflow ---- */

enum { BOX = 430, GAP = 150, HEAD = 42, ROW = 18, BETWEEN = 34, MOST_TEXT = 50, START = 40 };

static int box_height(const struct trace_step *s) { return HEAD + ROW * s->n_lines + 6; }

static int flow_height(const struct trace_flow *f) {
    int h = START;
    for (int i = 0; i < f->n_steps; i++) h += box_height(&f->steps[i]) + BETWEEN;
    return h;
}

/* With thin spaces between thousands. */
static void put_count(struct buf *out, int64_t n) {
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) buf_puts(out, "\xe2\x80\x89");
        buf_putc(out, digits[i]);
    }
}

static void put_short(struct buf *out, const char *s) {
    size_t n = strlen(s);
    if (n > MOST_TEXT) {
        for (n = MOST_TEXT - 1; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;) n--; /* not within a code point */
    }
    put_escaped(out, arena_strndup(out->arena, s, n));
    if (s[n]) buf_puts(out, "\xe2\x80\xa6");
}

static void put_step(struct buf *out, const struct trace_step *s, int x, int y) {
    buf_printf(out, "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n"
                    "<text class=\"strong\" x=\"%d\" y=\"%d\">", x, y, BOX, box_height(s), x + 10, y + 17);
    put_escaped(out, s->name);
    buf_puts(out, "</text>\n");
    if (s->bytes >= 0 && s->bytes_written >= 0) {
        buf_printf(out, "<text class=\"quiet\" x=\"%d\" y=\"%d\">reads ", x + 10, y + 34);
        put_count(out, s->bytes - s->bytes_written);
        buf_puts(out, " bytes, writes ");
        put_count(out, s->bytes_written);
        buf_puts(out, "</text>\n");
    }
    for (int i = 0; i < s->n_lines; i++) {
        const struct trace_line *l = &s->lines[i];
        buf_printf(out, "<text class=\"code\" x=\"%d\" y=\"%d\"><title>line %d, %s: ", x + 10, y + HEAD + ROW * i + 13,
            l->line, l->place);
        put_escaped(out, l->text);
        buf_puts(out, "</title>");
        buf_printf(out, "%d\xe2\x80\x82", l->line);
        put_short(out, l->text);
        buf_puts(out, "</text>\n");
    }
}

static void put_column(struct buf *out, const struct trace_flow *f, int x, const char *title) {
    int y = START;
    buf_printf(out, "<text class=\"strong\" x=\"%d\" y=\"16\">%s</text>\n", x, title);
    buf_printf(
        out, "<text class=\"quiet\" x=\"%d\" y=\"32\">%d %s", x, f->n_steps, f->n_steps == 1 ? "launch" : "launches");
    if (f->bytes >= 0) {
        buf_puts(out, ", ");
        put_count(out, f->bytes);
        buf_puts(out, " bytes");
    }
    buf_puts(out, "</text>\n");
    for (int i = 0; i < f->n_steps; i++) {
        const struct trace_step *s = &f->steps[i];
        put_step(out, s, x, y);
        y += box_height(s) + BETWEEN;
        if (i + 1 < f->n_steps)
            buf_printf(
                out, "<path class=\"arrow\" d=\"M%d %dv%dm-5 -6l5 6l5 -6\"/>\n", x + 30, y - BETWEEN, BETWEEN - 3);
        if (i + 1 < f->n_steps && s->bytes_written >= 0) {
            buf_printf(out, "<text class=\"quiet\" x=\"%d\" y=\"%d\">", x + 44, y - BETWEEN / 2 + 4);
            put_count(out, s->bytes_written);
            buf_puts(out, " bytes through memory</text>\n");
        }
    }
}

/* From where a computation stands before to each place where it stands after. */
static void put_moves(struct buf *out, const struct trace_flow *before, const struct trace_flow *after) {
    int y = START;
    for (int i = 0; i < before->n_steps; y += box_height(&before->steps[i++]) + BETWEEN)
        for (int n = 0; n < before->steps[i].n_lines; n++) {
            const struct trace_line *from = &before->steps[i].lines[n];
            int to_y = START;
            for (int j = 0; j < after->n_steps; to_y += box_height(&after->steps[j++]) + BETWEEN)
                for (int m = 0; m < after->steps[j].n_lines; m++) {
                    const struct trace_line *to = &after->steps[j].lines[m];
                    int y0 = y + HEAD + ROW * n + 9, y1 = to_y + HEAD + ROW * m + 9;
                    if (from->line != to->line || strcmp(from->text, to->text) != 0) continue;
                    buf_printf(out, "<path class=\"move\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n", BOX + 1, y0,
                        BOX + GAP / 2, y0, BOX + GAP / 2, y1, BOX + GAP - 1, y1);
                }
        }
}

void figure_flow(struct buf *out, const struct trace *t) {
    int a = flow_height(&t->before), b = flow_height(&t->after), h = a > b ? a : b,
        w = t->before.n_steps ? 2 * BOX + GAP : BOX;
    buf_printf(out,
        "<svg class=\"wide\" width=\"%d\" height=\"%d\" viewBox=\"-1 0 %d %d\" role=\"img\" aria-label=\"dataflow before and after fusion\">\n",
        w + 2, h, w + 2, h);
    if (t->before.n_steps) {
        put_column(out, &t->before, 0, "Every operation by itself");
        put_moves(out, &t->before, &t->after);
    }
    put_column(out, &t->after, t->before.n_steps ? BOX + GAP : 0, "What is launched");
    buf_puts(out, "</svg>\n");
}

/* ---- fragments ---- */

enum { M = 16, N = 8, CELL = 25, EDGE = 4, MARGIN = 28, SPACE = 40 };

static void put_element(
    struct buf *out, char matrix, int x, int y, int row, int column, int lane, int word, int part, int n_parts) {
    buf_printf(
        out, "<g data-lane=\"%d\"><title>%c[%d][%d]: lane %d, register %d", lane, matrix, row, column, lane, word);
    if (n_parts > 1) buf_printf(out, ", element %d of it", part);
    x += column * CELL, y += row * CELL;
    buf_printf(out, "</title><rect class=\"c%d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
        word * 3 % TRACE_COLOURS, x, y, CELL - 1, CELL - 1);
    buf_printf(out, "<text class=\"lane\" x=\"%d\" y=\"%d\">%d</text></g>\n", x + CELL / 2, y + CELL / 2 + 4, lane);
}

static void put_name(struct buf *out, const char *name, int x, int y) {
    buf_printf(out, "<text class=\"strong\" x=\"%d\" y=\"%d\">%s</text>\n", x, y - 8, name);
}

bool trace_is_warpgroup(const char *shape) { return strncmp(shape, "m64", 3) == 0; }

/* Of the warpgroup's sums 16 rows and 8 columns. */
static void put_sums(struct buf *out, int x, int y) {
    put_name(out, "sum (m, n)", x, y);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++)
            put_element(out, 'C', x, y, lane / 4 + r / 2 * 8, lane % 4 * 2 + r % 2, lane, r, 0, 1);
}

static void open_fragments(struct buf *out, const char *shape, int w, int h) {
    buf_printf(out,
        "<svg class=\"wide fragments\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"fragments of %s\">\n",
        w, h, w, h, shape);
}

void figure_fragments(struct buf *out, const char *shape) {
    if (trace_is_warpgroup(shape)) {
        open_fragments(out, shape, MARGIN + N * CELL + SPACE, MARGIN + M * CELL + 4);
        put_sums(out, MARGIN, MARGIN);
        buf_puts(out, "</svg>\n");
        return;
    }
    int k = !strcmp(shape, "m16n8k8")    ? 8
            : !strcmp(shape, "m16n8k16") ? 16
                                         : 32,
        parts = k / 8; /* elements of a register */
    int xa = MARGIN, xb = xa + k * CELL + SPACE, yb = MARGIN, ya = yb + k * CELL + SPACE, w = xb + N * CELL + EDGE,
        h = ya + M * CELL + EDGE;
    open_fragments(out, shape, w, h);
    put_name(out, "A (m down, k to the right)", xa, ya);
    put_name(out, "B (k down, n)", xb, yb);
    put_sums(out, xb, ya);
    for (int lane = 0; lane < 32; lane++) {
        for (int r = 0; r < 4; r++)
            for (int e = 0; e < parts; e++)
                put_element(out, 'A', xa, ya, lane / 4 + r % 2 * 8, lane % 4 * parts + e + r / 2 * 4 * parts, lane, r,
                    e, parts);
        for (int r = 0; r < 2; r++)
            for (int e = 0; e < parts; e++)
                put_element(out, 'B', xb, yb, lane % 4 * parts + e + r * 4 * parts, lane / 4, lane, r, e, parts);
    }
    buf_puts(out, "</svg>\n");
}
