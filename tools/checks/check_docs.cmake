# cmake -D SOURCE=<top> -P check_docs.cmake
#
# Files and folders that README.md and its like name in backticks or link to exist: beside the text,
# from the top, or by their name alone anywhere in the tree. Names with a placeholder such as <type>,
# * or DIR are left out. README.md at the top has at most 200 lines, of 120 characters outside tables.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

list_files(texts README.md measurements.md)
list(APPEND texts README.md CONTRIBUTING.md)
list_files(files *)
list(TRANSFORM files REPLACE ".*/" "" OUTPUT_VARIABLE names)

function(has_file folder name result)
    set(${result} TRUE PARENT_SCOPE)
    foreach(ending "" .c .h)
        if(EXISTS ${SOURCE}/${folder}/${name}${ending} OR EXISTS ${SOURCE}/${name}${ending}
           OR EXISTS ${SOURCE}/src/${name}${ending} OR "${name}${ending}" IN_LIST names)
            return()
        endif()
    endforeach()
    set(${result} FALSE PARENT_SCOPE)
endfunction()

set(count 0)
foreach(text IN LISTS texts)
    get_filename_component(folder ${text} DIRECTORY)
    file(READ ${SOURCE}/${text} content)
    string(REGEX REPLACE "[][;\\]" " " content "${content}")
    string(REGEX REPLACE "\n    [^\n]*" "" content "${content}") # commands and programs
    string(REGEX MATCHALL "`[A-Za-z0-9_./-]+`|[(][A-Za-z0-9_./-]+[)]" words "${content}")
    list(REMOVE_DUPLICATES words)
    foreach(word IN LISTS words)
        string(REGEX REPLACE "[`()]" "" name "${word}")
        # A path, or a name with the ending of a source; in parentheses either.
        if(NOT name MATCHES "^[a-z][^/]*/|^[A-Za-z].*[.](c|h|comp|glsl|def|cmake|sh|py|md)$" OR name MATCHES "^build")
            continue()
        endif()
        math(EXPR count "${count} + 1")
        has_file("${folder}" "${name}" is_there)
        if(NOT is_there)
            message(SEND_ERROR "${text} names ${name}, which is not there")
        endif()
    endforeach()
endforeach()

file(READ ${SOURCE}/README.md content)
string(REGEX MATCHALL "\n" lines "${content}")
list(LENGTH lines n_lines)
if(n_lines GREATER 200)
    message(SEND_ERROR "README.md has ${n_lines} lines, more than 200")
endif()
execute_process(COMMAND awk "length > 120 && !/^[|]/ { print FILENAME \":\" FNR }" README.md
                WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE long)
if(long)
    message(SEND_ERROR "lines of more than 120 characters outside tables: ${long}")
endif()
message(STATUS "${count} names of files are right")
