"""Settings of an answer, as keywords and as the structs of the library."""
from __future__ import annotations

import json
from ctypes import c_char_p, c_int32, pointer
from typing import Any, Mapping, Sequence, Union

from . import _ffi
from ._ffi import GenerateSettings, SamplersSettings
from ._library import encode, fill, new


class Settings(GenerateSettings, SamplersSettings, total=False):
    """The settings of an answer. The library's defaults hold for those that are not given.

    Numbers are the fields of struct glinfer_generate_params and struct glinfer_samplers.
    """

    # strings that end the answer, which does not include them
    stop: Union[str, Sequence[str]]
    # numbers that are added to logits, by token id; -inf bans a token
    logit_bias: Mapping[int, float]
    # texts that end a repetition, of the sampler dry
    dry_breakers: Sequence[str]
    # a JSON schema that the answer satisfies, as JSON or as the object that JSON stands for; {}: any JSON
    json_schema: Union[str, bool, Mapping[str, Any]]
    # a grammar in GBNF that the answer follows
    gbnf: str


def strings(texts: Sequence[str]) -> Any:
    return (c_char_p * len(texts))(*map(encode, texts))


def make_params(prompt: Sequence[int], settings: Mapping[str, Any]) -> Any:
    """Returns a struct glinfer_generate_params, which keeps what it points to alive."""
    settings = dict(settings)
    params = new(_ffi.glinfer_generate_params, {"n_predict": -1})
    params.prompt, params.n_prompt = (c_int32 * len(prompt))(*prompt), len(prompt)
    stop = settings.pop("stop", None) or ()
    stop = (stop,) if isinstance(stop, str) else stop
    params.stop, params.n_stop = strings(stop), len(stop)

    samplers = new(_ffi.glinfer_samplers, _ffi.SAMPLER_DEFAULTS)
    bias = settings.pop("logit_bias", None) or {}
    pairs: Any = bias.items()
    samplers.logit_bias, samplers.n_logit_bias = (_ffi.glinfer_logit_bias * len(bias))(*pairs), len(bias)
    breakers = settings.pop("dry_breakers", None)
    if breakers is not None:
        samplers.dry_breakers, samplers.n_dry_breakers = strings(breakers), len(breakers)

    schema, gbnf = settings.pop("json_schema", None), settings.pop("gbnf", None)
    if schema is not None or gbnf is not None:
        schema = schema if schema is None or isinstance(schema, str) else json.dumps(schema)
        grammar = new(_ffi.glinfer_grammar, {"json_schema": schema, "gbnf": gbnf})
        params.grammar = pointer(grammar)

    of_samplers = {name: settings.pop(name) for name in list(settings) if hasattr(_ffi.glinfer_samplers, name)}
    fill(samplers, of_samplers)
    params.samplers = pointer(samplers)
    fill(params, settings)
    return params
