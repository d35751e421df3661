/* The code that a context has loaded. In: sources and the requested entries. Out: functions to launch. The key of an
 * entry is the whole source, the arch and the entry's number, compared in full, so that wrong code is never used. One
 * thread compiles an entry; others that want it wait. Nothing is unloaded before the context closes. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/runtime.h"

/* ---- the table ---- */

static struct compiled_program *find_program(const fx_context *ctx, const char *source, const char *arch) {
    struct compiled_program *p = ctx->programs;
    while (p && (strcmp(p->arch, arch) != 0 || strcmp(p->source, source) != 0)) p = p->next;
    return p;
}

static void program_free(struct compiled_program *p) {
    if (!p) return;
    for (struct module_entry *e = p->entries, *next; e; e = next) {
        next = e->next;
        free(e->name);
        free(e);
    }
    free(p->source);
    free(p->arch);
    free(p);
}

static struct compiled_program *new_program(const char *source, const char *arch) {
    struct compiled_program *p = calloc(1, sizeof *p);
    if (p) p->source = strdup(source);
    if (p) p->arch = strdup(arch);
    if (p && p->source && p->arch) return p;
    program_free(p);
    return NULL;
}

struct compiled_program *program_open(fx_context *ctx, const char *source, const char *arch) {
    pthread_mutex_lock(&ctx->lock);
    struct compiled_program *p = find_program(ctx, source, arch);
    if (!p && (p = new_program(source, arch))) {
        p->next = ctx->programs;
        ctx->programs = p;
    }
    pthread_mutex_unlock(&ctx->lock);
    if (!p) error_nomem();
    return p;
}

static struct module_entry *new_entry(const char *name, int number) {
    struct module_entry *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->number = number;
    if ((e->name = strdup(name))) return e;
    free(e);
    return NULL;
}

struct module_entry *program_entry(fx_context *ctx, struct compiled_program *p, const char *name, int number) {
    pthread_mutex_lock(&ctx->lock);
    struct module_entry *e = p->entries;
    while (e && (e->number != number || strcmp(e->name, name) != 0)) e = e->next;
    if (!e && (e = new_entry(name, number))) {
        e->next = p->entries;
        e->program = p;
        p->entries = e;
    }
    pthread_mutex_unlock(&ctx->lock);
    if (!e) error_nomem();
    return e;
}

void programs_release(fx_context *ctx) {
    struct context_scope scope = {0};
    bool is_usable = ctx->programs && !atomic_load(&ctx->lost) && scope_enter(ctx, &scope) == FX_OK;
    for (struct compiled_program *p = ctx->programs; p; p = p->next)
        for (struct module_entry *e = p->entries; e; e = e->next)
            if (e->module && is_usable && !atomic_load(&ctx->lost)) (void)CU(ctx, cuModuleUnload(e->module));
    if (is_usable) (void)scope_leave(ctx, &scope, FX_OK);
    atomic_store(&ctx->last, NULL); /* a call that fails from here on has none to name */
    for (struct compiled_program *p; (p = ctx->programs); program_free(p)) ctx->programs = p->next;
}

/* ---- compiling, on several threads ---- */

struct batch {
    struct task *tasks;
    int n;
    int at_once;     /* tasks that a thread takes */
    atomic_int next; /* first task no thread has taken */
};

static void task_fail(struct task *t, fx_status status) {
    t->status = status;
    t->error = strdup(fx_last_error());
}

static void *work(void *batch) {
    struct batch *b = batch;
    for (int i; (i = atomic_fetch_add(&b->next, b->at_once)) < b->n;) {
        struct compile *together[MOST_TOGETHER];
        int n = b->n - i < b->at_once ? b->n - i : b->at_once;
        for (int t = 0; t < n; t++) together[t] = &b->tasks[i + t].compile;
        fx_status status = nvrtc_compile_together(together, n);
        for (int t = 0; status != FX_OK && t < n; t++) task_fail(&b->tasks[i + t], status);
    }
    return NULL;
}

static int core_count(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* The emulator's compiler reads the whole text for each set of entries: sets are as large as leaves every core one. */
static int at_once(int n_tasks) {
    enum { LEAST_TOGETHER = 8 };
    int n = (n_tasks + core_count() - 1) / core_count();
    return n < LEAST_TOGETHER ? LEAST_TOGETHER : n > MOST_TOGETHER ? MOST_TOGETHER : n;
}

/* This thread works too: where no other can be started, it does everything. */
void tasks_compile(struct task *tasks, int n_tasks, bool cached) {
    enum { MAX_HELPERS = 63 };
    bool is_emulated = n_tasks && tasks[0].compile.entry && stand_in_get();
    struct batch b = {.tasks = tasks, .n = n_tasks, .at_once = is_emulated ? at_once(n_tasks) : 1};
    pthread_t helpers[MAX_HELPERS];
    struct cache cache;
    if (cached) cache_open(&cache, true);
    for (int i = 0; i < n_tasks; i++) tasks[i].compile.cache = cached ? &cache : NULL;
    int n = 0, n_parts = (n_tasks + b.at_once - 1) / b.at_once,
        wanted = core_count() < n_parts ? core_count() : n_parts;
    while (n < wanted - 1 && n < MAX_HELPERS && pthread_create(&helpers[n], NULL, work, &b) == 0) n++;
    work(&b);
    for (int i = 0; i < n; i++) pthread_join(helpers[i], NULL);
    if (cached) cache_close(&cache);
}

fx_status task_release(struct task *t) {
    fx_status status = t->status == FX_OK ? FX_OK : t->error ? error_set(t->status, "%s", t->error) : error_nomem();
    free(t->compile.image);
    free(t->compile.log);
    free(t->error);
    return status;
}

/* ---- loading ---- */

static fx_status read_resources(fx_context *ctx, struct module_entry *e) {
    struct fx_resources *r = &e->resources;
    fx_status status = CU(ctx, cuFuncGetAttribute(&r->registers, FUNCTION_ATTRIBUTE_REGISTERS, e->function));
    if (status == FX_OK) status = CU(ctx, cuFuncGetAttribute(&r->local_bytes, FUNCTION_ATTRIBUTE_LOCAL, e->function));
    if (status == FX_OK)
        status = CU(ctx, cuFuncGetAttribute(&r->shared_bytes, FUNCTION_ATTRIBUTE_STATIC_SHARED, e->function));
    if (status == FX_OK)
        status = CU(ctx, cuFuncGetAttribute(&r->max_threads, FUNCTION_ATTRIBUTE_MAX_THREADS, e->function));
    return status;
}

/* How many blocks of a launch that needs all of them at once an SM holds. */
static fx_status read_resident(fx_context *ctx, struct module_entry *e, int block, int shared_bytes) {
    fx_status status = CU(
        ctx, cuOccupancyMaxActiveBlocksPerMultiprocessor(&e->resident, e->function, block, (size_t)shared_bytes));
    if (status != FX_OK || e->resident > 0) return status;
    return error_set(FX_ERR_GPU, "%s has no room for a block of %s", ctx->name, e->name);
}

static fx_status load_entry(fx_context *ctx, struct module_entry *e, const void *image, const struct want *want) {
    enum { WITHOUT_ASKING = 48 * 1024 };
    int shared_bytes = want->shared_bytes;
    fx_status status = CU(ctx, cuModuleLoadData(&e->module, image));
    if (status != FX_OK) return status;
    status = CU(ctx, cuModuleGetFunction(&e->function, e->module, e->name));
    if (status == FX_OK) status = read_resources(ctx, e);
    if (shared_bytes < 0) shared_bytes = ctx->max_shared - e->resources.shared_bytes;
    if (status == FX_OK && shared_bytes > WITHOUT_ASKING)
        status = CU(ctx, cuFuncSetAttribute(e->function, FUNCTION_ATTRIBUTE_MAX_DYNAMIC_SHARED, shared_bytes));
    if (status == FX_OK && want->block) status = read_resident(ctx, e, want->block, shared_bytes);
    if (status == FX_OK) return FX_OK;
    if (!atomic_load(&ctx->lost)) (void)cuda_driver.cuModuleUnload(e->module);
    e->module = e->function = NULL;
    return status;
}

/* A driver older than NVRTC refuses its cubins in words that do not say so. */
static fx_status load_failed(fx_status status, const char *entry, const struct compile *c) {
    int driver = 0;
    if (cuda_driver.cuDriverGetVersion(&driver) == 0 && driver / 1000 < c->major)
        return error_set(status, "cannot load %s: %s; NVRTC is of CUDA %d.%d, the driver of %d.%d only", entry,
            fx_last_error(), c->major, c->minor, driver / 1000, driver % 1000 / 10);
    return error_set(status, "cannot load %s: %s", entry, fx_last_error());
}

static void load_tasks(fx_context *ctx, struct batch *b) {
    struct context_scope scope;
    fx_status status = scope_enter(ctx, &scope);
    for (int i = 0; i < b->n; i++) {
        struct task *t = &b->tasks[i];
        if (t->status != FX_OK) continue;
        if (status != FX_OK) {
            task_fail(t, status);
            continue;
        }
        uint64_t began = timeline_begin();
        fx_status loaded = load_entry(ctx, t->want->entry, t->compile.image, t->want);
        const struct fx_resources *r = &t->want->entry->resources;
        const struct timeline_arg args[] = {{.key = "registers", .number = r->registers},
            {.key = "local_bytes", .number = r->local_bytes}, {.key = "status", .number = loaded}};
        timeline_end(began, "load", t->want->entry->name, args, sizeof args / sizeof *args);
        if (loaded != FX_OK)
            task_fail(t, atomic_load(&ctx->lost) ? loaded : load_failed(loaded, t->want->entry->name, &t->compile));
    }
    if (status != FX_OK) return;
    status = scope_leave(ctx, &scope, FX_OK);
    if (status != FX_OK && b->tasks[0].status == FX_OK) task_fail(&b->tasks[0], status);
}

/* ---- single flight ---- */

/* Takes the wanted entries nobody has begun. When there are none, waits until no wanted entry is BUSY; 0 then means
 * that all are READY. */
static int claim(fx_context *ctx, const struct want *wants, int n, struct task *tasks) {
    int n_claimed = 0;
    pthread_mutex_lock(&ctx->lock);
    for (bool is_busy = true; is_busy && n_claimed == 0;) {
        is_busy = false;
        for (int i = 0; i < n; i++) {
            struct module_entry *e = wants[i].entry;
            is_busy |= e->state == ENTRY_BUSY;
            if (e->state != ENTRY_EMPTY) continue;
            e->state = ENTRY_BUSY;
            tasks[n_claimed++] = (struct task){.want = &wants[i]};
        }
        if (is_busy && n_claimed == 0) pthread_cond_wait(&ctx->changed, &ctx->lock);
    }
    pthread_mutex_unlock(&ctx->lock);
    return n_claimed;
}

static fx_status publish(fx_context *ctx, struct batch *b) {
    fx_status status = FX_OK;
    pthread_mutex_lock(&ctx->lock);
    for (int i = 0; i < b->n; i++)
        b->tasks[i].want->entry->state = b->tasks[i].want->entry->function ? ENTRY_READY : ENTRY_EMPTY;
    pthread_cond_broadcast(&ctx->changed);
    pthread_mutex_unlock(&ctx->lock);
    /* The first failure is recorded last. */
    for (int i = b->n; i-- > 0;) {
        fx_status failed = task_release(&b->tasks[i]);
        if (failed != FX_OK) status = failed;
    }
    return status;
}

fx_status entries_load(fx_context *ctx, const struct want *wants, int n, const char *file) {
    fx_status status = FX_OK;
    struct batch b = {.tasks = calloc((size_t)n + 1, sizeof *b.tasks)};
    if (!b.tasks) return error_nomem();
    while (status == FX_OK && (b.n = claim(ctx, wants, n, b.tasks)) > 0) {
        for (int i = 0; i < b.n; i++)
            b.tasks[i].compile = (struct compile){.source = b.tasks[i].want->entry->program->source,
                .file = file,
                .arch = b.tasks[i].want->entry->program->arch,
                .only = b.tasks[i].want->entry->number,
                .entry = b.tasks[i].want->entry->name};
        tasks_compile(b.tasks, b.n, true);
        load_tasks(ctx, &b);
        status = publish(ctx, &b);
    }
    free(b.tasks);
    return status;
}
