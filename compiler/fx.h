/* libfx, the compiler: `.fx` text to CUDA text and a launch plan, on any machine, without CUDA.
 *
 * Thread-safety: compilations are independent of each other; one compilation may be read from any number of threads
 * once fx_compile has returned. Nothing here prints, exits or keeps global state.
 *
 * NULL: a NULL compilation, which fx_compile leaves if memory runs out, counts as an empty one. fx_messages of it is
 * "", and every other function returns NULL, 0 or FX_ERR_USAGE. A required result pointer that is NULL is FX_ERR_USAGE.
 */
#ifndef FX_H
#define FX_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stack that a call of this header may need in an optimised build. A spec at the limits of docs/language.md takes about
 * 1.4 MiB, most specs a hundredth of that. */
enum { FX_STACK_BYTES = 2 << 20 };

typedef struct fx_compilation fx_compilation;

struct fx_options { /* in every field except size, zero means the default */
    size_t size;    /* sizeof(struct fx_options), set by FX_OPTIONS. FX_ERR_USAGE if it is 0 or not the size of any
                     * version of the struct, or if it is larger and bytes beyond this version's are not 0 */
    const char *arch;           /* "sm_90a" */
    const char *kernel;         /* compile only this kernel of the file; NULL: all */
    const char *const *defines; /* "NAME=VALUE": an extent, a constant or a fn */
    int n_defines;
    const char *dump_after;     /* a pass: fx_text(c, FX_TEXT_DUMP) then gives the graph after it; "all" */
    const char *stop_after;     /* a pass: later optional passes do not run */
    const char *skip;           /* passes, and rules of them, to leave out: "cse,algebra.scale_out" */
    bool oracle_only; /* stop after the checker: fx_evaluate works, whether or not any schedule takes the spec;
                       * the plan has no launches and cannot be prepared */
    /* Serves `include`: returns the text of the path, valid until fx_compile returns, or NULL. The path is as written;
     * it is relative and has no `..`, but a link may leave the folder. Without this function, includes are refused. */
    const char *(*read_file)(void *user, const char *path, size_t *len);
    void *user;                 /* passed to read_file */
    bool tests_only; /* stop once the test and bench blocks are checked: fx_tests works, kernels are not checked, there
                        is no plan */
    bool unfused;    /* compile every kernel with `fuse: never`, whatever its attributes fuse and kernels say */
    const char *with;           /* rules to apply that are off by default: "algebra.exp2,algebra.norm_fold" */
    int ablate;                 /* leave this term of `kernel` out, from 1 (fx_ablations); 0: none */
    const char *const *ablate_extents; /* "LABEL=N", the same as given to fx_ablations */
    int n_ablate_extents;
    /* Called when a stage begins and when it is over: "compile" for the file; within it "parse" and "check", then for
     * each kernel "lower", the passes by name and "schedule", then "emit" and "plan". Stages nest. If memory runs out
     * in a stage, only "compile" is reported to be over. */
    void (*on_stage)(void *user, const char *stage, const char *of, bool is_over);
    void *stage_user;           /* passed to on_stage */
    /* Says why read_file last returned NULL, for the message; is passed `user`. May be NULL. */
    const char *(*read_failure)(void *user);
    /* The GPU for which times are predicted; these predictions choose the plan. A name that contains the GPU's name, as
     * fx_context_device gives it, "NVIDIA H100 80GB HBM3". NULL or a GPU that fx does not know: the arch's default. */
    const char *gpu;
    int sm_count; /* its number of multiprocessors; 0: the known number */
};
/* struct fx_options options = FX_OPTIONS; */
#ifndef __cplusplus
#define FX_OPTIONS {.size = sizeof(struct fx_options)}
#else /* before C++20 there are no designated initialisers */
static inline fx_options fx_options_of_this_size() {
    fx_options options = {};
    options.size = sizeof options;
    return options;
}
#define FX_OPTIONS fx_options_of_this_size()
#endif

/* Compiles text[0..len), which need not end in NUL; `file` names it in messages. *out is set for every status except
 * FX_ERR_NOMEM, which leaves it NULL; close it in every case. text and options are not referenced afterwards. Returns
 * FX_ERR_COMPILE if the spec has errors; FX_ERR_USAGE for an unknown arch, kernel, term or pass, and for options that
 * contradict each other; FX_ERR_INTERNAL for a bug of fx. fx_messages has the details. */
fx_status fx_compile(const char *text, size_t len, const char *file, const struct fx_options *options,
                     fx_compilation **out);
/* NULL is allowed. Frees the plan and every text of the compilation. Prepared kernels stay valid. */
void fx_close(fx_compilation *c);
/* The status of the last of these calls on c: fx_messages_json, fx_messages_sarif, fx_definition, fx_find, fx_receipt,
 * fx_predict, fx_ablations, fx_text. FX_OK; FX_ERR_USAGE if the requested thing does not exist; FX_ERR_NOMEM. It tells
 * these two reasons for NULL or 0 apart. Before the first such call it is what fx_compile returned. For a NULL
 * compilation it is FX_ERR_NOMEM. */
fx_status fx_last_status(const fx_compilation *c);

/* Errors and warnings as text, "" if there are none. Valid until fx_close. */
const char *fx_messages(const fx_compilation *c);
/* The messages as one JSON value, UTF-8, one line per message: an array of {"severity": "error" | "warning", "code":
 * "FX2001", "title": what the code means, "message", "fix": text or null, "file", "line", "column", "end_line",
 * "end_column": 1-based, in code points, the end past the last, "byte_offset", "byte_length"}. A message about the call
 * rather than the text has null for code, title, and place. Valid until fx_close; NULL if memory runs out. The text is
 * stored in the compilation: one thread at a time. */
const char *fx_messages_json(const fx_compilation *c);
/* The messages as a SARIF 2.1.0 log of one run: one line per result, with its fix after the message. Otherwise as
 * fx_messages_json. */
const char *fx_messages_sarif(const fx_compilation *c);
/* The plan, or NULL if the compilation failed. */
const struct fx_plan *fx_get_plan(const fx_compilation *c);

struct fx_lines { /* lines of the text given to fx_compile, counted from 1; the last one is included */
    int first, last;
};
/* The lines that define a kernel: its own, those of every const and fn of the text that it needs, and those of the
 * kernel whose gradient it is, with the comments directly above them. The parts ascend and do not overlap. Included
 * files are left out. Returns the number of parts in lines[most], 0 if there is no such kernel. It writes to the
 * compilation: one thread at a time. */
int fx_definition(const fx_compilation *c, const char *kernel, struct fx_lines *lines, int most);

struct fx_found { /* what is at a byte of the text given to fx_compile; places are bytes of the text */
    size_t offset, length; /* the smallest expression, the declaration of a parameter, or the word */
    int line;              /* where it begins, from 1 */
    const char *type;      /* its dtype and axes, "f32[M,N]"; "" if they are not known */
    const char *kernel;    /* the kernel it belongs to, or NULL */
    const char *defined_in; /* the file in which the name at the byte is defined; NULL: nowhere, or in the language */
    bool is_defined_here;   /* it is defined in the text itself */
    size_t definition, definition_length; /* and at this place */
};
/* False if nothing is there, or memory runs out. Works as far as the text was understood: after errors names are found,
 * but types may be missing. It writes to the compilation: one thread at a time. */
bool fx_find(const fx_compilation *c, size_t offset, struct fx_found *out);

enum fx_format { FX_FORMAT_TEXT, FX_FORMAT_JSON, FX_FORMAT_SUMMARY };
/* The receipts of all kernels of the plan: the place of every line of the spec, bytes, flops, predicted times, and the
 * rejected alternatives with reasons (docs/receipt.md has the schema of the JSON). FX_FORMAT_SUMMARY: only what was
 * taken, a few lines per kernel. Numbers are at fixed extents, and at nominal ones for free labels. compiled has the
 * resources of compiled entries; it is indexed by fx_variant.number and fx_entry_count(plan) long, and entries with 0
 * registers were not compiled. NULL: none was. Valid until fx_close; NULL without a plan of launches, or if memory runs
 * out. The text is stored in the compilation: one thread at a time. */
const char *fx_receipt(const fx_compilation *c, enum fx_format format, const struct fx_resources *compiled);
/* Marks in wanted, which is as long as compiled, the entries that this receipt says are launched and that are not yet
 * in compiled. Call it again once they are compiled, because an entry that spills is replaced by another. False if
 * there are none, or no plan of launches, or if memory runs out. It writes to the compilation: one thread at a time. */
bool fx_receipt_wants(const fx_compilation *c, const struct fx_resources *compiled, bool *wanted);

struct fx_prediction { /* microseconds, on the GPU for which times are predicted */
    double us;       /* of a launch, including the start of its GPU kernels */
    double bytes_us; /* the time of reading and writing its bytes once each, at the speed of a copy */
    double flops_us; /* the time of its multiply-adds, at the peak of the machine; 0: there are none */
};
/* Predicts the time of kernel `kernel` (NULL: the first) of the plan in partition `partition`. extents are all extents
 * of the plan's kernel. variants[i] is the variant of launch i of the partition; -1, or variants NULL, means the one
 * with the lowest price. It is not checked whether the variant takes the extents. FX_ERR_USAGE if the plan has no
 * launches, no such kernel or partition, or an extent is negative. One thread at a time. */
fx_status fx_predict(const fx_compilation *c, const char *kernel, const int64_t *extents, int partition,
    const int *variants, struct fx_prediction *out);

/* The test and bench blocks in the order of the text, only those of options.kernel if it was given. *n is their number,
 * 0 if the compilation failed. Valid until fx_close. */
const struct fx_test *fx_tests(const fx_compilation *c, int *n);

struct fx_ablation { /* a term of a kernel that can be left out, to measure its cost */
    int line;            /* of the spec */
    const char *place; /* "epilogue", "prologue": computed from the largest contractions, or for them; "between": both;
                        * "statistics": a reduction; "contraction": a smaller one; "operand": a tensor; "beside": none
                        * of these */
    const char *text;    /* as written, or what is reduced */
    const char *call;    /* the call of the language's function that it is part of, as written; or NULL */
    const char *instead; /* its replacement: an operand of it, or a constant */
};
/* The terms of a kernel in the order of the spec, for fx_options.ablate; *n is their number. extents: "LABEL=N", likely
 * extents of free labels, which decide the contractions with the most flops; these are no terms. Works with
 * oracle_only. NULL if the compilation failed, has no such kernel, or memory runs out. Valid until fx_close. They are
 * stored in the compilation: one thread at a time. */
const struct fx_ablation *fx_ablations(
    const fx_compilation *c, const char *kernel, const char *const *extents, int n_extents, int *n);

enum fx_text {
    FX_TEXT_AST,
    FX_TEXT_IR,
    FX_TEXT_FUSED,
    FX_TEXT_PLAN,
    FX_TEXT_CU,
    FX_TEXT_HOST_C,
    FX_TEXT_DUMP,
    FX_TEXT_NOTES,
    FX_TEXT_FX,
    FX_TEXT_HOST_H,
    FX_TEXT_VENDOR
};
/* FX_TEXT_NOTES has the axes and dtype of every expression of every kernel. FX_TEXT_FX has every kernel, including
 * gradients, as .fx with fns written out. Both work with oracle_only. */
/* A stage as text, NUL-terminated, valid until fx_close; NULL if the compilation did not get that far. The text is
 * stored in the compilation: one thread at a time. */
const char *fx_text(const fx_compilation *c, enum fx_text stage);
/* The passes in order: the name, and one line that says why the pass is at this place; NULL past the end. */
const char *fx_pass_name(int i);
const char *fx_pass_why(int i);
/* The architectures that `arch` may name; NULL past the end. */
const char *fx_arch_name(int i);

/* ---- ahead of time ---- */
struct fx_image { /* a spec compiled for one architecture */
    const struct fx_plan *plan;
    const void *cubin; /* of its whole source, as fx_nvrtc makes it */
    size_t n_bytes;
    const struct fx_resources *compiled; /* resources of its entries, by fx_variant.number (fx_cubin_resources); NULL:
                                          * none spills more than it may */
};
/* Writes a C file with the machine code of all n images, which loads and launches it without fx (docs/embedding.md), or
 * its header. name: the file's name without folder and suffix. The file includes NAME.h, and functions that belong to
 * no kernel begin with NAME. The plans must be of one spec and the same options, except for arch, which must differ;
 * else FX_ERR_USAGE. *text is malloc'ed; NULL on failure. */
fx_status fx_ahead(const struct fx_image *images, int n, const char *name, bool is_header, char **text);

/* ---- the oracle: double precision, unfused, fixed order; shares only parser, checker and prelude with the compiler
 * ---- */
struct fx_host { /* a row-major array in host memory, borrowed */
    enum fx_dtype dtype;
    int rank;                        /* 0 for a scalar: one element */
    int64_t extents[FX_MAX_RANK];
    const void *data;
};

/* Evaluates elements of output number `output` (counted among the outputs) of kernel `kernel`: elements[i] is a flat
 * row-major index, elements NULL means all of them in order. inputs[i] belongs to the i-th parameter that is_input, an
 * `inout` one with its old contents; outputs are the parameters that is_output, `inout` ones among them. A packed input
 * is handed over as the launch takes it, in words; a strided one row-major. The extent of a label that outputs alone
 * have must be fixed at compile time. The plan's checks hold here too, those on scalars included. value[i] is the
 * unrounded result. integer[i] (may be NULL) is exact if the output is of an integer dtype (u64 by its bits) or a
 * condition, and is not written otherwise. bound[i] (may be NULL) is how far a right implementation may be from
 * value[i] before its store rounds once. 0 means that only the rounded value itself is right, because all arithmetic
 * was exact in f32. Otherwise it is derived from the rounding of every operation and, depending on `kind`, the
 * accumulation error of every contraction (docs/testing.md). Failure: FX_ERR_USAGE with a message in message[size]. */
fx_status fx_evaluate(const fx_compilation *c, const char *kernel, const struct fx_host *inputs, int n_inputs,
    int output, const int64_t *elements, int64_t n_elements, double *value, int64_t *integer, enum fx_bound kind,
    double *bound, char *message, size_t size);
/* Whether `got`, an element stored as dtype t, is right, given fx_evaluate's value and bound. This function defines the
 * default tolerance. NaN matches NaN, infinities match themselves. */
bool fx_is_right(enum fx_dtype t, double got, double value, double bound);
/* The same for an integer dtype or bool, given fx_evaluate's integer; also exact beyond 2^53. */
bool fx_is_right_integer(enum fx_dtype t, int64_t got, int64_t want, double bound);
/* The same with a stated tolerance. DERIVED and WORST are fx_is_right with the given bound. EXACT accepts only the
 * value rounded to t. ABS, REL and F16_ULP accept results within t, t * |value|, or t ulps of f16 at `largest`, the
 * largest finite |value| of the tensor, of the unrounded value; they ignore fx_evaluate's bound. NULL is DERIVED. If
 * the value is NaN, or rounds to an infinity, only that is right. *allowed, if not NULL, is set to the largest allowed
 * distance from the value. */
bool fx_is_within(const struct fx_tolerance *tolerance, double largest, enum fx_dtype t, double got, double value,
    double bound, double *allowed);

#ifdef __cplusplus
}
#endif
#endif
