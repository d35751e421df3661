/* Prepares a plan's kernel for launches. In: the plan, and the extents if known. Out: the entries that a launch may
 * need, loaded. If all extents are known, variants that no alignment of the arguments can select are left out. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tuning.h"

/* ---- what is asked for ---- */

fx_status plan_check(const struct fx_plan *plan) {
    if (!plan) return error_null("the plan");
    if (plan->source && *plan->source) return FX_OK;
    return error_set(FX_ERR_USAGE, "the plan of %s cannot be launched: it was compiled with oracle_only, "
                     "which stops before any CUDA", plan->file ? plan->file : "the spec");
}

/* Room for every array a launch keeps on its stack. */
static fx_status check_size(const struct fx_kernel *k) {
    const struct { const char *what; int n, limit; } sizes[] = {{"parameters", k->n_params, FX_MAX_PARAMS},
                                                                {"extents", k->n_extents, FX_MAX_EXTENTS},
                                                                {"buffers", k->n_buffers, FX_MAX_BUFFERS},
                                                                {"launches", k->n_launches, FX_MAX_LAUNCHES}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].n > sizes[i].limit)
            return error_set(FX_ERR_USAGE, "kernel %s has %d %s, at most %d can be launched", k->name, sizes[i].n,
                sizes[i].what, sizes[i].limit);
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].n_args > FX_MAX_ARGS)
            return error_set(FX_ERR_USAGE, "launch %s has %d arguments, at most %d are possible", k->launches[i].name,
                             k->launches[i].n_args, FX_MAX_ARGS);
    return FX_OK;
}

/* The arch to compile for: the plan's, or the device's own where that is newer and the plan keeps to what all newer
 * ones have. */
static fx_status choose_arch(const fx_context *ctx, const struct fx_plan *plan, char *arch, size_t size) {
    char *suffix = "";
    long cc = strncmp(plan->arch, "sm_", 3) == 0 ? strtol(plan->arch + 3, &suffix, 10) : 0;
    if (cc <= 0 || cc > ctx->cc || (cc < ctx->cc && *suffix))
        return error_set(
            FX_ERR_USAGE, "the plan is for %s, but the device (%s) is %s", plan->arch, ctx->name, ctx->arch);
    if (cc < ctx->cc) snprintf(arch, size, "sm_%d", ctx->cc);
    else snprintf(arch, size, "%s", plan->arch);
    return FX_OK;
}

/* Fixed extents, hints, and what follows from them; -1 where nothing says. */
static fx_status known_extents(const struct fx_kernel *k, const struct fx_hint *hints, int n_hints, int64_t *extents) {
    char message[256];
    for (int e = 0; e < k->n_extents; e++) extents[e] = k->extents[e].value;
    for (int i = 0; i < n_hints; i++) {
        int e = 0;
        if (!hints[i].name) return error_null("the name of a hint");
        while (e < k->n_extents && strcmp(k->extents[e].name, hints[i].name) != 0) e++;
        if (e == k->n_extents) return error_set(FX_ERR_USAGE, "kernel %s has no extent %s", k->name, hints[i].name);
        if (hints[i].value < 0 || (extents[e] >= 0 && extents[e] != hints[i].value))
            return error_set(FX_ERR_USAGE, "the hint %s = %lld of kernel %s contradicts %lld", hints[i].name,
                             (long long)hints[i].value, k->name, (long long)(extents[e] >= 0 ? extents[e] : 0));
        extents[e] = hints[i].value;
    }
    if (n_hints && fx_solve_extents(k, extents, message, sizeof message) != FX_OK)
        return error_set(FX_ERR_USAGE, "the hints of kernel %s: %s", k->name, message);
    return FX_OK;
}

static bool all_known(const struct fx_kernel *k, const int64_t *extents) {
    for (int e = 0; e < k->n_extents; e++)
        if (extents[e] < 0) return false;
    return true;
}

static char *describe_hints(const struct fx_kernel *k, const int64_t *extents) {
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) return NULL;
    for (int e = 0; e < k->n_extents; e++)
        fprintf(to, "%s%s = %lld", e ? ", " : "", k->extents[e].name, (long long)extents[e]);
    bool is_whole = !ferror(to);
    if (fclose(to) == 0 && is_whole) return text;
    free(text);
    return NULL;
}

/* ---- which variants ---- */

/* Bytes of dynamic shared memory when they depend on nothing, else -1. */
static int64_t constant_shared(const struct fx_variant *v) {
    struct fx_env none = {0};
    int64_t bytes;
    for (int i = 0; i < v->smem.n; i++)
        if (v->smem.terms[i].op > FX_T_CONST && v->smem.terms[i].op <= FX_T_LAST_LEAF) return -1;
    return fx_expr_eval(&v->smem, &none, &bytes) && bytes >= 0 ? bytes : INT64_MAX;
}

/* What a launch with these extents can choose. Arguments aligned alike, strided ones row-major where they are and
 * without a stride of 1 where not, lead to one of the two ends; for those between, the lower end stands in where theirs
 * was not compiled. */
static void mark_reachable(const fx_prepared *p, int i, const int64_t *extents, bool *wanted) {
    static const unsigned ends[] = {256, 1};
    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
        unsigned align[FX_MAX_PARAMS];
        int64_t strides[FX_MAX_STRIDES];
        for (int a = 0; a < p->kernel->n_params; a++) align[a] = ends[end];
        struct fx_env env = {
            .extents = extents, .align = align, .sm_count = p->ctx->sm_count, .strides = end ? NULL : strides};
        fx_row_major_strides(p->kernel, extents, strides);
        int v = stage_choose(&p->stages[i], &p->kernel->launches[i], &env);
        if (v >= 0) wanted[v] = true;
        v = tuned_variant(p, i, &env);
        if (v >= 0) wanted[v] = true;
    }
}

static const struct fx_resources unknown; /* of what is not compiled yet: it may be taken */

static struct want want_of(const struct fx_launch *l, const struct fx_variant *v, struct module_entry *e) {
    return (struct want){e, (int)constant_shared(v), l->is_cooperative ? v->block : 0};
}

/* The launches of a partition; of all, which lie one after another, for -1. */
struct launch_range { int from, to; };
static struct launch_range launches_of(const struct fx_kernel *k, int partition) {
    const struct fx_partition p = fx_get_partition(k, partition);
    return partition < 0 ? (struct launch_range){0, k->n_launches}
                         : (struct launch_range){p.first_launch, p.first_launch + p.n_launches};
}

/* Opens the entries of launch i the device has room for. */
static fx_status open_variants(fx_prepared *p, int i) {
    const struct fx_launch *l = &p->kernel->launches[i];
    struct stage *s = &p->stages[i];
    for (int v = 0; v < l->n_variants; v++) {
        if (constant_shared(&l->variants[v]) > p->ctx->max_shared) continue;
        s->entries[v] = program_entry(p->ctx, p->program, l->variants[v].entry, l->variants[v].number);
        if (!s->entries[v]) return FX_ERR_NOMEM;
        s->compiled[v] = &unknown;
    }
    return FX_OK;
}

/* The source with the extents that launch l takes set to numbers: its entries say which, in the order of its arguments.
 * malloc'ed; "" where it takes none, NULL when out of memory. */
static char *known_source(const fx_prepared *p, const struct fx_launch *l) {
    enum { MOST = 80 }; /* characters of an extent */
    static const char begin[] =
        "static __device__ __forceinline__ void fx_known(long long &e, long long v) { e = v; }\n"
        "static __device__ __forceinline__ void fx_known(int, long long) {}\n#define FX_KNOWN(";
    int n = 0;
    for (int a = 0; a < l->n_args; a++) n += l->args[a].kind == FX_ARG_EXTENT;
    if (!n) return strdup("");
    const size_t room = sizeof begin + 2 * MOST + MOST * (size_t)n + strlen(p->program->source);
    char *text = malloc(room), *at = text;
    if (!text) return NULL;
    at += snprintf(at, room, "%s", begin);
    for (int i = 0; i < n; i++) at += snprintf(at, MOST, "%se%d", i ? ", " : "", i);
    *at++ = ')';
    for (int a = 0, i = 0; a < l->n_args; a++)
        if (l->args[a].kind == FX_ARG_EXTENT)
            at += snprintf(at, MOST, "%sfx_known(e%d, %lldll)", i ? ", " : " ", i,
                (long long)p->extents[l->args[a].index]), i++;
    snprintf(at, room - (size_t)(at - text), "\n#line 1\n%s", p->program->source);
    return text;
}

/* Adds variant v of launch i with the hinted extents compiled in, where that is another entry and not opened yet: the
 * emulator gains nothing by it. */
static fx_status want_known(fx_prepared *p, int i, int v, struct want *wants, int *n) {
    const struct fx_launch *l = &p->kernel->launches[i];
    struct stage *s = &p->stages[i];
    if (!*p->hinted || v < 0 || s->known[v] || stand_in_get()) return FX_OK;
    char *source = known_source(p, l);
    struct compiled_program *program = source && *source ? program_open(p->ctx, source, p->program->arch) : NULL;
    const bool is_none = source && !*source;
    free(source);
    if (is_none) return FX_OK;
    if (program) s->known[v] = program_entry(p->ctx, program, l->variants[v].entry, l->variants[v].number);
    if (!s->known[v]) return error_nomem();
    wants[(*n)++] = want_of(l, &l->variants[v], s->known[v]);
    return FX_OK;
}

/* The variant of launch i that well aligned arguments of the hinted extents take. */
static int hinted_variant(const fx_prepared *p, int i) {
    int64_t strides[FX_MAX_STRIDES];
    const struct fx_env env = {.extents = p->extents, .sm_count = p->ctx->sm_count, .strides = strides};
    fx_row_major_strides(p->kernel, p->extents, strides);
    const int v = tuned_variant(p, i, &env);
    return v >= 0 ? v : stage_choose(&p->stages[i], &p->kernel->launches[i], &env);
}

/* Adds those of launch i that can be chosen and are not compiled yet. */
static void want_variants(
    const fx_prepared *p, int i, const int64_t *extents, bool *wanted, struct want *wants, int *n) {
    const struct fx_launch *l = &p->kernel->launches[i];
    const struct stage *s = &p->stages[i];
    for (int v = 0; v < l->n_variants; v++) wanted[v] = !*p->hinted;
    if (*p->hinted) mark_reachable(p, i, extents, wanted);
    for (int v = 0; v < l->n_variants; v++)
        if (wanted[v] && s->compiled[v] == &unknown) wants[(*n)++] = want_of(l, &l->variants[v], s->entries[v]);
}

/* Entries of launch i that are loaded now say what they came to; with `close`, the others are none. False where none is
 * left. */
static bool settle_variants(fx_prepared *p, int i, const struct want *wants, int n, bool close) {
    const struct fx_launch *l = &p->kernel->launches[i];
    struct stage *s = &p->stages[i];
    bool is_any = false;
    for (int v = 0; v < l->n_variants; v++) {
        for (int w = 0; w < n; w++)
            if (s->entries[v] && wants[w].entry == s->entries[v]) s->compiled[v] = &s->entries[v]->resources;
        if (close && s->compiled[v] == &unknown) s->entries[v] = NULL, s->compiled[v] = NULL;
        is_any |= s->entries[v] != NULL;
    }
    return is_any;
}

/* Compiles what can be chosen, and again what can be once that turns out to spill. */
static fx_status load_rounds(
    fx_prepared *p, struct launch_range r, const int64_t *extents, bool *wanted, struct want *wants) {
    const struct fx_kernel *k = p->kernel;
    fx_status status = FX_OK;
    char file[128];
    snprintf(file, sizeof file, "%s.cu", k->name);
    for (int n = 1; status == FX_OK && n > 0;) {
        n = 0;
        for (int i = r.from; i < r.to; i++) want_variants(p, i, extents, wanted, wants, &n);
        for (int i = r.from; status == FX_OK && *p->hinted && i < r.to; i++)
            status = want_known(p, i, hinted_variant(p, i), wants, &n);
        if (n && status == FX_OK) status = entries_load(p->ctx, wants, n, file);
        for (int i = r.from; status == FX_OK && i < r.to; i++)
            if (!settle_variants(p, i, wants, n, n == 0))
                return error_set(FX_ERR_USAGE, "launch %s of kernel %s has no variant for %s%s%s", k->launches[i].name,
                    k->name, p->ctx->name, *p->hinted ? " and " : "", p->hinted);
    }
    return status;
}

/* What the launches of a partition may choose, or, for -1, those of all. */
static fx_status load_variants(fx_prepared *p, int partition) {
    const struct fx_kernel *k = p->kernel;
    const struct launch_range r = launches_of(k, partition);
    int n_variants = 0;
    for (int i = r.from; i < r.to; i++) n_variants += k->launches[i].n_variants;
    struct want *wants = calloc(2 * (size_t)n_variants + 1, sizeof *wants); /* each may be wanted twice */
    bool *wanted = calloc((size_t)n_variants + 1, sizeof *wanted);
    fx_status status = wants && wanted ? FX_OK : error_nomem();
    for (int i = r.from; status == FX_OK && i < r.to; i++) status = open_variants(p, i);
    if (status == FX_OK) status = load_rounds(p, r, p->extents, wanted, wants);
    for (int i = 0; status == FX_OK && i < fx_partition_count(k); i++)
        p->is_loaded[i] |= partition < 0 || i == partition;
    free(wants);
    free(wanted);
    return status;
}

/* ---- public ---- */

/* Whether a choice among l's variants takes longer than to compare what it was made for. */
static bool has_long_rule(const struct fx_kernel *k, const struct fx_launch *l) {
    enum { LONG = 200, MOST = 255 };
    int n_terms = 0;
    for (int a = 0; a < k->n_params; a++)
        if (k->params[a].is_strided) return false;
    for (int v = 0; v < l->n_variants; v++) n_terms += l->variants[v].cost.n;
    return n_terms > LONG && l->n_variants <= MOST;
}

static fx_status open_stages(fx_prepared *p) {
    p->stages = calloc((size_t)p->kernel->n_launches + 1, sizeof *p->stages);
    p->is_loaded = calloc((size_t)fx_partition_count(p->kernel), sizeof *p->is_loaded);
    if (!p->stages || !p->is_loaded) return error_nomem();
    for (int i = 0; i < p->kernel->n_launches; i++) {
        p->stages[i].pinned = -1;
        p->stages[i].remembers = has_long_rule(p->kernel, &p->kernel->launches[i]);
        size_t n = (size_t)p->kernel->launches[i].n_variants + 1;
        p->stages[i].entries = calloc(n, sizeof *p->stages[i].entries);
        p->stages[i].compiled = calloc(n, sizeof *p->stages[i].compiled);
        p->stages[i].known = calloc(n, sizeof *p->stages[i].known);
        if (!p->stages[i].entries || !p->stages[i].compiled || !p->stages[i].known) return error_nomem();
    }
    return FX_OK;
}

/* Rows of tuned choices, where the environment names a database. */
static void read_tuning(fx_prepared *p) {
    const char *path = secure_getenv("FX_TUNE_DB");
    if (path && *path) tuning_load(path, p->kernel, p->ctx->name, p->ctx->sm_count, &p->tuned, &p->n_tuned);
}

/* All entries are there to be chosen, and none is compiled. */
static fx_status open_all(fx_prepared *p) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < p->kernel->n_launches; i++) status = open_variants(p, i);
    for (int i = 0; i < fx_partition_count(p->kernel); i++) p->is_loaded[i] = true;
    return status;
}

static fx_status prepare(fx_prepared *p, const struct fx_plan *plan, const struct fx_kernel *k,
                         const struct fx_hint *hints, int n_hints, bool loads) {
    char arch[32];
    fx_status status = check_size(k);
    if (status == FX_OK) status = choose_arch(p->ctx, plan, arch, sizeof arch);
    if (status == FX_OK) status = known_extents(k, hints, n_hints, p->extents);
    if (status == FX_OK && !(p->kernel = recipe_copy(k))) status = error_nomem();
    if (status == FX_OK) status = open_stages(p);
    if (status != FX_OK) return status;
    p->hinted = all_known(p->kernel, p->extents) ? describe_hints(p->kernel, p->extents) : strdup("");
    if (!p->hinted) return error_nomem();
    struct fx_env env = {.extents = p->extents, .sm_count = p->ctx->sm_count};
    read_tuning(p);
    const struct tuned_way *tuned = *p->hinted ? launch_tuned(p, p->extents) : NULL;
    p->partition = p->hinted_partition = tuned        ? tuned->partition
                                         : *p->hinted ? fx_choose_partition(p->kernel, &env)
                                                      : -1;
    p->program = program_open(p->ctx, plan->source, arch);
    if (!p->program) return FX_ERR_NOMEM;
    return loads ? load_variants(p, p->partition) : open_all(p);
}

static fx_status new_prepared(fx_context *ctx, const struct fx_plan *plan, const char *kernel,
    const struct fx_hint *hints, int n_hints, bool loads, fx_prepared **out) {
    if (!out) return error_null("the place for what is prepared");
    *out = NULL;
    if (!ctx) return error_null("the context");
    fx_status status = plan_check(plan);
    if (status != FX_OK) return status;
    const struct fx_kernel *k = fx_find_kernel(plan, kernel);
    if (!k) return error_set(FX_ERR_USAGE, "the plan has no kernel %s", kernel ? kernel : "at all");
    fx_prepared *p = calloc(1, sizeof *p);
    if (!p) return error_nomem();
    p->ctx = ctx;
    p->serial = serial_next();
    uint64_t began = timeline_begin();
    status = prepare(p, plan, k, hints, hints ? n_hints : 0, loads);
    timeline_end(began, "prepare", k->name, &(struct timeline_arg){.key = "status", .number = status}, 1);
    if (status == FX_OK) *out = p;
    else fx_prepared_release(p);
    return status;
}

fx_status fx_prepare(fx_context *ctx, const struct fx_plan *plan, const char *kernel, const struct fx_hint *hints,
    int n_hints, fx_prepared **out) {
    return new_prepared(ctx, plan, kernel, hints, n_hints, true, out);
}

fx_status prepared_open(fx_context *ctx, const struct fx_plan *plan, const char *kernel, fx_prepared **out) {
    return new_prepared(ctx, plan, kernel, NULL, 0, false, out);
}

void fx_prepared_release(fx_prepared *p) {
    if (!p) return;
    for (int i = 0; p->stages && i < p->kernel->n_launches; i++) {
        free(p->stages[i].entries);
        free(p->stages[i].compiled);
        free(p->stages[i].known);
    }
    free(p->stages);
    free(p->is_loaded);
    free(p->kernel);
    free(p->hinted);
    free(p->tuned);
    free(p);
}

static fx_status check_variant(const fx_prepared *p, int i, int v, int least) {
    if (!p) return error_null("what was prepared");
    if (i < 0 || i >= p->kernel->n_launches)
        return error_set(FX_ERR_USAGE, "kernel %s has %d launches, there is no number %d", p->kernel->name,
            p->kernel->n_launches, i);
    if (v >= least && v < p->kernel->launches[i].n_variants) return FX_OK;
    return error_set(FX_ERR_USAGE, "launch %s has %d variants, there is no number %d", p->kernel->launches[i].name,
                     p->kernel->launches[i].n_variants, v);
}

fx_status fx_pin_partition(fx_prepared *p, int partition) {
    if (!p) return error_null("what was prepared");
    if (partition < -1 || partition >= fx_partition_count(p->kernel))
        return error_set(FX_ERR_USAGE, "kernel %s has %d partitions, there is no number %d", p->kernel->name,
            fx_partition_count(p->kernel), partition);
    if (partition >= 0 && !p->is_loaded[partition]) {
        fx_status status = load_variants(p, partition);
        if (status != FX_OK) return status;
    }
    p->partition = partition >= 0 ? partition : p->hinted_partition;
    p->is_pinned = partition >= 0;
    p->serial = serial_next();
    return FX_OK;
}

/* The entry of a variant, opened where none is; NULL where memory runs out. */
static struct module_entry *variant_entry(const fx_prepared *p, int i, int v) {
    const struct fx_variant *variant = &p->kernel->launches[i].variants[v];
    struct module_entry *e = p->stages[i].entries[v];
    return e ? e : program_entry(p->ctx, p->program, variant->entry, variant->number);
}

static void add_variant(fx_prepared *p, int i, int v, struct module_entry *e) {
    p->stages[i].entries[v] = e;
    p->stages[i].compiled[v] = &e->resources;
}

fx_status prepared_load(fx_prepared *p, const bool *wanted) {
    const struct fx_kernel *k = p->kernel;
    int n = 0, n_variants = 0;
    char file[128];
    snprintf(file, sizeof file, "%s.cu", k->name);
    for (int i = 0; i < k->n_launches; i++) n_variants += k->launches[i].n_variants;
    struct want *wants = calloc(2 * (size_t)n_variants + 1, sizeof *wants);
    fx_status status = wants ? FX_OK : error_nomem();
    for (int pass = 0; status == FX_OK && pass < 2; pass++) {
        if (pass) status = entries_load(p->ctx, wants, n, file);
        for (int i = 0; status == FX_OK && i < k->n_launches; i++)
            for (int v = 0; status == FX_OK && v < k->launches[i].n_variants; v++) {
                const struct fx_variant *variant = &k->launches[i].variants[v];
                if (!wanted[variant->number] || constant_shared(variant) > p->ctx->max_shared) continue;
                struct module_entry *e = variant_entry(p, i, v);
                if (!e) status = FX_ERR_NOMEM;
                else if (pass) add_variant(p, i, v, e);
                else wants[n++] = want_of(&k->launches[i], variant, e), status = want_known(p, i, v, wants, &n);
            }
    }
    free(wants);
    p->serial = serial_next(); /* what was chosen among fewer is chosen anew */
    for (int i = 0; i < k->n_launches; i++) atomic_store(&p->stages[i].last, 0);
    return status;
}

fx_status fx_pin_variant(fx_prepared *p, int i, int variant) {
    fx_status status = check_variant(p, i, variant, -1);
    if (status != FX_OK) return status;
    if (variant >= 0 && !p->stages[i].entries[variant]) {
        const struct fx_variant *v = &p->kernel->launches[i].variants[variant];
        int64_t shared = constant_shared(v);
        if (shared > p->ctx->max_shared)
            return error_set(FX_ERR_USAGE, "%s needs %lld bytes of shared memory, %s has %d", v->entry,
                (long long)shared, p->ctx->name, p->ctx->max_shared);
        struct want wants[2] = {want_of(&p->kernel->launches[i], v, variant_entry(p, i, variant))};
        int n = 1;
        if (!wants[0].entry) return FX_ERR_NOMEM;
        status = want_known(p, i, variant, wants, &n);
        if (status == FX_OK) status = entries_load(p->ctx, wants, n, v->entry);
        if (status != FX_OK) return status;
        add_variant(p, i, variant, wants[0].entry);
    }
    p->stages[i].pinned = variant;
    p->serial = serial_next();
    atomic_store(&p->stages[i].last, 0);
    return FX_OK;
}

fx_status fx_variant_resources(const fx_prepared *p, int i, int v, struct fx_resources *out) {
    if (!out) return error_null("the place for resources");
    *out = (struct fx_resources){0};
    fx_status status = check_variant(p, i, v, 0);
    if (status != FX_OK) return status;
    const struct module_entry *e = p->stages[i].entries[v];
    if (!e) return error_set(FX_ERR_USAGE, "%s was not compiled: %s were the extents to prepare for",
                             p->kernel->launches[i].variants[v].entry, *p->hinted ? p->hinted : "none");
    *out = e->resources;
    return FX_OK;
}
