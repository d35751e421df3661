/* ask SOCKET LIBRARY ARGUMENT...: compiles standard input by a compiler that is ready (tests/emu/ready.c), with these
 * arguments, and links the object and LIBRARY to a shared object, which goes to descriptor 3. Exits as the compiler, or
 * the linker, does. The object lies in memory: no file is made. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask.h"

static int fail(const char *what) {
    perror(what);
    return 1;
}

/* The length of the request; 0: the arguments are too many. */
static size_t put_arguments(char *text, char **argv) {
    size_t n = 0;
    for (; *argv; argv++) {
        size_t size = strlen(*argv) + 1;
        if (n + size > MOST_TEXT) return 0;
        memcpy(text + n, *argv, size), n += size;
    }
    return n;
}

int main(int argc, char **argv) {
    static char text[MOST_TEXT];
    union { struct cmsghdr head; char room[CMSG_SPACE(N_FDS * sizeof(int))]; } control = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int object = memfd_create("object", 0), server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const int fds[N_FDS] = {0, object, 2};
    struct iovec piece = {text, 0};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    unsigned char status = 1;
    char name[40];
    if (argc < 4 || strlen(argv[1]) >= sizeof address.sun_path || !(piece.iov_len = put_arguments(text, argv + 3)))
        return fail("ask: usage");
    strcpy(address.sun_path, argv[1]);
    control.head = (struct cmsghdr){CMSG_LEN(sizeof fds), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof fds);
    if (object < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0 || sendmsg(server, &m, 0) < 0)
        return fail(argv[1]);
    if (read(server, &status, 1) != 1) return fail("ask: the compiler crashed");
    if (status) return status;
    snprintf(name, sizeof name, "/proc/self/fd/%d", object);
    execlp("ld", "ld", "-shared", "-o", "/proc/self/fd/3", name, argv[2], (char *)NULL);
    return fail("ld");
}
