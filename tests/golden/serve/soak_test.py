#!/usr/bin/env python3
"""Has `glinfer serve` stand clients of all kinds for a while: many at once, that leave in the middle, that send
nothing, that send what nobody should.

    soak_test.py GLINFER MODEL [--seconds N] [--clients N] [--idle N] [--requests N] [--seed N]

By default it takes a few seconds; flags select an hour or a million requests. MODEL is
tests/data/models/tiny-chat.gguf. Prints a line for each part. Status 77: no device available.
"""
import argparse
import json
import os
import random
import socket
import struct
import sys
import threading
import time

from serving import start_or_skip

ANSWERS = ["/completion", "/v1/completions", "/v1/chat/completions"]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}},
          "required": ["a", "b"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]


def resident(pid):
    """Returns bytes of memory and the number of open descriptors."""
    with open(f"/proc/{pid}/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd"))


def wait_for_descriptors(server, most, seconds=10):
    """Waits until the server has closed what its clients have left."""
    end = time.monotonic() + seconds
    while resident(server.process.pid)[1] > most:
        if time.monotonic() > end:
            raise AssertionError(f"{resident(server.process.pid)[1]} descriptors are open, {most} were")
        time.sleep(0.05)


#-- clients that ask for answers -------------------------------------------------------------------


def make_request(rng):
    """Returns a path and a body of a request that is right."""
    path = rng.choice(ANSWERS)
    words = " ".join(rng.choice(["the", "cat", "a", "sat", "é", "\n", "7"]) for _ in range(rng.randrange(1, 30)))
    body = {"max_tokens": rng.randrange(1, 40), "temperature": rng.choice([0, 0.8, 1.5]), "seed": rng.randrange(1 << 31),
            "stream": rng.random() < 0.6}
    if path == "/v1/chat/completions":
        body["messages"] = [{"role": "user", "content": words}]
        if rng.random() < 0.2:
            body |= {"tools": TOOLS, "tool_choice": rng.choice(["auto", "required", "none"])}
        elif rng.random() < 0.2:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    else:
        body["prompt"] = words
    if rng.random() < 0.2:
        body |= {"frequency_penalty": 0.5, "logit_bias": {"5": -3}}
    return path, body


class Clients:
    """Ask one request after another, each on a thread; some leave in the middle of an answer."""

    def __init__(self, server, n, seconds, seed):
        self.server, self.end = server, time.monotonic() + seconds
        self.counts = {"whole": 0, "busy": 0, "left": 0}
        self.failures, self.lock = [], threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(random.Random(seed + i),)) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise AssertionError(f"{len(self.failures)} of {self.counts}: {self.failures[0]}")

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def work(self, rng):
        while time.monotonic() < self.end and not self.failures:
            path, body = make_request(rng)
            began, before = time.monotonic(), self.counts["whole"]
            try:
                self.count(self.ask(rng, path, body))
            except Exception as error:  # of any kind: it is told at the end
                self.failures.append(f"{path} {body}: {error!r} after {time.monotonic() - began:.1f} s, in which "
                                     f"{self.counts['whole'] - before} others were answered")

    def ask(self, rng, path, body):
        connection = self.server.connect(120)
        try:
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            if answer.status == 503:
                answer.read()
                time.sleep(min(0.05, float(answer.getheader("Retry-After"))))
                return "busy"
            if answer.status != 200:
                raise AssertionError(f"{answer.status} {answer.read()}")
            if rng.random() < 0.1:
                answer.read1(64)
                return "left"
            text = answer.read()
            if body["stream"]:
                is_whole = text.endswith(b"data: [DONE]\n\n") if path.startswith("/v1") else b'"stop":true' in text
                if not is_whole:
                    raise AssertionError(f"a stream broke off: {text[-200:]}")
            else:
                json.loads(text)
            return "whole"
        finally:
            connection.close()


def stands_clients(server, options):
    counts = {}
    for n in (4, options.clients):
        warm = Clients(server, n, min(2, options.seconds), options.seed)
        warm.join()
        server.wait_idle()
        before = resident(server.process.pid)
        clients = Clients(server, n, options.seconds, options.seed + 100)
        clients.join()
        server.wait_idle()
        wait_for_descriptors(server, before[1])
        after = resident(server.process.pid)
        # Malloc's arenas of threads grow to what they once need; a leak goes on.
        if after[0] > before[0] * 1.1 + (16 << 20):
            raise AssertionError(f"grew from {before[0]} to {after[0]} bytes over {clients.counts}")
        counts[n] = {**clients.counts, "KiB more": (after[0] - before[0]) >> 10}
    return counts


#-- clients that send nothing, or half -------------------------------------------------------------


def stands_idle_clients(server, options):
    idle, half = [], []
    for i in range(options.idle):
        idle.append(server.socket())
    for i in range(min(64, options.idle)):
        half.append(server.socket())
        half[-1].sendall(b"POST /completion HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{\"prompt\"")
        if i % 2:
            half[-1].shutdown(socket.SHUT_WR)
    slow = server.socket()
    longest = 0.0
    for byte in b"POST /completion HTTP/1.1\r\nHost: a\r\n":
        slow.sendall(bytes([byte]))
        begin = time.monotonic()
        server.ask("/completion", prompt="hi", n_predict=4)
        longest = max(longest, time.monotonic() - begin)
    for connection in [*idle, *half, slow]:
        connection.close()
    server.wait_idle()
    return f"{len(idle)} idle, {len(half)} half: an answer of 4 tokens took {longest:.3f} s at most"


#-- requests that are wrong ------------------------------------------------------------------------

ODD = [None, True, -1, 0, 1e308, -1e308, 2**63, "", "x" * 300, [], {}, [[]], {"a": {}}, "\u0000", "\ud83d\ude00", 1.5,
       {"type": "object"}, [1, "a", None], "null", [{"role": "user"}], {"5": "x"}]
FIELDS = ["prompt", "messages", "stream", "max_tokens", "n_predict", "temperature", "top_k", "top_p", "min_p", "seed", "stop",
          "n", "logprobs", "top_logprobs", "logit_bias", "tools", "tool_choice", "response_format", "grammar", "json_schema",
          "samplers", "stream_options", "content", "tokens", "cache_prompt", "ignore_eos", "n_probs", "repeat_last_n",
          "dry_multiplier", "mirostat", "chat_template_kwargs", "parallel_tool_calls", "model", "input"]
PATHS = [*ANSWERS, "/v1/models", "/v1/embeddings", "/tokenize", "/detokenize", "/health", "/props", "/slots", "/metrics", "/",
         "/nothing", "/completion?x=%00", "//", "/../etc/passwd", "/slots/0?action=save"]


def odd_value(rng, depth=0):
    kind = rng.randrange(6)
    if depth < 4 and kind == 0:
        return [odd_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if depth < 4 and kind == 1:
        return {rng.choice(FIELDS + ["a", ""]): odd_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(ODD)


def odd_body(rng):
    _, body = make_request(rng)
    body["max_tokens"] = rng.randrange(3)
    for _ in range(rng.randrange(1, 4)):
        body[rng.choice(FIELDS)] = odd_value(rng)
    text = bytearray(json.dumps(body).encode())
    for _ in range(rng.randrange(3) if rng.random() < 0.4 else 0):
        at = rng.randrange(len(text))
        what = rng.randrange(4)
        if what == 0:
            text[at] = rng.randrange(256)
        elif what == 1:
            del text[at:at + rng.randrange(20)]
        elif what == 2:
            text[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
        else:
            text[at:at] = rng.choice([b"[" * 2000, b'{"a":' * 2000, b"9" * 400, b"\\ud800", b"\xff\xfe", b"1e999999"])
        text = text or bytearray(b" ")
    return bytes(text)


def odd_request(rng):
    """Returns the bytes of a request, and whether the server may continue reading after it."""
    body = odd_body(rng)
    method = rng.choice(["POST"] * 8 + ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "BREW"])
    path = rng.choice(PATHS if rng.random() < 0.3 else ANSWERS + ["/tokenize", "/detokenize"])
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n".encode()
    if rng.random() < 0.9:
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, True
    kind = rng.randrange(5)
    if kind == 0:  # in pieces, as HTTP has them
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n", True
    if kind == 1:
        return head + b"Content-Length: %d\r\n\r\n" % (len(body) + 50) + body, False
    if kind == 2:
        return head + b"X: " + b"y" * rng.choice([10, 9000, 70000]) + b"\r\n\r\n", False
    if kind == 3:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400))), False
    raw = bytearray(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    raw[rng.randrange(len(head))] = rng.randrange(256)
    return bytes(raw), False


class Fuzzer:
    """Sends requests on connections of its own, reads what comes, and opens a new one where that was closed."""

    def __init__(self, server, n, seed):
        self.server, self.n, self.rng = server, n, random.Random(seed)
        self.statuses, self.failure = {}, None
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        connection, i = None, 0
        try:
            while i < self.n:
                request, goes_on = odd_request(self.rng)
                connection = connection or self.server.socket(60)
                i += 1
                try:
                    connection.sendall(request)
                    status = self.read(connection, goes_on and b"HEAD " != request[:5])
                except (ConnectionError, BrokenPipeError):
                    status = "closed"
                self.statuses[status] = self.statuses.get(status, 0) + 1
                if status == "closed" or not goes_on or request[:5] == b"HEAD ":
                    if self.rng.random() < 0.3:  # with a reset
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()
                    connection = None
        except Exception as error:
            self.failure = repr(error)

    @staticmethod
    def read(connection, is_whole):
        """Reads an answer; only its first bytes if what was sent has no end."""
        if not is_whole:
            connection.settimeout(0.02)
            try:
                data = connection.recv(4096)
            except TimeoutError:
                return "nothing"
            return int(data[9:12]) if data[9:12].isdigit() else "closed"
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return "closed"
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lower, status = head.lower(), int(head[9:12])
        if b"transfer-encoding: chunked" in lower:
            while not body.endswith(b"0\r\n\r\n"):
                more = connection.recv(65536)
                if not more:
                    return "closed"
                body += more
        else:
            at = lower.find(b"content-length:")
            size = int(lower[at + 15:].split(b"\r\n")[0]) if at >= 0 else 0
            while len(body) < size:
                more = connection.recv(65536)
                if not more:
                    return "closed"
                body += more
        return "closed" if b"connection: close" in lower else status


def stands_wrong_requests(server, options):
    n_threads = 8
    fuzzers = [Fuzzer(server, options.requests // n_threads, options.seed + i) for i in range(n_threads)]
    statuses = {}
    for fuzzer in fuzzers:
        fuzzer.thread.join()
        if fuzzer.failure:
            raise AssertionError(fuzzer.failure)
        for status, n in fuzzer.statuses.items():
            statuses[status] = statuses.get(status, 0) + n
    if 500 in statuses:
        raise AssertionError(f"errors of the server's own: {statuses}")
    server.wait_idle(60)
    return dict(sorted(statuses.items(), key=str))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("glinfer")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=2, help="of each number of clients")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--idle", type=int, default=200)
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Freed memory in AddressSanitizer's quarantine would look like a leak.
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=8:malloc_context_size=8")
    server = start_or_skip(options.glinfer, options.model, "-np", "4", "-c", "1024", "--queue", "8", "--drain", "20", "--max-body", "1M")
    status = 0
    with server:
        for part in (stands_clients, stands_idle_clients, stands_wrong_requests):
            begin, most = time.monotonic(), resident(server.process.pid)[1]
            try:
                print(f"ok {part.__name__}: {part(server, options)}, {time.monotonic() - begin:.1f} s", flush=True)
                wait_for_descriptors(server, most)
            except Exception as error:
                status = 1
                print(f"FAIL {part.__name__}: {error}", flush=True)
            if server.process.poll() is not None:
                print(f"the server ended: {server.process.returncode} {server.lines[-30:]}")
                return 1
        begin = time.monotonic()
        if server.end(seconds=60) != 0 or time.monotonic() - begin > 8:
            print(f"FAIL the end: status {server.process.returncode} after {time.monotonic() - begin:.1f} s: "
                  f"{server.lines[-30:]}")
            status = 1
    if any("Sanitizer" in line or "runtime error" in line for line in server.lines):
        print("\n".join(server.lines[-60:]))
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
