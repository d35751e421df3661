/* The compile subcommand, and specs for the others. Input: the command line and a spec. Output: one stage of it in a
 * file, or the compilation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* ---- a spec and what it includes ---- */

struct reader { /* serves `include`: paths start from the folder of the spec, then from those of -I */
    const struct command *cmd;
    const char *spec;
    struct files_read *reading; /* or NULL */
    char *texts[MAX_INCLUDED]; /* kept until the compilation is done */
    int n_texts;
    char why_not[128]; /* of the file that could not be read last */
};

/* Of a file that several include once. False where memory runs out. */
static bool take_down(struct reader *r, const char *folder, const char *path) {
    char *whole = NULL;
    bool is_here = !strcmp(folder, ".");
    size_t n = strlen(folder);
    if (!r->reading) return true;
    if (asprintf(&whole, "%s%s%s", is_here ? "" : folder, is_here || (n && folder[n - 1] == '/') ? "" : "/", path) <
        0) {
        snprintf(r->why_not, sizeof r->why_not, "out of memory");
        return false;
    }
    bool is_new = r->reading->n < MAX_INCLUDED;
    for (int i = 0; i < r->reading->n; i++) is_new &= strcmp(r->reading->paths[i], whole) != 0;
    if (is_new) r->reading->paths[r->reading->n++] = whole;
    else free(whole);
    return true;
}

/* Reads `path` below a folder. False, and *is_absent unless what is there cannot be included. */
static bool read_from(struct reader *r, const char *folder, const char *path, size_t *len, bool *is_absent) {
    fx_status status = read_beneath(folder, path, SPEC_MAX_BYTES, &r->texts[r->n_texts], len);
    *is_absent = status != FX_OK && errno == ENOENT;
    if (status == FX_OK) return take_down(r, folder, path);
    const char *why = errno == 0        ? "larger than 1 MiB"
                      : errno == ELOOP  ? "a symbolic link is not followed"
                      : errno == EINVAL ? "not a regular file"
                                        : strerror(errno);
    snprintf(r->why_not, sizeof r->why_not, "%s", why);
    return false;
}

static const char *read_include(void *user, const char *path, size_t *len) {
    struct reader *r = user;
    const char *slash = strrchr(r->spec, '/');
    char *folder = slash ? strndup(r->spec, (size_t)(slash + 1 - r->spec)) : strdup(".");
    bool is_read = false, is_absent = true;
    snprintf(r->why_not, sizeof r->why_not, "%s", folder ? "too many files" : "out of memory");
    if (folder && r->n_texts < (int)(sizeof r->texts / sizeof *r->texts))
        is_read = read_from(r, folder, path, len, &is_absent);
    for (int i = 0; !is_read && is_absent && i < r->cmd->n_options; i++)
        if (r->cmd->options[i].id == OPT_INCLUDE_DIR)
            is_read = read_from(r, r->cmd->options[i].value, path, len, &is_absent);
    free(folder);
    return is_read ? r->texts[r->n_texts++] : NULL;
}

static const char *why_not_read(void *user) { return ((const struct reader *)user)->why_not; }

/* What runs kernels has asked the GPU before it compiles. */
static fx_status check_arch(const struct command *cmd, const char *arch) {
    if (!arch || strcmp(arch, "native") != 0) return FX_OK;
    return usage_error(cmd,
        "--arch=native is the GPU that run, check, test and bench use: "
        "name the architecture to compile for ('fxc doctor' says what a GPU is)");
}

fx_status compile_request(const struct request *r, const char *arch, bool oracle_only, fx_compilation **out) {
    const char *path = r->spec->path;
    *out = NULL;
    if (check_arch(r->cmd, arch) != FX_OK) return FX_ERR_USAGE;
    struct reader reader = {.cmd = r->cmd, .spec = path, .reading = r->reading};
    struct fx_options options = FX_OPTIONS;
    options.arch = arch;
    options.oracle_only = oracle_only;
    options.kernel = r->kernel;
    options.defines = r->defines;
    options.n_defines = r->n_defines;
    options.dump_after = option_value(r->cmd, OPT_DUMP_AFTER);
    options.stop_after = option_value(r->cmd, OPT_STOP_AFTER);
    options.skip = option_value(r->cmd, OPT_SKIP);
    options.with = option_value(r->cmd, OPT_WITH);
    options.on_stage = fx_trace_stage;
    options.read_file = read_include;
    options.read_failure = why_not_read;
    options.user = &reader;
    options.tests_only = r->wants_tests;
    options.unfused = r->is_unfused;
    options.ablate = r->ablate;
    options.ablate_extents = r->ablate_extents;
    options.n_ablate_extents = r->n_ablate_extents;
    options.gpu = r->gpu ? r->gpu : option_value(r->cmd, OPT_GPU);
    options.sm_count = r->sm_count;
    fx_status status = fx_compile(
        r->spec->text, r->spec->n_bytes, !strcmp(path, "-") ? "<stdin>" : path, &options, out);
    if (!*out)
        complain(
            status, "cannot compile %s: %s", path, status == FX_ERR_NOMEM ? "out of memory" : "no reason was given");
    for (int i = 0; i < reader.n_texts; i++) free(reader.texts[i]);
    return status;
}

/* ---- messages: as text when they come, or those of all specs as one document ---- */

struct report {
    const char *(*print)(const fx_compilation *); /* NULL: text */
    const char *list;  /* how the list in a document begins */
    const char *end;   /* and what stands behind its last line */
    bool is_begun;     /* some spec was compiled, so that there is a document */
    int n;             /* specs with messages */
};

static fx_status report_begin(const struct command *cmd, struct report *r) {
    const char *format = option_value(cmd, OPT_DIAGNOSTICS_FORMAT);
    const bool is_sarif = format && !strcmp(format, "sarif");
    *r = is_sarif          ? (struct report){.print = fx_messages_sarif, .list = "\"results\":[", .end = "]}]}\n"}
         : wants_json(cmd) ? (struct report){.print = fx_messages_json, .list = "[", .end = "]\n"}
                           : (struct report){.print = NULL};
    if (format && strcmp(format, "text") != 0 && !r->print)
        return usage_error(cmd, "--diagnostics-format is text, json or sarif, not '%s'", format);
    if (r->print && is_given(cmd, OPT_DUMP_AFTER))
        return usage_error(cmd, "--dump-after and --diagnostics-format=%s both write to stderr", format);
    return FX_OK;
}

/* The messages of c, unless they are of no concern. */
static void report_add(struct report *r, const fx_compilation *c, bool counts) {
    if (!r->print && counts) fputs(fx_messages(c), err_stream());
    const char *text = r->print ? r->print(c) : NULL;
    if (!text) return;
    const char *list = strstr(text, r->list), *body = list ? list + strlen(r->list) : text;
    size_t len = strlen(body) - strlen(r->end);
    while (len && body[len - 1] == '\n') len--;
    if (!r->is_begun) fprintf(err_stream(), "%.*s", (int)(body - text), text);
    r->is_begun = true;
    if (len && counts) fprintf(err_stream(), "%s%.*s", r->n++ ? "," : "", (int)len, body);
}

static void report_end(const struct report *r) {
    if (r->is_begun) fputs(r->n ? "\n" : "", err_stream()), fputs(r->end, err_stream());
}

bool wants_json(const struct command *cmd) {
    const char *format = option_value(cmd, OPT_DIAGNOSTICS_FORMAT);
    return format && (!strcmp(format, "json") || !strcmp(format, "sarif"));
}

fx_status report_messages(const struct command *cmd, const fx_compilation *c) {
    struct report report;
    fx_status status = report_begin(cmd, &report);
    if (status != FX_OK) return status;
    if (c) report_add(&report, c, true);
    report_end(&report);
    return FX_OK;
}

fx_status compile_spec(const struct request *r, const char *arch, bool oracle_only, fx_compilation **out) {
    struct report report;
    fx_status status = report_begin(r->cmd, &report);
    *out = NULL;
    if (status != FX_OK) return status;
    status = compile_request(r, arch, oracle_only, out);
    if (*out) report_add(&report, *out, true);
    report_end(&report);
    if (status == FX_OK) return FX_OK;
    fx_close(*out);
    *out = NULL;
    return status;
}

fx_status only_operand(const struct command *cmd, const char **path) {
    if (cmd->n_operands == 0) return usage_error(cmd, "no spec given");
    if (cmd->n_operands > 1) return usage_error(cmd, "one spec expected, %d given", cmd->n_operands);
    *path = cmd->operands[0];
    return FX_OK;
}

/* ---- stages ---- */

enum image { IMAGE_NONE, IMAGE_PTX, IMAGE_CUBIN };

static const struct print_stage {
    const char *name, *suffix;
    enum fx_text text;
    enum image image; /* what NVRTC makes of the text */
} stages[] = {
    {"cu", ".cu", FX_TEXT_CU, IMAGE_NONE},          {"ast", ".ast", FX_TEXT_AST, IMAGE_NONE},
    {"ir", ".ir", FX_TEXT_IR, IMAGE_NONE},          {"fused", ".fused", FX_TEXT_FUSED, IMAGE_NONE},
    {"plan", ".plan", FX_TEXT_PLAN, IMAGE_NONE},    {"ptx", ".ptx", FX_TEXT_CU, IMAGE_PTX},
    {"cubin", ".cubin", FX_TEXT_CU, IMAGE_CUBIN},   {"host-c", ".c", FX_TEXT_HOST_C, IMAGE_NONE},
    {"host-h", ".h", FX_TEXT_HOST_H, IMAGE_NONE},   {"vendor", ".cu", FX_TEXT_VENDOR, IMAGE_NONE},
    {"fx", ".out.fx", FX_TEXT_FX, IMAGE_NONE},
};

static const struct print_stage *find_stage(const char *name) {
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (!strcmp(name, stages[i].name)) return &stages[i];
    return NULL;
}

/* Compiles the CUDA text on to PTX or a cubin and writes that. */
static fx_status write_image(const fx_compilation *c, const struct print_stage *stage, const char *to) {
    const struct fx_plan *plan = fx_get_plan(c);
    void *image = NULL;
    char *log = NULL;
    size_t n = 0;
    fx_status status = fx_nvrtc(plan->source, plan->file, plan->arch, stage->image == IMAGE_PTX, &image, &n, &log);
    if (status != FX_OK) complain(status, "NVRTC made no %s: %s", stage->name, fx_last_error());
    else if (log && *log) fputs(log, stderr);
    if (status == FX_OK) status = write_whole(to, &(struct text_piece){image, n}, 1);
    free(image);
    free(log);
    return status;
}

static fx_status write_stage(const fx_compilation *c, const struct print_stage *stage, const char *to) {
    if (stage->image != IMAGE_NONE) return write_image(c, stage, to);
    const char *text = fx_text(c, stage->text);
    if (!text && fx_last_status(c) == FX_ERR_NOMEM)
        return complain(FX_ERR_NOMEM, "cannot print the %s: out of memory", stage->name);
    if (!text) return complain(FX_ERR_INTERNAL, "the compilation has no %s", stage->name);
    return write_whole(to, &(struct text_piece){text, strlen(text)}, 1);
}

/* The input's name in the current directory with the stage's suffix; stdout for stdin. malloc'ed. */
static char *output_name(const char *input, const struct print_stage *stage) {
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input, *dot = strrchr(base, '.');
    char *name = NULL;
    if (!strcmp(input, "-")) return strdup("-");
    int n = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    return asprintf(&name, "%.*s%s", n, base, stage->suffix) < 0 ? NULL : name;
}

static fx_status check_output(
    const struct command *cmd, const char *input, const struct print_stage *stage, const char *to) {
    if (!to) return complain(FX_ERR_NOMEM, "out of memory");
    if (!strcmp(to, input) && strcmp(to, "-") != 0)
        return usage_error(cmd, "the output %s would overwrite the input", to);
    if (stage->image == IMAGE_CUBIN && writes_to_terminal(to))
        return usage_error(cmd, "a cubin is not written to a terminal: name a file with -o");
    return FX_OK;
}

/* Every output is a file of its own, and none of the specs. */
static fx_status check_outputs(const struct command *cmd, const struct print_stage *stage) {
    fx_status status = FX_OK;
    for (int i = 0; i < cmd->n_operands && status == FX_OK && !is_given(cmd, OPT_OUTPUT); i++) {
        char *to = output_name(cmd->operands[i], stage);
        for (int j = 0; j < cmd->n_operands && to && strcmp(to, "-") != 0 && status == FX_OK; j++) {
            bool is_other = j < i && strcmp(cmd->operands[i], cmd->operands[j]) != 0;
            char *other = is_other ? output_name(cmd->operands[j], stage) : NULL;
            if (other && !strcmp(to, other))
                status = usage_error(
                    cmd, "%s and %s would both be written to %s", cmd->operands[j], cmd->operands[i], to);
            else if (j != i && !strcmp(to, cmd->operands[j]))
                status = usage_error(cmd, "the output of %s would overwrite %s", cmd->operands[i], to);
            free(other);
        }
        free(to);
    }
    return status;
}

static fx_status compile_one(
    const struct command *cmd, const char *input, const struct print_stage *stage, struct report *report) {
    const char *given = option_value(cmd, OPT_OUTPUT);
    char *to = given ? strdup(given) : output_name(input, stage);
    fx_compilation *c = NULL;
    struct spec spec = {0};
    struct request request = {0};
    struct files_read reading = {0};
    fx_status status = check_output(cmd, input, stage, to);
    if (status == FX_OK) status = spec_read(input, &spec);
    if (status == FX_OK) status = request_open(cmd, &spec, NULL, &request);
    request.reading = &reading;
    /* The checker has all that is printed of the source. */
    bool is_source = (stage->text == FX_TEXT_AST || stage->text == FX_TEXT_FX) && !is_given(cmd, OPT_DUMP_AFTER);
    if (status == FX_OK) status = compile_request(&request, option_value(cmd, OPT_ARCH), is_source, &c);
    /* What a later stage refuses is no fault of the stage asked for. */
    bool is_later = status == FX_ERR_COMPILE && fx_text(c, stage->text);
    if (is_later) status = FX_OK;
    if (c) report_add(report, c, !is_later);
    if (c && is_given(cmd, OPT_DUMP_AFTER) && fx_text(c, FX_TEXT_DUMP)) fputs(fx_text(c, FX_TEXT_DUMP), stderr);
    if (status == FX_OK) status = write_stage(c, stage, to);
    if (status == FX_OK) status = write_dependencies(cmd, &(const char *){to}, 1, input, &reading);
    reading_release(&reading);
    fx_close(c);
    request_release(&request);
    spec_release(&spec);
    free(to);
    return status;
}

static fx_status unknown_stage(const struct command *cmd, const char *name) {
    char known[128] = "";
    for (size_t i = 0, n = 0; i < sizeof stages / sizeof *stages && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", stages[i].name);
    return usage_error(cmd, "unknown stage '%s': expected %s", name, known);
}

fx_status command_compile(const struct command *cmd) {
    const char *name = option_value(cmd, OPT_EMIT);
    const struct print_stage *stage = find_stage(name ? name : "cu");
    if (!stage) return unknown_stage(cmd, name);
    if (cmd->n_operands == 0) return usage_error(cmd, "no spec given");
    if (cmd->n_operands > 1 && is_given(cmd, OPT_OUTPUT))
        return usage_error(cmd, "-o names one output, but there are %d specs", cmd->n_operands);
    if (check_arch(cmd, option_value(cmd, OPT_ARCH)) != FX_OK || check_outputs(cmd, stage) != FX_OK ||
        check_dependencies(cmd) != FX_OK)
        return FX_ERR_USAGE;
    struct report report;
    fx_status first = report_begin(cmd, &report);
    if (first != FX_OK) return first;
    /* Every spec is tried; the first failure decides. */
    for (int i = 0; i < cmd->n_operands; i++) {
        fx_status status = compile_one(cmd, cmd->operands[i], stage, &report);
        if (first == FX_OK) first = status;
    }
    report_end(&report);
    return first;
}
