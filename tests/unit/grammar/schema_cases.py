#!/usr/bin/env python3
"""Texts that each keyword of schemas allows and refuses, and schemas as people and programs write them.

    schema_cases.py SCHEMA_WALK

Of realistic_schemas.jsonl (schemas by pydantic, and as zod, OpenAI, MCP and OpenAPI have them) at most 5 % are refused; their valid
values are allowed, the invalid ones are not, and what the grammars write validates.
"""
import os
import sys

from schema_texts import dump, error_of, load, walk

# A schema, texts that it allows, texts that it does not allow.
CASES = [
    # numbers are exact
    ('{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}',
     ['9223372036854775807', '-9223372036854775808', '0'], ['9223372036854775808', '-9223372036854775809', '-0']),
    ('{"type":"integer","exclusiveMinimum":9007199254740992,"maximum":9007199254740994}',
     ['9007199254740993', '9007199254740994'], ['9007199254740992', '9007199254740995']),
    ('{"type":"number","minimum":0,"maximum":1}',
     ['0', '1', '0.5', '1.0', '0.0'], ['1.1', '-0.1', '-0', '01', '2', '1.']),
    ('{"type":"number","exclusiveMinimum":-0.05,"exclusiveMaximum":12.5}',
     ['-0.04', '0', '12.49', '12'], ['-0.05', '-0.051', '12.5', '12.50', '13']),
    ('{"type":"number","minimum":1e-7}',
     ['0.0000001', '3'], ['0.00000009', '0']),
    ('{"type":"number","maximum":1.7976931348623157e308}',
     ['-5', '123456789012345'], ['a']),
    ('{"minimum":0,"exclusiveMinimum":true,"type":"number"}',
     ['0.1'], ['0', '-1']),
    ('{"type":"integer","multipleOf":7}',
     ['0', '-14', '700'], ['1', '15', '7.0']),
    ('{"type":"number","multipleOf":0.25}',
     ['0.25', '-1.5', '3', '0.50', '2.75'], ['0.2', '0.255', '1.1']),
    ('{"type":"number","multipleOf":0.01}',
     ['0.07', '12.3'], ['0.075']),
    ('{"type":"integer","multipleOf":5,"minimum":3,"maximum":12}',
     ['5', '10'], ['0', '15', '3']),
    ('{"const":9007199254740993}',
     ['9007199254740993'], ['9007199254740992', '9.007199254740992e15']),
    ('{"enum":[0.30000000000000004,1e3,12345678901234567890]}',
     ['0.30000000000000004', '1e3', '12345678901234567890'], ['0.3', '1000']),
    ('{"type":"integer","enum":[1.0,2.5,3e2]}',
     ['1.0', '3e2'], ['2.5']),
    ('{"allOf":[{"maximum":9007199254740993},{"type":"integer","minimum":9007199254740993}]}',
     ['9007199254740993'], ['9007199254740992']),
    ('{"not":{"type":"integer"},"type":"number"}',
     ['1.5'], ['1', '1.0']),
    ('{"type":"integer","not":{"multipleOf":3},"minimum":0,"maximum":7}',
     ['1', '7'], ['0', '3', '6']),
    # strings combine what they are asked
    ('{"type":"string","pattern":"^\\\\^\\\\d+\\\\.\\\\d+$"}',
     ['"^1.2"'], ['"x1.2"']),
    ('{"pattern":"^[a-z^]+$"}',
     ['"^a"'], ['"A"']),
    ('{"pattern":"^[^^]$"}',
     ['"a"'], ['"^"']),
    ('{"pattern":"^\\\\S$"}',
     ['"a"', '"é"'], ['" "', '"\xa0"', '"\ufeff"', '"\u2003"', '"\u2029"']),
    ('{"pattern":"ab"}',
     ['"ab"', '"xabx"'], ['"a"', '"ba"']),
    ('{"pattern":"^a|b$"}',
     ['"ax"', '"xb"'], ['"xa"', '"x"']),
    ('{"pattern":"^[a-z]+$","minLength":2,"maxLength":3}',
     ['"ab"', '"abc"'], ['"a"', '"abcd"', '"A1"']),
    ('{"allOf":[{"pattern":"^a"},{"pattern":"b$"}]}',
     ['"ab"', '"axb"'], ['"a"', '"b"']),
    ('{"pattern":"^(?=.*[A-Z])(?=.*\\\\d).{4,}$"}',
     ['"aB3c"', '"1234A"'], ['"abcd"', '"A1"']),
    ('{"pattern":"^(?!admin)[a-z]+$"}',
     ['"adm"', '"xadmin"'], ['"admin"', '"admins"']),
    ('{"pattern":"^(?<year>[0-9]{2})$"}',
     ['"12"'], ['"1"']),
    ('{"format":"date","pattern":"^2024-"}',
     ['"2024-02-29"'], ['"2023-01-01"']),
    ('{"type":"string","not":{"pattern":"^a"},"maxLength":2}',
     ['"b"', '""'], ['"a"', '"bcd"']),
    ('{"type":"string","not":{"enum":["a","b"]}}',
     ['"c"', '"ab"'], ['"a"', '"b"']),
    ('{"enum":["a","bc","d1"],"minLength":2,"pattern":"[a-z]$"}',
     ['"bc"'], ['"a"', '"d1"']),
    ('{"format":"email"}',
     ['"a.b+c@example.com"'], ['"a@"', '"a@b"', '"a..b@c.de"', '"a@b.test"']),
    ('{"format":"uri"}',
     ['"https://example.com/a?b=c#d"', '"http://127.0.0.1:8080"', '"file:///a/b"', '"urn:isbn:1"'], ['"example.com"', '"http://"', '"http://a b"']),
    ('{"format":"uri","maxLength":2083}',
     ['"https://example.com/a?b=c#d"', '"http://127.0.0.1:8080"'], ['"file:///a/b"', '"urn:isbn:1"', '"example.com"']),
    ('{"format":"uri","maxLength":60}',
     ['"https://example.com/a?b=c#d"', '"http://127.0.0.1:8080"'], ['"https://example.com/' + 'a' * 41 + '"', '"urn:isbn:1"']),
    ('{"format":"email","maxLength":100}',
     ['"a.b+c@example.com"'], ['"a@"', '"' + 'a' * 89 + '@example.com"']),
    ('{"format":"hostname","minLength":12,"maxLength":100}',
     ['"long.example"'], ['"a.example"', '"' + 'a.' * 60 + 'a"']),
    ('{"format":"uri-reference","maxLength":5000}',
     ['"/a?b=c"', '"https://example.com"'], ['"a b"']),
    ('{"format":"ipv4"}',
     ['"192.168.0.255"'], ['"256.1.1.1"', '"1.2.3"', '"01.2.3.4"']),
    ('{"format":"ipv6"}',
     ['"::"', '"fe80::1"', '"1:2:3:4:5:6:7:8"'], ['"1::2::3"', '"1:2"']),
    ('{"format":"hostname"}',
     ['"a-b.example"'], ['"-a"', '"a..b"']),
    ('{"format":"duration"}',
     ['"P1DT2H30M"', '"PT5S"', '"P2W"', '"P1Y2M3D"'], ['"P"', '"PT"', '"1D"', '"P1D2H"']),
    ('{"format":"int64","type":"integer"}',
     ['5'], ['"5"']),
    # arrays count and differ
    ('{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}',
     ['[]', '["b","a"]'], ['["a","a"]']),
    ('{"type":"array","items":{"enum":[1,1.0,2]},"uniqueItems":true,"minItems":2}',
     ['[1,2]'], ['[1]', '[1,1.0]']),
    ('{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":2}',
     ['["red","green"]', '[""]'], ['["a","a"]', '["a","c","h"]']),
    ('{"type":"array","items":{"type":"integer"},"uniqueItems":true}',
     ['[3,12,-4]'], ['[3,3]']),
    ('{"type":"array","items":{"type":"boolean"},"uniqueItems":true}',
     ['[true,false]'], ['[true,true]']),
    ('{"items":{"type":"integer"},"contains":{"const":5}}',
     ['[5]', '[1,5,2]'], ['[]', '[1]']),
    ('{"items":{"type":"integer"},"contains":{"minimum":5},"minContains":2,"maxContains":2,"maxItems":3}',
     ['[5,6]', '[1,7,5]'], ['[5]', '[5,6,7]', '[1,2,5,6]']),
    ('{"type":"array","items":{"type":"integer"},"not":{"contains":{"const":0}}}',
     ['[1,2]'], ['[0]', '[1,0]']),
    ('{"prefixItems":[{"type":"string"},false]}',
     ['["a"]'], ['[]', '["a",1]']),
    ('{"allOf":[{"prefixItems":[{"type":["string","integer"]}]}],"items":{"type":"integer"}}',
     ['[1,2]'], ['["a"]']),
    ('{"items":[{"type":"integer"}],"additionalItems":{"type":"null"}}',
     ['[1,null]'], ['[1,1]']),
    ('{"prefixItems":[{"const":1}],"unevaluatedItems":false}',
     ['[1]'], ['[1,2]']),
    # objects have names and counts
    ('{"allOf":[{"properties":{"foo":{}}}],"additionalProperties":{"type":"boolean"}}',
     ['{"foo":true,"bar":true}'], ['{"foo":1,"bar":true}']),
    ('{"$ref":"#/$defs/B","properties":{"n":{"type":"string"}},"unevaluatedProperties":false,"$defs":{"B":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}}',
     ['{"id":1,"n":"a"}'], ['{"id":1,"n":"a","x":1}']),
    ('{"allOf":[{"additionalProperties":false}],"properties":{"b":{"enum":[1,"x"]}}}',
     ['{}'], ['{"b":1}']),
    ('{"propertyNames":{"pattern":"^[a-z]+$","maxLength":3},"additionalProperties":{"type":"integer"}}',
     ['{"abc":1}', '{}'], ['{"A":1}', '{"abcd":1}']),
    ('{"propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"integer"}}',
     ['{"a":1,"b":2}'], ['{"c":1}']),
    ('{"patternProperties":{"^x-":{"type":"string"}},"properties":{"a":{"type":"null"}},"additionalProperties":false}',
     ['{"a":null,"x-b":"s"}'], ['{"x-b":1}', '{"b":1}']),
    ('{"patternProperties":{"^a":{"type":"integer"},"b$":{"minimum":5}}}',
     ['{"a":1,"ab":6}'], ['{"ab":1}']),
    ('{"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2}',
     ['{"a":1}', '{"a":1,"b":2}'], ['{}', '{"a":1,"b":2,"c":3}']),
    ('{"properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}},"minProperties":2,"additionalProperties":false}',
     ['{"a":1,"c":1}'], ['{"b":1}', '{}']),
    ('{"properties":{"a":{"const":1},"b":{"const":1}},"dependentRequired":{"a":["b"]}}',
     ['{}', '{"b":1}', '{"a":1,"b":1}'], ['{"a":1}']),
    ('{"properties":{"a":{"const":1},"b":{"const":1}},"dependentSchemas":{"a":{"required":["b"]}}}',
     ['{"b":1}', '{"a":1,"b":1}'], ['{"a":1}']),
    ('{"type":"object","properties":{"a":{"not":{}},"b":{"const":1}}}',
     ['{"b":1}', '{}'], ['{"a":1}']),
    ('{"type":"object","properties":{"a":{"const":1},"b":{"const":1}},"not":{"required":["a","b"]}}',
     ['{"a":1}', '{"b":1}', '{}'], ['{"a":1,"b":1}']),
    ('{"properties":{"n":{"$ref":"#/$defs/loop"},"a":{"const":1}},"$defs":{"loop":{"type":"object","properties":{"n":{"$ref":"#/$defs/loop"}},"required":["n"]}}}',
     ['{"a":1}', '{}'], ['{"n":{}}']),
    # schemas exclude each other
    ('{"oneOf":[{"type":"integer"},{"type":"number"}]}',
     ['1.5'], ['1', '1.0']),
    ('{"oneOf":[{"type":"integer","maximum":5},{"type":"integer","minimum":3}]}',
     ['2', '6'], ['3', '4', '5']),
    ('{"type":"object","oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"b"}},"required":["k"]}]}',
     ['{"k":"a","x":1}', '{"k":"b"}'], ['{"k":"c"}', '{}']),
    ('{"type":"object","properties":{"a":{"const":1},"b":{"const":1}},"oneOf":[{"required":["a"]},{"required":["b"]}]}',
     ['{"a":1}', '{"b":1}'], ['{}', '{"a":1,"b":1}']),
    ('{"oneOf":[{"properties":{"a":{"const":1}},"additionalProperties":false},{"properties":{"b":{"const":2}},"additionalProperties":false}]}',
     ['{"a":1}', '{"b":2}'], ['{}']),
    ('{"type":"object","properties":{"c":{"enum":["US","DE"]},"z":{"type":"string"}},"required":["c"],"if":{"properties":{"c":{"const":"US"}}},"then":{"properties":{"z":{"pattern":"^[0-9]{5}$"}},"required":["z"]},"else":{"properties":{"z":false}}}',
     ['{"c":"US","z":"12345"}', '{"c":"DE"}'], ['{"c":"US"}', '{"c":"DE","z":"1"}', '{"c":"US","z":"1"}']),
    ('{"not":{"type":["string","number","object","array"]}}',
     ['null', 'true'], ['1', '"a"', '{}']),
    ('{"$defs":{"x":{"type":"string"}},"properties":{"p":{"$id":"http://e.x/y","$defs":{"x":{"type":"integer"}},"properties":{"q":{"$ref":"#/$defs/x"}}}}}',
     ['{"p":{"q":1}}'], ['{"p":{"q":"s"}}']),
    ('{"$ref":"#here","$defs":{"a":{"$anchor":"here","const":1},"b":{"$id":"http://e.x/b","$anchor":"here","const":2}}}',
     ['1'], ['2']),
    ('{"anyOf":[{"$ref":"b.json"},{"$ref":"http://e.x/b.json#/$defs/c"}],"$id":"http://e.x/a.json","$defs":{"b":{"$id":"b.json","const":1,"$defs":{"c":{"const":2}}}}}',
     ['1', '2'], ['3']),
]


def check_cases(program):
    failures = []
    results = walk(program, [(schema, allowed + refused) for schema, allowed, refused in CASES], 4)
    for (schema, allowed, refused), result in zip(CASES, results):
        wanted = [True] * len(allowed) + [False] * len(refused)
        failures += [f"{schema}: {result.refused}"] if result.refused else []
        failures += [f"{schema}: {text} is {'allowed' if answer else 'refused'}" for text, answer, want in
                     zip(allowed + refused, result.answers, wanted) if answer != want]
        failures += [f"{schema}: {text}: {error_of(load(schema), text)}" for text in result.texts if error_of(load(schema), text)]
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
    failures = check_cases(sys.argv[1]) + check_realistic(sys.argv[1])
    print(*failures[:30], f"{len(CASES)} cases, {len(failures)} wrong", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
