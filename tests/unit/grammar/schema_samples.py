#!/usr/bin/env python3
"""Texts of the grammars of 1,000 random JSON schemas parse and validate.

    schema_samples.py SCHEMA_WALK [COUNT [SEED]]

SCHEMA_WALK writes the texts. Status 77: there is no PyPI jsonschema.
"""
import datetime
import json
import random
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("there is no PyPI jsonschema")
    sys.exit(77)

WALKS = 4
UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
CHECKER = jsonschema.FormatChecker()
CHECKER.checkers = {name: (lambda text, check=check: not isinstance(text, str) or bool(check(text)), ValueError) for name, check in {
    "date": datetime.date.fromisoformat,
    "time": lambda text: datetime.datetime.fromisoformat("2000-01-01T" + text),
    "date-time": datetime.datetime.fromisoformat,
    "uuid": lambda text: UUID.fullmatch(text)}.items()}
PATTERNS = ["^[a-z]+$", "^\\d{3}-\\d{2,4}$", "^(ab|c\\.d)*[^\"x-z]?$", "^.{0,3}\\w\\S$", "^a?(?:b{2}|\\u00e9)+[\\\\\"/]$",
            "^[\\]\\-\\s]{1,4}$"]
NAMES = ["a", "ab", "abc", "b", "name", "x y", 'q"', "back\\slash", "caf\u00e9", "line\n", "", "\u65e5", "tab\t"]


class Schemas:
    def __init__(self, chance):
        self.chance = chance
        self.definitions = []

    def integer(self):
        schema = {"type": "integer"}
        size = 10 ** self.chance.randint(0, 9)
        low, high = sorted(self.chance.randint(-size, size) for _ in range(2))
        if self.chance.random() < 0.5:
            schema[self.chance.choice(["minimum", "exclusiveMinimum"])] = low - 1
        if self.chance.random() < 0.5:
            schema[self.chance.choice(["maximum", "exclusiveMaximum"])] = high + self.chance.choice([1, 1.5])
        return schema

    def string(self):
        schema = {"type": "string"}
        kind = self.chance.randint(0, 3)
        if kind == 0:
            schema["format"] = self.chance.choice(["date", "time", "date-time", "uuid"])
        elif kind == 1:
            schema["pattern"] = self.chance.choice(PATTERNS)
        elif kind == 2:
            schema["minLength"] = self.chance.randint(0, 5)
            schema["maxLength"] = schema["minLength"] + self.chance.randint(0, 20)
        return schema

    def value(self):
        return self.chance.choice([None, True, 0, -12, 1.5, "", 'a "b"\n\\', "\u65e5", [], [1, "x", {}], {"k": [None]}])

    def array(self, depth):
        schema = {"type": "array"}
        kind = self.chance.randint(0, 3)
        low = self.chance.randint(0, 3)
        if kind == 1:
            schema["items"] = self.schema(depth + 1)
        elif kind > 1:
            schema["prefixItems"] = [self.schema(depth + 1) for _ in range(self.chance.randint(1, 3))]
            if kind == 3:
                schema["items"] = self.schema(depth + 1)
        if self.chance.random() < 0.5:
            schema["minItems"] = low
        if self.chance.random() < 0.5:
            schema["maxItems"] = low + self.chance.randint(0, 3)
        return schema

    def object(self, depth, names=NAMES):
        schema = {"type": "object"}
        chosen = self.chance.sample(names, self.chance.randint(0, 4))
        if chosen or self.chance.random() < 0.5:
            schema["properties"] = {name: self.schema(depth + 1) for name in chosen}
        if self.chance.random() < 0.7:
            schema["required"] = [name for name in chosen if self.chance.random() < 0.6]
        additional = self.chance.randint(0, 3)
        if additional == 1:
            schema["additionalProperties"] = False
        elif additional == 2:
            schema["additionalProperties"] = self.chance.choice([True, {"type": "integer"}, {"type": ["null", "boolean"]}])
        return schema

    def all_of(self, depth):
        half = len(NAMES) // 2
        one, two = self.object(depth, NAMES[:half]), self.object(depth, NAMES[half:])
        one.pop("additionalProperties", None)
        two.pop("additionalProperties", None)
        two.get("properties", {}).update({NAMES[0]: True})
        return {"allOf": [one, two]} if self.chance.random() < 0.5 else {**one, "allOf": [two]}

    def several(self, depth):
        kind = self.chance.randint(0, 2)
        if kind == 0:
            return {"anyOf": [self.schema(depth + 1) for _ in range(self.chance.randint(1, 3))]}
        if kind == 1:
            return {"oneOf": [self.integer(), self.string(), {"type": "null"}, self.array(depth + 1)]}
        return {"type": "object", "properties": {"a": self.string()},
                "anyOf": [{"required": ["a"]}, {"properties": {"b": self.integer()}, "required": ["b"]}]}

    def reference(self):
        name = f"d{len(self.definitions)}/~"
        self.definitions.append((name, {"type": "object", "properties": {
            "value": self.string(), "next": {"anyOf": [{"$ref": f"#/$defs/d{len(self.definitions)}~1~0"}, {"type": "null"}]}}}))
        return {"$ref": f"#/$defs/{name.replace('~', '~0').replace('/', '~1')}"}

    def schema(self, depth=0):
        simple = [self.integer, self.string, self.reference,
                  lambda: {}, lambda: True, lambda: {"title": "note"},
                  lambda: {"type": self.chance.choice(["number", "boolean", "null", "object", "array"])},
                  lambda: {"type": self.chance.sample(["string", "integer", "null", "boolean"], 2)},
                  lambda: {"const": self.value()},
                  lambda: {"enum": [self.value() for _ in range(self.chance.randint(1, 4))]}]
        nested = [self.array, self.object, self.object, self.all_of, self.several]
        if depth < 3 and self.chance.random() < (0.8 if depth == 0 else 0.45):
            return self.chance.choice(nested)(depth)
        return self.chance.choice(simple)()

    def document(self):
        self.definitions = []
        schema = self.schema()
        if isinstance(schema, dict) and self.definitions:
            schema["$defs"] = dict(self.definitions)
        return schema


def unescape(text):
    return text.replace("\\n", "\n") if "\\\\" not in text else "".join(
        {"\\\\": "\\", "\\n": "\n"}.get(part, part) for part in split(text))


def split(text):
    at = 0
    while at < len(text):
        size = 2 if text[at] == "\\" else 1
        yield text[at:at + size]
        at += size


def main():
    walk = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 17
    schemas = Schemas(random.Random(seed))
    documents = [schemas.document() for _ in range(count)]
    lines = "".join(json.dumps(document, ensure_ascii=n % 2 == 0) + "\n" for n, document in enumerate(documents))
    run = subprocess.run([walk, str(WALKS), str(seed)], input=lines.encode(), stdout=subprocess.PIPE, check=False)
    n_texts = 0
    failures = []
    for line in run.stdout.decode("utf-8").split("\n"):
        if not line:
            continue
        number, text = line.split(" ", 1)
        document = documents[int(number)]
        if text.startswith(("refused:", "failed:")):
            failures.append((document, text))
            continue
        n_texts += 1
        try:
            value = json.loads(unescape(text))
            jsonschema.Draft202012Validator(document, format_checker=CHECKER).validate(value)
        except (ValueError, jsonschema.ValidationError) as error:
            failures.append((document, f"{text}: {str(error).splitlines()[0]}"))
    for document, text in failures[:10]:
        print(json.dumps(document), text, sep="\n    ")
    print(f"seed {seed}: {len(documents)} schemas, {n_texts} texts, {len(failures)} wrong")
    return 1 if failures or n_texts != WALKS * len(documents) or run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
