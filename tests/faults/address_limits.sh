#!/usr/bin/env bash
# address_limits.sh GLINFER MODEL [FROM STEP TO]: `glinfer run` under limits on its address space (ulimit -v, MiB) answers or
# refuses with a sentence; no signal ends it, though drivers do not look whether they get memory.
set -u
glinfer=$1 model=$2
words=$(mktemp)
trap 'rm -f "$words"' EXIT
failed=0
for limit in $(seq "${3:-180}" "${4:-30}" "${5:-420}"); do
    (ulimit -v $((limit * 1024)); exec timeout 100 "$glinfer" run -m "$model" --raw -p Hi -n 4) >/dev/null 2>"$words" </dev/null
    status=$?
    printf '%s MiB: status %s: %s\n' "$limit" "$status" "$(tail -n 1 "$words" | cut -c 1-150)"
    [ "$status" = 0 ] || { [ "$status" = 1 ] && grep -q '^glinfer: ' "$words"; } || failed=1
done
exit "$failed"
