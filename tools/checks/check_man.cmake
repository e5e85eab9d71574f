# cmake -D SOURCE=<top> -D MANDOC=<mandoc> -D GROFF=<groff> -P check_man.cmake
#
# The man pages render without a warning, by mandoc or by groff.
cmake_minimum_required(VERSION 3.22)

if(MANDOC)
    set(command ${MANDOC} -T lint -W warning)
elseif(GROFF)
    set(command ${GROFF} -mandoc -ww -T utf8 -z)
else()
    message("SKIPPED: neither mandoc nor groff is here")
    return()
endif()
file(GLOB pages ${SOURCE}/src/cli/man/*.1)
foreach(page IN LISTS pages)
    execute_process(COMMAND ${command} ${page}
        OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
    if(output OR NOT status EQUAL 0)
        message(SEND_ERROR "${page}: ${output}")
    endif()
endforeach()
list(LENGTH pages count)
message(STATUS "${count} man pages render")
