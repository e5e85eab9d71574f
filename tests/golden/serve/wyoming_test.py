"""Clients of `glinfer serve --wyoming`, with a Whisper model that always says the same words.

    wyoming_test.py GLINFER MODEL

Status 77: no device, or a build that cannot read sound.
"""
import array
import json
import math
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from serving import Server, same, true
from speech_test import N_VOCAB, WIDTH, send, write_whisper

GLINFER, MODEL = sys.argv[1:3]
END, GERMAN, TIME = 50257, 50261, 50364
WORDS = " w300 w400"
BEGIN = (GERMAN, END, TIME, 300, 400, TIME + 50)  # tokens after each position of the decoder
MONO = {"rate": 16000, "width": 2, "channels": 1}


def write_parrot(path):
    """Writes a model whose next token depends on the position alone."""
    write_whisper(path)
    with open(path, "r+b") as file:
        data = bytearray(file.read())

        def numbers(name, n):
            at = data.index(name.encode()) + len(name)
            return memoryview(data)[at:at + 4 * n].cast("f")

        words = numbers("decoder.token_embedding.weight", WIDTH * N_VOCAB)
        places = numbers("decoder.positional_embedding", WIDTH * 448)
        for i in range(448):
            token = BEGIN[i] if i < len(BEGIN) else END
            for k in range(WIDTH):
                places[i * WIDTH + k] = 64 * words[token * WIDTH + k]
        for name, n in ("attn.out", WIDTH), ("cross_attn.out", WIDTH), ("mlp.2", 4 * WIDTH):
            for part, count in ("weight", n * WIDTH), ("bias", WIDTH):
                values = numbers(f"decoder.blocks.0.{name}.{part}", count)
                values[:] = memoryview(array.array("f", bytes(4 * count)))
        values = numbers("decoder.ln.weight", WIDTH)
        values[:] = memoryview(array.array("f", [8] * WIDTH))
        del words, places, values
        file.seek(0)
        file.write(data)


def make_pcm(rate=16000, width=2, channels=1, seconds=1.0):
    return random.Random(3).randbytes(int(rate * seconds) * width * channels)


class Client:
    """A connection to a Wyoming server; events are sent with their data after the line or in it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, kind, data=None, payload=b"", inline=False):
        body = b"" if inline or data is None else json.dumps(data).encode()
        line = {"type": kind, "data_length": len(body), "payload_length": len(payload), "version": "1.10.2"}
        if inline:
            line["data"] = data
        self.socket.sendall(json.dumps(line).encode() + b"\n" + body + payload)

    def speak(self, pcm, form=MONO, size=2048, **asked):
        self.send("transcribe", asked)
        self.send("audio-start", form, inline=True)
        for at in range(0, len(pcm), size):
            self.send("audio-chunk", form, pcm[at:at + size])
        self.send("audio-stop")

    def read(self):
        """Returns the type and the data of the next event; None at the end."""
        line = self.file.readline()
        if not line:
            return None
        head = json.loads(line)
        data = {**head.get("data", {}), **json.loads(self.file.read(head.get("data_length", 0)) or "{}")}
        true(not head.get("payload_length"), head)
        return head["type"], data

    def hear(self):
        """Returns the events up to the end of a transcript, or to an error."""
        events = [self.read()]
        while events[-1] and events[-1][0] not in ("transcript-stop", "error"):
            events.append(self.read())
        return events


def text_is(events, text=WORDS.strip(), language="de"):
    same([kind for kind, _ in events],
         ["transcript-start", *["transcript-chunk"] * bool(text), "transcript", "transcript-stop"], events)
    same("".join(data["text"] for kind, data in events if kind == "transcript-chunk"), text, "chunks")
    same(events[-2][1], {"text": text, "language": language}, "the transcript")


def it_describes_itself(port):
    with Client(port) as client:
        client.send("describe")
        kind, info = client.read()
        program, = info["asr"]
        model, = program["models"]
        same((kind, program["name"], program["supports_transcript_streaming"], program["installed"]), ("info", "glinfer", True, True))
        same((model["name"], model["languages"][:3], len(model["languages"])), ("parrot.bin", ["en", "zh", "de"], 99), "model")
        true(all(key in model for key in ("attribution", "installed", "description", "version")), model)
        client.send("ping", {"text": "x"})
        same(client.read(), ("pong", {"text": "x"}))
        client.send("ping", {"text": None})
        client.send("select-program", {"name": "glinfer"})
        client.send("ping")
        same((client.read(), client.read()), (("pong", {}), ("pong", {})), "pings, and an unknown event")


def it_transcribes(server, port):
    with Client(port) as client:
        client.speak(make_pcm())
        text_is(client.hear())
        for form in ({"rate": 44100, "width": 2, "channels": 2}, {"rate": 8000, "width": 1, "channels": 1}):
            client.speak(make_pcm(**form), form, 999 * form["width"] * form["channels"], name="parrot.bin", language="de-AT")
            text_is(client.hear())
        client.speak(make_pcm(), language="EN")
        text_is(client.hear(), language="en")
        client.speak(make_pcm(), transcript_names=["Anna", 7], transcript_terms=["heat pump"])
        events = client.hear()
        true(events[-2][1]["text"] != WORDS.strip(), "names move the text to other positions")
        client.speak(b"")
        text_is(client.hear(), "", "en")
        for i in range(2):  # events may arrive before the transcript of those before is sent
            client.speak(make_pcm())
        client.socket.shutdown(socket.SHUT_WR)
        text_is([event for event in client.hear() if event[1].get("text") != ""])
        text_is([event for event in client.hear() if event[1].get("text") != ""])
        same(client.read(), None, "the end")
    same(send(server, {"language": "auto"}, None)[0], 400, "HTTP goes on")


def it_serves_clients_at_once(port):
    def ask(found):
        with Client(port) as client:
            client.speak(make_pcm())
            found.append(client.hear())

    with Client(port) as slow:
        slow.socket.sendall(b'{"type":"audio-chunk","data":{"rate":16000,"width":2,"channels":1},"payload_length":64}\n1234')
        found = []
        threads = [threading.Thread(target=ask, args=(found,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for events in found:
            text_is(events)
        same(len(found), 4)
        slow.socket.sendall(bytes(60))
        slow.send("audio-stop")
        same(slow.hear()[-1][0], "transcript-stop", "a chunk that comes late")


def it_ends_connections_that_find_a_full_queue(port):
    clients = [Client(port) for _ in range(14)]
    for client in clients:
        client.speak(make_pcm(seconds=3.9), size=65536)
    ends = [client.hear() for client in clients]
    refused = [i for i, events in enumerate(ends) if events[-1][0] == "error"]
    true(refused, ends)
    for i, client in enumerate(clients):
        if i in refused:
            same(ends[i], [("error", {"text": "the queue is full: try again later"})])
            same(client.read(), None, "the end")
        else:
            same(ends[i][-1][0], "transcript-stop", ends[i])
        client.__exit__()


def it_refuses_wrong_events(port):
    for sent, words in (
            (b"GET / HTTP/1.1\r\n\r\n", "invalid Wyoming event: its line is not an object of JSON"), (b"\n", "its line is not"),
            (b'{"type": "' + 70000 * b"x", "longer than 64 KiB"), (b'{"type":"audio-chunk","payload_length":99999999}\n', "payload_length"),
            (b'{"type":"a","data_length":2}\n[]', "not an object"), (b'{"type":"audio-stop"}\n', "no audio-start"),
            (b'{"type":"audio-start","data":{"rate":0,"width":2,"channels":1}}\n', "audio-start: invalid sample rate: 0 Hz"),
            (b'{"type":"audio-start","data":{"rate":16000,"width":7,"channels":1}}\n', "audio-start: width"),
            (b'{"type":"audio-chunk","data":{"rate":1,"width":2,"channels":1}}\n', "invalid sample rate: 1 Hz"),
            (b'{"type":"audio-chunk","data":{"rate":16000,"width":9,"channels":1}}\n', "width"),
            (b'{"type":"audio-chunk","data":{"rate":16000,"width":2,"channels":1},"payload_length":200000}\n' + bytes(200000), "longer than 4 s"),
            (b'{"type":"audio-chunk","data":{"rate":1000,"width":1,"channels":1},"payload_length":5000}\n' + bytes(5000), "longer than 4 s")):
        with Client(port) as client:
            client.send("ping")
            client.socket.sendall(sent)
            same(client.read()[0], "pong")
            kind, data = client.read()
            true(kind == "error" and words in data["text"], (sent[:60], data))
            same(client.read(), None, "the end")
    for asked, words in ({"language": "xx"}, 'invalid language "xx": parrot.bin'), ({"name": "large"}, "unknown model large"):
        with Client(port) as client:
            client.send("transcribe", asked)
            kind, data = client.read()
            true(kind == "error" and words in data["text"], (asked, data))
            same(client.read(), None, "the end, before the sound")
        with Client(port) as client:
            client.speak(make_pcm(), **asked)
            same([kind for kind, _ in client.hear()], ["error"], "no transcript-start")
    with Client(port) as client:
        client.speak(make_pcm())
        text_is(client.hear())


def it_survives_clients_that_go(port):
    for cut in (0, 20, 90, 3000, 40000):
        with Client(port) as client:
            client.speak(make_pcm(seconds=0.5))
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with Client(port) as client:
            client.send("audio-chunk", MONO, make_pcm())
            client.socket.sendall((b'{"type":"audio-chunk","payload_length":4000}\n' + bytes(4000))[:cut])
    idle = [Client(port) for _ in range(140)]
    same(idle[0].read(), None, "the connection that was idle for longest")
    with Client(port) as client:
        client.speak(make_pcm())
        text_is(client.hear())
    for client in idle:
        client.__exit__()


def wrong_flags_are_refused():
    for place, words in (("0", "--wyoming needs --speech-model"), ("x", 'a colon and a port'), ("::1:99", "a colon and a port"),
                         (":99", "a colon and a port"), ("localhost:99999", "a colon and a port")):
        done = subprocess.run([GLINFER, "serve", "-m", MODEL, "--port", "0", "--wyoming", place], capture_output=True, text=True)
        true(done.returncode == 2 and words in done.stderr, done)
    for flags, words in ((("--wyoming", "0"), "--wyoming needs --speech-model"),
                         (("--wyoming", "8093", "--port", "8093", "--speech-model", "x"), "cannot both listen on port 8093")):
        done = subprocess.run([GLINFER, "serve", "-m", "/nonexistent.gguf", *flags], capture_output=True, text=True)
        true(done.returncode == 2 and words in done.stderr, "before the models are found: " + str(done))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "parrot.bin")
        write_parrot(path)
        try:
            server = Server(GLINFER, MODEL, "--speech-model", path, "--wyoming", "127.0.0.1:0", "--max-body", "128K", "--queue", "4")
        except RuntimeError as problem:
            print(problem)
            sys.exit(77 if any(words in str(problem) for words in ("no usable GPU", "without libmicrohttpd", "cannot read sound")) else 1)
        with server:
            port = int(server.wait_for(r"listening on tcp://127.0.0.1:(\d+)").group(1))
            it_describes_itself(port)
            it_transcribes(server, port)
            it_serves_clients_at_once(port)
            it_ends_connections_that_find_a_full_queue(port)
            it_refuses_wrong_events(port)
            it_survives_clients_that_go(port)
            with Client(port) as idle:
                idle.send("ping")
                idle.read()
                same(server.end(), 0, "the end")
                same(idle.read(), None, "an idle connection")
        wrong_flags_are_refused()


if __name__ == "__main__":
    main()
