# cmake -D SOURCE=<top> -P check_words.cmake
#
# Words that src/README.md has another word for are gone: from C, GLSL, tests, tools and docs. A row
# is a pattern, the word to use, and the folders in which the pattern means something else. words.awk counts other words,
# and phrases that are not plain English; they may only become fewer: words.txt.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/files.cmake)

set(rows
    "[Oo]ctet # vec8 #"
    "gl_SMIDNV|multiprocessor id # nothing: groups run where the driver puts them #"
    "thread team|gi_team # thread pool #"
    "gi_model_facts|model facts # hparams #"
    "gemv_resident|attention_resident # the persistent form #"
    "among few|among many|sample_(few|top|many|draw) # small-k, full #")

list_files(files *.c *.h *.comp *.glsl *.def *.cmake *.sh *.md *.1)
list(APPEND files README.md CONTRIBUTING.md)
list(REMOVE_ITEM files src/README.md tools/checks/check_words.cmake)
foreach(file IN LISTS files)
    foreach(row IN LISTS rows)
        string(REGEX MATCH "^(.*) # (.*) #(.*)$" row "${row}")
        set(pattern "${CMAKE_MATCH_1}")
        set(word "${CMAKE_MATCH_2}")
        set(exempt "${CMAKE_MATCH_3}")
        if(exempt AND file MATCHES "^ *(${exempt})")
            continue()
        endif()
        file(STRINGS ${SOURCE}/${file} found REGEX "${pattern}")
        if(found)
            message(SEND_ERROR "${file}: ${found}\nThe word is: ${word}")
        endif()
    endforeach()
endforeach()

list_files(sources *.c *.h *.comp *.glsl *.def *.cmake *.sh *.md *.1 *.awk *.py *.js *.css *.html CMakeLists.txt)
file(GLOB scripts RELATIVE ${SOURCE} ${SOURCE}/tools/[a-z]*)
list(FILTER scripts EXCLUDE REGEX "[.]|/(checks|cmake|examples|golden|python)$")
list(REMOVE_ITEM sources tools/checks/words.awk)
execute_process(COMMAND awk -v "list=${LIST}" -v "show=${SHOW}" -f tools/checks/words.awk tools/checks/words.txt ${sources}
                        ${scripts} README.md CHANGELOG.md CONTRIBUTING.md CMakeLists.txt
                WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE found)
if(LIST OR SHOW)
    message("${found}")
elseif(NOT status EQUAL 0)
    message(SEND_ERROR "${found}")
endif()

# The hook of git refuses subjects that are not "area: verb ...".
function(check_subject expected subject)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${subject}" COMMAND ${SOURCE}/tools/checks/commit-msg /dev/stdin
                    RESULT_VARIABLE status ERROR_QUIET)
    if(NOT status EQUAL expected)
        message(SEND_ERROR "commit-msg ended with ${status}, not ${expected}: ${subject}")
    endif()
endfunction()
if(NOT LIST AND NOT SHOW)
    string(REPEAT "long " 15 long)
    check_subject(0 "gpu/program: treat a full blocklist as blocking everything")
    check_subject(0 "fixup! gpu: refuse it")
    check_subject(1 "gpu: treat a ${long}")
    check_subject(1 "treat a full blocklist as blocking everything")
    check_subject(1 "gpu/program: a quarantine that is full takes in all programs")
    check_subject(1 "gpu: treats a full blocklist as blocking everything")
    check_subject(1 "gpu: Refuse a full blocklist")
endif()

list(LENGTH files count)
message(STATUS "${count} files use the words of the glossary")
