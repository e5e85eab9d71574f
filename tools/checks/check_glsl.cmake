# cmake -D DUMP=<program_dump> -D VALIDATOR=<glslangValidator> -P check_glsl.cmake
#
# `program_dump DIR` writes the assembled source of every program into DIR; Khronos' reference
# front end, stricter than most drivers, reads each.
cmake_minimum_required(VERSION 3.22)

if(NOT VALIDATOR)
    message("SKIPPED: needs glslangValidator")
    return()
endif()

set(dir ${CMAKE_CURRENT_BINARY_DIR}/programs)
file(REMOVE_RECURSE ${dir})
file(MAKE_DIRECTORY ${dir})
execute_process(COMMAND ${DUMP} ${dir} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${DUMP} ended with ${status}")
endif()

file(GLOB programs ${dir}/*.comp)
if(NOT programs)
    message(FATAL_ERROR "${DUMP} wrote no program")
endif()

# A larger program declares what its kernels share, before any of their macros: by types of GLSL.
execute_process(COMMAND grep -hE "^shared " ${programs} COMMAND grep -vE "^shared ([iu]?vec[234]|float|int|uint) "
    COMMAND sort -u OUTPUT_VARIABLE text)
if(text)
    message(FATAL_ERROR "shared memory of other types:\n${text}")
endif()
execute_process(COMMAND ${VALIDATOR} -S comp ${programs} RESULT_VARIABLE status OUTPUT_VARIABLE text)
if(NOT status EQUAL 0)
    # The validator names each file, then its errors; those of the sound ones go.
    string(REGEX REPLACE "(\n+[^\n]+\\.comp)+(\n+[^\n]+\\.comp)" "\\2" text "\n${text}")
    message(FATAL_ERROR "${text}")
endif()
list(LENGTH programs count)
message(STATUS "${count} programs are sound GLSL ES")
