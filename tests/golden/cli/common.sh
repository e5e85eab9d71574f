# Functions for the scripts of this folder, which are called with the command and a model, and source this file. $dir is
# a temporary folder, removed at the end. A script ends with `[ "$failures" -eq 0 ]`.
glinfer=$1
model=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# Flags of an answer that takes any device longer than a test waits before it stops it.
endless='-c 262144 -n 262000'
failures=0
exec </dev/null # which would be appended to prompts

# check NAME FOUND WANTED
check()
{
    if [ "$2" != "$3" ]; then
        printf 'FAIL %s: found "%s", wanted "%s"\n' "$1" "$2" "$3"
        failures=$((failures + 1))
    fi
}
