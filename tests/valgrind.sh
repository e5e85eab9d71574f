#!/bin/sh
# valgrind.sh PROGRAM [ARGUMENT...]: runs a program under valgrind, which fails it for an error or a leak of ours. On
# softpipe: compiling kernels, as llvmpipe does, takes valgrind far longer.
#
#   tests/valgrind.sh build/tools/examples/ask tests/data/models/tiny-chat.gguf Hello 8
#   tests/valgrind.sh build/tools/examples/poll tests/data/models/tiny-chat.gguf 5
#   tests/valgrind.sh build/tools/examples/json tests/data/models/tiny-chat.gguf Paris
#   tests/valgrind.sh build/tools/examples/kiosk -m tests/data/models/tiny-chat.gguf --seconds 1
export GALLIUM_DRIVER=softpipe MESA_SHADER_CACHE_DISABLE=true GLINFER_SELFTEST=off
exec valgrind --quiet --keep-debuginfo=yes --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --suppressions="$(dirname "$0")/valgrind.supp" "$@"
