/* What pages of HTML are put together from: text, amounts, bars, points below the roof of memory. They need nothing
 * outside of themselves, and are light or dark as the reader's system is. */
#ifndef PAGE_H
#define PAGE_H

#include "base/json_read.h"

/* All up to what stands below the title. */
void page_open(struct buf *b, const char *title);
void page_put(struct buf *b, const char *text); /* escaped */
double page_number(const struct json_node *v, const char *key); /* 0 where there is none */
void page_amount(struct buf *b, double x, const char *unit); /* 1.5 MB */
void page_time(struct buf *b, double us);
/* A share, as a number behind what stands before it, and as a bar below. */
void page_bar(struct buf *b, const char *kind, double share);

struct page_point {
    double bytes, flops, us;
};
/* launches: of a receipt, which say what bandwidth is counted with. Points are numbered from 1. */
void page_roof(struct buf *b, const struct json_node *launches, const struct page_point *points, int n);

#endif
