# cmake -D SOURCE=<top> -D GLINFER=<command> -P check_flags.cmake
#
# README.md names every flag of the command line and every environment variable, and no other:
# the list between its headings "Flags" and the next one equals what `glinfer --help` prints, and
# that names every variable that the code reads.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

set(word "(--[a-z][a-z0-9-]*|GLINFER_[A-Z0-9_]+)")

file(READ ${SOURCE}/README.md readme)
string(REGEX MATCH "\n## Flags[^\n]*\n(.*)" section "${readme}")
string(REGEX REPLACE "\n## .*" "" section "${CMAKE_MATCH_1}")
string(REGEX MATCHALL "${word}" documented "${section}")
list(REMOVE_DUPLICATES documented)

execute_process(COMMAND ${GLINFER} --help OUTPUT_VARIABLE help RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${GLINFER} --help ended with ${status}")
endif()
string(REGEX MATCHALL "${word}" printed "${help}")
list(REMOVE_DUPLICATES printed)

list_files(sources *.c)
list(FILTER sources EXCLUDE REGEX "^(tests|tools)/")
foreach(source IN LISTS sources)
    file(STRINGS ${SOURCE}/${source} lines REGEX "\"GLINFER_[A-Z0-9_]+\"")
    string(REGEX MATCHALL "GLINFER_[A-Z0-9_]+" names "${lines}")
    foreach(name IN LISTS names)
        if(NOT name IN_LIST printed)
            message(FATAL_ERROR "${source} reads ${name}, which glinfer --help does not name")
        endif()
    endforeach()
endforeach()

set(unknown ${documented})
list(REMOVE_ITEM unknown ${printed})
set(missing ${printed})
list(REMOVE_ITEM missing ${documented})
if(unknown OR missing)
    message(FATAL_ERROR "only in README.md: ${unknown}\nonly in glinfer --help: ${missing}")
endif()
list(LENGTH printed count)
message(STATUS "${count} flags and variables are documented")
