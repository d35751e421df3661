/* A receipt as JSON, for programs: `fxc explain --explain-format=json`. docs/receipt.md states the schema; within a
 * version members are only added. */
#include "report/receipt.h"

#include "base/json.h"

enum { SCHEMA_VERSION = 1 };

/* The next object of a list, on a line of its own. */
static void open_item(struct json *j) {
    json_line(j);
    json_open(j, '{');
}

/* An expression over extents and its value, null where that overflows. */
static void member_size(struct json *j, const char *key, const struct receipt_size *s) {
    json_key(j, key);
    json_open(j, '{');
    json_member_text(j, "expression", s->text);
    json_key(j, "value");
    if (s->is_known) json_int(j, s->value);
    else json_null(j);
    json_close(j, '}');
}

static void put_extents(struct json *j, const struct receipt *r) {
    json_open_list(j, "extents");
    for (int i = 0; i < r->kernel->n_extents; i++) {
        json_open(j, '{');
        json_member_text(j, "name", r->kernel->extents[i].name);
        json_member_int(j, "value", r->extents[i]);
        json_member_bool(j, "nominal", r->kernel->extents[i].value < 0);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_others(struct json *j, const struct receipt *r) {
    json_open_list(j, "alternatives");
    for (int i = 0; i < r->n_others; i++) {
        json_open(j, '{');
        json_member_text(j, "partition", r->others[i].name);
        json_member_int(j, "kernels", r->others[i].n_kernels);
        json_member_real(j, "predicted_us", r->others[i].seconds * 1e6);
        json_member_text(j, "why_not", r->others[i].why);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* A count as a whole number, as large as one may be. */
static int64_t whole(double v) { return v < 0x1p63 ? (int64_t)v : INT64_MAX; }

static void put_partitions(struct json *j, const struct receipt *r) {
    json_open_list(j, "partitions");
    for (int i = 0; i < r->n_partitions; i++) {
        open_item(j);
        json_member_text(j, "partition", r->partitions[i].name);
        json_member_text(j, "where", r->partitions[i].where);
        json_member_int(j, "kernels", r->partitions[i].n_launches);
        json_member_real(j, "predicted_us", r->partitions[i].seconds * 1e6);
        json_member_bool(j, "taken", r->partitions[i].is_taken);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_rules(struct json *j, const struct receipt *r) {
    json_open_list(j, "rules");
    for (int i = 0; i < r->n_rules; i++) {
        open_item(j);
        json_member_text(j, "rule", r->rules[i].rule);
        json_member_int(j, "line", r->rules[i].line);
        json_member_text(j, "expression", r->rules[i].text);
        json_member_int(j, "operations_before", whole(r->rules[i].before));
        json_member_int(j, "operations_after", whole(r->rules[i].after));
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Those of the workspace, or those that are kept. */
static void put_buffers(struct json *j, const char *list, const struct receipt *r, bool are_kept) {
    json_open_list(j, list);
    for (int i = 0; i < r->n_buffers; i++) {
        if (r->buffers[i].is_kept != are_kept) continue;
        open_item(j);
        json_member_text(j, "name", r->buffers[i].name);
        json_member_text(j, "dtype", r->buffers[i].dtype);
        member_size(j, "bytes", &r->buffers[i].bytes);
        json_member_text(j, "why", r->buffers[i].why);
        json_member_bool(j, "rounded_once", r->buffers[i].is_rounded);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_lines(struct json *j, const struct receipt_launch *l) {
    json_open_list(j, "lines");
    for (int i = 0; i < l->n_lines; i++) {
        open_item(j);
        json_member_int(j, "line", l->lines[i].line);
        json_member_text(j, "place", l->lines[i].place);
        json_member_text(j, "name", l->lines[i].name);
        json_member_text(j, "expression", l->lines[i].text);
        json_member_text(j, "call", l->lines[i].call);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_copies(struct json *j, const struct receipt_launch *l) {
    json_open_list(j, "copies");
    for (int i = 0; i < l->n_copies; i++) {
        json_open(j, '{');
        json_member_text(j, "from", l->copies[i].from);
        json_member_text(j, "into", l->copies[i].into);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_rejected(struct json *j, const struct receipt_launch *l) {
    json_open_list(j, "schedules_not_taken");
    for (int i = 0; i < l->n_rejected; i++) {
        json_open(j, '{');
        json_member_text(j, "schedule", l->rejected[i].schedule->name);
        json_member_text(j, "why_not", l->rejected[i].why);
        json_key(j, "predicted_us");
        if (l->rejected[i].why) json_null(j);
        else json_real(j, l->rejected[i].seconds * 1e6);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_compiled(struct json *j, const struct fx_resources *c) {
    json_key(j, "compiled");
    if (!c) {
        json_null(j);
        return;
    }
    json_open(j, '{');
    json_member_int(j, "registers", c->registers);
    json_member_int(j, "local_bytes", c->local_bytes);
    json_member_int(j, "static_shared_bytes", c->shared_bytes);
    json_member_int(j, "max_threads", c->max_threads);
    json_close(j, '}');
}

static void put_entry(struct json *j, const struct receipt_entry *e) {
    open_item(j);
    json_member_text(j, "entry", e->variant->entry);
    json_member_text(j, "config", e->variant->config);
    json_member_int(j, "threads", e->variant->block);
    member_size(j, "shared_bytes", &e->shared);
    put_compiled(j, e->compiled);
    member_size(j, "grid", &e->grid);
    json_member_int(j, "blocks_an_sm", e->resident);
    json_member_int(j, "waves", e->waves);
    json_member_bool(j, "takes_extents", e->takes);
    json_member_bool(j, "launched", e->is_chosen);
    json_member_bool(j, "passed_over", e->is_passed_over);
    json_close(j, '}');
}

static void put_launch(struct json *j, const struct receipt_launch *l) {
    open_item(j);
    json_member_text(j, "name", l->launch->name);
    json_member_text(j, "driver", l->launch->driver);
    json_member_text(j, "schedule", l->schedule);
    json_member_bool(j, "once", l->launch->is_once);
    put_copies(j, l);
    put_lines(j, l);
    member_size(j, "bytes", &l->bytes);
    member_size(j, "bytes_written", &l->written);
    member_size(j, "flops", &l->flops);
    json_member_real(j, "predicted_us", l->seconds * 1e6);
    json_member_real(j, "bytes_alone_us", l->memory_seconds * 1e6);
    json_member_text(j, "bound", l->bound);
    put_rejected(j, l);
    json_open_list(j, "entries");
    for (int i = 0; i < l->n_entries; i++) put_entry(j, &l->entries[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void put_kernel(struct json *j, const struct receipt *r) {
    open_item(j);
    json_member_text(j, "name", r->kernel->name);
    json_member_text(j, "partition", r->partition);
    json_member_real(j, "predicted_us", r->seconds * 1e6);
    put_others(j, r);
    put_extents(j, r);
    put_partitions(j, r);
    json_key(j, "bytes");
    if (r->is_known) json_int(j, r->total);
    else json_null(j);
    json_key(j, "unfused");
    json_open(j, '{');
    json_member_int(j, "kernels", r->kernel->n_unfused);
    member_size(j, "bytes", &r->unfused);
    json_close(j, '}');
    put_rules(j, r);
    json_member_text(j, "saved", *r->saved ? r->saved : NULL);
    put_buffers(j, "workspace", r, false);
    put_buffers(j, "const", r, true);
    json_open_list(j, "notes");
    for (int i = 0; i < r->n_notes; i++) json_string(j, r->notes[i]);
    json_close(j, ']');
    json_open_list(j, "launches");
    for (int i = 0; i < r->n_launches; i++) put_launch(j, &r->launches[i]);
    json_close(j, ']');
    json_close(j, '}');
}

void receipt_json(struct buf *out, const struct arch *m, const struct fx_plan *p, struct receipt *const *kernels) {
    struct json j = {.out = out};
    json_open(&j, '{');
    json_member_int(&j, "version", SCHEMA_VERSION);
    json_member_text(&j, "file", p->file);
    json_member_text(&j, "arch", p->arch);
    json_member_text(&j, "predicted_for", m->gpu);
    json_member_int(&j, "multiprocessors", m->sms);
    json_open_list(&j, "kernels");
    for (int i = 0; i < p->n_kernels; i++) put_kernel(&j, kernels[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}
