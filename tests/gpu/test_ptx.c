/* Every function of kernels/ptx.cuh and ptx_hopper.cuh on the GPU and on the emulator, on the same random inputs: equal
 * to the bit, or as near as the function promises.
 *
 * In: the cases of tests/gpu/ptx.cuh and ptx_hopper.cuh, the latter for sm_90a alone. Out: a line a case, what differs
 * first where something does, `N passed, M failed`. A case runs in 256 blocks of its threads, in 64 where it writes
 * more than 8 words a thread, in 16 where more than 32, in 32 where blocks wait for each other: of 128 threads 32,768
 * times, or 1,024 matrices. Invariant: neither file has a function without a case; a case in which nothing was compared
 * has failed.
 *
 *   test_ptx                a child emulates, this process has the GPU (the emulator needs g++)
 *   test_ptx --emu --to F   what the emulator computes, into F;   test_ptx --to F   what the GPU computes
 *   test_ptx --with F       the GPU beside what F holds;          test_ptx --emu --with F   the emulator beside what F
 *                           holds
 *   FX_DRY=right|wrong test_ptx   without a GPU: the emulator beside itself, as it is or with a word of each case
 *                                 spoilt, which must pass and must fail */
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fx_runtime.h"
#include "lib/runtime.h"

extern const char fx_text_ptx[], fx_text_ptx_hopper[];

enum {
    BLOCK = 128,
    BLOCKS = 256,
    FEW_BLOCKS = 64,
    FEWEST_BLOCKS = 16,
    GRID_BLOCKS = 32,
    SHARED = 49152,
    MAX_CASES = 200,
    MAX_IN = 32,
    MAX_OUT = 256,
    TEXT = 1 << 17,
    SM_COUNT = 132,
    PATIENCE = 300 /* seconds for a case */
};

static struct file { /* of cases, and the hardware that they call */
    const char *name, *hardware;
    const char *arch; /* they run on that alone; NULL: on any */
    char text[TEXT];
} files[] = {{"ptx.cuh", fx_text_ptx, NULL, ""}, {"ptx_hopper.cuh", fx_text_ptx_hopper, "sm_90a", ""}};
enum { N_FILES = sizeof files / sizeof *files };

struct test {
    char functions[200];    /* "fx_a, fx_b" */
    char name[64];          /* of its device function */
    char kinds[MAX_IN + 1]; /* of its words, "w2b30" */
    char in[MAX_IN + 1];    /* a letter a word */
    int n_out;              /* words */
    enum { EXACT, EXP2, RCP, SUM } how;
    int k;        /* SUM: products in each */
    bool is_grid; /* all blocks alive at once */
    const struct file *file;
    int block; /* threads of one */
    unsigned cluster; /* blocks of one */
    int rank;  /* of the tensor map of what goes in, of 16-bit elements; 0: it has none */
    uint64_t extents[FX_MAX_MAP_RANK];
    unsigned box[FX_MAX_MAP_RANK];
    int lower[FX_MAX_SPATIAL], upper[FX_MAX_SPATIAL]; /* of a map in im2col mode: corners */
    unsigned steps[FX_MAX_MAP_RANK];
    bool is_im2col;
    bool is_out;     /* the map is of what comes out */
    bool is_skipped; /* the GPU has no such instructions */
    size_t at;       /* of its first word among the results */
};

static struct test cases[MAX_CASES];
static int n_cases, n_passed, n_failed;
static const char *now = "nothing"; /* the case that runs */
static char source[4 * TEXT];

static void die(const char *what, const char *why) {
    printf("ptx: %s: %s\n0 passed, 1 failed\n", what, why);
    exit(1);
}

static void check(fx_status status, const char *what) {
    if (status != FX_OK) die(what, fx_last_error());
}

/* A kernel that waits for ever says nothing by itself. */
static void on_alarm(int number) {
    static const char words[] = ": has not ended\n0 passed, 1 failed\n";
    (void)number;
    if (write(1, "ptx: ", 5) < 0 || write(1, now, strlen(now)) < 0 || write(1, words, sizeof words - 1) < 0) _exit(2);
    _exit(1);
}

static int blocks_of(const struct test *c) {
    return c->is_grid ? GRID_BLOCKS : c->n_out > 32 ? FEWEST_BLOCKS : c->n_out > 8 ? FEW_BLOCKS : BLOCKS;
}

static int threads_of(const struct test *c) { return blocks_of(c) * c->block; }

/* ---- cases ---- */

/* "w2b30", 2 words of a kind and 30 of another, as a letter each. */
static void read_words(struct test *c) {
    const char *from = c->kinds;
    size_t n = 0;
    while (*from) {
        char letter = *from++, *end;
        unsigned long times = strtoul(from, &end, 10);
        if (end == from) times = 1;
        if (n + times > MAX_IN) die("too many words", c->functions);
        memset(c->in + n, letter, times);
        n += times, from = end;
    }
}

/* "64x16 of 200x600": a box, and the tensor. */
static void read_map(struct test *c, const char *from) {
    char *at = (char *)from;
    int n = 0;
    do c->box[c->rank++] = (unsigned)strtoul(at, &at, 10);
    while (*at++ == 'x' && c->rank < FX_MAX_MAP_RANK);
    if (strncmp(at, "of ", 3) != 0) die("no tensor map", from);
    at += 3;
    do c->extents[n++] = strtoul(at, &at, 10);
    while (*at++ == 'x' && n < FX_MAX_MAP_RANK);
    if (n != c->rank) die("no tensor map", from);
}

/* "-1x2", a number for each spatial axis, behind a word. */
static void read_spatial(const struct test *c, const char *from, const char *word, int *numbers) {
    const char *at = strstr(from, word);
    if (!at) die("no tensor map", from);
    at += strlen(word);
    for (int i = 0; i < c->rank - 2; i++) {
        char *end;
        numbers[i] = (int)strtol(at, &end, 10);
        if (end == at) die("no tensor map", from);
        at = end + (*end == 'x');
    }
}

/* "64 of 72x9x7x3 from -1x-1 to 0x1 by 2x1": a column of pixels of 64 elements, the tensor, the corners of its box, and
 * from pixel to pixel. */
static void read_pixels(struct test *c, const char *from) {
    char *at;
    int steps[FX_MAX_SPATIAL];
    c->box[0] = 64, c->box[1] = (unsigned)strtoul(from, &at, 10);
    if (strncmp(at, " of ", 4) != 0) die("no tensor map", from);
    at += 4;
    do c->extents[c->rank++] = strtoul(at, &at, 10);
    while (*at++ == 'x' && c->rank < FX_MAX_MAP_RANK);
    read_spatial(c, at, "from ", c->lower);
    read_spatial(c, at, " to ", c->upper);
    read_spatial(c, at, " by ", steps);
    for (int i = 0; i < c->rank; i++) c->steps[i] = i && i < c->rank - 1 ? (unsigned)steps[i - 1] : 1;
    c->is_im2col = true;
}

static void read_case(const struct file *file, const char *line) {
    struct test *c = &cases[n_cases];
    char how[128], rest[64];
    const char *more;
    if (n_cases++ == MAX_CASES ||
        sscanf(line, "// case %199[^:]: %32s -> %d, %127[^\n]", c->functions, c->kinds, &c->n_out, how) != 4)
        die("no case", line);
    read_words(c);
    c->file = file;
    c->block = (more = strstr(how, ", block ")) ? atoi(more + 8) : BLOCK;
    c->cluster = (more = strstr(how, ", cluster ")) ? (unsigned)atoi(more + 10) : 1;
    c->how = !strncmp(how, "exact", 5) ? EXACT : !strncmp(how, "exp2", 4) ? EXP2 : !strncmp(how, "rcp", 3) ? RCP : SUM;
    if (c->how == SUM && sscanf(how, "sum of %d", &c->k) != 1) die("no such comparison", how);
    c->is_grid = strstr(how, ", grid") != NULL;
    if ((more = strstr(how, ", box "))) read_map(c, more + 6);
    if ((more = strstr(how, ", pixels "))) read_pixels(c, more + 9);
    if ((more = strstr(how, ", to box "))) read_map(c, more + 9), c->is_out = true;
    const char *at = strstr(line, "\nFX_DEVICE void ");
    if (!at || sscanf(at, "\nFX_DEVICE void %63[a-z0-9_]%1s", c->name, rest) != 2) die("no function behind", line);
    if (c->n_out < 1 || c->n_out > MAX_OUT) die("too many words", line);
}

static void read_cases(struct file *file, const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(file->text, 1, TEXT - 1, f) : 0;
    if (f) fclose(f);
    if (!n) die("cannot read", path);
    for (const char *at = file->text; (at = strstr(at, "\n// case ")); at++) read_case(file, at + 1);
}

/* Whether the list "fx_a, fx_b" has the name. */
static bool names(const char *list, const char *name, size_t n) {
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return true;
    return false;
}

/* Every function that the hardware announces has a case that calls it. */
static void find_missing(const char *hardware) {
    for (const char *line = hardware; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *end = strchr(line, ':'), *stop = strchr(line, '\n');
        if (strncmp(line, "// fx_", 6) != 0 || !end || !stop || end > stop) continue;
        for (const char *at = line + 3; at < end;) {
            char name[64];
            int n = 0;
            bool is_there = false;
            if (sscanf(at, "%63[a-z0-9_]%n", name, &n) != 1) break;
            for (int i = 0; i < n_cases; i++) is_there |= names(cases[i].functions, name, (size_t)n);
            if (!is_there) n_failed++, printf("FAIL ptx: %s has no case\n", name);
            at += n;
            at += strspn(at, ", ");
        }
    }
}

/* The cases of a file whose blocks have so many threads; several may have one function. */
static void write_source(const struct file *file, int block) {
    bool has_maps = file->arch != NULL;
    size_t n = (size_t)snprintf(source, sizeof source,
        "#ifndef FX_PTX\n%s%s#endif\n%s\nextern \"C\" __global__ void __launch_bounds__(%d, 1)\n"
        "test_ptx(const unsigned *in_, unsigned *out_, unsigned long long *flags_, int which_%s) {\n"
        "  const long long i = blockIdx.x * %d + threadIdx.x;\n  switch (which_) {\n",
        fx_text_ptx, has_maps ? file->hardware : "", file->text, block,
        has_maps ? ", const __grid_constant__ fx_tensor_maps<1> maps_" : "", block);
    for (int i = 0; i < n_cases; i++) {
        const struct test *c = &cases[i], *next = i + 1 < n_cases ? c + 1 : NULL;
        if (c->file != file || c->block != block) continue;
        n += (size_t)snprintf(source + n, sizeof source - n, "  case %d:\n", i);
        if (next && !strcmp(next->name, c->name)) {
            if (strlen(next->in) != strlen(c->in) || next->n_out != c->n_out || next->block != block)
                die("two cases differ in more than their kinds of words", c->name);
            continue;
        }
        n += (size_t)snprintf(source + n, sizeof source - n, "    %s(in_ + i * %zu, out_ + i * %d, %s);\n    break;\n",
            c->name, strlen(c->in), c->n_out, has_maps ? "maps_.of" : "flags_");
    }
    snprintf(source + n, sizeof source - n, "  }\n}\n");
}

/* ---- inputs ---- */

static uint64_t state;

static uint32_t draw(void) { /* splitmix64 */
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 16);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A float of an exponent within `range` of 1, any fraction. */
static uint32_t moderate(int range) {
    return (draw() & 0x807fffffu) | (127 - (uint32_t)range + draw() % (2 * (uint32_t)range)) << 23;
}

static uint32_t a_float(void) {
    static const uint32_t special[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
        0xff812345, 0x3f800000, 0xbf800000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
        0x477fe000, 0x477fefff, 0x477ff000, 0x477ff001, 0x33000000, 0x33000001, 0x32ffffff, 0x38800000, 0x387fc000,
        0x387fe000, 0x387ff000, 0x7f7f8000, 0x7f7f7fff, 0x7e800000, 0x7e800001, 0x7effffff, 0x7f000000};
    uint32_t tie = draw() % 2 ? 0x8000 : 0x1000; /* half a unit of bf16, of f16 and tf32 */
    switch (draw() % 8) {
    case 0: return special[draw() % (sizeof special / sizeof *special)];
    case 1:
    case 2: return moderate(20);
    case 3:
    case 4: return (moderate(28) & ~(2 * tie - 1)) + tie + draw() % 3 - 1;
    case 5: return (draw() & 0x8fffffff) | 0x30000000; /* the exponents of f16, subnormal ones too */
    default: return draw();
    }
}

static uint64_t a_double(void) {
    float f = float_of(a_float());
    double d = (double)f;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    switch (draw() % 4) {
    case 0: return bits;                                                   /* a float */
    case 1: return bits ^ (uint64_t)(draw() % 3) << 28 ^ (draw() % 3 - 1); /* beside one, or between two */
    case 2: return (uint64_t)draw() << 32 | draw();
    default: return (bits & ~(uint64_t)0x1fffffff) | (draw() & 0x1fffffff);
    }
}

static uint32_t a_power(void) { /* what exp2 takes */
    float x = (float)(int32_t)draw() * 0x1p-31f;
    switch (draw() % 4) {
    case 0: return a_float();
    case 1: return bits_of(x * 160.0f);
    case 2: return bits_of(rintf(x * 150.0f));
    default: return bits_of(x * 2.0f);
    }
}

static uint32_t small_integer(char as, bool is_low) {
    float x = (float)(int)(draw() % 9) - 4.0f;
    uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
    if (as == 'p') return bits >> 16 << (is_low ? 0 : 16);
    if (as == 'r' || as == 's') return bits;
    return ((bits >> 16 & 0x8000) | (magnitude ? (magnitude - (112u << 23)) >> 13 : 0)) << (is_low ? 0 : 16);
}

/* A word of two halves of which each may be a zero, an infinity, a NaN or subnormal. */
static uint32_t spoil(uint32_t word, int bits, uint32_t infinity) {
    static const uint32_t what[] = {0, 0, 0, 1, 1, 2, 3};
    for (int at = 0; at < 32; at += bits) {
        uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1, sign = 1u << (bits - 1), x;
        if (draw() % 50) continue;
        x = what[draw() % 7];
        x = (x == 0      ? 0
                : x == 1 ? infinity
                : x == 2 ? infinity | infinity >> 1
                         : draw() & ((infinity & (~infinity + 1)) - 1)) |
            (draw() & sign);
        word = (word & ~(mask << at)) | (x & mask) << at;
    }
    return word;
}

static uint32_t a_half(void) { return (draw() & 0x83ff) | (7 + draw() % 14) << 10; }
static uint32_t a_bfloat(void) { return moderate(8) >> 16; }

static void draw_words(const char *kinds, uint32_t *x) {
    for (int i = 0; kinds[i]; i++) {
        uint64_t wide;
        switch (kinds[i]) {
        case 'w': x[i] = draw(); break;
        case 'v': x[i] = draw() % 4 != 0; break;
        case 'f': x[i] = a_float(); break;
        case 'e': x[i] = a_power(); break;
        case 'd': wide = a_double(), x[i] = (uint32_t)wide, x[++i] = (uint32_t)(wide >> 32); break;
        case 'l':
            wide = ((uint64_t)draw() << 32 | draw()) >> draw() % 64, wide = draw() % 2 ? wide : ~wide,
            x[i] = (uint32_t)wide, x[++i] = (uint32_t)(wide >> 32);
            break;
        case 'b': x[i] = a_bfloat() | a_bfloat() << 16; break;
        case 'B': x[i] = spoil(a_bfloat() | a_bfloat() << 16, 16, 0x7f80); break;
        case 'h': x[i] = a_half() | a_half() << 16; break;
        case 'H': x[i] = spoil(a_half() | a_half() << 16, 16, 0x7c00); break;
        case 't': x[i] = moderate(8); break;
        case 'T': x[i] = spoil(moderate(8), 32, 0x7f800000); break;
        case 'm': x[i] = moderate(10); break;
        case 'M': x[i] = spoil(moderate(10), 32, 0x7f800000); break;
        case 'p':
        case 'q': x[i] = small_integer(kinds[i], true) | small_integer(kinds[i], false); break;
        case 'r':
        case 's': x[i] = small_integer(kinds[i], true); break;
        default: die("no such word", kinds);
        }
    }
}

/* ---- running ---- */

struct device { /* the GPU or the emulator, with what is compiled for it */
    fx_context *context;
    void *in, *out, *flags;
    void *functions[MAX_CASES]; /* NULL: not on this device */
};

static size_t most_bytes(bool is_in) {
    size_t most = 0;
    for (int i = 0; i < n_cases; i++) {
        size_t n = (size_t)threads_of(&cases[i]) * (is_in ? strlen(cases[i].in) : (size_t)cases[i].n_out) * 4;
        if (n > most) most = n;
    }
    return most;
}

/* What the case needs, and with it all of its file that have as many threads. */
static void compile_cases(struct device *m, const struct test *first) {
    struct context_scope s;
    void *module, *function;
    write_source(first->file, first->block);
    struct compile c = {.source = source,
        .file = "test_ptx.cu",
        .arch = fx_context_arch(m->context),
        .only = NO_ENTRY,
        .entry = "test_ptx"};
    now = first->file->name;
    check(nvrtc_compile(&c), "does not compile");
    check(scope_enter(m->context, &s), "no context");
    check(CU(m->context, cuModuleLoadData(&module, c.image)), "does not load");
    check(CU(m->context, cuModuleGetFunction(&function, module, "test_ptx")), "does not load");
    check(scope_leave(m->context, &s, FX_OK), "no context");
    for (int i = 0; i < n_cases; i++)
        if (cases[i].file == first->file && cases[i].block == first->block) m->functions[i] = function;
    free(c.image);
    free(c.log);
}

static void open_device(struct device *m, bool is_emulated) {
    *m = (struct device){0};
    if (is_emulated) check(fx_emulate(&(struct fx_emulation){.sm_count = SM_COUNT}), "no emulator");
    check(fx_context_open(0, &m->context), "no GPU");
    for (int i = 0; i < n_cases; i++) {
        const char *arch = cases[i].file->arch;
        cases[i].is_skipped = arch && strcmp(arch, fx_context_arch(m->context)) != 0;
        if (!cases[i].is_skipped && !m->functions[i]) compile_cases(m, &cases[i]);
    }
    check(fx_device_alloc(m->context, most_bytes(true), &m->in), "cannot allocate");
    check(fx_device_alloc(m->context, most_bytes(false), &m->out), "cannot allocate");
    check(fx_device_alloc(m->context, GRID_BLOCKS * 8, &m->flags), "cannot allocate");
}

/* The tensor lies where the words begin, its rows a multiple of 16 bytes apart. */
static fx_status encode(const struct device *m, const struct test *c, struct cuda_tensor_map *out) {
    enum { ALIGN = 16, BYTES = 2 };
    uint64_t strides[FX_MAX_MAP_RANK] = {(c->extents[0] * BYTES + ALIGN - 1) / ALIGN * ALIGN};
    unsigned steps[FX_MAX_MAP_RANK] = {1, 1, 1, 1, 1};
    for (int i = 1; i < c->rank; i++) strides[i] = strides[i - 1] * c->extents[i];
    if (strides[c->rank - 1] > (size_t)threads_of(c) * (c->is_out ? (size_t)c->n_out : strlen(c->in)) * 4)
        die("more elements than words", c->name);
    if (c->is_im2col)
        return CU(m->context,
            cuTensorMapEncodeIm2col(out, TENSOR_MAP_BF16, (unsigned)c->rank, m->in, c->extents, strides, c->lower,
                c->upper, c->box[0], c->box[1], c->steps, 0, TENSOR_MAP_SWIZZLE_128B, TENSOR_MAP_L2_256B, 0));
    return CU(m->context,
        cuTensorMapEncodeTiled(out, TENSOR_MAP_BF16, (unsigned)c->rank, c->is_out ? m->out : m->in, c->extents, strides,
                              c->box, steps, 0, TENSOR_MAP_SWIZZLE_128B, TENSOR_MAP_L2_256B, 0));
}

static fx_status launch(struct device *m, int which) {
    const struct test *c = &cases[which];
    struct cuda_launch_attribute a = {.id = LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = c->is_grid};
    if (c->cluster > 1)
        a = (struct cuda_launch_attribute){.id = LAUNCH_ATTRIBUTE_CLUSTER, .value.cluster = {c->cluster, 1, 1}};
    struct cuda_launch_config config = {.grid = {(unsigned)blocks_of(c), 1, 1},
        .block = {(unsigned)c->block, 1, 1},
        .shared_bytes = SHARED,
        .attributes = &a,
        .n_attributes = 1};
    struct cuda_tensor_map map = {{0}};
    void *arguments[] = {&m->in, &m->out, &m->flags, &which, &map};
    struct context_scope s;
    fx_status status = scope_enter(m->context, &s);
    if (status == FX_OK && c->rank) status = encode(m, c, &map);
    if (status == FX_OK) status = CU(m->context, cuLaunchKernelEx(&config, m->functions[which], arguments, NULL));
    if (status == FX_OK) status = CU(m->context, cuStreamSynchronize(NULL));
    return scope_leave(m->context, &s, status);
}

/* Fills the results of every case. */
static void run_cases(bool is_emulated, uint32_t *results) {
    struct device m;
    uint32_t *in = malloc(most_bytes(true));
    if (!in) die("out of memory", "inputs");
    signal(SIGALRM, on_alarm);
    open_device(&m, is_emulated);
    for (int i = 0; i < n_cases; i++) {
        const struct test *c = &cases[i];
        size_t n_in = strlen(c->in), n = (size_t)threads_of(c);
        if (c->is_skipped) continue;
        now = c->name;
        alarm(PATIENCE);
        state = 1 + (uint64_t)i;
        for (size_t t = 0; t < n; t++) draw_words(c->in, in + t * n_in);
        check(fx_device_write(m.context, m.in, in, n * n_in * 4), c->name);
        check(fx_device_fill(m.context, m.out, 0xA5, n * (size_t)c->n_out * 4, NULL), c->name);
        check(fx_device_fill(m.context, m.flags, 0x11, GRID_BLOCKS * 8, NULL), c->name);
        check(launch(&m, i), c->name);
        check(fx_device_read(m.context, results + c->at, m.out, n * (size_t)c->n_out * 4), c->name);
    }
    alarm(0);
    free(in);
}

/* ---- comparing ---- */

/* The words that a case may differ in are those of floats. Word i of `want`, which the emulator computed, beside that
 * of `got`. */
static bool is_near(const struct test *c, const uint32_t *got, const uint32_t *want, int i) {
    float x = float_of(got[i]), y = float_of(want[i]);
    if (got[i] == want[i]) return true;
    if (c->how == EXACT) return false;
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (c->how == EXP2)
        return fabsf(y) <= 0x1p-126f ? fabsf(x) <= 0x1p-126f : (double)fabsf(x - y) <= (0x1p-22 + 0x1p-24) * (double)y;
    if (c->how == RCP)
        return fabsf(y) <= 0x1p-126f ? fabsf(x) <= 0x1p-126f
                                     : abs((int)(got[i] - want[i])) <= 1 && (got[i] ^ want[i]) >> 31 == 0;
    if (isinf(x) || isinf(y)) return false;
    int half = c->n_out / 2; /* behind the sums, the sums of the magnitudes of what is added up */
    double sum = (double)float_of(want[i % half + half]);
    return isfinite(sum) && fabs((double)x - (double)y) <= (c->k + 16) * 0x1p-24 * sum;
}

static void print_inputs(const struct test *c, long thread) {
    uint32_t in[MAX_IN];
    state = 1 + (uint64_t)(c - cases);
    for (long t = 0; t <= thread; t++) draw_words(c->in, in);
    printf("; in");
    for (size_t i = 0; i < strlen(c->in); i++) printf(" %#x", in[i]);
}

static void compare_case(const struct test *c, const uint32_t *got, const uint32_t *want) {
    long n = threads_of(c), n_wrong = 0, first = 0, n_exact = 0;
    if (c->is_skipped) {
        printf("skipped: %s of %s (%s): the GPU is not %s\n", c->name, c->kinds, c->functions, c->file->arch);
        return;
    }
    for (long t = 0; t < n; t++)
        for (int i = 0; i < c->n_out; i++) {
            n_exact += got[t * c->n_out + i] == want[t * c->n_out + i];
            if (!is_near(c, got + t * c->n_out, want + t * c->n_out, i) && n_wrong++ == 0) first = t * c->n_out + i;
        }
    *(n_wrong ? &n_failed : &n_passed) += 1;
    printf("%s %s of %s (%s): %ld words, %ld equal", n_wrong ? "FAIL" : "ok", c->name, c->kinds, c->functions,
        n * c->n_out, n_exact);
    if (n_wrong) {
        long t = first / c->n_out;
        printf(", %ld wrong; first block %ld, thread %ld, word %ld: %#x, emulator %#x", n_wrong, t / c->block,
            t % c->block, first % c->n_out, got[first], want[first]);
        if (c->how != EXACT) printf(" (%g, %g)", (double)float_of(got[first]), (double)float_of(want[first]));
        if (!c->rank) print_inputs(c, t);
    }
    printf("\n");
}

/* ---- where results come from ---- */

/* Memory for the results of all cases, which lie one after the other; a child may fill it. */
static uint32_t *take_results(size_t *n) {
    *n = 0;
    for (int i = 0; i < n_cases; i++) {
        cases[i].at = *n;
        *n += (size_t)threads_of(&cases[i]) * (size_t)cases[i].n_out;
    }
    uint32_t *results = mmap(NULL, *n * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) die("out of memory", "results");
    return results;
}

/* A process has the emulator or a GPU. */
static void emulate_in_child(uint32_t *results) {
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_cases(true, results);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(1);
}

static void read_results(const char *path, uint32_t *results, size_t n) {
    FILE *f = fopen(path, "rb");
    size_t n_read = f ? fread(results, 4, n, f) : 0;
    bool is_whole = n_read == n && fgetc(f) == EOF;
    if (f) fclose(f);
    if (!is_whole) die("no results of these cases", path);
}

static void write_results(const char *path, const uint32_t *results, size_t n) {
    FILE *f = fopen(path, "wb");
    size_t n_written = f ? fwrite(results, 4, n, f) : 0;
    if (!f || fclose(f) != 0 || n_written != n) die("cannot write", path);
}

int main(int argc, char **argv) {
    const char *dry = getenv("FX_DRY"), *to = NULL, *with = NULL, *folder = "tests/gpu";
    bool is_emulated = false;
    size_t n;
    for (int i = 1; i < argc; i++) {
        bool has_more = i + 1 < argc;
        if (!strcmp(argv[i], "--emu")) is_emulated = true;
        else if (!strcmp(argv[i], "--to") && has_more) to = argv[++i];
        else if (!strcmp(argv[i], "--with") && has_more) with = argv[++i];
        else if (!strcmp(argv[i], "--cases") && has_more) folder = argv[++i];
        else return fprintf(stderr, "usage: test_ptx [--emu] [--to FILE | --with FILE] [--cases FOLDER]\n"), 2;
    }
    for (int i = 0; i < N_FILES; i++) read_cases(&files[i], folder);
    for (int i = 0; i < N_FILES; i++) find_missing(files[i].hardware);
    uint32_t *got = take_results(&n), *want = take_results(&n);
    if (with) read_results(with, want, n);
    else if (!to) emulate_in_child(want);
    if (dry) memcpy(got, want, n * 4);
    else run_cases(is_emulated, got);
    if (to) return write_results(to, got, n), n_failed != 0;
    for (int i = 0; i < n_cases; i++) {
        if (dry && !strcmp(dry, "wrong")) got[cases[i].at + 1000 * (size_t)cases[i].n_out] ^= 1u << 30;
        compare_case(&cases[i], got + cases[i].at, want + cases[i].at);
    }
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0 || n_passed == 0;
}
