# Sets a variable to the bytes of a file as C's character constants, a comma after each, a line for each line.
# String literals end at 4095 characters in C11, and a byte over 0x7f would not fit a plain number in a signed char.
function(read_chars result path)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
    string(REGEX REPLACE "('\\\\x0a',)" "\\1\n" bytes "${bytes}")
    set(${result} "${bytes}" PARENT_SCOPE)
endfunction()
