#!/usr/bin/env python3
"""The page of `glinfer serve` in Debian's chromium: what a reader, a keyboard and a screen reader find.

    page_test.py GLINFER MODEL [NAME...]

MODEL is tests/data/models/tiny-chat.gguf. Names choose tests. Status 77: there is no chromium, or no device.
"""
import json
import os
import re
import shutil
import sys
import tempfile
import time
from random import Random

from browser import Browser, find_browser
from serving import Server, same, start_or_skip, true
from speech_test import make_sound, write_whisper

GLINFER, MODEL = sys.argv[1:3]
SCRIPTS = os.path.join(os.path.dirname(__file__), "../../../src/cli/serve/page/script")
# All elements that Markdown may become.
TAGS = set("a blockquote br button code del div em h3 h4 h5 h6 hr li ol p pre span strong svg table tbody td th thead tr ul use".split())
# Answers of these never end by themselves; those of the second are this text. The words keep a long answer tall: the page shows
# many spaces as one.
SEED = ["--seed", "1"]  # with some others the tiny model repeats a token without a text
LONG = ["--grammar", "root ::= ([a-z] [a-z] [a-z] [a-z] \" \"){5000}", "-c", "4096"]
TEXT = """<think>
A *plan*: **be careful**.
</think>

# Title

Some **bold**, *slanted*, `code <b>`, ~~gone~~ and snake_case_name, 2 * 3 * 4.
A second line with <b>no HTML</b> & <img src=x onerror="window.harm=1"><script>window.harm=2</script>

<script>window.harm=3</script>
<svg onload="window.harm=4"><iframe srcdoc="<script>parent.harm=5</script>"></iframe>

[good](https://example.org/a_b(c)) [mail](mailto:a@b.c) [bad](javascript:window.harm=6) [worse](data:text/html,x)
![picture](https://example.org/x.png) <https://example.org/angle> https://example.org/bare.

```python
def f(x):  # a <comment>
    return "text" + 12
```

- one
  - two
    1. three
- [x] done

> quoted
> > twice

| a | b \\| c |
|---|:-:|
| 1 | <i>2</i> |

---
end"""
SCRIPTED = ["--grammar", f"root ::= {json.dumps(TEXT)}", "-c", "4096"]


IS_IDLE = "!document.getElementById('send').hidden"
ANSWER = "[...document.querySelectorAll('.assistant')].at(-1)?.querySelector(':scope > .body')"
LENGTH = f"({ANSWER}?.textContent.length ?? 0)"


def texts(page, selector):
    return page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def open_page(page, server, path="/"):
    page.open(f"http://127.0.0.1:{server.port}{path}")
    page.wait("document.getElementById('model').textContent !== 'glinfer'")


def start_anew(page, server):
    open_page(page, server)
    page.run("localStorage.clear()")
    page.reload()
    page.wait("document.getElementById('model').textContent !== 'glinfer'")


def send(page, text):
    page.run("document.getElementById('prompt').focus()")
    page.type(text)
    page.key("Enter")


def ask(page, text):
    send(page, text)
    page.wait(f"{LENGTH} > 0 && {IS_IDLE}", 60)


def stop(page):
    page.wait(f"{LENGTH} > 20")
    page.key("Escape")
    page.wait(IS_IDLE, 10)


#-- with answers that are long ----------------------------------------------------------------------------------------


def streams_and_stops(page, server):
    send(page, "hi there")
    first = page.wait(LENGTH)
    second = page.wait(f"{LENGTH} > {first} && {LENGTH}")
    true(page.run("!document.getElementById('stop').hidden"), f"still writes after {second} characters")
    same(texts(page, ".message.user .body"), ["hi there"], "the message")
    page.wait("/\\d+ tokens · [\\d.]+ tokens\\/s/.test(document.querySelector('.assistant .stats').textContent)")
    page.click("#stop")
    page.wait(IS_IDLE, 5)
    true(server.wait_idle(10) < 10, "the slot is free")
    same(texts(page, ".note:not([hidden])"), ["Stopped."], "note")
    send(page, "again")
    page.wait("document.querySelectorAll('.message').length === 4")
    page.wait(f"{LENGTH} > 5")
    page.key("Escape")
    page.wait(IS_IDLE, 5)


def takes_lines_and_keys(page, server):
    page.run("document.getElementById('prompt').focus()")
    page.type("first")
    page.key("Enter", 8)
    page.type("\nsecond")
    same(page.run("document.querySelectorAll('.message').length"), 0, "Shift+Enter sends nothing")
    page.key("Enter")
    page.wait("document.querySelector('.message.user .body')?.textContent.includes('second')")
    page.key("Enter")
    stop(page)
    same(page.run("document.querySelectorAll('.message').length"), 2, "nothing empty is sent")
    same(page.run("document.activeElement.id"), "prompt", "focus stays")


def retries_edits_and_undoes(page, server):
    send(page, "one")
    stop(page)
    send(page, "two")
    stop(page)
    before = page.run(f"{ANSWER}.textContent")
    page.click(".assistant:last-child [aria-label='Answer again']")
    stop(page)
    same(texts(page, ".user .body"), ["one", "two"], "messages stay")
    page.click("#toast-undo")
    same(page.run(f"{ANSWER}.textContent"), before, "the answer is back")
    page.click(".user [aria-label='Edit message']")
    true(page.run("document.activeElement.matches('.editor textarea')"), "focus")
    page.run("document.activeElement.select()")
    page.type("uno")
    page.key("Enter")
    page.wait("document.querySelector('.user .body').textContent === 'uno'")
    stop(page)
    same(texts(page, ".user .body"), ["uno"], "what followed is gone")
    page.click("#toast-undo")
    page.wait("document.querySelectorAll('.message').length === 4")
    same(texts(page, ".user .body"), ["one", "two"], "and back")
    page.click(".assistant [aria-label='Edit answer']")
    page.run("document.activeElement.select()")
    page.type("my own words")
    page.click(".editor .primary")
    same(page.run("document.querySelector('.assistant > .body').textContent"), "my own words", "edited answer")
    page.click(".user [aria-label='Edit message']")
    page.key("Escape")
    true(page.run("!document.querySelector('.editor')"), "Esc leaves the editor")


def counts_the_context(page, server):
    used = "Number(/^(\\d+) of 4096 tokens/.exec(document.getElementById('context').textContent)?.[1])"
    send(page, "count")
    page.wait(f"{LENGTH} > 100")
    page.key("Escape")
    page.wait(IS_IDLE, 10)
    tokens = "Number(/^(\\d+) tokens/.exec(document.querySelector('.assistant .stats').textContent)[1])"
    page.wait(f"Math.abs({used} - {tokens} - 20) < 20", 5)
    messages = [{"role": "user", "content": "count"}, {"role": "assistant", "content": "short"}]
    page.click(".assistant [aria-label='Edit answer']")
    page.run("document.activeElement.select()")
    page.type("short")
    page.click(".editor .primary")
    prompt = server.ask("/apply-template", messages=messages, add_generation_prompt=False)["prompt"]
    page.wait(f"{used} === {len(server.ask('/tokenize', content=prompt)['tokens'])}", 5)
    page.reload()
    page.wait(f"{used} < 40", 5)


def tells_of_itself(page, server):
    props = server.get("/props")[2]
    told = page.run("document.getElementById('welcome-device').textContent")
    same(told, ("It runs on the CPU, slowly: no GPU was found." if props["is_software"] else f"It runs on {props['device']}.")
         + " Its context has 4096 tokens.", "device")
    true("1 answer at a time" in page.run("document.getElementById('about').textContent"), "one at a time")


def record(page, state):
    """Clicks on the microphone and waits for a state."""
    page.click("#microphone")
    page.wait(f"document.getElementById('microphone').dataset.state === '{state}'")


def takes_speech(page, server):
    value = "document.getElementById('prompt').value"
    if "speech_model" not in server.get("/props")[2]:
        return
    page.run("document.getElementById('prompt').focus()")
    page.type("Say please")
    page.run("document.getElementById('prompt').setSelectionRange(3, 3)")
    record(page, "recording")
    same(page.run("document.getElementById('microphone').title"), "Stop recording", "the button")
    page.wait(f"/^Say \\w+ please$/.test({value})")
    true(page.run("document.getElementById('send').disabled"), "nothing is sent while it records")
    page.key("Enter")
    page.wait("document.getElementById('microphone').dataset.state === 'idle'")
    spoken = page.run(value)
    true(re.fullmatch(r"Say \w+ please", spoken), spoken)
    same(page.run("document.getElementById('announcer').textContent"), spoken.split()[1], "announced")
    same(page.run("document.activeElement.id"), "prompt", "focus")
    record(page, "recording")
    page.key("Escape")
    page.wait("document.getElementById('microphone').dataset.state === 'idle'")
    same(page.run(value), spoken, "Esc drops the recording")


def says_that_there_is_no_chat(page, server):
    page.wait("document.getElementById('model').textContent === 'tiny-whisper.bin'")
    true("no language model" in page.run("document.getElementById('welcome-device').textContent"), "the page tells")
    true(page.run("document.getElementById('suggestions').hidden"), "no suggestions")
    page.run("document.getElementById('prompt').focus()")
    page.type("Hi")
    page.key("Enter")
    true(page.run("document.getElementById('send').disabled && document.getElementById('prompt').value === 'Hi'"), "nothing is sent")
    same(page.run("document.getElementById('microphone').hidden"), False, "the microphone")


def tells_why_it_hears_nothing(page, server):
    if "speech_model" not in server.get("/props")[2]:
        return
    record(page, "recording")
    page.run("void (window.fetch = async () => Response.json({error: {message: 'the queue is full'}}, {status: 503}))")
    page.run("new Promise((resolve) => setTimeout(resolve, 100))")
    record(page, "idle")
    same(texts(page, "#toast-text"), ["the queue is full"], "a refusal of the server")
    for name, words in ("NotAllowedError", "does not allow"), ("NotFoundError", "No microphone was found."), ("NotReadableError", "another program"):
        page.run(f"void (navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('', '{name}'); }})")
        record(page, "idle")
        true(words in texts(page, "#toast-text")[0], name)
    script = page.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(window, 'isSecureContext', {value: false})")
    open_page(page, server)
    true("only for pages from https or localhost" in page.run("document.getElementById('microphone').title"), "the title says why")
    page.call("Page.removeScriptToEvaluateOnNewDocument", **script)


def shows_code_of_the_reader(page, server):
    page.run("document.getElementById('prompt').focus()")
    page.type("See <b>this</b>:\n```python\ndef f(x):\n    return x\n```\nand *that*")
    page.key("Enter")
    stop(page)
    same(texts(page, ".user .code code"), ["def f(x):\n    return x"], "code")
    same(texts(page, ".user .code-keyword"), ["def", "return"], "coloured")
    same(texts(page, ".user .plain"), ["See <b>this</b>:", "and *that*"], "the rest as it is")
    page.run("[window.saved = [], URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return 'data:,'; }].length")
    page.click("#open-settings")
    page.click("#export")
    page.wait("saved.length === 1")
    saved = json.loads(page.run("saved[0]"))
    same([message["role"] for message in saved[0]["messages"]], ["user", "assistant"], "exported")
    true("```python" in saved[0]["messages"][0]["content"], "as it was written")
    page.key("Escape")


def keeps_conversations(page, server):
    send(page, "remember me")
    page.wait(f"{LENGTH} > 20")
    page.reload()
    same(texts(page, ".user .body"), ["remember me"], "after a reload in the middle")
    true(page.run(f"{LENGTH} > 0 && {IS_IDLE}"), "the answer so far")
    same(texts(page, ".note:not([hidden])"), ["The page was closed before the answer ended."], "note")
    page.click("#new")
    send(page, "another")
    stop(page)
    same(texts(page, "#list .open"), ["another", "remember me"], "list")
    page.click("#list li:nth-child(2) .open")
    same(texts(page, ".user .body"), ["remember me"], "opened")
    page.click("#list li:nth-child(2) [aria-label^=Rename]")
    page.run("document.activeElement.select()")
    page.type("<b>New</b> name")
    page.key("Enter")
    true("<b>New</b> name" in texts(page, "#list .open"), "renamed")
    true(page.run("document.title").startswith("<b>New</b> name"), "title")
    page.reload()
    true("<b>New</b> name" in texts(page, "#list .open"), "name is kept")
    page.click("#list [aria-label^='Delete “another”']")
    same(texts(page, "#list .open"), ["<b>New</b> name"], "deleted")
    page.click("#toast-undo")
    same(len(texts(page, "#list .open")), 2, "and back")
    same(texts(page, ".user .body"), ["another"], "with its messages")
    page.run("localStorage.setItem('glinfer.index', '[{\"id\":1},null,5]')")
    page.run("localStorage.setItem('glinfer.settings', '[]')")
    page.reload()
    same(texts(page, "#list .open"), [], "damaged storage is left alone")
    true(page.run("document.getElementById('welcome').getBoundingClientRect().height > 0"), "and the page is there")


def answers_behind_another_conversation(page, server):
    send(page, "the first")
    page.wait(f"{LENGTH} > 5")
    page.click("#new")
    same(texts(page, ".message"), [], "a new one")
    true(page.run("!!document.querySelector('#list .is-busy')"), "the first goes on")
    page.click("#list li .open")
    before = page.wait(LENGTH)
    page.wait(f"{LENGTH} > {before}")
    page.click("#list [aria-label^=Delete]")
    same(texts(page, "#list .open"), [], "deleted while it is answered")
    true(server.wait_idle(10) < 10, "which ends it")
    same(page.run("Object.keys(localStorage).filter((name) => name.includes('chat')).length"), 0, "nothing of it is left")


def goes_on_where_nothing_can_be_kept(page, server):
    page.run("void (Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); })")
    send(page, "lost")
    stop(page)
    true("lost when this tab is closed" in texts(page, "#toast-text")[0], "said")
    page.click("#new")
    page.click("#list li .open")
    same(texts(page, ".user .body"), ["lost"], "it is there for now")


def sends_settings(page, server):
    page.run("[window.bodies = [], window.realFetch = window.fetch].length")
    page.run("void (window.fetch = (path, options) => { window.bodies.push(options.body); return window.realFetch(path, options); })")
    page.click("#open-settings")
    same(page.run("document.getElementById('number-temperature').placeholder"), "0.8", "the server's value")
    page.run("document.getElementById('system').focus()")
    page.type("Be brief.")
    for name, value in (("temperature", "0.5"), ("top_k", "7"), ("top_p", "0.9"), ("min_p", "2"), ("max_tokens", "9"), ("seed", "3")):
        page.run(f"document.getElementById('number-{name}').focus()")
        page.type(value)
    same(page.run("document.getElementById('number-min_p').getAttribute('aria-invalid')"), "true", "a min-p of 2 is wrong")
    same(texts(page, ".hint.is-bad"), ["Invalid: enter 0 to 1"], "limits")
    page.click("#settings .primary")
    same(page.run("document.getElementById('settings').open && document.activeElement.id"), "number-min_p", "the dialog stays open")
    page.run("document.activeElement.select()")
    page.type("0.25")
    page.click("#settings .primary")
    true(not page.run("document.getElementById('settings').open"), "and closes")
    ask(page, "hello")
    body = json.loads(page.run("window.bodies.at(-1)"))
    same({name: body.get(name) for name in ("temperature", "top_k", "top_p", "min_p", "max_tokens", "seed")},
         {"temperature": 0.5, "top_k": 7, "top_p": 0.9, "min_p": 0.25, "max_tokens": 9, "seed": 3}, "numbers")
    same(body["messages"], [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}], "messages")
    same(texts(page, ".note:not([hidden])"), ["The answer ends here because it reached the limit of tokens."], "limit")
    true("9 tokens" in texts(page, ".stats")[1], "nine tokens")
    page.reload()
    page.click("#open-settings")
    same(page.run("document.getElementById('number-seed').value"), "3", "kept")
    page.click("#reset")
    same(page.run("document.getElementById('number-seed').value + document.getElementById('system').value"), "", "reset")
    page.key("Escape")
    true(page.run("!document.getElementById('settings').open"), "Esc closes")


def follows_the_system_s_colours(page, server):
    ground = "getComputedStyle(document.body).backgroundColor"
    page.prefer(color_scheme="light")
    light = page.run(ground)
    page.prefer(color_scheme="dark")
    dark = page.wait(f"{ground} !== {json.dumps(light)} && {ground}")
    page.click("#theme")
    same(page.run(ground), light, "switched")
    page.reload()
    same(page.run(ground), light, "kept")
    page.run("document.getElementById('theme-choice').value = 'system'")
    page.run("document.getElementById('theme-choice').onchange()")
    same(page.run(ground), dark, "the system's again")
    page.prefer(color_scheme="dark", reduced_motion="reduce")
    send(page, "x")
    page.wait(f"{LENGTH} > 0")
    same(page.run(f"getComputedStyle({ANSWER}.lastChild, '::after').animationName"), "none", "nothing moves")
    page.key("Escape")
    page.wait(IS_IDLE)
    page.prefer(color_scheme="light")


def follows_the_end(page, server):
    top = "document.getElementById('scroll').scrollTop"
    send(page, "much")
    page.wait(f"{top} > 100", 60)
    true(page.run("document.getElementById('to-end').hidden"), "it follows")
    page.run(f"{top} = 10")
    page.wait("!document.getElementById('to-end').hidden")
    before = page.run(LENGTH)
    page.wait(f"{LENGTH} > {before + 200}")
    same(page.run(top), 10, "a reader who went up is left there")
    page.click("#to-end")
    page.wait(f"{top} > 100 && document.getElementById('to-end').hidden")
    page.key("Escape")
    page.wait(IS_IDLE)


def has_names_for_all(page, server):
    send(page, "names")
    stop(page)
    names = page.controls()
    page.click("#open-settings")
    names += page.controls()
    page.click("#change-key")
    names += page.controls()
    page.key("Escape")
    page.key("Escape")
    same([control for control in names if not control[1].strip()], [], "controls without a name")
    for name in ("Message", "Send", "Settings", "Copy answer", "Answer again", "Temperature", "System prompt", "Key"):
        true(any(control[1].startswith(name) for control in names), name)
    page.wait("!document.querySelector('dialog[open]')")
    same(page.run("document.activeElement.id"), "open-settings", "focus is back")
    seen = set()
    for _ in range(40):
        page.key("Tab")
        seen.add(page.run("document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.className"))
    for name in ("new", "prompt", "theme", "open-settings", "Copy answer", "Answer again", "Edit message"):
        true(name in seen, f"Tab comes to {name}: {seen}")


def fits_a_phone(page, server):
    page.resize(390, 844, True)
    page.reload()
    wide = "document.documentElement.scrollWidth > innerWidth || document.getElementById('scroll').scrollWidth > document.getElementById('scroll').clientWidth"
    send(page, "w" * 300)
    stop(page)
    true(not page.run(wide), "no sideways scrolling")
    true(page.run("document.getElementById('sidebar').inert"), "the list is away")
    page.click("#open-sidebar")
    same(page.run("document.activeElement.id"), "close-sidebar", "focus")
    true(page.run("document.getElementById('main').inert"), "the rest is covered by it")
    page.key("Escape")
    same(page.run("document.activeElement.id"), "open-sidebar", "focus is back")
    page.click("#open-settings")
    true(not page.run("(() => { const d = document.getElementById('settings'); return d.scrollWidth > d.clientWidth; })()"), "settings")
    page.key("Escape")
    page.resize(320, 568, True)
    true(not page.run(wide), "nor on a small one")
    page.resize(1280, 800)


#-- with the answer that is known -------------------------------------------------------------------------------------


def shows_markdown(page, server):
    ask(page, "show")
    body = ".assistant > .body "
    same(page.run("document.querySelector('.thought').open"), False, "the thought is folded")
    same(texts(page, ".thought .markdown strong"), ["be careful"], "thought")
    same(texts(page, body + "h3"), ["Title"], "heading")
    same(texts(page, body + "p > strong") + texts(page, body + "p > em") + texts(page, body + "del"), ["bold", "slanted", "gone"], "emphasis")
    true("snake_case_name, 2 * 3 * 4." in texts(page, body + "p")[0], "text that is not emphasised")
    same(texts(page, body + "pre code"), ['def f(x):  # a <comment>\n    return "text" + 12'], "code")
    same(texts(page, ".code-keyword"), ["def", "return"], "keywords")
    same(texts(page, body + "ul ul ol li"), ["three"], "lists")
    true("☑ done" in texts(page, body + "li"), "task")
    same(texts(page, body + "blockquote blockquote"), ["twice"], "quotes")
    same(texts(page, body + "td") + texts(page, body + "th"), ["1", "<i>2</i>", "a", "b | c"], "table")
    same(page.run(f"document.querySelectorAll('{body}hr').length"), 1, "rule")


def runs_nothing_of_a_text(page, server):
    send(page, "<script>window.harm=7</script><img src=x onerror='window.harm=8'>")
    page.wait(f"{LENGTH} > 0 && {IS_IDLE}", 60)
    time.sleep(0.3)
    same(page.run("window.harm"), None, "harm")
    same(page.run("document.querySelectorAll('.message :is(script, img, iframe, object, embed, style, b, i)').length"), 0, "elements")
    same(page.run("[...document.querySelectorAll('.message a')].map((a) => a.getAttribute('href'))"),
         ["https://example.org/a_b(c)", "mailto:a@b.c", "https://example.org/x.png", "https://example.org/angle", "https://example.org/bare"], "links")
    true(page.run("[...document.querySelectorAll('.message a')].every((a) => a.rel.includes('noopener') && a.target === '_blank')"), "rel")
    true("<script>window.harm=3</script>" in page.run(f"{ANSWER}.innerText"), "it is shown")
    same(texts(page, ".user .body"), ["<script>window.harm=7</script><img src=x onerror='window.harm=8'>"], "the reader's own")
    for code in ("document.body.innerHTML = '<b>x</b>'", "eval('1')"):
        refused = page.run(f"(() => {{ try {{ {code}; return false; }} catch {{ return true; }} }})()")
        true(refused, f"{code} is refused")
    page.complaints.clear()


def copies(page, server):
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    ask(page, "copy")
    page.click(".code [aria-label='Copy python']")
    same(page.run("navigator.clipboard.readText()"), 'def f(x):  # a <comment>\n    return "text" + 12', "code")
    page.click(".assistant [aria-label='Copy answer']")
    true(page.run("navigator.clipboard.readText()").startswith("# Title\n"), "the answer without its thought")
    page.run("void (navigator.clipboard.writeText = () => Promise.reject())")
    page.click(".user [aria-label='Copy message']")
    page.wait("document.getElementById('announcer').textContent.trim() === 'Copied'")
    same(page.run("navigator.clipboard.readText()"), "copy", "where the page came over plain HTTP from another machine")


def takes_any_text(page, server):
    for name in ("dom", "highlight", "inline", "markdown"):  # the page's own are out of reach
        with open(os.path.join(SCRIPTS, f"{name}.js"), encoding="utf-8") as script:
            page.call("Runtime.evaluate", expression=script.read())
    page.call("Runtime.evaluate", expression="""
        function judge(text) {
            const begin = performance.now();
            const element = document.createElement("div");
            showMarkdown(element, text);
            const tags = new Set([...element.querySelectorAll("*")].map((e) => e.localName));
            const links = [...element.querySelectorAll("a")].map((a) => new URL(a.href).protocol);
            return { tags: [...tags], links, ms: performance.now() - begin };
        }""")
    random = Random(1)
    pieces = [*"*_`~[]()<>#|!\\-+1.: \n\n", "    ", "```", "~~~", "> ", "- ", "1. ", "|-|-|\n", "http://", "](javascript:", "](http://x",
              "<script>", "<img onerror=x>", "<br>", "[x] ", "word ", "\u202e", "\0", "\ud800"]
    hard = ["*a " * 3000, "**" * 3000, "[" * 5000, "`" * 3000 + "x", "` `` " * 2000, "> " * 2000 + "x", "|" * 5000 + "\n" + "|-" * 5000,
            "\n".join(" " * i + "- x" for i in range(400)), "_a" * 5000, "[a](" * 2000, "<" * 5000, "#" * 5000, "http://" * 2000, "- " * 2000,
            "```" + " " * 5000 + "`", "-" * 5000 + "x", "* " * 3000, "\\" * 5001, "~~" * 3000, "a*`" * 2000, "1. " * 2000, "'" * 5000]
    texts_to_try = hard + ["".join(random.choice(pieces) for _ in range(400)) for _ in range(300)]
    for text in texts_to_try:
        found = page.run(f"judge({json.dumps(text)})")
        true(set(found["tags"]) <= TAGS, f"elements of {text[:80]!r}: {set(found['tags']) - TAGS}")
        true(set(found["links"]) <= {"http:", "https:", "mailto:"}, f"links of {text[:80]!r}: {found['links']}")
        true(found["ms"] < 2000, f"{text[:40]!r} takes {found['ms']} ms")


#-- servers of their own ----------------------------------------------------------------------------------------------


def asks_for_the_key(page):
    with Server(GLINFER, MODEL, "--api-key", "secret", "-n", "20") as server:
        page.open(f"http://127.0.0.1:{server.port}/")
        page.wait("document.getElementById('key-dialog').open")
        page.type("wrong")
        page.key("Enter")
        page.wait("document.getElementById('key-dialog').open && document.getElementById('key').value === 'wrong'")
        page.run("document.getElementById('key').select()")
        page.type("secret")
        page.key("Enter")
        page.wait("document.getElementById('model').textContent !== 'glinfer'")
        ask(page, "hi")
        true(page.run("!JSON.stringify(localStorage).includes('secret')"), "the key goes with the tab unless told")


def wait_for_queue(server, n_waiting):
    """Waits until one answer has the slot and n_waiting wait. The first piece of a stream can come before its slot does."""
    end = time.monotonic() + 30
    while True:
        metrics = server.get("/metrics")[2]
        if "requests_processing 1\n" in metrics and f"requests_deferred {n_waiting}\n" in metrics:
            return
        if time.monotonic() > end:
            raise RuntimeError(f"{n_waiting} requests do not wait for the slot of another")
        time.sleep(0.01)


def waits_for_a_busy_server(page):
    long = {"prompt": "Once", "n_predict": 4000, "ignore_eos": True, "stream": True}
    with Server(GLINFER, MODEL, "-np", "1", "--queue", "1", "-c", "4096", "-n", "20", "--metrics", *SEED,
                env={"GLINFER_FAULT": "slow:EMBED_TOKEN:300"}) as server:  # no answer ends before the page asks
        open_page(page, server)
        first = server.stream("/completion", **long)
        next(first)
        wait_for_queue(server, 0)  # a queue of one refuses the second while the first is in it
        second = server.connect()
        second.request("POST", "/completion", json.dumps(long))
        wait_for_queue(server, 1)
        send(page, "hi")
        page.wait("document.querySelector('.progress')?.textContent.startsWith('The server is busy, next try in')")
        first.close()
        second.close()
        page.wait(f"{LENGTH} > 0 && {IS_IDLE}", 60)


def shows_its_place(page):
    long = {"prompt": "Once", "n_predict": 4000, "ignore_eos": True, "stream": True}
    with Server(GLINFER, MODEL, "-np", "1", "-c", "4096", "-n", "20", "--metrics", *SEED, env={"GLINFER_FAULT": "slow:EMBED_TOKEN:300"}) as server:
        open_page(page, server)
        first, second = (server.stream("/completion", **long) for _ in range(2))
        next(first)
        connection = server.connect()
        connection.request("POST", "/completion", json.dumps(long))
        wait_for_queue(server, 1)
        send(page, "hi")
        place = "document.querySelector('.progress')?.textContent"
        page.wait(f"{place} === 'Another answer is running; 1 more comes before you.'")
        connection.close()
        page.wait(f"{place} === 'Another answer is running; you are next.'")
        first.close()
        page.wait(f"{LENGTH} > 0 && {IS_IDLE}", 60)


def tells_of_a_full_context(page):
    with Server(GLINFER, MODEL, *LONG[:2], "-c", "256") as server:
        open_page(page, server)
        ask(page, "hi")
        true("is full" in "".join(texts(page, ".note")), "an answer that fills it")
        send(page, "more " * 20)
        page.wait("document.querySelector('.note.is-bad .button')")
        true("longer than the model's context" in "".join(texts(page, ".note")), "a conversation that does not fit")
        page.click(".note.is-bad .button")
        page.wait(f"{LENGTH} > 0 && {IS_IDLE}", 60)
        send(page, "word " * 400)
        page.wait("document.querySelector('.note.is-bad')")
        page.reload()
        true("no longer sent" in "".join(texts(page, ".skip-mark")), "the mark above what is sent")


def chooses_a_model(page):
    with tempfile.TemporaryDirectory() as folder:
        for name in "first", "second":
            shutil.copy(MODEL, f"{folder}/{name}.gguf")
        with Server(GLINFER, None, "--models-dir", folder, "-n", "4") as server:
            open_page(page, server)
            names = page.run("[...document.querySelectorAll('#models option')].map((e) => e.value)")
            same([name for name in names if name in ("first", "second")], ["first", "second"], "the models")
            page.run("document.getElementById('models').value = 'second'")
            page.run("document.getElementById('models').dispatchEvent(new Event('change'))")
            page.wait("document.getElementById('welcome-model').textContent === 'second'")
            ask(page, "hi")
            page.reload()
            page.wait("document.getElementById('models').value === 'second'")
            same([model["name"] for model in server.get("/api/ps")[2]["models"]], ["second"], "the one that is loaded")


def tells_of_a_server_that_is_gone(page):
    server = Server(GLINFER, MODEL, *LONG)
    with server:
        open_page(page, server)
        send(page, "hi")
        page.wait(f"{LENGTH} > 20")
        server.process.kill()
        page.wait("document.querySelector('.note.is-bad')", 10)
        true(page.run(LENGTH) > 20, "what was written stays")
        page.wait("!document.getElementById('banner').hidden")
        true(page.run("document.getElementById('to-end').hidden"), "the end is in sight")
    with Server(GLINFER, MODEL, *LONG, "--port", str(server.port)):
        page.wait("document.getElementById('banner').hidden", 20)
        page.click(".note .button")
        stop(page)
    page.complaints.clear()


LONG_TESTS = [streams_and_stops, takes_lines_and_keys, retries_edits_and_undoes, keeps_conversations,
              answers_behind_another_conversation, goes_on_where_nothing_can_be_kept, sends_settings,
              counts_the_context, tells_of_itself, takes_speech, tells_why_it_hears_nothing, shows_code_of_the_reader, follows_the_system_s_colours, follows_the_end, has_names_for_all, fits_a_phone]
SPEECH_TESTS = [says_that_there_is_no_chat]
SCRIPTED_TESTS = [shows_markdown, runs_nothing_of_a_text, copies, takes_any_text]
ALONE = [asks_for_the_key, waits_for_a_busy_server, shows_its_place, tells_of_a_full_context, chooses_a_model, tells_of_a_server_that_is_gone]


def check_page(page):
    foreign = [address for address in page.requests if not re.match(r"http://127\.0\.0\.1:\d+/|data:image|about:", address)]
    same(foreign, [], "requests that leave the server")
    complaints = [text for text in page.complaints if not re.search(r"status of (400|401|503)|ERR_CONNECTION", text)]
    same(complaints, [], "complaints of the browser")


def main():
    wanted = sys.argv[3:]
    failures = 0

    def try_out(test, page, *args):
        nonlocal failures
        if wanted and test.__name__ not in wanted:
            return
        begin = time.monotonic()
        try:
            if args:
                start_anew(page, *args)
            test(page, *args)
            check_page(page)
            print(f"ok {test.__name__} {time.monotonic() - begin:.2f} s", flush=True)
        except Exception as problem:  # the next test may tell more
            failures += 1
            page.complaints.clear()
            page.requests.clear()
            print(f"FAIL {test.__name__}: {type(problem).__name__}: {problem}", flush=True)

    if not find_browser():
        print("there is no chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        model, sound = os.path.join(folder, "tiny-whisper.bin"), os.path.join(folder, "sound.wav")
        write_whisper(model)
        with open(sound, "wb") as file:
            file.write(make_sound(2))
        server = start_or_skip(GLINFER, MODEL, *LONG, "--speech-model", model, "--no-vad")
        with Browser(sound=sound) as page:
            with server:
                for test in LONG_TESTS:
                    try_out(test, page, server)
            with Server(GLINFER, None, "--speech-model", model, "--no-vad") as speech:
                for test in SPEECH_TESTS if "speech_model" in speech.get("/props")[2] else []:
                    try_out(test, page, speech)
            with Server(GLINFER, MODEL, *SCRIPTED) as scripted:
                for test in SCRIPTED_TESTS:
                    try_out(test, page, scripted)
            for test in ALONE:
                try_out(test, page)
    sys.exit(1 if failures else 0)


main()
