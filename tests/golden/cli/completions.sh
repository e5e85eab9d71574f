#!/usr/bin/env bash
# completions.sh GLINFER MODEL COMPLETIONS: what bash, zsh and fish offer with the scripts of the folder COMPLETIONS; a shell that is
# not here is left out.
set -u
. "$(dirname "$0")/common.sh"
completions=$3
export XDG_CACHE_HOME=$dir/cache
mkdir -p "$dir/bin" "$dir/cache/glinfer/models/hf/user/repo" "$dir/files"
ln -s "$glinfer" "$dir/bin/glinfer"
cp "$model" "$dir/cache/glinfer/models/own.gguf"
cp "$model" "$dir/cache/glinfer/models/hf/user/repo/hub.gguf"
touch "$dir/files/some.gguf" "$dir/files/text.txt" "$dir/files/some.txt"
mkdir "$dir/files/some.dir"
export PATH=$dir/bin:$PATH
cd "$dir/files" || exit 1

# shellcheck source=/dev/null
. "$completions/glinfer.bash"
in_bash() # WORDS...: prints what is offered for the last one, sorted, in one line
{
    COMP_WORDS=(glinfer "$@") COMP_CWORD=$# COMPREPLY=()
    _glinfer
    printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

check bash.command "$(in_bash ch)" 'chat '
check bash.flag "$(in_bash run --prec)" '--precision '
check bash.choice "$(in_bash run -m x -ctk q)" 'q4_0 q8_0 '
check bash.model "$(in_bash run -m o)" 'own '
check bash.files "$(in_bash run -f '')" 'some.dir some.gguf some.txt text.txt '
check bash.model_or_file "$(in_bash info -m some)" 'some.dir some.gguf '
check bash.device "$(in_bash run -dev sur)" 'surfaceless '
check bash.device_long "$(in_bash serve --device a)" 'auto '
check bash.samplers "$(in_bash run --samplers top)" 'top_k top_n_sigma top_p '
check bash.next_sampler "$(in_bash run --samplers 'top_k;m')" 'top_k;min_p '
check bash.template "$(in_bash chat --chat-template chatm)" 'chatml chatml-bos '
check bash.known "$(in_bash pull qwen2)" 'qwen2.5-0.5b '
check bash.colon "$(COMP_WORDBREAKS=: in_bash models --remove hf:u)" 'user/repo/hub.gguf '
check bash.nothing "$(in_bash run hello)" ' '

if command -v fish >/dev/null; then
    in_fish() { fish --no-config -c "source '$completions/glinfer.fish'; complete --do-complete '$1'" | cut -f 1 | sort | tr '\n' ' '; }
    check fish.command "$(in_fish 'glinfer ch')" 'chat '
    check fish.choice "$(in_fish 'glinfer run -m x -ctk q')" 'q4_0 q8_0 '
    check fish.model "$(in_fish 'glinfer run -m o')" 'own '
    check fish.file "$(in_fish 'glinfer run -f te')" 'text.txt '
    check fish.model_or_file "$(in_fish 'glinfer info -m some')" 'some.dir/ some.gguf '
else
    echo 'fish is not here'
fi

if command -v zsh >/dev/null; then
    # zsh completes in a terminal alone; what the script hands on is looked at in place of that.
    in_zsh() {
        zsh -f -c 'completions=$1; shift
            _describe() { print -l -- ${${offers//\\:/;}%%:*} }
            _files() { print FILES $* }
            words=("$@") CURRENT=$#
            . $completions/_glinfer' zsh "$completions" glinfer "$@" | sort | tr '\n' ' '
    }
    check zsh.command "$(in_zsh ch)" 'chat '
    check zsh.choice "$(in_zsh run -m x -ctk q)" 'q4_0 q8_0 '
    check zsh.model "$(in_zsh run -m '')" 'FILES -g *.gguf hf;user/repo/hub.gguf own '
    check zsh.file "$(in_zsh run -f te)" 'FILES '
else
    echo 'zsh is not here'
fi
[ "$failures" -eq 0 ]
