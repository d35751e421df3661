/* The compilation as a user of the library sees it: one arena, the stages in order, their texts on demand. */
#include "fx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/fx_print.h"
#include "emit/emit.h"
#include "evaluate.h"
#include "grad/grad.h"
#include "host_c/host_c.h"
#include "partitions.h"
#include "pipeline.h"
#include "report/ablate.h"
#include "report/annotate.h"
#include "report/definition.h"
#include "report/lookup.h"
#include "report/predict.h"
#include "report/receipt.h"
#include "seam/print.h"

struct fx_compilation {
    struct cx cx;
    struct ast_file *ast;
    struct program *program;
    struct graph **lowered, **fused; /* by kernel */
    struct unit *unit;
    struct fx_plan *plan;
    struct buf dump;
    const char *messages, *messages_json, *messages_sarif;
    fx_status last; /* of the last call that fx_last_status is about */
};

extern const char fx_text_prelude[], fx_text_prelude_end[];

const char *fx_arch_name(int i) { return arch_row(i) ? arch_row(i)->name : NULL; }

/* Whether every name in a list separated by commas is a rule, or a pass where those may stand. */
static bool read_names(fx_compilation *c, const char *list, bool may_be_pass) {
    for (const char *s = list; s && *s; s += strcspn(s, ","), s += *s == ',') {
        char *name = arena_strndup(&c->cx.arena, s, strcspn(s, ","));
        if (pipeline_has_rule(name) || (may_be_pass && pipeline_has_pass(name))) continue;
        struct buf rules;
        buf_init(&rules, &c->cx.arena);
        for (int i = 0; pipeline_rule_name(i); i++)
            buf_printf(&rules, "%s algebra.%s", i ? "," : "", pipeline_rule_name(i));
        if (may_be_pass && !strchr(name, '.')) diag_refuse(&c->cx, "there is no pass %s", name);
        else diag_refuse(&c->cx, "there is no rule %s; known:%s", name, rules.s);
        return false;
    }
    return true;
}

static bool has_entries(struct cx *cx, const char *name, const char *const *list, int n) {
    for (int i = 0; i < n; i++)
        if (!list || !list[i]) {
            diag_refuse(cx, "options.n_%s is %d, but number %d of options.%s is NULL", name, n, i, name);
            return false;
        }
    return true;
}

/* The oldest layout that later ones only append to ends with `user`; no layout will have more than MOST_BYTES. */
static bool is_options_size(size_t n) {
    enum { LEAST_BYTES = offsetof(struct fx_options, tests_only), MOST_BYTES = 4096 };
    return n >= LEAST_BYTES && n <= MOST_BYTES && n % _Alignof(struct fx_options) == 0;
}

/* A struct larger than ours says nothing more than ours where the rest of it is zero. */
static bool check_size(struct cx *cx, const struct fx_options *given) {
    size_t size = given->size;
    if (!is_options_size(size)) {
        diag_refuse(cx, "options.size is %zu, which is the size of no struct fx_options: begin with "
                        "struct fx_options options = FX_OPTIONS", size);
        return false;
    }
    for (size_t i = sizeof *given; i < size; i++)
        if (((const unsigned char *)given)[i]) {
            diag_refuse(cx, "options has fields that fx " FX_VERSION " does not know: "
                            "options.size is %zu, it knows %zu bytes, byte %zu is not 0", size, sizeof *given, i);
            return false;
        }
    return true;
}

static bool choose_arch(struct cx *cx, const char *name) {
    struct buf known;
    cx->arch = arch_find(name);
    if (cx->arch) return true;
    buf_init(&known, &cx->arena);
    for (int i = 0; arch_row(i); i++) buf_printf(&known, "%s%s", i ? ", " : "", arch_row(i)->name);
    diag_refuse(cx, "unknown architecture %s; known: %s", name, known.s);
    return false;
}

static bool read_options(fx_compilation *c, const struct fx_options *o) {
    struct cx *cx = &c->cx;
    if (!has_entries(cx, "defines", o->defines, o->n_defines) ||
        !has_entries(cx, "ablate_extents", o->ablate_extents, o->n_ablate_extents))
        return false;
    if (!choose_arch(cx, o->arch ? o->arch : "sm_90a")) return false;
    struct arch *m = NEW(&cx->arena, struct arch);
    *m = arch_of_gpu(cx->arch, o->gpu, o->sm_count);
    cx->arch = m;
    const char *passes[2] = {o->dump_after, o->stop_after};
    for (int i = 0; i < 2; i++)
        if (passes[i] && !pipeline_has_pass(passes[i]) && !(i == 0 && strcmp(passes[i], "all") == 0)) {
            diag_refuse(cx, "there is no pass %s", passes[i]);
            return false;
        }
    if (!read_names(c, o->skip, true) || !read_names(c, o->with, false)) return false;
    for (int i = 0; i < o->n_defines; i++) {
        const char *equals = strchr(o->defines[i], '=');
        if (!equals || equals == o->defines[i]) {
            diag_refuse(cx, "-D %s: expected NAME=VALUE", o->defines[i]);
            return false;
        }
        struct define *d = &PUSH(&cx->arena, cx->defines, cx->n_defines);
        d->name.len = (uint32_t)(equals - o->defines[i]);
        d->name.s = arena_strndup(&cx->arena, o->defines[i], d->name.len);
        d->value = arena_printf(&cx->arena, "%s", equals + 1);
    }
    return true;
}

/* ---- the stages ---- */

static bool has_kernel(const struct ast_file *ast, const char *name) {
    for (const struct ast_item *i = ast->items; i; i = i->next)
        if ((i->kind == ITEM_KERNEL || i->kind == ITEM_GRAD) && name_is(i->name, name)) return true;
    return false;
}

/* "; it has f, g". */
static const char *list_kernels(struct arena *a, const struct ast_file *ast) {
    struct buf all;
    buf_init(&all, a);
    for (const struct ast_item *i = ast->items; i; i = i->next)
        if (i->kind == ITEM_KERNEL || i->kind == ITEM_GRAD)
            buf_printf(&all, "%s" NAME_FMT, all.len ? ", " : "; it has ", NAME_ARG(i->name));
    return all.len ? all.s : "";
}

/* The items of the text and of what it includes, c->ast its own alone; NULL where there are errors. */
static struct ast_file *read_items(
    fx_compilation *c, const char *text, size_t len, const char *file, const struct fx_options *o) {
    struct ast_file *whole = NULL;
    stage(&c->cx, "parse", file, false);
    source_open(&c->cx, file, text, len);
    struct ast_file *own = fx_parse(&c->cx, 0);
    const struct file_reader reader = {o->read_file, o->read_failure, o->user};
    if (!c->cx.n_errors) c->ast = own, whole = fx_include(&c->cx, own, &reader);
    stage(&c->cx, "parse", file, true);
    return c->cx.n_errors ? NULL : whole;
}

/* FNV-1a of a kernel's text. */
static uint64_t hash_of(struct arena *a, const struct kernel *k) {
    uint64_t hash = 0xcbf29ce484222325u;
    struct buf text;
    buf_init(&text, a);
    fx_print_kernel(&text, k);
    for (size_t i = 0; i < text.len; i++) hash = (hash ^ (unsigned char)text.s[i]) * 0x100000001b3u;
    return hash;
}

/* What people read of a plan: the receipt of each kernel, and the source that goes with its recipe. */
static void add_texts(fx_compilation *c) {
    struct buf source;
    struct fx_kernel *kernels = (struct fx_kernel *)c->plan->kernels; /* ours until the plan is handed out */
    for (int i = 0; i < c->plan->n_kernels; i++) {
        struct buf receipt;
        buf_init(&receipt, &c->cx.arena);
        receipt_text(&receipt, receipt_of(&c->cx.arena, c->unit, i, &kernels[i], NULL));
        kernels[i].receipt = receipt.s;
        kernels[i].text_hash = hash_of(&c->cx.arena, &c->program->kernels[i]);
    }
    buf_init(&source, &c->cx.arena);
    emit_cu(&source, c->unit, c->plan);
    c->plan->source = source.s;
    c->plan->source_len = source.len;
}

static fx_status compile(
    fx_compilation *c, const char *text, size_t len, const char *file, const struct fx_options *o) {
    struct cx *cx = &c->cx;
    struct arena *a = &cx->arena;
    const struct pipeline_options pipeline = {o->dump_after, o->stop_after, o->skip, o->with};
    if (!read_options(c, o)) return FX_ERR_USAGE;
    if (!text && len) {
        diag_refuse(cx, "the text is NULL, but %zu bytes long", len);
        return FX_ERR_USAGE;
    }
    buf_init(&c->dump, a);
    struct ast_file *ast = read_items(c, text, len, file, o);
    if (!ast) return FX_ERR_COMPILE;
    if (o->kernel && !has_kernel(ast, o->kernel)) {
        diag_refuse(cx, "the file has no kernel %s%s", o->kernel, list_kernels(a, ast));
        return FX_ERR_USAGE;
    }
    struct ast_file *prelude = fx_parse(
        cx, source_open(cx, "prelude.fx", fx_text_prelude, (size_t)(fx_text_prelude_end - fx_text_prelude)));
    stage(cx, "check", file, false);
    struct program *program = o->tests_only ? fx_check_tests(cx, ast, prelude, o->kernel)
                                            : fx_check(cx, ast, prelude, o->kernel, grad_kernel);
    stage(cx, "check", file, true);
    if (cx->n_errors) return FX_ERR_COMPILE;
    c->program = program;
    if (o->tests_only) return FX_OK;
    if (o->ablate) {
        struct kernel *left = o->kernel && program->n_kernels == 1
                                  ? ablate_kernel(
                                        cx, &program->kernels[0], o->ablate_extents, o->n_ablate_extents, o->ablate)
                                  : NULL;
        if (!left) {
            diag_refuse(cx, "there is no term %d to leave out of %s", o->ablate, o->kernel ? o->kernel : "a kernel");
            return FX_ERR_USAGE;
        }
        program->kernels[0] = *left;
    }
    for (int i = 0; o->unfused && i < program->n_kernels; i++)
        program->kernels[i].fuse = FUSE_NEVER, program->kernels[i].kernels = 0;
    if (o->oracle_only) {
        c->plan = plan_signatures(cx, cx->files[0].name, program);
        return FX_OK;
    }
    c->lowered = NEW_ARRAY(a, struct graph *, program->n_kernels + 1);
    c->fused = NEW_ARRAY(a, struct graph *, program->n_kernels + 1);
    struct scheduled_graph **chosen = NEW_ARRAY(a, struct scheduled_graph *, program->n_kernels + 1);
    fx_status status = FX_OK;
    for (int i = 0; i < program->n_kernels; i++) {
        struct form form = {0};
        fx_status s = form_make(cx, &program->kernels[i], &pipeline, &c->dump, &form);
        if (s == FX_ERR_INTERNAL) return s;
        if (!s && !o->stop_after && !o->dump_after) partitions_find(cx, &program->kernels[i], &pipeline, &form);
        c->lowered[i] = form.lowered, c->fused[i] = form.fused, chosen[i] = form.chosen;
        if (s) status = s;
    }
    if (status) return status;
    stage(cx, "emit", file, false);
    c->unit = unit_build(cx, cx->files[0].name, chosen, program->n_kernels);
    stage(cx, "emit", file, true);
    if (cx->n_errors) return FX_ERR_COMPILE;
    stage(cx, "plan", file, false);
    c->plan = plan_build(cx, c->unit);
    add_texts(c);
    stage(cx, "plan", file, true);
    return FX_OK;
}

/* ---- messages ---- */

const char *fx_messages(const fx_compilation *c) { return c && c->messages ? c->messages : ""; }

/* A call that prints or counts into the compilation begins: the arena grows, one thread at a time, as fx.h says. Until
 * it is over, memory has run out. */
static fx_compilation *begin(const fx_compilation *c) {
    fx_compilation *own = (fx_compilation *)c;
    if (own) own->last = FX_ERR_NOMEM;
    return own;
}

static void end(fx_compilation *own, bool is_found) { own->last = is_found ? FX_OK : FX_ERR_USAGE; }

fx_status fx_last_status(const fx_compilation *c) { return c ? c->last : FX_ERR_NOMEM; }

const char *fx_messages_json(const fx_compilation *c) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return NULL;
    if (!own->messages_json) {
        struct buf b;
        buf_init(&b, &own->cx.arena);
        diag_json(&own->cx, &b);
        own->messages_json = b.s;
    }
    end(own, true);
    return own->messages_json;
}

const char *fx_messages_sarif(const fx_compilation *c) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return NULL;
    if (!own->messages_sarif) {
        struct buf b;
        buf_init(&b, &own->cx.arena);
        diag_sarif(&own->cx, &b);
        own->messages_sarif = b.s;
    }
    end(own, true);
    return own->messages_sarif;
}

/* Apart from its caller, so that no variable of it lives across the longjmp. `given` is as the caller has it, o what of
 * it is known. */
static __attribute__((noinline)) fx_status compile_guarded(fx_compilation *c, const char *text, size_t len,
                                                           const char *file, const struct fx_options *given,
                                                           const struct fx_options *o) {
    struct buf b;
    if (setjmp(c->cx.oom)) return FX_ERR_NOMEM;
    arena_init(&c->cx.arena, &c->cx.oom);
    fx_status status = given && !check_size(&c->cx, given) ? FX_ERR_USAGE : compile(c, text, len, file, o);
    buf_init(&b, &c->cx.arena);
    diag_print(&c->cx, &b);
    c->messages = b.s;
    return status;
}

fx_status fx_compile(
    const char *text, size_t len, const char *file, const struct fx_options *options, fx_compilation **out) {
    struct fx_options o = {0};
    if (!out) return FX_ERR_USAGE;
    if (options && is_options_size(options->size))
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (!file) file = "<text>";
    *out = NULL;
    fx_compilation *c = calloc(1, sizeof *c);
    if (!c) return FX_ERR_NOMEM;
    c->cx.on_stage = o.on_stage;
    c->cx.stage_user = o.stage_user;
    stage(&c->cx, "compile", file, false);
    fx_status status = compile_guarded(c, text, len, file, options, &o);
    stage(&c->cx, "compile", file, true);
    c->last = status;
    if (status == FX_ERR_NOMEM) fx_close(c);
    else *out = c;
    return status;
}

void fx_close(fx_compilation *c) {
    if (!c) return;
    arena_release(&c->cx.arena);
    free(c);
}

const struct fx_plan *fx_get_plan(const fx_compilation *c) { return c ? c->plan : NULL; }

int fx_definition(const fx_compilation *c, const char *kernel, struct fx_lines *lines, int most) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return 0;
    int n = own->ast && kernel ? definition_lines(&own->cx, own->ast, kernel, lines, lines ? most : 0) : 0;
    end(own, n > 0);
    return n;
}

bool fx_find(const fx_compilation *c, size_t offset, struct fx_found *out) {
    fx_compilation *own = begin(c);
    if (!own || !out || setjmp(own->cx.oom)) return false;
    bool is_found = own->ast && lookup_place(&own->cx, own->ast, own->program, offset, out);
    end(own, is_found);
    return is_found;
}

const struct fx_test *fx_tests(const fx_compilation *c, int *n) {
    if (n) *n = c && c->program ? c->program->n_tests : 0;
    return c && c->program ? c->program->tests : NULL;
}

/* The kernel of that name, NULL the first; -1 where there is none. */
static int find_kernel(const fx_compilation *c, const char *name) {
    for (int i = 0; c && c->program && i < c->program->n_kernels; i++)
        if (!name || strcmp(c->program->kernels[i].name, name) == 0) return i;
    return -1;
}

const struct fx_ablation *fx_ablations(
    const fx_compilation *c, const char *kernel, const char *const *extents, int n_extents, int *n) {
    fx_compilation *own = begin(c);
    if (n) *n = 0;
    if (!own || setjmp(own->cx.oom)) return NULL;
    int i = n ? find_kernel(own, kernel) : -1;
    const struct fx_ablation *terms =
        i < 0 ? NULL : ablate_list(&own->cx, &own->program->kernels[i], extents, n_extents, n);
    end(own, i >= 0);
    return terms;
}

static bool print_stage(fx_compilation *c, enum fx_text stage, struct buf *out) {
    bool is_emitted = c->plan && c->unit; /* a plan of signatures alone has no CUDA */
    switch (stage) {
    case FX_TEXT_AST:
        if (c->ast) ast_print(out, c->ast);
        return c->ast != NULL;
    case FX_TEXT_IR:
    case FX_TEXT_FUSED:
        for (int i = 0; c->program && c->lowered && i < c->program->n_kernels; i++) {
            struct graph *g = stage == FX_TEXT_IR ? c->lowered[i] : c->fused[i];
            if (!g) return false;
            ir_print(out, g);
        }
        return c->program != NULL && c->lowered != NULL;
    case FX_TEXT_PLAN:
        if (c->plan) plan_print(out, c->plan);
        return c->plan != NULL;
    case FX_TEXT_CU:
        if (is_emitted) buf_put(out, c->plan->source, c->plan->source_len);
        return is_emitted;
    case FX_TEXT_HOST_C:
        if (is_emitted) emit_host_c(out, c->plan);
        return is_emitted;
    case FX_TEXT_HOST_H:
        if (is_emitted) emit_host_h(out, c->plan);
        return is_emitted;
    case FX_TEXT_VENDOR:
        if (is_emitted) emit_vendor(out, c->plan);
        return is_emitted;
    case FX_TEXT_FX:
        for (int i = 0; c->program && i < c->program->n_kernels; i++) {
            if (i) buf_putc(out, '\n');
            fx_print_kernel(out, &c->program->kernels[i]);
        }
        return c->program != NULL;
    case FX_TEXT_DUMP:
        if (c->dump.len) buf_put(out, c->dump.s, c->dump.len);
        return c->program != NULL;
    case FX_TEXT_NOTES:
        for (int i = 0; c->program && i < c->program->n_kernels; i++) {
            if (i) buf_putc(out, '\n');
            annotate_print(out, &c->cx, &c->program->kernels[i]);
        }
        return c->program != NULL;
    }
    return false;
}

const char *fx_text(const fx_compilation *c, enum fx_text stage) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return NULL;
    struct buf b;
    buf_init(&b, &own->cx.arena);
    bool is_there = print_stage(own, stage, &b);
    end(own, is_there);
    return is_there ? b.s : NULL;
}

static const char *print_receipt(fx_compilation *c, enum fx_format format, const struct fx_resources *compiled) {
    struct arena *a = &c->cx.arena;
    struct receipt **receipts = NEW_ARRAY(a, struct receipt *, c->plan->n_kernels + 1);
    struct buf b;
    buf_init(&b, a);
    for (int i = 0; i < c->plan->n_kernels; i++) {
        receipts[i] = receipt_of(a, c->unit, i, &c->plan->kernels[i], compiled);
        if (format == FX_FORMAT_JSON) continue;
        if (i) buf_putc(&b, '\n');
        (format == FX_FORMAT_SUMMARY ? receipt_summary : receipt_text)(&b, receipts[i]);
    }
    if (format == FX_FORMAT_JSON) receipt_json(&b, c->cx.arch, c->plan, receipts);
    return b.s;
}

const char *fx_receipt(const fx_compilation *c, enum fx_format format, const struct fx_resources *compiled) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return NULL;
    const char *receipt = own->unit && own->plan ? print_receipt(own, format, compiled) : NULL;
    end(own, receipt != NULL);
    return receipt;
}

static bool want_entries(fx_compilation *c, const struct fx_resources *compiled, bool *wanted) {
    bool any = false;
    for (int i = 0; i < c->plan->n_kernels; i++)
        any |= receipt_wants(&c->cx.arena, c->unit, i, &c->plan->kernels[i], compiled, wanted);
    return any;
}

bool fx_receipt_wants(const fx_compilation *c, const struct fx_resources *compiled, bool *wanted) {
    fx_compilation *own = begin(c);
    if (!own || setjmp(own->cx.oom)) return false;
    const bool is_there = own->unit && own->plan && wanted, any = is_there && want_entries(own, compiled, wanted);
    end(own, is_there);
    return any;
}

fx_status fx_predict(const fx_compilation *c, const char *kernel, const int64_t *extents, int partition,
    const int *variants, struct fx_prediction *out) {
    fx_compilation *own = begin(c);
    if (out) *out = (struct fx_prediction){0};
    if (!own || setjmp(own->cx.oom)) return own ? FX_ERR_NOMEM : FX_ERR_USAGE;
    int i = out && extents && own->unit && own->plan ? find_kernel(own, kernel) : -1;
    const struct fx_kernel *k = i < 0 ? NULL : &own->plan->kernels[i];
    bool is_there = k && partition >= 0 && partition < fx_partition_count(k);
    int64_t *all = is_there ? NEW_ARRAY(&own->cx.arena, int64_t, k->n_extents + 1) : NULL;
    for (int e = 0; is_there && e < k->n_extents; e++) {
        all[e] = k->extents[e].is_made ? -1 : extents[e]; /* those that passes made follow the spec's own */
        is_there = k->extents[e].is_made || all[e] >= 0;
    }
    is_there = is_there && fx_solve_extents(k, all, NULL, 0) == FX_OK;
    if (is_there) *out = prediction_of(own->unit, i, k, partition, all, variants);
    end(own, is_there);
    return own->last;
}

/* ---- the oracle ---- */

/* The parameter that is output number `output` of k, or -1. */
static int output_param(const struct fx_kernel *k, int output) {
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_output && output-- == 0) return i;
    return -1;
}

fx_status fx_evaluate(const fx_compilation *c, const char *kernel, const struct fx_host *inputs, int n_inputs,
    int output, const int64_t *elements, int64_t n_elements, double *value, int64_t *integer, enum fx_bound kind,
    double *bound, char *message, size_t size) {
    int index = c && c->plan ? find_kernel(c, kernel) : -1;
    int param = index < 0 ? -1 : output_param(&c->plan->kernels[index], output);
    if (!message) size = 0;
    if (size) *message = 0;
    if (!c || !value || (!inputs && n_inputs > 0)) {
        snprintf(message, size, "%s is NULL", !c ? "the compilation" : !value ? "value" : "inputs");
        return FX_ERR_USAGE;
    }
    if (param < 0) {
        snprintf(message, size, index < 0 ? "there is no kernel %s" : "%s has too few outputs",
            kernel ? kernel : "of that name");
        return FX_ERR_USAGE;
    }
    struct evaluation r = {&c->program->kernels[index], &c->plan->kernels[index], inputs, n_inputs, param, elements,
        n_elements, value, integer, kind, bound, message, size};
    return evaluation_run(&r);
}
