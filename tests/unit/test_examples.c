/* The examples of examples/FOLDER/, each beside the same computation written out by hand in tests/examples/FOLDER/: no
 * prelude function, other labels, operands commuted, statements in another order. A compiler that goes by structure
 * makes the same kernels of both.
 *
 * In: tests/examples/FOLDER.txt, a row a kernel: `file kernel kernels drivers`, drivers separated by commas in the
 * order of the launches, phases of one launch joined by `+`. Held to it: both forms take that many launches by those
 * drivers, whatever their order by hand; parameters have the same names and types; every output agrees by the oracle on
 * the data of the test blocks that are small enough, one at least; every kernel has a test block, every file a bench
 * block too; the tables leave out no file and no kernel. tests/examples/FOLDER/wrong/FILE-MISTAKE.fx has kernels of an
 * example with a mistake that was once made: on some small test block each must give a value that the block's tolerance
 * refuses. Where tests/examples/FOLDER/FILE.values gives values, printed by whom the example comes from, both forms
 * give them by the oracle. */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "pair.h"
#include "suite.h"
#include "values_check.h"

enum {
    MAX_ROWS = 512,
    MAX_ELEMENTS = 1024,      /* of an output that are compared */
    MAX_WORK = 1 << 17,       /* of a block that is compared: its two largest extents, one by the other */
};

static struct row { /* of a table */
    char folder[64], file[64], kernel[64], drivers[256];
    int n_launches;
} rows[MAX_ROWS];
static int n_rows;
static struct values *printed[64]; /* of the folders, in the order of the tables */
static int n_printed;
static char wrong_row[600]; /* what no table may say, reported by a test */

/* ---- the tables ---- */

static bool ends_in(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n > m && strcmp(s + n - m, tail) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static struct mistake { /* a file of wrong/ */
    char folder[64], name[128]; /* "s1_03_fold-bias.fx" */
} mistakes[MAX_ROWS];
static int n_mistakes;

static void free_entries(struct dirent **entries, int n) {
    for (int i = 0; i < n; i++) free(entries[i]);
    if (n >= 0) free(entries);
}

static void find_mistakes(const char *folder) {
    char path[300];
    struct dirent **entries;
    snprintf(path, sizeof path, "tests/examples/%.200s/wrong", folder);
    int n = scandir(path, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (!ends_in(entries[i]->d_name, ".fx") || n_mistakes == MAX_ROWS) continue;
        struct mistake *m = &mistakes[n_mistakes++];
        snprintf(m->folder, sizeof m->folder, "%.63s", folder),
            snprintf(m->name, sizeof m->name, "%.127s", entries[i]->d_name);
    }
    free_entries(entries, n);
}

static void read_table(const char *name) {
    char path[300], line[512];
    snprintf(path, sizeof path, "tests/examples/%s", name);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        struct row *r = &rows[n_rows];
        if (*line == '#' || *line == '\n') continue;
        if (n_rows == MAX_ROWS ||
            sscanf(line, "%63s %63s %d %255s", r->file, r->kernel, &r->n_launches, r->drivers) != 4) {
            snprintf(wrong_row, sizeof wrong_row, "%.80s: no row: %.500s", path, line);
            break;
        }
        snprintf(r->folder, sizeof r->folder, "%.*s", (int)(strlen(name) - 4), name);
        for (char *at = r->drivers; (at = strchr(at, ','));) *at = ' ';
        n_rows++;
    }
    if (f) fclose(f);
    snprintf(path, sizeof path, "tests/examples/%.*s", (int)(strlen(name) - 4), name);
    printed[n_printed] = calloc(1, sizeof *printed[0]);
    values_read(printed[n_printed++], strdup(path)); /* which keeps the name of the folder */
    find_mistakes(path + strlen("tests/examples/"));
}


static void read_tables(void) {
    struct dirent **entries;
    int n = scandir("tests/examples", &entries, NULL, by_name);
    for (int i = 0; i < n; i++)
        if (ends_in(entries[i]->d_name, ".txt")) read_table(entries[i]->d_name);
    free_entries(entries, n);
}

static const char *path_of(const struct row *r, bool is_by_hand) {
    static char paths[2][300];
    snprintf(paths[is_by_hand], sizeof *paths, "%s/%s/%s.fx", is_by_hand ? "tests/examples" : "examples", r->folder,
        r->file);
    return paths[is_by_hand];
}

/* ---- the same kernels ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Words in alphabetical order. */
static void sort_words(char *text) {
    char copy[256], *words[FX_MAX_LAUNCHES];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) words[n++] = word;
    qsort(words, (size_t)n, sizeof *words, by_text);
    *text = '\0';
    for (int i = 0; i < n; i++) strcat(strcat(text, *text ? " " : ""), words[i]);
}

START_TEST(same_kernels) {
    const struct row *r = &rows[_i];
    for (int side = 0; side < 2; side++) {
        struct spec spec;
        char got[512], want[256];
        ck_assert_int_eq(spec_read(path_of(r, side), &spec), FX_OK);
        fx_compilation *c = pair_compile(spec.text, spec.path, r->kernel, false);
        int n = pair_drivers(c, r->kernel, side, got, sizeof got);
        ck_assert_msg(fx_get_plan(c) != NULL, "%s: %s is refused:\n%s", spec.path, r->kernel, fx_messages(c));
        snprintf(want, sizeof want, "%s", r->drivers);
        if (side) sort_words(want), sort_words(got);
        ck_assert_msg(n == r->n_launches && strcmp(got, want) == 0,
            "%s: %s takes %d kernels, %s; its row of %s.txt says %d, %s", spec.path, r->kernel, n, got, r->folder,
            r->n_launches, want);
        fx_close(c);
        spec_release(&spec);
    }
}
END_TEST

/* ---- the same values ---- */

struct pairing { /* of the blocks of one kernel */
    const struct row *row;
    struct spec by_hand;
    int n_compared, n_finite; /* blocks; elements whose error has a bound */
};

/* Whether the oracle can afford the block; what is left out is run on a GPU. */
static bool is_small(const struct request *r) {
    double largest[2] = {1, 1};
    for (int i = 0; i < r->n_extents; i++) {
        double v = atof(strchr(r->extents[i], '=') + 1);
        if (v > largest[0]) largest[1] = largest[0], largest[0] = v;
        else if (v > largest[1]) largest[1] = v;
    }
    return largest[0] * largest[1] <= MAX_WORK;
}

/* The labels of the second kernel that stand where the first has labels, "LABEL=N" with the extents of the job. */
static int extents_by_place(
    const struct job *job, const struct fx_kernel *other, char texts[][96], const char **extents) {
    int n = 0;
    for (int p = 0; p < other->n_params; p++)
        for (int i = 0; i < other->params[p].rank; i++) {
            const struct fx_extent *e = &other->extents[other->params[p].extents[i]];
            ck_assert_int_lt(n, FX_MAX_EXTENTS);
            snprintf(texts[n], sizeof texts[n], "%s=%lld", e->name,
                (long long)job->extents[job->kernel->params[p].extents[i]]);
            extents[n] = texts[n];
            n++;
        }
    return n;
}

static void compare_parameters(const char *path, const struct fx_kernel *k, const struct fx_kernel *other) {
    ck_assert_msg(other != NULL, "%s has no kernel %s", path, k->name);
    ck_assert_msg(k->n_params == other->n_params, "%s: %s has %d parameters, the example %d", path, k->name,
        other->n_params, k->n_params);
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *a = &k->params[i], *b = &other->params[i];
        bool is_same = !strcmp(a->name, b->name) && a->dtype == b->dtype && a->rank == b->rank &&
                       a->is_scalar == b->is_scalar && a->is_const == b->is_const && a->is_input == b->is_input &&
                       a->is_output == b->is_output;
        ck_assert_msg(is_same, "%s: parameter %d of %s is not as in the example: %s, there %s", path, i, k->name,
            b->name, a->name);
    }
}

/* At most MAX_ELEMENTS of every output, spread over it. */
static void compare_outputs(const struct job jobs[2], struct pairing *pairing) {
    int64_t elements[MAX_ELEMENTS];
    for (int i = 0; i < jobs[0].n_outputs; i++) {
        const struct argument *a = &jobs[0].arguments[job_output(&jobs[0], i)];
        int64_t all = (int64_t)a->n_elements, n = all < MAX_ELEMENTS ? all : MAX_ELEMENTS;
        double *value[2], *bound[2];
        int64_t *integer[2];
        ck_assert_uint_eq(a->n_elements, jobs[1].arguments[job_output(&jobs[1], i)].n_elements);
        for (int64_t e = 0; e < n; e++) elements[e] = n == 1 ? 0 : e * (all - 1) / (n - 1);
        for (int side = 0; side < 2; side++) {
            value[side] = calloc((size_t)n + 1, 8), bound[side] = calloc((size_t)n + 1, 8),
            integer[side] = calloc((size_t)n + 1, 8);
            ck_assert_int_eq(
                n ? job_evaluate(&jobs[side], i, elements, n, value[side], integer[side], bound[side]) : FX_OK, FX_OK);
        }
        pair_compare(path_of(pairing->row, true), a->param, n, value, integer, bound, &(int){0}, &pairing->n_finite);
        for (int side = 0; side < 2; side++) free(value[side]), free(bound[side]), free(integer[side]);
    }
}

static fx_status compare_block(struct request *r, const struct machine *machine, void *user) {
    struct pairing *pairing = user;
    struct request other = *r;
    struct job jobs[2];
    static char texts[FX_MAX_EXTENTS][96];
    const char *extents[FX_MAX_EXTENTS];
    fx_compilation *c;
    if (!is_small(r)) return FX_OK;
    ck_assert_int_eq(job_open(r, machine, true, &jobs[0]), FX_OK);
    other.spec = &pairing->by_hand;
    ck_assert_int_eq(compile_request(&other, NULL, true, &c), FX_OK);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), pairing->row->kernel);
    compare_parameters(other.spec->path, jobs[0].kernel, k);
    other.extents = extents;
    other.n_extents = extents_by_place(&jobs[0], k, texts, extents);
    ck_assert_msg(job_open(&other, machine, true, &jobs[1]) == FX_OK, "%s, the block on line %d", other.spec->path,
        r->block->line);
    compare_outputs(jobs, pairing);
    pairing->n_compared++;
    fx_close(c);
    job_close(&jobs[0]), job_close(&jobs[1]);
    return FX_OK;
}

START_TEST(same_values) {
    struct pairing pairing = {.row = &rows[_i]};
    struct machine machine = {0};
    struct command cmd;
    struct spec spec;
    int n = 0;
    ck_assert_int_eq(spec_read(path_of(&rows[_i], false), &spec), FX_OK);
    ck_assert_int_eq(spec_read(path_of(&rows[_i], true), &pairing.by_hand), FX_OK);
    ck_assert_int_eq(command_parse(4, (char *[]){"fxc", "test", "-k", rows[_i].kernel, NULL}, &cmd), FX_OK);
    ck_assert_int_eq(act_on_blocks(&cmd, &spec, &machine, false, &n, compare_block, &pairing), FX_OK);
    ck_assert_msg(n > 0, "%s: %s has no test block", spec.path, rows[_i].kernel);
    ck_assert_msg(
        pairing.n_compared > 0, "%s: no test block of %s is small enough to be compared", spec.path, rows[_i].kernel);
    ck_assert_msg(pairing.n_finite > 0, "%s: no element of %s has a bounded error", spec.path, rows[_i].kernel);
    spec_release(&spec), spec_release(&pairing.by_hand);
    command_release(&cmd);
}
END_TEST

/* ---- mistakes ---- */

struct trial { /* of one kernel with a mistake */
    const struct mistake *mistake;
    struct spec wrong;
    int n_blocks, n_refused; /* compared; elements that the tolerance of their block refuses */
};

static int refused_in(const struct job jobs[2], const struct fx_tolerance *tolerance) {
    int n_refused = 0;
    for (int i = 0; i < jobs[0].n_outputs; i++) {
        const struct argument *a = &jobs[0].arguments[job_output(&jobs[0], i)];
        int64_t n = (int64_t)a->n_elements;
        double *value[2], *bound = calloc((size_t)n + 1, 8), largest = 0;
        int64_t *integer = calloc((size_t)n + 1, 8);
        for (int side = 0; side < 2; side++) {
            value[side] = calloc((size_t)n + 1, 8);
            ck_assert_int_eq(
                n ? job_evaluate(&jobs[side], i, NULL, n, value[side], side ? NULL : integer, side ? NULL : bound)
                  : FX_OK,
                FX_OK);
        }
        for (int64_t e = 0; e < n; e++)
            largest = fabs(value[0][e]) > largest && isfinite(value[0][e]) ? fabs(value[0][e]) : largest;
        for (int64_t e = 0; e < n; e++)
            n_refused += !fx_is_within(tolerance, largest, a->shape.dtype, fx_round_to(a->shape.dtype, value[1][e]),
                value[0][e], bound[e], NULL);
        free(value[0]), free(value[1]), free(bound), free(integer);
    }
    return n_refused;
}

static fx_status try_block(struct request *r, const struct machine *machine, void *user) {
    struct trial *t = user;
    struct request wrong = *r;
    struct job jobs[2];
    if (!is_small(r)) return FX_OK;
    wrong.spec = &t->wrong;
    ck_assert_int_eq(job_open(r, machine, true, &jobs[0]), FX_OK);
    ck_assert_int_eq(job_open(&wrong, machine, true, &jobs[1]), FX_OK);
    compare_parameters(t->wrong.path, jobs[0].kernel, jobs[1].kernel);
    t->n_refused += refused_in(jobs, &r->block->tolerance);
    t->n_blocks++;
    job_close(&jobs[0]), job_close(&jobs[1]);
    return FX_OK;
}

/* Every kernel of the file; labels are those of the example. */
START_TEST(mistakes_are_refused) {
    const struct mistake *m = &mistakes[_i];
    struct trial trial = {.mistake = m};
    struct machine machine = {0};
    struct fx_options options = FX_OPTIONS;
    struct spec spec;
    fx_compilation *c;
    char path[2][400];
    snprintf(path[0], sizeof *path, "examples/%s/%.*s.fx", m->folder, (int)strcspn(m->name, "-"), m->name);
    snprintf(path[1], sizeof *path, "tests/examples/%s/wrong/%s", m->folder, m->name);
    ck_assert_int_eq(spec_read(path[0], &spec), FX_OK);
    ck_assert_int_eq(spec_read(path[1], &trial.wrong), FX_OK);
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(trial.wrong.text, trial.wrong.n_bytes, path[1], &options, &c), FX_OK);
    ck_assert_int_gt(fx_get_plan(c)->n_kernels, 0);
    for (int k = 0; k < fx_get_plan(c)->n_kernels; k++) {
        struct command cmd;
        const char *kernel = fx_get_plan(c)->kernels[k].name;
        int n = 0;
        trial.n_refused = trial.n_blocks = 0;
        ck_assert_int_eq(command_parse(4, (char *[]){"fxc", "test", "-k", (char *)kernel, NULL}, &cmd), FX_OK);
        ck_assert_int_eq(act_on_blocks(&cmd, &spec, &machine, false, &n, try_block, &trial), FX_OK);
        ck_assert_msg(trial.n_refused > 0, "%s: no small test block of %s refuses %s (%d compared)", path[1], path[0],
            kernel, trial.n_blocks);
        command_release(&cmd);
    }
    fx_close(c);
    spec_release(&spec), spec_release(&trial.wrong);
}
END_TEST

/* ---- the values that were printed ---- */

START_TEST(printed_values) {
    const struct values *v = printed[_i];
    for (int i = 0; i < v->n_samples; i++) {
        const struct sample *s = v->samples[i];
        const char *name = v->specs[s->spec].name;
        char path[300];
        struct spec spec;
        ck_assert_msg(!s->error[0] && v->specs[s->spec].text, "%s/%s.values, %s", v->folder, name,
            s->error[0] ? s->error : "which no spec stands beside");
        snprintf(path, sizeof path, "%s/%s.fx", v->folder + strlen("tests/"), name);
        ck_assert_int_eq(spec_read(path, &spec), FX_OK);
        fx_compilation *c[2] = {pair_compile(spec.text, path, s->kernel, true),
            pair_compile(v->specs[s->spec].text, name, s->kernel, true)};
        for (int side = 0; side < 2; side++) {
            values_check(c[side], name, s);
            fx_close(c[side]);
        }
        spec_release(&spec);
    }
}
END_TEST

/* ---- nothing is left out ---- */

static int rows_of(const char *folder, const char *file, const char *kernel) {
    int n = 0;
    for (int i = 0; i < n_rows; i++)
        n += !strcmp(rows[i].folder, folder) && !strcmp(rows[i].file, file) &&
             (!kernel || !strcmp(rows[i].kernel, kernel));
    return n;
}

/* Every kernel of the file has one row; the file has tests and benches. */
static void check_file(const char *folder, const char *file) {
    struct row r;
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    struct spec spec;
    int n, n_benches = 0;
    snprintf(r.folder, sizeof r.folder, "%.63s", folder), snprintf(r.file, sizeof r.file, "%.63s", file);
    ck_assert_int_eq(spec_read(path_of(&r, false), &spec), FX_OK);
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(spec.text, spec.n_bytes, spec.path, &options, &c), FX_OK);
    const struct fx_plan *plan = fx_get_plan(c);
    for (int i = 0; i < plan->n_kernels; i++)
        ck_assert_msg(rows_of(folder, file, plan->kernels[i].name) == 1, "%s: %d rows of %s.txt are about %s",
            spec.path, rows_of(folder, file, plan->kernels[i].name), folder, plan->kernels[i].name);
    ck_assert_msg(rows_of(folder, file, NULL) == plan->n_kernels, "%s.txt: %s has a row of a kernel that is not there",
        folder, file);
    const struct fx_test *tests = fx_tests(c, &n);
    for (int i = 0; i < n; i++) n_benches += tests[i].is_bench;
    ck_assert_msg(n_benches > 0 && n > n_benches, "%s: it needs a test block and a bench block", spec.path);
    fx_close(c);
    spec_release(&spec);
}

static int check_folder(const char *folder, bool is_by_hand) {
    char path[300];
    struct dirent **entries;
    int n_files = 0;
    snprintf(path, sizeof path, "%s/%s", is_by_hand ? "tests/examples" : "examples", folder);
    int n = scandir(path, &entries, NULL, by_name);
    ck_assert_msg(n >= 0, "%s is not there", path);
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name;
        if (!ends_in(name, ".fx")) continue;
        name[strlen(name) - 3] = '\0';
        n_files++;
        ck_assert_msg(
            rows_of(folder, name, NULL) > 0, "%s/%s.fx has no row in tests/examples/%s.txt", path, name, folder);
        if (!is_by_hand) check_file(folder, name);
    }
    free_entries(entries, n);
    return n_files;
}

START_TEST(tables_are_complete) {
    struct dirent **entries;
    int n = scandir("examples", &entries, NULL, by_name), n_folders = 0;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (entries[i]->d_type != DT_DIR || name[0] == '.') continue;
        char path[300];
        struct dirent **files;
        int n_specs = 0,
            n_files = (snprintf(path, sizeof path, "examples/%s", name), scandir(path, &files, NULL, by_name));
        for (int f = 0; f < n_files; f++) n_specs += ends_in(files[f]->d_name, ".fx");
        free_entries(files, n_files);
        if (!n_specs) continue;
        n_folders++;
        ck_assert_msg(check_folder(name, false) == check_folder(name, true),
            "examples/%s and tests/examples/%s have not the same files", name, name);
    }
    free_entries(entries, n);
    ck_assert_msg(!*wrong_row, "%s", wrong_row);
    ck_assert_int_gt(n_folders, 0);
    ck_assert_int_gt(n_rows, 0);
}
END_TEST

#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 8 };
#else
enum { SLOWER = 1 };
#endif

int main(void) {
    Suite *s = suite_create("examples");
    TCase *t = tcase_create("by hand");
    read_tables();
    tcase_set_timeout(t, 120 * SLOWER);
    tcase_add_test(t, tables_are_complete);
    tcase_add_loop_test(t, same_kernels, 0, n_rows);
    tcase_add_loop_test(t, same_values, 0, n_rows);
    tcase_add_loop_test(t, mistakes_are_refused, 0, n_mistakes);
    tcase_add_loop_test(t, printed_values, 0, n_printed);
    suite_add_tcase(s, t);
    return run_suite(s);
}
