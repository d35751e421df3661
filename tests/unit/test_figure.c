/* Pictures of a trace that is written out here: which squares have which colour, where borders and numbers are, what a
 * dataflow says; read back from the SVG and held against the runs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/tools/trace.h"
#include "suite.h"

enum { LEFT = 44, TOP = 34, ROWS = 10, COLUMNS = 20, SIDE = 18 }; /* a cell is a square of so many pixels */

static struct arena arena;
static jmp_buf oom;

static void setup(void) { arena_init(&arena, &oom); }
static void teardown(void) { arena_release(&arena); }

static struct buf open_buf(void) {
    struct buf b;
    buf_init(&b, &arena);
    buf_puts(&b, "");
    return b;
}

/* x: f32[M,N], of which blocks 0, 1, .. write what `owners` says, a digit a cell; '.': nobody. */
struct drawn {
    struct trace_tensor tensor;
    struct trace_part part;
    struct trace_run runs[ROWS * COLUMNS];
    struct trace_launch launch;
    struct trace trace;
};

static void draw_owners(struct drawn *d, const char *const owners[ROWS]) {
    *d = (struct drawn){.tensor = {.name = "x",
                            .kind = "output",
                            .dtype = "f32",
                            .cell_bytes = 4,
                            .rank = 2,
                            .shape = {ROWS, COLUMNS},
                            .strides = {COLUMNS, 1},
                            .axes = {"M", "N"},
                            .steps = {"N", "1"},
                            .n_cells = ROWS * COLUMNS}};
    struct trace_runs *map = &d->part.map[TRACE_WRITE];
    map->runs = d->runs;
    for (int c = 0; c < ROWS * COLUMNS; c++) {
        char owner = owners[c / COLUMNS][c % COLUMNS];
        if (owner == '.') continue;
        struct trace_run *last = map->n ? &map->runs[map->n - 1] : NULL;
        d->part.total[TRACE_WRITE].n_cells++;
        if (last && last->block == (unsigned)(owner - '0') && last->first + last->n == c) last->n++;
        else
            map->runs[map->n++] =
                (struct trace_run){.first = c, .n = 1, .block = (unsigned)(owner - '0'), .n_blocks = 1};
    }
    d->launch = (struct trace_launch){.parts = &d->part};
    d->trace = (struct trace){.n_tensors = 1, .n_launches = 1, .tensors = &d->tensor, .launches = &d->launch};
}

static const char *map_of(struct drawn *d) {
    struct buf b = open_buf();
    figure_map(&b, &d->trace, &d->launch, 0);
    return b.s;
}

/* What the squares of class `name` cover, a character a cell. */
static void read_squares(const char *svg, const char *name, char to[ROWS][COLUMNS], char mark) {
    char class[48];
    snprintf(class, sizeof class, "<path class=\"%s\" d=\"", name);
    const char *at = strstr(svg, class);
    if (!at) return;
    at += strlen(class);
    int x, y, w, h, back, used;
    for (; sscanf(at, "M%d %dh%dv%dh-%dz%n", &x, &y, &w, &h, &back, &used) == 5; at += used) {
        ck_assert(w == back && h == SIDE && w > 0 && w % SIDE == 0 && (x - LEFT) % SIDE == 0 && (y - TOP) % SIDE == 0);
        for (int c = (x - LEFT) / SIDE; c < (x - LEFT + w) / SIDE; c++) {
            ck_assert_int_eq(to[(y - TOP) / SIDE][c], '.');
            to[(y - TOP) / SIDE][c] = mark;
        }
    }
    ck_assert_int_eq(*at, '"');
}

static const char *const owners[ROWS] = {
    "00000000001111111111",
    "00000000001111111111",
    "00000000001111111111",
    "0000000000111111....",
    "000000000.......2222",
    "3333333333......2222",
    "3333333333..........",
    "3333................",
    "3...............4444",
    "....................",
};

/* A block's number stands in the middle of its cells where they fill four fifths of their rectangle and more, and that
 * is large enough. */
START_TEST(colours_and_numbers) {
    static const struct { int block, x, y; } numbers[] = {{0, 5 * SIDE, 5 * SIDE / 2}, {1, 15 * SIDE, 2 * SIDE},
        {2, 18 * SIDE, 5 * SIDE}, {3, -1, -1}, {4, 18 * SIDE, 17 * SIDE / 2}};
    struct drawn d;
    draw_owners(&d, owners);
    const char *svg = map_of(&d);
    char got[ROWS][COLUMNS], name[16], text[80];
    memset(got, '.', sizeof got);
    for (int i = 0; i < TRACE_COLOURS; i++) {
        snprintf(name, sizeof name, "c%d", i);
        read_squares(svg, name, got, (char)('0' + i));
    }
    for (int row = 0; row < ROWS; row++)
        ck_assert_msg(memcmp(got[row], owners[row], COLUMNS) == 0, "row %d: %.*s", row, COLUMNS, got[row]);
    int n = 0;
    for (const char *at = svg; (at = strstr(at, "<text class=\"number\"")); at++) n++;
    ck_assert_int_eq(n, 4);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "<text class=\"number\" x=\"%d\" y=\"%d\">%d</text>\n", LEFT + numbers[i].x,
            TOP + numbers[i].y + 4, numbers[i].block);
        ck_assert_msg((strstr(svg, text) == NULL) == (numbers[i].x < 0), "%s\n%s", text, svg);
    }
    ck_assert_ptr_nonnull(strstr(svg, "<figure><figcaption><b>x</b> f32 written; strides M: N, N: 1</figcaption>\n"));
    ck_assert_ptr_nonnull(strstr(svg, "<rect class=\"ground\" x=\"44\" y=\"34\" width=\"360\" height=\"180\"/>\n"));
    ck_assert_ptr_nonnull(strstr(svg, "N = 20 \xe2\x86\x92</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "M = 10 \xe2\x86\x92</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "<text class=\"tick end\" x=\"404\" y=\"28\">19</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "<text class=\"tick end\" x=\"40\" y=\"214\">9</text>"));
}
END_TEST

/* 40 cells of 5 x 10 have a number, 39 have none. */
START_TEST(numbers_where_most_is_filled) {
#define NONE "...................."
    static const char *const rows[2][ROWS] = {
        {"0000000000..........", "0000000000..........", "0000000000..........", "00000...............",
            ".....00000..........", NONE, NONE, NONE, NONE, NONE},
        {"0000000000..........", "0000000000..........", "0000000000..........", "0000................",
            ".....00000..........", NONE, NONE, NONE, NONE, NONE}};
    for (int less = 0; less < 2; less++) {
        struct drawn d;
        draw_owners(&d, rows[less]);
        ck_assert((strstr(map_of(&d), "class=\"number\"") == NULL) == less);
    }
}
END_TEST

/* Lines lie between squares of different blocks, and around everything: as long together as the edges are many. */
START_TEST(borders) {
    struct drawn d;
    int x, y, length, used, got[2] = {0}, want[2] = {0};
    draw_owners(&d, owners);
    const char *at = strstr(map_of(&d), "<path class=\"border\" d=\"");
    ck_assert_ptr_nonnull(at);
    for (at += strlen("<path class=\"border\" d=\""); *at == 'M'; at += used) {
        char way;
        ck_assert_int_eq(sscanf(at, "M%d %d%c%d%n", &x, &y, &way, &length, &used), 4);
        got[way == 'v'] += length / SIDE;
    }
    for (int row = 0; row <= ROWS; row++)
        for (int c = 0; c < COLUMNS; c++)
            want[0] += (row < ROWS ? owners[row][c] : '.') != (row > 0 ? owners[row - 1][c] : '.');
    for (int row = 0; row < ROWS; row++)
        for (int c = 0; c <= COLUMNS; c++)
            want[1] += (c < COLUMNS ? owners[row][c] : '.') != (c > 0 ? owners[row][c - 1] : '.');
    ck_assert_int_eq(got[0], want[0]);
    ck_assert_int_eq(got[1], want[1]);
}
END_TEST

/* The times of a block: each once, in order, whatever tensor and side it was of. */
START_TEST(times) {
    struct trace_run read[] = {{.first = 0, .n = 4, .epoch = 3}, {.first = 8, .n = 1, .epoch = 0}};
    struct trace_run written[] = {{.first = 1, .n = 2, .phase = 1, .epoch = 0}, {.first = 9, .n = 2, .epoch = 3},
        {.first = 12, .n = 1, .phase = 1, .epoch = 7}};
    struct trace_runs tensors[2][TRACE_SIDES] = {{{read, 2, 2, false}, {NULL, 0, 0, false}},
        {{NULL, 0, 0, false}, {written, 3, 3, false}}};
    const struct trace t = {.n_tensors = 2};
    const struct trace_detail d = {.tensors = tensors};
    const struct trace_times got = trace_times_of(&arena, &t, &d);
    static const uint64_t want[] = {0, 3, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 7};
    ck_assert_int_eq(got.n, 4);
    ck_assert_mem_eq(got.keys, want, sizeof want);
    ck_assert_int_eq(trace_n_steps(&got), 4);
    ck_assert_int_eq(trace_n_steps(&(struct trace_times){.n = 100}), TRACE_STEPS);
}
END_TEST

/* Numbers have a thin space between thousands; a launch says what it reads, writes and leaves in memory. */
START_TEST(flow) {
    struct trace_line one[] = {{2, "mainloop", NULL, "x @ w"}}, two[] = {{3, "epilogue", NULL, "relu(x @ w)"}},
                      both[] = {{2, "mainloop", NULL, "x @ w"}, {3, "epilogue", NULL, "relu(x @ w)"}};
    struct trace_step before[] = {{"f_0", 1234567, 1000, 1, one}, {"f_1", 999, 99, 1, two}},
                      after[] = {{"f", 22000, 1000, 2, both}};
    const struct trace t = {.before = {2, before, 1235566}, .after = {1, after, 22000}};
    struct buf b = open_buf();
    figure_flow(&b, &t);
#define S "\xe2\x80\x89"
    ck_assert_ptr_nonnull(strstr(b.s, ">2 launches, 1" S "235" S "566 bytes</text>"));
    ck_assert_ptr_nonnull(strstr(b.s, ">1 launch, 22" S "000 bytes</text>"));
    ck_assert_ptr_nonnull(strstr(b.s, ">reads 1" S "233" S "567 bytes, writes 1" S "000</text>"));
    ck_assert_ptr_nonnull(strstr(b.s, ">reads 900 bytes, writes 99</text>"));
    ck_assert_ptr_nonnull(strstr(b.s, ">1" S "000 bytes through memory</text>"));
    ck_assert_ptr_nonnull(strstr(b.s, ">reads 21" S "000 bytes, writes 1" S "000</text>"));
    int n_moves = 0;
    for (const char *at = b.s; (at = strstr(at, "class=\"move\"")); at++) n_moves++;
    ck_assert_int_eq(n_moves, 2);
}
END_TEST

int main(void) {
    Suite *s = suite_create("figure");
    TCase *t = tcase_create("figure");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, colours_and_numbers);
    tcase_add_test(t, numbers_where_most_is_filled);
    tcase_add_test(t, borders);
    tcase_add_test(t, times);
    tcase_add_test(t, flow);
    suite_add_tcase(s, t);
    return run_suite(s);
}
