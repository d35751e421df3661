/* Files compiled ahead of time (fx_ahead): they compile without warnings as C99 and C++17, export what their header
 * declares, take the code of the device and the variant of the plan, and survive any call of the driver failing.
 *
 * The driver is the stand-in of tests/fake, which the file finds as it finds the driver: by name, in a folder of
 * LD_LIBRARY_PATH, with which this program starts itself again. Machine code is any bytes, for the stand-in does not
 * look into it. Every test runs in a process of its own. */
#include "fx.h"

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static const char linear[] =
    "kernel lin(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }\n";
typedef int lin_launch(void *stream, const void *x, const void *w, const void *b, void *y, void *workspace, long long m,
    long long k, long long n);
typedef int lin_workspace(size_t *bytes, long long m, long long k, long long n);

/* ---- compiling ---- */

enum { MAX_IMAGES = 4 };

struct built { /* a file, compiled and perhaps loaded */
    fx_compilation *compiled[MAX_IMAGES];
    struct fx_image images[MAX_IMAGES];
    int n;
    char dir[200];
    char *text, *header;
    void *library;
};

static void write_file(const char *dir, const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
}

/* Runs a command in the folder; what it says, at most `size` bytes, is part of the failure. */
static void run(const char *dir, const char *command, char *said, size_t size) {
    char line[1000];
    snprintf(line, sizeof line, "cd '%s' && { %s; } 2>&1", dir, command);
    FILE *p = popen(line, "r");
    ck_assert(p != NULL);
    size_t n = fread(said, 1, size - 1, p);
    said[n] = 0;
    ck_assert_msg(pclose(p) == 0, "%s\n%.1500s", command, said);
}

static const char *tool(const char *variable, const char *usual) {
    const char *given = getenv(variable);
    return given && *given ? given : usual;
}

/* A folder with nothing but the file and its header. */
static void put_together(
    struct built *b, const char *spec, const char *const *arches, const struct fx_resources *compiled) {
    for (b->n = 0; arches[b->n]; b->n++) {
        struct fx_options o = FX_OPTIONS;
        o.arch = arches[b->n];
        fx_status status = fx_compile(spec, strlen(spec), "t.fx", &o, &b->compiled[b->n]);
        ck_assert_msg(status == FX_OK, "%s", fx_messages(b->compiled[b->n]));
        b->images[b->n] = (struct fx_image){
            fx_get_plan(b->compiled[b->n]), arches[b->n], strlen(arches[b->n]) + 1, compiled};
    }
    ck_assert_int_eq(fx_ahead(b->images, b->n, "t", false, &b->text), FX_OK);
    ck_assert_int_eq(fx_ahead(b->images, b->n, "t", true, &b->header), FX_OK);
    mkdir(FX_TEST_DIR, 0777);
    snprintf(b->dir, sizeof b->dir, "%s/aot.XXXXXX", FX_TEST_DIR);
    ck_assert(mkdtemp(b->dir) != NULL);
    write_file(b->dir, "t.c", b->text);
    write_file(b->dir, "t.h", b->header);
}

static void load(struct built *b) {
    char path[300], whole[PATH_MAX];
    snprintf(path, sizeof path, "%s/t.so", b->dir);
    ck_assert(realpath(path, whole) != NULL);
    b->library = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(b->library != NULL, "%s", dlerror());
}

static struct built build(const char *spec, const char *const *arches, const struct fx_resources *compiled) {
    struct built b = {0};
    char command[400], said[4000];
    put_together(&b, spec, arches, compiled);
    snprintf(command, sizeof command,
        "%s -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -o t.so t.c -ldl -lpthread", tool("CC", "cc"));
    run(b.dir, command, said, sizeof said);
    load(&b);
    return b;
}

static void tear_down(struct built *b) {
    char said[400];
    if (b->library) dlclose(b->library);
    run(b->dir, "rm -f t.c t.h t.so t.o", said, sizeof said);
    ck_assert_int_eq(rmdir(b->dir), 0);
    for (int i = 0; i < b->n; i++) fx_close(b->compiled[i]);
    free(b->text);
    free(b->header);
}

static void *symbol(void *library, const char *name) {
    void *p = dlsym(library, name);
    ck_assert_msg(p != NULL, "%s is missing", name);
    return p;
}

/* ---- the stand-in ---- */

static struct {
    void (*let_fail)(const char *name, int nth, int code);
    int (*has_failed)(void);
    const char *(*log)(void);
    void (*clear)(void);
    int (*live)(void);
    void (*device)(int version, int capability);
    void (*share)(int n_bytes);
    void *(*launched)(void);
    void *(*make_current)(void);
} fake;

/* What "libcuda.so.1" is from now on, until it is loaded; NULL: nothing. */
static void put_driver(const char *file) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("FX_TEST_DRIVER"));
    unlink(path);
    if (file) ck_assert_int_eq(symlink(file, path), 0);
}

static void open_fake(void) {
    const char *folder = getenv("FX_TEST_FAKES");
    char path[PATH_MAX], whole[PATH_MAX];
    snprintf(path, sizeof path, "%s/fake_cuda.so", folder ? folder : FX_TEST_DIR);
    ck_assert_msg(realpath(path, whole) != NULL, "%s is not there", path);
    put_driver(whole);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&fake.let_fail = symbol(library, "fake_cuda_fail");
    *(void **)&fake.has_failed = symbol(library, "fake_cuda_has_failed");
    *(void **)&fake.log = symbol(library, "fake_cuda_log");
    *(void **)&fake.clear = symbol(library, "fake_cuda_clear");
    *(void **)&fake.live = symbol(library, "fake_cuda_live");
    *(void **)&fake.device = symbol(library, "fake_cuda_device");
    *(void **)&fake.share = symbol(library, "fake_cuda_share");
    *(void **)&fake.launched = symbol(library, "fake_cuda_launched");
    *(void **)&fake.make_current = symbol(library, "fake_cuda_make_current");
}

static int prepare(const struct built *b) { return ((int (*)(void))symbol(b->library, "lin_prepare"))(); }
static int unload(const struct built *b) { return ((int (*)(void))symbol(b->library, "t_unload"))(); }
static const char *error_name(const struct built *b, int error) {
    return ((const char *(*)(int))symbol(b->library, "t_error_name"))(error);
}
static int workspace(const struct built *b, size_t *bytes, long long m, long long k, long long n) {
    return ((lin_workspace *)symbol(b->library, "lin_workspace"))(bytes, m, k, n);
}
static int launch(const struct built *b, long long m, long long k, long long n) {
    void *at = (void *)(uintptr_t)0x700000000000;
    return ((lin_launch *)symbol(b->library, "lin_launch"))(NULL, at, at, at, at, at, m, k, n);
}

/* ---- what is emitted ---- */

static const char *const both[] = {"sm_80", "sm_90a", NULL};

static const char *const specs[] = {
    linear,
    "kernel gated(x: bf16[M,K], w: bf16[K,N], u: bf16[N,P]) -> y: bf16[M,P] {\n  y = silu(relu(x @ w) @ u)\n}\n",
    "kernel move(x: f32[M,N] strided, i: i32[M,K=1] strided, y: inout f16[M,N] strided) -> z: bf16[N,M] strided { y = y + x\n z = x * i[K: 0] }\n"
    "kernel scaled(x: f32[M,N], s: f64, t: bool, u: f16) -> y: f32[M,N] { require s > 0\n y = where(t, x * f32(s), f32(u)) }\n",
    /* Names that are words of C, or what the file calls its own things. */
    "kernel fx(int: f32[return,for=3], m: f32[]) -> r: f32[return,for] { r = exp(int) * m }\n"
    "kernel cuInit(stream: f32[workspace,bytes]) -> args: f32[workspace,bytes] { args = relu(stream) }\n"
    "kernel fx_sm_80(x: f32[N]) -> y: f32[N] { y = x }\n",
};
enum { N_SPECS = sizeof specs / sizeof *specs };

/* Functions that the header declares, in the order of the alphabet. */
static const char declared[] = "sed -nE 's/^(int|const char \\*) ?([A-Za-z0-9_]+)\\(.*/\\2/p' t.h | sort >declared";

START_TEST(compiles_everywhere) {
    static const char *const flags[] = {"-std=c99", "-std=c11 -O2", "-std=c99 -include t.h"};
    struct built b = {0};
    char command[600], said[4000];
    put_together(&b, specs[_i], both, NULL);
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        snprintf(command, sizeof command, "%s %s -Wall -Wextra -Wpedantic -Werror -c -o t.o t.c", tool("CC", "cc"),
            flags[f]);
        run(b.dir, command, said, sizeof said);
    }
    snprintf(command, sizeof command,
        "%s && nm -g --defined-only t.o | awk '{ print $3 }' | sort | cmp - declared; rm declared", declared);
    run(b.dir, command, said, sizeof said);
    snprintf(command, sizeof command, "%s -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -c -o t.o t.c",
        tool("FX_CXX", "g++"));
    run(b.dir, command, said, sizeof said);
    tear_down(&b);
}
END_TEST

/* ---- which code, which variant ---- */

START_TEST(takes_the_code_of_the_device) {
    static const char *const arches[] = {"sm_80", "sm_90a", "sm_87", "sm_89", NULL};
    static const struct {
        int capability;
        const char *code; /* NULL: none */
    } rows[] = {{75, NULL}, {80, "sm_80"}, {86, "sm_80"}, {87, "sm_87"}, {88, "sm_80"}, {89, "sm_89"}, {90, "sm_90a"},
        {100, NULL}, {121, NULL}};
    open_fake();
    fake.make_current();
    struct built b = build(linear, arches, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[64];
        fake.device(13000, rows[i].capability);
        fake.clear();
        ck_assert_int_eq(prepare(&b), rows[i].code ? 0 : -3);
        snprintf(wanted, sizeof wanted, "cuLibraryLoadData %s\n", rows[i].code ? rows[i].code : "");
        ck_assert_msg(!rows[i].code == !strstr(fake.log(), wanted), "%d: %s", rows[i].capability, fake.log());
        ck_assert_int_eq(unload(&b), 0);
        ck_assert_int_eq(fake.live(), 0);
    }
    ck_assert_str_eq(error_name(&b, -3), "t_NO_CODE");
    tear_down(&b);
}
END_TEST

/* The variant that the plan's rule takes, among those that fit into a block's shared memory. */
static const char *expected(const struct fx_plan *p, long long m, long long k, long long n, int most_shared,
    const struct fx_resources *compiled) {
    const struct fx_resources *of[128] = {0};
    static const struct fx_resources unknown;
    enum { MOST_EXTENTS = 16 };
    int64_t extents[MOST_EXTENTS], shared;
    char message[256];
    ck_assert_int_le(p->kernels[0].n_extents, MOST_EXTENTS);
    for (int e = 0; e < p->kernels[0].n_extents; e++) {
        const char *name = p->kernels[0].extents[e].name;
        extents[e] = p->kernels[0].extents[e].is_made ? -1 : *name == 'M' ? m : *name == 'K' ? k : n;
    }
    ck_assert_int_eq(fx_solve_extents(&p->kernels[0], extents, message, sizeof message), FX_OK);
    struct fx_env env = {.extents = extents, .sm_count = 132};
    const struct fx_partition taken = fx_get_partition(&p->kernels[0], fx_choose_partition(&p->kernels[0], &env));
    const struct fx_launch *l = &p->kernels[0].launches[taken.first_launch + taken.n_launches - 1]; /* the last one */
    for (int v = 0; v < l->n_variants; v++) {
        ck_assert(fx_expr_eval(&l->variants[v].smem, &env, &shared));
        if (shared <= most_shared) of[v] = compiled ? &compiled[l->variants[v].number] : &unknown;
    }
    int v = fx_choose_compiled(l, &env, of);
    return v < 0 ? NULL : l->variants[v].entry;
}

static const long long extents[][3] = {{1, 4096, 4096}, {17, 512, 1024}, {128, 64, 128}, {1024, 4096, 4096},
    {33, 65, 17}, {8192, 8192, 8192}, {4096, 128, 256}};
enum { N_EXTENTS = sizeof extents / sizeof *extents };

static void check_choices(
    const struct built *b, const struct fx_plan *p, int most_shared, const struct fx_resources *compiled) {
    for (int i = 0; i < N_EXTENTS; i++) {
        const long long *e = extents[i];
        size_t bytes = 1;
        ck_assert_int_eq(workspace(b, &bytes, e[0], e[1], e[2]), 0);
        ck_assert_int_eq(launch(b, e[0], e[1], e[2]), 0);
        const char *entry = expected(p, e[0], e[1], e[2], most_shared, compiled);
        ck_assert_msg(strcmp(entry, fake.launched()) == 0, "%lld %lld %lld: %s, expected %s", e[0], e[1], e[2],
            (const char *)fake.launched(), entry);
    }
}

START_TEST(takes_the_variant_of_the_plan) {
    open_fake();
    fake.make_current();
    struct built b = build(linear, both, NULL);
    fake.device(13000, 90);
    check_choices(&b, b.images[1].plan, 232448, NULL);
    ck_assert_int_eq(unload(&b), 0);
    fake.device(13000, 80);
    fake.share(166912);
    check_choices(&b, b.images[0].plan, 166912, NULL);
    ck_assert_int_eq(unload(&b), 0);
    /* What runs the code of another has less. */
    fake.device(13000, 86);
    fake.share(101376);
    check_choices(&b, b.images[0].plan, 101376, NULL);
    ck_assert_int_eq(launch(&b, -1, 2, 3), 1);
    ck_assert_str_eq(error_name(&b, 1), "CUDA_ERROR_INVALID_VALUE");
    ck_assert_int_eq(launch(&b, 0, 2, 3), 0); /* nothing to do */
    ck_assert_int_eq(unload(&b), 0);
    tear_down(&b);
}
END_TEST

/* Of what spills more than it may another of its kind takes the place. */
START_TEST(passes_over_what_spills) {
    struct fx_resources compiled[256] = {{0}};
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    open_fake();
    fake.make_current();
    ck_assert_int_eq(fx_compile(linear, strlen(linear), "t.fx", &o, &c), FX_OK);
    const struct fx_plan *p = fx_get_plan(c);
    const struct fx_kernel *k = &p->kernels[0];
    const int product = fx_get_partition(k, fx_partition_count(k) - 1).first_launch; /* of what lies as it should */
    const struct fx_launch *l = &k->launches[product];
    ck_assert_int_lt(fx_entry_count(p), 256);
    /* Of every kind the last but one spills, and what is taken first for the largest product. */
    for (int v = 0; v + 1 < l->n_variants; v++)
        if (l->variants[v].kind == l->variants[v + 1].kind && v % 2 == 0)
            compiled[l->variants[v].number].local_bytes = 4096;
    fx_close(c);
    struct built b = build(linear, (const char *const[]){"sm_90a", NULL}, compiled);
    bool is_any = false;
    l = &b.images[0].plan->kernels[0].launches[product];
    for (int v = 0; v < l->n_variants; v++) is_any |= fx_is_passed_over(l, v, &compiled[l->variants[v].number]);
    ck_assert(is_any);
    check_choices(&b, b.images[0].plan, 232448, compiled);
    ck_assert_int_eq(unload(&b), 0);
    tear_down(&b);
}
END_TEST

/* ---- failures ---- */

static int run_all(const struct built *b) {
    size_t bytes;
    int r = prepare(b);
    if (r == 0) r = workspace(b, &bytes, 128, 64, 64);
    if (r == 0) r = launch(b, 128, 64, 64);
    if (r == 0) r = launch(b, 1, 64, 64);
    int u = unload(b);
    return r ? r : u;
}

START_TEST(any_call_may_fail) {
    static const char *const calls[] = {"cuInit", "cuDriverGetVersion", "cuCtxGetDevice", "cuDeviceGetAttribute",
        "cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelSetAttribute", "cuTensorMapEncodeTiled", "cuLaunchKernel",
        "cuLaunchKernelEx", "cuLibraryUnload"};
    open_fake();
    fake.make_current();
    struct built b = build(linear, both, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int nth = 1;
        for (bool has_failed = true; has_failed; nth++) {
            fake.clear();
            fake.let_fail(calls[i], nth, 2);
            int r = run_all(&b);
            has_failed = fake.has_failed();
            ck_assert_msg(r == (has_failed ? 2 : 0), "%s %d: %d", calls[i], nth, r);
            /* It works the next time, whatever failed; what could not be given back is lost. */
            fake.clear();
            ck_assert_msg(run_all(&b) == 0, "%s %d is not recovered from", calls[i], nth);
            ck_assert_msg(
                fake.live() == (has_failed && i == 10) || i == 10, "%s %d leaves %d", calls[i], nth, fake.live());
            if (i < 2) { /* once a process, or a loading of the file */
                dlclose(b.library);
                load(&b);
            }
            ck_assert_int_lt(nth, 1000);
        }
        ck_assert_msg(nth > 2 || !strcmp(calls[i], "cuLaunchKernel"), "%s is not called", calls[i]);
    }
    ck_assert_str_eq(error_name(&b, 2), "CUDA_ERROR_OUT_OF_MEMORY");
    ck_assert_str_eq(error_name(&b, 0), "CUDA_SUCCESS");
    ck_assert_str_eq(error_name(&b, INT_MIN), "unknown");
    tear_down(&b);
}
END_TEST

START_TEST(no_context) {
    open_fake();
    struct built b = build(linear, both, NULL);
    ck_assert_int_eq(prepare(&b), 201);
    ck_assert_int_eq(launch(&b, 1, 2, 3), 201);
    fake.make_current();
    ck_assert_int_eq(launch(&b, 1, 2, 3), 0);
    tear_down(&b);
}
END_TEST

START_TEST(no_driver) {
    put_driver(NULL);
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) SKIP_TEST("there is a driver");
    struct built b = build(linear, both, NULL);
    ck_assert_int_eq(prepare(&b), -1);
    ck_assert_int_eq(launch(&b, 1, 2, 3), -1);
    ck_assert_str_eq(error_name(&b, -1), "t_NO_DRIVER");
    ck_assert_str_eq(error_name(&b, 700), "unknown");
    ck_assert_int_eq(unload(&b), 0);
    tear_down(&b);
}
END_TEST

START_TEST(old_driver) {
    char command[600], said[1000], path[300], whole[PATH_MAX];
    struct built b = build(linear, both, NULL);
    snprintf(command, sizeof command,
        "printf 'int cuInit(unsigned f) { return (int)f; }\\n' | %s -x c -shared -fPIC -o old.so -", tool("CC", "cc"));
    run(b.dir, command, said, sizeof said);
    snprintf(path, sizeof path, "%s/old.so", b.dir);
    ck_assert(realpath(path, whole) != NULL);
    put_driver(whole);
    ck_assert_int_eq(prepare(&b), -2);
    ck_assert_str_eq(error_name(&b, -2), "t_OLD_DRIVER");
    ck_assert_int_eq(unload(&b), 0);
    remove(path);
    tear_down(&b);
}
END_TEST

/* ---- threads ---- */

enum { N_THREADS = 8 };
static pthread_barrier_t start;

static void *launch_often(void *user) {
    const struct built *b = user;
    int r = 0;
    fake.make_current();
    pthread_barrier_wait(&start);
    for (int i = 0; i < 4 && r == 0; i++) r = launch(b, 1 + i, 64, 64);
    return (void *)(intptr_t)r;
}

START_TEST(threads_load_once) {
    pthread_t threads[N_THREADS];
    void *r;
    open_fake();
    struct built b = build(linear, both, NULL);
    ck_assert_int_eq(pthread_barrier_init(&start, NULL, N_THREADS), 0);
    for (int i = 0; i < N_THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &b), 0);
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &r), 0);
        ck_assert_ptr_null(r);
    }
    const char *first = strstr(fake.log(), "cuLibraryLoadData ");
    ck_assert(first && !strstr(first + 1, "cuLibraryLoadData "));
    ck_assert_int_eq(fake.live(), 1);
    ck_assert_int_eq(unload(&b), 0);
    ck_assert_int_eq(fake.live(), 0);
    tear_down(&b);
}
END_TEST

/* ---- misuse ---- */

START_TEST(what_does_not_go_together) {
    struct built b = {0};
    char *text = NULL;
    put_together(&b, linear, both, NULL);
    struct fx_image other[2] = {b.images[0], b.images[0]};
    ck_assert_int_eq(fx_ahead(other, 2, "t", false, &text), FX_ERR_USAGE); /* one arch twice */
    ck_assert_int_eq(fx_ahead(b.images, 0, "t", false, &text), FX_ERR_USAGE);
    ck_assert_int_eq(fx_ahead(b.images, 2, "", false, &text), FX_ERR_USAGE);
    ck_assert_int_eq(fx_ahead(b.images, 2, "a/b", false, &text), FX_ERR_USAGE);
    other[1] = b.images[1];
    other[1].cubin = NULL;
    ck_assert_int_eq(fx_ahead(other, 2, "t", false, &text), FX_ERR_USAGE);
    static const char another[] = "kernel f(x: f32[N]) -> y: f32[N] { y = x }";
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    ck_assert_int_eq(fx_compile(another, strlen(another), "u.fx", &o, &c), FX_OK);
    other[1] = (struct fx_image){fx_get_plan(c), "c", 2, NULL};
    ck_assert_int_eq(fx_ahead(other, 2, "t", false, &text), FX_ERR_USAGE);
    ck_assert_ptr_null(text);
    fx_close(c);
    tear_down(&b);
}
END_TEST

/* Slices of k, which one architecture has and the other has not, are no reason: nobody is given their extents. Other
 * fixed extents are one. */
START_TEST(extents_of_schedules) {
    static const char *const defines[2] = {"K=4096", "K=512"};
    fx_compilation *c[3];
    struct fx_image images[2];
    char *text = NULL;
    for (int i = 0; i < 3; i++) {
        struct fx_options o = FX_OPTIONS;
        o.arch = both[i == 0];
        o.defines = &defines[i == 2], o.n_defines = 1;
        ck_assert_int_eq(fx_compile(linear, strlen(linear), "t.fx", &o, &c[i]), FX_OK);
        if (i < 2) images[i] = (struct fx_image){fx_get_plan(c[i]), "c", 2, NULL};
    }
    ck_assert_int_ne(images[0].plan->kernels[0].n_extents, images[1].plan->kernels[0].n_extents);
    ck_assert_int_eq(fx_ahead(images, 2, "t", true, &text), FX_OK);
    ck_assert(strstr(text, "long long M_, long long N_);") != NULL);
    free(text);
    images[1].plan = fx_get_plan(c[2]);
    ck_assert_int_eq(fx_ahead(images, 2, "t", true, &text), FX_ERR_USAGE);
    for (int i = 0; i < 3; i++) fx_close(c[i]);
}
END_TEST

/* The loader reads LD_LIBRARY_PATH when a program starts. */
static void start_again(char **argv) {
    char dir[] = "/tmp/fx_aot_XXXXXX", path[PATH_MAX + sizeof dir];
    const char *before = getenv("LD_LIBRARY_PATH");
    if (!mkdtemp(dir)) return;
    snprintf(path, sizeof path, "%s%s%.*s", dir, before && *before ? ":" : "", PATH_MAX - 1, before ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("FX_TEST_DRIVER", dir, 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!getenv("FX_TEST_DRIVER")) start_again(argv);
    Suite *s = suite_create("aot");
    TCase *t = tcase_create("aot");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, compiles_everywhere, 0, N_SPECS);
    tcase_add_test(t, takes_the_code_of_the_device);
    tcase_add_test(t, takes_the_variant_of_the_plan);
    tcase_add_test(t, passes_over_what_spills);
    tcase_add_test(t, any_call_may_fail);
    tcase_add_test(t, no_context);
    tcase_add_test(t, no_driver);
    tcase_add_test(t, old_driver);
    tcase_add_test(t, threads_load_once);
    tcase_add_test(t, what_does_not_go_together);
    tcase_add_test(t, extents_of_schedules);
    suite_add_tcase(s, t);
    int status = run_suite(s);
    put_driver(NULL);
    rmdir(getenv("FX_TEST_DRIVER"));
    return status;
}
