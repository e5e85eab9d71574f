#!/bin/sh
# behaviour.sh GLINFER MODEL: what holds of the command whatever the model says: prompts from
# anywhere, JSON, seeds and chains, interrupts, readers that go away. Status 77: no device or model.
. "$(dirname "$0")/common.sh"

[ -f "$model" ] || exit 77
"$glinfer" info >"$dir/devices" 2>&1 || exit 77

run()
{
    "$glinfer" run -m "$model" --raw --ignore-eos "$@" 2>"$dir/errors"
}

text=$(run -p 'Once upon' -n 9 --temp 0)
check 'a prompt by -p' $? 0
printf 'Once upon\n' >"$dir/prompt"
check 'a prompt by -f' "$(run -f "$dir/prompt" -n 9 --temp 0)" "$text"
check 'a prompt on standard input' "$(run -n 9 --temp 0 <"$dir/prompt")" "$text"
check 'a prompt by -f -' "$(run -f - -n 9 --temp 0 <"$dir/prompt")" "$text"
check 'an escaped prompt' "$(run -p 'Once\x20upon' -n 9 --temp 0)" "$text"
printf 'Once\\x20upon\n' >"$dir/escaped"
check 'an escaped file' "$(run -e -f "$dir/escaped" -n 9 --temp 0)" "$text"
plain=$(run -f "$dir/escaped" -n 9 --temp 0)
check 'a file has its own backslashes' "$(run --no-escape -p 'Once\x20upon' -n 9 --temp 0)" "$plain"
check 'a pipe is appended to -p' "$(printf 'upon\n' | run -p 'Once' -n 9 --temp 0)" "$(run -p 'Once\nupon' -n 9 --temp 0)"
printf 'upon\n' | run -p 'Once' -n 1 >/dev/null
check 'which is said' "$(grep -c 'note: 4 bytes of standard input are appended' "$dir/errors")" 1
printf 'x\n' | run -p 'Once' -n 1 >/dev/null
check 'in the singular too' "$(grep -c 'note: 1 byte of standard input is appended' "$dir/errors")" 1
printf 'upon\n' | run -q -p 'Once' -n 1 >/dev/null
check 'but quietly' "$(wc -c <"$dir/errors" | tr -d ' ')" 0
GLINFER_COFFEE=black run --log-disable -p 'Once' -n 1 -ngl 9 >/dev/null
check 'warnings too' "$(wc -c <"$dir/errors" | tr -d ' ')" 0

run -p 'Once upon' -n 9 --temp 0 --json --n-probs 3 >"$dir/json"
check 'json ends well' $? 0
check 'json is one line' "$(wc -l <"$dir/json" | tr -d ' ')" 1
for field in compile_ms device prompt_tokens tokens text stop probs timings ttft_ms chain_length gpu_waits \
    dispatches_per_token peak_memory_bytes predicted_per_second predicted_cpu_per_token_ms; do
    grep -q "\"$field\":" "$dir/json"
    check "json has $field" $? 0
done
check 'json stops at the limit' "$(grep -c '"stop":"limit"' "$dir/json")" 1
check 'json has three probs a token' "$(grep -o '"logprob"' "$dir/json" | wc -l | tr -d ' ')" 27
"$glinfer" run -m "$model" --raw -p 'Once upon' --json --grammar 'root ::= ""' >"$dir/json" 2>/dev/null
check 'json of an answer without tokens' "$(grep -c '"tokens":\[\],"text":""' "$dir/json")" 1

template='{{ messages[0].content }}{{ " upon" if enable_thinking is false else "" }}'
"$glinfer" run -m "$model" -p 'Once' -n 1 --json --reasoning off --chat-template "$template" >"$dir/json" 2>/dev/null
check 'no thoughts, by a template' "$(grep -o '"prompt_tokens":[^]]*' "$dir/json")" \
    "$(run -p 'Once upon' -n 1 --json | grep -o '"prompt_tokens":[^]]*')"
check 'which has tokens' "$(grep -c '"prompt_tokens":\[[0-9]' "$dir/json")" 1

run -p 'Once upon' -n 90 -c 32 --temp 0 --json >"$dir/json"
check 'json stops at the end of the context' "$(grep -c '"stop":"context"' "$dir/json")" 1
run -p 'Once upon' -n 90 -c 32 --temp 0 --json --context-shift --keep 2 >"$dir/json"
check 'a shift goes on to the limit' "$(grep -c '"predicted_n":90' "$dir/json")" 1

for i in 1 2; do
    check "prompt cache, time $i" "$(run -p 'Once upon' -n 9 --temp 0 --prompt-cache "$dir/cache")" "$text"
done
run -p 'Once upon' -n 9 --temp 0 --prompt-cache "$dir/cache" --json >"$dir/json"
check 'the cache has all but the last token' "$(grep -cE '"cache_n":[1-9].*"prompt_n":1,' "$dir/json")" 1
size=$(wc -c <"$dir/cache")
run -p 'Once upon a time' -n 9 --prompt-cache "$dir/cache" --prompt-cache-ro >/dev/null
check 'a cache that is only read' "$(wc -c <"$dir/cache")" "$size"
run -p 'Once upon' -n 9 --prompt-cache "$dir/cache" --prompt-cache-all >/dev/null
check 'a cache with the answer' "$([ "$(wc -c <"$dir/cache")" -gt "$size" ] && echo larger)" larger
run -p 'Once upon' -n 9 --prompt-cache "$dir/cache" -ctk f32 >/dev/null
check 'a cache of another type' "$?$(grep -c 'was saved with keys in f16' "$dir/errors")" 11
run -p 'Once upon' -n 9 --prompt-cache "$dir/prompt" >/dev/null
check 'a cache file that is not a saved session' "$?$(grep -cE 'not enough for a saved|not a saved session' "$dir/errors")" 11
check 'a file of another kind is left alone' "$(cat "$dir/prompt")" 'Once upon'

run -p 'Once upon' -n 1 --show-timings >/dev/null
check 'compiling has a time of its own' "$(grep -cE '^compile  *[0-9.]+ ms$' "$dir/errors")" 1
check 'one token has no speed of its own' "$(grep -c '^answer  *1 token, which came' "$dir/errors")" 1

check 'plain text that was asked for is not noted' "$(grep -c 'as plain text' "$dir/errors")" 0
"$glinfer" run -m "$model" -p 'Once upon' -n 1 >/dev/null 2>"$dir/errors"
check 'plain text of a model without a chat template is' "$(grep -c 'as plain text' "$dir/errors")" \
    "$("$glinfer" info -m "$model" --json | grep -c '"chat_template":"none"')"

run -p 'Once upon' -c 16 >/dev/null
check 'a full context is named' "$(grep -c 'the context of 16 tokens is full' "$dir/errors")" 1

sampled=$(run -p 'Once upon' -n 20 -s 5 --temp 1.5 --chain 1)
check 'a seed in chains of 7' "$(run -p 'Once upon' -n 20 -s 5 --temp 1.5 --chain 7)" "$sampled"
check 'a seed and indirect grids' \
    "$(GLINFER_DISPATCH=indirect run -p 'Once upon' -n 20 -s 5 --temp 1.5)" "$sampled"

long=$(run -p 'Once upon' -n 40 -s 5 --temp 1.5 --chain 4)
for place in EMBED_BATCH:1 EMBED_TOKEN:20 EMBED_TOKEN:37; do # in the prompt, in the answer
    check "the text after a lost context ($place)" \
        "$(GLINFER_FAULT="lost:$place" run -p 'Once upon' -n 40 -s 5 --temp 1.5 --chain 4)" "$long"
    check "the recovery is said ($place)" "$(grep -c 'recovering' "$dir/errors")" 1
done
penalties='--temp 0.8 --seed 7 --repeat-penalty 1.3 --mirostat 2 --mirostat-ent 3'
penalised=$(run -p 'Once upon' -n 40 $penalties --chain 1)
check 'penalties in chains of 32' "$(run -p 'Once upon' -n 40 $penalties --chain 32)" "$penalised"
check 'penalties after a lost context' \
    "$(GLINFER_FAULT=lost:EMBED_TOKEN:20 run -p 'Once upon' -n 40 $penalties)" "$penalised"
check 'greedy penalties' "$(run -p 'Once upon' -n 20 --temp 0 --presence-penalty 2 --chain 32)" \
    "$(run -p 'Once upon' -n 20 --temp 0 --presence-penalty 2 --chain 1)"
all='--samplers penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature;adaptive_p --dry-multiplier 0.8'
all="$all --dry-base 2 --dry-allowed-length 1 --dry-penalty-last-n -1 --dry-sequence-breaker none --top-nsigma 2"
all="$all --dry-sequence-breaker \\n --typical 0.9 --xtc-probability 0.5 --xtc-threshold 0.05 --dynatemp-range 0.3"
all="$all --dynatemp-exp 1.2 --repeat-last-n 32 --frequency-penalty 0.1 --adaptive-target 0.4 --adaptive-decay 0.8 -l 5+1"
run -p 'Once upon' -n 20 -s 3 $all >/dev/null
check 'all samplers together' $? 0
check 'an order by letters' "$(run -p 'Once upon' -n 20 -s 3 --sampler-seq kpmt)" \
    "$(run -p 'Once upon' -n 20 -s 3 --samplers 'top_k;top_p;min_p;temperature')"
run -p 'Once upon' -n 1 --samplers 'top_k;tfs_z' >/dev/null
check 'an unknown sampler' $? 1
check 'an unknown sampler is named' "$(grep -c "invalid sampler 'tfs_z'" "$dir/errors")" 1
run -p 'Once upon' -n 1 -l 5 >/dev/null
check 'a logit bias without a number' $? 2
prompt='Once upon a time there was a long prompt in many batches'
long_prompt=$(run -p "$prompt" -n 20 -ub 8 --temp 0)
check 'the text after a context lost in the middle of a prompt' \
    "$(GLINFER_FAULT=lost:EMBED_BATCH:3 run -p "$prompt" -n 20 -ub 8 --temp 0)" "$long_prompt"
check 'which is said' "$(grep -c 'recovering' "$dir/errors")" 1
if ! grep -q 'driver quirks.*no-count' "$dir/devices"; then # where dispatches are not counted
    check 'the text after a dispatch that was left out' \
        "$(GLINFER_FAULT=skip:EMBED_TOKEN:20 run -p 'Once upon' -n 40 -s 5 --temp 1.5 --chain 4)" "$long"
fi
GLINFER_FAULT=lost:EMBED_TOKEN run -p 'Once upon' -n 9 --temp 0 >/dev/null
check 'lost twice' $? 1
check 'is named' "$(grep -c 'recovered once and failed again' "$dir/errors")" 1

run -p 'Once upon' -n 9 >/dev/full
check 'a full disk' $? 1
check 'a full disk is named' "$(grep -c 'No space left' "$dir/errors")" 1
"$glinfer" profile -m "$model" -p 64 -n 2 --json >/dev/full 2>"$dir/errors" # more than a buffer
check 'a full disk after a long line' $? 1
check 'is named' "$(grep -c 'No space left' "$dir/errors")" 1

{
    run $endless -p 'Once upon'
    echo $? >"$dir/status"
} | head -c 1 >"$dir/head"
check 'a reader that goes away' "$(cat "$dir/status")" 141
check 'is nothing to speak of' "$(grep -vc -e 'note:' -e 'warning:' "$dir/errors")" 0

for command in 'tokenize' 'run' ''; do # less than a buffer, and more
    {
        sleep 0.1
        "$glinfer" $command --help 2>"$dir/errors"
        echo $? >"$dir/status"
    } | true
    check "a help $command that nobody reads" "$(cat "$dir/status")" 0
    check 'is nothing to speak of' "$(wc -c <"$dir/errors" | tr -d ' ')" 0
done
check 'the help of a command' "$("$glinfer" help chat | cksum)" "$("$glinfer" chat --help | cksum)"
"$glinfer" run --help >/dev/full 2>"$dir/errors"
check 'a help on a full disk' $? 1

mkfifo "$dir/fifo"
(exec 3<>"$dir/fifo"; exec "$glinfer" run -m "$model" -n 5 <"$dir/fifo" 2>/dev/null) &
sleep 1
kill -INT $! 2>/dev/null
# A shell without job control starts background programs with SIGINT ignored, and then they stay so
# unless they ask for it, as glinfer does.
wait $!
check 'an interrupt' $? 130

check 'tokens of all bytes' "$(printf 'a\000b\377' | "$glinfer" tokenize -m "$model" >/dev/null; echo $?)" 0
check 'no tokens as json' "$("$glinfer" tokenize -m "$model" --json --no-bos </dev/null)" '[]'
check 'tokens as json' "$(printf 'a' | "$glinfer" tokenize -m "$model" --json --no-bos | head -c 1)" '['
"$glinfer" info -m "$model" --json >"$dir/info"
check 'info of a model' $? 0
"$glinfer" info -m "$model" -c 100000 >/dev/null 2>"$dir/errors"
check 'a context beyond training is warned of' "$(grep -c 'warning: a context of 100000 is more than' "$dir/errors")" 1
GLINFER_HALF=1 "$glinfer" info >/dev/null 2>"$dir/errors"
check 'a warning comes once' "$(grep -c 'warning: GLINFER_HALF' "$dir/errors")" 1
check 'a list as JSON' "$("$glinfer" info --json --list-devices 2>/dev/null | head -c 1)" '['
"$glinfer" info -m "$model" --mem-budget 1K >/dev/null 2>"$dir/errors"
check 'info of a model over the budget' $? 1
check 'with sizes that can be read' "$(grep -cE 'takes [0-9.]+ MiB on the device, the budget is 1 KiB' "$dir/errors")" 1
"$glinfer" run -m "$model" --raw -p x -n 1 --mem-budget 1K 2>"$dir/errors"
check 'a model over the budget' $? 1

for format in md csv json jsonl sql; do
    lines=$("$glinfer" bench -m "$model" -p 4 -n 2 -r 1 -o "$format" 2>/dev/null | wc -l)
    [ "$lines" -ge 2 ]
    check "bench in $format" $? 0
done
"$glinfer" bench -m "$model" -p 4 -n 0 -r 1 -o csv 2>/dev/null | tail -n 1 | grep -q ',,'
check 'bench leaves what is unknown empty in csv' $? 0
"$glinfer" bench -m "$(dirname "$model")/../folders/llama" --quantize q4_0 -p 4 -n 0 -r 1 -o none 2>/dev/null
check 'bench takes a folder and its type' $? 0
check 'and NULL in sql' "$("$glinfer" bench -m "$model" -p 4 -n 0 -r 1 -o sql 2>/dev/null | grep -c ', NULL, ')" 1
"$glinfer" bench -m "$model" -p 4 -n 2 -r 1 -np 1,2 2>/dev/null >"$dir/table"
check 'a list of sequences' "$(grep -cE '\| +tg2( x2)? \|' "$dir/table")" 2
check 'a table of 120 columns' "$(awk 'length > 120' "$dir/table" | wc -l | tr -d ' ')" 0
check 'a build' "$(grep -cE '^build: [0-9a-f.]+ \([0-9]+\)$' "$dir/table")" 1
check 'all columns' "$("$glinfer" bench -v -m "$model" -p 4 -n 0 -r 1 2>/dev/null | grep -c 'TTFT ms')" 1

"$glinfer" run -v -m "$model" --raw -p Once -n 4 >/dev/null 2>"$dir/details"
check '-v logs device, model, memory and seed' \
    "$(grep -cE '^(device  .*: |model   .*: |memory  .* context of [0-9]+: |seed [0-9]+$)' "$dir/details")" 4
check '-v leaves out submissions' "$(grep -c '^submission' "$dir/details")" 0
check '-vv logs submissions' \
    "$("$glinfer" run -vv -m "$model" --raw -p Once -n 4 2>&1 >/dev/null | grep -c '^submission' | sed 's/^[1-9][0-9]*$/yes/')" yes

"$glinfer" bench -m "$model" -p 4,8 -n 2 -r 2 -o json --svg "$dir/sweep.svg" >"$dir/before.json" 2>/dev/null
check 'bench with a plot' $? 0
"$glinfer" bench -m "$model" -p 4 -n 0 -r 1 -ub 0,1024 -o jsonl >"$dir/rows" 2>/dev/null
check 'bench says what batches there are' "$(grep -c '"n_ubatch": 512' "$dir/rows")" 2
"$glinfer" bench -m "$model" -p 0 -n 3 -r 2 -np 3 -o jsonl >"$dir/rows" 2>/dev/null
check 'bench of several sequences' "$(grep -c '"n_parallel": 3' "$dir/rows")" 1
# A warm-up of two sequences takes joint steps too: the fourth of them is the second run's.
GLINFER_FAULT=lost:EMBED_BATCH:4 "$glinfer" bench -m "$model" -p 0 -n 3 -r 1 -np 2 >/dev/null 2>"$dir/errors"
check 'a bench warms up what it measures' "$?$(grep -c 'lost the context' "$dir/errors")" 11
# The test of one sequence, after the test of two, is the one that ends.
"$glinfer" bench -m "$model" -p 0 -n 2,100000 -np 1,2 -r 1 --no-warmup --progress >/dev/null 2>"$dir/errors" &
for turn in $(seq 600); do
    ! grep -q 'tg100000:' "$dir/errors" || break
    sleep 0.1
done
begin=$(date +%s)
kill -INT $! 2>/dev/null
wait $!
check 'a bench that is interrupted' $? 130
check 'ends soon' "$([ $(($(date +%s) - begin)) -lt 20 ] && echo soon)" soon
check 'a plot of two points' "$(grep -c '<circle' "$dir/sweep.svg")" 2
"$glinfer" bench -m "$model" -p 4 -n 2 -r 2 --compare "$dir/before.json" >"$dir/table" 2>/dev/null
check 'bench that compares' $? 0
check 'a sentence for each row' "$(grep -cE ' (pp4|tg2): .* (than|the same as) ' "$dir/table")" 2
check 'of two runs' "$(grep -c 'but two runs are too few to know the noise: -r 3' "$dir/table")" 2
check 'the most that shares are of' "$(grep -cE '^max: [0-9.]+ GB/s' "$dir/table")" 1

"$glinfer" profile -m "$model" -p 4 -n 2 --json --trace "$dir/trace.json" --svg "$dir/roof.svg" \
    >"$dir/profile.json" 2>/dev/null
check 'profile as json' $? 0
check 'profile of both stages' "$(grep -o '"stage":' "$dir/profile.json" | wc -l | tr -d ' ')" 2
check 'a trace of gemv' "$([ "$(grep -c 'gemv_' "$dir/trace.json")" -gt 0 ]; echo $?)" 0
check 'a roofline' "$(grep -c 'Gflop/s</text>' "$dir/roof.svg")" 2
run -p 'Once upon' -n 3 --temp 0 --json >"$dir/short.json"
number() { grep -o "\"$1\": *[0-9.]*" "$dir/short.json" | sed 's/.*: *//'; }
check 'three tokens are two steps' \
    "$(awk "BEGIN { printf \"%.0f\", $(number predicted_ms) * $(number predicted_per_second) / 1000 }")" 2

# gemm_tile TILE: the prompt kernel that a plan has with GLINFER_GEMM=TILE where products are taken in f16
gemm_tile()
{
    GLINFER_HALF=yes GLINFER_BATCH=split GLINFER_GEMM=$1 GLINFER_SELFTEST=off "$glinfer" profile --plan -m "$model" \
        --precision f16 -p 64 -n 0 2>/dev/null | grep -o 'gemm[a-z_]*\.comp' | sort -u | tr -d '\n'
}
check 'a tile that f16 has' "$(gemm_tile 64x64)" gemm_half.comp
check 'a tile of f32 alone' "$(gemm_tile narrow)" gemm.comp

for command in 'profile -n 1' 'bench -p 4,8 -n 0 -r 1'; do
    "$glinfer" $command -m "$model" --svg "$dir/no/such.svg" >"$dir/table" 2>"$dir/errors"
    check "$command: a picture that cannot be written" $? 1
    check "$command: nothing is measured for it" "$(wc -c <"$dir/table" | tr -d ' ')" 0
done
"$glinfer" bench -m "$dir/missing.gguf" -p 4 >"$dir/table" 2>"$dir/errors"
check 'a bench of nothing' $? 1
check 'prints nothing' "$(wc -c <"$dir/table" | tr -d ' ')" 0

[ "$failures" -eq 0 ]
