/* The aot subcommand. Input: a spec and architectures. Output: NAME.c and NAME.h, which hold machine code for all of
 * them and launch it without fx, and the NAME_ARCH.cu that it was compiled from. Nothing is written before everything
 * is compiled. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

enum { MAX_ARCHES = 16 };

struct aot_files {
    const struct command *cmd;
    const char *name; /* of the files, with the folder; what they are called begins behind its last slash */
    char *arches[MAX_ARCHES];
    int n;
    fx_compilation *compiled[MAX_ARCHES];
    struct fx_image images[MAX_ARCHES];
};

/* ---- what is asked for ---- */

static fx_status read_arches(struct aot_files *a) {
    const char *list = option_value(a->cmd, OPT_ARCHES);
    if (!list) list = "sm_90a";
    for (const char *s = list; *s || s == list;) {
        size_t n = strcspn(s, ",");
        if (a->n == MAX_ARCHES) return usage_error(a->cmd, "--arch names more than %d architectures", MAX_ARCHES);
        char *arch = a->arches[a->n] = strndup(s, n);
        if (!arch) return complain(FX_ERR_NOMEM, "out of memory");
        if (!*arch) return usage_error(a->cmd, "--arch=%s: expected ARCH,...", list);
        for (int i = 0; i < a->n; i++)
            if (!strcmp(a->arches[i], arch)) return usage_error(a->cmd, "--arch=%s names %s twice", list, arch);
        a->n++;
        s += n + (s[n] == ',');
        if (s[-1] == ',' && !*s) return usage_error(a->cmd, "--arch=%s: expected ARCH,...", list);
    }
    return FX_OK;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The input's name in the current directory, where no other is given; malloc'ed. */
static fx_status choose_name(const struct command *cmd, const char *input, char **name) {
    const char *given = option_value(cmd, OPT_OUTPUT_AHEAD), *base = base_name(input), *dot = strrchr(base, '.');
    *name = NULL;
    if (!given && !strcmp(input, "-")) return usage_error(cmd, "a spec from stdin has no name: give one with -o");
    if (given && (!*base_name(given) || !strcmp(given, "-") || strpbrk(base_name(given), "\"\\\n")))
        return usage_error(cmd, "-o %s is no name for files: several are written", given);
    *name = given ? strdup(given) : strndup(base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
    return *name ? FX_OK : complain(FX_ERR_NOMEM, "out of memory");
}

/* ---- compiling ---- */

/* What the cubin says of each of its entries. */
static fx_status read_resources(struct fx_image *image) {
    struct fx_resources *r = calloc((size_t)fx_entry_count(image->plan) + 1, sizeof *r);
    image->compiled = r;
    if (!r) return complain(FX_ERR_NOMEM, "out of memory");
    for (int k = 0; k < image->plan->n_kernels; k++)
        for (int l = 0; l < image->plan->kernels[k].n_launches; l++) {
            const struct fx_launch *launch = &image->plan->kernels[k].launches[l];
            for (int v = 0; v < launch->n_variants; v++) {
                const struct fx_variant *f = &launch->variants[v];
                fx_status status = fx_cubin_resources(image->cubin, image->n_bytes, f->entry, &r[f->number]);
                if (status != FX_OK) return complain(status, "%s", fx_last_error());
            }
        }
    return FX_OK;
}

struct machine_code { /* of one architecture, made in a thread of its own */
    struct fx_image *image;
    pthread_t thread;
    bool has_thread;
    fx_status status;
    char why_not[2048];
};

static void *compile_machine_code(void *user) {
    struct machine_code *m = user;
    const struct fx_plan *plan = m->image->plan;
    void *cubin = NULL;
    char *log = NULL;
    m->status = fx_nvrtc(plan->source, plan->file, plan->arch, false, &cubin, &m->image->n_bytes, &log);
    m->image->cubin = cubin;
    free(log);
    if (m->status != FX_OK) snprintf(m->why_not, sizeof m->why_not, "%s", fx_last_error()); /* it is the thread's */
    return NULL;
}

/* All at once; the first failure is told. Where there is no further thread, one after another. */
static fx_status compile_machine_codes(struct aot_files *a) {
    static struct machine_code codes[MAX_ARCHES];
    fx_status status = FX_OK;
    for (int i = 0; i < a->n; i++) {
        codes[i] = (struct machine_code){.image = &a->images[i]};
        codes[i].has_thread = pthread_create(&codes[i].thread, NULL, compile_machine_code, &codes[i]) == 0;
        if (!codes[i].has_thread) compile_machine_code(&codes[i]);
    }
    for (int i = 0; i < a->n; i++) {
        if (codes[i].has_thread) pthread_join(codes[i].thread, NULL);
        if (codes[i].status == FX_OK || status != FX_OK) continue;
        status = complain(codes[i].status, "NVRTC made no cubin for %s: %s", a->arches[i], codes[i].why_not);
    }
    for (int i = 0; i < a->n && status == FX_OK; i++) status = read_resources(&a->images[i]);
    return status;
}

/* Messages are those for the first architecture, or for the first that the spec does not compile for. */
static fx_status compile_all(struct aot_files *a, const struct request *r) {
    fx_status status = FX_OK;
    int told = 0;
    for (int i = 0; i < a->n && status == FX_OK; i++) {
        status = compile_request(r, a->arches[i], false, &a->compiled[i]);
        a->images[i].plan = fx_get_plan(a->compiled[i]);
        if (status != FX_OK) told = i;
    }
    fx_status reported = report_messages(a->cmd, a->compiled[told]);
    if (status == FX_OK) status = reported;
    return status == FX_OK ? compile_machine_codes(a) : status;
}

/* ---- files ---- */

static fx_status write_text(const struct aot_files *a, const char *suffix, const char *text) {
    char *path = NULL;
    if (asprintf(&path, "%s%s", a->name, suffix) < 0) return complain(FX_ERR_NOMEM, "out of memory");
    fx_status status = write_whole(path, &(struct text_piece){text, strlen(text)}, 1);
    free(path);
    return status;
}

static fx_status write_ahead(const struct aot_files *a, bool is_header) {
    char *text = NULL;
    fx_status status = fx_ahead(a->images, a->n, base_name(a->name), is_header, &text);
    if (status != FX_OK) complain(status, "cannot put %s.%c together", a->name, is_header ? 'h' : 'c');
    else status = write_text(a, is_header ? ".h" : ".c", text);
    free(text);
    return status;
}

static fx_status write_sources(const struct aot_files *a) {
    fx_status status = FX_OK;
    for (int i = 0; i < a->n && status == FX_OK; i++) {
        char suffix[64];
        snprintf(suffix, sizeof suffix, "_%s.cu", a->arches[i]);
        status = write_text(a, suffix, a->images[i].plan->source);
    }
    return status;
}

static fx_status write_rule(const struct aot_files *a, const char *input, const struct files_read *reading) {
    char *c = NULL, *h = NULL;
    fx_status status = FX_ERR_NOMEM;
    if (asprintf(&c, "%s.c", a->name) < 0 || asprintf(&h, "%s.h", a->name) < 0) complain(status, "out of memory");
    else status = write_dependencies(a->cmd, (const char *const[]){c, h}, 2, input, reading);
    free(c);
    free(h);
    return status;
}

static fx_status ahead_of_time(struct aot_files *a, const char *input) {
    char *name = NULL;
    struct spec spec = {0};
    struct request request = {0};
    struct files_read reading = {0};
    fx_status status = read_arches(a);
    if (status == FX_OK) status = choose_name(a->cmd, input, &name);
    a->name = name;
    if (status == FX_OK) status = spec_read(input, &spec);
    if (status == FX_OK) status = request_open(a->cmd, &spec, NULL, &request);
    request.reading = &reading;
    if (status == FX_OK) status = compile_all(a, &request);
    if (status == FX_OK) status = write_sources(a);
    if (status == FX_OK) status = write_ahead(a, true);
    if (status == FX_OK) status = write_ahead(a, false);
    if (status == FX_OK) status = write_rule(a, input, &reading);
    reading_release(&reading);
    request_release(&request);
    spec_release(&spec);
    free(name);
    return status;
}

fx_status command_aot(const struct command *cmd) {
    struct aot_files a = {.cmd = cmd};
    const char *input;
    fx_status status = only_operand(cmd, &input);
    if (status == FX_OK) status = ahead_of_time(&a, input);
    for (int i = 0; i < MAX_ARCHES; i++) {
        free((void *)a.images[i].cubin);
        free((void *)a.images[i].compiled);
        fx_close(a.compiled[i]);
        free(a.arches[i]);
    }
    return status;
}
