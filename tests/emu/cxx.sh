#!/bin/sh
# The compiler of the emulator for FX_CXX, where kernels run a few times on few elements: they take longer to compile than to run. Debug information is left
# out, half of the time where every access is seen; without it a report names no line. There functions are called, not inlined, for the same reason.
#
# With EMU_CLANG, which names a clang, that compiles what is not watched, without optimisation: in two thirds of the time that g++ takes, to code that is slower.
# clang that only compiles is one process; the linker is called here, as clang that links too starts itself twice. EMU_LIBGCC has what conversions call.
#
# With EMU_FILL variables that nothing was assigned to hold a pattern: what is computed of them is wrong then, where a stack of zeros would hide it.
fill=${EMU_FILL:+-ftrivial-auto-var-init=pattern}
case " $* " in
*' -DFX_EMU_WATCHED '*) exec g++ "$@" -DFX_EMU_CALLS -Og -g0 $fill ;;
esac
[ -n "${EMU_CLANG:-}" ] || exec g++ "$@" -Og -g0 $fill
for option in "$@"; do
    shift
    case $option in
    -fno-gnu-unique | -shared | -nodefaultlibs | -l* | /proc/self/fd/3 | -o) ;;
    *) set -- "$@" "$option" ;;
    esac
done
object=$(mktemp) || exit 1
trap 'rm -f "$object"' EXIT
"$EMU_CLANG" "$@" -O0 -g0 $fill -c -o "$object" && ld -shared -o /proc/self/fd/3 "$object" "$EMU_LIBGCC"
