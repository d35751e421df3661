#!/bin/sh
# Proves that a bare Debian 12 needs nothing but `make demo` and `make test`.
#
# Input: bootstrap.sh FOLDER [NVRTC_VERSION [TARGET...]], as root, on a machine with debootstrap. FOLDER becomes a minimal bookworm with git, make, gcc
# and pip (an existing one is used again), the committed tree is cloned into it, and both commands run inside a chroot with
# this machine's mirrors, proxies, certificates and pip settings: nothing else of it is seen there, a CUDA toolkit neither. NVRTC_VERSION, the newest of 13 say, is taken in
# place of the one of setup.sh; TARGETs of make in place of demo and test. PACKAGES are installed first: `cmake python3-venv` for test-install. Prints how long each took.
# Exit 0 when all pass.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
root=${1:?usage: bootstrap.sh FOLDER [NVRTC_VERSION [TARGET...]]}
version=${2:-}
shift $(($# < 2 ? $# : 2))
tree=root/fx

# The first Debian mirror apt is configured with, in either format of its sources.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        awk '
            function offer(uri) { if (uri ~ /\/debian\/?$/ && !found) { print uri; found = 1 } }
            $1 == "URIs:" { for (i = 2; i <= NF; i++) offer($i) }
            $1 == "deb" { for (i = 2; i <= NF; i++) offer($i) }'
}

# Copies files and folders that exist to the same place inside.
take_along() {
    for path in "$@"; do
        [ -e "$path" ] || continue
        mkdir -p "$root$(dirname "$path")"
        cp -RL "$path" "$root$(dirname "$path")/"
    done
}

make_root() {
    uri=$(mirror)
    [ -n "$uri" ] || { echo 'bootstrap: no debian mirror in the apt sources' >&2; exit 3; }
    debootstrap --variant=minbase --include=git,make,gcc,python3-pip,ca-certificates bookworm "$root" "$uri"
}

configure_root() {
    take_along /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/xdg/pip "$HOME/.config/pip" "$HOME/.pip" /usr/local/share/ca-certificates
    for conf in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
        if grep -qsE '^[^/#]*(Acquire::|Proxy)' "$conf"; then take_along "$conf"; fi
    done
    chroot "$root" update-ca-certificates >/dev/null
    rm -rf "${root:?}/$tree"
    git clone --quiet "$repo" "$root/$tree"
}

umount_all() {
    umount "$root/dev" "$root/proc" 2>/dev/null || true
}

[ "$(id -u)" = 0 ] || { echo 'bootstrap: a chroot needs root' >&2; exit 4; }
[ -e "$root/etc/debian_version" ] || make_root
root=$(cd "$root" && pwd)
configure_root
trap umount_all EXIT
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
# shellcheck disable=SC2086
[ -z "${PACKAGES:-}" ] || { chroot "$root" apt-get update -qq && chroot "$root" apt-get install -y -qq --no-install-recommends $PACKAGES </dev/null >/dev/null; }
# What tells a toolkit's place on this machine is left behind; proxies and pip's settings go along.
[ $# != 0 ] || set -- demo test
[ -z "$(ls -d "$root"/usr/local/cuda* "$root"/opt/cuda 2>/dev/null)" ] || { echo "bootstrap: $root has a CUDA toolkit" >&2; exit 3; }
for target in "$@"; do
    start=$(date +%s)
    env -u CUDA_PATH -u CUDA_HOME -u FX_LIBNVRTC HOME=/root LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin FX_NVRTC_VERSION="$version" \
        chroot "$root" make -C "/$tree" "$target" </dev/null
    echo "bootstrap: make $target: $(($(date +%s) - start)) s"
done
echo "bootstrap: $* pass on a bare Debian 12"
