#!/usr/bin/env bash
# full_disk.sh GLINFER ASK MODEL: no signal ends the command or a program with the library where the disk of the driver's
# shader cache is full, or where files may not grow. Exits 77 where no file system can be mounted.
set -u
glinfer=$1 ask=$2 model=$3
if [ -z "${4:-}" ]; then
    unshare --mount --map-root-user true 2>/dev/null || { echo "skipped: cannot mount a file system"; exit 77; }
    exec unshare --mount --map-root-user "$0" "$1" "$2" "$3" inside
fi
folder=$(mktemp -d)
trap 'cd /; umount "$folder"; rmdir "$folder"' EXIT
mount -t tmpfs -o size=8m tmpfs "$folder" || { rmdir "$folder"; trap - EXIT; exit 77; }
export XDG_CACHE_HOME=$folder GLINFER_HALF=no GLINFER_SELFTEST=off
unset MESA_SHADER_CACHE_DIR MESA_SHADER_CACHE_DISABLE
fail() { echo "$1"; cat "$folder/../full_disk.$$"; rm -f "$folder/../full_disk.$$"; exit 1; }
# expect STATUS COMMAND...: with the output in a pipe, as a limit holds for files.
expect() {
    local want=$1 got
    shift
    "$@" </dev/null 2>&1 | cat >"$folder/../full_disk.$$"
    got=${PIPESTATUS[0]}
    [ "$got" = "$want" ] || fail "$*: status $got, expected $want"
    rm -f "$folder/../full_disk.$$"
}
limited() { (ulimit -f "$1"; shift; exec "$@"); }

expect 0 limited 1 "$ask" "$model" hi # no file may have more than a block
rm -rf "${folder:?}"/*
expect 0 "$glinfer" info             # reserves the index of the cache
read -r blocks size < <(stat -c '%b %s' "$folder/mesa_shader_cache/index" 2>/dev/null)
[ -z "${size:-}" ] || [ $((blocks * 512)) -ge "$size" ] || fail "the index has $blocks blocks for $size bytes"
rm -rf "$folder/mesa_shader_cache"
dd if=/dev/zero of="$folder/fill" bs=4k 2>/dev/null
expect 1 "$ask" "$model" hi # an error, not a signal
expect 0 "$glinfer" run -q -m "$model" --raw -p Hello --temp 0 -n 2
