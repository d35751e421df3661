/* The explain subcommand. Input: a spec. Output: the receipt of its kernels: a summary, all of it as text, or JSON.
 * Needs no GPU; where NVRTC is found, entries are compiled for what only that shows: of a kernel whose extents are all
 * given those that may be launched, else all. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

static bool has_free_extent(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_extents; i++)
        if (k->extents[i].value < 0) return true;
    return false;
}

/* Marks the entry of each launch that is taken with tensors aligned and row-major, or all of them; false where none is
 * new. */
static bool want_entries(const struct fx_kernel *k, int sm_count, const struct fx_resources *compiled, bool *wanted) {
    bool is_new = false, is_free = has_free_extent(k);
    int64_t extents[FX_MAX_EXTENTS], strides[FX_MAX_STRIDES];
    struct fx_env env = {.extents = extents, .sm_count = sm_count, .strides = strides};
    for (int i = 0; i < k->n_extents && i < FX_MAX_EXTENTS; i++) extents[i] = k->extents[i].value;
    if (!is_free) fx_row_major_strides(k, extents, strides);
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, &env));
    const int first = is_free ? 0 : taken.first_launch, end = is_free ? k->n_launches : first + taken.n_launches;
    for (int i = first; i < end; i++) {
        const struct fx_launch *l = &k->launches[i];
        const struct fx_resources **of = is_free ? NULL : calloc((size_t)l->n_variants, sizeof *of);
        for (int v = l->n_variants; of && v-- > 0;) of[v] = &compiled[l->variants[v].number];
        int chosen = of ? fx_choose_compiled(l, &env, of) : -1;
        for (int v = 0; v < l->n_variants; v++) {
            int number = l->variants[v].number;
            wanted[number] = (!of || v == chosen) && !compiled[number].registers;
            is_new |= wanted[number];
        }
        free(of);
    }
    return is_new;
}

/* What entries come to, by number, malloc'ed; NULL, and a line about it unless messages are for machines, where there
 * is no NVRTC. */
static struct fx_resources *compile_entries(const struct command *cmd, const struct fx_plan *plan) {
    size_t n = (size_t)fx_entry_count(plan) + 1;
    struct fx_resources *compiled = calloc(n, sizeof *compiled);
    bool *wanted = calloc(n, sizeof *wanted), cached = !is_given(cmd, OPT_NO_CACHE);
    fx_status status = compiled && wanted ? FX_OK : FX_ERR_NOMEM;
    for (int i = 0; status == FX_OK && i < plan->n_kernels; i++) {
        const struct fx_kernel *k = &plan->kernels[i];
        /* Again where what was compiled spills: another may then be launched in its place. */
        while (status == FX_OK && want_entries(k, plan->sm_count, compiled, wanted)) {
            status = fx_compile_resources(plan, k, cached, wanted, compiled);
            memset(wanted, 0, n * sizeof *wanted);
        }
    }
    free(wanted);
    if (status == FX_OK) return compiled;
    free(compiled);
    const char *why = fx_last_error();
    if (!wants_json(cmd))
        fprintf(stderr, "fxc: registers and spills are left out: %.*s\n", (int)strcspn(why, "\n"), why);
    return NULL;
}

static fx_status print_receipts(
    const struct command *cmd, const struct spec *spec, const fx_compilation *c, bool is_json) {
    const struct fx_plan *plan = fx_get_plan(c);
    struct fx_resources *compiled = is_given(cmd, OPT_NO_COMPILE) ? NULL : compile_entries(cmd, plan);
    enum fx_format format = is_json ? FX_FORMAT_JSON : is_given(cmd, OPT_VERBOSE) ? FX_FORMAT_TEXT : FX_FORMAT_SUMMARY;
    const char *page = option_value(cmd, OPT_HTML);
    if (page) {
        fx_status status = write_explain_page(c, spec->path, spec->text, compiled, page);
        free(compiled);
        return status;
    }
    const char *text = fx_receipt(c, format, compiled);
    if (text) fputs(text, stdout);
    free(compiled);
    return text ? FX_OK : complain(FX_ERR_NOMEM, "out of memory");
}

fx_status command_explain(const struct command *cmd) {
    const char *path, *arch = option_value(cmd, OPT_ARCH), *format = option_value(cmd, OPT_EXPLAIN_FORMAT);
    bool is_json = format && strcmp(format, "json") == 0;
    fx_compilation *c = NULL;
    struct spec spec = {.text = NULL};
    struct request request = {0};
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK && format && !is_json && strcmp(format, "text") != 0)
        status = usage_error(cmd, "--explain-format is text or json, not '%s'", format);
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK) status = request_open(cmd, &spec, NULL, &request);
    if (status == FX_OK) status = compile_spec(&request, arch, false, &c);
    if (status == FX_OK) status = print_receipts(cmd, &spec, c, is_json);
    fx_close(c);
    request_release(&request);
    spec_release(&spec);
    return status;
}
