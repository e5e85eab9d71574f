# cmake -D SOURCE=<top> -D PAGE=<glinfer.3> -D MANDOC=<mandoc> -D GROFF=<groff> -P check_man.cmake
#
# The man pages render without a warning, by mandoc, with its remarks on style, or by groff. A quote in the arguments of a
# macro is an escape, \(dq: mdoc drops others. glinfer(3) has all functions, types and constants that
# glinfer.h has.
cmake_minimum_required(VERSION 3.22)

file(READ ${SOURCE}/src/glinfer.h header)
string(REGEX REPLACE "//[^\n]*" "" header "${header}")
string(REGEX REPLACE "#define GLINFER_(API|H|STATUS_MAP|STATUS_ENUM|SAMPLER_MAP|SAMPLER_SET|SPEECH_MAP|SPEECH_SET)[^\n]*" "" header "${header}")
string(REGEX REPLACE " X\\(([A-Z_]+), -?[0-9]+, \"" "GLINFER_STATUS_\\1 " header "${header}")
string(REGEX MATCHALL "(GLINFER|glinfer)_[A-Za-z0-9_]+" names "${header}")
list(REMOVE_DUPLICATES names)
list(FILTER names EXCLUDE REGEX "^GLINFER_(API|H|STATIC|STATUS_MAP|STATUS_ENUM|STATUS_|SAMPLER_MAP|SAMPLER_SET|SPEECH_MAP|SPEECH_SET)$")
file(READ ${PAGE} page)
foreach(name IN LISTS names)
    if(NOT page MATCHES "[^A-Za-z0-9_]${name}[^A-Za-z0-9_]")
        message(SEND_ERROR "glinfer(3) lacks ${name}")
    endif()
endforeach()
list(LENGTH names count)
message(STATUS "glinfer(3) has ${count} names")

if(MANDOC)
    set(command ${MANDOC} -T lint -W style)
elseif(GROFF)
    set(command ${GROFF} -mandoc -ww -T utf8 -z)
else()
    message("SKIPPED: neither mandoc nor groff is here")
    return()
endif()
file(GLOB pages ${SOURCE}/src/cli/man/*.1)
list(APPEND pages ${PAGE})
foreach(page IN LISTS pages)
    execute_process(COMMAND ${command} ${page}
        OUTPUT_VARIABLE output ERROR_VARIABLE output)
    # Ignores messages that depend on the machine, on the length of source lines, and on C declarations that end in ";".
    string(REGEX REPLACE "[^\n]*(glinfer.3:[0-9:]* STYLE: no blank before trailing delimiter|referenced manual not found|operating system explicitly|line longer than)[^\n]*\n" "" output
        "${output}")
    file(STRINGS ${page} lines REGEX "^\\.(Ql|Dl|Li|Sq|Dq|Cm|Ar|Pa) .*[^ ]\"|^\\.(Ql|Dl|Li) .*\\{\"")
    foreach(line IN LISTS lines)
        string(APPEND output "\n${line}: mdoc drops the quotes, write \\(dq")
    endforeach()
    if(output)
        message(SEND_ERROR "${page}: ${output}")
    endif()
endforeach()
list(LENGTH pages count)
message(STATUS "${count} man pages render")
