/* Pages of kernels below the roof of memory: operations a second over operations a byte, both logarithmic. In: what each
 * does and how long it takes, as predicted for explain --html, as measured for bench --html. Out: SVG, and for bench the
 * whole page. The roof is the bandwidth that predictions count with. */
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "command/command.h"
#include "command/tools/page.h"

static double bandwidth_of(const struct json_node *launches) {
    double most = 0;
    for (int i = 0; launches && i < launches->n_items; i++) {
        const double us = page_number(launches->items[i], "bytes_alone_us");
        if (us > 0) most = fmax(most, page_number(launches->items[i], "bytes") / us * 1e6);
    }
    return most;
}

void page_roof(struct buf *b, const struct json_node *launches, const struct page_point *points, int n) {
    enum { WIDTH = 560, HEIGHT = 260, LEFT = 60, TOP = 16 };
    const double low = -2, high = 4, floor = 9, top = 15.5; /* powers of ten */
    const double bandwidth = bandwidth_of(launches);
    double all = 0;
    for (int i = 0; i < n; i++) all += points[i].flops;
    if (bandwidth <= 0 || all <= 0) return; /* nothing to place below it */
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
    for (int i = 0; i < n; i++) {
        const struct page_point *p = &points[i];
        if (p->flops <= 0 || p->bytes <= 0 || p->us <= 0) continue;
        const double x = AT_X(fmin(high, fmax(low, log10(p->flops / p->bytes)))),
                     y = AT_Y(fmin(top, fmax(floor, log10(p->flops / p->us * 1e6))));
        buf_printf(b,
            "<circle class=\"bar time\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/><text x=\"%.1f\" y=\"%.1f\">%d</text>", x, y,
            x + 8, y + 4, i + 1);
    }
    buf_puts(b, "</svg>");
}

/* ---- the page of bench ---- */

void roof_add(struct roof *r, const struct job *job, const char *how, double us) {
    int64_t flops, bytes;
    if (r->n == MAX_ROOF_POINTS) return;
    struct roof_point *p = &r->points[r->n++];
    int n = snprintf(p->label, sizeof p->label, "%s%s", job->kernel->name, how);
    for (int e = 0; e < job->kernel->n_extents && n >= 0 && n < (int)sizeof p->label; e++)
        if (!job->kernel->extents[e].is_made)
            n += snprintf(p->label + n, sizeof p->label - (size_t)n, " %s=%lld", job->kernel->extents[e].name,
                (long long)job->extents[e]);
    job_work(job, &flops, &bytes);
    p->flops = (double)flops, p->bytes = (double)bytes, p->us = us;
    snprintf(r->device, sizeof r->device, "%s", fx_context_device(job->context));
    free(r->receipt);
    const char *receipt = fx_receipt(job->compilation, FX_FORMAT_JSON, NULL);
    r->receipt = receipt ? strdup(receipt) : NULL;
}

static void put_points(struct buf *b, const struct roof *r, const struct page_point *points, double bandwidth) {
    buf_puts(b, "<table><tr><th><th>kernel<th>time<th>bytes<th>operations<th>bytes a second<th>operations a second");
    for (int i = 0; i < r->n; i++) {
        const struct page_point *p = &points[i];
        buf_printf(b, "<tr><td>%d<td>", i + 1), page_put(b, r->points[i].label);
        buf_puts(b, "<td class=\"n\">"), page_time(b, p->us);
        buf_puts(b, "<td class=\"n\">"), page_amount(b, p->bytes, "B");
        buf_puts(b, "<td class=\"n\">"), page_amount(b, p->flops, "flop");
        buf_puts(b, "<td class=\"n\">"), page_amount(b, p->bytes / p->us * 1e6, "B/s");
        if (bandwidth > 0) page_bar(b, "", p->bytes / p->us * 1e6 / bandwidth);
        buf_puts(b, "<td class=\"n\">"), page_amount(b, p->flops / p->us * 1e6, "flop/s");
    }
    buf_puts(b, "</table><p>Beside bytes a second: of the bandwidth that predictions count with.</p>");
}

static void put_page(struct buf *b, struct arena *a, const struct roof *r, const struct spec *spec) {
    const struct json_node *all = r->receipt ? json_parse(a, r->receipt, strlen(r->receipt)) : NULL,
                           *kernels = json_get(all, "kernels"), *launches = NULL;
    struct page_point *points = arena_alloc(a, sizeof *points * (size_t)(r->n + 1));
    for (int i = 0; i < r->n; i++)
        points[i] = (struct page_point){r->points[i].bytes, r->points[i].flops, r->points[i].us};
    for (int k = 0; kernels && k < kernels->n_items && bandwidth_of(launches) <= 0; k++)
        launches = json_get(kernels->items[k], "launches");
    page_open(b, spec->path);
    buf_puts(b, "<p>Measured on "), page_put(b, r->device);
    buf_puts(b, ", medians of launches that follow each other; every result was checked first.</p>");
    put_points(b, r, points, bandwidth_of(launches));
    page_roof(b, launches, points, r->n);
    buf_puts(b, "<h2>The spec</h2><pre>"), page_put(b, spec->text), buf_puts(b, "</pre></html>\n");
}

fx_status write_roof_page(const struct roof *r, const struct spec *spec, const char *to) {
    struct arena a;
    jmp_buf oom;
    struct buf b;
    volatile fx_status status = FX_ERR_NOMEM;
    arena_init(&a, &oom);
    if (!setjmp(oom)) {
        buf_init(&b, &a);
        put_page(&b, &a, r, spec);
        status = write_whole(to, &(struct text_piece){b.s, b.len}, 1);
    } else complain(FX_ERR_NOMEM, "out of memory");
    arena_release(&a);
    return status;
}
