#!/bin/sh
# time_boxes.sh GLINFER MODEL: a kernel that is a hundred times slower than its class is cut into
# submissions that keep to --max-batch-ms, the text stays, and an interrupt ends a prompt within a few
# of them. Status 77: no device.
. "$(dirname "$0")/common.sh"
cd "$dir" || exit 1
"$glinfer" info >devices 2>&1 || exit 77
unset GLINFER_DISPATCH GLINFER_LIMITS

n=16
slow=30
! grep -q llvmpipe devices || n=5 slow=10 # takes as long as more does elsewhere
i=0
while [ "$i" -lt "$n" ]; do
    printf 'word %s of a long prompt. ' "$i"
    i=$((i + 1))
done >prompt

# run FLAGS...: as on a V3D, whose prompt kernels every device can run.
run()
{
    GLINFER_CLASS=V3D "$glinfer" run -m "$model" --raw -f prompt -c 512 -n 8 --temp 0 "$@"
}

# plan FLAGS...: writes what a profile would run to the file plan; without the self-test, which runs it.
plan()
{
    GLINFER_SELFTEST=off "$glinfer" profile --plan "$@" >plan 2>errors || cat errors
}

# Submissions that are estimated over 5 ms although they could be cut: all but the ones that time a
# program. The text of -vv has a line for each: submission: PIECES pieces, MS ms, estimated MS.
run >wanted 2>errors || cat errors
GLINFER_FAULT="slow:GEMM_LANE*:$slow" run -vv --max-batch-ms 5 >found 2>log
check 'text of a slow kernel' "$(cat found)" "$(cat wanted)"
n=$(grep -c '^submission: ' log)
if [ "$n" -lt 20 ]; then
    echo "FAIL a slow kernel has only $n submissions"
    failures=$((failures + 1))
fi
over=$(sed -n 's/^submission: \([0-9]*\) pieces.*estimated \([0-9.]*\)$/\1 \2/p' log |
    awk '$1 > 1 && $2 > 5' | wc -l | tr -d ' ')
check 'submissions of several pieces that are estimated over their budget' "$over" 0

# The whole prompt takes a minute; timeout sends an interrupt after three seconds.
begin=$(date +%s)
GLINFER_FAULT='slow:GEMM_LANE*:1000' GLINFER_CLASS=V3D timeout -s INT 3 \
    "$glinfer" run -m "$model" --raw -f prompt -c 512 -n 8 --temp 0 >cut 2>errors
status=$?
end=$(date +%s)
# A GPU that reads it in less has nothing to interrupt.
[ "$status" = 0 ] && [ $((end - begin)) -lt 4 ] || check 'status of an interrupted prompt' "$status" 124
if [ $((end - begin)) -gt 30 ]; then
    echo "FAIL an interrupted prompt went on for $((end - begin - 3)) s"
    failures=$((failures + 1))
fi

# A plan runs nothing and has its sums.
export GLINFER_CLASS=V3D
plan -m "$model" -p 512 -n 1
check 'stages of a plan' "$(grep -c 'planned before anything is measured' plan)" 2
check 'totals of a plan' "$(grep -c ' submissions, the longest of ' plan)" 2

# No dispatch is estimated at more than the budget, a step's and experts' neither: all can be cut. On a class
# that is a hundred times slower than the boards', small models are what large ones are there.
models=$(dirname "$model")
export GLINFER_CLASS=softpipe
# llvmpipe would compile for each text longer than softpipe itself runs. Nobody waits for what a plan alone has.
! grep -q llvmpipe devices || export GALLIUM_DRIVER=softpipe
for name in tiny-q4_0 tiny-qwen3moe tiny-mixtral tiny-gemma3 tiny-falcon_h1 tiny-qwen35; do
    plan -m "$models/$name.gguf" -p 128 -d 120 -n 1 --max-batch-ms 20
    check "dispatches of $name that are estimated over the budget" \
        "$(awk '$2 ~ /^[0-9]+$/ && $4 > 20' plan | head -3)" ''
    check "dispatches of $name that are planned" "$(grep -c ' output .* gemv_vocab.comp' plan | sed 's/^[1-9][0-9]*$/some/')" some
done

# Pieces of projections and of attention of a step leave the text as it is.
moe=$models/tiny-qwen3moe.gguf
"$glinfer" run -m "$moe" --raw -p 'a b' -n 4 --temp 0 >wanted 2>errors || cat errors
"$glinfer" run -m "$moe" --raw -p 'a b' -n 4 --temp 0 --max-batch-ms 1 >found 2>errors || cat errors
check 'text of steps in pieces' "$(cat found)" "$(cat wanted)"
plan -m "$moe" -n 1 -d 120 --max-batch-ms 1
for kernel in gemv_vocab attention; do
    check "$kernel of a step runs in pieces" \
        "$(awk -v k=$kernel.comp '$5 > 1 && $6 == k' plan | grep -c PIECES=1 | sed 's/^[1-9][0-9]*$/some/')" some
done

# So do scans of a prompt, a head at a time, whose states go on with the next batch.
for scan in qwen35:delta_scan falcon_h1:ssm_scan; do
    name=$models/tiny-${scan%:*}.gguf
    for ms in 60000 20; do
        "$glinfer" run -m "$name" --raw -p 'a b c d e f g h' -n 2 --temp 0 --max-batch-ms $ms >"text$ms" 2>errors || cat errors
    done
    check "text of ${scan#*:} in pieces" "$(cat text20)" "$(cat text60000)"
    plan -m "$name" -p 16 -n 0 --max-batch-ms 20
    check "${scan#*:} runs in pieces" \
        "$(awk -v k="${scan#*:}.comp" '$5 > 1 && $6 == k' plan | grep -c . | sed 's/^[1-9][0-9]*$/some/')" some
done

# So do groups of 8, whose partial results are their invocations'.
echo 'gemv_vocab 8 320 64 0 row:8:1' >eights.tuning
export GLINFER_TUNING=eights.tuning
"$glinfer" run -m "$moe" --raw -p 'a b' -n 4 --temp 0 --max-batch-ms 1 >found 2>errors || cat errors
check 'text of steps in pieces of groups of 8' "$(cat found)" "$(cat wanted)"
plan -m "$moe" -n 1 -d 120 --max-batch-ms 1
check 'groups of 8 run in pieces' \
    "$(awk '$5 > 1 && $6 == "gemv_vocab.comp" && / WG_SIZE=8 /' plan | grep -c PIECES=1 | sed 's/^[1-9][0-9]*$/some/')" some
unset GLINFER_TUNING

# Heads that share a group run in pieces, too, in a context that may be long.
export GLINFER_CLASS=V3D
for ms in 60000 1; do
    "$glinfer" run -m "$moe" -c 65536 --raw -p 'a b' -n 4 --temp 0 --max-batch-ms $ms >"text$ms" 2>errors || cat errors
done
check 'text of joint attention in pieces' "$(cat text1)" "$(cat text60000)"
plan -m "$moe" -n 1 -d 65000 --max-batch-ms 1
check 'joint attention of a step runs in pieces' \
    "$(awk '$5 > 1 && $6 == "attention.comp" && / JOINT=1 /' plan | grep -c . | sed 's/^[1-9][0-9]*$/some/')" some

[ "$failures" -eq 0 ]
