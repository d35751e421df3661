/* Chains: which specs become one, how often their intermediate is walked over, what is taken online; that a spec
 * written out by hand comes to the same text as the prelude's functions. Input: specs; what is looked at is the emitted
 * text and the messages, from outside. */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define REQUIRED " with { fuse: require } "

static fx_compilation *compile(const char *text, fx_status *status) {
    const struct fx_options options = FX_OPTIONS;
    fx_compilation *c = NULL;
    *status = fx_compile(text, strlen(text), "t.fx", &options, &c);
    ck_assert(c != NULL);
    return c;
}

/* ---- what a chain is made of ---- */

static const struct {
    const char *spec, *has[5]; /* lines of the emitted text */
} chains[] = {
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED "{ o = softmax[T](q @ k) @ v }",
        {"PASSES = 1;", "FINDS_MAXIMA[PASSES] = {true}, KEEPS[PASSES] = {false}", "SCALED = true, STORES_ROWS = false",
            "acc[0][v] * r.last * (1.0f / "}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> (o: f16[S,N], l: f32[S])" REQUIRED
     "{ s = where(idx(T) <= idx(S), q @ k, -inf)\n o = softmax[T](s) @ v\n l = logsumexp[T](s) }",
        {"PASSES = 1;", "KEEPS[PASSES] = {true}", "SCALED = true, STORES_ROWS = true, LIMITS = true",
            "limit = min(limit, (long long)(t() - 1) <= q.idx_S_ ? t() : "}},
    /* where rows begin and end: by lengths, the comparison turned round, the index subtracted; not where 0 is
     * weighted */
    {"kernel f(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,N], n: i64[B]) -> o: f16[B,S,N]" REQUIRED
     "{ o = softmax[T](where(n > idx(T) + 1, q @ k, -inf)) @ v }",
        {"PASSES = 1;", "LIMITS = true"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) >= idx(S), -inf, q @ k)) @ v }",
        {"PASSES = 1;", "LIMITS = true", "? t() : ", "(long long)0 >= q.idx_S_ ? 0 : (int)"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) >= idx(S), q @ k, -inf)) @ v }",
        {"PASSES = 1;", "LIMITS = true", "limit = max(limit, (long long)0 >= q.idx_S_ ? 0 : "}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) < idx(S), -inf, q @ k)) @ v }",
        {"PASSES = 1;", "LIMITS = true", "limit = max(limit, (long long)0 >= q.idx_S_ ? 0 : "}},
    /* several conditions, of which one ends rows: the others are asked of every element */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], n: i64[S]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) > idx(S) - 100 && idx(T) != n && idx(T) <= idx(S), q @ k, -inf)) @ v }",
        {"PASSES = 1;", "LIMITS = true", "t + v >= q.start_ && t + v < q.end_"}},
    /* one row, which has no label of its own */
    {"kernel f(q: f16[B,D], k: f16[B,T,D], v: f16[B,T,N]) -> o: f16[B,N]" REQUIRED
     "{ o = softmax[T](q @[D] k) @[T] v }",
        {"fx_chain_pieces<fx_wgmma_chain_pieces<fx_f16, ", "fx_chain_by_few<fx_chain_few<fx_f16, 1, "}},
    /* short ones of one consumer take limits as masks */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), q @ k, -inf)) @ v }",
        {"fx_chain_wgmma_masked<fx_wgmma_chain<fx_f16, fx_columns_64, fx_held_64, 64, 1, 2>>(",
            "fx_chain_wgmma<fx_wgmma_chain<fx_f16, fx_columns_64, fx_held_64, 64, 1, 2>>("}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], keep: bool[T]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(keep[T: idx(T)] || idx(T) > idx(S), -inf, q @ k)) @ v }",
        {"PASSES = 1;", "LIMITS = true"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], keep: bool[T]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(keep[T: idx(T)] || idx(T) <= idx(S), q @ k, -inf)) @ v }",
        {"PASSES = 1;", "LIMITS = false"}},
    /* 0 in place of a quotient by 0 is put in place of the sum */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(m > -inf, m, 0))\n s = sum[T](e)\n o = where(s == 0, 0, e / s) @ v }",
        {"PASSES = 1;", "acc[0][v] * 0.0f : acc[0][v] * r.last * (1.0f / "}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(m > -inf, m, 0))\n s = sum[T](e)\n o = (where(s == 0, 0, e) / s) @ v }",
        {"PASSES = 1;", "\n    const bool eq_ = r.s_ == 0.0f;"}}, /* once a row */
    {"kernel f(q: f16[S,D], k: f16[T,U,D], v: f16[T,U,N]) -> o: f16[S,N]" REQUIRED /* rows of two labels do not end */
     "{ o = sum[T,U](softmax[T,U](where(idx(T) <= idx(S), q @[D] k, -inf)) * v) }",
        {"PASSES = 1;", "SCALED = true", "LIMITS = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(size(T) - idx(T) <= idx(S), q @ k, -inf)) @ v }",
        {"PASSES = 1;", "LIMITS = true"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), q @ k, -9)) @ v }",
        {"PASSES = 1;", "LIMITS = false"}},
    {"kernel f(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N], w: bf16[T]) -> o: bf16[S,N]" REQUIRED
     "{ s = where(idx(T) <= idx(S), q @ k, -inf)\n o = (softmax[T](s) * w) @ v }",
        {"PASSES = 1;", "LIMITS = false"}},
    /* factors that maxima and exponents take: one that is given, by which first contractions are multiplied where it is
     * no plain one, and constants above 0; not what makes another order, or is added to */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), c * (q @ k), -inf)) @ v }",
        {"FACTORED[PASSES] = {true}", "    return c_;", "where_ = within_ ? acc[0][v] : ", "fx_chain_exp_of(acc[0][v], late(pass), a."}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](tanh((q @ k) * c) * 30) @ v }",
        {"FACTORED[PASSES] = {true}", "    return 30.0f;", "fx_chain_exp_of(acc[0][v], late(pass), a."}},
    {"kernel f(q: f16[S,D=72], k: f16[T,D], v: f16[T,N]) -> (o: f16[S,N], l: f32[S])" REQUIRED
     "{ s = where(idx(T) <= idx(S), q @ k / sqrt(size(D)), -inf)\n o = softmax[T](s) @ v\n l = logsumexp[T](s) }",
        {"FACTORED[PASSES] = {true}", "    return 1.0f / 8.485281f;", "_ / 8.485281f;\n  }\n",
            "fx_chain_exp_of(acc[0][v], late(pass), a."}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T]((q @ k) / sqrt(size(D))) @ v }",
        {"FACTORED[PASSES] = {true}", "typedef fx_nothing values;", "    return 1.0f / sqrt_;",
            "    if (late(pass) != factor(pass)) return;"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T]((q @ k) * (c * rsqrt(size(D)))) @ v }",
        {"FACTORED[PASSES] = {true}", "typedef fx_nothing values;", "    const float mul_ = c_ * rsqrt_;"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T]((q @ k) / c) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](3 / (q @ k)) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](tanh(q @ k) * c) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), (q @ k) * -0.5, -inf)) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32[S]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), (q @ k) * c, -inf)) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](where(idx(T) <= idx(S), (q @ k) * c, -9)) @ v }",
        {"FACTORED[PASSES] = {false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> (o: f16[S,N], t: f32[S])" REQUIRED
     "{ s = (q @ k) * c\n o = softmax[T](s) @ v\n t = sum[T](s) }",
        {"FACTORED[PASSES] = {false}"}},
    /* positions as floats: what elements have in common once */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], c: f32) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](q @ k - c * f32(idx(S) - idx(T) + 3)) @ v }",
        {"(float)(int)add_ - (float)(t.step + v);"}},
    /* but not where the maximum, which is found first, does without */
    {"kernel f(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N]) -> o: bf16[S,N]" REQUIRED
     "{ o = (softmax[T](q @ k) * f32(idx(T))) @ v }",
        {"      if (v >= n_valid) break;\n      b.max_", "f32_idx_T_ = (float)(int)(long long)t.from + (float)(t.step + v);"}},
    /* factors ahead of a shift that is stored, and of a result that is rounded to bf16 on the way */
    {"kernel f(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N], c: f32) -> (o: bf16[S,N], l: f32[S])"
     "{ s = where(idx(T) <= idx(S), (q @ k) * c, -inf)\n o = softmax[T](s) @ v\n l = logsumexp[T](s) }\n"
     "kernel g = grad(f, wrt: q, k, v, saved: o, l)",
        {"fx_chain_exp_of(acc[1][v], c_, q.", "fx_chain_exp_of(acc[1][v], c_, u[v].", "exp_2_ = within_ ? exp_ : 0.0f;",
            "dq_out[v] = acc[0][v] * c_;", "dk_out[v] = acc[0][v] * c_;"}},
    {"kernel f(x: f32[M,K], w: f32[K,H], v: f32[H,N]) -> y: f32[M,N]" REQUIRED "{ y = relu(x @ w) @ v }",
        {"PASSES = 1;", "FINDS_MAXIMA[PASSES] = {false}", "SCALED = false, STORES_ROWS = false", "fx_chain_simt<"}},
    /* several contractions over the intermediate: beside each other where they share a factor, else one after the
     * other; at most three */
    {"kernel f(x: f16[M,K], w: f16[K,H], u: f16[K,H], v: f16[H,N]) -> y: f16[M,N]" REQUIRED
     "{ y = (silu(x @ w) * (x @ u)) @ v }",
        {"PASSES = 1;", "INNER_SUMS = 2, BESIDE = 2,", "fx_chain_mma<", "segment0 first_segment",
            "segment1 second_segment"}},
    {"kernel f(x: f32[M,K], w: f32[K,F=2*H], v: f32[H,N]) -> y: f32[M,N]" REQUIRED
     "{ l, r = halves[F->H](x @ w)\n y = (silu(l) * r) @ v }",
        {"PASSES = 1;", "INNER_SUMS = 2, BESIDE = 2,", "fx_chain_simt<"}},
    {"kernel f(x: f16[M,K], z: f16[M,L], w: f16[K,H], u: f16[L,H], v: f16[H,N]) -> y: f16[M,N]" REQUIRED
     "{ y = relu(x @ w + z @ u) @ v }",
        {"PASSES = 1;", "INNER_SUMS = 2, BESIDE = 1,", "fx_gemm_accumulate<ENGINE, ALIGNED, segment1>(acc, first, at);",
            "segment2 second_segment"}},
    /* computed operands and parts of tensors are no buffers */
    {"kernel f(q: f16[S=65536,D], k: i8[T=65536,D], v: f16[T,N], s: f32[T], c: f32[S,D]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](f16(q * c) @ f16(k * s)) @ v }",
        {"PASSES = 1;", "fx_gemm_computed<ENGINE, BASE, f_, SEGMENT, a0, ALIGNED>",
            "fx_gemm_computed<ENGINE, BASE, f_, SEGMENT, b0, ALIGNED>",
            "fx_gemm_copied<ENGINE, BASE, f_, SEGMENT, b1,"}},
    {"kernel f[T=S](a: f16[S,J=3,D]) -> o: f16[S,N=D]" REQUIRED
     "{ q = a[J: 0]\n k = a[S: T, J: 1]\n v = a[S: T, J: 2, D: N]\n o = softmax[T](q @[D] k) @[T] v }",
        {"PASSES = 1;", "return p.a_ + p.D_;", "return p.a_ + 2 * p.D_;"}},
    /* what the intermediate reads, by its strides, has a line of its own */
    {"kernel f(a: f32[S,T] strided, q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = softmax[T](q @ k + a) @ v }",
        {"PASSES = 1;", "const float a_v_ = a_[(long long)m * a_stride_S_ + (long long)((t + v)) * a_stride_T_];"}},
    /* the shift is the larger one of the maximum and of what is known of the row; more terms of the denominator */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], z: f32[S]) -> o: f16[S,N]" REQUIRED
     "{ a = where(idx(T) <= idx(S), q @ k, -inf)\n m = max(max[T](a), z)\n e = exp(a - m)\n"
     " o = (e / (sum[T](e) + exp(z - m))) @ v }",
        {"PASSES = 1;", "SCALED = true, STORES_ROWS = false, LIMITS = true", "fx_chain_raised_shift(m_, max_a_)",
            "acc[0][v] * r.last * (1.0f / "}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max(max[T](a), 0)\n e = exp(a - m)\n o = (e / (sum[T](e) + exp(-m))) @ v }",
        {"PASSES = 1;", "SCALED = true", "acc[0][v] * r.last * (1.0f / "}},
    {"kernel f(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N], z: f32[S]) -> o: bf16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(a - max(max[T](a), z))\n o = (e / sum[T](e)) @ v }",
        {"PASSES = 1;", "SCALED = true", "acc[0][v] * r.last / "}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], z: f32[S]) -> o: f16[S,N]" REQUIRED
     /* may be below what f16 holds */
     "{ a = q @ k\n e = exp(a - max(max[T](a), z))\n o = (e / sum[T](e)) @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], z: f32[S]) -> o: f16[S,N]" REQUIRED
     /* may be 0 where they are not */
     "{ a = q @ k\n e = exp(a - max[T](a))\n o = (e / (sum[T](e) + z)) @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    /* limits without a softmax: where what is weighted is 0 */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> (o: f16[S,N], r: f32[S])" REQUIRED
     "{ p = sigmoid(where(idx(T) <= idx(S), q @ k, -inf))\n o = p @ v\n r = sum[T](p) }",
        {"PASSES = 1;", "SCALED = false, STORES_ROWS = true, LIMITS = true", "!IS_CUT || (t + v < q.end_)"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ o = where(idx(T) > idx(S), 0, relu(q @ k)) @ v }",
        {"PASSES = 1;", "LIMITS = true"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     /* cos(0) is not 0 */
     "{ o = cos(where(idx(T) > idx(S), 0, q @ k)) @ v }",
        {"PASSES = 1;", "LIMITS = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> (o: f16[S,N], r: f32[S])" REQUIRED /* counts all of them */
     "{ p = where(idx(T) > idx(S), 0, q @ k)\n o = p @ v\n r = sum[T](p + 1) }",
        {"PASSES = 1;", "LIMITS = false"}},
    /* the shift is no maximum of what is shifted: taken in walks of its own */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(a - sum[T](a))\n o = e @ v }",
        {"PASSES = 2;", "FINDS_MAXIMA[PASSES] = {false, false}"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(m < 9, m, 0))\n o = e @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(!(m == -inf), m, 0))\n o = e @ v }",
        {"PASSES = 1;", "SCALED = true"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(!(m < 9), 0, m))\n o = e @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n m = max[T](a)\n e = exp(a - where(!(m < 9), m, 0))\n o = e @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(2 * a - max[T](a))\n o = e @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    /* divided by what is no sum of the exponentials: not moved behind the second contraction */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(a - max[T](a))\n o = (e / (1 - sum[T](e))) @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    /* not linear in the exponential */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
     "{ p = softmax[T](q @ k)\n o = where(p > 0.5, p, 0) @ v }",
        {"PASSES = 2;", "FINDS_MAXIMA[PASSES] = {true, false}", "SCALED = false"}},
    /* masked behind the exponential, weighted: both linear */
    {"kernel f(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N], w: bf16[T]) -> o: bf16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(a - max[T](a))\n o = (where(idx(T) < 5, e, 0) * w) @ v }",
        {"PASSES = 1;", "SCALED = true"}},
    /* f16 may not hold the product before it is scaled */
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N], w: f16[T]) -> o: f16[S,N]" REQUIRED
     "{ a = q @ k\n e = exp(a - max[T](a))\n o = (e * w) @ v }",
        {"PASSES = 2;", "SCALED = false"}},
    /* a reduction that only an output reads, two walks deep */
    {"kernel f(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N]) -> (y: bf16[M,N], d: f32[M])" REQUIRED
     "{ h = x @ w\n y = relu(h) @ v\n d = var[H](h) }",
        {"PASSES = 2;", "STORES_ROWS = true"}},
};

START_TEST(walks) {
    fx_status status;
    fx_compilation *c = compile(chains[_i].spec, &status);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    const char *text = fx_text(c, FX_TEXT_CU);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_partition p = fx_get_partition(k, fx_partition_count(k) - 1); /* at nominal extents */
    ck_assert_int_eq(p.n_launches, 1);
    ck_assert_str_eq(k->launches[p.first_launch].driver, "chain");
    for (int i = 0; i < 5 && chains[_i].has[i]; i++)
        ck_assert_msg(strstr(text, chains[_i].has[i]) != NULL, "%s: not in\n%.3000s", chains[_i].has[i],
            strstr(text, "==== generated"));
    fx_close(c);
}
END_TEST

/* ---- which of several ---- */

/* The chain that keeps most from being written: the attention, not the projections before it and behind it. */
START_TEST(largest_intermediate) {
    fx_status status;
    fx_compilation *c = compile(
        "kernel f(x: f16[S,C=64], w: f16[C,D=64], k: f16[T,D], v: f16[T,N=64], u: f16[N,P]) -> o: f16[S,P] { o = (softmax[T]((x @ w) @ k) @ v) @ u }",
        &status);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_partition p = fx_get_partition(k, fx_partition_count(k) - 1); /* at nominal extents */
    ck_assert_int_eq(p.n_launches, 3);
    ck_assert_str_eq(k->launches[p.first_launch].driver, "gemm");
    ck_assert_str_eq(k->launches[p.first_launch + 1].driver, "chain");
    ck_assert_str_eq(k->launches[p.first_launch + 2].driver, "gemm");
    fx_close(c);
}
END_TEST

/* ---- what is none ---- */

static const struct {
    const char *spec, *says;
} refused[] = {
    {"kernel f(x: f32[M,K], w: f32[K,H], u: f32[K,H], p: f32[K,H], q: f32[K,H], v: f32[H,N]) -> y: f32[M,N]" REQUIRED
     "{ y = ((x @ w) * (x @ u) * (x @ p) * (x @ q)) @ v }",
        "is made of more than 3 contractions"},
    {"kernel f(x: f32[M,K], w: f32[K,H], v: f16[H,N]) -> y: f32[M,N]" REQUIRED "{ y = relu(x @ w) @ v }",
        "x @ w is added up of f32, and y of f16"},
    {"kernel f(x: f16[M,K], w: f16[K,H], v: f16[H,N]) -> y: f16[M,N]" REQUIRED "{ h = x @ w\n y = h[H: H // 2] @ v }",
        "h[H: H // 2] needs h at other elements than the one computed"},
};

START_TEST(refusals) {
    fx_status status;
    fx_compilation *c = compile(refused[_i].spec, &status);
    ck_assert_int_eq(status, FX_ERR_COMPILE);
    ck_assert_msg(strstr(fx_messages(c), "[FX3001]") && strstr(fx_messages(c), refused[_i].says), "%s", fx_messages(c));
    fx_close(c);
}
END_TEST

/* ---- what other kernels store of the same contractions ---- */

static const struct {
    const char *spec;
    int n_launches;
    const char *last; /* driver */
} anew[] = {
    {"kernel f(x: f16[M,K], w: f16[K,H], v: f16[H,N]) -> (h: f16[M,H], y: f16[M,N])" REQUIRED
     "{ h = relu(x @ w)\n y = (h / max[M,H](h)) @ v }",
        1, "gemm, row, row, chain"},
    {"kernel f(x: f16[M,K], w: f16[K,H], v: f16[H,N]) -> y: f16[M,N]" REQUIRED
     "{ h = x @ w\n y = (h * max[M,H](h)) @ v }",
        1, "gemm, row, row, chain"},
    {"kernel a(q: bf16[B=4,S=4096,D=128], k: bf16[B,T=4096,D], v: bf16[B,T,E=128]) -> y: bf16[B,S,E] "
     "{ y = softmax[T](where(idx(T) <= idx(S), (q @ k) * 0.1, -inf)) @ v }\nkernel f = grad(a, wrt: q, k, v)",
        2, "chain, chain"}, /* by k and by v together */
    {"kernel a(q: bf16[B=4,S=4096,D=128], k: bf16[B,T=4096,D], v: bf16[B,T,E=128]) -> y: bf16[B,S,E] "
     "{ y = sigmoid(where(idx(T) <= idx(S), (q @ k) * 0.1, -inf)) @ v }\n"
     "kernel f = grad(a, wrt: q, k, v) with { kernels: 3 }",
        3, "chain"},
};

START_TEST(added_up_anew) {
    fx_status status;
    fx_compilation *c = compile(anew[_i].spec, &status);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    const struct fx_plan *plan = fx_get_plan(c);
    const struct fx_kernel *k = &plan->kernels[plan->n_kernels - 1];
    ck_assert_int_eq(k->n_launches, anew[_i].n_launches);
    ck_assert_str_eq(k->launches[k->n_launches - 1].driver, anew[_i].last);
    fx_close(c);
}
END_TEST

/* ---- written out by hand ---- */

/* The generated part without comments and spaces, names of values numbered as they appear: members in all, others in
 * each function, whose own they are. */
static char *plain(const char *text) {
    const char *s = strstr(text, "==== generated");
    char *out = calloc(1, 2 * strlen(text)), *o = out, seen[2][256][256];
    int n[2] = {0};
    for (s = strchr(s, '\n'); *s;) {
        if (s[0] == '/' && s[1] == '/') {
            while (*s != '\n') s++;
        } else if (isalpha((unsigned char)*s) || *s == '_') {
            bool is_member = s[-1] == '.';
            char word[256] = "";
            for (size_t i = 0; isalnum((unsigned char)*s) || *s == '_'; s++)
                if (i < sizeof word - 1) word[i++] = *s;
            int i = 0;
            if (strcmp(word, "FX_DEVICE") == 0) n[0] = 0;
            if (word[strlen(word) - 1] != '_') {
                o += sprintf(o, "%s ", word);
                continue;
            }
            while (i < n[is_member] && strcmp(seen[is_member][i], word) != 0) i++;
            if (i == n[is_member] && i < 256) strcpy(seen[is_member][n[is_member]++], word);
            o += sprintf(o, "V%d ", i);
        } else {
            if (!isspace((unsigned char)*s)) *o++ = *s;
            s++;
        }
    }
    return out;
}

static const char *const alike[][2] = {
    {"kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED "{ o = softmax[T](q @ k) @ v }",
        "kernel f(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N]" REQUIRED
        "{ a = sum[D](k * q)\n m = max[T](a)\n e = exp(a - where(abs(m) < inf, m, 0))\n s = sum[T](e)\n o = sum[T](v * (e / where(s == 0, 1, s))) }"},
    {"kernel f(q: f32[S,D], k: f32[T,D], v: f32[T,N]) -> (o: f32[S,N], l: f32[S])" REQUIRED
     "{ a = q @ k\n o = softmax[T](a) @ v\n l = logsumexp[T](a) }",
        "kernel f(q: f32[S,D], k: f32[T,D], v: f32[T,N]) -> (o: f32[S,N], l: f32[S])" REQUIRED
        "{ a = k @ q\n m = max[T](a)\n c = where(abs(m) < inf, m, 0)\n e = exp(a - c)\n s = sum[T](e)\n n = where(s == 0, 1, s)\n o = v @[T] (e / n)\n l = where(s == 0, -inf, c + log(n)) }"},
};

START_TEST(by_hand) {
    fx_status status[2];
    fx_compilation *c[2] = {compile(alike[_i][0], &status[0]), compile(alike[_i][1], &status[1])};
    ck_assert_msg(status[0] == FX_OK && status[1] == FX_OK, "%s%s", fx_messages(c[0]), fx_messages(c[1]));
    char *a = plain(fx_text(c[0], FX_TEXT_CU)), *b = plain(fx_text(c[1], FX_TEXT_CU));
    ck_assert_msg(strlen(a) > 2000 && strcmp(a, b) == 0, "%.1500s\n\n%.1500s", a, b);
    free(a);
    free(b);
    fx_close(c[0]);
    fx_close(c[1]);
}
END_TEST

/* ---- pieces ---- */

static const char *const divided[] = {
    "kernel f(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,N], n: i32[B]) -> o: bf16[B,S,N]" REQUIRED
    "{ o = softmax[T](where(idx(T) < n, q @[D] k, -inf)) @[T] v }",
    "kernel f(q: bf16[B,S,D=128], kp: bf16[P,L=64,D], vp: bf16[P,L,D], at: i32[B,J], _t: bool[T=64*J]) -> o: bf16[B,S,D]"
    REQUIRED "{ k = kp[P: at[J: idx(T) // 64], L: idx(T) % 64] ?? 0\n v = vp[P: at[J: idx(T) // 64], L: idx(T) % 64] ?? 0\n"
    " o = softmax[T](q @[D] k) @[T] v }",
    "kernel f(q: bf16[B,S,D=576], kv: bf16[B,T,D]) -> o: bf16[B,S,N=512]" REQUIRED
    "{ o = softmax[T](q @[D] kv) @[T] kv[D: idx(N)] }",
};

/* The intermediate is divided among as many blocks as SMs hold, by their shared memory, at once. */
START_TEST(pieces_run_at_once) {
    enum { SM_SHARED = 228 * 1024, OVERHEAD = 1024 };
    fx_status status;
    fx_compilation *c = compile(divided[_i], &status);
    int n_entries = 0;
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    for (const char *at = fx_text(c, FX_TEXT_PLAN); (at = strstr(at, "the intermediate in pieces")); n_entries++) {
        const char *grid = strstr(at, "SMs * "), *smem = strstr(at, "smem "), *next = strstr(at, "needs ");
        ck_assert(smem != NULL && next != NULL && smem < next);
        const long blocks = grid && grid < smem ? strtol(grid + 6, NULL, 10) : 1, bytes = strtol(smem + 5, NULL, 10);
        ck_assert_msg(bytes > 0 && blocks * (bytes + OVERHEAD) <= SM_SHARED, "%ld blocks of %.400s", blocks, at);
        at = next;
    }
    ck_assert_int_gt(n_entries, 0);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("chain");
    TCase *t = tcase_create("chain");
    tcase_add_loop_test(t, walks, 0, COUNT(chains));
    tcase_add_test(t, largest_intermediate);
    tcase_add_loop_test(t, refusals, 0, COUNT(refused));
    tcase_add_loop_test(t, added_up_anew, 0, COUNT(anew));
    tcase_add_loop_test(t, by_hand, 0, COUNT(alike));
    tcase_add_loop_test(t, pieces_run_at_once, 0, COUNT(divided));
    suite_add_tcase(s, t);
    return run_suite(s);
}
