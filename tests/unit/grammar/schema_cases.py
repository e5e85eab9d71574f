#!/usr/bin/env python3
"""Texts of the grammars of the schemas in data/json_schema.cases, and schemas as people and programs write them.

    schema_cases.py SCHEMA_WALK

Of realistic_schemas.jsonl (schemas by pydantic, and as zod, OpenAI, MCP and OpenAPI have them) at most 5 % are refused; their valid
values are allowed, the invalid ones are not, and what the grammars write validates.
"""
import os
import sys

from schema_texts import dump, error_of, load, walk

TABLE = os.path.join(os.path.dirname(__file__), "../data/json_schema.cases")


def read_schemas():
    """Returns the schemas of the table's keywords, but for those with bytes that it escapes."""
    schemas, is_wanted = [], False
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("["):
                is_wanted = line.startswith("[keywords")
            elif is_wanted and " ⟶ " in line:
                schemas.append(line.split(" ⟶ ")[0])
    return [schema for schema in schemas if not set("⏎⟨") & set(schema)]


def check_table(program):
    schemas, failures = read_schemas(), []
    for schema, result in zip(schemas, walk(program, [(schema, []) for schema in schemas], 4)):
        failures += [f"{schema}: {result.refused}"] if result.refused else []
        failures += [f"{schema}: {text}: {error_of(load(schema), text)}" for text in result.texts if error_of(load(schema), text)]
    print(f"{len(schemas)} schemas of the table")
    return failures


def check_realistic(program):
    failures, refused = [], []
    with open(os.path.join(os.path.dirname(__file__), "realistic_schemas.jsonl"), encoding="utf-8") as file:
        cases = [load(line) for line in file]
    results = walk(program, [(dump(case["schema"]), [dump(value) for value in case["valid"] + case["invalid"]]) for case in cases], 20)
    for case, result in zip(cases, results):
        if result.refused:
            refused.append(f"{case['name']}: {result.refused}")
            continue
        wanted = [True] * len(case["valid"]) + [False] * len(case["invalid"])
        failures += [f"{case['name']}: {dump(value)} is {'allowed' if answer else 'refused'}" for value, answer, want in
                     zip(case["valid"] + case["invalid"], result.answers, wanted) if answer != want]
        failures += [f"{case['name']}: {text}: {error_of(case['schema'], text)}" for text in result.texts if error_of(case["schema"], text)]
    print(f"{len(cases)} realistic schemas, refused: {len(refused)}", *refused, sep="\n    ")
    return failures + ([f"{len(refused)} of {len(cases)} are refused"] if len(refused) * 20 > len(cases) else [])


def main():
    failures = check_table(sys.argv[1]) + check_realistic(sys.argv[1])
    print(*failures[:30], f"{len(failures)} wrong", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
