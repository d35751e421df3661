/* Memory faults of emulated code. In: a fault within a launch. Out: the launch ends, and says whose thread touched
 * what, where. Invariant: a fault outside a launch goes to whoever handled it before. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "emu/emu.h"

enum { SIGNAL_STACK = 1 << 16 };

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE};
static struct sigaction before[sizeof caught / sizeof *caught];
static pthread_key_t stack_key;

/* ---- saying where ---- */

/* Which parameter of the launch points into the region, or -1. */
static int parameter_of(const struct emu_launch *l, const struct region *r) {
    const struct emu_entry *e = l->module->entry;
    for (int i = 0; i < e->n_parameters; i++) {
        const char *p;
        if (e->n_bytes[i] != sizeof p) continue;
        memcpy(&p, l->arguments[i], sizeof p);
        if (p >= r->pages && p <= r->pages + r->n_pages_bytes) return i;
    }
    return -1;
}

void parameter_name(const char *parameters, int i, char *name, size_t size) {
    const char *at = parameters, *end;
    for (; i > 0 && at; i--) at = strchr(at, ','), at += at != NULL;
    if (!at) at = "";
    end = at + strcspn(at, ",");
    const char *begin = end;
    while (begin > at && begin[-1] != ' ' && begin[-1] != '*') begin--;
    snprintf(name, size, "%.*s", (int)(end - begin), begin);
}

static void describe_region(
    const struct emu_launch *l, const struct region *r, const char *address, char *text, size_t size) {
    char name[80] = "a piece of memory";
    int i = parameter_of(l, r);
    if (i >= 0) parameter_name(l->module->entry->parameters, i, name, sizeof name);
    if (address < r->at) snprintf(text, size, "%td bytes before %s, which has %zu", r->at - address, name, r->n_bytes);
    else if (address >= r->at + r->n_bytes)
        snprintf(text, size, "%td bytes from the start of %s, which has %zu", address - r->at, name, r->n_bytes);
    else snprintf(text, size, "byte %td of the %zu of %s", address - r->at, r->n_bytes, name);
}

void fault_describe(const struct emu_launch *l, const void *address, char *text, size_t size) {
    const struct emu_machine *m = machine_now;
    for (int b = 0; m && b < m->n_blocks; b++) {
        const struct shared *s = &m->blocks[b].shared;
        if ((const char *)address < s->mapped || (const char *)address >= s->mapped + s->n_mapped) continue;
        snprintf(
            text, size, "byte %td of the block's %u of shared memory", (const char *)address - s->at, l->shared_bytes);
        return;
    }
    const struct region *r = memory_find(address);
    if (r) describe_region(l, r, address, text, size);
    else snprintf(text, size, "address %p, which is near no tensor", address);
}

/* ---- catching ---- */

static void on_fault(int number, siginfo_t *info, void *context) {
    struct emu_machine *m = machine_now;
    const void *pc = NULL;
    const char *what = "touches";
    char where[512];
    if (!m || m->has_failed) { /* not ours */
        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
            if (caught[i] == number) sigaction(number, &before[i], NULL);
        return;
    }
#ifdef __x86_64__
    const ucontext_t *c = context;
    pc = (const void *)c->uc_mcontext.gregs[REG_RIP];
    what = c->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
#else
    (void)context;
#endif
    if (number == SIGFPE) machine_fail(m, pc, "divides an integer by zero");
    fault_describe(m->launch, info->si_addr, where, sizeof where);
    machine_fail(m, pc, "%s outside of what it was given: %s", what, where);
}

static void release_stack(void *stack) { munmap(stack, SIGNAL_STACK); }

bool fault_watch(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    bool is_fine = pthread_key_create(&stack_key, release_stack) == 0;
    for (size_t i = 0; is_fine && i < sizeof caught / sizeof *caught; i++)
        is_fine = sigaction(caught[i], &action, &before[i]) == 0;
    return is_fine;
}

/* A handler runs on a stack of its own: that of the thread is where the fault is. */
bool fault_enter(void) {
    if (pthread_getspecific(stack_key)) return true;
    stack_t stack = {.ss_size = SIGNAL_STACK};
    stack.ss_sp = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED) return false;
    return sigaltstack(&stack, NULL) == 0 && pthread_setspecific(stack_key, stack.ss_sp) == 0;
}
