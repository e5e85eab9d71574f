"""Runs language models and Whisper on GPUs with OpenGL ES 3.1, by libglinfer.

    import glinfer
    model = glinfer.load("model.gguf")
    for piece in model.chat("Name three rivers."):
        print(piece, end="", flush=True)
"""
from ._answer import Answer, Prob, Token
from ._device import Device, devices
from ._ffi import (CacheType, ChatEnd, ContextFull, DeviceInfo, DeviceRates, Dispatch, LogLevel, ModelInfo,
                   Phase, Pooling, Precision, Prepared, Stats, Status, Stop, TranscriptionState, TranscriptKind, VERSION)
from ._library import (BadFileError, CancelledError, ContextFullError, Error, GpuError, InputOutputError,
                       InvalidArgumentError, NoDeviceError, NoMemoryError, NotFoundError, UnsupportedError)
from ._model import Model, Tokenizer, default_device, inspect, load
from ._session import Chat, Session
from ._settings import Settings
from ._speech import Segment, Transcript, Transcription, Word

__version__ = VERSION
__all__ = [
    "Answer", "BadFileError", "CacheType", "CancelledError", "Chat", "ChatEnd", "ContextFull", "ContextFullError",
    "Device", "DeviceInfo", "DeviceRates", "Dispatch", "Error", "GpuError", "InputOutputError",
    "InvalidArgumentError", "LogLevel", "Model", "ModelInfo", "NoDeviceError", "NoMemoryError", "NotFoundError",
    "Phase", "Pooling", "Precision", "Prepared", "Prob", "Segment", "Session", "Settings", "Stats", "Status", "Stop",
    "Token", "Tokenizer", "Transcript", "TranscriptKind", "Transcription", "TranscriptionState", "UnsupportedError",
    "Word", "devices", "inspect", "load"]
