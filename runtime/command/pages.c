/* The man page of fxc and completions for shells. Input: the table of options. Output: text on stdout. */
#include <string.h>

#include "command/command.h"

static bool has(const struct option_row *o, int sub) { return o->in >> sub & 1; }

/* ---- the man page ---- */

/* As roff reads it: a hyphen that stays one, no escapes, no requests. */
static void put_roff(const char *s) {
    for (bool begins = true; *s; s++) {
        if (begins && (*s == '.' || *s == '\'')) fputs("\\&", stdout);
        if (*s == '-') putchar('\\');
        if (*s == '\\') fputs("\\e", stdout);
        else putchar(*s == '\n' ? ' ' : *s);
        begins = false;
    }
}

static void put_option(const struct option_row *o) {
    fputs(".TP\n", stdout);
    if (o->letter)
        printf("\\fB\\-%c\\fR%s%s%s, ", o->letter, o->argument ? " \\fI" : "", o->argument ? o->argument : "",
            o->argument ? "\\fR" : "");
    fputs("\\fB\\-\\-", stdout);
    put_roff(o->name);
    printf("\\fR%s%s%s\n", o->argument ? "=\\fI" : "", o->argument ? o->argument : "", o->argument ? "\\fR" : "");
    put_roff(o->help);
    putchar('\n');
}

static void print_man(void) {
    static const char *const variables[][2] = {
        {"FX_CACHE_DIR, FX_CACHE, FX_CACHE_MAX_BYTES",
            "where the disk cache of compiled kernels is, off for none, and how large it may grow"},
        {"FX_LIBCUDA, FX_LIBNVRTC, FX_CUDA_PATH", "where the driver, NVRTC and the CUDA toolkit are looked for first"},
        {"FX_TUNE_DB", "a database of tuned choices, whose rows launches take; where tune keeps them"},
        {"FX_LIBSQLITE", "the SQLite library that reads it (default libsqlite3.so.0)"},
        {"FX_TRACE", "a file that a chrome trace of the process is written to"},
        {"FX_LINEINFO", "adds line information to compiled kernels"},
        {"FX_CXX", "the C++ compiler of the emulator (default g++)"},
    };
    printf(".\\\" Written by fxc --page=fxc.1 from the table of options.\n.TH FXC 1 \"\" \"fx " FX_VERSION "\"\n"
           ".SH NAME\nfxc \\- compile tensor algebra over named axes to fused CUDA kernels\n.SH SYNOPSIS\n.nf\n");
    for (int i = 0; subcommand_row(i); i++) {
        const struct subcommand_row *s = subcommand_row(i);
        printf("\\fBfxc%s%s\\fR [\\fIOPTION\\fR]...%s%s\n", *s->name ? " " : "", s->name, *s->operands ? " " : "",
            s->operands);
    }
    printf(".fi\n.SH DESCRIPTION\n");
    for (int i = 0; subcommand_row(i); i++) {
        const struct subcommand_row *s = subcommand_row(i);
        printf(".SS fxc%s%s\n", *s->name ? " " : "", s->name);
        put_roff(s->help);
        printf("\n");
        for (int o = 0; option_row(o); o++)
            if (has(option_row(o), i)) put_option(option_row(o));
    }
    printf(
        ".SH EXIT STATUS\n0 ok, 1 compile error, 2 usage, 3 input or output, 4 no NVRTC or driver, 5 GPU failure, 6 a result differs or\n"
        "nothing was compared, 7 out of memory, 70 a bug of fx\n.SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        printf(".TP\n\\fB%s\\fR\n", variables[i][0]);
        put_roff(variables[i][1]);
        putchar('\n');
    }
    printf(".SH SEE ALSO\n.BR fx (5),\n.BR libfx (3)\n");
}

/* ---- completions ---- */

static void put_words(int sub) {
    for (int o = 0; option_row(o); o++) {
        const struct option_row *row = option_row(o);
        if (!has(row, sub)) continue;
        printf(" --%s%s", row->name, row->argument ? "=" : "");
        if (row->letter) printf(" -%c", row->letter);
    }
}

/* The words that a subcommand takes, as cases of a shell. */
static void print_cases(void) {
    for (int i = 1; subcommand_row(i); i++) {
        printf("    %s) list='", subcommand_row(i)->name);
        put_words(i);
        printf("' ;;\n");
    }
    printf("    *) list='");
    put_words(0);
    printf("' ;;\n    esac\n");
}

static void print_bash(void) {
    printf("# Completion of fxc for bash, written by fxc --page=bash from the table of options.\n_fxc() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} list subs='");
    for (int i = 1; subcommand_row(i); i++) printf(" %s", subcommand_row(i)->name);
    printf("'\n    case ${COMP_WORDS[1]} in\n");
    print_cases();
    printf(
        "    if [ \"$COMP_CWORD\" = 1 ]; then list=\"$subs $list\"; fi\n"
        "    COMPREPLY=($(compgen -W \"$list\" -- \"$word\") $(compgen -f -X '!*.fx' -- \"$word\") $(compgen -d -- \"$word\"))\n"
        "    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n}\ncomplete -o filenames -F _fxc fxc\n");
}

static void print_zsh(void) {
    printf(
        "#compdef fxc\n# Completion of fxc for zsh, written by fxc --page=zsh from the table of options.\n_fxc() {\n    local list subs\n"
        "    subs=(");
    for (int i = 1; subcommand_row(i); i++) printf("%s%s", i > 1 ? " " : "", subcommand_row(i)->name);
    printf(")\n    case $words[2] in\n");
    print_cases();
    printf(
        "    (( CURRENT == 2 )) && compadd -a subs\n    compadd -S '' -- ${(M)${=list}:#*=}\n    compadd -- ${${=list}:#*=}\n"
        "    _files -g '*.fx'\n}\n_fxc \"$@\"\n");
}

static void put_quoted(const char *s) {
    putchar('\'');
    for (; *s; s++)
        if (*s == '\'' || *s == '\\') printf("\\%c", *s);
        else putchar(*s == '\n' ? ' ' : *s);
    putchar('\'');
}

static void print_fish(void) {
    printf("# Completion of fxc for fish, written by fxc --page=fish from the table of options.\n");
    for (int i = 1; subcommand_row(i); i++) {
        printf("complete -c fxc -n __fish_use_subcommand -a %s -d ", subcommand_row(i)->name);
        put_quoted(subcommand_row(i)->help);
        putchar('\n');
    }
    for (int o = 0; option_row(o); o++) {
        const struct option_row *row = option_row(o);
        for (int i = 0; subcommand_row(i); i++) {
            if (!has(row, i)) continue;
            if (i) printf("complete -c fxc -n '__fish_seen_subcommand_from %s'", subcommand_row(i)->name);
            else printf("complete -c fxc -n __fish_use_subcommand");
            printf(" -l %s%s", row->name, row->argument ? " -r" : "");
            if (row->letter) printf(" -s %c", row->letter);
            printf(" -d ");
            put_quoted(row->help);
            putchar('\n');
        }
    }
}

fx_status print_page(const struct command *cmd, const char *name) {
    static const struct {
        const char *name;
        void (*print)(void);
    } pages[] = {{"fxc.1", print_man}, {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (!strcmp(name, pages[i].name)) return pages[i].print(), FX_OK;
    return usage_error(cmd, "unknown page '%s': expected fxc.1, bash, zsh or fish", name);
}
