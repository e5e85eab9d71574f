#!/bin/sh
# selftest.sh GLINFER MODEL: kernels that are wrong, or do not compile, are found, and others give the same text. Status
# 77: no llvmpipe, whose kernels are named here.
. "$(dirname "$0")/../common.sh"

"$glinfer" info 2>/dev/null | grep -q '^surfaceless: llvmpipe\|: llvmpipe' || exit 77
unset GLINFER_FAULT

# answer [FAULT]: the text of a greedy answer; $dir/log has what is said meanwhile.
answer()
{
    GLINFER_FAULT=$1 "$glinfer" run -v -m "$model" --raw -p 'Once upon a time' -n 12 --temp 0 ${2:-} 2>"$dir/log"
    echo "status $?"
}

# The first start says what the test cost, later ones do not test. Other processes may take their share of the time.
wanted=$(XDG_CACHE_HOME=$dir/cold answer '')
cost=$(sed -n 's/.*the self-test of [0-9]* programs took \([0-9]*\) ms.*/\1/p' "$dir/log")
most=$((2000 * (1 + $(cut -d. -f1 /proc/loadavg 2>/dev/null || echo 0))))
[ "${cost:-999999}" -lt "$most" ] || check 'milliseconds of a first self-test' "$cost" "below $most"
check 'a second start' "$(XDG_CACHE_HOME=$dir/cold answer '')$(grep -c 'the self-test of' "$dir/log")" "${wanted}0"
check 'text with what is in the cache' "$(answer '')" "$wanted"
check 'a known finding is not looked for again' "$(answer '')$(grep -c 'the self-test of' "$dir/log")" "${wanted}0"

for kernel in GEMV_QKV_TEXEL GEMV_RESIDUAL_TEXEL GEMV_GLU_TEXEL GEMV_VOCAB_TEXEL GEMM_ROW_TEXEL 'GEMM_ROW*' \
    ATTENTION_ROW ATTENTION_BATCH_ROW ROPE_KV_FOUR ARGMAX_256 'GEMV_QKV*'; do
    check "text without $kernel, which is wrong" "$(answer "wrong:$kernel")" "$wanted"
    check "$kernel is said to be wrong" "$(grep -c 'computes wrong results: .* is .*, not .*; it is left out' "$dir/log" |
        sed 's/^[1-9][0-9]*$/yes/')" yes
done
check 'text where all projections of one kind are of another form' \
    "$(answer 'wrong:GEMV_GLU_TEXEL' '-ctk q8_0')" "$(answer '' '-ctk q8_0')"

gemma=$(dirname "$model")/tiny-gemma3.gguf
normed=$(model=$gemma answer '')
check 'text without the norm within a projection, which is wrong' "$(model=$gemma answer 'wrong:GEMV_POST*')" "$normed"

# Products in f16 that are wrong have a model compute in f32, which is said, by later processes too.
half()
{
    GLINFER_HALF=yes GLINFER_GEMV=f16 XDG_CACHE_HOME=$dir/half "$@"
}
check 'an answer without products in f16, which are wrong' "$(half answer wrong:GEMV_QKV_SPLIT | tail -1)" 'status 0'
check 'the log speaks of f32' "$(grep -c 'computing in f32 in place of f16' "$dir/log")" 1
half "$glinfer" info >"$dir/report" 2>"$dir/log"
check 'info speaks of f32' "$(grep -c 'fast halves  *yes, but models compute in f32: gemv_qkv.comp .* wrong results: ' "$dir/report" |
    sed 's/^[1-9]$/yes/')" yes

# A failure of one kernel does not affect the tests of later kernels.
adjusted()
{
    XDG_CACHE_HOME=$dir/adjusted "$glinfer" run -m "$model" --raw -p 'Once' -n 4 --repeat-penalty 1.2 "$@" >/dev/null 2>&1
    echo "status $?"
}
check 'adjusted logits, greedy' "$(adjusted --temp 0)" 'status 0'
check 'adjusted logits, sampled after that' "$(adjusted --temp 0.8)" 'status 0'

# The kernel that counts all logits by bins is tested directly, even if the kernel that reads the bins is known good.
sampled()
{
    GLINFER_FAULT=$1 "$glinfer" run -m "$model" --raw -p abc -n 12 --temp 1.1 -s 4 --top-k 0 --top-p "$2" 2>"$dir/log"
    echo "status $?"
}
for top_p in 1 0.9; do
    bins=$(sampled '' $top_p)
    check "an answer with a top_p of $top_p" "$(echo "$bins" | tail -1)" 'status 0'
    check "text without bins of one size, which are wrong, top_p $top_p" "$(sampled wrong:FULL_BINS_256 $top_p)" "$bins"
    check "no text from bins that are wrong, top_p $top_p" "$(sampled 'wrong:FULL_BINS*' $top_p)" 'status 1'
    check "bins are named, top_p $top_p" \
        "$(grep -c 'cannot be used: full_bins.comp .* wrong results: .*; there is no other' "$dir/log")" 1
done
GLINFER_FAULT='wrong:FULL_BINS*' "$glinfer" selftest -v -m "$model" >"$dir/report" 2>"$dir/log"
check 'status of a report with wrong bins' "$?" 1
check 'wrong bins in a report' "$(grep -c '^WRONG .*full_bins.comp' "$dir/report" | sed 's/^[1-9]$/yes/')" yes

for kernel in EMBED_TOKEN:embed_token RMSNORM:norm_rows LAST_ROW:last_row 'ROPE_KV*:rope_kv'; do
    check "${kernel%:*} has no other form" "$(answer "wrong:${kernel%:*}")" 'status 1'
    named=$(grep -c "cannot be used: ${kernel#*:}.comp .* wrong results: .*; there is no other" "$dir/log")
    check "${kernel%:*} is named" "$named" 1
done

check 'nothing is scored by a wrong kernel' \
    "$(GLINFER_FAULT=wrong:LOGPROB "$glinfer" perplexity -m "$model" -f "$0" -c 64 2>&1 >/dev/null |
        grep -c 'cannot be used: logprob.comp .* wrong results: .*; there is no other')" 1
check 'text without drafts, which are wrong' "$(answer wrong:LOGIT_ROWS '--spec-type ngram-simple')" "$wanted"
check 'drafts are said to be wrong' "$(grep -c 'there are no drafts: .* wrong results: ' "$dir/log")" 1
check 'text where a compile fails once' "$(answer 'compile:GEMV_GLU_TEXEL:1')" "$wanted"
check 'text where a kernel does not compile' "$(answer 'compile:GEMV_GLU_TEXEL')" "$wanted"
check 'a fault of no program is said' "$(answer 'wrong:gemv_glu' >/dev/null; grep -c "no program 'gemv_glu'" "$dir/log")" 1
check 'nothing is tested' "$(GLINFER_SELFTEST=off answer 'wrong:EMBED_TOKEN' | tail -1)" 'status 0'

"$glinfer" selftest -v -m "$model" >"$dir/report" 2>"$dir/log"
check 'status of a report' "$?" 0
check 'the result comes before the programs' "$(grep -n '^all right: [2-9][0-9] programs' "$dir/report" | cut -d: -f1 | sed 's/^[5-9]$/yes/')" yes
"$glinfer" selftest -m "$model" >"$dir/summary" 2>"$dir/log"
check 'a summary names no program' "$(grep -c '\.comp' "$dir/summary")$(grep -c '^all right: ' "$dir/summary")" 01
GLINFER_FAULT=wrong:ARGMAX_256 "$glinfer" selftest -m "$model" >"$dir/summary" 2>"$dir/log"
check 'a summary names the wrong programs alone' \
    "$(grep -c '\.comp' "$dir/summary")$(grep -c '^WRONG .*argmax\.comp' "$dir/summary")$(grep -c '^NOT ALL RIGHT: 1 of ' "$dir/summary")" 111
check 'programs of a report' "$(grep -c '^ok .*\.comp' "$dir/report" | sed 's/^[2-9][0-9]$/many/')" many
check 'the drafts are in it' "$(grep -c '^ok .*logit_rows\.comp' "$dir/report")" 1
"$glinfer" selftest -v -m "$model" -np 2 >"$dir/report" 2>"$dir/log"
check 'status of a report on two answers together' "$?" 0
check 'what serves both is in it' "$(grep -c '^ok .*\(embed_batch\|rope_kv_four\|attention_row\)\.comp .* ROWS=2:' "$dir/report")" 3
check 'the report names the driver' "$(grep -c 'llvmpipe\|Mesa' "$dir/report" | sed 's/^[1-9]$/yes/')" yes
for class in V3D ${GLINFER_TEST_ALL:+Mali-G52}; do # weights that read packed rows, and others in the same layer
    GLINFER_CLASS=$class "$glinfer" selftest -v -m "$(dirname "$model")/tiny-qwen3.gguf" >"$dir/report" 2>"$dir/log"
    check "status of a report of mixed types as on $class" "$?" 0
    check "packed rows as on $class" "$(grep -c '^ok .*PACKED=1' "$dir/report" | sed 's/^[1-9][0-9]*$/yes/')" yes
done
GLINFER_FAULT=wrong:ARGMAX_256 "$glinfer" selftest --json -m "$model" >"$dir/report" 2>"$dir/log"
check 'status of a report with a wrong kernel' "$?" 1
check 'a wrong kernel in a report' \
    "$(grep -c '"right":false.*{"program":"argmax.comp WG_SIZE=256[^}]*"result":"WRONG","text":"[^"]*token' "$dir/report")" 1

# NaN weights are an error of the file, not of the kernels.
cp "$model" "$dir/nan.gguf"
head -c 64 /dev/zero | tr '\0' '\377' | dd of="$dir/nan.gguf" bs=1 seek=$(($(wc -c <"$model") - 64)) conv=notrunc 2>/dev/null
"$glinfer" selftest -m "$dir/nan.gguf" >"$dir/report" 2>"$dir/log"
check 'status of weights with NaN' "$?" 1
check 'their tensor is named' "$(grep -c 'nan.gguf: .*\.weight has values that are infinite or no numbers' "$dir/log")" 1

# Without a model it generates some, and removes their files. llvmpipe compiles the lane form faster than rows.
mkdir "$dir/tmp"
GLINFER_BATCH=lane TMPDIR=$dir/tmp "$glinfer" selftest -v >"$dir/report" 2>"$dir/log"
check 'status without a model' "$?" 0
for kernel in gemm_lane gemv_qkv gemv_expert route norm_rope_kv logprob full_bins full_sample; do
    check "$kernel is tested without a model" "$(grep -c "^ok .* $kernel.comp" "$dir/report" | sed 's/^[1-9][0-9]*$/yes/')" yes
done
for type in q4_0 q4_1 q8_0 q4_k q5_k q6_k; do
    check "$type is tested without a model" "$(grep -c "^ok .*gemv_qkv.comp $type " "$dir/report")" 1
done
check 'temporary files' "$(ls "$dir/tmp")" ''
[ "$failures" -eq 0 ]
