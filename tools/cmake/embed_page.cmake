# cmake -D DIR=<folder of the page> -D SCRIPTS=<names, a comma between> -D OUTPUT=<c file> -P embed_page.cmake
#
# Writes a C file with the page of `glinfer serve`: page.html with page.css in place of @style@ and the scripts, one
# after the other, in place of @script@. Its policy lets nothing run but these two, which it names by their hashes.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/embed_chars.cmake)

# Sets a variable to bytes, given in hexadecimal, in base64: three digits are two letters. Takes 32 bytes alone.
function(base64_of_32 result hex)
    set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    set(text "")
    foreach(at RANGE 0 63 3)
        string(SUBSTRING "${hex}00" ${at} 3 digits)
        math(EXPR high "0x${digits} >> 6")
        math(EXPR low "0x${digits} & 63")
        string(SUBSTRING ${letters} ${high} 1 first)
        string(SUBSTRING ${letters} ${low} 1 second)
        string(APPEND text ${first}${second})
    endforeach()
    string(SUBSTRING ${text} 0 43 text)
    set(${result} "${text}=" PARENT_SCOPE)
endfunction()

# Sets a variable to the source of a policy that names a text by its hash.
function(hash_source result text)
    string(SHA256 hex "${text}")
    base64_of_32(hash ${hex})
    set(${result} "'sha256-${hash}'" PARENT_SCOPE)
endfunction()

file(READ ${DIR}/page.html page)
file(READ ${DIR}/page.css style)
set(script "\n\"use strict\";\n")
string(REPLACE "," ";" names "${SCRIPTS}")
foreach(name IN LISTS names)
    file(READ ${DIR}/${name} text)
    string(APPEND script "\n${text}")
endforeach()
hash_source(style_hash "${style}")
hash_source(script_hash "${script}")
string(REPLACE "@style@" "${style}" page "${page}")
string(REPLACE "@script@" "${script}" page "${page}")

string(CONCAT policy
    "default-src 'none'; script-src ${script_hash}; style-src ${style_hash}; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'")

file(WRITE ${OUTPUT}.html "${page}")
read_chars(bytes ${OUTPUT}.html)
file(WRITE ${OUTPUT}.new
    "#include \"cli/serve/page/serve_page.h\"\n\n"
    "static const char data[] = {\n${bytes}0};\n\n"
    "const struct serve_page serve_page = {\n"
    "    \"text/html; charset=utf-8\", data, sizeof(data) - 1,\n    \"${policy}\",\n};\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
