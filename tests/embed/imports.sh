#!/bin/sh
# imports.sh LIBRARY: the shared library imports nothing that ends or prints for the program, sets its signals, its
# locale, its environment or its folder, or starts a process but by posix_spawn. Exits 77 without nm.
command -v nm >/dev/null || { echo "skipped: nm is not here"; exit 77; }
found=$(nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -xE \
    'exit|_exit|_Exit|quick_exit|atexit|on_exit|stdout|stderr|stdin|printf|puts|putchar|perror|vprintf|__printf_chk|signal|sigaction|sigprocmask|setitimer|alarm|raise|kill|setlocale|uselocale|setenv|putenv|unsetenv|chdir|fchdir|umask|fork|vfork|system|popen|exec.*|longjmp|srand|rand')
[ -z "$found" ] || { echo "$1 imports:" $found; exit 1; }
