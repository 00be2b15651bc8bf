package files

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Own reports whether a file belongs to the operator. Files are compared by absolute path with
// links resolved and, if info is not nil, by identity (a hard link has another name). With below,
// it also reports true if path is a folder that contains such a file.
type Own func(path string, info fs.FileInfo, below bool) bool

// guard rejects the operator's own files (configuration, tokens, keys and stores) and files that
// make git start programs. info describes the opened file; nil means that no file was opened.
func (c call) guard(name string, info fs.FileInfo) error {
	t := c.set
	own := startsPrograms(name, c.at.below) || c.at.entry && strings.EqualFold(path.Base(name), ".git") ||
		t.own != nil && t.own(filepath.Join(t.realDir, filepath.FromSlash(name)), info, c.at.below)
	if !own || t.isNamed(name) {
		return nil
	}
	return refuse("%q is one of the operator's own files, which tools can access only if own_files of their toolset "+
		"lists it", name)
}

// isNamed reports whether own_files names the file, or a folder that contains it.
func (t *Toolset) isNamed(name string) bool {
	return slices.ContainsFunc(t.opts.OwnFiles, func(own string) bool {
		own = path.Clean(filepath.ToSlash(own))
		return own == name || strings.HasPrefix(name, own+"/")
	})
}

// startsPrograms reports whether git runs programs that the named file specifies: hooks,
// configuration files (which name programs), files that say where these are, and the todo list of a
// rebase in progress. With whole, it reports true for any name in a .git folder: moving a folder
// there can add such files, and moving one away leaves its files unprotected. Letter case is
// ignored, as on some file systems, and so are characters that HFS+ ignores.
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
		return strings.HasPrefix(p, "config") ||
			slices.Contains([]string{"hooks", "commondir", "gitdir", "git-rebase-todo"}, p)
	})
}
