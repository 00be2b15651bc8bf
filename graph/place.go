package graph

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// caller returns the position in the user's program that called this package.
func caller() diag.Span {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return diag.Span{}
	}
	return diag.Span{File: file, Start: diag.Pos{Line: line, Column: 1}}
}

// reachable returns the path of a source file such that an editor finds it from the working
// directory: relative if it is under that or under the module's folder, absolute otherwise. A
// program built with -trimpath knows its files only by import path; if they cannot be found, that
// path is returned.
func reachable(file string) string {
	if file == "" {
		return ""
	}
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	if filepath.IsAbs(file) {
		if rel, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
		return file
	}
	path := filepath.FromSlash(file)
	if info, ok := debug.ReadBuildInfo(); ok {
		if rest, own := strings.CutPrefix(file, strings.TrimSuffix(info.Main.Path, "/")+"/"); own {
			path = filepath.FromSlash(rest)
		}
	}
	for up := ""; ; up = filepath.Join(up, "..") {
		at := filepath.Join(dir, up, path)
		if _, err := os.Stat(at); err == nil {
			if rel, err := filepath.Rel(dir, at); err == nil {
				return rel
			}
			return at
		}
		if filepath.Dir(filepath.Join(dir, up)) == filepath.Join(dir, up) {
			return file
		}
	}
}

// placed returns problems with paths that an editor can follow.
func placed(l diag.List) diag.List {
	for i := range l {
		l[i].Span.File = reachable(l[i].Span.File)
	}
	return l
}
