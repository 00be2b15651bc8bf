package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
)

// maxLinks is the maximum number of links that one path may pass through, as in operating systems.
const maxLinks = 40

// places describes the arguments of a tool that hold paths.
type places struct {
	one  []string
	many string
	// entry is set if the tool acts on the entry at the path itself and does not follow a link
	// there.
	entry bool
	// below is set if naming a folder is enough for the tool to reach everything in it.
	below bool
}

var placesOf = map[string]places{
	"read_file": {one: []string{"path"}}, "read_multiple_files": {many: "paths"},
	"write_file": {one: []string{"path"}, entry: true}, "edit_file": {one: []string{"path"}, entry: true},
	"list_directory": {one: []string{"path"}}, "directory_tree": {one: []string{"path"}},
	"search_files": {one: []string{"path"}}, "search_files_content": {one: []string{"path"}},
	"create_directory": {many: "paths", entry: true}, "remove_directory": {many: "paths", entry: true, below: true},
	"move_file": {one: []string{"source", "destination"}, entry: true, below: true},
}

// Resources returns what the paths of a call lead to: the paths as written, relative to the folder
// of the toolset, and the targets of links (SEC13).
func (f fileTool) Resources(ctx context.Context, c tool.Call) ([]tool.Resource, error) {
	root, _, done, err := f.set.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var args map[string]json.RawMessage
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &args) != nil {
		return nil, nil // the call itself reports the error
	}
	at := placesOf[f.def.Name]
	var out []tool.Resource
	for _, name := range at.one {
		var p string
		if json.Unmarshal(args[name], &p) != nil {
			p = ""
		}
		r, _, _ := f.set.resource(root, at, name, orRoot(p)) // the call itself reports the error
		out = append(out, r)
	}
	if slices.ContainsFunc(out, func(r tool.Resource) bool { return r.Below }) {
		for i := range out {
			out[i].Below = true // the content of a folder is reachable under both names
		}
	}
	var many []string
	if at.many == "" || json.Unmarshal(args[at.many], &many) != nil {
		return out, nil
	}
	for _, p := range many[:min(len(many), maxPaths)] {
		r, _, _ := f.set.resource(root, at, at.many, p)
		out = append(out, r)
	}
	return out, nil
}

// resource returns what one path refers to, and the name without links that a tool acts on. A path
// that leads nowhere has no names, and err says why.
func (t *Toolset) resource(root *os.Root, at places, argument, p string) (r tool.Resource, target string, err error) {
	r.Argument = argument
	name, err := t.resolve(p)
	if err != nil {
		return r, "", err
	}
	found := []string{name}
	if at.entry {
		if target, err = entryName(root, name); err != nil {
			return r, "", err
		}
		found = append(found, target)
	}
	plain, err := realName(root, name)
	switch {
	case err == nil:
		found = append(found, plain)
	case !at.entry:
		return r, "", err
	}
	if !at.entry {
		target = plain
	}
	for i, name := range found {
		if !slices.Contains(found[:i], name) {
			r.Names = append(r.Names, t.spellings(name))
		}
	}
	if st, err := root.Lstat(target); at.below && err == nil && st.IsDir() {
		r.Below = true
	}
	return r, target, nil
}

// spellings returns the names that rules may use for a file: relative to the folder of the toolset,
// and absolute.
func (t *Toolset) spellings(name string) []string {
	abs := filepath.ToSlash(filepath.Join(t.dir, filepath.FromSlash(name)))
	out := []string{name, abs}
	if t.realDir != "" && t.realDir != t.dir {
		out = append(out, filepath.ToSlash(filepath.Join(t.realDir, filepath.FromSlash(name))))
	}
	if home, err := os.UserHomeDir(); err == nil {
		if rel, err := filepath.Rel(home, filepath.FromSlash(abs)); err == nil && filepath.IsLocal(rel) {
			out = append(out, "~/"+filepath.ToSlash(rel)) // as in the operator's rules
		}
	}
	return out
}

// entryName returns the name, without links, of an entry of a folder: links on the way to the
// folder are followed, but a link at the name itself is not.
func entryName(root *os.Root, name string) (string, error) {
	if name == "." {
		return name, nil
	}
	dir, err := realName(root, path.Dir(name))
	return path.Join(dir, path.Base(name)), err
}

// realName returns the target of a name with all links resolved. Elements that do not exist yet
// keep their names.
func realName(root *os.Root, name string) (string, error) {
	var at []string
	rest := strings.Split(name, "/")
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return "", &fs.PathError{Op: "open", Path: name, Err: errEscapes}
			}
			at = at[:len(at)-1]
			continue
		}
		now := path.Join(append(slices.Clip(at), part)...)
		st, err := root.Lstat(now)
		if err != nil || st.Mode()&fs.ModeSymlink == 0 {
			at = append(slices.Clip(at), part)
			continue
		}
		target, err := root.Readlink(now)
		links++
		switch {
		case err != nil:
			return "", err
		case links > maxLinks:
			return "", refuse("path %q leads through more than %d links", name, maxLinks)
		case filepath.IsAbs(target):
			return "", &fs.PathError{Op: "open", Path: name, Err: errEscapes}
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	if len(at) == 0 {
		return ".", nil
	}
	return path.Join(at...), nil
}

// errEscapes has the same message as the error of os.Root, which report looks for.
var errEscapes = errors.New("path escapes from parent")

// reach returns the name, with links resolved, of what the path in an argument leads to now,
// provided that this is what the call was allowed to reach when its permissions were checked.
func (c call) reach(argument, p string) (string, error) {
	now, name, err := c.set.resource(c.root, c.at, argument, p)
	if err != nil {
		return "", err
	}
	both := now
	both.Below = true // as for the other argument of the call
	if err := c.scope.Check(now); err != nil && (!c.at.below || c.scope.Check(both) != nil) {
		return "", refuse("path %q: %v", p, err)
	}
	return name, c.guard(name, nil)
}

// reachNew is reach for paths that may be created.
func (c call) reachNew(argument, p string) (string, error) {
	if _, err := c.set.resolveNew(p); err != nil {
		return "", err
	}
	return c.reach(argument, p)
}

// hidden reports whether rules hide an entry from a walk.
func (c call) hidden(name string) bool {
	return c.scope.Hides(tool.Resource{Argument: "path", Names: [][]string{c.set.spellings(name)}})
}

// folder opens the folder that contains name, which has no links, and follows none: a link that was
// put there after the name was resolved was not part of the permission decision. The caller closes
// the folder.
func (c call) folder(name string) (dir *os.Root, base string, err error) {
	if dir, err = c.root.OpenRoot("."); err != nil {
		return nil, "", err
	}
	parts := strings.Split(name, "/")
	for _, part := range parts[:len(parts)-1] {
		next, err := within(dir, part)
		_ = dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = next
	}
	return dir, parts[len(parts)-1], nil
}

// within opens a folder in dir that is not a link.
func within(dir *os.Root, part string) (*os.Root, error) {
	before, err := dir.Lstat(part)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, refuse("%q: %v", part, tool.ErrMoved)
	}
	next, err := dir.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(before, now) {
		_ = next.Close()
		return nil, refuse("%q: %v", part, tool.ErrMoved)
	}
	return next, nil
}

// openPlain opens the file with the given name, which has no links, for reading. It follows no
// link.
func (c call) openPlain(name string) (*os.File, error) {
	dir, base, err := c.folder(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	before, err := dir.Lstat(base)
	if err != nil {
		return nil, withName(err, name)
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, refuse("%q: %v", name, tool.ErrMoved)
	}
	f, err := dir.OpenFile(base, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, withName(err, name)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		_ = f.Close()
		return nil, refuse("%q: %v", name, tool.ErrMoved)
	}
	return f, nil
}

// withName puts the whole name into an error about its last element.
func withName(err error, name string) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return err
}
