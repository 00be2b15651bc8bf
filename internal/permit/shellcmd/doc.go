// Package shellcmd tells which commands a shell script may run, without running anything.
//
// It refuses to guess: what is not known before the script runs is marked by [Unknown], and a script that cannot be read has a command of which nothing
// is known. It refuses to look at the machine: names are not looked up on PATH and patterns of files are not expanded.
//
// The flow: [Script] parses the text twice, as Bash and as a POSIX shell read it, since which of them the machine has is not known, and takes every simple
// command wherever it is: in lists, pipes, conditions, loops, functions, subshells, substitutions. Each word is expanded as far as it is known. Commands
// that start other commands (env, xargs, find -exec, sh -c, eval …) give those too.
//
// Invariants: the commands are a superset of what a shell runs by itself from this text; the work is bounded, and beyond the bound a command is unknown.
// What a program does once it runs is not seen: `make`, `./build.sh` and the like are commands whose names are known.
package shellcmd
