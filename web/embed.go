// Package web holds the built page, which `hocket serve` shows in browsers. Its source is in this folder; `dist` is made of it and committed, under names that never
// change, so that `go install` gives the page without Node.
//
// What the server (internal/api/page) expects of dist: index.html with a `<head>`, which names all else by addresses that begin with `./`. There, the server writes the
// path under which browsers reach it, and adds two elements behind `<head>`: `<meta name="hocket-base" content="/PATH/">`, which begins and ends with a slash, and
// `<meta property="csp-nonce" nonce="NONCE">` for styles that scripts add. All other files are served as they are.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Files gives the built files: index.html and what it names.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the path is a constant
	}
	return files
}
