/* A kernel with its arguments in host memory, as run, check, test and bench need it. Input: a request. Output:
 * every extent bound, inputs read from .npy files or drawn, outputs allocated. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/draw.h"
#include "command/npy.h"

void print_type(FILE *to, enum fx_dtype t, int rank, const int64_t *extents) {
    fprintf(to, "%s", fx_dtype_name(t));
    for (int i = 0; i < rank; i++) fprintf(to, "%c%lld", i ? ',' : '[', (long long)extents[i]);
    if (rank) fputc(']', to);
}

/* ---- GPU, spec, kernel ---- */

const char *job_arch(const struct job *job) { return fx_get_plan(job->compilation)->arch; }

static fx_status choose_kernel(struct job *job) {
    const struct fx_plan *plan = fx_get_plan(job->compilation);
    const char *name = job->request->kernel;
    if (!plan || plan->n_kernels == 0) return complain(FX_ERR_USAGE, "the spec has no kernel");
    if (!name && plan->n_kernels > 1) {
        usage_error(job->request->cmd, "the spec has %d kernels: choose one with -k", plan->n_kernels);
        fprintf(err_stream(), "kernels:");
        for (int i = 0; i < plan->n_kernels; i++) fprintf(err_stream(), " %s", plan->kernels[i].name);
        fprintf(err_stream(), "\n");
        return FX_ERR_USAGE;
    }
    job->kernel = fx_find_kernel(plan, name);
    return job->kernel ? FX_OK : complain(FX_ERR_USAGE, "no kernel is called '%s'", name);
}

static fx_status open_spec(struct job *job, const struct machine *machine, bool oracle_will_do) {
    const char *arch = option_value(job->request->cmd, OPT_ARCH);
    bool is_native = arch && !strcmp(arch, "native");
    if (is_native && (!job->context || machine->is_stand_in))
        return complain(FX_ERR_GPU, "--arch=native: no GPU: %s", machine->no_gpu);
    if (is_native || !arch) arch = job->context ? fx_context_arch(job->context) : NULL;
    struct request request = *job->request;
    if (job->context && !job->is_emulated) /* its times are predicted */
        request.gpu = fx_context_device(job->context), request.sm_count = fx_context_sm_count(job->context);
    fx_status status = compile_spec(&request, arch, oracle_will_do && !job->context, &job->compilation);
    return status == FX_OK ? choose_kernel(job) : status;
}

/* ---- where inputs come from ---- */

static bool is_named_by(const struct fx_param *p, enum option_id option) {
    return option == OPT_OUTPUT_ARRAY ? p->is_output : p->is_input;
}

/* Every -i and -o of the command line must name a parameter. */
static fx_status check_names(const struct job *job) {
    const struct fx_kernel *k = job->kernel;
    const struct command *cmd = job->request->cmd;
    for (int i = 0; i < cmd->n_options; i++) {
        const struct parsed_option *g = &cmd->options[i];
        const char *name, *value, *letter = g->id == OPT_INPUT ? "-i" : "-o",
                                  *what = g->id == OPT_INPUT ? "input" : "output";
        size_t n;
        int p;
        if (g->id != OPT_INPUT && g->id != OPT_OUTPUT_ARRAY) continue;
        if (!split_pair(g->value, &name, &n, &value) || !*value)
            return usage_error(
                job->request->cmd, "%s %s is no NAME=%s", letter, g->value, g->id == OPT_INPUT ? "SOURCE" : "FILE.npy");
        for (p = 0; p < k->n_params; p++)
            if (is_named_by(&k->params[p], g->id) && strlen(k->params[p].name) == n &&
                !memcmp(k->params[p].name, name, n))
                break;
        if (p < k->n_params) continue;
        usage_error(job->request->cmd, "kernel %s has no %s '%.*s'", k->name, what, (int)(n > 64 ? 64 : n), name);
        fprintf(err_stream(), "%ss:", what);
        for (p = 0; p < k->n_params; p++)
            if (is_named_by(&k->params[p], g->id)) fprintf(err_stream(), " %s", k->params[p].name);
        fprintf(err_stream(), "\n");
        return FX_ERR_USAGE;
    }
    return FX_OK;
}

/* No two -o to one file; a pipe or stdout may take several. */
static fx_status check_files(const struct command *cmd) {
    for (int i = 0; i < cmd->n_options; i++)
        for (int j = 0; j < i && cmd->options[i].id == OPT_OUTPUT_ARRAY; j++) {
            const char *file = strchr(cmd->options[i].value, '='), *other = strchr(cmd->options[j].value, '=');
            if (cmd->options[j].id != OPT_OUTPUT_ARRAY || strcmp(file, other) != 0 || !strcmp(file, "=-")) continue;
            return usage_error(
                cmd, "-o %s and -o %s would both be written to %s", cmd->options[j].value,
                cmd->options[i].value, file + 1);
        }
    return FX_OK;
}

struct source { /* of one input, until its extents are known */
    bool is_array;
    struct npy array;
    struct draw draw;
    const char *text; /* as given, NULL: the default */
};

static fx_status open_array(const struct argument *a, const char *path, struct npy *out) {
    char *bytes, message[256] = "";
    size_t n;
    fx_status status = read_whole(path, memory_bytes(), NPY_BEGINS, &bytes, &n);
    if (status != FX_OK) return status;
    bool is_read = npy_read(bytes, n, out, message, sizeof message);
    free(bytes);
    if (!is_read) return complain(FX_ERR_IO, "cannot read %s: %s", path, message);
    if (npy_convert(out, fx_argument_dtype(a->param), message, sizeof message)) return FX_OK;
    npy_release(out);
    return complain(FX_ERR_USAGE, "%s does not fit %s: %s", path, a->param->name, message);
}

/* Whether an integer dtype, or bool, holds v, so that it is neither rounded nor cut off. */
static bool holds_number(enum fx_dtype t, double v) {
    int bits = fx_dtype_bits(t);
    enum fx_dtype_class class = fx_dtype_class_of(t);
    if (class == FX_CLASS_B) return v == 0 || v == 1;
    double below = class == FX_CLASS_U ? 0 : -ldexp(1, bits - 1),
           beyond = ldexp(1, class == FX_CLASS_U ? bits : bits - 1);
    return v == floor(v) && v >= below && v < beyond;
}

/* An integer of 64 bits by its digits, as a double would lose low bits beyond 2^53. False where t is narrower, where
 * the text is something else, and, with errno ERANGE, where t does not hold it. */
static bool read_digits(enum fx_dtype t, const char *text, uint64_t *v) {
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] == '0' && (digits[1] | 0x20) == 'x' ? 16 : 10;
    char *end;
    errno = 0;
    if (fx_dtype_bits(t) != 64 || (!is_signed && (fx_dtype_class_of(t) != FX_CLASS_U || *text == '-'))) return false;
    *v = is_signed ? (uint64_t)strtoll(text, &end, base) : strtoull(text, &end, base);
    return end != text && !*end && errno == 0;
}

static fx_status check_numbers(const struct job *job, const struct argument *a, const struct source *s) {
    enum fx_dtype t = fx_argument_dtype(a->param);
    uint64_t v;
    bool holds = true;
    if (!s->text || fx_is_float(t)) return FX_OK;
    if (s->draw.kind == DRAW_FILL)
        holds = read_digits(t, s->text, &v) || (errno != ERANGE && holds_number(t, s->draw.a));
    if (s->draw.kind == DRAW_INTEGERS) holds = holds_number(t, s->draw.a) && holds_number(t, s->draw.b);
    if (holds) return FX_OK;
    return usage_error(job->request->cmd, "-i %s=%s: %s is of dtype %s, which does not hold %s", a->param->name,
        s->text, a->param->name, fx_dtype_name(t), s->draw.kind == DRAW_FILL ? "that" : "both bounds");
}

static fx_status open_source(const struct job *job, const struct argument *a, struct source *s) {
    char message[128];
    s->text = find_pair(job->request->inputs, job->request->n_inputs, a->param->name);
    s->draw = a->param->packed.factor ? (struct draw){DRAW_BITS, 0, 0} : draw_default(a->param->dtype);
    if (!s->text && a->param->has_value) s->draw = (struct draw){DRAW_FILL, a->param->value, 0};
    if (!s->text || draw_parse(s->text, &s->draw, message, sizeof message)) return check_numbers(job, a, s);
    if (*message) return usage_error(job->request->cmd, "-i %s=%s: %s", a->param->name, s->text, message);
    if (a->param->is_scalar)
        return usage_error(job->request->cmd, "-i %s=%s: %s is a scalar, a number is expected", a->param->name, s->text,
            a->param->name);
    s->is_array = true;
    return open_array(a, s->text, &s->array);
}

/* ---- extents ---- */

bool job_is_derived(const struct fx_kernel *k, int extent) {
    if (k->extents[extent].is_made) return true;
    for (int e = 0; e < extent; e++)
        if (strcmp(k->extents[e].name, k->extents[extent].name) == 0) return true;
    return false;
}

/* The extents that a block gives. -D is compiled in. */
static fx_status bind_block(struct job *job) {
    const struct request *r = job->request;
    for (int e = 0; e < job->kernel->n_extents; e++) {
        const char *label = job->kernel->extents[e].name, *value = find_pair(r->extents, r->n_extents, label);
        long long v = value ? strtoll(value, NULL, 10) : -1;
        if (!value || job_is_derived(job->kernel, e)) continue;
        if (job->extents[e] >= 0 && job->extents[e] != v)
            return complain(FX_ERR_USAGE, "%s is %lld in the block on line %d, and kernel %s as compiled has %s=%lld",
                label, v, r->block->line, job->kernel->name, label, (long long)job->extents[e]);
        job->extents[e] = v;
    }
    return FX_OK;
}

/* Extents fixed by the spec or by -D, given by a block, read off the .npy inputs, and what equations make of them; the
 * first word counts, fx_bind_extents compares them all. */
static fx_status find_extents(struct job *job, const struct source *sources) {
    const struct fx_kernel *k = job->kernel;
    char message[512] = "";
    for (int e = 0; e < k->n_extents; e++) job->extents[e] = k->extents[e].value;
    if (bind_block(job) != FX_OK) return FX_ERR_USAGE;
    for (int p = 0; p < k->n_params; p++) {
        const struct fx_shape *have = &sources[p].array.shape;
        if (!sources[p].is_array || have->rank != k->params[p].rank) continue;
        for (int i = 0; i < have->rank; i++) {
            bool is_packed = k->params[p].packed.factor &&
                             k->params[p].packed.axis == i; /* its words do not tell the extent */
            if (!is_packed && job->extents[k->params[p].extents[i]] < 0)
                job->extents[k->params[p].extents[i]] = have->extents[i];
        }
    }
    fx_status status = fx_solve_extents(k, job->extents, message, sizeof message);
    if (status != FX_OK) return complain(status, "%s", message);
    for (int p = 0; p < k->n_params; p++)
        for (int i = 0; i < k->params[p].rank; i++) {
            int e = k->params[p].extents[i];
            if (job->extents[e] < 0 && job->request->block)
                return complain(FX_ERR_USAGE,
                    "the extent %s of %s is not known: write %s=N into the block on line %d, or give it with -D",
                    k->extents[e].name, k->params[p].name, k->extents[e].name, job->request->block->line);
            if (job->extents[e] < 0)
                return usage_error(job->request->cmd,
                    "the extent %s of %s is not known: give it with -D %s=N, or give a .npy input that has it",
                    k->extents[e].name, k->params[p].name, k->extents[e].name);
        }
    return FX_OK;
}

static fx_status bind_shapes(struct job *job, const struct source *sources) {
    const struct fx_kernel *k = job->kernel;
    const struct fx_shape **shapes = calloc((size_t)k->n_params + 1, sizeof *shapes);
    char message[512] = "";
    if (!shapes) return complain(FX_ERR_NOMEM, "out of memory");
    for (int p = 0; p < k->n_params; p++) {
        struct argument *a = &job->arguments[p];
        a->shape.dtype = fx_argument_dtype(&k->params[p]);
        a->shape.rank = k->params[p].is_scalar ? 0 : k->params[p].rank;
        for (int i = 0; i < a->shape.rank; i++)
            a->shape.extents[i] = fx_argument_extent(&k->params[p], i, job->extents);
        if (!k->params[p].is_scalar) shapes[p] = sources[p].is_array ? &sources[p].array.shape : &a->shape;
    }
    fx_status status = fx_bind_extents(k, shapes, job->extents, message, sizeof message);
    free(shapes);
    return status == FX_OK ? FX_OK : complain(status, "%s", message);
}

/* ---- memory ---- */

static fx_status measure(struct job *job) {
    size_t total = 0;
    for (int p = 0; p < job->kernel->n_params; p++) {
        struct argument *a = &job->arguments[p];
        if (fx_dtype_bits(a->shape.dtype) % 8)
            return complain(FX_ERR_USAGE, "%s has 4-bit elements, which no array here holds", a->param->name);
        if (!npy_count(a->shape.rank, a->shape.extents, &a->n_elements))
            return complain(FX_ERR_USAGE, "%s is too large", a->param->name);
        a->n_bytes = a->n_elements * ((size_t)fx_dtype_bits(a->shape.dtype) / 8);
        bool is_twice = a->param->is_input && a->param->is_output; /* what it held, and what it will */
        if (__builtin_add_overflow(total, a->n_bytes, &total) ||
            (is_twice && __builtin_add_overflow(total, a->n_bytes, &total)) || total > memory_bytes())
            return complain(FX_ERR_NOMEM, "the arguments need more memory than this machine has");
    }
    return FX_OK;
}

static bool fill_integer(struct argument *a, const char *text) {
    uint64_t v;
    if (!text || !read_digits(a->shape.dtype, text, &v)) return false;
    for (size_t i = 0; i < a->n_elements; i++) memcpy((uint64_t *)a->data + i, &v, sizeof v);
    return true;
}

/* Integers that index or count are drawn where they do; elsewhere all of them would read what lies outside. */
static void draw_below(struct draw *d, const struct argument *a, const int64_t *extents) {
    int64_t below = 0;
    enum fx_dtype t = a->shape.dtype;
    const struct fx_env env = {.extents = extents};
    if (!a->param->below.n || !fx_expr_eval(&a->param->below, &env, &below) || below < 1) return;
    int bits = fx_dtype_bits(t) - (fx_dtype_class_of(t) == FX_CLASS_S);
    double most = ldexp(1, bits < 52 ? bits : 52) - 1, last = (double)below - 1;
    *d = (struct draw){DRAW_INTEGERS, 0, last < most ? last : most};
}

static fx_status fill(struct job *job, struct source *sources) {
    for (int p = 0; p < job->kernel->n_params; p++) {
        struct argument *a = &job->arguments[p];
        struct source *s = &sources[p];
        if (a->param->is_output && !(a->result = malloc(a->n_bytes ? a->n_bytes : 1)))
            return complain(FX_ERR_NOMEM, "out of memory");
        if (!a->param->is_input) continue;
        if (s->is_array) {
            a->data = s->array.data;
            a->is_array = true;
            s->array.data = NULL;
            continue;
        }
        a->data = malloc(a->n_bytes ? a->n_bytes : 1);
        if (!a->data) return complain(FX_ERR_NOMEM, "out of memory");
        /* A seed of its own for every input; 2^32 seeds of the user do not meet them. */
        if (!s->text && !a->param->packed.factor) draw_below(&s->draw, a, job->extents);
        if (!fill_integer(a, s->text))
            draw_rows(&s->draw, job->request->seed + ((uint64_t)p << 32), a->shape.dtype, a->data, a->n_elements,
                a->shape.rank ? (size_t)a->shape.extents[a->shape.rank - 1] : 1);
    }
    return FX_OK;
}

void job_draw_integers(struct job *job) {
    const struct draw integers = {DRAW_INTEGERS, -2, 2};
    for (int p = 0; p < job->kernel->n_params; p++) {
        struct argument *a = &job->arguments[p];
        bool is_drawn = a->param->is_input && !a->param->is_scalar && !a->is_array && fx_is_float(a->shape.dtype);
        if (is_drawn)
            draw_fill(&integers, job->request->seed + ((uint64_t)p << 32) + 1, a->shape.dtype, a->data, a->n_elements);
    }
}

/* What the spec requires of scalars. */
static fx_status check_scalars(const struct job *job) {
    const struct fx_kernel *k = job->kernel;
    const void **scalars = calloc((size_t)k->n_params + 1, sizeof *scalars);
    char message[512] = "";
    if (!scalars) return complain(FX_ERR_NOMEM, "out of memory");
    for (int p = 0; p < k->n_params; p++) scalars[p] = k->params[p].is_scalar ? job->arguments[p].data : NULL;
    fx_status status = fx_check_scalars(k, job->extents, scalars, message, sizeof message);
    free(scalars);
    return status == FX_OK ? FX_OK : complain(status, "%s", message);
}

static bool is_beyond(const struct job *job, const struct limits *most) {
    int64_t flops, bytes;
    job_work(job, &flops, &bytes);
    return most && ((double)flops > most->flops || (double)bytes > most->bytes);
}

/* Seconds that the emulator takes, watched, on one core: multiply-adds, and bytes of every operation of the source, for
 * a loop that computes much may read little. Overflow counts as the largest number. */
static double emulated_seconds(const struct job *job) {
    static const double FLOPS_A_SECOND = 8e7, BYTES_A_SECOND = 2e7;
    int64_t flops, bytes, unfused;
    struct fx_env env = job_env(job);
    job_work(job, &flops, &bytes);
    if (!fx_expr_eval(&job->kernel->unfused_bytes, &env, &unfused)) unfused = INT64_MAX;
    return (double)flops / FLOPS_A_SECOND + (double)(bytes > unfused ? bytes : unfused) / BYTES_A_SECOND;
}

/* A GPU's problem is not begun where it would take hours, unless the emulator was asked for by name. */
static void refuse_hours(struct job *job) {
    static const double MOST_SECONDS = 120;
    double seconds = emulated_seconds(job);
    if (seconds <= MOST_SECONDS) return;
    snprintf(job->too_long, sizeof job->too_long,
        "no GPU, and the emulator would take about %.3g %s: give smaller extents, or --device=emu to wait that long",
        seconds / (seconds < 3600 ? 60 : 3600), seconds < 3600 ? "minutes" : "hours");
}

static fx_status bind(struct job *job, bool is_stand_in) {
    const struct fx_kernel *k = job->kernel;
    struct source *sources = calloc((size_t)k->n_params + 1, sizeof *sources);
    fx_status status = FX_OK;
    job->arguments = calloc((size_t)k->n_params + 1, sizeof *job->arguments);
    job->extents = calloc((size_t)k->n_extents + 1, sizeof *job->extents);
    job->strides = calloc((size_t)fx_stride_index(k->n_params, 0) + 1, sizeof *job->strides);
    if (!sources || !job->arguments || !job->extents || !job->strides) status = complain(FX_ERR_NOMEM, "out of memory");
    if (status == FX_OK) status = check_names(job);
    if (status == FX_OK) status = check_files(job->request->cmd);
    for (int p = 0; status == FX_OK && p < k->n_params; p++) {
        job->arguments[p].param = &k->params[p];
        job->n_outputs += k->params[p].is_output;
        if (k->params[p].is_input) status = open_source(job, &job->arguments[p], &sources[p]);
    }
    if (status == FX_OK) status = find_extents(job, sources);
    if (status == FX_OK) status = bind_shapes(job, sources);
    if (status == FX_OK) fx_row_major_strides(k, job->extents, job->strides);
    if (status == FX_OK) job->is_left_out = is_beyond(job, job->request->most);
    if (status == FX_OK && is_stand_in && !job->is_left_out) refuse_hours(job);
    bool holds_nothing = job->is_left_out || *job->too_long;
    if (status == FX_OK && !holds_nothing) status = measure(job);
    if (status == FX_OK && !holds_nothing) status = fill(job, sources);
    if (status == FX_OK && !holds_nothing) status = check_scalars(job);
    for (int p = 0; sources && p < k->n_params; p++) npy_release(&sources[p].array);
    free(sources);
    return status;
}

fx_status job_open(const struct request *request, const struct machine *machine, bool oracle_will_do, struct job *job) {
    *job = (struct job){.request = request, .context = machine->context, .is_emulated = machine->is_emulated};
    fx_status status = open_spec(job, machine, oracle_will_do);
    if (status == FX_OK) status = bind(job, machine->is_stand_in);
    if (status != FX_OK) job_close(job);
    return status;
}

void job_close(struct job *job) {
    for (int p = 0; job->arguments && p < job->kernel->n_params; p++) {
        free(job->arguments[p].data);
        free(job->arguments[p].result);
    }
    free(job->arguments);
    free(job->extents);
    free(job->strides);
    fx_close(job->compilation);
    *job = (struct job){0};
}

/* ---- what the others ask of it ---- */

int job_output(const struct job *job, int i) {
    int p = 0;
    for (; p < job->kernel->n_params; p++)
        if (job->kernel->params[p].is_output && i-- == 0) break;
    return p;
}

fx_status job_evaluate(
    const struct job *job, int i, const int64_t *elements, int64_t n, double *value, int64_t *integer, double *bound) {
    const struct fx_kernel *k = job->kernel;
    struct fx_host *inputs = calloc((size_t)k->n_params + 1, sizeof *inputs);
    char message[512] = "";
    int n_inputs = 0;
    if (!inputs) return complain(FX_ERR_NOMEM, "out of memory");
    for (int p = 0; p < k->n_params; p++) {
        const struct argument *a = &job->arguments[p];
        struct fx_host *h = &inputs[n_inputs];
        if (!a->param->is_input) continue;
        *h = (struct fx_host){.dtype = a->shape.dtype, .rank = a->shape.rank, .data = a->data};
        memcpy(h->extents, a->shape.extents, sizeof h->extents);
        n_inputs++;
    }
    fx_status status = fx_evaluate(job->compilation, k->name, inputs, n_inputs, i, elements, n, value, integer,
        job_tolerance(job)->kind == FX_TOL_WORST ? FX_BOUND_WORST : FX_BOUND_INDEPENDENT, bound, message,
        sizeof message);
    free(inputs);
    return status == FX_OK ? FX_OK : complain(status, "the oracle failed: %s", message);
}

/* What a block states it states of the whole kernel. */
const struct fx_tolerance *job_tolerance(const struct job *job) {
    static const struct fx_tolerance derived = {FX_TOL_DERIVED, 0}, worst = {FX_TOL_WORST, 0};
    const struct fx_test *block = job->request->ablate ? NULL : job->request->block;
    if (block && block->tolerance.kind != FX_TOL_DERIVED) return &block->tolerance;
    return is_given(job->request->cmd, OPT_WORST_CASE) ? &worst : &derived;
}

struct fx_env job_env(const struct job *job) {
    int sm_count = job->context ? fx_context_sm_count(job->context) : fx_get_plan(job->compilation)->sm_count;
    return (struct fx_env){.extents = job->extents, .sm_count = sm_count, .strides = job->strides};
}

struct fx_partition job_partition(const struct job *job) {
    const struct fx_env env = job_env(job);
    return fx_get_partition(job->kernel, fx_choose_partition(job->kernel, &env));
}

void job_work(const struct job *job, int64_t *flops, int64_t *bytes) {
    struct fx_env env = job_env(job);
    *flops = *bytes = 0;
    const struct fx_partition taken = job_partition(job);
    for (int i = taken.first_launch; i < taken.first_launch + taken.n_launches; i++) {
        int64_t f = 0, b = 0;
        if (job->kernel->launches[i].is_once) continue;
        if (!fx_expr_eval(&job->kernel->launches[i].flops, &env, &f) || __builtin_add_overflow(*flops, f, flops))
            *flops = INT64_MAX;
        if (!fx_expr_eval(&job->kernel->launches[i].bytes, &env, &b) || __builtin_add_overflow(*bytes, b, bytes))
            *bytes = INT64_MAX;
        if (*flops == INT64_MAX || *bytes == INT64_MAX) return;
    }
}
