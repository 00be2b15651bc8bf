// Package shellcmd determines which commands a shell script may run, without running anything.
//
// It does not guess: text that is not known before the script runs is marked with [Unknown], and an
// unreadable script has one entirely unknown command. It does not examine the machine: names are
// not looked up on PATH and file patterns are not expanded.
//
// The flow: [Script] parses the text twice, as Bash and as a POSIX shell, since it is not known
// which of them the machine has, and collects every simple command wherever it is: in lists, pipes,
// conditions, loops, functions, subshells, substitutions. Each word is expanded as far as it is
// known. Commands that start other commands (env, xargs, find -exec, sh -c, eval …) yield those
// too.
//
// Invariants: the commands are a superset of those that a shell itself runs from this text; the
// work is limited, and beyond the limit a command is unknown. The behavior of a program once it
// runs is not seen: `make`, `./build.sh` and the like are commands whose names are known.
package shellcmd
