#!/usr/bin/env bash
# wheel_test.sh SOURCE SCRATCH PYTHON...
#
# Builds the wheel and the source archive of tools/python by PyPI's build, or the wheel by pip, without a network, unpacks
# the wheel into an empty folder and runs an example with it from there. Uses the first PYTHON that has setuptools and
# wheel, or those of GLINFER_TEST_PYTHON.
set -euo pipefail
source=$1 scratch=$2

die() { printf 'wheel: %s\n' "$*" >&2; exit 1; }

export PYTHONPATH=${GLINFER_TEST_PYTHON:-} PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1700000000
can_build='import setuptools, pip
try:
    import setuptools.command.bdist_wheel
except ImportError:
    import wheel.bdist_wheel'
python=
for candidate in "${@:3}"; do
    if (cd / && "$candidate" -c "$can_build") 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || { echo "SKIPPED: no Python here has pip, setuptools and wheel"; exit 0; }

rm -rf "$scratch"
mkdir -p "$scratch/empty"
cp -r "$source/tools/python" "$scratch/package"
cd "$scratch/package"
if "$python" -m build --version >/dev/null 2>&1; then
    "$python" -m build --no-isolation --outdir "$scratch/dist" >"$scratch/log" 2>&1 || die "build fails: $(tail "$scratch/log")"
    grep -q '/glinfer/py.typed$' <<<"$(tar -tzf "$scratch"/dist/glinfer-*.tar.gz)" || die "the source archive lacks py.typed"
else
    "$python" -m pip wheel --no-deps --no-build-isolation -w "$scratch/dist" . >"$scratch/log" 2>&1 ||
        die "pip fails: $(tail "$scratch/log")"
fi
wheel=$(echo "$scratch"/dist/glinfer-*-py3-none-any.whl)
"$python" -m pip install --quiet --no-deps --root-user-action=ignore --target "$scratch/site" "$wheel"
for file in __init__.py _ffi.py _speech.py py.typed; do
    cmp "$source/tools/python/glinfer/$file" "$scratch/site/glinfer/$file" || die "the wheel has another $file"
done
cd "$scratch/empty"
PYTHONPATH=$scratch/site "$python" "$source/tools/python/examples/complete.py" "$source/tests/data/models/tiny-chat.gguf" Hello \
    2>"$scratch/log" >"$scratch/text" || { ! grep -q NoDeviceError "$scratch/log" || exit 77; die "$(cat "$scratch/log")"; }
grep -q ' tokens]' "$scratch/text" || die "the example printed: $(cat "$scratch/text")"
printf '%s runs an example\n' "${wheel##*/}"
