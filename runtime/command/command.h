/* What the files of the command share: the parsed command line, files, a compiled spec, its bound arguments, a GPU with
 * them.
 *
 * These files alone print. Every function that fails has said why on stderr before it returns, and returns the status
 * fxc exits with. None refers to main.c. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdio.h>

#include "fx.h"
#include "fx_runtime.h"

/* ---- options.c: the command line ---- */
enum subcommand {
#define SUBCOMMAND(id, name, function, operands, help) SUB_##id,
#define OPTION(id, name, letter, argument, subcommands, help)
#include "command/options.def"
#undef SUBCOMMAND
#undef OPTION
    N_SUBCOMMANDS
};

enum option_id {
#define SUBCOMMAND(id, name, function, operands, help)
#define OPTION(id, name, letter, argument, subcommands, help) OPT_##id,
#include "command/options.def"
#undef SUBCOMMAND
#undef OPTION
    N_OPTIONS
};

struct parsed_option {
    enum option_id id;
    const char *value; /* "" for one without argument */
};

struct command {
    enum subcommand sub;
    struct parsed_option *options; /* in order */
    int n_options;
    const char **operands;
    int n_operands;
};

/* The rows of options.def, NULL past the end. */
struct subcommand_row {
    const char *name, *operands, *help;
};
struct option_row {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: takes none */
    unsigned in;          /* subcommands it belongs to, a bit each */
    const char *help;
};
const struct subcommand_row *subcommand_row(int i);
const struct option_row *option_row(int i);

/* Fills *cmd, which points into argv. FX_ERR_USAGE after a message, FX_ERR_NOMEM. */
fx_status command_parse(int argc, char **argv, struct command *cmd);
void command_release(struct command *cmd);
bool is_given(const struct command *cmd, enum option_id id);
/* The value given last, or NULL. */
const char *option_value(const struct command *cmd, enum option_id id);
void print_help(enum subcommand sub);
/* Prints the message and where help is; returns FX_ERR_USAGE. */
fx_status usage_error(const struct command *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints the message; returns status. */
fx_status complain(fx_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text before and after the first '='; *name is not terminated. False when there is no '=' or no name. */
bool split_pair(const char *pair, const char **name, size_t *name_len, const char **value);

/* ---- streams.c: where words go ---- */
/* stdout and stderr, or what the thread collects. */
FILE *out_stream(void);
FILE *err_stream(void);
struct words { /* collected */
    char *out, *err;
    size_t out_bytes, err_bytes;
};
/* This thread collects what it says in *w, which is whole once it has ended. False without memory. */
bool words_begin(struct words *w);
bool words_end(void);
void words_write(const struct words *w); /* to stderr and stdout */
void words_release(struct words *w);

/* ---- file.c: whole files ---- */
/* Reads a file, or stdin for "-", of at most `limit` bytes; *bytes is malloc'ed and ends in a NUL beyond *n. Of one
 * that does not begin with `begins`, unless that is NULL, it may leave the rest. */
fx_status read_whole(const char *path, size_t limit, const char *begins, char **bytes, size_t *n);
/* Likewise a regular file that lies below a folder: no absolute path, no `..`, no link in it. Says nothing when it
 * fails: errno is why, EINVAL where what is there is no regular file, 0 where it is larger. */
fx_status read_beneath(const char *folder, const char *path, size_t limit, char **bytes, size_t *n);
struct text_piece { /* bytes to be written */
    const void *data;
    size_t n_bytes;
};
/* Writes the pieces to a file, or to stdout for "-": all of them or, on failure and on an interrupt, none. */
fx_status write_whole(const char *path, const struct text_piece *pieces, int n_pieces);
bool writes_to_terminal(const char *path);
/* Bytes of memory this machine has: more cannot be a sensible request. */
size_t memory_bytes(void);

/* ---- request.c: what to compile, what to run it on, where ---- */
enum { SPEC_MAX_BYTES = 1 << 20 };
struct spec {
    const char *path; /* "-": stdin */
    char *text;
    size_t n_bytes;
};
fx_status spec_read(const char *path, struct spec *spec);
void spec_release(struct spec *spec); /* after every request of it is closed */

struct limits { /* of what the launches of a kernel take */
    double flops, bytes;
};

enum { MAX_INCLUDED = 64 };
struct files_read { /* files that a compilation read besides the spec; zero is none */
    char *paths[MAX_INCLUDED]; /* malloc'ed */
    int n;
};

struct request { /* of one kernel: the command line's words, and a block's where there is one; all borrowed */
    const struct command *cmd;
    const struct spec *spec;
    const struct fx_test *block; /* test or bench, or NULL */
    const char *kernel;          /* NULL: the only one */
    const char **defines;        /* "NAME=VALUE", compiled in */
    const char **extents;        /* "LABEL=N", for the arguments */
    const char **inputs;         /* "NAME=SOURCE" */
    int n_defines, n_extents, n_inputs;
    uint64_t seed;               /* of drawn inputs */
    bool is_unfused;             /* compile as if by `fuse: never` */
    bool wants_tests;            /* compile no further than the blocks */
    int ablate;                  /* compile without this term, see fx_options; 0: whole */
    const char *const *ablate_extents;
    int n_ablate_extents;
    struct files_read *reading;     /* takes down what is included; or NULL */
    bool *ran_short;             /* becomes true where device memory could not be had; or NULL */
    const char *gpu;             /* that it is launched on, by name; NULL: none, or none is known */
    int sm_count;                /* its multiprocessors; 0: likewise */
    const struct limits *most;   /* draw nothing where the launches take more; NULL: whatever they take */
};
fx_status request_open(
    const struct command *cmd, const struct spec *spec, const struct fx_test *block, struct request *r);
void request_release(struct request *r);
/* The value that the last pair of that name has, or NULL. */
const char *find_pair(const char *const *pairs, int n, const char *name);

struct machine { /* the GPU, if there is one, or the emulator */
    fx_context *context; /* NULL: none, or none wanted */
    fx_status status;    /* why there is no GPU: what fx_context_open returned */
    char no_gpu[1024];   /* and its words, one line; where no emulator could take its place, why not */
    bool is_emulated;    /* the context is the emulator's */
    bool is_stand_in;    /* and nobody asked for it: there is no GPU */
};
/* --device: auto, gpu, emu or cpu. */
fx_status read_device(const struct command *cmd, const char **device);
/* The emulator that "emu", "emu:4", "emu,plain" or "emu:4,plain" asks for: 4 multiprocessors, accesses not watched.
 * False where `device` is none of these. */
bool read_emulation(const char *device, struct fx_emulation *e);
void machine_open(const struct command *cmd, struct machine *m);
/* Likewise; with --device=auto the emulator takes the place of a GPU that is not there. A line on stderr says what was
 * taken. */
void machine_open_any(const struct command *cmd, struct machine *m);
void machine_close(struct machine *m);
/* Reads the only operand, opens a request of the command line and, where wanted, any machine, and acts. */
fx_status act_on_request(
    const struct command *cmd, bool wants_machine, fx_status (*act)(const struct request *, const struct machine *));

/* ---- depend.c: what was read, as a rule of make ---- */
/* Whether the command line asks for a rule, and fits it: FX_ERR_USAGE where it is asked for of several specs in one file. */
fx_status check_dependencies(const struct command *cmd);
/* Writes, where it is asked for, that the targets depend on the spec and what was read, to the file that -MF names, else to the first
 * target's name ending in .d. */
fx_status write_dependencies(
    const struct command *cmd, const char *const *targets, int n, const char *spec, const struct files_read *reading);
void reading_release(struct files_read *r);

/* ---- test.c: blocks ---- */
/* Acts on every test or bench block of the spec in turn, in a request of its own, whatever became of those before it.
 * The first failure is returned; *n grows by how many there were. */
fx_status act_on_blocks(const struct command *cmd, const struct spec *spec, const struct machine *machine, bool benches,
    int *n, fx_status (*act)(struct request *, const struct machine *, void *user), void *user);

/* ---- compile.c: specs ---- */
/* Compiles the request's spec and prints its messages. On success *out is to be closed. */
fx_status compile_spec(const struct request *r, const char *arch, bool oracle_only, fx_compilation **out);
/* Prints none of them: *out is set, and to be closed, whenever the compiler got as far as having messages. */
fx_status compile_request(const struct request *r, const char *arch, bool oracle_only, fx_compilation **out);
/* Prints those of one compilation, which may be NULL, in the form asked for. */
fx_status report_messages(const struct command *cmd, const fx_compilation *c);
/* Whether messages are for machines: then nothing else that belongs to a successful run stands on stderr. */
bool wants_json(const struct command *cmd);
/* The only operand of a subcommand that takes one. */
fx_status only_operand(const struct command *cmd, const char **path);

/* ---- job.c: a kernel with its arguments in host memory ---- */
struct argument {
    const struct fx_param *param;
    struct fx_shape shape; /* as the launch takes it: of a packed tensor in words; rank 0 for a scalar */
    size_t n_elements, n_bytes;
    void *data;            /* row-major; NULL for what is only written */
    void *result;          /* of an output: what was last computed */
    bool is_array;         /* data was read from a file */
};

struct job {
    const struct request *request;
    fx_context *context;         /* the machine's; NULL: no GPU */
    bool is_emulated;            /* the context is the emulator's */
    fx_compilation *compilation;
    const struct fx_kernel *kernel;
    int64_t *extents;            /* of the kernel, all bound */
    int64_t *strides;            /* of its strided parameters, see fx_row_major_strides: arrays here are row-major */
    struct argument *arguments;  /* one a parameter */
    int n_outputs;
    bool is_left_out; /* it takes more than the request's limits: its extents are bound, its arguments hold nothing */
    char too_long[256];          /* likewise, for the emulator in place of a GPU: why it is not begun; else "" */
};

/* Compiles (without a GPU only for the oracle, if that will do), reads and draws the inputs, binds the extents,
 * allocates the outputs. */
fx_status job_open(const struct request *request, const struct machine *machine, bool oracle_will_do, struct job *job);
void job_close(struct job *job);
const char *job_arch(const struct job *job);
/* Number of the parameter that is output `i`. */
int job_output(const struct job *job, int i);
/* Draws tensors of floats that no file gives anew, as integers from -2 to 2. */
void job_draw_integers(struct job *job);
/* By which its results are judged. */
const struct fx_tolerance *job_tolerance(const struct job *job);
/* The oracle on output i (see fx_evaluate); integer and bound may be NULL. */
fx_status job_evaluate(
    const struct job *job, int i, const int64_t *elements, int64_t n, double *value, int64_t *integer, double *bound);
/* What expressions of the plan see, with addresses aligned to 256. */
struct fx_env job_env(const struct job *job);
struct fx_partition job_partition(const struct job *job); /* the one that a launch takes */
/* Floating-point operations and bytes of its launches; INT64_MAX for what overflows. */
void job_work(const struct job *job, int64_t *flops, int64_t *bytes);
/* Whether no one gives it: a pass made it, or it is of a part that concat joins, and has the name of one before it. */
bool job_is_derived(const struct fx_kernel *k, int extent);
/* "f32[2,13]" */
void print_type(FILE *to, enum fx_dtype t, int rank, const int64_t *extents);

/* ---- gpu.c: a job on the GPU ---- */
struct device_set { /* the arguments once more, in device memory */
    DLTensor *tensors;       /* one a parameter; data NULL for a scalar */
    struct fx_value *values; /* what a launch takes */
    void *constants_memory;
    fx_constants *constants; /* what depends on `const` tensors alone */
};

struct gpu {
    const struct job *job;
    fx_prepared *prepared;
    void *stream;
    void *workspace;
    size_t workspace_bytes;
    struct device_set set;
};

fx_status gpu_open(const struct job *job, struct gpu *gpu);
fx_status gpu_take_partition(struct gpu *gpu, int number); /* whatever the extents; -1: as the plan chooses */
void gpu_close(struct gpu *gpu);
fx_status gpu_set_open(const struct gpu *gpu, struct device_set *set);
void gpu_set_close(const struct gpu *gpu, struct device_set *set);
fx_status gpu_launch(const struct gpu *gpu, const struct device_set *set);
/* Poisons outputs and workspace, launches, waits, reads the outputs back into the job's arguments. */
fx_status gpu_run(const struct gpu *gpu);
/* The partition that launches take: the plan's, pinned, or tuned. */
struct fx_partition gpu_partition(const struct gpu *gpu);
/* The index of the variant that launch i takes, or -1. */
int gpu_chosen_variant(const struct gpu *gpu, int i);
/* Prints fx_last_error() below `what`; returns status. */
fx_status gpu_failed(fx_status status, const char *what);

/* ---- compare.c: results beside the oracle's ---- */
struct expected { /* of one output */
    int64_t *elements; /* ascending; NULL: all */
    int64_t n;         /* elements compared */
    double *value, *bound; /* of each, by the oracle */
    int64_t *integer;  /* likewise, exact, where the output is of an integer dtype or a condition */
    double largest;    /* of the finite |value| */
};
struct comparison { /* of one output */
    int64_t n_compared, n_wrong;
    int64_t n_nan, n_infinite; /* that the oracle says are NaN, infinite */
    int64_t n_open;            /* of which anything is right: their bound is infinite */
    int64_t n_common;          /* finite, of one value, the one that most have, */
    double common;             /* and that value */
    bool is_limited; /* it is empty, or some elements are not NaN and have a limit */
    bool is_varied;  /* no one value would be right for all finite elements that have a limit; or there is one element
                      * alone, or the block states a tolerance and so  vouches for what it draws */
    double max_absolute, max_relative; /* errors against the oracle's value rounded to the output's dtype */
    double max_ulps;   /* likewise, in spacings of the output's dtype at that value */
    int64_t worst;     /* index into the elements expected, a wrong one where there is one; -1: none differs at all */
    int64_t closest;   /* that which came closest to what is allowed, or went farthest beyond; -1: none was compared */
    double error, allowed; /* of `closest`, against the unrounded value */
};
/* Whether a sample stands for the outputs: they cost the oracle too much. */
bool job_is_sampled(const struct job *job);
/* What every output should be, all of it or a sample; *out is to be released. */
fx_status expect_all(const struct job *job, struct expected **out);
void expected_release(struct expected *e, int n);
/* The elements compared of a large output: every corner, then indices drawn axis by axis, one in two beside a tile's
 * edge. At most SAMPLED_ELEMENTS flat indices, distinct and ascending, go to `elements`; returns how many. No extent is
 * 0. */
enum { SAMPLED_ELEMENTS = 4096 };
int64_t sample_elements(const struct fx_shape *shape, int64_t *elements);
struct verdict { /* over outputs, and runs: 0 of nothing */
    int64_t n_compared, n_wrong;
    int64_t n_exact; /* elements of which one value alone is right */
    int n_unlimited; /* outputs that say nothing */
    bool is_varied;  /* some output is */
};
void add_comparison(struct verdict *v, const struct comparison *c);
/* Why comparisons that found nothing wrong are none; NULL: they are some. */
const char *why_unchecked(const struct verdict *v);
/* "12 NaN, 3 infinite, 4 open, 32 of 48 are 0", what there is of it, each after the separator; what the comparison
 * could not have noticed. */
void print_kinds(const char *separator, const struct comparison *c);
struct comparison compare(const struct argument *a, const struct expected *e, const struct fx_tolerance *tolerance);
int64_t element_of(const struct expected *e, int64_t i); /* flat index of the i-th compared */
void print_index(const struct fx_shape *shape, int64_t flat); /* "[3,7]" */

/* ---- check.c ---- */
/* Runs and compares under the tolerance of the job's block, if it has one; FX_ERR_DIFFERS when a result differs or
 * nothing was compared; must_vary: or nothing by which a wrong result would show. */
fx_status check_job(const struct job *job, struct gpu *gpu, bool all_variants, bool must_vary);
/* Likewise of what would be launched alone, and prints nothing where all is right. */
/* Another run on small integers in place of the floats that were drawn, on which sums are exact: what a tolerance would
 * let pass differs by whole numbers. Adds what it compared to *v; the job holds other inputs afterwards. */
fx_status check_integers(struct job *job, struct verdict *v);
fx_status check_quietly(const struct job *job, const struct gpu *gpu);

/* ---- bench.c: times by device events ---- */
enum { MAX_REPETITIONS = 50, MAX_SETS = 64 };
double seconds_now(void); /* of a clock that no one sets */
int launches_of_batch(double each); /* a batch of launches of so many microseconds is long beside what an event costs */
/* The median of n >= 1 values, which it leaves in ascending order. */
double sort_for_median(double *values, int n);
struct rotation { /* copies of the arguments, launched in turn, so that no launch finds its own in L2 */
    struct device_set sets[MAX_SETS];
    int n_sets, next;
};
struct timing { /* how a time is taken, and what it was */
    int repetitions; /* of `batch` launches each */
    int batch;
    int64_t warmup;  /* launches before; 0: until the clocks have settled */
    double us[MAX_REPETITIONS]; /* of a launch, by repetition; sorted by timing_close */
    double median;
};
fx_status rotation_open(const struct gpu *gpu, struct rotation *r);
void rotation_close(const struct gpu *gpu, struct rotation *r);
/* As a bench block asks for it, NULL: as the command does by itself. */
struct timing timing_of(const struct fx_test *block);
/* As many launches as are asked for, else until the clocks have settled; finds the batch where none is asked for. */
fx_status warm_up(const struct gpu *gpu, struct rotation *r, fx_timer *timer, struct timing *t);
/* Microseconds a launch, over n of them. */
fx_status time_batch(const struct gpu *gpu, struct rotation *r, fx_timer *timer, int n, double *each);
void timing_close(struct timing *t);

/* ---- ablate.c: bench --ablate ---- */
/* Times the kernel of the request whole and without each of its terms, and prints a table, or with --json an object. */
fx_status ablate_request(const struct request *r, const struct machine *machine);

/* ---- tune.c ---- */
/* The database that the command line or the environment names, else the default one; "": none, which --db=none asks for. */
const char *tuning_path(const struct command *cmd, char *path, size_t size);
/* With --tuned or --db kernels that are prepared from now on take its rows. */
fx_status take_tuning(const struct command *cmd);

/* ---- pages.c: what is made of the options ---- */
/* Prints "fxc.1", a man page, or a completion, "bash", "zsh" or "fish"; FX_ERR_USAGE for another name. */
fx_status print_page(const struct command *cmd, const char *name);

/* ---- tools/explain_page.c ---- */
/* Writes the receipt of all kernels as a page of HTML that needs nothing else. spec: its text. */
fx_status write_explain_page(const fx_compilation *c, const char *path, const char *spec,
    const struct fx_resources *compiled, const char *to);

/* ---- tools/roof.c: bench --html ---- */
enum { MAX_ROOF_POINTS = 256 };
struct roof { /* what was timed; receipt is malloc'ed */
    struct roof_point {
        char label[160];
        double bytes, flops, us;
    } points[MAX_ROOF_POINTS];
    int n;
    char device[128], *receipt;
};
/* how: what stands behind the name of the kernel. Of more than there is room for the rest is left out. */
void roof_add(struct roof *r, const struct job *job, const char *how, double us);
fx_status write_roof_page(const struct roof *r, const struct spec *spec, const char *to);

/* ---- tools/format.c ---- */
/* A spec in the standard layout, malloc'ed; NULL when out of memory. */
char *format_text(const char *text, size_t len, size_t *n_out);

/* ---- the subcommands ---- */
fx_status command_compile(const struct command *cmd);
fx_status command_run(const struct command *cmd);
fx_status command_check(const struct command *cmd);
fx_status command_test(const struct command *cmd);
fx_status command_bench(const struct command *cmd);
fx_status command_tune(const struct command *cmd);
fx_status command_explain(const struct command *cmd);
fx_status command_trace(const struct command *cmd);
fx_status command_annotate(const struct command *cmd);
fx_status command_aot(const struct command *cmd);
fx_status command_format(const struct command *cmd);
fx_status command_lsp(const struct command *cmd);
fx_status command_doctor(const struct command *cmd);

#endif
