#!/bin/sh
# chat.sh GLINFER MODEL: a conversation through pipes: commands, files, a context that fills, and answers
# that do not depend on what the session held before. Status 77: no device or model.
. "$(dirname "$0")/common.sh"

[ -f "$model" ] || exit 77
"$glinfer" info >"$dir/devices" 2>&1 || exit 77

# chat LINES OPTIONS...: answers on stdout, all else in $dir/errors
chat()
{
    lines=$1
    shift
    printf "$lines" | "$glinfer" chat -m "$model" -n 12 --temp 0 "$@" 2>"$dir/errors"
}

said()
{
    grep -c "$1" "$dir/errors"
}

chat "Hello there\nHow are you?\n/save $dir/two.json\nAnd now?\n" >"$dir/whole"
check 'a conversation' $? 0
check 'is saved' "$(said '4 messages are saved')" 1
check 'as JSON' "$(grep -c '"role":' "$dir/two.json")" 4
chat "/load $dir/two.json\nAnd now?\n/stats\n" >"$dir/rest"
check 'is loaded' "$(said '4 messages are loaded')" 1
size=$(wc -c <"$dir/rest")
check 'goes on as it would have' "$(tail -c "$size" "$dir/whole" | cksum)" "$(cksum <"$dir/rest")"

# The first batch, a turn in the middle of its prompt or answer, the last answer.
chat "Hello there\nHow are you?\nAnd now?\n" --ubatch-size 8 >"$dir/turns"
for place in EMBED_BATCH:1 EMBED_BATCH:4 EMBED_TOKEN:3 EMBED_TOKEN:14 EMBED_TOKEN:30; do
    GLINFER_FAULT="lost:$place" chat "Hello there\nHow are you?\nAnd now?\n" --ubatch-size 8 >"$dir/lost"
    check "a chat goes on after a lost context ($place)" "$(cksum <"$dir/lost")" "$(cksum <"$dir/turns")"
    check "and says it ($place)" "$(said 'recovering')" 1
done

# Sampling that generation_config.json recommends, and a flag against it.
folder=$(dirname "$model")/../folders/llama
printf '/set\n' | "$glinfer" chat -m "$folder" --top-p 0.7 2>"$dir/errors" >/dev/null
check 'the temperature that the file recommends' "$(said '^temperature 0.6$')" 1
check 'the top-p of the flag' "$(said '^top-p 0.7$')" 1
check 'a top-k that no file names' "$(said '^top-k 40$')" 1

cp -r "$folder" "$dir/penalty"
printf '{"repetition_penalty":1.5}' >"$dir/penalty/generation_config.json"
printf '/set\n' | "$glinfer" chat -m "$dir/penalty" 2>"$dir/errors" >/dev/null
check 'the repeat-penalty that the file recommends' "$(said '^repeat-penalty 1.5$')" 1
check 'it counts all tokens' "$(said '^repeat-last-n -1$')" 1
printf '/set\n' | "$glinfer" chat -m "$dir/penalty" --repeat-penalty 1.2 2>"$dir/errors" >/dev/null
check 'the repeat-penalty of the flag' "$(said '^repeat-penalty 1.2$')" 1
check 'with its count' "$(said '^repeat-last-n 64$')" 1

chat 'Hello there\n' >"$dir/once"
chat 'Hello there\n/reset\nHello there\n' >"$dir/twice"
cat "$dir/once" "$dir/once" | cmp -s - "$dir/twice"
check 'a reset forgets' $? 0
chat 'Hello there' | cmp -s - "$dir/once"
check 'the last line needs no end' $? 0
chat '\n  \n\r\nHello there\r\n' | cmp -s - "$dir/once"
check 'empty lines are not messages' $? 0

chat '/system\n/system be brief\n/system\nHi\n/reset\n/save '"$dir"'/system.json\n' >/dev/null
check 'no system message' "$(said 'there is no system message')" 1
check 'a system message' "$(said '^be brief$')" 1
check 'outlives a reset' "$(grep -c 'be brief' "$dir/system.json")" 1
chat "/save $dir/flag.json\n" -sys 'be brief' >/dev/null
cmp -s "$dir/flag.json" "$dir/system.json"
check 'a system message by flag' $? 0

chat 'one\n/stats\ntwo two\n/stats\n' >/dev/null
check 'the first turn finds nothing held' "$(said '^reused  *0 tokens')" 1
check 'the second one does' "$(said '^reused  *[1-9][0-9]* tokens')" 1
context=$(sed -n 's/^context  *\([0-9]*\) tokens.*/\1/p' "$dir/errors" | head -n 1)
check 'all that was in the context' "$(said "^reused  *$context tokens")" 1

chat "Hi\n/reset\n/stats\n/load $dir/two.json\n/stats\n" >/dev/null
check 'no answer yet after a reset, nor after a file' "$(said 'no answer yet')" 2

chat "one one\ntwo two\nthree three\nfour four\n/save $dir/all.json\n" -c 128 >/dev/null
check 'a full context' $? 0
grep -q 'the model no longer sees [0-9]* messages\? at the beginning' "$dir/errors"
check 'is said' $? 0
check 'loses nothing' "$(grep -c '"role":' "$dir/all.json")" 8
chat "$(printf '%0300d' 7)\n" -c 128 >/dev/null
check 'a message over the context' $? 1
check 'is refused' "$(said 'cannot answer: the message takes')" 1

chat 'Hello there\n/retry\n/undo\n/undo\n' >"$dir/again"
check 'a message that is not there cannot be forgotten' $? 1
check 'a message that is forgotten' "$(said '0 messages are left')" 1
check 'retry answers again' "$(cat "$dir/again")" "$(cat "$dir/once" "$dir/once")"
chat 'one \\\ntwo\n"""three\nfour\n"""\n/save '"$dir"'/lines.json\n' >/dev/null
check 'lines that go on' "$(grep -c -e 'one .ntwo"' -e '"three.nfour"' "$dir/lines.json")" 2
chat '"""/reset\n"""\n"""//two"""\n/system """/brief"""\n/save '"$dir"'/slashes.json\n' >/dev/null
check 'quoted text is not a command' "$(grep -c -e '"/reset"' -e '"//two"' -e '"/brief"' "$dir/slashes.json")" 3
chat '/set tokens 3\n/set temperature 0.5\n/set system be brief\n/set\n/set tokens\nHi\n/stats\n' >/dev/null
check 'settings are printed' "$(grep -cxE 'tokens 3|temperature 0.5|system be brief' "$dir/errors")" 6
check 'all samplers are' "$(grep -cxE '(top-k|seed|repeat-penalty|mirostat|dry-base) [-0-9.]+' "$dir/errors")" 5
check 'and hold' "$(said '^answer  *3 tokens')" 1
chat '/set tokens many\n/set xyzzy\n/set top_p 5\n/set top_kk 5\n' >/dev/null
check 'wrong settings fail the chat' "$?$(said 'expected a whole number from 1 to')$(said 'unknown setting xyzzy; /set lists')" 111
check 'with what is right' "$(said 'invalid top-p "5": expected a number from 0 to 1')$(said 'is it top-k')" 11
chat '/set temp 0.5\n/set top_k=7\n/set --seed 5\n/set logit-bias 5-inf\n/set samplers top_k\n/set -n 2\n/set n-predict 3\nHi\n/stats\n' >/dev/null
check 'by any name' "$(grep -cxE 'temperature 0.5|top-k 7|seed 5|samplers top_k|tokens 3' "$dir/errors")" 5
chat 'a\000b\n' >/dev/null
check 'a zero byte in a message' "$?$(said 'invalid message: zero byte at offset 1')" 11
cat >"$dir/template" <<'END'
{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant{{ '\n' }}
END
chat 'Hello there\n' --chat-template chatml >"$dir/named"
chat 'Hello there\n' --chat-template-file "$dir/template" | cmp -s - "$dir/named"
check 'a template of a file' $? 0
printf 'be brief\n' >"$dir/system"
chat "/save $dir/told.json\n" -sysf "$dir/system" >/dev/null
cmp -s "$dir/told.json" "$dir/system.json"
check 'a system message of a file' $? 0
chat "/save $dir/half.json\n" -sysf "$dir/nowhere" >/dev/null
check 'which cannot be read' "$?$(said 'cannot read .*nowhere:')" 11

# A model with recurrent layers goes back to a state that it kept.
words='A question of thirty tokens and more, since reading fewer of them again costs less than a checkpoint'
both=$model model=$(dirname "$model")/tiny-lfm2.gguf
chat "$words\nAnd $words\n/stats\n/retry\n/stats\n/undo\nOther words\n/stats\n" --chat-template chatml >/dev/null
check 'in the next turn, another answer and another question' "$(said '^reused  *[1-9][0-9]* tokens')" 3
model=$both

chat '/help\n/nonsense\n/reste\n/sys\n/stats\n/save\n/load /nowhere/at.all\n/save /nowhere/at.all\n/quit\nHi\n' >"$dir/none"
status=$?
check 'commands alone' "$(wc -c <"$dir/none" | tr -d ' ')" 0
check 'that fail' "$status" 1
for line in '/help  *show these lines' 'unknown command /nonsense' 'is it /reset?' 'is it /system?' 'no answer yet' \
    '/save needs a file' 'cannot read /nowhere/at.all' 'cannot write /nowhere/at.all'; do
    check "$line" "$(said "$line")" 1
done
ln -s target.json "$dir/link.json"
mkfifo "$dir/pipe"
timeout 60 cat "$dir/pipe" >"$dir/read" &
chat "/save $dir/link.json\n/save $dir/pipe\n/save $dir\n" -sys 'be brief' >/dev/null
wait
check 'a link leads to what is saved' "$(grep -c 'be brief' "$dir/target.json")" 1
check 'and stays one' "$([ -L "$dir/link.json" ]; echo $?)" 0
check 'a fifo is written' "$(grep -c 'be brief' "$dir/read")" 1
check 'and stays one' "$([ -p "$dir/pipe" ]; echo $?)" 0
check 'a folder is refused' "$(said 'Is a directory')" 1
echo before >"$dir/kept.json"
ln -s kept.json "$dir/to_kept.json"
mkdir "$dir/kept.json.part" # so that nothing new can be written
chat "/save $dir/to_kept.json\n" -sys 'be brief' >/dev/null
check 'a file that is there fails the chat' $? 1
check 'it is not replaced by itself' "$(said 'it exists; /save!')" 1
chat "/save! $dir/to_kept.json\n" -sys 'be brief' >/dev/null
check 'what cannot be saved through a link' "$(said 'cannot write .*to_kept.json')" 1
check 'leaves what was there' "$(cat "$dir/kept.json")" before
printf '[{"role":"user"}]' >"$dir/bad.json"
printf '{"a":' >"$dir/worse.json"
chat "/load $dir/bad.json\n/load $dir/worse.json\n" >/dev/null
check 'a message without content' "$(said 'message 1 lacks a role')" 1
check 'a file without a conversation' "$(said 'invalid conversation')" 1

chat 'Hi\n' >/dev/full
check 'a full disk' $? 1
mkfifo "$dir/fifo"
(exec 3<>"$dir/fifo"; exec "$glinfer" chat -m "$model" <"$dir/fifo" 2>/dev/null) &
sleep 1
kill -INT $!
wait $!
check 'an interrupt' $? 130

[ "$failures" -eq 0 ]
