/* The receipt: bytes and kernels against numbers worked out by hand, text and JSON against each other, and what it says
 * once entries are compiled. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "json_tree.h"
#include "suite.h"

static struct arena arena;
static jmp_buf oom;

static void setup(void) { arena_init(&arena, &oom); }
static void teardown(void) { arena_release(&arena); }

static fx_compilation *compile(const char *text, const char *const *defines, int n_defines) {
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    o.defines = defines;
    o.n_defines = n_defines;
    fx_status status = fx_compile(text, strlen(text), "spec.fx", &o, &c);
    ck_assert_msg(status == FX_OK, "%s: %s", text, fx_messages(c));
    return c;
}

/* ---- bytes ---- */

/* M = 32, K = 64, N = 16 throughout. */
static const struct {
    const char *text;
    int n_unfused;
    int64_t unfused;  /* worked out by the rules of docs/receipt.md */
    int64_t read, written; /* by the first launch of the plan; -1: as many launches as it likes */
} sizes[] = {
    {"kernel f(x: f32[M,K]) -> y: f32[M,K] { y = relu(x) }", 1, 2 * 32 * 64 * 4, 32 * 64 * 4, 32 * 64 * 4},
    {"kernel f(x: f32[M,K], b: f32[K]) -> y: f32[M,K] { y = relu(x + b) }", 2,
        (32 * 64 * 4 * 2 + 64 * 4) + 2 * 32 * 64 * 4, 32 * 64 * 4 + 64 * 4, 32 * 64 * 4},
    /* the sum is stored as f16, as its operands are */
    {"kernel f(x: f16[M,K], b: f16[K]) -> y: f32[M,K] { y = relu(x + b) }", 2,
        (32 * 64 * 2 * 2 + 64 * 2) + 32 * 64 * (2 + 4), 32 * 64 * 2 + 64 * 2, 32 * 64 * 4},
    {"kernel f(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = x @ w }", 1, 32 * 64 * 2 + 64 * 16 * 2 + 32 * 16 * 4,
        32 * 64 * 2 + 64 * 16 * 2, 32 * 16 * 4},
    {"kernel f(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }", 3,
        (32 * 64 + 64 * 16 + 32 * 16) * 2 + (32 * 16 * 2 + 16) * 2 + 2 * 32 * 16 * 2, (32 * 64 + 64 * 16 + 16) * 2,
        32 * 16 * 2},
    /* x is read once by one operation, whatever it is called with twice */
    {"kernel f(x: f32[M,K]) -> y: f32[M,K] { y = x * x }", 1, 2 * 32 * 64 * 4, 32 * 64 * 4, 32 * 64 * 4},
    /* softmax is one operation, and written out five: exp(x - m) is two, as are the maximum,
     * the sum and the quotient */
    {"kernel f(x: f32[M,K]) -> y: f32[M,K] { y = softmax[K](x) }", 1, 2 * 32 * 64 * 4, 32 * 64 * 4, 32 * 64 * 4},
    {"kernel f(x: f32[M,K]) -> y: f32[M,K] { e = exp(x - max[K](x))\n y = e / sum[K](e) }", 5,
        (32 * 64 + 32) * 4 + (2 * 32 * 64 + 32) * 4 + 2 * 32 * 64 * 4 + (32 * 64 + 32) * 4 + (2 * 32 * 64 + 32) * 4,
        32 * 64 * 4, 32 * 64 * 4},
    /* halves are views: two reads of M * N each, by the operation that needs them */
    {"kernel f(x: f32[M,F=2*N]) -> y: f32[M,N] { l, r = halves[F->N](x)\n y = l * r }", 1, 3 * 32 * 16 * 4,
        2 * 32 * 16 * 4, 32 * 16 * 4},
    {"kernel f(x: f32[M,F=2*N]) -> y: f32[M,N] { l, r = halves[F->N](abs(x))\n y = l * r }", 2,
        2 * 32 * 32 * 4 + 3 * 32 * 16 * 4, 2 * 32 * 16 * 4, 32 * 16 * 4},
    /* one half alone: no more than that is read */
    {"kernel f(x: f32[M,F=2*N]) -> y: f32[M,N] { l, r = halves[F->N](x)\n y = -l }", 1, 2 * 32 * 16 * 4, 32 * 16 * 4,
        32 * 16 * 4},
    /* a rename is a copy only where it is the output */
    {"kernel f(x: f32[M,K]) -> y: f32[P] { y = x{(M,K)->P} }", 1, 2 * 32 * 64 * 4, 32 * 64 * 4, 32 * 64 * 4},
    /* a gather reads its indices and as many rows as there are, not the table */
    {"kernel f(i: i32[M], t: f32[V=100000,K]) -> y: f32[M,K] { y = t[V: i] ?? 0 }", 1, 32 * 4 + 2 * 32 * 64 * 4,
        32 * 4 + 32 * 64 * 4, 32 * 64 * 4},
    /* a small table, whole */
    {"kernel f(i: i32[M], t: f32[V=2,K]) -> y: f32[M,K] { y = t[V: i] ?? 0 }", 1, 32 * 4 + 2 * 64 * 4 + 32 * 64 * 4,
        32 * 4 + 2 * 64 * 4, 32 * 64 * 4},
    /* four bits an element, rounded up */
    {"kernel f(x: u4[M,K] packed(i32, K, lsb)) -> y: f32[M,K] { y = 2.0 * x }", 1, 32 * 64 / 2 + 32 * 64 * 4,
        32 * 64 / 2, 32 * 64 * 4},
    {"kernel f(x: f32[M,K]) -> (y: f32[M,K], s: f32[M]) { y = relu(x)\n s = sum[K](y) }", 2,
        2 * 32 * 64 * 4 + (32 * 64 + 32) * 4, -1, -1},
    /* fns of the spec are looked into, and count once a call */
    {"fn twice(v) = v + v\nkernel f(x: f32[M,K]) -> y: f32[M,K] { y = twice(twice(x)) }", 2, 4 * 32 * 64 * 4,
        32 * 64 * 4, 32 * 64 * 4},
    /* a byte, which is not nothing */
    {"kernel f(x: f32[M]) -> y: bool[] { y = any[M](x > 0) }", 2, (32 * 4 + 32) + (32 + 1), 32 * 4, 1},
    /* numbers and broadcasts */
    {"kernel f(s: f32, x: f32[M]) -> y: f32[M,K] { y = s * x }", 1, 32 * 4 + 32 * 64 * 4, 32 * 4, 32 * 64 * 4},
};

START_TEST(bytes_by_hand) {
    const char *const all[] = {"M=32", "K=64", "N=16"};
    const char *defines[3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        char in_type[8] = {'[', all[i][0], 0}, later[8] = {',', all[i][0], 0}, scaled[8] = {'*', all[i][0], 0};
        if (strstr(sizes[_i].text, in_type) || strstr(sizes[_i].text, later) || strstr(sizes[_i].text, scaled))
            defines[n++] = all[i];
    }
    fx_compilation *c = compile(sizes[_i].text, defines, n);
    const struct fx_kernel *k = fx_get_plan(c)->kernels;
    struct fx_env env = {.extents = (int64_t[16]){0}, .sm_count = 132};
    int64_t unfused, bytes, written;
    for (int i = 0; i < k->n_extents; i++) ((int64_t *)env.extents)[i] = k->extents[i].value;
    ck_assert(fx_expr_eval(&k->unfused_bytes, &env, &unfused));
    ck_assert(
        fx_expr_eval(&k->launches[0].bytes, &env, &bytes) && fx_expr_eval(&k->launches[0].written, &env, &written));
    ck_assert_msg(k->n_unfused == sizes[_i].n_unfused, "%s: %d kernels", sizes[_i].text, k->n_unfused);
    ck_assert_msg(unfused == sizes[_i].unfused, "%s: unfused %lld, not %lld", sizes[_i].text, (long long)unfused,
        (long long)sizes[_i].unfused);
    ck_assert_msg(sizes[_i].read < 0 || bytes - written == sizes[_i].read, "%s: read %lld", sizes[_i].text,
        (long long)(bytes - written));
    ck_assert_msg(
        sizes[_i].written < 0 || written == sizes[_i].written, "%s: written %lld", sizes[_i].text, (long long)written);
    fx_close(c);
}
END_TEST

/* ---- text and JSON ---- */

static const struct json_value *member(const struct json_value *v, const char *key, enum json_kind kind) {
    const struct json_value *m = json_member(v, key);
    ck_assert_msg(m != NULL, "no member %s", key);
    ck_assert_msg(m->kind == kind || m->kind == JSON_NULL, "%s has another kind", key);
    return m;
}

static const char *text_of(const struct json_value *v, const char *key) { return member(v, key, JSON_STRING)->text; }
static const char *number_of(const struct json_value *v, const char *key) { return member(v, key, JSON_NUMBER)->text; }
static bool flag_of(const struct json_value *v, const char *key) {
    return member(v, key, json_member(v, key) ? json_member(v, key)->kind : JSON_TRUE)->kind == JSON_TRUE;
}

static const char *size_text(const struct json_value *v, const char *key) {
    const struct json_value *s = member(v, key, JSON_OBJECT);
    const char *expression = text_of(s, "expression"), *value = number_of(s, "value");
    if (!value) return arena_printf(&arena, "%s, which overflows", expression);
    return strcmp(expression, value) == 0 ? value : arena_printf(&arena, "%s = %s", expression, value);
}

/* The text must have it, and at or behind `from`, which moves there. */
static void expect(const char **from, const char *what) {
    const char *at = strstr(*from, what);
    ck_assert_msg(at != NULL, "the text lacks, or has elsewhere: %s\n%.400s", what, *from);
    *from = at;
}

/* A number of the JSON, microseconds, as the text has it. */
static const char *us(const struct json_value *v, const char *key) {
    double t = atof(number_of(v, key));
    if (t < 999.95) return arena_printf(&arena, "%.1f us", t);
    if (t < 999500) return arena_printf(&arena, "%.3g ms", t / 1e3);
    if (t < 120e6) return arena_printf(&arena, "%.3g s", t / 1e6);
    if (t < 7200e6) return arena_printf(&arena, "%.3g minutes", t / 60e6);
    return t < 48 * 3600e6 ? arena_printf(&arena, "%.3g hours", t / 3600e6)
           : t < 3.2e13    ? arena_printf(&arena, "%.3g days", t / 86400e6)
                           : "more than a year";
}

static void check_entry(const struct json_value *e, const char **text) {
    expect(text, arena_printf(&arena, "entry %s: %s, %s threads, %s bytes of shared memory", text_of(e, "entry"),
                     text_of(e, "config"), number_of(e, "threads"), size_text(e, "shared_bytes")));
    const struct json_value *c = member(e, "compiled", JSON_OBJECT);
    if (c->kind == JSON_OBJECT)
        expect(text, arena_printf(&arena, ", %s registers, %s bytes of local memory", number_of(c, "registers"),
                         number_of(c, "local_bytes")));
    if (flag_of(e, "passed_over")) expect(text, "would be launched here, but it spills");
    if (flag_of(e, "launched"))
        expect(text, arena_printf(&arena, "launched here: grid %s, %s block%s an SM, %s wave", size_text(e, "grid"),
                         number_of(e, "blocks_an_sm"), strcmp(number_of(e, "blocks_an_sm"), "1") ? "s" : "",
                         number_of(e, "waves")));
}

static void check_launch(const struct json_value *l, const char **text) {
    const struct json_value *lines = member(l, "lines", JSON_LIST),
                            *others = member(l, "schedules_not_taken", JSON_LIST);
    const struct json_value *entries = member(l, "entries", JSON_LIST);
    int n_launched = 0;
    expect(text, arena_printf(&arena, ": %s, driver %s, schedule %s\n", text_of(l, "name"), text_of(l, "driver"),
                     text_of(l, "schedule")));
    for (int i = 0; i < lines->n; i++) {
        const struct json_value *x = lines->items[i];
        expect(text,
            arena_printf(&arena, "line %s  %-9s  %s%s%s%s%s\n", number_of(x, "line"), text_of(x, "place"),
                text_of(x, "name") ? text_of(x, "name") : "", text_of(x, "name") ? " = " : "", text_of(x, "expression"),
                text_of(x, "call") ? "   in " : "", text_of(x, "call") ? text_of(x, "call") : ""));
    }
    expect(text, arena_printf(&arena, "    bytes %s", size_text(l, "bytes")));
    const char *written = number_of(member(l, "bytes_written", JSON_OBJECT), "value");
    if (written) expect(text, arena_printf(&arena, " read and %s written\n", written));
    if (strcmp(size_text(l, "flops"), "0")) expect(text, arena_printf(&arena, "    flops %s\n", size_text(l, "flops")));
    expect(text, arena_printf(&arena, "predicted %s, bound by %s; its bytes alone take %s\n", us(l, "predicted_us"),
                     text_of(l, "bound"), us(l, "bytes_alone_us")));
    for (int i = 0; i < others->n; i++) {
        const struct json_value *o = others->items[i];
        expect(text, arena_printf(&arena, "    not %s: %s\n", text_of(o, "schedule"),
                         text_of(o, "why_not") ? text_of(o, "why_not")
                                               : arena_printf(&arena, "predicted %s", us(o, "predicted_us"))));
    }
    for (int i = 0; i < entries->n; i++) {
        check_entry(entries->items[i], text);
        n_launched += flag_of(entries->items[i], "launched");
    }
    ck_assert_int_le(n_launched, 1);
    if (!n_launched) expect(text, "no entry takes these extents");
}

/* The buffer of that name, of the workspace or of what is kept, in the order of the text. */
static void check_buffers(const struct json_value *workspace, const struct json_value *kept, const char **text) {
    for (int w = 0, c = 0; w < workspace->n || c < kept->n;) {
        const char *next_w = w < workspace->n ? strstr(*text, text_of(workspace->items[w], "name")) : NULL,
                   *next_c = c < kept->n ? strstr(*text, text_of(kept->items[c], "name")) : NULL;
        const bool is_kept = next_c && (!next_w || next_c < next_w);
        const struct json_value *b = is_kept ? kept->items[c++] : workspace->items[w++];
        expect(text, arena_printf(&arena, "%s %s: %s bytes, as %s: %s\n", is_kept ? "const" : "workspace",
                         text_of(b, "name"), size_text(b, "bytes"), text_of(b, "dtype"), text_of(b, "why")));
        if (flag_of(b, "rounded_once")) expect(text, "rounded once to");
    }
}

static void check_kernel(const struct json_value *k, const char **text) {
    const struct json_value *launches = member(k, "launches", JSON_LIST), *rules = member(k, "rules", JSON_LIST),
                            *others = member(k, "alternatives", JSON_LIST);
    const struct json_value *buffers = member(k, "workspace", JSON_LIST), *extents = member(k, "extents", JSON_LIST),
                            *notes = member(k, "notes", JSON_LIST);
    const struct json_value *unfused = member(k, "unfused", JSON_OBJECT);
    int n_once = 0;
    for (int i = 0; i < launches->n; i++) n_once += flag_of(launches->items[i], "once");
    expect(text, arena_printf(&arena, "%s: partition `%s`, %d kernel%s%s, predicted %s on an H200\n", text_of(k, "name"),
                     text_of(k, "partition"), launches->n - n_once, launches->n - n_once == 1 ? "" : "s",
                     n_once ? arena_printf(&arena, " and %d once", n_once) : "", us(k, "predicted_us")));
    for (int i = 0; i < others->n; i++) {
        const struct json_value *o = others->items[i];
        expect(text, arena_printf(&arena, "not `%s`, %s kernel", text_of(o, "partition"), number_of(o, "kernels")));
        expect(text, arena_printf(&arena, "%s: %s\n", us(o, "predicted_us"), text_of(o, "why_not")));
    }
    for (int nominal = 0; nominal < 2; nominal++)
        for (int i = 0; i < extents->n; i++)
            if (flag_of(extents->items[i], "nominal") == nominal)
                expect(text, arena_printf(&arena, " %s=%s", text_of(extents->items[i], "name"),
                                 number_of(extents->items[i], "value")));
    expect(text,
        number_of(k, "bytes") ? arena_printf(&arena, "  bytes %s; ", number_of(k, "bytes")) : "  bytes overflow; ");
    expect(text, arena_printf(&arena, "unfused, %s kernel%s: %s", number_of(unfused, "kernels"),
                     strcmp(number_of(unfused, "kernels"), "1") ? "s" : "", size_text(unfused, "bytes")));
    for (int i = 0; i < rules->n; i++)
        expect(text, arena_printf(&arena, "rule %s at line %s", text_of(rules->items[i], "rule"),
                         number_of(rules->items[i], "line")));
    if (text_of(k, "saved")) expect(text, text_of(k, "saved"));
    check_buffers(buffers, member(k, "const", JSON_LIST), text);
    for (int i = 0; i < notes->n; i++) expect(text, notes->items[i]->text);
    for (int i = 0; i < launches->n; i++) check_launch(launches->items[i], text);
}

/* Compares the two forms; the JSON's root. */
static const struct json_value *check_forms(const fx_compilation *c, const struct fx_resources *compiled) {
    const char *text = fx_receipt(c, FX_FORMAT_TEXT, compiled), *json = fx_receipt(c, FX_FORMAT_JSON, compiled);
    size_t wrong;
    ck_assert(text && json);
    const struct json_value *v = json_read(&arena, json, &wrong);
    ck_assert_msg(v != NULL, "no JSON at %zu: %.80s", wrong, json + wrong);
    ck_assert_str_eq(number_of(v, "version"), "1");
    const struct json_value *kernels = member(v, "kernels", JSON_LIST);
    ck_assert_int_eq(kernels->n, fx_get_plan(c)->n_kernels);
    for (int i = 0; i < kernels->n; i++) check_kernel(kernels->items[i], &text);
    return v;
}

static const char *const patterns[] = {"examples/*.fx", "examples/*/*.fx", "tests/golden/cuda/*.fx",
    "tests/golden/plan/*.fx", "tests/golden/fuse/*.fx", "tests/golden/explain/*.fx"};

START_TEST(text_and_json_say_the_same) {
    glob_t found;
    int n = 0;
    ck_assert_int_eq(glob(patterns[_i], 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        static char text[1 << 20];
        FILE *f = fopen(found.gl_pathv[i], "rb");
        ck_assert_ptr_nonnull(f);
        size_t len = fread(text, 1, sizeof text, f);
        fclose(f);
        fx_compilation *c = NULL;
        if (fx_compile(text, len, found.gl_pathv[i], NULL, &c) == FX_OK) {
            check_forms(c, NULL);
            ck_assert_ptr_null(strstr(fx_receipt(c, FX_FORMAT_SUMMARY, NULL), "  not "));
            ck_assert_str_eq(
                fx_receipt(c, FX_FORMAT_TEXT, NULL), arena_printf(&arena, "%s", fx_receipt(c, FX_FORMAT_TEXT, NULL)));
            n++;
        }
        fx_close(c);
    }
    ck_assert_int_gt(n, 1);
    globfree(&found);
}
END_TEST

START_TEST(extents_that_overflow) {
    const char *const defines[] = {
        "B=16777216", "M=16777216", "N=16777216"}; /* tensors of 2^48 elements, the most there are */
    fx_compilation *c = compile("kernel f(x: f32[B,M], w: f32[M,N]) -> y: f32[B,N] { y = x @ w }", defines, 3);
    const struct json_value *v = check_forms(c, NULL),
                            *k = json_member(json_member(v, "kernels")->items[0], "launches")->items[0];
    ck_assert_int_eq(json_member(json_member(k, "flops"), "value")->kind, JSON_NULL);
    ck_assert_ptr_nonnull(strstr(fx_receipt(c, FX_FORMAT_TEXT, NULL), "which overflows"));
    ck_assert_ptr_null(strstr(fx_receipt(c, FX_FORMAT_SUMMARY, NULL), "flop"));
    fx_close(c);
}
END_TEST

/* Of an entry of 64 x 64 x 64, the first there is, and of a later one: the note has the columns of the entry that is
 * launched. */
START_TEST(columns_of_a_chain) {
    static const char *const defines[][4] = {{"M=64", "K=64", "H=64", "N=64"}, {"M=4096", "K=512", "H=2048", "N=256"}},
                             *const columns[] = {"cdiv(N, 64) = 1 time\n", "cdiv(N, 128) = 2 times\n"};
    static const char *const entries[] = {"launches fx_f_64x64x64:", "launches fx_f_64x64x128:"};
    fx_compilation *c = compile(
        "kernel f(x: f32[M,K], u: f32[K,H], w: f32[H,N]) -> y: f32[M,N] with { fuse: require } { y = sigmoid(relu(x @ u) @ w) }",
        defines[_i], 4);
    ck_assert_ptr_nonnull(strstr(fx_receipt(c, FX_FORMAT_SUMMARY, NULL), entries[_i]));
    ck_assert_ptr_nonnull(strstr(fx_receipt(c, FX_FORMAT_TEXT, NULL), columns[_i]));
    fx_close(c);
}
END_TEST

/* A tile of 128 x 256 f32 with 8 columns beside it, as its sums are staged, and what 8 warps have of each column in 8
 * bytes. */
START_TEST(memory_of_a_tile) {
    fx_compilation *c = compile(
        "kernel f(x: f32[M=4096,K=4096], w: f32[K,N=4096]) -> c: i64[N] with { precision: tf32, kernels: 2 } { c = sum[M](i64((x @ w) > 0)) }",
        NULL, 0);
    ck_assert_int_eq(128 * (256 + 8) * 4 + 8 * 256 * 8, 151552);
    ck_assert_ptr_nonnull(strstr(fx_receipt(c, FX_FORMAT_SUMMARY, NULL),
        "launches fx_f_0_128x256: grid 512, 256 threads, 151552 bytes of shared memory"));
    fx_close(c);
}
END_TEST

/* What moves nothing is no part of nothing. */
START_TEST(nothing_unfused) {
    const char *const defines[] = {"M=0"};
    fx_compilation *c = compile("kernel f(x: f32[M]) -> y: f32[M] { y = relu(x) }", defines, 1);
    const char *text = fx_receipt(c, FX_FORMAT_TEXT, NULL);
    ck_assert_ptr_nonnull(strstr(text, "  bytes 0; unfused, 1 kernel: "));
    ck_assert_ptr_null(strstr(text, " of that"));
    fx_close(c);
}
END_TEST

/* Where each line of the spec went stands in a few lines, and none of what was not taken; times have a unit that a
 * person reads. */
START_TEST(a_summary_is_short) {
    static const struct {
        const char *text, *summary;
    } of[] = {
        {"kernel f(x: bf16[M=4096,K=4096], w: bf16[K,N=4096], b: bf16[N]) -> y: bf16[M,N] {\n  y = gelu(x @ w + b)\n}",
            "f: 1 GPU kernel, predicted 198.3 us on an H200 at M=4096 K=4096 N=4096; moves 101 MB, 0.429 of what 3 unfused kernels would\n"
            "  kernel 1, f_: gemm by wgmma, 101 MB, 137 Gflop, 197.2 us bound by multiply-adds of wgmma\n"
            "    line 2: mainloop x @ w; epilogue y = gelu(x @ w + b)\n"
            "    launches fx_f_128x256_wgmma: grid 132, 384 threads, 229440 bytes of shared memory; 1 block an SM, 1 wave\n"},
        {"kernel f(x: f32[M=1048576,K=1048576], w: f32[K,N=1048576]) -> y: f32[M,N] with { precision: fma } { y = x @ w }",
            "f: 1 GPU kernel, predicted 12.6 hours on an H200 at M=1048576 K=1048576 N=1048576; moves 13.2 TB, 1 of what 1 unfused kernel would\n"
            "  kernel 1, f_: gemm by simt, 13.2 TB, 2.31 Eflop, 12.6 hours bound by multiply-adds of simt\n"
            "    line 1: mainloop y = x @ w\n"
            "    launches fx_f_128x256: grid 33554432, 256 threads, 131072 bytes of shared memory; 1 block an SM, 254201 waves\n"},
        /* a row a block, along which it stores, whatever lies along the rows */
        {"kernel f(x: f32[M=4096]) -> y: f32[M,N=2048] { y = softmax[N](x * f32(idx(N))) }",
            "f: 1 GPU kernel, predicted 19.1 us on an H200 at M=4096 N=2048; moves 33.6 MB, 0.333 of what 3 unfused kernels would\n"
            "  kernel 1, f_: row, 33.6 MB, 18.0 us bound by instructions and latency\n"
            "    line 1: of a row softmax[N](x * f32(idx(N))); in a row softmax[N](x * f32(idx(N)))\n"
            "    launches fx_f_1x128_keep4: grid 4096, 128 threads, 1536 bytes of shared memory; 7 blocks an SM, 5 waves\n"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fx_compilation *c = compile(of[i].text, NULL, 0);
        ck_assert_str_eq(fx_receipt(c, FX_FORMAT_SUMMARY, NULL), of[i].summary);
        fx_close(c);
    }
}
END_TEST

START_TEST(no_receipt_without_a_plan) {
    static const char text[] = "kernel f(x: f32[M]) -> y: f32[M] { y = z }",
                      good[] = "kernel f(x: f32[M]) -> y: f32[M] { y = x }";
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    o.oracle_only = true;
    ck_assert_int_eq(fx_compile(text, strlen(text), "f.fx", NULL, &c), FX_ERR_COMPILE);
    ck_assert_ptr_null(fx_receipt(c, FX_FORMAT_JSON, NULL));
    fx_close(c);
    ck_assert_int_eq(fx_compile(good, strlen(good), "f.fx", &o, &c), FX_OK);
    ck_assert_ptr_null(fx_receipt(c, FX_FORMAT_TEXT, NULL));
    fx_close(c);
}
END_TEST

/* ---- once compiled ---- */

/* The entry of the only launch for which the flag is true, or NULL. */
static const struct json_value *flagged(const struct json_value *v, const char *flag) {
    const struct json_value *entries = json_member(
        json_member(json_member(v, "kernels")->items[0], "launches")->items[0], "entries");
    for (int i = 0; i < entries->n; i++)
        if (flag_of(entries->items[i], flag)) return entries->items[i];
    return NULL;
}

START_TEST(what_entries_were_compiled_to) {
    const char *const defines[] = {"M=4096", "K=4096", "N=4096"};
    fx_compilation *c = compile("kernel f(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @ w }", defines, 3);
    const struct fx_plan *plan = fx_get_plan(c);
    const struct fx_launch *l = plan->kernels[0].launches;
    struct fx_resources *r = arena_alloc(&arena, (size_t)fx_entry_count(plan) * sizeof *r);
    ck_assert_int_eq(fx_entry_count(plan), l->n_variants);
    const struct json_value *v = check_forms(c, r);
    const char *first = text_of(flagged(v, "launched"), "entry");
    ck_assert_int_eq(json_member(flagged(v, "launched"), "compiled")->kind, JSON_NULL);
    /* 128 threads and 98,304 bytes: by registers 3 blocks an SM, by shared memory 2. */
    for (int i = 0; i < l->n_variants; i++) r[l->variants[i].number] = (struct fx_resources){128, 0, 0, 1024};
    v = check_forms(c, r);
    ck_assert_str_eq(text_of(flagged(v, "launched"), "entry"), first);
    ck_assert_str_eq(number_of(json_member(flagged(v, "launched"), "compiled"), "registers"), "128");
    for (int i = 0; i < l->n_variants; i++)
        if (strcmp(l->variants[i].entry, first) == 0) r[l->variants[i].number].local_bytes = 8;
    v = check_forms(c, r);
    ck_assert_ptr_nonnull(flagged(v, "passed_over"));
    ck_assert_str_eq(text_of(flagged(v, "passed_over"), "entry"), first);
    ck_assert_str_ne(text_of(flagged(v, "launched"), "entry"), first);
    ck_assert_ptr_null(strstr(text_of(flagged(v, "launched"), "entry"), "_any"));
    /* Where all spill, none is better. */
    for (int i = 0; i < l->n_variants; i++) r[l->variants[i].number].local_bytes = 8;
    v = check_forms(c, r);
    ck_assert_ptr_null(flagged(v, "passed_over"));
    ck_assert_str_eq(text_of(flagged(v, "launched"), "entry"), first);
    fx_close(c);
}
END_TEST

/* Of several kernels and partitions what is launched at the extents of the receipt alone, and again where that
 * spills. */
START_TEST(entries_that_a_receipt_wants) {
    fx_compilation *c = compile("kernel f(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @ w }\n"
                                "kernel g(x: f32[M,N]) -> y: f32[M,N] { y = softmax[N](x) }", NULL, 0);
    const struct fx_plan *plan = fx_get_plan(c);
    const int n = fx_entry_count(plan);
    struct fx_resources *r = arena_alloc(&arena, (size_t)n * sizeof *r);
    bool *wanted = arena_alloc(&arena, (size_t)n), *again = arena_alloc(&arena, (size_t)n);
    ck_assert_int_gt(fx_partition_count(plan->kernels), 1);
    ck_assert(fx_receipt_wants(c, NULL, wanted) && fx_receipt_wants(c, r, again));
    ck_assert_int_eq(memcmp(wanted, again, (size_t)n), 0);
    const struct json_value *kernels = json_member(check_forms(c, r), "kernels");
    int n_wanted = 0, n_launches = 0, first = -1;
    for (int i = 0; i < n; i++) {
        if (wanted[i] && first < 0) first = i;
        if (wanted[i]) n_wanted++, r[i] = (struct fx_resources){64, 0, 0, 1024};
    }
    for (int k = 0; k < kernels->n; k++) n_launches += json_member(kernels->items[k], "launches")->n;
    ck_assert_int_eq(n_wanted, n_launches);
    ck_assert_str_eq(number_of(json_member(flagged(check_forms(c, r), "launched"), "compiled"), "registers"), "64");
    memset(again, 0, (size_t)n);
    ck_assert(!fx_receipt_wants(c, r, again));
    for (int i = 0; i < n; i++) ck_assert(!again[i]);
    r[first].local_bytes = 8;
    ck_assert(fx_receipt_wants(c, r, again));
    ck_assert(!again[first]);
    fx_close(c);
}
END_TEST

/* Blocks an SM holds, from numbers as NVIDIA's occupancy tables give them for compute capability 9.0. */
static const struct {
    int registers;
    const char *blocks;
} residents[] = {{32, "8"}, {40, "6"}, {64, "4"}, {128, "2"}, {168, "1"}, {255, "1"}};

START_TEST(blocks_an_sm_holds) {
    const char *const defines[] = {"M=1048576"};
    fx_compilation *c = compile(
        "kernel f(x: f32[M]) -> y: f32[M] { y = relu(x) }", defines, 1); /* 256 threads, no shared memory */
    const struct fx_plan *plan = fx_get_plan(c);
    struct fx_resources *r = arena_alloc(&arena, (size_t)fx_entry_count(plan) * sizeof *r);
    for (int i = 0; i < fx_entry_count(plan); i++) r[i] = (struct fx_resources){residents[_i].registers, 0, 0, 256};
    ck_assert_str_eq(number_of(flagged(check_forms(c, r), "launched"), "blocks_an_sm"), residents[_i].blocks);
    fx_close(c);
}
END_TEST

/* ---- the reader itself ---- */

static const char *const no_json[] = {"", "{", "{\"a\":1,}", "[1,]", "[1 2]", "{\"a\":1,\"a\":2}", "01", "+1", "1.",
    ".5", "1e", "nul", "\"\t\"", "\"\xff\"", "\"\xc0\x80\"", "\"\\x\"", "\"\\ud800\"", "{a:1}", "[1]x", "'a'", "NaN",
    "[1]]"};
static const char *const is_json[] = {
    "0", "-0.5e+3", "[]", "{}", " [ 1 , null,true ,false ] ", "{\"a\":{\"b\":[\"\\u00e9\xc3\xa9\"]}}"};

START_TEST(the_reader_is_strict) {
    size_t wrong;
    for (size_t i = 0; i < sizeof no_json / sizeof *no_json; i++)
        ck_assert_msg(!json_read(&arena, no_json[i], &wrong), "%s was read", no_json[i]);
    for (size_t i = 0; i < sizeof is_json / sizeof *is_json; i++)
        ck_assert_msg(json_read(&arena, is_json[i], &wrong), "%s was not read", is_json[i]);
}
END_TEST

int main(void) {
    Suite *s = suite_create("receipt");
    TCase *t = tcase_create("receipt");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, bytes_by_hand, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(t, text_and_json_say_the_same, 0, (int)(sizeof patterns / sizeof *patterns));
    tcase_add_test(t, extents_that_overflow);
    tcase_add_loop_test(t, columns_of_a_chain, 0, 2);
    tcase_add_test(t, memory_of_a_tile);
    tcase_add_test(t, nothing_unfused);
    tcase_add_test(t, a_summary_is_short);
    tcase_add_test(t, no_receipt_without_a_plan);
    tcase_add_test(t, what_entries_were_compiled_to);
    tcase_add_test(t, entries_that_a_receipt_wants);
    tcase_add_loop_test(t, blocks_an_sm_holds, 0, (int)(sizeof residents / sizeof *residents));
    tcase_add_test(t, the_reader_is_strict);
    suite_add_tcase(s, t);
    return run_suite(s);
}
