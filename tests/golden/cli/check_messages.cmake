# cmake -D GLINFER=<command> -D MESSAGES=<file> [-D UPDATE=ON] -P check_messages.cmake
#
# Each block of the file is a command line after "$ ", its exit status after "= ", the lines of
# standard output after "> " and of standard error after "! ". The command must give the same
# results again; with UPDATE the file is rewritten.
cmake_minimum_required(VERSION 3.22)

function(quote_lines text mark result)
    string(REGEX REPLACE "\n$" "" text "${text}")
    if(NOT text STREQUAL "")
        string(REGEX REPLACE "\n" "\n${mark} " text "${text}")
        set(text "${mark} ${text}\n")
    endif()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${MESSAGES} want)
string(REGEX MATCHALL "(^|\n)[$][^\n]*" lines "${want}")
string(REGEX MATCH "^#[^$]*" found "${want}")
foreach(line IN LISTS lines)
    string(REGEX REPLACE "^\n?[$] ?" "" line "${line}")
    separate_arguments(words UNIX_COMMAND "${line}")
    execute_process(COMMAND ${GLINFER} ${words} INPUT_FILE /dev/null
        OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status TIMEOUT 20)
    quote_lines("${output}" ">" output)
    quote_lines("${errors}" "!" errors)
    string(APPEND found "$ ${line}\n= ${status}\n${output}${errors}\n")
endforeach()

if(UPDATE)
    file(WRITE ${MESSAGES} "${found}")
elseif(NOT found STREQUAL want)
    message(FATAL_ERROR "the command does not say what ${MESSAGES} says, but:\n${found}")
endif()
