// Package web holds the built page that `hocket serve` shows in browsers. Its source is in this
// folder; `dist` is built from it and committed, under names that never change, so that `go
// install` includes the page without Node.
//
// The server (internal/api/page) expects dist to contain index.html with a `<head>`; it refers to
// all other files by addresses that begin with `./`. The server inserts the path under which
// browsers reach it, and adds two elements after `<head>`: `<meta name="hocket-base"
// content="/PATH/">`, whose content begins and ends with a slash, and `<meta property="csp-nonce"
// nonce="NONCE">` for styles that scripts add. All other files are served unchanged.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Files returns the built files: index.html and the files that it refers to.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the path is a constant
	}
	return files
}
