#!/bin/sh
# tune.sh GLINFER MODEL GLSL: a shape that is fast and wrong is not taken. The kernels of the folder GLSL are
# changed so that eight pairs an invocation are wrong and everything else is slow. Status 77: no device, or one
# that has no such shape to try.
glinfer=$1
model=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

"$glinfer" info 2>/dev/null | grep -q llvmpipe || exit 77
cp -r "$3" "$dir/glsl" || exit 1
sed -i 's/^    gemv_walk(tiles, gl_LocalInvocationIndex % 8u, slice, y);$/    for (uint i = 0u; i < (PAIRS == 8 ? 1u : 256u); i++) {\
        gemv_walk(tiles, gl_LocalInvocationIndex % 8u + (params.n_block == 0u ? i : 0u), slice, y);\
    }\
    y[0] *= PAIRS == 8 ? 0.5 : 1.0;/' "$dir/glsl/gemv/gemv_row.glsl"
cmp -s "$3/gemv/gemv_row.glsl" "$dir/glsl/gemv/gemv_row.glsl" && echo 'FAIL: nothing was changed' && exit 1

export XDG_CACHE_HOME="$dir/cache" GLINFER_GLSL_DIR="$dir/glsl"
wrong='gemv_.* with texel:8:8:0 computes something else'
for seconds in 20 80; do # a busy machine takes longer to come to the wrong shape
    "$glinfer" tune -v -m "$model" --max-seconds "$seconds" >"$dir/table" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
    ! grep -q "$wrong" "$dir/log" || break
done
if ! grep -q "$wrong" "$dir/log"; then
    echo 'FAIL: the wrong shape was not seen'
    cat "$dir/table"
    exit 1
fi
if grep -q 'texel:[0-9]*:8:' "$dir/table" "$dir/cache/glinfer/tuning/"*; then
    echo 'FAIL: the wrong shape was taken'
    exit 1
fi
if ! "$glinfer" tune --reset --json | grep -q '^{"device":"llvmpipe.*,"forgotten":[1-9][0-9]*}$'; then
    echo 'FAIL: what is forgotten is not told as JSON'
    exit 1
fi
# A result in words, without the codes of shapes, and measurements that are removed.
"$glinfer" tune -m "$model" --max-seconds 0.1 >"$dir/result" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
if ! grep -q '^Nothing faster was found; \|^Faster shapes were found for [1-9]' "$dir/result" ||
    grep -q 'texel:\|dispatches' "$dir/result"; then
    echo 'FAIL: the result is not told in words'
    cat "$dir/result"
    exit 1
fi
if ! "$glinfer" tune --reset | grep -q '^removed the measurements of [1-9][0-9]* kernels* on llvmpipe'; then
    echo 'FAIL: what is removed is not told'
    exit 1
fi
