package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Own tells whether a file is the operator's own: by its absolute path without links, by what it is where info is not nil (a hard link has another name),
// and with below also whether one of them is in the folder path.
type Own func(path string, info fs.FileInfo, below bool) bool

// guard refuses what is the operator's own: his configuration, tokens, keys and stores, and what makes git start programs. info is the file that was
// opened; nil: none was.
func (c call) guard(name string, info fs.FileInfo) error {
	t := c.set
	own := startsPrograms(name, c.at.below) || c.at.entry && strings.EqualFold(path.Base(name), ".git") ||
		t.own != nil && t.own(filepath.Join(t.realDir, filepath.FromSlash(name)), info, c.at.below)
	if !own || t.isNamed(name) {
		return nil
	}
	return refuse("%q is one of the operator's own files, which tools can access only if own_files of their toolset lists it", name)
}

// isNamed tells whether own_files names a file, or a folder that it is in.
func (t *Toolset) isNamed(name string) bool {
	return slices.ContainsFunc(t.opts.OwnFiles, func(own string) bool {
		own = path.Clean(filepath.ToSlash(own))
		return own == name || strings.HasPrefix(name, own+"/")
	})
}

// startsPrograms tells whether git takes programs to run from a name: hooks, and configurations, which name them; what says where those are; and the list
// of a rebase that is under way. With whole also other names in a .git folder: a folder that is moved there brings such files, and one that is moved away
// leaves their protection. The case of letters does not count, as on some file systems, nor do characters that HFS+ ignores.
func startsPrograms(name string, whole bool) bool {
	parts := strings.Split(strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)), "/")
	for i, p := range parts {
		parts[i] = strings.TrimRight(p, ". ")
	}
	at := slices.IndexFunc(parts, func(p string) bool { return p == ".git" || p == "git~1" })
	if at < 0 {
		return false
	}
	return whole || slices.ContainsFunc(parts[at+1:], func(p string) bool {
		return strings.HasPrefix(p, "config") || slices.Contains([]string{"hooks", "commondir", "gitdir", "git-rebase-todo"}, p)
	})
}
