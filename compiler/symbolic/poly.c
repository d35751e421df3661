/* Polynomials over numbered unknowns, exact or lost.
 *
 * In: polynomials. Out: their sums, products, quotients, with terms in one order, so that equal ones have equal terms.
 * Invariant: a coefficient that may leave 126 bits, a term or a factor too many make the result lost, never wrong. */
#include "symbolic/poly.h"

#include <stddef.h>
#include <string.h>

/* ---- coefficients ---- */

enum { WIDE_BITS = 126 };

static int bits_of(wide v) {
    unsigned __int128 m = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

bool wide_multiply(wide a, wide b, wide *out) {
    int64_t x = (int64_t)a, y = (int64_t)b;
    if (x == a && y == b && !__builtin_mul_overflow(x, y, &x)) { /* as nearly always */
        *out = x;
        return true;
    }
    if (bits_of(a) + bits_of(b) > WIDE_BITS - 1) return false;
    *out = a * b;
    return true;
}

wide wide_gcd(wide a, wide b) {
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b) {
        wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

wide wide_least(wide a, wide b) { return a < b ? a : b; }
wide wide_most(wide a, wide b) { return a > b ? a : b; }

wide wide_floor_divide(wide a, wide b) { return a / b - (a % b < 0); }

/* ---- terms ---- */

/* Below 0, 0, above 0 as the factors of a stand before, with, after those of b. */
static int compare_factors(const struct poly_term *a, const struct poly_term *b) {
    if (a->n != b->n) return a->n - b->n;
    for (int i = 0; i < a->n; i++)
        if (a->atoms[i] != b->atoms[i]) return (int)a->atoms[i] - b->atoms[i];
    return 0;
}

bool poly_same_factors(const struct poly_term *a, const struct poly_term *b) { return compare_factors(a, b) == 0; }
bool poly_term_equal(const struct poly_term *a, const struct poly_term *b) {
    return a->coefficient == b->coefficient && poly_same_factors(a, b);
}

bool poly_term_multiply(const struct poly_term *a, const struct poly_term *b, struct poly_term *out) {
    int i = 0, j = 0;
    if (a->n + b->n > POLY_FACTORS || !wide_multiply(a->coefficient, b->coefficient, &out->coefficient)) return false;
    out->n = a->n + b->n;
    for (int k = 0; k < out->n; k++)
        out->atoms[k] = j == b->n || (i < a->n && a->atoms[i] <= b->atoms[j]) ? a->atoms[i++] : b->atoms[j++];
    return true;
}

bool poly_term_divide(const struct poly_term *a, const struct poly_term *b, struct poly_term *quotient) {
    struct poly_term q = {0};
    int j = 0;
    if (!b->coefficient || a->coefficient % b->coefficient) return false;
    q.coefficient = a->coefficient / b->coefficient;
    for (int i = 0; i < a->n; i++) {
        if (j < b->n && b->atoms[j] == a->atoms[i]) j++;
        else q.atoms[q.n++] = a->atoms[i];
    }
    *quotient = q;
    return j == b->n;
}

/* ---- polynomials ---- */

void poly_number(struct poly *p, wide v) {
    p->is_lost = false;
    p->n = v != 0;
    if (v) p->t[0] = (struct poly_term){.coefficient = v};
}

void poly_atom(struct poly *p, int atom) {
    p->is_lost = false;
    p->n = 1;
    p->t[0] = (struct poly_term){.coefficient = 1, .n = 1, .atoms = {(uint16_t)atom}};
}

void poly_copy(struct poly *to, const struct poly *from) {
    memcpy(to, from, offsetof(struct poly, t) + (size_t)from->n * sizeof *from->t);
}

void poly_add_term(struct poly *p, const struct poly_term *t, wide scale) {
    wide c;
    int at = 0, order = 1;
    if (p->is_lost || !wide_multiply(t->coefficient, scale, &c)) {
        p->is_lost = true;
        return;
    }
    while (at < p->n && (p->t[at].n < t->n || (order = compare_factors(&p->t[at], t)) < 0)) at++;
    if (at < p->n && order == 0) {
        p->t[at].coefficient += c;
        if (p->t[at].coefficient >> (WIDE_BITS - 1) != p->t[at].coefficient >> WIDE_BITS) p->is_lost = true;
        if (p->t[at].coefficient) return;
        p->n--;
        memmove(&p->t[at], &p->t[at + 1], (size_t)(p->n - at) * sizeof *p->t);
        return;
    }
    if (!c) return;
    if (p->n == POLY_TERMS) {
        p->is_lost = true;
        return;
    }
    memmove(&p->t[at + 1], &p->t[at], (size_t)(p->n - at) * sizeof *p->t);
    p->t[at] = *t;
    p->t[at].coefficient = c;
    p->n++;
}

void poly_add(struct poly *p, const struct poly *q, wide scale) {
    p->is_lost |= q->is_lost;
    for (int i = 0; i < q->n; i++) poly_add_term(p, &q->t[i], scale);
}

void poly_add_number(struct poly *p, wide v) { poly_add_term(p, &(struct poly_term){.coefficient = 1}, v); }

void poly_multiply(struct poly *p, const struct poly *a, const struct poly *b) {
    struct poly_term t;
    poly_number(p, 0);
    p->is_lost = a->is_lost || b->is_lost;
    for (int i = 0; i < a->n && !p->is_lost; i++)
        for (int j = 0; j < b->n; j++) {
            if (poly_term_multiply(&a->t[i], &b->t[j], &t)) poly_add_term(p, &t, 1);
            else p->is_lost = true;
        }
}

bool poly_has(const struct poly *p, int atom) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++)
            if (p->t[i].atoms[j] == atom) return true;
    return false;
}

void poly_extract(const struct poly *p, int atom, struct poly *factor, struct poly *rest) {
    struct poly_term x = {.coefficient = 1, .n = 1, .atoms = {(uint16_t)atom}}, quotient;
    poly_number(factor, 0);
    poly_number(rest, 0);
    factor->is_lost = rest->is_lost = p->is_lost;
    for (int i = 0; i < p->n; i++) {
        if (poly_term_divide(&p->t[i], &x, &quotient)) poly_add_term(factor, &quotient, 1);
        else poly_add_term(rest, &p->t[i], 1);
    }
}

void poly_substitute(struct poly *to, const struct poly *p, int atom, const struct poly *by) {
    struct poly_term x = {.coefficient = 1, .n = 1, .atoms = {(uint16_t)atom}}, next;
    struct poly part, product;
    poly_number(to, 0);
    to->is_lost = p->is_lost;
    for (int i = 0; i < p->n && !to->is_lost; i++) {
        struct poly_term t = p->t[i];
        int power = 0;
        for (; poly_term_divide(&t, &x, &next); power++) t = next;
        poly_number(&part, 0);
        poly_add_term(&part, &t, 1);
        for (; power; power--) {
            poly_multiply(&product, &part, by);
            poly_copy(&part, &product);
        }
        poly_add(to, &part, 1);
    }
}

void poly_divide(const struct poly *p, const struct poly_term *d, struct poly *whole, struct poly *rest) {
    struct poly_term quotient;
    poly_number(whole, 0);
    poly_number(rest, 0);
    whole->is_lost = rest->is_lost = p->is_lost;
    for (int i = 0; i < p->n; i++) {
        if (poly_term_divide(&p->t[i], d, &quotient)) poly_add_term(whole, &quotient, 1);
        else poly_add_term(rest, &p->t[i], 1);
    }
}

void poly_tighten(struct poly *p) {
    wide shared = 0;
    for (int i = 0; i < p->n && shared != 1; i++)
        if (p->t[i].n) shared = wide_gcd(shared, p->t[i].coefficient);
    if (shared <= 1 || p->is_lost) return;
    for (int i = 0; i < p->n; i++) p->t[i].coefficient = wide_floor_divide(p->t[i].coefficient, shared);
    if (p->t[0].coefficient) return;
    p->n--;
    memmove(p->t, p->t + 1, (size_t)p->n * sizeof *p->t);
}

bool poly_is_number(const struct poly *p, wide *v) {
    if (p->is_lost || p->n > 1 || (p->n == 1 && p->t[0].n)) return false;
    *v = p->n ? p->t[0].coefficient : 0;
    return true;
}

bool poly_equal(const struct poly *a, const struct poly *b) {
    if (a->is_lost || b->is_lost || a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (!poly_term_equal(&a->t[i], &b->t[i])) return false;
    return true;
}
