#!/usr/bin/env python3
"""JSON-Schema-Test-Suite, required tests of draft 2020-12: no grammar allows what its schema does not.

    schema_suite.py SCHEMA_WALK [-v]

The suite is that of PyPI jsonschema 4.17.3, which tools/test keeps. Invalid instances are not allowed, and random texts of each
grammar validate. A valid one may be refused: properties or items that no keyword names, another order of properties, or another type
where keywords imply one; -v lists those. At most MOST_REFUSED schemas are refused, those in schema_suite_refused.txt, each with
its reason.
"""
import glob
import os
import sys

from schema_texts import dump, error_of, load, walk

MOST_REFUSED = 60
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
FOLDER = os.environ.get("GLINFER_TEST_SCHEMA_SUITE") or os.path.join(CACHE, "glinfer", "schema_suite", "4.17.3")


def main():
    files = sorted(glob.glob(os.path.join(FOLDER, "draft2020-12", "*.json")))
    if not files:
        print(f"the JSON-Schema-Test-Suite is not in {FOLDER}: tools/test fetches it")
        return 77
    groups = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            groups += [(os.path.basename(path)[:-5] + ": " + group["description"], group) for group in load(file.read())]
    with open(os.path.join(os.path.dirname(__file__), "schema_suite_refused.txt"), encoding="utf-8") as file:
        expected = dict(line.rstrip("\n").split(" | ") for line in file if not line.startswith("#"))
    results = walk(sys.argv[1], [(dump(group["schema"]), [dump(test["data"]) for test in group["tests"]]) for _, group in groups], 5)
    failures, refused, n_valid, n_allowed = [], {}, 0, 0
    for (name, group), result in zip(groups, results):
        if result.refused:
            refused[name] = result.refused
            continue
        for test, answer in zip(group["tests"], result.answers):
            n_valid += test["valid"]
            n_allowed += test["valid"] and answer
            if answer and not test["valid"]:
                failures.append(f"{name}: {dump(test['data'])} is allowed")
            elif test["valid"] and not answer and "-v" in sys.argv:
                print(f"{name}: {dump(group['schema'])}: {dump(test['data'])} is refused")
        failures += [f"{name}: {text}: {error_of(group['schema'], text)}" for text in result.texts if error_of(group["schema"], text)]
    failures += [f"{name} is refused: {why}" for name, why in refused.items() if name not in expected]
    failures += [f"{name} is not refused any more" for name in expected if name not in refused]
    failures += [f"more than {MOST_REFUSED} are refused"] if len(refused) > MOST_REFUSED else []
    print(*failures[:30], sep="\n")
    print(f"{len(groups)} schemas, {len(refused)} refused; {n_allowed} of {n_valid} valid instances allowed; {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
