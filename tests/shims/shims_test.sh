#!/usr/bin/env bash
# shims_test.sh GPU RENDERER GLINFER MODEL_PROGRAMS MODEL: the real Mesa driver of a GPU over a kernel
# that only pretends. `glinfer info` has to name the GPU (a regular expression) through GBM, and every
# program of the model has to compile. Status 77 unless GLINFER_SHIM_KIT names a folder with gles-shim.
set -uo pipefail
gpu=$1 renderer=$2 glinfer=$3 model_programs=$4 model=$5
shim=${GLINFER_SHIM_KIT:-}/gles-shim
[ -n "${GLINFER_SHIM_KIT:-}" ] && [ -x "$shim" ] || exit 77

export GLINFER_SELFTEST=off # nothing is computed
log=$(mktemp)
trap 'rm -f "$log"' EXIT
fail() {
    echo "$gpu: $1" >&2
    tail -n 20 "$log" >&2
    exit 1
}

timeout 30 "$shim" "$gpu" "$glinfer" info >"$log" 2>&1 || fail "glinfer info: status $?"
grep -Eq "^gbm:[^ ]*: .*($renderer)" "$log" || fail "glinfer info does not name $renderer"
timeout 60 "$shim" "$gpu" "$model_programs" "$model" >"$log" 2>&1 ||
    fail "the programs of $model do not compile within a minute: status $?"
# Midgard's compiler gives up without telling GL.
! grep -q 'Failed to choose spill node' "$log" || fail "a program finds no registers"

# V3D compiles at the first dispatch. The step ends without a result, which has to be said.
timeout 60 "$shim" "$gpu" "$glinfer" run -m "$model" --raw -p Hi -n 1 --device gbm >"$log" 2>&1
status=$?
[ "$status" = 1 ] && grep -q 'the GPU did not finish step 0' "$log" ||
    fail "glinfer run: status $status, or a missing result is not spoken of"
! grep -q 'Failed to choose spill node' "$log" || fail "a program finds no registers"
