/* Fibers: stacks between which one thread switches. In: memory for a stack. Out: what emu_switch (switch.S) goes on
 * from. Invariant: a switch changes nothing but the stack and the registers a callee must keep. Where switch.S has no
 * code the C library's contexts serve, six times slower. */
#include <sys/mman.h>

#include "emu/emu.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define __asan_unpoison_memory_region(at, n) ((void)0)
#endif

enum { MAX_SPARE = 4 };

static struct {
    char *at;
    size_t n_bytes;
} spare[MAX_SPARE]; /* memory of launches that have ended, whose pages are there already */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

char *stacks_take(size_t *n_bytes) {
    char *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_SPARE && !found; i++)
        if (spare[i].n_bytes >= *n_bytes) found = spare[i].at, *n_bytes = spare[i].n_bytes, spare[i].n_bytes = 0;
    pthread_mutex_unlock(&lock);
    if (found) return found;
    found = mmap(NULL, *n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

/* The largest are kept. */
void stacks_give(char *at, size_t n_bytes) {
    int least = 0;
    pthread_mutex_lock(&lock);
    for (int i = 1; i < MAX_SPARE; i++)
        if (spare[i].n_bytes < spare[least].n_bytes) least = i;
    if (spare[least].n_bytes < n_bytes) {
        char *other = spare[least].at;
        size_t n_other = spare[least].n_bytes;
        spare[least].at = at, spare[least].n_bytes = n_bytes;
        at = other, n_bytes = n_other;
    }
    pthread_mutex_unlock(&lock);
    if (n_bytes) munmap(at, n_bytes);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>

static _Thread_local void *outside_stack; /* lowest address, of the operating-system thread that runs the machine */
static _Thread_local size_t outside_bytes;

void fiber_outside(void) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    pthread_attr_getstack(&attributes, &outside_stack, &outside_bytes);
    pthread_attr_destroy(&attributes);
}

void fiber_entered(void) { __sanitizer_finish_switch_fiber(NULL, NULL, NULL); }

void fiber_switch(void **from, void *to, const char *stack) {
    void *fake;
    __sanitizer_start_switch_fiber(&fake, stack ? stack : outside_stack, stack ? STACK_BYTES : outside_bytes);
    emu_switch(from, to);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}
#endif

#ifdef __x86_64__

/* The last switch away from a stack left six registers and an address on it; a new one looks as if it had. */
void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void)) {
    __asan_unpoison_memory_region(stack, n_bytes); /* the last fiber's frames were left, not returned from */
    void **top = (void **)(stack + n_bytes);
    *--top = NULL; /* where `start` would return to; then the stack is aligned as after a call */
    *--top = (void *)(uintptr_t)start;
    for (int i = 0; i < 6; i++) *--top = NULL;
    return top;
}

#else
#include <ucontext.h>

void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void)) {
    __asan_unpoison_memory_region(stack, n_bytes);
    ucontext_t *c = (ucontext_t *)(stack + n_bytes - sizeof *c);
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = n_bytes - sizeof *c;
    makecontext(c, start, 0);
    return c;
}

void emu_switch(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}
#endif
