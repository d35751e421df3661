/* Tensors as pictures. In: a tensor, and runs of its cells. Out: SVG, a square a cell, or a square several cells where
 * there are too many; the last axis runs to the right, all others downwards. Invariant: a picture has at most BINS x
 * BINS squares, and of one colour those side by side are one rectangle. */
#include <stdlib.h>
#include <string.h>

#include "command/tools/trace.h"

enum {
    BINS = 128,
    WIDTH = 384,
    LEFT = 44,
    TOP = 34,
    LEAST_PIXELS = 3,
    MOST_PIXELS = 18,
    THIN = 20,
    LEAST_SIDE = 36,
    NO_ONE = -1,
    LABELLED = 64
};

struct picture { /* of a tensor */
    const struct trace_tensor *tensor;
    int64_t n_columns;      /* cells in a row */
    int64_t across, down;   /* cells of a square */
    int w, h;               /* squares */
    int pw, ph;             /* pixels of one */
};

/* Pixels of each of n squares side by side: more where all of them would be a line. */
static int wide_enough(int pixels, int n) {
    int least = n ? (LEAST_SIDE + n - 1) / n : 0;
    if (least > MOST_PIXELS) least = MOST_PIXELS;
    return pixels > least ? pixels : least;
}

static struct picture lay_out(const struct trace_tensor *x) {
    int64_t columns = x->rank ? x->shape[x->rank - 1] : 1, rows = columns ? x->n_cells / columns : 0;
    struct picture p = {.tensor = x,
        .n_columns = columns ? columns : 1,
        .across = (columns + BINS - 1) / BINS,
        .down = (rows + BINS - 1) / BINS};
    if (!p.across) p.across = 1;
    if (!p.down) p.down = 1;
    p.w = (int)((columns + p.across - 1) / p.across);
    p.h = (int)((rows + p.down - 1) / p.down);
    int most = p.w > p.h ? p.w : p.h, pixels = most ? WIDTH / most : MOST_PIXELS;
    p.pw = p.ph = pixels < LEAST_PIXELS ? LEAST_PIXELS : pixels > MOST_PIXELS ? MOST_PIXELS : pixels;
    p.pw = wide_enough(p.pw, p.w);
    p.ph = wide_enough(p.ph, p.h);
    if (p.h == 1) p.ph = THIN;
    return p;
}

/* A square each with the value that no one has. */
static int *new_squares(struct arena *a, const struct picture *p) {
    int *squares = NEW_ARRAY(a, int, p->w * p->h + 1);
    for (int i = 0; i < p->w * p->h; i++) squares[i] = NO_ONE;
    return squares;
}

/* Gives the squares of a run a value; where one has a value already, the lesser stays. */
static void fill_run(const struct picture *p, const struct trace_run *r, int value, int *squares) {
    for (int64_t c = r->first; c < r->first + r->n;) {
        int64_t row = c / p->n_columns, column = c % p->n_columns;
        int *s = &squares[row / p->down * p->w + column / p->across];
        int64_t next = (column / p->across + 1) * p->across; /* where the next square begins */
        if (*s == NO_ONE || value < *s) *s = value;
        c = row * p->n_columns + (next < p->n_columns ? next : p->n_columns);
    }
}

/* ---- paths ---- */

static int x_of(const struct picture *p, int column) { return LEFT + column * p->pw; }
static int y_of(const struct picture *p, int row) { return TOP + row * p->ph; }

/* The squares whose value, modulo `modulus`, is that. False where there are none, and nothing was written. */
static bool put_squares(struct buf *out, const struct picture *p, const int *squares, int modulus, int value, int inset,
    const char *attributes) {
    bool is_any = false;
    for (int row = 0; row < p->h; row++)
        for (int c = 0, end; c < p->w; c = end) {
            const int *s = &squares[row * p->w];
            end = c + 1;
            if (s[c] == NO_ONE || s[c] % modulus != value) continue;
            while (end < p->w && s[end] != NO_ONE && s[end] % modulus == value) end++;
            if (!is_any) buf_printf(out, "<path %s d=\"", attributes);
            is_any = true;
            buf_printf(out, "M%d %dh%dv%dh-%dz", x_of(p, c), y_of(p, row) + inset, (end - c) * p->pw, p->ph - 2 * inset,
                (end - c) * p->pw);
        }
    if (is_any) buf_puts(out, "\"/>\n");
    return is_any;
}

static int at(const struct picture *p, const int *squares, int row, int column) {
    return row < 0 || column < 0 || row >= p->h || column >= p->w ? NO_ONE : squares[row * p->w + column];
}

/* Lines between squares of different values, those around everything too. */
static void put_borders(struct buf *out, const struct picture *p, const int *squares, const char *class) {
    buf_printf(out, "<path class=\"%s\" d=\"", class);
    for (int row = 0; row <= p->h; row++)
        for (int c = 0, end; c < p->w; c = end) {
            for (end = c; end < p->w && at(p, squares, row, end) != at(p, squares, row - 1, end);) end++;
            if (end > c) buf_printf(out, "M%d %dh%d", x_of(p, c), y_of(p, row), (end - c) * p->pw);
            else end++;
        }
    for (int c = 0; c <= p->w; c++)
        for (int row = 0, end; row < p->h; row = end) {
            for (end = row; end < p->h && at(p, squares, end, c) != at(p, squares, end, c - 1);) end++;
            if (end > row) buf_printf(out, "M%d %dv%d", x_of(p, c), y_of(p, row), (end - row) * p->ph);
            else end++;
        }
    buf_puts(out, "\"/>\n");
}

/* ---- the frame ---- */

static void put_rows_label(struct buf *out, const struct trace_tensor *x) {
    for (int i = 0; i + 1 < x->rank; i++) {
        if (i) buf_puts(out, " \xc3\x97 ");
        put_escaped(out, x->axes[i]);
        buf_printf(out, " = %lld", (long long)x->shape[i]);
    }
}

/* About as long as that is. */
static int label_pixels(const struct trace_tensor *x) {
    int n = 2;
    char digits[24];
    for (int i = 0; i + 1 < x->rank; i++)
        n += 3 + (int)strlen(x->axes[i]) + snprintf(digits, sizeof digits, "%lld", (long long)x->shape[i]) +
             (i ? 3 : 0);
    return 8 * n;
}

static void open_picture(struct buf *out, const struct picture *p, const char *what) {
    const struct trace_tensor *x = p->tensor;
    int width = p->w * p->pw, height = p->h * p->ph;
    int whole = LEFT + width + 12 > 220 ? LEFT + width + 12 : 220;
    int tall = TOP + height + 8, label = x->rank > 1 ? TOP + label_pixels(x) : 0;
    if (tall < label) tall = label;
    buf_printf(out, "<figure><figcaption><b>");
    put_escaped(out, x->name);
    buf_printf(out, "</b> %s %s", x->dtype ? x->dtype : "", what);
    for (int i = 0; i < x->rank && x->steps[i]; i++) {
        buf_puts(out, i ? ", " : "; strides ");
        put_escaped(out, x->axes[i]);
        buf_puts(out, ": ");
        put_escaped(out, x->steps[i]);
    }
    buf_printf(out, "</figcaption>\n<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
        whole, tall, whole, tall);
    put_escaped(out, x->name);
    buf_printf(out, ", %s\">\n<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", what, LEFT, TOP,
        width, height);
    if (x->rank == 0) return;
    buf_printf(out, "<text x=\"%d\" y=\"13\">", LEFT);
    put_escaped(out, *x->axes[x->rank - 1] ? x->axes[x->rank - 1] : "cell");
    buf_printf(out, " = %lld \xe2\x86\x92</text>\n<text class=\"tick\" x=\"%d\" y=\"28\">0</text>\n",
        (long long)x->shape[x->rank - 1], LEFT);
    if (width > 60)
        buf_printf(out, "<text class=\"tick end\" x=\"%d\" y=\"28\">%lld</text>\n", LEFT + width,
            (long long)x->shape[x->rank - 1] - 1);
    if (x->rank == 1) return;
    buf_printf(out, "<text transform=\"translate(13 %d) rotate(90)\">", TOP);
    put_rows_label(out, x);
    buf_printf(out, " \xe2\x86\x92</text>\n<text class=\"tick end\" x=\"%d\" y=\"%d\">0</text>\n", LEFT - 4, TOP + 9);
    if (height > 30)
        buf_printf(out, "<text class=\"tick end\" x=\"%d\" y=\"%d\">%lld</text>\n", LEFT - 4, TOP + height,
            (long long)(x->n_cells / p->n_columns) - 1);
}

static void close_picture(struct buf *out, const struct picture *p) {
    if (p->pw >= 6 && p->ph >= 6) {
        buf_puts(out, "<path class=\"grid\" d=\"");
        for (int c = 1; c < p->w; c++) buf_printf(out, "M%d %dv%d", x_of(p, c), TOP, p->h * p->ph);
        for (int row = 1; row < p->h; row++) buf_printf(out, "M%d %dh%d", LEFT, y_of(p, row), p->w * p->pw);
        buf_puts(out, "\"/>\n");
    }
    buf_puts(out, "</svg>\n");
    if (p->across > 1 || p->down > 1)
        buf_printf(out, "<p class=\"note\">a square is %lld \xc3\x97 %lld cells</p>\n", (long long)p->down,
            (long long)p->across);
    buf_puts(out, "</figure>\n");
}

/* ---- which block touches what ---- */

struct box { /* of a block's squares */
    int left, top, right, bottom, n;
};

/* Numbers of blocks whose squares nearly fill a rectangle that is large enough. */
static void put_numbers(struct buf *out, const struct picture *p, const int *squares) {
    struct box boxes[LABELLED];
    for (int i = 0; i < LABELLED; i++) boxes[i] = (struct box){.left = p->w, .top = p->h};
    for (int row = 0; row < p->h; row++)
        for (int c = 0; c < p->w; c++) {
            int s = squares[row * p->w + c];
            if (s == NO_ONE || s >= LABELLED) continue;
            struct box *b = &boxes[s];
            if (c < b->left) b->left = c;
            if (row < b->top) b->top = row;
            if (c >= b->right) b->right = c + 1;
            if (row >= b->bottom) b->bottom = row + 1;
            b->n++;
        }
    for (int i = 0; i < LABELLED; i++) {
        const struct box *b = &boxes[i];
        int w = b->right - b->left, h = b->bottom - b->top;
        if (b->n * 5 < w * h * 4 || b->n == 0 || w * p->pw < 18 || h * p->ph < 14) continue;
        buf_printf(out, "<text class=\"number\" x=\"%d\" y=\"%d\">%d</text>\n", x_of(p, b->left) + w * p->pw / 2,
            y_of(p, b->top) + h * p->ph / 2 + 4, i);
    }
}

void figure_map(struct buf *out, const struct trace *t, const struct trace_launch *l, int tensor) {
    const struct trace_part *part = &l->parts[tensor];
    int side = part->total[TRACE_WRITE].n_cells ? TRACE_WRITE : TRACE_READ;
    const struct trace_runs *map = &part->map[side];
    struct picture p = lay_out(&t->tensors[tensor]);
    int *squares = new_squares(out->arena, &p);
    char attributes[32];
    unsigned most = 0;
    for (int i = 0; i < map->n; i++) {
        fill_run(&p, &map->runs[i], (int)map->runs[i].block, squares);
        if (map->runs[i].n_blocks > most) most = map->runs[i].n_blocks;
    }
    const char *done = side == TRACE_WRITE ? "written" : "read";
    open_picture(out, &p, most > 1 ? arena_printf(out->arena, "%s, a cell by up to %u blocks", done, most) : done);
    for (int c = 0; c < TRACE_COLOURS; c++) {
        snprintf(attributes, sizeof attributes, "class=\"c%d\"", c);
        put_squares(out, &p, squares, TRACE_COLOURS, c, 0, attributes);
    }
    put_borders(out, &p, squares, "border");
    for (int d = 0; d < l->n_details; d++) {
        const struct trace_runs *runs = &l->details[d].tensors[tensor][side];
        int *mine = new_squares(out->arena, &p);
        for (int i = 0; i < runs->n; i++) fill_run(&p, &runs->runs[i], 0, mine);
        if (runs->n) put_borders(out, &p, mine, d ? "outline other" : "outline");
    }
    put_numbers(out, &p, squares);
    close_picture(out, &p);
}

/* ---- what a block touches, and when ---- */

static uint64_t key_of(const struct trace_run *r) { return (uint64_t)r->phase << 32 | r->epoch; }

static int by_key(const void *x, const void *y) {
    const uint64_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

struct trace_times trace_times_of(struct arena *a, const struct trace *t, const struct trace_detail *d) {
    struct trace_times times = {0};
    int n = 0;
    for (int i = 0; i < 2 * t->n_tensors; i++) n += d->tensors[i / 2][i % 2].n;
    times.keys = NEW_ARRAY(a, uint64_t, n + 1);
    n = 0;
    for (int i = 0; i < 2 * t->n_tensors; i++)
        for (int r = 0; r < d->tensors[i / 2][i % 2].n; r++)
            times.keys[n++] = key_of(&d->tensors[i / 2][i % 2].runs[r]);
    qsort(times.keys, (size_t)n, sizeof *times.keys, by_key);
    for (int i = 0; i < n; i++)
        if (i == 0 || times.keys[i] != times.keys[i - 1]) times.keys[times.n++] = times.keys[i];
    return times;
}

int trace_n_steps(const struct trace_times *times) { return times->n < TRACE_STEPS ? times->n : TRACE_STEPS; }

static int step_of(const struct trace_times *times, const struct trace_run *r) {
    uint64_t key = key_of(r);
    const uint64_t *found = bsearch(&key, times->keys, (size_t)times->n, sizeof key, by_key);
    return found ? (int)((found - times->keys) * trace_n_steps(times) / times->n) : 0;
}

/* Whether any square is of both sides: the second is then drawn within the first. */
static bool meet(const struct picture *p, const int *a, const int *b) {
    for (int i = 0; i < p->w * p->h; i++)
        if (a[i] != NO_ONE && b[i] != NO_ONE) return true;
    return false;
}

void figure_block(
    struct buf *out, const struct trace *t, const struct trace_detail *d, const struct trace_times *times, int tensor) {
    const struct trace_runs *runs = d->tensors[tensor];
    struct picture p = lay_out(&t->tensors[tensor]);
    int n_steps = trace_n_steps(times), *squares[TRACE_SIDES];
    char attributes[80];
    for (int side = 0; side < TRACE_SIDES; side++) {
        squares[side] = new_squares(out->arena, &p);
        for (int i = 0; i < runs[side].n; i++)
            fill_run(&p, &runs[side].runs[i], step_of(times, &runs[side].runs[i]), squares[side]);
    }
    bool is_inset = meet(&p, squares[TRACE_READ], squares[TRACE_WRITE]);
    open_picture(out, &p,
        runs[TRACE_READ].n && runs[TRACE_WRITE].n ? "read and written"
        : runs[TRACE_WRITE].n                     ? "written"
                                                  : "read");
    for (int side = 0; side < TRACE_SIDES; side++)
        for (int s = 0; s < n_steps; s++) {
            int percent = n_steps > 1 ? 30 + 70 * s / (n_steps - 1) : 100;
            snprintf(attributes, sizeof attributes, "class=\"%s\" data-step=\"%d\" fill-opacity=\"%d%%\"",
                side == TRACE_WRITE ? "written" : "read", s, percent);
            put_squares(
                out, &p, squares[side], TRACE_STEPS, s, is_inset && side == TRACE_WRITE ? p.ph / 4 : 0, attributes);
        }
    close_picture(out, &p);
}
