# cmake -D DIR=<glsl folder> -D LIST=<file with a name a line> -D OUTPUT=<c file> -P embed_glsl.cmake
#
# Writes a C file with the text of every listed shader, in the shape that glsl/embedded.h declares, and with the
# Params blocks of listed headers (glsl/lib/params.h). Comments are left out and their lines stay: rewording a comment
# changes no program, and drivers' messages keep their line numbers.
include(${CMAKE_CURRENT_LIST_DIR}/embed_chars.cmake)

function(append_text index name)
    file(READ ${DIR}/${name} text)
    string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
    file(WRITE ${OUTPUT}.text "${text}")
    read_chars(bytes ${OUTPUT}.text)
    file(APPEND ${OUTPUT}.new "static const char text_${index}[] = { // ${name}\n${bytes}0};\n\n")
endfunction()

# C and std140 lay out the same block alike only if it has nothing but scalars of 4 bytes.
function(check_params name)
    file(READ ${DIR}/${name} text)
    string(REGEX REPLACE "//[^\n]*|#[^\n]*|GI_PARAMS\\([^,]*,|[)]" "" text "${text}")
    foreach(declaration IN LISTS text)
        string(REGEX REPLACE "[ \t\n]+" " " declaration "${declaration}")
        string(STRIP "${declaration}" declaration)
        if(declaration AND NOT declaration MATCHES "^(uint|float) [a-z0-9_]+( ?, ?[a-z0-9_]+)*$")
            message(FATAL_ERROR "invalid declaration in glsl/${name}: \"${declaration}\": "
                "Params can hold only scalars of type uint and float")
        endif()
    endforeach()
endfunction()

file(STRINGS ${LIST} names)
file(WRITE ${OUTPUT}.new "#include \"glsl/embedded.h\"\n\n"
    "#define GI_PARAMS(name, ...) \\\n"
    "    {\"params/\" #name \".glsl\", \\\n"
    "     \"layout(std140, binding = 0) uniform Params { \" #__VA_ARGS__ \" } params;\\n\"},\n"
    "#include \"glsl/lib/params.h\"\n\n")
set(table "")
set(index 0)
foreach(name IN LISTS names)
    if(name MATCHES "[.]h$")
        check_params(${name})
        string(APPEND table "#include \"glsl/${name}\"\n")
        continue()
    endif()
    append_text(${index} ${name})
    string(APPEND table "    {\"${name}\", text_${index}},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(APPEND ${OUTPUT}.new
    "const struct gi_glsl_file gi_glsl_files[] = {\n${table}    {NULL, NULL},\n};\n"
    "const size_t gi_glsl_file_count = sizeof(gi_glsl_files) / sizeof(gi_glsl_files[0]) - 1;\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
