/* Compiles what fx emits for the examples and the cuda goldens with NVRTC, for an Ampere and a Hopper target. The front
 * end reads every entry: no error and no warning. The entries that launches take are compiled to machine code, each by
 * itself as fx_prepare does: no error, no warning but of spills, and no launch takes an entry that spills, whatever the
 * extents and the arguments; of the examples' entries on sm_90a none that may be launched spills. Which entries spill
 * is the compiler's doing and differs between its releases; what takes their place is fx's. Then chains of open
 * extents, of which no entry on wgmma may spill so much that it is passed over. Needs no GPU. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "lib/runtime.h"
#include "suite.h"

static glob_t specs;
static const char *const arches[] = {"sm_80", "sm_90a"};

static char *read_all(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *text = malloc(1 << 20);
    *len = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

/* ---- one file ---- */

struct file {
    const char *path;
    const struct fx_plan *plan;
    struct fx_resources *compiled; /* by number of the entry */
    int n_compiled, n_spilling;
};

/* The log but for what it says of spills, which the cubin says too, and of fences that the compiler adds between the
 * products of a warpgroup and other uses of their registers (C7519): they order, and serialise nothing. */
static const char *unexpected_line(const char *log) {
    for (const char *line = log; line && *line;) {
        size_t n = strcspn(line, "\n");
        if (n && !memmem(line, n, "spill", 5) && !memmem(line, n, "(C7519)", 7)) return line;
        line += n + (line[n] == '\n');
    }
    return NULL;
}

static void read_entry(struct file *f, const struct fx_variant *v, struct task *t) {
    ck_assert_msg(t->status == FX_OK, "%s of %s for %s: %s", v->entry, f->path, f->plan->arch,
        t->error ? t->error : "out of memory");
    const char *line = unexpected_line(t->compile.log);
    ck_assert_msg(!line, "%s of %s for %s: the compiler says:\n%s", v->entry, f->path, f->plan->arch, line);
    struct fx_resources *r = &f->compiled[v->number];
    ck_assert_msg(
        fx_cubin_resources(t->compile.image, t->compile.n_bytes, v->entry, r) == FX_OK, "%s", fx_last_error());
    ck_assert_int_gt(r->registers, 0);
    f->n_spilling += r->local_bytes > 0;
}

/* The front end says nothing of any entry. With -dlto NVRTC stops after it: the linker would optimise. */
static void check_front_end(const struct fx_plan *plan, const char *path) {
    char arch[64], *log;
    const char *const list[] = {arch, "--std=c++17", "-dlto"};
    void *program;
    size_t n;
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", plan->arch);
    ck_assert_int_eq(nvrtc_open(), FX_OK);
    ck_assert_int_eq(cuda_nvrtc.nvrtcCreateProgram(&program, plan->source, "spec.cu", 0, NULL, NULL), 0);
    int code = cuda_nvrtc.nvrtcCompileProgram(program, sizeof list / sizeof *list, list);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetProgramLogSize(program, &n), 0);
    log = calloc(n + 1, 1);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetProgramLog(program, log), 0);
    ck_assert_msg(code == 0 && !*log, "%s for %s: the compiler says (%d):\n%s", path, plan->arch, code, log);
    ck_assert_int_eq(cuda_nvrtc.nvrtcDestroyProgram(&program), 0);
    free(log);
}

static void compile_entries(struct file *f, const struct fx_variant *const *entries, int n) {
    struct task *tasks = calloc((size_t)n + 1, sizeof *tasks);
    for (int i = 0; i < n; i++)
        tasks[i].compile = (struct compile){
            .source = f->plan->source, .file = "spec.cu", .arch = f->plan->arch, .only = entries[i]->number};
    tasks_compile(tasks, n, getenv("FX_CACHE_DIR") != NULL);
    for (int i = 0; i < n; i++) {
        read_entry(f, entries[i], &tasks[i]);
        ck_assert_int_eq(task_release(&tasks[i]), FX_OK);
    }
    free(tasks);
}

/* ---- what is launched ---- */

static uint64_t state = 1;
static int draw(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* Extents that the kernel's equations allow; false where these are none. */
static bool draw_extents(const struct fx_kernel *k, int64_t *extents) {
    static const int64_t sizes[] = {1, 2, 3, 8, 15, 16, 64, 100, 127, 128, 256, 1000, 1024, 4096, 8192};
    char message[256];
    for (int e = 0; e < k->n_extents; e++) {
        bool is_solved = false;
        for (int i = 0; i < k->n_equations; i++) is_solved |= k->equations[i].extent == e;
        extents[e] = k->extents[e].value >= 0 ? k->extents[e].value
                     : is_solved              ? -1
                                              : sizes[draw(sizeof sizes / sizeof *sizes)];
    }
    if (fx_solve_extents(k, extents, message, sizeof message) != FX_OK) return false;
    for (int e = 0; e < k->n_extents; e++)
        if (extents[e] < 0) return false;
    return true;
}

/* Entries that launches take and that were not compiled yet. */
struct wanted {
    const struct fx_variant **entries;
    int n;
};

/* An entry that is not compiled yet counts as one that does not spill. */
static void launch_once(
    const struct file *f, const struct fx_kernel *k, const int64_t *extents, struct wanted *wanted) {
    unsigned align[FX_MAX_PARAMS];
    int64_t strides[FX_MAX_STRIDES];
    int even = draw(3); /* all arguments aligned, none, or each as it comes */
    for (int i = 0; i < k->n_params; i++) align[i] = even == 0 ? 256 : even == 1 ? 1 : 1u << draw(9);
    fx_row_major_strides(k, extents, strides);
    struct fx_env env = {
        .extents = extents, .align = align, .sm_count = draw(2) ? 132 : 108, .strides = draw(4) ? strides : NULL};
    struct fx_partition p = fx_get_partition(k, fx_choose_partition(k, &env));
    for (int i = p.first_launch; i < p.first_launch + p.n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        const struct fx_resources *of[128];
        ck_assert_int_le(l->n_variants, 128);
        for (int v = 0; v < l->n_variants; v++) of[v] = &f->compiled[l->variants[v].number];
        int v = fx_choose_compiled(l, &env, of);
        if (v < 0) continue;
        ck_assert_msg(of[v]->local_bytes == 0, "%s for %s: %s is launched and spills %d bytes", f->path, f->plan->arch,
            l->variants[v].entry, of[v]->local_bytes);
        bool is_known = of[v]->registers > 0;
        for (int w = 0; w < wanted->n && !is_known; w++) is_known = wanted->entries[w] == &l->variants[v];
        if (!is_known) wanted->entries[wanted->n++] = &l->variants[v];
    }
}

/* Always the same launches. */
static void launch_many(const struct file *f, const struct fx_kernel *k, struct wanted *wanted) {
    enum { N_LAUNCHES = 1000, MOST_DRAWN = 200000 }; /* of kernels with equations few draws fit */
    int64_t extents[FX_MAX_EXTENTS];
    int n = 0;
    state = 1;
    for (int i = 0; n < N_LAUNCHES && i < MOST_DRAWN; i++) {
        if (!draw_extents(k, extents)) continue;
        launch_once(f, k, extents, wanted);
        n++;
    }
    ck_assert_msg(n >= N_LAUNCHES / 10, "%s of %s: its extents were drawn %d times only", k->name, f->path, n);
}

/* Compiles what launches take, then what they take instead of entries that are passed over, until all is compiled. */
static void compile_launched(struct file *f, const struct fx_kernel *k) {
    struct wanted wanted = {.entries = calloc((size_t)fx_entry_count(f->plan) + 1, sizeof *wanted.entries)};
    do {
        compile_entries(f, wanted.entries, wanted.n);
        f->n_compiled += wanted.n;
        wanted.n = 0;
        launch_many(f, k, &wanted);
    } while (wanted.n);
    free(wanted.entries);
}

START_TEST(nothing_launched_spills) {
#ifdef __SANITIZE_ADDRESS__
    SKIP_TEST("what NVRTC makes of emitted code is the same under sanitizers");
#endif
    size_t len;
    struct file f = {.path = specs.gl_pathv[_i / 2]};
    char *text = read_all(f.path, &len);
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.arch = arches[_i % 2];
    /* By one name, so that the disk cache knows the text of an example that is a golden too. */
    ck_assert_int_eq(fx_compile(text, len, "spec.fx", &options, &c), FX_OK);
    f.plan = fx_get_plan(c);
    f.compiled = calloc((size_t)fx_entry_count(f.plan) + 1, sizeof *f.compiled);
    check_front_end(f.plan, f.path);
    for (int i = 0; i < f.plan->n_kernels; i++) compile_launched(&f, &f.plan->kernels[i]);
    if (getenv("FX_TEST_VERBOSE"))
        printf("%s for %s: %d of %d entries compiled, %d spill\n", f.path, f.plan->arch, f.n_compiled,
            fx_entry_count(f.plan), f.n_spilling);
    if (strncmp(f.path, "examples/", 9) == 0 && strcmp(f.plan->arch, "sm_90a") == 0)
        ck_assert_msg(f.n_spilling == 0, "%d entries of %s spill", f.n_spilling, f.path);
    free(f.compiled);
    free(text);
    fx_close(c);
}
END_TEST

/* ---- chains of open extents ---- */

/* What generated specs are and no example is: chains of open extents, with entries for which sums, and what epilogues
 * read, leave few registers. A kernel with limits has a scheduler, of few registers, that spills once a tile. */
static const struct {
    const char *spec;
    int most_local; /* bytes */
} chains[] = {
    {"kernel t(x: f16[M,K], w: f16[K,N], v: f16[N,P]) -> y: f16[M,P] { y = relu(x @ w) @ v }", 0},
    {"kernel t(x: f16[M,K], w: f16[K,N], v: f16[N,P]) -> y: f16[P,M] { h = f16(x @ w)\n y = h @ v }", 0},
    {"kernel t(x: f16[M,K], w: f16[K,N], v: f16[N,P], r: f16[M,P], b: f16[P]) -> y: f16[M,P] {\n"
     "  y = relu(x @ w) @ v + r + b\n}",
        0},
    {"kernel t(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E], g: bf16[B,S,E]) -> y: bf16[B,S,E] {\n"
     "  y = (softmax[T](where(idx(T) <= idx(S), q @[D] k, -inf)) @[T] v) * sigmoid(g)\n}",
        160},
    {"kernel t(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E], c: f32) -> y: bf16[B,S,E] {\n"
     "  y = softmax[T]((q @[D] k) * c) @[T] v\n}",
        0},
    {"kernel t(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E], c: f32) -> y: bf16[B,S,E] {\n"
     "  y = softmax[T](where(idx(T) <= idx(S), (q @[D] k) * c, -inf)) @[T] v\n}",
        192},
};

/* No entry on wgmma is passed over. */
static void takes_entries(const struct file *f, const struct fx_launch *l, int most_local) {
    struct task tasks[64] = {0};
    int n = 0;
    for (int v = 0; v < l->n_variants && n < 64; v++)
        if (l->variants[v].takes_maps)
            tasks[n++].compile = (struct compile){.source = f->plan->source,
                .file = f->path,
                .arch = f->plan->arch,
                .only = l->variants[v].number};
    tasks_compile(tasks, n, getenv("FX_CACHE_DIR") != NULL);
    n = 0;
    for (int v = 0; v < l->n_variants && n < 64; v++) {
        if (!l->variants[v].takes_maps) continue;
        struct file one = *f;
        read_entry(&one, &l->variants[v], &tasks[n]);
        const struct fx_resources *r = &f->compiled[l->variants[v].number];
        ck_assert_msg(r->local_bytes <= most_local && !fx_is_passed_over(l, v, r), "%s: %s has %d bytes of local memory",
            f->path, l->variants[v].entry, r->local_bytes);
        ck_assert_int_eq(task_release(&tasks[n++]), FX_OK);
    }
    ck_assert_int_gt(n, 0);
}

START_TEST(no_open_chain_is_passed_over) {
#ifdef __SANITIZE_ADDRESS__
    SKIP_TEST("what NVRTC makes of emitted code is the same under sanitizers");
#endif
    struct file f = {.path = chains[_i].spec};
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    int n_chains = 0;
    options.arch = "sm_90a";
    ck_assert_int_eq(fx_compile(f.path, strlen(f.path), "t.fx", &options, &c), FX_OK);
    f.plan = fx_get_plan(c);
    f.compiled = calloc((size_t)fx_entry_count(f.plan) + 1, sizeof *f.compiled);
    for (int i = 0; i < f.plan->kernels[0].n_launches; i++) {
        if (strcmp(f.plan->kernels[0].launches[i].driver, "chain") != 0) continue;
        takes_entries(&f, &f.plan->kernels[0].launches[i], chains[_i].most_local);
        n_chains++;
    }
    ck_assert_int_gt(n_chains, 0);
    free(f.compiled);
    fx_close(c);
}
END_TEST

int main(void) {
    if (glob("examples/*.fx", 0, NULL, &specs) != 0 || glob("tests/golden/cuda/*.fx", GLOB_APPEND, NULL, &specs) != 0)
        return 1;
    Suite *s = suite_create("nvrtc");
    TCase *t = tcase_create("emitted");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, nothing_launched_spills, 0, 2 * (int)specs.gl_pathc);
    suite_add_tcase(s, t);
    TCase *open = tcase_create("chains");
    tcase_set_timeout(open, 600);
    tcase_add_loop_test(open, no_open_chain_is_passed_over, 0, sizeof chains / sizeof *chains);
    suite_add_tcase(s, open);
    int status = run_suite(s);
    globfree(&specs);
    return status;
}
