# Completions of glinfer for fish: the command knows them.
function __glinfer_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    for line in ($words[1] --complete $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null)
        if test "$line" = :file
            __fish_complete_path (commandline --current-token --cut-at-cursor)
        else
            echo $line
        end
    end
end
complete --command glinfer --no-files --arguments '(__glinfer_complete)'
