#!/bin/sh
# tiny_folders.sh LLAMA_CPP [PYTHON]: makes tests/data/folders, their twins, golden files and adapters anew. LLAMA_CPP is a tree
# of llama.cpp; PYTHON has the wheels transformers, torch, safetensors, gguf and xllamacpp.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
tree=$1 python=${2:-python3}
folders=$top/tests/data/folders
golden=$top/tests/golden/data
twins=$(mktemp -d)
trap 'rm -rf "$twins"' EXIT

"$python" "$top/tools/golden/folder/make_tiny_folder.py" "$folders"
for folder in "$folders"/*/; do
    name=$(basename "$folder")
    case $name in mlx_*) continue ;; esac # of tools/golden/mlx
    "$python" "$top/tools/golden/folder/folder_twin.py" "$tree" "$folder" "$twins/$name.gguf" --list "$folders/$name.twin"
    case $name in
    *bert* | embedding*) ;;
    *) "$python" "$top/tools/golden/golden.py" "$twins/$name.gguf" "$golden/folder.prompts.json" \
        "$golden/folders/$name.golden" --steps 8 --n-ctx 256 2>/dev/null ;;
    esac
done
"$python" "$top/tools/golden/folder/make_folder_peft.py" "$tree" "$folders" "$top/tests/data/peft" smollm2 smollm3 qwen2 qwen3 qwen35 gemma2 gemma3 gemma4 granite granite4_dense phi3_short olmo2 lfm2 gpt_oss
