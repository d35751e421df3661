/* What tests/emu/ask.c and tests/emu/ready.c send each other: the limits of a request. */
#ifndef FX_TESTS_EMU_ASK_H
#define FX_TESTS_EMU_ASK_H

enum { N_FDS = 3, MOST_TEXT = 16384, MOST_ARGUMENTS = 256 }; /* descriptors 0 to 2 of the compiler */

#endif
