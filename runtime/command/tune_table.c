/* What tune found, for people and programs: a table, CSV, or JSON. Input: ways with their times, ranked. */
#include <string.h>

#include "base/json.h"
#include "command/report_json.h"
#include "command/tune.h"

enum { SCHEMA_VERSION = 1 };

void print_extents(FILE *to, const struct job *job, const char *separator) {
    const char *before = "";
    for (int i = 0; i < job->kernel->n_extents; i++) {
        if (job_is_derived(job->kernel, i)) continue;
        fprintf(to, "%s%s=%lld", before, job->kernel->extents[i].name, (long long)job->extents[i]);
        before = separator;
    }
}

/* Entries, or what they are, of all launches. */
static void print_entries(FILE *to, const struct tuning *t, const struct way *w, const char *separator, bool is_config) {
    for (int i = 0; i < partition_of(t, w).n_launches; i++) {
        const struct fx_variant *v = variant_of(t, w, i);
        fprintf(to, "%s%s", i ? separator : "", is_config ? v->config : v->entry);
    }
}

static const struct way *plans_own(const struct tuning *t) {
    for (int i = 0; i < t->n_ways; i++)
        if (t->ways[i].is_plans) return &t->ways[i];
    return NULL;
}

/* What of the time its bytes, or its multiply-adds, would take alone. */
static double share(double alone, const struct way *w) { return w->median > 0 ? alone / w->median : 0; }

/* ---- text ---- */

static void print_way(const struct tuning *t, const struct way *w, int rank) {
    if (w->median <= 0) {
        printf("%4d          -  %9.2f      -      -      -  ", rank, w->predicted.us);
        print_entries(stdout, t, w, ", ", false);
        if (!t->is_plan_only) printf("  no time: %s", w->why_not);
        printf("%s\n", w->is_plans ? "  <- the plan's own" : "");
        return;
    }
    printf("%4d  %9.2f  %9.2f  %5.2f  %5.2f  ", rank, w->median, w->predicted.us, w->predicted.us / w->median,
        share(w->predicted.bytes_us, w));
    if (w->predicted.flops_us > 0) printf("%5.2f  ", share(w->predicted.flops_us, w));
    else printf("%5s  ", "-");
    print_entries(stdout, t, w, ", ", false);
    printf("%s\n", w->is_plans ? "  <- the plan's own" : "");
}

/* Where times are predicted or measured. */
static const char *device_of(const struct tuning *t) {
    return t->is_plan_only ? fx_get_plan(t->job->compilation)->arch : fx_context_device(t->job->context);
}

static void print_table(const struct tuning *t) {
    const struct way *plans = plans_own(t), *best = &t->ways[0];
    int n_untried = 0;
    if (!t->is_first) printf("\n");
    printf("%s on %s", t->job->kernel->name, device_of(t));
    if (t->job->kernel->n_extents) printf(", "), print_extents(stdout, t->job, " ");
    if (t->is_plan_only) printf(": %d way%s, none timed\n", t->n_ways, t->n_ways == 1 ? "" : "s");
    else printf(": %d of %d ways timed in %.1f s\n", t->n_timed, t->n_ways, t->seconds);
    printf("rank   measured  predicted   p/m  bytes  flops  entries\n");
    for (int i = 0; i < t->n_ways; i++) {
        bool is_tried = t->is_plan_only || t->ways[i].median > 0 || strcmp(t->ways[i].why_not, "it was not tried") != 0;
        if (is_tried) print_way(t, &t->ways[i], i + 1);
        n_untried += !is_tried;
    }
    if (n_untried) printf("%d more are predicted to take longer\n", n_untried);
    if (t->is_plan_only) return;
    if (best->is_plans) printf("the plan's own is the fastest\n");
    else if (plans && plans->median > 0)
        printf("the fastest takes %.3f of what the plan's own takes\n", best->median / plans->median);
    if (*t->kept) printf("%s\n", t->kept);
}

/* ---- CSV ---- */

/* A field with its quotes doubled. */
static void put_field(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"') putchar('"');
        putchar(*s);
    }
    putchar('"');
}

static void print_csv(const struct tuning *t) {
    if (t->is_first)
        printf("kernel,device,extents,rank,partition,entries,configurations,us,least_us,predicted_us,bytes_share,"
               "flops_share,is_plans,no_time\n");
    for (int i = 0; i < t->n_ways; i++) {
        const struct way *w = &t->ways[i];
        printf("%s,", t->job->kernel->name);
        put_field(device_of(t));
        printf(",\"");
        print_extents(stdout, t->job, " ");
        printf("\",%d,", i + 1);
        put_field(partition_of(t, w).name ? partition_of(t, w).name : "");
        printf(",\"");
        print_entries(stdout, t, w, " ", false);
        printf("\",\"");
        print_entries(stdout, t, w, "; ", true);
        printf("\",");
        if (w->median > 0) printf("%.3f,%.3f,", w->median, w->least);
        else printf(",,");
        printf("%.3f,", w->predicted.us);
        if (w->median > 0) printf("%.4f,%.4f,", share(w->predicted.bytes_us, w), share(w->predicted.flops_us, w));
        else printf(",,");
        printf("%d,", w->is_plans);
        put_field(w->median > 0 || !w->why_not ? "" : w->why_not);
        printf("\n");
    }
}

/* ---- JSON ---- */

static void put_way(struct json *j, const struct tuning *t, const struct way *w) {
    json_line(j);
    json_open(j, '{');
    json_member_text(j, "partition", partition_of(t, w).name);
    json_open_list(j, "entries");
    for (int i = 0; i < partition_of(t, w).n_launches; i++) json_string(j, variant_of(t, w, i)->entry);
    json_close(j, ']');
    json_open_list(j, "configurations");
    for (int i = 0; i < partition_of(t, w).n_launches; i++) json_string(j, variant_of(t, w, i)->config);
    json_close(j, ']');
    json_member_real(j, "predicted_us", w->predicted.us);
    json_member_real(j, "bytes_alone_us", w->predicted.bytes_us);
    json_member_real(j, "flops_alone_us", w->predicted.flops_us);
    json_member_text(j, "no_time", w->median > 0 ? NULL : w->why_not);
    if (w->median > 0) {
        json_member_real(j, "us", w->median);
        json_member_real(j, "least_us", w->least);
        json_member_int(j, "rounds", w->n_rounds);
    }
    json_member_bool(j, "is_plans", w->is_plans);
    json_close(j, '}');
}

static void put_members(struct json *j, const void *of) {
    const struct tuning *t = of;
    json_member_real(j, "seconds", t->seconds);
    json_member_text(j, "kept", *t->kept ? t->kept : NULL);
    json_open_list(j, "ways");
    for (int i = 0; i < t->n_ways; i++) put_way(j, t, &t->ways[i]);
    json_close(j, ']');
}

fx_status print_tuning(const struct tuning *t) {
    if (t->is_json)
        return report_json(&(struct report_json){.version = SCHEMA_VERSION,
            .job = t->job,
            .device = device_of(t),
            .before = t->is_first ? "[" : ",\n",
            .put_members = put_members,
            .of = t});
    (t->is_csv ? print_csv : print_table)(t);
    return FX_OK;
}
