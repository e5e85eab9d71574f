# Completions of glinfer for fish: the command knows them.
function __glinfer_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    for line in ($words[1] --complete $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null)
        if string match --quiet ':file*' -- $line # with an ending after a tab, or any
            set -l ending (string split \t -- $line)[2]
            __fish_complete_path (commandline --current-token --cut-at-cursor) |
                string match --regex ".*(/|"(string escape --style=regex -- "$ending")")(?=\t|\$).*"
        else
            echo $line
        end
    end
end
complete --command glinfer --no-files --arguments '(__glinfer_complete)'
