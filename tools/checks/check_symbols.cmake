# cmake -D SOURCE=<top> -D LIBRARY=<libglinfer.so> -D NM=<nm> -P check_symbols.cmake
#
# The shared library exports what glinfer.h declares with GLINFER_API, and nothing else.
cmake_minimum_required(VERSION 3.22)

if(NOT NM)
    message("SKIPPED: nm is not here")
    return()
endif()
file(READ ${SOURCE}/src/glinfer.h header)
string(REGEX REPLACE "//[^\n]*|#define[^\n]*" "" header "${header}")
string(REGEX MATCHALL "GLINFER_API[^;(]*[(]" declared "${header}")
list(TRANSFORM declared REPLACE ".*[ *\n]([a-z0-9_]+)[(]$" "\\1")

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[^\n]* A [^\n]*\n" "" output "${output}") # the version's own symbol
string(REGEX MATCHALL "[^ \n]+\n" exported "${output}")
list(TRANSFORM exported REPLACE "(@.*)?\n$" "")

set(missing ${declared})
list(REMOVE_ITEM missing ${exported})
set(foreign ${exported})
list(REMOVE_ITEM foreign ${declared})
list(LENGTH declared count)
if(missing OR foreign OR count EQUAL 0)
    message(FATAL_ERROR "of ${count} functions are not exported: ${missing}\nnot declared: ${foreign}")
endif()
message(STATUS "${count} functions are exported")
