// Package lint checks rules about the source: which packages may import which, which modules may be
// linked, which words and comments are allowed, how large the program may be, and that the examples
// build. Its tests read files and call the go command, from the root of the module.
package lint
