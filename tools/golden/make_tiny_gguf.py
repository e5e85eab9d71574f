#!/usr/bin/env python3
"""Writes a tiny random model of the llama family as a GGUF file, for tests.

The same options and seed give the same bytes. Every tensor draws from a stream of its own, so that
changing one option leaves the other tensors as they were. Weights are scaled so that logits spread
over a few nats and depend on the context: the margins of argmax then mean something.

    make_tiny_gguf.py tiny.gguf --types attn=q4_0,ffn=q4_1,token_embd=q8_0 --layers 3

Needs PyPI gguf and numpy.
"""
import argparse
import math
import sys
import zlib

import numpy as np
from gguf import ExpertGatingFuncType, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, PoolingType, RopeScalingType, quants

from random_blocks import random_blocks

FILE_TYPES = {  # general.file_type of a file that is mostly of the type
    "f32": 0, "f16": 1, "bf16": 32, "q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9, "q8_0": 7,
    "q2_k": 10, "q3_k": 12, "q4_k": 15, "q5_k": 17, "q6_k": 18, "iq4_nl": 25, "iq4_xs": 30,
    "mxfp4": 38, "tq1_0": 36, "tq2_0": 37, "iq1_s": 24, "iq1_m": 31, "iq2_xxs": 19, "iq2_xs": 20,
    "iq2_s": 28, "iq3_xxs": 23, "iq3_s": 26, "nvfp4": 39, "q1_0": 40, "q2_0": 41,
}
TYPES = {name: GGMLQuantizationType[name.upper()] for name in FILE_TYPES}
GROUPS = {
    "attn": ["attn_q", "attn_k", "attn_v", "attn_output"],
    "ffn": ["ffn_gate", "ffn_up", "ffn_down"],
    "embd": ["token_embd", "output"],
    "shared": ["shared_gate", "shared_up", "shared_down"],
    "inputs": ["per_layer_token_embd", "per_layer_model_proj", "inp_gate", "proj"],
    "streams": ["altup_proj", "altup_unembd_proj"],
    "branch": ["laurel_l", "laurel_r"],
}
MATRICES = [name for group in GROUPS.values() for name in group]
NORMAL, CONTROL, UNUSED, BYTE = 1, 3, 5, 6  # tokenizer.ggml.token_type
MERGES = (
    "Ġ t|h e|i n|Ġ a|r e|o n|Ġt he|e r|Ġ s|a t|Ġ w|e n|o r|Ġ c|i s|i t|Ġ o|e s|a n|in g|e d|o u"
    "|Ġ b|Ġ p|a l|Ġa n|Ġan d|Ġ in|Ġ f|Ġo f|l l|Ġt o"
).split("|")
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% endif %}"
)
LOGIT_SPREAD = 2.5  # standard deviation of the logits, nats
FIRST_BYTE = 2  # token id of byte 0 in the byte vocabulary
LEAD_BYTES = slice(FIRST_BYTE + 0xC0, FIRST_BYTE + 0x100)  # tokens that begin a UTF-8 character


def parse_types(text):
    """'q4_0' or 'attn=q4_0,output=f16,...' as {matrix: type name}; f32 where nothing is said."""
    types = dict.fromkeys(MATRICES, "f32")
    for item in text.split(","):
        target, _, name = item.rpartition("=")
        if name not in TYPES:
            raise argparse.ArgumentTypeError(f"type {name!r}: expected one of {', '.join(TYPES)}")
        targets = GROUPS.get(target, [target]) if target else MATRICES
        for matrix in targets:
            if matrix not in types:
                known = ", ".join([*GROUPS, *MATRICES])
                raise argparse.ArgumentTypeError(f"tensor {matrix!r}: expected one of {known}")
            types[matrix] = name
    return types


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--arch", choices=["llama", "gemma-embedding", "qwen2", "qwen3", "gemma3", "gemma2", "smollm3",
                        "granite", "phi3", "olmo2", "glm4",
                        "qwen3moe", "granitemoe", "gemma", "exaone", "exaone4", "internlm2", "ernie4_5",
                        "minicpm", "stablelm", "starcoder2", "nemotron", "arcee", "phi2", "seed_oss",
                        "mistral3", "olmoe", "qwen2moe", "hunyuan-dense", "apertus", "gpt-oss", "qwen35",
                        "qwen35moe", "qwen3next", "lfm2", "lfm2moe", "smallthinker", "granitehybrid", "falcon-h1", "nemotron_h", "mamba2", "gemma4", "gemma3n",
                        "qwen2vl", "qwen3vl", "qwen3vlmoe", "eurobert", "ernie4_5-moe", "hunyuan-moe", "maincoder", "mellum", "granite_swa", "spark2_5", "nanbeige"], default="llama")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--embd", type=int, default=64)
    parser.add_argument("--ff", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--head-dim", type=int, help="default: embd / heads")
    parser.add_argument("--ctx", type=int, default=512)
    parser.add_argument("--vocab", type=int, default=320, help="tokens of the byte vocabulary")
    parser.add_argument("--vocab-from", metavar="GGUF", help="copy the tokenizer of this file")
    parser.add_argument("--line-bpe", action="store_true", help="the vocabulary of Gemma 4's kind, of any size")
    parser.add_argument("--add-bos", action="store_true", help="byte vocabulary: ask for BOS")
    parser.add_argument("--chatml", action="store_true", help="byte vocabulary: a ChatML template")
    parser.add_argument("--types", type=parse_types, default=parse_types("f32"), metavar="T",
                        help="one type for all matrices, or NAME=TYPE,... with NAME a matrix "
                        f"({', '.join(MATRICES)}) or a group ({', '.join(GROUPS)})")
    parser.add_argument("--tied", action="store_true", default=True,
                        help="the output is the embedding (default)")
    parser.add_argument("--untied", action="store_false", dest="tied")
    parser.add_argument("--bias", action="store_true", help="bias on q, k and v")
    parser.add_argument("--rope-base", type=float, default=10000.0)
    parser.add_argument("--rope-scaling", choices=["none", "linear", "llama3", "yarn", "longrope"], default="none")
    parser.add_argument("--rope-orig", type=int, help="longrope: the context before it was stretched")
    parser.add_argument("--rope-factor", type=float, default=8.0)
    parser.add_argument("--experts", type=int, default=0, help="networks of a mixture")
    parser.add_argument("--experts-used", type=int, default=2)
    parser.add_argument("--expert-ff", type=int, help="default: --ff, the width of layers without experts")
    parser.add_argument("--shared", type=int, default=0, help="width of the expert that all tokens share, in experts")
    parser.add_argument("--leading", type=int, default=0, help="first layers, which have no experts")
    parser.add_argument("--rot", type=int, help="rotary dimensions; default: the head's")
    parser.add_argument("--scales", action="store_true", help="granite: scales that are not 1")
    parser.add_argument("--window", type=int, default=0, help="keys of a sliding window")
    parser.add_argument("--window-list", type=int, default=0, metavar="PERIOD",
                        help="say by a list which layers have a window: all but each PERIOD-th")
    parser.add_argument("--softcap", type=float, default=0.0,
                        help="of the logits; of the scores of attention a fifth of it")
    parser.add_argument("--linear-heads", type=int, default=4, help="linear attention: heads of v")
    parser.add_argument("--linear-k-heads", type=int, default=2)
    parser.add_argument("--linear-dim", type=int, default=32)
    parser.add_argument("--linear-taps", type=int, default=4, help="tokens that its convolution sees")
    parser.add_argument("--state-dim", type=int, default=32, help="Mamba-2: rows of a state, whose heads, groups, columns "
                        "and taps are those of linear attention")
    parser.add_argument("--state-norm", action="store_true", help="falcon-h1: a norm of what states give")
    parser.add_argument("--blocks", default="", help="nemotron_h: what each layer is: M Mamba-2, - a network, * attention")
    parser.add_argument("--one-in", type=int, default=0, help="qwen3next: first layers with one tensor for q, k, v and gate")
    parser.add_argument("--next", type=int, default=0, help="qwen35: layers after the last, which predict further tokens")
    parser.add_argument("--interval", type=int, default=4, help="one layer in this many has attention")
    parser.add_argument("--taps", type=int, default=3, help="lfm2: tokens that a short convolution sees")
    parser.add_argument("--loops", type=int, default=0, help="nanbeige: how often the layers run")
    parser.add_argument("--skip-loop-norm", action="store_true", help="nanbeige: no norm between these runs")
    parser.add_argument("--window-head-dim", type=int, help="gemma4: of layers with a window; default: the others'")
    parser.add_argument("--window-kv-heads", type=int, help="gemma4: of layers with a window; default: the others'")
    parser.add_argument("--shared-kv", type=int, default=0, help="gemma4: layers that read the keys of earlier ones")
    parser.add_argument("--input", type=int, default=0, help="gemma4, gemma3n: width of layers' own inputs")
    parser.add_argument("--rank", type=int, default=64, help="gemma3n: of the branch beside attention")
    parser.add_argument("--sparse", type=int, default=10, help="gemma3n: first layers of whose gates few are open")
    parser.add_argument("--parallel", action="store_true", help="stablelm: blocks side by side, norms of each head")
    parser.add_argument("--norm-eps", type=float, default=1e-5)
    parser.add_argument("--pooling", type=int, help="of embeddings: 0 none, 1 mean, 2 cls, 3 last, 4 rank")
    parser.add_argument("--dense", action="store_true", help="projections after the pooling")
    parser.add_argument("--encoder", action="store_true", help="tokens attend to later ones")
    parser.add_argument("--classes", type=int, default=0, help="of a classifier")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.expert_ff = args.expert_ff or args.ff
    if args.head_dim is None:
        args.head_dim = args.embd // args.heads
    args.window_head_dim = args.window_head_dim or args.head_dim
    args.window_kv_heads = args.window_kv_heads or args.kv_heads
    if args.heads % args.kv_heads or args.head_dim % 2:
        parser.error("heads must be a multiple of kv-heads, and the head dimension even")
    return args


def byte_alphabet():
    """The character by which GPT-2's vocabulary spells each byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    spelling = {byte: chr(byte) for byte in shown}
    spelling.update({byte: chr(256 + i) for i, byte in enumerate(hidden)})
    return [spelling[byte] for byte in range(256)]


def add_byte_vocabulary(writer, args):
    """Two control tokens, 256 bytes, merges as far as there is room, unused tokens as the rest."""
    if args.vocab < 258:
        sys.exit("--vocab: at least 258, two control tokens and 256 bytes")
    merges = MERGES[: args.vocab - 258]
    tokens = ["<|startoftext|>", "<|endoftext|>", *byte_alphabet(), *(m.replace(" ", "") for m in merges)]
    types = [CONTROL] * 2 + [NORMAL] * (len(tokens) - 2)
    if args.chatml:
        tokens += ["<|im_start|>", "<|im_end|>"]
        types += [CONTROL] * 2
        writer.add_chat_template(CHATML)
    while len(tokens) < args.vocab:
        tokens.append(f"<|unused_{len(tokens)}|>")
        types.append(UNUSED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(args.add_bos)
    return args.vocab


def add_line_vocabulary(writer, args):
    """Gemma 4's kind: byte tokens, line ends, characters with U+2581 for a space, merges in the order of a list."""
    merges = [merge.replace("\u0120", "\u2581") for merge in MERGES] + ["\u2581 \u2581", "\u2581\u2581 \u2581\u2581"]
    tokens = ["<bos>", "<eos>", *(f"<0x{byte:02X}>" for byte in range(256)), "<|turn>", "<turn|>", "\n", "\n\n",
              "\n\n\n", "\u2581", *map(chr, range(0x21, 0x7F)), "\u00e9", "\u4f60", *(m.replace(" ", "") for m in merges)]
    types = [CONTROL] * 2 + [BYTE] * 256 + [CONTROL] * 2 + [NORMAL] * (len(tokens) - 260)
    writer.add_tokenizer_model("gemma4")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    return len(tokens)


def copy_vocabulary(writer, path):
    reader = GGUFReader(path)
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            kind = field.types[0]
            element = field.types[-1] if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(key, field.contents(), kind, sub_type=element)
    return len(reader.fields["tokenizer.ggml.tokens"].data)


def add_facts(writer, args, n_vocab):
    # llama.cpp looks for special tokens in a vocabulary whose model is named after Phi 3.
    writer.add_name(f"tiny random {args.arch.replace('phi3', 'phi')}")
    writer.add_file_type(FILE_TYPES[args.types["ffn_down"]])
    writer.add_context_length(args.ctx)
    writer.add_embedding_length(args.embd)
    writer.add_block_count(args.layers + args.next)
    if args.next:
        writer.add_nextn_predict_layers(args.next)
    if args.arch == "gemma4":
        writer.add_feed_forward_length([ff_of(args, layer) for layer in range(args.layers)])
    elif args.arch == "nemotron_h":
        writer.add_feed_forward_length([args.ff if block == "-" else 0 for block in args.blocks])
    else:
        writer.add_feed_forward_length(0 if args.arch == "mamba2" else args.ff)
    writer.add_head_count(0 if args.arch == "mamba2" else args.heads)
    if args.arch in SHORT_CONV:
        writer.add_head_count_kv([0 if is_conv(args, layer) else args.kv_heads for layer in range(args.layers)])
        writer.add_shortconv_l_cache(args.taps)
    elif args.arch in ("granitehybrid", "nemotron_h"):
        writer.add_head_count_kv([args.kv_heads if has_attention(args, layer) else 0 for layer in range(args.layers)])
        writer.add_rope_scaling_finetuned(False)
    elif args.arch == "mamba2":
        pass
    elif args.kv_heads != args.window_kv_heads:
        writer.add_head_count_kv([args.window_kv_heads if has_window(args, layer) else args.kv_heads
                                  for layer in range(args.layers)])
    else:
        writer.add_head_count_kv(args.kv_heads)
    if args.arch != "mamba2":
        writer.add_key_length(args.head_dim)
        writer.add_value_length(args.head_dim)
        writer.add_rope_dimension_count(args.rot or args.head_dim)
        writer.add_rope_freq_base(args.rope_base)
    if args.arch in (*LAYER_NORMS, "nemotron_h"):
        writer.add_layer_norm_eps(args.norm_eps)
    if args.arch not in LAYER_NORMS:
        writer.add_layer_norm_rms_eps(args.norm_eps)
    writer.add_vocab_size(n_vocab)
    if args.experts:
        writer.add_expert_count(args.experts)
        writer.add_expert_used_count(args.experts_used)
        writer.add_expert_feed_forward_length(args.expert_ff)
        if args.shared:
            writer.add_expert_shared_feed_forward_length(args.shared * args.expert_ff)
        if args.leading:
            writer.add_leading_dense_block_count(args.leading)
        if args.arch in ("lfm2moe", "smallthinker"):
            writer.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
    if args.arch == "ernie4_5-moe":
        writer.add_interleave_moe_layer_step(1)
    if args.arch in ENCODERS or args.encoder:
        writer.add_causal_attention(False)
    if args.arch in LINEAR:
        writer.add_ssm_conv_kernel(args.linear_taps)
        writer.add_ssm_state_size(args.linear_dim)
        writer.add_ssm_group_count(args.linear_k_heads)
        writer.add_ssm_time_step_rank(args.linear_heads)
        writer.add_ssm_inner_size(args.linear_heads * args.linear_dim)
        writer.add_uint32(f"{args.arch}.full_attention_interval", args.interval)
        if args.arch == "qwen3next":
            writer.add_array("qwen3next.attention.recurrent_layers",
                             [(layer + 1) % args.interval != 0 for layer in range(args.layers)])
    if args.arch in SECTIONS:
        n_pair = (args.rot or args.head_dim) // 2
        writer.add_rope_dimension_sections([n_pair - 2 * (n_pair // 3), n_pair // 3, n_pair // 3, 0])
    if args.arch in SSM:
        writer.add_ssm_conv_kernel(args.linear_taps)
        writer.add_ssm_state_size(args.state_dim)
        writer.add_ssm_group_count(args.linear_k_heads)
        writer.add_ssm_time_step_rank(args.linear_heads)
        writer.add_ssm_inner_size(args.linear_heads * args.linear_dim)
    if args.scales:
        writer.add_embedding_scale(6.0)
        writer.add_residual_scale(0.4)
        writer.add_attention_scale(0.1)
        writer.add_logit_scale(2.0)
    if args.rope_scaling == "yarn":
        writer.add_rope_scaling_type(RopeScalingType.YARN)
        writer.add_rope_scaling_factor(args.rope_factor)
        writer.add_rope_scaling_orig_ctx_len(args.ctx // int(args.rope_factor))
    if args.arch == "mistral3":
        writer.add_rope_scaling_yarn_log_mul(1.0)
        writer.add_attn_temperature_scale(0.1)
    if args.arch == "apertus":
        writer.add_xielu_alpha_n([0.5 - 0.4 * layer for layer in range(args.layers)])
        writer.add_xielu_alpha_p([0.2 + 0.3 * layer for layer in range(args.layers)])
        writer.add_xielu_beta([0.5] * args.layers)
        writer.add_xielu_eps([-1e-6] * args.layers)
    if args.rope_scaling == "longrope":
        writer.add_rope_scaling_orig_ctx_len(args.rope_orig or args.ctx)
        writer.add_rope_scaling_attn_factors(1.2)
    if args.pooling is not None:
        writer.add_pooling_type(PoolingType(args.pooling))
    if args.dense:
        writer.add_dense_features_dims("dense_2", args.embd, 2 * args.embd)
        writer.add_dense_features_dims("dense_3", 2 * args.embd, args.embd)
    if args.classes:
        writer.add_classifier_output_labels([f"class {i}" for i in range(args.classes)])
        writer.add_chat_template([{"name": "rerank", "template": "<|startoftext|>Q: {query}\nD: {document}\nA:"}])
    if args.loops:
        writer.add_uint32(f"{args.arch}.num_loops", args.loops)
        writer.add_bool(f"{args.arch}.skip_loop_final_norm", args.skip_loop_norm)
    if args.window:
        writer.add_sliding_window(args.window)
    if args.window_list:
        writer.add_sliding_window_pattern(
            [(layer + 1) % args.window_list != 0 for layer in range(args.layers)])
    if args.arch == "granite_swa":
        writer.add_sliding_window_pattern([layer % 4 != 0 for layer in range(args.layers)])
        writer.add_array("granite_swa.attention.rope_pattern", [layer % 3 != 1 for layer in range(args.layers)])
    if args.arch == "spark2_5":
        writer.add_rope_dimension_count_swa(args.head_dim)
        writer.add_rope_freq_base_swa(10000.0)
    if args.arch == "gemma4":
        writer.add_key_length_swa(args.window_head_dim)
        writer.add_value_length_swa(args.window_head_dim)
        writer.add_rope_dimension_count_swa(args.window_head_dim)
    if args.arch == "gemma3n":
        writer.add_altup_num_inputs(4)
        writer.add_altup_active_idx(0)
        writer.add_activation_sparsity_scale([1.6448536 if layer < args.sparse else -math.inf
                                              for layer in range(args.layers)])
    if args.arch in SHARED_KV:
        writer.add_rope_freq_base_swa(10000.0)
        writer.add_shared_kv_layers(args.shared_kv)
        writer.add_embedding_length_per_layer_input(args.input)
    if args.softcap and args.arch not in SHARED_KV:
        writer.add_attn_logit_softcapping(args.softcap / 5)
    if args.softcap:
        writer.add_final_logit_softcapping(args.softcap)
    if args.rope_scaling == "linear":
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(args.rope_factor)


def llama3_factors(args, original_ctx=8192, low_factor=1.0, high_factor=4.0):
    """By what each pair's frequency is divided: 1 for short waves, the factor for long ones."""
    exponents = np.arange(0, args.head_dim, 2) / args.head_dim
    turns = original_ctx / (2 * math.pi * args.rope_base**exponents)
    smooth = np.clip((turns - low_factor) / (high_factor - low_factor), 0, 1)
    return (1 / ((1 - smooth) / args.rope_factor + smooth)).astype(np.float32)


class TensorMaker:
    """Draws tensors by name and hands them to the writer in the type that was asked for."""

    def __init__(self, writer, args):
        self.writer, self.args = writer, args

    def stream(self, name):
        return np.random.Generator(np.random.PCG64([self.args.seed, zlib.crc32(name.encode())]))

    def draw(self, name, shape):
        return self.stream(name).standard_normal(shape).astype(np.float32)

    def matrix(self, prefix, stem, n_rows, n_cols, gain=1.0, quiet_rows=slice(0), kind=None):
        """Rows of unit length times gain: an input of unit RMS gives outputs of RMS gain."""
        name = f"{prefix}{stem}.weight"
        kind = TYPES[self.args.types.get(kind or stem, "f32")]
        block, _ = quants.GGML_QUANT_SIZES[kind]
        if n_cols % block:
            sys.exit(f"{name}: rows of {n_cols} are not a multiple of {block}, the block of {kind.name}")
        rms = gain / math.sqrt(n_cols) / self.factors(f"{prefix}{stem}", kind, 1)[0]
        data = self.draw(name, (n_rows, n_cols)) * np.float32(rms)
        data[quiet_rows] *= np.float32(0.1)
        try:
            data = quants.quantize(data, kind)
        except NotImplementedError:
            data = random_blocks(self.stream(name), kind, n_rows, n_cols, rms, quiet_rows)
        self.writer.add_tensor(name, data, raw_dtype=kind)

    def experts(self, prefix, stem, n_rows, n_cols, kind=None):
        name = f"{prefix}{stem}_exps.weight"
        data = self.draw(name, (self.args.experts, n_rows, n_cols)) / np.float32(math.sqrt(n_cols))
        kind = TYPES[self.args.types[kind or stem]]
        factors = self.factors(f"{prefix}{stem}_exps", kind, self.args.experts)
        try:
            data = quants.quantize(data, kind)
        except NotImplementedError:
            data = np.stack([random_blocks(self.stream(f"{name}{i}"), kind, n_rows, n_cols, 1 / math.sqrt(n_cols) / factor)
                             for i, factor in enumerate(factors)])
        self.writer.add_tensor(name, data, raw_dtype=kind)

    def factors(self, stem, kind, n):
        """Numbers by which the matrices of a tensor of NVFP4 are multiplied, which files of it have."""
        if kind.name != "NVFP4":
            return np.ones(n, np.float32)
        factors = self.stream(f"{stem}.scale").uniform(0.05, 0.3, n).astype(np.float32)
        self.writer.add_tensor(f"{stem}.scale", factors)
        self.writer.add_tensor(f"{stem}.input_scale", np.full(n, 3, np.float32))  # which nothing reads
        return factors

    def vector(self, name, size, mean, spread):
        self.writer.add_tensor(name, mean + np.float32(spread) * self.draw(name, size))

    def norm(self, name, size):
        self.vector(name, size, np.float32(1), 0.2)
        if self.args.arch in LAYER_NORMS:
            self.vector(name.replace(".weight", ".bias"), size, np.float32(0), 0.3)


LAYER_NORMS = ("stablelm", "starcoder2", "nemotron", "phi2")  # with layernorms: a weight and a bias
ENCODERS = ("eurobert",)  # whose tokens attend to later ones
SECTIONS = ("qwen35", "qwen35moe", "qwen2vl", "qwen3vl", "qwen3vlmoe")  # whose rotations have sections
HEAD_NORMS = ("hunyuan-moe", "maincoder", "mellum", "qwen3vl", "qwen3vlmoe", "gemma-embedding", "hunyuan-dense", "apertus", "qwen3", "qwen3moe", "gemma3", "gemma4", "exaone4", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe")  # families with a norm of each head of q and k
POST_NORMS = ("gemma-embedding", "gemma3", "gemma4", "gemma2", "olmo2", "glm4", "exaone4")  # with a norm after either block
# The name of the norm before the network.
FFN_NORMS = dict.fromkeys(("seed_oss", "qwen35", "qwen35moe", "qwen3next", "gpt-oss"), "post_attention_norm")
NO_PRE_NORMS = ("olmo2", "exaone4")  # without a norm before either block
LINEAR = ("qwen35", "qwen35moe", "qwen3next")  # with linear attention in most layers, and gates in the others
SSM = ("granitehybrid", "falcon-h1", "nemotron_h", "mamba2")  # with Mamba-2, in place of attention or beside it
SHORT_CONV = ("lfm2", "lfm2moe")  # with short convolutions in most layers, and the embedding's norm for the output
ROUTER_BIASES = ("lfm2moe", "ernie4_5-moe")  # whose choice of experts has a bias
SHARED_GATES = ("qwen2moe", "qwen35moe", "qwen3next")  # whose shared expert has a share of its own
SHARED_KV = ("gemma4", "gemma3n")  # with layers that read the keys and values of earlier ones
ONE_NORM = ("phi2", "nemotron_h", "mamba2")  # whose two blocks run side by side, or which have one
NO_GATE = ("starcoder2", "nemotron", "nemotron_h", "arcee", "phi2", "apertus")  # with a network without a gate
ALL_BIASES = ("starcoder2", "phi2")
STACKED_QKV = ("phi3", "phi2")  # with q, k and v in one tensor
STACKED_EXPERTS = ("granite_swa", "gemma4")  # with gate and up of experts in one tensor
STACKED_GATE = ("phi3", "glm4")  # with gate and up in one tensor


def add_linear_attention(make, args, prefix, layer):
    """The gated delta rule. Rates of decay are such that a state keeps tens of tokens."""
    n_head, size = args.linear_heads, args.linear_heads * args.linear_dim
    n_channel = size + 2 * args.linear_k_heads * args.linear_dim
    make.norm(f"{prefix}attn_norm.weight", args.embd)
    make.norm(f"{prefix}post_attention_norm.weight", args.embd)
    if layer < args.one_in:
        make.matrix(prefix, "ssm_in", n_channel + size, args.embd, 1.5, kind="attn_q")
    else:
        make.matrix(prefix, "attn_qkv", n_channel, args.embd, 1.5, kind="attn_q")
        make.matrix(prefix, "attn_gate", size, args.embd, kind="attn_v")
    if args.arch == "qwen3next":
        make.matrix(prefix, "ssm_ba", 2 * n_head, args.embd, kind="ssm")
    else:
        make.matrix(prefix, "ssm_beta", n_head, args.embd, kind="ssm")
        make.matrix(prefix, "ssm_alpha", n_head, args.embd, kind="ssm")
    taps = make.draw(f"{prefix}ssm_conv1d.weight", (n_channel, args.linear_taps))
    make.writer.add_tensor(f"{prefix}ssm_conv1d.weight", taps * np.float32(0.6))
    make.vector(f"{prefix}ssm_dt.bias", n_head, np.float32(0), 0.5)
    rates = np.exp(make.draw(f"{prefix}ssm_a", n_head) - np.float32(2))
    make.writer.add_tensor(f"{prefix}ssm_a", -rates)
    make.norm(f"{prefix}ssm_norm.weight", args.linear_dim)
    make.matrix(prefix, "ssm_out", args.embd, size, kind="attn_output")


def has_attention(args, layer):
    if args.arch in ("nemotron_h", "mamba2"):
        return args.blocks[layer:layer + 1] == "*"
    return args.arch != "granitehybrid" or (layer + 1) % args.interval == 0


def add_ssm(make, args, prefix):
    """Mamba-2, without the norm before it. States keep tens of tokens."""
    n_head, size, n_group = args.linear_heads, args.linear_heads * args.linear_dim, args.linear_k_heads
    n_channel = size + 2 * n_group * args.state_dim
    make.matrix(prefix, "ssm_in", size + n_channel + n_head, args.embd, 1.5, kind="attn_q")
    taps = make.draw(f"{prefix}ssm_conv1d.weight", (n_channel, args.linear_taps))
    make.writer.add_tensor(f"{prefix}ssm_conv1d.weight", taps * np.float32(0.6))
    make.vector(f"{prefix}ssm_conv1d.bias", n_channel, np.float32(0), 0.3)
    make.vector(f"{prefix}ssm_dt.bias", n_head, np.float32(-2), 0.7)
    make.writer.add_tensor(f"{prefix}ssm_a", -np.exp(make.draw(f"{prefix}ssm_a", (n_head, 1))))
    make.vector(f"{prefix}ssm_d", (n_head, 1), np.float32(1), 0.5)
    if args.arch != "falcon-h1" or args.state_norm:
        make.vector(f"{prefix}ssm_norm.weight", (n_group, size // n_group), np.float32(1), 0.2)
    make.matrix(prefix, "ssm_out", args.embd, size, kind="attn_output")


def is_conv(args, layer):
    return args.arch in SHORT_CONV and (layer + 1) % args.interval != 0


def add_short_conv(make, args, prefix):
    make.norm(f"{prefix}attn_norm.weight", args.embd)
    make.norm(f"{prefix}ffn_norm.weight", args.embd)
    make.matrix(prefix, "shortconv.in_proj", 3 * args.embd, args.embd, kind="attn_q")
    taps = make.draw(f"{prefix}shortconv.conv.weight", (args.embd, args.taps))
    make.writer.add_tensor(f"{prefix}shortconv.conv.weight", taps * np.float32(0.6))
    make.matrix(prefix, "shortconv.out_proj", args.embd, args.embd, kind="attn_output")


def add_next(make, args, prefix):
    """A layer of attention that predicts a further token, from this one's embedding and what the last layer left."""
    add_layer(make, args, prefix, args.interval - 1)
    make.matrix(prefix, "nextn.eh_proj", args.embd, 2 * args.embd)
    make.norm(f"{prefix}nextn.enorm.weight", args.embd)
    make.norm(f"{prefix}nextn.hnorm.weight", args.embd)


def add_experts(make, args, prefix):
    make.matrix(prefix, "ffn_gate_inp", args.experts, args.embd, 2, kind="router")
    if args.arch in STACKED_EXPERTS:
        make.experts(prefix, "ffn_gate_up", 2 * args.expert_ff, args.embd, kind="ffn_gate")
    else:
        make.experts(prefix, "ffn_gate", args.expert_ff, args.embd)
        make.experts(prefix, "ffn_up", args.expert_ff, args.embd)
    make.experts(prefix, "ffn_down", args.embd, args.expert_ff)
    if args.arch in ROUTER_BIASES:
        make.vector(f"{prefix}exp_probs_b.bias", args.experts, np.float32(0), 0.1)
    if args.shared:
        size = args.shared * args.expert_ff
        if args.arch == "granite_swa":
            make.matrix(prefix, "ffn_up_shexp", 2 * size, args.embd, kind="shared_up")
        else:
            make.matrix(prefix, "ffn_gate_shexp", size, args.embd, kind="shared_gate")
            make.matrix(prefix, "ffn_up_shexp", size, args.embd, kind="shared_up")
        make.matrix(prefix, "ffn_down_shexp", args.embd, size, kind="shared_down")
    if args.arch in SHARED_GATES:
        name = f"{prefix}ffn_gate_inp_shexp.weight"
        make.writer.add_tensor(name, make.draw(name, args.embd) / np.float32(math.sqrt(args.embd)))


def add_sinks_and_biases(make, args, prefix):
    make.vector(f"{prefix}attn_output.bias", args.embd, np.float32(0), 0.3)
    make.vector(f"{prefix}attn_sinks.weight", args.heads, np.float32(0.5), 1.0)
    make.vector(f"{prefix}ffn_gate_inp.bias", args.experts, np.float32(0), 0.3)
    for stem, size in (("gate", args.ff), ("up", args.ff), ("down", args.embd)):
        make.vector(f"{prefix}ffn_{stem}_exps.bias", (args.experts, size), np.float32(0), 0.3)


def has_window(args, layer):
    return args.window_list > 0 and (layer + 1) % args.window_list != 0


def is_shared(args, layer):
    return layer >= args.layers - args.shared_kv


def ff_of(args, layer):
    """Layers that have no keys of their own have networks twice as wide."""
    return 2 * args.ff if is_shared(args, layer) else args.ff


def add_gemma4_layer(make, args, prefix, layer):
    """A model without inputs of layers takes keys for values in layers without a window."""
    windowed = has_window(args, layer)
    head_dim = args.window_head_dim if windowed else args.head_dim
    kv_size = head_dim * (args.window_kv_heads if windowed else args.kv_heads)
    for name in ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"):
        make.norm(f"{prefix}{name}.weight", args.embd)
    make.matrix(prefix, "attn_q", args.heads * head_dim, args.embd, 1.5)
    make.vector(f"{prefix}attn_q_norm.weight", head_dim, np.float32(0.15), 0.03)
    if not is_shared(args, layer):
        make.matrix(prefix, "attn_k", kv_size, args.embd, 1.5)
        make.norm(f"{prefix}attn_k_norm.weight", head_dim)
        if windowed or args.input:
            make.matrix(prefix, "attn_v", kv_size, args.embd)
    make.matrix(prefix, "attn_output", args.embd, args.heads * head_dim)
    make.matrix(prefix, "ffn_gate", ff_of(args, layer), args.embd)
    make.matrix(prefix, "ffn_up", ff_of(args, layer), args.embd)
    make.matrix(prefix, "ffn_down", args.embd, ff_of(args, layer))
    make.vector(f"{prefix}layer_output_scale.weight", 1, np.float32(0.7), 0.1)
    if args.experts:
        for name in ("post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"):
            make.norm(f"{prefix}{name}.weight", args.embd)
        add_experts(make, args, prefix)
        make.vector(f"{prefix}ffn_gate_inp.scale", args.embd, np.float32(math.sqrt(args.embd)), 1.0)
        if args.types["ffn_down"] != "nvfp4":  # whose factors have this name
            make.vector(f"{prefix}ffn_down_exps.scale", args.experts, np.float32(1), 0.3)
    if args.input:
        make.matrix(prefix, "inp_gate", args.input, args.embd, 0.3)
        make.matrix(prefix, "proj", args.embd, args.input)
        make.norm(f"{prefix}post_norm.weight", args.embd)


def add_gemma3n_layer(make, args, prefix, layer):
    """What layers add is a third of what it is elsewhere: the reference rounds the arguments of GELU, and the error grows from
    layer to layer. Layers that read the keys of earlier ones have some of their own in files, too."""
    q_size, kv_size = args.heads * args.head_dim, args.kv_heads * args.head_dim
    for name in ("attn_norm", "ffn_norm", "altup_router_norm", "altup_correct_scale"):
        make.norm(f"{prefix}{name}.weight", args.embd)
    for name in ("post_attention_norm", "post_ffw_norm", "post_norm", "laurel_post_norm"):
        make.vector(f"{prefix}{name}.weight", args.embd, np.float32(0.3), 0.06)
    make.matrix(prefix, "attn_q", q_size, args.embd, 1.5)
    make.vector(f"{prefix}attn_q_norm.weight", args.head_dim, np.float32(0.3), 0.06)
    make.matrix(prefix, "attn_k", kv_size, args.embd, 1.5)
    make.norm(f"{prefix}attn_k_norm.weight", args.head_dim)
    make.matrix(prefix, "attn_v", kv_size, args.embd)
    make.matrix(prefix, "attn_output", args.embd, q_size)
    make.matrix(prefix, "ffn_gate", args.ff, args.embd)
    make.matrix(prefix, "ffn_up", args.ff, args.embd)
    make.matrix(prefix, "ffn_down", args.embd, args.ff)
    make.matrix(prefix, "inp_gate", args.input, args.embd)
    make.matrix(prefix, "proj", args.embd, args.input)
    make.matrix(prefix, "laurel_l", args.rank, args.embd)
    make.matrix(prefix, "laurel_r", args.embd, args.rank)
    make.vector(f"{prefix}altup_router.weight", (4, args.embd), np.float32(0), 0.25 * math.sqrt(args.embd))
    make.vector(f"{prefix}altup_predict_coef.weight", (16, 4), np.float32(0), 0.15)
    make.vector(f"{prefix}altup_correct_coef.weight", (4, 4), np.float32(0), 0.15)


def add_streams(make, args):
    for stem in ("altup_proj", "altup_unembd_proj"):
        name, kind = f"{stem}.weight", TYPES[make.args.types[stem]]
        data = make.draw(name, (3, args.embd, args.embd)) / np.float32(math.sqrt(args.embd))
        make.writer.add_tensor(name, quants.quantize(data, kind), raw_dtype=kind)


def add_gemma3n_inputs(make, args, n_vocab):
    width = args.layers * args.input
    make.matrix("", "per_layer_token_embd", n_vocab, width, math.sqrt(width / args.input))
    make.matrix("", "per_layer_model_proj", width, args.embd)
    make.norm("per_layer_proj_norm.weight", args.input)


def add_layer_inputs(make, args, n_vocab):
    if args.arch == "gemma3n":
        add_gemma3n_inputs(make, args, n_vocab)
        add_streams(make, args)
        return
    width = args.layers * args.input
    make.matrix("", "per_layer_token_embd", n_vocab, width, 1 / math.sqrt(args.input), kind="token_embd")
    make.matrix("", "per_layer_model_proj", width, args.embd, kind="attn_q")
    make.norm("per_layer_proj_norm.weight", args.input)


def proportional_factors(args):
    """A quarter of the pairs turn; the others by angles too small to tell."""
    n_pair = args.head_dim // 2
    factors = np.ones(n_pair, dtype=np.float32)
    factors[n_pair // 4:] = 1e30
    return factors


def add_layer(make, args, prefix, layer):
    if args.arch == "gemma3n":
        add_gemma3n_layer(make, args, prefix, layer)
        return
    if args.arch == "gemma4":
        add_gemma4_layer(make, args, prefix, layer)
        return
    if args.arch in LINEAR and (layer + 1) % args.interval:
        add_linear_attention(make, args, prefix, layer)
        add_network_or_experts(make, args, prefix, layer)
        return
    if is_conv(args, layer):
        add_short_conv(make, args, prefix)
        add_network_or_experts(make, args, prefix, layer)
        return
    q_size, kv_size = args.heads * args.head_dim, args.kv_heads * args.head_dim
    if args.arch not in NO_PRE_NORMS:
        make.norm(f"{prefix}attn_norm.weight", args.embd)
        if args.arch == "falcon-h1":  # as its converter leaves it
            make.norm(f"{prefix}ffn_norm", args.embd)
        elif args.arch not in ONE_NORM and not args.parallel:
            make.norm(f"{prefix}{FFN_NORMS.get(args.arch, 'ffn_norm')}.weight", args.embd)
    is_network = args.blocks[layer:layer + 1] == "-"
    if args.arch in SSM and (args.arch == "falcon-h1" or not has_attention(args, layer)) and not is_network:
        add_ssm(make, args, prefix)
    if has_attention(args, layer):
        add_attention(make, args, prefix, q_size, kv_size)
    if is_network or args.arch not in ("nemotron_h", "mamba2"):
        add_network_or_experts(make, args, prefix, layer)


def add_attention(make, args, prefix, q_size, kv_size):
    if args.arch in STACKED_QKV:
        make.matrix(prefix, "attn_qkv", q_size + 2 * kv_size, args.embd, 1.5, kind="attn_q")
    else:
        make.matrix(prefix, "attn_q", (2 if args.arch in LINEAR else 1) * q_size, args.embd, 1.5)
        make.matrix(prefix, "attn_k", kv_size, args.embd, 1.5)
        make.matrix(prefix, "attn_v", kv_size, args.embd)
    if args.bias or args.arch in ("qwen2", "qwen2vl", "gpt-oss", *ALL_BIASES):
        biases = (("attn_q", q_size), ("attn_k", kv_size), ("attn_v", kv_size))
        if args.arch in STACKED_QKV:
            biases = (("attn_qkv", q_size + 2 * kv_size),)
        for stem, size in biases:
            make.vector(f"{prefix}{stem}.bias", size, np.float32(0), 0.3)
    if args.arch in HEAD_NORMS:
        make.norm(f"{prefix}attn_q_norm.weight", args.head_dim)
        make.norm(f"{prefix}attn_k_norm.weight", args.head_dim)
    if args.parallel:
        make.vector(f"{prefix}attn_q_norm.weight", (args.heads, args.head_dim), np.float32(1), 0.2)
        make.vector(f"{prefix}attn_k_norm.weight", (args.kv_heads, args.head_dim), np.float32(1), 0.2)
    if args.arch in ("olmo2", "olmoe"):
        make.norm(f"{prefix}attn_q_norm.weight", q_size)
        make.norm(f"{prefix}attn_k_norm.weight", kv_size)
    make.matrix(prefix, "attn_output", args.embd, q_size)
    if args.arch == "spark2_5":
        make.matrix(prefix, "attn_gate", args.heads, args.embd, 2, kind="attn_q")
    if args.arch == "granite_swa":
        make.vector(f"{prefix}attn_sinks.weight", args.heads, np.float32(0.5), 1.0)
    if args.arch in ALL_BIASES:
        for stem, size in (("attn_output", args.embd), ("ffn_up", args.ff), ("ffn_down", args.embd)):
            make.vector(f"{prefix}{stem}.bias", size, np.float32(0), 0.3)
    if args.arch in POST_NORMS:
        make.norm(f"{prefix}post_attention_norm.weight", args.embd)
        make.norm(f"{prefix}post_ffw_norm.weight", args.embd)


def add_network_or_experts(make, args, prefix, layer):
    if args.experts and layer >= args.leading:
        add_experts(make, args, prefix)
        if args.arch == "gpt-oss":
            add_sinks_and_biases(make, args, prefix)
        return
    if args.arch in STACKED_GATE:
        make.matrix(prefix, "ffn_up", 2 * args.ff, args.embd)
    else:
        if args.arch not in NO_GATE:
            make.matrix(prefix, "ffn_gate", args.ff, args.embd)
        make.matrix(prefix, "ffn_up", args.ff, args.embd)
    make.matrix(prefix, "ffn_down", args.embd, args.ff)


def add_tensors(writer, args, n_vocab):
    make = TensorMaker(writer, args)
    # A greedy choice never begins a character of several bytes: llama.cpp's server gives no
    # probabilities for tokens whose text it holds back.
    quiet = slice(0) if args.vocab_from else LEAD_BYTES
    make.matrix("", "token_embd", n_vocab, args.embd, LOGIT_SPREAD, quiet)
    if args.input:
        add_layer_inputs(make, args, n_vocab)
    for layer in range(args.layers):
        add_layer(make, args, f"blk.{layer}.", layer)
    for layer in range(args.layers, args.layers + args.next):
        add_next(make, args, f"blk.{layer}.")
    make.norm("token_embd_norm.weight" if args.arch in SHORT_CONV else "output_norm.weight", args.embd)
    if not args.tied:
        make.matrix("", "output", n_vocab, args.embd, LOGIT_SPREAD, quiet)
    if args.arch == "phi2":
        make.vector("output.bias", n_vocab, np.float32(0), 0.3)
    if args.dense:
        make.matrix("", "dense_2", 2 * args.embd, args.embd, kind="dense")
        make.matrix("", "dense_3", args.embd, 2 * args.embd, kind="dense")
    if args.classes:
        make.matrix("", "cls.output", args.classes, args.embd, 2, kind="dense")
    if args.rope_scaling == "longrope":
        n_pair = (args.rot or args.head_dim) // 2
        for name, slope in (("short", 0.1), ("long", 1.0)):
            factors = 1 + slope * np.arange(n_pair, dtype=np.float32)
            writer.add_tensor(f"rope_factors_{name}.weight", factors)
    if args.arch == "gemma4":
        writer.add_tensor("rope_freqs.weight", proportional_factors(args))
    if args.rope_scaling == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(args))


def main():
    args = parse_arguments()
    writer = GGUFWriter(args.out, args.arch)
    if args.vocab_from:
        n_vocab = copy_vocabulary(writer, args.vocab_from)
    elif args.line_bpe:
        n_vocab = add_line_vocabulary(writer, args)
    else:
        n_vocab = add_byte_vocabulary(writer, args)
    add_facts(writer, args, n_vocab)
    add_tensors(writer, args, n_vocab)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
