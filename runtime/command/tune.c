/* The tune subcommand. Input: a kernel at given extents. Output: the ways in which a launch may run there, ranked by
 * their predicted times, the best few of them timed in turn, so that all see the same clocks, and ranked again. A way
 * is a partition of the plan and a variant of each of its launches; the plan's own is always timed. Each is compared
 * with the oracle first: what is wrong gets no time. Small inputs are rotated through copies, as in bench. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/tune.h"
#include "lib/tuning.h"

enum { DEFAULT_MOST = 16, DEFAULT_BUDGET = 20, LEAST_ROUNDS = 3 };
static const double HOPELESS = 1.5;  /* times the fastest: timed no further */

struct fx_partition partition_of(const struct tuning *t, const struct way *w) {
    return fx_get_partition(t->job->kernel, w->partition);
}

const struct fx_variant *variant_of(const struct tuning *t, const struct way *w, int launch) {
    return &t->job->kernel->launches[partition_of(t, w).first_launch + launch].variants[w->variants[launch]];
}

/* ---- which ways there are ---- */

static struct way *add_way(struct tuning *t, const struct way *w) {
    if (t->n_ways == t->room) {
        int room = 2 * t->room + 64;
        struct way *more = realloc(t->ways, (size_t)room * sizeof *more);
        if (!more) return NULL;
        t->ways = more, t->room = room;
    }
    t->ways[t->n_ways] = *w;
    t->ways[t->n_ways].number = t->n_ways;
    return &t->ways[t->n_ways++];
}

static bool takes(const struct job *job, const struct fx_variant *v) {
    struct fx_env env = job_env(job);
    int64_t can = 1;
    return !v->needs.n || (fx_expr_eval(&v->needs, &env, &can) && can);
}

static fx_status predict(const struct tuning *t, struct way *w) {
    const struct job *job = t->job;
    fx_status status = fx_predict(
        job->compilation, job->kernel->name, job->extents, w->partition, w->variants, &w->predicted);
    return status == FX_OK ? FX_OK : complain(status, "a time could not be predicted");
}

/* A partition as a launch would run it, and with each of its launches run in every other way. */
static fx_status add_partition(struct tuning *t, int partition, const int *chosen) {
    const struct job *job = t->job;
    const struct fx_partition p = fx_get_partition(job->kernel, partition);
    struct fx_env env = job_env(job);
    struct way base = {.partition = partition};
    for (int i = 0; i < p.n_launches; i++) {
        base.variants[i] = chosen ? chosen[i] : fx_choose_variant(&job->kernel->launches[p.first_launch + i], &env);
        if (base.variants[i] < 0) return FX_OK; /* it does not take the extents */
    }
    fx_status status = predict(t, &base);
    base.is_plans = chosen != NULL;
    if (status == FX_OK && !add_way(t, &base)) status = complain(FX_ERR_NOMEM, "out of memory");
    base.is_plans = false;
    for (int i = 0; i < p.n_launches; i++) {
        const struct fx_launch *l = &job->kernel->launches[p.first_launch + i];
        for (int v = 0; status == FX_OK && v < l->n_variants; v++) {
            struct way other = base;
            if (v == base.variants[i] || l->is_once || !takes(job, &l->variants[v])) continue;
            other.variants[i] = v;
            other.n_unlike = l->variants[v].kind != l->variants[base.variants[i]].kind;
            status = predict(t, &other);
            if (status == FX_OK && !add_way(t, &other)) status = complain(FX_ERR_NOMEM, "out of memory");
        }
    }
    return status;
}

/* What it computes of `const` tensors once would be another partition's: it is not timed beside that. */
static bool has_constants(const struct fx_kernel *k, int partition) {
    const struct fx_partition p = fx_get_partition(k, partition);
    bool any = false;
    for (int i = p.first_launch; i < p.first_launch + p.n_launches; i++) any |= k->launches[i].is_once;
    return any;
}

/* gpu NULL: by the plan's rule alone. */
static fx_status list_ways(struct tuning *t, const struct gpu *gpu) {
    const struct job *job = t->job;
    const struct fx_env env = job_env(job);
    const int taken = fx_choose_partition(job->kernel, &env);
    const struct fx_partition p = fx_get_partition(job->kernel, taken);
    int chosen[FX_MAX_LAUNCHES];
    for (int i = 0; i < p.n_launches; i++) {
        chosen[i] = gpu ? gpu_chosen_variant(gpu, p.first_launch + i)
                        : fx_choose_variant(&job->kernel->launches[p.first_launch + i], &env);
        if (chosen[i] < 0) return complain(FX_ERR_USAGE, "kernel %s has nothing to launch", job->kernel->name);
    }
    fx_status status = add_partition(t, taken, chosen);
    for (int i = 0; status == FX_OK && i < fx_partition_count(job->kernel); i++)
        if (i != taken && !has_constants(job->kernel, i)) status = add_partition(t, i, NULL);
    return status;
}

/* ---- ranks ---- */

static int by_prediction(const void *a, const void *b) {
    const struct way *x = a, *y = b;
    if (x->predicted.us != y->predicted.us) return x->predicted.us < y->predicted.us ? -1 : 1;
    if (x->is_plans != y->is_plans) return x->is_plans ? -1 : 1;
    if (x->n_unlike != y->n_unlike) return x->n_unlike < y->n_unlike ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* What has a time by that, the others behind it. */
static int by_time(const void *a, const void *b) {
    const struct way *x = a, *y = b;
    if ((x->median > 0) != (y->median > 0)) return x->median > 0 ? -1 : 1;
    if (x->median <= 0) return by_prediction(a, b);
    return x->median < y->median ? -1 : x->median > y->median;
}

static void say_progress(const struct tuning *t, const char *what, int done, int of) {
    double best = 0;
    if (!isatty(STDERR_FILENO)) return;
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].median > 0 && (best == 0 || t->ways[i].median < best)) best = t->ways[i].median;
    fprintf(stderr, "\r\033[K%s: %s %d of %d", t->job->kernel->name, what, done, of);
    if (best > 0) fprintf(stderr, ", best so far %.2f us", best);
    fflush(stderr);
}

static void end_progress(void) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}

/* Those that are to be timed: the plan's own, and the best of the others by what is predicted. */
static void choose_ways(struct tuning *t) {
    qsort(t->ways, (size_t)t->n_ways, sizeof *t->ways, by_prediction);
    for (int i = 0, n = 1; i < t->n_ways; i++) {
        struct way *w = &t->ways[i];
        w->is_open = !t->is_plan_only && (w->is_plans || n < t->most);
        n += w->is_open && !w->is_plans;
        if (!w->is_open) w->why_not = "it was not tried";
    }
}

/* ---- compiling ---- */

/* What the ways need, compiled in parallel, the best first, while half of the budget lasts. */
static fx_status compile_ways(struct tuning *t, const struct gpu *gpu, double start) {
    long n_at_once = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = (size_t)fx_entry_count(fx_get_plan(t->job->compilation)) + 1;
    bool *wanted = calloc(n, sizeof *wanted), *is_done = calloc(n, sizeof *is_done);
    fx_status status = wanted && is_done ? FX_OK : complain(FX_ERR_NOMEM, "out of memory");
    for (int next = 0; status == FX_OK && next < t->n_ways;) {
        int n_wanted = 0;
        memset(wanted, 0, n * sizeof *wanted);
        for (; next < t->n_ways && n_wanted < (n_at_once < 1 ? 1 : n_at_once); next++) {
            struct way *w = &t->ways[next];
            if (w->is_open && next && !w->is_plans && seconds_now() - start > t->budget / 2)
                w->is_open = false, w->why_not = "the budget was used up";
            for (int i = 0; w->is_open && i < partition_of(t, w).n_launches; i++) {
                int number = variant_of(t, w, i)->number;
                if (is_done[number]) continue;
                wanted[number] = is_done[number] = true;
                n_wanted++;
            }
        }
        say_progress(t, "compiling", next < t->n_ways ? next : t->n_ways, t->n_ways);
        if (n_wanted) status = prepared_load(gpu->prepared, wanted);
        if (status != FX_OK) gpu_failed(status, "cannot compile the kernel");
    }
    free(wanted), free(is_done);
    return status;
}

/* ---- launching ---- */

/* From now on launches run like this. FX_ERR_USAGE: they cannot. */
static fx_status take_way(const struct tuning *t, const struct gpu *gpu, const struct way *w) {
    const struct fx_partition p = partition_of(t, w);
    fx_status status = fx_pin_partition(gpu->prepared, w->partition);
    for (int i = 0; status == FX_OK && i < p.n_launches; i++)
        status = fx_pin_variant(gpu->prepared, p.first_launch + i, w->variants[i]);
    return status;
}

/* Of all ways the largest workspace. */
static fx_status open_workspace(const struct tuning *t, struct gpu *gpu) {
    fx_context *context = t->job->context;
    size_t most = 0;
    for (int i = 0; i < t->n_ways; i++) {
        size_t n_bytes = 0;
        if (!t->ways[i].is_open) continue;
        fx_status status = fx_pin_partition(gpu->prepared, t->ways[i].partition);
        if (status == FX_OK)
            status = fx_workspace_bytes(gpu->prepared, gpu->set.values, t->job->kernel->n_params, &n_bytes);
        if (status != FX_OK) return gpu_failed(status, "cannot prepare the kernel");
        if (n_bytes > most) most = n_bytes;
    }
    if (gpu->workspace) fx_device_free(context, gpu->workspace);
    gpu->workspace = NULL, gpu->workspace_bytes = most;
    fx_status status = most ? fx_device_alloc(context, most, &gpu->workspace) : FX_OK;
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot allocate the workspace");
}

static fx_status check_way(const struct tuning *t, const struct gpu *gpu, const struct expected *e, struct way *w) {
    struct verdict verdict = {0};
    fx_status status = take_way(t, gpu, w);
    if (status == FX_ERR_USAGE) {
        w->is_open = false, w->why_not = "the device does not take it";
        return FX_OK;
    }
    if (status != FX_OK) return gpu_failed(status, "cannot compile the kernel");
    status = gpu_run(gpu);
    for (int i = 0; status == FX_OK && i < t->job->n_outputs; i++) {
        struct comparison c = compare(&t->job->arguments[job_output(t->job, i)], &e[i], job_tolerance(t->job));
        add_comparison(&verdict, &c);
    }
    if (status != FX_OK || (!verdict.n_wrong && verdict.n_compared)) return status;
    w->is_open = false, w->why_not = verdict.n_wrong ? "its result is wrong" : "nothing was compared";
    return FX_ERR_DIFFERS;
}

/* All of them; FX_ERR_DIFFERS where one is wrong, the others being compared all the same. */
static fx_status check_ways(struct tuning *t, const struct gpu *gpu, const struct expected *e) {
    bool any_wrong = false;
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < t->n_ways; i++) {
        if (!t->ways[i].is_open) continue;
        say_progress(t, "checking", i + 1, t->n_ways);
        status = check_way(t, gpu, e, &t->ways[i]);
        any_wrong |= status == FX_ERR_DIFFERS;
        if (status == FX_ERR_DIFFERS) status = FX_OK;
    }
    return status == FX_OK && any_wrong ? FX_ERR_DIFFERS : status;
}

/* ---- times ---- */

static void take_median(struct way *w) {
    double sorted[MAX_ROUNDS];
    int n = w->n_rounds;
    if (!n) return;
    memcpy(sorted, w->us, (size_t)n * sizeof *sorted);
    w->median = sort_for_median(sorted, n);
    w->least = sorted[0];
}

static fx_status time_way(
    const struct tuning *t, const struct gpu *gpu, struct rotation *r, fx_timer *timer, struct way *w) {
    double each;
    fx_status status = take_way(t, gpu, w);
    if (status != FX_OK) return gpu_failed(status, "cannot take this variant");
    if (!w->batch) {
        status = time_batch(gpu, r, timer, 2, &each);
        w->batch = launches_of_batch(each);
    }
    if (status == FX_OK) status = time_batch(gpu, r, timer, w->batch, &w->us[w->n_rounds]);
    if (status == FX_OK) w->n_rounds++;
    take_median(w);
    return status;
}

/* Drops those that are far behind. */
static void drop_hopeless(struct tuning *t) {
    double best = INFINITY;
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].median > 0) best = fmin(best, t->ways[i].median);
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].median > HOPELESS * best && !t->ways[i].is_plans) t->ways[i].is_open = false;
}

/* Each once after the other, and again, until there are rounds enough or the time is up. */
static fx_status time_rounds(
    struct tuning *t, const struct gpu *gpu, struct rotation *r, fx_timer *timer, double until) {
    fx_status status = FX_OK;
    for (int round = 0; status == FX_OK && round < MAX_ROUNDS && (!round || seconds_now() < until); round++) {
        say_progress(t, "timed in round", round + 1, MAX_ROUNDS);
        for (int i = 0; status == FX_OK && i < t->n_ways; i++) {
            struct way *w = &t->ways[(i + round) % t->n_ways];
            if (w->is_open && w->n_rounds <= round) status = time_way(t, gpu, r, timer, w);
        }
        if (round + 1 >= LEAST_ROUNDS) drop_hopeless(t);
    }
    return status;
}

/* Of a partition of several launches, which were changed one at a time: the fastest of each together. False where that
 * is no other way. */
static bool combine_ways(struct tuning *t) {
    const struct way *best = NULL, *of[FX_MAX_LAUNCHES] = {NULL};
    struct way both;
    int n_changed = 0;
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].median > 0 && (!best || t->ways[i].median < best->median)) best = &t->ways[i];
    const struct way *base = best;
    for (int i = 0; best && i < t->n_ways; i++) { /* what all others of the partition differ from in one place */
        bool is_base = t->ways[i].partition == best->partition && t->ways[i].median > 0;
        for (int j = 0; is_base && j < t->n_ways; j++) {
            int n = 0;
            if (t->ways[j].partition != best->partition) continue;
            for (int l = 0; l < partition_of(t, best).n_launches; l++)
                n += t->ways[j].variants[l] != t->ways[i].variants[l];
            is_base = n <= 1;
        }
        if (is_base) base = &t->ways[i];
    }
    for (int i = 0; best && i < t->n_ways; i++) {
        const struct way *w = &t->ways[i];
        if (w->partition != base->partition || w->median <= 0 || w->median >= base->median) continue;
        for (int l = 0; l < partition_of(t, base).n_launches; l++)
            if (w->variants[l] != base->variants[l] && (!of[l] || w->median < of[l]->median)) of[l] = w;
    }
    if (!base) return false;
    both = (struct way){.partition = base->partition, .is_open = true};
    for (int l = 0; l < partition_of(t, base).n_launches; l++) {
        both.variants[l] = of[l] ? of[l]->variants[l] : base->variants[l];
        n_changed += of[l] != NULL;
    }
    return n_changed > 1 && predict(t, &both) == FX_OK && add_way(t, &both);
}

static fx_status warm_clocks(const struct gpu *gpu, struct rotation *r, fx_timer *timer) {
    struct timing unused = timing_of(NULL);
    return warm_up(gpu, r, timer, &unused);
}

static fx_status time_ways(struct tuning *t, struct gpu *gpu, double until) {
    struct rotation rotation = {0};
    fx_timer *timer = NULL;
    fx_status status = fx_timer_open(t->job->context, &timer);
    if (status != FX_OK) return gpu_failed(status, "cannot time");
    status = rotation_open(gpu, &rotation);
    if (status == FX_OK && !t->job->is_emulated) status = warm_clocks(gpu, &rotation, timer);
    if (status == FX_OK) status = time_rounds(t, gpu, &rotation, timer, until);
    /* Copies may only go once nothing queued uses them. */
    fx_stream_wait(t->job->context, gpu->stream);
    rotation_close(gpu, &rotation);
    fx_timer_close(timer);
    return status;
}

/* ---- the database ---- */

const char *tuning_path(const struct command *cmd, char *path, size_t size) {
    const char *given = option_value(cmd, OPT_DB), *own = getenv("FX_TUNE_DB"), *data = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (given) snprintf(path, size, "%s", strcmp(given, "none") == 0 ? "" : given);
    else if (own && *own) snprintf(path, size, "%s", own);
    else if (data && *data == '/') snprintf(path, size, "%s/fx/tune.db", data);
    else if (home && *home == '/') snprintf(path, size, "%s/.local/share/fx/tune.db", home);
    else *path = 0;
    return path;
}

fx_status take_tuning(const struct command *cmd) {
    char path[1024], text[512];
    if (cmd->sub == SUB_TUNE || (!is_given(cmd, OPT_TUNED) && !is_given(cmd, OPT_DB))) return FX_OK;
    tuning_describe(tuning_path(cmd, path, sizeof path), text, sizeof text);
    fprintf(stderr, "tuned choices: %s\n", text);
    return setenv("FX_TUNE_DB", path, 1) == 0 ? FX_OK : complain(FX_ERR_NOMEM, "out of memory");
}

/* Times are no better than this: what is not faster by it is the plan's own. */
static const double CLEARLY = 0.99;

static void keep_fastest(struct tuning *t) {
    const struct way *best = &t->ways[0], *plans = best;
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].is_plans && t->ways[i].median > 0) plans = &t->ways[i];
    if (plans->median * CLEARLY <= best->median) best = plans;
    if (!*t->db || best->median <= 0) return;
    const struct tuning_row row = {.kernel = t->job->kernel,
        .device = fx_context_device(t->job->context),
        .extents = t->job->extents,
        .partition = best->partition,
        .variants = best->variants,
        .us = best->median,
        .plans_us = plans->median,
        .predicted_us = best->predicted.us};
    if (tuning_store(t->db, &row) == FX_OK) snprintf(t->kept, sizeof t->kept, "kept in %.400s", t->db);
    else snprintf(t->kept, sizeof t->kept, "not kept: %.400s", fx_last_error());
}

/* ---- the subcommand ---- */

static fx_status tune_ways(struct tuning *t, struct gpu *gpu, double start) {
    struct expected *e = NULL;
    fx_status status = list_ways(t, gpu), checked = FX_OK;
    if (status != FX_OK) return status;
    choose_ways(t);
    status = compile_ways(t, gpu, start);
    if (status == FX_OK) status = open_workspace(t, gpu);
    if (status == FX_OK) status = expect_all(t->job, &e);
    if (status == FX_OK) status = checked = check_ways(t, gpu, e);
    if (status == FX_OK || status == FX_ERR_DIFFERS) status = time_ways(t, gpu, start + t->budget);
    if (status == FX_OK && combine_ways(t)) {
        status = check_way(t, gpu, e, &t->ways[t->n_ways - 1]);
        if (status == FX_OK) status = time_ways(t, gpu, start + t->budget);
        else if (status == FX_ERR_DIFFERS) checked = status, status = FX_OK;
    }
    expected_release(e, t->job->n_outputs);
    end_progress();
    for (int i = 0; i < t->n_ways; i++) t->n_timed += t->ways[i].median > 0;
    qsort(t->ways, (size_t)t->n_ways, sizeof *t->ways, by_time);
    t->seconds = seconds_now() - start;
    return status == FX_OK ? checked : status;
}

static fx_status read_number(const struct command *cmd, enum option_id id, double *v) {
    const char *text = option_value(cmd, id);
    char *end;
    if (!text) return FX_OK;
    *v = strtod(text, &end);
    if (end != text && !*end && *v >= 1 && *v <= 1e6) return FX_OK;
    return usage_error(cmd, "--%s is a number from 1 on, not '%s'", option_row((int)id)->name, text);
}

static fx_status read_tuning(const struct command *cmd, struct tuning *t) {
    const char *format = option_value(cmd, OPT_TUNE_FORMAT), *most = option_value(cmd, OPT_CANDIDATES),
               *device = option_value(cmd, OPT_DEVICE_TUNE);
    struct fx_emulation e;
    double n = DEFAULT_MOST;
    *t = (struct tuning){
        .budget = DEFAULT_BUDGET, .is_first = true, .is_plan_only = is_given(cmd, OPT_PLAN_ONLY_TUNE)};
    if (format && strcmp(format, "table") != 0 && strcmp(format, "csv") != 0 && strcmp(format, "json") != 0)
        return usage_error(cmd, "--format is table, csv or json, not '%s'", format);
    if (device && strcmp(device, "gpu") != 0 && !read_emulation(device, &e))
        return usage_error(cmd, "unknown device '%s': expected gpu or emu", device);
    t->is_csv = format && *format == 'c', t->is_json = format && *format == 'j';
    fx_status status = read_number(cmd, OPT_BUDGET, &t->budget);
    if (status == FX_OK && most && strcmp(most, "all") == 0) n = 1e6;
    else if (status == FX_OK) status = read_number(cmd, OPT_CANDIDATES, &n);
    t->most = (int)n;
    return status;
}

static fx_status tune_on_gpu(struct tuning *t, double start) {
    struct gpu gpu;
    fx_status status = gpu_open(t->job, &gpu);
    if (status != FX_OK) return status;
    status = tune_ways(t, &gpu, start);
    if (status == FX_ERR_DIFFERS) complain(status, "a result is wrong: please report it with the spec");
    gpu_close(&gpu);
    return status;
}

static fx_status tune_request(struct request *r, const struct machine *machine, struct tuning *t) {
    static const struct limits nothing = {-1, -1}; /* beyond which all is: no argument is drawn */
    struct job job;
    const double start = seconds_now();
    if (t->is_plan_only) r->most = &nothing;
    fx_status status = job_open(r, machine, false, &job);
    if (status != FX_OK) return status;
    t->job = &job;
    if (!t->is_plan_only) status = tune_on_gpu(t, start);
    else if ((status = list_ways(t, NULL)) == FX_OK) choose_ways(t);
    *t->kept = 0;
    if (t->n_timed && status == FX_OK) keep_fastest(t);
    if (t->n_timed || (t->is_plan_only && status == FX_OK)) {
        fx_status printed = print_tuning(t);
        if (status == FX_OK) status = printed;
        t->is_first = false;
    }
    job_close(&job);
    free(t->ways);
    t->ways = NULL, t->n_ways = t->room = t->n_timed = 0;
    fflush(stdout);
    return status;
}

static fx_status tune_block(struct request *r, const struct machine *machine, void *t) {
    return tune_request(r, machine, t);
}

static fx_status tune_spec(
    const struct command *cmd, const struct spec *spec, const struct machine *machine, struct tuning *t) {
    struct request r = {0};
    int n = 0;
    fx_status status = FX_OK;
    if (!is_given(cmd, OPT_INPUT) && !is_given(cmd, OPT_DEFINE))
        status = act_on_blocks(cmd, spec, machine, true, &n, tune_block, t);
    if (!n && status == FX_OK) {
        status = request_open(cmd, spec, NULL, &r);
        if (status == FX_OK) status = tune_request(&r, machine, t);
        request_release(&r);
    }
    if (t->is_json && !t->is_first) printf("]\n");
    return status;
}

fx_status command_tune(const struct command *cmd) {
    const char *path;
    struct spec spec = {0};
    struct machine machine = {0};
    struct tuning t;
    char db[1024];
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK) status = read_tuning(cmd, &t);
    t.db = tuning_path(cmd, db, sizeof db);
    unsetenv("FX_TUNE_DB"); /* the plan's own choice is one of those that are timed */
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK && !t.is_plan_only) machine_open(cmd, &machine);
    if (status == FX_OK && !t.is_plan_only && !machine.context)
        status = complain(machine.status,
            "no GPU: %s\nfxc: times are a GPU's: run tune where there is one; without one, tune --plan-only ranks what "
            "there is by predicted times",
            machine.no_gpu);
    if (status == FX_OK) status = tune_spec(cmd, &spec, &machine, &t);
    machine_close(&machine);
    spec_release(&spec);
    return status;
}
