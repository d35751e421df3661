/* The table of machines: every entry that is emitted for one can be launched there. */
#include <string.h>

#include "base/arch.h"
#include "fx.h"
#include "suite.h"

static const char *const specs[] = {"tests/gpu/contractions.fx", "tests/gpu/chain.fx", "tests/gpu/computed.fx",
    "tests/gpu/rows.fx", "tests/gpu/bins.fx", "tests/gpu/share.fx", "tests/gpu/partial.fx"};
enum { N_SPECS = sizeof specs / sizeof *specs };

static char text[1 << 20];

static void read_spec(const char *path) {
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    ck_assert_uint_lt(n, sizeof text - 1);
    text[n] = 0;
}

/* The shared memory of a variant is a number, whatever the extents. */
static int64_t shared_bytes(const struct fx_variant *v) {
    int64_t bytes = -1;
    ck_assert(fx_expr_eval(&v->smem, &(struct fx_env){0}, &bytes));
    return bytes;
}

START_TEST(entries_fit) {
    const struct arch *m = arch_row(_i / N_SPECS);
    const char *path = specs[_i % N_SPECS];
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    int n = 0;
    read_spec(path);
    options.arch = m->name;
    fx_status status = fx_compile(text, strlen(text), path, &options, &c);
    ck_assert_msg(status == FX_OK, "%s for %s: %s", path, m->name, fx_messages(c));
    const struct fx_plan *p = fx_get_plan(c);
    ck_assert_str_eq(p->arch, m->name);
    for (int k = 0; k < p->n_kernels; k++)
        for (int l = 0; l < p->kernels[k].n_launches; l++) {
            const struct fx_launch *launch = &p->kernels[k].launches[l];
            ck_assert_int_gt(launch->n_variants, 0);
            for (int v = 0; v < launch->n_variants; v++, n++) {
                int64_t bytes = shared_bytes(&launch->variants[v]);
                ck_assert_msg(bytes >= 0 && bytes <= m->block_shared,
                    "%s for %s takes %lld bytes of shared memory, a block has %d", launch->variants[v].entry, m->name,
                    (long long)bytes, m->block_shared);
                ck_assert_int_le(launch->variants[v].block, 1024);
            }
        }
    ck_assert_int_gt(n, 0);
    fx_close(c);
}
END_TEST

START_TEST(rows_are_found) {
    int n = 0;
    for (; arch_row(n); n++) {
        ck_assert_ptr_eq(arch_find(arch_row(n)->name), arch_row(n));
        ck_assert_str_eq(fx_arch_name(n), arch_row(n)->name);
        ck_assert_int_le(arch_row(n)->block_shared + SHARED_OVERHEAD, arch_row(n)->sm_shared);
    }
    ck_assert_ptr_null(fx_arch_name(n));
    ck_assert_ptr_null(arch_find("sm_75"));
}
END_TEST

/* A GPU by the name that its driver gives it, of its architecture alone; one that is not known is as the architecture's. */
START_TEST(gpus_are_found) {
    const struct arch *hopper = arch_find("sm_90a"), *ampere = arch_find("sm_80");
    struct arch h100 = arch_of_gpu(hopper, "NVIDIA H100 80GB HBM3", 0), other = arch_of_gpu(hopper, "NVIDIA H20", 78),
                h200 = arch_of_gpu(hopper, "NVIDIA H200", 132), none = arch_of_gpu(hopper, NULL, 0);
    ck_assert_str_eq(h100.gpu, "H100");
    ck_assert(h100.copied < hopper->copied && h100.sms == 132 && h100.block_shared == hopper->block_shared);
    ck_assert_str_eq(arch_of_gpu(arch_find("sm_90"), "H100", 0).gpu, "H100");
    ck_assert_str_eq(arch_of_gpu(ampere, "NVIDIA H100 80GB HBM3", 0).gpu, ampere->gpu);
    ck_assert(other.copied == hopper->copied && other.sms == 78);
    ck_assert(h200.copied == hopper->copied && h200.sms == hopper->sms);
    ck_assert(none.copied == hopper->copied && none.gpu == hopper->gpu);
}
END_TEST

/* What is predicted is for the GPU that is named, and with the multiprocessors that it is said to have. */
START_TEST(times_are_of_the_gpu) {
    static const char sum[] = "kernel f(x: f32[M=8192,N=8192]) -> y: f32[M,N] { y = x + 1 }";
    static const char *const names[] = {NULL, "NVIDIA H100 80GB HBM3"};
    double us[2];
    for (int i = 0; i < 2; i++) {
        struct fx_options o = FX_OPTIONS;
        struct fx_prediction p;
        fx_compilation *c;
        o.gpu = names[i], o.sm_count = i ? 100 : 0;
        ck_assert_int_eq(fx_compile(sum, sizeof sum - 1, "f.fx", &o, &c), FX_OK);
        ck_assert_int_eq(fx_predict(c, "f", (int64_t[]){8192, 8192}, 0, NULL, &p), FX_OK);
        ck_assert_int_eq(fx_get_plan(c)->sm_count, i ? 100 : 132);
        us[i] = p.us;
        fx_close(c);
    }
    ck_assert_double_eq_tol(us[1] / us[0], 4200.0 / 2950, 0.02);
}
END_TEST

int main(void) {
    Suite *s = suite_create("arch");
    TCase *t = tcase_create("arch");
    int n = 0;
    while (arch_row(n)) n++;
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, entries_fit, 0, n * N_SPECS);
    tcase_add_test(t, rows_are_found);
    tcase_add_test(t, gpus_are_found);
    tcase_add_test(t, times_are_of_the_gpu);
    suite_add_tcase(s, t);
    return run_suite(s);
}
