/* The texts ahead of an emitted file that the emulator compiles: fx_text_emu_calls and fx_text_ptx_emu, each followed by a NUL. */
.macro text name, file
    .globl fx_text_\name
    .hidden fx_text_\name
    .type fx_text_\name, %object
fx_text_\name:
    .incbin "\file"
    .byte 0
    .size fx_text_\name, . - fx_text_\name
.endm

    .section .rodata
    text emu_calls, runtime/emu/calls.h
    text ptx_emu, runtime/emu/ptx_emu.h

    .section .note.GNU-stack, "", %progbits
