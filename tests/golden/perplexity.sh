#!/bin/sh
# perplexity.sh GLINFER MODEL TEXT REFERENCE [--bos]: `glinfer perplexity` finds what an independent
# engine found (tools/golden/perplexity_reference.py), within 0.05 %. With --bos on a copy of the model that
# wants BOS before texts. Status 77: no device.
glinfer=$1
model=$2
text=$3
reference=$4

"$glinfer" info >/dev/null 2>&1 || exit 77

if [ "$5" = --bos ]; then
    key=tokenizer.ggml.add_bos_token
    dir=$(mktemp -d) || exit 1
    trap 'rm -rf "$dir"' EXIT
    cp "$model" "$dir/bos.gguf" && chmod u+w "$dir/bos.gguf" || exit 1
    model=$dir/bos.gguf
    at=$(LC_ALL=C grep -abo "$key" "$model" | head -n 1 | cut -d : -f 1)
    # The key is followed by its type, 4 bytes, and the value.
    printf '\001' | dd of="$model" bs=1 seek=$((at + ${#key} + 4)) conv=notrunc 2>/dev/null || exit 1
fi

# Words of the reference's last line: perplexity X error Y tokens N
word()
{
    awk -v name="$1" '$1 == "perplexity" { for (i = 1; i < NF; i += 2) if ($i == name) print $(i + 1) }' "$reference"
}

printed=$("$glinfer" perplexity -m "$model" -f "$text" -c 128 -ctk f32 -ctv f32) || exit 1
printf '%s\n' "$printed"
printf '%s\n' "$printed" | awk -v wanted="$(word perplexity)" -v wanted_error="$(word error)" '
    function near(found, wanted, share) {
        return wanted > 0 && found > wanted * (1 - share) && found < wanted * (1 + share)
    }
    /^Final estimate: PPL = / { has_passed = near($5, wanted, 0.0005) && near($7, wanted_error, 0.01) }
    END { if (!has_passed) print "FAIL: wanted " wanted " +/- " wanted_error; exit !has_passed }' || exit 1

json=$("$glinfer" perplexity -m "$model" -f "$text" -c 128 --chunks 3 --json) || exit 1
printf '%s\n' "$json" | grep -q '"chunks":3,"scored_tokens":189,' || exit 1
"$glinfer" perplexity -m "$model" -f "$text" -c 512 2>&1 | grep -q 'two windows of 512 need 1024' || exit 1
"$glinfer" perplexity -m "$model" -f "$text" --chunks 1 2>&1 | grep -q 'windows of [1-9][0-9]* instead of 512' || exit 1
printf 'a' | "$glinfer" perplexity -m "$model" 2>&1 | grep -q 'two windows of 4 need 8' || exit 1
