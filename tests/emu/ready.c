/* A compiler that is ready: preloaded into clang, it stops the program where its libraries are loaded and relocated,
 * which takes a fifth of the time of a short compilation, and forks a copy for each request (tests/emu/ask.c).
 *
 * In: FX_READY, the path of the socket to listen at; requests, each a message of arguments that end with a 0 byte, with
 * three descriptors: the source, the object, the log. Out: the exit status of the copy, a byte; none if it crashed.
 * The program ends with the process that started it. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask.h"

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_function *real_main;
static int client = -1;

static void answer(int status, void *unused) {
    (void)unused;
    unsigned char byte = (unsigned char)status;
    if (write(client, &byte, 1) != 1) _exit(1);
}

/* The arguments and the descriptors of a request; the number of arguments, or 0. */
static int receive(char *text, char **argv, int *fds) {
    union { struct cmsghdr head; char room[CMSG_SPACE(N_FDS * sizeof(int))]; } control;
    struct iovec piece = {text, MOST_TEXT};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(client, &m, 0);
    struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    int argc = 0;
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(N_FDS * sizeof(int))) return 0;
    memcpy(fds, CMSG_DATA(head), N_FDS * sizeof(int));
    for (char *at = text; at < text + n && argc < MOST_ARGUMENTS; at += strlen(at) + 1) argv[argc++] = at;
    argv[argc] = NULL;
    return argc;
}

static int compile(char **envp) {
    static char text[MOST_TEXT + 1];
    static char *argv[MOST_ARGUMENTS + 1];
    int fds[N_FDS], argc = receive(text, argv, fds);
    if (!argc || on_exit(answer, NULL) != 0) return 1;
    for (int i = 0; i < N_FDS; i++)
        if (dup2(fds[i], i) < 0) return 1;
    return real_main(argc, argv, envp);
}

static int serve(int argc, char **argv, char **envp) {
    const char *path = getenv("FX_READY");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    (void)argc, (void)argv;
    if (!path || strlen(path) >= sizeof address.sun_path) return 1;
    strcpy(address.sun_path, path);
    unsetenv("LD_PRELOAD");
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGCHLD, SIG_IGN);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0) return 1;
    while ((client = accept(listener, NULL, NULL)) >= 0) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGCHLD, SIG_DFL);
            close(listener);
            exit(compile(envp));
        }
        close(client);
    }
    return 1;
}

/* In the place of the C library's, which it calls with another main. */
int __libc_start_main(main_function *of_program, int argc, char **argv, void (*init)(void), void (*fini)(void),
    void (*end)(void), void *stack) {
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = of_program;
    return start(serve, argc, argv, init, fini, end, stack);
}
