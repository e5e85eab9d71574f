#!/bin/sh
# tiny_models.sh [PYTHON]: makes the files of tests/data/models and their golden files anew. The models are random,
# 100 to 300 kB each, and cover what differs within the Llama family: weight types, tied and separate
# outputs, shared heads, biases, RoPE scaling, odd sizes. PYTHON has the wheels gguf, scipy and xllamacpp.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
python=${1:-python3}
models=$top/tests/data/models
golden=$top/tests/golden/data

# make NAME OPTIONS...
make() {
    name=$1
    shift
    "$python" "$top/tools/golden/make_tiny_gguf.py" "$models/$name.gguf" "$@"
    "$python" "$top/tools/golden/golden.py" "$models/$name.gguf" "$golden/tiny.prompts.json" \
        "$golden/$name.golden" --steps 24 --n-ctx 512 2>/dev/null
}

# short NAME OPTIONS...: fewer prompts and steps, for families that are made of what others have.
short() {
    name=$1
    shift
    "$python" "$top/tools/golden/make_tiny_gguf.py" "$models/$name.gguf" "$@"
    "$python" "$top/tools/golden/golden.py" "$models/$name.gguf" "$golden/short.prompts.json" "$golden/$name.golden" \
        --steps 8 --n-ctx 512 2>/dev/null
}

# embedding NAME POOLING OPTIONS...
embedding() {
    name=$1 pooling=$2
    shift 2
    "$python" "$top/tools/golden/make_tiny_gguf.py" "$models/$name.gguf" "$@"
    "$python" "$top/tools/golden/embedding_golden.py" "$models/$name.gguf" "$golden/$name.embeddings" --pooling "$pooling" \
        2>/dev/null
}

# encoder NAME POOLING OPTIONS...; $lengths: those of texts
lengths=
encoder() {
    name=$1 pooling=$2
    shift 2
    "$python" "$top/tools/golden/make_tiny_encoder.py" "$models/$name.gguf" "$@"
    "$python" "$top/tools/golden/embedding_golden.py" "$models/$name.gguf" "$golden/$name.embeddings" --pooling "$pooling" \
        $lengths 2>/dev/null
}

# whisper TYPE OPTIONS...
whisper() {
    type=$1
    shift
    "$python" "$top/tools/golden/make_tiny_whisper.py" "$models/tiny-whisper_$type.bin" "$golden/tiny-whisper_$type.towers" \
        --type "$type" "$@"
}

mkdir -p "$models"
make tiny-f32 --types f32 --embd 48 --heads 3 --kv-heads 1 --head-dim 16 --ff 80 --layers 2 --untied
make tiny-f16 --types f16 --embd 64 --heads 4 --kv-heads 4 --ff 96 --layers 2
make tiny-q4_0 --types q4_0 --embd 64 --heads 4 --kv-heads 2 --ff 160 --layers 3 --untied --bias
make tiny-q4_1 --types attn=q4_1,ffn=q4_1,embd=q8_0 --embd 96 --heads 6 --kv-heads 2 --ff 128 --layers 2 \
    --rope-scaling llama3
make tiny-q8_0 --types q8_0 --embd 128 --heads 2 --kv-heads 1 --ff 96 --layers 2 --rope-scaling linear
make tiny-mixed --types attn_q=q4_0,attn_k=q8_0,attn_v=f16,attn_output=q4_1,ffn_gate=q4_0,ffn_up=q8_0,ffn_down=f16,embd=q8_0 \
    --embd 64 --heads 2 --kv-heads 2 --head-dim 80 --ff 128 --layers 2 --untied
# Widths that fill neither blocks nor tiles: heads, network, vocabulary.
make tiny-odd --types f32 --embd 36 --heads 5 --kv-heads 1 --head-dim 24 --ff 37 --vocab 317 --layers 2 --untied
make tiny-smollm3 --arch smollm3 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 96 --layers 5
make tiny-granite --arch granite --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 96 --heads 3 --kv-heads 1 --ff 128 --layers 2 \
    --scales
make tiny-phi3 --arch phi3 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 96 --heads 3 --kv-heads 3 --ff 128 --layers 2 \
    --rot 24 --rope-orig 64 --rope-scaling longrope --untied
make tiny-olmo2 --arch olmo2 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 4 --ff 96 --layers 5 \
    --window 40 --rope-scaling yarn --untied
make tiny-glm4 --arch glm4 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --head-dim 96 --ff 96 \
    --layers 2 --rot 48 --bias --untied
# A mixture with a seed for which rounding to an f16 cache does not tip the choice of an expert.
make tiny-qwen3moe --arch qwen3moe --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 \
    --head-dim 32 --ff 32 --layers 2 --experts 6 --experts-used 2 --seed 2
make tiny-olmoe --arch olmoe --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 4 --ff 32 \
    --layers 2 --experts 6 --experts-used 2 --untied
# A seed for which rounding to an f16 cache stays within the tolerance.
make tiny-gpt-oss --arch gpt-oss --types attn=q8_0,ffn=mxfp4,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --head-dim 32 --ff 96 \
    --layers 4 --experts 5 --experts-used 2 --window 40 --rope-scaling yarn --untied --seed 6
# Gate and up of different types, and widths that are not a multiple of two tiles.
make tiny-moe-mixed --arch qwen3moe --types attn_q=q4_0,attn_k=q8_0,attn_v=f16,ffn_gate=q4_0,ffn_up=q8_0,ffn_down=f16,embd=q8_0 \
    --embd 64 --heads 4 --kv-heads 2 --head-dim 32 --ff 40 --layers 2 --experts 6 --experts-used 2 --seed 3
make tiny-granitemoe --arch granitemoe --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 64 \
    --layers 2 --experts 5 --experts-used 3 --scales
# An expert that all tokens share: with a gate, in several pieces and of types of its own; and without.
make tiny-qwen2moe --arch qwen2moe --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,shared=q8_0,shared_up=q4_0,embd=q8_0 --embd 64 --heads 4 \
    --kv-heads 2 --ff 96 --expert-ff 32 --layers 2 --experts 6 --experts-used 2 --shared 3 --bias --untied
make tiny-granitemoe-shared --arch granitemoe --types attn=q4_0,ffn=q8_0,shared=q8_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 \
    --ff 64 --layers 2 --experts 5 --experts-used 3 --shared 2 --scales
# Layers without rotations among those with a window, which no text here fills: the reference takes it as 4096. A seed for which
# rounding to an f16 cache does not tip the choice of an expert.
make tiny-smallthinker --arch smallthinker --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 32 --layers 5 \
    --experts 6 --experts-used 2 --window 4096 --seed 4
# A mixture that bears the name of the Llama family.
make tiny-mixtral --arch llama --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 64 --layers 2 \
    --experts 4 --experts-used 2
# Layers with a window in a list.
make tiny-olmo3 --arch olmo2 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 4 --ff 96 --layers 5 \
    --window 40 --window-list 4 --untied
# Families that are Llama's but for an order of rows or a scale.
like_llama="--embd 64 --heads 4 --kv-heads 2 --ff 96 --layers 2 --types attn=q8_0,ffn=q4_0,embd=q8_0"
make tiny-exaone4 --arch exaone4 $like_llama --rope-scaling llama3
make tiny-exaone --arch exaone $like_llama
make tiny-internlm2 --arch internlm2 $like_llama --untied --bias
make tiny-ernie4_5 --arch ernie4_5 $like_llama
make tiny-minicpm --arch minicpm $like_llama --scales
make tiny-stablelm --arch stablelm --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 96 --heads 3 --kv-heads 1 --ff 128 --layers 2 \
    --rot 8 --bias --untied
make tiny-stablelm_12b --arch stablelm --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 96 --heads 4 --kv-heads 2 --head-dim 24 --ff 128 \
    --layers 2 --rot 8 --parallel --untied
make tiny-mistral3 --arch mistral3 $like_llama --rope-scaling yarn --head-dim 32
make tiny-hunyuan-dense --arch hunyuan-dense $like_llama --head-dim 32
# Networks without a gate.
make tiny-starcoder2 --arch starcoder2 $like_llama
make tiny-nemotron --arch nemotron $like_llama --rot 8 --untied
make tiny-arcee --arch arcee $like_llama --rope-scaling yarn
make tiny-apertus --arch apertus $like_llama --rope-scaling llama3 --untied
make tiny-phi2 --arch phi2 $like_llama --rot 8 --untied
make tiny-seed_oss --arch seed_oss $like_llama --bias --untied
make tiny-gemma --arch gemma --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 96 --heads 2 --kv-heads 1 --head-dim 64 --ff 128 \
    --layers 2
make tiny-gemma3 --arch gemma3 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --head-dim 64 \
    --ff 64 --layers 6 --window 24 --rope-base 1000000 --rope-scaling linear
# Inputs of layers, shared keys, heads and networks of two sizes; without inputs, keys for values, other numbers of heads.
make tiny-gemma4 --arch gemma4 --line-bpe --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --head-dim 64 \
    --window-head-dim 32 --ff 64 --layers 5 --window 24 --window-list 2 --shared-kv 3 --input 32 --rope-base 1000000 --softcap 10
# Its token ids are the tokenizer's golden file: compare_tokenizer.py --count 150 --golden line_bpe_tokenizer.golden.
make tiny-gemma4_dense --arch gemma4 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 1 --window-kv-heads 2 \
    --head-dim 64 --window-head-dim 32 --ff 64 --layers 3 --window 24 --window-list 3 --rope-base 1000000 --softcap 10
# Four streams of the residual, a low-rank branch, gates of which few are open in the first layers. The reference knows
# inputs of 256, a rank of 64, ten such layers and twenty with keys of their own alone: so it is large for a tiny one.
make tiny-gemma3n --arch gemma3n --types attn=q4_0,ffn=q4_0,ffn_down=q8_0,embd=q8_0,inputs=q4_0,per_layer_token_embd=tq1_0,proj=tq1_0,branch=q4_0,streams=q8_0 \
    --embd 64 --heads 2 --kv-heads 1 --head-dim 32 --ff 64 --layers 22 --window 24 --window-list 2 --shared-kv 2 --input 256 \
    --rope-base 1000000 --vocab 260
# Heads as wide as those of real models, and a prompt that is longer than a driver's loops over them may be.
"$python" "$top/tools/golden/make_tiny_gguf.py" "$models/tiny-gemma4_wide.gguf" --arch gemma4 --types attn=q4_0,ffn=q4_0,embd=q8_0 --embd 64 \
    --heads 2 --kv-heads 1 --head-dim 512 --window-head-dim 256 --ff 64 --layers 3 --window 24 --window-list 2 --shared-kv 1 --input 32 \
    --rope-base 1000000 --softcap 10
"$python" "$top/tools/golden/golden.py" "$models/tiny-gemma4_wide.gguf" "$golden/wide.prompts.json" "$golden/tiny-gemma4_wide.golden" \
    --steps 8 --n-ctx 512 2>/dev/null
make tiny-gemma2 --arch gemma2 --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 96 --heads 4 --kv-heads 2 --head-dim 32 \
    --ff 128 --layers 4 --window 40 --softcap 10
make tiny-qwen3 --arch qwen3 --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --head-dim 80 \
    --ff 96 --layers 3
make tiny-qwen2 --arch qwen2 --types q8_0 --embd 96 --heads 3 --kv-heads 1 --ff 160 --layers 2
# The text of models of pictures. The reference reads no epsilon of qwen2vl: it takes 0.
small="--embd 32 --heads 2 --kv-heads 1 --head-dim 32 --ff 64 --layers 2 --vocab 260 --types attn=q8_0,ffn=q4_0,embd=q8_0"
short tiny-qwen2vl --arch qwen2vl $small --head-dim 16 --norm-eps 1e-20
short tiny-qwen3vl --arch qwen3vl $small
short tiny-qwen3vlmoe --arch qwen3vlmoe $small --ff 32 --experts 5 --experts-used 2
# Mixtures with an expert that all tokens share: with a bias of the choice and a first layer without experts; with norms of heads
# after the rotation, as maincoder's. One with a window.
short tiny-ernie4_5-moe --arch ernie4_5-moe $small --expert-ff 32 --experts 5 --experts-used 2 --shared 2 --leading 1
short tiny-hunyuan-moe --arch hunyuan-moe $small --ff 32 --experts 5 --experts-used 2 --shared 1
short tiny-maincoder --arch maincoder $small
short tiny-mellum --arch mellum $small --ff 32 --layers 4 --experts 5 --experts-used 2 --window 24 --window-list 4 --rope-scaling yarn --untied
# Windows that begin with a layer without one, layers without rotations, sinks; experts' gate and up in one tensor.
short tiny-granite_swa --arch granite_swa $small --layers 5 --window 24 --scales
short tiny-granite_swa_moe --arch granite_swa $small --ff 32 --layers 3 --window 24 --scales --experts 4 --experts-used 2 --shared 1
# A gate for each head of attention's output; rotations of part of a head without a window, of all of it with one.
short tiny-spark2_5 --arch spark2_5 $small --heads 4 --kv-heads 2 --layers 3 --rot 16 --rope-base 1000000 --window 24 --window-list 3
# A mixture with a network next to its experts, in as many layers as there are kinds.
short tiny-gemma4_moe --arch gemma4 $small --layers 3 --window 24 --window-list 3 --window-kv-heads 2 --rope-base 1000000 --softcap 10 \
    --experts 5 --experts-used 2 --expert-ff 32
# Layers that run three times, with a norm between these runs; without it.
short tiny-nanbeige --arch nanbeige $small --loops 3
short tiny-nanbeige_plain --arch nanbeige $small --loops 2 --skip-loop-norm
# Linear attention, and attention whose output has a gate.
make tiny-qwen35 --arch qwen35 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --head-dim 64 --rot 16 \
    --ff 96 --layers 4 --interval 3 --linear-heads 2 --linear-k-heads 1 --linear-dim 128 --next 1
make tiny-qwen35moe --arch qwen35moe --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,shared=q4_0,shared_down=q8_0,embd=q8_0 --embd 64 \
    --heads 2 --kv-heads 1 --head-dim 64 --rot 16 --ff 32 --layers 4 --interval 3 --linear-heads 2 --linear-k-heads 1 \
    --linear-dim 32 --experts 6 --experts-used 2 --shared 1
# The same with heads side by side that share a key, and tensors whose rows alternate: two in the first layer, one in the second.
make tiny-qwen3next --arch qwen3next --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,shared=q4_0,shared_down=q8_0,embd=q8_0 --embd 64 \
    --heads 2 --kv-heads 1 --head-dim 64 --rot 16 --ff 32 --layers 3 --interval 3 --linear-heads 4 --linear-k-heads 2 \
    --linear-dim 32 --experts 6 --experts-used 2 --shared 1 --one-in 1
# A layer after the last, which predicts further tokens, with experts; windows in all layers with attention.
short tiny-qwen35moe_next --arch qwen35moe $small --head-dim 64 --rot 16 --ff 32 --layers 2 --interval 2 --linear-heads 2 --linear-k-heads 1 \
    --linear-dim 32 --experts 4 --experts-used 2 --shared 1 --next 1
short tiny-lfm2_window --arch lfm2 $small --head-dim 16 --layers 4 --interval 2 --rope-base 1000000 --window 24
# Short convolutions in place of attention, which two of five layers have.
make tiny-lfm2 --arch lfm2 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 96 --layers 5 --interval 2 \
    --rope-base 1000000
# Mamba-2 in place of attention, with a norm of each of two groups; beside it in every layer, without one.
make tiny-granitehybrid --arch granitehybrid --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 96 \
    --layers 4 --interval 3 --linear-heads 2 --linear-k-heads 2 --linear-dim 64 --state-dim 128 --scales
make tiny-granitehybrid-moe --arch granitehybrid --types attn=q8_0,ffn=q4_0,shared=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 32 \
    --layers 3 --interval 3 --linear-heads 2 --linear-k-heads 1 --linear-dim 64 --state-dim 128 --scales --experts 6 --experts-used 2 --shared 2
make tiny-falcon_h1 --arch falcon-h1 --types attn=q4_0,ffn=q8_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --head-dim 32 --ff 96 \
    --layers 2 --linear-heads 2 --linear-k-heads 1 --linear-dim 64 --state-dim 256 --rope-base 100000000000
# Layers of one block each; Mamba-2 alone.
make tiny-nemotron_h --arch nemotron_h --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 96 \
    --layers 5 --blocks 'M-M*-' --linear-heads 2 --linear-k-heads 2 --linear-dim 64 --state-dim 128 --untied
make tiny-mamba2 --arch mamba2 --types attn=q8_0,embd=q8_0 --embd 64 --layers 2 --linear-heads 2 --linear-k-heads 1 \
    --linear-dim 64 --state-dim 64
# The same with a first layer of each kind without experts, and layers of each kind with.
make tiny-lfm2moe --arch lfm2moe --types attn=q8_0,ffn=q4_0,ffn_down=q8_0,embd=q8_0 --embd 64 --heads 4 --kv-heads 2 --ff 96 \
    --expert-ff 32 --layers 4 --interval 2 --rope-base 1000000 --experts 6 --experts-used 2 --leading 2
"$python" "$top/tools/golden/embedding_golden.py" "$models/tiny-qwen3.gguf" "$golden/tiny-qwen3.embeddings" --pooling last 2>/dev/null
# A decoder as a reranker.
embedding tiny-qwen3_rank rank --arch qwen3 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --head-dim 32 \
    --ff 64 --layers 1 --pooling 4 --classes 2
# Encoders, whose tokens attend to later ones; the longer texts exceed the window of 24.
embedding tiny-gemma_embedding mean --arch gemma-embedding --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 \
    --head-dim 64 --ff 64 --layers 6 --window 24 --rope-base 1000000 --pooling 1 --dense
# Convolutions that are centred.
embedding tiny-lfm2_embedding cls --arch lfm2 $small --head-dim 16 --layers 4 --interval 2 --rope-base 1000000 --encoder --pooling 2
embedding tiny-eurobert last --arch eurobert $small --head-dim 16 --pooling 3
encoder tiny-bert cls --arch bert --wordpiece --types attn=q8_0,ffn=q4_0,embd=q8_0 --pooling 2
# Its token ids are the tokenizer's golden file: compare_tokenizer.py --count 150 --golden wordpiece_tokenizer.golden.
encoder tiny-bert_rank rank --arch bert --wordpiece --types attn=q8_0,ffn=q4_0,embd=q8_0 --pooling 4 --classes 1 --layers 1
# Its token ids are another: compare_tokenizer.py --count 150 --golden unigram_tokenizer.golden.
encoder tiny-xlm_rank rank --arch bert --unigram --types attn=q8_0,ffn=q4_0,embd=q8_0 --pooling 4 --classes 1 --layers 1
lengths="--lengths 1,40,130,700"
encoder tiny-modern_bert mean --arch modern-bert --types attn=q8_0,ffn=q4_0,embd=q8_0 --pooling 1 --layers 4 --heads 2 --ctx 1024
lengths=
encoder tiny-modern_bert_rank rank --arch modern-bert --types attn=q8_0,ffn=q4_0,embd=q8_0 --pooling 4 --classes 1 --layers 2
encoder tiny-nomic_bert mean --arch nomic-bert --types attn=q4_0,ffn=q8_0,embd=q8_0 --pooling 1
encoder tiny-jina_bert mean --arch jina-bert-v2 --types attn=q8_0,ffn=q4_0,embd=q8_0 --heads 2 --pooling 1
lengths="--lengths 1,40,130"
encoder tiny-nomic_bert_moe mean --arch nomic-bert-moe --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 32 --ff 64 --heads 2 --layers 3 --vocab 260 \
    --pooling 1
encoder tiny-jina_bert_v3 mean --arch jina-bert-v3 --types attn=q8_0,ffn=q4_0,embd=q8_0 --embd 32 --ff 64 --heads 2 --vocab 260 --pooling 1
lengths=
# Rows of 256 for types of super-blocks: few heads, one layer.
super="--embd 256 --heads 2 --kv-heads 1 --head-dim 32 --ff 256 --layers 1 --vocab 264"
make tiny-k_m --types attn_q=q4_k,attn_k=q4_k,attn_v=q6_k,attn_output=q5_0,ffn_gate=q4_k,ffn_up=q4_k,ffn_down=q6_k,embd=q6_k \
    $super
make tiny-k_s --types attn_q=q3_k,attn_k=q2_k,attn_v=q5_k,attn_output=q5_1,ffn_gate=q3_k,ffn_up=q2_k,ffn_down=q5_k,embd=q2_k \
    $super
make tiny-iq4 --types attn_q=iq4_xs,attn_k=mxfp4,attn_v=bf16,attn_output=iq4_nl,ffn_gate=iq4_xs,ffn_up=iq4_xs,ffn_down=tq1_0,embd=iq4_nl,output=tq2_0 \
    $super --untied
make tiny-iq --types attn_q=iq2_xs,attn_k=iq1_m,attn_v=iq3_s,attn_output=q5_0,ffn_gate=iq2_xxs,ffn_up=iq2_xxs,ffn_down=iq3_xxs,embd=iq2_s,output=iq1_s \
    $super --untied
make tiny-bits --arch qwen3 --types attn=q1_0,attn_v=q2_0,ffn=q1_0,ffn_down=q2_0,embd=q1_0 --embd 256 --heads 4 --kv-heads 2 --head-dim 32 \
    --ff 256 --layers 1 --vocab 264
make tiny-nvfp4 --types attn=nvfp4,ffn=nvfp4,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 192 --layers 2
make tiny-nvfp4_moe --arch qwen3moe --types attn=nvfp4,ffn=nvfp4,embd=q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 64 --layers 1 \
    --experts 4
# A conversation, for the tests of chat.
"$python" "$top/tools/golden/make_tiny_gguf.py" "$models/tiny-chat.gguf" --types q8_0 --embd 32 --heads 2 --kv-heads 1 \
    --ff 64 --layers 1 --chatml
# Speech models: heads of 32 and, in f16, of 64; spectrograms of 80 bands and of fewer. Under 400 kB each.
whisper f32 --embd 32 --heads 1
whisper f16 --heads 1 --layers 1 --text-layers 1 --mel 20
whisper q8_0 --mel 40
whisper q5_1

# adapter NAME MODEL OPTIONS...: a random LoRA adapter.
adapter() {
    name=$1 model=$2
    shift 2
    "$python" "$top/tools/golden/make_tiny_adapter.py" "$models/$model.gguf" "$models/$name.lora" "$@"
}

# adapted NAME MODEL SCALE:ADAPTER...: the golden file of a model with adapters.
adapted() {
    name=$1 model=$2 flags=
    shift 2
    for word in "$@"; do
        flags="$flags --lora=${word%%:*}:$models/${word#*:}.lora"
    done
    # shellcheck disable=SC2086
    "$python" "$top/tools/golden/golden.py" "$models/$model.gguf" "$golden/tiny.prompts.json" "$golden/$name.golden" \
        --steps 12 --n-ctx 512 $flags 2>/dev/null
}

adapter tiny-q4_0-4 tiny-q4_0 --rank 4 --seed 1
adapter tiny-q4_0-16 tiny-q4_0 --rank 16 --seed 2 --only 'blk\.1\.(attn_(q|v|output)|ffn_down)\.weight'
adapter tiny-q4_0-64 tiny-q4_0 --rank 64 --seed 3 --only 'blk\.[02]\.attn_k\.weight'
adapter tiny-phi3-4 tiny-phi3 --rank 4 --seed 4
adapter tiny-gemma2-4 tiny-gemma2 --rank 4 --seed 5 --only 'blk\.[01]\.(attn_(q|output)|ffn_down)\.weight'
adapter tiny-lfm2-4 tiny-lfm2 --rank 4 --seed 6
adapted tiny-lora1 tiny-q4_0 0.5:tiny-q4_0-4
adapted tiny-lora3 tiny-q4_0 1:tiny-q4_0-4 0.5:tiny-q4_0-16 -0.75:tiny-q4_0-64
adapted tiny-lora-phi3 tiny-phi3 1:tiny-phi3-4
adapted tiny-lora-gemma2 tiny-gemma2 1:tiny-gemma2-4
adapted tiny-lora-lfm2 tiny-lfm2 1:tiny-lfm2-4
"$python" "$top/tools/golden/make_tiny_peft.py" "$models/tiny-q4_0.gguf" "$models/tiny-q4_0-16.lora" "$models/../peft/tiny-q4_0-16" --rslora
