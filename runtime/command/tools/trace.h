/* A traced run: which cells of each tensor the blocks of each launch touch, when, and at which lines; and the documents
 * made of that. Sections by file. */
#ifndef TRACE_H
#define TRACE_H

#include "command/command.h"
#include "emu/observer.h"
#include "base/json.h"
#include "base/json_read.h"

enum { TRACE_READ, TRACE_WRITE, TRACE_SIDES };
enum {
    TRACE_BLOCKS = 8,                /* most blocks shown in detail */
    TRACE_MOST_CELLS = 1 << 19,      /* of all tensors and buffers together */
    TRACE_MOST_FLOPS = 100000000,    /* what the emulator does in seconds */
    TRACE_MOST_GRID = 1 << 14,       /* blocks of a launch */
    TRACE_MOST_RUNS = 1 << 16,       /* in one list */
};

struct trace_tensor { /* or a buffer */
    const char *name;
    const char *kind;      /* input, output, inout, workspace, flags */
    const char *dtype;     /* of a cell; NULL: not known */
    int cell_bytes;        /* of a packed tensor those of a word */
    int rank;
    int64_t shape[FX_MAX_RANK], strides[FX_MAX_RANK]; /* in cells */
    const char *axes[FX_MAX_RANK];
    const char *steps[FX_MAX_RANK]; /* strides over extents: "N * K"; NULL of a buffer */
    int64_t n_cells;
};

struct trace_run { /* cells that lie side by side, and came to be touched alike */
    int64_t first, n;
    unsigned block;        /* that touched the first of them first */
    unsigned n_blocks;     /* of a map: that touch each of them */
    unsigned phase, epoch; /* of a block: when each was first touched */
    uint64_t order;        /* of a block: accesses of the launch before the first touch of any of them */
    uint64_t n_accesses;   /* of a block: to all of them */
};
struct trace_runs {
    struct trace_run *runs; /* ascending, apart */
    int n, room;
    bool is_cut;            /* there were more than TRACE_MOST_RUNS */
};

struct trace_total { /* of a block, or of all */
    uint64_t n_accesses; /* to cells, each time */
    uint64_t n_cells;    /* touched; of shared memory not counted */
};
struct trace_part { /* what a launch does to a tensor */
    struct trace_total total[TRACE_SIDES]; /* cells that any block touches; accesses of all blocks */
    struct trace_runs map[TRACE_SIDES];    /* which block touches a cell first, and how many do */
};
struct trace_block { /* any block of a launch */
    unsigned n_phases, n_epochs;           /* barriers behind which it touched anything */
    uint64_t shared_bytes[TRACE_SIDES];    /* read and written of shared memory, each time */
    struct trace_total (*tensors)[TRACE_SIDES]; /* by tensor */
};
struct trace_detail { /* a block shown in detail */
    unsigned block;
    struct trace_runs (*tensors)[TRACE_SIDES]; /* by tensor */
};

struct trace_launch {
    const struct fx_launch *launch;
    const struct fx_variant *variant;  /* NULL: nothing to launch */
    unsigned grid, n_threads, shared_bytes;
    const char *mma;                   /* "m16n8k16" where it multiplies by tensor cores, else NULL */
    const char *mma_dtype;             /* of its operands */
    struct trace_part *parts;          /* by tensor */
    struct trace_block *blocks;        /* by block */
    struct trace_detail details[TRACE_BLOCKS];
    int n_details;
    struct emu_count *counts;          /* by place of the code */
    int n_counts;
};

struct trace_step { /* of a dataflow: a launch */
    const char *name;
    int64_t bytes, bytes_written;      /* -1: not known */
    int n_lines;
    struct trace_line { /* of the spec */
        int line;
        const char *place, *name, *text; /* name may be NULL */
    } *lines;
};
struct trace_flow {
    int n_steps; /* 0: not known */
    struct trace_step *steps;
    int64_t bytes; /* of all; -1: not known */
};

struct trace {
    const struct job *job;
    const struct fx_plan *plan;
    const char *spec;                  /* text */
    int n_tensors, n_launches;
    struct trace_tensor *tensors;
    struct trace_launch *launches;
    struct trace_flow before, after;   /* every operation by itself; as launched */
    unsigned blocks[TRACE_BLOCKS];     /* asked for */
    int n_blocks;                      /* 0: the first, the middle and the last of each launch */
};

/* ---- trace.c ---- */
/* Whether the spec has the extent, of a tensor: no pass made it, and it does not follow from others. */
bool trace_is_own(const struct fx_kernel *k, int extent);

/* ---- trace_watch.c: what is seen ---- */
struct trace_watch;
/* Watches launches from now on into t->launches, whose variants are set; NULL: out of memory. */
struct trace_watch *trace_watch_open(struct trace *t);
/* Ends that; FX_ERR_NOMEM, FX_ERR_INTERNAL without a word where something is missing. */
fx_status trace_watch_close(struct trace_watch *w);
void trace_release(struct trace *t);

/* ---- trace_flow.c: what the receipts say ---- */
/* The launches of k and the lines of the spec in each, from a receipt, or NULL for none. `env` has k's extents. */
struct trace_flow trace_flow_read(
    struct arena *a, const struct json_node *receipt, const struct fx_kernel *k, const struct fx_env *env);
/* The dtype of a buffer of the kernel in the receipt, or NULL. */
const char *trace_buffer_dtype(const struct json_node *receipt, const char *kernel, const char *buffer);

/* ---- trace_json.c, trace_page.c: documents ---- */
void trace_json(struct buf *out, const struct trace *t);
/* HTML that is XML too: one file, every figure a picture in it. */
void trace_page(struct buf *out, const struct trace *t);
/* Line number `line` of a text, without blanks around it. */
const char *trace_text_line(struct arena *a, const char *text, int line);

/* ---- trace_figure.c: pictures of tensors; trace_diagram.c: of what is done with them ---- */
enum { TRACE_COLOURS = 12, TRACE_STEPS = 24 }; /* of blocks; most shades of time */
struct trace_times { /* of a block: when it touched anything, in order */
    int n;          /* distinct times */
    uint64_t *keys; /* phase, then epoch; ascending */
};
struct trace_times trace_times_of(struct arena *a, const struct trace *t, const struct trace_detail *d);
int trace_n_steps(const struct trace_times *times); /* shades they are shown in */
void figure_map(struct buf *out, const struct trace *t, const struct trace_launch *l, int tensor);
void figure_block(
    struct buf *out, const struct trace *t, const struct trace_detail *d, const struct trace_times *times, int tensor);
void figure_flow(struct buf *out, const struct trace *t);
/* Whether an instruction of that shape is a warpgroup's. */
bool trace_is_warpgroup(const char *shape);
void figure_fragments(struct buf *out, const char *shape);
/* As text of a page. */
void put_escaped(struct buf *out, const char *s);

#endif
