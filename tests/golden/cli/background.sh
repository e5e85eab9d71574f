#!/bin/sh
# background.sh GLINFER MODEL GLSL: tests a chain of steps as one dispatch, which another process compiles during an
# answer. A later run uses it and gives the same tokens. A wrong program, made by a change in a copy of the folder
# GLSL, is not used. Status 77: no device, or no software renderer.
. "$(dirname "$0")/common.sh"
glsl=$3

"$glinfer" info 2>/dev/null | grep -q llvmpipe || exit 77
export XDG_CACHE_HOME="$dir/cache"

run()
{
    "$glinfer" run -m "$model" --raw --ignore-eos -p 'Once upon' -n 30 --temp 0 "$@" 2>"$dir/errors"
}

text=$(run)
check 'many dispatches' $? 0
export GLINFER_DISPATCH=background:1
check 'the tokens of who asks' "$(run -v)" "$text"
grep -q 'another process compiles' "$dir/errors"
check 'another process is asked' $? 0

dispatch=
for _ in $(seq 120); do
    dispatch=$(run --json | sed 's/.*"dispatch":"\([a-z]*\)".*/\1/')
    [ "$dispatch" = persistent ] && break
    sleep 0.5
done
check 'what it compiled is taken' "$dispatch" persistent
check 'the tokens of who takes it' "$(run)" "$text"
check 'what was found is kept' "$(cat "$dir"/cache/glinfer/persistent/* | wc -l | tr -d ' ')" 1

GLINFER_DISPATCH=multi run --json | grep -q '"dispatch":"direct"'
check 'multi is obeyed' $? 0

cp -r "$glsl" "$dir/glsl" || exit 1
sed -i 's/StepNow(state.token,/StepNow(state.token + 1u,/' "$dir/glsl/persistent/grid_walk.glsl"
cmp -s "$glsl/persistent/grid_walk.glsl" "$dir/glsl/persistent/grid_walk.glsl" && echo 'FAIL: nothing was changed' && exit 1
check 'the tokens beside a wrong dispatch' \
    "$(GLINFER_GLSL_DIR="$dir/glsl" GLINFER_DISPATCH=persistent:1 run)" "$text"
grep -q 'its tokens are not those of many dispatches' "$dir/errors"
check 'a wrong dispatch is refused' $? 0

[ "$failures" -eq 0 ]
