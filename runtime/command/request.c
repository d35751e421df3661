/* Requests. Input: the command line, a spec, and perhaps a block of it. Output: what to compile and what to run it on.
 * Invariant: what the command line says of a name stands, whatever a block says of it. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

fx_status spec_read(const char *path, struct spec *spec) {
    *spec = (struct spec){.path = path};
    return read_whole(path, SPEC_MAX_BYTES, NULL, &spec->text, &spec->n_bytes);
}

void spec_release(struct spec *spec) {
    free(spec->text);
    *spec = (struct spec){0};
}

const char *find_pair(const char *const *pairs, int n, const char *name) {
    for (int i = n - 1; i >= 0; i--) {
        const char *given, *value;
        size_t len;
        if (split_pair(pairs[i], &given, &len, &value) && strlen(name) == len && !memcmp(name, given, len))
            return value;
    }
    return NULL;
}

/* Appends to `to` what the block gives of names that the command line's pairs leave open. */
static void add_pairs(
    const char **to, int *n, const char *const *pairs, int n_pairs, const char *const *over, int n_over) {
    for (int i = 0; i < n_pairs; i++) {
        bool is_open = true;
        for (int j = 0; j < n_over; j++) {
            size_t len = strcspn(over[j], "=");
            is_open = is_open && !(strcspn(pairs[i], "=") == len && !memcmp(pairs[i], over[j], len));
        }
        if (is_open) to[(*n)++] = pairs[i];
    }
}

/* Two values for one name: which was meant, nobody can tell. */
static fx_status check_once(const struct request *r, int last) {
    const struct parsed_option *options = r->cmd->options, *g = &options[last];
    size_t len = strcspn(g->value, "=");
    for (int i = 0; i < last; i++)
        if (options[i].id == g->id && strcspn(options[i].value, "=") == len && !memcmp(options[i].value, g->value, len))
            return usage_error(r->cmd, "-%c %.*s is given twice: %s and %s",
                g->id == OPT_DEFINE  ? 'D'
                : g->id == OPT_INPUT ? 'i'
                                     : 'o',
                (int)(len > 64 ? 64 : len), g->value, options[i].value, g->value);
    return FX_OK;
}

static fx_status take_given(struct request *r) {
    for (int i = 0; i < r->cmd->n_options; i++) {
        const struct parsed_option *g = &r->cmd->options[i];
        const char *name, *value;
        size_t len;
        bool is_pair = split_pair(g->value, &name, &len, &value) && *value;
        if (g->id == OPT_DEFINE && !is_pair) return usage_error(r->cmd, "-D %s is no NAME=VALUE", g->value);
        if (g->id == OPT_INPUT && !is_pair) return usage_error(r->cmd, "-i %s is no NAME=SOURCE", g->value);
        bool names_one = g->id == OPT_DEFINE || g->id == OPT_INPUT || g->id == OPT_OUTPUT_ARRAY;
        if (names_one && check_once(r, i) != FX_OK) return FX_ERR_USAGE;
        if (g->id == OPT_DEFINE) r->defines[r->n_defines++] = g->value;
        if (g->id == OPT_INPUT) r->inputs[r->n_inputs++] = g->value;
    }
    return FX_OK;
}

static void take_block(struct request *r, const struct fx_test *t) {
    int n_defines = r->n_defines, n_inputs = r->n_inputs;
    r->block = t;
    r->kernel = t->kernel;
    add_pairs(r->defines, &r->n_defines, t->defines, t->n_defines, r->defines, n_defines);
    add_pairs(r->extents, &r->n_extents, t->extents, t->n_extents, r->defines, n_defines);
    add_pairs(r->inputs, &r->n_inputs, t->inputs, t->n_inputs, r->inputs, n_inputs);
}

static fx_status read_seed(struct request *r) {
    const char *text = option_value(r->cmd, OPT_SEED);
    char *end = NULL;
    r->seed = text ? strtoull(text, &end, 0) : r->block && r->block->has_seed ? r->block->seed : 0;
    if (text && (end == text || *end || *text == '-')) return usage_error(r->cmd, "--seed %s is no number", text);
    return FX_OK;
}

fx_status request_open(
    const struct command *cmd, const struct spec *spec, const struct fx_test *block, struct request *r) {
    size_t room = (size_t)cmd->n_options + 1;
    *r = (struct request){.cmd = cmd, .spec = spec, .kernel = option_value(cmd, OPT_KERNEL)};
    r->defines = calloc(room + (block ? (size_t)block->n_defines : 0), sizeof *r->defines);
    r->extents = calloc(room + (block ? (size_t)block->n_extents : 0), sizeof *r->extents);
    r->inputs = calloc(room + (block ? (size_t)block->n_inputs : 0), sizeof *r->inputs);
    fx_status status = r->defines && r->extents && r->inputs ? take_given(r) : complain(FX_ERR_NOMEM, "out of memory");
    if (status == FX_OK && block) take_block(r, block);
    if (status == FX_OK) status = read_seed(r);
    if (status != FX_OK) request_release(r);
    return status;
}

void request_release(struct request *r) {
    free(r->defines);
    free(r->extents);
    free(r->inputs);
    *r = (struct request){0};
}

bool read_emulation(const char *device, struct fx_emulation *e) {
    const char *at = device + 3;
    char *end;
    *e = (struct fx_emulation){.is_watched = true};
    if (strncmp(device, "emu", 3) != 0) return false;
    if (*at == ':') {
        if (at[1] < '1' || at[1] > '9') return false;
        long n = strtol(at + 1, &end, 10);
        if (n > 1024) return false;
        e->sm_count = (int)n;
        at = end;
    }
    if (strcmp(at, ",plain") == 0) e->is_watched = false;
    return !*at || !e->is_watched;
}

fx_status read_device(const struct command *cmd, const char **device) {
    *device = option_value(cmd, OPT_DEVICE);
    if (!*device) *device = "auto";
    struct fx_emulation e;
    if (read_emulation(*device, &e)) *device = "emu";
    if (!strcmp(*device, "auto") || !strcmp(*device, "gpu") || !strcmp(*device, "emu") || !strcmp(*device, "cpu"))
        return FX_OK;
    return usage_error(cmd, "unknown device '%s': expected auto, gpu, emu or cpu", *device);
}

void machine_open(const struct command *cmd, struct machine *m) {
    const char *device = option_value(cmd, cmd->sub == SUB_TUNE ? OPT_DEVICE_TUNE : OPT_DEVICE);
    *m = (struct machine){0};
    struct fx_emulation e;
    m->is_emulated = device && read_emulation(device, &e);
    if (m->is_emulated) m->status = fx_emulate(&e);
    if (m->status == FX_OK) m->status = fx_context_open(0, &m->context);
    if (m->status == FX_OK) return;
    m->context = NULL;
    snprintf(m->no_gpu, sizeof m->no_gpu, "%s", fx_last_error());
    m->no_gpu[strcspn(m->no_gpu, "\n")] = 0;
}

/* What keeps the emulator away too joins the words about the GPU. */
static void stand_in(struct machine *m) {
    struct fx_emulation e = {.is_watched = true};
    fx_status status = fx_emulate(&e);
    if (status == FX_OK) status = fx_context_open(0, &m->context);
    m->is_emulated = m->is_stand_in = status == FX_OK;
    if (m->is_stand_in) return;
    m->context = NULL;
    size_t n = strlen(m->no_gpu);
    const char *why = fx_last_error();
    snprintf(m->no_gpu + n, sizeof m->no_gpu - n, "; no emulator: %.*s", (int)strcspn(why, "\n"), why);
}

void machine_open_any(const struct command *cmd, struct machine *m) {
    const char *device;
    machine_open(cmd, m);
    if (read_device(cmd, &device) == FX_OK && !m->context && !strcmp(device, "auto")) stand_in(m);
    if (!m->context || wants_json(cmd)) return; /* then stderr holds messages alone */
    fprintf(stderr, "on %s", fx_context_device(m->context));
    fprintf(stderr, m->is_stand_in ? " (no GPU: %s)\n" : "\n", m->no_gpu);
}

void machine_close(struct machine *m) {
    fx_context_close(m->context);
    *m = (struct machine){0};
}

fx_status act_on_request(
    const struct command *cmd, bool wants_machine, fx_status (*act)(const struct request *, const struct machine *)) {
    const char *path;
    struct spec spec = {0};
    struct request request = {0};
    struct machine machine = {0};
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK) status = request_open(cmd, &spec, NULL, &request);
    if (status == FX_OK && wants_machine) machine_open_any(cmd, &machine);
    if (status == FX_OK) status = act(&request, &machine);
    machine_close(&machine);
    request_release(&request);
    spec_release(&spec);
    return status;
}
