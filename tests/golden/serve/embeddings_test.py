#!/usr/bin/env python3
"""embeddings_test.py GLINFER MODEL: what `glinfer serve` and `glinfer embed` promise of embeddings. MODEL names no pooling."""
import base64
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from serving import Server, same, true

GLINFER, MODEL = sys.argv[1:3]
RERANKER = os.path.join(os.path.dirname(MODEL), "tiny-bert_rank.gguf")
TEXTS = ["one text", "another, longer text", "the third"]


def embed(*words, status=0, model=MODEL):
    run = subprocess.run([GLINFER, "embed", "-m", model, *words], capture_output=True, text=True, input="a\n\nb\r\n")
    same(run.returncode, status, run.stderr)
    return run.stdout if status == 0 else run.stderr


def near(a, b, what):
    true(len(a) == len(b) and all(abs(x - y) < 1e-6 for x, y in zip(a, b)), what)


def the_command_answers():
    words = [word for text in TEXTS for word in ("-p", text)]
    told = json.loads(embed("--pooling", "mean", "--json", *words))
    vectors = [item["embedding"] for item in told["embeddings"]]
    same([item["text"] for item in told["embeddings"]], TEXTS, "texts")
    for i, vector in enumerate(vectors):
        near([math.hypot(*vector)], [1], "length")
        near(told["cosines"][i], [sum(map(lambda x, y: x * y, vector, other)) for other in vectors], "cosines")
    near(list(map(float, embed("--pooling", "mean", "-p", TEXTS[0]).split())), vectors[0], "one text")
    raw = json.loads(embed("--pooling", "mean", "--embd-normalize", "-1", "--json", "-p", TEXTS[0]))["embeddings"][0]
    rows = embed("--pooling", "none", "-p", TEXTS[0]).splitlines()
    same(len(rows), raw["tokens"], "rows")
    columns = zip(*[map(float, row.split()) for row in rows])
    near([sum(column) / len(rows) for column in columns], raw["embedding"], "the mean of rows")
    same(len(embed("--pooling", "last").splitlines()), 2, "lines of standard input")
    true("is not an embedding model" in embed("-p", "x", status=1), "no pooling")
    true("do not fit the context of 8" in embed("-c", "8", "--pooling", "mean", "-p", "x" * 100, status=1), "too long")
    return vectors


def the_server_answers(vectors):
    with Server(GLINFER, MODEL, "--pooling", "mean", "-np", "2") as server:
        status, _, told = server.post("/v1/embeddings", {"input": TEXTS, "model": "x"})
        same(status, 200, told)
        for i, item in enumerate(told["data"]):
            same((item["index"], item["object"]), (i, "embedding"), "item")
            near(item["embedding"], vectors[i], "the command's")
        same(told["usage"]["prompt_tokens"], told["usage"]["total_tokens"], "usage")
        _, _, told = server.post("/v1/embeddings", {"input": TEXTS[1], "encoding_format": "base64"})
        data = base64.b64decode(told["data"][0]["embedding"])
        near(struct.unpack(f"<{len(data) // 4}f", data), vectors[1], "base64")
        for n in (1, 3, len(vectors[0])):
            _, _, told = server.post("/v1/embeddings", {"input": TEXTS[1], "dimensions": n})
            length = math.hypot(*vectors[1][:n])
            near(told["data"][0]["embedding"], [value / length for value in vectors[1][:n]], f"{n} dimensions")
        _, _, tokens = server.post("/tokenize", {"content": TEXTS[0], "add_special": True})
        _, _, told = server.post("/embedding", {"content": tokens["tokens"]})
        near(told[0]["embedding"][0], vectors[0], "ids, native")
        for wrong in ({}, {"input": []}, {"input": ["a", ""]}, {"input": {"a": 1}}, {"input": "x", "encoding_format": "hex"},
                      {"input": "x", "dimensions": 0}, {"input": "x", "dimensions": 1 << 16}, {"input": "x", "dimensions": 1.5}, {"input": "x", "embd_normalize": "x"}, {"input": ["x"] * 8193},
                      {"input": "x" * 5000}, {"input": 1.5}):
            same(server.post("/v1/embeddings", wrong)[0], 400, wrong)
        same(server.post("/completion", {"prompt": "a", "n_predict": 2})[0], 200, "answers go on")
        same(server.post("/embedding", {"content": TEXTS[0]})[2][0]["embedding"][0], told[0]["embedding"][0], "again")
    with Server(GLINFER, MODEL) as server:
        same(server.post("/v1/embeddings", {"input": "x"})[0], 501, "no pooling")
        same(server.post("/v1/rerank", {"query": "x", "documents": ["y"]})[0], 501, "no reranker")


def a_reranker_scores_pairs():
    words = ["--query", "the question", "-p", TEXTS[0], "-p", TEXTS[1]]
    scores = [item["embedding"][0] for item in json.loads(embed("--json", *words, model=RERANKER))["embeddings"]]
    same(embed(*words, model=RERANKER), "".join(f"{score:10.6f}  {text}\n" for score, text in zip(scores, TEXTS)), "lines")
    near([float(embed("-p", "the question[SEP]" + TEXTS[0], model=RERANKER))], scores[:1], "the pair as one text")
    with Server(GLINFER, RERANKER) as server:
        asked = {"query": "the question", "documents": TEXTS[:2]}
        status, _, told = server.post("/v1/rerank", asked)
        same(status, 200, told)
        for path in ("/rerank", "/reranking", "/v1/reranking"):
            same(server.post(path, asked)[2]["results"], told["results"], path)
        documents = [{"text": TEXTS[0], "id": 1}, TEXTS[1]]
        _, _, texts = server.post("/rerank", {**asked, "documents": documents, "return_documents": True})
        same([result["document"]["text"] for result in texts["results"]], [TEXTS[result["index"]] for result in told["results"]], "objects")
        best = sorted(range(2), key=lambda i: -scores[i])
        same([result["index"] for result in told["results"]], best, "the best first")
        near([result["relevance_score"] for result in told["results"]], [scores[i] for i in best], "the server's")
        _, _, told = server.post("/v1/rerank", {**asked, "top_n": 1, "return_documents": True})
        same([(result["index"], result["document"]) for result in told["results"]], [(best[0], {"text": TEXTS[best[0]]})], "top_n")
        for wrong, why in (({}, '"query"'), ({"query": "x"}, "missing"), ({"query": "x", "documents": []}, "empty list"),
                           ({"query": "x", "documents": [1]}, "strings"), ({"query": "x", "documents": [{"text": 1}]}, "strings"), ({**asked, "top_n": -1}, "top_n")):
            status, _, told = server.post("/v1/rerank", wrong)
            same(status, 400, wrong)
            true(why in told["error"]["message"], told)
        asked = {"query": "the question", "texts": TEXTS[:2]}
        for path in ("/rerank", "/v1/rerank"):
            _, _, told = server.post(path, asked)
            same([set(rank) for rank in told], [{"index", "score"}] * 2, "texts")
            same([rank["index"] for rank in told], best, "the best text first")
            near([rank["score"] for rank in told], [1 / (1 + math.exp(-scores[i])) for i in best], "sigmoid")
        _, _, told = server.post("/rerank", {**asked, "raw_scores": True, "return_text": True, "truncate": False})
        near([rank["score"] for rank in told], [scores[i] for i in best], "raw scores")
        same([rank["text"] for rank in told], [TEXTS[i] for i in best], "return_text")
        for wrong, why in (({"texts": ["x"]}, '"query"'), ({"query": "x", "texts": []}, '"texts": it is an empty list'),
                           ({"query": "x", "texts": ["a", 1]}, "texts"), ({**asked, "raw_scores": 1}, "raw_scores")):
            status, _, told = server.post("/rerank", wrong)
            same(status, 400, wrong)
            true(why in told["error"]["message"], told)
        for path, what in (("/completion", {"prompt": "x"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]})):
            status, _, told = server.post(path, what)
            same(status, 400, path)
            true("is an encoder" in told["error"]["message"], told)
    true("--query needs" in embed("--query", "x", "--pooling", "mean", "-p", "x", status=2), "no reranker")


def a_broken_template_refuses_pairs_alone():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "broken.gguf")
        with open(os.path.join(os.path.dirname(MODEL), "tiny-qwen3_rank.gguf"), "rb") as file:
            data = file.read()
        with open(model, "wb") as file:
            file.write(data.replace(b"{query}", b"{queri}"))
        embed("-p", "x", model=model)
        true("tokenizer.chat_template.rerank" in embed("--query", "x", "-p", "y", model=model, status=1), "the command")
        with Server(GLINFER, model) as server:
            status, _, told = server.post("/rerank", {"query": "x", "texts": ["y"]})
            same((status, "tokenizer.chat_template.rerank" in told["error"]["message"]), (501, True), told)


def encoders_are_refused_before_they_are_loaded():
    for words in (["chat"], ["run", "-p", "x"], ["tune"], ["bench"], ["profile"], ["perplexity", "-f", MODEL]):
        run = subprocess.run([GLINFER, *words, "-m", RERANKER], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        same(run.returncode, 1, words)
        same((run.stdout, run.stderr), ("", f"glinfer: {RERANKER} is an encoder: it computes embeddings, with `glinfer embed`, "
                                        "and generates no text\n"), words)


def texts_are_shown_in_whole_characters():
    lines = b"x" * 39 + "é".encode() + b"\n \t\r\n\0\n\xff\xc3\n"
    command = [GLINFER, "embed", "-m", MODEL, "--pooling", "mean"]
    table = subprocess.run(command, capture_output=True, input=lines).stdout.split(b"\n")
    true(table[0].endswith(b"  " + b"x" * 39), table)
    told = json.loads(subprocess.run([*command, "--json"], capture_output=True, input=lines).stdout.decode())
    same([item["text"] for item in told["embeddings"]], ["x" * 39 + "é", "\ufffd\ufffd"], "bytes that are not UTF-8")


def an_encoder_is_described():
    told = json.loads(subprocess.run([GLINFER, "info", "-m", RERANKER, "--json"], capture_output=True, check=True).stdout)
    same((told["encoder"], told["pooling"], told["n_embedding"]), (True, "rank", 64), "info")
    told = subprocess.run([GLINFER, "info", "-m", RERANKER], capture_output=True, text=True, check=True).stdout
    true("encoder" in told and "pooling rank" in told and "drafts" not in told and "0M" not in told, told)


def main():
    an_encoder_is_described()
    encoders_are_refused_before_they_are_loaded()
    texts_are_shown_in_whole_characters()
    a_reranker_scores_pairs()
    a_broken_template_refuses_pairs_alone()
    the_server_answers(the_command_answers())


if __name__ == "__main__":
    main()
