# Completions of glinfer for bash: the command knows them.
_glinfer() {
    local word ending cut
    local -a words
    COMPREPLY=()
    # Words as the shell reads them, "hf:user/repo" being one.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local cur cword
        _get_comp_words_by_ref -n := -c cur -i cword -w words
    else
        local cur=${COMP_WORDS[COMP_CWORD]} cword=$COMP_CWORD
        words=("${COMP_WORDS[@]}")
    fi
    while IFS=$'\t' read -r word ending; do
        if [ "$word" = :file ]; then # with an ending, or any
            compopt -o filenames 2>/dev/null
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f ${ending:+-X "!*$ending"} -- "$cur")
            [ -z "$ending" ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
        else
            COMPREPLY+=("$word")
        fi
    done < <("${words[0]}" --complete "${words[@]:1:cword}" 2>/dev/null)
    # A word that bash splits at a colon keeps what stands before it.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        cut=${cur%"${cur##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    fi
}
complete -F _glinfer glinfer
