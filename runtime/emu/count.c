/* Counts requests of warps. In: every access of a launch. Out: for each place in the code the number of requests, and
 * what they take of shared and of global memory, with the least possible. Threads run one after another, so this file
 * assembles the lanes of a request: those of a warp at one place, in the same turn, that have reached the place the
 * same number of times in it. Invariant: a turn of a warp is counted once a later one begins, or the launch ends. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu/observer.h"

enum { BANKS = 32, SECTOR = 32, FIRST_ROOM = 64 };

struct count_request {
    unsigned lanes;       /* that take part, a bit each */
    unsigned n_bytes;
    uint64_t at[WARP];    /* in its memory */
};

struct visits { /* of a warp to a place, in this turn */
    unsigned n_of[WARP];
    struct count_request *requests; /* by number of the visit */
    unsigned n, room;
};

struct warp_count {
    unsigned block, turn;
    struct visits *places; /* by number of the place */
    int n_places;
};

struct count_place {
    const void *pc;
    struct emu_count count;
};

struct emu_counter {
    struct emu_observer observer;
    struct emu_seen_launch launch;
    unsigned n_warps;            /* of a block */
    struct warp_count *warps;    /* of the blocks that are alive */
    struct count_place *places;
    int n_places, room;
    int *slots; /* a hash table of places, -1 where there is none; a power of two of them, at least twice the places */
    int n_slots;
    struct emu_count *result;
    bool is_short;               /* of memory */
};

/* ---- what requests take ---- */

/* Passes of some lanes' words through the banks, which serve one word each a pass; of the same word all lanes are
 * served at once. */
static void count_pass(const struct count_request *r, unsigned lanes, uint64_t *n_taken, uint64_t *n_least) {
    unsigned n_of[BANKS] = {0}, most = 0, n_words = 0;
    uint64_t words[WARP * 4];
    for (unsigned left = lanes; left; left &= left - 1) {
        uint64_t at = r->at[__builtin_ctz(left)];
        for (uint64_t w = at / 4; w <= (at + r->n_bytes - 1) / 4; w++) {
            unsigned i = 0;
            while (i < n_words && words[i] != w) i++;
            if (i < n_words || n_words == sizeof words / sizeof *words) continue;
            words[n_words++] = w;
            if (++n_of[w % BANKS] > most) most = n_of[w % BANKS];
        }
    }
    *n_taken += most;
    *n_least += (n_words + BANKS - 1) / BANKS;
}

/* Lanes that access 8 bytes pass in halves of the warp, 16 bytes in quarters. */
static void count_shared(const struct count_request *r, struct emu_count *c) {
    unsigned each = r->n_bytes <= 4 ? 32 : r->n_bytes <= 8 ? 16 : 8, group = each == 32 ? ~0u : (1u << each) - 1;
    for (unsigned first = 0; first < WARP; first += each)
        if (r->lanes & group << first) count_pass(r, r->lanes & group << first, &c->n_taken, &c->n_least);
}

static void count_global(const struct count_request *r, struct emu_count *c) {
    uint64_t sectors[WARP * 4], at[WARP];
    unsigned n_sectors = 0, n_at = 0;
    for (unsigned left = r->lanes; left; left &= left - 1) {
        uint64_t a = r->at[__builtin_ctz(left)];
        unsigned i = n_at;
        while (i > 0 && at[i - 1] != a) i--;
        if (i > 0) continue;
        at[n_at++] = a;
        for (uint64_t s = a / SECTOR;
             s <= (a + r->n_bytes - 1) / SECTOR && n_sectors < sizeof sectors / sizeof *sectors; s++) {
            for (i = n_sectors; i > 0 && sectors[i - 1] != s;) i--;
            if (i == 0) sectors[n_sectors++] = s;
        }
    }
    c->n_taken += n_sectors;
    c->n_least += ((uint64_t)n_at * r->n_bytes + SECTOR - 1) / SECTOR;
}

static void count_turn(struct emu_counter *c, struct warp_count *w) {
    for (int p = 0; p < w->n_places; p++) {
        struct visits *v = &w->places[p];
        struct emu_count *count = &c->places[p].count;
        for (unsigned i = 0; i < v->n; i++) {
            if (count->is_shared) count_shared(&v->requests[i], count);
            else count_global(&v->requests[i], count);
        }
        count->n_requests += v->n;
        if (v->n) memset(v->n_of, 0, sizeof v->n_of);
        v->n = 0;
    }
}

/* ---- places ---- */

static unsigned hash(const struct emu_counter *c, const void *pc, bool is_shared, enum emu_access access) {
    return (unsigned)(((uintptr_t)pc * 8 + (unsigned)access * 2 + is_shared) * 0x9e3779b97f4a7c15u >> 33) &
           (unsigned)(c->n_slots - 1);
}

static bool grow(struct emu_counter *c) {
    int room = c->room ? 2 * c->room : FIRST_ROOM;
    struct count_place *places = realloc(c->places, (size_t)room * sizeof *places);
    if (places) c->places = places;
    int *slots = malloc(4 * (size_t)room * sizeof *slots);
    if (!places || !slots) return free(slots), false;
    free(c->slots);
    c->room = room, c->slots = slots, c->n_slots = 4 * room;
    for (int i = 0; i < c->n_slots; i++) slots[i] = -1;
    for (int i = 0; i < c->n_places; i++) {
        unsigned at = hash(c, places[i].pc, places[i].count.is_shared, places[i].count.access);
        while (slots[at] >= 0) at = (at + 1) & (unsigned)(c->n_slots - 1);
        slots[at] = i;
    }
    return true;
}

/* Its number, or -1 when out of memory. */
static int find_place(struct emu_counter *c, const struct emu_seen *s) {
    bool is_shared = s->memory == NULL;
    if (c->n_places == c->room && !grow(c)) return -1;
    unsigned at = hash(c, s->pc, is_shared, s->access);
    for (; c->slots[at] >= 0; at = (at + 1) & (unsigned)(c->n_slots - 1)) {
        const struct count_place *p = &c->places[c->slots[at]];
        if (p->pc == s->pc && p->count.is_shared == is_shared && p->count.access == s->access) return c->slots[at];
    }
    c->places[c->n_places] = (struct count_place){.pc = s->pc, .count = {.is_shared = is_shared, .access = s->access}};
    return c->slots[at] = c->n_places++;
}

static struct visits *find_visits(struct warp_count *w, int place) {
    if (place >= w->n_places) {
        struct visits *wider = realloc(w->places, (size_t)(place + 1) * sizeof *wider);
        if (!wider) return NULL;
        memset(wider + w->n_places, 0, (size_t)(place + 1 - w->n_places) * sizeof *wider);
        w->places = wider, w->n_places = place + 1;
    }
    return &w->places[place];
}

static struct count_request *find_request(struct visits *v, unsigned number) {
    if (number >= v->room) {
        unsigned room = v->room ? 2 * v->room : 4;
        struct count_request *wider = realloc(v->requests, room * sizeof *wider);
        if (!wider) return NULL;
        v->requests = wider, v->room = room;
    }
    if (number == v->n) v->requests[v->n++].lanes = 0;
    return &v->requests[number];
}

/* ---- the observer ---- */

static void free_warps(struct emu_counter *c) {
    for (unsigned i = 0; c->warps && i < c->launch.n_alive * c->n_warps; i++) {
        for (int p = 0; p < c->warps[i].n_places; p++) free(c->warps[i].places[p].requests);
        free(c->warps[i].places);
    }
    free(c->warps);
    c->warps = NULL;
}

static void on_begin(void *data, const struct emu_seen_launch *launch) {
    struct emu_counter *c = data;
    free_warps(c);
    c->launch = *launch;
    c->n_warps = (launch->n_threads + WARP - 1) / WARP;
    c->warps = calloc((size_t)launch->n_alive * c->n_warps, sizeof *c->warps);
    c->is_short = !c->warps;
    c->n_places = 0;
    for (int i = 0; i < c->n_slots; i++) c->slots[i] = -1;
}

static void on_access(void *data, const struct emu_seen *s) {
    struct emu_counter *c = data;
    int place = c->is_short ? -1 : find_place(c, s);
    struct warp_count *w = c->is_short ? NULL : &c->warps[s->block % c->launch.n_alive * c->n_warps + s->thread / WARP];
    unsigned lane = s->thread % WARP;
    if (w && (w->block != s->block || w->turn != s->turn)) {
        count_turn(c, w);
        w->block = s->block, w->turn = s->turn;
    }
    struct visits *v = place >= 0 ? find_visits(w, place) : NULL;
    struct count_request *r = v ? find_request(v, v->n_of[lane]++) : NULL;
    if (!r) {
        c->is_short = true;
        return;
    }
    r->lanes |= 1u << lane;
    r->n_bytes = s->n_bytes;
    r->at[lane] = s->offset;
}

static void on_end(void *data, bool is_fine) {
    struct emu_counter *c = data;
    (void)is_fine;
    for (unsigned i = 0; !c->is_short && i < c->launch.n_alive * c->n_warps; i++) count_turn(c, &c->warps[i]);
    free(c->result);
    size_t n = (size_t)c->n_places + 1;
    c->result = calloc(n, sizeof *c->result);
    struct emu_line *lines = calloc(n, sizeof *lines);
    const void **pcs = calloc(n, sizeof *pcs);
    c->is_short |= !c->result || !lines || !pcs;
    for (int i = 0; !c->is_short && i < c->n_places; i++) pcs[i] = c->places[i].pc;
    if (!c->is_short) emu_lines(pcs, c->n_places, lines);
    for (int i = 0; !c->is_short && i < c->n_places; i++) {
        c->result[i] = c->places[i].count;
        c->result[i].line = lines[i];
    }
    free(lines);
    free(pcs);
}

struct emu_counter *emu_counter_open(void) {
    struct emu_counter *c = calloc(1, sizeof *c);
    if (c) c->observer = (struct emu_observer){.data = c, .begin = on_begin, .access = on_access, .end = on_end};
    return c;
}

void emu_counter_close(struct emu_counter *c) {
    if (!c) return;
    free_warps(c);
    free(c->places);
    free(c->slots);
    free(c->result);
    free(c);
}

const struct emu_observer *emu_counter_observer(struct emu_counter *c) { return &c->observer; }

const struct emu_count *emu_counter_result(const struct emu_counter *c, int *n) {
    *n = c->is_short ? -1 : c->n_places;
    return c->result;
}
