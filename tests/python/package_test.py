"""package_test.py DATA SERVE_TESTS SCRATCH: the Python package with the tiny models of tests/data.

LIBGLINFER and PYTHONPATH name what is tested. Status 77: no device.
"""
import array
import asyncio
import contextlib
import gc
import json
import math
import os
import pathlib
import sys
import threading
import warnings
import wave

import glinfer

DATA, SERVE_TESTS, SCRATCH = (pathlib.Path(argument) for argument in sys.argv[1:4])
sys.argv[1:] = ["", ""]  # of speech_test
sys.path.insert(0, str(SERVE_TESTS))
TEXT = "Once upon a time"


def same(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r}, not {expected!r}")


@contextlib.contextmanager
def raises(kind, words):
    try:
        yield
    except kind as error:
        assert words in str(error), f"{error!r} does not say {words!r}"
    else:
        raise AssertionError(f"no {kind.__name__}")


def load(name, **settings):
    return glinfer.load(DATA / "models" / name, **settings)


def it_generates(model):
    answer = model.generate(TEXT, n_predict=8, n_probs=3)
    tokens = list(answer)
    same(len(tokens), 8, "tokens")
    same([token.id for token in tokens], answer.ids, "ids")
    same("".join(tokens), answer.text, "text")
    for token in tokens:
        same((len(token.probs), token.probs[0].id), (3, token.id), "probs")
        assert token.probs[0].logprob >= token.probs[1].logprob, token.probs
    same((answer.stop, answer.stats.predicted_n, answer.stats.prompt_n), (glinfer.Stop.LIMIT, 8, 16 - 3), answer.stats)
    same(model.generate(model.tokenizer.encode(TEXT), n_predict=8).read(), answer.text, "a prompt of ids")
    session = model.session(n_ctx=128)
    same(session.generate(TEXT, n_predict=3).ids, [], "an answer that is not iterated")
    first = session.generate(TEXT, n_predict=4)
    first.read()
    same(session.match(model.tokenizer.encode(TEXT)), len(model.tokenizer.encode(TEXT)), "match")
    scores = session.score(model.tokenizer.encode(TEXT))
    assert len(scores) == len(model.tokenizer.encode(TEXT)) - 1 and all(value < 0 for value in scores), scores


def it_samples(model):
    def text(**settings):
        return model.generate(TEXT, n_predict=12, ignore_eos=True, **settings).read()

    same(text(temperature=1.5, seed=1), text(temperature=1.5, seed=1), "a seed")
    assert len({text(temperature=2.0, seed=seed) for seed in range(4)}) > 1, "seeds have no effect"
    plain = model.generate(TEXT, n_predict=12)
    plain.read()
    banned = model.generate(TEXT, n_predict=12, logit_bias={plain.ids[0]: -math.inf})
    banned.read()
    assert plain.ids[0] not in banned.ids, banned.ids
    whole = plain.text
    stopped = model.generate(TEXT, n_predict=12, stop=[whole[1:3], "never"])
    same((stopped.read(), stopped.stop, stopped.stats.stop_index), (whole[:whole.index(whole[1:3])], glinfer.Stop.WORD, 0), "stop")
    assert text(repeat_penalty=5.0) != text(), "a penalty has no effect"
    assert text(dry_multiplier=50.0, dry_breakers=["\n"]) != text(), "dry has no effect"


def it_keeps_to_a_schema(model):
    schema = {"type": "object", "required": ["a", "b"], "additionalProperties": False,
              "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", "y"]}}}
    for form in schema, json.dumps(schema):
        facts = model.generate(TEXT, json_schema=form, n_predict=200).json()
        assert set(facts) == {"a", "b"} and isinstance(facts["a"], bool) and facts["b"] in "xy", facts
    with raises(ValueError, "cannot parse the answer: it ended at a limit"):
        model.generate(TEXT, json_schema=schema, n_predict=3).json()
    same(model.generate(TEXT, gbnf='root ::= "yes" | "no"', n_predict=9).read() in ("yes", "no"), True, "gbnf")


def it_chats(model):
    question = [{"role": "user", "content": "Hello"}]
    text = model.chat(question, n_predict=6).read()
    same(model.chat("Hello", n_predict=6).read(), text, "a text")
    chat = glinfer.Chat(model, system="Be brief.", n_predict=5)
    first = chat.send("Hello").read()
    answer = chat.send("And now?")
    answer.read()
    same([m["role"] for m in chat.messages], ["system", "user", "assistant", "user"], "roles")
    same(chat.messages[2]["content"], first, "the first answer")
    whole = model.tokenizer.encode_chat(chat.messages)
    assert answer.stats.prompt_n < len(whole), "the conversation is processed again"
    assert model.tokenizer.has_chat and model.tokenizer.encode_chat("x") != model.tokenizer.encode("x")


def it_tokenizes(model):
    for text in TEXT, "", "naïve \N{CJK UNIFIED IDEOGRAPH-4E2D} \0 x" * 40:
        ids = model.tokenizer.encode(text, bos=False)
        same(model.tokenizer.decode(ids).lstrip(), text.lstrip(), "decode(encode(text))")
    alone = glinfer.Tokenizer(DATA / "models" / "tiny-chat.gguf")
    same(alone.encode(TEXT), model.tokenizer.encode(TEXT), "a tokenizer alone")
    with raises(IndexError, "invalid token: 99999999"):
        alone.token(99999999)


def it_embeds():
    with load("tiny-bert.gguf") as model:
        rows = model.embed([TEXT, "two"])
        same((len(rows), len(rows[0])), (2, model.info.n_embedding), "shape")
        same(rows[0], model.embed(TEXT), "one text")
        assert abs(sum(value * value for value in rows[0]) - 1) < 1e-4, "length"
        pairs = model.embed(TEXT, pooling=glinfer.Pooling.NONE)
        same(len(pairs), len(model.tokenizer.encode(TEXT)) * model.info.n_embedding, "vectors of tokens")
        try:
            import numpy
        except ImportError:
            print("numpy is not here")
        else:
            matrix = model.embed_array([TEXT, "two"])
            same((matrix.shape, matrix.dtype, matrix[1].tolist()), ((2, len(rows[1])), numpy.float32, rows[1].tolist()), "numpy")
    with load("tiny-bert_rank.gguf") as model:
        same(len(model.rank("query", ["one", "two", "three"])), 3, "scores")


def write_speech():
    import speech_test
    path = SCRATCH / "whisper.bin"
    speech_test.write_whisper(path)
    (SCRATCH / "noise.wav").write_bytes(speech_test.make_sound(2))
    return path


def it_transcribes(path):
    with glinfer.load(path) as model:
        transcript = model.transcribe(SCRATCH / "noise.wav", language="en", temperature_step=0.0)
        assert transcript.text and transcript.segments[0].end <= 2, transcript
        same(transcript.language, None, "a language that was given")
        with wave.open(str(SCRATCH / "noise.wav")) as file:
            samples = array.array("h", file.readframes(file.getnframes()))
        for sound in samples, array.array("f", [value / 32768 for value in samples]), [value / 32768 for value in samples]:
            same(model.transcribe(sound, language="en", temperature_step=0.0), transcript, type(sound))

        async def hear():
            transcription = model.transcription(temperature_step=0.0)

            async def speak():
                for i in range(0, len(samples), 8000):
                    transcription.feed(samples[i:i + 8000])
                    await asyncio.sleep(0)
                transcription.end()
            task = asyncio.ensure_future(speak())
            texts = [segment.text async for segment in transcription]
            await task
            return texts, transcription.language, transcription.time
        texts, language, seconds = asyncio.run(hear())
        assert texts and language and seconds == 2, (texts, language, seconds)
        words = model.transcribe(samples, language="en", temperature_step=0.0, has_words=True).segments[0].words
        assert words and all(0 <= word.start <= word.end <= 2 for word in words), words
        with raises(ValueError, "bytes have no type"):
            model.transcribe(bytes(32))
        with raises(ValueError, 'invalid language "xx"'):
            model.transcribe(samples, language="xx")
        with raises(ValueError, "cannot read"):
            model.transcribe(path)
        with raises(glinfer.UnsupportedError, ""):
            model.session()


def it_steps_in_an_event_loop(model):
    sessions = model.sessions(3)
    texts = [session.generate(text, n_predict=20).read() for session, text in zip(sessions, ("a", "b", "c"))]
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async def main():
        for session in sessions:
            session.reset()
        task = asyncio.ensure_future(tick())
        answers = [session.generate(text, n_predict=20) for session, text in zip(sessions, ("a", "b", "c"))]
        found = await asyncio.gather(*(answer.read_async() for answer in answers))
        task.cancel()
        return found
    for _ in range(2):  # each with an event loop of its own
        same(asyncio.run(main()), texts, "answers at the same time")
    assert ticks > 10, f"the event loop ran {ticks} times"

    async def leave():
        async for _ in sessions[0].generate("a", n_predict=100):
            break
        return await sessions[1].generate("b", n_predict=3).read_async()
    for session in sessions:
        session.reset()
    assert texts[1].startswith(asyncio.run(leave())), "an answer beside one that was left differs"


def it_shares_a_device_between_threads(model):
    sessions = [model.session() for _ in range(3)]
    texts = [None] * 3

    def work(i):
        texts[i] = sessions[i].generate(TEXT, n_predict=10).read()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(len(set(texts)), 1, texts)


def it_ends_early(model):
    session = model.session()
    for token in session.generate(TEXT, n_predict=200):
        break
    n = len(session)
    assert n < 100, f"{n} tokens"
    answer = session.generate("x", n_predict=200)
    next(answer)
    session.cancel()
    with raises(glinfer.CancelledError, ""):
        answer.read()
    answer = session.generate("x", n_predict=6)
    next(answer)
    other = session.generate("y", n_predict=2, ignore_eos=True)
    with raises(glinfer.InvalidArgumentError, "another call of its session"):
        answer.read()
    other.read()
    assert len(answer.ids) < 6 and len(other.ids) == 2, "an answer that another one ends"
    answer, other = model.generate("x", n_predict=6), model.generate("y", n_predict=2)
    with raises(glinfer.InvalidArgumentError, "Model.sessions"):
        asyncio.run(answer.read_async())
    other.close()
    same(other.read(), "", "an answer that is closed")
    session.reset()
    whole = session.generate(TEXT, n_predict=12, ignore_eos=True)
    whole.read()
    session.reset()
    first = session.generate(TEXT, n_predict=12, ignore_eos=True)
    for _ in range(4):
        next(first)
    first.close()
    rest = first.resume()
    rest.read()
    same(first.ids + rest.ids, whole.ids, "an answer that is resumed")
    data = session.dumps()
    session.save(SCRATCH / "saved")
    copy, third = model.session(), model.session()
    copy.loads(data)
    third.load(SCRATCH / "saved")
    same((len(copy), len(third)), (len(session),) * 2, "tokens of a saved session")
    third.copy_from(session, 4)
    same((third.rewind(2), len(third)), (2, 2), "rewind")
    session.reset()
    same(len(session), 0, "tokens")


def it_refuses(model):
    with raises(FileNotFoundError, "no-file.gguf"):
        load("no-file.gguf")
    with raises(glinfer.BadFileError, "README.md"):
        glinfer.load(DATA / "README.md")
    for settings, kind, words in (
            ({"top_k": -1}, ValueError, "invalid setting top_k: -1 is out of range"),
            ({"top_k": "a"}, TypeError, "invalid setting top_k"), ({"foo": 1}, TypeError, "unknown setting 'foo'"),
            ({"repeat_penalty": -3.0}, ValueError, "repeat_penalty"), ({"json_schema": "{"}, ValueError, "JSON"),
            ({"gbnf": "x"}, ValueError, ""), ({"n_probs": 1000}, ValueError, ""), ({"stop": "a\0b"}, ValueError, "NUL")):
        with raises(kind, words):
            model.generate(TEXT, **settings)
    with raises(glinfer.ContextFullError, ""):
        model.session(n_ctx=32).generate(list(range(3, 60)), n_predict=1).read()
    with raises(glinfer.Error, "chat template"):
        model.chat([{"content": "no role"}], n_predict=1)

    def stop(*_):
        raise KeyboardInterrupt
    with raises(KeyboardInterrupt, ""):
        load("tiny-q4_0.gguf", progress=stop)
    with raises(glinfer.CancelledError, ""):
        load("tiny-q4_0.gguf", progress=lambda *_: False)
    closed = model.session()
    closed.close()
    closed.close()
    with raises(glinfer.InvalidArgumentError, ""):
        closed.generate([5], n_predict=1)
    seen = []
    load("tiny-q4_0.gguf", progress=lambda phase, done, total: seen.append((phase, done <= total))).close()
    assert seen and all(phase == glinfer.Phase.LOAD and fits for phase, fits in seen), seen


def it_applies_adapters():
    folder = DATA / "models"
    texts = []
    for adapters in (), [folder / "tiny-q4_0-4.lora"], [(folder / "tiny-q4_0-4.lora", 0.0)]:
        with load("tiny-q4_0.gguf", adapters=adapters) as model:
            texts.append(model.generate(TEXT, n_predict=16, ignore_eos=True).read())
            if adapters and texts[1:] == texts[-1:]:
                session = model.session()
                session.set_adapter_scales([0.0])
                same(session.generate(TEXT, n_predict=16, ignore_eos=True).read(), texts[0], "a scale of 0")
    same((texts[0] == texts[2], texts[0] != texts[1]), (True, True), texts)


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def it_leaks_nothing():
    """Objects go with their last reference, in any order, and the process does not grow."""
    def cycle(i):
        model = load("tiny-chat.gguf")
        session = model.session()
        answer = session.generate(TEXT, n_predict=40 if i % 2 else 5)
        next(answer)
        model.chat("Hello", n_predict=2).read()
        if i % 3 == 0:
            answer.cycle = answer  # the collector finds it later
        if i % 5 == 0:
            model.close()
    before, n_objects = 0, 0
    for i in range(60):
        cycle(i)
        if i % 10 == 9:
            gc.collect()
        if i == 29:
            before, n_objects = resident(), len(gc.get_objects())
    grown = resident() - before
    assert grown < 4 << 20, f"30 models take {grown} bytes"
    same(len(gc.get_objects()) - n_objects < 100, True, "objects of Python")
    same(glinfer.default_device()._answers, {}, "answers")


def main():
    log = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            device = glinfer.default_device()
        except glinfer.NoDeviceError as error:
            print(error)
            sys.exit(77)
        same([str(warning.message) for warning in caught], [f"{device.info.renderer} runs on the CPU, which is slow"]
             if device.info.is_software else [], "warnings")
    with glinfer.Device(allow_software=True, log=lambda level, line: log.append((level, line))) as other:
        same(other.info.renderer, device.info.renderer, "renderer")
        assert device.info.device in [info.device for info in glinfer.devices()]
    if device.info.is_software:
        with raises(glinfer.NoDeviceError, ""):
            glinfer.Device(device=device.info.device, allow_software=False)
    info = glinfer.inspect(DATA / "models" / "tiny-chat.gguf", n_ctx=64)
    same((info.architecture, info.n_ctx, info.is_supported), ("llama", 64, True), info)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with load("tiny-chat.gguf") as model:
        for test in (it_generates, it_samples, it_keeps_to_a_schema, it_chats, it_tokenizes, it_steps_in_an_event_loop,
                     it_shares_a_device_between_threads, it_ends_early, it_refuses):
            test(model)
            print(test.__name__)
    it_embeds()
    it_applies_adapters()
    it_transcribes(write_speech())
    it_leaks_nothing()


main()
