# One INTERFACE target carries the warnings and sanitizers of every target of ours.
add_library(glinfer_options INTERFACE)
# Files may be larger than 2 GiB on 32-bit systems too.
target_compile_definitions(glinfer_options INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_include_directories(glinfer_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_compile_options(glinfer_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wfloat-conversion -Wundef -Wformat=2 -fvisibility=hidden
    $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers> # GCC allows it in designated initializers
    $<$<BOOL:${GLINFER_WERROR}>:-Werror>)
if(GLINFER_SANITIZE)
    # The checks put into the code mislead warnings that follow its flow; other builds have them.
    target_compile_options(glinfer_options INTERFACE
        "$<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-format-overflow>"
        "$<$<C_COMPILER_ID:GNU>:-Wno-format-truncation;-Wno-stringop-overflow;-Wno-stringop-truncation>"
        -fsanitize=${GLINFER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(glinfer_options INTERFACE -fsanitize=${GLINFER_SANITIZE})
    target_compile_definitions(glinfer_options INTERFACE HAS_SANITIZERS)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# glinfer_folder(<name> [SOURCES <files>] LINKS <targets>): a folder's target, a static library of all C files in it and
# below unless they are named; the shared library takes the objects of all of them (global property glinfer_folders).
function(glinfer_folder name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
    if(NOT arg_SOURCES)
        file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    endif()
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC glinfer_options ${arg_LINKS})
    set_property(GLOBAL APPEND PROPERTY glinfer_folders ${name})
endfunction()
