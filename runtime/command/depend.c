/* What a compilation read, as a rule of make (-MD, -MF), which ninja reads too. Input: targets, the spec, what it
 * included. Output: a file. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

void reading_release(struct files_read *r) {
    for (int i = 0; i < r->n; i++) free(r->paths[i]);
    *r = (struct files_read){0};
}

fx_status check_dependencies(const struct command *cmd) {
    const char *output = option_value(cmd, OPT_OUTPUT);
    bool has_file = is_given(cmd, OPT_DEPENDENCY_FILE);
    if (has_file && cmd->n_operands > 1)
        return usage_error(cmd, "-MF names one file, but there are %d specs", cmd->n_operands);
    if (!is_given(cmd, OPT_DEPENDENCIES) || has_file) return FX_OK;
    bool is_stdin = cmd->n_operands == 1 && !strcmp(cmd->operands[0], "-") && !output;
    if (is_stdin || (output && !strcmp(output, "-")))
        return usage_error(cmd, "-MD has no name for its file where the output is stdout: give one with -MF");
    return FX_OK;
}

/* As make reads a name. */
static void put_name(FILE *to, const char *name) {
    for (; *name; name++) {
        if (*name == ' ' || *name == '#') fputc('\\', to);
        if (*name == '$') fputc('$', to);
        fputc(*name, to);
    }
}

/* The target's name with another ending; malloc'ed. */
static char *default_file(const char *target) {
    const char *slash = strrchr(target, '/'), *dot = strrchr(slash ? slash : target, '.');
    char *name = NULL;
    int n = dot && dot != (slash ? slash + 1 : target) ? (int)(dot - target) : (int)strlen(target);
    return asprintf(&name, "%.*s.d", n, target) < 0 ? NULL : name;
}

fx_status write_dependencies(
    const struct command *cmd, const char *const *targets, int n, const char *spec, const struct files_read *reading) {
    const char *given = option_value(cmd, OPT_DEPENDENCY_FILE);
    char *text = NULL;
    size_t n_bytes = 0;
    if (!given && !is_given(cmd, OPT_DEPENDENCIES)) return FX_OK;
    char *file = given ? strdup(given) : default_file(targets[0]);
    FILE *to = file ? open_memstream(&text, &n_bytes) : NULL;
    if (!to) return free(file), complain(FX_ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        if (i) fputc(' ', to);
        put_name(to, targets[i]);
    }
    fputc(':', to);
    if (strcmp(spec, "-") != 0) fputc(' ', to), put_name(to, spec);
    for (int i = 0; i < reading->n; i++) {
        fputs(" \\\n ", to);
        put_name(to, reading->paths[i]);
    }
    fputc('\n', to);
    bool is_whole = !ferror(to);
    is_whole = fclose(to) == 0 && is_whole;
    fx_status status = is_whole ? write_whole(file, &(struct text_piece){text, n_bytes}, 1)
                                : complain(FX_ERR_NOMEM, "out of memory");
    free(text);
    free(file);
    return status;
}
