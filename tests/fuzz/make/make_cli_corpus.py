#!/usr/bin/env python3
"""Writes corpus/wyoming and corpus/multipart: what clients send, for wyoming_fuzz.c and multipart_fuzz.c."""
from pathlib import Path

STOP = b'{"type":"audio-stop"}\n'


def chunk(rate, width, channels, size):
    data = b'{"rate":%d,"width":%d,"channels":%d}' % (rate, width, channels)
    line = b'{"type":"audio-chunk","data_length":%d,"payload_length":%d}\n' % (len(data), size)
    return line + data + bytes(range(size))


CORPORA = {
    "wyoming": {
        "utterance": b'{"type":"describe"}\n{"type":"transcribe","data":{"language":"en"}}\n'
                     b'{"type":"audio-start","data":{"rate":16000,"width":2,"channels":1}}\n'
                     + chunk(16000, 2, 1, 8) + STOP,
        "formats": chunk(8000, 1, 1, 5) + chunk(44100, 4, 2, 16) + chunk(22050, 3, 1, 6) + STOP,
        "wrong": STOP + chunk(16000, 2, 1, 3) + b'{"type":"ping","data":[]}\n',
    },
    "multipart": {
        "browser": b'multipart/form-data; boundary=--xy\n'
                   b'----xy\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n'
                   b'Content-Type: audio/wav\r\n\r\nRIFF\r\n'
                   b'----xy\r\ncontent-disposition: form-data; name=model\r\n\r\nb\r\n----xy--\r\n',
        "quoted": b'multipart/form-data; a="; boundary=q"; boundary="x y"\npre\r\n--x y \t\r\n'
                  b'Content-Disposition: form-data; filename="\\"\\\\;"; name="a"\r\n\r\n\r\n--x y--',
    },
}


def main():
    for corpus, inputs in CORPORA.items():
        folder = Path(__file__).parent.parent / "corpus" / corpus
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / f"{name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
