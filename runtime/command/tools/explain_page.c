/* explain --html: a receipt as one page. In: a compilation. Out: HTML with nothing outside of it, light or dark as the
 * reader's system is: of each kernel the graph as lowered and as fused, the GPU kernels with what went into them, what
 * share each has of bytes, operations and predicted time, and where they stand below the roof of memory. */
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "command/command.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1c20;--paper:#fff;--pale:#f3f4f6;--line:#c9ced6;--a:#2563a8;--b:#b45309;--c:#3f7d3a}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--paper:#15171b;--pale:#20242b;--line:#454c58;--a:#7ab3ee;--b:#e6a15a;--c:#8cc886}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2em auto;max-width:74em;padding:0 1em}"
    "pre{background:var(--pale);padding:.7em;overflow:auto;font:12.5px/1.45 ui-monospace,monospace;border-radius:4px;margin:.3em 0}"
    "table{border-collapse:collapse;margin:.8em 0}td,th{border-bottom:1px solid var(--line);padding:.25em .8em .25em 0;text-align:left;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.two{display:grid;grid-template-columns:1fr 1fr;gap:1em}.two>div{min-width:0}"
    "code{font:13px ui-monospace,monospace}ul{margin:.2em 0;padding-left:1.2em}.bar{fill:var(--a)}.bar.flops{fill:var(--b)}.bar.time{fill:var(--c)}"
    "svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .axis{stroke:var(--line);fill:none}svg .roof{stroke:var(--a);fill:none;stroke-width:2}"
    "@media(max-width:50em){.two{grid-template-columns:1fr}}";

static void put(struct buf *b, const char *s) {
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

static double number(const struct json_node *v, const char *key) {
    const struct json_node *found = json_get(v, key), *value = json_get(found, "value");
    if (value) found = value;
    return found && found->type == JSON_IS_NUMBER ? text_to_double(found->text, NULL) : 0;
}

static void put_amount(struct buf *b, double x, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (x >= 1000 && i < 5) x /= 1000, i++;
    buf_printf(b, "%.3g %s%s", x, prefixes[i], unit);
}

static double total(const struct json_node *launches, const char *key) {
    double sum = 0;
    for (int i = 0; launches && i < launches->n_items; i++) sum += number(launches->items[i], key);
    return sum;
}

static void put_bar(struct buf *b, const char *kind, double share) {
    buf_printf(b,
        "<svg width=\"120\" height=\"10\" role=\"img\" aria-label=\"%.0f %%\"><rect class=\"bar %s\" width=\"%.1f\" height=\"10\" rx=\"2\"/></svg> %.0f&nbsp;%%",
        100 * share, kind, 120 * share, 100 * share);
}

static void put_share(
    struct buf *b, const struct json_node *launch, const char *key, const char *unit, const char *kind, double all) {
    buf_puts(b, "<td class=\"n\">");
    put_amount(b, number(launch, key), unit);
    buf_puts(b, "<td>");
    put_bar(b, kind, all > 0 ? number(launch, key) / all : 0);
}

static void put_launches(struct buf *b, const struct json_node *launches) {
    const double bytes = total(launches, "bytes"), flops = total(launches, "flops"),
                 us = total(launches, "predicted_us");
    buf_puts(b,
        "<table><tr><th>GPU kernel<th colspan=\"2\">bytes<th colspan=\"2\">operations<th colspan=\"2\">predicted<th>bound by<th>what went into it");
    for (int i = 0; launches && i < launches->n_items; i++) {
        const struct json_node *l = launches->items[i], *lines = json_get(l, "lines");
        buf_printf(b, "<tr><td>%d <code>", i + 1), put(b, json_get_text(l, "name"));
        buf_puts(b, "</code><br>"), put(b, json_get_text(l, "driver")), buf_puts(b, " by "),
            put(b, json_get_text(l, "schedule"));
        put_share(b, l, "bytes", "B", "", bytes);
        put_share(b, l, "flops", "flop", "flops", flops);
        buf_printf(b, "<td class=\"n\">%.4g us<td>", number(l, "predicted_us"));
        put_bar(b, "time", us > 0 ? number(l, "predicted_us") / us : 0);
        buf_puts(b, "<td>"), put(b, json_get_text(l, "bound"));
        buf_puts(b, "<td><ul>");
        for (int n = 0; lines && n < lines->n_items; n++) {
            buf_printf(b, "<li>line %d, ", json_get_int(lines->items[n], "line", 0));
            put(b, json_get_text(lines->items[n], "place")), buf_puts(b, ": <code>"),
                put(b, json_get_text(lines->items[n], "expression")), buf_puts(b, "</code>");
        }
        buf_puts(b, "</ul>");
    }
    buf_puts(b, "</table>");
}

/* Operations a second over operations a byte, both logarithmic; the roof is the bandwidth that predictions count with.
 */
static void put_roof(struct buf *b, const struct json_node *launches) {
    enum { WIDTH = 560, HEIGHT = 260, LEFT = 60, TOP = 16 };
    const double low = -2, high = 4, floor = 9, top = 15.5; /* powers of ten */
    double bandwidth = 0;
    for (int i = 0; launches && i < launches->n_items; i++) {
        const double us = number(launches->items[i], "bytes_alone_us");
        if (us > 0 && number(launches->items[i], "bytes") / us * 1e6 > bandwidth)
            bandwidth = number(launches->items[i], "bytes") / us * 1e6;
    }
    if (bandwidth <= 0 || total(launches, "flops") <= 0) return; /* nothing to place below it */
#define AT_X(power) (LEFT + ((power) - low) / (high - low) * WIDTH)
#define AT_Y(power) (TOP + (top - (power)) / (top - floor) * HEIGHT)
    buf_printf(b,
        "<h3>Below the roof of memory</h3><svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"operations a second over operations a byte\">",
        LEFT + WIDTH + 20, TOP + HEIGHT + 40, LEFT + WIDTH + 20);
    buf_printf(b, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, TOP + HEIGHT, LEFT + WIDTH);
    for (int p = (int)low; p <= (int)high; p++)
        buf_printf(
            b, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%g</text>", AT_X(p), TOP + HEIGHT + 16, pow(10, p));
    buf_printf(b, "<text x=\"%d\" y=\"%d\">flop a byte</text>", LEFT + WIDTH / 2, TOP + HEIGHT + 34);
    for (int p = 9; p <= 15; p += 3)
        buf_printf(b, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%s</text>", LEFT - 6, AT_Y(p) + 4,
            p == 9    ? "1 Gflop/s"
            : p == 12 ? "1 T"
                      : "1 P");
    const double from = fmax(low, floor - log10(bandwidth)), to = fmin(high, top - log10(bandwidth));
    buf_printf(b, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>", AT_X(from), AT_Y(from + log10(bandwidth)),
        AT_X(to), AT_Y(to + log10(bandwidth)));
    for (int i = 0; i < launches->n_items; i++) {
        const double flops = number(launches->items[i], "flops"), bytes = number(launches->items[i], "bytes"),
                     us = number(launches->items[i], "predicted_us");
        if (flops <= 0 || bytes <= 0 || us <= 0) continue;
        const double x = AT_X(fmin(high, fmax(low, log10(flops / bytes)))),
                     y = AT_Y(fmin(top, fmax(floor, log10(flops / us * 1e6))));
        buf_printf(b,
            "<circle class=\"bar time\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/><text x=\"%.1f\" y=\"%.1f\">%d</text>", x, y,
            x + 8, y + 4, i + 1);
    }
    buf_puts(b, "</svg>");
}

static void put_text(struct buf *b, const char *title, const char *text) {
    buf_printf(b, "<div><h3>%s</h3><pre>", title), put(b, text ? text : ""), buf_puts(b, "</pre></div>");
}

static void put_page(
    struct buf *b, struct arena *a, const fx_compilation *c, const char *path, const char *spec, const char *receipt) {
    const struct json_node *all = json_parse(a, receipt, strlen(receipt)), *kernels = json_get(all, "kernels");
    buf_puts(b,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>"),
        put(b, path);
    buf_printf(b, "</title><style>%s</style><h1>", style), put(b, path), buf_puts(b, "</h1><p>Compiled for "),
        put(b, json_get_text(all, "arch"));
    buf_puts(b, "; times are predicted for an "), put(b, json_get_text(all, "predicted_for")),
        buf_puts(b, ".</p><pre>"), put(b, spec), buf_puts(b, "</pre>");
    for (int k = 0; kernels && k < kernels->n_items; k++) {
        const struct json_node *kernel = kernels->items[k], *launches = json_get(kernel, "launches"),
                               *extents = json_get(kernel, "extents"), *unfused = json_get(kernel, "unfused");
        buf_puts(b, "<h2>"), put(b, json_get_text(kernel, "name")),
            buf_printf(b, "</h2><p>%d GPU kernel%s, predicted %.4g us at", launches ? launches->n_items : 0,
                launches && launches->n_items == 1 ? "" : "s", number(kernel, "predicted_us"));
        for (int i = 0; extents && i < extents->n_items; i++)
            buf_puts(b, " "), put(b, json_get_text(extents->items[i], "name")),
                buf_printf(b, "=%.0f", number(extents->items[i], "value"));
        buf_puts(b, "; moves "), put_amount(b, number(kernel, "bytes"), "B");
        if (number(unfused, "bytes") > 0)
            buf_printf(b, ", %.3g of what %d unfused kernels would", number(kernel, "bytes") / number(unfused, "bytes"),
                json_get_int(unfused, "kernels", 0));
        buf_puts(b, ".</p>");
        put_launches(b, launches);
        put_roof(b, launches);
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
