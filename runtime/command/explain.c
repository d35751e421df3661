/* The explain subcommand. Input: a spec. Output: the receipt of its kernels: a summary, all of it as text, or JSON.
 * Needs no GPU; where NVRTC is found, the entries that are launched at the extents of the receipt are compiled for what
 * only that shows, or all. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* What entries come to, by number, malloc'ed; NULL, and a line about it unless messages are for machines, where there
 * is no NVRTC. */
static struct fx_resources *compile_entries(const struct command *cmd, const fx_compilation *c) {
    const struct fx_plan *plan = fx_get_plan(c);
    const size_t n = (size_t)fx_entry_count(plan) + 1;
    struct fx_resources *compiled = calloc(n, sizeof *compiled);
    bool *wanted = calloc(n, sizeof *wanted);
    const bool cached = !is_given(cmd, OPT_NO_CACHE), all = is_given(cmd, OPT_COMPILE_ALL);
    fx_status status = compiled && wanted ? FX_OK : FX_ERR_NOMEM;
    if (status == FX_OK && all) {
        memset(wanted, true, n * sizeof *wanted);
        status = fx_compile_resources(plan, NULL, cached, wanted, compiled);
    }
    /* Again where what was compiled spills: another may then be launched in its place. */
    while (status == FX_OK && !all && fx_receipt_wants(c, compiled, wanted)) {
        status = fx_compile_resources(plan, NULL, cached, wanted, compiled);
        memset(wanted, 0, n * sizeof *wanted);
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
    struct fx_resources *compiled = is_given(cmd, OPT_NO_COMPILE) ? NULL : compile_entries(cmd, c);
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
