// Package lint checks rules about the repository: which packages may import which, which modules may
// be linked, how large programs, ports and the public API may be, which words are allowed, that
// comments and pages name what exists, and that a release is what was built and tested. Its tests
// read files and call the go command, from the root of the module.
package lint
