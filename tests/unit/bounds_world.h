/* What the tests of access bounds share: kernels by hand, what is known of them as text, texts that are kept in files.
 *
 * Equations and requirements are written in postfix, a character a token: an upper-case letter is the extent of that
 * label, digits a number (a blank ends it), `s` the scalar, `r` a number of floats, `+ - * / %` floor division and what
 * is left, `d` an exact division, `;` min, `< { =` are < <= ==, `& | ^` and, or, not. */
#ifndef FX_TESTS_BOUNDS_WORLD_H
#define FX_TESTS_BOUNDS_WORLD_H

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_bounds.h"
#include "fx.h"

/* ---- a kernel by hand ---- */

enum { MAX_LETTERS = 26, MAX_PARAMS = 8 };

struct world {
    struct cx cx;
    struct checker c;
    struct kernel k;
    struct param params[MAX_PARAMS]; /* data of i32, i64, u8, then the scalar */
    int axis_of[MAX_LETTERS];        /* by letter, -1 */
    char letters[MAX_LETTERS][2];
    int n_letters;
    struct value *scalar;            /* once there is one */
    int n_ids;
};

static void world_init(struct world *w) {
    static struct bounds_scratch scratch;
    memset(w, 0, sizeof *w);
    w->c.bounds_scratch = &scratch;
    arena_init(&w->cx.arena, &w->cx.oom);
    w->c.cx = &w->cx;
    w->c.k = &w->k;
    w->k.params = w->params;
    w->k.n_params = 4;
    w->params[0].dtype = FX_I32;
    w->params[1].dtype = FX_I64;
    w->params[2].dtype = FX_U8;
    w->params[3].dtype = FX_I64;
    w->params[3].is_scalar = true;
    w->params[4] = w->params[3]; /* none of the kernel's */
    for (int i = 0; i < MAX_LETTERS; i++) w->axis_of[i] = -1;
}

static void world_release(struct world *w) { arena_release(&w->cx.arena); }

static int add_axis(struct world *w, char letter, int64_t extent) {
    w->letters[w->n_letters][0] = letter;
    struct name name = {w->letters[w->n_letters++], 1};
    PUSH(&w->cx.arena, w->k.axes, w->k.n_axes) = (struct axis){.name = name, .extent = extent, .part_of = -1};
    return w->axis_of[letter - 'A'] = w->k.n_axes - 1;
}

/* "HU3": H of any extent, U of extent 3. */
static void add_axes(struct world *w, const char *text) {
    while (*text) {
        char letter = *text++;
        add_axis(w, letter, isdigit((unsigned char)*text) ? strtol(text, (char **)&text, 10) : -1);
    }
}

static struct fx_expr terms_of(struct world *w, const char *text, size_t len) {
    struct fx_term *terms = NEW_ARRAY(&w->cx.arena, struct fx_term, 2 * len + 1);
    static const char ops[] = "+-*/%<{=&|^d;r";
    static const enum fx_term_op codes[] = {FX_T_ADD, FX_T_SUB, FX_T_MUL, FX_T_DIV, FX_T_MOD, FX_T_LT, FX_T_LE, FX_T_EQ,
        FX_T_AND, FX_T_OR, FX_T_NOT, FX_T_DIV_EXACT, FX_T_MIN, FX_T_REAL};
    int n = 0;
    for (const char *p = text; p < text + len;) {
        if (isdigit((unsigned char)*p)) terms[n++] = (struct fx_term){FX_T_CONST, strtol(p, (char **)&p, 10)};
        else if (isupper((unsigned char)*p)) terms[n++] = (struct fx_term){FX_T_EXTENT, w->axis_of[*p++ - 'A']};
        else if (*p == ' ') p++;
        else if (*p == 's') terms[n++] = (struct fx_term){FX_T_SCALAR, 3}, p++;
        else {
            const char *op = strchr(ops, *p++);
            if (!op) ck_abort_msg("no operator of the tests");
            terms[n++] = (struct fx_term){codes[op - ops], 0};
        }
    }
    return (struct fx_expr){n, terms};
}

/* "P=AB*,Q=T1-2/" */
static void add_equations(struct world *w, const char *text) {
    while (*text) {
        size_t len = strcspn(text, ",");
        PUSH(&w->cx.arena, w->k.equations, w->k.n_equations) = (struct equation){
            .axis = w->axis_of[*text - 'A'], .value = terms_of(w, text + 2, len - 2)};
        text += len + (text[len] == ',');
    }
}

static void add_requirements(struct world *w, const char *text) {
    while (*text) {
        size_t len = strcspn(text, ",");
        PUSH(&w->cx.arena, w->k.requirements, w->k.n_requirements) = (struct requirement){
            .holds = terms_of(w, text, len)};
        text += len + (text[len] == ',');
    }
}

/* ---- what is known ---- */

static void put_wide(struct buf *out, wide v) {
    char digits[48];
    int n = sizeof digits;
    wide left = v < 0 ? -v : v;
    do digits[--n] = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (v < 0) digits[--n] = '-';
    buf_put(out, digits + n, sizeof digits - (size_t)n);
}

static void put_poly(struct buf *out, const struct bounds *s, const struct poly *p);

static void put_atom(struct buf *out, const struct bounds *s, int atom) {
    const struct atom *a = &s->atoms[atom];
    if (a->axis >= 0) buf_put(out, s->of->axes[a->axis].name.s, 1);
    else if (a->kind == ATOM_QUOT) {
        buf_puts(out, "(");
        put_poly(out, s, a->a);
        buf_puts(out, " // ");
        put_poly(out, s, a->b);
        buf_puts(out, ")");
    } else {
        buf_printf(out, "%s%d",
            a->kind == ATOM_EXTENT  ? "multiple"
            : a->kind == ATOM_RANGE ? "scalar"
                                    : "choice",
            atom);
    }
}

static void put_poly(struct buf *out, const struct bounds *s, const struct poly *p) {
    if (p->is_lost) buf_puts(out, "lost");
    else if (p->n == 0) buf_puts(out, "0");
    for (int i = 0; i < p->n && !p->is_lost; i++) {
        if (i) buf_puts(out, " + ");
        put_wide(out, p->t[i].coefficient);
        for (int j = 0; j < p->t[i].n; j++) {
            buf_puts(out, " ");
            put_atom(out, s, p->t[i].atoms[j]);
        }
    }
}

static void put_known(struct buf *out, const struct bounds *s) {
    for (int i = 0; i < s->n_atoms; i++) {
        const struct atom *a = &s->atoms[i];
        buf_puts(out, "  ");
        put_atom(out, s, i);
        buf_puts(out, " in ");
        put_wide(out, a->lo);
        buf_puts(out, "..");
        put_wide(out, a->hi);
        if (a->def) {
            buf_puts(out, ", is ");
            put_poly(out, s, a->def);
        }
        buf_puts(out, "\n");
    }
    for (int i = 0; i < s->n_facts; i++) {
        buf_puts(out, "  0 <= ");
        put_poly(out, s, s->facts[i].p);
        buf_puts(out, "\n");
    }
    if (s->is_impossible) buf_puts(out, "  impossible\n");
}

static char *whole_file(const char *path) {
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (f && text) text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    if (f) fclose(f);
    return text;
}

/* Whether the file says the same; FX_UPDATE=1 writes it anew. */
static void check_recorded(const char *path, struct buf *out) {
    buf_put(out, "", 1);
    if (getenv("FX_UPDATE")) {
        FILE *f = fopen(path, "w");
        ck_assert(f && fputs(out->s, f) >= 0 && fclose(f) == 0);
    }
    char *want = whole_file(path);
    size_t same = 0, line = 0;
    while (out->s[same] && out->s[same] == want[same]) same++;
    for (line = same; line > 0 && out->s[line - 1] != '\n';) line--;
    ck_assert_msg(out->s[same] == want[same], "%s has\n%.*s\nwhere now there is\n%.*s", path,
        (int)strcspn(want + line, "\n"), want + line, (int)strcspn(out->s + line, "\n"), out->s + line);
    free(want);
}

#endif
