#!/bin/sh
# Packs an installed tree into a Debian package with dpkg-deb.
#
# Input: deb.sh FOLDER VERSION OUT: FOLDER has what `make install PREFIX=/usr DESTDIR=FOLDER` wrote. Output: OUT/fx_VERSION_ARCH.deb; exit 4 where dpkg-deb is missing.
set -eu
folder=$1 version=$2 out=$3
command -v dpkg-deb >/dev/null || { echo 'deb: there is no dpkg-deb' >&2; exit 4; }
arch=$(dpkg --print-architecture)
glibc=$(objdump -T "$folder/usr/bin/fxc" "$folder/usr/lib/libfx.so.0" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
mkdir -p "$folder/DEBIAN" "$folder/usr/share/doc/fx" "$out"
gzip -9nf "$folder"/usr/share/man/man?/*.?
printf 'fx %s\n\nA small tensor compiler.\n' "$version" >"$folder/usr/share/doc/fx/README"
cat >"$folder/DEBIAN/control" <<END
Package: fx
Version: $version
Section: devel
Priority: optional
Architecture: $arch
Depends: libc6 (>= ${glibc:-2.36})
Suggests: g++, python3
Installed-Size: $(du -sk "$folder/usr" | cut -f 1)
Maintainer: fx <fx@localhost>
Description: tensor algebra over named axes, compiled to fused CUDA kernels
 The command fxc compiles, runs, checks, times and explains specs; the library
 libfx does so in a program. CUDA is found when it is used: the driver, and
 NVRTC 12 or 13. Without a GPU an emulator runs the same kernels.
END
printf 'activate-noawait ldconfig\n' >"$folder/DEBIAN/triggers"
dpkg-deb --root-owner-group --build "$folder" "$out/fx_${version}_$arch.deb"
