/* Every stage in a thread of the stack that fx.h states to be enough, on specs that stand at the limits of the
 * language: where a recursion takes more, the thread ends in a signal. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

/* ---- specs: a head, a part repeated before and behind the middle, a tail ---- */

static const struct deep {
    const char *name, *head, *before, *middle, *behind, *tail;
    int n;
} specs[] = {
#define KERNEL "kernel k(x: f32[M,N], w: f32[N,L], b: bool[M,N]) -> y: f32[M,N] {\n  y = "
    {"sum", KERNEL, "", "x", " + x", "\n}\n", 990},
    {"product", KERNEL, "", "x", " * x", "\n}\n", 990},
    {"mixed", KERNEL, "", "x", " + x * 1.5 - exp(x)", "\n}\n", 490},
    {"powers", KERNEL, "", "x", " ** x", "\n}\n", 990},
    {"negations", KERNEL, "-", "x", "", "\n}\n", 990},
    {"conditions", KERNEL "where(", "", "b", " && b", ", x, 0)\n}\n", 980},
    {"parentheses", KERNEL, "(", "x", " + 1)", "\n}\n", 198},
    {"calls", KERNEL, "exp(", "x", ")", "\n}\n", 190},
    {"prelude", KERNEL, "mish(", "x", ")", "\n}\n", 60},
    {"norms", KERNEL, "softmax[N](", "x", ")", "\n}\n", 60},
    {"wheres", KERNEL, "where(x > 0, x, ", "x", ")", "\n}\n", 190},
    {"reductions", KERNEL, "sum[M](", "x", ") * x", "\n}\n", 60},
    {"products", KERNEL, "(", "x", " @ w @[L] w)", "\n}\n", 30},
    {"accesses", KERNEL, "x[N: clamp(i64(", "x", "), 0, size(N)-1)]", "\n}\n", 60},
    {"shifts", KERNEL, "(", "x", "[N: N + 1] ?? 0)", "\n}\n", 60},
    {"relabels", KERNEL, "", "x", "{N->J}{J->N}", "\n}\n", 99},
    {"gradient", "kernel k(x: f32[M]) -> y: f32 { y = sum[M](x", "", "", " + x * x",
        ") }\nkernel g = grad(k, wrt: x)\n", 330},
    {"positions", "kernel k(x: f32[N], s: i32) -> y: f32[N] {\n  y = x[N", "", "", " + s", "] ?? 0\n}\n", 980},
    {"extents", "kernel k[P=1", "", "", " + 1", "](x: f32[P]) -> y: f32[P] { y = x }\n", 980},
    {"extent_terms", "kernel k[P=N", "", "", " // 2 + N", "](x: f32[N]) -> y: f32[P] { y = 0 * idx(P) + sum[N](x) }\n",
        300},
    {"requires", "kernel k(x: f32[N]) -> y: f32[N] {\n  require N > 0", "", "", " && N % 2 == 0", "\n  y = x\n}\n",
        480},
    {"constants", "const a = 1", "", "", " + 1", "\nkernel k(x: f32[N]) -> y: f32[N] { y = a * x }\n", 980},
    {"statements", "kernel k(x: f32[N]) -> y: f32[N] {\n  a = x\n", "", "", "  a = exp(a) + x\n", "  y = a\n}\n", 2000},
    {"bindings", "kernel k(x: f32[N]) -> y: f32[N] {\n  a = x\n", "", "", "  a = where(a > 0, a, x * a)\n",
        "  y = a\n}\n", 1000},
    {"reads", "kernel k(x: f32[N], i: i64[N]) -> y: f32[N] {\n  a = x\n", "", "", "  a = a[N: i] ?? 0\n",
        "  y = a\n}\n", 1000},
    {"scans", "kernel k(x: f32[N]) -> y: f32[N] {\n  a = x\n", "", "", "  a = cumsum[N](a) + x\n", "  y = a\n}\n", 100},
    {"fns", "fn f(v) = v", "", "", " + v", "\nkernel k(x: f32[N]) -> y: f32[N] { y = f(f(f(x))) + x }\n", 900},
    {"gradients", "kernel k(x: f32[N]) -> y: f32 {\n  a = x\n", "", "", "  a = tanh(a) * x\n",
        "  y = sum[N](a)\n}\nkernel g = grad(k, wrt: x)\n", 200},
#undef KERNEL
};
enum { N_SPECS = sizeof specs / sizeof *specs };

static char *deep_text(const struct deep *s) {
    char *text;
    size_t room;
    FILE *f = open_memstream(&text, &room);
    ck_assert_ptr_nonnull(f);
    fputs(s->head, f);
    for (int i = 0; i < s->n; i++) fputs(s->before, f);
    fputs(s->middle, f);
    for (int i = 0; i < s->n; i++) fputs(s->behind, f);
    fputs(s->tail, f);
    fclose(f);
    return text;
}

/* ---- everything that a thread may ask for ---- */

struct work {
    const char *text;
    fx_status status, evaluated;
    bool has_texts;
    char says[1000];
};

/* Of a kernel whose extents are all free: at 2, every input of zeros. */
static fx_status evaluate(const fx_compilation *c, char *message, size_t size) {
    static const char zeros[256];
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    struct fx_host inputs[8];
    double value[1];
    int64_t element = 0;
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        if (!p->is_input) continue;
        inputs[n] = (struct fx_host){.dtype = p->dtype, .rank = p->rank, .data = zeros};
        for (int a = 0; a < p->rank; a++)
            inputs[n].extents[a] = k->extents[p->extents[a]].value >= 0 ? k->extents[p->extents[a]].value : 2;
        n++;
    }
    return fx_evaluate(c, k->name, inputs, n, 0, &element, 1, value, NULL, FX_BOUND_INDEPENDENT, NULL, message, size);
}

static void *act(void *user) {
    struct work *w = user;
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c = NULL;
    w->status = fx_compile(w->text, strlen(w->text), "deep.fx", &options, &c);
    if (c) snprintf(w->says, sizeof w->says, "%s", fx_messages(c));
    w->has_texts = w->status == FX_OK;
    for (int t = FX_TEXT_AST; w->status == FX_OK && t <= FX_TEXT_NOTES; t++)
        w->has_texts &= fx_text(c, (enum fx_text)t) != NULL;
    if (w->status == FX_OK) {
        w->has_texts &= fx_receipt(c, FX_FORMAT_TEXT, NULL) && fx_receipt(c, FX_FORMAT_JSON, NULL) &&
                        fx_receipt(c, FX_FORMAT_SUMMARY, NULL);
        w->evaluated = evaluate(c, w->says, sizeof w->says);
    }
    fx_close(c);
    return NULL;
}

START_TEST(fits_the_stack) {
#ifdef __SANITIZE_ADDRESS__
    SKIP_TEST("the address sanitizer makes frames larger");
#endif
    struct work w = {.text = deep_text(&specs[_i])};
    pthread_attr_t a;
    pthread_t t;
    ck_assert_int_eq(pthread_attr_init(&a), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&a, FX_STACK_BYTES), 0);
    ck_assert_int_eq(pthread_create(&t, &a, act, &w), 0);
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    ck_assert_msg(w.status == FX_OK, "%s: %s", specs[_i].name, w.says); /* what a limit refuses shows nothing */
    ck_assert_msg(w.has_texts, "%s: a text is missing", specs[_i].name);
    ck_assert_msg(w.evaluated == FX_OK, "%s: %s", specs[_i].name, w.says);
    pthread_attr_destroy(&a);
    free((char *)w.text);
}
END_TEST

/* One level more than the limits is refused, not tried. */
START_TEST(deeper_is_refused) {
    static const struct deep deeper[] = {
        {"sum", "kernel k(x: f32[N]) -> y: f32[N] { y = ", "", "x", " + x", " }\n", 1001},
        {"relabels", "kernel k(x: f32[N]) -> y: f32[N] { y = ", "", "x", "{N->J}{J->N}", " }\n", 101},
        {"parentheses", "kernel k(x: f32[N]) -> y: f32[N] { y = ", "(", "x", ")", " }\n", 300},
    };
    struct work w = {.text = deep_text(&deeper[_i])};
    act(&w);
    ck_assert_int_eq(w.status, FX_ERR_COMPILE);
    ck_assert_msg(strstr(w.says, "FX1007") != NULL, "%s", w.says);
    free((char *)w.text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("stack");
    TCase *t = tcase_create("stack");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, fits_the_stack, 0, N_SPECS);
    tcase_add_loop_test(t, deeper_is_refused, 0, 3);
    suite_add_tcase(s, t);
    return run_suite(s);
}
