#!/usr/bin/env bash
# foreign_egl.sh MATRIX: tools/driver-matrix skips Mesa's drivers, and says so, where another vendor's EGL answers. A
# name of no driver is refused.
set -u
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$build/tests/platform"
cat >"$build/tests/platform/platform_probe" <<'PROBE'
#!/bin/sh
printf 'renderer: Foreign GPU\nversion: OpenGL ES 3.2 FOREIGN 1.0\n'
PROBE
chmod +x "$build/tests/platform/platform_probe"
failed=0
for driver in llvmpipe softpipe gles30; do
    words=$("$1" -b "$build" --only "$driver")
    status=$?
    echo "$words"
    [ "$status" = 77 ] && grep -q '^skip .*another vendor.*"Foreign GPU"' <<<"$words" || failed=1
done

# A name that no driver has is wrong usage, not a skip.
"$1" -b "$build" --only llvmpip
[ $? = 2 ] || failed=1
exit "$failed"
