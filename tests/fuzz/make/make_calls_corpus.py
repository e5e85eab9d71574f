#!/usr/bin/env python3
# make_calls_corpus.py FOLDER: answers with calls of tools, one in each way in which models write
# them (src/cli/serve/calls). The first byte is the style's place in tests/fuzz/calls_fuzz.c.
import pathlib
import sys

TAGGED = 'So: <tool_call>\n{"name": "f", "arguments": {"s": "a\\n\\u00e9", "n": [1, {"x": null}]}}\n</tool_call>'
LIST = '[{"name": "f", "arguments": {"n": 1}}, {"name": "g", "arguments": {}}]'
PYTHON = 'f(s="a\\"b", n=-1.5e3, r=\'1\'), g(x=[1, (2, True)], y={"k": None})'
ANSWERS = [
    TAGGED, TAGGED + '\n' + TAGGED[4:], 'x{"name": "f", "parameters": {"s": "{}"}}',
    'ok [TOOL_CALLS]' + LIST, '<|tool_call|>' + LIST, '<TOOLCALL>' + LIST + '</TOOLCALL>',
    '<tool_calls>' + LIST + '</tool_calls>',
    '[TOOL_CALLS]f[ARGS]{"n": 1}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{}',
    ' to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"s": "b"}',
    '<tool_call>\n<function=f>\n<parameter=s>\na\nb\n</parameter>\n<parameter=n>\n[1, 2]\n</parameter>\n'
    '</function>\n</tool_call>',
    '<seed:tool_call>\n<function=f>\n<parameter=s>a</parameter>\n<parameter=r>1</parameter>\n</function>\n'
    '</seed:tool_call>',
    '<function name="f"><param name="s"><![CDATA[a<b]]></param><param name="$ a">{}</param></function>',
    '<|tool_call_start|>[' + PYTHON + ']<|tool_call_end|>', '<|tool_call_start|>[f()]<|tool_call_end|>',
    '<function_calls>f(n=1)\ng(s="b")</function_calls>',
    '<|tool_call>call:f{s:<|"|>a:{b<|"|>,n:[1,-2.5,true,null],o:{k:<|"|><|"|>}}<tool_call|>',
    '<|tool_call>call:f{}<tool_call|><|tool_call>call:g{x:1}<tool_call|>',
]

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for place, answer in enumerate(ANSWERS):
    (folder / f'style-{place:02}.txt').write_bytes(bytes([place]) + answer.encode())
