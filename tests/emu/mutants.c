/* Mutants of the kernels, none chosen by hand, under the emulator: does it find every mistake that a rule can make?
 *
 * In: the embedded texts of drivers, engines, computed.cuh, access.cuh and the grid's barrier, from which rules make
 * mutants; specs with test blocks; the list of those that may survive, each with a proof that it changes no result.
 * Out: a line a survivor, a line of counts, `N passed, M failed`. A mutant is caught when a launch fails (memory,
 * deadlock, schedules that disagree) or a result is not the oracle's. It has failed when it survives and is not on the
 * list, or is on it and was caught.
 *
 *   mutants [--of TEXT] [--kernel NAME] [--survivors FILE] [--so-far FILE] [--jobs N] [--all-variants] [--watched]
 *           [--list] SPEC...
 *     --of: only those whose name contains TEXT; --kernel: only its test blocks; --all-variants: also those that
 *     is_wanted() leaves out; --watched: only with every access seen; --so-far: names of mutants that earlier pieces of
 *     the same run have caught, which are not tried again; what this one catches is added block by block. A first line
 *     `# args: ...` of a spec adds options of the command
 *
 * A name is `FILE ITEM | RULE | N | LINE`: the Nth that the rule makes of lines of this text in the item. In what the
 * emitter writes (`emitted KERNEL`) only what synchronises is left out, in all entries of the kernel alike. The rules:
 *   left out            a statement that synchronises: barriers, commits, waits, releases, the next segment; a loop
 *                       that waits for a flag
 *   one more, one less  the count of a wait (0 has no less)
 *   < to <=, ..         a comparison: < <= > >= between spaces, which is how operators, not templates, are written; not
 *                       those that a constant is made of (constexpr, static_assert, fx_choose), nor the head of a
 *                       loop behind a bare `#pragma unroll`, which counts registers
 *   right, left dropped an exclusive or without one side: swizzles
 *
 * All mutants of an entry are compiled at once, into one object in which a variable says which is alive. The
 * unchanged one runs first, and notes which mutants would have computed anything else at any point (or were reached,
 * of statements); only those then run, each in a process of its own, until one run catches it. That goes through all
 * specs unwatched, which is faster; what no spec has caught then goes through them once more, every access seen,
 * and, where the variant allows it, with what is only read an element behind where memory begins. Invariant: the
 * unchanged entry gives the oracle's results, else nothing is said of its mutants. */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define machine emu_machine /* the command has one of its own */
#include "emu/emu.h"
#undef machine
#include "command/command.h"

enum {
    MAX_MUTANTS = 4096,
    NAME = 400,
    REASON = 200,
    MAX_LISTED = 1024,
    MAX_ITEMS = 1024,
    MAX_MODULES = FX_MAX_LAUNCHES,
    MAX_ENTRIES = 2048,
    LEAST_SECONDS = 5,
    FEW_BLOCKS = 2,
    SM_COUNT = 5
};

#define DEVICE "emu:5,plain" /* SM_COUNT */

enum fate {
    UNSEEN,
    SAME,
    SURVIVES,
    CAUGHT
}; /* in no spec; compiled, but never different; different, but never caught */

struct mutant {
    char name[NAME];
    enum fate fate;
    char why[REASON];  /* how it was caught */
    long n_runs;       /* in which it was different */
};

struct report { /* in memory that all processes share */
    struct mutant mutants[MAX_MUTANTS];
    int n;
    long n_entries, n_runs, n_broken; /* entries compiled; runs of mutants; entries that are wrong as they are */
    unsigned char differs[MAX_ENTRIES][MAX_MUTANTS + 1]; /* of each entry run: which mutants are different in it */
};

static struct report *report;
static const char *of = "", *only_kernel, *so_far;
static char *caught_before; /* the text of so_far, between newlines */
static int n_jobs = 2, n_running;
static bool takes_all, is_watched; /* every access is seen */
static bool is_seen_alone;         /* there is no pass before that one */
static int n_entries;              /* started in this pass, in the same order in each */

static void die(const char *what, const char *why) {
    printf("mutants: %s: %s\n0 passed, 1 failed\n", what, why);
    exit(1);
}

/* ---- texts ---- */

#define PIECE(name, title) extern const char fx_text_##name[];
#include "kernels/pieces.def"
#undef PIECE

static const struct { const char *file, *text; } pieces[] = {
#define PIECE(name, title) {#name ".cuh", fx_text_##name},
#include "kernels/pieces.def"
#undef PIECE
};
enum { N_PIECES = sizeof pieces / sizeof *pieces };

struct text { /* that grows */
    char *at;
    size_t n, room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (t->n + (size_t)n + 1 > t->room && !(t->at = realloc(t->at, t->room = 2 * (t->n + (size_t)n) + 4096)))
        die("out of memory", "text");
    va_start(ap, format);
    vsnprintf(t->at + t->n, (size_t)n + 1, format, ap);
    va_end(ap);
    t->n += (size_t)n;
}

/* Whether the file's mutants are wanted: what holds drivers and engines together, and of the hardware what is written
 * in its own terms. */
static bool is_subject(const char *file, const char *item) {
    return !strncmp(file, "driver_", 7) || !strncmp(file, "engine_", 7) || !strcmp(file, "computed.cuh") ||
           !strcmp(file, "access.cuh") || (!strcmp(file, "ptx.cuh") && !strcmp(item, "fx_grid_barrier"));
}

/* ---- mutants ---- */

struct site { /* what is known of the line at hand */
    const char *file, *item;
    char line[256]; /* trimmed, with its comment, which says what a barrier is for */
};

static const char *const relations[][2] = {{" < ", "<="}, {" <= ", "<"}, {" > ", ">="}, {" >= ", ">"}};

/* Whether it is a line of the text. */
static bool is_in(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *at = text; at && (at = strstr(at, name)); at++)
        if (at[-1] == '\n' && at[n] == '\n') return true;
    return false;
}

/* The number of the mutant, from 1 on: a new one on the first scan, the same one whenever the item is met again. */
static int number_of(const struct site *s, const char *rule, int nth) {
    char name[NAME];
    snprintf(name, sizeof name, "%s %s | %s | %d | %s", s->file, s->item, rule, nth, s->line);
    for (int i = 0; i < report->n; i++)
        if (!strcmp(report->mutants[i].name, name)) return i + 1;
    if (report->n == MAX_MUTANTS) die("too many mutants", name);
    strcpy(report->mutants[report->n].name, name);
    if (is_in(caught_before, name))
        report->mutants[report->n].fate = CAUGHT, strcpy(report->mutants[report->n].why, "earlier");
    return ++report->n;
}

struct seen { /* how often a rule met the same line in an item */
    char line[256], rule[24];
    int n;
};
struct scan { /* of an item */
    struct seen seen[1024];
    int n;
    bool behind_unroll; /* the line before was a bare #pragma unroll */
    size_t constant;    /* within a constexpr function: how far in it begins, plus 1; else 0 */
};

static int count(struct scan *scan, const char *line, const char *rule) {
    for (int i = 0; i < scan->n; i++)
        if (!strcmp(scan->seen[i].line, line) && !strcmp(scan->seen[i].rule, rule)) return ++scan->seen[i].n;
    if (scan->n == 1024) die("an item of too many lines", line);
    struct seen *s = &scan->seen[scan->n++];
    snprintf(s->line, sizeof s->line, "%s", line);
    snprintf(s->rule, sizeof s->rule, "%s", rule);
    return s->n = 1;
}

static int make(struct scan *scan, const struct site *s, const char *rule) {
    return number_of(s, rule, count(scan, s->line, rule));
}

/* The length of a statement `name(..);` or `name<..>();` at `at`, whose call synchronises; 0 where there is none.
 * *count: where the <..> begins. */
static size_t call_length(const char *at, const char *end, const char **angle) {
    static const char *const names[] = {"fx_barrier", "fx_named_barrier", "fx_warp_barrier", "fx_grid_barrier",
        "fx_cp_async_commit", "fx_cp_async_wait", "fx_store_release", "fx_gemm_next_segment"};
    *angle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if ((size_t)(end - at) <= n || strncmp(at, names[i], n) != 0 || (at[n] != '(' && at[n] != '<')) continue;
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        if (!semicolon || semicolon[-1] != ')') return 0;
        if (at[n] == '<') *angle = at + n;
        return (size_t)(semicolon - at);
    }
    return 0;
}

static void add_call(
    struct text *out, struct scan *scan, const struct site *s, const char *at, size_t n, const char *angle) {
    int left_out = make(scan, s, "left out");
    add(out, "(fx_is<%d>() ? (void)0 : ", left_out);
    if (angle) {
        const char *close = at + n - 3; /* of `>()` */
        int n_count = (int)(close - angle - 1), n_name = (int)(angle - at);
        add(out, "fx_is<%d>() ? %.*s<%.*s + 1>() : ", make(scan, s, "one more"), n_name, at, n_count, angle + 1);
        if (n_count != 1 || angle[1] != '0')
            add(out, "fx_is<%d>() ? %.*s<%.*s - 1>() : ", make(scan, s, "one less"), n_name, at, n_count, angle + 1);
    }
    add(out, "%.*s)", (int)n, at);
}

/* Whether a line of code stands within a function that constants may be made of: one that is constexpr, of several
 * lines. Its last line closes it as far in as it began. */
static bool in_constant_function(struct scan *scan, const char *code) {
    const size_t indent = strspn(code, " "), n = strlen(code);
    const bool is_in = scan->constant > 0;
    if (is_in && code[indent] == '}' && indent + 1 == scan->constant) scan->constant = 0;
    if (!is_in && strstr(code, "constexpr") && strstr(code, "FX_DEVICE") && n && code[n - 1] == '{')
        scan->constant = indent + 1;
    return is_in;
}

/* One line, mutants within. Of generated text only what synchronises. */
static void add_line(
    struct text *out, struct scan *scan, struct site *s, const char *line, const char *end, bool is_generated) {
    const char *comment = strstr(line, "//"), *first = line, *last = end;
    const char *code_end = comment && comment < end ? comment : end;
    while (first < last && *first == ' ') first++;
    while (last > first && last[-1] == ' ') last--;
    snprintf(s->line, sizeof s->line, "%.*s", (int)(last - first), first);
    char code[256];
    snprintf(code, sizeof code, "%.*s", (int)(code_end - line), line);
    bool is_constant = in_constant_function(scan, code) || strstr(code, "static_assert") ||
                       strstr(code, "fx_choose<(") || strstr(code, "if constexpr") ||
                       (strstr(code, "constexpr") && !strstr(code, "FX_DEVICE"));
    bool has_relations = !is_generated && !is_constant && !strstr(code, "constexpr") &&
                         !(scan->behind_unroll && !strncmp(s->line, "for (", 5));
    for (const char *at = line; at < code_end;) {
        const char *angle;
        bool is_word = at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        size_t n = is_word ? 0 : call_length(at, code_end, &angle), r = 0;
        if (n) {
            add_call(out, scan, s, at, n, angle);
            at += n;
            continue;
        }
        if (!is_generated && !strncmp(at, "while (fx_load_acquire(", 23)) {
            add(out, "while (!fx_is<%d>() && ", make(scan, s, "left out"));
            at += 7;
            continue;
        }
        for (; has_relations && r < 4 && strncmp(at, relations[r][0], strlen(relations[r][0])) != 0; r++) continue;
        if (has_relations && r < 4) {
            char rule[24];
            snprintf(rule, sizeof rule, "%.*s to %s", (int)strlen(relations[r][0]) - 2, relations[r][0] + 1,
                relations[r][1]);
            add(out, " < fx_relation_%zu<%d>{} > ", r, make(scan, s, rule));
            at += strlen(relations[r][0]);
            continue;
        }
        if (!is_generated && !is_constant && !strncmp(at, " ^ ", 3)) {
            int right = make(scan, s, "right dropped"), left = make(scan, s, "left dropped");
            add(out, " ^ fx_xor<%d, %d>{} ^ ", right, left);
            at += 3;
            continue;
        }
        add(out, "%c", *at++);
    }
    add(out, "%.*s", (int)(end - code_end), code_end);
    scan->behind_unroll = !strcmp(s->line, "#pragma unroll");
}

static void add_lines(
    struct text *out, const char *file, const char *item, const char *text, const char *end, struct scan *scan) {
    struct site s = {.file = file, .item = item};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        add_line(out, scan, &s, text, stop, !strcmp(file, "emitted"));
        if (stop < end) add(out, "\n");
        text = stop + (stop < end);
    }
}

/* ---- items ---- */

struct item {
    const char *file, *text;
    char name[80];
    size_t n;
};

static struct item items[MAX_ITEMS];
static int n_items;

static bool begins_item(const char *line) {
    return !strncmp(line, "// fx_", 6) && strchr(line, ':') && strchr(line, ':') < line + strcspn(line, "\n");
}

static void find_items(const char *file, const char *text) {
    struct item *last = NULL;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!begins_item(line)) continue;
        if (last) last->n = (size_t)(line - last->text);
        if (n_items == MAX_ITEMS) die("too many items", file);
        last = &items[n_items++];
        *last = (struct item){.file = file, .text = line, .n = strlen(line)};
        snprintf(last->name, sizeof last->name, "%.*s", (int)strcspn(line + 3, ":,"), line + 3);
    }
    /* Blank lines between items are the emitter's own. */
    for (int i = 0; i < n_items; i++)
        while (items[i].n && items[i].text[items[i].n - 1] == '\n') items[i].n--;
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

/* Marks the items that a text names, and those that these name. The grid's barrier stands in ptx.cuh for what every
 * entry of phases calls. */
static void reach(const char *text, const char *end, bool *reached) {
    while (text < end) {
        size_t n = strspn(text, letters);
        if (n > 3 && !strncmp(text, "fx_", 3))
            for (int i = 0; i < n_items; i++) {
                if (reached[i] || strncmp(items[i].text + 3, text, n) != 0 || strchr(letters, items[i].text[3 + n]))
                    continue;
                reached[i] = true;
                reach(items[i].text + 3 + n, items[i].text + items[i].n, reached);
            }
        text += n ? n : 1;
    }
}

static const struct item *item_at(const char *line) {
    for (int i = 0; i < n_items; i++)
        if (!strncmp(line, items[i].text, items[i].n)) return &items[i];
    return NULL;
}

/* ---- an emitted file with all its mutants ---- */

static const char helpers[] =
    "#ifdef FX_PTX\n"
    "#define FX_QUIET __attribute__((noinline, no_sanitize(\"thread\")))\n"
    "extern \"C\" { __attribute__((visibility(\"default\"))) int fx_mutant; __attribute__((visibility(\"default\"))) unsigned char fx_differs[%d]; }\n"
    "FX_QUIET inline bool fx_is_alive(int n) { fx_differs[n] = 1; return fx_mutant == n; }\n"
    "template <int N> inline bool fx_is() { return fx_is_alive(N); }\n"
    "template <int N> inline bool fx_either(bool is, bool changed) { return is == changed ? is : fx_is_alive(N) ? changed : is; }\n"
    "#define FX_RELATION(i, was, becomes)                                                                              \\\n"
    "  template <int N> struct fx_relation_##i {};                                                                     \\\n"
    "  template <int N, class T> struct fx_relation_##i##_left { T x; };                                               \\\n"
    "  template <int N, class T> inline fx_relation_##i##_left<N, T> operator<(T x, fx_relation_##i<N>) { return {x}; } \\\n"
    "  template <int N, class T, class U> inline bool operator>(fx_relation_##i##_left<N, T> l, U y) { return fx_either<N>(l.x was y, l.x becomes y); }\n"
    "FX_RELATION(0, <, <=)\nFX_RELATION(1, <=, <)\nFX_RELATION(2, >, >=)\nFX_RELATION(3, >=, >)\n"
    "template <int R, int L> struct fx_xor {};\n"
    "template <int R, int L, class T> struct fx_xor_left { T x; };\n"
    "template <int R, int L, class T> inline fx_xor_left<R, L, T> operator^(T x, fx_xor<R, L>) { return {x}; }\n"
    "template <int R, int L, class T, class U> inline auto operator^(fx_xor_left<R, L, T> l, U y) -> decltype(l.x ^ y) {\n"
    "  typedef decltype(l.x ^ y) V;\n"
    "  const V v = l.x ^ y;\n"
    "  if ((V)l.x != v && fx_is_alive(R)) return (V)l.x;\n"
    "  if ((V)y != v && fx_is_alive(L)) return (V)y;\n"
    "  return v;\n"
    "}\n"
    "#endif\n";

/* The barrier of the grid is the emulator's own; in its place the one of ptx.cuh, which is written in terms of the
 * rest. */
static void add_grid_barrier(struct text *out) {
    struct scan scan = {0};
    struct text body = {0};
    for (int i = 0; i < n_items; i++) {
        if (strcmp(items[i].name, "fx_grid_barrier") != 0) continue;
        add_lines(&body, items[i].file, items[i].name, items[i].text, items[i].text + items[i].n, &scan);
        char *at = strstr(body.at, "void fx_grid_barrier(");
        if (!at) die("no such function", "fx_grid_barrier");
        add(out,
            "#ifdef FX_PTX\n%.*svoid fx_grid_barrier_as_written(%s\n#define fx_grid_barrier fx_grid_barrier_as_written\n#endif\n",
            (int)(at - body.at), body.at, at + strlen("void fx_grid_barrier("));
    }
    free(body.at);
}

static char *rewrite(const char *source, const char *kernel) {
    static struct scan generated; /* of a struct or an entry of the kernel's own text */
    struct text out = {0};
    bool is_behind = false; /* the hardware */
    generated.n = 0;
    for (const char *line = source; *line;) {
        const char *begin = line, *end = line + strcspn(line, "\n");
        const struct item *item = is_behind && begins_item(line) ? item_at(line) : NULL;
        if (item && is_subject(item->file, item->name)) {
            struct scan scan = {0};
            add_lines(&out, item->file, item->name, item->text, item->text + item->n, &scan);
            end = line + item->n;
        } else if (item) {
            add(&out, "%.*s", (int)item->n, line);
            end = line + item->n;
        } else if (is_behind) {
            char name[100];
            snprintf(name, sizeof name, "%s", kernel);
            add_lines(&out, "emitted", name, line, end, &generated);
            if (*line == '}') generated.n = 0; /* what every entry has is one mutant */
        } else {
            add(&out, "%.*s", (int)(end - line), line);
        }
        add(&out, "\n");
        line = end + (*end == '\n');
        if (!is_behind && !strncmp(begin, "#endif  // FX_PTX", 17)) {
            is_behind = true;
            add(&out, helpers, MAX_MUTANTS + 1);
            if (strstr(line, "fx_grid_barrier(")) add_grid_barrier(&out);
        }
    }
    if (!is_behind) die("no end of the hardware section", kernel);
    return out.at;
}

/* ---- running ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_so_far(void) {
    FILE *f = so_far ? fopen(so_far, "r") : NULL;
    struct text t = {0};
    char line[NAME + 2];
    add(&t, "\n");
    while (f && fgets(line, sizeof line, f)) add(&t, "%s", line);
    if (f) fclose(f);
    caught_before = t.at;
}

static void write_so_far(void) {
    FILE *f = so_far ? fopen(so_far, "w") : NULL;
    if (!so_far) return;
    if (!f) die("cannot write", so_far);
    fputs(caught_before + 1, f);
    for (int i = 0; i < report->n; i++)
        if (report->mutants[i].fate == CAUGHT && !is_in(caught_before, report->mutants[i].name))
            fprintf(f, "%s\n", report->mutants[i].name);
    if (fclose(f) != 0) die("cannot write", so_far);
}

/* Runs and compares; "" where everything is right, else what is wrong. */
static fx_status run(const struct job *job, const struct gpu *gpu, const struct expected *e, char *why) {
    why[0] = 0;
    fx_status status = gpu_run(gpu);
    if (status != FX_OK) {
        const char *error = fx_last_error(), *newline = strrchr(error, '\n');
        snprintf(why, REASON, "%s", newline && newline[1] ? newline + 1 : error);
        if (!why[0]) snprintf(why, REASON, "status %d", status);
        return status;
    }
    for (int i = 0; i < job->n_outputs && !why[0]; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        struct comparison c = compare(a, &e[i], &job->request->block->tolerance);
        if (c.n_wrong)
            snprintf(why, REASON, "%lld of %lld elements of %s are wrong", (long long)c.n_wrong,
                (long long)c.n_compared, a->param->name);
    }
    return FX_OK;
}

static bool is_left(int m) { return report->mutants[m - 1].fate != CAUGHT && strstr(report->mutants[m - 1].name, of); }

struct alive { /* the variables of each compiled entry */
    int *mutant[MAX_MODULES];
    unsigned char *differs[MAX_MODULES];
    int n;
};

static void find_variables(const struct gpu *gpu, struct alive *a) {
    a->n = 0;
    for (int l = 0; l < gpu->job->kernel->n_launches; l++) {
        struct module_entry *entry = gpu->prepared->stages[l].entries[0];
        struct module *m = entry ? entry->module : NULL;
        if (!m) continue;
        a->mutant[a->n] = dlsym(m->library, "fx_mutant");
        a->differs[a->n] = dlsym(m->library, "fx_differs");
        if (!a->mutant[a->n] || !a->differs[a->n]) die("no variables", entry->name);
        a->n++;
    }
}

/* One mutant in a process of its own, which an alarm ends. */
static void try_mutant(const struct job *job, const struct gpu *gpu, const struct expected *e, const struct alive *a,
    int number, int seconds, const char *where) {
    struct mutant *m = &report->mutants[number - 1];
    int status = 0;
    char why[REASON] = "";
    int ends[2];
    if (pipe(ends) != 0) die("no pipe", m->name);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(2); /* what is wrong goes to the report */
        alarm((unsigned)seconds);
        for (int i = 0; i < a->n; i++) *a->mutant[i] = number;
        run(job, gpu, e, why);
        if (write(ends[1], why, strlen(why) + 1) < 0) _exit(2);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0) die("cannot fork", strerror(errno));
    if (read(ends[0], why, sizeof why) < 0) why[0] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    why[REASON - 1] = 0;
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, WTERMSIG(status) == SIGALRM ? "runs for ever" : "signal %d", WTERMSIG(status));
    __atomic_add_fetch(&m->n_runs, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&report->n_runs, 1, __ATOMIC_RELAXED);
    if (!why[0]) {
        if (m->fate < SURVIVES) m->fate = SURVIVES;
        return;
    }
    snprintf(m->why, sizeof m->why, "%.90s: %.100s", where, why);
    m->fate = CAUGHT;
}

/* Whether it is asked for. */
static bool note_one(int n) {
    if (report->mutants[n - 1].fate == UNSEEN) report->mutants[n - 1].fate = SAME;
    return strstr(report->mutants[n - 1].name, of) != NULL;
}

/* Notes the mutants of which the text has an instance; whether any of them is asked for. */
static bool note_compiled(const char *source) {
    bool is_any = false;
    for (const char *at = source; (at = strstr(at, "fx_")); at++) {
        int i, right, left;
        if (sscanf(at, "fx_xor<%d, %d>{}", &right, &left) == 2) is_any |= note_one(right) | note_one(left);
        else if (sscanf(at, "fx_is<%d>", &i) == 1 || sscanf(at, "fx_relation_%*d<%d>{}", &i) == 1)
            is_any |= note_one(i);
    }
    return is_any;
}

/* All mutants that are left, on the arguments as they lie; false where the entry is wrong as it is. */
static bool try_all(
    const struct job *job, const struct gpu *gpu, const struct expected *e, unsigned char *differs, const char *where) {
    struct alive a;
    char why[REASON];
    find_variables(gpu, &a);
    double start = now();
    if (run(job, gpu, e, why) == FX_ERR_USAGE)
        return true; /* it wants addresses of a higher alignment than these sizes give */
    int seconds = LEAST_SECONDS + (int)(20 * (now() - start));
    __atomic_add_fetch(why[0] ? &report->n_broken : &report->n_entries, 1, __ATOMIC_RELAXED);
    if (why[0]) printf("FAIL mutants: %s as it is: %s\n", where, why), fflush(stdout);
    for (int i = 0; i < a.n; i++)
        for (int m = 0; m <= report->n; m++) differs[m] |= a.differs[i][m];
    for (int m = 1; m <= report->n && !why[0]; m++)
        if (differs[m] && is_left(m)) try_mutant(job, gpu, e, &a, m, seconds, where);
    return !why[0];
}

/* What is only read lies an element behind where memory begins from now on. */
static fx_status move_inputs(const struct job *job, const struct gpu *gpu) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < job->kernel->n_params; i++) {
        const struct argument *a = &job->arguments[i];
        DLTensor *t = &gpu->set.tensors[i];
        if (a->param->is_scalar || a->param->is_output || !a->n_bytes) continue;
        size_t by = (size_t)(t->dtype.bits + 7) / 8;
        fx_device_free(job->context, t->data);
        status = fx_device_alloc(job->context, by + a->n_bytes, &t->data);
        if (status == FX_OK) status = fx_device_write(job->context, (char *)t->data + by, a->data, a->n_bytes);
        t->byte_offset = by;
    }
    return status;
}

/* All mutants of one choice of variants. */
static void run_entry(const struct job *job, const struct expected *e, unsigned char *differs, const char *where) {
    struct gpu gpu;
    char behind[240];
    snprintf(behind, sizeof behind, "%s, an element behind", where);
    bool is_open = gpu_open(job, &gpu) == FX_OK;
    if (is_open && (!try_all(job, &gpu, e, differs, where) || !is_watched)) return;
    if (is_open && move_inputs(job, &gpu) == FX_OK) try_all(job, &gpu, e, differs, behind);
    else
        printf("FAIL mutants: %s cannot be prepared\n", where),
            __atomic_add_fetch(&report->n_broken, 1, __ATOMIC_RELAXED);
}

static void wait_for_one(void) {
    int status;
    if (wait(&status) > 0) n_running--;
    if (status != 0)
        printf("FAIL mutants: a process ended with %#x\n", status),
            __atomic_add_fetch(&report->n_broken, 1, __ATOMIC_RELAXED);
}

/* Where the entry's parameters and body begin, and end. */
static const char *body_of(const char *source, const char *entry, const char **end) {
    char head[300];
    snprintf(head, sizeof head, "\n%s(", entry);
    const char *at = strstr(source, head);
    *end = at ? strstr(at, "\n}") : NULL;
    if (!*end) die("no such entry", entry);
    return at + strlen(head);
}

/* Whether the entry's body has the word. */
static bool has_word(const char *source, const char *entry, const char *word) {
    const char *end, *found = strstr(body_of(source, entry, &end), word);
    return found && found < end;
}

/* Whether an item that the entry may come to has a mutant that is asked for and not caught, or the emitted text has. */
static bool may_differ(const char *source, const char *entry, const char *kernel) {
    bool reached[MAX_ITEMS] = {0};
    char head[100];
    const char *end, *at = body_of(source, entry, &end), *behind = strstr(source, "#endif  // FX_PTX");
    reach(at, end, reached);
    for (const char *s = behind; s && (s = strstr(s, "\nstruct ")); s++) /* problems: what drivers ask them for */
        if (strncmp(s + 8, "fx_", 3) != 0 && (at = strstr(s, "\n}"))) reach(s, at, reached);
    snprintf(head, sizeof head, "emitted %s |", kernel);
    for (int m = 1; m <= report->n; m++) {
        const char *name = report->mutants[m - 1].name, *item = strchr(name, ' ') + 1;
        if (!is_left(m)) continue;
        if (!strncmp(name, head, strlen(head)) || !strncmp(name, "ptx.cuh", 7)) return true;
        for (int i = 0; i < n_items; i++)
            if (reached[i] && !strncmp(items[i].name, item, strlen(items[i].name)) &&
                item[strlen(items[i].name)] == ' ')
                return true;
    }
    return false;
}

/* Whether the entry's drivers take any grid: all but those that compute the tile of their block alone. */
static bool takes_any_grid(const char *source, const char *entry) {
    return !has_word(source, entry, "fx_gemm<") && !has_word(source, entry, "fx_chain<") &&
           !has_word(source, entry, "fx_skinny_early<");
}

struct choice { /* what an entry is run as */
    struct fx_kernel kernel;
    struct fx_partition partition; /* the only one */
    struct fx_launch launches[FX_MAX_LAUNCHES];
    struct fx_variant variants[FX_MAX_LAUNCHES];
    struct fx_term grid[64]; /* of the launch in question, where it is limited */
};

/* Leaves the kernel a partition alone, whichever its extents would take, launch i of it the variant v alone, the
 * others what they would choose. False where one of them can choose none. */
static bool choose_variants(
    const struct job *job, const struct fx_partition *of_kernel, int i, int v, bool is_few, struct choice *c) {
    struct fx_env env = job_env(job);
    struct fx_kernel *kernel = &c->kernel;
    struct fx_launch *launches = c->launches;
    *kernel = *job->kernel;
    kernel->launches = launches;
    kernel->n_launches = of_kernel->n_launches;
    if (kernel->n_partitions) {
        c->partition = *of_kernel;
        c->partition.first_launch = 0;
        kernel->partitions = &c->partition;
        kernel->n_partitions = 1;
    }
    for (int l = 0; l < kernel->n_launches; l++) {
        const struct fx_launch *from = &job->kernel->launches[of_kernel->first_launch + l];
        int chosen = l == i ? v : fx_choose_variant(from, &env);
        if (chosen < 0) return false;
        launches[l] = *from;
        launches[l].variants = &c->variants[l];
        launches[l].n_variants = 1;
        c->variants[l] = from->variants[chosen];
    }
    if (!is_few) return true;
    const struct fx_expr *grid = &c->variants[i].grid;
    int64_t n_blocks;
    if (grid->n > 60 || !fx_expr_eval(grid, &env, &n_blocks) || n_blocks <= FEW_BLOCKS ||
        !takes_any_grid(fx_get_plan(job->compilation)->source, c->variants[i].entry))
        return false;
    memcpy(c->grid, grid->terms, (size_t)grid->n * sizeof *c->grid);
    c->grid[grid->n] = (struct fx_term){FX_T_CONST, FEW_BLOCKS};
    c->grid[grid->n + 1] = (struct fx_term){FX_T_MIN, 0};
    c->variants[i].grid = (struct fx_expr){grid->n + 2, c->grid};
    return true;
}

static void start_entry(struct job *job, const struct fx_partition *partition, const struct expected *e, int i, int v,
    bool is_few) {
    static struct choice c;
    char where[200];
    bool is_any = false;
    if (!choose_variants(job, partition, i, v, is_few, &c)) return;
    if (n_entries == MAX_ENTRIES) die("too many entries", c.variants[i].entry);
    unsigned char *differs = report->differs[n_entries++];
    const bool is_known = is_watched && !is_seen_alone; /* what is different in it */
    for (int m = 1; m <= report->n && is_known && !is_any; m++) is_any = differs[m] && is_left(m);
    for (int l = 0; l < c.kernel.n_launches && !is_known && !is_any; l++)
        is_any = may_differ(fx_get_plan(job->compilation)->source, c.variants[l].entry, c.kernel.name);
    if (!is_any) return;
    snprintf(where, sizeof where, "line %d, %s%s%s", job->request->block->line, c.variants[i].entry,
        is_few ? ", two blocks" : "", is_watched ? ", watched" : "");
    while (n_running >= n_jobs) wait_for_one();
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) die("cannot fork", strerror(errno));
    if (child > 0) {
        n_running++;
        return;
    }
    struct fx_plan *plan = (struct fx_plan *)fx_get_plan(job->compilation); /* this process's alone */
    plan->kernels = &c.kernel;
    plan->n_kernels = 1;
    job->kernel = &c.kernel;
    run_entry(job, e, differs, where);
    fflush(stdout);
    _exit(0);
}

static bool holds(const struct job *job, const struct fx_variant *v) {
    struct fx_env env = job_env(job);
    return fx_expr_holds(&v->needs, &env);
}

static int64_t shared_bytes(const struct job *job, const struct fx_variant *v) {
    struct fx_env env = job_env(job);
    int64_t n = 0;
    fx_expr_eval(&v->smem, &env, &n);
    return n;
}

/* What the entry's body calls, without template arguments that are no templates: drivers, engines, and whether a driver
 * takes vectors. */
static void signature_of(const char *source, const char *entry, char *to, size_t room) {
    const char *end;
    size_t n = 0;
    for (const char *at = body_of(source, entry, &end); at < end;) {
        size_t word = strspn(at, letters);
        if (word > 3 && !strncmp(at, "fx_", 3) && at[word] == '<' && n + word + 2 < room)
            memcpy(to + n, at, word), n += word, to[n++] = ' ';
        at += word ? word : 1;
    }
    to[n++] = has_word(source, entry, ", true>(") ? '+' : '-';
    to[n] = 0;
}

/* Whether v runs: the one that is chosen; all of a kernel of one launch without a contraction; of others the smallest
 * of those that call the same drivers and engines, with vectors and without. */
static bool is_wanted(const struct job *job, const struct fx_launch *l, int v) {
    struct fx_env env = job_env(job);
    const struct fx_variant *of_v = &l->variants[v];
    const char *source = fx_get_plan(job->compilation)->source;
    char signature[500], other[500];
    if (!holds(job, of_v)) return false;
    bool is_alone = job->kernel->n_launches == 1 && !has_word(source, of_v->entry, "fx_gemm") &&
                    !has_word(source, of_v->entry, "fx_chain");
    if (takes_all || is_alone || v == fx_choose_variant(l, &env)) return true;
    signature_of(source, of_v->entry, signature, sizeof signature);
    for (int w = 0; w < l->n_variants; w++) {
        const struct fx_variant *of_w = &l->variants[w];
        if (!holds(job, of_w)) continue;
        signature_of(source, of_w->entry, other, sizeof other);
        if (strcmp(signature, other) != 0) continue;
        if (shared_bytes(job, of_w) < shared_bytes(job, of_v) ||
            (w < v && shared_bytes(job, of_w) == shared_bytes(job, of_v)))
            return false;
    }
    return true;
}

static void run_partition(struct job *job, int number, const struct expected *e) {
    const struct fx_kernel *kernel = job->kernel; /* the plan's, whatever a process makes of its own */
    const struct fx_partition p = fx_get_partition(kernel, number);
    struct fx_env env = job_env(job);
    for (int i = 0; i < p.n_launches; i++) {
        const struct fx_launch *l = &kernel->launches[p.first_launch + i];
        const int chosen = fx_choose_variant(l, &env);
        for (int v = 0; v < l->n_variants; v++) {
            if (!is_wanted(job, l, v)) continue;
            if (i == 0 || v != chosen) start_entry(job, &p, e, i, v, false);
            if (v == chosen) start_entry(job, &p, e, i, v, true);
        }
    }
}

/* A test block: of every partition every variant that its shape allows, and, where the driver takes any grid, once more with few blocks,
 * which go round. */
static fx_status run_block(struct request *request, const struct machine *machine, void *list_only) {
    struct job job;
    struct expected *e = NULL;
    if (only_kernel && strcmp(only_kernel, request->block->kernel) != 0) return FX_OK;
    fx_status status = job_open(request, machine, false, &job);
    if (status != FX_OK) return status;
    struct fx_plan *plan = (struct fx_plan *)fx_get_plan(job.compilation);
    plan->source = rewrite(plan->source, job.kernel->name);
    plan->source_len = strlen(plan->source);
    bool is_asked = note_compiled(plan->source);
    if (is_asked && !*(bool *)list_only && (status = expect_all(&job, &e)) == FX_OK) {
        for (int p = 0; p < fx_partition_count(job.kernel); p++) run_partition(&job, p, e);
    }
    fprintf(stderr, "line %d, %s: %ld entries, %ld runs so far\n", request->block->line, job.kernel->name,
        report->n_entries, report->n_runs);
    expected_release(e, job.n_outputs);
    free((char *)plan->source);
    job_close(&job);
    write_so_far();
    return status;
}

/* ---- the list of survivors ---- */

struct listed {
    char name[NAME];
    bool has_proof, is_used;
};

static struct listed listed[MAX_LISTED];
static int n_listed;

static void read_list(const char *path) {
    char line[2048];
    FILE *f = fopen(path, "r");
    if (!f) die("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (!line[0] || line[0] == '#') continue;
        if (line[0] == ' ' && n_listed) listed[n_listed - 1].has_proof = true;
        else if (n_listed == MAX_LISTED || strlen(line) >= NAME) die("too much", line);
        else strcpy(listed[n_listed++].name, line);
    }
    fclose(f);
}

static struct listed *find_listed(const char *name) {
    for (int i = 0; i < n_listed; i++)
        if (!strcmp(listed[i].name, name)) return &listed[i];
    return NULL;
}

/* A line each for what is not as the list has it; then counts. */
static int judge(double seconds) {
    static const char *const fates[] = {"in no spec", "never different", "not caught", "caught"};
    int n_of[4] = {0}, n_passed = 0, n_failed = (int)report->n_broken;
    for (int i = 0; i < report->n; i++) {
        const struct mutant *m = &report->mutants[i];
        if (!strstr(m->name, of)) continue;
        struct listed *l = find_listed(m->name);
        bool is_caught = m->fate == CAUGHT;
        n_of[m->fate]++;
        if (l) l->is_used = true;
        if (is_caught == !l && (is_caught || l->has_proof)) n_passed++;
        else if (l && !is_caught) printf("FAIL mutants: no proof: %s\n", m->name), n_failed++;
        else if (l) printf("FAIL mutants: listed, but caught (%s)\n%s\n", m->why, m->name), n_failed++;
        else printf("FAIL mutants: %s, %ld runs\n%s\n", fates[m->fate], m->n_runs, m->name), n_failed++;
    }
    for (int i = 0; i < n_listed; i++)
        if (!listed[i].is_used && strstr(listed[i].name, of) && !only_kernel)
            printf("FAIL mutants: listed, but there is none\n%s\n", listed[i].name), n_failed++;
    printf(
        "%ld entries, %ld runs of mutants, %.0f s; %d caught, %d survive, %d never different, %d in no spec\n%d passed, %d failed\n",
        report->n_entries, report->n_runs, seconds, n_of[CAUGHT], n_of[SURVIVES], n_of[SAME], n_of[UNSEEN], n_passed,
        n_failed);
    return n_failed != 0 || n_passed == 0;
}

/* The options of a spec's first line, split; how many. */
static int read_options(const char *path, char line[1000], char **options, int most) {
    static const char mark[] = "# args: ";
    FILE *f = fopen(path, "r");
    int n = 0;
    if (!f) die("cannot read", path);
    if (fgets(line, 1000, f) && !strncmp(line, mark, strlen(mark)))
        for (char *at = strtok(line + strlen(mark), " \n"); at && n < most; at = strtok(NULL, " \n")) options[n++] = at;
    fclose(f);
    return n;
}

static void run_specs(char **paths, int n_paths, const struct machine *machine, bool *is_list) {
    int n_blocks = 0;
    n_entries = 0;
    for (int i = 0; i < n_paths; i++) {
        char *arguments[64] = {"fxc", "test", "--device=" DEVICE}, line[1000]; /* what the command would be given */
        struct command cmd;
        struct spec spec = {0};
        int n = 3 + read_options(paths[i], line, arguments + 3, 60);
        arguments[n++] = paths[i];
        if (command_parse(n, arguments, &cmd) != FX_OK || spec_read(paths[i], &spec) != FX_OK ||
            act_on_blocks(&cmd, &spec, machine, false, &n_blocks, run_block, is_list) != FX_OK)
            die("cannot run", paths[i]);
        while (n_running > 0) wait_for_one();
        write_so_far();
        spec_release(&spec);
        command_release(&cmd);
    }
}

int main(int argc, char **argv) {
    char *arguments[] = {"fxc", "test", "--device=" DEVICE};
    const char *survivors = NULL;
    struct command cmd;
    struct machine machine;
    int n_paths = 0;
    bool is_list = false;
    for (int i = 1; i < argc; i++) {
        bool has_more = i + 1 < argc;
        if (!strcmp(argv[i], "--of") && has_more) of = argv[++i];
        else if (!strcmp(argv[i], "--kernel") && has_more) only_kernel = argv[++i];
        else if (!strcmp(argv[i], "--survivors") && has_more) survivors = argv[++i];
        else if (!strcmp(argv[i], "--so-far") && has_more) so_far = argv[++i];
        else if (!strcmp(argv[i], "--jobs") && has_more) n_jobs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--list")) is_list = true;
        else if (!strcmp(argv[i], "--all-variants")) takes_all = true;
        else if (!strcmp(argv[i], "--watched")) is_seen_alone = true;
        else if (argv[i][0] != '-') argv[n_paths++] = argv[i];
        else
            return fprintf(stderr,
                       "usage: mutants [--of TEXT] [--kernel NAME] [--survivors FILE] [--so-far FILE] [--jobs N] [--all-variants] [--watched] [--list] SPEC...\n"),
                   2;
    }
    double start = now();
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED) die("out of memory", "report");
    read_so_far();
    setenv("FX_CACHE", "off", 1);
    for (int i = 0; i < N_PIECES; i++) find_items(pieces[i].file, pieces[i].text);
    struct text unused = {0};
    for (int i = 0; i < n_items; i++) {
        struct scan scan = {0};
        if (is_subject(items[i].file, items[i].name))
            add_lines(&unused, items[i].file, items[i].name, items[i].text, items[i].text + items[i].n, &scan);
    }
    free(unused.at);
    if (survivors) read_list(survivors);
    if (command_parse(3, arguments, &cmd) != FX_OK) return 2;
    machine_open(&cmd, &machine);
    if (!machine.context) die("no emulator", machine.no_gpu);
    if (!is_seen_alone) run_specs(argv, n_paths, &machine, &is_list);
    fprintf(stderr, "all specs: %ld runs, %.0f s\n", report->n_runs, now() - start);
    is_watched = true;
    if (fx_emulate(&(struct fx_emulation){.sm_count = SM_COUNT, .is_watched = true}) != FX_OK)
        die("no emulator", "watched");
    if (!is_list) run_specs(argv, n_paths, &machine, &is_list);
    for (int i = 0; is_list && i < report->n; i++) printf("%s\n", report->mutants[i].name);
    return is_list ? 0 : judge(now() - start);
}
