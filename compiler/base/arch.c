/* The table of machines. */
#include "base/arch.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct arch rows[] = {
#define ARCH(name, gpu, sms, mhz, gb, l2, block_kb, sm_kb, threads, blocks, tensor, wgmma) \
    {name, gpu, sms, mhz * 1e6, gb * 1e9, l2, block_kb << 10, sm_kb << 10, threads, blocks, tensor, wgmma},
#include "base/arch.def"
#undef ARCH
};

const struct arch *arch_row(int i) { return i >= 0 && i < (int)(sizeof rows / sizeof *rows) ? &rows[i] : NULL; }

const struct arch *arch_find(const char *name) {
    for (int i = 0; arch_row(i); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

int arch_cluster_blocks(const struct arch *m, double tiles) {
    double sms = m->sms;
    return 1 + (fmod(tiles - 1, sms) * 2 + 1 < sms) + 2 * (tiles * 44 <= sms * 10) + 4 * (tiles * 88 <= sms * 10);
}
