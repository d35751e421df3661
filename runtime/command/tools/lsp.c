/* The language server: `fxc lsp` speaks the Language Server Protocol over stdin and stdout. In: messages of JSON-RPC.
 * Out: diagnostics of every document that is open, what an expression is and into which GPU kernel it went, where a
 * name is defined, a document in the standard layout. Invariant: nothing that comes in ends it but `exit`, the end of
 * the input and memory that runs out; a document is compiled anew whenever it changes. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "command/command.h"

enum { MOST_HEADER = 4096, MOST_MESSAGE = 16 << 20, MOST_DOCUMENTS = 256 };
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601, INVALID_PARAMS = -32602 };

struct document {
    char *uri, *path, *text; /* malloc'ed */
    size_t n_bytes;
    fx_compilation *compiled; /* of this text, or NULL */
};

struct server {
    const struct command *cmd;
    struct arena arena; /* of one message */
    struct document documents[MOST_DOCUMENTS];
    int n_documents;
    bool is_shut_down;
};

/* ---- messages ---- */

static bool skip_bytes(unsigned long long n) {
    char bytes[4096];
    while (n) {
        const size_t part = n < sizeof bytes ? (size_t)n : sizeof bytes;
        if (fread(bytes, 1, part, stdin) != part) return false;
        n -= part;
    }
    return true;
}

/* A header `Content-Length: N`, others skipped, then N bytes; an empty text for more than MOST_MESSAGE. NULL at the end
 * of the input, and where no length is given. */
static char *read_message(size_t *len) {
    char line[MOST_HEADER];
    unsigned long long n = 0;
    bool is_known = false;
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "\r\n") || !strcmp(line, "\n")) {
            const bool is_long = n > MOST_MESSAGE;
            *len = is_long ? 0 : (size_t)n;
            if (!is_known || (is_long && !skip_bytes(n))) return NULL;
            char *text = malloc(*len + 1);
            if (!text) return NULL;
            if (fread(text, 1, *len, stdin) != *len) return free(text), NULL;
            text[*len] = 0;
            return text;
        }
        if (!strncasecmp(line, "Content-Length:", 15)) {
            char *end;
            n = strtoull(line + 15, &end, 10);
            is_known = end > line + 15;
        }
    }
    return NULL;
}

static void send(const struct buf *b) {
    printf("Content-Length: %zu\r\n\r\n", b->len);
    fwrite(b->s, 1, b->len, stdout);
    fflush(stdout);
}

static void begin(struct server *s, struct buf *b, struct json *j) {
    buf_init(b, &s->arena);
    *j = (struct json){.out = b};
    json_open(j, '{');
    json_member_text(j, "jsonrpc", "2.0");
}

/* The id of a request as it came: a number, a text, or null. */
static void put_id(struct json *j, const struct json_node *id) {
    json_key(j, "id");
    if (id && id->type == JSON_IS_STRING) json_bytes(j, id->text, id->len);
    else if (id && id->type == JSON_IS_NUMBER && id->text[strspn(id->text, "-0123456789")] == 0)
        json_int(j, strtoll(id->text, NULL, 10));
    else json_null(j);
}

static void answer_error(struct server *s, const struct json_node *id, int code, const char *message) {
    struct buf b;
    struct json j;
    begin(s, &b, &j);
    put_id(&j, id);
    json_open_object(&j, "error");
    json_member_int(&j, "code", code);
    json_member_text(&j, "message", message);
    json_close(&j, '}');
    json_close(&j, '}');
    send(&b);
}

/* ---- documents ---- */

/* The path of a file:// URI; of another the URI itself. malloc'ed. */
static char *path_of(const char *uri) {
    const char *from = !strncmp(uri, "file://", 7) ? strchr(uri + 7, '/') : uri;
    char *path = strdup(from ? from : uri), *to = path;
    for (const char *c = path; c && *c; c++) {
        const char hex[3] = {c[0] == '%' ? c[1] : 0, c[0] == '%' && c[1] ? c[2] : 0, 0};
        char *end = NULL;
        const long byte = *hex ? strtol(hex, &end, 16) : 0;
        const bool is_escape = end == hex + 2 && byte > 0;
        *to++ = is_escape ? (char)byte : *c;
        if (is_escape) c += 2;
    }
    if (to) *to = 0;
    return path;
}

static struct document *find_document(struct server *s, const char *uri) {
    for (int i = 0; i < s->n_documents; i++)
        if (!strcmp(s->documents[i].uri, uri)) return &s->documents[i];
    return NULL;
}

static void close_document(struct server *s, struct document *d) {
    fx_close(d->compiled);
    free(d->uri), free(d->path), free(d->text);
    *d = s->documents[--s->n_documents];
}

static void set_text(struct server *s, struct document *d, const char *text, size_t n_bytes) {
    struct request request = {0};
    free(d->text);
    fx_close(d->compiled);
    d->compiled = NULL;
    d->text = malloc(n_bytes + 1);
    d->n_bytes = d->text ? n_bytes : 0;
    if (!d->text) return;
    memcpy(d->text, text, n_bytes);
    d->text[n_bytes] = 0;
    const struct spec spec = {.path = d->path, .text = d->text, .n_bytes = d->n_bytes};
    if (n_bytes <= SPEC_MAX_BYTES && request_open(s->cmd, &spec, NULL, &request) == FX_OK)
        (void)compile_request(&request, NULL, false, &d->compiled);
    request_release(&request);
}

/* ---- places: lines and UTF-16 units from 0, as the protocol counts them; bytes here ---- */

static size_t units_of(const char *s, size_t n_bytes) {
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80 ? 1 + ((unsigned char)s[i] >= 0xf0) : 0;
    return n;
}

static void put_position(struct json *j, const char *key, const struct document *d, size_t offset) {
    size_t line = 0, start = 0;
    if (offset > d->n_bytes) offset = d->n_bytes;
    for (size_t i = 0; i < offset; i++)
        if (d->text[i] == '\n') line++, start = i + 1;
    json_open_object(j, key);
    json_member_int(j, "line", (int64_t)line);
    json_member_int(j, "character", (int64_t)units_of(d->text + start, offset - start));
    json_close(j, '}');
}

static void put_range(struct json *j, const struct document *d, size_t offset, size_t length) {
    json_open_object(j, "range");
    put_position(j, "start", d, offset);
    put_position(j, "end", d, offset + length);
    json_close(j, '}');
}

static size_t offset_of(const struct document *d, int line, int character) {
    size_t at = 0;
    for (; line > 0 && at < d->n_bytes; at++) line -= d->text[at] == '\n';
    while (at < d->n_bytes && d->text[at] != '\n' && character > 0) {
        size_t n = 1;
        while (at + n < d->n_bytes && ((unsigned char)d->text[at + n] & 0xc0) == 0x80) n++;
        character -= (int)units_of(d->text + at, n);
        at += n;
    }
    return at;
}

/* ---- diagnostics ---- */

static void put_diagnostic(struct json *j, const struct document *d, const struct json_node *m) {
    const bool is_here = !strcmp(json_get_text(m, "file"), d->path);
    struct buf text;
    buf_init(&text, j->out->arena);
    if (!is_here && *json_get_text(m, "file"))
        buf_printf(&text, "%s:%d: ", json_get_text(m, "file"), json_get_int(m, "line", 0));
    buf_puts(&text, json_get_text(m, "message"));
    if (*json_get_text(m, "fix")) buf_printf(&text, "\nfix: %s", json_get_text(m, "fix"));
    json_open(j, '{');
    put_range(j, d, is_here ? (size_t)json_get_int(m, "byte_offset", 0) : 0,
        is_here ? (size_t)json_get_int(m, "byte_length", 0) : 0);
    json_member_int(j, "severity", !strcmp(json_get_text(m, "severity"), "error") ? 1 : 2);
    if (*json_get_text(m, "code")) json_member_text(j, "code", json_get_text(m, "code"));
    json_member_text(j, "source", "fx");
    json_member_text(j, "message", text.s);
    json_close(j, '}');
}

static void publish(struct server *s, const struct document *d, const char *uri) {
    struct buf b;
    struct json j;
    const char *messages = d && d->compiled ? fx_messages_json(d->compiled) : NULL;
    const struct json_node *list = messages ? json_parse(&s->arena, messages, strlen(messages)) : NULL;
    begin(s, &b, &j);
    json_member_text(&j, "method", "textDocument/publishDiagnostics");
    json_open_object(&j, "params");
    json_member_text(&j, "uri", uri);
    json_open_list(&j, "diagnostics");
    for (int i = 0; list && i < list->n_items; i++) put_diagnostic(&j, d, list->items[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, '}');
    send(&b);
}

/* ---- hover ---- */

/* What became of a line: the GPU kernels that it is part of, with the schedules, and what of it stands where. */
static void put_groups(struct server *s, struct buf *b, const struct document *d, const struct fx_found *found) {
    const char *receipt = fx_receipt(d->compiled, FX_FORMAT_JSON, NULL);
    const struct json_node *all = receipt ? json_get(json_parse(&s->arena, receipt, strlen(receipt)), "kernels") : NULL;
    for (int k = 0; all && k < all->n_items; k++) {
        const struct json_node *launches = json_get(all->items[k], "launches");
        if (strcmp(json_get_text(all->items[k], "name"), found->kernel) != 0) continue;
        for (int l = 0; launches && l < launches->n_items; l++) {
            const struct json_node *launch = launches->items[l], *lines = json_get(launch, "lines");
            bool is_named = false;
            for (int i = 0; lines && i < lines->n_items; i++) {
                if (json_get_int(lines->items[i], "line", 0) != found->line) continue;
                if (!is_named)
                    buf_printf(b, "\n\nGPU kernel %d of %d, `%s`: %s by %s", l + 1, launches->n_items,
                        json_get_text(launch, "name"), json_get_text(launch, "driver"),
                        json_get_text(launch, "schedule"));
                is_named = true;
                buf_printf(b, "\n- %s: `%s`", json_get_text(lines->items[i], "place"),
                    json_get_text(lines->items[i], "expression"));
            }
        }
    }
}

static void answer_hover(struct server *s, struct json *j, const struct document *d, size_t offset) {
    struct fx_found found;
    struct buf b;
    if (!d->compiled || !fx_find(d->compiled, offset, &found) || !*found.type ||
        found.offset + found.length > d->n_bytes) {
        json_key(j, "result"), json_null(j);
        return;
    }
    buf_init(&b, &s->arena);
    buf_printf(
        &b, "```fx\n%.*s: %s\n```", (int)(found.length > 400 ? 400 : found.length), d->text + found.offset, found.type);
    if (found.kernel) put_groups(s, &b, d, &found);
    json_open_object(j, "result");
    json_open_object(j, "contents");
    json_member_text(j, "kind", "markdown");
    json_member_text(j, "value", b.s);
    json_close(j, '}');
    put_range(j, d, found.offset, found.length);
    json_close(j, '}');
}

static void answer_definition(struct json *j, const struct document *d, size_t offset) {
    struct fx_found found;
    if (!d->compiled || !fx_find(d->compiled, offset, &found) || !found.defined_in || !found.is_defined_here) {
        json_key(j, "result"), json_null(j);
        return;
    }
    json_open_object(j, "result");
    json_member_text(j, "uri", d->uri);
    put_range(j, d, found.definition, found.definition_length);
    json_close(j, '}');
}

static void answer_format(struct json *j, const struct document *d) {
    size_t n = 0;
    char *text = format_text(d->text, d->n_bytes, &n);
    json_open_list(j, "result");
    if (text && (n != d->n_bytes || memcmp(text, d->text, n) != 0)) {
        json_open(j, '{');
        put_range(j, d, 0, d->n_bytes);
        json_key(j, "newText");
        json_bytes(j, text, n); /* which may have a NUL */
        json_close(j, '}');
    }
    json_close(j, ']');
    free(text);
}

static void answer_capabilities(struct json *j) {
    json_open_object(j, "result");
    json_open_object(j, "capabilities");
    json_member_text(j, "positionEncoding", "utf-16");
    json_member_int(j, "textDocumentSync", 1); /* whole texts */
    json_member_bool(j, "hoverProvider", true);
    json_member_bool(j, "definitionProvider", true);
    json_member_bool(j, "documentFormattingProvider", true);
    json_close(j, '}');
    json_open_object(j, "serverInfo");
    json_member_text(j, "name", "fxc");
    json_member_text(j, "version", FX_VERSION);
    json_close(j, '}');
    json_close(j, '}');
}

/* ---- what comes in ---- */

static void request(struct server *s, const char *method, const struct json_node *id, const struct json_node *params) {
    const struct document *d = find_document(s, json_get_text(json_get(params, "textDocument"), "uri"));
    const struct json_node *position = json_get(params, "position");
    const bool is_hover = !strcmp(method, "textDocument/hover"),
               is_definition = !strcmp(method, "textDocument/definition"),
               is_format = !strcmp(method, "textDocument/formatting"), is_first = !strcmp(method, "initialize"),
               is_last = !strcmp(method, "shutdown");
    struct buf b;
    struct json j;
    if (!is_hover && !is_definition && !is_format && !is_first && !is_last) {
        answer_error(s, id, METHOD_NOT_FOUND, "there is no such method");
        return;
    }
    if ((is_hover || is_definition || is_format) && (!d || !d->text)) {
        answer_error(s, id, INVALID_PARAMS, "this document is not open");
        return;
    }
    const size_t offset = d && d->text
                              ? offset_of(d, json_get_int(position, "line", 0), json_get_int(position, "character", 0))
                              : 0;
    begin(s, &b, &j);
    put_id(&j, id);
    if (is_hover) answer_hover(s, &j, d, offset);
    if (is_definition) answer_definition(&j, d, offset);
    if (is_format) answer_format(&j, d);
    if (is_first) answer_capabilities(&j);
    if (is_last) json_key(&j, "result"), json_null(&j), s->is_shut_down = true;
    json_close(&j, '}');
    send(&b);
}

static void notify(struct server *s, const char *method, const struct json_node *params) {
    const struct json_node *document = json_get(params, "textDocument"), *changes = json_get(params, "contentChanges");
    const char *uri = json_get_text(document, "uri");
    const bool is_open = !strcmp(method, "textDocument/didOpen"), is_change = !strcmp(method, "textDocument/didChange");
    struct document *d = find_document(s, uri);
    if (!strcmp(method, "textDocument/didClose") && d) {
        close_document(s, d);
        publish(s, NULL, uri);
    }
    if (!is_open && !is_change) return;
    if (is_open && !d && s->n_documents < MOST_DOCUMENTS) {
        d = &s->documents[s->n_documents++];
        *d = (struct document){.uri = strdup(uri), .path = path_of(uri)};
        if (!d->uri || !d->path) {
            free(d->uri), free(d->path);
            s->n_documents--;
            return;
        }
    }
    const struct json_node *last = changes && changes->type == JSON_IS_LIST && changes->n_items
                                       ? changes->items[changes->n_items - 1]
                                       : NULL;
    const struct json_node *text = json_get(is_open ? document : last, "text");
    if (!d || !text || text->type != JSON_IS_STRING) return;
    set_text(s, d, text->text, text->len);
    publish(s, d, uri);
}

/* False: it is over. */
static bool take_message(struct server *s, const char *text, size_t len) {
    const struct json_node *message = json_parse(&s->arena, text, len), *method = json_get(message, "method"),
                           *id = json_get(message, "id");
    if (!message) return answer_error(s, NULL, PARSE_ERROR, "this is not JSON"), true;
    if (message->type != JSON_IS_OBJECT || (method && method->type != JSON_IS_STRING))
        return answer_error(s, id, INVALID_REQUEST, "this is no request"), true;
    if (!method) return true; /* an answer, to nothing that was asked */
    if (!id && !strcmp(method->text, "exit")) return false;
    if (id) request(s, method->text, id, json_get(message, "params"));
    else notify(s, method->text, json_get(message, "params"));
    return true;
}

/* Where memory runs out a message is passed over. */
static __attribute__((noinline)) bool handle(struct server *s, const char *text, size_t len) {
    jmp_buf oom;
    arena_init(&s->arena, &oom);
    if (setjmp(oom)) return true;
    return take_message(s, text, len);
}

fx_status command_lsp(const struct command *cmd) {
    static struct server s;
    bool goes_on = true;
    if (cmd->n_operands > 0) return usage_error(cmd, "no operand expected");
    s.cmd = cmd;
    while (goes_on) {
        size_t len;
        char *text = read_message(&len);
        if (!text) break;
        goes_on = handle(&s, text, len);
        arena_release(&s.arena);
        free(text);
    }
    while (s.n_documents) close_document(&s, &s.documents[0]);
    return s.is_shut_down ? FX_OK : FX_ERR_USAGE;
}
