#!/usr/bin/env python3
"""Writes corpus/jinja: small templates that use all of the language that chat templates do."""
from pathlib import Path

TEMPLATES = {
    "turns": """{{- bos_token }}
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message.content | trim }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
""",
    "system": """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}
{% set system = messages[0].content.strip() %}{% else %}{% set rest, system = messages, '' %}{% endif %}
{% for m in rest if m.role != 'tool' %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('roles ' ~ loop.index) }}{% endif %}
{% if loop.first and system is defined and not system is none %}[{{ system|upper }}]{% endif %}
{{ m.content.split('</think>')[-1].lstrip('\\n') if 'think' in m.content else m['content'][::-1] }}
{% else %}-{% endfor %}""",
    "macros": """{# what tools would be told #}
{% macro show(value, depth=0) -%}
{% if value is mapping %}{% for k, v in value.items() %}{{ k }}: {{ show(v, depth + 1) }}{% endfor %}
{%- elif value is iterable and value is not string %}{{ value | map('upper') | join(', ') }}
{%- else %}{{ value | tojson(indent=2) }}{% endif %}{%- endmacro %}
{% set ns = namespace(n=0, last=none) %}
{% for m in messages[::-1] %}{% set ns.n = ns.n + 1 %}{% if ns.n > 3 %}{% break %}{% endif %}{% endfor %}
{{ show({'a': ['b', 'c'], 'd': ns.n // 2}) }}{{ (messages | selectattr('role', 'equalto', 'user') | list)[-1] }}
{% set text | trim %} {{ strftime_now('%Y') | length }} {% endset %}{{ text.replace('4', "\\x41\\u00e9") }}""",
    "blocks": """{% macro list(items) %}{% for i in items | sort(attribute='role') %}{{ caller(i, *[loop.index]) }}{% endfor %}{% endmacro %}
{% filter trim | replace('e', 'E') %}{% call(m, n) list(messages | unique(attribute='role')) %}
{{ '{0}: {1}{name}}}'.format(n, m.role, name=m['content'].rsplit('l', 1) | join('-')) }}{% endcall %}{% endfilter %}
{% set stack = [3, 1] %}{{ stack.append(2) }}{{ stack.pop(0) }}{{ stack | sum }}{{ '[1, {"a": "x"}]' | from_json }}
{{ {'B': 1, 'a': 'é'} | dictsort | tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':')) }}{{ messages.0.role }}""",
    "odd": "{{ -1 % 3 ~ {'k': (1, [true, none])}['k'][0:1] }}{%- if not 1 in [2] or x is defined -%}\n"
           "{{ 'a' 'b' is in 'cab' }}{% generation %}{{ range(3) | last }}{% endgeneration %}{% endif +%} \n",
}


def main():
    folder = Path(__file__).parent.parent / "corpus" / "jinja"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEMPLATES.items():
        (folder / f"{name}.jinja").write_text(text)


if __name__ == "__main__":
    main()
