// The template language: what chat templates use of it, and that a hostile one ends in an error.
#include "jinja/jinja.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct glinfer_message talk[] = {
    {"system", "be"}, {"user", " he<|x|> "}, {"assistant", "a</think>\n\nb"}, {"user", "ll"}};

static bool render(const char *template, struct gi_jinja_output *output, struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.messages = talk,
                                         .n_messages = 4,
                                         .bos = "<s>",
                                         .bos_size = 3,
                                         .eos = "</s>",
                                         .eos_size = 4};
    struct gi_jinja *jinja = gi_jinja_create(template, strlen(template), err);
    const bool is_done = jinja && gi_jinja_render(jinja, &input, output, err);
    gi_jinja_destroy(jinja);
    return is_done;
}

static void expect(const char *template, const char *text)
{
    struct gi_jinja_output output = {0};
    struct glinfer_error err;
    if (!render(template, &output, &err)) {
        fail_msg("%s: %s", template, err.message);
    }
    if (output.size != strlen(text) ||
        (output.size > 0 && memcmp(output.data, text, output.size) != 0)) {
        fail_msg("%s writes '%.*s', expected '%s'", template, (int)output.size, output.data, text);
    }
    gi_jinja_output_finish(&output);
}

static void expect_error(const char *template, enum glinfer_status status, const char *word)
{
    struct gi_jinja_output output = {0};
    struct glinfer_error err = {0};
    if (render(template, &output, &err)) {
        fail_msg("%s writes '%.*s'", template, (int)output.size, output.data);
    }
    if (err.status != status || !strstr(err.message, word)) {
        fail_msg("%s: \"%s\", expected \"%s\"", template, err.message, word);
    }
}

TEST(expressions_have_their_values)
{
    static const char *const pairs[][2] = {
        {"{{ 1 + 2 * 3 - 7 // 2 }}", "4"},
        {"{{ -7 // 2 }} {{ -7 % 3 }}", "-4 2"},
        {"{{ 'a' + \"b\" ~ 3 ~ none ~ true }}", "ab3NoneTrue"},
        {"{{ 'a\\n\\t\\'\\x41\\u00e9' 'z' }}", "a\n\t'A\xC3\xA9z"},
        {"{{ not 1 == 2 and 'b' in 'abc' or x }}", "True"},
        {"{{ 'd' not in 'abc' }}{{ 2 in [1, 2] }}{{ 'k' in {'k': 1} }}", "TrueTrueTrue"},
        {"{{ 'yes' if 1 < 2 <= 3 else 'no' }}{{ 'x' if false }}", "yes"},
        {"{{ [1, 'a', [none]] }}{{ {'a': true} }}{{ (1, 2) }}",
         "[1, 'a', [None]]{'a': True}[1, 2]"},
        {"{{ 'abc'[1] }}{{ 'abc'[-1:] }}{{ [1, 2, 3][::-1] }}{{ [1, 2, 3][1:] }}",
         "bc[3, 2, 1][2, 3]"},
        {"{{ '\xC3\xA9t\xC3\xA9'[1:] }}{{ '\xC3\xA9t\xC3\xA9' | length }}", "t\xC3\xA9"
                                                                            "3"},
        {"{{ unknown }}{{ messages[0].nothing }}{{ messages[9] }}", ""},
        {"{{ messages[0]['role'] }} {{ messages[-1].content }}", "system ll"},
        {"{{ messages[0] == messages[0] }}{{ messages[0] != messages[1] }}", "TrueTrue"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        expect(pairs[i][0], pairs[i][1]);
    }
}

TEST(filters_tests_and_methods_do_what_python_does)
{
    static const char *const pairs[][2] = {
        {"{{ ' a ' | trim }}{{ 'a' | upper }}{{ 'USER' | capitalize }}", "aAUser"},
        {"{{ 'the end'.title() }}{{ 'a,b,c'.split(',')[-1] }}{{ 'a b  c'.split() | length }}",
         "The Endc3"},
        {"{{ 'a</t>b</t>c'.split('</t>', 1)[1] }}", "b</t>c"},
        {"{{ '\\n\\na\\n'.lstrip('\\n') }}|{{ 'abc'.startswith(('x', 'ab')) }}", "a\n|True"},
        {"{{ 'aXbX'.replace('X', '-') }}{{ 'aXbX' | replace('X', '') }}", "a-b-ab"},
        {"{{ 'abc'.removeprefix('a').removesuffix('c') }}{{ 'abc'.find('c') }}", "b2"},
        {"{{ ['a', 'b'] | join(', ') }}{{ '-'.join(['x', 'y']) }}", "a, bx-y"},
        {"{{ messages | map(attribute='role') | list }}",
         "['system', 'user', 'assistant', 'user']"},
        {"{{ (messages | selectattr('role', 'equalto', 'user') | list)[-1].content }}", "ll"},
        {"{{ messages | rejectattr('role', 'in', ['user', 'system']) | list | length }}", "1"},
        {"{{ (messages | first).content }}{{ (messages | last)['content'] }}", "bell"},
        {"{{ nothing | default('d') }}{{ '' | default('e', true) }}", "de"},
        {"{{ {'b': [1, none, true], 'a': 'x\"\\n'} | tojson }}",
         "{\"b\": [1, null, true], \"a\": \"x\\\"\\n\"}"},
        {"{{ [1, {'a': 2}] | tojson(indent=2) }}", "[\n  1,\n  {\n    \"a\": 2\n  }\n]"},
        {"{% for x in none %}{{ x }}{% endfor %}{% for x in y %}{{ x }}{% else %}-{% endfor %}",
         "-"},
        {"{{ [2, 1, 3] | min }}{{ [2, 1, 3] | max }}{{ ['b', 'a'] | min }}{{ [] | max }}", "13a"},
        {"{{ {'b': 1, 'a': 2} | dictsort }}{{ {'a': 1}.get('c', 3) }}", "[['a', 2], ['b', 1]]3"},
        {"{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}", "a=1"},
        {"{{ tools is none }}{{ x is defined }}{{ 'a' is string }}{{ {} is mapping }}",
         "TrueFalseTrueTrue"},
        {"{{ messages is iterable and 3 is odd and 4 is not odd and 6 is divisibleby 3 }}", "True"},
        {"{{ 6 is divisibleby(-3) and 6 is divisibleby(-1) and not 6 is divisibleby 0 }}", "True"},
        {"{{ strftime_now is defined }}{{ range(1, 4) | list }}", "True[1, 2, 3]"},
        {"{{ 'a\\nb' | indent(2) }}{{ '12' | int + 1 }}", "a\n  b13"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        expect(pairs[i][0], pairs[i][1]);
    }
}

// Python prints an integer as it is written and a float in the fewest digits that read back as it.
TEST(numbers_of_json_are_written_as_in_python)
{
    static const char *const pairs[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"7", "7"},
        {"1.0", "1.0"},
        {"-1.50", "-1.5"},
        {"0.1", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"1e5", "100000.0"},
        {"1E+3", "1000.0"},
        {"1e15", "1000000000000000.0"},
        {"1e16", "1e+16"},
        {"1.5e16", "1.5e+16"},
        {"123456789012345678", "123456789012345678"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"-123456789012345678901234567890", "-123456789012345678901234567890"},
        {"9007199254740993", "9007199254740993"},
        {"9007199254740993.0", "9007199254740992.0"},
        {"0.0001", "0.0001"},
        {"0.00001", "1e-05"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"5e-324", "5e-324"},
        {"2.5e-07", "2.5e-07"},
        {"3.141592653589793", "3.141592653589793"},
        {"-0.0", "-0.0"},
        {"100000000000000000000.0", "1e+20"},
        {"0.1234567890123456789", "0.12345678901234568"},
        {"11111111111111111111111111111111111111111111111111111111111111111111111111111111",
         "11111111111111111111111111111111111111111111111111111111111111111111111111111111"},
    };
    char template[256], expected[256];
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        snprintf(template, sizeof(template),
                 "{{ '{\"-1\": [%s, {\"\\\\\\\\\": %s}]}' | from_json | tojson }}", pairs[i][0],
                 pairs[i][0]);
        snprintf(expected, sizeof(expected), "{\"-1\": [%s, {\"\\\\\": %s}]}", pairs[i][1],
                 pairs[i][1]);
        expect(template, expected);
    }
    expect("{% set x = '[1.0, 0.0, 2.5, 1e99]' | from_json %}{{ x[0] == 1 }}{{ x[1] or 'no' }}"
           "{{ x[2] > 2 }}{{ x[3] > x[2] }}{{ x[2] | int }}{{ x | max }}{{ x[0] }}",
           "TruenoTrueTrue21e+991.0");
}

TEST(lists_texts_and_json_are_changed_as_in_python)
{
    static const char *const pairs[][2] = {
        {"{{ '<{}|{}{{}}>'.format('a', 1) }}{{ '{1}{0}{k}'.format(1, 2, k=none) }}",
         "<a|1{}>21None"},
        {"{{ 'a.b.c'.rsplit('.', 1) }}{{ 'abc'.rsplit('b') }}{{ '-' * 3 }}",
         "['a.b', 'c']['a', 'c']---"},
        {"{{ ['b', 'A', 'a'] | sort }}{{ ['b', 'A'] | sort(true, true) }}",
         "['A', 'a', 'b']['b', 'A']"},
        {"{{ messages | sort(attribute='role') | map(attribute='role') | join(' ') }}",
         "assistant system user user"},
        {"{{ {'b': 1, 'A': 2, 'a': 3} | dictsort }}{{ {'a': 2, 'b': 1} | dictsort(by='value') }}",
         "[['A', 2], ['a', 3], ['b', 1]][['b', 1], ['a', 2]]"},
        {"{{ ['a', 'A', 'b', 'a'] | unique }}{{ messages | unique(attribute='role') | list | "
         "length }}",
         "['a', 'b']3"},
        {"{{ [{'f': {'n': 1}}, {'f': {}}] | map(attribute='f.n', default=0) | sum }}{{ -3 | abs }}",
         "13"},
        {"{{ [1, 2, 3] | select('>', 1) | list }}{{ [1, 2, 3] | reject('le', 2) | list }}{{ 1 is "
         "ne 2 }}",
         "[2, 3][3]True"},
        {"{{ ['a ', ' b'] | map('trim') | map('replace', 'b', 'c') | list }}", "['a', 'c']"},
        {"{{ '{\"a\": 1, \"b\": 2, \"a\": 3}' | from_json }}", "{'a': 3, 'b': 2}"},
        {"{% set l = [1, 2, 3] %}{{ l.append(4) }}{{ l.pop(0) }}{{ l.pop() }}{{ l }}",
         "None14[2, 3]"},
        {"{% set k = {'a': 1, 'b': 2}.keys() %}{{ k.pop(0) }}{% set d = {'a': 1} %}{% set k = "
         "d.keys() %}{{ k.pop() }}{{ d }}",
         "aa{'a': 1}"},
        {"{{ '{\"a\": [1, null]}' | from_json }}{{ \"it's\" | list | first }}{{ [\"it's\"] }}",
         "{'a': [1, None]}i[\"it's\"]"},
        {"{{ {'b': '\u00e9\U0001f600', 'a': [1, 2]} | tojson(ensure_ascii=true, sort_keys=true, "
         "separators=(',', ':')) }}",
         "{\"a\":[1,2],\"b\":\"\\u00e9\\ud83d\\ude00\"}"},
        {"{{ '\x08\x0c\x01' | tojson }}{{ ['\x08'] }}", "\"\\b\\f\\u0001\"['\\x08']"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        expect(pairs[i][0], pairs[i][1]);
    }
}

TEST(statements_run)
{
    static const char *const pairs[][2] = {
        {"{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}", "b"},
        {"{% for m in messages %}{{ loop.index }}{{ m.role[0] }}{% if not loop.last %},{% endif "
         "%}{% endfor %}",
         "1s,2u,3a,4u"},
        {"{% for m in messages if m.role == 'user' %}{{ loop.index0 }}/{{ loop.length }} {% endfor "
         "%}",
         "0/2 1/2 "},
        {"{% for x in [1, 2] %}{{ loop.previtem is defined }}{{ loop.nextitem }}{{ y is defined }}"
         "{% set y = 1 %}{% endfor %}",
         "False2FalseTrueFalse"},
        {"{% for x in [1, 2] %}{% set o = loop %}{% for y in 'ab' %}{{ o.index }}{{ loop.index }}"
         "{% endfor %}{% endfor %}",
         "11122122"},
        {"{% for x in [] %}a{% else %}b{% endfor %}", "b"},
        {"{% for x in [1, 2, 3, 4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% "
         "break %}{% endif %}{{ x }}{% endfor %}",
         "13"},
        {"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "21"},
        {"{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor "
         "%}{{ ns.n }}",
         "3"},
        {"{% set a, b = [1, 2] %}{{ b }}{% set t %} x{{ a }} {% endset %}[{{ t }}]{% set u | trim "
         "%} y {% endset %}{{ u }}",
         "2[ x1 ]y"},
        {"{% macro f(a, b='d') %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}{{ f(b=3, "
         "a=4) }}",
         "1d1243"},
        {"{% set messages = messages[1:] %}{{ messages | length }}", "3"},
        {"a{# note #}b{% generation %}c{% endgeneration %}", "abc"},
        {"{% filter trim | upper %} a{{ bos_token }} {% endfilter %}{% filter replace('a', 'b') "
         "%}aa{% endfilter %}",
         "A<S>bb"},
        {"{% set a = 1 %}{% filter trim %}{% set a = 2 %}{{ a }}{% endfilter %}{% set b %}{% set a "
         "= 3 %}{% endset %}{{ a }}",
         "21"},
        {"{% macro f(a) %}<{{ a }}{{ caller(a, 2) }}>{% endmacro %}{% macro g(x) %}{% call(b, c) "
         "f(1) %}{{ x }}{{ b }}{{ c }}{% endcall %}{% endmacro %}{{ g('x') }}",
         "<1x12>"},
        {"{% macro f(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ [f, 1][0](*[1, 2]) }}{{ "
         "'a,b'.split(*[',']).0 }}",
         "12a"},
        {"{% macro f() %}{{ caller is defined }}{% if caller is defined %}{{ caller() }}{% endif "
         "%}{% endmacro %}{% call f() %}{{ f() }}{% endcall %}",
         "TrueFalse"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        expect(pairs[i][0], pairs[i][1]);
    }
}

// A line with only a statement is removed whole; '-' signs remove all white space.
TEST(white_space_goes_where_templates_want_it)
{
    expect("a\n  {% if 1 %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc");
    expect("a \n {%- if 1 -%} \n b {% endif %}", "ab ");
    expect("{{ 1 }}\n{{ 2 -}} \n 3\n\n", "1\n23\n");
    expect("x {% if 1 %} y {%+ endif %}\n", "x  y ");
    expect("  {# a #}\n  b {#- c -#} d", "  bd");
    expect("a\r\n {% if 1 %}\r\nb\r{{ 'c\r\n' }}{% endif %}\r\n", "a\nb\nc\n");
}

// Only what is of a message's content is marked, however it was taken apart.
TEST(contents_are_marked)
{
    static const char template[] =
        "<|x|>{{ '<|x|>' + messages[1]['content'] | trim + messages[0].role }}"
        "{{ messages[2].content.split('</think>')[-1].lstrip('\\n') }}"
        "{{ messages[1].content | tojson }}";
    static const char expected[] = "<|x|><|x|>he<|x|>systemb\" he<|x|> \"";
    static const char marks[] = "000000000011111110000001011111111100";
    struct gi_jinja_output output = {0};
    struct glinfer_error err;
    must(render(template, &output, &err), &err);
    assert_int_equal(output.size, strlen(expected));
    assert_memory_equal(output.data, expected, output.size);
    for (size_t i = 0; i < output.size; i++) {
        const bool is_quote = output.data[i] == '"';
        if (!is_quote && output.is_data[i] != (marks[i] == '1')) {
            fail_msg("byte %zu '%c' has the mark %d", i, output.data[i], output.is_data[i]);
        }
    }
    gi_jinja_output_finish(&output);
}

// Short templates with the constructs of common families.
static const struct {
    const char *family, *template, *text;
} families[] = {
    {"thoughts of past answers are left out, as of Qwen 3",
     "{%- set ns = namespace(found=false, last=0) %}\n"
     "{%- for m in messages[::-1] %}\n"
     "    {%- set index = (messages|length - 1) - loop.index0 %}\n"
     "    {%- if m.role == 'user' and not ns.found %}{% set ns.found = true %}{% set ns.last = "
     "index %}{% "
     "endif %}\n"
     "{%- endfor %}\n"
     "{%- for m in messages %}\n"
     "    {%- set content = m.content if m.content is string else '' %}\n"
     "    {%- if m.role == 'assistant' and loop.index0 < ns.last and '</think>' in content %}\n"
     "        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n"
     "    {%- endif %}\n"
     "    {{- '<' + m.role + '>' + content.strip() + '\\n' }}\n"
     "{%- endfor %}\n"
     "{%- if add_generation_prompt %}\n"
     "    {{- '<assistant>' }}\n"
     "    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think></think>' "
     "}}{% endif %}\n"
     "{%- endif %}\n",
     "<system>be\n<user>he<|x|>\n<assistant>b\n<user>ll\n<assistant>"},
    {"the system message goes into the last turn, as of Mistral",
     "{%- if messages[0]['role'] == 'system' %}{% set system, loop_messages = "
     "messages[0]['content'], messages[1:] %}"
     "{% else %}{% set loop_messages = messages %}{% endif %}{{ bos_token }}"
     "{% for m in loop_messages %}{% if m['role'] == 'user' %}"
     "{% if loop.last and system is defined %}[INST]{{ system + '\\n\\n' + m['content'] }}[/INST]"
     "{% else %}[INST]{{ m['content'] }}[/INST]{% endif %}"
     "{% elif m['role'] == 'assistant' %}{{ m['content'][-1:] + eos_token }}"
     "{% else %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}",
     "<s>[INST] he<|x|> [/INST]b</s>[INST]be\n\nll[/INST]"},
    {"a default system message, and tools that there are none of, as of Llama 3 and Qwen 2.5",
     "{% if not date_string is defined %}{% set date_string = strftime_now('%Y') if false else "
     "'today' %}{% endif %}\n"
     "{%- if tools %}{{ tools | tojson }}{% endif %}\n"
     "{%- if messages[0].role != 'system' %}[default]{% endif %}\n"
     "{{- '(' ~ date_string ~ ')' }}\n"
     "{%- for m in messages if m.role != 'tool' and not m.tool_calls %}"
     "{{ '\\n' if not loop.first }}{{ m.role|title }}: {{ m.content|trim }}"
     "{%- endfor %}\n",
     "(today)System: be\nUser: he<|x|>\nAssistant: a</think>\n\nb\nUser: ll"},
};

TEST(templates_of_common_families_run)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        expect(families[i].template, families[i].text);
    }
}

// An iteration of a loop frees its memory: a loop over a long conversation at each of its messages
// takes no more memory than the text.
TEST(loops_take_no_memory)
{
    expect(
        "{% set n = namespace(n=0) %}{% for a in range(250) %}{% for b in range(250) if b != a %}"
        "{% set c = a %}{% if loop.last %}{% set n.n = n.n + loop.index %}{% endif %}"
        "{% endfor %}{% endfor %}{{ n.n }}",
        "62250");
}

// A search passes over each byte once: a million finds in a text of a million bytes take very
// little time.
TEST(a_search_costs_what_it_walks_over)
{
    expect("{% set n = namespace(s='ab') %}{% for i in range(19) %}{% set n.s = n.s + n.s %}"
           "{% endfor %}{% set s = n.s.replace('a', 'c').replace('b', 'd') %}"
           "{{ s.count('c') }} {{ s[-3:] }} {{ (s + 'xy').find('xy') }} {{ 'x' in s }}",
           "524288 dcd 1048576 False");
}

TEST(a_refusal_is_the_templates_own)
{
    expect_error("{{ raise_exception('no ' + messages[0].role) }}", GLINFER_STATUS_INVALID_ARGUMENT,
                 "no system");
}

TEST(what_is_not_known_is_named_with_its_line)
{
    static const char *const pairs[][2] = {
        {"a\n{{ 1 | odd_filter }}", "line 2 of the chat template: unknown filter 'odd_filter'"},
        {"{{ 1 is funny }}", "'funny'"},
        {"{{ f(1) }}", "'f'"},
        {"{{ 'a'.swapcase() }}", "'swapcase'"},
        {"{{ '{:>4}'.format(1) }}", "missing argument {:>4}"},
        {"{{ '{} {}'.format(1) }}", "missing argument {}"},
        {"{{ '}'.format(1) }}", "single '{' or '}'"},
        {"{{ 'a {'.format(1) }}", "single '{' or '}'"},
        {"{{ [].pop() }}", "an empty list"},
        {"{{ [1, 'a'] | sort }}", "cannot compare"},
        {"{{ 'a' | from_json }}", "not JSON"},
        {"{{ caller() }}", "'caller'"},
        {"{% call 1 %}{% endcall %}", "a call"},
        {"{% filter %}{% endfilter %}", "a name"},
        {"{% import 'os' %}", "import"},
        {"{% for x in 3 %}{% endfor %}", "a number has no elements"},
        {"{{ x.y.z }}", "undefined"},
        {"{{ 'a' + 1 }}", "a string and a number"},
        {"{{ 1 < 'a' }}", "cannot compare a number and a string"},
        {"{{ -('1.5' | from_json) }}", "cannot negate a fraction"},
        {"{{ -'a' }}", "cannot negate a string"},
        {"{{ 1.5 }}", "whole number"},
        {"{{ 'a }}", "no end"},
        {"{{ 'a' ", "no end"},
        {"{# a", "no end"},
        {"{% if 1 %}a", "elif"},
        {"{% endif %}", "statement"},
        {"{{ (1 }}", "expected"},
        {"{{ }}", "an expression"},
        {"{% set x.y = 1 %}", "namespace"},
        {"{% set a, b = [1] %}", "values"},
        {"{{ 9223372036854775807 + 1 }}", "out of range"},
        {"{{ 1 // 0 }}", "out of range"},
        {"{{ [1][::0] }}", "step"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        expect_error(pairs[i][0], GLINFER_STATUS_UNSUPPORTED, pairs[i][1]);
    }
}

TEST(a_hostile_template_ends)
{
    char deep[4096];
    memset(deep, '(', sizeof(deep));
    memcpy(deep, "{{", 2);
    deep[sizeof(deep) - 1] = 0;
    expect_error(deep, GLINFER_STATUS_UNSUPPORTED, "deeply");
    memset(deep, '-', sizeof(deep) - 1);
    memcpy(deep, "{{ 1", 4);
    expect_error(deep, GLINFER_STATUS_UNSUPPORTED, "expected");
    expect_error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", GLINFER_STATUS_UNSUPPORTED,
                 "deeply");
    expect_error("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
                 GLINFER_STATUS_UNSUPPORTED, "memory");
    expect_error(
        "{% set r = range(9999) %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}",
        GLINFER_STATUS_UNSUPPORTED, "too long");
    expect_error("{% set n = namespace(s='a') %}{% for a in range(99) %}{% set n.s = n.s + n.s %}"
                 "{% endfor %}",
                 GLINFER_STATUS_UNSUPPORTED, "more than 32 MiB of memory");
    expect_error("{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
                 "{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}"
                 "{{ n.a == n.b }}",
                 GLINFER_STATUS_UNSUPPORTED, "too long");
    expect_error("{% set n = namespace(l=range(9999)) %}{% for i in range(9999) %}"
                 "{% if -1 in n.l and -1 in n.l %}{% endif %}{% endfor %}",
                 GLINFER_STATUS_UNSUPPORTED, "too long");
    expect_error("{% set n = namespace(s='a') %}{% for i in range(22) %}{% set n.s = n.s + n.s %}"
                 "{% endfor %}{% for i in range(9999) %}{% if n.s[0] %}{% endif %}{% endfor %}",
                 GLINFER_STATUS_UNSUPPORTED, "too long");
    expect_error("{% set l = [1] %}{% set x = l.append(l) %}{{ l }}", GLINFER_STATUS_UNSUPPORTED,
                 "deeply");
    expect_error("{{ 'aaaaaaaa' * 9999999999 }}", GLINFER_STATUS_UNSUPPORTED, "memory");
    expect_error("{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}"
                 "{% endcall %}{% endmacro %}{{ g() }}",
                 GLINFER_STATUS_UNSUPPORTED, "deeply");
    expect_error("{{ range(99999999) }}", GLINFER_STATUS_UNSUPPORTED, "range");
}

TEST(every_failed_allocation_is_survived)
{
    static const char template[] =
        "{%- macro tag(name='x') %}<{{ name|upper }}>{% endmacro %}"
        "{%- set ns = namespace(n=0, found=[]) %}"
        "{%- for m in messages if m['content'] %}{% set ns.n = ns.n + 1 %}"
        "{{ tag(m.role) ~ m['content'].split('</think>')[-1].strip() + loop.index|string }}"
        "{%- if not loop.last %}{{ {'a': [1, 2, none]}|tojson }}{% endif %}{% endfor %}"
        "{{ ns.n }}{{ messages[::-1]|length }}{{ 'x%sy' }}{{ bos_token * 1 if false else 'end' }}";
    for (int is_one = 0; is_one < 2; is_one++) {
        long n_failed = 0;
        for (bool is_refused = true; is_refused; n_failed++) {
            struct gi_jinja_output output = {0};
            struct glinfer_error err = {0};
            (is_one ? fail_one_allocation : fail_allocations_after)(n_failed);
            const bool is_done = render(template, &output, &err);
            is_refused = count_allocations() > n_failed;
            fail_allocations_after(-1);
            if (is_done == is_refused || (!is_done && err.status != GLINFER_STATUS_NO_MEMORY)) {
                fail_msg("allocation %ld: %s", n_failed, err.message);
            }
            gi_jinja_output_finish(&output);
        }
        assert_in_range(n_failed, 5, 50); // text, tree, pools, output
    }
}

RUN_TESTS(NULL, NULL)
