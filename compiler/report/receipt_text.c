/* A receipt as text, for people: the summary of `fxc explain`, and the whole of `fxc explain -v`. */
#include "report/receipt.h"

#include <stdio.h>
#include <string.h>

/* "M * N * 4 = 65536" */
/* " on an H200" */
static void put_gpu(struct buf *out, const struct arch *m) {
    buf_printf(out, " on %s %s", strchr("AEFHILMNORSX", *m->gpu) ? "an" : "a", m->gpu);
}

static void put_size(struct buf *out, const struct receipt_size *s) {
    char number[32];
    int n = snprintf(number, sizeof number, "%lld", (long long)s->value);
    if (!s->is_known) buf_printf(out, "%s, which overflows", s->text);
    else if ((size_t)n == strlen(s->text) && strcmp(number, s->text) == 0) buf_puts(out, number);
    else buf_printf(out, "%s = %s", s->text, number);
}

/* 1 as "kernel", 2 as "kernels" */
static const char *kernels(int n) { return n == 1 ? "kernel" : "kernels"; }

static void put_time(struct buf *out, double seconds) {
    static const struct { double most, unit; const char *name; } units[] = {
        {0.9995, 1e-3, "ms"},
        {120, 1, "s"},
        {7200, 60, "minutes"},
        {172800, 3600, "hours"},
        {3.2e7, 86400, "days"},
    };
    if (seconds * 1e6 < 999.95) {
        buf_printf(out, "%.1f us", seconds * 1e6);
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!(seconds < units[i].most)) continue;
        buf_printf(out, "%.3g %s", seconds / units[i].unit, units[i].name);
        return;
    }
    buf_puts(out, "more than a year");
}

/* "1 kernel", "2 kernels and 1 once" */
static void put_count(struct buf *out, const struct receipt *r, const char *what) {
    const int n = r->n_launches - r->n_once;
    buf_printf(out, "%d %s%s", n, what, n == 1 ? "" : "s");
    if (r->n_once) buf_printf(out, " and %d once", r->n_once);
}

static void put_head(struct buf *out, const struct receipt *r) {
    const struct fx_kernel *k = r->kernel;
    buf_printf(out, "%s: partition `%s`, ", k->name, r->partition);
    put_count(out, r, "kernel");
    buf_puts(out, ", predicted ");
    put_time(out, r->seconds);
    put_gpu(out, r->arch);
    buf_putc(out, '\n');
    for (int i = 0; i < r->n_others; i++) {
        buf_printf(out, "  not `%s`, %d %s, ", r->others[i].name, r->others[i].n_kernels,
                   kernels(r->others[i].n_kernels));
        put_time(out, r->others[i].seconds);
        buf_printf(out, ": %s\n", r->others[i].why);
    }
    for (int fixed = 1; fixed >= 0; fixed--) {
        int n = 0;
        for (int i = 0; i < k->n_extents; i++) {
            if ((k->extents[i].value >= 0) != fixed) continue;
            buf_printf(out, "%s %s=%lld",
                n++     ? ""
                : fixed ? "  extents:"
                        : "  nominal extents, which -D NAME=VALUE replaces:",
                k->extents[i].name, (long long)r->extents[i]);
        }
        if (n) buf_putc(out, '\n');
    }
}

/* "  where M <= 64: `chain`, 1 kernel; else `fused`, 2 kernels, here" */
static void put_partitions(struct buf *out, const struct receipt *r) {
    for (int i = 0; i < r->n_partitions; i++) {
        const struct receipt_partition *p = &r->partitions[i];
        if (p->where) buf_printf(out, "%s where %s: ", i ? "; else" : " ", p->where);
        else buf_puts(out, "; elsewhere ");
        buf_printf(out, "`%s`, %d %s, ", p->name, p->n_launches, kernels(p->n_launches));
        put_time(out, p->seconds);
        if (p->is_taken) buf_puts(out, ", here");
    }
    if (r->n_partitions) buf_putc(out, '\n');
}

static void put_totals(struct buf *out, const struct receipt *r) {
    if (r->is_known) buf_printf(out, "  bytes %lld", (long long)r->total);
    else buf_puts(out, "  bytes overflow");
    buf_printf(out, "; unfused, %d %s: ", r->kernel->n_unfused, kernels(r->kernel->n_unfused));
    put_size(out, &r->unfused);
    if (r->is_known && r->unfused.is_known && r->unfused.value > 0)
        buf_printf(out, "; %.3g of that", (double)r->total / (double)r->unfused.value);
    buf_putc(out, '\n');
}

static void put_rule(struct buf *out, const struct receipt_rule *rule) {
    buf_printf(out, "  rule %s at line %d", rule->rule, rule->line);
    if (rule->text) buf_printf(out, ": %s", rule->text);
    buf_printf(out, "; %.10g operations became %.10g\n", rule->before, rule->after);
}

static void put_buffer(struct buf *out, const struct receipt_buffer *b) {
    buf_printf(out, "  %s %s: ", b->is_kept ? "const" : "workspace", b->name);
    put_size(out, &b->bytes);
    buf_printf(out, " bytes, as %s: %s\n", b->dtype, b->why);
    if (b->is_rounded)
        buf_printf(out,
            "    rounded once to %s on the way to the contraction that reads it (language.md, Accumulation; `precision: ieee` forbids it)\n",
            b->dtype);
}

static void put_line(struct buf *out, const struct receipt_line *l) {
    buf_printf(out, "    line %d  %-9s  ", l->line, l->place);
    if (l->name) buf_printf(out, "%s = ", l->name);
    buf_puts(out, l->text);
    if (l->call) buf_printf(out, "   in %s", l->call);
    buf_putc(out, '\n');
}

static void put_entry(struct buf *out, const struct arch *m, const struct receipt_entry *e) {
    const struct fx_variant *v = e->variant;
    buf_printf(out, "    entry %s: %s, %d threads, ", v->entry, v->config, v->block);
    put_size(out, &e->shared);
    buf_puts(out, " bytes of shared memory");
    if (e->compiled) {
        buf_printf(out, ", %d registers, %d bytes of local memory", e->compiled->registers, e->compiled->local_bytes);
        if (e->compiled->shared_bytes) buf_printf(out, ", %d bytes of static shared memory", e->compiled->shared_bytes);
    }
    buf_putc(out, '\n');
    if (e->is_passed_over)
        buf_puts(out, "      would be launched here, but it spills: another of its kind takes its place\n");
    if (!e->is_chosen) return;
    buf_puts(out, "      launched here: grid ");
    put_size(out, &e->grid);
    buf_printf(out, ", %d block%s an SM, %lld wave%s on %d SMs\n", e->resident, e->resident == 1 ? "" : "s",
        (long long)e->waves, e->waves == 1 ? "" : "s", m->sms);
}

static void put_launch(struct buf *out, const struct receipt *r, int i) {
    const struct receipt_launch *l = &r->launches[i];
    bool is_chosen = false;
    buf_printf(out, "  kernel %d of %d%s: %s, driver %s, schedule %s\n", i + 1, r->n_launches,
        l->launch->is_once ? ", once" : "", l->launch->name, l->launch->driver, l->schedule);
    if (l->launch->is_beside)
        buf_printf(out, "    %d groups of one launch, their tiles beside each other\n", l->launch->n_phases);
    else if (l->launch->n_phases > 1)
        buf_printf(out, "    %d phases of one launch%s\n", l->launch->n_phases,
            l->launch->is_cooperative ? ", between which all blocks wait for each other" : "");
    for (int j = 0; j < l->n_copies; j++)
        buf_printf(out, "    copies %s into %s\n", l->copies[j].from, l->copies[j].into);
    for (int j = 0; j < l->n_lines; j++) put_line(out, &l->lines[j]);
    buf_puts(out, "    bytes ");
    put_size(out, &l->bytes);
    if (l->bytes.is_known && l->written.is_known)
        buf_printf(out, ", %lld read and %lld written", (long long)(l->bytes.value - l->written.value),
            (long long)l->written.value);
    buf_putc(out, '\n');
    if (l->launch->flops.n) {
        buf_puts(out, "    flops ");
        put_size(out, &l->flops);
        buf_putc(out, '\n');
    }
    buf_puts(out, "    predicted ");
    put_time(out, l->seconds);
    buf_printf(out, ", bound by %s; its bytes alone take ", l->bound);
    put_time(out, l->memory_seconds);
    buf_putc(out, '\n');
    for (int j = 0; j < l->n_rejected; j++) {
        buf_printf(out, "    not %s: ", l->rejected[j].schedule->name);
        if (l->rejected[j].why) buf_puts(out, l->rejected[j].why);
        else buf_puts(out, "predicted "), put_time(out, l->rejected[j].seconds);
        buf_putc(out, '\n');
    }
    for (int j = 0; j < l->n_entries; j++) {
        put_entry(out, r->arch, &l->entries[j]);
        is_chosen |= l->entries[j].is_chosen;
    }
    if (!is_chosen) buf_puts(out, "    no entry takes these extents\n");
}

void receipt_text(struct buf *out, const struct receipt *r) {
    put_head(out, r);
    put_partitions(out, r);
    put_totals(out, r);
    for (int i = 0; i < r->n_rules; i++) put_rule(out, &r->rules[i]);
    buf_puts(out, r->saved);
    for (int i = 0; i < r->n_buffers; i++) put_buffer(out, &r->buffers[i]);
    for (int i = 0; i < r->n_notes; i++) buf_printf(out, "  %s\n", r->notes[i]);
    for (int i = 0; i < r->n_launches; i++) put_launch(out, r, i);
}

/* ---- the summary ---- */

/* 13412304 and "B" as "13.4 MB" */
static void put_scaled(struct buf *out, int64_t value, const char *unit) {
    static const char prefixes[][2] = {"", "k", "M", "G", "T", "P", "E"};
    double v = (double)value;
    size_t i = 0;
    for (; v >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes; i++) v /= 1000;
    buf_printf(out, "%.3g %s%s", v, prefixes[i], unit);
}

/* An extent that a reader of the signature knows: one that a tensor of it has. */
static bool is_declared(const struct fx_kernel *k, int extent) {
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; j < k->params[i].rank; j++)
            if (k->params[i].extents[j] == extent) return true;
    return false;
}

static void put_brief_head(struct buf *out, const struct receipt *r) {
    const struct fx_kernel *k = r->kernel;
    buf_printf(out, "%s: ", k->name);
    put_count(out, r, "GPU kernel");
    buf_puts(out, ", predicted ");
    put_time(out, r->seconds);
    put_gpu(out, r->arch);
    for (int fixed = 1; fixed >= 0; fixed--) {
        int n = 0;
        for (int i = 0; i < k->n_extents; i++) {
            if ((k->extents[i].value >= 0) != fixed || !is_declared(k, i)) continue;
            buf_printf(out, "%s %s=%lld", n++ ? "" : fixed ? " at" : ", nominal", k->extents[i].name,
                       (long long)r->extents[i]);
        }
        if (n && !fixed) buf_puts(out, " (-D replaces)");
    }
    if (r->is_known) buf_puts(out, "; moves "), put_scaled(out, r->total, "B");
    else buf_puts(out, "; its bytes overflow");
    if (r->is_known && r->unfused.is_known && r->unfused.value > 0)
        buf_printf(out, ", %.3g of what %d unfused %s would", (double)r->total / (double)r->unfused.value, k->n_unfused,
                   kernels(k->n_unfused));
    buf_putc(out, '\n');
}

/* What a person looks for: a function of the language as it was called, else the expression. */
static const char *words_of(const struct receipt_line *l) { return l->call ? l->call : l->text; }

/* Whether line j of a launch adds nothing: another computation of the same line in the same place has it as a part, or
 * says the same before. */
static bool is_told(const struct receipt_launch *l, int j) {
    const struct receipt_line *a = &l->lines[j];
    for (int i = 0; i < l->n_lines; i++) {
        const struct receipt_line *b = &l->lines[i];
        if (i == j || a->line != b->line || strcmp(a->place, b->place) != 0) continue;
        bool is_same = strcmp(words_of(a), words_of(b)) == 0;
        if (is_same ? i < j : strstr(words_of(b), words_of(a)) != NULL) return true;
    }
    return false;
}

/* A row for each line of the spec: "line 3: mainloop x @ w; epilogue y = gelu(x @ w + b)". */
static void put_brief_lines(struct buf *out, const struct receipt_launch *l) {
    int line = -1;
    const char *place = "";
    for (int j = 0; j < l->n_lines; j++) {
        const struct receipt_line *x = &l->lines[j];
        if (is_told(l, j)) continue;
        if (x->line != line) {
            buf_printf(out, "%s    line %d: ", line < 0 ? "" : "\n", x->line);
            place = "";
        } else {
            buf_puts(out, "; ");
        }
        if (strcmp(place, x->place) != 0) buf_printf(out, "%s ", x->place);
        if (x->name && !x->call) buf_printf(out, "%s = ", x->name);
        buf_puts(out, words_of(x));
        line = x->line, place = x->place;
    }
    if (line >= 0) buf_putc(out, '\n');
}

static void put_brief_entry(struct buf *out, const struct receipt_entry *e) {
    buf_printf(out, "    launches %s: grid ", e->variant->entry);
    if (e->grid.is_known) buf_printf(out, "%lld", (long long)e->grid.value);
    else buf_puts(out, "that overflows");
    buf_printf(out, ", %d threads, %lld bytes of shared memory", e->variant->block, (long long)e->shared.value);
    if (e->compiled) buf_printf(out, ", %d registers", e->compiled->registers);
    if (e->compiled && e->compiled->local_bytes)
        buf_printf(out, ", %d bytes of local memory", e->compiled->local_bytes);
    buf_printf(out, "; %d block%s an SM, %lld wave%s\n", e->resident, e->resident == 1 ? "" : "s", (long long)e->waves,
               e->waves == 1 ? "" : "s");
}

static void put_brief_launch(struct buf *out, const struct receipt *r, int i) {
    const struct receipt_launch *l = &r->launches[i];
    bool is_chosen = false;
    buf_printf(out, "  kernel %d, %s%s: %s", i + 1, l->launch->is_once ? "once, " : "", l->launch->name,
        l->launch->driver);
    if (strcmp(l->launch->driver, l->schedule) != 0) buf_printf(out, " by %s", l->schedule);
    if (l->launch->is_beside) buf_puts(out, " beside each other");
    else if (l->launch->n_phases > 1) buf_printf(out, " in %d phases", l->launch->n_phases);
    if (l->bytes.is_known) buf_puts(out, ", "), put_scaled(out, l->bytes.value, "B");
    if (l->flops.is_known && l->flops.value > 0) buf_puts(out, ", "), put_scaled(out, l->flops.value, "flop");
    buf_puts(out, ", ");
    put_time(out, l->seconds);
    buf_printf(out, " bound by %s\n", l->bound);
    for (int j = 0; j < l->n_copies; j++)
        buf_printf(out, "    copies %s into %s\n", l->copies[j].from, l->copies[j].into);
    put_brief_lines(out, l);
    for (int j = 0; j < l->n_entries; j++) {
        if (!l->entries[j].is_chosen) continue;
        put_brief_entry(out, &l->entries[j]);
        is_chosen = true;
    }
    if (!is_chosen) buf_puts(out, "    no entry takes these extents\n");
}

void receipt_summary(struct buf *out, const struct receipt *r) {
    put_brief_head(out, r);
    put_partitions(out, r);
    for (int i = 0; i < r->n_buffers; i++) {
        const struct receipt_buffer *b = &r->buffers[i];
        buf_printf(out, "  %s %s: ", b->is_kept ? "const" : "workspace", b->name);
        if (b->bytes.is_known) put_scaled(out, b->bytes.value, "B");
        else buf_puts(out, b->bytes.text);
        buf_printf(out, " of %s%s\n", b->dtype, b->is_rounded ? ", rounded once to it" : "");
    }
    for (int i = 0; i < r->n_launches; i++) put_brief_launch(out, r, i);
}
