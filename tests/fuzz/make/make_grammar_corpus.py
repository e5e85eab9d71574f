#!/usr/bin/env python3
"""Writes corpus/grammar and corpus/schema: small grammars and JSON schemas that use all of the languages."""
import json
from pathlib import Path

GRAMMARS = {
    "sums": """root ::= (sum "=" term "\\n")+ # lines
sum  ::= term ([-+*/] term)*
term ::= [0-9]{1,3} | "(" sum ")"
""",
    "classes": 'root ::= [^\\x00-\\x1f"\\\\]{2,} "\\u00e9\\U0001F600"? . [\\]\\-a-z\u00df]* ( "a" |\n\n b )\nb ::= ((("b"?)*)+){0,4}\n',
    "tokens": 'root ::= <think> !<[12]>* <[7]> [a-z]+ | "x" root\n',
    "objects": """root ::= "{" (pair ("," pair)*)? "}"
pair ::= "\\"" [a-z]* "\\"" ":" (root | [0-9]+ | "[" root "]")
""",
    "recursion": 'root ::= a "x" | ""\na ::= b* c\nb ::= "" | "b"\nc ::= b "c" root\n',
    "left": 'root ::= a "x" | ""\na ::= b* c\nb ::= "" | "b"\nc ::= b root\n',
}

SCHEMAS = {
    "object": {"type": "object", "properties": {"a": {"type": "integer", "minimum": -12, "exclusiveMaximum": 345}, "b\"": True},
               "required": ["a", "c"], "additionalProperties": {"type": ["null", "string"], "maxLength": 9}},
    "list": {"type": "array", "items": {"enum": ["x", 1.5, None, {"k": []}]}, "minItems": 1, "maxItems": 3},
    "tuple": {"prefixItems": [{"const": "\u00e9"}, {"type": "number"}], "items": {"format": "date-time"}, "uniqueItems": False},
    "pattern": {"pattern": "^(?:[a-f\\d\\]-]{2,3}|\\W+?.\\u00e9)*\\/\\x41$", "title": "note"},
    "references": {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "all": {"$ref": "#"}}}}},
    "several": {"allOf": [{"properties": {"a": {"minLength": 1}}}, {"properties": {"a": {"type": "string"}}, "required": ["a"]}],
                "anyOf": [{"required": ["a"]}, {"oneOf": [{"properties": {"q": {}}}]}]},
}


def main():
    corpus = Path(__file__).parent.parent / "corpus"
    for folder in ("grammar", "schema"):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
    for name, text in GRAMMARS.items():
        (corpus / "grammar" / f"{name}.gbnf").write_text(text, encoding="utf-8")
    for name, schema in SCHEMAS.items():
        (corpus / "schema" / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
