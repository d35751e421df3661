/* What the compiler knows of a machine: a row of arch.def (arch.c). Nothing else knows such a number. */
#ifndef FX_ARCH_H
#define FX_ARCH_H

#include <stdbool.h>

enum {
    SM_REGISTERS = 65536,
    SHARED_OVERHEAD = 1024
}; /* of an SM; shared memory that every block takes besides its own, bytes */

struct arch {
    const char *name;        /* "sm_90a" */
    const char *gpu;         /* that times are predicted for: "H200" */
    int sms;                 /* its multiprocessors */
    double cycles;           /* of an SM in a second, under load */
    double copied;           /* bytes that a copy moves in a second, read plus written */
    int l2_bytes;            /* that the L2 cache brings to all multiprocessors in a cycle; 0: not known */
    int block_shared;        /* bytes of shared memory that a block may have */
    int sm_shared;           /* likewise an SM, of which each block takes SHARED_OVERHEAD besides */
    int sm_threads, sm_blocks; /* that an SM holds at once */
    int tensor_flops;          /* of 16-bit floats by its tensor cores in a cycle and SM, at most */
    bool has_clusters;         /* blocks on neighbouring SMs that reach each other's shared memory */
    bool has_wgmma;            /* products by warpgroups, copies by tensor maps */
    bool has_mma_f64;          /* the mma of doubles that the engine uses, m16n8k4 */
    bool has_f8;               /* instructions that round to 8-bit floats */
};

/* NULL where it is none of arch.def. */
const struct arch *arch_find(const char *name);
/* Row number i, NULL past the end. */
const struct arch *arch_row(int i);
/* m as the GPU of that name is (NULL, or none of arch.def: as m is), with so many multiprocessors; 0: as many as that
 * has. */
struct arch arch_of_gpu(const struct arch *m, const char *device, int sms);
/* The number of blocks of a cluster that divides the k of each of `tiles` tiles among its blocks; 1: no cluster. It is
 * 2 where the tiles of the last wave leave half of the SMs idle, and 4 or 8 where all clusters run at once.
 * plan_grid.c (launch_cluster) has the same rule as a formula over the extents of a launch. The formula of
 * passes/split_open.c differs in its first step. */
int arch_cluster_blocks(const struct arch *m, double tiles);
/* Larger clusters: `blocks` more blocks where tiles * of_tiles <= SMs * of_sms. An H200 holds clusters of
 * more than 2 blocks on ten elevenths of its SMs. */
enum { N_CLUSTER_STEPS = 2 };
struct cluster_step {
    int blocks, of_tiles, of_sms;
};
extern const struct cluster_step arch_cluster_steps[N_CLUSTER_STEPS];
/* Cycles that all SMs together have in a second. */
static inline double arch_all_cycles(const struct arch *m) { return m->sms * m->cycles; }

#endif
