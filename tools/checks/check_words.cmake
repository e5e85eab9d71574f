# cmake -D SOURCE=<top> -P check_words.cmake
#
# Words that src/README.md has another word for are gone: from C, GLSL, tests, tools and docs. A row
# is a pattern, the word to use, and the folders in which the pattern means something else. Words that are
# going, and comments that open with a word which leans on the name below, are counted by words.awk and may
# only become fewer: words.txt.
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

list_files(sources *.c *.h *.comp *.glsl *.def)
execute_process(COMMAND awk -f tools/checks/words.awk tools/checks/words.txt ${sources}
                WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE found)
if(NOT status EQUAL 0)
    message(SEND_ERROR "${found}")
endif()

list(LENGTH files count)
message(STATUS "${count} files use the words of the glossary")
