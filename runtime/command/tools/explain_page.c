/* explain --html: a receipt as one page. In: a compilation. Out: HTML with nothing outside of it, light or dark as the
 * reader's system is: of each kernel the graph as lowered and as fused, the GPU kernels with what went into them, what
 * share each has of bytes, operations and predicted time, and where they stand below the roof of memory. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "command/command.h"
#include "command/tools/page.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1c20;--paper:#fff;--pale:#f3f4f6;--line:#c9ced6;--a:#2563a8;--b:#b45309;--c:#3f7d3a}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--paper:#15171b;--pale:#20242b;--line:#454c58;--a:#7ab3ee;--b:#e6a15a;--c:#8cc886}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2em auto;max-width:74em;padding:0 1em}"
    "pre{background:var(--pale);padding:.7em;overflow:auto;font:12.5px/1.45 ui-monospace,monospace;border-radius:4px;margin:.3em 0}"
    "table{border-collapse:collapse;margin:.8em 0}td,th{border-bottom:1px solid var(--line);padding:.25em .8em .25em 0;text-align:left;vertical-align:top}"
    "td.n{font-variant-numeric:tabular-nums;white-space:nowrap}td.n svg{display:block}td.wide{width:48%}.two{display:grid;grid-template-columns:1fr 1fr;gap:1em}.two>div{min-width:0}"
    "code{font:13px ui-monospace,monospace}ul{margin:.2em 0;padding-left:1.2em}.bar{fill:var(--a)}.bar.flops{fill:var(--b)}.bar.time{fill:var(--c)}"
    "svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .axis{stroke:var(--line);fill:none}svg .roof{stroke:var(--a);fill:none;stroke-width:2}"
    "@media(max-width:50em){.two{grid-template-columns:1fr}}";

void page_put(struct buf *b, const char *s) {
    for (; *s; s++) {
        const char *instead = *s == '&'   ? "&amp;"
                              : *s == '<' ? "&lt;"
                              : *s == '>' ? "&gt;"
                              : *s == '"' ? "&quot;"
                                          : NULL;
        if (instead) buf_puts(b, instead);
        else buf_putc(b, *s);
    }
}

void page_open(struct buf *b, const char *title) {
    buf_puts(b,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>");
    page_put(b, title);
    buf_printf(b, "</title><style>%s</style><h1>", style), page_put(b, title), buf_puts(b, "</h1>");
}

double page_number(const struct json_node *v, const char *key) {
    const struct json_node *found = json_get(v, key), *value = json_get(found, "value");
    if (value) found = value;
    return found && found->type == JSON_IS_NUMBER ? text_to_double(found->text, NULL) : 0;
}

void page_amount(struct buf *b, double x, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (x >= 1000 && i < 5) x /= 1000, i++;
    buf_printf(b, "%.3g %s%s", x, prefixes[i], unit);
}

void page_time(struct buf *b, double us) {
    if (us < 9999.5) buf_printf(b, "%.4g us", us);
    else buf_printf(b, "%.4g ms", us * 1e-3);
}

static double total(const struct json_node *launches, const char *key) {
    double sum = 0;
    for (int i = 0; launches && i < launches->n_items; i++) sum += page_number(launches->items[i], key);
    return sum;
}

void page_bar(struct buf *b, const char *kind, double share) {
    buf_printf(b,
        ", %.0f&nbsp;%%<svg width=\"110\" height=\"10\" role=\"img\" aria-label=\"%.0f %%\"><rect class=\"bar %s\" width=\"%.1f\" height=\"10\" rx=\"2\"/></svg>",
        100 * share, 100 * share, kind, 110 * share);
}

static void put_share(
    struct buf *b, const struct json_node *launch, const char *key, const char *unit, const char *kind, double all) {
    buf_puts(b, "<td class=\"n\">");
    page_amount(b, page_number(launch, key), unit);
    page_bar(b, kind, all > 0 ? page_number(launch, key) / all : 0);
}

static void put_launches(struct buf *b, const struct json_node *launches) {
    const double bytes = total(launches, "bytes"), flops = total(launches, "flops"),
                 us = total(launches, "predicted_us");
    buf_puts(b,
        "<table><tr><th>GPU kernel<th>bytes<th>operations<th>predicted<th>bound by<th>what went into it");
    for (int i = 0; launches && i < launches->n_items; i++) {
        const struct json_node *l = launches->items[i], *lines = json_get(l, "lines");
        buf_printf(b, "<tr><td>%d <code>", i + 1), page_put(b, json_get_text(l, "name"));
        buf_puts(b, "</code><br>"), page_put(b, json_get_text(l, "driver")), buf_puts(b, " by "),
            page_put(b, json_get_text(l, "schedule"));
        put_share(b, l, "bytes", "B", "", bytes);
        put_share(b, l, "flops", "flop", "flops", flops);
        buf_puts(b, "<td class=\"n\">"), page_time(b, page_number(l, "predicted_us"));
        page_bar(b, "time", us > 0 ? page_number(l, "predicted_us") / us : 0);
        buf_puts(b, "<td>"), page_put(b, json_get_text(l, "bound"));
        buf_puts(b, "<td class=\"wide\"><ul>");
        for (int n = 0; lines && n < lines->n_items; n++) {
            buf_printf(b, "<li>line %d, ", json_get_int(lines->items[n], "line", 0));
            page_put(b, json_get_text(lines->items[n], "place")), buf_puts(b, ": <code>"),
                page_put(b, json_get_text(lines->items[n], "expression")), buf_puts(b, "</code>");
        }
        buf_puts(b, "</ul>");
    }
    buf_puts(b, "</table>");
}

static void put_roof(struct buf *b, struct arena *a, const struct json_node *launches) {
    const int n = launches ? launches->n_items : 0;
    struct page_point *points = arena_alloc(a, sizeof *points * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        points[i] = (struct page_point){page_number(launches->items[i], "bytes"),
            page_number(launches->items[i], "flops"), page_number(launches->items[i], "predicted_us")};
    page_roof(b, launches, points, n);
}

static void put_text(struct buf *b, const char *title, const char *text) {
    buf_printf(b, "<div><h3>%s</h3><pre>", title), page_put(b, text ? text : ""), buf_puts(b, "</pre></div>");
}

static void put_page(
    struct buf *b, struct arena *a, const fx_compilation *c, const char *path, const char *spec, const char *receipt) {
    const struct json_node *all = json_parse(a, receipt, strlen(receipt)), *kernels = json_get(all, "kernels");
    page_open(b, path);
    buf_puts(b, "<p>Compiled for "), page_put(b, json_get_text(all, "arch"));
    buf_puts(b, "; times are predicted for an "), page_put(b, json_get_text(all, "predicted_for")),
        buf_puts(b, ".</p><pre>"), page_put(b, spec), buf_puts(b, "</pre>");
    for (int k = 0; kernels && k < kernels->n_items; k++) {
        const struct json_node *kernel = kernels->items[k], *launches = json_get(kernel, "launches"),
                               *extents = json_get(kernel, "extents"), *unfused = json_get(kernel, "unfused");
        buf_puts(b, "<h2>"), page_put(b, json_get_text(kernel, "name")),
            buf_printf(b, "</h2><p>%d GPU kernel%s, predicted ", launches ? launches->n_items : 0,
                launches && launches->n_items == 1 ? "" : "s");
        page_time(b, page_number(kernel, "predicted_us")), buf_puts(b, " at");
        for (int i = 0; extents && i < extents->n_items; i++)
            buf_puts(b, " "), page_put(b, json_get_text(extents->items[i], "name")),
                buf_printf(b, "=%.0f", page_number(extents->items[i], "value"));
        buf_puts(b, "; moves "), page_amount(b, page_number(kernel, "bytes"), "B");
        if (page_number(unfused, "bytes") > 0)
            buf_printf(b, ", %.3g of what %d unfused kernels would", page_number(kernel, "bytes") / page_number(unfused, "bytes"),
                json_get_int(unfused, "kernels", 0));
        buf_puts(b, ".</p>");
        put_launches(b, launches);
        put_roof(b, a, launches);
    }
    buf_puts(b, "<h2>The graph</h2><div class=\"two\">");
    put_text(b, "As lowered", fx_text(c, FX_TEXT_IR));
    put_text(b, "As fused", fx_text(c, FX_TEXT_FUSED));
    buf_puts(b, "</div></html>\n");
}

fx_status write_explain_page(
    const fx_compilation *c, const char *path, const char *spec, const struct fx_resources *compiled, const char *to) {
    struct arena a;
    jmp_buf oom;
    struct buf b;
    const char *receipt = fx_receipt(c, FX_FORMAT_JSON, compiled);
    fx_status status = FX_ERR_NOMEM;
    arena_init(&a, &oom);
    if (receipt && !setjmp(oom)) {
        buf_init(&b, &a);
        put_page(&b, &a, c, path, spec, receipt);
        status = write_whole(to, &(struct text_piece){b.s, b.len}, 1);
    } else complain(FX_ERR_NOMEM, "out of memory");
    arena_release(&a);
    return status;
}
