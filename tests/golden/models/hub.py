"""A server of files and of a hub's lists for tests, which misbehaves as a file's rule says."""
import hashlib
import http.server
import json
import re
import ssl
import struct
import threading
import time


def make_gguf(size, seed=0):
    """A GGUF file with one tensor of bytes, which no model is."""
    block = hashlib.sha256(str(seed).encode()).digest()
    head = struct.pack("<4sIQQQ1sIQIQ", b"GGUF", 3, 1, 0, 1, b"t", 1, size - 64, 24, 0).ljust(64, b"\0")
    return (head + block * (size // len(block) + 1))[:size]


class File:
    """A file and how it is served. cut: bytes of an answer after which the connection closes, a list with one entry an
    answer. pause: seconds before each 64 KiB. sent: bytes that were given to connections, broken ones too."""

    def __init__(self, data, etag='"1"', ranges=True, cut=(), pause=0, length=True, status=(), lie=0, type="application/octet-stream",
                 sha256=None, hold=0, range_error=None, retry_after=None):
        self.data, self.etag, self.ranges, self.cut, self.pause = data, etag, ranges, list(cut), pause
        self.length, self.status, self.lie, self.type, self.hold = length, list(status), lie, type, hold
        self.sha256, self.range_error, self.retry_after = sha256, range_error, retry_after
        self.sent = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        hub = self.server.hub
        path = self.path
        hub.requests.append((path, dict(self.headers)))
        if path in hub.redirects:
            self.answer(302, b"moved", {"Location": hub.redirects[path], **hub.redirect_headers})
        elif path in hub.texts:
            status, text, *headers = hub.texts[path]
            self.answer(status, text.encode(), *headers)
        elif path in hub.files:
            self.send_file(hub.files[path])
        else:
            self.answer(404, b"not here")

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_file(self, file):
        if file.status:
            return self.answer(file.status.pop(0), b"not now", {"Retry-After": str(file.retry_after)} if file.retry_after else None)
        data, start = file.data, 0
        asked = re.match(r"bytes=(\d+)-$", self.headers.get("Range") or "")
        same = self.headers.get("If-Range") in (None, file.etag)
        if asked and file.ranges and same:
            start = int(asked.group(1)) if file.range_error is None else file.range_error
            if start >= len(data):
                return self.answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
        body = data[start:]
        self.send_response(206 if asked and file.ranges and same else 200)
        self.send_header("Content-Type", file.type)
        if asked and file.ranges and same:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if file.etag:
            self.send_header("ETag", file.etag)
        if file.sha256:
            self.send_header("X-Linked-ETag", f'"{file.sha256}"')
        if file.length:
            self.send_header("Content-Length", str(len(body) + file.lie))
        self.close_connection = True
        self.end_headers()
        end = file.cut.pop(0) if file.cut else len(body)
        for at in range(0, min(end, len(body)), 65536):
            time.sleep(file.pause)
            part = body[at:min(at + 65536, end)]
            file.sent += len(part)  # before the write: who has received all of it reads the whole count
            self.wfile.write(part)
        if file.hold:
            self.wfile.flush()
            time.sleep(file.hold)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that goes away is what some tests are about."""


class Hub:
    """The server, on a free port of this machine."""

    def __init__(self, certificate=None):
        self.files, self.texts, self.redirects, self.redirect_headers, self.requests = {}, {}, {}, {}, []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.hub = self
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add_repo(self, repo, files, sha256=True):
        """files: {path: File or bytes}, listed as the hub lists them and served."""
        tree = [{"type": "directory", "path": "some", "size": 0}]
        for path, file in files.items():
            file = file if isinstance(file, File) else File(file)
            self.files[f"/{repo}/resolve/main/{path.replace(' ', '%20')}"] = file
            item = {"type": "file", "path": path, "size": len(file.data), "oid": "0" * 40}
            if sha256:
                item["lfs"] = {"oid": hashlib.sha256(file.data).hexdigest(), "size": len(file.data), "pointerSize": 134}
            tree.append(item)
        self.texts[f"/api/models/{repo}/tree/main?recursive=true"] = (200, json.dumps(tree))
        return tree
