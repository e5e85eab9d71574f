# cmake -D SOURCE=<top> [-D CLANG_FORMAT=<program>] -P check_format.cmake
#
# Compares every C file with what clang-format 14 would write; other versions differ in details.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

if(CLANG_FORMAT)
    execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE version)
endif()
if(NOT version MATCHES "version 14\\.")
    message("SKIPPED: needs clang-format 14")
    return()
endif()

list_files(files *.c *.h)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${files}
                WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "run clang-format -i on the files named above")
endif()
list(LENGTH files count)
message(STATUS "${count} files are formatted")
