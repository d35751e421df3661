/* libFuzzer target: any bytes through the whole compiler and every text it prints. Nothing may crash, hang or leak. */
#include <stdint.h>

#include "fx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.dump_after = "all";
    fx_status status = fx_compile((const char *)data, size, "fuzz.fx", &options, &c);
    if (status == FX_ERR_INTERNAL) __builtin_trap();
    if (status == FX_ERR_NOMEM) return 0;
    for (int stage = FX_TEXT_AST; stage <= FX_TEXT_NOTES; stage++) fx_text(c, (enum fx_text)stage);
    fx_messages(c);
    fx_messages_json(c);
    fx_close(c);
    return 0;
}
