/* Reads the resources of an entry from a cubin. In: any bytes, the name of an entry. Out: registers, local memory,
 * static shared memory, threads per block.
 *
 * A cubin is a 64-bit little-endian ELF file of machine EM_CUDA. Its section .nv.info holds attributes of all entries,
 * each with the number of a symbol; .nv.info.ENTRY holds those of one entry. The size of .nv.shared.ENTRY is the
 * entry's static shared memory plus what the system reserves in each block. Invariant: nothing outside the image is
 * read, whatever it contains, and no byte is read more than a fixed number of times. */
#include <elf.h>
#include <string.h>

#include "lib/runtime.h"

enum {
    MACHINE_CUDA = 190,
    SYSTEM_SHARED = 1024, /* of .nv.shared.ENTRY, where there is a section .nv.shared.reserved.0 */
    /* attributes: u8 form, u8 number, u16 size or value; of the one form that has a size, as many bytes follow */
    FORM_SIZED = 4,
    ATTRIBUTE_MAX_THREADS = 0x05, /* of an entry: u32 x, y, z */
    ATTRIBUTE_FRAME = 0x11,       /* of all: u32 symbol, u32 bytes of its own */
    ATTRIBUTE_STACK = 0x12,       /* likewise, with what it calls */
    ATTRIBUTE_REGISTERS = 0x2f,   /* of all: u32 symbol, u32 registers */
    DEFAULT_THREADS = 1024,
};

struct elf_image {
    const unsigned char *bytes;
    size_t n_bytes;
    Elf64_Ehdr header;
    const unsigned char *names; /* of sections; NUL-terminated within n_names */
    size_t n_names;
};

struct image_part { /* of the image */
    const unsigned char *bytes;
    size_t n_bytes;
};

/* n bytes from `at`, or NULL where the image does not have them. */
static const unsigned char *bytes_at(const struct elf_image *i, uint64_t at, uint64_t n) {
    return at <= i->n_bytes && n <= i->n_bytes - at ? i->bytes + at : NULL;
}

static uint32_t word_at(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Whether the text at p, of which `most` bytes may be read, is `a` followed by `b`. */
static bool is_text(const unsigned char *p, size_t most, const char *a, const char *b) {
    size_t n_a = strlen(a), n_b = strlen(b);
    return n_a + n_b < most && memcmp(p, a, n_a) == 0 && memcmp(p + n_a, b, n_b + 1) == 0;
}

static bool section_at(const struct elf_image *i, int number, Elf64_Shdr *out) {
    const unsigned char *p = bytes_at(i, i->header.e_shoff + (uint64_t)number * sizeof *out, sizeof *out);
    if (p) memcpy(out, p, sizeof *out);
    return p != NULL;
}

/* The section of that name; *out its bytes, of which one without any in the file has none. */
static bool find_section(
    const struct elf_image *i, const char *a, const char *b, Elf64_Shdr *header, struct image_part *out) {
    for (int n = 0; n < i->header.e_shnum; n++) {
        if (!section_at(i, n, header)) return false;
        if (header->sh_name >= i->n_names || !is_text(i->names + header->sh_name, i->n_names - header->sh_name, a, b))
            continue;
        *out = (struct image_part){NULL, 0};
        if (header->sh_type == SHT_NOBITS) return true;
        *out = (struct image_part){bytes_at(i, header->sh_offset, header->sh_size), header->sh_size};
        return out->bytes != NULL;
    }
    return false;
}

static bool open_image(struct elf_image *i, const void *image, size_t n_bytes) {
    Elf64_Shdr names;
    *i = (struct elf_image){.bytes = image, .n_bytes = n_bytes};
    if (n_bytes < sizeof i->header) return false;
    memcpy(&i->header, image, sizeof i->header);
    const unsigned char *id = i->header.e_ident;
    if (memcmp(id, ELFMAG, SELFMAG) != 0 || id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB ||
        i->header.e_machine != MACHINE_CUDA)
        return false;
    if (i->header.e_shentsize != sizeof names || i->header.e_shoff > n_bytes ||
        !section_at(i, i->header.e_shstrndx, &names))
        return false;
    i->names = bytes_at(i, names.sh_offset, names.sh_size);
    i->n_names = names.sh_size;
    return i->names && names.sh_type != SHT_NOBITS;
}

/* The number of the symbol that is the entry, or -1. */
static int64_t find_symbol(const struct elf_image *i, const char *entry) {
    Elf64_Shdr symbols, strings;
    struct image_part table, names;
    if (!find_section(i, ".symtab", "", &symbols, &table) || !find_section(i, ".strtab", "", &strings, &names))
        return -1;
    for (size_t n = 0; (n + 1) * sizeof(Elf64_Sym) <= table.n_bytes; n++) {
        Elf64_Sym s;
        memcpy(&s, table.bytes + n * sizeof s, sizeof s);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_name >= names.n_bytes) continue;
        if (is_text(names.bytes + s.st_name, names.n_bytes - s.st_name, entry, "")) return (int64_t)n;
    }
    return -1;
}

struct attribute {
    int number;
    struct image_part value;
};

/* Takes the next attribute off `rest`; false at the end, or where what is left is none. */
static bool next_attribute(struct image_part *rest, struct attribute *out) {
    if (rest->n_bytes < 4) return false;
    size_t size = rest->bytes[0] == FORM_SIZED ? rest->bytes[2] | (size_t)rest->bytes[3] << 8 : 0;
    if (size > rest->n_bytes - 4) return false;
    *out = (struct attribute){rest->bytes[1], {rest->bytes + 4, size}};
    rest->bytes += 4 + size;
    rest->n_bytes -= 4 + size;
    return true;
}

/* The second word of the attribute of all entries that is about `symbol`; -1 where none is. */
static int64_t attribute_of(struct image_part info, int number, int64_t symbol) {
    struct attribute a;
    while (next_attribute(&info, &a))
        if (a.number == number && a.value.n_bytes >= 8 && word_at(a.value.bytes) == symbol)
            return word_at(a.value.bytes + 4);
    return -1;
}

static int max_threads_of(struct image_part info) {
    struct attribute a;
    uint64_t n = DEFAULT_THREADS;
    while (next_attribute(&info, &a))
        if (a.number == ATTRIBUTE_MAX_THREADS && a.value.n_bytes >= 12)
            n = (uint64_t)(word_at(a.value.bytes) & 0xffff) * (word_at(a.value.bytes + 4) & 0xffff) *
                (word_at(a.value.bytes + 8) & 0xffff);
    return n < DEFAULT_THREADS ? (int)n : DEFAULT_THREADS;
}

static int shared_of(const struct elf_image *i, const char *entry) {
    Elf64_Shdr own, reserved;
    struct image_part bytes;
    if (!find_section(i, ".nv.shared.", entry, &own, &bytes) || own.sh_size > INT32_MAX) return 0;
    bool has_system = find_section(i, ".nv.shared.reserved.0", "", &reserved, &bytes);
    return (int)own.sh_size - (has_system && own.sh_size >= SYSTEM_SHARED ? SYSTEM_SHARED : 0);
}

fx_status fx_cubin_resources(const void *image, size_t n_bytes, const char *entry, struct fx_resources *out) {
    struct elf_image i;
    Elf64_Shdr header;
    struct image_part all, own;
    if (!out) return error_null("the place for resources");
    *out = (struct fx_resources){0};
    if (!image || !entry) return error_null(!image ? "the cubin" : "the name of the entry");
    if (!open_image(&i, image, n_bytes)) return error_set(FX_ERR_USAGE, "these %zu bytes are no cubin", n_bytes);
    int64_t symbol = find_symbol(&i, entry);
    if (symbol < 0 || !find_section(&i, ".nv.info", "", &header, &all))
        return error_set(FX_ERR_USAGE, "the cubin has no entry %s", entry);
    int64_t registers = attribute_of(all, ATTRIBUTE_REGISTERS, symbol);
    int64_t frame = attribute_of(all, ATTRIBUTE_FRAME, symbol), stack = attribute_of(all, ATTRIBUTE_STACK, symbol);
    int64_t local = frame > stack ? frame : stack;
    if (registers < 1 || registers > 255 || local < 0 || local > INT32_MAX)
        return error_set(FX_ERR_USAGE, "the cubin does not say what its entry %s takes", entry);
    if (!find_section(&i, ".nv.info.", entry, &header, &own)) own = (struct image_part){NULL, 0};
    *out = (struct fx_resources){(int)registers, (int)local, shared_of(&i, entry), max_threads_of(own)};
    return FX_OK;
}
