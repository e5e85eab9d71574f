#!/usr/bin/env bash
# examples_test.sh BUILD MODEL CHAT COMMAND SERVE_TESTS
#
# Runs the examples of the folder BUILD with a tiny model and checks their output; ask also with CHAT, a tiny model that
# has a chat template, where it answers as COMMAND, glinfer itself, does. A script of SERVE_TESTS writes a speech model.
set -euo pipefail
build=$1 model=$2 chat=$3 command=$4 serve_tests=$5
scratch=$build/examples_test
mkdir -p "$scratch"
rm -rf "${scratch:?}"/*

die() { printf 'examples: %s\n' "$*" >&2; exit 1; }

run() { # a program and its arguments; what it prints goes to out.txt
    local status=0
    "$build/$1" "${@:2}" >"$scratch/out.txt" 2>"$scratch/err.txt" </dev/null || status=$?
    ! grep -q 'no usable device\|EGL has no' "$scratch/err.txt" || exit 77
    [ "$status" = 0 ] || die "$1 ended with $status: $(cat "$scratch/err.txt")"
    [ ! -s "$scratch/err.txt" ] || ! grep "^$1:" "$scratch/err.txt" || die "$1 printed an error"
}

run ask "$model" Hello
[ "$(wc -c <"$scratch/out.txt")" -gt 20 ] || die "ask printed no answer"
run ask "$chat" Hello 12
"$command" run -q -m "$chat" -p Hello -n 12 --temp 0 2>/dev/null >"$scratch/command.txt"
[ "$(wc -c <"$scratch/command.txt")" -gt 5 ] || die "run printed no answer"
cmp "$scratch/out.txt" "$scratch/command.txt" || die "ask does not use the chat template"

run poll "$model" 5
grep -qa '^\[5 tokens, cancelled\]$' "$scratch/out.txt" || die "poll did not cancel at 5 tokens"
grep -qa '^\[60 tokens, to the end\]$' "$scratch/out.txt" || die "poll did not recover"

run json "$model" Paris
grep -qa '^country: .' "$scratch/out.txt" || die "json filled in no country"
grep -qaE '^population: [0-9]+$' "$scratch/out.txt" || die "json filled in no population"
grep -qaE '^capital: (yes|no)$' "$scratch/out.txt" || die "json filled in no boolean"

# A speech model of random weights hears words in noise.
write_speech='import sys; sys.path.insert(0, sys.argv[3]); import speech_test
speech_test.write_whisper(sys.argv[1]); open(sys.argv[2], "wb").write(speech_test.make_sound(2))'
PYTHONDONTWRITEBYTECODE=1 python3 -c "$write_speech" "$scratch/whisper.bin" "$scratch/noise.wav" "$serve_tests"
tail -c 64000 "$scratch/noise.wav" >"$scratch/noise.raw"
run transcribe "$scratch/whisper.bin" "$scratch/noise.wav"
grep -qE '^ +[0-9.]+ s +[^ ]+$' "$scratch/out.txt" || die "transcribe printed no text"
mv "$scratch/out.txt" "$scratch/noise.txt"
run transcribe --raw "$scratch/whisper.bin" "$scratch/noise.raw"
cmp "$scratch/out.txt" "$scratch/noise.txt" || die "transcribe hears a WAV file and its samples differently"
for file in "$scratch/noise.raw" "$0" "$scratch/no-file"; do
    ! "$build/transcribe" "$scratch/whisper.bin" "$file" 2>"$scratch/err.txt" || die "transcribe takes $file"
    grep -q '^transcribe: .*\(is not a WAV file\|cannot open\)' "$scratch/err.txt" || die "transcribe does not say what is wrong with $file"
done

run kiosk -m "$model" --seconds 2 --png "$scratch"
for line in '^intervals of frames: [0-9]+; median [0-9.]+ ms' '^frames missed: [0-9]+ of 120 at 60 Hz$' \
    '^glinfer_step: [0-9.]+ % within 12\.0 ms' '^durations of glinfer_step: [0-9]+; median' \
    '^  <= +[0-9.inf]+ ms +[0-9]+ +[0-9.]+ %' '^tokens: [1-9][0-9]*, [0-9.]+ tokens/s$'; do
    grep -qE "$line" "$scratch/out.txt" || die "kiosk printed no line like $line"
done
for picture in "$scratch"/kiosk-{0,1,2,3}.png; do
    [ "$(head -c 8 "$picture" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || die "$picture is not a PNG"
done
cmp -s "$scratch/kiosk-0.png" "$scratch/kiosk-3.png" && die "the sign does not move"
cat "$scratch/out.txt"

run voice -m "$model" --speech-model "$scratch/whisper.bin" --sound "$scratch/noise.raw" --seconds 4 --png "$scratch"
for line in '^> w[0-9]+' '^frames missed: [0-9]+ of 240 at 60 Hz$' '^durations of glinfer_transcription_step: [1-9]' \
    '^durations of glinfer_step: [1-9]' '^heard: 1 utterances in 2\.0 s of sound$' '^answers: [0-9]+, tokens: [1-9]'; do
    grep -qaE "$line" "$scratch/out.txt" || die "voice printed no line like $line"
done
[ -s "$scratch/voice-3.png" ] || die "voice wrote no picture"

# A recorder that is blocked, since its pipe is full, ends too.
mkdir -p "$scratch/bin"
printf '#!/bin/sh\ntrap exit TERM\ncat /dev/zero\n' >"$scratch/bin/arecord"
chmod +x "$scratch/bin/arecord"
PATH=$scratch/bin:$PATH run voice -m "$model" --speech-model "$scratch/whisper.bin" --sound mic --seconds 1 --fps 4
grep -q '^heard: 0 utterances in [0-9.]*[1-9]' "$scratch/out.txt" || die "voice hears no microphone"

for card in /dev/null "$scratch/no-card"; do
    ! "$build/kiosk" -m "$model" --kms "$card" 2>"$scratch/err.txt" || die "kiosk shows something on $card"
    grep -q "^kiosk: $card: [nN]o " "$scratch/err.txt" || die "kiosk does not say what is wrong with $card"
done
