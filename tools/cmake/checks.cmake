# Tests of the tree itself: who includes whom, headers, exports, format, flags, man pages, names in READMEs, words.

# glinfer_check(<name> <variables of tools/checks/check_<name>.cmake>)
function(glinfer_check name)
    list(TRANSFORM ARGN PREPEND -D)
    add_test(NAME ${name}
        COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} ${ARGN}
                -P ${PROJECT_SOURCE_DIR}/tools/checks/check_${name}.cmake
        WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set_tests_properties(${name} PROPERTIES
        LABELS ${name} TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
endfunction()

find_program(GLINFER_CXX NAMES c++ g++ clang++)
find_program(GLINFER_GLSLANG NAMES glslangValidator)
find_program(GLINFER_MANDOC NAMES mandoc)
find_program(GLINFER_GROFF NAMES groff)
find_program(GLINFER_CLANG_FORMAT NAMES clang-format-14 clang-format)
foreach(package EGL GLES GBM DRM PCRE2 CJSON UTF8PROC MICROHTTPD CMOCKA)
    list(APPEND package_includes ${${package}_INCLUDE_DIRS})
endforeach()
list(REMOVE_DUPLICATES package_includes)
list(JOIN package_includes "," package_includes)
set(cxx ${GLINFER_CXX})
if(CMAKE_CROSSCOMPILING OR NOT cxx)
    set(cxx "")
endif()

add_test(NAME house COMMAND ${PROJECT_SOURCE_DIR}/tools/house --check)
set_tests_properties(house PROPERTIES LABELS house TIMEOUT 60)
glinfer_check(layers)
# Few files of the engine may call each other in a cycle.
find_program(PYTHON python3)
if(PYTHON)
    add_test(NAME cycles COMMAND ${PYTHON} ${PROJECT_SOURCE_DIR}/tools/checks/call_cycles
             ${PROJECT_BINARY_DIR}/src/engine ${PROJECT_SOURCE_DIR}/src/engine 4)
    set_tests_properties(cycles PROPERTIES LABELS layers TIMEOUT 60)
endif()
glinfer_check(headers "CC=${CMAKE_C_COMPILER}" "CXX=${cxx}" "INCLUDES=${package_includes}")
glinfer_check(format "CLANG_FORMAT=${GLINFER_CLANG_FORMAT}")
glinfer_check(docs)
glinfer_check(words)
glinfer_check(symbols "LIBRARY=$<TARGET_FILE:glinfer>" "NM=${CMAKE_NM}")
glinfer_check(man "PAGE=${PROJECT_BINARY_DIR}/glinfer.3" "MANDOC=${GLINFER_MANDOC}" "GROFF=${GLINFER_GROFF}")
if(TARGET program_dump)
    glinfer_check(glsl "DUMP=$<TARGET_FILE:program_dump>" "VALIDATOR=${GLINFER_GLSLANG}")
endif()
if(TARGET glinfer_cli)
    glinfer_check(flags "GLINFER=$<TARGET_FILE:glinfer_cli>")
endif()
