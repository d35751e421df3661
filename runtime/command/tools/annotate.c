/* The annotate subcommand. Input: a spec. Output: the axes and dtype of every expression as the user wrote it. Needs no
 * schedule, no GPU, no NVRTC. */
#include <string.h>

#include "command/command.h"

static fx_status annotate(const struct request *r, const struct machine *machine) {
    const char *to = option_value(r->cmd, OPT_OUTPUT_TEXT);
    fx_compilation *c = NULL;
    (void)machine;
    if (!to) to = "-";
    if (!strcmp(to, r->spec->path) && strcmp(to, "-") != 0)
        return usage_error(r->cmd, "the output %s would overwrite the input", to);
    fx_status status = compile_spec(r, NULL, true, &c);
    if (status != FX_OK) return status;
    const char *text = fx_text(c, FX_TEXT_NOTES);
    status = text ? write_whole(to, &(struct text_piece){text, strlen(text)}, 1)
                  : complain(FX_ERR_NOMEM, "out of memory");
    fx_close(c);
    return status;
}

fx_status command_annotate(const struct command *cmd) { return act_on_request(cmd, false, annotate); }
