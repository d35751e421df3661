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

int main(void) {
    Suite *s = suite_create("arch");
    TCase *t = tcase_create("arch");
    int n = 0;
    while (arch_row(n)) n++;
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, entries_fit, 0, n * N_SPECS);
    tcase_add_test(t, rows_are_found);
    suite_add_tcase(s, t);
    return run_suite(s);
}
