# cmake -D SOURCE=<top> -D GLINFER=<command> -P check_flags.cmake
#
# README.md names every flag of the command line and every environment variable, and no other:
# the list between its headings "Flags" and the next one equals what `glinfer --help` prints.
cmake_minimum_required(VERSION 3.22)

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

set(unknown ${documented})
list(REMOVE_ITEM unknown ${printed})
set(missing ${printed})
list(REMOVE_ITEM missing ${documented})
if(unknown OR missing)
    message(FATAL_ERROR "only in README.md: ${unknown}\nonly in glinfer --help: ${missing}")
endif()
list(LENGTH printed count)
message(STATUS "${count} flags and variables are documented")
