#!/usr/bin/env python3
"""Texts of the grammars of 400 random JSON schemas parse and validate.

    schema_samples.py SCHEMA_WALK [COUNT [SEED]]

SCHEMA_WALK writes the texts. Status 77: there is no PyPI jsonschema.
"""
import random
import sys
from decimal import Decimal

from schema_texts import dump, error_of, load, walk

WALKS = 4
PATTERNS = ["^[a-z]+$", "^\\d{3}-\\d{2,4}$", "^(ab|c\\.d)*[^\"x-z]?$", "^.{0,3}\\w\\S$", "^a?(?:b{2}|\\u00e9)+[\\\\\"/]$",
            "^[\\]\\-\\s]{1,4}$", "ab", "^\\^x?", "[^^]$", "^(?!a)(?=.*1)[a-c1-3]{2,5}$", "b|^c", "^[a-z^]*$"]
FORMATS = ["date", "time", "date-time", "uuid", "email", "uri", "duration", "ipv4", "none"]
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
        if self.chance.random() < 0.2:
            schema["multipleOf"] = self.chance.choice([2, 3, 7, 12])
        return schema

    def number(self):
        schema = {"type": "number"}
        low, high = sorted(Decimal(self.chance.randint(-10 ** 6, 10 ** 6)).scaleb(-self.chance.randint(0, 5)) for _ in range(2))
        if self.chance.random() < 0.6:
            schema[self.chance.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance.random() < 0.6:
            schema[self.chance.choice(["maximum", "exclusiveMaximum"])] = high + 1
        if self.chance.random() < 0.2:
            schema["multipleOf"] = self.chance.choice([Decimal("0.5"), Decimal("0.01"), 5])
        return schema

    def string(self):
        schema = {"type": "string"}
        kind = self.chance.randint(0, 5)
        if kind == 0:
            schema["format"] = self.chance.choice(FORMATS)
        if kind in (1, 4):
            schema["pattern"] = self.chance.choice(PATTERNS)
        if kind == 5:
            schema["not"] = self.chance.choice([{"pattern": self.chance.choice(PATTERNS)}, {"const": "a"}, {"maxLength": 1}])
        if kind in (2, 4):
            schema["minLength"] = self.chance.randint(0, 5)
            schema["maxLength"] = schema["minLength"] + self.chance.randint(0, 20)
        return schema

    def value(self):
        return self.chance.choice([None, True, 0, -12, 1.5, "", 'a "b"\n\\', "\u65e5", [], [1, "x", {}], {"k": [None]}, 2 ** 53 + 1, Decimal("0.30000000000000004")])

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
        if self.chance.random() < 0.2:
            schema["contains"] = self.chance.choice([{"type": "integer"}, {"const": "x"}, self.schema(depth + 2)])
            if self.chance.random() < 0.5:
                schema["maxContains"] = self.chance.randint(1, 2)
        if self.chance.random() < 0.15:
            schema = {"type": "array", "uniqueItems": True, "items": self.chance.choice(
                [{"type": "string"}, {"enum": [1, "a", None, True]}, self.integer(), {"enum": list(range(14))}])}
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
        if self.chance.random() < 0.15:
            schema["patternProperties"] = {self.chance.choice(["^a", "b$", "[0-9]"]): self.schema(depth + 2)}
        if self.chance.random() < 0.1:
            schema["propertyNames"] = self.chance.choice([{"maxLength": 3}, {"pattern": "^[a-z]*$"}, {"enum": NAMES[:5]}])
        if self.chance.random() < 0.2:
            schema[self.chance.choice(["minProperties", "maxProperties"])] = self.chance.randint(0, 2)
        if self.chance.random() < 0.2:
            schema["dependentRequired"] = {self.chance.choice(NAMES): self.chance.sample(NAMES, 1)}
        if self.chance.random() < 0.1:
            schema["not"] = {"required": self.chance.sample(NAMES, self.chance.randint(1, 2))}
        return schema

    def branch(self, depth):
        name, other = self.chance.sample(NAMES, 2)
        schema = {"if": {"properties": {name: self.chance.choice([{"const": 1}, {"type": "string"}])}, "required": [name]},
                  "then": {"required": [other]}, "else": {"properties": {other: False}}}
        return {**self.object(depth), **{key: one for key, one in schema.items() if key == "if" or self.chance.random() < 0.7}}

    def all_of(self, depth):
        half = len(NAMES) // 2
        one, two = self.object(depth, NAMES[:half]), self.object(depth, NAMES[half:])
        two.get("properties", {}).update({NAMES[0]: True})
        return {"allOf": [one, two]} if self.chance.random() < 0.5 else {**one, "allOf": [two]}

    def several(self, depth):
        kind = self.chance.randint(0, 3)
        if kind == 3:
            return {"oneOf": [self.schema(depth + 1) for _ in range(2)]}
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
        simple = [self.integer, self.number, self.string, self.reference,
                  lambda: {}, lambda: True, lambda: {"title": "note"},
                  lambda: {"type": self.chance.choice(["number", "boolean", "null", "object", "array"])},
                  lambda: {"type": self.chance.sample(["string", "integer", "null", "boolean"], 2)},
                  lambda: {"const": self.value()},
                  lambda: {"enum": [self.value() for _ in range(self.chance.randint(1, 4))]}]
        nested = [self.array, self.object, self.object, self.all_of, self.several, self.branch]
        if depth < 3 and self.chance.random() < (0.8 if depth == 0 else 0.45):
            return self.chance.choice(nested)(depth)
        return self.chance.choice(simple)()

    def document(self):
        self.definitions = []
        schema = self.schema()
        if isinstance(schema, dict) and self.definitions:
            schema["$defs"] = dict(self.definitions)
        return schema


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 17
    schemas = Schemas(random.Random(seed))
    documents = [schemas.document() for _ in range(count)]
    lines = [dump(document, n % 2 == 1) for n, document in enumerate(documents)]
    results = walk(program, [(line, []) for line in lines], WALKS, seed)
    refused = [result.refused for result in results if result.refused]
    failures = [(line, text, error) for line, result in zip(lines, results) for text in result.texts
                for error in [error_of(load(line), text)] if error]
    for failure in failures[:10]:
        print(*failure, sep="\n    ")
    for why in refused[:int(sys.argv[4]) if len(sys.argv) > 4 else 0]:
        print(why)
    n_texts = sum(len(result.texts) for result in results)
    print(f"seed {seed}: {count} schemas, {len(refused)} refused, {n_texts} texts, {len(failures)} wrong")
    return 1 if failures or len(refused) * 4 > count or n_texts < 2 * count else 0


if __name__ == "__main__":
    sys.exit(main())
