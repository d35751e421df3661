/* Selects the configurations that match the pins of a kernel, and reports the nearest if there are none. */
#include "schedule/pins.h"

#include <string.h>

enum { MAX_OFFERS = 6 }; /* configurations that a message lists */

static bool fits_pin(const struct config *f, const struct pin *p) {
    if (strcmp(p->name, "tile") == 0)
        return p->values[0] == f->tile_m && p->values[1] == f->tile_n && (p->n < 3 || p->values[2] == f->tile_k);
    return p->values[0] == (strcmp(p->name, "stages") == 0 ? f->stages : f->block / 32);
}

static int n_pins_met(const struct kernel *k, const struct config *f) {
    int n = 0;
    for (int i = 0; i < k->n_pins; i++) n += fits_pin(f, &k->pins[i]);
    return n;
}

static bool fits_pins(const struct kernel *k, const struct config *f) { return n_pins_met(k, f) == k->n_pins; }

bool pins_apply(const struct graph *g, struct scheduled *s, const char **why_not) {
    bool fits[N_CONFIG_KINDS] = {false}, any = false;
    int n = 0;
    if (!g->kernel->n_pins || !s->group->contraction) return true;
    for (int i = 0; i < s->n_configs; i++) {
        if (s->configs[i].is_skinny) continue; /* a pin is of the tiles that take any extents */
        fits[kind_of(&s->configs[i])] |= fits_pins(g->kernel, &s->configs[i]);
        any |= fits_pins(g->kernel, &s->configs[i]);
    }
    if (!any) return *why_not = "no configuration of it has what is pinned", false;
    for (int i = 0; i < s->n_configs; i++)
        if (!s->configs[i].is_skinny && (!fits[kind_of(&s->configs[i])] || fits_pins(g->kernel, &s->configs[i])))
            s->configs[n++] = s->configs[i];
    s->n_configs = n;
    return true;
}

bool pins_have_subject(struct cx *cx, const struct graph *g) {
    const struct kernel *k = g->kernel;
    struct contraction c;
    if (!k->n_pins) return true;
    for (int i = 0; i < g->n_nodes; i++)
        if (as_contraction(g->nodes[i], &c)) return true;
    diag_error(cx, k->pins[0].span, D_PIN, "`%s` is pinned, but %s has no contraction", k->pins[0].name, k->name);
    diag_fix(cx, "leave `%s` out", k->pins[0].name);
    return false;
}

static void put_pin(struct buf *out, const struct pin *p) {
    buf_printf(out, p->n > 1 ? "%s: [" : "%s: ", p->name);
    for (int i = 0; i < p->n; i++) buf_printf(out, "%s%lld", i ? ", " : "", (long long)p->values[i]);
    if (p->n > 1) buf_puts(out, "]");
}

/* The pins of k, with the values that f has for them; f NULL: as they stand. */
static const char *pins_text(struct arena *a, const struct kernel *k, const struct config *f) {
    struct buf out;
    buf_init(&out, a);
    buf_puts(&out, "`");
    for (int i = 0; i < k->n_pins; i++) {
        struct pin p = k->pins[i];
        if (f && strcmp(p.name, "tile") == 0) p.values[0] = f->tile_m, p.values[1] = f->tile_n, p.values[2] = f->tile_k;
        else if (f) p.values[0] = strcmp(p.name, "stages") == 0 ? f->stages : f->block / 32;
        buf_puts(&out, i ? ", " : "");
        put_pin(&out, &p);
    }
    buf_puts(&out, "`");
    return out.s;
}

struct offers { /* configurations that differ in what is pinned, in order of preference */
    struct arena *arena;
    const struct kernel *kernel;
    int n_met; /* pins that each of them has: as many as any has */
    int n;
    const char **texts;
};

static void offer(struct offers *x, const struct config *f) {
    const int n_met = n_pins_met(x->kernel, f);
    if (f->is_skinny || n_met < x->n_met) return;
    if (n_met > x->n_met) x->n_met = n_met, x->n = 0;
    const char *text = pins_text(x->arena, x->kernel, f);
    for (int i = 0; i < x->n; i++)
        if (strcmp(x->texts[i], text) == 0) return;
    PUSH(x->arena, x->texts, x->n) = text;
}

void pins_refuse(struct cx *cx, const struct graph *g, const struct scheduled *const *tried, int n_tried) {
    struct offers x = {.arena = &cx->arena, .kernel = g->kernel};
    struct buf listed;
    for (int t = 0; t < n_tried; t++)
        for (int i = 0; i < tried[t]->n_configs; i++) offer(&x, &tried[t]->configs[i]);
    diag_error(cx, g->kernel->pins[0].span, D_NO_SCHEDULE, "the contraction %s has no configuration with %s",
        ir_quote(g, tried[0]->group->contraction), pins_text(&cx->arena, g->kernel, NULL));
    buf_init(&listed, &cx->arena);
    for (int i = 0; i < x.n && i < MAX_OFFERS; i++) {
        const bool is_last = i == x.n - 1;
        buf_printf(&listed, "%s%s", !i ? "" : is_last ? " or " : ", ", x.texts[i]);
    }
    if (x.n > MAX_OFFERS)
        buf_printf(&listed, ", or one of %d others: `fxc explain -v` lists all where nothing is pinned",
            x.n - MAX_OFFERS);
    diag_fix(cx, "pin %s", listed.s);
}
