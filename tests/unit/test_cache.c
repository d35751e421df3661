/* The disk cache: its digest, its files, its folder, and fx_prepare through it over the stand-ins for driver and NVRTC.
 * Every test has a process and a folder of its own. What a file must hold is read here by other code than that which
 * wrote it. */
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cache.h"
#include "fx_runtime.h"
#include "suite.h"

#ifndef FX_TEST_DIR
#define FX_TEST_DIR "build/tests"
#endif

enum { SOMEBODY = 65534, HEADER = 68, PATH_ROOM = PATH_MAX + 512 };

static char folder[64];     /* the test's own; the cache is `cache` in it */
static char cache_path[96];

/* Not below the build: another user must get there. */
static void make_folder(void) {
    unsetenv("FX_CACHE");
    unsetenv("FX_CACHE_MAX_BYTES");
    snprintf(folder, sizeof folder, "/tmp/fx-test-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    setenv("FX_CACHE_DIR", cache_path, 1);
}

static void remove_folder(void) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", folder, folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- files of the folder, seen by this program ---- */

static unsigned char *read_file(const char *path, size_t *n) {
    struct stat s;
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(fstat(fileno(f), &s), 0);
    *n = (size_t)s.st_size;
    unsigned char *bytes = malloc(*n + 1);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static bool is_there(const char *path) {
    struct stat s;
    return stat(path, &s) == 0;
}

/* Files whose names end, or begin, like this. */
static int count_files(const char *prefix, const char *suffix) {
    int n = 0;
    DIR *all = opendir(cache_path);
    for (const struct dirent *d; all && (d = readdir(all));) {
        size_t len = strlen(d->d_name);
        n += !strncmp(d->d_name, prefix, strlen(prefix)) && len >= strlen(suffix) &&
             !strcmp(d->d_name + len - strlen(suffix), suffix);
    }
    if (all) closedir(all);
    return n;
}
static int n_entries(void) { return count_files("", ".cubin"); }
static int n_temporaries(void) { return count_files(".new-", ""); }

static void hex_digest(const void *bytes, size_t n, char hex[65]) {
    unsigned char out[DIGEST_BYTES];
    struct digest d;
    digest_begin(&d);
    digest_add(&d, bytes, n);
    digest_end(&d, out);
    for (int i = 0; i < DIGEST_BYTES; i++) sprintf(hex + 2 * i, "%02x", out[i]);
}

static uint64_t number(const unsigned char *at, int n) { return n ? *at | number(at + 1, n - 1) << 8 : 0; }

/* Whether a file is an entry as cache_entry.c describes it. */
static bool is_whole(const char *name) {
    char path[PATH_ROOM], hex[65];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", cache_path, name);
    unsigned char *file = read_file(path, &n);
    bool good = n >= HEADER + 32 && !memcmp(file, "fxcubin\n", 8) &&
                HEADER + number(file + 20, 8) + number(file + 28, 8) + 32 == n;
    if (good) hex_digest(file, n - 32, hex);
    for (int i = 0; good && i < 32; i++) {
        char key[3], end[3];
        snprintf(key, sizeof key, "%02x", file[HEADER - 32 + i]);
        snprintf(end, sizeof end, "%02x", file[n - 32 + (size_t)i]);
        good = !memcmp(key, name + 2 * i, 2) && !memcmp(end, hex + 2 * i, 2);
    }
    free(file);
    return good;
}

/* Their number, of which every one must be whole. */
static int n_whole(void) {
    int n = 0;
    DIR *all = opendir(cache_path);
    ck_assert_ptr_nonnull(all);
    for (const struct dirent *d; (d = readdir(all));) {
        if (!strstr(d->d_name, ".cubin")) continue;
        ck_assert_msg(is_whole(d->d_name), "%s is damaged", d->d_name);
        n++;
    }
    closedir(all);
    return n;
}

/* The path of the only entry. */
static void only_entry(char path[PATH_ROOM]) {
    DIR *all = opendir(cache_path);
    int n = 0;
    for (const struct dirent *d; (d = readdir(all));) {
        if (!strstr(d->d_name, ".cubin")) continue;
        snprintf(path, PATH_ROOM, "%s/%s", cache_path, d->d_name);
        n++;
    }
    closedir(all);
    ck_assert_int_eq(n, 1);
}

/* ---- entries ---- */

static const char *const options[] = {"--gpu-architecture=sm_90a", "-DFX_ONLY=3"};
static const struct cache_key key = {.source = "source",
    .file = "f.cu",
    .arch = "sm_90a",
    .options = options,
    .n_options = 2,
    .library = "build id 1",
    .build = "0.1.0 x"};
static const char image[] = "an image\0with zeros\0";
static const struct cache_entry entry = {13, 0, (void *)image, sizeof image, (char *)"a log"};

static void put(const struct cache_key *k, const struct cache_entry *e) {
    struct cache c;
    cache_open(&c, true);
    cache_put(&c, k, e);
    cache_close(&c);
}

/* Whether there is an entry; what it holds must be `e`. */
static bool get(const struct cache_key *k, const struct cache_entry *e) {
    struct cache c;
    struct cache_entry found;
    cache_open(&c, false);
    bool is_hit = cache_get(&c, k, &found);
    cache_close(&c);
    if (!is_hit) return false;
    ck_assert_uint_eq(found.n_bytes, e->n_bytes);
    ck_assert_mem_eq(found.image, e->image, e->n_bytes);
    ck_assert_int_eq(((char *)found.image)[found.n_bytes], 0);
    ck_assert_str_eq(found.log, e->log);
    ck_assert_int_eq(found.major, e->major);
    ck_assert_int_eq(found.minor, e->minor);
    free(found.image);
    free(found.log);
    return true;
}

/* ---- the digest ---- */

static const struct {
    const char *message;
    int times;
    const char *digest;
} vectors[] = {{"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 25000,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};

START_TEST(digests_are_the_standards) {
    unsigned char out[DIGEST_BYTES];
    char hex[65];
    struct digest d;
    digest_begin(&d);
    for (int i = 0; i < vectors[_i].times; i++) digest_add(&d, vectors[_i].message, strlen(vectors[_i].message));
    digest_end(&d, out);
    for (int i = 0; i < DIGEST_BYTES; i++) sprintf(hex + 2 * i, "%02x", out[i]);
    ck_assert_str_eq(hex, vectors[_i].digest);
}
END_TEST

START_TEST(digests_do_not_depend_on_pieces) {
    unsigned char text[200], whole[DIGEST_BYTES], parts[DIGEST_BYTES];
    for (int i = 0; i < 200; i++) text[i] = (unsigned char)(i * 7);
    for (size_t n = 0; n <= sizeof text; n++)
        for (size_t cut = 0; cut <= n; cut++) {
            struct digest d;
            digest_begin(&d);
            digest_add(&d, text, n);
            digest_end(&d, whole);
            digest_begin(&d);
            digest_add(&d, text, cut);
            for (size_t i = cut; i < n && i < cut + 70; i++) digest_add(&d, text + i, 1);
            if (n > cut + 70) digest_add(&d, text + cut + 70, n - cut - 70);
            digest_end(&d, parts);
            ck_assert_mem_eq(whole, parts, DIGEST_BYTES);
        }
}
END_TEST

/* Another program's opinion, on every length around a block. */
START_TEST(digests_are_sha256sums) {
    char path[PATH_ROOM], command[PATH_ROOM + 32], hex[65], theirs[65] = "";
    unsigned char text[300];
    make_folder();
    snprintf(path, sizeof path, "%s/text", folder);
    snprintf(command, sizeof command, "sha256sum <%s", path);
    for (size_t n = 0; n < sizeof text; n += n < 50 || n > 135 ? 17 : 1) {
        for (size_t i = 0; i < n; i++) text[i] = (unsigned char)(i * i + n);
        write_file(path, text, n);
        FILE *sum = popen(command, "r");
        ck_assert_int_eq(fscanf(sum, "%64s", theirs), 1);
        pclose(sum);
        hex_digest(text, n, hex);
        ck_assert_str_eq(hex, theirs);
    }
    remove_folder();
}
END_TEST

/* Whatever was in its memory. */
START_TEST(opening_fills_all) {
    struct cache c;
    make_folder();
    for (int is_there = 0; is_there < 2; is_there++) {
        memset(&c, 'x', sizeof c);
        cache_open(&c, false);
        ck_assert_str_eq(c.path, cache_path);
        ck_assert_str_eq(c.why_not, is_there ? "" : "not there yet");
        ck_assert(is_there ? c.folder >= 0 : c.folder == -1);
        cache_close(&c);
        if (!is_there) put(&key, &entry);
    }
    memset(&c, 'x', sizeof c);
    setenv("FX_CACHE", "off", 1);
    cache_open(&c, true);
    ck_assert(c.folder == -1 && !*c.path && !*c.library && !c.major && !c.minor);
    remove_folder();
}
END_TEST

/* ---- one file an entry ---- */

START_TEST(keeps_an_entry) {
    char path[PATH_ROOM];
    struct stat s;
    make_folder();
    ck_assert(!get(&key, &entry));
    ck_assert(!is_there(cache_path));
    put(&key, &entry);
    ck_assert(get(&key, &entry));
    ck_assert_int_eq(n_whole(), 1);
    ck_assert_int_eq(n_temporaries(), 0);
    only_entry(path);
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_int_eq(s.st_mode & 07777, 0600);
    ck_assert_int_eq(stat(cache_path, &s), 0);
    ck_assert_int_eq(s.st_mode & 07777, 0700);
    const struct cache_entry empty = {12, 9, (void *)"", 0, (char *)""};
    put(&key, &empty); /* replaces */
    ck_assert(get(&key, &empty));
    ck_assert_int_eq(n_whole(), 1);
    remove_folder();
}
END_TEST

/* Everything an image depends on is part of the key, and where one field ends and the next begins too. */
START_TEST(every_field_counts) {
    const char *const other[] = {"--gpu-architecture=sm_90a", "-DFX_ONLY=4"}, *const more[] = {
                                                                                  options[0], options[1], "-lineinfo"};
    static const char *const joined[] = {"--gpu-architecture=sm_90a\noption\n-DFX_ONLY=3"};
    static const char *const joined_again[] = {"--gpu-architecture=sm_90a\noption 11\n-DFX_ONLY=3"};
    struct cache_key keys[] = {key, key, key, key, key, key, key, key, key, key, key};
    enum { N = sizeof keys / sizeof *keys };
    keys[1].source = "sourcf", keys[2].file = "g.cu", keys[3].arch = "sm_90", keys[4].library = "build id 2",
    keys[5].build = "0.1.1 x";
    keys[6].options = other, keys[7].options = more, keys[7].n_options = 3, keys[8].n_options = 1;
    keys[9].options = joined, keys[9].n_options = 1, keys[10].options = joined_again, keys[10].n_options = 1;
    make_folder();
    for (int i = 0; i < N; i++) {
        for (int j = i; j < N; j++) ck_assert_msg(!get(&keys[j], &entry), "key %d is taken for another", j);
        put(&keys[i], &entry);
    }
    for (int i = 0; i < N; i++) ck_assert(get(&keys[i], &entry));
    ck_assert_int_eq(n_whole(), N);
    remove_folder();
}
END_TEST

/* A name alone proves nothing: the key within is compared. */
START_TEST(a_file_under_another_name_is_no_entry) {
    char path[PATH_ROOM], other[PATH_ROOM];
    struct cache_key second = key;
    size_t n;
    make_folder();
    put(&key, &entry);
    only_entry(path);
    unsigned char *bytes = read_file(path, &n);
    unlink(path);
    second.source = "another";
    put(&second, &entry);
    only_entry(other);
    write_file(other, bytes, n);
    ck_assert(!get(&second, &entry));
    ck_assert(!is_there(other));
    free(bytes);
    remove_folder();
}
END_TEST

/* Each damaged file is a miss and goes; with its bytes as they were it is a hit, so the damage was what counted. */
static void damage(
    const char *path, const unsigned char *file, size_t n, const unsigned char *damaged, size_t n_damaged) {
    write_file(path, damaged, n_damaged);
    ck_assert(!get(&key, &entry));
    ck_assert(!is_there(path));
    write_file(path, file, n);
    ck_assert(get(&key, &entry));
}

START_TEST(every_flip_is_a_miss) {
    char path[PATH_ROOM];
    size_t n;
    make_folder();
    put(&key, &entry);
    only_entry(path);
    unsigned char *file = read_file(path, &n), *damaged = malloc(n);
    memcpy(damaged, file, n);
    for (size_t i = 0; i < n; i++) {
        static const unsigned char flips[] = {0x01, 0x80, 0xff};
        for (size_t f = 0; f < sizeof flips; f++) {
            damaged[i] = file[i] ^ flips[f];
            damage(path, file, n, damaged, n);
        }
        damaged[i] = file[i];
    }
    free(file);
    free(damaged);
    remove_folder();
}
END_TEST

START_TEST(every_truncation_is_a_miss) {
    char path[PATH_ROOM];
    size_t n;
    make_folder();
    put(&key, &entry);
    only_entry(path);
    unsigned char *file = read_file(path, &n), *longer = calloc(1, 2 * n);
    for (size_t i = 0; i < n; i++) damage(path, file, n, file, i);
    memcpy(longer, file, n);
    damage(path, file, n, longer, n + 1);
    memcpy(longer + n, file, n);
    damage(path, file, n, longer, 2 * n);
    free(file);
    free(longer);
    remove_folder();
}
END_TEST

static void sign(unsigned char *file, size_t n) {
    struct digest d;
    digest_begin(&d);
    digest_add(&d, file, n - 32);
    digest_end(&d, file + n - 32);
}

/* A header that lies, or is of another format, under a digest that is right. */
START_TEST(headers_are_not_believed) {
    char path[PATH_ROOM];
    size_t n;
    make_folder();
    put(&key, &entry);
    only_entry(path);
    unsigned char *file = read_file(path, &n), *damaged = malloc(n);
    for (int byte = 0; byte < HEADER; byte++) {
        if (byte >= 12 && byte < 20) continue; /* the version of NVRTC: any */
        for (int add = 1; add < 256; add += 127) {
            memcpy(damaged, file, n);
            damaged[byte] += (unsigned char)add;
            sign(damaged, n);
            damage(path, file, n, damaged, n);
        }
    }
    memcpy(damaged, file, n);
    damaged[28 + 7] += 128; /* two lengths whose sum is right again */
    damaged[36 + 7] += 128;
    sign(damaged, n);
    damage(path, file, n, damaged, n);
    free(file);
    free(damaged);
    remove_folder();
}
END_TEST

START_TEST(sizes_are_limited) {
    char path[PATH_ROOM];
    struct cache_entry huge = entry;
    make_folder();
    put(&key, &entry);
    only_entry(path);
    ck_assert_int_eq(truncate(path, (off_t)CACHE_ENTRY_MAX + 1), 0); /* a hole */
#ifndef __SANITIZE_ADDRESS__ /* which takes more than that for itself */
    const struct rlimit memory = {CACHE_ENTRY_MAX / 2, CACHE_ENTRY_MAX}; /* it is seen before it is read */
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &memory), 0);
#endif
    ck_assert(!get(&key, &entry));
    ck_assert(!is_there(path));
    huge.n_bytes = CACHE_ENTRY_MAX; /* not read: with the header it is too much */
    put(&key, &huge);
    ck_assert_int_eq(n_entries(), 0);
    remove_folder();
}
END_TEST

/* ---- what others may have put there ---- */

START_TEST(planted_files_are_ignored) {
    char path[PATH_ROOM], elsewhere[PATH_ROOM];
    static const mode_t modes[] = {0620, 0602, 0666, 0660};
    make_folder();
    put(&key, &entry);
    only_entry(path);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(chmod(path, modes[i]), 0);
        ck_assert_msg(!get(&key, &entry), "mode %o", modes[i]);
        ck_assert_int_eq(chmod(path, 0644), 0);
        ck_assert(get(&key, &entry));
    }
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    ck_assert_int_eq(rename(path, elsewhere), 0);
    ck_assert_int_eq(symlink(elsewhere, path), 0);
    ck_assert(!get(&key, &entry));
    const struct cache_entry other = {13, 0, (void *)"other", 5, (char *)""};
    put(&key, &other); /* takes the place of the link, not of what it leads to */
    ck_assert(get(&key, &other));
    unlink(path);
    ck_assert_int_eq(rename(elsewhere, path), 0);
    ck_assert(get(&key, &entry));
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(!get(&key, &entry)); /* and does not wait for a writer */
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(!get(&key, &entry));
    put(&key, &entry);
    ck_assert(!get(&key, &entry));
    ck_assert_int_eq(n_temporaries(), 0);
    remove_folder();
}
END_TEST

/* Why there is no cache. */
static const char *why_not(void) {
    static struct cache c;
    cache_open(&c, true);
    ck_assert_int_lt(c.folder, 0);
    cache_put(&c, &key, &entry);
    ck_assert(!cache_get(&c, &key, &(struct cache_entry){0}));
    cache_close(&c);
    return c.why_not;
}

START_TEST(foreign_folders_are_ignored) {
    char path[PATH_ROOM];
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    make_folder();
    put(&key, &entry);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(chmod(cache_path, modes[i]), 0);
        ck_assert_msg(strstr(why_not(), "others may write it: its mode is 7"), "%s", why_not());
    }
    ck_assert_int_eq(chmod(cache_path, 0755), 0);
    ck_assert(get(&key, &entry));
    snprintf(path, sizeof path, "%s/link", folder);
    ck_assert_int_eq(symlink(cache_path, path), 0);
    setenv("FX_CACHE_DIR", path, 1);
    ck_assert_str_eq(why_not(), "it is a link, or no folder");
    strcat(path, "//");
    setenv("FX_CACHE_DIR", path, 1);
    ck_assert_str_eq(why_not(), "it is a link, or no folder");
    snprintf(path, sizeof path, "%s/file", folder);
    write_file(path, (const unsigned char *)"", 0);
    setenv("FX_CACHE_DIR", path, 1);
    ck_assert_str_eq(why_not(), "it is a link, or no folder");
    strcat(path, "/below");
    setenv("FX_CACHE_DIR", path, 1);
    ck_assert_str_eq(why_not(), "it is a link, or no folder");
    remove_folder();
}
END_TEST

START_TEST(foreign_owners_are_ignored) {
    char path[PATH_ROOM], words[128];
    struct stat s = {.st_mode = S_IFREG | 0600, .st_uid = geteuid() + 1};
    ck_assert(!cache_trusts(&s, words, sizeof words));
    s.st_uid = geteuid();
    ck_assert(cache_trusts(&s, words, sizeof words));
    s.st_uid = 0;
    ck_assert(cache_trusts(&s, words, sizeof words));
    if (geteuid() != 0) SKIP_TEST("only root can give files away");
    make_folder();
    put(&key, &entry);
    only_entry(path);
    ck_assert_int_eq(chown(path, SOMEBODY, SOMEBODY), 0);
    ck_assert(!get(&key, &entry));
    ck_assert(is_there(path));
    put(&key, &entry);
    ck_assert(get(&key, &entry));
    ck_assert_int_eq(chown(cache_path, SOMEBODY, SOMEBODY), 0);
    ck_assert_str_eq(why_not(), "it belongs to user 65534");
    remove_folder();
}
END_TEST

/* ---- where it is ---- */

static void environment(const char *own, const char *xdg, const char *home) {
    static const char *const names[] = {"FX_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const char *values[] = {own, xdg, home};
    for (int i = 0; i < 3; i++) {
        if (values[i]) setenv(names[i], values[i], 1);
        else unsetenv(names[i]);
    }
}

static void expect_path(const char *fmt, const char *within) {
    char path[PATH_ROOM];
    struct cache c;
    snprintf(path, sizeof path, fmt, within);
    cache_open(&c, true);
    ck_assert_msg(c.folder >= 0, "%s: %s", c.path, c.why_not);
    ck_assert_str_eq(c.path, path);
    ck_assert(is_there(path));
    cache_close(&c);
}

START_TEST(the_environment_says_where) {
    char own[PATH_ROOM], xdg[PATH_ROOM], home[PATH_ROOM], text[PATH_ROOM];
    make_folder();
    snprintf(own, sizeof own, "%s/a/b/c/", folder);
    snprintf(xdg, sizeof xdg, "%s/xdg", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    environment(own, xdg, home);
    expect_path("%s/a/b/c", folder);
    environment(NULL, xdg, home);
    expect_path("%s/xdg/fx", folder);
    environment("", "relative", home);
    expect_path("%s/home/.cache/fx", folder);
    environment(NULL, "", "relative");
    ck_assert_str_eq(why_not(), "neither FX_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder");
    environment(NULL, NULL, NULL);
    fx_cache_describe(text, sizeof text);
    ck_assert_str_eq(text, "none (neither FX_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder)");
    environment(own, xdg, home);
    setenv("FX_CACHE", "off", 1);
    ck_assert_str_eq(why_not(), "FX_CACHE is off");
    unsetenv("FX_CACHE");
    memset(text, 'x', sizeof text - 1);
    text[0] = '/', text[sizeof text - 1] = 0;
    setenv("FX_CACHE_DIR", text, 1);
    ck_assert_str_eq(why_not(), "its path is too long");
    char longest[PATH_MAX + 1]; /* and its 0, one byte too long */
    memset(longest, 'x', PATH_MAX);
    longest[0] = '/', longest[PATH_MAX] = 0;
    setenv("FX_CACHE_DIR", longest, 1);
    ck_assert_str_eq(why_not(), "its path is too long");
    longest[PATH_MAX - 1] = 0;
    setenv("FX_CACHE_DIR", longest, 1);
    ck_assert_str_ne(why_not(), "its path is too long");
    setenv("FX_CACHE_DIR", "/proc/nowhere", 1); /* nothing can be made there */
    ck_assert_str_eq(why_not(), "not there yet");
    remove_folder();
}
END_TEST

START_TEST(people_are_told) {
    char text[PATH_ROOM], expected[256];
    make_folder();
    fx_cache_describe(text, sizeof text);
    snprintf(expected, sizeof expected, "none (%s: not there yet)", cache_path);
    ck_assert_str_eq(text, expected);
    put(&key, &entry);
    fx_cache_describe(text, sizeof text);
    snprintf(expected, sizeof expected, "%s, 1 entry, ", cache_path);
    ck_assert_msg(!strncmp(text, expected, strlen(expected)), "%s", text);
    ck_assert_ptr_nonnull(strstr(text, " of at most 1073741824"));
    remove_folder();
}
END_TEST

/* The program of this test again, as another user's: its environment is not to be listened to. */
START_TEST(raised_privileges_have_no_cache) {
    char path[128], command[512];
#ifdef FX_SHARED
    SKIP_TEST("where a shared library lies is not listened to either");
#endif
    if (geteuid() != 0) SKIP_TEST("only root can be another user");
    make_folder();
    ck_assert_int_eq(chmod(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/program", folder);
    snprintf(command, sizeof command, "cp /proc/%ld/exe %s && %s describe | grep -q '^none (.*/cache: not there yet)$'",
        (long)getpid(), path, path);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command,
        "chown 65534 %s && chmod 4755 %s && %s describe | grep -q '^none (neither FX_CACHE_DIR'", path, path, path);
    ck_assert_int_eq(system(command), 0);
    remove_folder();
}
END_TEST

/* ---- what cannot be written ---- */

/* Runs `act` as a user for whom modes count. */
static void as_somebody(void (*act)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 &&
            (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0))
            _exit(9);
        act();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static void try_read_only(void) {
    struct cache_key other = key;
    other.source = "another";
    put(&other, &entry);
    if (!get(&key, &entry)) _exit(1);
    if (get(&other, &entry)) _exit(2);
    if (n_temporaries() != 0) _exit(3);
}

static void try_unreadable(void) {
    put(&key, &entry);
    if (get(&key, &entry)) _exit(1);
}

START_TEST(a_folder_may_be_read_only) {
    char path[PATH_ROOM];
    make_folder();
    put(&key, &entry);
    only_entry(path);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    if (geteuid() == 0) ck_assert(!chown(cache_path, SOMEBODY, SOMEBODY) && !chown(path, SOMEBODY, SOMEBODY));
    ck_assert_int_eq(chmod(cache_path, 0500), 0);
    as_somebody(try_read_only);
    ck_assert_int_eq(chmod(path, 0), 0);
    as_somebody(try_unreadable);
    ck_assert_int_eq(chmod(cache_path, 0), 0);
    as_somebody(try_unreadable);
    remove_folder();
}
END_TEST

/* An installation's cache, filled by root: it is read. */
START_TEST(what_root_wrote_is_trusted) {
    char path[PATH_ROOM];
    if (geteuid() != 0) SKIP_TEST("only root can be another user");
    make_folder();
    put(&key, &entry);
    only_entry(path);
    ck_assert(!chmod(folder, 0755) && !chmod(cache_path, 0755) && !chmod(path, 0644));
    as_somebody(try_read_only);
    remove_folder();
}
END_TEST

START_TEST(a_limit_on_files_kills_nobody) {
    static char large[100000];
    const struct cache_entry e = {13, 0, large, sizeof large, (char *)""};
    struct rlimit limit = {50000, 50000};
    make_folder();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    put(&key, &e);
    ck_assert_int_eq(n_entries() + n_temporaries(), 0);
    put(&key, &entry);
    ck_assert(get(&key, &entry));
    remove_folder();
}
END_TEST

/* A file system of 64 KiB of this process's own, where that is allowed. */
START_TEST(a_full_disk_keeps_nothing) {
    static char large[20000];
    struct cache_entry e = {13, 0, large, sizeof large, (char *)""};
    struct cache_key k = key;
    char source[32];
    int n_kept = 0;
    make_folder();
    ck_assert_int_eq(mkdir(cache_path, 0700), 0);
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("fx", cache_path, "tmpfs", 0, "size=64k,mode=0700") == 0) {
        k.source = source;
        for (int i = 0; i < 10; i++) {
            snprintf(source, sizeof source, "source %d", i);
            put(&k, &e);
            int n = n_whole();
            n_kept += get(&k, &e);
            ck_assert_int_eq(n, n_kept);
            ck_assert_int_eq(n_temporaries(), 0);
        }
        ck_assert_int_gt(n_kept, 0);
        ck_assert_int_lt(n_kept, 10);
        ck_assert_int_eq(umount(cache_path), 0);
    }
    remove_folder();
}
END_TEST

START_TEST(a_folder_may_vanish) {
    struct cache c;
    make_folder();
    cache_open(&c, true);
    remove_folder();
    cache_put(&c, &key, &entry);
    ck_assert(!cache_get(&c, &key, &(struct cache_entry){0}));
    atomic_store(&c.has_grown, true);
    cache_close(&c);
}
END_TEST

/* ---- eviction ---- */

static void set_time(const char *path, time_t seconds) {
    const struct timespec times[] = {{seconds, 0}, {seconds, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void name_in(char path[PATH_ROOM], const char *name) { snprintf(path, PATH_ROOM, "%s/%s", cache_path, name); }

/* Ten entries of one size, the i-th last used i hours after the first. */
static void fill(int64_t *bytes_of_one) {
    struct cache_key k = key;
    char source[32], path[PATH_ROOM], before[10][PATH_ROOM];
    struct stat s;
    k.source = source;
    for (int i = 0; i < 10; i++) {
        snprintf(source, sizeof source, "source %d", i);
        put(&k, &entry);
        /* The new one is the one whose time is not in the past. */
        DIR *all = opendir(cache_path);
        for (const struct dirent *d; (d = readdir(all));) {
            if (!strstr(d->d_name, ".cubin")) continue;
            name_in(path, d->d_name);
            ck_assert_int_eq(stat(path, &s), 0);
            if (s.st_mtim.tv_sec > 1000000) strcpy(before[i], path);
        }
        closedir(all);
        set_time(before[i], 3600 * i);
        *bytes_of_one = s.st_size;
    }
    ck_assert_int_eq(n_entries(), 10);
}

static bool has(int i) {
    struct cache_key k = key;
    char source[32];
    snprintf(source, sizeof source, "source %d", i);
    k.source = source;
    return get(&k, &entry);
}

START_TEST(the_oldest_go_first) {
    char limit[32];
    int64_t bytes;
    make_folder();
    fill(&bytes);
    ck_assert(has(1)); /* used just now */
    snprintf(limit, sizeof limit, "%lld", (long long)bytes * 5 + 40);
    setenv("FX_CACHE_MAX_BYTES", limit, 1);
    ck_assert(has(0)); /* finding evicts nothing; it is the second to be used just now */
    ck_assert_int_eq(n_entries(), 10);
    put(&key, &entry);
    ck_assert_int_eq(n_whole(), 5);
    ck_assert(has(0) && has(1) && has(8) && has(9) && get(&key, &entry));
    static const char *const no_numbers[] = {"nonsense", "1x", "-1", "", "99999999999999999999"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        setenv("FX_CACHE_MAX_BYTES", no_numbers[i], 1);
        put(&key, &entry);
        ck_assert_int_eq(n_entries(), 5);
    }
    setenv("FX_CACHE_MAX_BYTES", "0", 1);
    put(&key, &entry);
    ck_assert_int_eq(n_entries(), 0);
    remove_folder();
}
END_TEST

START_TEST(one_evicts_at_a_time) {
    char path[PATH_ROOM];
    int64_t bytes;
    make_folder();
    fill(&bytes);
    setenv("FX_CACHE_MAX_BYTES", "1", 1);
    name_in(path, "lock");
    int lock = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(flock(lock, LOCK_EX), 0);
    put(&key, &entry); /* nor does it wait */
    ck_assert_int_eq(n_entries(), 11);
    close(lock);
    put(&key, &entry);
    ck_assert_int_eq(n_entries(), 0);
    remove_folder();
}
END_TEST

START_TEST(leftovers_go) {
    char old[PATH_ROOM], young[PATH_ROOM], note[PATH_ROOM];
    make_folder();
    put(&key, &entry);
    name_in(old, ".new-1-0123456789abcdef");
    name_in(young, ".new-2-0123456789abcdef");
    name_in(note, "README");
    write_file(old, (const unsigned char *)"x", 1);
    write_file(young, (const unsigned char *)"x", 1);
    write_file(note, (const unsigned char *)"x", 1);
    set_time(old, time(NULL) - 7200);
    set_time(note, 0);
    setenv("FX_CACHE_MAX_BYTES", "1", 1);
    put(&key, &entry);
    ck_assert(!is_there(old) && is_there(young) && is_there(note));
    ck_assert_int_eq(n_entries(), 0);
    remove_folder();
}
END_TEST

/* ---- many at once ---- */

static struct cache shared;
static void *put_many(void *first) {
    struct cache_key k = key;
    char source[32];
    k.source = source;
    for (int i = 0; i < 25; i++) {
        snprintf(source, sizeof source, "source %d", *(const int *)first + i);
        cache_put(&shared, &k, &entry);
    }
    return NULL;
}

START_TEST(threads_share_a_folder) {
    enum { N = 8 };
    pthread_t threads[N];
    int firsts[N];
    make_folder();
    cache_open(&shared, true);
    for (int i = 0; i < N; i++) {
        firsts[i] = 25 * i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_many, &firsts[i]), 0);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    cache_close(&shared);
    ck_assert_int_eq(n_whole(), 25 * N);
    ck_assert_int_eq(n_temporaries(), 0);
    remove_folder();
}
END_TEST

/* A writer that is killed leaves a whole file or none, whenever that is. */
START_TEST(killed_writers_leave_no_half) {
    static char large[3][50000];
    struct cache_key k = key;
    char source[32];
    int status, n_left = 0;
    make_folder();
    put(&key, &entry);
    k.source = source;
    for (int i = 0; i < 3; i++) memset(large[i], 'a' + i, sizeof large[i]);
    srand(7);
    for (int round = 0; round < 200; round++) {
        pid_t child = fork();
        for (int i = 0; child == 0; i++) {
            snprintf(source, sizeof source, "source %d", i % 37);
            put(&k, &(struct cache_entry){13, 0, large[i % 3], sizeof large[0] - (size_t)(i % 37), (char *)""});
        }
        usleep((useconds_t)(rand() % 8000));
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        n_left = n_whole();
    }
    ck_assert_int_gt(n_left, 1);
    ck_assert_int_gt(n_temporaries(), 0); /* some were hit in the middle, which is in nobody's way */
    put(&(struct cache_key){.source = "the next", .file = "", .arch = "", .library = "x", .build = ""}, &entry);
    ck_assert_int_eq(n_whole(), n_left + 1);
    remove_folder();
}
END_TEST

/* ---- through fx_prepare ---- */

#define EXPR(...)                                                                                          \
    {                                                                                                      \
        sizeof((const struct fx_term[]){__VA_ARGS__}) / sizeof(struct fx_term), (const struct fx_term[]) { \
            __VA_ARGS__                                                                                    \
        }                                                                                                  \
    }
static const struct fx_variant variants[] = {
    {.entry = "f_0", .number = 0, .grid = EXPR({FX_T_CONST, 1}), .block = 32},
    {.entry = "f_1", .number = 1, .grid = EXPR({FX_T_CONST, 1}), .block = 32}};
static const struct fx_launch launches[] = {{.name = "f", .n_variants = 2, .variants = variants}};
static const struct fx_launch single[] = {{.name = "f", .n_variants = 1, .variants = variants}};
static const struct fx_kernel f = {.name = "f", .n_launches = 1, .launches = launches},
                              g = {.name = "f", .n_launches = 1, .launches = single};

static const char *(*cuda_log)(void), *(*nvrtc_log)(void);
static void (*nvrtc_fail)(const char *name, int nth, int code),
    (*nvrtc_behave)(size_t log_bytes, unsigned microseconds, int major);
static void (*cuda_fail)(const char *name, int nth, int code);
static char fake_cuda[PATH_MAX], fake_nvrtc[PATH_MAX];

static void find(void *library, const char *name, void *slot) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(slot, &symbol, sizeof symbol);
}

static void find_fakes(void) {
    const char *fakes = getenv("FX_TEST_FAKES");
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/fake_cuda.so", fakes ? fakes : FX_TEST_DIR);
    ck_assert_msg(realpath(path, fake_cuda) != NULL, "%s is not there", path);
    snprintf(path, sizeof path, "%s/fake_nvrtc.so", fakes ? fakes : FX_TEST_DIR);
    ck_assert_msg(realpath(path, fake_nvrtc) != NULL, "%s is not there", path);
    setenv("FX_LIBCUDA", fake_cuda, 1);
    setenv("FX_LIBNVRTC", fake_nvrtc, 1);
}

/* In a child: the stand-ins are opened by this program first, so that it can ask them. */
static void open_fakes(const char *nvrtc_path) {
    void *library = dlopen(fake_cuda, RTLD_NOW | RTLD_LOCAL);
    find(library, "fake_cuda_log", &cuda_log);
    find(library, "fake_cuda_fail", &cuda_fail);
    library = dlopen(nvrtc_path, RTLD_NOW | RTLD_LOCAL);
    find(library, "fake_nvrtc_log", &nvrtc_log);
    find(library, "fake_nvrtc_fail", &nvrtc_fail);
    find(library, "fake_nvrtc_behave", &nvrtc_behave);
    if (!cuda_log || !cuda_fail || !nvrtc_log || !nvrtc_fail || !nvrtc_behave) _exit(99);
}

static int occurrences(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static struct fx_plan plan_of(const struct fx_kernel *k, const char *source) {
    return (struct fx_plan){
        .file = "f.fx", .arch = "sm_90a", .source = source, .source_len = strlen(source), .n_kernels = 1, .kernels = k};
}

/* What became of a prepare, packed into an exit status: 20 * (NVRTC was opened) + 10 * (both images were those of their
 * options) + entries compiled; 50 + status when it failed. */
enum { OPENED = 20, LOADED = 10, FAILED = 50 };
static int prepare(const char *source, const char *nvrtc_path) {
    fx_context *context;
    fx_prepared *p;
    open_fakes(nvrtc_path);
    struct fx_plan plan = plan_of(&f, source);
    fx_status status = fx_context_open(0, &context);
    if (status == FX_OK) status = fx_prepare(context, &plan, NULL, NULL, 0, &p);
    if (status != FX_OK) return FAILED + (int)status;
    bool is_loaded = strstr(cuda_log(), "cuModuleLoadData  --gpu-architecture=sm_90a") &&
                     occurrences(cuda_log(), "cuModuleLoadData") == 2;
    return (*nvrtc_log() ? OPENED : 0) + (is_loaded ? LOADED : 0) + occurrences(nvrtc_log(), "FX_ONLY");
}

/* The same in a process of its own, since libraries are looked for once a process. */
static int prepare_anew(const char *source, const char *nvrtc_path) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(prepare(source, nvrtc_path));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_hit_opens_no_nvrtc) {
    make_folder();
    find_fakes();
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 2);
    ck_assert_int_eq(n_whole(), 2);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), LOADED);
    ck_assert_int_eq(prepare_anew("another", fake_nvrtc), OPENED + LOADED + 2);
    ck_assert_int_eq(n_whole(), 4);
    setenv("FX_LINEINFO", "1", 1);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 2);
    unsetenv("FX_LINEINFO");
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), LOADED);
    setenv("FX_CACHE", "off", 1);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 2);
    unsetenv("FX_CACHE");
    ck_assert_int_eq(chmod(cache_path, 0777), 0);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 2);
    remove_folder();
}
END_TEST

/* What is damaged is compiled again, and is whole from then on. */
START_TEST(damage_is_mended) {
    char path[PATH_ROOM];
    make_folder();
    find_fakes();
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 2);
    DIR *all = opendir(cache_path);
    for (const struct dirent *d; (d = readdir(all));) {
        if (!strstr(d->d_name, ".cubin")) continue;
        name_in(path, d->d_name);
        ck_assert_int_eq(truncate(path, 100), 0);
        break;
    }
    closedir(all);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 1);
    ck_assert_int_eq(n_whole(), 2);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), LOADED);
    remove_folder();
}
END_TEST

START_TEST(failures_are_not_kept) {
    int status;
    make_folder();
    find_fakes();
    pid_t child = fork();
    if (child == 0) {
        open_fakes(fake_nvrtc);
        nvrtc_fail("nvrtcCompileProgram", 2, 6); /* after the line that is tried first */
        _exit(prepare("source", fake_nvrtc));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), FAILED + FX_ERR_TOOLCHAIN);
    ck_assert_int_eq(n_whole(), 1);
    ck_assert_int_eq(prepare_anew("source", fake_nvrtc), OPENED + LOADED + 1);
    remove_folder();
}
END_TEST

static void copy_file(const char *from, const char *to) {
    size_t n;
    unsigned char *bytes = read_file(from, &n);
    write_file(to, bytes, n);
    ck_assert_int_eq(chmod(to, 0755), 0);
    free(bytes);
}

/* A library that was changed, or whose builtins were, is another, whatever its name. */
START_TEST(another_library_is_another) {
    char own[PATH_ROOM], builtins[PATH_ROOM];
    make_folder();
    find_fakes();
    snprintf(own, sizeof own, "%s/libnvrtc.so.13", folder);
    snprintf(builtins, sizeof builtins, "%s/libnvrtc-builtins.so.13.0", folder);
    copy_file(fake_nvrtc, own);
    set_time(own, 1000);
    setenv("FX_LIBNVRTC", own, 1);
    ck_assert_int_eq(prepare_anew("source", own), OPENED + LOADED + 2);
    ck_assert_int_eq(prepare_anew("source", own), LOADED);
    set_time(own, 1001);
    ck_assert_int_eq(prepare_anew("source", own), OPENED + LOADED + 2);
    copy_file(fake_cuda, builtins);
    ck_assert_int_eq(prepare_anew("source", own), OPENED + LOADED + 2);
    ck_assert_int_eq(prepare_anew("source", own), LOADED);
    set_time(own, 1000);
    unlink(builtins);
    ck_assert_int_eq(prepare_anew("source", own), LOADED); /* the first again */
    ck_assert_int_eq(n_whole(), 6);
    remove_folder();
}
END_TEST

/* Where the first candidate does not work, the guess is wrong: what was compiled is kept as the work of the library
 * that did it. */
START_TEST(a_wrong_guess_costs_nothing_but_opening) {
    static const char *const folders[] = {"/lib64", "/targets", "/targets/x86_64-linux", "/targets/x86_64-linux/lib",
        "/targets/sbsa-linux", "/targets/sbsa-linux/lib"};
    static const int in[] = {0, 3, 5}; /* where a toolkit has its libraries */
    char lib[PATH_ROOM], own[PATH_ROOM];
    make_folder();
    find_fakes();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(lib, sizeof lib, "%s%s", folder, folders[i]);
        ck_assert_int_eq(mkdir(lib, 0755), 0);
    }
    snprintf(own, sizeof own, "%s%s/libnvrtc.so.13", folder, folders[in[_i]]);
    copy_file(fake_nvrtc, own);
    setenv("FX_LIBNVRTC", fake_cuda, 1);
    setenv("FX_CUDA_PATH", folder, 1);
    ck_assert_int_eq(prepare_anew("source", own), OPENED + LOADED + 2);
    ck_assert_int_eq(prepare_anew("source", own), OPENED + LOADED);
    setenv("FX_LIBNVRTC", own, 1);
    ck_assert_int_eq(prepare_anew("source", own), LOADED);
    remove_folder();
}
END_TEST

/* Where NVRTC is open its version is known, and must be that of the entry. */
START_TEST(versions_are_compared) {
    struct cache c;
    struct cache_entry found;
    make_folder();
    put(&key, &entry);
    cache_open(&c, false);
    c.major = 13, c.minor = 1;
    ck_assert(!cache_get(&c, &key, &found));
    c.major = 12, c.minor = 0;
    ck_assert(!cache_get(&c, &key, &found));
    c.major = 13;
    ck_assert(cache_get(&c, &key, &found));
    free(found.image);
    free(found.log);
    cache_close(&c);
    remove_folder();
}
END_TEST

/* The driver's refusal of a cubin from the cache is explained as that of a fresh one is. */
START_TEST(an_old_driver_is_named_on_a_hit) {
    int status;
    make_folder();
    find_fakes();
    for (int round = 0; round < 2; round++) {
        pid_t child = fork();
        if (child == 0) {
            open_fakes(fake_nvrtc);
            nvrtc_behave(0, 0, round ? 13 : 14);
            cuda_fail("cuModuleLoadData", 1, 222);
            int code = prepare("source", fake_nvrtc);
            if (!strstr(fx_last_error(), "NVRTC is of CUDA 14.0, the driver of 13.0 only")) code = 1;
            _exit(round && *nvrtc_log() ? 2 : code);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(WEXITSTATUS(status), FAILED + FX_ERR_GPU);
    }
    remove_folder();
}
END_TEST

/* Two versions of fx in one folder do not see each other's. */
START_TEST(versions_of_fx_share_a_folder) {
    struct cache_key old = key, young = key;
    const struct cache_entry other = {13, 0, (void *)"other", 5, (char *)""};
    make_folder();
    young.build = "0.2.0 x";
    for (int round = 0; round < 2; round++) {
        put(&old, &entry);
        put(&young, &other);
        ck_assert(get(&old, &entry) && get(&young, &other));
    }
    ck_assert_int_eq(n_whole(), 2);
    remove_folder();
}
END_TEST

enum { N_PROCESSES = 16, N_KERNELS = 200 };

/* Prepares every kernel, the first ones twice; the exit status is 0 unless one failed or was compiled
 * more than once. */
static int cold_start(int first) {
    fx_context *context;
    fx_prepared *p;
    open_fakes(fake_nvrtc);
    nvrtc_behave(0, 200, 13);
    if (fx_context_open(0, &context) != FX_OK) return 1;
    for (int i = 0; i < N_KERNELS + 5; i++) {
        char source[32];
        snprintf(source, sizeof source, "source %d", (first + i) % N_KERNELS);
        struct fx_plan plan = plan_of(&g, source);
        if (fx_prepare(context, &plan, NULL, NULL, 0, &p) != FX_OK) return 2;
        fx_prepared_release(p);
    }
    if (occurrences(nvrtc_log(), "FX_ONLY") > N_KERNELS) return 3;
    fx_context_close(context);
    return 0;
}

/* Nothing can be compiled any more: every kernel must come from the cache. */
static int warm_start(void) {
    fx_context *context;
    open_fakes(fake_nvrtc);
    nvrtc_fail("nvrtcVersion", 1, 11);
    if (fx_context_open(0, &context) != FX_OK) return 1;
    for (int i = 0; i < N_KERNELS; i++) {
        char source[32];
        fx_prepared *p;
        snprintf(source, sizeof source, "source %d", i);
        struct fx_plan plan = plan_of(&g, source);
        if (fx_prepare(context, &plan, NULL, NULL, 0, &p) != FX_OK) return 2;
    }
    return *nvrtc_log() ? 3 : 0;
}

START_TEST(processes_start_together) {
    pid_t children[N_PROCESSES];
    int status;
    make_folder();
    find_fakes();
    for (int i = 0; i < N_PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(cold_start(i % 4 * 3));
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(n_whole(), N_KERNELS);
    ck_assert_int_eq(n_temporaries(), 0);
    pid_t child = fork();
    if (child == 0) _exit(warm_start());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    remove_folder();
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "describe")) {
        char text[PATH_ROOM];
        fx_cache_describe(text, sizeof text);
        puts(text);
        fflush(stdout);
        _exit(0); /* without the leak checker's last look, which a process with raised privileges may not take */
    }
    Suite *s = suite_create("cache");
    TCase *t = tcase_create("digest");
    tcase_add_loop_test(t, digests_are_the_standards, 0, sizeof vectors / sizeof *vectors);
    tcase_add_test(t, digests_do_not_depend_on_pieces);
    tcase_add_test(t, digests_are_sha256sums);
    suite_add_tcase(s, t);
    t = tcase_create("entries");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, opening_fills_all);
    tcase_add_test(t, keeps_an_entry);
    tcase_add_test(t, every_field_counts);
    tcase_add_test(t, a_file_under_another_name_is_no_entry);
    tcase_add_test(t, every_flip_is_a_miss);
    tcase_add_test(t, every_truncation_is_a_miss);
    tcase_add_test(t, headers_are_not_believed);
    tcase_add_test(t, sizes_are_limited);
    tcase_add_test(t, versions_are_compared);
    tcase_add_test(t, versions_of_fx_share_a_folder);
    suite_add_tcase(s, t);
    t = tcase_create("folder");
    tcase_add_test(t, planted_files_are_ignored);
    tcase_add_test(t, foreign_folders_are_ignored);
    tcase_add_test(t, foreign_owners_are_ignored);
    tcase_add_test(t, the_environment_says_where);
    tcase_add_test(t, people_are_told);
    tcase_add_test(t, raised_privileges_have_no_cache);
    tcase_add_test(t, a_folder_may_be_read_only);
    tcase_add_test(t, what_root_wrote_is_trusted);
    tcase_add_test(t, a_limit_on_files_kills_nobody);
    tcase_add_test(t, a_full_disk_keeps_nothing);
    tcase_add_test(t, a_folder_may_vanish);
    tcase_add_test(t, the_oldest_go_first);
    tcase_add_test(t, one_evicts_at_a_time);
    tcase_add_test(t, leftovers_go);
    suite_add_tcase(s, t);
    t = tcase_create("prepare");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, a_hit_opens_no_nvrtc);
    tcase_add_test(t, damage_is_mended);
    tcase_add_test(t, failures_are_not_kept);
    tcase_add_test(t, another_library_is_another);
    tcase_add_loop_test(t, a_wrong_guess_costs_nothing_but_opening, 0, 3);
    tcase_add_test(t, an_old_driver_is_named_on_a_hit);
    tcase_add_test(t, threads_share_a_folder);
    tcase_add_test(t, killed_writers_leave_no_half);
    tcase_add_test(t, processes_start_together);
    suite_add_tcase(s, t);
    return run_suite(s);
}
