#!/bin/bash
# lost_calls.sh GLINFER LIBRARY MODEL: with a call lost, a driver's answer is the same, or none. Status 77: no llvmpipe.
set -u
glinfer=$1 library=$2 model=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$glinfer" info 2>/dev/null | grep -q ': llvmpipe' || exit 77
unset GLINFER_FAULT GLINFER_DISPATCH

# answer VARIABLE N: tokens of a greedy answer, or nothing where the command fails with a sentence.
answer()
{
    XDG_CACHE_HOME=$dir env "$1=$2" "$glinfer" run -m "$model" --raw -p 'Once upon a time' -n 8 --temp 0 --ignore-eos \
        2>"$dir/log" || [ $? = 1 ]
}

wanted=$(answer LOST_COPY 0)
LOST_COUNT=$dir/count LD_PRELOAD=$library answer LOST_COPY 0 >"$dir/text"
read -r n_copy n_dispatch <"$dir/count"
[ "${n_copy:-0}" -gt 50 ] && [ "${n_dispatch:-0}" -gt 50 ] || { echo "counted ${n_copy:-0} copies"; exit 1; }
status=0 n_failed=0
for variable in LOST_COPY LOST_DISPATCH SHORT_GRID; do
    [ $variable = LOST_COPY ] && n=$n_copy || n=$n_dispatch
    for ((i = 1; i <= 7; i++)); do
        at=$((n * i / 8))
        text=$(LD_PRELOAD=$library answer $variable $at)
        if [ -n "$text" ] && [ "$text" != "$wanted" ]; then
            echo "$variable $at of $n: $text"
            status=1
        fi
        [ -n "$text" ] || n_failed=$((n_failed + 1))
    done
done
echo "$n_copy copies, $n_dispatch dispatches, $n_failed of 21 answers refused"
exit $status
