/* Messages as SARIF 2.1.0 (OASIS), which editors, forges and reviewers' tools read. In: what diag.c recorded. Out: a
 * log of one run, whose rules are all codes there are; a result stands on a line of its own, so that logs of several
 * specs are put together line by line. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/json.h"
#include "plan.h"

/* A file's name as a URI, RFC 3986: a relative one stays relative. */
static void json_uri(struct json *j, struct buf *uri, const char *file) {
    if (*file == '/') buf_puts(uri, "file://");
    for (const unsigned char *c = (const unsigned char *)file; *c; c++) {
        const bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                              strchr("-._~/", *c);
        if (is_plain) buf_putc(uri, (char)*c);
        else buf_printf(uri, "%%%02X", *c);
    }
    json_member_text(j, "uri", uri->s);
}

static void write_rules(struct json *j) {
    json_open_list(j, "rules");
    for (int code = 0; code < N_DIAG_CODES; code++) {
        json_line(j);
        json_open(j, '{');
        json_member_text(j, "id", diag_code_name((enum diag_code)code));
        json_open_object(j, "shortDescription");
        json_member_text(j, "text", diag_code_title((enum diag_code)code));
        json_close(j, '}');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_location(const struct cx *cx, struct json *j, struct span at, struct arena *scratch) {
    struct diag_region r = diag_region(cx, at);
    struct buf uri;
    if (!r.file) return;
    buf_init(&uri, scratch);
    json_open_list(j, "locations");
    json_open(j, '{');
    json_open_object(j, "physicalLocation");
    json_open_object(j, "artifactLocation");
    json_uri(j, &uri, r.file);
    json_close(j, '}');
    json_open_object(j, "region");
    json_member_int(j, "startLine", r.line);
    json_member_int(j, "startColumn", r.column);
    json_member_int(j, "endLine", r.end_line);
    json_member_int(j, "endColumn", r.end_column);
    json_member_int(j, "byteOffset", r.byte_offset);
    json_member_int(j, "byteLength", r.byte_length);
    json_close(j, '}');
    json_close(j, '}');
    json_close(j, '}');
    json_close(j, ']');
}

static void write_result(const struct cx *cx, struct json *j, const struct diag *d, struct arena *scratch) {
    struct buf text;
    buf_init(&text, scratch);
    buf_puts(&text, d->text);
    if (d->fix) buf_printf(&text, "\nfix: %s", d->fix);
    json_open(j, '{');
    if (d->code < N_DIAG_CODES) {
        json_member_text(j, "ruleId", diag_code_name(d->code));
        json_member_int(j, "ruleIndex", d->code);
    }
    json_member_text(j, "level", d->level == DIAG_ERROR ? "error" : "warning");
    json_open_object(j, "message");
    json_member_text(j, "text", text.s);
    json_close(j, '}');
    write_location(cx, j, d->span, scratch);
    json_close(j, '}');
}

void diag_sarif(const struct cx *cx, struct buf *out) {
    struct json j = {.out = out};
    struct arena *scratch = out->arena;
    json_open(&j, '{');
    json_member_text(&j, "version", "2.1.0");
    json_member_text(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_open_list(&j, "runs");
    json_open(&j, '{');
    json_open_object(&j, "tool");
    json_open_object(&j, "driver");
    json_member_text(&j, "name", "fxc");
    json_member_text(&j, "version", FX_VERSION);
    write_rules(&j);
    json_close(&j, '}');
    json_close(&j, '}');
    json_member_text(&j, "columnKind", "unicodeCodePoints");
    json_open_list(&j, "results");
    for (int i = 0; i < cx->n_diags; i++) {
        json_line(&j);
        write_result(cx, &j, &cx->diags[i], scratch);
    }
    buf_puts(out, "\n");
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}
