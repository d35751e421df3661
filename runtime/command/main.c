/* fxc, the command: compile, run, check, test, bench, tune, explain, trace and doctor over libfx. Input: argv. Output: files,
 * reports, an exit status that is an fx_status. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "lib/tuning.h"

enum { DOCTOR_BYTES = 1 << 16 }; /* more candidates than a machine has */

/* Of the doctor's text the heading of each library and, where one was found, its last line, which is that of the one
 * taken. Never fails: a machine without CUDA has a version too. */
static void print_version(void) {
    static char text[DOCTOR_BYTES];
    bool is_found = false;
    printf("fxc " FX_VERSION "\n");
    fx_doctor(text, sizeof text);
    for (char *line = strtok(text, "\n"), *next; line; line = next) {
        next = strtok(NULL, "\n");
        bool is_heading = *line != ' ', is_last = !next || *next != ' ';
        if (is_heading) is_found = !strstr(line, ": none");
        if (is_heading || (is_last && is_found)) printf("%s\n", line);
    }
}

fx_status command_doctor(const struct command *cmd) {
    static char text[DOCTOR_BYTES];
    char path[1024];
    fx_context *context = NULL;
    if (cmd->n_operands > 0) return usage_error(cmd, "no operand expected");
    fx_status status = fx_doctor(text, sizeof text);
    fputs(text, stdout);
    if (fx_context_open(0, &context) == FX_OK)
        printf("gpu: %s, %s, %d multiprocessors\n", fx_context_device(context), fx_context_arch(context),
               fx_context_sm_count(context));
    else printf("gpu: none (%.*s)\n", (int)strcspn(fx_last_error(), "\n"), fx_last_error());
    fx_context_close(context);
    fx_cache_describe(text, sizeof text);
    printf("cache: %s\n", text);
    tuning_describe(tuning_path(cmd, path, sizeof path), text, sizeof text);
    printf("tuned choices: %s\n", text);
    return status;
}

static fx_status dispatch(const struct command *cmd) {
    static fx_status (*const subcommands[])(const struct command *) = {
#define SUBCOMMAND(id, name, function, operands, help) function,
#define OPTION(id, name, letter, argument, in, help)
#include "command/options.def"
    };
    if (is_given(cmd, OPT_HELP)) return print_help(cmd->sub), FX_OK;
    if (is_given(cmd, OPT_PAGE)) return print_page(cmd, option_value(cmd, OPT_PAGE));
    if (is_given(cmd, OPT_VERSION)) return print_version(), FX_OK;
    if (is_given(cmd, OPT_NO_CACHE) && setenv("FX_CACHE", "off", 1) != 0)
        return complain(FX_ERR_NOMEM, "out of memory");
    fx_status status = take_tuning(cmd);
    return status == FX_OK ? subcommands[cmd->sub](cmd) : status;
}

/* What was to be written and is not. A result that differs was told on stdout alone: where that is lost, so is what
 * FX_ERR_DIFFERS means. */
static fx_status check_written(fx_status status) {
    const char *why_not;
    if (!fx_trace_is_on(&why_not) && *why_not) {
        complain(FX_ERR_IO, "FX_TRACE: %s", why_not);
        if (status == FX_OK) status = FX_ERR_IO;
    }
    bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    bool is_told = is_written || (status != FX_OK && status != FX_ERR_DIFFERS);
    return is_told ? status : complain(FX_ERR_IO, "cannot write stdout");
}

int main(int argc, char **argv) {
    struct command cmd;
    fx_status status = command_parse(argc, argv, &cmd);
    if (status == FX_OK) status = dispatch(&cmd);
    command_release(&cmd);
    return (int)check_written(status);
}
