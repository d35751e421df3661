/* Which functions of the library run, for tests/mutants_c/mutants.c: what -finstrument-functions calls. In: FX_ENTERED,
 * a file as large as the library. Out: bytes of 1 where a function that was entered begins. All processes of
 * a suite share the file; one without it notes nothing. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* where the library lies */

static unsigned char *entered;
static size_t n_bytes;

__attribute__((constructor)) static void open_entered(void) {
    const char *path = getenv("FX_ENTERED");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat st;
    if (fd < 0) return;
    void *p = fstat(fd, &st) == 0 && st.st_size > 0
                  ? mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
    if (p != MAP_FAILED) entered = p, n_bytes = (size_t)st.st_size;
    close(fd);
}

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

void __cyg_profile_func_enter(void *function, void *from) {
    (void)from;
    size_t at = (uintptr_t)function - (uintptr_t)__ehdr_start;
    if (at < n_bytes && !entered[at]) entered[at] = 1;
}

void __cyg_profile_func_exit(void *function, void *from) { (void)function, (void)from; }
