/* .npy in and out: every dtype round trip, headers as NumPy and others write them, and files that lie. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/npy.h"
#include "suite.h"

struct file { /* bytes of exactly their size, so that the address sanitizer sees a read beyond them */
    unsigned char *bytes;
    size_t n;
};

static struct file make(int version, const char *header, size_t header_length, const void *data, size_t n_data) {
    size_t start = version == 1 ? 10 : 12;
    struct file f = {malloc(start + strlen(header) + n_data + 1), start + strlen(header) + n_data};
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    f.bytes[7] = 0;
    for (size_t i = 8; i < start; i++) f.bytes[i] = (unsigned char)(header_length >> 8 * (i - 8));
    memcpy(f.bytes + start, header, strlen(header));
    if (n_data) memcpy(f.bytes + start + strlen(header), data, n_data);
    f.bytes = realloc(f.bytes, f.n);
    return f;
}

static bool read_header(int version, const char *header, const void *data, size_t n_data, struct npy *out) {
    char message[128] = "";
    struct file f = make(version, header, strlen(header), data, n_data);
    bool is_read = npy_read(f.bytes, f.n, out, message, sizeof message);
    free(f.bytes);
    ck_assert(is_read == !*message);
    return is_read;
}

static void check_refused(const char *header, const void *data, size_t n_data) {
    struct npy a;
    ck_assert_msg(!read_header(1, header, data, n_data, &a), "%s", header);
    ck_assert_ptr_null(a.data);
}

START_TEST(round_trip) {
    static const int64_t shapes[][FX_MAX_RANK + 1] = {
        {0}, {1, 5}, {2, 3, 4}, {3, 2, 0, 7}, {8, 1, 2, 1, 2, 1, 2, 1, 2}};
    for (int t = 0; t < FX_N_DTYPES; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct fx_shape shape = {.dtype = (enum fx_dtype)t, .rank = (int)shapes[s][0]};
            char header[NPY_HEADER_MAX], message[128];
            size_t n;
            struct npy a;
            if (fx_dtype_bits(shape.dtype) < 8) continue;
            memcpy(shape.extents, shapes[s] + 1, (size_t)shape.rank * sizeof *shape.extents);
            ck_assert(npy_count(shape.rank, shape.extents, &n));
            size_t n_data = n * (size_t)fx_dtype_bits(shape.dtype) / 8, n_header = npy_header(&shape, header);
            ck_assert_uint_eq(n_header % 64, 0);
            unsigned char *bytes = malloc(n_header + n_data);
            memcpy(bytes, header, n_header);
            for (size_t i = 0; i < n_data; i++) bytes[n_header + i] = t == FX_BOOL ? i % 2 : (unsigned char)(i * 7);
            ck_assert_msg(npy_read(bytes, n_header + n_data, &a, message, sizeof message), "%s", message);
            ck_assert_msg(npy_convert(&a, shape.dtype, message, sizeof message), "%s", message);
            ck_assert_int_eq(a.shape.dtype, t);
            ck_assert_int_eq(a.shape.rank, shape.rank);
            ck_assert_uint_eq(a.n_elements, n);
            for (int i = 0; i < shape.rank; i++) ck_assert_int_eq(a.shape.extents[i], shape.extents[i]);
            ck_assert(!memcmp(a.data, bytes + n_header, n_data));
            npy_release(&a);
            free(bytes);
        }
}
END_TEST

START_TEST(header_is_numpys) {
    struct fx_shape shape = {.dtype = FX_F32, .rank = 2, .extents = {2, 13}};
    char header[NPY_HEADER_MAX];
    ck_assert_uint_eq(npy_header(&shape, header), 128);
    ck_assert_mem_eq(header, "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 13), } ", 71);
    ck_assert_int_eq(header[127], '\n');
    shape = (struct fx_shape){.dtype = FX_BF16, .rank = 8};
    for (int i = 0; i < 8; i++) shape.extents[i] = (int64_t)1 << 40;
    ck_assert_uint_le(npy_header(&shape, header), NPY_HEADER_MAX);
    ck_assert_ptr_nonnull(strstr(header + 10, "'<V2'"));
}
END_TEST

START_TEST(headers_of_others) {
    static const char *const same[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{\"shape\": (2,3,), \"descr\": \"<f4\", \"fortran_order\": False}",
        "  { 'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '<f4' } \n \n",
    };
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
            struct npy a;
            ck_assert_msg(read_header(version, same[i], data, sizeof data, &a), "%s", same[i]);
            ck_assert(a.shape.rank == 2 && a.shape.extents[0] == 2 && a.shape.extents[1] == 3);
            ck_assert_mem_eq(a.data, data, sizeof data);
            npy_release(&a);
        }
}
END_TEST

START_TEST(every_digit) {
    struct npy a;
    ck_assert(read_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (12345, 0, 67890)}", NULL, 0, &a));
    ck_assert(
        a.shape.rank == 3 && a.shape.extents[0] == 12345 && a.shape.extents[1] == 0 && a.shape.extents[2] == 67890);
    npy_release(&a);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (/, 0)}", NULL, 0); /* the byte before 0 */
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (:, 0)}", NULL, 0); /* and behind 9 */
}
END_TEST

START_TEST(fortran_order) {
    static const int32_t stored[24] = {
        0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23};
    struct npy a;
    ck_assert(read_header(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4)}", stored, sizeof stored, &a));
    for (int i = 0; i < 24; i++) ck_assert_int_eq(((int32_t *)a.data)[i], i);
    npy_release(&a);
    ck_assert(read_header(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (0, 3)}", NULL, 0, &a));
    npy_release(&a);
}
END_TEST

START_TEST(bools_are_0_or_1) {
    struct npy a;
    ck_assert(read_header(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\x00\x01\xff", 3, &a));
    ck_assert_mem_eq(a.data, "\x00\x01\x01", 3);
    npy_release(&a);
}
END_TEST

START_TEST(conversions) {
    static const float data[4] = {1, 1.00390625f, 3e38f, -0.0f}; /* 1 + 2^-8: halfway between two bf16, to even */
    static const char *const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}";
    char message[128];
    struct npy a;
    ck_assert(read_header(1, header, data, sizeof data, &a));
    ck_assert(npy_convert(&a, FX_BF16, message, sizeof message));
    ck_assert_mem_eq(a.data, "\x80\x3f\x80\x3f\x62\x7f\x00\x80", 8);
    ck_assert(!npy_convert(&a, FX_F16, message, sizeof message));
    npy_release(&a);
    ck_assert(read_header(1, header, data, sizeof data, &a));
    ck_assert(!npy_convert(&a, FX_F64, message, sizeof message));
    ck_assert(!npy_convert(&a, FX_I32, message, sizeof message));
    ck_assert(!npy_convert(&a, FX_I8, message, sizeof message));
    npy_release(&a);
    ck_assert(read_header(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", "\x80\x3f", 2, &a));
    ck_assert(!npy_convert(&a, FX_F16, message, sizeof message));
    ck_assert(!npy_convert(&a, FX_I16, message, sizeof message));
    ck_assert(!npy_convert(&a, FX_F8E4M3, message, sizeof message));
    ck_assert(npy_convert(&a, FX_BF16, message, sizeof message));
    npy_release(&a);
}
END_TEST

START_TEST(malformed_headers) {
    static const char *const wrong[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4<f4<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<\x1b[2J', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_refused(wrong[i], "\0\0\0\0", 4);
}
END_TEST

START_TEST(huge_shapes) {
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}", "\0\0\0\0", 4);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "\0\0\0\0", 4);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627777,)}", "\0\0\0\0", 4);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}", "\0\0\0\0", 4);
    check_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 65536)}", "\0\0\0\0", 4);
    /* An extent beyond the limit is refused even where another is 0. */
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1099511627777)}", NULL, 0);
}
END_TEST

START_TEST(sizes_must_agree) {
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "\0\0\0\0\0\0\0", 7);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "\0\0\0\0\0", 5);
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", "\0", 1);
}
END_TEST

START_TEST(truncated_anywhere) {
    static const char *const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    for (int version = 1; version <= 4; version++) {
        struct file f = make(version, header, strlen(header), "12345678", 8);
        for (size_t n = 0; n <= f.n; n++) {
            unsigned char *cut = malloc(n ? n : 1);
            char message[128] = "";
            struct npy a;
            memcpy(cut, f.bytes, n);
            bool is_read = npy_read(cut, n, &a, message, sizeof message);
            ck_assert(is_read == (n == f.n && version <= 3));
            if (is_read) npy_release(&a);
            free(cut);
        }
        free(f.bytes);
    }
    /* A header longer than the file. */
    struct file f = make(2, header, 0xffffffffu, "12345678", 8);
    char message[128];
    struct npy a;
    ck_assert(!npy_read(f.bytes, f.n, &a, message, sizeof message));
    free(f.bytes);
}
END_TEST

START_TEST(every_byte_changed) {
    static const char *const header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }  \n";
    struct file f = make(1, header, strlen(header), "0123456789abcdef", 16);
    for (size_t i = 0; i < f.n; i++)
        for (int v = 0; v < 256; v++) {
            unsigned char was = f.bytes[i];
            char message[128] = "";
            struct npy a;
            f.bytes[i] = (unsigned char)v;
            if (npy_read(f.bytes, f.n, &a, message, sizeof message)) npy_release(&a);
            else ck_assert(*message != 0);
            for (char *p = message; *p; p++) ck_assert(*p >= ' ' && *p <= '~');
            f.bytes[i] = was;
        }
    free(f.bytes);
}
END_TEST

int main(void) {
    Suite *s = suite_create("npy");
    TCase *t = tcase_create("npy");
    tcase_add_test(t, round_trip);
    tcase_add_test(t, header_is_numpys);
    tcase_add_test(t, headers_of_others);
    tcase_add_test(t, every_digit);
    tcase_add_test(t, fortran_order);
    tcase_add_test(t, bools_are_0_or_1);
    tcase_add_test(t, conversions);
    tcase_add_test(t, malformed_headers);
    tcase_add_test(t, huge_shapes);
    tcase_add_test(t, sizes_must_agree);
    tcase_add_test(t, truncated_anywhere);
    tcase_add_test(t, every_byte_changed);
    suite_add_tcase(s, t);
    return run_suite(s);
}
