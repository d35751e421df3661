/* Selects the text of compiler/kernels that a `.cu` needs.
 *
 * In: generated text. Out: the items that it names, and those that they name in turn, in the order of the files.
 *
 * An item goes from a line `// fx_a, fx_b: ..` to the next such line. If it defines a function several times, a
 * definition whose head names a dtype (`FX_DEVICE float fx_to_float(fx_bf16 x)`) is copied only if something else needs
 * that dtype. */
#include <string.h>

#include "base/names.h"
#include "emit/emit.h"

#define PIECE(name, title) extern const char fx_text_##name[], fx_text_##name##_end[];
#include "kernels/pieces.def"
#undef PIECE

enum { MAX_ITEM_NAMES = 8 };

struct definition {
    const char *text, *end;
    struct name name;   /* of the item's, the one that it defines; of no length where it is none of them */
    struct item *dtype; /* the one whose elements alone it serves; else NULL */
};

struct item {
    const char *text, *end; /* of the comment that names it and what stands before the first definition */
    struct name names[MAX_ITEM_NAMES];
    int n_names, file, n_definitions;
    struct definition *definitions;
    bool is_used;
};

struct items {
    struct arena *arena;
    struct names table; /* to struct item */
    struct item **all;
    int n;
};

/* Reads `// fx_a, fx_b: ` at s into the names it lists; 0 if s begins no item. */
static int item_names(const char *s, const char *end, struct name *names, int max) {
    int n = 0;
    if (end - s < 6 || memcmp(s, "// ", 3) != 0 || (memcmp(s + 3, "fx_", 3) != 0 && memcmp(s + 3, "FX_", 3) != 0))
        return 0;
    for (s += 3; s < end && n < max;) {
        const char *first = s;
        while (s < end && is_word_byte(*s)) s++;
        if (s == first) return 0;
        names[n++] = (struct name){first, (uint32_t)(s - first)};
        if (s < end && *s == ':') return n;
        if (end - s < 2 || memcmp(s, ", ", 2) != 0) return 0;
        s += 2;
    }
    return 0;
}

/* The next word from *s on, comments apart; of no length at the end. */
static struct name next_word(const char **s, const char *end) {
    while (*s < end && !is_word_byte(**s)) {
        bool is_comment = end - *s > 1 && (*s)[0] == '/' && (*s)[1] == '/';
        const char *line = is_comment ? memchr(*s, '\n', (size_t)(end - *s)) : NULL;
        *s = line ? line : is_comment ? end : *s + 1;
    }
    const char *first = *s;
    while (*s < end && is_word_byte(**s)) ++*s;
    return (struct name){first, (uint32_t)(*s - first)};
}

/* Whether a definition ends with this line. */
static bool is_last_line(const char *line, const char *next) {
    while (next > line && next[-1] == '\n') next--;
    return next > line && *line != ' ' && *line != '#' && memcmp(line, "//", 2) != 0 && strchr("};", next[-1]);
}

static void split_file(struct items *all, const char *s, const char *end, int file) {
    struct item *open = NULL;
    bool is_between = false; /* definitions */
    for (const char *line = s, *next; line < end; line = next) {
        const char *last = memchr(line, '\n', (size_t)(end - line));
        struct name names[MAX_ITEM_NAMES];
        int n_names = item_names(line, end, names, MAX_ITEM_NAMES);
        next = last ? last + 1 : end;
        if (n_names) {
            open = PUSH(all->arena, all->all, all->n) = NEW(all->arena, struct item);
            *open = (struct item){.text = line, .end = next, .n_names = n_names, .file = file};
            memcpy(open->names, names, sizeof names);
            for (int i = 0; i < n_names; i++) names_put(&all->table, all->arena, names[i], open);
            is_between = true;
        }
        if (!open || n_names) continue;
        bool is_comment = line[0] == '/' && !open->n_definitions;
        if (*line == '\n' && is_between) continue; /* it stands before whatever is next */
        if (is_between && !is_comment)
            PUSH(all->arena, open->definitions, open->n_definitions) = (struct definition){.text = line};
        if (!open->n_definitions) open->end = next;
        else open->definitions[open->n_definitions - 1].end = next;
        is_between = is_comment || is_last_line(line, next);
    }
}

static bool is_dtype(const struct item *item) {
    for (int t = 0; t < FX_N_DTYPES; t++)
        if (item->n_names == 1 && name_is(item->names[0], emit_ctype((enum fx_dtype)t))) return true;
    return false;
}

/* What a definition's head says: the name that it defines, the dtype that it names. */
static void read_head(struct items *all, const struct item *item, struct definition *d) {
    const char *s = d->text, *brace = memchr(s, '{', (size_t)(d->end - s)), *end = brace ? brace : d->end;
    for (struct name word; (word = next_word(&s, end)).len;) {
        for (int i = 0; i < item->n_names && !d->name.len; i++)
            if (name_eq(item->names[i], word)) d->name = word;
        struct item *named = names_get(&all->table, word);
        if (named && named != item && !d->dtype && is_dtype(named)) d->dtype = named;
    }
}

static void read_heads(struct items *all, struct item *item) {
    for (int i = 0; i < item->n_definitions; i++) read_head(all, item, &item->definitions[i]);
    for (int i = 0; i < item->n_definitions; i++) {
        struct definition *d = &item->definitions[i];
        bool is_one_of_several = false;
        for (int j = 0; j < item->n_definitions; j++)
            is_one_of_several |= j != i && d->name.len && name_eq(item->definitions[j].name, d->name);
        if (!is_one_of_several) d->dtype = NULL;
    }
}

static void use_text(struct items *all, const char *s, const char *end);

/* Takes what the definitions name that serve this dtype; NULL: that are for all. */
static void use_definitions(struct items *all, const struct item *item, const struct item *dtype) {
    for (int i = 0; i < item->n_definitions; i++)
        if (item->definitions[i].dtype == dtype) use_text(all, item->definitions[i].text, item->definitions[i].end);
}

static void use_item(struct items *all, struct item *item) {
    item->is_used = true;
    use_definitions(all, item, NULL);
    for (int i = 0; i < item->n_definitions; i++) {
        const struct item *dtype = item->definitions[i].dtype;
        if (dtype && dtype->is_used) use_text(all, item->definitions[i].text, item->definitions[i].end);
    }
    for (int i = 0; is_dtype(item) && i < all->n; i++)
        if (all->all[i]->is_used) use_definitions(all, all->all[i], item);
}

static void use_text(struct items *all, const char *s, const char *end) {
    for (struct name word; (word = next_word(&s, end)).len;) {
        struct item *item = names_get(&all->table, word);
        if (item && !item->is_used) use_item(all, item);
    }
}

/* Without the empty lines that end it. */
static void put_text(struct buf *out, const char *s, const char *end) {
    while (end > s && end[-1] == '\n') end--;
    buf_put(out, s, (size_t)(end - s));
    buf_putc(out, '\n');
}

static void put_item(struct buf *out, const struct item *item) {
    put_text(out, item->text, item->end);
    for (int i = 0; i < item->n_definitions; i++) {
        const struct definition *d = &item->definitions[i];
        if (d->dtype && !d->dtype->is_used) continue;
        if (i > 0 && d->text[-1] == '\n' && d->text[-2] == '\n') buf_putc(out, '\n');
        put_text(out, d->text, d->end);
    }
    buf_putc(out, '\n');
}

void emit_pieces(struct buf *out, const char *generated, size_t len) {
    static const struct {
        const char *title, *text, *end;
    } files[] = {
#define PIECE(name, title) {title, fx_text_##name, fx_text_##name##_end},
#include "kernels/pieces.def"
#undef PIECE
    };
    enum { N_FILES = sizeof files / sizeof *files, N_HARDWARE = 2 };
    struct items all = {.arena = out->arena};
    for (int f = 0; f < N_FILES; f++) split_file(&all, files[f].text, files[f].end, f);
    for (int i = 0; i < all.n; i++) read_heads(&all, all.all[i]);
    use_text(&all, generated, generated + len);
    const char *title = "";
    for (int f = 0; f < N_FILES; f++) {
        bool any = false;
        for (int i = 0; i < all.n; i++) {
            if (all.all[i]->file != f || !all.all[i]->is_used) continue;
            if (strcmp(title, files[f].title) != 0)
                buf_printf(out, "// ---- %s ----\n%s\n", files[f].title, f < N_HARDWARE ? "#ifndef FX_PTX\n" : "");
            title = files[f].title;
            any = true;
            put_item(out, all.all[i]);
        }
        if (any && f < N_HARDWARE) buf_puts(out, "#endif  // FX_PTX\n\n");
    }
}
