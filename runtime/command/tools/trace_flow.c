/* What a receipt says of a kernel's launches. In: a receipt that was read as JSON, and the plan. Out: for each launch
 * the lines of the spec in it and its bytes at the extents of the run. Invariant: what is no such receipt gives no
 * lines. */
#include <string.h>

#include "command/tools/trace.h"

static const struct json_node *find_named(const struct json_node *list, const char *name) {
    for (int i = 0; list && i < list->n_items; i++)
        if (!strcmp(json_get_text(list->items[i], "name"), name)) return list->items[i];
    return NULL;
}

static const struct json_node *find_kernel(const struct json_node *receipt, const char *kernel) {
    return find_named(json_get(receipt, "kernels"), kernel);
}

/* NULL: it is no string, or not there. */
static const char *text_if_any(const struct json_node *v, const char *key) {
    const struct json_node *found = json_get(v, key);
    return found && found->type == JSON_IS_STRING ? found->text : NULL;
}

const char *trace_buffer_dtype(const struct json_node *receipt, const char *kernel, const char *buffer) {
    const struct json_node *of = find_kernel(receipt, kernel), *found = find_named(json_get(of, "workspace"), buffer);
    return text_if_any(found ? found : find_named(json_get(of, "const"), buffer), "dtype");
}

static void read_lines(struct arena *a, const struct json_node *launch, struct trace_step *s) {
    const struct json_node *lines = json_get(launch, "lines");
    s->n_lines = lines ? lines->n_items : 0;
    s->lines = NEW_ARRAY(a, struct trace_line, s->n_lines + 1);
    for (int i = 0; i < s->n_lines; i++) {
        const struct json_node *l = lines->items[i];
        s->lines[i] = (struct trace_line){.line = json_get_int(l, "line", 0),
            .place = json_get_text(l, "place"),
            .name = text_if_any(l, "name"),
            .text = json_get_text(l, "expression")};
    }
}

struct trace_flow trace_flow_read(
    struct arena *a, const struct json_node *receipt, const struct fx_kernel *k, const struct fx_env *env) {
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, env));
    struct trace_flow f = {.n_steps = taken.n_launches, .steps = NEW_ARRAY(a, struct trace_step, taken.n_launches + 1)};
    const struct json_node *launches = json_get(find_kernel(receipt, k->name), "launches");
    for (int i = 0; i < taken.n_launches; i++) {
        const struct fx_launch *l = &k->launches[taken.first_launch + i];
        struct trace_step *s = &f.steps[i];
        s->name = l->name;
        if (!fx_expr_eval(&l->bytes, env, &s->bytes)) s->bytes = -1;
        if (!fx_expr_eval(&l->written, env, &s->bytes_written)) s->bytes_written = -1;
        if (s->bytes < 0 || f.bytes < 0 || __builtin_add_overflow(f.bytes, s->bytes, &f.bytes)) f.bytes = -1;
        if (launches && i < launches->n_items) read_lines(a, launches->items[i], s);
    }
    return f;
}
