"""Transcriptions of `glinfer serve`, by a Whisper model of random weights whose text means nothing.

    speech_test.py GLINFER MODEL

Status 77: no device, or a build that cannot read sound.
"""
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
import wave

import whisper_file
from serving import Server, same, start_or_skip, true

GLINFER, MODEL = sys.argv[1:3]
WIDTH, N_HEAD, N_VOCAB = 64, 2, 51865
PATH = "/v1/audio/transcriptions"


def write_whisper(path, n_vocab=N_VOCAB):
    """Writes a model of random weights in f32, with the vocabulary of the multilingual models; 51864 tokens: of English alone."""
    source = random.Random(1)

    def write_random(file, _kind, n, exponent):
        bits = int.from_bytes(source.randbytes(4 * n), "little")
        mask = int.from_bytes(struct.pack("<I", 0x807FFFFF) * n, "little")
        power = int.from_bytes(struct.pack("<I", (127 + exponent) << 23) * n, "little")
        file.write((bits & mask | power).to_bytes(4 * n, "little") if exponent else struct.pack("<f", 1) * n)

    whisper_file.write(path, WIDTH, N_HEAD, n_vocab, whisper_file.F32, write_random)


def make_sound(seconds):
    """Returns a WAV file with noise."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(random.Random(2).randbytes(int(32000 * seconds)))
    return file.getvalue()


def send(server, fields, sound=None, path=PATH, name="x.wav"):
    """Sends a form with one attempt for each text; returns status, type and body."""
    lines = []
    for field, value in {"temperature_inc": "0", "language": "en", **fields}.items():
        lines.append(f'--mark\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode())
    if sound is not None:
        lines.append(f'--mark\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + sound + b"\r\n")
    status, headers, body = server.request("POST", path, b"".join(lines) + b"--mark--\r\n",
                                           {"Content-Type": "multipart/form-data; boundary=mark"}, 120)
    return status, headers["Content-Type"], body


def it_has_all_shapes(server, sound):
    status, kind, told = send(server, {"model": "whisper-1"}, sound)
    same((status, kind, list(told)), (200, "application/json; charset=utf-8", ["text"]), told)
    true(told["text"], "text")
    status, kind, text = send(server, {"response_format": "text"}, sound)
    same((status, kind, text), (200, "text/plain; charset=utf-8", told["text"] + "\n"), "text")
    status, kind, text = send(server, {"response_format": "srt"}, sound)
    true(status == 200 and text.startswith("1\n00:00:0") and "subrip" in kind, text)
    status, kind, text = send(server, {"response_format": "vtt"}, sound)
    true(status == 200 and text.startswith("WEBVTT\n\n00:00:0") and "vtt" in kind, text)
    status, _, whole = send(server, {"response_format": "verbose_json", "timestamp_granularities[]": "word"}, sound)
    same((status, whole["task"], whole["language"], whole["duration"]), (200, "transcribe", "english", 2), "verbose_json")
    same(whole["text"], told["text"], "the text of verbose_json")
    true(whole["segments"] and whole["words"], whole)
    _, _, whole = send(server, {"response_format": "verbose_json"}, sound, "/v1/audio/translations")
    same((whole["task"], "words" in whole), ("translate", False), "a translation")
    same(send(server, {}, sound, "/inference")[2], told, "/inference")
    same(send(server, {"language": "auto"}, sound)[0], 200, "a detected language")
    same(send(server, {"language": "English"}, sound)[2], told, "a language by its name")


def it_streams(server, sound):
    status, kind, body = send(server, {"stream": "true"}, sound)
    same((status, kind), (200, "text/event-stream"), body)
    events = [json.loads(line.removeprefix("data: ")) for line in body.strip().split("\n\n")]
    same({event["type"] for event in events[:-1]}, {"transcript.text.delta"}, events)
    same(events[-1], {"text": send(server, {}, sound)[2]["text"], "type": "transcript.text.done"}, events)
    same("".join(event["delta"] for event in events[:-1]), events[-1]["text"], "the parts")
    status, kind, told = send(server, {"stream": "true", "language": "xx"}, sound)
    true(status == 400 and "json" in kind and 'invalid language "xx"' in told["error"]["message"], told)


def it_takes_the_fields_of_whisper_server(server, sound):
    status, _, told = send(server, {
        "temperature": "0.0", "temperature_inc": "0.2", "entropy_thold": "0", "logprob_thold": "-10", "no_speech_thold": "1",
        "best_of": "1", "beam_size": "2", "audio_ctx": "0", "token_timestamps": "false", "no_timestamps": "0", "vad": "false",
        "no_context": "true", "max_len": "20", "split_on_word": "true", "suppress_nst": "true", "suppress_regex": "[0-9]", "vad_threshold": "0.4", "unknown": "x"}, sound)
    true(status == 200 and told["text"], told)
    status, _, told = send(server, {"no_timestamps": "1"}, sound)
    true(status == 200 and told["text"], told)
    status, _, part = send(server, {"response_format": "verbose_json", "offset_t": "500", "duration": "1000", "max_context": "0",
                                    "diarize": "false", "offset_n": "0", "word_thold": "0.01"}, sound)
    same((status, part["duration"]), (200, 1), part)
    true(all(0.5 <= piece["start"] <= piece["end"] <= 1.5 for piece in part["segments"]), part)
    for fields in {}, {"response_format": "verbose_json"}, {"language": "fr"}:
        status, _, told = send(server, {"detect_language": "true", **fields}, sound)
        same((status, told["text"]), (200, ""), told)
        true(told["detected_language"] and 0 < told["detected_language_probability"] <= 1, told)
    same(send(server, {"model": "models/tiny-whisper.bin"}, None, "/load")[::2], (200, "Load was successful!"), "/load")
    for fields, refusal, words in ({"model": "models/large.bin"}, 501, "this server keeps tiny-whisper.bin"), ({}, 400, 'missing "model"'):
        status, _, told = send(server, fields, None, "/load")
        true(status == refusal and words in told["error"]["message"], told)


def it_refuses(server, sound):
    for fields, data, words in (
            ({}, None, 'missing "file"'), ({}, b"", "it is empty"), ({}, b"a text, no sound" * 9, "not a sound file"),
            ({"language": "xx"}, sound, 'invalid language "xx"'), ({"response_format": "pdf"}, sound, 'invalid "response_format"'),
            ({"temperature": "hot"}, sound, 'invalid "temperature"'), ({"temperature": "nan"}, sound, 'invalid "temperature"'),
            ({"timestamp_granularities[]": "letter"}, sound, "timestamp_granularities"),
            ({"timestamp_granularities[]": "word"}, sound, "verbose_json"),
            ({"stream": "true", "response_format": "srt"}, sound, 'invalid "stream"'),
            ({"translate": "perhaps"}, sound, 'invalid "translate": expected true or false'),
            ({"beam_size": "17"}, sound, 'invalid "beam_size": expected a whole number from 1 to 16'),
            ({"suppress_regex": "("}, sound, "invalid regular expression '('"),
            ({"offset_t": "-1"}, sound, 'invalid "offset_t": expected a whole number'),
            ({"diarize": "true"}, sound, 'invalid "diarize": expected false'), ({"offset_n": "3"}, sound, 'invalid "offset_n"')):
        status, _, told = send(server, fields, data)
        true(status == 400 and words in told["error"]["message"], (fields, told))
        same(told["error"]["type"], "invalid_request_error", told)
    status, _, told = send(server, {}, make_sound(40))
    true(status == 413 and "larger than 1048576 bytes; --max-body" in told["error"]["message"], told)
    status, _, told = server.post(PATH, {"file": "x"})
    true(status == 400 and "multipart/form-data" in told["error"]["message"], told)
    same(server.get(PATH)[0], 405, "GET")
    headers = {"Content-Type": "multipart/form-data; boundary=mark"}
    same(server.request("POST", PATH, b"--mark\r\nContent-Disposition: form", headers)[0], 400, "a cut form")


def it_tells_models_apart(server, sound):
    status, _, told = send(server, {"model": os.path.basename(MODEL)}, sound)
    true(status == 400 and 'invalid "model": expected tiny-whisper.bin' in told["error"]["message"], told)
    same(send(server, {"model": "tiny-whisper.bin"}, sound)[0], 200, "the name of the speech model")
    for path, body in (("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}),
                       ("/completion", {"prompt": "x", "n_predict": 1})):
        status, _, told = server.post(path, {**body, "model": "tiny-whisper.bin"})
        true(status == 400 and 'invalid "model": expected ' + os.path.basename(MODEL) in told["error"]["message"], told)
        same(server.post(path, {**body, "model": "gpt-4"})[0], 200, "the name of another model")


def it_warns_of_damaged_sound(server, sound):
    """Half of a file is transcribed with a warning; a broken header is refused."""
    same("warning" in send(server, {"response_format": "verbose_json"}, sound)[2], False, "a whole sound")
    cut = sound[:len(sound) // 2]
    words = "cut.wav ends early: 1.0 of 2.0 s were read"
    for form in "json", "verbose_json":
        status, _, told = send(server, {"response_format": form}, cut, name="cut.wav")
        same((status, told["warning"]), (200, words), form)
    _, _, body = send(server, {"stream": "true"}, cut, name="cut.wav")
    same(json.loads(body.strip().split("\n\n")[-1].removeprefix("data: "))["warning"], words, "a stream")
    server.wait_for("warning: " + words)
    status, _, told = send(server, {}, sound[:16] + b"\1\0\0\0" + sound[20:], name="bad.wav")
    true(status == 400 and "cannot read bad.wav: it is damaged (libsndfile: " in told["error"]["message"], told)


def it_shares_the_device(server, sound):
    alone = send(server, {}, sound)
    answer = server.ask("/completion", prompt="Once", n_predict=24, temperature=0)["content"]
    found = []
    threads = [threading.Thread(target=lambda: found.append(send(server, {}, sound))) for _ in range(3)]
    for thread in threads:
        thread.start()
    same(server.ask("/completion", prompt="Once", n_predict=24, temperature=0)["content"], answer, "an answer beside sound")
    for thread in threads:
        thread.join()
    same(found, 3 * [alone], "sounds that wait for each other")


def it_forgets_clients_that_go(server, sound):
    long = make_sound(25)
    body = b'--mark\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + long + b"\r\n--mark--\r\n"
    for n_before in 0, 4, 12:  # as many sounds before it as this machine needs longer for than its client stays
        before = [threading.Thread(target=lambda: send(server, {}, long)) for _ in range(n_before)]
        for thread in before:
            thread.start()
        connection = server.connect()
        connection.request("POST", PATH, body, {"Content-Type": "multipart/form-data; boundary=mark"})
        time.sleep(0.2)
        connection.close()
        for thread in before:
            thread.join()
        same(send(server, {}, sound)[0], 200, "the next sound")
        if "glinfer:answers_cancelled_total 1\n" in server.get("/metrics")[2]:
            break
    true("glinfer:answers_cancelled_total 1\n" in server.get("/metrics")[2], "metrics")


def it_takes_turns(server, sound):
    """Neither an answer nor a transcription waits for the end of the other."""
    stream = server.stream("/completion", prompt="Once", grammar='root ::= ([a-z] [a-z] [a-z] " "){4000}')
    texts, done = [], threading.Event()

    def read():
        for event in stream:
            texts.append(event)
            if done.is_set():
                break

    next(stream)
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(3):
        before = len(texts)
        same(send(server, {}, sound)[0], 200, "a sound beside an answer")
        true(len(texts) > before, "an answer goes on beside a sound")
    true(reader.is_alive(), "the answer has not ended")
    done.set()
    reader.join()
    stream.close()


def it_serves_speech_alone(path, sound):
    """The model knows English alone."""
    write_whisper(path, 51864)
    with Server(GLINFER, None, "--speech-model", path, "--no-vad") as server:
        for fields in {"language": "fr"}, {"language": "German", "stream": "true"}:
            status, _, told = send(server, fields, sound)
            true(status == 400 and "the model does not know it, it knows English alone" in told["error"]["message"], told)
        status, _, told = send(server, {"detect_language": "1"}, sound)
        true(status == 400 and 'invalid "detect_language"' in told["error"]["message"], told)
        same([model["id"] for model in server.get("/v1/models")[2]["data"]], ["tiny-whisper.bin"], "models")
        props = server.get("/props")[2]
        same((props["total_slots"], props["speech_model"]), (0, "tiny-whisper.bin"), props)
        same(server.get("/slots")[2], [], "slots")
        same(server.get("/v1/models/x")[0], 404, "another model")
        for address in "/v1/chat/completions", "/tokenize", "/v1/embeddings", "/slots/0?action=erase":
            status, _, told = server.post(address, {})
            true(status == 501 and "no language model" in told["error"]["message"], told)
        same(server.get("/completion")[0], 405, "GET")
        found = []
        threads = [threading.Thread(target=lambda: found.append(send(server, {}, sound)[0])) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        same(found, [200] * 3, "sounds that wait for each other")
        same(server.end(), 0, "the end")


def wrong_flags_are_refused(speech):
    for flags, words in ((("-m", MODEL, "--speech-model", MODEL), "not a speech model"),
                         (("-m", MODEL, "--vad-model", "x"), "needs --speech-model"),
                         (("--speech-model", "/nonexistent.bin"), "/nonexistent.bin"),
                         (("-m", speech), "is a speech model"), ((), "serve needs a model")):
        done = subprocess.run([GLINFER, "serve", "--port", "0", *flags], capture_output=True, text=True,
                              env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"})  # without models that were pulled
        true(done.returncode != 0 and words in done.stderr, done)


def a_model_without_a_tensor_is_refused(whole, path):
    with open(whole, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data.replace(b"decoder.ln.weight", b"decoder.xx.weight"))
    done = subprocess.run([GLINFER, "serve", "-m", MODEL, "--port", "0", "--speech-model", path, "--no-vad"], capture_output=True, text=True)
    true(done.returncode != 0 and "output_norm.weight is missing" in done.stderr and "not a speech model" not in done.stderr, done)


def main():
    sound = make_sound(2)
    with start_or_skip(GLINFER, MODEL) as server:
        status, _, told = send(server, {}, sound)
        same((status, told["error"]["type"]), (501, "not_supported_error"), told)
        if "cannot read sound" in told["error"]["message"]:
            print(told["error"]["message"])
            sys.exit(77)
        true("--speech-model" in told["error"]["message"], told)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tiny-whisper.bin")
        write_whisper(path)
        wrong_flags_are_refused(path)
        a_model_without_a_tensor_is_refused(path, os.path.join(folder, "broken.bin"))
        with Server(GLINFER, MODEL, "--speech-model", path, "--no-vad", "--max-body", "1M", "--metrics") as server:
            true(any(line.endswith("ready: " + os.path.basename(MODEL) + " and tiny-whisper.bin") for line in server.lines), server.lines)
            names = [model["id"] for model in server.get("/v1/models")[2]["data"]]
            same(names, [os.path.basename(MODEL), "tiny-whisper.bin"], "models")
            same(server.get("/v1/models/tiny-whisper.bin")[2]["id"], "tiny-whisper.bin", "a model")
            it_has_all_shapes(server, sound)
            it_streams(server, sound)
            it_takes_the_fields_of_whisper_server(server, sound)
            it_refuses(server, sound)
            it_tells_models_apart(server, sound)
            it_warns_of_damaged_sound(server, sound)
            it_shares_the_device(server, sound)
            it_forgets_clients_that_go(server, sound)
            it_takes_turns(server, make_sound(8))
            same(server.end(), 0, "the end")
        it_serves_speech_alone(path, sound)


if __name__ == "__main__":
    main()
