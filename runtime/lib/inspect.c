/* Registers and memory of a plan's entries, without a GPU. In: a plan, which entries. Out: what their cubins say. The
 * sources, options and names are those of prepare.c, so that the disk cache serves both. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/runtime.h"

static fx_status read_task(const struct task *t, const char *entry, struct fx_resources *out) {
    return t->status == FX_OK ? fx_cubin_resources(t->compile.image, t->compile.n_bytes, entry, out) : FX_OK;
}

/* The wanted variants of all launches, each entry once; room for all. */
static int collect(const struct fx_kernel *k, const bool *wanted, const struct fx_variant **out) {
    int n = 0;
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++)
            if (wanted[k->launches[i].variants[v].number]) out[n++] = &k->launches[i].variants[v];
    return n;
}

fx_status fx_compile_resources(
    const struct fx_plan *plan, const struct fx_kernel *k, bool cached, const bool *wanted, struct fx_resources *out) {
    size_t most = 1;
    char file[128];
    fx_status status = plan_check(plan);
    if (status != FX_OK) return status;
    if (!k || !wanted || !out)
        return error_null(!k ? "the kernel" : !wanted ? "what is wanted" : "the place for resources");
    for (int i = 0; i < k->n_launches; i++) most += (size_t)k->launches[i].n_variants;
    struct task *tasks = calloc(most, sizeof *tasks);
    const struct fx_variant **variants = calloc(most, sizeof *variants);
    status = tasks && variants ? FX_OK : error_nomem();
    int n = status == FX_OK ? collect(k, wanted, variants) : 0;
    snprintf(file, sizeof file, "%s.cu", k->name);
    for (int i = 0; i < n; i++)
        tasks[i].compile = (struct compile){
            .source = plan->source, .file = file, .arch = plan->arch, .only = variants[i]->number};
    if (n) tasks_compile(tasks, n, cached);
    for (int i = 0; i < n; i++) {
        fx_status read = read_task(&tasks[i], variants[i]->entry, &out[variants[i]->number]);
        fx_status compiled = task_release(&tasks[i]);
        if (status == FX_OK) status = compiled != FX_OK ? compiled : read;
    }
    free(tasks);
    free(variants);
    return status;
}
