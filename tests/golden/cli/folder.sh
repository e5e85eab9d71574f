#!/bin/sh
# folder.sh GLINFER FOLDERS ROWS NAME...: folders of SafeTensors give the tokens that ROWS (data/folders.tokens) hold of their
# GGUF twins in llama.cpp, as they are and once converted; convert leaves nothing where it fails. Status 77: another device.
. "$(dirname "$0")/common.sh"

folders=$model
rows=$3
shift 3
"$glinfer" info 2>/dev/null | grep -q llvmpipe || exit 77
GLINFER_HALF=no
export GLINFER_HALF

# tokens MODEL FLAG...
tokens()
{
    file=$1
    shift
    "$glinfer" run -m "$file" -p 'once upon a time there was' --raw --ignore-eos -n 24 --temp 0 -ctk f32 -ctv f32 --json "$@" \
        2>"$dir/errors" | sed 's/.*"tokens":\[\([0-9,]*\)\].*/\1/'
}

# refused STATUS WORDS COMMAND FLAG...
refused()
{
    status=$1
    words=$2
    shift 2
    "$glinfer" "$@" >"$dir/output" 2>"$dir/errors"
    check "$*" "$? $(grep -c -F -e "$words" "$dir/errors")" "$status 1"
    rm "$dir/output"
}

for name; do
    wanted=$(sed -n "s/^$name //p" "$rows")
    [ -n "$wanted" ] || check "row of $name" none one
    check "$name" "$(tokens "$folders/$name" --quantize none)" "$wanted"
done
(umask 027 && "$glinfer" convert "$folders/$1" "$dir/out.gguf" --quantize NONE 2>"$dir/errors")
check 'a conversion' $? 0
check 'what was written' "$(grep -c "wrote $dir/out.gguf: llama .*, .* KiB\$" "$dir/errors")" 1
check "the mode of a converted file" "$(stat -c %a "$dir/out.gguf")" 640
check "$1, converted" "$(tokens "$dir/out.gguf" --quantize q4_0)" "$(sed -n "s/^$1 //p" "$rows")"
check 'a file keeps its types' "$(grep -c -e '--quantize has no effect' "$dir/errors")" 1

refused 1 'out.gguf: it exists' convert "$folders/$1" "$dir/out.gguf"
(ulimit -f 20 && "$glinfer" convert "$folders/$1" "$dir/large.gguf" 2>"$dir/errors")
check 'a file over the limit' $? 1
check 'a file over the limit is named' "$(grep -c 'large.gguf: cannot write: File too large' "$dir/errors")" 1
"$glinfer" convert "$folders" "$dir/large.gguf" 2>"$dir/errors"
check 'a folder without a model' $? 1
"$glinfer" convert "$dir/out.gguf" "$dir/large.gguf" 2>"$dir/errors"
check 'a file to convert' $? 1
refused 2 'name the model or the folder without it' convert -m "$folders/$1" "$dir/large.gguf"
refused 2 '--quantize sets the type' convert "$folders/$1" "$dir/large.gguf" --outtype q8_0
check 'no remains' "$(cd "$dir" && echo *)" 'errors out.gguf'

# Folders in which a file is missing or wrong.
cp -r "$folders/$1" "$dir/folder" && chmod -R u+w "$dir/folder" && rm "$dir/folder/tokenizer.json"
"$glinfer" info -m "$dir/folder" >/dev/null 2>"$dir/errors"
check 'a missing tokenizer' $? 1
check 'a missing tokenizer is named' "$(grep -c 'tokenizer.json' "$dir/errors")" 1
cp "$folders/$1/tokenizer.json" "$dir/folder" && head -c 3000 "$folders/$1/model.safetensors" >"$dir/folder/model.safetensors"
"$glinfer" info -m "$dir/folder" >/dev/null 2>"$dir/errors"
check 'a cut file' $? 1
check 'a cut file is named' "$(grep -c 'not downloaded completely' "$dir/errors")" 1
cp "$folders/$1/model.safetensors" "$dir/folder"
printf 'first\n{{ x | odd }}\n' >"$dir/folder/chat_template.jinja"
fault="$dir/folder: cannot run the template in chat_template.jinja: line 2 of the chat template: unknown filter 'odd'"
"$glinfer" run -m "$dir/folder" -p x 2>"$dir/errors"
check 'a wrong template' $? 1
check 'the file and the line of a template' "$(grep -c -F "glinfer: $fault; choose one with --chat-template" "$dir/errors")" 1
check 'a fault in a list' "$("$glinfer" info -m "$dir/folder" | grep -c -F "$fault")" 1
"$glinfer" convert "$dir/folder" "$dir/template.gguf" 2>"$dir/errors"
check 'a fault in a converted file' "$("$glinfer" info -m "$dir/template.gguf" | grep -c 'template.gguf: cannot run the chat template: line 2')" 1
printf '%s' '{%- for message in messages %}{{- "<|im_start|>" + message.role + "<|im_end|>" }}{% endif %}' >"$dir/folder/chat_template.jinja"
"$glinfer" run -m "$dir/folder" -p x -n 1 2>"$dir/errors" >"$dir/output"
check 'a wrong template of a known format' $? 0
check 'a format in its place' "$(grep -c "line 1 of the chat template: .*; used in its place: chatml" "$dir/errors")" 1

# A folder of the cache of Hugging Face, whose model lies in a snapshot.
mkdir -p "$dir/models--x--y/snapshots" && cp -r "$folders/$1" "$dir/models--x--y/snapshots/0f"
for folder in "$dir/models--x--y" "$dir/models--x--y/snapshots"; do
    refused 1 "a model is in it: -m $dir/models--x--y/snapshots/0f" info -m "$folder"
done

# An adapter is described, and no model.
for adapter in "$folders/../peft/smollm2" "$folders/../models/tiny-lfm2-4.lora"; do
    "$glinfer" info -m "$adapter" >"$dir/output"
    check 'an adapter' "$(grep -c -e 'LoRA adapter: .glinfer run -m MODEL --lora' -e ' rank  *[24]$' -e ' alpha  *[38]$' "$dir/output")" 3
    check 'no zeros' "$(grep -c ' 0 ' "$dir/output")" 0
    "$glinfer" run -m "$adapter" -p x 2>"$dir/errors"
    check 'an adapter as a model' $? 1
    check 'what to do' "$(grep -c 'a LoRA adapter: give its model with -m and the adapter with --lora' "$dir/errors")" 1
done
rm -rf "$dir/folder" && cp -r "$folders/../peft/smollm2" "$dir/folder" && chmod -R u+w "$dir/folder"
sed -i 's/"r": 2,/"r": 2, "alpha_pattern": {"q_proj": 0.5},/' "$dir/folder/adapter_config.json"
check 'the range of alpha' "$("$glinfer" info -m "$dir/folder" | grep -c ' alpha  *0.5 to 3$')" 1
"$glinfer" info -m "$dir/folder" --json >"$dir/output"
check 'the range of alpha in JSON' "$(grep -c '"min_alpha":0.5,"max_alpha":3' "$dir/output")" 1
check 'no refusal of an adapter' "$(grep -c -e supported -e refusal "$dir/output")" 0
rm "$dir/folder/adapter_config.json"
refused 1 'a LoRA adapter without adapter_config.json' info -m "$dir/folder"

# Adapters in place of their folder, with a scale, and none.
tiny=$folders/../models/tiny-q4_0.gguf
refused 1 'given as the folder that it lies in' run -m "$tiny" -p x --lora "$dir/folder/adapter_model.safetensors"
refused 2 '--lora-scaled takes FILE:SCALE' run -m "$tiny" -p x --lora "$adapter:0.5"
refused 2 '--lora-merge needs an adapter' run -m "$tiny" -p x --lora-merge
[ "$failures" -eq 0 ]
