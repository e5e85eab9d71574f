"""answer.py LIBRARY MODEL: another language has libglinfer answer. Structs end where this program needs no more of them."""
import sys
from ctypes import *


def params(**values):
    fields = [("struct_size", c_size_t)] + [(name, type(value)) for name, value in values.items()]
    kind = type("Params", (Structure,), {"_fields_": fields})
    return byref(kind(sizeof(kind), *values.values()))


def print_token(_, token):  # struct glinfer_token: id, text, text_size
    address, size = c_void_p.from_address(token + 8).value, c_size_t.from_address(token + 16).value
    tokens.append(c_int32.from_address(token).value)
    print(tokens[-1], string_at(address, size))
    return True


def call(name, *arguments, result=c_void_p):
    function = getattr(library, "glinfer_" + name)
    function.restype = result
    value = function(*arguments, byref(error))
    if not value:
        print(error.raw[4:].rstrip(b"\0").decode())  # struct glinfer_error: status, message
        sys.exit(77 if name == "device_create" else 1)
    return c_void_p(value)


library, error, tokens = CDLL(sys.argv[1]), create_string_buffer(4 + 1024), []
prompt, n_prompt, text = (c_int32 * 64)(), c_size_t(), b"Once upon a time"
device = call("device_create", params(device=c_char_p(), allow_software=c_bool(True), debug=c_bool()))
model = call("model_load", device, params(path=c_char_p(sys.argv[2].encode())))
session = call("session_create", model, None)
call("tokenize", call("model_tokenizer", model), text, c_size_t(len(text)), 0, prompt, c_size_t(64), byref(n_prompt),
     result=c_bool)
on_token = CFUNCTYPE(c_bool, c_void_p, c_void_p)(print_token)
call("generate", session, params(prompt=cast(prompt, c_void_p), n_prompt=n_prompt, n_predict=c_int32(8),
     ignore_eos=c_bool(True), n_probs=c_uint32(), temperature=c_float(), top_k=c_uint32(), top_p=c_float(),
     min_p=c_float(), seed=c_uint64(), stop=c_void_p(), n_stop=c_size_t(), on_token=on_token), None, result=c_bool)
for kind, thing in ("session", session), ("model", model), ("device", device):
    getattr(library, f"glinfer_{kind}_destroy")(byref(thing))
sys.exit(0 if len(tokens) == 8 else f"{len(tokens)} tokens came")
