// Package lint holds the rules of the source: which package may import which, which modules are
// linked, which words and comments are used, how large the program is, and that examples build. Its
// tests read files and call the go command, from the root of the module.
package lint
