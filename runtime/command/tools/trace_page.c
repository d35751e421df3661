/* A trace as a page, for people. In: a trace. Out: one HTML file with its style, its pictures and, for stepping through
 * time, a few lines of script, without which everything is there too. Invariant: it is XML, it names nothing outside of
 * itself, and every name and text of the spec is escaped. */
#include <string.h>

#include "command/tools/trace.h"

enum { MOST_PARTS = 32, MOST_LINES = 120 }; /* of a spec that are shown */

void put_escaped(struct buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '<') buf_puts(out, "&lt;");
        else if (*s == '>') buf_puts(out, "&gt;");
        else if (*s == '&') buf_puts(out, "&amp;");
        else if (*s == '"') buf_puts(out, "&quot;");
        else if ((unsigned char)*s >= ' ' || *s == '\n' || *s == '\t') buf_putc(out, *s);
    }
}

/* ---- head ---- */

static const char style[] =
    ":root{--text:#1b1f24;--quiet:#5a6370;--page:#fff;--ground:#eef0f3;--line:#c5cbd3;--read:#1f6fd0;--written:#d0521f;--box:#f6f7f9;--bad:#b3261e;"
    "--c0:#8ec5f2;--c1:#f4b57c;--c2:#9fd8a0;--c3:#e59aa0;--c4:#c3aee6;--c5:#e3d27a;--c6:#84d3cf;--c7:#efa7d2;--c8:#b8c0ca;--c9:#c9dd85;--c10:#a7b4f0;--c11:#d9b99b}\n"
    "@media (prefers-color-scheme:dark){:root{--text:#e6e9ee;--quiet:#9aa4b2;--page:#14171b;--ground:#23282f;--line:#444c57;--read:#62a8ff;--written:#ff8f5e;--box:#1c2026;--bad:#ff8a80;"
    "--c0:#2c6494;--c1:#93591f;--c2:#397a3b;--c3:#90434a;--c4:#654b93;--c5:#7d6d1c;--c6:#2b7773;--c7:#8a3f6c;--c8:#5b6470;--c9:#647a21;--c10:#4453a0;--c11:#79583a}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--page);max-width:1080px;margin:0 auto;padding:16px}\n"
    "h1{font-size:24px}h2{font-size:19px;margin-top:40px;border-bottom:1px solid var(--line)}h3{font-size:16px}\n"
    "figure{display:inline-block;margin:0 24px 16px 0;vertical-align:top}figcaption{font-size:13px}.note,.quiet{color:var(--quiet);font-size:13px;margin:2px 0}pre .quiet{font-size:12px}\n"
    "svg{max-width:100%;font:12px system-ui,sans-serif;display:block}svg.wide{height:auto}svg text{fill:var(--text)}svg .tick,svg .quiet{fill:var(--quiet);font-size:11px}\n"
    "svg .end{text-anchor:end}svg .number,svg .lane{text-anchor:middle;font-size:11px}svg .strong{font-weight:600;font-size:13px}svg .code{font:12px ui-monospace,monospace}\n"
    ".ground{fill:var(--ground);stroke:var(--line)}.grid{stroke:var(--page);stroke-opacity:.45;fill:none}.border{stroke:var(--page);fill:none}\n"
    ".outline{stroke:var(--text);stroke-width:2;fill:none}.other{stroke-width:1;stroke-dasharray:3 2}.box{fill:var(--box);stroke:var(--line)}\n"
    ".arrow{stroke:var(--quiet);fill:none}.move{stroke:var(--read);stroke-opacity:.6;fill:none}path.read{fill:var(--read)}path.written{fill:var(--written)}\n"
    ".c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}.c8{fill:var(--c8)}\n"
    ".c9{fill:var(--c9)}.c10{fill:var(--c10)}.c11{fill:var(--c11)}.fragments .same rect{stroke:var(--text);stroke-width:2}\n"
    ".key{display:inline-block;width:12px;height:12px;vertical-align:-1px;margin-right:4px}.key.read{background:var(--read)}.key.written{background:var(--written)}\n"
    "table{border-collapse:collapse;font-size:13px;margin:8px 0}td,th{padding:2px 10px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}.bad{color:var(--bad);font-weight:600}.scroll{overflow-x:auto}\n"
    "code,pre{font:12px/1.5 ui-monospace,monospace}pre{background:var(--box);border:1px solid var(--line);padding:8px;overflow-x:auto}\n"
    "summary{cursor:pointer;font-weight:600;margin:8px 0}.time{display:none}.script .time{display:block}input{width:300px;vertical-align:middle}\n";

/* Neither `less` nor `and` signs: it is XML as it stands. */
static const char script[] =
    "document.body.classList.add('script');\n"
    "document.querySelectorAll('.time').forEach(function (time) {\n"
    "  var range = time.querySelector('input'), said = time.querySelector('output'), names = time.dataset.names.split('|');\n"
    "  range.oninput = function () {\n"
    "    said.textContent = names[range.value];\n"
    "    time.parentNode.querySelectorAll('[data-step]').forEach(function (e) { e.style.display = +e.dataset.step > +range.value ? 'none' : ''; });\n"
    "  };\n"
    "  range.oninput();\n"
    "});\n"
    "document.querySelectorAll('.fragments').forEach(function (svg) {\n"
    "  svg.onmouseover = function (event) {\n"
    "    var cell = event.target.closest('g');\n"
    "    svg.querySelectorAll('g').forEach(function (g) { g.classList.toggle('same', cell ? g.dataset.lane === cell.dataset.lane : false); });\n"
    "  };\n"
    "});\n";

/* One line of a text, NULL past the last; *end is where the next begins. */
static const char *line_of(const char *text, int line, const char **end) {
    for (; line > 1 && text; line--) text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    if (!text || !*text) return NULL;
    *end = text + strcspn(text, "\n");
    return text;
}

/* What the kernel is made of: its own lines of the spec, and those of what it needs, with their numbers. */
static void put_definition(struct buf *out, const struct trace *t) {
    struct fx_lines parts[MOST_PARTS];
    int n = fx_definition(t->job->compilation, t->job->kernel->name, parts, MOST_PARTS), n_lines = 0;
    if (!n) return;
    buf_puts(out, "<pre>");
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(out, "<span class=\"quiet\">   \xe2\x8b\xae</span>\n");
        for (int line = parts[i].first; line <= parts[i].last && n_lines < MOST_LINES; line++, n_lines++) {
            const char *end, *at = line_of(t->spec, line, &end);
            if (!at) break;
            buf_printf(out, "<span class=\"quiet\">%4d</span>  ", line);
            put_escaped(out, arena_strndup(out->arena, at, (size_t)(end - at)));
            buf_putc(out, '\n');
        }
    }
    if (n_lines == MOST_LINES) buf_puts(out, "<span class=\"quiet\">   \xe2\x8b\xae</span>\n");
    buf_puts(out, "</pre>\n");
}

static void put_head(struct buf *out, const struct trace *t) {
    const struct fx_kernel *k = t->job->kernel;
    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
    put_escaped(out, k->name);
    buf_puts(out, ": trace</title>\n<style>\n");
    buf_puts(out, style);
    buf_puts(out, "</style>\n</head>\n<body>\n<h1>");
    put_escaped(out, k->name);
    buf_puts(out, "</h1>\n<p>What its blocks do to memory, each access seen, on the emulator. ");
    for (int i = 0; i < k->n_extents; i++) {
        if (!trace_is_own(k, i)) continue;
        buf_puts(out, "<b>");
        put_escaped(out, k->extents[i].name);
        buf_printf(out, " = %lld</b> ", (long long)t->job->extents[i]);
    }
    buf_puts(out, "</p>\n");
    put_definition(out, t);
}

/* ---- dataflow ---- */

static void put_flow(struct buf *out, const struct trace *t) {
    struct fx_env env = job_env(t->job);
    int64_t bytes;
    buf_puts(out,
        "<h2>Before and after fusion</h2>\n<p>A box is a launch: its name, what it reads and writes once each, and the computations in it with their lines "
        "of the spec. ");
    if (t->before.n_steps)
        buf_puts(out,
            "On the left as with <code>fuse: never</code>; a curve leads to where a computation went. What no arrow carries never leaves the chip. ");
    if (fx_expr_eval(&t->job->kernel->unfused_bytes, &env, &bytes))
        buf_printf(out, "With a kernel for every single operator it would be %d kernel%s and %lld bytes.",
            t->job->kernel->n_unfused, t->job->kernel->n_unfused == 1 ? "" : "s", (long long)bytes);
    buf_puts(out, "</p>\n<div class=\"scroll\">\n");
    figure_flow(out, t);
    buf_puts(out, "</div>\n");
}

/* ---- a launch ---- */

static bool is_touched(const struct trace_launch *l, int tensor) {
    return l->parts && (l->parts[tensor].total[TRACE_READ].n_cells || l->parts[tensor].total[TRACE_WRITE].n_cells);
}

static void put_number(struct buf *out, uint64_t n) { buf_printf(out, "%llu", (unsigned long long)n); }

static void put_summary(struct buf *out, const struct trace *t, const struct trace_launch *l) {
    buf_puts(out, "<table><tr><th>tensor</th><th class=\"n\">cells</th><th class=\"n\">cells read</th>"
                  "<th class=\"n\">reads</th><th class=\"n\">cells written</th><th class=\"n\">writes</th></tr>\n");
    for (int i = 0; i < t->n_tensors; i++) {
        if (!is_touched(l, i)) continue;
        const struct trace_total *x = l->parts[i].total;
        buf_puts(out, "<tr><td>");
        put_escaped(out, t->tensors[i].name);
        buf_printf(out, "</td><td class=\"n\">%lld</td>", (long long)t->tensors[i].n_cells);
        for (int side = 0; side < TRACE_SIDES; side++) {
            buf_puts(out, "<td class=\"n\">");
            put_number(out, x[side].n_cells);
            buf_puts(out, "</td><td class=\"n\">");
            put_number(out, x[side].n_accesses);
            buf_puts(out, "</td>");
        }
        buf_puts(out, "</tr>\n");
    }
    buf_puts(out, "</table>\n");
}

static void put_maps(struct buf *out, const struct trace *t, const struct trace_launch *l) {
    buf_puts(out,
        "<h3>Which block touches which cell</h3>\n<p>A square is a cell, its colour the first block that writes it, or that reads it where none "
        "writes; the numbers are blocks, and colours come again after twelve. "
        "Outlined is what the blocks below touch.</p>\n");
    for (int i = 0; i < t->n_tensors; i++)
        if (is_touched(l, i)) figure_map(out, t, l, i);
    put_summary(out, t, l);
}

static void put_times(struct buf *out, const struct trace_times *times) {
    int n = trace_n_steps(times);
    buf_puts(out, "<p class=\"time\" data-names=\"");
    for (int s = 0; s < n; s++) {
        uint64_t key = times->keys[s * times->n / n];
        buf_printf(out, "%sbarriers of the block behind it: %u", s ? "|" : "", (unsigned)key);
        if (times->keys[times->n - 1] >> 32) buf_printf(out, ", of the grid: %d", (int)(key >> 32));
    }
    buf_printf(out,
        "\"><input type=\"range\" min=\"0\" max=\"%d\" value=\"%d\" aria-label=\"time\"/> <output>the end</output></p>\n",
        n - 1, n - 1);
}

static void put_details(struct buf *out, const struct trace *t, const struct trace_launch *l) {
    buf_puts(out,
        "<h3>What a block touches, and when</h3>\n<p><span class=\"key read\"></span>read <span class=\"key written\"></span>written. "
        "The fainter, the earlier: a shade is the time between two barriers of the block in which a cell was first touched.</p>\n");
    for (int d = 0; d < l->n_details; d++) {
        const struct trace_detail *x = &l->details[d];
        struct trace_times times = trace_times_of(out->arena, t, x);
        const struct trace_block *b = &l->blocks[x->block];
        buf_printf(out,
            "<details%s><summary>Block %u</summary>\n<p class=\"note\">%d %s at which it touches tensors; of shared memory it reads ",
            d ? "" : " open=\"open\"", x->block, times.n, times.n == 1 ? "time" : "times");
        put_number(out, b->shared_bytes[TRACE_READ]);
        buf_puts(out, " bytes and writes ");
        put_number(out, b->shared_bytes[TRACE_WRITE]);
        buf_puts(out, "</p>\n");
        if (times.n > 1) put_times(out, &times);
        for (int i = 0; i < t->n_tensors; i++)
            if (x->tensors[i][TRACE_READ].n || x->tensors[i][TRACE_WRITE].n) figure_block(out, t, x, &times, i);
        buf_puts(out, "</details>\n");
    }
}

static void put_fragments(struct buf *out, const struct trace_launch *l) {
    static const struct {
        const char *shape, *section;
    } sections[] = {{"m16n8k8", "Matrix Fragments for mma.m16n8k8"},
        {"m16n8k16", "Matrix Fragments for mma.m16n8k16 with floating point type"},
        {"m16n8k32", "Matrix Fragments for mma.m16n8k32"}};
    buf_puts(out, "<h3>Which lane holds which element</h3>\n<p>");
    if (trace_is_warpgroup(l->mma))
        buf_printf(out,
            "One <code>wgmma.mma_async.%s</code> of %s adds to the sums of a warpgroup, 64 rows, the product of A and B, which it reads from shared memory. "
            "Warp w has rows 16 w and the 15 below it. This is 16 \xc3\x97 8 of its sums; those of every further 8 columns lie likewise, in four more registers. ",
            l->mma, l->mma_dtype);
    else
        buf_printf(out,
            "The sums are 16 \xc3\x97 8, and one <code>mma.sync.%s</code> of %s adds to them the product of A and B. ",
            l->mma, l->mma_dtype);
    buf_puts(out,
        "The number in a square is the lane that holds the element, its colour the lane's register; point at one to see all that its lane holds.");
    if (trace_is_warpgroup(l->mma)) buf_puts(out, " PTX ISA, \xe2\x80\x9cRegister Fragments for wgmma.mma_async.m64nNk16\xe2\x80\x9d.");
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!strcmp(sections[i].shape, l->mma))
            buf_printf(out, " PTX ISA, \xe2\x80\x9c%s\xe2\x80\x9d.", sections[i].section);
    buf_puts(out, "</p>\n<details><summary>Fragments</summary>\n<div class=\"scroll\">\n");
    figure_fragments(out, l->mma);
    buf_puts(out, "</div></details>\n");
}

/* ---- lines ---- */

static bool is_same_place(const struct emu_count *a, const struct emu_count *b) {
    return a->line.lines[0] == b->line.lines[0] && a->line.spec_line == b->line.spec_line &&
           a->is_shared == b->is_shared && a->access == b->access;
}

static void put_line(struct buf *out, const struct trace *t, const struct emu_count *c) {
    static const char *const accesses[] = {[EMU_READ] = "read", [EMU_WRITE] = "write", [EMU_COPY] = "copied to"};
    buf_printf(
        out, "<tr><td>%s</td><td>%s</td><td class=\"n\">", c->is_shared ? "shared" : "global", accesses[c->access]);
    put_number(out, c->n_requests);
    buf_printf(out, "</td><td class=\"n%s\">", c->n_taken > c->n_least ? " bad" : "");
    put_number(out, c->n_taken);
    buf_puts(out, "</td><td class=\"n\">");
    put_number(out, c->n_least);
    buf_puts(out, "</td><td class=\"n\">");
    if (c->line.lines[0]) buf_printf(out, "%d", c->line.lines[0]);
    buf_puts(out, "</td><td><code>");
    put_escaped(out, trace_text_line(out->arena, t->plan->source, c->line.lines[0]));
    buf_puts(out, "</code></td><td>");
    if (c->line.spec_line) {
        buf_printf(out, "%d <code>", c->line.spec_line);
        put_escaped(out, trace_text_line(out->arena, t->spec, c->line.spec_line));
        buf_puts(out, "</code>");
    }
    buf_puts(out, "</td></tr>\n");
}

/* Places of the same line are one row. */
static void put_lines(struct buf *out, const struct trace *t, const struct trace_launch *l) {
    buf_puts(out,
        "<h3>What each line asks of memory</h3>\n<p>A request is what the lanes of a warp ask for together. Taken: of global memory sectors of 32 bytes, "
        "of shared memory passes through its banks, one more for each conflict. Least: what the same bytes take where they lie together. <span class=\"bad\">Marked</span> is what takes more. "
        "Lines are those of the emitted file, then of the spec.</p>\n<div class=\"scroll\"><table>"
        "<tr><th>memory</th><th>access</th><th class=\"n\">requests</th><th class=\"n\">taken</th><th class=\"n\">least</th><th class=\"n\">line</th><th>emitted</th><th>spec</th></tr>\n");
    for (int i = 0; i < l->n_counts; i++) {
        struct emu_count sum = l->counts[i];
        bool is_first = true;
        for (int n = 0; n < i; n++) is_first &= !is_same_place(&l->counts[n], &sum);
        for (int n = i + 1; is_first && n < l->n_counts; n++) {
            const struct emu_count *c = &l->counts[n];
            if (!is_same_place(c, &sum)) continue;
            sum.n_requests += c->n_requests, sum.n_taken += c->n_taken, sum.n_least += c->n_least;
        }
        if (is_first) put_line(out, t, &sum);
    }
    buf_puts(out, "</table></div>\n");
}

static void put_launch(struct buf *out, const struct trace *t, const struct trace_launch *l) {
    buf_puts(out, "<h2>");
    put_escaped(out, l->launch->name);
    buf_puts(out, "</h2>\n");
    if (!l->variant || !l->blocks) {
        buf_puts(out, "<p>Nothing is launched: there is nothing to do.</p>\n");
        return;
    }
    buf_puts(out, "<p><code>");
    put_escaped(out, l->variant->entry);
    buf_puts(out, "</code>, ");
    put_escaped(out, l->variant->config);
    buf_printf(out, ": %u %s of %u threads, %u bytes of shared memory each%s.</p>\n", l->grid,
        l->grid == 1 ? "block" : "blocks", l->n_threads, l->shared_bytes,
        l->launch->is_cooperative ? "; the blocks wait for each other" : "");
    put_maps(out, t, l);
    put_details(out, t, l);
    if (l->mma) put_fragments(out, l);
    put_lines(out, t, l);
}

void trace_page(struct buf *out, const struct trace *t) {
    put_head(out, t);
    put_flow(out, t);
    for (int i = 0; i < t->n_launches; i++) put_launch(out, t, &t->launches[i]);
    buf_puts(out, "<script>\n");
    buf_puts(out, script);
    buf_puts(out, "</script>\n</body>\n</html>\n");
}
