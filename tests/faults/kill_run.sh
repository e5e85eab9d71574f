#!/usr/bin/env bash
# kill_run.sh GLINFER MODEL [N]: kills `glinfer run` N times (4) with SIGKILL while it fills an empty cache. The next run finds
# nothing damaged there and answers as always.
set -u
glinfer=$1 model=$2 n=${3:-4}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache MESA_SHADER_CACHE_DIR=$folder/mesa GLINFER_HALF=no
command=("$glinfer" run -v -m "$model" --raw -p Hello --temp 0 -n 12)
run() { "${command[@]}" </dev/null; }

run >"$folder/want" 2>"$folder/words" || { cat "$folder/words"; exit 77; }
begin=$(date +%s%N)
rm -rf "$XDG_CACHE_HOME"
run >/dev/null 2>&1
span=$((($(date +%s%N) - begin) / 1000000))
n_partial=0
for i in $(seq "$n"); do
    rm -rf "$XDG_CACHE_HOME"
    "${command[@]}" </dev/null >/dev/null 2>&1 &
    sleep "$(awk -v ms="$span" -v seed="$i$RANDOM" 'BEGIN { srand(seed); print rand() * ms / 1000 }')"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    n_file=$(find "$XDG_CACHE_HOME" -type f 2>/dev/null | wc -l)
    n_partial=$((n_partial + (n_file > 0)))
    if ! run >"$folder/got" 2>"$folder/words" || ! cmp -s "$folder/want" "$folder/got" ||
        grep -E 'damaged|refused' "$folder/words"; then
        echo "kill $i, $n_file files in the cache: another answer, or a damaged file"
        cat "$folder/words"
        exit 1
    fi
done
echo "$n killed, $n_partial of them with files in the cache"
