/* SHA-256 as FIPS 180-4 defines it. In: bytes, in pieces of any length. Out: 32 bytes. The constants are the
 * standard's: fractions of the square and cube roots of the first primes. */
#include <string.h>

#include "lib/cache.h"

static const uint32_t round_constants[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
    0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c,
    0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t read_word(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* a to h are the standard's names. */
static void take_block(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
                    h = state[7];
    for (int i = 0; i < 16; i++) w[i] = read_word(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    for (int i = 0; i < 64; i++) {
        uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                         round_constants[i] + w[i];
        uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) state[i] += sums[i];
}

void digest_begin(struct digest *d) {
    *d = (struct digest){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void digest_add(struct digest *d, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    size_t held = d->n_bytes % sizeof d->block;
    d->n_bytes += n;
    for (; n > 0 && held > 0; n--) {
        d->block[held++] = *p++;
        if (held < sizeof d->block) continue;
        take_block(d->state, d->block);
        held = 0;
    }
    for (; n >= sizeof d->block; n -= sizeof d->block, p += sizeof d->block) take_block(d->state, p);
    if (n > 0) memcpy(d->block + held, p, n);
}

void digest_end(struct digest *d, unsigned char out[DIGEST_BYTES]) {
    static const unsigned char one_bit[64] = {0x80};
    unsigned char length[8];
    uint64_t n_bits = d->n_bytes * 8;
    size_t held = d->n_bytes % 64;
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    digest_add(d, one_bit, held < 56 ? 56 - held : 120 - held);
    digest_add(d, length, sizeof length);
    for (int i = 0; i < DIGEST_BYTES; i++) out[i] = (unsigned char)(d->state[i / 4] >> (24 - 8 * (i % 4)));
}
