#!/usr/bin/env bash
# report.sh GLINFER MODEL REPORTS: the report has its parts and nothing personal, and a part that fails does not end it;
# REPORTS, tools/reports, reads it. Status 77: no device.
set -u
reports=$3
source "$(dirname "$0")/../common.sh"

export HOME=$dir/home/somebody USER=somebody LOGNAME=somebody
mkdir -p "$HOME/secret models"
cp "$model" "$HOME/secret models/model.gguf"
file=$dir/report.txt
cd "$HOME" || exit 1

"$glinfer" report -m "secret models/model.gguf" -p 8 -n 4 -d 16 -r 1 -o "$file" 2>"$dir/log"
status=$?
if grep -q '^FAILED' "$file" && grep -q 'cannot use any device' "$file"; then
    exit 77
fi
check 'status' "$status" 0
check 'the last line' "$(tail -n 1 "$dir/log")" "$file is written: please read it and attach it to an issue"
check 'parts' "$(sed -n 's/^== \(.*\) ==$/\1/p' "$file" | tr '\n' ';')" \
    'system;devices;self-test;model;bench multi;bench persistent;profile of steps;profile of a prompt;end;'
check 'failures' "$(grep -c '^FAILED' "$file")" 0
check 'first line' "$(head -n 1 "$file")" 'glinfer report 1'
for line in '^kernel  *Linux ' '^processor  *[0-9]' '^all right: [0-9]+ programs' '^ok .*gemv_qkv' '^\{.*"dispatch": "' \
    '^\{"kernel":"attn_qkv"' '^    driver quirks ' '^  weights ' 'tg4 @ d16 |'; do
    grep -qE "$line" "$file" || check "a line like $line" no yes
done
for word in somebody secret "$dir" "$(uname -n)" "$(cat /sys/class/net/*/address 2>/dev/null | grep -v '^00:00:00:00:00:00$' | head -n 1)"; do
    [ -z "$word" ] || check "$word" "$(grep -cwF "$word" "$file")" 0
done

"$reports" "$file" >"$dir/read" 2>&1
check 'status of reports' $? 0
for line in '^  self-test  all right' '^  tg4 @ d16 +[0-9.]+' '^  step 16, times by ' '^  prompt 8, times by ' \
    '^  attn_qkv +3 +[0-9.]+ +[0-9.]+ +[0-9.]+  [a-z]' '^  wrong by 1.5 or more: '; do
    grep -qE "$line" "$dir/read" || check "reports: a line like $line" no yes
done
head -c 9000 "$file" >"$dir/cut"
"$reports" "$dir/cut" "$model" >"$dir/read" 2>&1
check 'status of reports with a file that is not a report' $? 1
grep -q 'not a report of glinfer' "$dir/read" || check 'a sentence about it' no yes
grep -q 'no kernel was timed' "$dir/read" || check 'a sentence about a file that is cut off' no yes

# A depth that does not fit fails in its parts alone.
"$glinfer" report -m "$model" -p 8 -n 4 -d 1000000 -r 1 -o "$file" 2>/dev/null
check 'status with failing parts' $? 0
check 'the end' "$(grep -c '^== end ==$' "$file")" 1
check 'failing parts' "$(grep -c '^FAILED: this section ended with status 1$' "$file")" 3

"$glinfer" report -m "$dir/no.gguf" -o "$dir/none" 2>/dev/null
check 'status without a model' $? 1
check 'a report without a model' "$([ -e "$dir/none" ] && echo yes)" ''
"$glinfer" report -m "$model" -o "$dir/no/report" 2>/dev/null
check 'status without a folder' $? 1
[ "$failures" -eq 0 ]
