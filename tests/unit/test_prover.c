/* What the prover of access bounds knows, and what it shows of polynomials by hand.
 *
 * A script is postfix, a character a token; polynomials and conditions have a stack each. Digits make a number, `^`
 * takes the power of 2 it says, an upper-case letter but K and R is the extent of that label, a lower-case one what `=`
 * and that letter took off the stack (`s` the scalar to begin with), `# $ '` any i64, i32, u8, `[` any number between
 * two, `+ - * ~` calculate, `/ %` are floor division and remainder, `< { "` conditions < <= ==, `& | !` and, or, not,
 * `;` one that is not known, `?` the first of two where the condition holds, else the second. Of what is on top `.`
 * writes what it is, `@` its limits, `>` whether it is shown to be at least 0, and how; `,` assumes that it is; `\`
 * assumes the condition, `` ` `` its contrary. `( )` begin a case and leave it, `K` writes what is known, `R` forgets
 * the stack. */
#include "bounds_world.h"
#include "suite.h"

/* prover.txt says of every script what it writes. */
static const char recorded[] = "tests/unit/prover.txt";

static const struct { const char *what, *axes, *equations, *requirements, *script; } scripts[] = {
#include "prover_scripts.h"
};

struct script { /* at hand */
    struct world w;
    struct bounds *s;
    struct poly stack[64], named[26];
    const struct cond *conds[64];
    struct mark marks[8];
    int n, n_conds, n_marks;
};

static void put_line(struct buf *out, const struct script *x, const struct poly *p) {
    put_poly(out, x->s, p);
    buf_puts(out, "\n");
}

static void put_shown(struct buf *out, const struct script *x, bool ok) {
    buf_printf(out, "%s, %d goals, %d facts\n", ok ? "shown" : "not shown", x->s->steps, x->s->fact_limit);
}

/* A token that calculates. */
static bool calculate(struct script *x, char token) {
    struct poly *a = x->stack + x->n - 2, *b = x->stack + x->n - 1, p;
    switch (token) {
    case '+': case '-': poly_copy(&p, a), poly_add(&p, b, token == '+' ? 1 : -1); break;
    case '*': poly_multiply(&p, a, b); break;
    case '/': bounds_quotient(x->s, a, b, &p); break;
    case '%': bounds_remainder(x->s, a, b, &p); break;
    case '?': bounds_either(x->s, x->conds[--x->n_conds], a, b, &p); break;
    case '[': bounds_range(x->s, a->n ? a->t[0].coefficient : 0, b->n ? b->t[0].coefficient : 0, &p); break;
    default: return false;
    }
    x->n--;
    poly_copy(a, &p);
    return true;
}

static bool put_leaf(struct script *x, char token) {
    const enum fx_dtype t = token == '#' ? FX_I64 : token == '$' ? FX_I32 : FX_U8;
    struct poly *p = &x->stack[x->n];
    wide lo, hi;
    if (islower((unsigned char)token)) poly_copy(p, &x->named[token - 'a']);
    else if (isupper((unsigned char)token)) bounds_extent(x->s, x->w.axis_of[token - 'A'], p);
    else if (strchr("#$'", token)) bounds_integer_limits(t, &lo, &hi), bounds_range(x->s, lo, hi, p);
    else return false;
    x->n++;
    return true;
}

static bool put_cond(struct script *x, char token) {
    const struct cond **c = x->conds + x->n_conds;
    const struct poly *a = x->stack + x->n - 2, *b = x->stack + x->n - 1;
    switch (token) {
    case ';': *c = NULL; break;
    case '<': *c = bounds_compare(x->s, COND_LT, a, b); break;
    case '{': *c = bounds_compare(x->s, COND_LE, a, b); break;
    case '"': *c = bounds_compare(x->s, COND_EQ, a, b); break;
    case '!': c[-1] = bounds_cond(x->s, (struct cond){.kind = COND_NOT, .l = c[-1]}); return true;
    case '&': c[-2] = bounds_cond(x->s, (struct cond){.kind = COND_AND, .l = c[-2], .r = c[-1]}); break;
    case '|': c[-2] = bounds_cond(x->s, (struct cond){.kind = COND_OR, .l = c[-2], .r = c[-1]}); break;
    default: return false;
    }
    x->n -= token == '<' || token == '{' || token == '"' ? 2 : 0;
    x->n_conds += token == '&' || token == '|' ? -1 : 1;
    return true;
}

static void command(struct script *x, char token, struct buf *out) {
    wide lo, hi;
    switch (token) {
    case '~': poly_multiply(&x->stack[x->n], &x->stack[x->n - 1], &(struct poly){.n = 1, .t = {{.coefficient = -1}}});
        poly_copy(&x->stack[x->n - 1], &x->stack[x->n]);
        return;
    case '^': poly_number(&x->stack[x->n - 1], (wide)1 << x->stack[x->n - 1].t[0].coefficient); return;
    case '.': put_line(out, x, &x->stack[--x->n]); return;
    case '>': put_shown(out, x, bounds_show(x->s, &x->stack[--x->n])); return;
    case ',': bounds_assume(x->s, &x->stack[--x->n]); return;
    case '\\': bounds_assume_cond(x->s, x->conds[--x->n_conds], true); return;
    case '`': bounds_assume_cond(x->s, x->conds[--x->n_conds], false); return;
    case '(': x->marks[x->n_marks++] = bounds_mark(x->s); return;
    case ')': bounds_undo(x->s, x->marks[--x->n_marks]); return;
    case 'K': put_known(out, x->s); return;
    case 'R': x->n = 0; return;
    case '@':
        bounds_limits(x->s, &x->stack[--x->n], &lo, &hi);
        put_wide(out, lo);
        buf_puts(out, "..");
        put_wide(out, hi);
        buf_puts(out, "\n");
        return;
    default: ck_abort_msg("no token of the scripts: %c", token);
    }
}

/* A lower-case letter before the axes says what the scalar is of. */
static void script_init(struct script *x, const char *axes, const char *equations, const char *requirements) {
    static const char letters[] = "bfucv";
    static const enum fx_dtype scalars[] = {FX_BOOL, FX_F32, FX_U64, FX_I8, FX_U8};
    memset(x, 0, sizeof *x);
    world_init(&x->w);
    if (islower((unsigned char)*axes)) x->w.params[3].dtype = scalars[strchr(letters, *axes++) - letters];
    add_axes(&x->w, axes);
    add_equations(&x->w, equations);
    add_requirements(&x->w, requirements);
    x->s = bounds_of(&x->w.c);
    if (x->s->param_atoms[3] != NO_ATOM) poly_atom(&x->named['s' - 'a'], x->s->param_atoms[3]);
}

static void run_script(struct script *x, const char *text, struct buf *out) {
    for (const char *p = text; *p;) {
        ck_assert_msg(x->n >= 0 && x->n_conds >= 0 && x->n_marks >= 0, "nothing is left before %s of %s", p, text);
        if (isdigit((unsigned char)*p)) poly_number(&x->stack[x->n++], strtol(p, (char **)&p, 10));
        else if (*p == '=') poly_copy(&x->named[p[1] - 'a'], &x->stack[--x->n]), p += 2;
        else if (*p == ' ' || (!strchr("KR", *p) && put_leaf(x, *p)) || calculate(x, *p) || put_cond(x, *p)) p++;
        else command(x, *p++, out);
    }
}

START_TEST(scripts_say) {
    static struct cx cx;
    static struct script x;
    struct buf out;
    arena_init(&cx.arena, &cx.oom);
    buf_init(&out, &cx.arena);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        script_init(&x, scripts[i].axes, scripts[i].equations, scripts[i].requirements);
        buf_printf(&out, "%s\n", scripts[i].what);
        run_script(&x, scripts[i].script, &out);
        buf_printf(&out, "  %d atoms, %u narrowed\n\n", x.s->n_atoms, x.s->stamp);
        world_release(&x.w);
    }
    check_recorded(recorded, &out);
    arena_release(&cx.arena);
}
END_TEST

/* ---- as the checker reads on ---- */

/* What is said later counts from then on: equations, numbers of extents, labels, requirements. */
START_TEST(reads_on) {
    static struct cx cx;
    static struct script x;
    struct buf out;
    arena_init(&cx.arena, &cx.oom);
    buf_init(&out, &cx.arena);
    script_init(&x, "ABCDE", "", "AC{,CB{");
    run_script(&x, "AC2/-> (A5-, CA-> BA-1->) K", &out);
    add_equations(&x.w, "D=A2*,E=D1+");
    ck_assert_ptr_eq(bounds_of(&x.w.c), x.s);
    run_script(&x, "CA-> E.", &out);
    x.w.k.axes[0].extent = 7;
    add_axis(&x.w, 'F', 9);
    add_axis(&x.w, 'G', -1);
    add_requirements(&x.w, "GB{,AG{");
    ck_assert_ptr_eq(bounds_of(&x.w.c), x.s);
    run_script(&x, "CA-> C7-> C8-> BG-> B7-> A. E. F. K", &out);
    x.w.k.axes[0].extent = x.w.k.axes[1].extent = 7;
    ck_assert_ptr_eq(bounds_of(&x.w.c), x.s);
    run_script(&x, "(B5-,K) G7-> C7-> 7C-> B.", &out);
    buf_printf(&out, "  %d atoms, %u narrowed\n", x.s->n_atoms, x.s->stamp);
    struct kernel other = x.w.k;
    x.w.c.k = &other;
    ck_assert_ptr_ne(bounds_of(&x.w.c), x.s);
    x.s = bounds_of(&x.w.c);
    ck_assert_ptr_eq(x.s->of, &other);
    put_known(&out, x.s);
    check_recorded("tests/unit/prover_reads_on.txt", &out);
    world_release(&x.w);
    arena_release(&cx.arena);
}
END_TEST

/* A multiplier that is no extent of the kernel is defined as they are. */
START_TEST(multipliers_are_defined) {
    static struct script x;
    script_init(&x, "ABCD", "B=CD*", "A1%0=");
    add_equations(&x.w, "B=A");
    bounds_of(&x.w.c);
    run_script(&x, "ACD*-=d", NULL);
    ck_assert(x.named['d' - 'a'].n == 0 && !x.named['d' - 'a'].is_lost);
    world_release(&x.w);
}
END_TEST

START_TEST(types_have_limits) {
    static const struct { enum fx_dtype t; wide lo, hi; } types[] = {{FX_BOOL, 0, 1}, {FX_I8, -128, 127},
        {FX_U8, 0, 255}, {FX_I32, INT32_MIN, INT32_MAX}, {FX_I64, INT64_MIN, INT64_MAX}, {FX_U64, 0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        wide lo, hi;
        bounds_integer_limits(types[i].t, &lo, &hi);
        ck_assert(lo == types[i].lo && hi == types[i].hi);
    }
}
END_TEST

/* ---- limits ---- */

static wide limit_of(const struct script *x, int atom, bool is_upper) {
    struct poly p;
    wide lo, hi;
    poly_atom(&p, atom);
    bounds_limits(x->s, &p, &lo, &hi);
    return is_upper ? hi : lo;
}

START_TEST(kept_is_limited) {
    static struct script x;
    struct poly p;
    script_init(&x, "AB", "", "");
    poly_number(&p, 3);
    struct mark m = bounds_mark(x.s);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BOUNDS_POLYS; i++) ck_assert(!bounds_keep(x.s, &p)->is_lost);
        ck_assert(bounds_keep(x.s, &p)->is_lost);
        run_script(&x, "AB-,", NULL);
        ck_assert_int_eq(x.s->n_facts, 0);
        bounds_undo(x.s, m);
        bounds_of(&x.w.c);
    }
    run_script(&x, "AB-,", NULL);
    ck_assert_int_eq(x.s->n_facts, 1);
    world_release(&x.w);
}
END_TEST

/* At most so many ranges are narrowed at a time; what holds of the kernel narrows any number. */
START_TEST(narrowed_is_limited) {
    static struct script x;
    script_init(&x, "A", "", "");
    struct mark m = bounds_mark(x.s);
    for (int round = 0; round < 2; round++) {
        struct poly p;
        for (int i = 1; i < BOUNDS_TRAIL + 9; i++) {
            poly_atom(&p, 0);
            poly_add_number(&p, -i);
            bounds_assume(x.s, &p);
            ck_assert(limit_of(&x, 0, false) == (i <= BOUNDS_TRAIL ? i : BOUNDS_TRAIL));
        }
        bounds_undo(x.s, m);
        ck_assert(limit_of(&x, 0, false) == 0 && limit_of(&x, 0, true) == MAX_EXTENT);
        bounds_of(&x.w.c);
    }
    char required[16 * (BOUNDS_TRAIL + 9)] = "";
    for (int i = 1, n = 0; i < BOUNDS_TRAIL + 9; i++) n += sprintf(required + n, "%s%dA{", n ? "," : "", i);
    add_requirements(&x.w, required);
    bounds_of(&x.w.c);
    ck_assert(limit_of(&x, 0, false) == BOUNDS_TRAIL + 8);
    world_release(&x.w);
}
END_TEST

START_TEST(atoms_are_limited) {
    static struct script x;
    struct poly p;
    script_init(&x, "fA", "", "");
    ck_assert_int_eq(x.s->n_atoms, 1);
    for (int i = 1; i < UINT16_MAX; i++) {
        bounds_range(x.s, 0, i, &p);
        ck_assert(!p.is_lost && p.n == 1 && p.t[0].atoms[0] == i && limit_of(&x, i, true) == i);
    }
    for (int i = 0; i < 2; i++) {
        poly_number(&p, 3);
        bounds_range(x.s, 0, 1, &p);
        ck_assert(p.is_lost && p.n == 0);
        ck_assert_int_eq(x.s->n_atoms, UINT16_MAX);
    }
    world_release(&x.w);
}
END_TEST

/* a - 2^n * (a // 2 // 2 ..), n quotients in one another, a goal each. */
START_TEST(depth_is_limited) {
    for (int n = 1; n < 60; n++) {
        static struct script x;
        script_init(&x, "", "", "");
        char text[512] = "0 62^[=a a";
        for (int i = 0; i < n; i++) strcat(text, "2/");
        sprintf(text + strlen(text), "=q a%d^q*-", n);
        run_script(&x, text, NULL);
        ck_assert_msg(bounds_show(x.s, &x.stack[0]) == (n <= BOUNDS_DEPTH), "%d deep", n);
        ck_assert_int_eq(x.s->depth, 0);
        world_release(&x.w);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("prover");
    TCase *t = tcase_create("scripts");
    tcase_add_test(t, scripts_say);
    tcase_add_test(t, reads_on);
    tcase_add_test(t, multipliers_are_defined);
    tcase_add_test(t, types_have_limits);
    tcase_add_test(t, kept_is_limited);
    tcase_add_test(t, narrowed_is_limited);
    tcase_add_test(t, atoms_are_limited);
    tcase_add_test(t, depth_is_limited);
    suite_add_tcase(s, t);
    return run_suite(s);
}
