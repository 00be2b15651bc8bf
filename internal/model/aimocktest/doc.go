// Package aimocktest checks the adapters against aimock, a fake model server that others wrote: what the adapters and our own fake
// (package modeltest) agree on might still be wrong. Whole runs go against it too: models, an MCP server and searches of one process, whose journal tells what was used.
//
// The server is an npm package, pinned in scripts/aimock. `make test` installs it and sets HOCKET_AIMOCK=1, and then its absence is a
// failure. Without that variable the tests run where the package happens to be installed and say so where they do not.
package aimocktest
