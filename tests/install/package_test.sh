#!/usr/bin/env bash
# package_test.sh BUILD SCRATCH
#
# Makes the Debian packages of BUILD, checks what they depend on and that they have together what an installation has,
# and runs the command from a folder into which they were unpacked.
set -euo pipefail
build=$1 scratch=$2

die() { printf 'package: %s\n' "$*" >&2; exit 1; }

for tool in cpack dpkg-architecture dpkg-deb dpkg-shlibdeps file readelf; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not here"; exit 0; }
done
rm -rf "$scratch"
mkdir -p "$scratch/root"
(cd "$build" && cpack -G DEB -B "$scratch" >/dev/null)

read -r _ version _ < <("$build/glinfer" --version)
library=libglinfer${version%.*}
depends() { dpkg-deb -f "$scratch/$1"_*.deb Depends; }
for package in libgl1-mesa-dri libc6 libegl1 libgles2 libgbm1 libdrm2 libpcre2-8-0; do
    grep -qE "(^|, )$package( |,|$)" <<<"$(depends "$library")" || die "$library does not depend on $package"
done
if ldd "$build/glinfer" | grep -q libcurl; then
    grep -qE "(^|, )libcurl[^,]*(,|$)" <<<"$(depends glinfer)" || die "glinfer does not depend on libcurl"
    grep -qE "(^|, )libnettle[^,]*(,|$)" <<<"$(depends glinfer)" || die "glinfer does not depend on libnettle"
fi
for package in glinfer libglinfer-dev; do
    grep -qF "$library (= $version)" <<<"$(depends "$package")" || die "$package does not depend on $library"
done
grep -qxF "libglinfer ${version%.*} $library (>= $version)" <<<"$(dpkg-deb -I "$scratch/$library"_*.deb shlibs)" ||
    die "$library has no shlibs file"
grep -q ldconfig <<<"$(dpkg-deb -I "$scratch/$library"_*.deb postinst)" || die "$library does not run ldconfig"

for package in "$scratch"/*.deb; do
    dpkg-deb -x "$package" "$scratch/root"
    name=$(dpkg-deb -f "$package" Package)
    docs=$scratch/root/usr/share/doc/$name
    [ -s "$docs/copyright" ] || die "$package has no licence"
    gzip -dc "$docs/changelog.gz" | grep -qF "$version" || die "$package has no changelog"
    description=$(dpkg-deb -f "$package" Description)
    [[ $description == *GGUF*Mesa* ]] || die "$package does not describe itself: $description"
    [[ "$(head -1 <<<"$description")" =~ ^.{20,80}$ ]] || die "$package has no summary: $description"
    wanted=same
    [ "$name" != glinfer ] || wanted=foreign
    [ "$(dpkg-deb -f "$package" Multi-Arch)" = "$wanted" ] || die "$package is not Multi-Arch: $wanted"
    # Files that packages of two architectures share must be equal; files that differ have the architecture in their path.
    [ "$wanted" = foreign ] || ! dpkg-deb -x "$package" "$scratch/$name" || ! find "$scratch/$name" -type f -not -path \
        "*/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/*" -exec file {} + | grep -E 'ELF|pkg-config' || die "$package is not for two"
done
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
files() { find "$1" -not -type d -not -path '*/share/doc/*' -not -path '*/share/zsh/*' -not -path '*/lib/systemd/*' -printf '%P\n' | sort; }
for folder in prefix/share/zsh/site-functions root/usr/share/zsh/vendor-completions; do
    [ "$(find "$scratch/${folder%/*}" -type f)" = "$scratch/$folder/_glinfer" ] || die "zsh's completion is not in $folder alone"
done
diff <(files "$scratch/prefix") <(files "$scratch/root/usr") || die "packages have not what an installation has"

if ldd "$build/glinfer" | grep -q libmicrohttpd; then
    units=$scratch/root/usr/lib/systemd/system
    [ -s "$units/glinfer.socket" ] || die "there is no glinfer.socket"
    grep -qx 'ExecStart=/usr/bin/glinfer serve .*' "$units/glinfer.service" || die "there is no service that starts the command"
    ! find "$scratch/root" -path '*.wants/*' | grep . || die "the service is enabled"
    settings=$scratch/root/etc/default/glinfer
    ! grep -vE '^(#|$)' "$settings" || die "the service's settings say something"
    for name in $(sed -n 's/^#\([A-Z]*\)=.*/\1/p' "$settings"); do
        grep -qE "^ExecStart=.*[$]\{?$name\b" "$units/glinfer.service" || die "the service does not read $name"
    done
    [ "$(dpkg-deb -I "$scratch"/glinfer_*.deb conffiles)" = /etc/default/glinfer ] || die "the settings are not a conffile"
    # Scripts that dpkg runs stop the service on removal alone, and do nothing where no systemd runs.
    mkdir "$scratch/control" "$scratch/bin"
    dpkg-deb -e "$scratch"/glinfer_*.deb "$scratch/control"
    printf '#!/bin/sh\necho "$@" >>"%s"\n' "$scratch/asked" >"$scratch/bin/systemctl"
    chmod +x "$scratch/bin/systemctl"
    : >"$scratch/asked"
    for call in 'postinst configure' 'prerm upgrade 1' 'postinst configure 1' 'postrm upgrade 2'; do
        # shellcheck disable=SC2086
        set -- $call
        PATH=$scratch/bin:$PATH "$scratch/control/$1" "${@:2}" || die "$call fails"
    done
    ! grep -E 'stop|disable' "$scratch/asked" || die "an upgrade stops the service"
    PATH=$scratch/bin:$PATH "$scratch/control/prerm" remove || die "prerm remove fails"
    grep -q 'disable glinfer.socket glinfer.service' "$scratch/asked" || die "removal leaves the service enabled"
    for file in glinfer.service glinfer.socket glinfer.default nginx.conf; do
        [ -s "$scratch/prefix/share/doc/glinfer/examples/$file" ] || die "$file is not installed"
    done
fi

linked=$(ldd "$scratch/root/usr/bin/glinfer")
! grep 'not found' <<<"$linked" || die "a library is missing"
grep -qF "$scratch/root/usr/" <<<"$linked" || die "the command has another libglinfer: $linked"
[[ "$("$scratch/root/usr/bin/glinfer" --version) " = "glinfer $version "* ]] || die "the command does not run"
