/* A trace as JSON, for programs: docs/emulator.md states the schema; within a version members are only added. */
#include <string.h>

#include "command/tools/trace.h"

enum { SCHEMA_VERSION = 1 };

static void member_count(struct json *j, const char *key, int64_t v) { /* -1: not known */
    json_key(j, key);
    if (v < 0) json_null(j);
    else json_int(j, v);
}

static void open_item(struct json *j) {
    json_line(j);
    json_open(j, '{');
}

static void list_of_ints(struct json *j, const int64_t *v, int n) {
    json_open(j, '[');
    for (int i = 0; i < n; i++) json_int(j, v[i]);
    json_close(j, ']');
}

static void put_tensors(struct json *j, const struct trace *t) {
    json_open_list(j, "tensors");
    for (int i = 0; i < t->n_tensors; i++) {
        const struct trace_tensor *x = &t->tensors[i];
        open_item(j);
        json_member_text(j, "name", x->name);
        json_member_text(j, "kind", x->kind);
        json_member_text(j, "dtype", x->dtype);
        json_member_int(j, "cell_bytes", x->cell_bytes);
        json_key(j, "shape");
        list_of_ints(j, x->shape, x->rank);
        json_key(j, "strides");
        list_of_ints(j, x->strides, x->rank);
        json_open_list(j, "stride_expressions");
        for (int a = 0; a < x->rank && x->steps[a]; a++) json_string(j, x->steps[a]);
        json_close(j, ']');
        json_open_list(j, "axes");
        for (int a = 0; a < x->rank; a++) json_string(j, x->axes[a]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---- runs ---- */

static void put_map(struct json *j, const char *key, const struct trace_part *p, int side) {
    const struct trace_runs *r = &p->map[side];
    json_open_object(j, key);
    json_member_int(j, "accesses", (int64_t)p->total[side].n_accesses);
    json_member_int(j, "cells", (int64_t)p->total[side].n_cells);
    json_open_list(j, "runs");
    for (int i = 0; i < r->n; i++)
        list_of_ints(j, (int64_t[]){r->runs[i].first, r->runs[i].n, r->runs[i].block, r->runs[i].n_blocks}, 4);
    json_close(j, ']');
    json_member_bool(j, "cut", r->is_cut);
    json_close(j, '}');
}

static void put_maps(struct json *j, const struct trace *t, const struct trace_launch *l) {
    json_open_list(j, "tensors");
    for (int i = 0; l->parts && i < t->n_tensors; i++) {
        const struct trace_part *p = &l->parts[i];
        if (!p->total[TRACE_READ].n_accesses && !p->total[TRACE_WRITE].n_accesses) continue;
        open_item(j);
        json_member_text(j, "tensor", t->tensors[i].name);
        put_map(j, "read", p, TRACE_READ);
        put_map(j, "written", p, TRACE_WRITE);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_runs(struct json *j, const char *key, const struct trace_runs *r) {
    json_open_object(j, key);
    json_open_list(j, "runs");
    for (int i = 0; i < r->n; i++) {
        const struct trace_run *x = &r->runs[i];
        list_of_ints(j, (int64_t[]){x->first, x->n, x->phase, x->epoch, (int64_t)x->order, (int64_t)x->n_accesses}, 6);
    }
    json_close(j, ']');
    json_member_bool(j, "cut", r->is_cut);
    json_close(j, '}');
}

static void put_details(struct json *j, const struct trace *t, const struct trace_launch *l) {
    json_open_list(j, "blocks");
    for (int d = 0; d < l->n_details; d++) {
        open_item(j);
        json_member_int(j, "block", l->details[d].block);
        json_open_list(j, "tensors");
        for (int i = 0; i < t->n_tensors; i++) {
            const struct trace_runs *r = l->details[d].tensors[i];
            if (!r[TRACE_READ].n && !r[TRACE_WRITE].n) continue;
            open_item(j);
            json_member_text(j, "tensor", t->tensors[i].name);
            put_runs(j, "read", &r[TRACE_READ]);
            put_runs(j, "written", &r[TRACE_WRITE]);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_totals(struct json *j, const struct trace *t, const struct trace_launch *l) {
    json_open_list(j, "totals");
    for (unsigned b = 0; l->blocks && b < l->grid; b++) {
        const struct trace_block *block = &l->blocks[b];
        open_item(j);
        json_member_int(j, "block", b);
        json_member_int(j, "phases", block->n_phases);
        json_member_int(j, "epochs", block->n_epochs);
        json_member_int(j, "shared_bytes_read", (int64_t)block->shared_bytes[TRACE_READ]);
        json_member_int(j, "shared_bytes_written", (int64_t)block->shared_bytes[TRACE_WRITE]);
        json_open_list(j, "tensors");
        for (int i = 0; i < t->n_tensors; i++) {
            const struct trace_total *x = block->tensors[i];
            if (!x[TRACE_READ].n_accesses && !x[TRACE_WRITE].n_accesses) continue;
            json_open(j, '[');
            json_int(j, i);
            for (int side = 0; side < TRACE_SIDES; side++)
                json_int(j, (int64_t)x[side].n_accesses), json_int(j, (int64_t)x[side].n_cells);
            json_close(j, ']');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---- lines ---- */

const char *trace_text_line(struct arena *a, const char *text, int line) {
    for (int i = 1; i < line && text; i++) text = strchr(text, '\n'), text += text != NULL;
    if (!text || line < 1) return "";
    text += strspn(text, " \t");
    size_t n = strcspn(text, "\n");
    while (n > 0 && strchr(" \t\r", text[n - 1])) n--;
    return arena_strndup(a, text, n);
}

static void put_lines(struct json *j, const struct trace *t, const struct trace_launch *l) {
    static const char *const accesses[] = {[EMU_READ] = "read", [EMU_WRITE] = "write", [EMU_COPY] = "copy"};
    json_open_list(j, "lines");
    for (int i = 0; i < l->n_counts; i++) {
        const struct emu_count *c = &l->counts[i];
        open_item(j);
        member_count(j, "line", c->line.lines[0] ? c->line.lines[0] : -1);
        json_member_text(j, "code", trace_text_line(j->out->arena, t->plan->source, c->line.lines[0]));
        json_open_list(j, "within");
        for (int d = 1; d < EMU_DEPTH && c->line.lines[d]; d++) json_int(j, c->line.lines[d]);
        json_close(j, ']');
        member_count(j, "spec_line", c->line.spec_line ? c->line.spec_line : -1);
        json_member_text(
            j, "spec", c->line.spec_line ? trace_text_line(j->out->arena, t->spec, c->line.spec_line) : NULL);
        json_member_text(j, "memory", c->is_shared ? "shared" : "global");
        json_member_text(j, "access", accesses[c->access]);
        json_member_int(j, "requests", (int64_t)c->n_requests);
        json_member_int(j, "taken", (int64_t)c->n_taken);
        json_member_int(j, "least", (int64_t)c->n_least);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---- the whole ---- */

static void put_launch(struct json *j, const struct trace *t, const struct trace_launch *l) {
    open_item(j);
    json_member_text(j, "name", l->launch->name);
    json_member_text(j, "driver", l->launch->driver);
    json_member_text(j, "entry", l->variant ? l->variant->entry : NULL);
    json_member_text(j, "config", l->variant ? l->variant->config : NULL);
    json_member_int(j, "grid", l->grid);
    json_member_int(j, "block", l->n_threads);
    json_member_int(j, "shared_bytes", l->shared_bytes);
    json_member_bool(j, "cooperative", l->launch->is_cooperative);
    json_member_text(j, "mma", l->mma);
    put_maps(j, t, l);
    put_details(j, t, l);
    put_totals(j, t, l);
    put_lines(j, t, l);
    json_close(j, '}');
}

static void put_flow(struct json *j, const char *key, const struct trace_flow *f) {
    json_key(j, key);
    if (!f->n_steps) {
        json_null(j);
        return;
    }
    json_open(j, '{');
    member_count(j, "bytes", f->bytes);
    json_open_list(j, "launches");
    for (int i = 0; i < f->n_steps; i++) {
        const struct trace_step *s = &f->steps[i];
        open_item(j);
        json_member_text(j, "name", s->name);
        member_count(j, "bytes", s->bytes);
        member_count(j, "bytes_written", s->bytes_written);
        json_open_list(j, "lines");
        for (int n = 0; n < s->n_lines; n++) {
            json_open(j, '{');
            json_member_int(j, "line", s->lines[n].line);
            json_member_text(j, "place", s->lines[n].place);
            json_member_text(j, "name", s->lines[n].name);
            json_member_text(j, "expression", s->lines[n].text);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

void trace_json(struct buf *out, const struct trace *t) {
    struct json j = {.out = out};
    json_open(&j, '{');
    json_member_int(&j, "version", SCHEMA_VERSION);
    json_member_text(&j, "file", t->plan->file);
    json_member_text(&j, "arch", t->plan->arch);
    json_open_list(&j, "kernels");
    open_item(&j);
    json_member_text(&j, "name", t->job->kernel->name);
    json_open_list(&j, "extents");
    for (int i = 0; i < t->job->kernel->n_extents; i++) {
        json_open(&j, '{');
        json_member_text(&j, "name", t->job->kernel->extents[i].name);
        json_member_int(&j, "value", t->job->extents[i]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    put_tensors(&j, t);
    put_flow(&j, "unfused", &t->before);
    put_flow(&j, "fused", &t->after);
    json_open_list(&j, "launches");
    for (int i = 0; i < t->n_launches; i++) put_launch(&j, t, &t->launches[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}
