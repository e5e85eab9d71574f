# cmake -D SOURCE=<top> -P check_layers.cmake
#
# Holds every #include line to the table below: code is included leftwards only,
#     base -> platform -> gpu -> ops -> graph -> models -> engine -> cli
# with gguf, quant, hf, sampler, jinja, grammar, tokenizer and speech beside the GPU layers, persistent between gpu and engine, and
# reference between ops and engine. The folders of the engine are layers, too:
#     device -> model -> selftest -> lists -> session -> answer -> api
# with speech and measure between session and api. A row is a folder and the folders that it may include; glinfer.h is free to all.
# File names of C code are unique in the tree, too.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

set(folders src/base platform src/gguf src/quant src/hf src/sampler src/jinja src/grammar src/tokenizer src/speech glsl src/gpu src/persistent src/ops src/reference src/graph models
    src/engine/device src/engine/model src/engine/selftest src/engine/lists src/engine/session src/engine/answer src/engine/speech src/engine/measure src/engine/api
    src/cli tests/unit tests/platform tests/kernel tests/golden tests/embed tests/faults tests/fuzz tests/install tests/shims tests/data tools/examples)
set(lower base platform gguf quant hf sampler jinja grammar tokenizer speech glsl gpu persistent reference ops graph models)

set(may_src/base base)
set(may_platform base platform)
set(may_src/gguf base gguf)
set(may_src/quant base gguf quant)
set(may_src/hf base gguf quant hf)
set(may_src/sampler base sampler)
set(may_src/jinja base jinja)
set(may_src/grammar base grammar)
set(may_src/tokenizer base jinja tokenizer)
set(may_src/speech base gguf quant sampler tokenizer speech)
set(may_glsl glsl)
set(may_src/gpu base platform gpu glsl)
set(may_src/persistent base platform gpu persistent)
set(may_src/ops base platform gpu quant ops glsl)
set(may_src/reference base gpu glsl quant sampler ops reference)
set(may_src/graph base platform gpu quant gguf ops graph)
set(may_models base platform gpu quant gguf ops graph models)
set(layers ${lower})
# Each of these layers may include those before it.
foreach(layer device model selftest lists session)
    list(APPEND layers engine/${layer})
    set(may_src/engine/${layer} ${layers})
endforeach()
set(may_src/engine/answer ${layers} engine/answer)
set(may_src/engine/speech ${layers} engine/speech)
set(may_src/engine/measure ${layers} engine/measure)
set(any ${layers} engine/answer engine/speech engine/measure engine/api)
set(may_src/engine/api ${any})
set(may_src/cli cli)
set(may_tests/unit ${any} cli tests)
set(may_tests/platform base platform tests)
set(may_tests/kernel ${any} tests)
set(may_tests/golden tests)
set(may_tests/embed tests)
set(may_tests/faults ${any} tests)
set(may_tests/fuzz ${any} cli tests)
set(may_tests/install)
set(may_tests/shims ${any})
set(may_tests/data tests)
set(may_tools/examples)

# Headers of the window-less context and of GL stay where GL is spoken.
set(gl_header "^(EGL|GLES2|GLES3|KHR)/")
set(gl_folders platform src/gpu src/persistent tests/platform tests/embed tests/faults tests/shims tools/examples)
set(drm_header "^(gbm|xf86drm|xf86drmMode)\\.h$|^libdrm/")
set(drm_folders platform tools/examples)

# "file: header", each with the reason why it may.
set(exceptions
    # A program's row names the weights it unpacks by their GGUF number.
    "src/gpu/program/program_table.c: gguf/ggml_type.h"
    # Tests set fields of the settings, not the environment.
    "tests/golden/fixture/tiny_fixture.c: engine/api/call.h")

set(failures "")

function(fail file header text)
    string(REPLACE ";" ", " text "${text}")
    list(APPEND failures "${file}: ${header}: ${text}")
    set(failures "${failures}" PARENT_SCOPE)
endfunction()

# The folder that a header belongs to, by the spelling of its include line.
function(owner_of header result)
    string(REGEX MATCH "^(engine/)?[^/]+" owner "${header}")
    set(${result} "${owner}" PARENT_SCOPE)
endfunction()

function(check_quoted folder file header)
    get_filename_component(beside ${file} DIRECTORY)
    if(header STREQUAL "glinfer.h" OR "${file}: ${header}" IN_LIST exceptions)
        return()
    endif()
    if(header MATCHES "\\.\\./")
        fail(${file} ${header} "include from src/ or the top, not through \"../\"")
    elseif(folder MATCHES "^tests/" AND
           (EXISTS ${SOURCE}/${folder}/${header} OR EXISTS ${SOURCE}/tests/${header}))
        # Headers that tests share are next to them or in tests/, such as "data/test_data.h".
    elseif(folder STREQUAL "tools/examples" AND EXISTS ${SOURCE}/${beside}/${header})
        # An example's own headers lie beside it.
    elseif(NOT header MATCHES "/")
        fail(${file} ${header} "name its folder too, such as \"gpu/memory/buffer.h\"")
    elseif(NOT EXISTS ${SOURCE}/src/${header} AND NOT EXISTS ${SOURCE}/${header})
        fail(${file} ${header} "there is no such file in src/ or at the top")
    else()
        owner_of(${header} owner)
        if(NOT owner IN_LIST may_${folder})
            fail(${file} ${header} "${folder} may include only: ${may_${folder}}")
        endif()
    endif()
    set(failures "${failures}" PARENT_SCOPE)
endfunction()

function(check_angled folder file header)
    if("${file}: ${header}" IN_LIST exceptions)
        return()
    endif()
    if(header MATCHES "${gl_header}" AND NOT folder IN_LIST gl_folders)
        fail(${file} ${header} "only ${gl_folders} may include GL and EGL headers")
    elseif(header MATCHES "${drm_header}" AND NOT folder IN_LIST drm_folders)
        fail(${file} ${header} "only ${drm_folders} may include GBM and DRM headers")
    elseif(header STREQUAL "glinfer.h" AND NOT folder MATCHES "^(tests/install|tools/examples)$")
        fail(${file} ${header} "write \"glinfer.h\"")
    endif()
    set(failures "${failures}" PARENT_SCOPE)
endfunction()

function(check_file folder file)
    file(STRINGS ${SOURCE}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
    foreach(line IN LISTS lines)
        if(line MATCHES "include[ \t]*\"([^\"]+)\"")
            check_quoted(${folder} ${file} ${CMAKE_MATCH_1})
        elseif(line MATCHES "include[ \t]*<([^>]+)>")
            check_angled(${folder} ${file} ${CMAKE_MATCH_1})
        endif()
    endforeach()
    set(failures "${failures}" PARENT_SCOPE)
endfunction()

set(all_files "")
foreach(folder IN LISTS folders)
    file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.c ${SOURCE}/${folder}/*.h
         ${SOURCE}/${folder}/*.def)
    list(APPEND all_files ${files})
    foreach(file IN LISTS files)
        check_file(${folder} ${file})
    endforeach()
endforeach()

# A folder that no row speaks of would go unchecked.
list_files(tree *.c *.h)
foreach(file IN LISTS tree)
    get_filename_component(name ${file} NAME)
    if(NOT file IN_LIST all_files AND NOT file STREQUAL "src/glinfer.h")
        fail(${file} ${name} "its folder has no row in tools/checks/check_layers.cmake")
    endif()
    if(DEFINED path_of_${name})
        fail(${file} ${name} "${path_of_${name}} has the same name; names are unique in the tree")
    endif()
    set(path_of_${name} ${file})
endforeach()

if(failures)
    list(JOIN failures "\n" text)
    message(FATAL_ERROR "${text}")
endif()
list(LENGTH all_files count)
message(STATUS "${count} files keep to the layers")
