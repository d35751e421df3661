/* Cubins read without a driver: what ptxas itself says of each entry (-v in NVRTC's log), for two architectures, and
 * images cut off, damaged or made up, which may be refused but never read beyond. */
#include <check.h>
#include <elf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cuda_api.h"
#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"

static const char source[] =
    "extern __shared__ float dynamic[];\n"
    "extern \"C\" __global__ void plain(float *p) { p[threadIdx.x] = 2; }\n"
    "extern \"C\" __global__ void __launch_bounds__(192) shared(float *p) {\n"
    "  __shared__ float s[100]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[99 - threadIdx.x]; }\n"
    "extern \"C\" __global__ void shared_too(float *p) { dynamic[threadIdx.x] = p[1]; __syncthreads(); p[threadIdx.x] = dynamic[9 - threadIdx.x]; }\n"
    "extern \"C\" __global__ void array(float *p, int n) {\n"
    "  float a[64]; for (int i = 0; i < 64; i++) a[i] = p[i * i % 61 + n]; for (int i = 0; i < n; i++) a[(i * 7 + n) % 64] += a[i * 3 % 64]; p[0] = a[n % 64]; }\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) spills(float *p, int n) {\n"
    "  float a[80]; _Pragma(\"unroll\") for (int i = 0; i < 80; i++) a[i] = p[i * n];\n"
    "  __syncthreads(); _Pragma(\"unroll\") for (int i = 0; i < 80; i++) p[i * 7] = a[i] * a[79 - i] + a[i * 3 % 80]; }\n";

static const struct {
    const char *entry;
    int threads;
    bool has_local;
} entries[] = {{"plain", 1024, false}, {"shared", 192, false}, {"shared_too", 1024, false}, {"array", 1024, true},
    {"spills", 1024, true}};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

struct image {
    char *bytes, *log;
    size_t n;
};

/* Straight to NVRTC, whose log then says what ptxas found. */
static struct image compile(const char *arch) {
    struct image i;
    void *program;
    size_t n_log;
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    const char *options[] = {option, "--ptxas-options=-v"};
    ck_assert_msg(nvrtc_open() == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(cuda_nvrtc.nvrtcCreateProgram(&program, source, "t.cu", 0, NULL, NULL), 0);
    ck_assert_int_eq(cuda_nvrtc.nvrtcCompileProgram(program, 2, options), 0);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetProgramLogSize(program, &n_log), 0);
    i.log = calloc(n_log + 1, 1);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetProgramLog(program, i.log), 0);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetCUBINSize(program, &i.n), 0);
    i.bytes = malloc(i.n);
    ck_assert_int_eq(cuda_nvrtc.nvrtcGetCUBIN(program, i.bytes), 0);
    cuda_nvrtc.nvrtcDestroyProgram(&program);
    return i;
}

static void release(struct image *i) {
    free(i->bytes);
    free(i->log);
}

/* The number before ` words` between `from` and `to`, 0 where it is not said. */
static int said(const char *from, const char *to, const char *words) {
    const char *at = strstr(from, words);
    if (!at || at >= to) return 0;
    while (at > from && at[-1] >= '0' && at[-1] <= '9') at--;
    return atoi(at);
}

static const char *const arches[] = {"sm_80", "sm_90a"};

START_TEST(says_what_ptxas_says) {
    struct image i = compile(arches[_i]);
    for (int e = 0; e < N_ENTRIES; e++) {
        struct fx_resources r;
        char head[64];
        snprintf(head, sizeof head, "entry function '%s'", entries[e].entry);
        const char *from = strstr(i.log, head);
        ck_assert_msg(from != NULL, "%s: not in the log: %s", head, i.log);
        const char *to = strstr(from + 1, "Compiling entry function");
        if (!to) to = from + strlen(from);
        ck_assert_msg(fx_cubin_resources(i.bytes, i.n, entries[e].entry, &r) == FX_OK, "%s", fx_last_error());
        ck_assert_int_eq(r.registers, said(from, to, " registers"));
        ck_assert_int_eq(r.local_bytes, said(from, to, " bytes stack frame"));
        ck_assert_int_eq(r.shared_bytes, said(from, to, " bytes smem"));
        ck_assert_int_eq(r.max_threads, entries[e].threads);
        ck_assert_int_gt(r.registers, 0);
        ck_assert_int_eq(r.local_bytes > 0, entries[e].has_local);
        ck_assert_int_eq(r.shared_bytes, strcmp(entries[e].entry, "shared") == 0 ? 400 : 0);
    }
    release(&i);
}
END_TEST

START_TEST(refuses_other_names_and_files) {
    struct image i = compile("sm_90a");
    struct fx_resources r;
    const char *const names[] = {"", "plai", "plain2", "dynamic", ".text.plain", "share"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        r.registers = 7;
        ck_assert_int_eq(fx_cubin_resources(i.bytes, i.n, names[n], &r), FX_ERR_USAGE);
        ck_assert_int_eq(r.registers, 0);
    }
    ck_assert_str_eq(fx_last_error(), "the cubin has no entry share");
    ck_assert_int_eq(fx_cubin_resources("no cubin", 8, "plain", &r), FX_ERR_USAGE);
    ck_assert_str_eq(fx_last_error(), "these 8 bytes are no cubin");
    ck_assert_int_eq(fx_cubin_resources(i.bytes, 0, "plain", &r), FX_ERR_USAGE);
    release(&i);
}
END_TEST

/* ---- damage ---- */

/* A copy whose last byte is the last of a page, the next not to be touched. */
static struct { char *pages, *bytes; size_t n_pages; } fenced;

static void fence(size_t most) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fenced.n_pages = (most + page - 1) / page * page;
    fenced.pages = mmap(NULL, fenced.n_pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(fenced.pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(fenced.pages + fenced.n_pages, page, PROT_NONE), 0);
}

static fx_status read_fenced(const char *bytes, size_t n, struct fx_resources *r) {
    fenced.bytes = fenced.pages + fenced.n_pages - n;
    memcpy(fenced.bytes, bytes, n);
    return fx_cubin_resources(fenced.bytes, n, "spills", r);
}

static void check_range(fx_status status, const struct fx_resources *r) {
    ck_assert(status == FX_OK || status == FX_ERR_USAGE);
    ck_assert(r->registers >= 0 && r->registers <= 255 && r->local_bytes >= 0 && r->shared_bytes >= 0 &&
              r->max_threads >= 0 && r->max_threads <= 1024);
}

START_TEST(images_cut_off) {
    struct image i = compile("sm_90a");
    struct fx_resources r;
    fence(i.n);
    int n_refused = 0;
    for (size_t n = 0; n <= i.n; n += n < 2000 || n + 200 > i.n ? 1 : 37) {
        fx_status status = read_fenced(i.bytes, n, &r);
        check_range(status, &r);
        n_refused += status != FX_OK;
    }
    ck_assert_int_gt(n_refused, 100);
    ck_assert_int_eq(read_fenced(i.bytes, i.n, &r), FX_OK);
    release(&i);
}
END_TEST

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Bytes, and words of headers and attributes, to values that stretch offsets and sizes. */
static void damage(char *bytes, size_t n) {
    static const uint64_t ends[] = {
        0, 1, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff, 0xfffffffffffffff0};
    Elf64_Ehdr h;
    memcpy(&h, bytes, sizeof h);
    for (int changes = 1 + (int)(next_random() % 4); changes > 0; changes--) {
        size_t headers = (size_t)h.e_shnum * sizeof(Elf64_Shdr), where = next_random() % 3;
        size_t at = where == 0   ? next_random() % n
                    : where == 1 ? next_random() % sizeof h
                                 : h.e_shoff + next_random() % headers;
        size_t width = (size_t)1 << next_random() % 4;
        uint64_t value = next_random() % 2 ? ends[next_random() % 9] : next_random() % (2 * n);
        if (at + width <= n) memcpy(bytes + at, &value, width);
    }
}

START_TEST(damaged_images) {
    struct image i = compile(arches[_i]);
    struct fx_resources r;
    char *copy = malloc(i.n);
    int n_read = 0, n_refused = 0;
    fence(i.n);
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, i.bytes, i.n);
        damage(copy, i.n);
        fx_status status = read_fenced(copy, i.n, &r);
        check_range(status, &r);
        n_read += status == FX_OK;
        n_refused += status != FX_OK;
    }
    ck_assert_int_gt(n_read, 1000);
    ck_assert_int_gt(n_refused, 1000);
    free(copy);
    release(&i);
}
END_TEST

/* ---- what a plan's entries come to ---- */

START_TEST(entries_of_a_plan) {
    static const char text[] = "kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = relu(x @ w) }";
    struct fx_resources *r, alone;
    fx_compilation *c;
    void *image;
    size_t n;
    char *log;
    bool wanted[256] = {false};
    ck_assert_int_eq(fx_compile(text, strlen(text), "f.fx", NULL, &c), FX_OK);
    const struct fx_plan *plan = fx_get_plan(c);
    ck_assert_int_le(fx_entry_count(plan), 256);
    const struct fx_variant *second = &plan->kernels->launches[0].variants[1];
    wanted[second->number] = true;
    r = calloc(256, sizeof *r);
    ck_assert_msg(fx_compile_resources(plan, plan->kernels, false, wanted, r) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(r[second->number - 1].registers, 0);
    ck_assert_int_gt(r[second->number].registers, 32);
    /* All entries in one cubin say the same. */
    ck_assert_int_eq(fx_nvrtc(plan->source, "f.cu", plan->arch, false, &image, &n, &log), FX_OK);
    ck_assert_int_eq(fx_cubin_resources(image, n, second->entry, &alone), FX_OK);
    ck_assert_int_eq(memcmp(&alone, &r[second->number], sizeof alone), 0);
    free(image);
    free(log);
    struct fx_plan broken = *plan;
    broken.source = "extern \"C\" __global__ void other() {}";
    ck_assert_int_eq(fx_compile_resources(&broken, plan->kernels, false, wanted, r), FX_ERR_USAGE);
    broken.source = "no CUDA";
    ck_assert_int_eq(fx_compile_resources(&broken, plan->kernels, false, wanted, r), FX_ERR_TOOLCHAIN);
    ck_assert_ptr_nonnull(strstr(fx_last_error(), "NVRTC cannot compile f.cu"));
    free(r);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("cubin");
    TCase *t = tcase_create("cubin");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, says_what_ptxas_says, 0, 2);
    tcase_add_test(t, refuses_other_names_and_files);
    tcase_add_test(t, images_cut_off);
    tcase_add_loop_test(t, damaged_images, 0, 2);
    tcase_add_test(t, entries_of_a_plan);
    suite_add_tcase(s, t);
    return run_suite(s);
}
