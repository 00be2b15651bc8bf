// Package aimocktest checks the adapters against aimock, a third-party fake model server: the
// adapters and our own fake (package modeltest) might agree and both be wrong. Entire runs use it
// too: models, an MCP server and searches of one process, whose journal records what was used.
//
// The server is an npm package, pinned in scripts/aimock. `make test` installs it and sets
// HOCKET_AIMOCK=1, which makes its absence a failure. Without that variable the tests run if the
// package happens to be installed, and say so if it is not.
package aimocktest
