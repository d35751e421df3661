/* libfx, the compiler: `.fx` text to CUDA text and a launch plan, on any machine, without CUDA.
 *
 * Thread-safety: compilations are independent of each other; one compilation may be read from any number of threads
 * once fx_compile has returned. Nothing here prints, exits or keeps global state.
 *
 * NULL: a compilation that is NULL, as fx_compile leaves it where memory runs out, is one with nothing in it.
 * fx_messages of it is "", and every other function returns what it returns where there is nothing: NULL, 0 or
 * FX_ERR_USAGE. A place for a result that may not be NULL is FX_ERR_USAGE where it is. */
#ifndef FX_H
#define FX_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stack that a call of this header may take, built with optimisation: a spec at the limits of docs/language.md takes
 * about 1.4 MiB, most take a hundredth. */
enum { FX_STACK_BYTES = 2 << 20 };

typedef struct fx_compilation fx_compilation;

struct fx_options { /* zero means the default of every field but size */
    size_t size;    /* sizeof(struct fx_options), set by FX_OPTIONS. 0, or the size of no version of the struct,
                     * is FX_ERR_USAGE; so is a larger one with bytes beyond this version's that are not 0 */
    const char *arch;           /* "sm_90a" */
    const char *kernel;         /* compile this kernel of the file alone; NULL: all */
    const char *const *defines; /* "NAME=VALUE": an extent, a constant or a fn */
    int n_defines;
    const char *dump_after;     /* a pass: fx_text(c, FX_TEXT_DUMP) then gives the graph after it; "all" */
    const char *stop_after;     /* a pass: later optional passes do not run */
    const char *skip;           /* passes, and rules of them, to leave out: "cse,algebra.scale_out" */
    bool oracle_only; /* stop after the checker: fx_evaluate works, whether or not any schedule takes the spec;
                       * the plan has no launches and cannot be prepared */
    /* Serves `include`: the text of the path as written, valid until fx_compile returns, or NULL. The path is relative
     * and has no `..`, but a link may leave the folder. No function: includes are refused. */
    const char *(*read_file)(void *user, const char *path, size_t *len);
    void *user;                 /* handed to read_file */
    bool tests_only; /* stop once the test and bench blocks are checked: fx_tests works, no kernel is looked into, there
                        is no plan */
    bool unfused;    /* as if every kernel said `fuse: never`; what it says of fuse and kernels is set aside */
    const char *with;           /* rules to apply that are off by default: "algebra.exp2,algebra.norm_fold" */
    int ablate;                 /* leave this term of `kernel` out, from 1 (fx_ablations); 0: none */
    const char *const *ablate_extents; /* "LABEL=N", as fx_ablations was given them */
    int n_ablate_extents;
    /* Told when a stage begins, and when it is over: "compile" the file, in it "parse" and "check", then of each kernel
     * "lower", the passes by name, "schedule", then "emit" and "plan". Stages nest; of one that memory runs out in only
     * "compile" is said to be over. */
    void (*on_stage)(void *user, const char *stage, const char *of, bool is_over);
    void *stage_user;           /* handed to on_stage */
    /* Why read_file returned NULL last, for the message; handed `user`. Or NULL. */
    const char *(*read_failure)(void *user);
    /* The GPU that times are predicted for, by which ways are chosen: a name that has its name in it, as
     * fx_context_device gives it, "NVIDIA H100 80GB HBM3". NULL, or one that fx has no numbers of: that of the arch. */
    const char *gpu;
    int sm_count; /* and its multiprocessors; 0: as many as it is known to have */
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

/* Compiles text[0..len), which need not end in NUL; `file` names it in messages. *out is set whatever the status is,
 * and must be closed, but for FX_ERR_NOMEM, which leaves it NULL; text and options are not referenced afterwards.
 * Returns FX_ERR_COMPILE when the spec has errors (fx_messages says which), FX_ERR_USAGE for an unknown arch, kernel,
 * term or pass and for options that do not fit together (fx_messages likewise), FX_ERR_INTERNAL for a bug of fx
 * (likewise). */
fx_status fx_compile(const char *text, size_t len, const char *file, const struct fx_options *options,
                     fx_compilation **out);
/* NULL is allowed. The plan and every text of the compilation die with it,
 * what fx_prepare made of the plan does not. */
void fx_close(fx_compilation *c);
/* What became of the last of these calls on c: fx_messages_json, fx_messages_sarif, fx_definition, fx_find, fx_receipt,
 * fx_predict, fx_ablations, fx_text. FX_OK; FX_ERR_USAGE where there is no such thing; FX_ERR_NOMEM. It tells the one
 * NULL or 0 from the other. Before the first of them, what fx_compile returned; of NULL FX_ERR_NOMEM. */
fx_status fx_last_status(const fx_compilation *c);

/* Errors and warnings as text, "" when there are none. Valid until fx_close. */
const char *fx_messages(const fx_compilation *c);
/* The same as one JSON value, UTF-8, on one line a message: an array of {"severity": "error" | "warning", "code":
 * "FX2001", "title": what the code means, "message", "fix": text or null, "file", "line", "column", "end_line",
 * "end_column": 1-based, in code points, the end past the last, "byte_offset", "byte_length"}. What concerns the call
 * rather than the text has null for code, title, and place. Valid until fx_close; NULL when memory runs out. It is
 * printed into the compilation: one thread at a time. */
const char *fx_messages_json(const fx_compilation *c);
/* The same as a SARIF 2.1.0 log of one run: a result on a line of its own, its fix behind the message. As
 * fx_messages_json. */
const char *fx_messages_sarif(const fx_compilation *c);
/* The plan, or NULL when the compilation failed. */
const struct fx_plan *fx_get_plan(const fx_compilation *c);

struct fx_lines { /* of the text given to fx_compile, from 1, the last one included */
    int first, last;
};
/* The lines that a kernel is made of: its own, those of every const and fn of the text that it needs, and those of the
 * kernel whose gradient it is, with the comments right above them; ascending, apart. What an include brings is not
 * among them. Returns how many parts there are in lines[most], 0 where there is no such kernel. It counts into the
 * compilation: one thread at a time. */
int fx_definition(const fx_compilation *c, const char *kernel, struct fx_lines *lines, int most);

struct fx_found { /* what stands at a byte of the text given to fx_compile; places are bytes of it */
    size_t offset, length; /* the smallest expression, the declaration of a parameter, or the word */
    int line;              /* where it begins, from 1 */
    const char *type;      /* its dtype and axes, "f32[M,N]"; "" where that is not known */
    const char *kernel;    /* that it belongs to, or NULL */
    const char *defined_in; /* the file in which the name at the byte is defined; NULL: nowhere, or in the language */
    bool is_defined_here;   /* it is the text itself */
    size_t definition, definition_length; /* and where in it */
};
/* False where nothing stands there, or memory runs out. Works as far as the text was understood: after errors names are
 * found, types may be missing. It counts into the compilation: one thread at a time. */
bool fx_find(const fx_compilation *c, size_t offset, struct fx_found *out);

enum fx_format { FX_FORMAT_TEXT, FX_FORMAT_JSON, FX_FORMAT_SUMMARY };
/* The receipts of all kernels of the plan: where every line of the spec went, bytes, flops, predicted times, what was
 * not taken and why (docs/receipt.md has the schema of the JSON); FX_FORMAT_SUMMARY: what was taken alone, a few lines
 * a kernel. Numbers are those at fixed extents, and at nominal ones of labels that are free. compiled, by
 * fx_variant.number and fx_entry_count(plan) long, says what entries were compiled to, those with 0 registers being
 * none; NULL: none was. Valid until fx_close; NULL without a plan of launches and when memory runs out. It is printed
 * into the compilation: one thread at a time. */
const char *fx_receipt(const fx_compilation *c, enum fx_format format, const struct fx_resources *compiled);
/* Marks in wanted, as long as compiled, the entries that this receipt says are launched and of which compiled does not
 * say what they come to: again once they are compiled, as another takes the place of one that spills. False where there
 * are none, or no plan of launches, and when memory runs out. It counts into the compilation: one thread at a time. */
bool fx_receipt_wants(const fx_compilation *c, const struct fx_resources *compiled, bool *wanted);

struct fx_prediction { /* microseconds, on the GPU that times are predicted for */
    double us;       /* of a launch, what beginning its GPU kernels takes included */
    double bytes_us; /* what reading and writing its bytes once each would take alone, as fast as a copy; */
    double flops_us; /* its multiply-adds, at the most the machine can do; 0: there are none */
};
/* What kernel `kernel` (NULL: the first) of the plan is predicted to take at these extents, all of the plan's kernel,
 * in partition `partition` of it. variants[i] is the variant that launch i of the partition takes, -1 or variants NULL:
 * that with the lowest price; whether it takes the extents is not looked at. FX_ERR_USAGE where the plan has no
 * launches, no such kernel or partition, or an extent is negative. One thread at a time. */
fx_status fx_predict(const fx_compilation *c, const char *kernel, const int64_t *extents, int partition,
    const int *variants, struct fx_prediction *out);

/* The test and bench blocks in the order of the text, those of options.kernel alone where it was given; *n of them, 0
 * when the compilation failed. They live as long as c. */
const struct fx_test *fx_tests(const fx_compilation *c, int *n);

struct fx_ablation { /* a term of a kernel that can be left out, to see what it costs */
    int line;            /* of the spec */
    const char *place; /* "epilogue", "prologue": computed from the largest contractions, or for them; "between": both;
                        * "statistics": a reduction; "contraction": a smaller one; "operand": a tensor; "beside": none
                        * of these */
    const char *text;    /* as written, or what is reduced */
    const char *call;    /* of the language's function that it is part of, as written; or NULL */
    const char *instead; /* what stands for it: an operand of it, or a constant */
};
/* The terms of a kernel in the order of the spec, for fx_options.ablate; *n of them. extents: "LABEL=N", what labels
 * that are free are likely to be: the contractions with the most flops stay. With oracle_only too. NULL where the
 * compilation failed, has no such kernel, or memory runs out; valid until fx_close. They are kept in the compilation:
 * one thread at a time. */
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
/* With oracle_only too: FX_TEXT_NOTES gives the axes and dtype of every expression of every kernel, FX_TEXT_FX every
 * kernel, gradients among them, as .fx with fns written out. */
/* A stage as text, NUL-terminated, valid until fx_close; NULL when the compilation did not get that far. It is printed
 * into the compilation: one thread at a time. */
const char *fx_text(const fx_compilation *c, enum fx_text stage);
/* The passes in order: name and one line why it stands there; NULL past the end. */
const char *fx_pass_name(int i);
const char *fx_pass_why(int i);
/* The architectures `arch` may name, NULL past the end. */
const char *fx_arch_name(int i);

/* ---- ahead of time ---- */
struct fx_image { /* a spec compiled for one architecture */
    const struct fx_plan *plan;
    const void *cubin; /* of its whole source, as fx_nvrtc makes it */
    size_t n_bytes;
    const struct fx_resources *compiled; /* what its entries came to, by fx_variant.number (fx_cubin_resources); NULL:
                                          * none spills more than it may */
};
/* A C file with the machine code of all n images, which loads and launches it without fx (docs/embedding.md), or the
 * header of it. name: the file's, without folder and suffix; it includes NAME.h, and functions that are of no kernel
 * begin with it. The plans are of one spec and the same options but for arch, each of another; else FX_ERR_USAGE.
 * *text is malloc'ed; NULL on failure. */
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
 * `inout` one with what it held before; outputs are the parameters that is_output, `inout` ones among them. A packed
 * input is handed over as the launch takes it, in words; a strided one row-major. The extent of a label that outputs
 * alone have must be fixed at compile time. The plan's checks hold here too, those on scalars included. value[i] is the
 * unrounded result; integer[i] (may be NULL) is exact where the output is of an integer dtype (u64 by its bits) or a
 * condition, and not written otherwise. bound[i] (may be NULL) is how far a right implementation may be from it before
 * its store rounds once: 0 means only the rounded value itself is right (all arithmetic was exact in f32), otherwise
 * derived from the rounding of every operation and, as `kind` says, the accumulation error of every contraction
 * (docs/testing.md). Failure: FX_ERR_USAGE with a message in message[size]. */
fx_status fx_evaluate(const fx_compilation *c, const char *kernel, const struct fx_host *inputs, int n_inputs,
    int output, const int64_t *elements, int64_t n_elements, double *value, int64_t *integer, enum fx_bound kind,
    double *bound, char *message, size_t size);
/* Whether `got`, an element stored as dtype t, is right given fx_evaluate's value and bound: the one statement of the
 * tolerance. NaN matches NaN, infinities match themselves. */
bool fx_is_right(enum fx_dtype t, double got, double value, double bound);
/* Likewise of an integer dtype, or bool, given fx_evaluate's integer: exact beyond 2^53 too. */
bool fx_is_right_integer(enum fx_dtype t, int64_t got, int64_t want, double bound);
/* The same under a tolerance that a person stated. DERIVED and WORST are fx_is_right of the bound given; EXACT takes
 * the value rounded to t alone; ABS, REL and F16_ULP take what is that far from the unrounded value: t, t * |value|, t
 * ulps of f16 at `largest`, the largest finite |value| of the tensor (fx_evaluate's bound is then set aside); NULL is
 * DERIVED. Where the value is NaN, or rounds to an infinity, only that is right. *allowed, if not NULL, is how far from
 * the value a right result could be at most. */
bool fx_is_within(const struct fx_tolerance *tolerance, double largest, enum fx_dtype t, double got, double value,
    double bound, double *allowed);

#ifdef __cplusplus
}
#endif
#endif
