#!/bin/sh
# The compiler of the emulator without optimisation, for FX_CXX: a kernel that runs once on a few elements takes longer to compile than to run.
exec g++ "$@" -O0
