/* --emit=fx: what it prints compiles, to the same graph as the spec it was printed from. Compared after canonicalise,
 * cse and dce, by a hash of what each output is made of, labels told apart by the names they were printed under; that
 * the hash tells graphs apart is tested too. Over the goldens, the examples, the specs of the language's tests and
 * generated ones. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/grad.h"
#include "check/fx_print.h"
#include "graph/ir.h"
#include "passes/passes.h"
#include "spec_gen.h"
#include "suite.h"

extern const char fx_text_prelude[], fx_text_prelude_end[];

struct subject { /* a spec under test */
    struct cx cx;
    struct program *program; /* NULL: it has errors */
};

static void add_file(struct cx *cx, const char *name, const char *text, size_t len) {
    cx->files[cx->n_files] = (struct source_file){.name = name, .text = text, .len = len};
    source_index(cx, cx->n_files++);
}

static struct subject *subject_open(const char *text) {
    struct subject *s = calloc(1, sizeof *s);
    ck_assert(s != NULL);
    if (setjmp(s->cx.oom)) ck_abort_msg("out of memory");
    arena_init(&s->cx.arena, &s->cx.oom);
    s->cx.arch = arch_find("sm_90a");
    add_file(&s->cx, "t.fx", text, strlen(text));
    struct ast_file *file = fx_parse(&s->cx, 0);
    add_file(&s->cx, "prelude.fx", fx_text_prelude, (size_t)(fx_text_prelude_end - fx_text_prelude));
    struct ast_file *prelude = s->cx.n_errors ? NULL : fx_parse(&s->cx, 1);
    s->program = s->cx.n_errors ? NULL : fx_check(&s->cx, file, prelude, NULL, grad_kernel);
    if (s->cx.n_errors) s->program = NULL;
    return s;
}

static void subject_close(struct subject *s) {
    arena_release(&s->cx.arena);
    free(s);
}

static const char *messages(struct subject *s) {
    struct buf b;
    buf_init(&b, &s->cx.arena);
    diag_print(&s->cx, &b);
    return b.s;
}

static const char *printed(struct subject *s) {
    struct buf b;
    buf_init(&b, &s->cx.arena);
    for (int i = 0; i < s->program->n_kernels; i++) fx_print_kernel(&b, &s->program->kernels[i]);
    return b.s;
}

/* ---- what an output is made of, as a number ---- */

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_set(uint64_t h, const int *axes, int n, const int *label) {
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) sum += mix(1, (uint64_t)label[axes[i]]);
    return mix(h, sum);
}

static bool is_commutative(enum op op) {
    return op == O_ADD || op == O_MUL || op == O_MAX || op == O_MIN || op == O_AND || op == O_OR || op == O_EQ ||
           op == O_NE;
}

static uint64_t mix_args(uint64_t h, const struct node *n, const uint64_t *of, const int *label) {
    if (n->kind == N_OP && is_commutative(n->op)) return mix(h, of[n->args[0]->id] + of[n->args[1]->id]);
    if (n->kind != N_ACCESS) {
        for (int i = 0; i < n->n_args; i++) h = mix(h, of[n->args[i]->id]);
        return h;
    }
    uint64_t positions = 0;
    for (int i = 0; i < n->n_at; i++) positions += mix(mix(2, (uint64_t)label[n->at[i]]), of[n->args[1 + i]->id]);
    h = mix(mix(h, of[n->args[0]->id]), positions);
    return n->has_fill ? mix(h, of[n->args[n->n_args - 1]->id]) : h;
}

static uint64_t hash_node(const struct node *n, const uint64_t *of, const int *label) {
    uint64_t h = mix(mix(3, n->kind), n->dtype), bits = 0;
    memcpy(&bits, &n->num, sizeof bits);
    h = mix_set(h, n->axes, n->n_axes, label);
    if (n->kind == N_CONST) h = mix(h, fx_is_integer(n->dtype) ? (uint64_t)n->integer : bits);
    if (n->kind == N_SCALAR || n->kind == N_INPUT) h = mix(h, (uint64_t)n->param);
    if (n->kind == N_INDEX || n->kind == N_SIZE || n->kind == N_SCAN) h = mix(h, (uint64_t)label[n->axis]);
    if (n->kind == N_OP) h = mix(h, n->op);
    if (n->kind == N_CAST) h = mix(h, n->to);
    if (n->kind == N_SCAN) h = mix(h, n->reduction);
    if (n->kind == N_REDUCE) h = mix(mix_set(mix(h, n->reduction), n->reduced, n->n_reduced, label), n->may_round);
    return mix_args(h, n, of, label);
}

/* Of all outputs of a kernel, whose axes are numbered by label. */
static uint64_t hash_kernel(struct subject *s, const struct kernel *k, const int *label) {
    struct graph *g = pass_dce(pass_cse(pass_canonicalise(pass_cse(fx_lower(&s->cx, k)))));
    uint64_t *of = NEW_ARRAY(&s->cx.arena, uint64_t, g->n_nodes + 1), h = 4;
    for (int i = 0; i < g->n_nodes; i++) of[i] = hash_node(g->nodes[i], of, label);
    for (int i = 0; i < g->n_outputs; i++) h = mix(mix(h, (uint64_t)g->outputs[i].param), of[g->outputs[i].value->id]);
    return h;
}

static const char *ir_of(struct subject *s, const struct kernel *k) {
    struct buf b;
    buf_init(&b, &s->cx.arena);
    ir_print(&b, pass_dce(pass_cse(pass_canonicalise(pass_cse(fx_lower(&s->cx, k))))));
    return b.s;
}

/* ---- a kernel and itself, printed and read ---- */

/* The axes of b by the names those of a were printed under: label[axis of b] = axis of a. */
static void match_axes(
    struct subject *s, const struct kernel *a, const struct kernel *b, int *label, const char *text) {
    const char *const *names = fx_print_axis_names(&s->cx.arena, a);
    for (int i = 0; i < b->n_axes; i++) {
        label[i] = -1;
        for (int j = 0; j < a->n_axes; j++)
            if (name_is(b->axes[i].name, names[j])) label[i] = j;
        ck_assert_msg(label[i] >= 0, "no label was printed as " NAME_FMT ":\n%s", NAME_ARG(b->axes[i].name), text);
        ck_assert_msg(b->axes[i].extent == a->axes[label[i]].extent, NAME_FMT " is %lld, was %lld:\n%s",
            NAME_ARG(b->axes[i].name), (long long)b->axes[i].extent, (long long)a->axes[label[i]].extent, text);
    }
}

static void compare_kernels(
    struct subject *s, const struct kernel *a, struct subject *t, const struct kernel *b, const char *text) {
    int *own = NEW_ARRAY(&s->cx.arena, int, a->n_axes + 1), *label = NEW_ARRAY(&s->cx.arena, int, b->n_axes + 1);
    for (int i = 0; i < a->n_axes; i++) own[i] = i;
    match_axes(s, a, b, label, text);
    ck_assert_int_eq(a->n_params, b->n_params);
    for (int i = 0; i < a->n_params; i++) {
        ck_assert_str_eq(a->params[i].name, b->params[i].name);
        ck_assert_int_eq(a->params[i].dtype, b->params[i].dtype);
        ck_assert_int_eq(a->params[i].is_scalar, b->params[i].is_scalar);
        ck_assert_int_eq(a->params[i].n_axes, b->params[i].n_axes);
        for (int x = 0; x < a->params[i].n_axes; x++)
            ck_assert_int_eq(a->params[i].axes[x], label[b->params[i].axes[x]]);
    }
    ck_assert_msg(hash_kernel(s, a, own) == hash_kernel(t, b, label),
        "the graph of\n%s\nis\n%s\nwhen read again, it was\n%s", text, ir_of(t, b), ir_of(s, a));
}

/* How many kernels of the spec were compared; 0 when it has errors. */
static int round_trip(const char *text, const char *name) {
    struct subject *s = subject_open(text);
    int n = s->program ? s->program->n_kernels : 0;
    if (n) {
        const char *again = printed(s);
        struct subject *t = subject_open(again);
        ck_assert_msg(t->program != NULL, "%s:\n%s\nprinted as\n%s\nis refused:\n%s", name, text, again, messages(t));
        ck_assert_int_eq(t->program->n_kernels, n);
        for (int i = 0; i < n; i++) compare_kernels(s, &s->program->kernels[i], t, &t->program->kernels[i], again);
        subject_close(t);
    }
    subject_close(s);
    return n;
}

/* ---- specs ---- */

static const char *const patterns[] = {
    "tests/golden/*/*.fx", "examples/*.fx", "examples/*/*.fx", "tests/language/*.fx"};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    char *text = calloc(1, 1 << 20);
    ck_assert(text != NULL);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    (void)n;
    fclose(f);
    return text;
}

START_TEST(specs_of_the_tree) {
    int n_kernels = 0;
    for (int i = 0; i < N_PATTERNS; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0) continue;
        for (size_t f = 0; f < found.gl_pathc; f++) {
            char *text = read_file(found.gl_pathv[f]);
            n_kernels += round_trip(text, found.gl_pathv[f]);
            free(text);
        }
        globfree(&found);
    }
    ck_assert_int_ge(n_kernels, 15);
}
END_TEST

enum { N_BATCHES = 20, BATCH = 100 };

/* With its gradient by every float it is given. */
static void print_spec(struct buf *out, const struct spec *s) {
    int n = 0;
    spec_print(out, s);
    for (int i = 0; i < s->n_params; i++)
        if (strchr(s->params[i].dtype, 'f'))
            buf_printf(out, "%s%s", n++ ? ", " : "\nkernel back = grad(g, wrt: ", s->params[i].name);
    if (n) buf_puts(out, ")\n");
}

/* How many kernels were compared: gradients through gathers are refused, and the spec then stands by itself. */
static int generated(uint64_t seed) {
    struct arena a;
    jmp_buf oom;
    if (setjmp(oom)) ck_abort_msg("out of memory");
    arena_init(&a, &oom);
    struct buf text, alone;
    buf_init(&text, &a);
    buf_init(&alone, &a);
    print_spec(&text, spec_generate(&a, seed));
    spec_print(&alone, spec_generate(&a, seed));
    int n = round_trip(text.s, "a generated spec");
    if (n == 0) n = round_trip(alone.s, "a generated spec");
    arena_release(&a);
    return n;
}

START_TEST(generated_specs) {
    int n_compared = 0, n_gradients = 0;
    for (int i = 0; i < BATCH; i++) {
        int n = generated((uint64_t)(_i * BATCH + i + 1));
        n_compared += n > 0;
        n_gradients += n > 1;
    }
    ck_assert_int_eq(n_compared, BATCH);
    ck_assert_int_ge(n_gradients, BATCH / 2);
}
END_TEST

/* What the generator does not make; a gradient of most. */
static const char *const written[] = {
    "kernel f(x: f32[A,B]) -> y: f32[B,A] { y = x + 1 }",
    "kernel f(x: f32[A,B]) -> (y: f32[A], z: f32[A]) { y = sum[B](x)\n z = y }",
    "kernel f(x: f32[A]) -> y: f32[A,B=4] { y = x }",
    "kernel f(x: f32[A]) -> y: f32[] { y = -(-1.5) ** 2 - sum[A](-x) }",
    "kernel f(x: f32[A]) -> y: f32[A] { y = where(x > 0 && !(x > 2) || x == -1, inf, -inf) }",
    "kernel f(x: i32[A], y: u32[A], z: i64[A]) -> (a: i64[A], b: i32[A], c: i64[A]) { a = x + y\n b = x // 3 % -2\n c = z * 5000000000 }",
    "kernel f(x: i8[A]) -> (y: i8[A], b: bool[A], c: bool[]) { y = i8(x + 1)\n b = x > 3\n c = any[A](b) && all[A](x != 7) }",
    "kernel f(x: f64[A], y: f32[A]) -> z: f64[A] { z = x * 0.1 + f64(y) }",
    "kernel f(x: f16[A], s: f32 = 0.25, n: i32 = 3) -> y: f16[A] with { round: op } { y = x * s + n }",
    "kernel f(x: f32[A,B]) -> (m: f32[A], i: i64[A], c: f32[A,B]) { m = max[B](x)\n i = argmax[B](x)\n c = cumsum[B](x) * cumprod[A](x) }",
    "kernel f(x: f32[T]) -> y: f32[T] { y = x[T: size(T) - 1 - T] }",
    "kernel f(x: f32[T]) -> y: f32[T] { y = x[T: T - 1] ?? -inf }",
    "kernel f[U=3](x: f32[B,T]) -> z: f32[B, Q=(T-1)//2] { z = max[U](x[T: 2*Q+U] ?? -inf) }",
    "kernel f(x: f32[A,B]) -> y: f32[P,A] { y = x{B->P} }",
    "kernel f(x: f32[A,B]) -> y: f32[P=A*B] { y = x{(A,B)->P} }",
    "kernel f(x: f32[A,B,C]) -> y: f32[P=A*B*C] { y = x{(B,A,C)->P} }",
    "kernel f(x: f32[P]) -> y: f32[A,B=16] { y = x{P->(A,B)} }",
    "kernel f(x: f32[A,B,C]) -> y: f32[P=A*B*C] { y = x{(A,B,C)->P} }", /* and what is none: */
    "kernel f(x: f32[A,B,C]) -> y: f32[P=A*B*C] { y = x[A: P // (size(B) * size(C)), B: P % size(B), C: P % size(C)] }",
    "kernel f(x: f32[A,B,C]) -> y: f32[P=A*B*C] { y = x[A: P // (size(B) * size(C)), B: P // size(B) % size(B), C: P % size(C)] }",
    "kernel f(x: f32[A,B]) -> y: f32[P=A*B] { y = x[A: P // size(B), B: (P + 1) % size(B)] }",
    "kernel f(x: f32[A,B]) -> y: f32[P=A*B] { y = x[A: P % size(A), B: P % size(B)] }",
    "kernel f(x: f32[A,B], z: f32[Q=A*B]) -> y: f32[P=A*B,Q] { y = x[A: P // size(B), B: Q % size(B)] * z }",
    "kernel f(x: f32[F=2*N], y: f32[N]) -> z: f32[N] { l, r = halves[F->N](x)\n z = l * r * y }",
    "kernel f(x: f32[F=2*N], y: f32[N]) -> z: f32[N] { l, r = evenodd[F->N](x)\n z = l * r * y }",
    "kernel f(a: f32[A], b: f32[B]) -> c: f32[P=A+B] { c = concat[P](a{A->P}, b{B->P}) }",
    "kernel f(t: f32[V=10,E], i: i32[S]) -> e: f32[S,E] { e = t[V: i] ?? 0 }",
    "kernel f(x: f32[B,T]) -> z: f32[B,T] { z = softmax[T](x) + layernorm[T](x) * logsumexp[T](x) }",
    "kernel f(x: f32[P], P_1: f32[]) -> z: f32[Q=2*P] { t1 = x * P_1\n z = concat[Q](t1{P->Q}, t1{P->Q}) }",
    "kernel f(T: f32[T]) -> y: f32[T] { y = T * idx(T) }",
    "kernel f(x: f32[L], s: f32[G=L/8]) -> y: f32[L] { y = x * s[G: L/8] }",
    "kernel f(x: f32[L]) -> y: f32[L] { require L % 8 == 0 && L >= 8\n y = x }",
    "kernel f(x: f16[M,K], w: const f16[K,N]) -> y: f16[M,N] with { fuse: require, precision: ieee } { y = f16(x @ w) * 2 }",
    "kernel f(x: f32[A]) -> y: f32[A] { a = x + 1\n a = a * a\n a = a - x\n y = a * a }",
    "kernel f(p: f32, seed: u64, off: u64, x: f32[M,N]) -> (y: f32[M,N], keep: bool[M,N]) { keep = rand[M,N](seed, off) >= p\n y = where(keep, x / (1 - p), 0) }",
    "kernel f(x: f32[J,I], y: f32[J]) -> z: f32[J,I] { z = relu(x * y) }\nkernel b = grad(f, wrt: x, y)\nkernel bb = grad(b, wrt: dz, y)",
    "kernel f(x: f32[B,C,H,W], k: f32[O,C,U=3,V]) -> z: f32[B,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }\nkernel b = grad(f, wrt: x, k)",
    "kernel b = grad(f, wrt: x)\nkernel f(x: f32[B,T], g: f32[T]) -> z: f32[B,T] { z = softmax[T](x) * layernorm[T](g * x) }",
    "kernel f(x: f32[A,B]) -> y: f32[A] { y = prod[B](x) + max[B](x) }\nkernel b = grad(f, wrt: x)",
    "kernel f(x: f32[A,B]) -> y: f32[A,B] { y = cumsum[B](x) * cumprod[A](x) }\nkernel b = grad(f, wrt: x)",
    "kernel f(x: f32[L], s: f32[G=L/8]) -> y: f32[L] { y = x * s[G: L/8] }\nkernel b = grad(f, wrt: s)",
    "kernel f(x: f32[P=A*B], w: f32[A]) -> y: f32[B,A] { y = x{P->(A,B)} * w }\nkernel b = grad(f, wrt: x)",
};

START_TEST(written_specs) {
    struct subject *s = subject_open(written[_i]);
    ck_assert_msg(s->program != NULL, "%s\n%s", written[_i], messages(s));
    subject_close(s);
    ck_assert_int_ge(round_trip(written[_i], "spec"), 1);
}
END_TEST

/* Pairs that differ must have different hashes, or nothing above could fail. */
static const char *const different[][2] = {
    {"kernel f(x: f32[A,B]) -> y: f32[A,B] { y = x - x[A: 0] ?? 0 }",
        "kernel f(x: f32[A,B]) -> y: f32[A,B] { y = x[A: 0] ?? 0 - x }"},
    {"kernel f(x: f32[A,B]) -> y: f32[A] { y = sum[B](x) }", "kernel f(x: f32[A,B]) -> y: f32[B] { y = sum[A](x) }"},
    {"kernel f(x: f32[A,B]) -> y: f32[A] { y = max[B](x) }", "kernel f(x: f32[A,B]) -> y: f32[A] { y = min[B](x) }"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x + 2 }", "kernel f(x: f32[A]) -> y: f32[A] { y = x + 3 }"},
    {"kernel f(x: f32[A]) -> y: f16[A] { y = f16(x) }", "kernel f(x: f32[A]) -> y: f16[A] { y = bf16(x) }"},
    {"kernel f(x: f32[A]) -> y: f32[A] { y = x[A: A - 1] ?? 0 }",
        "kernel f(x: f32[A]) -> y: f32[A] { y = x[A: A + 1] ?? 0 }"},
    {"kernel f(x: f32[A], z: f32[A]) -> y: f32[A] { y = x / z }",
        "kernel f(x: f32[A], z: f32[A]) -> y: f32[A] { y = z / x }"},
};

START_TEST(hashes_differ) {
    uint64_t h[2];
    int label[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 2; i++) {
        struct subject *s = subject_open(different[_i][i]);
        ck_assert_msg(s->program != NULL, "%s", messages(s));
        h[i] = hash_kernel(s, &s->program->kernels[0], label);
        subject_close(s);
    }
    ck_assert_msg(h[0] != h[1], "%s\n%s", different[_i][0], different[_i][1]);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fx_print");
    TCase *t = tcase_create("round trip");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, specs_of_the_tree);
    tcase_add_loop_test(t, generated_specs, 0, N_BATCHES);
    tcase_add_loop_test(t, written_specs, 0, sizeof written / sizeof *written);
    tcase_add_loop_test(t, hashes_differ, 0, sizeof different / sizeof *different);
    suite_add_tcase(s, t);
    return run_suite(s);
}
