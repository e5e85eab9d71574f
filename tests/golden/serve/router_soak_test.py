#!/usr/bin/env python3
"""Has several models in one `glinfer serve` stand many clients that ask all of them at once, load and unload them, and
leave: no error but 503, and no growth.

    router_soak_test.py GLINFER MODEL [--seconds N] [--clients N] [--max N] [--seed N]

MODEL is tests/data/models/tiny-chat.gguf; a text encoder and a speech model are served with it. Status 77: no device
available.
"""
import argparse
import collections
import io
import json
import os
import random
import shutil
import struct
import sys
import tempfile
import threading
import time
import wave

from serving import start_or_skip
import whisper_file


def write_whisper(path):
    source = random.Random(1)

    def write_random(file, _kind, n, exponent):
        mask = int.from_bytes(struct.pack("<I", 0x807FFFFF) * n, "little")
        power = int.from_bytes(struct.pack("<I", (127 + exponent) << 23) * n, "little")
        bits = int.from_bytes(source.randbytes(4 * n), "little")
        file.write((bits & mask | power).to_bytes(4 * n, "little") if exponent else struct.pack("<f", 1) * n)

    whisper_file.write(path, 32, 4, 51865, whisper_file.F32, write_random)


def make_form(model):
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(random.Random(2).randbytes(16000))
    parts = [f'--mark\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in (("model", model), ("temperature_inc", "0"), ("language", "en"))]
    parts.append(b'--mark\r\nContent-Disposition: form-data; name="file"; filename="x.wav"\r\n\r\n' + sound.getvalue() + b"\r\n--mark--\r\n")
    return b"".join(parts), {"Content-Type": "multipart/form-data; boundary=mark"}


def resident(pid):
    """Returns bytes of memory, and the numbers of open descriptors and threads."""
    with open(f"/proc/{pid}/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


class Clients:
    def __init__(self, server, options, has_speech):
        self.server, self.has_speech, self.form = server, has_speech, make_form("ear")
        self.counts, self.failures, self.longest = collections.Counter(), [], 0.0
        self.end = time.monotonic() + options.seconds
        self.threads = [threading.Thread(target=self.work, args=(random.Random(options.seed + i),)) for i in range(options.clients)]
        for thread in self.threads:
            thread.start()

    def make_request(self, rng):
        """Returns a method, a path, a body, headers and whether the client may leave."""
        kind = rng.randrange(20)
        model = rng.choice(["chat", "chat", "words"] + ["ear"] * self.has_speech)
        if kind == 0:
            return "POST", "/models/" + rng.choice(["load", "unload"]), json.dumps({"model": model}), {}, False
        if kind == 1:
            return "GET", rng.choice(["/models", "/models?reload=1", "/health", "/api/tags", "/api/ps", "/props"]), None, {}, False
        if model == "ear":
            return "POST", "/v1/audio/transcriptions", *self.form, True
        if model == "words":
            return "POST", "/v1/embeddings", json.dumps({"model": model, "input": "some words"}), {}, True
        return "POST", "/v1/chat/completions", json.dumps({
            "model": model, "max_tokens": rng.randrange(1, 30), "stream": rng.random() < 0.5, "seed": rng.randrange(1 << 31),
            "messages": [{"role": "user", "content": "hi there"}]}), {}, True

    def work(self, rng):
        while time.monotonic() < self.end and not self.failures:
            method, path, body, headers, may_leave = self.make_request(rng)
            begin = time.monotonic()
            try:
                connection = self.server.connect(300)
                connection.request(method, path, body, headers)
                if may_leave and rng.random() < 0.05:
                    time.sleep(rng.random() * 0.2)
                    connection.close()
                    self.counts["left"] += 1
                    continue
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                self.counts[answer.status] += 1
                if answer.status not in (200, 503):
                    raise AssertionError(f"{answer.status} {text}")
                is_stream = isinstance(body, str) and '"stream": true' in body and answer.status == 200
                if is_stream and not text.endswith(b"data: [DONE]\n\n"):
                    raise AssertionError(f"a stream broke off: {text[-200:]}")
                self.longest = max(self.longest, time.monotonic() - begin)
            except Exception as error:  # of any kind: it is told at the end
                self.failures.append(f"{method} {path}: {error!r} after {time.monotonic() - begin:.1f} s")

    def join(self):
        for thread in self.threads:
            while thread.is_alive():
                thread.join(30)
                print(f"{max(0, self.end - time.monotonic()):.0f} s left: {dict(self.counts)}, {resident(self.server.process.pid)[0] >> 10} KiB", flush=True)
        if self.failures:
            raise AssertionError(f"{len(self.failures)} of {self.counts}: {self.failures[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("glinfer")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--max", default="2", help="models that are loaded at a time")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(options.model, folder + "/chat.gguf")
        shutil.copy(os.path.dirname(options.model) + "/tiny-bert.gguf", folder + "/words.gguf")
        write_whisper(folder + "/ear.bin")
        server = start_or_skip(options.glinfer, None, "--models-dir", folder, "--models-max", options.max, "--sleep-idle-seconds", "1", "--no-vad")
        with server:
            status, _, _ = server.request("POST", "/v1/audio/transcriptions", *make_form("ear"), 300)
            has_speech = status == 200  # the build can read sound
            seconds, options.seconds = options.seconds, options.seconds / 4
            Clients(server, options, has_speech).join()
            before = resident(server.process.pid)
            options.seconds, options.seed = seconds, options.seed + 1000
            clients = Clients(server, options, has_speech)
            clients.join()
            time.sleep(3)
            after = resident(server.process.pid)
            n = sum("is loaded" in line for line in server.lines)
            print(f"{dict(clients.counts)}, {n} loads, the longest request took {clients.longest:.1f} s; memory, descriptors, threads: "
                  f"{before} before, {after} after")
            # Malloc's arenas of threads grow to what they once need; a leak goes on.
            if after[0] > before[0] * 1.1 + (16 << 20) or after[1] > before[1] + 4 or after[2] > before[2]:
                sys.exit("the server has grown")
            if server.end() != 0:
                sys.exit("the server failed at its end")


main()
