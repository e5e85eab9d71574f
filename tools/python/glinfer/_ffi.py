"""The declarations of glinfer.h for ctypes, by tools/python/generate: do not edit."""
from __future__ import annotations

from ctypes import (CFUNCTYPE, CDLL, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_size_t, c_uint, c_uint32, c_uint64, c_void_p)
from enum import IntEnum
from typing import Any, Dict, NamedTuple, Tuple, TypedDict

VERSION = "0.2.0"
SPEECH_RATE = 16000


class Status(IntEnum):
    OK = 0
    INVALID_ARGUMENT = -1
    NOT_FOUND = -2
    IO = -3
    BAD_FILE = -4
    UNSUPPORTED = -5
    NO_DEVICE = -6
    NO_MEMORY = -7
    OVER_BUDGET = -8
    CONTEXT_FULL = -9
    CANCELLED = -10
    DRIVER = -11
    GPU_LOST = -12
    GPU_FAULT = -13


class LogLevel(IntEnum):
    ERROR = 0
    WARN = 1
    INFO = 2
    DEBUG = 3


class Phase(IntEnum):
    LOAD = 0
    COMPILE = 1
    PROMPT = 2
    TUNE = 3


class CacheType(IntEnum):
    F16 = 0
    F32 = 1
    Q8_0 = 2
    Q4_0 = 3


class SourceKind(IntEnum):
    PATH = 0
    FD = 1
    MEMORY = 2
    READER = 3


class Pooling(IntEnum):
    DEFAULT = 0
    NONE = 1
    MEAN = 2
    CLS = 3
    LAST = 4
    RANK = 5


class TokenizeFlags(IntEnum):
    NO_BOS = 1
    NO_SPECIAL = 2


class ChatEnd(IntEnum):
    ANSWER = 0
    CONTINUE = 1
    MESSAGE = 2


class Precision(IntEnum):
    AUTO = 0
    F32 = 1
    F16 = 2


class Dispatch(IntEnum):
    DIRECT = 0
    INDIRECT = 1
    PERSISTENT = 2


class ContextFull(IntEnum):
    STOP = 0
    ERROR = 1
    SHIFT = 2


class Stop(IntEnum):
    LIMIT = 0
    EOS = 1
    WORD = 2
    CALLBACK = 3
    CONTEXT = 4


class EventKind(IntEnum):
    NONE = 0
    PROMPT = 1
    TOKEN = 2
    END = 3


class TranscriptionState(IntEnum):
    WORKS = 0
    WAITS = 1
    DONE = 2


class TranscriptKind(IntEnum):
    LANGUAGE = 0
    SEGMENT = 1
    PARTIAL = 2
    UTTERANCE = 3
    DONE = 4


class ProfileClock(IntEnum):
    QUERY = 0
    WAIT = 1


class TestResult(IntEnum):
    RIGHT = 0
    WRONG = 1
    NOT_COMPILED = 2
    NONE = 3


class glinfer_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("message", c_char * 1024),
    ]


glinfer_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)


glinfer_progress_fn = CFUNCTYPE(c_bool, c_void_p, c_int, c_uint64, c_uint64)


class glinfer_host_gl(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("display", c_void_p),
        ("share_context", c_void_p),
        ("context", c_void_p),
        ("make_current", CFUNCTYPE(c_bool, c_void_p)),
        ("release_current", CFUNCTYPE(None, c_void_p)),
        ("user", c_void_p),
    ]


class glinfer_device_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_char_p),
        ("allow_software", c_bool),
        ("debug", c_bool),
        ("cache_dir", c_char_p),
        ("log", glinfer_log_fn),
        ("log_user", c_void_p),
        ("compile_in_background", c_bool),
        ("low_priority", c_bool),
        ("host", POINTER(glinfer_host_gl)),
    ]


class glinfer_device_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_char * 128),
        ("refusal", c_char * 1024),
        ("renderer", c_char * 128),
        ("vendor", c_char * 128),
        ("version", c_char * 128),
        ("is_software", c_bool),
        ("is_indirect", c_bool),
        ("has_timer_query", c_bool),
        ("has_subgroups", c_bool),
        ("has_program_binary", c_bool),
        ("max_storage_blocks", c_uint32),
        ("max_storage_block_size", c_uint64),
        ("storage_alignment", c_uint32),
        ("max_invocations", c_uint32),
        ("max_shared_size", c_uint32),
        ("max_uniform_block_size", c_uint32),
        ("uniform_alignment", c_uint32),
        ("max_group_count", c_uint32),
        ("has_fast_half", c_bool),
        ("n_tuned", c_uint32),
        ("dispatches", c_uint32),
        ("cache_refusal", c_char * 512),
        ("quirks", c_char * 160),
        ("half_refusal", c_char * 200),
        ("max_batch", c_uint32),
    ]


glinfer_read_fn = CFUNCTYPE(c_bool, c_void_p, c_uint64, c_void_p, c_size_t)


class glinfer_source(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int),
        ("name", c_char_p),
        ("path", c_char_p),
        ("fd", c_int),
        ("offset", c_uint64),
        ("length", c_uint64),
        ("data", c_void_p),
        ("read", glinfer_read_fn),
        ("user", c_void_p),
        ("is_transient", c_bool),
        ("quantize", c_char_p),
    ]


class glinfer_model_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("mem_budget", c_uint64),
        ("n_ctx", c_uint32),
        ("type_k", c_int),
        ("type_v", c_int),
        ("progress", glinfer_progress_fn),
        ("progress_user", c_void_p),
        ("chat_template", c_char_p),
        ("source", POINTER(glinfer_source)),
        ("n_sessions", c_uint32),
        ("quantize", c_char_p),
        ("adapters", POINTER(POINTER(glinfer_source))),
        ("n_adapters", c_uint32),
        ("adapter_scales", POINTER(c_float)),
        ("merge_adapter", c_bool),
    ]


class glinfer_model_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("architecture", c_char * 64),
        ("name", c_char * 128),
        ("description", c_char * 128),
        ("types", c_char * 256),
        ("tokenizer", c_char * 64),
        ("chat_template", c_char * 64),
        ("is_supported", c_bool),
        ("refusal", c_char * 1024),
        ("file_size", c_uint64),
        ("weight_size", c_uint64),
        ("n_params", c_uint64),
        ("n_layer", c_uint32),
        ("n_embd", c_uint32),
        ("n_ff", c_uint32),
        ("n_head", c_uint32),
        ("n_kv_head", c_uint32),
        ("head_dim", c_uint32),
        ("n_vocab", c_uint32),
        ("n_ctx_train", c_uint32),
        ("n_ctx", c_uint32),
        ("weights", c_uint64),
        ("kv_cache", c_uint64),
        ("scratch", c_uint64),
        ("peak_host", c_uint64),
        ("largest_binding", c_uint64),
        ("pooling", c_int),
        ("n_embedding", c_uint32),
        ("is_encoder", c_bool),
        ("n_sessions", c_uint32),
        ("drafts", c_uint64),
        ("is_speech", c_bool),
        ("n_language", c_uint32),
        ("n_encoder_layer", c_uint32),
        ("n_encoder_ctx", c_uint32),
        ("n_mel", c_uint32),
        ("file_type", c_uint32),
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("top_k", c_int32),
        ("repeat_penalty", c_float),
        ("repeat_last_n", c_int32),
        ("checkpoint", c_uint64),
        ("template_fault", c_char * 512),
        ("is_adapter", c_bool),
        ("adapter_min_rank", c_uint32),
        ("adapter_max_rank", c_uint32),
        ("n_adapted", c_uint32),
        ("adapter_min_alpha", c_float),
        ("adapter_max_alpha", c_float),
        ("base_model", c_char * 128),
    ]


class glinfer_message(Structure):
    _fields_ = [
        ("role", c_char_p),
        ("content", c_char_p),
    ]


class glinfer_chat_json(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("messages", c_char_p),
        ("tools", c_char_p),
        ("variables", c_char_p),
        ("control_fence", c_char_p),
        ("end", c_int),
    ]


class glinfer_session_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("n_ctx", c_uint32),
        ("type_k", c_int),
        ("type_v", c_int),
        ("n_batch", c_uint32),
        ("chain_length", c_uint32),
        ("max_batch_ms", c_uint32),
        ("progress", glinfer_progress_fn),
        ("progress_user", c_void_p),
        ("precision", c_int),
        ("expected", c_void_p),
        ("gpu_duty", c_uint32),
        ("allows_speech", c_bool),
        ("n_checkpoints", c_uint32),
    ]


class glinfer_prob(Structure):
    _fields_ = [
        ("id", c_int32),
        ("logprob", c_float),
    ]


class glinfer_token(Structure):
    _fields_ = [
        ("id", c_int32),
        ("text", c_void_p),
        ("text_size", c_size_t),
        ("probs", POINTER(glinfer_prob)),
        ("n_probs", c_uint32),
    ]


glinfer_token_fn = CFUNCTYPE(c_bool, c_void_p, POINTER(glinfer_token))


class glinfer_logit_bias(Structure):
    _fields_ = [
        ("id", c_int32),
        ("bias", c_float),
    ]


class glinfer_samplers(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("order", c_char_p),
        ("min_keep", c_uint32),
        ("repeat_last_n", c_int32),
        ("repeat_penalty", c_float),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("dry_multiplier", c_float),
        ("dry_base", c_float),
        ("dry_allowed_length", c_uint32),
        ("dry_penalty_last_n", c_int32),
        ("dry_breakers", POINTER(c_char_p)),
        ("n_dry_breakers", c_size_t),
        ("top_n_sigma", c_float),
        ("typical_p", c_float),
        ("xtc_probability", c_float),
        ("xtc_threshold", c_float),
        ("dynatemp_range", c_float),
        ("dynatemp_exponent", c_float),
        ("mirostat", c_uint32),
        ("mirostat_tau", c_float),
        ("mirostat_eta", c_float),
        ("adaptive_target", c_float),
        ("adaptive_decay", c_float),
        ("logit_bias", POINTER(glinfer_logit_bias)),
        ("n_logit_bias", c_size_t),
    ]


class glinfer_grammar(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("gbnf", c_char_p),
        ("json_schema", c_char_p),
        ("trigger_words", POINTER(c_char_p)),
        ("n_trigger_words", c_size_t),
        ("trigger_tokens", POINTER(c_int32)),
        ("n_trigger_tokens", c_size_t),
        ("json_before", c_char_p),
        ("json_after", c_char_p),
        ("max_json", c_uint32),
        ("schemas", POINTER(c_char_p)),
        ("n_schemas", c_size_t),
        ("schemas_are_hints", c_bool),
    ]


class glinfer_generate_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("prompt", POINTER(c_int32)),
        ("n_prompt", c_size_t),
        ("n_predict", c_int32),
        ("ignore_eos", c_bool),
        ("n_probs", c_uint32),
        ("temperature", c_float),
        ("top_k", c_uint32),
        ("top_p", c_float),
        ("min_p", c_float),
        ("seed", c_uint64),
        ("stop", POINTER(c_char_p)),
        ("n_stop", c_size_t),
        ("on_token", glinfer_token_fn),
        ("token_user", c_void_p),
        ("progress", glinfer_progress_fn),
        ("progress_user", c_void_p),
        ("resume", c_bool),
        ("samplers", POINTER(glinfer_samplers)),
        ("grammar", POINTER(glinfer_grammar)),
        ("context_full", c_int),
        ("n_keep", c_int32),
        ("lookup", c_uint32),
        ("lookup_match", c_uint32),
        ("lookup_always", c_bool),
        ("checkpoints", POINTER(c_uint32)),
        ("n_checkpoints", c_size_t),
    ]


class glinfer_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("stop", c_int),
        ("prompt_n", c_uint32),
        ("predicted_n", c_uint32),
        ("prompt_ms", c_double),
        ("predicted_ms", c_double),
        ("ttft_ms", c_double),
        ("chain_length", c_uint32),
        ("gpu_waits", c_uint32),
        ("dispatches_per_token", c_uint32),
        ("n_past", c_uint32),
        ("peak_memory", c_uint64),
        ("weight_bytes_per_token", c_uint64),
        ("dispatch", c_int),
        ("prompt_cpu_ms", c_double),
        ("predicted_cpu_ms", c_double),
        ("draft_n", c_uint32),
        ("draft_n_accepted", c_uint32),
        ("stop_index", c_uint32),
        ("draft_batches", c_uint32),
    ]


class glinfer_event(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_int),
        ("session", c_void_p),
        ("token", POINTER(glinfer_token)),
        ("done", c_uint32),
        ("total", c_uint32),
        ("stats", POINTER(glinfer_stats)),
    ]


class glinfer_prepared(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("dispatch", c_int),
        ("step_ns", c_double * 3),
    ]


class glinfer_embed_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("pooling", c_int),
        ("is_raw", c_bool),
    ]


class glinfer_transcription_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("vad", POINTER(glinfer_source)),
        ("language", c_char_p),
        ("translate", c_bool),
        ("is_live", c_bool),
        ("is_exact", c_bool),
        ("no_timestamps", c_bool),
        ("has_words", c_bool),
        ("max_length", c_uint32),
        ("split_on_word", c_bool),
        ("prompt", c_char_p),
        ("carry_prompt", c_bool),
        ("max_context", c_uint32),
        ("audio_ctx", c_uint32),
        ("suppress", c_char_p),
        ("suppress_symbols", c_bool),
        ("temperature", c_float),
        ("temperature_step", c_float),
        ("entropy_least", c_float),
        ("logprob_least", c_float),
        ("no_speech_most", c_float),
        ("best_of", c_uint32),
        ("beam_size", c_uint32),
        ("seed", c_uint64),
        ("vad_threshold", c_float),
        ("vad_min_speech_ms", c_uint32),
        ("vad_min_silence_ms", c_uint32),
        ("vad_max_speech_s", c_float),
        ("vad_pad_ms", c_uint32),
        ("no_partials", c_bool),
    ]


class glinfer_transcript_token(Structure):
    _fields_ = [
        ("id", c_int32),
        ("text", c_void_p),
        ("size", c_size_t),
        ("probability", c_float),
        ("from_ms", c_uint64),
        ("to_ms", c_uint64),
    ]


class glinfer_transcript_word(Structure):
    _fields_ = [
        ("text_begin", c_size_t),
        ("text_end", c_size_t),
        ("from_ms", c_uint64),
        ("to_ms", c_uint64),
        ("probability", c_float),
    ]


class glinfer_transcript_event(Structure):
    _fields_ = [
        ("kind", c_int),
        ("is_cancelled", c_bool),
        ("language", c_char_p),
        ("probability", c_float),
        ("from_ms", c_uint64),
        ("to_ms", c_uint64),
        ("text", c_void_p),
        ("size", c_size_t),
        ("tokens", POINTER(glinfer_transcript_token)),
        ("n_token", c_size_t),
        ("words", POINTER(glinfer_transcript_word)),
        ("n_word", c_size_t),
        ("average_logprob", c_float),
        ("no_speech", c_float),
        ("temperature", c_float),
    ]


class glinfer_speech_times(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("encode_ms", c_double),
        ("decode_ms", c_double),
    ]


class glinfer_device_rates(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("copy_gb_per_s", c_double),
        ("read_gb_per_s", c_double),
        ("gflop_per_s", c_double),
    ]


class glinfer_profile_kernel(Structure):
    _fields_ = [
        ("label", c_char_p),
        ("program", c_char_p),
        ("n_dispatches", c_uint32),
        ("ns", c_double),
        ("weight_bytes", c_uint64),
        ("bytes", c_uint64),
        ("flops", c_uint64),
    ]


class glinfer_profile_dispatch(Structure):
    _fields_ = [
        ("label", c_char_p),
        ("program", c_char_p),
        ("begin_ns", c_uint64),
        ("ns", c_uint64),
        ("bytes", c_uint64),
        ("flops", c_uint64),
    ]


class glinfer_planned(Structure):
    _fields_ = [
        ("label", c_char_p),
        ("program", c_char_p),
        ("n_tokens", c_uint32),
        ("n_pieces", c_uint32),
        ("ns", c_double),
    ]


class glinfer_profile_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("n_runs", c_uint32),
        ("n_prompt", c_uint32),
        ("depth", c_uint32),
        ("on_kernel", CFUNCTYPE(None, c_void_p, POINTER(glinfer_profile_kernel))),
        ("on_dispatch", CFUNCTYPE(None, c_void_p, POINTER(glinfer_profile_dispatch))),
        ("user", c_void_p),
        ("on_planned", CFUNCTYPE(None, c_void_p, POINTER(glinfer_planned))),
    ]


class glinfer_profile_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("clock", c_int),
        ("n_runs", c_uint32),
        ("n_repeated", c_uint32),
        ("n_dispatches", c_uint32),
        ("kernel_ns", c_double),
        ("wall_ns", c_double),
        ("host_ns", c_double),
        ("weight_bytes", c_uint64),
        ("dispatch", c_int),
        ("step_ns", c_double * 3),
    ]


class glinfer_tested(Structure):
    _fields_ = [
        ("program", c_char_p),
        ("result", c_int),
        ("text", c_char_p),
        ("ns", c_double),
    ]


class glinfer_tuned(Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("type", c_char_p),
        ("n_rows", c_uint32),
        ("n_cols", c_uint32),
        ("extent", c_uint32),
        ("shape", c_char_p),
        ("table_shape", c_char_p),
        ("table_ns", c_double),
        ("ns", c_double),
        ("n_dispatches", c_uint32),
        ("n_candidates", c_uint32),
    ]


glinfer_tuned_fn = CFUNCTYPE(None, c_void_p, POINTER(glinfer_tuned))


class glinfer_tune_params(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_ms", c_uint32),
        ("on_tuned", glinfer_tuned_fn),
        ("progress", glinfer_progress_fn),
        ("user", c_void_p),
    ]


class glinfer_tune_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("clock", c_int),
        ("table_step_ns", c_double),
        ("step_ns", c_double),
        ("n_sites", c_uint32),
        ("n_measured", c_uint32),
        ("n_changed", c_uint32),
        ("path", c_char_p),
    ]


class DeviceSettings(TypedDict, total=False):
    # "gbm", "gbm:/dev/dri/renderD128", "egl", "egl:1", "surfaceless"; NULL
    # or "auto": the best device
    device: str
    # accept a renderer that runs on the CPU (llvmpipe, softpipe, lavapipe)
    allow_software: bool
    # enable debug messages of the driver and log them
    debug: bool
    # folder of compiled programs; NULL: $XDG_CACHE_HOME/glinfer or
    # ~/.cache/glinfer; "": no cache
    cache_dir: str
    # Compile slow programs in a separate process (glinfer-compile, installed with the library),
    # which may outlive the caller. Later sessions load these programs from the cache.
    compile_in_background: bool
    # Request a context of low priority (EGL_IMG_context_priority); no effect on drivers without
    # it.
    low_priority: bool


class ModelSettings(TypedDict, total=False):
    # Maximum number of bytes for weights, cache and scratch; 0: unlimited. A software renderer
    # also observes the process's address space (ulimit -v) and its cgroup.
    mem_budget: int
    # context in tokens that the budget includes; 0: as glinfer_session_params
    n_ctx: int
    # cache types that the budget includes
    type_k: CacheType
    # cache types that the budget includes
    type_v: CacheType
    # Name of a template, such as "chatml", or a Jinja text; NULL: the template of the file.
    chat_template: str
    # Sessions of glinfer_sessions_create that the budget includes, or texts that a transcription
    # decodes together: its beam_size or, if that is larger, its best_of; 0: 1
    n_sessions: int
    # of a folder at path, as in glinfer_source; NULL: "q8_0"
    quantize: str
    # Adds the product of the only adapter, times its scale, to the weights while they are loaded.
    # Answers then take no more time than the model's alone, but the weights are rounded to their
    # type once more, sessions have no adapters, and no scale can be changed. The matrices that the
    # adapter changes are of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1 or q4_0.
    merge_adapter: bool


class SessionSettings(TypedDict, total=False):
    # context in tokens; 0: the smaller of the model's and 4096
    n_ctx: int
    # types of the KV cache
    type_k: CacheType
    # types of the KV cache
    type_v: CacheType
    # Maximum number of prompt tokens in a batch, 1 to max_batch of the device; 0: max_batch. An
    # encoder processes a text in one batch: up to the context, which is also its default.
    n_batch: int
    # decode steps in a submission, 1 to 256; 0: as many as max_batch_ms
    # allows, fewer at the start of an answer
    chain_length: int
    # target for the GPU time of a submission in ms; 0: 100
    max_batch_ms: int
    # of arithmetic
    precision: Precision
    # Percentage of the time that answers keep the GPU busy, 1 to 99: the session sleeps after each
    # submission, so that others can use the GPU. 0 or 100: no sleep.
    gpu_duty: int
    # Maximum number of checkpoints that the session keeps (glinfer_generate_params.checkpoints), 0
    # to 32. Each takes glinfer_model_info.checkpoint bytes on the GPU once it is needed; without
    # that memory the session has fewer.
    n_checkpoints: int


class SamplersSettings(TypedDict, total=False):
    # The samplers in order: names separated by semicolons, or their letters. Samplers not listed
    # are disabled. NULL: GLINFER_SAMPLER_ORDER,
    # "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "edskypmxt".
    order: str
    # minimum number of tokens that typ_p, top_p, min_p and xtc keep
    min_keep: int
    # penalties: for tokens that occur n > 0 times in the last repeat_last_n tokens of prompt and
    # answer, l / repeat_penalty if l > 0, else l * repeat_penalty (Keskar et al. 2019); then
    # l - n * frequency_penalty - presence_penalty.
    # tokens; default 64; 0: off; -1: the context
    repeat_last_n: int
    # > 0; default 1: off
    repeat_penalty: float
    # default 0: off
    presence_penalty: float
    # default 0: off
    frequency_penalty: float
    # dry: if the last n >= dry_allowed_length tokens occurred before, the token that followed them
    # there gets l - dry_multiplier * dry_base^(n - dry_allowed_length). A repetition ends at a
    # breaker, a text of which at most 40 bytes count.
    # default 0: off
    dry_multiplier: float
    # default 1.75; < 1: off
    dry_base: float
    # tokens; default 2
    dry_allowed_length: int
    # tokens that are searched; default 64; 0: off; -1: the context
    dry_penalty_last_n: int
    # top_n_sigma: keeps l >= max l - top_n_sigma * standard deviation of l (Tang et al. 2024).
    # default -1; <= 0: off
    top_n_sigma: float
    # typ_p: keeps the tokens with the smallest |-ln p - H|, H the entropy, until the sum of their
    # p exceeds typical_p (Meister et al. 2022).
    # default 1: off
    typical_p: float
    # xtc: with probability xtc_probability, drops all tokens with p >= xtc_threshold except the
    # least likely of them.
    # default 0: off
    xtc_probability: float
    # default 0.1; > 0.5: off
    xtc_threshold: float
    # temperature: l / T; with a range T = a + (b - a) * (H / ln n)^dynatemp_exponent, a and b
    # being temperature -+ dynatemp_range, a at least 0, n the number of tokens left.
    # default 0: off
    dynatemp_range: float
    # default 1
    dynatemp_exponent: float
    # Temperature, then mirostat version 1 or 2, in place of all samplers in `order`: keeps the
    # surprise of the text, the mean -log2 p, near mirostat_tau; mirostat_eta is the learning rate
    # (Basu et al. 2021).
    # 0, 1 or 2; default 0: off
    mirostat: int
    # default 5
    mirostat_tau: float
    # default 0.1
    mirostat_eta: float
    # adaptive_p, after all others: l = 5 - 10 d^2 / (1 + d), d = |p - t| / 0.3,
    # t = 2 * adaptive_target - the mean p of the previously chosen tokens, weighted by
    # adaptive_decay per token. Its letter is a; adaptive_target enables it.
    # default -1; < 0: off
    adaptive_target: float
    # default 0.9
    adaptive_decay: float


class GenerateSettings(TypedDict, total=False):
    # maximum number of tokens; 0: only process the prompt; < 0: until the
    # context is full
    n_predict: int
    # never sample end-of-text tokens; their log-probabilities do not change
    ignore_eos: bool
    # log-probabilities reported per token, 0 to 64
    n_probs: int
    # <= 0: greedy
    temperature: float
    # 0: off
    top_k: int
    # 0 or >= 1: off
    top_p: float
    # 0: off
    min_p: float
    seed: int
    # for answers; a prompt that does not fit always fails
    context_full: ContextFull
    # tokens at the beginning of the session that a shift keeps; < 0: all tokens
    # before the answer
    n_keep: int
    # Speculative decoding by prompt lookup. If the last lookup_match or more tokens occurred
    # before, up to `lookup` tokens that followed them there are the draft. One batch computes the
    # draft with the next token; draft tokens that the settings above would not have chosen are
    # discarded. Each token is chosen with the random numbers of its position, so the answer equals
    # the one without drafts, unless two tokens are so close that the different rounding of a batch
    # decides between them. Drafts are disabled where they are measured to be slower, with samplers
    # that change logits, with a grammar, and in sessions that were created together.
    # maximum tokens of a draft; devices have a limit of 3 to 15; 0: off
    lookup: int
    # tokens; 0: 3
    lookup_match: int
    # use drafts even where they are slower
    lookup_always: bool


class TranscriptionSettings(TypedDict, total=False):
    # Code or name, such as "de" or "german", in any case; NULL or "auto": detected.
    language: str
    # to English
    translate: bool
    # tells the text of an utterance before it has ended, and tries no further
    # temperatures, which would delay the next utterances
    is_live: bool
    # Encodes whole windows of 30 s, scaled by the loudest frame of the whole sound, as whisper.cpp
    # does; else no more than the sound, which is faster.
    is_exact: bool
    no_timestamps: bool
    # finds when words and tokens were spoken, by where the model attends
    has_words: bool
    # characters of a segment, which then has words; default 0: unlimited
    max_length: int
    # with max_length
    split_on_word: bool
    # text before the first window: names, style; NULL: none
    prompt: str
    # before every window
    carry_prompt: bool
    # tokens of earlier text before a window; default 448: all that fit
    max_context: int
    # minimum number of positions of 20 ms to encode; default 384; fewer
    # have no effect: the sound and 1 s of silence are always encoded
    audio_ctx: int
    # regular expression (PCRE2) of tokens to leave out; NULL: none
    suppress: str
    # leaves out tokens that are not speech
    suppress_symbols: bool
    # of the first attempt; default 0: the most likely tokens
    temperature: float
    # to the next attempt, up to 1; default 0.2; 0: one attempt alone
    temperature_step: float
    # nats; another attempt if a text has less; default 2.4
    entropy_least: float
    # mean of tokens; another attempt if a text has less; default -1
    logprob_least: float
    # probability of silence above which a text less likely than
    # logprob_least is dropped; default 0.6
    no_speech_most: float
    # texts at temperatures above 0; default 5
    best_of: int
    # of beam search at temperature 0; default 1: greedy
    beam_size: int
    # of random numbers
    seed: int
    # probability at which speech begins; default 0.5
    vad_threshold: float
    # shorter speech is dropped; default 250
    vad_min_speech_ms: int
    # shorter silence does not end an utterance; default 100
    vad_min_silence_ms: int
    # longer speech is split; default 0: unlimited
    vad_max_speech_s: float
    # added before and after speech; default 100
    vad_pad_ms: int
    # tells no text of an utterance before it has ended
    no_partials: bool


class DeviceInfo(NamedTuple):
    # value of glinfer_device_params.device that selects this one; "host"
    device: str
    # why the device cannot be used; empty: usable, and the fields below are set
    refusal: str
    # GL_RENDERER
    renderer: str
    # GL_VENDOR
    vendor: str
    # GL_VERSION
    version: str
    is_software: bool
    # grids that change are dispatched indirectly
    is_indirect: bool
    # EXT_disjoint_timer_query
    has_timer_query: bool
    # KHR_shader_subgroup
    has_subgroups: bool
    # compiled programs can be cached, unless cache_refusal is set
    has_program_binary: bool
    # storage blocks per compute shader
    max_storage_blocks: int
    # bytes
    max_storage_block_size: int
    # bytes
    storage_alignment: int
    # invocations per workgroup
    max_invocations: int
    # bytes of shared memory per workgroup
    max_shared_size: int
    # bytes
    max_uniform_block_size: int
    # bytes
    uniform_alignment: int
    # workgroups in x
    max_group_count: int
    # 16-bit arithmetic was measured to be faster than 32-bit
    has_fast_half: bool
    # kernel shapes that glinfer_tune measured on this device
    n_tuned: int
    # bit i: decode steps can be submitted as value i of enum glinfer_dispatch
    dispatches: int
    # why the cache is not used; empty: it is used
    cache_refusal: str
    # quirks set by the driver's name and by GLINFER_QUIRKS; or "none"
    quirks: str
    # why models compute in f32, by the latest self-test; empty: no fault
    # of 16-bit arithmetic is known
    half_refusal: str
    # maximum number of prompt tokens in a batch of a session: 512 or more
    max_batch: int


class ModelInfo(NamedTuple):
    # general.architecture
    architecture: str
    # general.name, may be empty
    name: str
    # as llama-bench prints it, such as "llama 135M Q4_1"
    description: str
    # tensor types with their number, such as "210 q4_1, 61 f32, 1 q8_0";
    # of MLX also its format: "(MLX affine, 4 bits, groups of 64)"
    types: str
    # tokenizer.ggml.model, with tokenizer.ggml.pre after a slash; "steps"
    # there if the file only says step by step how to cut words
    tokenizer: str
    # the template's name, "jinja" if it has no name, "none" or "unknown"
    chat_template: str
    # false: the model cannot run, for the reason in refusal
    is_supported: bool
    refusal: str
    # bytes
    file_size: int
    # bytes of all tensors in the file
    weight_size: int
    # elements of all tensors
    n_params: int
    # 0: has none
    n_layer: int
    # 0: has none
    n_embd: int
    # 0: has none
    n_ff: int
    # 0: has none
    n_head: int
    # 0: has none
    n_kv_head: int
    # 0: has none
    head_dim: int
    # 0: has none
    n_vocab: int
    # context in tokens that the model was trained with
    n_ctx_train: int
    # Estimates for n_ctx, the cache types and n_sessions of the params (bytes):
    n_ctx: int
    # on the GPU
    weights: int
    # on the GPU
    kv_cache: int
    # on the GPU
    scratch: int
    # on the host: vocabulary, staging, programs
    peak_host: int
    # largest storage range that a kernel binds
    largest_binding: int
    # of embeddings; GLINFER_POOLING_DEFAULT: not in the file
    pooling: Pooling
    # numbers in an embedding
    n_embedding: int
    # computes embeddings and generates no text
    is_encoder: bool
    # sessions that kv_cache and scratch are for
    n_sessions: int
    # additional bytes on the GPU, at most, once an answer uses drafts
    drafts: int
    # transcribes sound and generates no other text
    is_speech: bool
    # is_speech: it knows the first ones of glinfer_speech_language
    n_language: int
    # Sizes of a speech model's encoder, or 0; all others are those of the decoder.
    # n_encoder_ctx: positions of 20 ms
    n_encoder_layer: int
    # Sizes of a speech model's encoder, or 0; all others are those of the decoder.
    # n_encoder_ctx: positions of 20 ms
    n_encoder_ctx: int
    # bands of the spectrogram
    n_mel: int
    # general.file_type, such as 1: f16, 7: q8_0
    file_type: int
    # Sampling that the file recommends (general.sampling.*, or a folder's generation_config.json);
    # below 0: it recommends none.
    temperature: float
    # Sampling that the file recommends (general.sampling.*, or a folder's generation_config.json);
    # below 0: it recommends none.
    top_p: float
    # Sampling that the file recommends (general.sampling.*, or a folder's generation_config.json);
    # below 0: it recommends none.
    min_p: float
    # 0: off
    top_k: int
    # with the tokens that it counts, if it is recommended
    repeat_penalty: float
    # -1: the context
    repeat_last_n: int
    # bytes on the GPU of a checkpoint of a session; 0: no recurrent layers
    checkpoint: int
    # why the file's own chat template cannot be run; empty: it can
    template_fault: str
    # A LoRA adapter is a GGUF file or a folder of PEFT: is_supported is false, sizes of a model
    # are 0, and architecture, which folders do not name, is that of its base model.
    is_adapter: bool
    # of its pairs of matrices
    adapter_min_rank: int
    # of its pairs of matrices
    adapter_max_rank: int
    # matrices of the base model that it changes
    n_adapted: int
    # Products count alpha / rank; with PEFT's use_rslora alpha is that of adapter_config.json
    # times the root of the rank; 0: they count as they are.
    adapter_min_alpha: float
    # Products count alpha / rank; with PEFT's use_rslora alpha is that of adapter_config.json
    # times the root of the rank; 0: they count as they are.
    adapter_max_alpha: float
    # name of the base model, may be empty
    base_model: str


class Stats(NamedTuple):
    stop: Stop
    # tokens processed
    prompt_n: int
    # tokens generated
    predicted_n: int
    # from the call to the logits of the first token
    prompt_ms: float
    # from the first token to the last
    predicted_ms: float
    # from the call to the first on_token
    ttft_ms: float
    # largest number of decode steps in a submission
    chain_length: int
    # number of times that the host waited for the GPU
    gpu_waits: int
    # dispatches in a decode step
    dispatches_per_token: int
    # tokens in the KV cache, without the last one of an answer
    n_past: int
    # bytes: largest resident size of the process so far
    peak_memory: int
    # bytes of weights that a decode step reads
    weight_bytes_per_token: int
    # of the last steps
    dispatch: Dispatch
    # CPU time of the process, driver included, in prompt_ms
    prompt_cpu_ms: float
    # CPU time of the process, driver included, in predicted_ms
    predicted_cpu_ms: float
    # tokens drafted (glinfer_generate_params.lookup)
    draft_n: int
    # drafted tokens that were accepted
    draft_n_accepted: int
    # WORD: index into glinfer_generate_params.stop; else 0
    stop_index: int
    # drafts that were tried, each in one batch
    draft_batches: int


class Prepared(NamedTuple):
    # how steps are submitted from now on
    dispatch: Dispatch
    # measured time of a step; 0: not measured
    step_ns: Tuple[float, ...]


class DeviceRates(NamedTuple):
    # 1e9 bytes per second, read and written
    copy_gb_per_s: float
    # 1e9 bytes per second, read; the best of several kernels
    read_gb_per_s: float
    # 1e9 f32 operations per second; a multiply-add counts as two
    gflop_per_s: float


SAMPLER_DEFAULTS: Dict[str, float] = {
    "min_keep": 0,
    "repeat_last_n": 64,
    "repeat_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "dry_multiplier": 0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "top_n_sigma": -1,
    "typical_p": 1,
    "xtc_probability": 0,
    "xtc_threshold": 0.1,
    "dynatemp_range": 0,
    "dynatemp_exponent": 1,
    "mirostat": 0,
    "mirostat_tau": 5,
    "mirostat_eta": 0.1,
    "adaptive_target": -1,
    "adaptive_decay": 0.9,
}


SPEECH_DEFAULTS: Dict[str, float] = {
    "max_length": 0,
    "max_context": 448,
    "audio_ctx": 0,
    "temperature": 0,
    "temperature_step": 0.2,
    "entropy_least": 2.4,
    "logprob_least": -1,
    "no_speech_most": 0.6,
    "best_of": 5,
    "beam_size": 1,
    "vad_threshold": 0.5,
    "vad_min_speech_ms": 250,
    "vad_min_silence_ms": 100,
    "vad_max_speech_s": 0,
    "vad_pad_ms": 100,
}

# The result and the arguments of each function.
PROTOTYPES: Dict[str, Any] = {
    "glinfer_version": (c_char_p, []),
    "glinfer_status_text": (c_char_p, [c_int]),
    "glinfer_device_list": (c_size_t, [POINTER(glinfer_device_params), CFUNCTYPE(None, c_void_p, POINTER(glinfer_device_info)), c_void_p]),
    "glinfer_device_create": (c_void_p, [POINTER(glinfer_device_params), POINTER(glinfer_error)]),
    "glinfer_driver_cache_check": (c_bool, [POINTER(glinfer_error)]),
    "glinfer_device_describe": (None, [c_void_p, POINTER(glinfer_device_info)]),
    "glinfer_device_recover": (c_bool, [c_void_p, glinfer_progress_fn, c_void_p, POINTER(glinfer_error)]),
    "glinfer_device_set_host": (c_bool, [c_void_p, POINTER(glinfer_host_gl), POINTER(glinfer_error)]),
    "glinfer_device_destroy": (None, [POINTER(c_void_p)]),
    "glinfer_model_inspect": (c_bool, [POINTER(glinfer_model_params), POINTER(glinfer_model_info), POINTER(glinfer_error)]),
    "glinfer_model_convert": (c_bool, [POINTER(glinfer_model_params), c_char_p, POINTER(glinfer_error)]),
    "glinfer_model_load": (c_void_p, [c_void_p, POINTER(glinfer_model_params), POINTER(glinfer_error)]),
    "glinfer_model_describe": (None, [c_void_p, POINTER(glinfer_model_info)]),
    "glinfer_model_tokenizer": (c_void_p, [c_void_p]),
    "glinfer_model_destroy": (None, [POINTER(c_void_p)]),
    "glinfer_tokenizer_load": (c_void_p, [c_char_p, POINTER(glinfer_error)]),
    "glinfer_tokenizer_load_source": (c_void_p, [POINTER(glinfer_source), POINTER(glinfer_error)]),
    "glinfer_tokenizer_destroy": (None, [POINTER(c_void_p)]),
    "glinfer_tokenize": (c_bool, [c_void_p, c_char_p, c_size_t, c_uint, POINTER(c_int32), c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_tokenize_pair": (c_bool, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(c_int32), c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_chat_template_at": (c_char_p, [c_size_t]),
    "glinfer_token_bytes": (c_void_p, [c_void_p, c_int32, POINTER(c_size_t)]),
    "glinfer_token_ends": (c_size_t, [c_void_p, POINTER(c_int32), c_size_t]),
    "glinfer_chat_tokenize": (c_bool, [c_void_p, POINTER(glinfer_message), c_size_t, POINTER(c_int32), c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_chat_tokenize_json": (c_bool, [c_void_p, POINTER(glinfer_chat_json), POINTER(c_int32), c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_chat_write_json": (c_bool, [c_void_p, POINTER(glinfer_chat_json), c_char_p, c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_chat_template_text": (c_char_p, [c_void_p]),
    "glinfer_chat_available": (c_bool, [c_void_p]),
    "glinfer_session_create": (c_void_p, [c_void_p, POINTER(glinfer_session_params), POINTER(glinfer_error)]),
    "glinfer_sessions_create": (c_bool, [c_void_p, POINTER(glinfer_session_params), c_uint32, POINTER(c_void_p), POINTER(glinfer_error)]),
    "glinfer_session_destroy": (None, [POINTER(c_void_p)]),
    "glinfer_dispatch_name": (c_char_p, [c_int]),
    "glinfer_grammar_check": (c_bool, [POINTER(glinfer_grammar), POINTER(glinfer_error)]),
    "glinfer_generate": (c_bool, [c_void_p, POINTER(glinfer_generate_params), POINTER(glinfer_stats), POINTER(glinfer_error)]),
    "glinfer_begin": (c_bool, [c_void_p, POINTER(glinfer_generate_params), POINTER(glinfer_error)]),
    "glinfer_step": (c_bool, [c_void_p, c_uint32, POINTER(glinfer_event), POINTER(glinfer_error)]),
    "glinfer_end": (None, [c_void_p]),
    "glinfer_device_fd": (c_int, [c_void_p, POINTER(glinfer_error)]),
    "glinfer_session_prepare": (c_bool, [c_void_p, POINTER(glinfer_generate_params), POINTER(glinfer_prepared), POINTER(glinfer_error)]),
    "glinfer_score": (c_bool, [c_void_p, POINTER(c_int32), c_size_t, POINTER(c_float), POINTER(glinfer_error)]),
    "glinfer_score_top": (c_bool, [c_void_p, POINTER(c_int32), c_size_t, c_uint32, POINTER(c_float), POINTER(glinfer_prob), POINTER(glinfer_error)]),
    "glinfer_embed": (c_bool, [c_void_p, POINTER(c_int32), c_size_t, POINTER(glinfer_embed_params), POINTER(c_float), c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_session_reset": (None, [c_void_p]),
    "glinfer_session_rewind": (c_size_t, [c_void_p, c_size_t]),
    "glinfer_session_match": (c_size_t, [c_void_p, POINTER(c_int32), c_size_t]),
    "glinfer_session_ready": (c_size_t, [c_void_p, c_size_t]),
    "glinfer_session_tokens": (c_size_t, [c_void_p, POINTER(c_int32), c_size_t]),
    "glinfer_session_set_adapter_scales": (c_bool, [c_void_p, POINTER(c_float), c_size_t, POINTER(glinfer_error)]),
    "glinfer_session_adapter_scales": (c_size_t, [c_void_p, POINTER(c_float), c_size_t]),
    "glinfer_session_copy": (c_bool, [c_void_p, c_void_p, c_size_t, POINTER(glinfer_error)]),
    "glinfer_session_save": (c_bool, [c_void_p, c_char_p, POINTER(glinfer_error)]),
    "glinfer_session_load": (c_bool, [c_void_p, c_char_p, POINTER(glinfer_error)]),
    "glinfer_session_save_memory": (c_bool, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t), POINTER(glinfer_error)]),
    "glinfer_session_load_memory": (c_bool, [c_void_p, c_void_p, c_size_t, POINTER(glinfer_error)]),
    "glinfer_session_load_prefix": (c_bool, [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(glinfer_error)]),
    "glinfer_saved_match": (c_size_t, [c_void_p, c_size_t, POINTER(c_int32), c_size_t, POINTER(c_size_t)]),
    "glinfer_session_cancel": (None, [c_void_p]),
    "glinfer_model_hears": (c_bool, [c_void_p]),
    "glinfer_speech_language": (c_char_p, [c_size_t]),
    "glinfer_speech_language_name": (c_char_p, [c_size_t]),
    "glinfer_transcription_check": (c_bool, [POINTER(glinfer_transcription_params), POINTER(glinfer_error)]),
    "glinfer_transcription_create": (c_void_p, [c_void_p, POINTER(glinfer_transcription_params), POINTER(glinfer_error)]),
    "glinfer_transcription_destroy": (None, [POINTER(c_void_p)]),
    "glinfer_transcription_feed": (c_bool, [c_void_p, POINTER(c_float), c_size_t, POINTER(glinfer_error)]),
    "glinfer_transcription_end": (None, [c_void_p]),
    "glinfer_transcription_step": (c_bool, [c_void_p, c_uint32, POINTER(c_int), POINTER(glinfer_error)]),
    "glinfer_transcription_poll": (c_bool, [c_void_p, POINTER(glinfer_transcript_event)]),
    "glinfer_transcription_time": (c_uint64, [c_void_p]),
    "glinfer_transcription_cancel": (None, [c_void_p]),
    "glinfer_transcription_reset": (None, [c_void_p]),
    "glinfer_transcription_measure": (c_bool, [c_void_p, c_uint32, c_uint32, POINTER(glinfer_speech_times), POINTER(glinfer_error)]),
    "glinfer_device_measure": (c_bool, [c_void_p, POINTER(glinfer_device_rates), POINTER(glinfer_error)]),
    "glinfer_profile": (c_bool, [c_void_p, POINTER(glinfer_profile_params), POINTER(glinfer_profile_stats), POINTER(glinfer_error)]),
    "glinfer_selftest": (c_bool, [c_void_p, CFUNCTYPE(None, c_void_p, POINTER(glinfer_tested)), c_void_p, POINTER(glinfer_error)]),
    "glinfer_tune": (c_bool, [c_void_p, POINTER(glinfer_tune_params), POINTER(glinfer_tune_stats), POINTER(glinfer_error)]),
    "glinfer_device_tuning": (c_size_t, [c_void_p, glinfer_tuned_fn, c_void_p]),
    "glinfer_device_reset_tuning": (c_bool, [c_void_p, POINTER(glinfer_error)]),
}


def bind(library: CDLL) -> None:
    """Declares the functions of the library. An older one may lack some."""
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is not None:
            function.restype = result
            function.argtypes = arguments
