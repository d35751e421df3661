/* A receipt as text, for people: `fxc explain`. */
#include "receipt.h"

#include <stdio.h>
#include <string.h>

/* "M * N * 4 = 65536" */
static void put_size(struct buf *out, const struct receipt_size *s) {
    char number[32];
    int n = snprintf(number, sizeof number, "%lld", (long long)s->value);
    if (!s->is_known) buf_printf(out, "%s, which overflows", s->text);
    else if ((size_t)n == strlen(s->text) && strcmp(number, s->text) == 0) buf_puts(out, number);
    else buf_printf(out, "%s = %s", s->text, number);
}

static void put_head(struct buf *out, const struct receipt *r) {
    const struct fx_kernel *k = r->kernel;
    buf_printf(out, "%s: partition `%s`, %d kernel%s, predicted %.1f us on an H200\n", k->name, r->partition, k->n_launches, k->n_launches == 1 ? "" : "s",
               r->seconds * 1e6);
    for (int i = 0; i < r->n_others; i++)
        buf_printf(out, "  not `%s`, %d kernel%s, %.1f us: %s\n", r->others[i].name, r->others[i].n_kernels, r->others[i].n_kernels == 1 ? "" : "s",
                   r->others[i].seconds * 1e6, r->others[i].why);
    for (int fixed = 1; fixed >= 0; fixed--) {
        int n = 0;
        for (int i = 0; i < k->n_extents; i++) {
            if ((k->extents[i].value >= 0) != fixed) continue;
            buf_printf(out, "%s %s=%lld", n++ ? "" : fixed ? "  extents:" : "  nominal extents, which -D NAME=VALUE replaces:", k->extents[i].name,
                       (long long)r->extents[i]);
        }
        if (n) buf_putc(out, '\n');
    }
}

static void put_totals(struct buf *out, const struct receipt *r) {
    if (r->is_known) buf_printf(out, "  bytes %lld", (long long)r->total);
    else buf_puts(out, "  bytes overflow");
    buf_printf(out, "; unfused, %d kernel%s: ", r->kernel->n_unfused, r->kernel->n_unfused == 1 ? "" : "s");
    put_size(out, &r->unfused);
    if (r->is_known && r->unfused.is_known && r->unfused.value > 0) buf_printf(out, "; %.3g of that", (double)r->total / (double)r->unfused.value);
    buf_putc(out, '\n');
}

static void put_rule(struct buf *out, const struct receipt_rule *rule) {
    buf_printf(out, "  rule %s at line %d", rule->rule, rule->line);
    if (rule->text) buf_printf(out, ": %s", rule->text);
    buf_printf(out, "; %.10g operations became %.10g\n", rule->before, rule->after);
}

static void put_buffer(struct buf *out, const struct receipt_buffer *b) {
    buf_printf(out, "  workspace %s: ", b->name);
    put_size(out, &b->bytes);
    buf_printf(out, " bytes, as %s: %s\n", b->dtype, b->why);
    if (b->is_rounded)
        buf_printf(out, "    rounded once to %s on the way to the contraction that reads it (language.md, Accumulation; `precision: ieee` forbids it)\n", b->dtype);
}

static void put_line(struct buf *out, const struct receipt_line *l) {
    buf_printf(out, "    line %d  %-9s  ", l->line, l->place);
    if (l->name) buf_printf(out, "%s = ", l->name);
    buf_puts(out, l->text);
    if (l->call) buf_printf(out, "   in %s", l->call);
    buf_putc(out, '\n');
}

static void put_entry(struct buf *out, const struct receipt_entry *e) {
    const struct fx_variant *v = e->variant;
    buf_printf(out, "    entry %s: %s, %d threads, ", v->entry, v->config, v->block);
    put_size(out, &e->shared);
    buf_puts(out, " bytes of shared memory");
    if (e->compiled) {
        buf_printf(out, ", %d registers, %d bytes of local memory", e->compiled->registers, e->compiled->local_bytes);
        if (e->compiled->shared_bytes) buf_printf(out, ", %d bytes of static shared memory", e->compiled->shared_bytes);
    }
    buf_putc(out, '\n');
    if (e->is_passed_over) buf_puts(out, "      would be launched here, but it spills: another of its kind takes its place\n");
    if (!e->is_chosen) return;
    buf_puts(out, "      launched here: grid ");
    put_size(out, &e->grid);
    buf_printf(out, ", %d block%s an SM, %lld wave%s on %d SMs\n", e->resident, e->resident == 1 ? "" : "s", (long long)e->waves, e->waves == 1 ? "" : "s", RECEIPT_SMS);
}

static void put_launch(struct buf *out, const struct receipt *r, int i) {
    const struct receipt_launch *l = &r->launches[i];
    bool is_chosen = false;
    buf_printf(out, "  kernel %d of %d: %s, driver %s, schedule %s\n", i + 1, r->n_launches, l->launch->name, l->launch->driver, l->schedule);
    if (l->launch->n_phases > 1)
        buf_printf(out, "    %d phases of one launch%s\n", l->launch->n_phases, l->launch->is_cooperative ? ", between which all blocks wait for each other" : "");
    for (int j = 0; j < l->n_copies; j++) buf_printf(out, "    copies %s into %s\n", l->copies[j].from, l->copies[j].into);
    for (int j = 0; j < l->n_lines; j++) put_line(out, &l->lines[j]);
    buf_puts(out, "    bytes ");
    put_size(out, &l->bytes);
    if (l->bytes.is_known && l->written.is_known)
        buf_printf(out, ", %lld read and %lld written", (long long)(l->bytes.value - l->written.value), (long long)l->written.value);
    buf_putc(out, '\n');
    if (l->launch->flops.n) {
        buf_puts(out, "    flops ");
        put_size(out, &l->flops);
        buf_putc(out, '\n');
    }
    buf_printf(out, "    predicted %.1f us, bound by %s; its bytes alone take %.1f us\n", l->seconds * 1e6, l->bound, l->memory_seconds * 1e6);
    for (int j = 0; j < l->n_rejected; j++)
        if (l->rejected[j].why) buf_printf(out, "    not %s: %s\n", l->rejected[j].schedule->name, l->rejected[j].why);
        else buf_printf(out, "    not %s: predicted %.1f us\n", l->rejected[j].schedule->name, l->rejected[j].seconds * 1e6);
    for (int j = 0; j < l->n_entries; j++) {
        put_entry(out, &l->entries[j]);
        is_chosen |= l->entries[j].is_chosen;
    }
    if (!is_chosen) buf_puts(out, "    no entry takes these extents\n");
}

void receipt_text(struct buf *out, const struct receipt *r) {
    put_head(out, r);
    put_totals(out, r);
    for (int i = 0; i < r->n_rules; i++) put_rule(out, &r->rules[i]);
    buf_puts(out, r->saved);
    for (int i = 0; i < r->n_buffers; i++) put_buffer(out, &r->buffers[i]);
    for (int i = 0; i < r->n_notes; i++) buf_printf(out, "  %s\n", r->notes[i]);
    for (int i = 0; i < r->n_launches; i++) put_launch(out, r, i);
}
