/* The texts the compiler carries with it: the prelude in .fx, the fixed part of launchers, and the pieces kernels are put together from.
 *
 * Each file of pieces.def becomes fx_text_NAME, its bytes as they stand, followed by a NUL that fx_text_NAME_end points
 * at. Nothing outside the library sees these names. */

.macro text name, file
    .balign 16
    .globl fx_text_\name, fx_text_\name\()_end
    .hidden fx_text_\name, fx_text_\name\()_end
    .type fx_text_\name, %object
    .type fx_text_\name\()_end, %object
fx_text_\name:
    .incbin "\file"
fx_text_\name\()_end:
    .byte 0
    .size fx_text_\name, . - fx_text_\name
    .size fx_text_\name\()_end, 1
.endm

    .section .rodata
    text prelude, front/prelude.fx
    text launcher, host_c/launcher.h
    text tensor_maps, host_c/tensor_maps.h
    text ahead, host_c/ahead.h
    text vendored, host_c/vendored.h
#define PIECE(name, title) text name, kernels/name.cuh ;
#include "kernels/pieces.def"

    .section .note.GNU-stack, "", %progbits
