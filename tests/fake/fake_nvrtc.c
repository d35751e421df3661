/* A stand-in for libnvrtc.so.13: its "image" is the options it was given. Every program and compilation is written to a log, and a
 * test may have any call fail, or the program's log be of any size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_BYTES = 1 << 16 };

struct program {
    char image[1024];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[LOG_BYTES];
static size_t calls_len;
static char failing[64];
static int fails_in, fail_code;
static int n_live;
static size_t log_bytes; /* of a program's log, all 'x' without NUL; 0: none */
static unsigned delay;   /* microseconds a compilation takes */
static int major_version = 13;

void fake_nvrtc_fail(const char *name, int nth, int code) {
    snprintf(failing, sizeof failing, "%s", name);
    fails_in = nth;
    fail_code = code;
}
const char *fake_nvrtc_log(void) { return calls; }
void fake_nvrtc_clear(void) {
    calls_len = 0;
    calls[0] = failing[0] = 0;
}
int fake_nvrtc_live(void) { return n_live; }
void fake_nvrtc_behave(size_t program_log_bytes, unsigned microseconds, int major) {
    log_bytes = program_log_bytes;
    delay = microseconds;
    major_version = major;
}

static int call(const char *name, const char *text) {
    int code = 0;
    pthread_mutex_lock(&lock);
    if (text) {
        int n = snprintf(calls + calls_len, LOG_BYTES - calls_len, "%s%s\n", name, text);
        calls_len = calls_len + (size_t)n < LOG_BYTES ? calls_len + (size_t)n : 0;
    }
    if (!strcmp(name, failing) && --fails_in == 0) code = fail_code;
    pthread_mutex_unlock(&lock);
    return code;
}

#define CALL(text)                       \
    do {                                 \
        int code_ = call(__func__, text); \
        if (code_) return code_;         \
    } while (0)

int nvrtcVersion(int *major, int *minor) { CALL(NULL); *major = major_version; *minor = 0; return 0; }
int nvrtcCreateProgram(
    void **out, const char *source, const char *name, int n, const char *const *headers, const char *const *names) {
    CALL(name);
    if (!source || !name || n || headers || names) return 3;
    if (!(*out = calloc(1, sizeof(struct program)))) return 1;
    __atomic_add_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
    return 0;
}
int nvrtcDestroyProgram(void **program) {
    __atomic_sub_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
    free(*program);
    *program = NULL;
    CALL(NULL);
    return 0;
}
int nvrtcCompileProgram(void *program, int n, const char *const *options) {
    struct program *p = program;
    size_t len = 0;
    for (int i = 0; i < n; i++) len += (size_t)snprintf(p->image + len, sizeof p->image - len, " %s", options[i]);
    if (delay && n) usleep(delay);
    CALL(p->image);
    return 0;
}
int nvrtcGetProgramLogSize(void *program, size_t *n) { (void)program; CALL(NULL); *n = log_bytes; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { (void)program; CALL(NULL); memset(log, 'x', log_bytes); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *n) {
    CALL(NULL);
    *n = strlen(((struct program *)program)->image) + 1;
    return 0;
}
int nvrtcGetCUBIN(void *program, char *image) {
    CALL(NULL);
    strcpy(image, ((struct program *)program)->image);
    return 0;
}
int nvrtcGetPTXSize(void *program, size_t *n) {
    CALL(NULL);
    *n = strlen(((struct program *)program)->image) + 1;
    return 0;
}
int nvrtcGetPTX(void *program, char *image) { CALL(NULL); strcpy(image, ((struct program *)program)->image); return 0; }
