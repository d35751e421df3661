/* The command line. Input: argv. Output: struct command, or the help. Everything about options comes from options.def;
 * getopt_long walks short options and arguments. Invariant: a long name is taken only when written out. */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"

#define IN(id) (1u << SUB_##id)

static const struct subcommand_row subcommands[] = {
#define SUBCOMMAND(id, name, function, operands, help) {name, operands, help},
#define OPTION(id, name, letter, argument, subs, help)
#include "command/options.def"
#undef SUBCOMMAND
#undef OPTION
};

static const struct option_row options[] = {
#define SUBCOMMAND(id, name, function, operands, help)
#define OPTION(id, name, letter, argument, subs, help) {name, letter, argument, subs, help},
#include "command/options.def"
#undef SUBCOMMAND
#undef OPTION
};

static bool belongs(int option, enum subcommand sub) { return options[option].in >> sub & 1; }

const struct subcommand_row *subcommand_row(int i) { return i < N_SUBCOMMANDS ? &subcommands[i] : NULL; }
const struct option_row *option_row(int i) { return i < N_OPTIONS ? &options[i] : NULL; }

/* ---- messages ---- */

static void say(const char *fmt, va_list ap) {
    fputs("fxc: ", err_stream());
    vfprintf(err_stream(), fmt, ap);
    fputc('\n', err_stream());
}

fx_status complain(fx_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    return status;
}

static void print_try_help(enum subcommand sub) {
    fprintf(err_stream(), "try 'fxc%s%s --help'\n", *subcommands[sub].name ? " " : "", subcommands[sub].name);
}

fx_status usage_error(const struct command *cmd, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    print_try_help(cmd->sub);
    return FX_ERR_USAGE;
}

/* ---- help ---- */

enum { HELP_COLUMN = 30 };

static void print_row(const char *left, const char *help) {
    int width = printf("  %s", left);
    if (width > HELP_COLUMN - 2) width = printf("\n") - 1;
    printf("%*s", HELP_COLUMN - width, "");
    for (; *help; help++) {
        putchar(*help);
        if (*help == '\n') printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static void print_option(int i) {
    char left[64];
    const char *argument = options[i].argument;
    int n = options[i].letter ? snprintf(left, sizeof left, "-%c, ", options[i].letter)
                              : snprintf(left, sizeof left, "    ");
    snprintf(
        left + n, sizeof left - (size_t)n, "--%s%s%s", options[i].name, argument ? "=" : "", argument ? argument : "");
    print_row(left, options[i].help);
}

void print_help(enum subcommand sub) {
    const char *name = subcommands[sub].name, *operands = subcommands[sub].operands;
    printf("usage: fxc%s%s [OPTION]...%s%s\n", *name ? " " : "", name, *operands ? " " : "", operands);
    printf("%s\n", subcommands[sub].help);
    if (sub == SUB_COMPILE) {
        printf("\nsubcommands:\n");
        for (int i = 1; i < N_SUBCOMMANDS; i++) print_row(subcommands[i].name, subcommands[i].help);
    }
    printf("\noptions:\n");
    for (int i = 0; i < N_OPTIONS; i++)
        if (belongs(i, sub)) print_option(i);
    printf("\nexit status: 0 ok, 1 compile error, 2 usage, 3 input or output, 4 no NVRTC or driver,\n"
           "5 GPU failure, 6 a result differs or nothing was compared, 7 out of memory, 70 a bug of fx\n");
    if (sub == SUB_COMPILE) printf("'fxc SUBCOMMAND --help' says more\n");
}

/* ---- parsing ---- */

bool split_pair(const char *pair, const char **name, size_t *name_len, const char **value) {
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair) return false;
    *name = pair;
    *name_len = (size_t)(equals - pair);
    *value = equals + 1;
    return true;
}

bool is_given(const struct command *cmd, enum option_id id) { return option_value(cmd, id) != NULL; }

const char *option_value(const struct command *cmd, enum option_id id) {
    for (int i = cmd->n_options - 1; i >= 0; i--)
        if (cmd->options[i].id == id) return cmd->options[i].value;
    return NULL;
}

enum { LONG_BASE = 256 }; /* what getopt_long returns for row i is LONG_BASE + i */

struct tables { /* the rows of one subcommand as getopt_long wants them */
    char letters[3 * N_OPTIONS + 3];
    struct option longs[N_OPTIONS + 1];
};

static void fill_tables(enum subcommand sub, struct tables *t) {
    char *letter = t->letters;
    struct option *row = t->longs;
    /* '+': operands are taken by the caller, which so sees every word before it is read; ':': no messages. */
    *letter++ = '+', *letter++ = ':';
    for (int i = 0; i < N_OPTIONS; i++) {
        if (!belongs(i, sub)) continue;
        *row++ = (struct option){
            options[i].name, options[i].argument ? required_argument : no_argument, NULL, LONG_BASE + i};
        if (options[i].letter) *letter++ = options[i].letter;
        if (options[i].letter && options[i].argument) *letter++ = ':';
    }
    *letter = 0;
    *row = (struct option){0};
}

static int find_row(enum subcommand sub, char letter, const char *name, size_t name_len) {
    for (int i = 0; i < N_OPTIONS; i++)
        if (belongs(i, sub) &&
            (letter ? options[i].letter == letter
                    : strlen(options[i].name) == name_len && !memcmp(options[i].name, name, name_len)))
            return i;
    return -1;
}

/* An option the subcommand lacks: says which one has it. */
static fx_status unknown_option(const struct command *cmd, char letter, const char *name, size_t name_len) {
    char word[80];
    if (letter) snprintf(word, sizeof word, "-%c", letter);
    else snprintf(word, sizeof word, "--%.*s", name_len > 64 ? 64 : (int)name_len, name);
    for (int sub = 0; sub < N_SUBCOMMANDS; sub++)
        if (find_row(sub, letter, name, name_len) >= 0)
            return usage_error(cmd, "%s is no option of '%s' (it is one of 'fxc%s%s')", word,
                               cmd->sub == SUB_COMPILE ? "fxc FILE" : subcommands[cmd->sub].name, sub ? " " : "",
                               sub ? subcommands[sub].name : " FILE");
    return usage_error(cmd, "unknown option %s", word);
}

/* What compilers of C call these is taken too: -MD, -MF FILE, -MFFILE. */
static fx_status next_dependency_option(const struct command *cmd, int argc, char **argv, int *row) {
    const char *word = argv[optind];
    bool is_file = word[2] == 'F';
    *row = is_file ? OPT_DEPENDENCY_FILE : OPT_DEPENDENCIES;
    if (!belongs(*row, cmd->sub) || (word[2] != 'D' && !is_file) || (!is_file && word[3]))
        return unknown_option(cmd, 'M', NULL, 0);
    optind++;
    optarg = NULL;
    if (!is_file) return FX_OK;
    if (word[3]) optarg = argv[optind - 1] + 3;
    else if (optind < argc) optarg = argv[optind++];
    else return usage_error(cmd, "-MF needs an argument: FILE");
    return FX_OK;
}

/* Reads the next option. *row is its row, -1 when argv[optind] is an operand or the end. */
static fx_status next_option(const struct command *cmd, int argc, char **argv, const struct tables *t, int *row) {
    const char *word = optind < argc ? argv[optind] : "";
    *row = -1;
    if (!strncmp(word, "-M", 2)) return next_dependency_option(cmd, argc, argv, row);
    /* getopt_long would take any unambiguous prefix. */
    if (!strncmp(word, "--", 2) && word[2]) {
        size_t n = strcspn(word + 2, "=");
        int i = find_row(cmd->sub, 0, word + 2, n);
        if (i < 0) return unknown_option(cmd, 0, word + 2, n);
        if (word[2 + n] && !options[i].argument) return usage_error(cmd, "--%s takes no argument", options[i].name);
    }
    int c = getopt_long(argc, argv, t->letters, t->longs, NULL);
    if (c == '?') return unknown_option(cmd, (char)optopt, NULL, 0);
    if (c == ':' && optopt >= LONG_BASE)
        return usage_error(cmd, "--%s needs an argument: %s", options[optopt - LONG_BASE].name,
                           options[optopt - LONG_BASE].argument);
    if (c == ':') {
        int i = find_row(cmd->sub, (char)optopt, NULL, 0);
        return usage_error(cmd, "-%c needs an argument: %s", optopt, options[i].argument);
    }
    if (c >= 0) *row = c >= LONG_BASE ? c - LONG_BASE : find_row(cmd->sub, (char)c, NULL, 0);
    return FX_OK;
}

static enum subcommand find_subcommand(const char *word) {
    for (int i = 1; word && i < N_SUBCOMMANDS; i++)
        if (!strcmp(word, subcommands[i].name)) return (enum subcommand)i;
    return SUB_COMPILE;
}

/* Whether one letter left out, added or replaced, or two neighbours exchanged, makes a of b. */
static bool is_slip(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    if (!*a && !*b) return false;
    bool is_exchange = a[0] && b[0] && a[0] == b[1] && a[1] == b[0] && !strcmp(a + 2, b + 2);
    return is_exchange || (*a && !strcmp(a + 1, b)) || (*b && !strcmp(a, b + 1)) || (*a && *b && !strcmp(a + 1, b + 1));
}

/* A first word that is no file, and nearly a subcommand or one of another compiler. */
static fx_status check_subcommand(const struct command *cmd, const char *word) {
    static const struct { const char *word, *instead; } foreign[] = {
        {"compile", "FILE.fx"}, {"build", "FILE.fx"}, {"emit", "--emit=STAGE FILE.fx"}, {"help", "--help"},
        {"version", "--version"}};
    for (size_t i = 0; word && cmd->sub == SUB_COMPILE && i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(word, foreign[i].word) && access(word, F_OK) != 0)
            return usage_error(
                cmd, "there is no subcommand %s, and no file of that name: use 'fxc %s'", word, foreign[i].instead);
    for (int i = 1; word && cmd->sub == SUB_COMPILE && i < N_SUBCOMMANDS; i++)
        if (is_slip(word, subcommands[i].name) && access(word, F_OK) != 0)
            return usage_error(cmd, "there is no subcommand %s, and no file of that name: did you mean 'fxc %s'?", word,
                subcommands[i].name);
    return FX_OK;
}

fx_status command_parse(int argc, char **argv, struct command *cmd) {
    struct tables t;
    bool options_ended = false;
    *cmd = (struct command){.sub = find_subcommand(argc > 1 ? argv[1] : NULL)};
    size_t room = (size_t)argc + 1; /* a word may hold as many short options as it has letters */
    for (int i = 1; i < argc; i++) room += strlen(argv[i]);
    cmd->options = calloc(room, sizeof *cmd->options);
    cmd->operands = calloc(room, sizeof *cmd->operands);
    if (!cmd->options || !cmd->operands) return complain(FX_ERR_NOMEM, "out of memory");
    if (check_subcommand(cmd, argc > 1 ? argv[1] : NULL) != FX_OK) return FX_ERR_USAGE;
    fill_tables(cmd->sub, &t);
    optind = cmd->sub == SUB_COMPILE ? 1 : 2;
    while (optind < argc) {
        int row = -1;
        if (!options_ended) {
            options_ended = !strcmp(argv[optind], "--");
            fx_status status = next_option(cmd, argc, argv, &t, &row);
            if (status != FX_OK) return status;
        }
        if (row >= 0)
            cmd->options[cmd->n_options++] = (struct parsed_option){(enum option_id)row, optarg ? optarg : ""};
        else if (optind < argc) cmd->operands[cmd->n_operands++] = argv[optind++];
    }
    return FX_OK;
}

void command_release(struct command *cmd) {
    free(cmd->options);
    free(cmd->operands);
}
