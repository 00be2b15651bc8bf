package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Own tells whether a file is the operator's own: by its absolute path without links, by what it is where info is not nil (a hard link has another name),
// and with below also whether one of them is in the folder path.
type Own func(path string, info fs.FileInfo, below bool) bool

// guard refuses what is the operator's own: his configuration, tokens, keys and stores, and what makes git start programs. info is the file that was
// opened; nil: none was.
func (c call) guard(name string, info fs.FileInfo) error {
	t := c.set
	own := startsPrograms(name) || c.at.entry && strings.EqualFold(path.Base(name), ".git") ||
		t.own != nil && t.own(filepath.Join(t.realDir, filepath.FromSlash(name)), info, c.at.below)
	if !own || t.named(name) {
		return nil
	}
	return refuse("%q is one of the operator's own files, which no tool reaches unless own_files of its toolset names it", name)
}

// named tells whether own_files names a file, or a folder that it is in.
func (t *Toolset) named(name string) bool {
	return slices.ContainsFunc(t.opts.OwnFiles, func(own string) bool {
		own = path.Clean(filepath.ToSlash(own))
		return own == name || strings.HasPrefix(name, own+"/")
	})
}

// startsPrograms tells whether git takes programs to run from a name: hooks, and configurations, which name them. The case of letters does not count, as
// on some file systems.
func startsPrograms(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	at := slices.IndexFunc(parts, func(p string) bool { return strings.TrimRight(p, ". ") == ".git" })
	if at < 0 {
		return false
	}
	return slices.ContainsFunc(parts[at+1:], func(p string) bool { return p == "hooks" || strings.HasPrefix(p, "config") })
}
