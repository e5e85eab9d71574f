#!/usr/bin/env bash
# address_limits.sh GLINFER MODEL [FROM STEP TO [FLAGS...]]: `glinfer run` under limits on its address space (ulimit -v, MiB)
# answers or refuses with a sentence; a context that would fit does. No signal ends it, though drivers do not look whether
# they get memory. MODEL smollm2 is the one of tools/fetch-model; skipped (77) without.
set -u
glinfer=$1 model=$2 from=${3:-180} step=${4:-30} to=${5:-420}
shift $(($# < 5 ? $# : 5))
[ "$model" != smollm2 ] || model=${GLINFER_TEST_MODEL:-${XDG_CACHE_HOME:-$HOME/.cache}/glinfer/models/SmolLM2-135M-Instruct.Q4_1.gguf}
[ -e "$model" ] || exit 77
words=$(mktemp)
trap 'rm -f "$words"' EXIT
failed=0
try() { # MiB flags...: sets status
    local limit=$1
    shift
    (ulimit -v $((limit * 1024)); exec timeout 100 "$glinfer" run -m "$model" --raw -p Hi -n 4 "$@") >/dev/null 2>"$words" </dev/null
    status=$?
    printf '%s MiB %s: status %s: %s\n' "$limit" "$*" "$status" "$(tail -n 1 "$words" | cut -c 1-200)"
}
for limit in $(seq "$from" "$step" "$to"); do
    try "$limit" "$@"
    [ "$status" = 0 ] || { [ "$status" = 1 ] && grep -q '^glinfer: ' "$words"; } || failed=1
    [ "$limit" -gt 200 ] || grep -qE '^glinfer: cannot open a device: the driver may need [0-9]+ MiB of address space, but' "$words" || failed=1
    fitting=$(sed -n 's/.* a context of \([0-9]*\) would fit$/\1/p' "$words")
    [ -z "$fitting" ] || { try "$limit" "$@" -c "$fitting" && [ "$status" = 0 ]; } || failed=1
done
exit "$failed"
