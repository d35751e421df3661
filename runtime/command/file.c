/* Whole files in and out. Input: a path. Output: bytes, or a file written completely or not at all: a temporary file
 * beside it is renamed over it, and removed on failure and when a signal ends the command. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

size_t memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX / 2;
}

/* ---- reading ---- */

static fx_status cannot(const char *what, const char *path) {
    return complain(FX_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Reads to the end, at most one byte beyond limit, and not on from what does not begin so. False with errno set. */
static bool read_all(int fd, size_t limit, const char *begins, char **bytes, size_t *n) {
    size_t room = 0;
    for (*bytes = NULL, *n = 0;;) {
        if (*n + 1 >= room) {
            room = room ? room * 2 : 1 << 16;
            char *more = realloc(*bytes, room);
            if (!more) return false;
            *bytes = more;
        }
        size_t want = room - 1 - *n < limit + 1 - *n ? room - 1 - *n : limit + 1 - *n;
        ssize_t got = read(fd, *bytes + *n, want);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        *n += (size_t)got;
        (*bytes)[*n] = 0;
        const bool is_other = begins && *n >= strlen(begins) && memcmp(*bytes, begins, strlen(begins)) != 0;
        if (got == 0 || *n > limit || is_other) return true;
    }
}

/* Reads fd to its end. FX_ERR_IO with errno set, or 0 there for a file beyond the limit. */
static fx_status read_open(int fd, size_t limit, const char *begins, char **bytes, size_t *n) {
    bool is_read = read_all(fd, limit, begins, bytes, n);
    int error = is_read ? 0 : errno;
    if (is_read && *n <= limit) return FX_OK;
    free(*bytes);
    *bytes = NULL;
    errno = error;
    return FX_ERR_IO;
}

/* Closes fd, errno as it was. */
static void close_quietly(int fd) {
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
}

/* Opens a file below the folder, component by component: no `..`, no link, so that nothing leads out of it, whoever
 * changes what is there meanwhile. Never waits for a writer of a pipe. */
static int open_beneath(const char *folder, const char *path) {
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0) {
        char name[NAME_MAX + 1];
        path += strspn(path, "/");
        size_t n = strcspn(path, "/");
        bool is_last = !path[n], is_up = n == 2 && path[0] == '.' && path[1] == '.';
        int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY, next = -1;
        if (n > NAME_MAX) errno = ENAMETOOLONG;
        else if (is_up) errno = EXDEV;
        else {
            snprintf(name, sizeof name, "%.*s", n ? (int)n : 1, n ? path : ".");
            next = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
        }
        close_quietly(at);
        if (is_last) return next;
        at = next;
        path += n;
    }
    return -1;
}

fx_status read_beneath(const char *folder, const char *path, size_t limit, char **bytes, size_t *n) {
    struct stat st;
    fx_status status = FX_ERR_IO;
    int fd = *path == '/' ? (errno = EXDEV, -1) : open_beneath(folder, path);
    *bytes = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (S_ISREG(st.st_mode)) status = read_open(fd, limit, NULL, bytes, n);
        else errno = EINVAL;
    }
    close_quietly(fd);
    return status;
}

fx_status read_whole(const char *path, size_t limit, const char *begins, char **bytes, size_t *n) {
    bool is_stdin = !strcmp(path, "-");
    const char *shown = is_stdin ? "stdin" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *bytes = NULL;
    if (fd < 0) return cannot("read", shown);
    fx_status status = read_open(fd, limit, begins, bytes, n);
    if (!is_stdin) close_quietly(fd);
    if (status == FX_OK) return FX_OK;
    return errno ? cannot("read", shown) : complain(status, "%s is larger than %zu bytes", shown, limit);
}

/* ---- writing ---- */

static char temporary[PATH_MAX + 16];          /* the file that a signal must remove */
static volatile sig_atomic_t has_temporary;

static void remove_temporary(int signal_number) {
    if (has_temporary) unlink(temporary);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old, new = {.sa_handler = remove_temporary};
        /* What the parent chose to ignore (nohup) stays ignored. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(signals[i], &new, NULL);
    }
}

static bool write_all(int fd, const struct text_piece *pieces, int n_pieces) {
    for (int i = 0; i < n_pieces; i++) {
        const char *at = pieces[i].data;
        for (size_t left = pieces[i].n_bytes; left > 0;) {
            ssize_t n = write(fd, at, left > 1 << 30 ? 1 << 30 : left);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return false;
            at += n;
            left -= (size_t)n;
        }
    }
    return true;
}

bool writes_to_terminal(const char *path) { return !strcmp(path, "-") && isatty(STDOUT_FILENO); }

/* Stdout, a device or a pipe: nothing to rename over. */
static fx_status write_stream(const char *path, const struct text_piece *pieces, int n_pieces) {
    bool is_stdout = !strcmp(path, "-");
    int fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return cannot("write", path);
    fx_status status = FX_OK;
    if (is_stdout) fflush(stdout);
    if (!write_all(fd, pieces, n_pieces)) status = cannot("write", is_stdout ? "stdout" : path);
    if (!is_stdout && close(fd) != 0 && status == FX_OK) status = cannot("write", path);
    return status;
}

static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Writes beside `path`, a regular file or none, then renames. */
static fx_status write_renamed(const char *path, mode_t mode, const struct text_piece *pieces, int n_pieces) {
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return complain(FX_ERR_IO, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
    watch_signals();
    sigset_t all, before;
    sigfillset(&all);
    /* Between the file's birth and the note of it no signal may come. */
    sigprocmask(SIG_BLOCK, &all, &before);
    int fd = mkstemp(temporary);
    has_temporary = fd >= 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (fd < 0) return cannot("write", path);
    bool is_written = write_all(fd, pieces, n_pieces) && fchmod(fd, mode) == 0;
    int error = errno;
    if (close(fd) != 0 && is_written) is_written = false, error = errno;
    if (is_written && rename(temporary, path) != 0) is_written = false, error = errno;
    if (!is_written) unlink(temporary);
    has_temporary = 0;
    errno = error;
    return is_written ? FX_OK : cannot("write", path);
}

fx_status write_whole(const char *path, const struct text_piece *pieces, int n_pieces) {
    struct stat st;
    char real[PATH_MAX];
    if (!strcmp(path, "-")) return write_stream(path, pieces, n_pieces);
    if (stat(path, &st) != 0) return write_renamed(path, default_mode(), pieces, n_pieces);
    if (!S_ISREG(st.st_mode)) return write_stream(path, pieces, n_pieces);
    /* Through a link, as a plain open would: the link stays. */
    if (!realpath(path, real)) return cannot("write", path);
    return write_renamed(real, st.st_mode & 07777, pieces, n_pieces);
}
