"""chat_terminal.py GLINFER MODEL: a chat on a terminal: what Ctrl-C does, what stays of an answer, lines that go on.
Status 77: no device."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time

from terminal import Terminal, check, finish

glinfer, model = sys.argv[1:3]
folder = tempfile.mkdtemp()
os.environ["XDG_STATE_HOME"] = folder
open(f"{folder}/some file", "w").close()
prompt = r"\n?> $"
answer = r"\.\.\.\r\033\[K(?!reading)[^\033]{20}"  # after the progress bar
long_answers = ["-c", "262144", "-n", "262000", "--temp", "0"]


def chat(*flags, columns=0, **environment):
    words = [glinfer, "chat", "-m", model, *(flags or ["-n", "6", "--temp", "0"])]
    terminal = Terminal(words, columns, **environment)
    terminal.wait_for(prompt)
    return terminal


def saved(terminal):
    """Returns the messages of the conversation."""
    path = f"{folder}/saved.json"
    terminal.type(f"/save! {path}\n")
    terminal.wait_for("saved to .*\n(.*\n)*" + prompt)
    with open(path) as file:
        return [(m["role"], m["content"]) for m in json.load(file)["messages"]]


def quits_after_two_in_a_row(**environment):
    t = chat(**environment)
    t.type("\3")
    t.wait_for(r"\(Ctrl-C again.*\n.*" + prompt)
    t.type("Hello\n")
    t.wait_for("the answer is cut.*\n.*" + prompt, "an answer that -n cuts is said to be")
    t.type("\3")
    t.wait_for(r"\(Ctrl-C again.*\n.*" + prompt)
    t.type("\3")
    t.wait_for("the conversation is kept")
    check("Ctrl-C twice leaves", t.status(), 130)
    t = Terminal([glinfer, "chat", "-m", model], **environment)
    t.wait_for("/load continues it.*\n.*" + prompt, "the next chat offers what was not saved")
    t.type("/load\n")
    t.wait_for(r"2 messages are loaded\n> Hello\n(.*\n)*> $", "a file that is loaded shows where it ended")
    check("nothing was lost", [role for role, _ in saved(t)], ["user", "assistant"])
    t.type("/quit\n")
    check("a saved conversation is not kept", "is kept" in t.wait_for("/quit\n"), False)
    t.status()
    check("nor offered", os.path.exists(f"{folder}/glinfer/unsaved_chat.json"), False)


def typing_rearms():
    t = chat()
    t.type("some text\3")
    t.wait_for("is dropped.*\n.*" + prompt)
    t.type("\3")
    t.wait_for("Ctrl-C again.*\n.*" + prompt, "a line that is dropped does not count")
    t.type("other text\3")
    t.wait_for("is dropped.*\n.*" + prompt, "a line that was typed between two Ctrl-C keeps the chat")
    t.type("/stats\n")
    t.wait_for("no answer yet.*\n.*" + prompt)
    t.type("\4")
    check("Ctrl-D leaves", t.status(), 0)


def a_late_interrupt_is_dropped():
    os.mkfifo(f"{folder}/fifo")
    t = chat()
    t.type(f"/load {folder}/fifo\n")
    time.sleep(0.5)
    keep = os.open(f"{folder}/fifo", os.O_RDWR)
    time.sleep(0.3)
    t.type("\3")
    time.sleep(0.3)
    os.close(keep)
    t.wait_for("interrupted.*\n.*" + prompt)
    t.type("Hello\n")
    t.wait_for("the answer is cut.*\n.*" + prompt, "the next answer comes whole")
    t.type("/quit\n")
    check("it leaves", t.status(), 0)


def an_interrupted_prompt_stays():
    t = chat("-n", "4", "-ub", "1", "--temp", "0", GLINFER_FAULT="slow:EMBED_BATCH:5000")
    t.type("My name is Zed. " * 20 + "\n")
    t.wait_for("reading the prompt")
    t.type("\3")
    t.wait_for(r"\(stopping\)\n", "the interrupt is noticed at once", 4)
    t.wait_for("kept without an answer.*\n.*" + prompt)
    t.type("/stats\n")
    n = int(re.search(r"prompt +(\d+) tokens", t.wait_for("/stats\n(.*\n)*context.*\n> $")).group(1))
    check(f"tokens that were not processed are not counted, of 296: {n}", n < 280)
    messages = saved(t)
    check("the message stays", [role for role, _ in messages], ["user"])
    t.type("/quit\n")
    t.status()


def a_retry_that_shows_nothing_keeps_the_answer():
    t = chat("-n", "2", "--temp", "0", GLINFER_FAULT="slow:EMBED_TOKEN:20000")
    t.type("Hello\n")
    t.wait_for("the answer is cut.*\n.*" + prompt)
    before = saved(t)
    t.type("/retry\n")
    t.wait_for("reading the prompt")
    t.type("\3")
    t.wait_for(r"\(stopped: the answer before is kept\)\n.*" + prompt)
    check("the answer before is kept", saved(t), before)
    t.type("/quit\n")
    t.status()


def what_was_shown_is_kept():
    t = chat(*long_answers)
    t.type("Hello there\n")
    t.wait_for("Hello there\n")
    shown = t.wait_for(answer)
    t.type("\3")
    shown += t.wait_for(r"\(stopped: what is shown.*\n.*" + prompt)
    kept = saved(t)[-1][1]
    text = shown.split("\n(stopped")[0].replace("^C", "").split("\033[K")[-1]
    check("what was shown is what is kept", text.strip("\n"), kept.strip("\n"))
    t.type("And now?\n")
    t.wait_for("And now.\n")
    t.wait_for(answer, "the next question is answered")
    t.type("\3")
    t.wait_for(r"\(stopped.*\n.*" + prompt)
    t.type("/quit\n")
    t.status()


def lines_go_on():
    t = chat()
    t.type("one \\\n")
    t.wait_for(r"\| $", "a backslash asks for another line")
    t.type("two\n")
    t.wait_for("is cut.*\n.*" + prompt)
    t.type('"""three\n')
    t.wait_for(r"\| $", "three quotes ask for other lines")
    t.type('four\n')
    t.wait_for(r"\| $")
    t.type('five"""\n')
    t.wait_for("is cut.*\n.*" + prompt)
    questions = [text for role, text in saved(t) if role == "user"]
    check("lines that go on are one message", questions, ["one \ntwo", "three\nfour\nfive"])
    t.type("/undo\n")
    t.wait_for("2 messages are left.*\n.*" + prompt)
    t.type("/retry\n")
    t.wait_for("is cut.*\n.*" + prompt)
    check("retry answers the last message", [role for role, _ in saved(t)], ["user", "assistant"])
    t.type("/undo\n")
    t.wait_for("0 messages are left.*\n.*" + prompt)
    t.type("/undo\n")
    t.wait_for("the conversation has no question.*\n.*" + prompt)
    t.type("/bye\n")
    check("bye leaves", t.status(), 0)


def files_are_not_replaced():
    path = f"{folder}/a file.json"
    t = chat(HOME=folder)
    t.type("/save ~/'a file.json'\n")
    t.wait_for("0 messages are saved.*\n.*" + prompt)
    check("~ is the home folder", os.path.exists(path))
    t.type('/save "~/a file.json"\n')
    t.wait_for("cannot write.*\n.*" + prompt, "a ~ within quotes is a name")
    t.type(f"/save {path}\n")
    t.wait_for("0 messages are saved.*\n.*" + prompt, "the file of this chat may be written again")
    other = f"{folder}/other.json"
    with open(other, "w") as file:
        file.write("mine")
    t.type(f"/save {other}\n")
    t.wait_for("it exists; /save! .*\n.*" + prompt)
    with open(other) as file:
        check("another file stays", file.read(), "mine")
    t.type(f"/save! {other}\n")
    t.wait_for("0 messages are saved.*\n.*" + prompt)
    t.type("/quit\n")
    t.status()


def tab_completes():
    t = chat()
    t.type("/lo\t")
    t.wait_for("ad $", "a command")
    t.type(f"{folder}/so\t")
    t.wait_for("me file$", "a file")
    t.type("\25/set top\t")
    t.wait_for("-$", "what settings have in common")
    t.type("\t")
    t.wait_for("top-k .*top-p .*top-n-sigma.*", "settings")
    t.type("\25/set top_k 7\n")
    t.wait_for("top-k 7\n.*" + prompt)
    t.type("/quit\n")
    t.status()


def words_wrap():
    lines = ["a long line with words", "```", "code that is as long as it is", "```", "and some more words"]
    grammar = "root ::= " + json.dumps("\n".join(lines))
    t = chat("--grammar", grammar, columns=12)
    t.type("x\n")
    shown = t.wait_for("more words\n.*" + prompt)
    check("lines end between words", "a long line\nwith words\n" in shown)
    check("but not those of code", "code that is as long as it is\n" in shown)
    t.type("/quit\n")
    t.status()


def lists_fit_the_terminal():
    t = chat(columns=80)
    t.type("/help\n")
    lines = t.wait_for("/load continues it.*\n> $").split("\n")
    check("help has 80 columns at most", max(map(len, lines)) <= 80)
    t.type("/set \t\t")
    lines = t.wait_for("spec-type(.*\n)+.*system \n.*/set $").split("\n")
    check("so has what Tab lists", max(map(len, lines)) <= 80)
    t.type("\3\4")
    t.status()


def thoughts_are_dim():
    grammar = 'root ::= "<think>hm, hm</think>so it is <b>"'
    t = chat("--grammar", grammar)
    t.type("Why?\n")
    t.wait_for(r"\033\[2mhm, hm\033\[22mso it is <b>\n.*" + prompt, "thoughts are dim and their marks are not shown")
    check("the conversation has them", saved(t)[-1][1], "<think>hm, hm</think>so it is <b>")
    t.type("/quit\n")
    t.status()
    t = chat("--grammar", grammar, NO_COLOR="1")
    t.type("Why?\n")
    t.wait_for(r"<think>hm, hm</think>so it is <b>\n.*" + prompt, "without styles an answer is shown as it is")
    t.type("/quit\n")
    t.status()


def what_is_typed_early_waits():
    """It is not seen in the bar, and is there with the prompt; an interrupt leaves the terminal as it was."""
    t = Terminal([glinfer, "chat", "-m", model, "-n", "2", "--temp", "0"], GLINFER_FAULT="slow:EMBED_BATCH:20000")
    end = time.monotonic() + 10
    while termios.tcgetattr(t.file)[3] & termios.ECHO and time.monotonic() < end:
        pass
    check("what is typed is not shown", time.monotonic() < end)
    os.write(t.file, b"typed early")
    shown = t.wait_for("typed early$")
    check("the text stands after the prompt", "> " in shown.split("leaves\n")[-1])
    t.type("\n")
    t.wait_for("the answer is cut.*\n.*" + prompt)
    t.type("/quit\n")
    t.status()
    for number in (signal.SIGTERM, signal.SIGINT):
        t = Terminal([glinfer, "chat", "-m", model])
        end = time.monotonic() + 10
        while termios.tcgetattr(t.file)[3] & termios.ECHO and time.monotonic() < end:
            pass
        os.kill(t.pid, number)
        os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOWAIT)
        check("a signal puts the terminal back", bool(termios.tcgetattr(t.file)[3] & termios.ECHO))
        t.status()


if subprocess.run([glinfer, "info"], capture_output=True).returncode != 0:
    sys.exit(77)
quits_after_two_in_a_row()
quits_after_two_in_a_row(TERM="dumb")
typing_rearms()
a_late_interrupt_is_dropped()
an_interrupted_prompt_stays()
a_retry_that_shows_nothing_keeps_the_answer()
what_was_shown_is_kept()
lines_go_on()
files_are_not_replaced()
thoughts_are_dim()
tab_completes()
words_wrap()
lists_fit_the_terminal()
what_is_typed_early_waits()
finish()
