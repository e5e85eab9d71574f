"""A command on a pseudo-terminal, as a person has it: keys go in, what the screen gets comes out."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

failures = 0


def check(what, found, wanted=True):
    global failures
    if found != wanted:
        print(f"FAIL {what}: found {found!r}, wanted {wanted!r}")
        failures += 1


class Terminal:
    """Runs a command on a terminal of its own; output is what it has shown and nobody has waited for yet."""

    def __init__(self, words, columns=0, **environment):
        self.output = ""
        self.pid, self.file = pty.fork()
        size = struct.pack("HHHH", 24, columns, 0, 0)
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8"}, **environment)
            os.execv(words[0], words)

    def read(self, seconds):
        if not select.select([self.file], [], [], seconds)[0]:
            return False
        try:
            block = os.read(self.file, 65536)
        except OSError:  # the other end is closed
            return False
        self.output += block.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(block)

    def type(self, text):
        time.sleep(0.1)  # a prompt is shown just before keys are read one by one
        os.write(self.file, text.encode())

    def wait_for(self, pattern, what=None, seconds=20):
        """Takes the output up to the pattern away and returns it."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.output)) and time.monotonic() < end:
            if not self.read(0.2) and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                while self.read(0):
                    pass
                found = re.search(pattern, self.output)
                break
        check(what or f"wait for {pattern!r} in {self.output[-300:]!r}", bool(found))
        text = self.output[:found.end()] if found else self.output
        self.output = self.output[len(text):]
        return text

    def status(self, seconds=30):
        """Waits for the end; 128 + its number for a signal, None if it goes on, and is killed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0):
                    pass
                os.close(self.file)
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)
        return None


def finish():
    sys.exit(1 if failures else 0)
