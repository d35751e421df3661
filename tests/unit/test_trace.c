/* Traces: the cells that each block reads and writes, held against plain loops over what the entry's configuration says
 * a block does; documents as JSON, read by a strict reader, and as pages, whose every tag is closed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "json_tree.h"
#include "suite.h"
#include "command/tools/trace.h"

static struct arena arena;
static jmp_buf oom;
static char folder[] = "/tmp/fx_trace_XXXXXX";

static void setup(void) {
    arena_init(&arena, &oom);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void teardown(void) {
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(arena_printf(&arena, "rm -rf %s", folder)), 0);
    arena_release(&arena);
}

/* `fxc trace WORDS.. spec.fx`, of which the status comes back. */
static fx_status trace(const char *spec, const char *words) {
    char *argv[32] = {"fxc", "trace"}, *copy = arena_printf(&arena, "%s", words);
    struct command cmd;
    int argc = 2;
    FILE *f = fopen("spec.fx", "w");
    ck_assert_ptr_nonnull(f);
    fputs(spec, f);
    fclose(f);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc++] = "spec.fx";
    fx_status status = command_parse(argc, argv, &cmd);
    if (status == FX_OK) status = command_trace(&cmd);
    command_release(&cmd);
    return status;
}

static const char *read_text(const char *path) {
    char *text;
    size_t n;
    ck_assert_int_eq(read_whole(path, 1 << 28, NULL, &text, &n), FX_OK);
    const char *kept = arena_strndup(&arena, text, n);
    free(text);
    return kept;
}

static const struct json_value *get(const struct json_value *v, const char *key) {
    const struct json_value *m = v ? json_member(v, key) : NULL;
    ck_assert_msg(m != NULL, "no %s", key);
    return m;
}
static long long number(const struct json_value *v) { return v->kind == JSON_NUMBER ? atoll(v->text) : -1; }
static const struct json_value *find(const struct json_value *list, const char *key, const char *value) {
    for (int i = 0; i < list->n; i++) {
        const struct json_value *m = get(list->items[i], key);
        if (m->text && !strcmp(m->text, value)) return list->items[i];
    }
    return NULL;
}

/* The only launch of the only kernel of trace.json. */
static const struct json_value *read_launch(void) {
    size_t wrong = 0;
    const struct json_value *v = json_read(&arena, read_text("trace.json"), &wrong);
    ck_assert_msg(v != NULL, "no JSON at byte %zu", wrong);
    ck_assert_int_eq(number(get(v, "version")), 1);
    const struct json_value *launches = get(get(v, "kernels")->items[0], "launches");
    ck_assert_int_eq(launches->n, 1);
    return launches->items[0];
}

enum { MOST = 1 << 14 };

/* Marks the cells of a list of runs; each run behind the one before it. */
static int mark(const struct json_value *runs, bool *cells) {
    long long end = 0;
    int n_cells = 0;
    memset(cells, 0, MOST);
    for (int i = 0; i < runs->n; i++) {
        long long first = number(runs->items[i]->items[0]), n = number(runs->items[i]->items[1]);
        ck_assert(first >= end && n > 0 && first + n <= MOST);
        end = first + n;
        for (long long c = first; c < end; c++) cells[c] = true, n_cells++;
    }
    return n_cells;
}

/* A block's cells of a tensor, by "read" or "written". */
static int touched(const struct json_value *launch, int block, const char *tensor, const char *side, bool *cells) {
    const struct json_value *b = find(get(launch, "blocks"), "block", arena_printf(&arena, "%d", block));
    ck_assert_msg(b != NULL, "no block %d", block);
    const struct json_value *t = find(get(b, "tensors"), "tensor", tensor);
    if (!t) return memset(cells, 0, MOST), 0;
    return mark(get(get(t, side), "runs"), cells);
}

/* The order of the first touch of a block's only run. */
static long long order_of(const struct json_value *launch, int block, const char *tensor, const char *side) {
    const struct json_value *b = find(get(launch, "blocks"), "block", arena_printf(&arena, "%d", block));
    const struct json_value *runs = get(get(find(get(b, "tensors"), "tensor", tensor), side), "runs");
    ck_assert_int_eq(runs->n, 1);
    return number(runs->items[0]->items[4]);
}

static long long total(const struct json_value *launch, int block, int tensor, int which) {
    const struct json_value *b = get(get(launch, "totals")->items[block], "tensors");
    for (int i = 0; i < b->n; i++)
        if (number(b->items[i]->items[0]) == tensor) return number(b->items[i]->items[which]);
    return 0;
}

#define POINTWISE "kernel twice(x: f32[M,N]) -> y: f32[M,N] { y = x + x }\n"
#define TURN "kernel turn(x: f32[M,N]) -> y: f32[N,M] { y = x }\n"
#define MATMUL "kernel mm(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }\n"
#define TENSOR_CORES \
    "kernel mm(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] {\n  y = gelu(x @ w + b)  # <&>\n}\n"

static bool got[MOST], want[MOST];

/* Block b of 256 threads, 4 elements each, has elements 1024 b and on. */
START_TEST(test_pointwise) {
    enum { M = 40, N = 100 };
    ck_assert_int_eq(trace(POINTWISE, "-D M=40 -D N=100 --block 0,1,2,3 -o trace.json"), FX_OK);
    const struct json_value *l = read_launch();
    ck_assert_int_eq(number(get(l, "grid")), 4);
    for (int b = 0; b < 4; b++) {
        int n = 0;
        for (int i = 0; i < MOST; i++) n += want[i] = i / 1024 == b && i < M * N;
        ck_assert_int_eq(touched(l, b, "x", "read", got), n);
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
        ck_assert_int_eq(touched(l, b, "y", "written", got), n);
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
        /* Each of 256 threads reads, then writes; the last block's are fewer, and behind all those before. */
        ck_assert_int_eq(order_of(l, b, "x", "read"), b * 512);
        ck_assert_int_eq(order_of(l, b, "y", "written"), b * 512 + 1);
        ck_assert_int_eq(touched(l, b, "x", "written", got) + touched(l, b, "y", "read", got), 0);
        ck_assert_int_eq(total(l, b, 0, 1), n);
        ck_assert_int_eq(total(l, b, 0, 2), n);
        ck_assert_int_eq(total(l, b, 1, 3), n);
        ck_assert_int_eq(total(l, b, 1, 4), n);
    }
    const struct json_value *y = get(find(get(l, "tensors"), "tensor", "y"), "written");
    ck_assert_int_eq(number(get(y, "cells")), M * N);
    ck_assert_int_eq(get(y, "runs")->n, 4);
    for (int b = 0; b < 4; b++) ck_assert_int_eq(number(get(y, "runs")->items[b]->items[2]), b);
}
END_TEST

/* What is stored at (n, m) is read at (m, n): tiles of 32 rows and 32 columns, those of rows one after another. */
START_TEST(test_turn) {
    enum { M = 40, N = 100 };
    ck_assert_int_eq(trace(TURN, "-D M=40 -D N=100 --block 3,0 -o trace.json"), FX_OK);
    const struct json_value *l = read_launch();
    ck_assert_int_eq(get(l, "blocks")->n, 2);
    for (int b = 0; b < 4; b += 3) {
        int n = touched(l, b, "y", "written", got);
        ck_assert_int_eq(n, b ? 32 * (M - 32) : 32 * 32);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++) ck_assert_int_eq(got[i * M + j], i / 32 * 2 + j / 32 == b);
        memset(want, 0, sizeof want);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++) want[j * N + i] = got[i * M + j];
        ck_assert_int_eq(touched(l, b, "x", "read", got), n);
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
    }
}
END_TEST

static int mark_rectangle(int row, int n_rows, int most_rows, int column, int n_columns, int most_columns) {
    int n = 0;
    memset(want, 0, sizeof want);
    for (int i = row; i < row + n_rows && i < most_rows; i++)
        for (int j = column; j < column + n_columns && j < most_columns; j++) want[i * most_columns + j] = true, n++;
    return n;
}

/* Tiles of 64 x 64, those of a column one after another; each takes its rows and its columns over all k. */
static void check_tiles(const struct json_value *l, int m, int n, int k) {
    int rows = (m + 63) / 64;
    for (int b = 0; b < rows * ((n + 63) / 64); b++) {
        int m0 = b % rows * 64, n0 = b / rows * 64;
        ck_assert_int_eq(touched(l, b, "x", "read", got), mark_rectangle(m0, 64, m, 0, k, k));
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
        ck_assert_int_eq(touched(l, b, "w", "read", got), mark_rectangle(0, k, k, n0, 64, n));
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
        ck_assert_int_eq(touched(l, b, "y", "written", got), mark_rectangle(m0, 64, m, n0, 64, n));
        ck_assert_int_eq(memcmp(got, want, MOST), 0);
        ck_assert_int_eq(touched(l, b, "y", "read", got), 0);
    }
}

START_TEST(test_matmul) {
    ck_assert_int_eq(trace(MATMUL, "-D M=100 -D N=72 -D K=40 --block 0,1,2,3 -o trace.json"), FX_OK);
    const struct json_value *l = read_launch();
    ck_assert_str_eq(get(l, "driver")->text, "gemm");
    ck_assert_int_eq(number(get(l, "grid")), 4);
    check_tiles(l, 100, 72, 40);
    /* Each row of x is read by both columns of tiles, the left one first. */
    const struct json_value *x = get(find(get(l, "tensors"), "tensor", "x"), "read");
    ck_assert_int_eq(number(get(x, "cells")), 100 * 40);
    ck_assert_int_eq(get(x, "runs")->n, 2);
    for (int i = 0; i < 2; i++) { /* 64 rows and 36, by blocks 0 and 2, 1 and 3 */
        const struct json_value *run = get(x, "runs")->items[i];
        ck_assert_int_eq(number(run->items[0]), i * 64 * 40);
        ck_assert_int_eq(number(run->items[2]), i);
        ck_assert_int_eq(number(run->items[3]), 2);
    }
}
END_TEST

/* The smallest, a part of a tile, more rows and columns than the skinny driver takes, and one that walks along k through a ring of stages: what is read later belongs to a
 * later epoch. */
START_TEST(test_tensor_cores) {
    ck_assert_int_eq(trace(TENSOR_CORES, "--arch=sm_90 -D M=24 -D N=24 -D K=16 -o trace.json"), FX_OK);
    check_tiles(read_launch(), 24, 24, 16);
    ck_assert_int_eq(trace(TENSOR_CORES, "--arch=sm_90 -D M=24 -D N=24 -D K=512 -o trace.json"), FX_OK);
    const struct json_value *l = read_launch();
    check_tiles(l, 24, 24, 512);
    ck_assert_str_eq(get(l, "mma")->text, "m16n8k16");
    /* b is read again for each row, first before anything is written. */
    const struct json_value *of_y = get(
        get(find(get(get(l, "blocks")->items[0], "tensors"), "tensor", "y"), "written"), "runs");
    ck_assert_int_eq(of_y->n, 1);
    ck_assert_int_lt(order_of(l, 0, "b", "read"), number(of_y->items[0]->items[4]));
    const struct json_value *runs = get(
        get(find(get(get(l, "blocks")->items[0], "tensors"), "tensor", "x"), "read"), "runs");
    long long epoch = 0, order = -1;
    int n_later = 0;
    for (int i = 0; i < runs->n && number(runs->items[i]->items[0]) < 512; i++) {
        ck_assert(number(runs->items[i]->items[3]) >= epoch && number(runs->items[i]->items[4]) > order);
        n_later += number(runs->items[i]->items[3]) > epoch;
        epoch = number(runs->items[i]->items[3]), order = number(runs->items[i]->items[4]);
    }
    ck_assert_int_ge(n_later, 3);
}
END_TEST

/* In place: what a block reads it writes. */
START_TEST(test_in_place) {
    static bool read[MOST];
    ck_assert_int_eq(trace("kernel k(h: inout f32[M,N], x: f32[M,N]) { h = h * 0.5 + x }",
                         "-D M=60 -D N=70 --block 0,2 -o trace.json"),
        FX_OK);
    const struct json_value *l = read_launch();
    for (int b = 0; b < 4; b += 2) {
        ck_assert_int_eq(touched(l, b, "h", "read", read), 1024);
        ck_assert_int_eq(touched(l, b, "h", "written", got), 1024);
        ck_assert_int_eq(memcmp(got, read, MOST), 0);
    }
}
END_TEST

/* Over several launches and workspace: totals of blocks add up to those of the launch, and every element of an output
 * is written once. */
START_TEST(test_totals) {
    size_t wrong;
    const char *spec =
        "kernel k(x: f16[M,K], w: f16[K,N]) -> (y: f32[M,N], c: f32[N]) {\n  y = x @ w\n  c = sum[M](y)\n}";
    ck_assert_int_eq(trace(spec, "-D M=130 -D K=24 -D N=80 -o trace.json"), FX_OK);
    const struct json_value *k = get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0],
                            *tensors = get(k, "tensors");
    long long written = 0;
    for (int i = 0; i < get(k, "launches")->n; i++) {
        const struct json_value *l = get(k, "launches")->items[i], *touched_here = get(l, "tensors");
        ck_assert_int_eq(get(l, "totals")->n, number(get(l, "grid")));
        for (int t = 0; t < tensors->n; t++) {
            const struct json_value *here = find(touched_here, "tensor", get(tensors->items[t], "name")->text);
            long long reads = 0, writes = 0;
            for (int b = 0; b < get(l, "totals")->n; b++) reads += total(l, b, t, 1), writes += total(l, b, t, 3);
            ck_assert_int_eq(reads, here ? number(get(get(here, "read"), "accesses")) : 0);
            ck_assert_int_eq(writes, here ? number(get(get(here, "written"), "accesses")) : 0);
            if (here && !strcmp(get(tensors->items[t], "kind")->text, "output"))
                written += number(get(get(here, "written"), "cells"));
        }
    }
    ck_assert_int_eq(written, 130 * 80 + 80);
}
END_TEST

/* Of shared memory a lane takes 16 bytes where it copies, reads a row of ldmatrix or reads back sums, and stores sums
 * by two. */
START_TEST(test_shared) {
    ck_assert_int_eq(trace(TENSOR_CORES, "--arch=sm_90 -D M=128 -D N=64 -D K=128 -o trace.json"), FX_OK);
    const struct json_value *l = read_launch();
    long long written = 0, read = 0;
    for (int i = 0; i < get(l, "lines")->n; i++) {
        const struct json_value *line = get(l, "lines")->items[i];
        const char *access = get(line, "access")->text;
        if (strcmp(get(line, "memory")->text, "shared") != 0) continue;
        if (!strcmp(access, "read")) read += number(get(line, "requests")) * 32 * 16;
        else written += number(get(line, "requests")) * 32 * (!strcmp(access, "copy") ? 16 : 8);
    }
    ck_assert_int_ge(written, 2 * (128 * 128 + 2 * 64 * 128)); /* what is copied, at least */
    for (int b = 0; b < 2; b++) {
        read -= number(get(get(l, "totals")->items[b], "shared_bytes_read"));
        written -= number(get(get(l, "totals")->items[b], "shared_bytes_written"));
    }
    ck_assert_int_eq(read, 0);
    ck_assert_int_eq(written, 0);
}
END_TEST

/* What lines ask of memory: places of the emitted text, named as they stand there. */
START_TEST(test_lines) {
    ck_assert_int_eq(trace(POINTWISE, "-D M=40 -D N=100 -o trace.json"), FX_OK);
    const struct json_value *lines = get(read_launch(), "lines");
    long long requests[2] = {0}, taken[2] = {0};
    ck_assert_int_gt(lines->n, 0);
    for (int i = 0; i < lines->n; i++) {
        bool is_write = !strcmp(get(lines->items[i], "access")->text, "write");
        ck_assert_str_eq(get(lines->items[i], "memory")->text, "global");
        ck_assert(number(get(lines->items[i], "line")) > 0 && *get(lines->items[i], "code")->text);
        ck_assert_int_ge(number(get(lines->items[i], "taken")), number(get(lines->items[i], "least")));
        requests[is_write] += number(get(lines->items[i], "requests")),
            taken[is_write] += number(get(lines->items[i], "taken"));
    }
    for (int side = 0; side < 2; side++) { /* 16 bytes a lane; 32 bytes a sector */
        ck_assert_int_eq(requests[side], (4000 / 4 + 31) / 32);
        ck_assert_int_eq(taken[side], 4000 * 4 / 32);
    }
}
END_TEST

/* Unfused, the sum and the activation are a launch of their own; fused they are in the product's. */
START_TEST(test_flow) {
    size_t wrong;
    ck_assert_int_eq(trace(TENSOR_CORES, "-D M=64 -D N=64 -D K=64 -o trace.json"), FX_OK);
    const struct json_value *k = get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0];
    const struct json_value *fused = get(k, "fused"), *unfused = get(k, "unfused");
    ck_assert_int_eq(get(fused, "launches")->n, 1);
    ck_assert_int_eq(get(unfused, "launches")->n, 2);
    ck_assert_int_eq(number(get(fused, "bytes")), 2 * (3 * 64 * 64 + 64));
    ck_assert_int_gt(number(get(unfused, "bytes")), number(get(fused, "bytes")));
    const struct json_value *lines = get(get(fused, "launches")->items[0], "lines");
    ck_assert_int_eq(lines->n, 3);
    ck_assert_str_eq(get(lines->items[2], "expression")->text, "gelu(x @ w + b)");
    ck_assert_str_eq(get(lines->items[2], "place")->text, "epilogue");
    ck_assert_int_eq(number(get(lines->items[2], "line")), 2);
}
END_TEST

/* ---- pages ---- */

enum { DEEP = 64, LONG = 32 };

/* Every tag closed by its own, every attribute quoted, every `&` the beginning of an entity. */
static void check_tags(const char *text) {
    char open[DEEP][LONG];
    int depth = 0;
    for (const char *s = text + strlen("<!DOCTYPE html>"); *s; s++) {
        if (*s == '&')
            ck_assert_msg(
                !strncmp(s, "&lt;", 4) || !strncmp(s, "&gt;", 4) || !strncmp(s, "&amp;", 5) || !strncmp(s, "&quot;", 6),
                "a bare & at: %.40s", s);
        if (*s != '<') continue;
        const char *name = s + 1 + (s[1] == '/'), *end = name + strcspn(name, " \n/>");
        size_t n = (size_t)(end - name);
        ck_assert_msg(n > 0 && n < LONG, "no tag: %.40s", s);
        for (; *end && *end != '>'; end++) {
            if (*end == '"') end = strchr(end + 1, '"');
            ck_assert_msg(end && *end != '<', "a tag within a tag: %.40s", s);
        }
        ck_assert_msg(*end == '>', "a tag without end: %.40s", s);
        if (s[1] == '/') {
            ck_assert_msg(depth > 0 && strlen(open[depth - 1]) == n && !memcmp(open[depth - 1], name, n),
                "closed, not open: %.40s", s);
            depth--;
        } else if (end[-1] != '/') {
            ck_assert_int_lt(depth, DEEP);
            snprintf(open[depth++], LONG, "%.*s", (int)n, name);
        }
        s = end;
    }
    ck_assert_msg(depth == 0, "%s is open at the end", open[depth - 1]);
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

static const char *read_page(const char *path) {
    const char *page = read_text(path);
    check_tags(page);
    static const char *const outside[] = {"://", "src=", "href=", "url(", "@import"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert_msg(!strstr(page, outside[i]), "the page has %s", outside[i]);
    return page;
}

START_TEST(test_page) {
    ck_assert_int_eq(trace(POINTWISE, "-D M=40 -D N=100"), FX_OK);
    const char *page = read_page("twice.html");
    /* A map of x and one of y, each with the colours of four blocks, and three blocks outlined. */
    for (int c = 0; c < 12; c++)
        ck_assert_int_eq(count(page, arena_printf(&arena, "<path class=\"c%d\"", c)), c < 4 ? 2 : 0);
    ck_assert_int_eq(count(page, "<path class=\"outline"), 2 * 3);
    ck_assert_int_eq(count(page, "<path class=\"read\""), 3);
    ck_assert_int_eq(count(page, "<path class=\"written\""), 3);
    ck_assert_int_eq(count(page, "type=\"range\""), 0); /* no barrier: one time */
    ck_assert_int_eq(count(page, "svg class=\"wide fragments\""), 0);
    ck_assert_ptr_nonnull(strstr(page, "<b>N = 100</b>"));
    ck_assert_ptr_nonnull(strstr(page, "<b>M = 40</b>"));
    for (const char *name = "xy"; *name; name++)
        ck_assert_int_eq(count(page, arena_printf(&arena, "<tr><td>%c</td><td class=\"n\">4000</td>", *name)), 1);
    ck_assert_int_eq(count(page, "<h2>"), 2);
}
END_TEST

/* The squares of block 0's row of a 2 x 8 tensor, and what is around them, to the pixel: an element is 18 of them.
 * Lines between elements are drawn where both sides have room for them: 200 x 4 are squares of 9 x 3. */
START_TEST(test_picture) {
    ck_assert_int_eq(trace("kernel k(x: f32[M,N]) -> y: f32[M,N] { y = -x }", "-D M=2 -D N=8"), FX_OK);
    const char *page = read_page("k.html"), *at = strstr(page, "class=\"written\"");
    ck_assert_ptr_nonnull(at);
    ck_assert_msg(!strncmp(strstr(at, " d=") + 4, "M44 34h144v18h-144zM44 52h144v18h-144z\"", 39), "%.120s", at);
    ck_assert_ptr_nonnull(strstr(page, "<path class=\"border\" d=\"M44 34h144M44 70h144M44 34v36M188 34v36\"/>"));
    ck_assert_int_eq(count(page, "<path class=\"grid\""), count(page, "<rect class=\"ground\""));
    ck_assert_int_eq(trace("kernel k(x: f32[M,N]) -> y: f32[M,N] { y = -x }", "-D M=200 -D N=4"), FX_OK);
    ck_assert_int_eq(count(read_page("k.html"), "<path class=\"grid\""), 0);
}
END_TEST

/* Of the spec the page has what the kernel is made of, with numbers of lines, and nothing else. */
START_TEST(test_definition) {
    ck_assert_int_eq(trace("const half = 0.5   # too\n"
                           "fn other(v) = v + 1\n"
                           "# about act\n"
                           "fn act(v) = max(v, floor_of(v))\n"
                           "\n"
                           "fn floor_of(v) = half * v\n"
                           "# not of this one\n"
                           "kernel b(x: f32[M]) -> y: f32[M] { y = other(x) }\n"
                           "# about k\n"
                           "  # and more\n"
                           "kernel k(x: f32[M]) -> y: f32[M] {\n"
                           "  y = act(x)\n"
                           "}\n"
                           "test k { M=4 }\n"
                           "kernel k_bwd = grad(k, wrt: x)\n",
                           "-k k_bwd -D M=4"),
                     FX_OK);
    const char *page = read_page("k_bwd.html"), *at = strstr(page, "<pre>"), *end = strstr(page, "</pre>");
    ck_assert(at != NULL && end != NULL);
    char *part = arena_strndup(&arena, at, (size_t)(end - at)), *to = part;
    for (const char *from = part; *from; from++) { /* without tags */
        if (*from == '<') from = strchr(from, '>');
        else *to++ = *from;
    }
    *to = '\0';
    ck_assert_str_eq(part, "   1  const half = 0.5   # too\n"
                           "   \xe2\x8b\xae\n"
                           "   3  # about act\n"
                           "   4  fn act(v) = max(v, floor_of(v))\n"
                           "   \xe2\x8b\xae\n"
                           "   6  fn floor_of(v) = half * v\n"
                           "   \xe2\x8b\xae\n"
                           "   9  # about k\n"
                           "  10    # and more\n"
                           "  11  kernel k(x: f32[M]) -&gt; y: f32[M] {\n"
                           "  12    y = act(x)\n"
                           "  13  }\n"
                           "   \xe2\x8b\xae\n"
                           "  15  kernel k_bwd = grad(k, wrt: x)\n");
}
END_TEST

/* Blocks of a launch that waits for itself are as many as the emulator has room for. */
START_TEST(test_multiprocessors) {
    ck_assert_int_eq(
        trace(
            "kernel k(x: f32[M,K]) -> (y: f32[M,K], s: f32[M]) with { fuse: require } { y = x * sum[M](x); s = sum[K](y) }",
            "--device=emu:3 -D M=512 -D K=64 -o trace.json"),
        FX_OK);
    size_t wrong;
    const struct json_value *launches = get(
        get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0], "launches");
    ck_assert_int_eq(number(get(launches->items[0], "grid")), 3);
}
END_TEST

START_TEST(test_page_of_tensor_cores) {
    ck_assert_int_eq(trace(TENSOR_CORES, "--arch=sm_90 -D M=64 -D N=64 -D K=512 -o page.html"), FX_OK);
    const char *page = read_page("page.html");
    ck_assert_int_eq(count(page, "type=\"range\""), 1);
    ck_assert_int_eq(count(page, "svg class=\"wide fragments\""), 1);
    ck_assert_ptr_nonnull(strstr(page, "# &lt;&amp;&gt;"));
    ck_assert_ptr_nonnull(strstr(page, "fx_cp_async16(stage"));
    ck_assert_ptr_nonnull(strstr(page, "bytes through memory"));
    ck_assert_int_eq(count(page, "class=\"move\""), 3);
}
END_TEST

/* Operands of a warpgroup's product have no lanes: the sums alone are drawn. */
START_TEST(test_page_of_warpgroups) {
    ck_assert_int_eq(trace(TENSOR_CORES, "-D M=64 -D N=64 -D K=256 -o page.html"), FX_OK);
    const char *page = read_page("page.html");
    ck_assert_int_eq(count(page, "svg class=\"wide fragments\""), 1);
    ck_assert_int_eq(count(page, "<title>C["), 128);
    ck_assert_int_eq(count(page, "<title>A["), 0);
    ck_assert_ptr_nonnull(strstr(page, "wgmma.mma_async.m64n64k16"));
}
END_TEST

/* Which instruction an entry multiplies by. */
START_TEST(test_mma) {
    static const struct {
        const char *arch, *spec, *mma;
    } cases[] = {
        {"sm_90", "kernel mm(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = x @ w }", "m16n8k16"},
        {"sm_90a", "kernel mm(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = x @ w }", "m64n64k16"},
        {"sm_90a", "kernel mm(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }", "m16n8k8"},
        {"sm_90a", "kernel mm(x: i8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }", "m16n8k32"},
        {"sm_90a", "kernel mm(x: bf16[M,K], w: bf16[N,K], v: bf16[N,L=16]) -> y: f32[M,L] with { fuse: require } { y = softmax[N](x @ w) @ v }",
            "m64n64k16"},
        {"sm_90a", "kernel mm(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }", NULL},
    };
    char options[96];
    snprintf(options, sizeof options, "--arch=%s -D M=24 -D N=24 -D K=256 -o trace.json", cases[_i].arch);
    ck_assert_int_eq(trace(cases[_i].spec, options), FX_OK);
    const char *mma = get(read_launch(), "mma")->text;
    ck_assert_msg(cases[_i].mma ? mma && !strcmp(mma, cases[_i].mma) : !mma, "%s: %s", cases[_i].spec, mma);
}
END_TEST

/* Extents that passes made are none of the spec's: the unfused one is compiled without them. */
START_TEST(test_made_extents) {
    size_t wrong;
    ck_assert_int_eq(
        trace("kernel k(x: f16[M,K], w: f16[K,N]) -> (y: f32[M,N], r: f32[M]) {\n  y = x @ w\n  r = sum[N](y)\n}",
            "-D M=17 -D K=24 -D N=136 -o trace.json"),
        FX_OK);
    const struct json_value *k = get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0];
    ck_assert_int_gt(get(k, "extents")->n, 3);
    ck_assert_int_ge(get(get(k, "unfused"), "launches")->n, 2);
}
END_TEST

/* The element of A, B or the sums that `lane` holds as number i, as the PTX ISA has it for 16-bit floats, tf32 and
 * bytes. */
static void place_of(char matrix, int k, int lane, int i, int *row, int *column) {
    int group = lane >> 2, thread = lane & 3;
    if (matrix == 'C') *row = i < 2 ? group : group + 8, *column = thread * 2 + (i & 1);
    else if (matrix == 'A' && k == 8)
        *row = i == 0 || i == 2 ? group : group + 8, *column = i < 2 ? thread : thread + 4;
    else if (matrix == 'A' && k == 16)
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8, *column = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    else if (matrix == 'A')
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8, *column = thread * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    else if (k == 8) *row = i == 0 ? thread : thread + 4, *column = group;
    else if (k == 16) *row = thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), *column = group;
    else *row = thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), *column = group;
}

START_TEST(test_fragments) {
    static const struct { const char *shape; int k; } shapes[] = {{"m16n8k8", 8}, {"m16n8k16", 16}, {"m16n8k32", 32}};
    struct buf out;
    int k = shapes[_i].k, each = k / 8;
    buf_init(&out, &arena);
    figure_fragments(&out, shapes[_i].shape);
    ck_assert_int_eq(count(out.s, "<title>"), 16 * k + k * 8 + 16 * 8);
    for (const char *m = "ABC"; *m; m++)
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < (*m == 'A' ? 4 * each : *m == 'B' ? 2 * each : 4); i++) {
                int row, column, parts = *m == 'C' ? 1 : each;
                place_of(*m, k, lane, i, &row, &column);
                char *title = arena_printf(
                    &arena, "<title>%c[%d][%d]: lane %d, register %d", *m, row, column, lane, i / parts);
                title = parts > 1 ? arena_printf(&arena, "%s, element %d of it</title>", title, i % parts)
                                  : arena_printf(&arena, "%s</title>", title);
                ck_assert_msg(count(out.s, title) == 1, "%s", title);
            }
}
END_TEST

START_TEST(test_refused) {
    static const struct { const char *spec, *words; fx_status status; } cases[] = {
        {POINTWISE, "-D M=4", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 -o trace.txt", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 --block x -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 --block 1 -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 --block 0, -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 --block 0,1,2,3,4,5,6,7,8 -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "-D M=1024 -D N=1024 -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "--device=emu,plain -D M=4 -D N=4 -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "--device=gpu -D M=4 -D N=4 -o trace.json", FX_ERR_USAGE},
        {MATMUL, "-D M=64 -D N=64 -D K=1000000 -o trace.json", FX_ERR_USAGE},
        {POINTWISE, "-D M=4 -D N=4 -o nowhere/trace.json", FX_ERR_IO},
        {"kernel k(x: f32[M]) -> y: f32[M] { y = z }", "-D M=4 -o trace.json", FX_ERR_COMPILE},
    };
    ck_assert_int_eq(trace(cases[_i].spec, cases[_i].words), cases[_i].status);
    ck_assert_int_ne(access("trace.json", F_OK), 0);
    ck_assert_int_ne(access("twice.html", F_OK), 0);
}
END_TEST

/* Strides stand beside the names of axes: over extents where those are free, as numbers where they are not. */
START_TEST(strides_over_extents) {
    size_t wrong = 0;
    ck_assert_int_eq(trace("kernel f(x: f32[A,B,C], w: f32[B=3,D=5]) -> y: f32[C,A,D] { y = x @[B] w }",
                         "-o trace.json -D A=2 -k f -D C=4"),
        FX_OK);
    const struct json_value *tensors = get(
        get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0], "tensors");
    static const struct {
        const char *tensor, *axes[3], *steps[3];
    } wanted[] = {{"x", {"A", "B", "C"}, {"12", "4", "1"}}, {"w", {"B", "D"}, {"5", "1"}},
        {"y", {"C", "A", "D"}, {"10", "5", "1"}}};
    for (int i = 0; i < 3; i++) {
        const struct json_value *steps = get(find(tensors, "name", wanted[i].tensor), "stride_expressions"),
                                *strides = get(find(tensors, "name", wanted[i].tensor), "strides");
        const struct json_value *axes = get(find(tensors, "name", wanted[i].tensor), "axes");
        ck_assert_int_eq(axes->n, steps->n);
        for (int a = 0; a < steps->n; a++) {
            ck_assert_str_eq(axes->items[a]->text, wanted[i].axes[a]);
            ck_assert_str_eq(steps->items[a]->text, wanted[i].steps[a]);
            ck_assert_int_eq(number(strides->items[a]), atoi(wanted[i].steps[a]));
        }
    }
    ck_assert_int_eq(
        trace("kernel f(x: f32[A,B,C]) -> y: f32[C,A,B] { y = x }\ntest f { A=2 B=3 C=4 }", "-o trace.json"), FX_OK);
    tensors = get(get(json_read(&arena, read_text("trace.json"), &wrong), "kernels")->items[0], "tensors");
    ck_assert_str_eq(get(find(tensors, "name", "x"), "stride_expressions")->items[0]->text, "B * C");
    ck_assert_str_eq(get(find(tensors, "name", "y"), "stride_expressions")->items[1]->text, "B");
    ck_assert_int_eq(
        trace("kernel f(x: f32[A,B,C]) -> y: f32[C,A,B] { y = x }\ntest f { A=2 B=3 C=4 }", "-o trace.html"), FX_OK);
    ck_assert_ptr_nonnull(strstr(read_text("trace.html"), "strides A: B * C, B: C, C: 1</figcaption>"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("trace");
    TCase *c = tcase_create("trace");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_pointwise);
    tcase_add_test(c, test_turn);
    tcase_add_test(c, test_matmul);
    tcase_add_test(c, test_tensor_cores);
    tcase_add_test(c, test_in_place);
    tcase_add_test(c, test_totals);
    tcase_add_test(c, test_shared);
    tcase_add_test(c, test_lines);
    tcase_add_test(c, test_flow);
    tcase_add_test(c, test_page);
    tcase_add_test(c, test_picture);
    tcase_add_test(c, test_definition);
    tcase_add_test(c, test_multiprocessors);
    tcase_add_test(c, test_page_of_tensor_cores);
    tcase_add_test(c, test_page_of_warpgroups);
    tcase_add_loop_test(c, test_mma, 0, 6);
    tcase_add_test(c, test_made_extents);
    tcase_add_loop_test(c, test_fragments, 0, 3);
    tcase_add_loop_test(c, test_refused, 0, 12);
    tcase_add_test(c, strides_over_extents);
    suite_add_tcase(s, c);
    return run_suite(s);
}
