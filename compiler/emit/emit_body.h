/* Shared by the files that write the members of a problem struct about elements: emit_body.c computes elements,
 * emit_fetch.c writes indices and reads ahead, emit_partial.c writes reductions of elements, emit_store.c stores. */
#ifndef FX_EMIT_BODY_H
#define FX_EMIT_BODY_H

#include "emit/emit.h"
#include "emit/emit_address.h"

enum { MAX_SUM_PARTS = 32 };

struct row_names { /* of one of the rows that a thread takes at once */
    const struct scope *scope;
    const char *chunk_arrays[MAX_CHUNKS], *chunk_names[MAX_CHUNKS]; /* of each "x_v_", and an element of it "x_v_[v]" */
    const char *part_names[MAX_SUM_PARTS]; /* of parts computed already; else NULL */
};

struct body {
    const struct unit *u;
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct graph *g;
    bool is_gemm;
    struct values w;        /* what one element is computed by */
    bool is_general;        /* something in it is no plain pointwise value over what fetch reads */
    bool is_guarded;        /* likewise in the loop over elements, where not all exist */
    bool has_loops;         /* some of it are loops there */
    bool reads_more;        /* or reads what fetch does not */
    bool holds;             /* elements are computed where the sums of wgmma lie: columns are fx_column apart */
    struct axis_list along; /* the labels of n or col: what V adjacent elements run over */
    const char *along_var;
    const char **shared;    /* by node: the array of what elements share with their runs */
    int n_chunks;           /* what is read at positions, V elements at a time */
    struct chunk chunks[MAX_CHUNKS];
    int n_parts; /* of the pointwise driver: values in the midst of a long sum, each computed by a loop of its own */
    struct node *parts[MAX_SUM_PARTS];
    int n_rows, row_number; /* that a thread takes at once, and which of them is at hand; 0: one */
    struct row_names *rows, *names; /* of all of them; of the one at hand */
    const struct scope *row, *element; /* of the pointwise driver: where labels of rows, of elements have indices */
};

static inline struct arena *arena(const struct body *b) { return &b->u->cx->arena; }

static inline const char *tensor_name(const struct body *b, const struct tensor *t) {
    return address_tensor(b->l, t);
}

/* ---- emit_fetch.c: indices ---- */
/* Elements between neighbours along position i of t. */
const char *body_step(struct body *b, const struct tensor *t, int i);
/* Adds what the flattened index `var` over the labels of l contributes to an offset into t. */
void body_add_index(
    struct body *b, struct buf *s, const struct tensor *t, const struct axis_list *l, const char *var);
/* t's element at the driver's indices and, unless it is NULL, at `along` of the V adjacent elements. */
const char *body_address(struct body *b, const struct tensor *t, const char *along);
/* How t lies along the V adjacent elements. */
enum along {
    ALONG_NONE,
    ALONG_CONTIGUOUS,
    ALONG_UNIT, /* adjacent in ALIGNED variants, which need it; else a stride apart */
    ALONG_STRIDED,
    ALONG_SCATTERED,
};
enum along body_along(const struct body *b, const struct tensor *t);
const char *body_along_stride(struct body *b, const struct tensor *t);
/* Of a tensor that has the last labels of V adjacent columns last, and others before them elsewhere: the extent of
 * these labels, a piece of which all columns lie adjacent; else NULL. */
const char *body_piece(struct body *b, const struct tensor *t);
/* Moves V elements of t by `function`, from or to `held`: as a vector where pieces are whole vectors, else four by four
 * where they are that, else by what the caller emits behind. */
void body_emit_pieces(
    struct body *b, const struct tensor *t, const char *piece, const char *function, bool is_load, const char *held);

/* ---- emit_fetch.c: what is read ahead ---- */
/* The parameters that say where an element is. */
const char *body_place_args(const struct body *b);
/* What holds t where it is fetched and where elements are computed. */
const char *body_holder(const struct body *b, const struct tensor *t);
/* An element of t that was fetched, of the row at hand. */
const char *body_held(const struct body *b, const struct tensor *t);
/* The struct of what is read for each row, or of_columns: once for all rows; then the function that reads it. */
void body_emit_frag(struct body *b, bool of_columns);
void body_emit_fetch(struct body *b, bool of_columns);

/* ---- emit_partial.c: elements that are reduced ---- */
/* Whether all threads see a tile through, for what they reduce or share. */
bool body_takes_whole_tiles(const struct body *b);
/* Whether some store before store s reduces the same elements. */
bool body_has_element(const struct body *b, int s);
/* Whether elements are computed where the sums of wgmma lie (gemm_holds): they read nothing but what fetch reads. */
bool body_holds(const struct body *b);
/* What elements of a run share that is the result of its reduction by store s; NULL: nothing. */
struct node *body_shared_result(const struct body *b, int s);
/* The struct of the elements, and the reductions. */
void body_emit_partials(struct body *b);

/* ---- emit_store.c: where elements go ---- */
/* What store s computes an element of: of one at positions what is stored there. */
struct node *body_stored_element(const struct body *b, int s);
/* The positions of store s, NULL where it has none; whether the V elements of a thread have them in common and go side
 * by side. */
const struct node *body_place_of(const struct body *b, int s);
bool body_is_place_uniform(const struct body *b, int s);
/* The offsets of these positions, -1 for nowhere: of each element, in the loop over them; or of all V, ahead of the
 * stores. */
void body_emit_places(struct body *b, struct scope *p);
void body_emit_common_places(struct body *b, struct scope *row);
/* Stores the V elements of `value` as store s says. */
void body_emit_put(struct body *b, int s, const char *value);

#endif
