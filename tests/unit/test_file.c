/* Files that are written: whole or not at all, with nothing left beside them, whatever comes in between. */
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "suite.h"

enum { MOST = 1000, N = 4 * MOST }; /* bytes that a file may have here, and that are to be written */

static char folder[] = "/tmp/fx_file_XXXXXX";
static char bytes[N];
static int interruption;

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void teardown(void) {
    (void)!unlink("out");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static int count_files(void) {
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));) n += *e->d_name != '.';
    closedir(d);
    return n;
}

static void interrupt(int signal_number) {
    (void)signal_number;
    raise(interruption);
}

/* Writes in a process of its own, which sends itself a signal once the file is as long as it may be, and began with
 * that disposed of so; how it ended. */
static int write_until_full(int signal_number, void (*disposition)(int)) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        const struct text_piece piece = {bytes, N};
        interruption = signal_number;
        signal(interruption, disposition);
        signal(SIGXFSZ, interrupt);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){MOST, MOST});
        _exit((int)write_whole("out", &piece, 1));
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(a_full_disk) {
    const struct text_piece before = {"before", 6};
    char text[16] = "";
    ck_assert_int_eq(write_whole("out", &before, 1), FX_OK);
    int status = write_until_full(SIGUSR1, SIG_IGN);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == FX_ERR_IO);
    ck_assert_int_eq(count_files(), 1);
    FILE *f = fopen("out", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, f));
    fclose(f);
    ck_assert_str_eq(text, "before");
}
END_TEST

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

START_TEST(a_signal) {
    int status = write_until_full(signals[_i], SIG_DFL);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[_i]);
    ck_assert_int_eq(count_files(), 0);
    /* What is ignored stays so: the write goes on, and fails. */
    status = write_until_full(signals[_i], SIG_IGN);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == FX_ERR_IO);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("file");
    TCase *t = tcase_create("file");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_full_disk);
    tcase_add_loop_test(t, a_signal, 0, (int)(sizeof signals / sizeof *signals));
    suite_add_tcase(s, t);
    return run_suite(s);
}
