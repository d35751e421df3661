/* Where the command's words go. Out: stdout and stderr, or, of a thread that collects, memory, so that what threads say
 * at once is written one after the other. Must not know what is said. */
#include <stdlib.h>

#include "command/command.h"

static _Thread_local FILE *out, *err; /* that collect, or NULL */

FILE *out_stream(void) { return out ? out : stdout; }
FILE *err_stream(void) { return err ? err : stderr; }

bool words_begin(struct words *w) {
    *w = (struct words){0};
    out = open_memstream(&w->out, &w->out_bytes);
    err = out ? open_memstream(&w->err, &w->err_bytes) : NULL;
    if (out && err) return true;
    if (out) fclose(out);
    out = NULL;
    words_release(w);
    return false;
}

bool words_end(void) {
    bool is_whole = !ferror(out) && !ferror(err);
    is_whole &= fclose(out) == 0;
    is_whole &= fclose(err) == 0;
    out = err = NULL;
    return is_whole;
}

void words_write(const struct words *w) {
    fwrite(w->err, 1, w->err_bytes, stderr);
    fwrite(w->out, 1, w->out_bytes, stdout);
    fflush(stdout);
}

void words_release(struct words *w) {
    free(w->out);
    free(w->err);
    *w = (struct words){0};
}
