# cmake -D SOURCE=<top> -D CC=<C compiler> [-D CXX=<C++ compiler>] [-D INCLUDES=<dir,dir>]
#       -P check_headers.cmake
#
# Compiles every header alone and twice over: each includes what it needs and guards itself.
# glinfer.h, which other people's programs include, must also be C99 and C++11.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

set(warnings -Wall -Wextra -Wpedantic -Werror)
set(includes -I${SOURCE}/src -I${SOURCE})
string(REPLACE "," ";" dirs "${INCLUDES}")
foreach(dir IN LISTS dirs)
    list(APPEND includes -isystem ${dir})
endforeach()
set(failures "")

function(check_header compiler language standard header)
    file(WRITE include_twice.txt "#include \"${header}\"\n#include \"${header}\"\n")
    execute_process(
        COMMAND ${compiler} -x ${language} -std=${standard} ${warnings} ${ARGN} -fsyntax-only -
        INPUT_FILE include_twice.txt
        RESULT_VARIABLE status ERROR_VARIABLE text)
    if(NOT status EQUAL 0)
        set(failures "${failures}${header} as ${standard}:\n${text}\n" PARENT_SCOPE)
    endif()
endfunction()

list_files(headers *.h)
foreach(header IN LISTS headers)
    check_header(${CC} c c11 ${header} -D_GNU_SOURCE ${includes})
endforeach()
check_header(${CC} c c99 glinfer.h -I${SOURCE}/src)
if(CXX)
    check_header(${CXX} c++ c++11 glinfer.h -I${SOURCE}/src)
else()
    message(STATUS "no C++ compiler: glinfer.h was not tried as C++")
endif()

if(failures)
    message(FATAL_ERROR "${failures}")
endif()
list(LENGTH headers count)
message(STATUS "${count} headers compile alone")
