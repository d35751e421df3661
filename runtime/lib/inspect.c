/* Registers and memory of a plan's entries, without a GPU. In: a plan, the requested entries. Out: the resources in
 * their cubins. Sources, options and names are those of prepare.c, so that the disk cache serves both. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/runtime.h"

static fx_status read_task(const struct task *t, const char *entry, struct fx_resources *out) {
    return t->status == FX_OK ? fx_cubin_resources(t->compile.image, t->compile.n_bytes, entry, out) : FX_OK;
}

struct wanted_entry { const struct fx_variant *variant; char file[128]; };

/* The wanted variants of all launches of a kernel, each entry once; room for all. */
static int collect(const struct fx_kernel *k, const bool *wanted, struct wanted_entry *out) {
    int n = 0;
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) {
            if (!wanted[k->launches[i].variants[v].number]) continue;
            out[n].variant = &k->launches[i].variants[v];
            snprintf(out[n].file, sizeof out[n].file, "%s.cu", k->name);
            n++;
        }
    return n;
}

fx_status fx_compile_resources(
    const struct fx_plan *plan, const struct fx_kernel *k, bool cached, const bool *wanted, struct fx_resources *out) {
    fx_status status = plan_check(plan);
    if (status != FX_OK) return status;
    if (!wanted || !out) return error_null(!wanted ? "what is wanted" : "the place for resources");
    const struct fx_kernel *first = k ? k : plan->kernels, *end = k ? k + 1 : first + plan->n_kernels;
    size_t most = 1;
    int n = 0;
    for (k = first; k < end; k++)
        for (int i = 0; i < k->n_launches; i++) most += (size_t)k->launches[i].n_variants;
    struct task *tasks = calloc(most, sizeof *tasks);
    struct wanted_entry *entries = calloc(most, sizeof *entries);
    status = tasks && entries ? FX_OK : error_nomem();
    for (k = first; status == FX_OK && k < end; k++) n += collect(k, wanted, entries + n);
    for (int i = 0; i < n; i++)
        tasks[i].compile = (struct compile){
            .source = plan->source, .file = entries[i].file, .arch = plan->arch, .only = entries[i].variant->number};
    if (n) tasks_compile(tasks, n, cached);
    for (int i = 0; i < n; i++) {
        const struct fx_variant *v = entries[i].variant;
        fx_status read = read_task(&tasks[i], v->entry, &out[v->number]);
        fx_status compiled = task_release(&tasks[i]);
        if (status == FX_OK) status = compiled != FX_OK ? compiled : read;
    }
    free(tasks);
    free(entries);
    return status;
}
