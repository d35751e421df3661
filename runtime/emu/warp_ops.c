/* Collective operations of the lanes of a warp. In: the words of each lane. Out: the words each lane gets, as PTX
 * states for shfl, ldmatrix and mma.sync. Invariant: all lanes have supplied theirs, so nothing here waits. Products of
 * floats are exact in double; their sum is rounded once. */
#include <math.h>
#include <string.h>

#include "emu/emu.h"

static void shuffle(struct warp *w, bool is_up) {
    unsigned word[WARP];
    for (int i = 0; i < w->n; i++) word[i] = w->fibers[i].view.words[0];
    for (int i = 0; i < w->n; i++) {
        int from = is_up ? i - (int)w->operand : i ^ (int)w->operand;
        w->fibers[i].view.words[0] = word[from < 0 || from >= w->n ? i : from];
    }
}

/* Every lane brought a word and whose it wants. */
static void shuffle_from(struct warp *w) {
    unsigned words[WARP];
    for (int lane = 0; lane < WARP; lane++) words[lane] = w->fibers[lane].view.words[0];
    for (int lane = 0; lane < WARP; lane++) {
        unsigned *of = w->fibers[lane].view.words;
        of[0] = words[of[1] % WARP];
    }
}

/* ---- matrices ---- */

/* Lane 8i + r brought the address of row r of matrix i: eight elements of 16 bits. */
static void load_matrices(struct warp *w, bool is_transposed) {
    unsigned short element[4][8][8];
    for (int i = 0; i < WARP; i++) {
        const struct emu_thread *t = &w->fibers[i].view;
        memcpy(element[i / 8][i % 8], t->shared + (t->words[0] - EMU_ADDRESS_0), 16);
    }
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int row = lane / 4, col = lane % 4 * 2;
            unsigned lo = is_transposed ? element[i][col][row] : element[i][row][col];
            unsigned hi = is_transposed ? element[i][col + 1][row] : element[i][row][col + 1];
            w->fibers[lane].view.words[i] = lo | hi << 16;
        }
}

static float float_of(unsigned bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static unsigned bits_of(float f) {
    unsigned bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float half_of(unsigned bits) {
    unsigned magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

double emu_f16(unsigned bits) { return half_of(bits); }
double emu_bf16(unsigned bits) { return float_of(bits << 16); }

/* A float of 8 bits: of so many bits of fraction; without infinities where there are 3. */
static double small_of(unsigned bits, int fraction) {
    const int bias = fraction == 3 ? 7 : 15, exponent = (int)(bits >> fraction & (fraction == 3 ? 15 : 31));
    const double part = bits & ((1u << fraction) - 1), sign = bits & 0x80 ? -1 : 1;
    if (fraction == 3 && (bits & 0x7f) == 0x7f) return NAN;
    if (fraction == 2 && exponent == 31) return part > 0 ? NAN : sign * INFINITY;
    return sign * ldexp(part + (exponent ? 1 << fraction : 0), (exponent ? exponent : 1) - bias - fraction);
}

double emu_byte(unsigned bits, bool is_integer, bool is_second) {
    if (!is_integer) return small_of(bits, is_second ? 2 : 3);
    return is_second ? (double)bits : (double)(signed char)bits;
}

/* Element e of a fragment's word. Of tf32 the bits below the fraction do not count. */
static inline double element_of(enum emu_operation op, unsigned word, int e, bool is_b) {
    bool is_signed = is_b ? op == EMU_MMA_I8_I8 || op == EMU_MMA_U8_I8 : op == EMU_MMA_I8_I8 || op == EMU_MMA_I8_U8;
    switch (op) {
    case EMU_MMA_F16: return half_of(word >> 16 * e & 0xffff);
    case EMU_MMA_BF16: return float_of(word >> 16 * e << 16);
    case EMU_MMA_TF32: return float_of(word & 0xffffe000);
    case EMU_MMA_E4M3_E4M3: return small_of(word >> 8 * e & 255, 3);
    case EMU_MMA_E5M2_E4M3: return small_of(word >> 8 * e & 255, is_b ? 3 : 2);
    case EMU_MMA_E4M3_E5M2: return small_of(word >> 8 * e & 255, is_b ? 2 : 3);
    case EMU_MMA_E5M2_E5M2: return small_of(word >> 8 * e & 255, 2);
    default: return is_signed ? (signed char)(word >> 8 * e) : (int)(word >> 8 * e & 255);
    }
}

enum { MMA_M = 16, MMA_N = 8, MMA_MOST_K = 32 };
typedef double pair __attribute__((vector_size(16)));

/* A, and B turned around, from the words that lanes hold, EACH elements a word: word i of A is row g + 8 (i % 2),
 * elements from EACH (t + 4 (i / 2)) on, word i of B column g, elements from EACH (t + 4 i) on, where lane = 4 g + t.
 * Returns K. Operation and EACH are constants wherever that matters. */
static inline __attribute__((always_inline)) int gather(
    const struct warp *w, enum emu_operation op, int each, double a[MMA_M][MMA_MOST_K], double b[MMA_MOST_K][MMA_N]) {
    for (int lane = 0; lane < WARP; lane++) {
        const unsigned *words = w->fibers[lane].view.words;
        int g = lane / 4, t = lane % 4;
        for (int e = 0; e < each; e++) {
            for (int i = 0; i < 4; i++)
                a[g + 8 * (i % 2)][each * (t + 4 * (i / 2)) + e] = element_of(op, words[4 + i], e, false);
            for (int i = 0; i < 2; i++) b[each * (t + 4 * i) + e][g] = element_of(op, words[8 + i], e, true);
        }
    }
    return 8 * each;
}

static int gather_any(const struct warp *w, double a[MMA_M][MMA_MOST_K], double b[MMA_MOST_K][MMA_N]) {
    switch (w->operation) {
    case EMU_MMA_F16: return gather(w, EMU_MMA_F16, 2, a, b);
    case EMU_MMA_BF16: return gather(w, EMU_MMA_BF16, 2, a, b);
    case EMU_MMA_TF32: return gather(w, EMU_MMA_TF32, 1, a, b);
    default: return gather(w, w->operation, 4, a, b);
    }
}

/* D element i of lane 4 g + t is row g + 8 (i / 2), column 2 t + i % 2. The sums of a row go on side by side, each in
 * the order of k. */
static void multiply(struct warp *w) {
    double a[MMA_M][MMA_MOST_K], b[MMA_MOST_K][MMA_N] __attribute__((aligned(16)));
    enum emu_operation op = w->operation;
    int k = gather_any(w, a, b);
    bool is_float = op < EMU_MMA_I8_I8 || op > EMU_MMA_U8_U8;
    for (int row = 0; row < MMA_M; row++) {
        pair s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int j = 0; j < k; j++) {
            const pair *col = (const pair *)b[j];
            s0 += a[row][j] * col[0], s1 += a[row][j] * col[1], s2 += a[row][j] * col[2], s3 += a[row][j] * col[3];
        }
        const double sums[MMA_N] = {s0[0], s0[1], s1[0], s1[1], s2[0], s2[1], s3[0], s3[1]};
        for (int n = 0; n < MMA_N; n++) {
            unsigned *d = &w->fibers[4 * (row % 8) + n / 2].view.words[2 * (row / 8) + n % 2];
            *d = is_float ? bits_of((float)(sums[n] + float_of(*d))) : *d + (unsigned)(int)sums[n];
        }
    }
}

static double double_of(const unsigned *words) {
    double x;
    memcpy(&x, words, sizeof x);
    return x;
}

/* Of doubles, four k: lane 4 g + t has A at rows g and g + 8, k = t, and B at k = t, column g. Sums as above, multiplied
 * and added in one rounding, in the order of k. */
static void multiply_doubles(struct warp *w) {
    double a[MMA_M][4], b[4][MMA_N];
    for (int lane = 0; lane < WARP; lane++) {
        const unsigned *words = w->fibers[lane].view.words;
        const int g = lane / 4, t = lane % 4;
        a[g][t] = double_of(words + 8), a[g + 8][t] = double_of(words + 10), b[t][g] = double_of(words + 12);
    }
    for (int row = 0; row < MMA_M; row++)
        for (int n = 0; n < MMA_N; n++) {
            unsigned *d = &w->fibers[4 * (row % 8) + n / 2].view.words[2 * (2 * (row / 8) + n % 2)];
            double sum = double_of(d);
            for (int j = 0; j < 4; j++) sum = fma(a[row][j], b[j][n], sum);
            memcpy(d, &sum, sizeof sum);
        }
}

void do_together(struct warp *w) {
    switch (w->operation) {
    case EMU_SHUFFLE_XOR: shuffle(w, false); break;
    case EMU_SHUFFLE_UP: shuffle(w, true); break;
    case EMU_SHUFFLE_FROM: shuffle_from(w); break;
    case EMU_LDMATRIX: load_matrices(w, false); break;
    case EMU_LDMATRIX_TRANS: load_matrices(w, true); break;
    case EMU_MMA_TF32:
    case EMU_MMA_F16:
    case EMU_MMA_BF16:
    case EMU_MMA_I8_I8:
    case EMU_MMA_I8_U8:
    case EMU_MMA_U8_I8:
    case EMU_MMA_U8_U8:
    case EMU_MMA_E4M3_E4M3:
    case EMU_MMA_E5M2_E4M3:
    case EMU_MMA_E4M3_E5M2:
    case EMU_MMA_E5M2_E5M2: multiply(w); break;
    case EMU_MMA_F64: multiply_doubles(w); break;
    case EMU_WARP_BARRIER: break;
    default: do_products(w); break;
    }
}
