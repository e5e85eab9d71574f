// Completions for shells. The scripts of bash, zsh and fish ask the command itself, so they know
// its flags and the models on this machine.
#pragma once

// Prints the completions of the last of the words after `glinfer`, which may be "": one a line, the
// word, a tab and its description. The line ":file" means that file names fit too.
void cli_complete(int argc, const char *const *argv);
