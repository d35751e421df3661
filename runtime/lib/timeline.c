/* FX_TRACE=FILE: events of this process with times, as a chrome trace. In: events that have just ended. Out: a JSON
 * array of complete events, which chrome://tracing and Perfetto open. Invariant: the file is complete after every
 * event, so that it is valid JSON however the process ends. Nothing is allocated for an event, and it waits only for
 * the lock. No failure reaches the caller: if the file cannot be written there is no trace. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/runtime.h"

enum { EVENT_BYTES = 8192, MOST_TEXT = 120, MOST_STAGES = 32 };

atomic_int timeline_state = TIMELINE_UNKNOWN;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static off_t at;      /* where the array's end stands, which the next event takes the place of */
static pid_t owner;   /* a child has the file, but not its place in it */
static char why_not[PATH_MAX + 128]; /* constant once the state is OFF */

/* ---- one event as text ---- */

struct timeline_line { /* with room for the longest: nine members of texts that are all escapes */
    char text[EVENT_BYTES];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct timeline_line *l, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof l->text - l->n) l->n += (size_t)n;
}

/* Of a long text the end, which tells files apart. */
static void put_text(struct timeline_line *l, const char *s) {
    size_t n = strlen(s);
    for (s += n > MOST_TEXT ? n - MOST_TEXT : 0; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < ' ') put(l, "\\u%04x", c);
        else put(l, "%c", c < 0x7f ? c : '?');
    }
}

static void put_member(struct timeline_line *l, const struct timeline_arg *a, bool is_first) {
    put(l, "%s\"%s\":", is_first ? "" : ",", a->key);
    if (!a->text) {
        put(l, "%lld", (long long)a->number);
        return;
    }
    put(l, "\"");
    put_text(l, a->text);
    put(l, "\"");
}

/* ---- the file ---- */

static const char array_end[] = "\n]\n";

static bool write_at(const char *s, size_t n, off_t where) {
    while (n) {
        ssize_t done = pwrite(file, s, n, where);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = ENOSPC;
        if (done <= 0) return false;
        s += done, n -= (size_t)done, where += done;
    }
    return true;
}

static void cannot_write(void) {
    int error = errno;
    const char *given = secure_getenv("FX_TRACE");
    snprintf(why_not, sizeof why_not, "cannot write %s: %s", given ? given : "the file", strerror(error));
}

/* With the array's end behind it; under the lock. False on a disk that is full, which ends the trace with the last
 * event that fits. */
static bool append(struct timeline_line *l) {
    size_t n = l->n;
    put(l, "%s", array_end);
    if (write_at(l->text, l->n, at)) {
        at += (off_t)n;
        return true;
    }
    cannot_write();
    if (ftruncate(file, at) == 0) (void)write_at(array_end, sizeof array_end - 1, at);
    return false;
}

/* %p is the number of the process. */
static bool make_path(const char *given, char path[PATH_MAX]) {
    const char *place = strstr(given, "%p");
    int n = place ? snprintf(path, PATH_MAX, "%.*s%d%s", (int)(place - given), given, (int)getpid(), place + 2)
                  : snprintf(path, PATH_MAX, "%s", given);
    return n >= 0 && n < PATH_MAX;
}

static bool begin_file(void) {
    char path[PATH_MAX];
    const char *given = secure_getenv("FX_TRACE");
    struct timeline_line l = {.n = 0};
    if (!given || !*given) return false;
    if (!make_path(given, path)) errno = ENAMETOOLONG;
    else file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        cannot_write();
        return false;
    }
    owner = getpid();
    put(&l, "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"fx\"}}", (int)owner,
        (int)owner);
    return append(&l);
}

/* The state last: other threads wait for it, and where it says OFF they ask no more. */
static void find_out(void) { atomic_store(&timeline_state, begin_file() ? TIMELINE_ON : TIMELINE_OFF); }

/* ---- for the others ---- */

uint64_t timeline_now(void) {
    struct timespec t;
    pthread_once(&once, find_out);
    if (atomic_load(&timeline_state) != TIMELINE_ON || clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + 1;
}

void timeline_end(uint64_t began, const char *what, const char *of, const struct timeline_arg *args, int n_args) {
    struct timeline_line l = {.n = 0};
    uint64_t now = began ? timeline_now() : 0;
    if (!now || getpid() != owner) return;
    put(&l, ",\n{\"name\":\"%s", what);
    if (*of) put(&l, " ");
    put_text(&l, of);
    put(&l, "\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%llu.%03u,\"dur\":%llu.%03u,\"pid\":%d,\"tid\":%ld,\"args\":{", what,
        (unsigned long long)(began / 1000), (unsigned)(began % 1000), (unsigned long long)((now - began) / 1000),
        (unsigned)((now - began) % 1000), (int)owner, syscall(SYS_gettid));
    for (int i = 0; i < n_args; i++) put_member(&l, &args[i], i == 0);
    put(&l, "}}");
    pthread_mutex_lock(&lock);
    if (atomic_load(&timeline_state) == TIMELINE_ON && !append(&l)) atomic_store(&timeline_state, TIMELINE_OFF);
    pthread_mutex_unlock(&lock);
}

bool fx_trace_is_on(const char **why) {
    pthread_once(&once, find_out);
    bool is_on = atomic_load(&timeline_state) == TIMELINE_ON;
    if (why) *why = is_on ? "" : why_not;
    return is_on;
}

/* ---- stages of the compiler ----
 *
 * They nest, and where memory runs out in one only the outermost is said to be over. */

static _Thread_local struct { const char *name; uint64_t began; } stages[MOST_STAGES];
static _Thread_local int n_stages;

void fx_trace_stage(void *unused, const char *stage, const char *of, bool is_over) {
    (void)unused;
    uint64_t now = timeline_begin();
    if (!now || !stage) return;
    if (!is_over) {
        if (n_stages < MOST_STAGES) stages[n_stages].name = stage, stages[n_stages].began = now;
        n_stages++;
        return;
    }
    while (n_stages > 0) {
        int i = --n_stages;
        if (i >= MOST_STAGES || strcmp(stages[i].name, stage) != 0) continue;
        timeline_end(stages[i].began, stage, of ? of : "", NULL, 0);
        return;
    }
}
