// A template as a tree. Expressions have their operands in a, b and c; lists (elements, arguments,
// bodies) are linked by next from `list` on. Private to this folder.
#pragma once

#include "jinja/jinja_value.h"

enum gi_jinja_node_kind {
    // Expressions
    GI_JINJA_NODE_CONSTANT,  // constant
    GI_JINJA_NODE_NAME,      // name
    GI_JINJA_NODE_LIST,      // list
    GI_JINJA_NODE_DICT,      // list: keys and values in turn
    GI_JINJA_NODE_ATTRIBUTE, // a.name
    GI_JINJA_NODE_ITEM,      // a[b]
    GI_JINJA_NODE_SLICE,     // a[list], three of which each may be absent (an undefined constant)
    GI_JINJA_NODE_CALL,      // a(list); an argument with a name is given by it, one whose op is
                             // MULTIPLY has a star
    GI_JINJA_NODE_FILTER,    // a | name(list)
    GI_JINJA_NODE_TEST,      // a is name(list)
    GI_JINJA_NODE_NOT,       // not a
    GI_JINJA_NODE_NEGATE,    // -a
    GI_JINJA_NODE_AND,       // a and b
    GI_JINJA_NODE_OR,        // a or b
    GI_JINJA_NODE_BINARY,    // a op b: arithmetic and comparison
    GI_JINJA_NODE_IF_ELSE,   // a if b else c (NULL: undefined)
    GI_JINJA_NODE_CAPTURE,   // the text that list, a body, writes
    // Statements
    GI_JINJA_NODE_TEXT,  // constant
    GI_JINJA_NODE_PRINT, // a
    GI_JINJA_NODE_IF,    // list if a, else other
    GI_JINJA_NODE_FOR,   // targets b in a if c: list, without any: other
    GI_JINJA_NODE_SET,   // targets b = a
    GI_JINJA_NODE_MACRO, // name, parameters b, body list
    GI_JINJA_NODE_BLOCK, // the call a of a macro, whose caller() has parameters b and body list
    GI_JINJA_NODE_BREAK,
    GI_JINJA_NODE_CONTINUE,
};

enum gi_jinja_operator {
    GI_JINJA_ADD,
    GI_JINJA_SUBTRACT,
    GI_JINJA_MULTIPLY,
    GI_JINJA_DIVIDE,
    GI_JINJA_MODULO,
    GI_JINJA_JOIN, // ~
    GI_JINJA_EQUAL,
    GI_JINJA_UNEQUAL,
    GI_JINJA_LESS,
    GI_JINJA_LESS_EQUAL,
    GI_JINJA_MORE,
    GI_JINJA_MORE_EQUAL,
    GI_JINJA_IN,
    GI_JINJA_NOT_IN,
};

struct gi_jinja_node {
    enum gi_jinja_node_kind kind;
    enum gi_jinja_operator op;
    unsigned line;
    struct gi_jinja_value constant;
    struct gi_jinja_string name;
    struct gi_jinja_node *a, *b, *c;
    struct gi_jinja_node *list, *other, *next;
};

struct gi_jinja {
    struct gi_jinja_pool pool;
    struct gi_jinja_node *body;
};
