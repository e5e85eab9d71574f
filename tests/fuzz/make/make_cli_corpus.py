#!/usr/bin/env python3
"""Writes corpus/multipart: what clients send, for multipart_fuzz.c."""
from pathlib import Path

CORPORA = {
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
