/* Mutants of the compiler's and the runtime's own C, none chosen by hand: do the tests find a mistake of one token?
 *
 * In: every .c of compiler and runtime as they are in the tree; what `make mutants-c` puts into build/mutants_c: an
 * object of each, the unit programs and fxc, linked to one shared library of all objects, and the same library whose
 * functions note that they are entered. Out: a line a survivor, a line of counts, `N passed, M failed`. A mutant is
 * killed when a suite that passes on the unchanged library fails or hangs. A mutant has failed when it survives and is
 * not listed, or is listed and was killed.
 *
 *   mutants [--of TEXT] [--suites NAME,..] [--count N] [--seed S] [--jobs N] [--longest SECONDS] [--timeout SECONDS]
 *   [--seconds N] [--survivors FILE] [--covered FILE] [--out FILE] [--list]
 *     --of: only those whose name contains TEXT; --suites: only these take part, `test_npy,test_passes:graphs,cli`;
 *     --count: as many, drawn by the seed, 0 for all; --longest: a suite that takes longer is left out; --timeout: of
 *     one mutant in a piece of a run, which leaves the suites after it to the next piece; --seconds: of a piece, which then stops; --covered:
 *     keeps what was measured of the suites from piece to piece; --out: a line a mutant as it is done or left, with the
 *     suites that it has passed, and what it already says is not done again
 *
 * A name is `FILE FUNCTION | RULE | N | LINE`: the Nth time that the rule applies to lines of this text in the
 * function. The rules are the rows of `swaps`, and
 *   n to n + 1          an integer literal, but not the size in a declaration of an array, and none that only makes
 *   memory larger that is asked for
 *   ! left out, return negated (in a function of type bool), call left out (a statement that is one call, but not one
 *   that only gives memory back, which leak checkers hold)
 * Operators count between blanks only, as the tree writes binary ones. Assertions are left alone. The draw depends on
 * names alone, so that an edit elsewhere leaves it as it is.
 *
 * Each suite runs once on the unchanged library whose functions note that they are entered (entered.c), which says
 * what it reaches, that it passes and how long it takes. Of each mutant one object is compiled and the library linked;
 * the suites that enter its function run from the fastest on, until one fails. A mutant that does not compile, or to
 * the same object, is none, and the next one is drawn.
 * Invariant: nothing is written into the tree; each mutant has a folder of its own, where programs find the tree
 * through links. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MUTANTS_COMPILE
#error the build says how an object is compiled
#endif

enum { MAX_FILES = 256, MAX_SUITES = 96, MAX_FUNCTIONS = 8192, NAME = 320, PATH_SIZE = 1024, MAX_LISTED = 1024,
    SLACK_SECONDS = 20, FACTOR = 5 };
static const rlim_t MOST_MEMORY = (rlim_t)16 << 30, LONGEST_FILE = (rlim_t)1 << 30; /* of a process */

enum fate { WAITS, NO_MUTANT, SAME_OBJECT, KILLED, SURVIVES, NOT_REACHED, LEFT };

struct source {
    char *path, *text; /* from the root of the tree */
    size_t n;
};

struct mutant {
    char name[NAME];
    int file, line, function;
    size_t at, n;   /* what is replaced */
    char *by;
    uint64_t order; /* in the draw */
    bool is_listed;
};

struct suite {
    char name[64], command[PATH_SIZE];
};

struct outcome { /* in memory that all processes share */
    enum fate fate;
    int by;         /* the suite that killed it */
    bool hung;
    bool has_passed[MAX_SUITES];
    double seconds;
};

struct measured { /* a suite on the library as it is; in memory that all processes share */
    bool is_measured, passes;
    double seconds;
    unsigned char enters[MAX_FUNCTIONS / 8]; /* a bit a function */
};

static struct source sources[MAX_FILES];
static struct mutant *mutants;
static struct suite suites[MAX_SUITES];
static struct { int file; char name[80]; } functions[MAX_FUNCTIONS];
static struct measured *measured;
static unsigned char *known; /* functions that the library has; shared */
static struct outcome *outcomes;
static char listed[MAX_LISTED][NAME];
static int n_sources, n_mutants, n_suites, n_listed, n_functions;
static int by_time[MAX_SUITES]; /* those that take part */
static int n_by_time;
static char root[PATH_SIZE], scratch_root[PATH_SIZE];
static const char *of = "", *only = "", *covered_file, *out_file;
static int n_jobs = 2;
static long count = 400, seed = 1;
static double longest = 90, timeout_seconds = 900, most_seconds = 1e9, end_of_piece;

static void die(const char *what, const char *why) {
    printf("mutants: %s: %s\n0 passed, 1 failed\n", what, why);
    exit(1);
}

static void *must(void *p) {
    if (!p) die("memory", "none left");
    return p;
}

static void *share(size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? must(NULL) : p;
}

static uint64_t hash(uint64_t h, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    return h ^ h >> 29;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- tokens ---- */

enum kind { WORD, NUMBER, TEXT, SIGN };

struct token {
    enum kind kind;
    size_t at, n;
    int line;
};

struct tokens {
    const char *text;
    struct token *t;
    int n;
};

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The length of the literal that begins at a quote. */
static size_t quoted_length(const char *at) {
    size_t n = 1;
    while (at[n] && at[n] != *at) n += at[n] == '\\' ? 2 : 1;
    return n + 1;
}

static size_t sign_length(const char *at) {
    static const char *const signs[] = {"<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "|=", "&=", "+=",
        "-=", "*=", "/=", "%=", "^=", "++", "--", "->", "<<", ">>"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!strncmp(at, signs[i], strlen(signs[i]))) return strlen(signs[i]);
    return 1;
}

/* Past blanks, comments and preprocessor lines. */
static const char *skip_blank(const char *at, int *line) {
    for (;; at++) {
        if (at[0] == '/' && at[1] == '*') {
            for (at += 2; *at && !(at[0] == '*' && at[1] == '/'); at++) *line += *at == '\n';
            at++;
        } else if ((at[0] == '/' && at[1] == '/') || *at == '#') {
            for (; *at && (*at != '\n' || at[-1] == '\\'); at++) *line += *at == '\n';
            at--;
        } else if (!*at || !isspace((unsigned char)*at)) {
            return at;
        } else {
            *line += *at == '\n';
        }
    }
}

static struct tokens tokenise(const struct source *s) {
    struct tokens out = {.text = s->text, .t = must(malloc((s->n + 1) * sizeof *out.t))};
    int line = 1;
    for (const char *at = s->text; *(at = skip_blank(at, &line));) {
        struct token t = {.at = (size_t)(at - s->text), .line = line};
        if (isdigit((unsigned char)*at)) {
            t.kind = NUMBER;
            while (is_word_char(at[t.n]) || at[t.n] == '.' || ((at[t.n] == '+' || at[t.n] == '-') && strchr("eEpP",
                at[t.n - 1]) && strncmp(at, "0x", 2) != 0)) t.n++;
        } else if (is_word_char(*at)) {
            t.kind = WORD;
            while (is_word_char(at[t.n])) t.n++;
        } else {
            t.kind = *at == '"' || *at == '\'' ? TEXT : SIGN;
            t.n = t.kind == TEXT ? quoted_length(at) : sign_length(at);
        }
        at += t.n;
        out.t[out.n++] = t;
    }
    return out;
}

static bool is(const struct tokens *s, int i, const char *word) {
    return i >= 0 && i < s->n && s->t[i].n == strlen(word) && !memcmp(s->text + s->t[i].at, word, s->t[i].n);
}

static bool is_word(const struct tokens *s, int i) { return i >= 0 && i < s->n && s->t[i].kind == WORD; }

static bool is_one_of(const struct tokens *s, int i, const char *const *words) {
    for (; *words; words++)
        if (is(s, i, *words)) return true;
    return false;
}

/* The bracket that closes the one at i, or that opens it, by the step. */
static int match(const struct tokens *s, int i, int step) {
    int depth = 0;
    for (; i >= 0 && i < s->n; i += step) {
        bool opens = is(s, i, "(") || is(s, i, "{") || is(s, i, "["), closes = is(s, i, ")") || is(s, i, "}") || is(s,
            i, "]");
        depth += opens ? step : closes ? -step : 0;
        if (!depth) return i;
    }
    return i;
}

/* ---- rules ---- */

static const char *const swaps[][2] = {{"==", "!="}, {"!=", "=="}, {"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"},
    {"&&", "||"}, {"||", "&&"}, {"+", "-"}, {"-", "+"}, {"*", "/"}, {"/", "*"},
                                       {"&", "|"}, {"|", "&"}, {"<<", ">>"}, {">>", "<<"}, {"|=", "&="}, {"&=", "|="},
                                           {"+=", "-="}, {"-=", "+="}, {"++", "--"}, {"--", "++"}, {"true", "false"},
                                           {"false", "true"}};

struct place { /* where a rule applies */
    const struct tokens *s;
    int file, first; /* mutants of the function at hand begin there */
    char function[80];
    bool returns_bool;
};

__attribute__((format(printf, 6, 7))) static void add(const struct place *p, const char *rule, int line, size_t at,
    size_t n, const char *format, ...) {
    static int room;
    if (n_mutants == room) mutants = must(realloc(mutants, (size_t)(room = 2 * room + 1024) * sizeof *mutants));
    struct mutant *m = &mutants[n_mutants];
    const char *text = p->s->text, *begin = text + at, *end = text + at;
    while (begin > text && begin[-1] != '\n') begin--;
    begin += strspn(begin, " ");
    end += strcspn(end, "\n");
    char head[160], tail[140];
    int nth = 1;
    snprintf(head, sizeof head, "%.60s %.60s | %s | ", sources[p->file].path, p->function, rule);
    snprintf(tail, sizeof tail, "%.*s", (int)(end - begin), begin);
    for (int i = p->first; i < n_mutants; i++) {
        const char *other = strstr(mutants[i].name + strlen(head), " | ");
        nth += !strncmp(mutants[i].name, head, strlen(head)) && other && !strcmp(other + 3, tail);
    }
    *m = (struct mutant){.file = p->file, .line = line, .function = n_functions - 1, .at = at, .n = n};
    snprintf(m->name, sizeof m->name, "%s%d | %s", head, nth, tail);
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&m->by, format, ap) < 0) must(NULL);
    va_end(ap);
    n_mutants++;
}

static bool is_between_blanks(const struct tokens *s, int i) {
    const char *at = s->text + s->t[i].at;
    return isspace((unsigned char)at[-1]) && isspace((unsigned char)at[s->t[i].n]);
}

/* The size in a declaration of an array: `char name[80]`. */
static bool is_array_size(const struct tokens *s, int i) {
    static const char *const no_types[] = {"return", "case", "else", NULL};
    if (!is(s, i - 1, "[") || !is_word(s, i - 2) || i < 3) return false;
    return (is_word(s, i - 3) && !is_one_of(s, i - 3, no_types)) || (is(s, i - 3, "*") && !is_between_blanks(s, i - 3));
}

/* A number in what NEW_ARRAY or calloc is asked for, where a larger one asks for more: nothing computed depends on
 * it. */
static bool is_room(const struct tokens *s, int i) {
    static const char *const no_sums[] = {"-", "/", "%", "?", "[", "<<", ">>", NULL};
    while (i >= 0 && !is(s, i, "(") && !is(s, i, "[") && !is(s, i, "{") && !is(s, i, ";"))
        i = is(s, i, ")") ? match(s, i, -1) - 1 : i - 1;
    if (!is(s, i, "(") || (!is(s, i - 1, "NEW_ARRAY") && !is(s, i - 1, "calloc"))) return false;
    for (int k = i + 1, end = match(s, i, 1); k < end; k++)
        if (is_one_of(s, k, no_sums)) return false;
    return true;
}

static void add_literal(const struct place *p, int i) {
    const struct token *t = &p->s->t[i];
    const char *at = p->s->text + t->at;
    bool is_hex = t->n > 1 && (at[1] == 'x' || at[1] == 'X');
    char *suffix;
    unsigned long long v = strtoull(at, &suffix, 0);
    for (const char *c = suffix; c < at + t->n; c++)
        if (!strchr("uUlL", *c)) return; /* a number with a fraction, or with an exponent */
    if (is_array_size(p->s, i) || is_room(p->s, i)) return;
    add(p, "n to n + 1", t->line, t->at, t->n, is_hex ? "0x%llx%.*s" : "%llu%.*s", v + 1, (int)(at + t->n - suffix),
        suffix);
}

static void add_return(const struct place *p, int i) {
    int end = i + 1;
    while (end < p->s->n && !is(p->s, end, ";")) end = match(p->s, end, 1) + 1;
    bool is_constant = end == i + 2 && (is(p->s, i + 1, "true") || is(p->s, i + 1, "false"));
    if (is_constant || end == i + 1 || end >= p->s->n) return;
    size_t at = p->s->t[i + 1].at, n = p->s->t[end].at - at;
    add(p, "return negated", p->s->t[i].line, at, n, "!(%.*s)", (int)n, p->s->text + at);
}

static void add_call(const struct place *p, int i) {
    static const char *const no_calls[] = {"if", "for", "while", "switch", "return", "sizeof", "free", "va_end",
        "va_start", NULL};
    const struct tokens *s = p->s;
    const struct token *t = &s->t[i];
    bool begins = is(s, i - 1, ";") || is(s, i - 1, "{") || is(s, i - 1, "}") || is(s, i - 1, "else") || (is(s, i - 1,
        ")") && isspace((unsigned char)s->text[t->at - 1]));
    if (!begins || !is(s, i + 1, "(") || is_one_of(s, i, no_calls)) return;
    static const char *const ends[] = {"_release", "_free"};
    for (int k = 0; k < 2; k++)
        if (t->n > strlen(ends[k]) && !memcmp(s->text + t->at + t->n - strlen(ends[k]), ends[k],
            strlen(ends[k]))) return;
    int close = match(s, i + 1, 1);
    if (is(s, close + 1, ";")) add(p, "call left out", t->line, t->at, s->t[close].at + 1 - t->at, "%s", "");
}

static void add_token(const struct place *p, int i) {
    const struct tokens *s = p->s;
    const struct token *t = &s->t[i];
    bool needs_no_blanks = t->kind == WORD || is(s, i, "++") || is(s, i, "--");
    for (size_t r = 0; r < sizeof swaps / sizeof *swaps; r++)
        if (is(s, i, swaps[r][0]) && (needs_no_blanks || is_between_blanks(s, i))) {
            char rule[24];
            snprintf(rule, sizeof rule, "%s to %s", swaps[r][0], swaps[r][1]);
            add(p, rule, t->line, t->at, t->n, "%s", swaps[r][1]);
        }
    if (is(s, i, "!")) add(p, "! left out", t->line, t->at, 1, "%s", "");
    if (is(s, i, "return") && p->returns_bool) add_return(p, i);
    if (t->kind == NUMBER) add_literal(p, i);
    if (t->kind == WORD) add_call(p, i);
}

/* A function whose body opens at `open`: its name, or, of what a macro defines, the macro's first argument. */
static void add_function(const struct tokens *s, int file, int open, int head) {
    struct place p = {.s = s, .file = file, .first = n_mutants};
    int name = match(s, open - 1, -1) - 1;
    bool is_macro = is_word(s, name);
    for (size_t k = 0; is_macro && k < s->t[name].n; k++)
        is_macro = !islower((unsigned char)s->text[s->t[name].at + k]);
    if (is_macro) name += 2;
    if (!is_word(s, name)) return;
    snprintf(p.function, sizeof p.function, "%.*s", (int)s->t[name].n, s->text + s->t[name].at);
    for (int i = head; i < name; i++) p.returns_bool |= is(s, i, "bool") && !is(s, i + 1, "*");
    if (n_functions == MAX_FUNCTIONS) die("too many functions", p.function);
    functions[n_functions].file = file;
    strcpy(functions[n_functions++].name, p.function);
    int close = match(s, open, 1);
    for (int i = open + 1; i < close; i++) {
        if ((is(s, i, "assert") || is(s, i, "_Static_assert") || is(s, i, "static_assert")) && is(s, i + 1,
            "(")) i = match(s, i + 1, 1);
        else add_token(&p, i);
    }
}

static void add_source(int file) {
    struct tokens s = tokenise(&sources[file]);
    int head = 0;
    for (int i = 0; i < s.n; i++) {
        if (is(&s, i, ";")) head = i + 1;
        if (!is(&s, i, "{")) continue;
        if (is(&s, i - 1, ")")) add_function(&s, file, i, head);
        i = match(&s, i, 1);
        head = i + 1;
    }
    free(s.t);
}

static char *read_text(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    size_t room = 0;
    for (*n = 0;; ) {
        if (*n + 1 >= room) text = must(realloc(text, room = 2 * room + 65536));
        size_t got = fread(text + *n, 1, room - *n - 1, f);
        if (!got) break;
        *n += got;
    }
    fclose(f);
    text[*n] = 0;
    return text;
}

static void read_sources(void) {
    static const char *const patterns[] = {"compiler/*.c", "compiler/*/*.c", "runtime/*/*.c", "runtime/*/*/*.c"};
    glob_t g = {0};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &g);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (n_sources == MAX_FILES) die("too many files", g.gl_pathv[i]);
        struct source *s = &sources[n_sources];
        s->path = must(strdup(g.gl_pathv[i]));
        s->text = must(read_text(s->path, &s->n));
        add_source(n_sources++);
    }
    globfree(&g);
    if (!n_sources) die("no sources", "call it from the root of the tree");
}

/* ---- processes ---- */

__attribute__((format(printf, 2, 3))) static void print_path(char *out, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(out, PATH_SIZE, format, ap);
    va_end(ap);
    if (n < 0 || n >= PATH_SIZE) die("too long a path", format);
}

static void limit(int what, rlim_t most) {
    struct rlimit l;
    if (getrlimit(what, &l)) return;
    if (l.rlim_max != RLIM_INFINITY && l.rlim_max < most) most = l.rlim_max;
    setrlimit(what, &(struct rlimit){most, l.rlim_max});
}

/* Ends a program and what it has started: Check's own children are groups of their own, which it ends itself when it
 * is asked. */
static void end_group(pid_t pid) {
    kill(-pid, SIGTERM);
    for (int i = 0; i < 100; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid) break;
        usleep(10000);
        if (i == 99) kill(-pid, SIGKILL), waitpid(pid, NULL, 0);
    }
    kill(-pid, SIGKILL);
}

/* The exit status of a shell command in a folder; 124 past the time. */
static int run(const char *folder, const char *command, double seconds) {
    fflush(NULL);
    double end = now() + seconds;
    pid_t pid = fork();
    if (!pid) {
        setpgid(0, 0);
        limit(RLIMIT_AS, MOST_MEMORY);
        limit(RLIMIT_FSIZE, LONGEST_FILE);
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_CPU, (rlim_t)seconds * 4 + 60); /* of a child that is left behind */
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || chdir(folder)) _exit(127);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid < 0) return 127;
    for (int i = 0;; i++) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            kill(-pid, SIGKILL);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        if (now() > end) {
            end_group(pid);
            return 124;
        }
        usleep(i < 50 ? 2000 : 20000);
    }
}

/* A folder in which programs find the tree as in its root, and only what they write themselves under build. */
static void make_scratch(char *folder, int n) {
    static const char *const links[] = {"tests", "examples", "compiler", "runtime", "docs", "README.md", "Makefile"};
    char command[4 * PATH_SIZE];
    print_path(folder, "%s/%d", scratch_root, n);
    int used = snprintf(command, sizeof command,
        "mkdir -p %s/build/tests %s/tmp %s/lib %s/src && ln -s %s/build/mutants_c/tests/*.so %s/build/tests/", folder,
        folder, folder, folder, root, folder);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) used += snprintf(command + used,
        sizeof command - (size_t)used, " && ln -s %s/%s %s/", root, links[i], folder);
    if (run("/", command, 60)) die("folder", folder);
}

static void remove_scratch(const char *folder) {
    char command[PATH_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    run("/", command, 120);
}

/* A suite on the library in a folder; until its first failure where that is all that is asked. */
static int run_suite(const struct suite *s, const char *folder, const char *library, double seconds,
    bool is_first_enough) {
    char command[4 * PATH_SIZE];
    const char *others = getenv("LD_LIBRARY_PATH");
    snprintf(command, sizeof command,
        "export LD_LIBRARY_PATH=%s%s%s TMPDIR=%s/tmp FX_CACHE_DIR=%s/cache FX_ENTERED=%s/entered CK_DEFAULT_TIMEOUT=60 "
        "FX_FIRST=%s; exec >%s/said 2>&1; %s", library, others ? ":" : "", others ? others : "", folder, folder, folder,
        is_first_enough ? "yes" : "", folder, s->command);
    return run(folder, command, seconds);
}

/* ---- suites, and what they reach ---- */

/* Whether words between commas hold one. */
static bool is_listed_in(const char *words, const char *word) {
    for (size_t n; *words; words += n + (words[n] == ',')) {
        n = strcspn(words, ",");
        if (n == strlen(word) && !memcmp(words, word, n)) return true;
    }
    return false;
}

static void add_suite(const char *program, const char *name, const char *command) {
    if (*only && !is_listed_in(only, program) && !is_listed_in(only, name)) return;
    if (n_suites == MAX_SUITES) die("too many suites", name);
    struct suite *s = &suites[n_suites++];
    snprintf(s->name, sizeof s->name, "%s", name);
    print_path(s->command, "%s", command);
}

/* A unit program; each case by itself where its source has several, so that a slow one is run last. */
static void add_program(const char *name) {
    static const char creates[] = "tcase_create(\"";
    char command[PATH_SIZE], path[PATH_SIZE], suite[64];
    size_t n = 0;
    print_path(path, "tests/unit/%s.c", name);
    char *text = read_text(path, &n), *first = text ? strstr(text, creates) : NULL;
    bool is_one = !first || !strstr(first + 1, creates);
    print_path(command, "exec %s/build/mutants_c/%s", root, name);
    if (is_one) add_suite(name, name, command);
    for (char *at = first; at && !is_one; at = strstr(at, creates)) {
        at += strlen(creates);
        int len = (int)strcspn(at, "\"");
        if (snprintf(suite, sizeof suite, "%s:%.*s", name, len, at) >= (int)sizeof suite) die("too long a name", suite);
        print_path(command, "export CK_RUN_CASE='%.*s'; exec %s/build/mutants_c/%s", len, at, root, name);
        add_suite(name, suite, command);
    }
    free(text);
}

static void find_suites(void) {
    char command[PATH_SIZE];
    glob_t g = {0};
    glob("build/mutants_c/test_*", 0, NULL, &g);
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (!strchr(strrchr(g.gl_pathv[i], '/'), '.')) add_program(strrchr(g.gl_pathv[i], '/') + 1);
    globfree(&g);
    print_path(command, "sh tests/golden/run.sh %s/build/mutants_c/fxc", root);
    add_suite("golden", "golden", command);
    print_path(command, "sh tests/cli.sh %s/build/mutants_c/fxc", root);
    add_suite("cli", "cli", command);
    print_path(command, "sh tests/docs.sh %s/build/mutants_c/fxc", root);
    add_suite("docs", "docs", command);
    print_path(command, "%s/build/mutants_c/fxc test --device emu tests/gpu/smallest.fx", root);
    add_suite("emu", "emu", command);
}

/* What addr2line says of addresses, the function in one line and `FILE:LINE` in the next, as bits of functions. */
static void read_functions(const char *path, unsigned char *bits) {
    FILE *f = fopen(path, "r");
    char name[1024], place[PATH_SIZE];
    while (f && fgets(name, sizeof name, f) && fgets(place, sizeof place, f)) {
        name[strcspn(name, "\n")] = 0;
        size_t n = strcspn(place, ":");
        for (int i = 0; i < n_functions; i++) {
            const char *source = sources[functions[i].file].path;
            size_t len = strlen(source);
            if (!strcmp(functions[i].name, name) && n >= len && !memcmp(place + n - len, source, len))
                bits[i / 8] |= (unsigned char)(1 << i % 8);
        }
    }
    if (f) fclose(f);
}

static void name_functions(const char *folder, const char *addresses, unsigned char *bits) {
    char command[4 * PATH_SIZE], path[PATH_SIZE];
    snprintf(command, sizeof command, "%s | addr2line -f -e %s/build/mutants_c/cover/libfx_mutant.so >named", addresses,
        root);
    run(folder, command, 300);
    print_path(path, "%s/named", folder);
    read_functions(path, bits);
}

/* The bytes of tests/mutants_c/entered.c to addresses. */
static void read_entered(const char *folder, unsigned char *bits) {
    char path[PATH_SIZE];
    size_t n = 0;
    print_path(path, "%s/entered", folder);
    char *entered = read_text(path, &n);
    print_path(path, "%s/addresses", folder);
    FILE *f = fopen(path, "w");
    for (size_t i = 0; entered && f && i < n; i++)
        if (entered[i]) fprintf(f, "%zx\n", i);
    if (f) fclose(f);
    free(entered);
    name_functions(folder, "cat addresses", bits);
}

static void show_end(const char *folder) {
    char path[PATH_SIZE];
    size_t n = 0;
    print_path(path, "%s/said", folder);
    char *text = read_text(path, &n), *at = text ? text + n : "";
    for (int lines = 0; at > text; at--)
        if (at[-1] == '\n' && lines++ == 12) break;
    printf("%s", at);
    free(text);
}

/* On the library whose functions note that they are entered. */
static void measure_suite(int suite) {
    char folder[PATH_SIZE], library[PATH_SIZE], path[PATH_SIZE];
    struct measured *m = &measured[suite];
    struct stat st;
    make_scratch(folder, suite);
    print_path(library, "%s/build/mutants_c/cover", root);
    print_path(path, "%s/libfx_mutant.so", library);
    if (stat(path, &st)) die("no library", path);
    print_path(path, "%s/entered", folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0666);
    if (fd < 0 || ftruncate(fd, st.st_size)) die("cannot write", path);
    close(fd);
    double begin = now();
    m->passes = !run_suite(&suites[suite], folder, library, longest, false);
    m->seconds = now() - begin;
    m->is_measured = true;
    if (m->passes) read_entered(folder, m->enters);
    else {
        printf("%s %s on the unchanged library, and takes no part:\n", suites[suite].name,
            m->seconds >= longest ? "takes too long" : "fails");
        show_end(folder);
    }
    remove_scratch(folder);
}

/* Calls work(0) .. work(n - 1), each in a process of its own, as many at once as there are jobs. */
static void spread(int n, void (*work)(int)) {
    int n_running = 0;
    for (int i = 0; i < n || n_running;) {
        if (i < n && n_running < n_jobs) {
            fflush(NULL);
            pid_t pid = fork();
            if (pid < 0) die("fork", strerror(errno));
            if (!pid) work(i), fflush(NULL), _exit(0);
            n_running++, i++;
        } else if (waitpid(-1, NULL, 0) > 0) {
            n_running--;
        }
    }
}

/* ---- what was measured, from piece to piece ---- */

static int find_function(const char *file, const char *name) {
    for (int i = 0; i < n_functions; i++)
        if (!strcmp(functions[i].name, name) && !strcmp(sources[functions[i].file].path, file)) return i;
    return -1;
}

static void read_measured(void) {
    FILE *f = covered_file ? fopen(covered_file, "r") : NULL;
    char line[PATH_SIZE], a[512], b[512];
    unsigned char *bits = known;
    double seconds;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "suite %511s %511s %lf", a, b, &seconds) == 3) {
            static unsigned char no_suite[MAX_FUNCTIONS / 8];
            bits = no_suite;
            for (int i = 0; i < n_suites; i++) {
                if (strcmp(suites[i].name, a) != 0) continue;
                measured[i] = (struct measured){true, !strcmp(b, "passes"), seconds, {0}};
                bits = measured[i].enters;
            }
        } else if (sscanf(line, "%511s %511s", a, b) == 2) {
            int i = find_function(a, b);
            if (i >= 0) bits[i / 8] |= (unsigned char)(1 << i % 8);
        }
    }
    if (f) fclose(f);
}

static void write_functions(FILE *f, const unsigned char *bits) {
    for (int i = 0; i < n_functions; i++)
        if (bits[i / 8] >> i % 8 & 1) fprintf(f, "%s %s\n", sources[functions[i].file].path, functions[i].name);
}

static void write_measured(void) {
    FILE *f = covered_file ? fopen(covered_file, "w") : NULL;
    if (!f) return;
    write_functions(f, known);
    for (int i = 0; i < n_suites; i++) {
        if (!measured[i].is_measured) continue;
        fprintf(f, "suite %s %s %.2f\n", suites[i].name, measured[i].passes ? "passes" : "fails", measured[i].seconds);
        write_functions(f, measured[i].enters);
    }
    if (fclose(f)) remove(covered_file);
}

static int compare_times(const void *a, const void *b) {
    double x = measured[*(const int *)a].seconds, y = measured[*(const int *)b].seconds;
    return x < y ? -1 : x > y;
}

static void measure_nth(int n) {
    int suite = n_suites - 1 - n; /* scripts first, which take long */
    if (!measured[suite].is_measured) measure_suite(suite);
}

static void measure_suites(void) {
    char folder[PATH_SIZE], nm[PATH_SIZE];
    measured = share(MAX_SUITES * sizeof *measured);
    known = share(MAX_FUNCTIONS / 8);
    read_measured();
    make_scratch(folder, MAX_SUITES);
    print_path(nm, "nm %s/build/mutants_c/cover/libfx_mutant.so | sed -n 's/ [tT] .*//p'", root);
    name_functions(folder, nm, known);
    remove_scratch(folder);
    spread(n_suites, measure_nth);
    write_measured();
    for (int i = 0; i < n_suites; i++)
        if (measured[i].passes) by_time[n_by_time++] = i;
    qsort(by_time, (size_t)n_by_time, sizeof *by_time, compare_times);
    if (!n_by_time) die("no suite", "none passes");
}

/* A function that the library does not have by its name may be anything's. */
static bool reaches(int suite, const struct mutant *m) {
    int i = m->function;
    return !(known[i / 8] >> i % 8 & 1) || (measured[suite].enters[i / 8] >> i % 8 & 1);
}

/* ---- mutants ---- */

static bool write_text(const char *path, int file, size_t at, size_t n, const char *by) {
    const struct source *s = &sources[file];
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite(s->text, 1, at, f);
    fputs(by, f);
    fwrite(s->text + at + n, 1, s->n - at - n, f);
    return !fclose(f);
}

static bool write_unchanged(int file, const char *path) { return write_text(path, file, 0, 0, ""); }
static bool write_mutant(const struct mutant *m, const char *path) { return write_text(path, m->file, m->at, m->n,
    m->by); }

static bool compile(int file, const char *folder, const char *object) {
    const char *source = sources[file].path;
    char command[8 * PATH_SIZE];
    snprintf(command, sizeof command, "cd src && root=%s && " MUTANTS_COMPILE " -iquote %s/%.*s -c -o %s %s", root,
        root, (int)(strrchr(source, '/') - source), source, object, source);
    return !run(folder, command, 120);
}

static bool is_same_file(const char *a, const char *b) {
    size_t n_a = 0, n_b = 0;
    char *x = read_text(a, &n_a), *y = read_text(b, &n_b);
    bool same = x && y && n_a == n_b && !memcmp(x, y, n_a);
    free(x);
    free(y);
    return same;
}

/* The library with the mutant in it; WAITS where there is one. */
static enum fate build_mutant(const struct mutant *m, const char *folder) {
    const char *source = sources[m->file].path;
    int stem = (int)strlen(source) - 2, n_dir = (int)(strrchr(source, '/') - source);
    char path[PATH_SIZE], object[PATH_SIZE], same[PATH_SIZE], command[8 * PATH_SIZE];
    print_path(same, "%s/same.o", folder);
    print_path(command, "mkdir -p src/%.*s", n_dir, source);
    print_path(path, "%s/src/%s", folder, source);
    print_path(object, "%s/mutant.o", folder);
    if (run(folder, command, 60) || !write_unchanged(m->file, path) || !compile(m->file, folder,
        same)) die("unchanged", path);
    if (!write_mutant(m, path)) die("mutant", path);
    if (!compile(m->file, folder, object)) return NO_MUTANT;
    if (is_same_file(same, object)) return SAME_OBJECT;
    snprintf(command, sizeof command, "cd %s/build/mutants_c && grep -vxF 'obj/%.*s.o' objects | xargs " MUTANTS_LINK
        " -o %s/lib/libfx_mutant.so %s", root, stem, source, folder, object);
    return run(folder, command, 120) ? NO_MUTANT : WAITS;
}

/* Whether a suite finds the mutant that the library has; LEFT to another piece of the run where there is no time. */
static enum fate try_suite(struct outcome *o, int suite, const char *folder, const char *library, double end) {
    if (o->has_passed[suite]) return SURVIVES;
    double limit = FACTOR * measured[suite].seconds + SLACK_SECONDS, left = end_of_piece - now();
    if (left <= 0 || now() > end) return LEFT;
    int status = run_suite(&suites[suite], folder, library, limit < left ? limit : left, true);
    if (status == 124 && left < limit) return LEFT;
    o->by = suite;
    o->hung = status == 124;
    o->has_passed[suite] = !status;
    return status ? KILLED : SURVIVES;
}

static void try_mutant(int n) {
    const struct mutant *m = &mutants[n];
    struct outcome *o = &outcomes[n];
    char folder[PATH_SIZE], library[PATH_SIZE];
    double begin = now();
    make_scratch(folder, 10000 + n);
    o->fate = build_mutant(m, folder);
    if (o->fate == WAITS) {
        print_path(library, "%s/lib", folder);
        o->fate = NOT_REACHED;
        for (int i = 0; i < n_by_time && o->fate != KILLED && o->fate != LEFT; i++)
            if (reaches(by_time[i], m)) o->fate = try_suite(o, by_time[i], folder, library, begin + timeout_seconds);
    }
    o->seconds = now() - begin;
    remove_scratch(folder);
}

static const char *const fates[] = {"waits", "does not compile", "same object", "killed", "survives", "not reached",
    "left"};

/* A line of --out: the fate, the suite that killed it or `-` and those passed, the seconds, the place, the name. */
static void note(int n) {
    FILE *f = out_file ? fopen(out_file, "a") : NULL;
    if (!f) return;
    const struct outcome *o = &outcomes[n];
    const struct mutant *m = &mutants[n];
    fprintf(f, "%s\t%s%s", fates[o->fate], o->fate == KILLED ? suites[o->by].name : "-", o->hung ? ", hangs" : "");
    for (int i = 0; i < n_suites && (o->fate == LEFT || o->fate == SURVIVES); i++)
        if (o->has_passed[i]) fprintf(f, " %s", suites[i].name);
    fprintf(f, "\t%.1f s\t%s:%d\t%s\n", o->seconds, sources[m->file].path, m->line, m->name);
    fclose(f);
}

static void read_suites(struct outcome *o, const char *text) {
    char *copy = must(strdup(text)), *rest = copy, *word;
    while ((word = strsep(&rest, " ,")))
        for (int k = 0; k < n_suites; k++) {
            if (strcmp(word, suites[k].name) != 0) continue;
            if (o->fate == KILLED) o->by = k;
            else o->has_passed[k] = true;
        }
    free(copy);
}

static void read_notes(void) {
    size_t n;
    char *text = out_file ? read_text(out_file, &n) : NULL, *rest = text, *line;
    while ((line = strsep(&rest, "\n"))) {
        const char *fate = strsep(&line, "\t"), *suite = line ? strsep(&line, "\t") : "", *name = line ? strrchr(line,
            '\t') : NULL;
        for (int i = 0; name && i < n_mutants; i++) {
            if (strcmp(mutants[i].name, name + 1) != 0) continue;
            for (int k = 1; k < (int)(sizeof fates / sizeof *fates); k++)
                if (!strcmp(fates[k], fate)) outcomes[i].fate = (enum fate)k;
            read_suites(&outcomes[i], suite);
        }
    }
    free(text);
}

static bool counts_as_mutant(enum fate fate) { return fate >= KILLED; }

/* Mutants in the order of the draw, until as many as are wanted were mutants: the same ones with any number of jobs. */
static int try_mutants(long wanted) {
    pid_t *pids = must(calloc((size_t)n_mutants + 1, sizeof *pids));
    int n_tried = 0, n_running = 0;
    long n_valid = 0;
    for (;;) {
        bool begins = n_tried < n_mutants && n_valid + n_running < wanted;
        if (begins && outcomes[n_tried].fate != WAITS && outcomes[n_tried].fate != LEFT) {
            n_valid += counts_as_mutant(outcomes[n_tried++].fate);
        } else if (begins && n_running < n_jobs && now() < end_of_piece) {
            fflush(NULL);
            if ((pids[n_tried] = fork()) < 0) die("fork", strerror(errno));
            if (!pids[n_tried]) try_mutant(n_tried), fflush(NULL), _exit(0);
            n_tried++, n_running++;
        } else if (n_running) {
            pid_t pid = waitpid(-1, NULL, 0);
            for (int i = 0; i < n_tried; i++)
                if (pid > 0 && pids[i] == pid) note(i), n_running--, n_valid += counts_as_mutant(outcomes[i].fate);
        } else {
            if (begins) printf("out of time after %ld mutants\n", n_valid);
            break;
        }
    }
    free(pids);
    return n_tried;
}

static int compare_orders(const void *a, const void *b) {
    uint64_t x = ((const struct mutant *)a)->order, y = ((const struct mutant *)b)->order;
    return x < y ? -1 : x > y;
}

/* What is listed and no longer there is a mistake of the list. */
static int mark_listed(void) {
    int n_missing = 0;
    for (int i = 0; i < n_listed; i++) {
        bool is_there = false;
        for (int k = 0; k < n_mutants; k++)
            if (!strcmp(mutants[k].name, listed[i])) mutants[k].is_listed = is_there = true;
        if (!is_there) printf("FAIL listed, but no mutant: %s\n", listed[i]), n_missing++;
    }
    return n_missing;
}

static void draw(void) {
    int n = 0;
    for (int i = 0; i < n_mutants; i++)
        if (strstr(mutants[i].name, of)) mutants[n++] = mutants[i];
    n_mutants = n;
    for (int i = 0; i < n; i++) mutants[i].order = hash(hash((uint64_t)seed * 0x9e3779b97f4a7c15, mutants[i].name,
        strlen(mutants[i].name)), &seed, sizeof seed);
    qsort(mutants, (size_t)n, sizeof *mutants, compare_orders);
}

static void read_survivors(const char *path) {
    size_t n;
    char *text = read_text(path, &n), *rest = text, *line;
    if (!text) die("cannot read", path);
    while ((line = strsep(&rest, "\n"))) {
        if (!*line || *line == '#' || *line == ' ') continue;
        if (n_listed == MAX_LISTED) die("too many survivors", path);
        snprintf(listed[n_listed++], NAME, "%s", line);
    }
    free(text);
}

static int report(int n_tried, int n_failed) {
    int n_killed = 0, n_shown = 0, n_open = 0, n_same = 0, n_left = 0;
    for (int i = 0; i < n_tried; i++) {
        const struct mutant *m = &mutants[i];
        const struct outcome *o = &outcomes[i];
        n_same += o->fate == SAME_OBJECT;
        n_left += o->fate == LEFT;
        if (!counts_as_mutant(o->fate)) continue;
        bool killed = o->fate == KILLED;
        n_killed += killed;
        n_shown += !killed && m->is_listed;
        n_open += !killed && !m->is_listed;
        if (killed && m->is_listed) n_failed++, printf("FAIL listed, but killed by %s: %s\n", suites[o->by].name,
            m->name);
        if (!killed && !m->is_listed) printf("FAIL %s: %s:%d %s, by %s\n", fates[o->fate], sources[m->file].path,
            m->line, m->name, m->n && !m->by[0] ? "nothing" : m->by);
    }
    int n = n_killed + n_shown + n_open;
    printf("%d mutants of %d: %d killed, %d listed, %d open, %d of them left; %.1f %% killed or listed; "
        "%d more to the same object\n", n, n_mutants, n_killed, n_shown, n_open, n_left,
        n ? 100.0 * (n - n_open) / n : 0, n_same);
    n_failed += n_open;
    printf("%d passed, %d failed\n", n_killed + n_shown, n_failed + !n);
    return n_failed || !n;
}

int main(int argc, char **argv) {
    bool lists = false;
    const char *survivors = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--list")) { lists = true; continue; }
        if (!v) die("no value", a);
        if (!strcmp(a, "--of")) of = v;
        else if (!strcmp(a, "--suites")) only = v;
        else if (!strcmp(a, "--count")) count = atol(v);
        else if (!strcmp(a, "--seed")) seed = atol(v);
        else if (!strcmp(a, "--jobs")) n_jobs = atoi(v) > 0 ? atoi(v) : 1;
        else if (!strcmp(a, "--longest")) longest = atof(v);
        else if (!strcmp(a, "--timeout")) timeout_seconds = atof(v);
        else if (!strcmp(a, "--seconds")) most_seconds = atof(v);
        else if (!strcmp(a, "--survivors")) survivors = v;
        else if (!strcmp(a, "--covered")) covered_file = v;
        else if (!strcmp(a, "--out")) out_file = v;
        else die("unknown option", a);
        i++;
    }
    if (!getcwd(root, sizeof root)) die("folder", strerror(errno));
    read_sources();
    if (survivors) read_survivors(survivors);
    int n_failed = mark_listed();
    draw();
    for (int i = 0; lists && i < n_mutants && (!count || i < count); i++) printf("%s:%d %s, by %s\n",
        sources[mutants[i].file].path, mutants[i].line, mutants[i].name, mutants[i].by);
    if (lists) return n_failed > 0;
    print_path(scratch_root, "/tmp/fx_mutants.XXXXXX");
    if (!mkdtemp(scratch_root)) die("folder", strerror(errno));
    outcomes = share(((size_t)n_mutants + 1) * sizeof *outcomes);
    find_suites();
    read_notes();
    double begin = now();
    end_of_piece = begin + most_seconds;
    measure_suites();
    printf("%d suites, measured in %.0f s\n", n_by_time, now() - begin);
    int n_tried = try_mutants(count ? count : n_mutants);
    remove_scratch(scratch_root);
    printf("%.0f s\n", now() - begin);
    return report(n_tried, n_failed);
}
