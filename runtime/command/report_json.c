/* Reports of the command as JSON: what those of `tune` and `bench --ablate` begin with.
 *
 * Input: a job and a function that writes the members after that. Output: an object. */
#include "base/json.h"
#include "command/report_json.h"

static void put_job(struct json *j, const struct job *job, const char *device) {
    json_member_text(j, "kernel", job->kernel->name);
    json_member_text(j, "device", device);
    json_open_object(j, "extents");
    for (int i = 0; i < job->kernel->n_extents; i++)
        if (!job_is_derived(job->kernel, i)) json_member_int(j, job->kernel->extents[i].name, job->extents[i]);
    json_close(j, '}');
}

fx_status report_json(const struct report_json *r) {
    struct arena arena;
    jmp_buf oom;
    struct buf b;
    arena_init(&arena, &oom);
    if (setjmp(oom)) {
        arena_release(&arena);
        return complain(FX_ERR_NOMEM, "out of memory");
    }
    buf_init(&b, &arena);
    struct json j = {.out = &b};
    json_open(&j, '{');
    json_member_int(&j, "version", r->version);
    put_job(&j, r->job, r->device);
    r->put_members(&j, r->of);
    json_close(&j, '}');
    printf("%s%s", r->before, b.s);
    arena_release(&arena);
    return FX_OK;
}
