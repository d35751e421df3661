/* The emulator's part of sm_90a: kernels written here over the functions of ptx_hopper.cuh. Boxes and products come out
 * as plain loops have them; what a GPU would refuse, leave undefined or never end is said to be wrong, with the thread
 * whose fault it is; so are accesses that nothing orders with a copy or a product under way. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "emu/emu.h"
#include "emulated.h"
#include "suite.h"

enum { THREADS = 256, STAGE = 8192, SHARED = 2 * STAGE + 32, ROWS = 256, COLUMNS = 64 };

static int encode(struct cuda_tensor_map *map, void *at, unsigned rank, const uint64_t *extents, const unsigned *box) {
    uint64_t strides[FX_MAX_MAP_RANK] = {(extents[0] * 2 + 15) / 16 * 16};
    unsigned steps[FX_MAX_MAP_RANK] = {1, 1, 1, 1, 1};
    for (unsigned i = 1; i < rank; i++) strides[i] = strides[i - 1] * extents[i];
    return cuda_driver.cuTensorMapEncodeTiled(map, TENSOR_MAP_BF16, rank, at, extents, strides, box, steps, 0,
        TENSOR_MAP_SWIZZLE_128B, TENSOR_MAP_L2_256B, 0);
}

/* One kernel of one block of 256 threads, or of a cluster of them: 256 rows of 64 elements, all 1, of which map 0 fetches boxes of 64 rows; map
 * 1 columns of 64 pixels, of images of 64. Two stages of one box, and behind them room for four memory barriers. */
static bool run(const char *body) {
    char source[4096];
    unsigned short *ones = malloc(ROWS * COLUMNS * 2);
    for (int i = 0; i < ROWS * COLUMNS; i++) ones[i] = 0x3f80;
    snprintf(source, sizeof source,
        ENTRY
        "k(const unsigned *x_, float *y_, const __grid_constant__ fx_tensor_maps<2> maps_) {\n"
        "  const int t = threadIdx.x, origin[2] = {0, 0}, origin_3[3] = {0, 0, 0}; unsigned *s = (unsigned *)fx_smem();\n"
        "  const unsigned at = fx_shared(s), full = at + 16384, empty = full + 8; float d[32] = {}; (void)origin_3;\n"
        "%s\n}\n",
        body);
    void *module = compile(source, "k"), *x = take(ROWS * COLUMNS * 2, ones), *y = take(THREADS * 4, NULL);
    struct cuda_tensor_map maps[2] = {{{0}}};
    memset(y, 0, THREADS * 4);
    ck_assert_int_eq(encode(maps, x, 2, (uint64_t[]){COLUMNS, ROWS}, (unsigned[]){64, 64}), 0);
    ck_assert_int_eq(
        cuda_driver.cuTensorMapEncodeIm2col(&maps[1], TENSOR_MAP_BF16, 3, x, (uint64_t[]){COLUMNS, 64, ROWS / 64},
            (uint64_t[]){COLUMNS * 2, COLUMNS * 64 * 2}, (int[]){1}, (int[]){-1}, 64, 64, (unsigned[]){1, 1, 1}, 0,
            TENSOR_MAP_SWIZZLE_128B, TENSOR_MAP_L2_256B, 0),
        0);
    bool is_fine = launch(cluster, THREADS, SHARED, false, (void *[]){&x, &y, maps});
    cuda_driver.cuMemFree((uintptr_t)x), cuda_driver.cuMemFree((uintptr_t)y), cuda_driver.cuModuleUnload(module);
    free(ones);
    return is_fine;
}

static void fails(const char *body, const char *because) {
    ck_assert_msg(!run(body), "it was not found that %s: %s", because, body);
    ck_assert_msg(strstr(words, because) != NULL, "'%s' is not in: %s", because, words);
}

static void holds(const char *body) { ck_assert_msg(run(body), "%s: %s", body, words); }

/* Of a body, from line 5 on: memory barriers, `full` of one arrival, `empty` of four; a box on its way to stage 0. */
#define BARRIERS \
    "  if (t == 0) fx_mbarrier_init(full, 1), fx_mbarrier_init(empty, 4), fx_mbarrier_publish(); fx_barrier();\n"
#define BOX "  if (t == 0) fx_mbarrier_expect(full, 8192), fx_tma_load(at, maps_.of, full, origin);\n"
#define WAIT "  fx_mbarrier_wait(full, 0);\n"
/* All have seen that the phase has ended: nobody still waits for it when the next one has, too. */
#define MEET "  fx_barrier();\n"
#define AGAIN "  fx_mbarrier_wait(full, 1);\n"
#define EMPTY "  if (t == 0) fx_mbarrier_wait(empty, 0);\n"
/* Rows of the box by columns of the same one. */
#define OPERAND "(((at & 0x3ffff) >> 4 | 1 << 16) | (unsigned long long)(64 | 1u << 30) << 32)"
#define PRODUCT(a, b) "  { fx_wgmma_begin(); fx_wgmma_64<true, 0, 0>(d, " a ", " b ", 1); }\n"
#define COMMIT "  fx_wgmma_commit();\n"
#define MULTIPLY PRODUCT(OPERAND, OPERAND) COMMIT
#define DONE "  fx_wgmma_wait<0>();\n"

/* ---- boxes ---- */

static const struct {
    int rank;
    uint64_t extents[FX_MAX_MAP_RANK];
    unsigned box[FX_MAX_MAP_RANK];
} tensors[] = {{2, {75, 41}, {64, 32}}, {3, {130, 7, 9}, {64, 4, 8}}, {4, {64, 5, 3, 6}, {64, 4, 2, 4}},
    {5, {81, 3, 4, 3, 5}, {64, 2, 4, 2, 2}}};

/* What a box is to hold, swizzled: 32 rows of 64 elements. */
static void plain_box(int which, const unsigned short *x, const int *at, unsigned char *box) {
    for (unsigned i = 0; i < 32 * 64; i++) {
        unsigned rest = i, row_bytes = ((unsigned)tensors[which].extents[0] * 2 + 15) / 16 * 16, to = i * 2;
        size_t from = 0, step = row_bytes / 2;
        bool is_inside = true;
        for (int a = 0; a < tensors[which].rank; a++) {
            long c = at[a] + (long)(rest % tensors[which].box[a]);
            rest /= tensors[which].box[a];
            is_inside &= c >= 0 && c < (long)tensors[which].extents[a];
            if (is_inside) from += (size_t)c * (a ? step : 1);
            if (a) step *= tensors[which].extents[a];
        }
        memcpy(box + (to ^ (to >> 7 & 7) << 4), is_inside ? &x[from] : &(unsigned short){0}, 2);
    }
}

/* At places inside, across every edge and beyond it, by any number of elements, of a row by any number of 16 bytes. */
START_TEST(test_boxes) {
    enum { PLACES = 200, BOX_BYTES = 4096, MOST = 16384 };
    int rank = tensors[_i].rank;
    char source[2048];
    unsigned short numbers[MOST];
    unsigned char want[BOX_BYTES];
    struct cuda_tensor_map map;
    unsigned random = 1;
    for (int i = 0; i < MOST; i++) numbers[i] = (unsigned short)(i + 1);
    snprintf(source, sizeof source,
        ENTRY
        "k(const int *at_, unsigned *y_, const __grid_constant__ fx_tensor_maps<1> maps_) {\n"
        "  const unsigned to = fx_shared(fx_smem()), full = to + 4096;\n  int at[%d];\n"
        "  for (int i = 0; i < %d; ++i) at[i] = at_[blockIdx.x * 5 + i];\n"
        "  if (threadIdx.x == 0) {\n    fx_mbarrier_init(full, 1), fx_mbarrier_publish();\n"
        "    fx_mbarrier_expect(full, 4096), fx_tma_load(to, maps_.of, full, at);\n  }\n  fx_barrier();\n"
        "  fx_mbarrier_wait(full, 0);\n"
        "  for (int i = threadIdx.x; i < 1024; i += 64) y_[blockIdx.x * 1024 + i] = ((unsigned *)fx_smem())[i];\n}\n",
        rank, rank);
    void *module = compile(source, "k"), *x = take(sizeof numbers, numbers), *y = take(PLACES * BOX_BYTES, NULL);
    int *at = take(PLACES * 5 * sizeof *at, NULL);
    for (int i = 0; i < PLACES * 5; i++) {
        int a = i % 5;
        if (a >= rank) continue;
        random = random * 1664525u + 1013904223u;
        int box = (int)tensors[_i].box[a], extent = (int)tensors[_i].extents[a];
        at[i] = (int)(random >> 8) % (extent + 2 * box + 2) - box - 1;
        if (a == 0) at[i] = at[i] / 8 * 8;
    }
    ck_assert_int_eq(encode(&map, x, (unsigned)rank, tensors[_i].extents, tensors[_i].box), 0);
    ck_assert_msg(launch(PLACES, 64, BOX_BYTES + 8, false, (void *[]){&at, &y, &map}), "%s", words);
    for (int i = 0; i < PLACES; i++) {
        plain_box(_i, numbers, at + i * 5, want);
        for (int b = 0; b < BOX_BYTES; b++)
            ck_assert_msg(((unsigned char *)y)[i * BOX_BYTES + b] == want[b], "rank %d, place %d, byte %d", rank, i, b);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* ---- columns of pixels ---- */

static const struct {
    int rank;
    uint64_t extents[FX_MAX_MAP_RANK];
    int lower[FX_MAX_SPATIAL], upper[FX_MAX_SPATIAL];
    unsigned steps[FX_MAX_MAP_RANK];
} images[] = {{3, {75, 19, 8}, {-2}, {3}, {1, 1, 1}}, {3, {72, 19, 8}, {4}, {-2}, {1, 3, 1}},
    {4, {64, 5, 4, 6}, {-1, -2}, {-1, 1}, {1, 1, 1, 1}}, {4, {80, 7, 5, 5}, {0, -3}, {2, 0}, {1, 2, 4, 1}},
    {5, {64, 3, 4, 2, 5}, {-1, 0, -1}, {1, -1, 1}, {1, 1, 2, 1, 1}}};

static void draw_pixel(int which, const unsigned *random, int *at, unsigned short *offset) {
    int rank = images[which].rank;
    at[0] = (int)(random[0] % ((unsigned)images[which].extents[0] + 16)) / 8 * 8;
    for (int i = 0; i < rank - 2; i++) {
        int lower = images[which].lower[i], step = (int)images[which].steps[1 + i],
            pixels = ((int)images[which].extents[1 + i] - 1 + images[which].upper[i] - lower) / step + 1;
        at[1 + i] = lower + step * (int)(random[1 + i] % (unsigned)pixels);
        offset[i] = (unsigned short)(random[5 + i] % 5);
    }
    at[rank - 1] = (int)(random[4] % ((unsigned)images[which].extents[rank - 1] + 1));
}

/* What a column is to hold, swizzled: 32 pixels of 64 elements, counted through the bounding box and the images. */
static void plain_column(
    int which, const unsigned short *x, const int *at, const unsigned short *offset, unsigned char *column) {
    int rank = images[which].rank;
    long counts[FX_MAX_SPATIAL], number = at[rank - 1];
    for (int i = rank - 3; i >= 0; i--) {
        int lower = images[which].lower[i], step = (int)images[which].steps[1 + i];
        counts[i] = ((long)images[which].extents[1 + i] - 1 + images[which].upper[i] - lower) / step + 1;
        number = number * counts[i] + (at[1 + i] - lower) / step;
    }
    for (unsigned i = 0; i < 32 * 64; i++) {
        unsigned to = i * 2;
        long rest = number + i / 64, c = at[0] + (long)(i % 64);
        size_t from = (size_t)c, stride = ((size_t)images[which].extents[0] * 2 + 15) / 16 * 8;
        bool is_inside = c < (long)images[which].extents[0];
        for (int a = 0; a < rank - 1; a++) {
            long place = rest;
            if (a < rank - 2)
                place = images[which].lower[a] + (long)images[which].steps[1 + a] * (rest % counts[a]) + offset[a],
                rest /= counts[a];
            is_inside &= place >= 0 && place < (long)images[which].extents[1 + a];
            if (is_inside) from += (size_t)place * stride;
            stride *= images[which].extents[1 + a];
        }
        memcpy(column + (to ^ (to >> 7 & 7) << 4), is_inside ? &x[from] : &(unsigned short){0}, 2);
    }
}

static int encode_im2col(int which, struct cuda_tensor_map *map, void *x) {
    uint64_t strides[FX_MAX_MAP_RANK] = {(images[which].extents[0] * 2 + 15) / 16 * 16};
    for (int i = 1; i < images[which].rank; i++) strides[i] = strides[i - 1] * images[which].extents[i];
    return cuda_driver.cuTensorMapEncodeIm2col(map, TENSOR_MAP_BF16, (unsigned)images[which].rank, x,
        images[which].extents, strides, images[which].lower, images[which].upper, 64, 32, images[which].steps, 0,
        TENSOR_MAP_SWIZZLE_128B, TENSOR_MAP_L2_256B, 0);
}

START_TEST(test_pixels) {
    enum { PLACES = 100, COLUMN_BYTES = 4096, MOST = 16384 };
    int rank = images[_i].rank;
    char source[2048];
    unsigned short numbers[MOST];
    unsigned char want[COLUMN_BYTES];
    struct cuda_tensor_map map;
    unsigned random = 1;
    for (int i = 0; i < MOST; i++) numbers[i] = (unsigned short)(i + 1);
    snprintf(source, sizeof source,
        ENTRY
        "k(const int *at_, const unsigned short *offset_, unsigned *y_, const __grid_constant__ fx_tensor_maps<1> maps_) {\n"
        "  const unsigned to = fx_shared(fx_smem()), full = to + 4096;\n  int at[%d];\n  unsigned short offset[%d];\n"
        "  for (int i = 0; i < %d; ++i) at[i] = at_[blockIdx.x * 5 + i];\n"
        "  for (int i = 0; i < %d; ++i) offset[i] = offset_[blockIdx.x * 3 + i];\n"
        "  if (threadIdx.x == 0) {\n    fx_mbarrier_init(full, 1), fx_mbarrier_publish();\n"
        "    fx_mbarrier_expect(full, 4096), fx_tma_load_im2col(to, maps_.of, full, at, offset);\n  }\n  fx_barrier();\n"
        "  fx_mbarrier_wait(full, 0);\n"
        "  for (int i = threadIdx.x; i < 1024; i += 64) y_[blockIdx.x * 1024 + i] = ((unsigned *)fx_smem())[i];\n}\n",
        rank, rank - 2, rank, rank - 2);
    void *module = compile(source, "k"), *x = take(sizeof numbers, numbers), *y = take(PLACES * COLUMN_BYTES, NULL);
    int *at = take(PLACES * 5 * sizeof *at, NULL);
    unsigned short *offset = take(PLACES * 3 * sizeof *offset, NULL);
    for (int i = 0; i < PLACES; i++) {
        unsigned drawn[8];
        for (int d = 0; d < 8; d++) random = random * 1664525u + 1013904223u, drawn[d] = random >> 8;
        draw_pixel(_i, drawn, at + i * 5, offset + i * 3);
    }
    ck_assert_int_eq(encode_im2col(_i, &map, x), 0);
    ck_assert_msg(launch(PLACES, 64, COLUMN_BYTES + 8, false, (void *[]){&at, &offset, &y, &map}), "%s", words);
    for (int i = 0; i < PLACES; i++) {
        plain_column(_i, numbers, at + i * 5, offset + i * 3, want);
        for (int b = 0; b < COLUMN_BYTES; b++)
            ck_assert_msg(((unsigned char *)y)[i * COLUMN_BYTES + b] == want[b], "images %d, place %d, byte %d", _i, i, b);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* Of two spatial axes: what is refused, beside what is taken. */
static const struct {
    const char *what;
    int dtype;
    unsigned rank;
    int lower, upper;
    unsigned channels, pixels, step;
} columns[] = {{"", TENSOR_MAP_F16, 4, -128, 127, 64, 1024, 8}, {"", TENSOR_MAP_BF16, 3, -32768, 32767, 64, 64, 1},
    {"", TENSOR_MAP_BF16, 5, -16, 15, 64, 64, 1}, {"f32", TENSOR_MAP_F32, 4, 0, 0, 64, 64, 1},
    {"one spatial axis less", TENSOR_MAP_BF16, 2, 0, 0, 64, 64, 1}, {"one more", TENSOR_MAP_BF16, 6, 0, 0, 64, 64, 1},
    {"a corner", TENSOR_MAP_BF16, 4, -129, 0, 64, 64, 1}, {"a corner", TENSOR_MAP_BF16, 4, 0, 128, 64, 64, 1},
    {"a corner of three", TENSOR_MAP_BF16, 5, -17, 0, 64, 64, 1}, {"a corner of one", TENSOR_MAP_BF16, 3, 0, 32768, 64, 64, 1},
    {"no pixels in the box", TENSOR_MAP_BF16, 4, 4, -4, 64, 64, 1}, {"no pixels", TENSOR_MAP_BF16, 4, 0, 0, 64, 0, 1},
    {"many pixels", TENSOR_MAP_BF16, 4, 0, 0, 64, 1025, 1}, {"few channels", TENSOR_MAP_BF16, 4, 0, 0, 32, 64, 1},
    {"no step", TENSOR_MAP_BF16, 4, 0, 0, 64, 64, 0}, {"a long step", TENSOR_MAP_BF16, 4, 0, 0, 64, 64, 9}};

START_TEST(test_encode_im2col) {
    uint64_t extents[8] = {64, 8, 8, 8, 8, 8}, strides[8] = {128, 1024, 8192, 65536, 524288, 4194304};
    int lower[8], upper[8];
    unsigned steps[8];
    struct cuda_tensor_map map;
    for (int i = 0; i < 8; i++) {
        lower[i] = columns[_i].lower, upper[i] = columns[_i].upper;
        steps[i] = i && i + 1 < (int)columns[_i].rank ? columns[_i].step : 1;
    }
    int code = cuda_driver.cuTensorMapEncodeIm2col(&map, columns[_i].dtype, columns[_i].rank, (void *)(uintptr_t)(1 << 20),
        extents, strides, lower, upper, columns[_i].channels, columns[_i].pixels, steps, 0, TENSOR_MAP_SWIZZLE_128B,
        TENSOR_MAP_L2_256B, 0);
    ck_assert_msg((code != 0) == (*columns[_i].what != 0), "map %d: %s", _i, columns[_i].what);
}
END_TEST

/* What the driver refuses to encode, beside what it takes. */
static const struct {
    const char *what;
    int dtype;
    unsigned rank;
    uintptr_t address;
    uint64_t extent, stride;
    unsigned box, rows, step;
    int interleave, swizzle, fill;
} encoded[] = {
    {"", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"", TENSOR_MAP_F16, 2, 1 << 20, 1000, 2000, 64, 256, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"an element's type", 99, 2, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"one axis", TENSOR_MAP_BF16, 1, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"six axes", TENSOR_MAP_BF16, 6, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"no base", TENSOR_MAP_BF16, 2, 0, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a misaligned base", TENSOR_MAP_BF16, 2, (1 << 20) + 8, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"no elements", TENSOR_MAP_BF16, 2, 1 << 20, 0, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"an extent", TENSOR_MAP_BF16, 2, 1 << 20, ((uint64_t)1 << 32) + 1, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a stride no multiple of 16", TENSOR_MAP_BF16, 2, 1 << 20, 64, 136, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a stride", TENSOR_MAP_BF16, 2, 1 << 20, 64, (uint64_t)1 << 40, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"an empty box", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 0, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a long box", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 257, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a wide box", TENSOR_MAP_BF16, 2, 1 << 20, 128, 256, 72, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a narrow box", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 32, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a box of half a piece", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 60, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"a step", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 64, 2, 0, TENSOR_MAP_SWIZZLE_128B, 0},
    {"interleaving", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 64, 1, 1, TENSOR_MAP_SWIZZLE_128B, 0},
    {"another swizzle", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B - 1, 0},
    {"filling with NaNs", TENSOR_MAP_BF16, 2, 1 << 20, 64, 128, 64, 64, 1, 0, TENSOR_MAP_SWIZZLE_128B, 1},
};

START_TEST(test_encode) {
    uint64_t extents[8] = {encoded[_i].extent, 100, 1, 1, 1, 1}, strides[8];
    unsigned box[8] = {encoded[_i].box, encoded[_i].rows, 1, 1, 1, 1}, steps[8];
    struct cuda_tensor_map map;
    for (int i = 0; i < 8; i++) strides[i] = encoded[_i].stride, steps[i] = encoded[_i].step;
    int code = cuda_driver.cuTensorMapEncodeTiled(&map, encoded[_i].dtype, encoded[_i].rank,
        (void *)encoded[_i].address, extents, strides, box, steps, encoded[_i].interleave, encoded[_i].swizzle,
        TENSOR_MAP_L2_256B, encoded[_i].fill);
    ck_assert_msg((code != 0) == (*encoded[_i].what != 0), "map %d: %s", _i, encoded[_i].what);
}
END_TEST

START_TEST(test_bad_boxes) {
    holds(BARRIERS BOX WAIT "  y_[t] = (float)s[t];");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at + 9216, maps_.of, full, origin);",
        "thread 0, line 6 copies a box of 8192 bytes to 9216 of the block's 16416 bytes of shared memory");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at - 1024, maps_.of, full, origin);", "of 8192 bytes to -1024 of");
    fails(BARRIERS "  if (t == 0) { const int off[2] = {60, 0}; fx_tma_load(at, maps_.of, full, off); }",
        "copies a box that begins at element 60 of rows, no multiple of 16 bytes");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at + 512, maps_.of, full, origin);", "of 8192 bytes to 512 of");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at, maps_.of, full + 16, origin);",
        "copies a box for a memory barrier that there is not");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at, maps_.of, full, origin_3);",
        "copies by what is no tensor map of 3 axes");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at, maps_.of + 1, full, origin);",
        "copies by what is no tensor map of 2 axes");
    fails(BARRIERS BOX "  y_[t] = (float)s[t];\n" WAIT, "leaves something else");
}
END_TEST

/* 512 adjacent bytes of x. */
#define BYTES(to, from, n, told) \
    "  if (t == 0) fx_mbarrier_expect(full, 512), fx_bulk_load(" to ", " from ", " n ", " told ");\n"

START_TEST(test_bad_bytes) {
    holds(BARRIERS BYTES("at + 16", "x_", "512", "full") WAIT "  if (t < 128) y_[t] = (float)s[4 + t];");
    fails(BARRIERS BYTES("at + 8", "x_", "512", "full"), "copies 512 bytes to 8 of the block's");
    fails(BARRIERS BYTES("at", "x_ + 1", "512", "full"), "copies 512 bytes to 0 of the block's");
    fails(BARRIERS BYTES("at", "x_", "504", "full"), "copies 504 bytes to 0 of the block's");
    fails(BARRIERS BYTES("at + 16000", "x_", "512", "full"), "copies 512 bytes to 16000 of the block's");
    fails(BARRIERS BYTES("at", "x_", "512", "full + 16"), "copies bytes for a memory barrier that there is not");
    fails(BARRIERS BYTES("at", "x_", "512", "full") "  y_[t] = (float)s[t % 128];\n" WAIT, "leaves something else");
}
END_TEST

/* A column of pixels of map 1, of images of 64, of which the box has 1 to 62. */
#define PIXELS(to, first, beside) \
    "  if (t == 0) { const int first[3] = {" first "}; const unsigned short beside[1] = {" beside "};\n" \
    "    fx_mbarrier_expect(full, 8192), fx_tma_load_im2col(" to ", maps_.of + 1, full, first, beside); }\n"

START_TEST(test_bad_pixels) {
    holds(BARRIERS PIXELS("at", "0, 1, 0", "2") WAIT "  y_[t] = (float)s[t];");
    fails(BARRIERS PIXELS("at + 9216", "0, 1, 0", "0"), "copies pixels of 8192 bytes to 9216 of the block's 16416 bytes of shared memory");
    fails(BARRIERS PIXELS("at", "4, 1, 0", "0"), "copies pixels from channel 4 on, no multiple of 16 bytes");
    fails(BARRIERS PIXELS("at", "0, 0, 0", "0"), "copies pixels from 0 on along axis 1, where there is none");
    fails(BARRIERS PIXELS("at", "0, 63, 0", "0"), "copies pixels from 63 on along axis 1, where there is none");
    fails(BARRIERS "  if (t == 0) { const unsigned short by[1] = {0}; fx_tma_load_im2col(at, maps_.of, full, origin_3, by); }",
        "copies pixels by what is no tensor map in im2col mode of 3 axes");
    fails(BARRIERS "  if (t == 0) fx_tma_load(at, maps_.of + 1, full, origin_3);", "copies by what is no tensor map of 3 axes");
    fails(BARRIERS "  if (t == 0) { const int from[3] = {0, 1, 0}; const unsigned short by[1] = {0}; fx_tma_load_im2col(at, maps_.of + 1, full + 16, from, by); }",
        "copies pixels for a memory barrier that there is not");
    fails(BARRIERS PIXELS("at", "0, 1, 0", "0") "  y_[t] = (float)s[t];\n" WAIT, "leaves something else");
}
END_TEST

#define FILL "  for (int i = t; i < 2048; i += 256) s[i] = i;\n  fx_tma_publish(); fx_barrier();\n"
#define STORE "  if (t == 0) fx_tma_store(maps_.of, at, origin), fx_tma_commit();\n"

START_TEST(test_sent_boxes) {
    holds(FILL STORE "  if (t == 0) fx_tma_wait<0>();\n  fx_barrier(); s[t] = 0;");
    holds(FILL STORE STORE "  if (t == 0) fx_tma_wait<1>(), fx_tma_wait<0>();");
    fails(FILL STORE, "thread 0, line 7 ends without waiting for a box that it sends to memory");
    fails(FILL STORE STORE "  if (t == 0) fx_tma_wait<1>();", "ends without waiting");
    fails(FILL STORE "  fx_barrier(); s[t] = 0; fx_barrier();\n  if (t == 0) fx_tma_wait<0>();", "leaves something else");
    fails(FILL "  if (t == 0) fx_tma_store(maps_.of, at + 512, origin);",
        "copies a box of 8192 bytes from 512 of the block's 16416 bytes of shared memory");
    fails(FILL "  if (t == 0) fx_tma_store(maps_.of, at, origin_3);", "copies by what is no tensor map of 3 axes");
}
END_TEST

/* ---- barriers ---- */

START_TEST(test_barriers) {
    holds(BARRIERS
        "  if (t == 0) fx_mbarrier_arrive(full);\n  fx_mbarrier_wait(full, 0);\n  fx_mbarrier_wait(empty, 1);");
    fails(BARRIERS "  fx_mbarrier_wait(full + 16, 0);", "line 6 there is no memory barrier at 16400 of shared memory");
    fails("  if (t == 0) fx_mbarrier_init(full + 4, 1);", "no memory barrier can be at 16388, or of 1 arrivals");
    fails("  if (t == 0) fx_mbarrier_init(full + 32, 1);", "no memory barrier can be at 16416, or of 1 arrivals");
    fails("  if (t == 0) fx_mbarrier_init(full, 0);", "no memory barrier can be at 16384, or of 0 arrivals");
    fails(BARRIERS "  if (t < 2) fx_mbarrier_expect(full, 8192);",
        "line 6 arrives at a memory barrier once more than it counts");
    fails(BARRIERS "  if (t < 3) fx_mbarrier_arrive(empty);\n  fx_mbarrier_wait(empty, 0);",
        "deadlock: in block 0 0 threads wait at its barrier, 0 at the grid's, 0 have returned; 256 at memory barriers");
    fails(BARRIERS "  if (t == 0) fx_mbarrier_expect(full, 8200), fx_tma_load(at, maps_.of, full, origin);\n" WAIT,
        "256 at memory barriers");
    fails(BARRIERS "  if (t == 0) fx_mbarrier_expect(full, 8184), fx_tma_load(at, maps_.of, full, origin);\n" WAIT,
        "256 at memory barriers");
    fails(BARRIERS "  if (t == 0) fx_mbarrier_arrive(full);\n  fx_mbarrier_wait(full, 1);", "256 at memory barriers");
    holds(BARRIERS "  if (t == 0) fx_mbarrier_arrive(full);\n" WAIT MEET
                   "  if (t == 0) fx_mbarrier_end(full), fx_mbarrier_init(full, 2);");
    fails(BARRIERS "  if (t == 0) fx_mbarrier_end(full);\n" MEET WAIT, "there is no memory barrier at 16384 of shared memory");
    fails(BARRIERS "  if (t == 0) fx_mbarrier_arrive(empty), fx_mbarrier_end(empty);",
        "line 6 ends a memory barrier that is in use");
    fails(BARRIERS BOX "  if (t == 0) fx_mbarrier_end(full);", "ends a memory barrier that is in use");
    fails(BARRIERS "  if (t < 255) fx_mbarrier_wait(full, 0);\n  if (t == 255) fx_mbarrier_end(full);",
        "ends a memory barrier that is in use");
}
END_TEST

START_TEST(test_named_barriers) {
    holds("  if (t < 128) fx_named_arrive(1, 256); else fx_named_barrier(1, 256);\n  fx_named_barrier(15, 256);");
    fails("  fx_named_barrier(16, 256);", "line 5 there is no barrier 16 of 256 threads");
    fails("  fx_named_barrier(0, 256);", "there is no barrier 0 of 256 threads");
    fails("  fx_named_barrier(1, 200);", "there is no barrier 1 of 200 threads");
    fails("  if (t < 128) fx_named_barrier(3, 256); else fx_named_barrier(3, 128);",
        "meets 128 threads at barrier 3, where 256 are met");
    fails("  if (t < 128) fx_named_barrier(3, 256);", "128 have returned; 0 at memory barriers, 128 at named ones");
}
END_TEST

/* ---- clusters ---- */

/* Two blocks that send each other. */
#define MET "  fx_cluster_arrive(); fx_cluster_wait();\n"
#define EXPECT(bytes) "  if (t == 0) fx_mbarrier_expect(full, " bytes ");\n"
#define SEND                                                                                     \
    "  fx_send2(fx_shared_of(at + t * 8, fx_cluster_rank() ^ 1), (float)t, (float)blockIdx.x, " \
    "fx_shared_of(full, fx_cluster_rank() ^ 1));\n"
#define SENT "  fx_mbarrier_wait_sent(full, 0);\n"
#define READ "  if (blockIdx.x == 0) y_[t] = ((float *)s)[t * 2 + 1];\n"
START_TEST(test_clusters) {
    fails(BARRIERS MET, "line 6 a block of a cluster in a launch without clusters");
    fails(BARRIERS "  fx_mbarrier_arrive_of(fx_shared_of(empty, 0));", "in a launch without clusters");
    fails(BARRIERS "  fx_send2(fx_shared_of(at, 0), 0, 0, fx_shared_of(full, 0));", "in a launch without clusters");
    cluster = 2;
    holds(BARRIERS MET EXPECT("2048") SEND SENT READ);
    fails(BARRIERS MET EXPECT("2056") SEND SENT, "256 at memory barriers");
    fails(BARRIERS MET EXPECT("2048") SEND READ SENT, "leaves something else");
    fails(BARRIERS MET "  fx_send2(fx_shared_of(at, 2), 0, 0, fx_shared_of(full, 2));", "the cluster has no block 2");
    fails(BARRIERS MET "  fx_send2(fx_shared_of(at, 0), 0, 0, fx_shared_of(full, 1));",
        "sends to a memory barrier that the block has not");
    fails(BARRIERS MET "  fx_send2(fx_shared_of(at, 1), 0, 0, fx_shared_of(full + 16, 1));",
        "sends to a memory barrier that the block has not");
    fails(BARRIERS MET "  fx_send2(fx_shared_of(at + 4, 1), 0, 0, fx_shared_of(full, 1));", "sends 8 bytes to 4 of");
    fails(BARRIERS MET "  fx_send2(fx_shared_of(at + 16416, 1), 0, 0, fx_shared_of(full, 1));", "sends 8 bytes to 16416 of");
    fails(BARRIERS MET "  if (blockIdx.x == 1) return;\n" SEND, "of the cluster has ended");
    fails("  fx_cluster_wait();", "line 5 waits at the cluster's barrier without having arrived");
    fails("  fx_cluster_arrive(); fx_cluster_arrive();", "line 5 arrives twice at the cluster's barrier");
    fails("  if (t > 0) fx_cluster_arrive(), fx_cluster_wait();", "255 at the cluster's barrier");
    cluster = 1;
}
END_TEST

/* ---- products ---- */

/* What the rows of the tensor hold: small integers, so that sums are exact. */
static int number(int row, int column) { return (row * 37 + column * 11 + row * column) % 9 - 4; }

/* Operands in either order, several columns of boxes, every 16 of a box's 64 k: 4 x 2 x 2 instructions of each type,
 * those of f16 begun by the first product. */
START_TEST(test_products) {
    enum { K = 64, MOST_N = 256 };
    int n = 64 * (_i % 4 + 1), a_mn = _i / 4 % 2, b_mn = _i / 8 % 2, is_f16 = _i / 16, adds = !is_f16;
    char source[2048];
    static float want[64 * MOST_N];
    unsigned short *rows = malloc((K + MOST_N) * K * 2);
    struct cuda_tensor_map map;
    for (int i = 0; i < (K + MOST_N) * K; i++)
        fx_store_double(is_f16 ? FX_F16 : FX_BF16, rows, (size_t)i, number(i / K, i % K));
    for (int m = 0; m < 64; m++)
        for (int c = 0; c < n; c++) {
            float sum = adds ? (float)(m - c) : 0;
            for (int k = 0; k < K; k++)
                sum += (float)((a_mn ? number(k, m) : number(m, k)) *
                               (b_mn ? number(64 + c / 64 * 64 + k, c % 64) : number(64 + c, k)));
            want[m * n + c] = sum;
        }
    snprintf(source, sizeof source,
        ENTRY
        "k(float *y_, const __grid_constant__ fx_tensor_maps<1> maps_) {\n  const unsigned at = fx_shared(fx_smem()), full = at + 40960;\n"
        "  if (threadIdx.x == 0) {\n    fx_mbarrier_init(full, 1), fx_mbarrier_publish(), fx_mbarrier_expect(full, %d);\n"
        "    for (int i = 0; i < %d; ++i) {\n      const int from[2] = {0, 64 * i};\n      fx_tma_load(at + i * 8192, maps_.of, full, from);\n    }\n  }\n"
        "  fx_barrier();\n  fx_mbarrier_wait(full, 0);\n  const int m = threadIdx.x / 32 * 16 + threadIdx.x %% 32 / 4, c = threadIdx.x %% 4 * 2;\n"
        "  float d[%d];\n  for (int i = 0; i < %d; ++i) d[i] = m + i / 2 %% 2 * 8 - (i / 4 * 8 + c + i %% 2);\n  fx_wgmma_begin();\n"
        "  for (int i = 0; i < 4; ++i) {\n"
        "    const unsigned long long a = at + i * %d, b = at + 8192 + i * %d, high = (unsigned long long)(64 | 1u << 30) << 32;\n"
        "    fx_wgmma_%d<%d, %d, %d>(d, a >> 4 | %d << 16 | high, b >> 4 | %d << 16 | high, i > 0 || %d);\n  }\n  fx_wgmma_commit();\n  fx_wgmma_wait<0>();\n"
        "  for (int i = 0; i < %d; ++i) y_[(m + i / 2 %% 2 * 8) * %d + i / 4 * 8 + c + i %% 2] = d[i];\n}\n",
        8192 * (1 + n / 64), 1 + n / 64, n / 2, n / 2, a_mn ? 2048 : 32, b_mn ? 2048 : 32, n, !is_f16, a_mn, b_mn,
        a_mn ? 512 : 1, b_mn ? 512 : 1, adds, n / 2, n);
    void *module = compile(source, "k"), *x = take((K + MOST_N) * K * 2, rows), *y = take(64 * MOST_N * 4, NULL);
    ck_assert_int_eq(encode(&map, x, 2, (uint64_t[]){K, K + MOST_N}, (unsigned[]){64, 64}), 0);
    ck_assert_msg(launch(1, 128, 40968, false, (void *[]){&y, &map}), "%s", words);
    for (int i = 0; i < 64 * n; i++)
        ck_assert_msg(((float *)y)[i] == want[i], "n %d, mn %d %d, f16 %d: row %d, column %d is %g, not %g", n, a_mn,
            b_mn, is_f16, i / n, i % n, (double)((float *)y)[i], (double)want[i]);
    cuda_driver.cuModuleUnload(module);
    free(rows);
}
END_TEST

/* f32 as tf32, whose lower bits do not count: boxes of 32 k, 8 of them an instruction. */
START_TEST(test_tf32_products) {
    enum { K = 32, MOST_N = 128 };
    int n = _i ? 128 : 64;
    char source[2048];
    float *rows = malloc((64 + MOST_N) * K * sizeof *rows);
    struct cuda_tensor_map map;
    for (int i = 0; i < (64 + MOST_N) * K; i++) rows[i] = (float)number(i / K, i % K) * (1 + 0x1p-12f);
    snprintf(source, sizeof source,
        ENTRY
        "k(float *y_, const __grid_constant__ fx_tensor_maps<1> maps_) {\n  const unsigned at = fx_shared(fx_smem()), full = at + 40960;\n"
        "  if (threadIdx.x == 0) {\n    fx_mbarrier_init(full, 1), fx_mbarrier_publish(), fx_mbarrier_expect(full, %d);\n"
        "    for (int i = 0; i < %d; ++i) {\n      const int from[2] = {0, 64 * i};\n      fx_tma_load(at + i * 8192, maps_.of, full, from);\n    }\n  }\n"
        "  fx_barrier();\n  fx_mbarrier_wait(full, 0);\n  const int m = threadIdx.x / 32 * 16 + threadIdx.x %% 32 / 4, c = threadIdx.x %% 4 * 2;\n"
        "  float d[%d];\n  for (int i = 0; i < %d; ++i) d[i] = i;\n  fx_wgmma_begin();\n  for (int i = 0; i < 4; ++i) {\n"
        "    const unsigned long long a = at + i * 32, b = at + 8192 + i * 32, high = (unsigned long long)(64 | 1u << 30) << 32;\n"
        "    fx_wgmma_%d<false, 0, 0, true>(d, a >> 4 | 1 << 16 | high, b >> 4 | 1 << 16 | high, i > 0);\n  }\n  fx_wgmma_commit();\n  fx_wgmma_wait<0>();\n"
        "  for (int i = 0; i < %d; ++i) y_[(m + i / 2 %% 2 * 8) * %d + i / 4 * 8 + c + i %% 2] = d[i];\n}\n",
        8192 * (1 + n / 64), 1 + n / 64, n / 2, n / 2, n, n / 2, n);
    void *module = compile(source, "k"), *x = take((64 + MOST_N) * K * 4, rows), *y = take(64 * MOST_N * 4, NULL);
    ck_assert_int_eq(cuda_driver.cuTensorMapEncodeTiled(&map, TENSOR_MAP_F32, 2, x, (uint64_t[]){K, 64 + MOST_N},
                         (uint64_t[]){K * 4}, (unsigned[]){32, 64}, (unsigned[]){1, 1}, 0, TENSOR_MAP_SWIZZLE_128B,
                         TENSOR_MAP_L2_256B, 0),
        0);
    ck_assert_msg(launch(1, 128, 40968, false, (void *[]){&y, &map}), "%s", words);
    for (int m = 0; m < 64; m++)
        for (int c = 0; c < n; c++) {
            float want = 0, got = ((float *)y)[m * n + c];
            for (int k = 0; k < K; k++) want += (float)(number(m, k) * number(64 + c, k));
            ck_assert_msg(got == want, "n %d: row %d, column %d is %g, not %g", n, m, c, (double)got, (double)want);
        }
    cuda_driver.cuModuleUnload(module);
    free(rows);
}
END_TEST

/* The same with the first factor in registers, which have the rows as boxes hold them: 3 x 2 instructions of each type. */
START_TEST(test_held_products) {
    enum { K = 64, MOST_N = 256 };
    int n = (int[]){64, 128, 256}[_i % 3], b_mn = _i / 3 % 2, is_f16 = _i / 6;
    char source[2048];
    unsigned short *rows = malloc((K + MOST_N) * K * 2);
    struct cuda_tensor_map map;
    for (int i = 0; i < (K + MOST_N) * K; i++)
        fx_store_double(is_f16 ? FX_F16 : FX_BF16, rows, (size_t)i, number(i / K, i % K));
    snprintf(source, sizeof source,
        ENTRY
        "k(float *y_, const __grid_constant__ fx_tensor_maps<1> maps_) {\n  const unsigned at = fx_shared(fx_smem()), full = at + 40960;\n"
        "  if (threadIdx.x == 0) {\n    fx_mbarrier_init(full, 1), fx_mbarrier_publish(), fx_mbarrier_expect(full, %d);\n"
        "    for (int i = 0; i < %d; ++i) {\n      const int from[2] = {0, 64 * i};\n      fx_tma_load(at + i * 8192, maps_.of, full, from);\n    }\n  }\n"
        "  fx_barrier();\n  fx_mbarrier_wait(full, 0);\n  const int m = threadIdx.x / 32 * 16 + threadIdx.x %% 32 / 4, c = threadIdx.x %% 4 * 2;\n"
        "  float d[%d];\n  unsigned a[4][4];\n  for (int i = 0; i < %d; ++i) d[i] = i;\n"
        "  for (int i = 0; i < 16; ++i) {\n    const int row = m + i %% 2 * 8, k = i / 4 * 16 + i %% 4 / 2 * 8 + c;\n"
        "    a[i / 4][i %% 4] = *(const unsigned *)(fx_smem() + row * 128 + (k / 8 ^ row %% 8) * 16 + k %% 8 * 2);\n  }\n  fx_wgmma_begin();\n"
        "  for (int i = 0; i < 4; ++i) {\n"
        "    const unsigned long long b = at + 8192 + i * %d, high = (unsigned long long)(64 | 1u << 30) << 32;\n"
        "    fx_wgmma_held_%d<%d, %d>(d, a[i], b >> 4 | %d << 16 | high, i > 0);\n  }\n  fx_wgmma_commit();\n  fx_wgmma_wait<0>();\n"
        "  for (int i = 0; i < %d; ++i) y_[(m + i / 2 %% 2 * 8) * %d + i / 4 * 8 + c + i %% 2] = d[i];\n}\n",
        8192 * (1 + n / 64), 1 + n / 64, n / 2, n / 2, b_mn ? 2048 : 32, n, !is_f16, b_mn, b_mn ? 512 : 1, n / 2, n);
    void *module = compile(source, "k"), *x = take((K + MOST_N) * K * 2, rows), *y = take(64 * MOST_N * 4, NULL);
    ck_assert_int_eq(encode(&map, x, 2, (uint64_t[]){K, K + MOST_N}, (unsigned[]){64, 64}), 0);
    ck_assert_msg(launch(1, 128, 40968, false, (void *[]){&y, &map}), "%s", words);
    for (int m = 0; m < 64; m++)
        for (int c = 0; c < n; c++) {
            float want = 0, got = ((float *)y)[m * n + c];
            for (int k = 0; k < K; k++)
                want += (float)(number(m, k) * (b_mn ? number(64 + c / 64 * 64 + k, c % 64) : number(64 + c, k)));
            ck_assert_msg(got == want, "n %d, mn %d, f16 %d: row %d, column %d is %g, not %g", n, b_mn, is_f16, m, c,
                (double)got, (double)want);
        }
    cuda_driver.cuModuleUnload(module);
    free(rows);
}
END_TEST

START_TEST(test_bad_products) {
    holds(BARRIERS BOX WAIT MULTIPLY DONE "  y_[t] = d[5];");
    fails(BARRIERS BOX WAIT PRODUCT(OPERAND " + (t == 37 ? 2 : 0)", OPERAND),
        "line 8 lane 5 multiplies something else than lane 0");
    fails(BARRIERS BOX WAIT PRODUCT(OPERAND, OPERAND " + (t == 40)"), "lane 8 multiplies something else than lane 0");
    fails(BARRIERS BOX WAIT "  if (t == 3) { fx_wgmma_begin(); fx_wgmma_64<false, 0, 0>(d, " OPERAND ", " OPERAND
                            ", 1); }\n"
                            "  else\n" PRODUCT(OPERAND, OPERAND),
        "multiplies something else than lane 0");
    fails(BARRIERS BOX WAIT PRODUCT(OPERAND, OPERAND " + 1024") COMMIT DONE,
        "line 8 multiplies what is at 16528 of the block's 16416 bytes of shared memory");
    fails(BARRIERS BOX WAIT PRODUCT(OPERAND, OPERAND " ^ 1ull << 62"),
        "line 8 multiplies what is not swizzled in 128 bytes");
    fails("  if (t != 7) fx_wgmma_begin();", "of warp 0 lanes 0xffffff7f wait at wgmma_begin");
    fails("  if (t % 32 < 9) fx_wgmma_wait<0>(); else fx_wgmma_wait<1>();",
        "is at wgmma_wait, operand 1, while lanes 0x1ff of its warp are at wgmma_wait, operand 0");
    fails("  if (t % 32 == 9) fx_take_registers<40>(); else fx_take_registers<48>();", "is at setmaxnreg, operand");
    /* sums read before they are waited for; with a batch too many under way; of a batch that was not closed */
    fails(BARRIERS BOX WAIT MULTIPLY "  y_[t] = d[5];\n" DONE, "leaves something else");
    fails(BARRIERS BOX WAIT MULTIPLY "  fx_wgmma_wait<1>();\n  y_[t] = d[5];\n" DONE, "leaves something else");
    fails(BARRIERS BOX WAIT PRODUCT(OPERAND, OPERAND) DONE "  y_[t] = d[5];", "leaves something else");
}
END_TEST

/* ---- every access ---- */

/* What nothing orders, beside what is right and looks like it; the values would hide it. */
static const struct {
    const char *wrong, *because, *right;
} watched[] = {
    /* read before it has landed: by others, by who asked for it, by a product, behind a phase that it is not of */
    {BARRIERS BOX "  if (t > 0) y_[t] = s[t] == 7;\n" WAIT,
        "thread 1, line 7 reads 4 bytes at byte 4 of the block's 16416 of shared memory, which thread 0 writes at line 6, "
        "and nothing orders the two",
        BARRIERS BOX WAIT "  y_[t] = s[t] == 7;"},
    {BARRIERS BOX "  if (t == 0) y_[0] = s[0] == 7;\n" WAIT,
        "thread 0, line 7 reads 4 bytes at byte 0 of the block's 16416 of shared memory, where a copy has not been",
        BARRIERS BOX WAIT "  if (t == 0) y_[0] = s[0] == 7;"},
    {BARRIERS BOX MULTIPLY WAIT DONE,
        "line 7 reads 16 bytes at byte 0 of the block's 16416 of shared memory, where a copy has not been waited for",
        BARRIERS BOX WAIT MULTIPLY DONE},
    {BARRIERS "  if (t == 0) fx_mbarrier_arrive(full);\n" WAIT MEET BOX "  if (t == 9) y_[0] = s[0] == 7;\n" AGAIN,
        "thread 9, line 10 reads 4 bytes at byte 0 of the block's 16416 of shared memory, which thread 0 writes at line 9, "
        "and nothing orders the two",
        BARRIERS "  if (t == 0) fx_mbarrier_arrive(full);\n" WAIT MEET BOX AGAIN "  if (t == 9) y_[0] = s[0] == 7;"},
    /* copied over while another warpgroup reads, all of which says that it has read; before it does; one warp less */
    {BARRIERS BOX WAIT MEET "  if (t >= 128) y_[t] = s[t] == 7;\n" BOX AGAIN, "of the block's 16416 of shared memory",
        BARRIERS BOX WAIT MEET "  if (t >= 128) y_[t] = s[t] == 7;\n"
                               "  if (t >= 128 && t % 32 == 0) fx_mbarrier_arrive(empty);\n" EMPTY BOX AGAIN},
    {BARRIERS BOX WAIT MEET "  if (t >= 128 && t % 32 == 0) fx_mbarrier_arrive(empty);\n"
                            "  if (t >= 128) y_[t] = s[t] == 7;\n" EMPTY BOX AGAIN,
        "of the block's 16416 of shared memory", NULL},
    {BARRIERS BOX WAIT MEET "  if (t >= 128) y_[t] = s[t] == 7;\n"
                            "  if (t >= 96 && t < 224 && t % 32 == 0) fx_mbarrier_arrive(empty);\n" EMPTY BOX AGAIN,
        "of the block's 16416 of shared memory", NULL},
    /* while a product that is under way reads */
    {BARRIERS BOX WAIT MEET "  if (t >= 128) {\n" MULTIPLY "  if (t % 32 == 0) fx_mbarrier_arrive(empty);\n" DONE
                            "  }\n" EMPTY BOX AGAIN,
        "thread 0, line 16 copies 16 bytes at byte 0 of the block's 16416 of shared memory, which thread 128 reads at line "
        "10, and nothing orders the two",
        BARRIERS BOX WAIT MEET "  if (t >= 128) {\n" MULTIPLY DONE
                               "  if (t % 32 == 0) fx_mbarrier_arrive(empty);\n  }\n" EMPTY BOX AGAIN},
    {BARRIERS BOX WAIT MEET MULTIPLY "  if (t == 9) s[5] = 0x3f803f80;\n" DONE,
        "thread 9, line 11 writes 4 bytes at byte 20 of the block's 16416 of shared memory, which thread 0 reads at line "
        "9, and nothing orders the two",
        BARRIERS BOX WAIT MEET MULTIPLY DONE MEET "  if (t == 9) s[5] = 0x3f803f80;"},
    /* a named barrier orders those who meet there; who arrives does not wait */
    {"  s[t] = 0;\n  fx_barrier();\n  s[t] = 0;\n  fx_named_barrier(1 + t / 128, 128);\n  y_[t] = s[255 - t];",
        "and nothing orders the two",
        "  s[t] = 0;\n  fx_barrier();\n  s[t] = 0;\n  fx_named_barrier(1, 256);\n  y_[t] = s[255 - t];"},
    {"  s[t] = 0;\n  fx_barrier();\n  s[t] = 0;\n  if (t < 128) fx_named_barrier(1, 256);\n"
     "  else fx_named_arrive(1, 256), y_[t] = s[t - 128];",
        "and nothing orders the two",
        "  s[t] = 0;\n  fx_barrier();\n  s[t] = 0;\n  if (t < 128) fx_named_barrier(1, 256), y_[t] = s[t + 128];\n"
        "  else fx_named_arrive(1, 256);"},
};

START_TEST(test_watched) {
    fails(watched[_i].wrong, watched[_i].because);
    if (watched[_i].right) holds(watched[_i].right);
}
END_TEST

/* What is sent, read before it is waited for; the same value stands there before. */
START_TEST(test_watched_clusters) {
    cluster = 2;
    holds(BARRIERS MET EXPECT("2048") SEND SENT READ);
    fails(BARRIERS MET EXPECT("2048") SEND READ SENT, "that nobody has written");
    cluster = 1;
}
END_TEST

int main(void) {
    Suite *s = suite_create("emu_async");
    TCase *t = tcase_create("refused");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_loop_test(t, test_boxes, 0, (int)(sizeof tensors / sizeof *tensors));
    tcase_add_loop_test(t, test_encode, 0, (int)(sizeof encoded / sizeof *encoded));
    tcase_add_loop_test(t, test_pixels, 0, (int)(sizeof images / sizeof *images));
    tcase_add_loop_test(t, test_encode_im2col, 0, (int)(sizeof columns / sizeof *columns));
    tcase_add_test(t, test_bad_boxes);
    tcase_add_test(t, test_bad_bytes);
    tcase_add_test(t, test_bad_pixels);
    tcase_add_test(t, test_sent_boxes);
    tcase_add_test(t, test_barriers);
    tcase_add_test(t, test_named_barriers);
    tcase_add_test(t, test_clusters);
    tcase_add_loop_test(t, test_products, 0, 32);
    tcase_add_loop_test(t, test_tf32_products, 0, 2);
    tcase_add_loop_test(t, test_held_products, 0, 12);
    tcase_add_test(t, test_bad_products);
    suite_add_tcase(s, t);
    t = tcase_create("watched");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup_watched, NULL);
    tcase_add_loop_test(t, test_watched, 0, (int)(sizeof watched / sizeof *watched));
    tcase_add_test(t, test_watched_clusters);
    suite_add_tcase(s, t);
    return run_suite(s);
}
