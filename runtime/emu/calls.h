/* What code made of an emitted file and the machine that runs it share: the thread that runs, and what a thread may ask
 * of the machine. Read as C by the machine and, ahead of ptx_emu.h, as C++ by the host's compiler; so it includes
 * nothing. Invariant: a change here changes the text, by which compiled code is found again in the cache. */
#ifndef EMU_CALLS_H
#define EMU_CALLS_H

struct emu_index {
    unsigned x, y, z;
};

enum emu_limits {
    EMU_ADDRESS_0 = 4096,  /* shared-memory address of the first byte: no address is 0 */
    EMU_WINDOW = 1 << 24,  /* address in a cluster: that in block `rank`, and rank + 1 times this */
    EMU_WORDS = 14,        /* most words that a lane brings to an operation of its warp */
    EMU_STACK = 1 << 17    /* bytes of stack that a thread has */
};

enum emu_operation { /* what all lanes of a warp do together */
    EMU_SHUFFLE_XOR = 1,
    EMU_SHUFFLE_UP,
    EMU_SHUFFLE_FROM,
    EMU_LDMATRIX,
    EMU_LDMATRIX_TRANS,
    EMU_MMA_F16,
    EMU_MMA_BF16,
    EMU_MMA_TF32,
    EMU_MMA_I8_I8,
    EMU_MMA_I8_U8,
    EMU_MMA_U8_I8,
    EMU_MMA_U8_U8,
    EMU_MMA_E4M3_E4M3,
    EMU_MMA_E5M2_E4M3,
    EMU_MMA_E4M3_E5M2,
    EMU_MMA_E5M2_E5M2,
    EMU_MMA_F64,
    EMU_WARP_BARRIER,
    EMU_WGMMA,
    EMU_WGMMA_BEGIN,
    EMU_WGMMA_COMMIT,
    EMU_WGMMA_WAIT,
    EMU_REGISTERS
};

enum emu_mbarrier { EMU_MBARRIER_INIT, EMU_MBARRIER_EXPECT, EMU_MBARRIER_ARRIVE, EMU_MBARRIER_WAIT, EMU_MBARRIER_END };

enum emu_access { EMU_READ, EMU_WRITE, EMU_COPY };

struct emu_thread;
struct emu_calls { /* `self` is the thread that calls */
    void (*barrier)(struct emu_thread *self); /* of the block */
    void (*grid_barrier)(struct emu_thread *self, void *flags);
    void (*give_way)(struct emu_thread *self); /* to other threads, while it waits for what one of them writes */
    void (*together)(struct emu_thread *self, enum emu_operation operation, unsigned operand); /* on self->words */
    void (*copy)(struct emu_thread *self, unsigned to, const void *from, int n_bytes, int is_valid); /* asynchronous */
    void (*commit)(struct emu_thread *self);
    void (*wait)(struct emu_thread *self, int n_groups);
    void (*mbarrier)(struct emu_thread *self, enum emu_mbarrier what, unsigned at,
        unsigned value); /* arrivals, bytes, nothing, parity */
    void (*named)(struct emu_thread *self, int number, int threads, int waits); /* a named barrier */
    void (*box)(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at, int rank,
        unsigned blocks); /* asynchronous; to these of the cluster, a bit each; 0: to its own */
    void (*bulk)(struct emu_thread *self, unsigned to, const void *from, int n_bytes,
        unsigned barrier); /* adjacent bytes; asynchronous */
    void (*pixels)(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at,
        const unsigned short *offset, int rank); /* likewise a column of pixels */
    void (*send)(struct emu_thread *self, unsigned from, const void *map, const int *at,
        int rank); /* a box to memory; asynchronous */
    void (*sent)(struct emu_thread *self, int n_groups); /* waits for boxes sent; -1: closes a group of them */
    void (*cluster)(struct emu_thread *self, int waits); /* arrives at the cluster's barrier, or waits there */
    void (*put)(struct emu_thread *self, unsigned to,
        unsigned barrier); /* words[0] and [1], to a block of the cluster */
    void (*bad_shared)(struct emu_thread *self, unsigned address, int n_bytes, enum emu_access access);
    void (*bad_alignment)(struct emu_thread *self, const void *address, int n_bytes, enum emu_access access);
    void (*release)(struct emu_thread *self,
        const void *at); /* of watched threads: what stands there is about to be written, or has been read */
    void (*acquire)(struct emu_thread *self, const void *at);
    void (*unwritten)(struct emu_thread *self, unsigned at, int n_bytes); /* may be read as it is */
    void (*touch)(struct emu_thread *self, const void *at, unsigned n_bytes, enum emu_access access,
        const void *pc); /* before each access to what others may see */
};

struct emu_thread { /* the thread that runs */
    struct emu_index thread, block, block_dim, grid_dim;
    unsigned cluster;          /* blocks of one */
    char *shared;              /* the block's shared memory */
    unsigned shared_bytes;
    unsigned words[EMU_WORDS]; /* brought to an operation of the warp, and its result */
    const struct emu_calls *calls; /* of a watched thread `table`, else one that all threads share */
    char *stack;               /* what is the thread's own is not reported */
    int is_watched;            /* accesses are reported, where the code was compiled to */
    int overwrites;            /* what it writes to global memory may take the place of results */
    struct emu_calls table;    /* here, where reading it is not taken for an access of the kernel's */
};

struct emu_entry { /* what compiled code says of itself, under the name emu_entry_of_NAME */
    void (*call)(void **arguments);
    const char *parameters;    /* "float *y_, long long M_" */
    const unsigned *n_bytes; /* of each parameter */
    int n_parameters;
    struct emu_thread **self;  /* where it looks for the thread that runs */
    const char *source;        /* the emitted text, where accesses are reported; else NULL */
};

#endif
