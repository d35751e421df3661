#!/bin/sh
# The man pages that are made of other texts. Input: man.sh libfx.3 VERSION HEADER..., whose declarations and comments it has as they stand, or
# man.sh fx.5 VERSION LANGUAGE.md. Output: the page.
set -u
page=$1 version=$2
shift 2

# Text as it stands: no escapes, no requests.
verbatim() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\\&&/" "$@"; }

case $page in
libfx.3)
    printf '.TH LIBFX 3 "" "fx %s"\n.SH NAME\nlibfx \\- compile tensor specs and launch their kernels\n.SH SYNOPSIS\n.nf\n' "$version"
    printf '#include <fx.h>\n#include <fx_runtime.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs fx)\n.fi\n'
    for header; do
        printf '.SH %s\n.nf\n' "$(basename "$header" | tr '[:lower:]' '[:upper:]')"
        grep -vE '^#|^extern "C"|^}$' "$header" | verbatim | cat -s
        printf '.fi\n'
    done
    printf '.SH SEE ALSO\n.BR fxc (1),\n.BR fx (5)\n'
    ;;
fx.5)
    printf '.TH FX 5 "" "fx %s"\n.SH NAME\nfx \\- tensor algebra over named axes\n' "$version"
    verbatim "$1" | awk '
        /^```/ { print open ? ".fi\n.RE" : ".RS 4\n.nf"; open = !open; next }
        open { print; next }
        /^# / { print ".SH DESCRIPTION"; next }
        /^## / { print ".SH " toupper(substr($0, 4)); next }
        /^###+ / { sub(/^#+ /, ""); print ".SS " $0; next }
        /^[|][\\-|: ]*$/ { next }
        /^[|]/ { print ".br"; print; next }
        /^\\- / { print ".IP \\(bu 2"; print substr($0, 4); next }
        /^$/ { print ".PP"; next }
        { print }'
    printf '.SH SEE ALSO\n.BR fxc (1),\n.BR libfx (3)\n'
    ;;
*)
    echo "man.sh: no page $page" >&2
    exit 2
    ;;
esac
