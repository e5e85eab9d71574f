#!/bin/sh
# valgrind.sh PROGRAM [ARGUMENT...]: runs a program under valgrind, which fails it for an error or a leak of ours. On
# softpipe: compiling kernels, as llvmpipe does, takes valgrind far longer.
#
#   tests/valgrind.sh build/tools/examples/poll tests/data/models/tiny-q4_0.gguf 5
export GALLIUM_DRIVER=softpipe MESA_SHADER_CACHE_DISABLE=true GLINFER_SELFTEST=off
exec valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --suppressions="$(dirname "$0")/valgrind.supp" "$@"
