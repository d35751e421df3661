/* libFuzzer target: any bytes through the whole compiler and every text it prints. Nothing may crash, hang or leak. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What --emit=fx prints must compile, beyond the limits on the size of a spec apart. */
static void check_printed(const char *text) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    fx_status status = fx_compile(text, strlen(text), "printed.fx", &options, &c);
    if (status == FX_ERR_NOMEM) return;
    if (status != FX_OK && !strstr(fx_messages(c), "[FX100") && !strstr(fx_messages(c), "[FX2022]")) {
        fprintf(stderr, "%s%s", text, fx_messages(c));
        __builtin_trap();
    }
    fx_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.dump_after = "all";
    fx_status status = fx_compile((const char *)data, size, "fuzz.fx", &options, &c);
    if (status == FX_ERR_INTERNAL) __builtin_trap();
    if (status == FX_ERR_NOMEM) return 0;
    for (int stage = FX_TEXT_AST; stage <= FX_TEXT_FX; stage++) fx_text(c, (enum fx_text)stage);
    if (fx_text(c, FX_TEXT_FX)) check_printed(fx_text(c, FX_TEXT_FX));
    fx_messages(c);
    fx_messages_json(c);
    fx_receipt(c, FX_FORMAT_TEXT, NULL);
    fx_receipt(c, FX_FORMAT_JSON, NULL);
    fx_close(c);
    return 0;
}
