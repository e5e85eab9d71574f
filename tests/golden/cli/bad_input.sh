#!/bin/sh
# bad_input.sh GLINFER MODEL: whatever is wrong outside, the command says it in one sentence on
# standard error, ends with status 1 or 2 (130 after an interrupt), prints no answer, and leaves the
# cache sound. Status 77: no device.
. "$(dirname "$0")/common.sh"
cd "$dir" || exit 1

"$glinfer" info >devices 2>&1 || exit 77

# refused STATUS WORDS COMMAND...: checks the exit status, and that the only line that is not a note has WORDS.
refused()
{
    wanted=$1
    words=$2
    shift 2
    "$@" >output 2>errors </dev/null
    status=$?
    grep -v -e '^glinfer: note:' -e '^glinfer: warning:' errors >sentences
    lines=$(wc -l <sentences | tr -d ' ')
    if [ "$status" != "$wanted" ] || [ "$lines" != 1 ] || ! grep -qF -e "$words" sentences; then
        printf 'FAIL %s: status %s, wanted %s and "%s":\n' "$*" "$status" "$wanted" "$words"
        cat errors
        failures=$((failures + 1))
    fi
}

# change FILE FROM TO: the model with the first FROM overwritten by TO, which is as long.
change()
{
    at=$(grep -abo "$2" "$model" | head -n 1 | cut -d : -f 1)
    cp "$model" "$1"
    chmod u+w "$1"
    printf "$3" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>dd
}

run()
{
    "$glinfer" run -m "$model" --raw --ignore-eos --temp 0 "$@"
}

#-- files

: >empty.gguf
for flag in --grammar-file -jf -sysf --chat-template-file; do
    refused 1 'glinfer: cannot read missing: No such file or directory' \
        "$glinfer" run -m missing.gguf -p x $flag missing
done
printf 'a\000b' >zero
refused 1 'invalid text in zero: zero byte at offset 1' "$glinfer" run -m missing.gguf -p x -sysf zero
printf text >text
refused 1 'invalid chat template text' "$glinfer" run -m "$model" -p x --chat-template-file text
refused 1 'cannot run the chat template' "$glinfer" run -m "$model" -p x --chat-template '{{ messages'
refused 1 'cannot write missing/cache: No such file or directory' \
    "$glinfer" run -m missing.gguf -p x --prompt-cache missing/cache
refused 1 'empty.gguf: the file is empty' "$glinfer" run -m empty.gguf -p x
size=$(wc -c <"$model")
for part in 3 8 23 24 100 1000 $((size / 2)) $((size - 1)); do
    head -c "$part" "$model" >part.gguf
    refused 1 'not downloaded completely' "$glinfer" run -m part.gguf -p x
done
change magic.gguf GGUF GGML
refused 1 'not a GGUF file' "$glinfer" run -m magic.gguf -p x
change family.gguf llama 'l\033\377ma'
refused 1 'glinfer: family.gguf: the model family "l??ma" is not supported' \
    "$glinfer" run -m family.gguf -p x
change tokenizer.gguf gpt2 gpx2
for command in run bench tokenize; do
    refused 1 'glinfer: tokenizer.gguf: the tokenizer '\''gpx2'\' "$glinfer" $command -m tokenizer.gguf
done
refused 1 'missing.gguf: no such file' "$glinfer" run -m missing.gguf -p x
refused 1 'is a folder' "$glinfer" run -m . -p x
if [ "$(id -u)" != 0 ]; then
    cp "$model" secret.gguf
    chmod 0 secret.gguf
    refused 1 'Permission denied' "$glinfer" run -m secret.gguf -p x
fi

#-- requests

refused 1 'tokens, the context 16: shorten it or ask for a larger context with -c' run -c 16 -p 'A prompt that is longer than the context that it may have.'
refused 1 'shorter context' run -c 16777216 -p x
refused 2 'invalid -n "0"' run -n 0 -p x
refused 2 'the prompt is empty' run
refused 2 'expected a JSON object' run -p x --chat-template-kwargs '[1]'
refused 2 'expected a JSON object' run -p x --chat-template-kwargs '{}} x'
refused 2 'raw and --reasoning exclude each other' run -p x --raw --reasoning off
head -c 2000000 /dev/zero | tr '\000' 'x' >long
refused 1 'tokens, the context 16: shorten it' "$glinfer" run -m "$model" -c 16 --chat-template zephyr -f long
truncate -s 300000000 zeros
refused 1 'cannot read zeros: it is longer than 256 MiB' run -f zeros
check 'an endless line' "$("$glinfer" chat -m "$model" --chat-template chatml <zeros 2>&1 | tail -n 1)" \
    'glinfer: cannot read a line: it is longer than 256 MiB'
run -n 3 -p "$(printf 'a\377\303')" >output 2>errors
check 'invalid UTF-8 is read' $? 0
iconv -f UTF-8 -t UTF-8 output >/dev/null
check 'the answer is valid UTF-8' $? 0

#-- devices

refused 1 'no usable GPU' env __EGL_VENDOR_LIBRARY_FILENAMES=/dev/null "$glinfer" run -m "$model" -p x
if grep -q Mesa devices || "$glinfer" info -v 2>&1 | grep -q Mesa; then
    refused 1 'compute shaders need 3.1' \
        env MESA_GLES_VERSION_OVERRIDE=3.0 "$glinfer" run -m "$model" -p x
fi
refused 2 'is not known' run -dev nonsense -p x
refused 2 'cannot use any device' "$glinfer" info -dev nonsense
refused 1 'cannot use any device' env __EGL_VENDOR_LIBRARY_FILENAMES=/dev/null "$glinfer" info
"$glinfer" run --list-devices -dev nonsense >output 2>errors
check 'a list of no device' $? 2

#-- the environment

# warned VARIABLE=VALUE WARNING ...: opening devices works with all of them, and warns once of each.
warned()
{
    : >wanted
    pairs=$#
    while [ "$pairs" -gt 0 ]; do
        set -- "$@" "$1"
        echo "glinfer: warning: $2" >>wanted
        shift 2
        pairs=$((pairs - 2))
    done
    env "$@" "$glinfer" info >output 2>errors
    check "$*: status" $? 0
    check "$*" "$(grep '^glinfer: warning: GLINFER' errors | sort)" "$(sort wanted)"
}

left_out='is invalid and ignored: expected'
tiles='64x64, 64x64:2, 64x64:3, 32x64:2, 64x32:4, 128x64, narrow, rolled, thin, short, low, few, 2x8, 4x6 or 4x8'
shapes='split, f16, row, texel, halves, bytes, places or texbits'
dispatches='multi, direct, indirect, or persistent or background with [:GROUPS[:SIZE[:SPINS]]], GROUPS 1 to 65535, SIZE 64, 128, 256, 512 or 1024'
limits='es31, blocks=4.., invocations=128.., shared=16384.., alignment=2^n, uniform=16384.., a comma between two'
quirks='RENDERER[@FROM-TO]=FLAG[,FLAG...], a semicolon between two; `man glinfer` has the flags'
warned GLINFER_LIMITS=es32 "GLINFER_LIMITS=es32 $left_out $limits" \
    GLINFER_QUIRKS=V3D "GLINFER_QUIRKS=V3D $left_out $quirks" \
    GLINFER_HALF=1 "GLINFER_HALF=1 $left_out yes or no" \
    GLINFER_PAGES=smal "GLINFER_PAGES=smal $left_out large or small" \
    GLINFER_BATCH=rows "GLINFER_BATCH=rows $left_out split, lane or row" \
    GLINFER_GLSL_DIR=/no/where "GLINFER_GLSL_DIR=/no/where $left_out a folder" \
    GLINFER_GEMM=64 "GLINFER_GEMM=64 $left_out $tiles" \
    GLINFER_GEMV=splitt "GLINFER_GEMV=splitt $left_out $shapes" \
    GLINFER_DISPACH=direct 'GLINFER_DISPACH is unknown and ignored; is it GLINFER_DISPATCH?' \
    GLINFER_DISP=direct 'GLINFER_DISP is unknown and ignored; is it GLINFER_DISPATCH?' \
    GLINFER_COFFEE=black 'GLINFER_COFFEE is unknown and ignored; `glinfer --help all` lists the variables'
# warned_each DISPATCH TILE SHAPE
warned_each()
{
    warned "GLINFER_DISPATCH=persistent$1" "GLINFER_DISPATCH=persistent$1 $left_out $dispatches" \
        "GLINFER_GEMM=$2" "GLINFER_GEMM=$2 $left_out $tiles" \
        "GLINFER_GEMV=$3" "GLINFER_GEMV=$3 $left_out $shapes"
}
warned_each :0 few:1 split:
warned_each :8:7 narrower split:x
warned_each :1:96 64 row:64:1:0:1
warned_each :1:2048 64 splitt
warned_each :1:128:x 64 splitt
if ! grep -q 'subgroups  *yes' devices; then
    GLINFER_DISPATCH=persistent:1:256 "$glinfer" info >output 2>errors # said of each device
    check 'a size of groups that is not there' "$(grep '^glinfer: warning' errors | sort -u)" \
        'glinfer: warning: GLINFER_DISPATCH: groups of 256 are not possible here and ignored: expected 128'
fi
echo nonsense >nonsense.tuning
GLINFER_TUNING=nonsense.tuning "$glinfer" info >output 2>errors
grep -q '^glinfer: warning: GLINFER_TUNING=nonsense.tuning has no effect: the file holds no shapes$' errors
check 'a tuning without shapes' $? 0
refused 1 'the tuning on cannot be read' env GLINFER_TUNING=on "$glinfer" run -m "$model" -p x
"$glinfer" info >output 2>errors
for settings in 'LIMITS=es31 GEMM=few GEMV=row' 'HALF=no GEMM=few:64:4:2:8 GEMV=split:64:2:3' \
    'BATCH=lane GEMM=64x64:2 TUNING=off'; do
    env $(printf 'GLINFER_%s ' $settings) "$glinfer" info >output 2>>errors
done
check 'what is known passes' "$(grep -c 'warning: GLINFER' errors)" 0

#-- the cache

text=$(run -n 5 -p 'Once upon' 2>errors)
: >file
for folder in "$dir/file" /proc/nowhere; do
    check "an answer without the cache $folder" \
        "$(XDG_CACHE_HOME=$folder run -n 5 -p 'Once upon' 2>errors)" "$text"
    XDG_CACHE_HOME=$folder "$glinfer" info --json >output 2>errors
    for field in '"program_cache":' '"cache_refusal":"'"$folder"; do
        check "$field is told with $folder" "$(grep -c "$field" output)" 1
    done
    check "a cache is not claimed with $folder" "$(grep -c '"program_cache":true' output)" 0
done
check 'no folder for a cache is said' "$(env -u HOME -u XDG_CACHE_HOME "$glinfer" run -m "$model" --raw -n 5 -p x 2>&1 >output |
    grep -c 'cannot be kept, so every start compiles again: there is no HOME')" 1
for turn in fresh damaged; do
    check "a $turn cache" "$(XDG_CACHE_HOME=$dir/cache run -n 5 -p 'Once upon' 2>errors)" "$text"
    for file in cache/glinfer/programs/*; do
        [ -f "$file" ] && printf garbage | dd of="$file" bs=1 seek=100 conv=notrunc 2>dd
    done
done
check 'a damaged cache is written again' \
    "$(XDG_CACHE_HOME=$dir/cache run -n 5 -p 'Once upon' 2>errors)" "$text"

#-- in the middle of an answer

{
    run $endless -p x 2>errors
    echo $? >status
} | head -c 1 >output
check 'a reader that goes away' "$(cat status)" 141

# wait_for WORDS FILE: up to a minute.
wait_for()
{
    for turn in $(seq 600); do
        ! grep -q "$1" "$2" || return 0
        sleep 0.1
    done
}

mkfifo fifo
for json in '' --json; do
    : >errors
    # Not by the function: the signal is for the command, not for a shell around it.
    "$glinfer" run -m "$model" --raw --ignore-eos $json $endless -p x >fifo 2>errors &
    exec 3<fifo
    # The warning comes when the model is loaded; JSON says nothing before its end.
    [ -n "$json" ] && wait_for 'a context of' errors || head -c 1 <&3 >output
    kill -INT $! 2>/dev/null
    cat <&3 >output
    wait $!
    status=$?
    exec 3<&-
    check "an interrupt $json" "$status" 130
    check "an interrupt is named $json" "$(grep -c '^glinfer: interrupted$' errors)" 1
    [ -z "$json" ] || check 'what there is' "$(grep -c '"stop":"interrupted"' output)" 1
done

[ "$failures" -eq 0 ]
