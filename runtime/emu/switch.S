/* emu_switch(&from, to): leaves the stack that runs, noting in `from` where it was left, and goes on where `to` was left. What the callee must keep lies on
 * the stack that is left; rounding modes are nobody's to change. x86-64; elsewhere fiber.c does it with what the C library has. */
#ifdef __x86_64__
    .text
    .globl emu_switch
    .hidden emu_switch
    .type emu_switch, @function
emu_switch:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size emu_switch, . - emu_switch
#endif
    .section .note.GNU-stack, "", %progbits
