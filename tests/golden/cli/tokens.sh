#!/bin/sh
# tokens.sh GLINFER MODELS ROWS [NAME...]: the tokens that ROWS (data/tiny.tokens) hold of the named models, or of all, by
# direct and indirect dispatches and within OpenGL ES 3.1; greedy ones of persistent steps where NAME begins with "persistent:".
# They are those of llvmpipe: elsewhere sums are rounded otherwise. Status 77: another device, or none.
. "$(dirname "$0")/common.sh"

rows=$3
shift 3
"$glinfer" info 2>/dev/null | grep -q llvmpipe || exit 77
GLINFER_HALF=no
export GLINFER_HALF

# compare MODEL KIND VARIABLE FLAG...
compare()
{
    row="$1 $2"
    tokens=$(sed -n "s/^$row //p" "$rows")
    [ -n "$tokens" ] || check "row of $row" none one
    file=$model/$1.gguf
    variable=$3
    shift 3
    found=$(env "$variable" "$glinfer" run -m "$file" -p 'once upon a time there was' --raw --ignore-eos -n 24 --json "$@" \
        2>"$dir/errors" | sed 's/.*"tokens":\[\([0-9,]*\)\].*/\1/')
    check "$row, $variable" "$found" "$tokens"
}

[ $# -gt 0 ] || set -- $(sed -n 's/ greedy .*//p' "$rows")
for name; do
    if [ "$name" != "${name#persistent:}" ]; then
        compare "${name#persistent:}" greedy GLINFER_DISPATCH=persistent:1:128 --temp 0
        continue
    fi
    for variable in GLINFER_DISPATCH=direct GLINFER_DISPATCH=indirect GLINFER_LIMITS=es31; do
        compare "$name" greedy "$variable" --temp 0
        compare "$name" sampled "$variable" --temp 0.9 --seed 11
    done
done
[ "$failures" -eq 0 ]
