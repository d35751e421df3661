/* What .fx writes for a word of another language (hints.def), and which known name a mistyped one is near. For messages
 * alone: nothing compiles from it. */
#ifndef FX_HINTS_H
#define FX_HINTS_H

#include "base/base.h"

enum hint_kind { HINT_DTYPE, HINT_FUNCTION, HINT_ARGUMENT, HINT_NAME, HINT_WORD, HINT_OPERATOR };

/* The fix of the word; NULL where there is none. */
const char *hint_for(enum hint_kind kind, struct name word);
/* Whether the hint of a DTYPE is a dtype, and no sentence. */
bool hint_is_dtype(const char *fix);

struct nearest { /* of the names offered, the one most like `wanted`; name.len 0: none is like it */
    struct name wanted, name;
    int distance;
};
void nearest_offer(struct nearest *n, struct name candidate);

#endif
