/* The receipt of a kernel: what became of every line of the spec, and what it costs. receipt.c collects the facts,
 * once; receipt_text.c and receipt_json.c write the same facts. docs/receipt.md says what they mean. */
#ifndef FX_RECEIPT_H
#define FX_RECEIPT_H

#include "plan/unit.h"

struct receipt_size { /* an expression over extents, and what it comes to at the extents of the receipt */
    const char *text;
    bool is_known;  /* it does not overflow there */
    int64_t value;
};

struct receipt_line { /* a computation of the spec in one launch */
    int line;
    const char *place; /* prologue, mainloop, epilogue, pointwise, loop, of a row, in a row, side product */
    const char *name;  /* the spec's, or NULL */
    const char *text;
    const char *call;  /* of the language's function that it is part of, as written; or NULL */
};

struct receipt_entry { /* a variant of a launch */
    const struct fx_variant *variant;
    struct receipt_size grid, shared;
    const struct fx_resources *compiled; /* NULL: it was not */
    bool takes;          /* these extents, tensors being aligned */
    bool is_chosen;
    bool is_passed_over; /* it would be, but for what it spills */
    int resident;        /* blocks an SM holds: by what it was compiled to, else what the compiler was asked for */
    int64_t waves;       /* rounds of resident blocks on all SMs */
};

struct receipt_copy { /* of a buffer, as it is, into a parameter that is written in place */
    const char *from, *into;
};

struct receipt_launch {
    const struct fx_launch *launch;
    const char *schedule;
    int n_rejected, n_copies, n_lines, n_entries;
    const struct rejected *rejected;
    struct receipt_copy *copies;
    struct receipt_line *lines;
    struct receipt_size bytes, written, flops;
    double seconds;        /* predicted */
    double memory_seconds; /* for its bytes alone */
    const char *bound;     /* what takes the time */
    struct receipt_entry *entries;
};

struct receipt_buffer {
    const char *name;
    const char *dtype;
    struct receipt_size bytes;
    const char *why;
    bool is_kept;    /* computed once, from `const` parameters alone, and kept for all launches */
    bool is_rounded; /* to its dtype on the way to a contraction, though computed in a wider one */
};

struct receipt_rule { /* of the algebra, applied */
    const char *rule;
    int line;
    const char *text; /* what it rewrote, or NULL */
    double before, after;
};

struct receipt_partition { /* of several */
    const char *name;
    const char *where; /* the condition over extents, NULL of the last one */
    int n_launches;
    double seconds;    /* predicted at the receipt's extents */
    bool is_taken;     /* there */
};

struct receipt {
    const struct fx_kernel *kernel;
    const struct arch *arch; /* whose GPU times are predicted for */
    const char *partition;
    struct fx_partition taken; /* of the plan, at these extents */
    int n_partitions;          /* 0 where there is one */
    struct receipt_partition *partitions; /* in the order in which they are asked */
    double seconds; /* predicted, launches included */
    int n_others, n_rules, n_notes, n_buffers, n_launches;
    int n_once; /* of the launches, the first ones: those that are done once, not each time */
    const struct proposal *others;
    int64_t *extents; /* by label: as fixed, else nominal */
    struct receipt_rule *rules;
    const char **notes; /* what attributes came to */
    const char *saved;  /* of a gradient: what it reads of the forward, as lines; or "" */
    struct receipt_buffer *buffers;
    struct receipt_size unfused;
    bool is_known;     /* total is */
    int64_t total;     /* bytes of all launches but those */
    struct receipt_launch *launches;
};

/* The facts about kernel number `kernel` of u; `compiled`, by number of entry, says what those with registers were
 * compiled to; NULL: none was. */
struct receipt *receipt_of(
    struct arena *a, const struct unit *u, int kernel, const struct fx_kernel *k, const struct fx_resources *compiled);
/* Marks, by number of entry, those that this receipt says are launched and that were not compiled; false: none. */
bool receipt_wants(struct arena *a, const struct unit *u, int kernel, const struct fx_kernel *k,
    const struct fx_resources *compiled, bool *wanted);
void receipt_text(struct buf *out, const struct receipt *r);
void receipt_summary(struct buf *out, const struct receipt *r); /* what was taken, in few lines */
void receipt_json(struct buf *out, const struct arch *m, const struct fx_plan *p, struct receipt *const *kernels);

#endif
