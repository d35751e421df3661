/* Stacks that take turns. In: memory for one. Out: what emu_switch (switch.S) goes on from. Invariant: nothing but stacks and the registers a callee must
 * keep changes at a switch. Where switch.S has no code the C library's contexts serve, six times slower. */
#include "emu.h"

#ifdef __x86_64__

/* The last switch away from a stack left six registers and an address on it; a new one looks as if it had. */
void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void)) {
    void **top = (void **)(stack + n_bytes);
    *--top = NULL; /* where `start` would return to; then the stack is aligned as after a call */
    *--top = (void *)(uintptr_t)start;
    for (int i = 0; i < 6; i++) *--top = NULL;
    return top;
}

#else
#include <ucontext.h>

void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void)) {
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
