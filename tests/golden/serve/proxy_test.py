#!/usr/bin/env python3
"""The units and the nginx example of tools/examples/serve: two servers of which one is killed.

    proxy_test.py GLINFER MODEL EXAMPLES

Status 77: there is no nginx, or no device.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from serving import Server, start_or_skip

GLINFER, MODEL, EXAMPLES = sys.argv[1:4]


def check_units(folder):
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        return
    for name in ("glinfer.service", "glinfer.socket"):
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as unit:
            text = unit.read().replace("/usr/bin/glinfer", GLINFER)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as unit:
            unit.write(text)
    paths = [os.path.join(folder, name) for name in ("glinfer.service", "glinfer.socket")]
    run = subprocess.run([analyze, "verify", "--man=no", *paths], stderr=subprocess.PIPE, text=True, check=False)
    found = [line for line in run.stderr.splitlines() if "glinfer." in line]
    assert not found, found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as own:
        return own.getsockname()[1]


class Proxy(Server):
    """nginx as Server's functions see it."""

    def __init__(self, folder, servers):
        self.host, self.port, self.path = "127.0.0.1", free_port(), None
        with open(os.path.join(EXAMPLES, "nginx.conf"), encoding="utf-8") as example:
            text = example.read()
        for port, server in zip((8081, 8082), servers):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{server.port}")
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}").replace("/run/glinfer-nginx.pid", f"{folder}/pid")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # of folders, which only a package makes
        text = text.replace("http {", "http {" + "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds))
        conf = os.path.join(folder, "nginx.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text)
        self.process = subprocess.Popen(["nginx", "-p", folder, "-e", "stderr", "-c", conf, "-g", "daemon off;"], stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.socket().close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("nginx does not start")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_units(folder)
        if not shutil.which("nginx"):
            print("there is no nginx")
            sys.exit(77)
        servers = [start_or_skip(GLINFER, MODEL) for _ in range(2)]
        body = {"prompt": "Once", "n_predict": 20, "temperature": 0}
        with servers[0], servers[1], Proxy(folder, servers) as proxy:
            wanted = proxy.ask("/completion", **body)["content"]
            for i in range(40):
                if i == 10:
                    busy = [s for s in servers if sum(slot["n_answers"] for slot in s.slots()) > 0]
                    busy[0].process.kill()
                    busy[0].process.wait()
                text = "".join(e["content"] for e in proxy.stream("/completion", **body))
                assert text == wanted, (i, text, wanted)
    print("ok")


main()
