/* The database of tuned choices, by SQLite, which is opened at run time as CUDA is. fx is built without it, and if it
 * is not found there are no rows. In: a file, a kernel. Out: rows, each checked against the kernel it is read for. Rows
 * name entries, so a plan without such an entry ignores the row. Invariant: no row makes a call fail.
 *
 * SQLite is used instead of a file format of our own because several processes write at once, a crash keeps the old
 * contents, damage is detected, and people can look into it. Its journal is the default one, which works on any file
 * system. A write is one row. */
#include "lib/tuning.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ROW = 100, DONE = 101 };                             /* of sqlite3.h */
enum { OPEN_READONLY = 1, OPEN_READWRITE = 2, OPEN_CREATE = 4 };    /* likewise */
enum { SCHEMA_VERSION = 1, WAIT_MILLISECONDS = 2000, MOST_ROWS = 4096, MOST_STEPS = 20000000 };

static struct sqlite_table {
#define SQLITE(name, result, parameters) result(*name) parameters;
#include "lib/sqlite.def"
#undef SQLITE
} sqlite;
static char sqlite_missing[256]; /* why it is not there; "": it is */
static pthread_once_t sqlite_once = PTHREAD_ONCE_INIT;

static void find_sqlite(void) {
    const char *own = secure_getenv("FX_LIBSQLITE");
    void *lib = dlopen(own && *own ? own : "libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        snprintf(sqlite_missing, sizeof sqlite_missing, "SQLite is not found (%s): install libsqlite3-0", dlerror());
        return;
    }
#define SQLITE(name, result, parameters)                                                                   \
    *(void **)&sqlite.name = dlsym(lib, #name);                                                            \
    if (!sqlite.name) snprintf(sqlite_missing, sizeof sqlite_missing, "this SQLite has no %s", #name);
#include "lib/sqlite.def"
#undef SQLITE
}

/* ---- the file ---- */

static const char schema[] =
    "PRAGMA user_version = 1;"
    "CREATE TABLE IF NOT EXISTS choice("
    "kernel_hash INTEGER NOT NULL, device TEXT NOT NULL, extents TEXT NOT NULL, version TEXT NOT NULL, kernel TEXT, "
    "partition TEXT, entries TEXT NOT NULL, us REAL, plans_us REAL, predicted_us REAL, tuned_at TEXT, "
    "PRIMARY KEY(kernel_hash, device, extents, version))";

static bool run(void *db, const char *sql) { return sqlite.sqlite3_exec(db, sql, NULL, NULL, NULL) == OK; }

static int64_t number_of(void *db, const char *sql) {
    void *statement = NULL;
    int64_t v = -1;
    if (sqlite.sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == OK && sqlite.sqlite3_step(statement) == ROW)
        v = sqlite.sqlite3_column_int64(statement, 0);
    sqlite.sqlite3_finalize(statement);
    return v;
}

/* A table may be a view that never ends. */
static int stop(void *unused) {
    (void)unused;
    return 1;
}

/* NULL with why_not: there is none, or it is not ours. */
static void *open_database(const char *path, bool writes, char *why_not, size_t size) {
    void *db = NULL;
    *why_not = 0;
    pthread_once(&sqlite_once, find_sqlite);
    if (*sqlite_missing) return snprintf(why_not, size, "%s", sqlite_missing), NULL;
    if (writes && strchr(path, '/')) make_folders(path, strrchr(path, '/'));
    int code = sqlite.sqlite3_open_v2(path, &db, writes ? OPEN_READWRITE | OPEN_CREATE : OPEN_READONLY, NULL);
    if (code == OK) sqlite.sqlite3_busy_timeout(db, WAIT_MILLISECONDS);
    if (code == OK) sqlite.sqlite3_progress_handler(db, MOST_STEPS, stop, NULL);
    int64_t version = code == OK ? number_of(db, "PRAGMA user_version") : -1;
    if (version == 0 && writes) version = run(db, schema) ? SCHEMA_VERSION : -1;
    if (version == SCHEMA_VERSION) return db;
    if (version > 0) snprintf(why_not, size, "%s is of another version, %lld", path, (long long)version);
    else if (version == 0) snprintf(why_not, size, "%s is empty", path);
    else snprintf(why_not, size, "%s: %s", path, db ? sqlite.sqlite3_errmsg(db) : "out of memory");
    sqlite.sqlite3_close_v2(db);
    return NULL;
}

/* ---- keys ---- */

static bool is_of_a_part(const struct fx_kernel *k, int extent) {
    for (int e = 0; e < extent; e++)
        if (strcmp(k->extents[e].name, k->extents[extent].name) == 0) return true;
    return false;
}

/* What was written to a stream of open_memstream, which is closed; NULL: out of memory. */
static char *text_of_stream(FILE *to, char **text) {
    const bool is_whole = !ferror(to);
    if (fclose(to) == 0 && is_whole) return *text;
    free(*text);
    return NULL;
}

/* "M=300,K=4104"; malloc'ed. */
static char *extents_text(const struct fx_kernel *k, const int64_t *extents) {
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) return NULL;
    const char *before = "";
    for (int e = 0; e < k->n_extents; e++) {
        if (is_of_a_part(k, e)) continue;
        fprintf(to, "%s%s=%lld", before, k->extents[e].name, (long long)extents[e]);
        before = ",";
    }
    return text_of_stream(to, &text);
}

static char *entries_text(const struct fx_kernel *k, int partition, const int *variants) {
    const struct fx_partition p = fx_get_partition(k, partition);
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) return NULL;
    for (int i = 0; i < p.n_launches; i++)
        fprintf(to, "%s%s", i ? "," : "", k->launches[p.first_launch + i].variants[variants[i]].entry);
    return text_of_stream(to, &text);
}

/* Whether the text, of any bytes, gives every extent of the kernel its value. */
static bool read_extents(const struct fx_kernel *k, const char *text, int64_t *extents) {
    for (int e = 0; e < k->n_extents; e++) extents[e] = -1;
    for (int e = 0; e < k->n_extents; e++) {
        size_t n = strlen(k->extents[e].name);
        if (is_of_a_part(k, e)) continue;
        char *end;
        if (strncmp(text, k->extents[e].name, n) != 0 || text[n] != '=' || text[n + 1] < '0' || text[n + 1] > '9')
            return false;
        extents[e] = strtoll(text + n + 1, &end, 10);
        if (*end != ',' && *end) return false;
        text = *end ? end + 1 : end;
    }
    return !*text;
}

/* The variant of l whose entry stands next in the text; -1: it has none of that name. */
static int read_variant(const struct fx_launch *l, const char **text) {
    size_t n = strcspn(*text, ",");
    int found = -1;
    for (int v = 0; v < l->n_variants; v++)
        if (strlen(l->variants[v].entry) == n && memcmp(l->variants[v].entry, *text, n) == 0) found = v;
    *text += n + ((*text)[n] == ',');
    return found;
}

/* The partition of which each launch has an entry of that name. */
static bool read_entries(const struct fx_kernel *k, const char *entries, struct tuned_way *w) {
    for (w->partition = 0; w->partition < fx_partition_count(k); w->partition++) {
        const struct fx_partition p = fx_get_partition(k, w->partition);
        const char *text = entries;
        bool fits = p.n_launches > 0;
        for (int i = 0; fits && i < p.n_launches; i++)
            fits = (w->variants[i] = read_variant(&k->launches[p.first_launch + i], &text)) >= 0;
        if (fits && !*text) return true;
    }
    return false;
}

/* Whether every launch takes the way's variant at its extents, before there are arguments. */
static bool is_taken(const struct fx_kernel *k, const struct tuned_way *w, int sm_count) {
    const struct fx_partition p = fx_get_partition(k, w->partition);
    int64_t extents[FX_MAX_EXTENTS];
    char message[256];
    memcpy(extents, w->extents, sizeof extents);
    if (fx_solve_extents(k, extents, message, sizeof message) != FX_OK) return false;
    const struct fx_env env = {.extents = extents, .sm_count = sm_count};
    for (int i = 0; i < p.n_launches; i++)
        if (!fx_expr_holds(&k->launches[p.first_launch + i].variants[w->variants[i]].needs, &env)) return false;
    return true;
}

/* ---- reading and writing ---- */

static void read_rows(
    void *db, const struct fx_kernel *k, const char *device, int sm_count, struct tuned_way **rows, int *n) {
    static const char sql[] =
        "SELECT extents, entries FROM choice WHERE kernel_hash = ?1 AND device = ?2 AND version = ?3";
    void *statement = NULL;
    struct tuned_way w;
    bool is_ready = sqlite.sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == OK &&
                    sqlite.sqlite3_bind_int64(statement, 1, (int64_t)k->text_hash) == OK &&
                    sqlite.sqlite3_bind_text(statement, 2, device, -1, NULL) == OK &&
                    sqlite.sqlite3_bind_text(statement, 3, FX_VERSION, -1, NULL) == OK;
    for (int read = 0; is_ready && read < MOST_ROWS && sqlite.sqlite3_step(statement) == ROW; read++) {
        const char *extents = (const char *)sqlite.sqlite3_column_text(statement, 0),
                   *entries = (const char *)sqlite.sqlite3_column_text(statement, 1);
        if (!extents || !entries || !read_extents(k, extents, w.extents) || !read_entries(k, entries, &w)) continue;
        if (!is_taken(k, &w, sm_count)) continue;
        struct tuned_way *more = realloc(*rows, (size_t)(*n + 1) * sizeof *more);
        if (!more) break;
        *rows = more;
        more[(*n)++] = w;
    }
    sqlite.sqlite3_finalize(statement);
}

void tuning_load(
    const char *path, const struct fx_kernel *k, const char *device, int sm_count, struct tuned_way **rows, int *n) {
    char why_not[256]; /* which a call says nothing of */
    *rows = NULL, *n = 0;
    void *db = open_database(path, false, why_not, sizeof why_not);
    if (!db) return;
    read_rows(db, k, device, sm_count, rows, n);
    sqlite.sqlite3_close_v2(db);
}

const struct tuned_way *tuning_find(
    const struct tuned_way *rows, int n, const struct fx_kernel *k, const int64_t *extents) {
    for (int i = 0; i < n; i++) {
        bool fits = true;
        for (int e = 0; fits && e < k->n_extents; e++)
            fits = rows[i].extents[e] < 0 || rows[i].extents[e] == extents[e];
        if (fits) return &rows[i];
    }
    return NULL;
}

static bool write_row(void *db, const struct tuning_row *r, const char *extents, const char *entries) {
    static const char sql[] =
        "INSERT OR REPLACE INTO choice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, datetime('now'))";
    const struct fx_partition p = fx_get_partition(r->kernel, r->partition);
    const char *texts[] = {r->device, extents, FX_VERSION, r->kernel->name, p.name ? p.name : "", entries};
    const double times[] = {r->us, r->plans_us, r->predicted_us};
    void *statement = NULL;
    bool is_written = sqlite.sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == OK &&
                      sqlite.sqlite3_bind_int64(statement, 1, (int64_t)r->kernel->text_hash) == OK;
    for (int i = 0; is_written && i < 6; i++)
        is_written = sqlite.sqlite3_bind_text(statement, 2 + i, texts[i], -1, NULL) == OK;
    for (int i = 0; is_written && i < 3; i++)
        is_written = sqlite.sqlite3_bind_double(statement, 8 + i, times[i]) == OK;
    is_written = is_written && sqlite.sqlite3_step(statement) == DONE;
    sqlite.sqlite3_finalize(statement);
    return is_written;
}

fx_status tuning_store(const char *path, const struct tuning_row *row) {
    char why_not[512];
    void *db = open_database(path, true, why_not, sizeof why_not);
    if (!db) return error_set(*sqlite_missing ? FX_ERR_TOOLCHAIN : FX_ERR_IO, "%s", why_not);
    char *extents = extents_text(row->kernel, row->extents),
         *entries = entries_text(row->kernel, row->partition, row->variants);
    fx_status status = extents && entries ? FX_OK : error_nomem();
    if (status == FX_OK && !write_row(db, row, extents, entries))
        status = error_set(FX_ERR_IO, "%s: %s", path, sqlite.sqlite3_errmsg(db));
    free(extents);
    free(entries);
    sqlite.sqlite3_close_v2(db);
    return status;
}

void tuning_describe(const char *path, char *text, size_t size) {
    void *db = open_database(path, false, text, size);
    if (!db) return;
    const int64_t n = number_of(db, "SELECT count(*) FROM choice");
    if (n >= 0) snprintf(text, size, "%s, %lld rows", path, (long long)n);
    else snprintf(text, size, "%s: %s", path, sqlite.sqlite3_errmsg(db));
    sqlite.sqlite3_close_v2(db);
}
