/* The explain subcommand. Input: a spec. Output: the receipt of each kernel and, where every extent is known, how each launch
 * would be made. Needs no GPU and no NVRTC. */
#include <string.h>

#include "command.h"

static bool evaluate(const struct fx_expr *e, const struct fx_env *env, int64_t *out) {
    *out = 0;
    return fx_expr_eval(e, env, out);
}

static void explain_launch(const struct fx_launch *l, const struct fx_env *env) {
    int64_t grid, shared, flops, bytes;
    int v = fx_choose_variant(l, env);
    if (v < 0) {
        printf("  %s (%s): no variant takes these extents\n", l->name, l->driver);
        return;
    }
    printf("  %s (%s): %s\n", l->name, l->driver, l->variants[v].config);
    if (!evaluate(&l->variants[v].grid, env, &grid) || !evaluate(&l->variants[v].smem, env, &shared) ||
        !evaluate(&l->flops, env, &flops) || !evaluate(&l->bytes, env, &bytes)) {
        printf("    its size overflows\n");
        return;
    }
    printf("    entry %s, grid %lld, block %d, shared memory %lld bytes\n", l->variants[v].entry, (long long)grid,
           l->variants[v].block, (long long)shared);
    printf("    %lld flops, %lld bytes", (long long)flops, (long long)bytes);
    if (bytes > 0) printf(", %.1f flops a byte", (double)flops / (double)bytes);
    printf("\n");
}

static void explain_launches(const struct fx_kernel *k) {
    int64_t extents[64];
    struct fx_env env = {.extents = extents, .sm_count = 132};
    size_t workspace;
    if (k->n_extents > (int)(sizeof extents / sizeof *extents)) return;
    for (int i = 0; i < k->n_extents; i++) {
        extents[i] = k->extents[i].value;
        if (extents[i] < 0) {
            printf("extent %s is free: give every extent with -D NAME=VALUE to see the launches\n", k->extents[i].name);
            return;
        }
    }
    printf("launches, with 132 multiprocessors and addresses aligned to 256:\n");
    for (int i = 0; i < k->n_launches; i++) explain_launch(&k->launches[i], &env);
    if (fx_workspace_layout(k, &env, NULL, &workspace)) printf("  workspace %zu bytes\n", workspace);
}

fx_status command_explain(const struct command *cmd) {
    const char *path, *arch = option_value(cmd, OPT_ARCH);
    fx_compilation *c = NULL;
    struct spec spec = {0};
    struct request request = {0};
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK) status = request_open(cmd, &spec, NULL, &request);
    if (status == FX_OK) status = compile_spec(&request, arch, false, &c);
    request_close(&request);
    spec_release(&spec);
    if (status != FX_OK) return status;
    const struct fx_plan *plan = fx_get_plan(c);
    for (int i = 0; plan && i < plan->n_kernels; i++) {
        const char *receipt = plan->kernels[i].receipt ? plan->kernels[i].receipt : "";
        size_t n = strlen(receipt);
        if (i) printf("\n");
        printf("%s%s", receipt, n && receipt[n - 1] == '\n' ? "" : "\n");
        explain_launches(&plan->kernels[i]);
    }
    fx_close(c);
    return FX_OK;
}
