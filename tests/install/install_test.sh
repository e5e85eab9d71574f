#!/usr/bin/env bash
# install_test.sh BUILD SOURCE SCRATCH
#
# Installs BUILD into SCRATCH, checks its soname and man pages, builds installed_answer.c as an outside program by
# pkg-config, as C11, C99 and C++20, and by find_package, and runs all with the model of GLINFER_TEST_MODEL or of
# tools/fetch-model.
set -euo pipefail
build=$1 source=$2 scratch=$3
cache=${XDG_CACHE_HOME:-$HOME/.cache}/glinfer/models
model=${GLINFER_TEST_MODEL:-$cache/SmolLM2-135M-Instruct.Q4_1.gguf}
prefix=$scratch/prefix
compiler=${CC:-cc}

die() { printf 'install: %s\n' "$*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch/consumer"
cmake --install "$build" --prefix "$prefix" >/dev/null
library=$(find "$prefix" -name libglinfer.so)

grep -q 'SONAME.*libglinfer\.so\.0\.2\]' <<<"$(readelf -d "$library")" || die "the soname is not libglinfer.so.0.2"

version=$(PKG_CONFIG_PATH=${library%/*}/pkgconfig pkg-config --modversion glinfer)
for page in "$source"/src/cli/man/*.1; do
    installed=$prefix/share/man/man1/${page##*/}
    cmp -s <(grep -v '^\.\(Os\|ds\) ' "$page") <(grep -v '^\.\(Os\|ds\) ' "$installed") || die "${page##*/} is not installed"
    grep -qx "\.Os glinfer $version" "$installed" || die "${page##*/} does not name its version"
done
[ -s "$prefix/share/man/man3/glinfer.3" ] || die "glinfer.3 is not installed"
while read -r name; do
    [ "$(cat "$prefix/share/man/man3/$name.3")" = ".so man3/glinfer.3" ] || die "$name has no man page"
done < <(nm -D --defined-only "$library" | sed 's/.* //; s/@.*//' | grep '^glinfer_')

for file in bash-completion/completions/glinfer zsh/site-functions/_glinfer fish/vendor_completions.d/glinfer.fish; do
    [ -s "$prefix/share/$file" ] || die "$file is not installed"
done

export PKG_CONFIG_PATH=${library%/*}/pkgconfig
build_program() { # source program compiler flags...: as an outside program has it compiled
    # shellcheck disable=SC2046
    "${@:3}" -Wall -Wextra -Werror "$source/tests/install/$1" -o "$scratch/$2" \
        $(pkg-config --cflags --libs glinfer) -Wl,-rpath,"${library%/*}"
}
programs=("$scratch/answer" "$scratch/answer-c99" "$scratch/consumer/build/answer")
build_program installed_answer.c answer "$compiler" -std=c11 -Wpedantic
build_program installed_answer.c answer-c99 "$compiler" -std=c99 -pedantic
if [ -n "${CXX:-}" ] && [[ $CXX != *NOTFOUND ]]; then
    build_program installed_answer.c answer-c++ "$CXX" -x c++ -std=c++20 -pedantic -Wno-missing-field-initializers
    programs+=("$scratch/answer-c++")
fi

cp "$source/tests/install/installed_answer.c" "$scratch/consumer/"
cp "$source/tests/install/consumer.cmake" "$scratch/consumer/CMakeLists.txt"
cmake -S "$scratch/consumer" -B "$scratch/consumer/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" >/dev/null
cmake --build "$scratch/consumer/build" >/dev/null

[ ! -x "$prefix/bin/glinfer" ] || "$prefix/bin/glinfer" --help >/dev/null ||
    die "the installed command does not run"
# Installs once more, elsewhere: the target uninstall leaves no file of it.
cmake --install "$build" --prefix "$scratch/removed" >/dev/null
cmake -D BUILD="$build" -P "$source/tools/cmake/uninstall.cmake" >/dev/null 2>&1 || die "the target uninstall fails"
[ -z "$(find "$scratch/removed" -not -type d)" ] || die "uninstall leaves files"
[ ! -e "$scratch/removed/include/glinfer" ] || die "uninstall leaves folders"

if [ ! -f "$model" ]; then
    echo "SKIPPED: no model to run; tools/fetch-model fetches one"
    exit 0
fi
for program in "${programs[@]}"; do
    "$program" "$model" | tee "$scratch/answer.txt"
    grep -qx '8 tokens' "$scratch/answer.txt" || die "$program did not print 8 tokens"
done
