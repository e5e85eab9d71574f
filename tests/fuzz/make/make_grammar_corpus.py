#!/usr/bin/env python3
"""Writes corpus/grammar: small grammars that use all of the language."""
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

folder = Path(__file__).parent.parent / "corpus" / "grammar"
folder.mkdir(parents=True, exist_ok=True)
for name, text in GRAMMARS.items():
    (folder / f"{name}.gbnf").write_text(text, encoding="utf-8")
