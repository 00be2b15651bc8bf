package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Limits of what one call changes.
const (
	maxEditBytes = 10 << 20 // size of a file that edit_file changes
	maxEdits     = 100      // per call of edit_file
	maxPaths     = 100      // per call of create_directory and remove_directory
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func writeFile(ctx context.Context, c call, a writeArgs) (string, error) {
	name, err := c.reachNew("path", a.Path)
	if err != nil {
		return "", err
	}
	c.set.edit.Lock()
	defer c.set.edit.Unlock()
	if dir := path.Dir(name); dir != "." {
		if err := c.root.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	if err := c.replace(name, []byte(a.Content)); err != nil {
		return "", err
	}
	return c.runPostEdit(ctx, name, fmt.Sprintf("wrote %d bytes to %s", len(a.Content), name))
}

// replace replaces the content of a file atomically: a concurrent reader, or a reader after a
// crash, finds either the old or the new content. It does not follow a link; the caller must name
// its target instead.
func (c call) replace(name string, data []byte) (err error) {
	// A handle on the folder itself, so that changes to the path in the meantime have no effect.
	dir, base, err := c.folder(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	mode := fs.FileMode(0o644)
	switch st, err := dir.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case st.Mode()&fs.ModeSymlink != 0:
		return refuse("%q is a symbolic link; use the path of its target", name)
	case st.IsDir():
		return refuse("%q is a folder", name)
	case !st.Mode().IsRegular():
		return refuse("%q is not a regular file", name)
	default:
		mode = st.Mode().Perm()
	}
	temp := ".hocket-" + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return dir.Rename(temp, base)
}

type edit struct {
	OldText    string `json:"oldText"`
	NewText    string `json:"newText"`
	ReplaceAll bool   `json:"replaceAll"`
}

type editArgs struct {
	Path  string `json:"path"`
	Edits []edit `json:"edits"`
}

func editFile(ctx context.Context, c call, a editArgs) (string, error) {
	name, err := c.reachNew("path", a.Path)
	if err != nil {
		return "", err
	}
	if len(a.Edits) > maxEdits {
		return "", refuse("%d edits are more than the limit of %d for one call; nothing was changed", len(a.Edits),
			maxEdits)
	}
	c.set.edit.Lock()
	defer c.set.edit.Unlock()
	f, _, err := c.open(ctx, name)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEditBytes+1))
	_ = f.Close()
	if err != nil {
		return "", err
	}
	if len(data) > maxEditBytes {
		return "", refuse("%q has more than the limit of %d bytes for edits; nothing was changed", name, maxEditBytes)
	}
	text, lines, err := apply(ctx, string(data), a.Edits)
	if err != nil {
		return "", err
	}
	if err := c.replace(name, []byte(text)); err != nil {
		return "", err
	}
	return c.runPostEdit(ctx, name, fmt.Sprintf("edited %s:\n%s", name, strings.Join(lines, "\n")))
}

// apply makes all edits in order, or none. lines describes what each edit did.
func apply(ctx context.Context, text string, edits []edit) (_ string, lines []string, err error) {
	for i, e := range edits {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		n := strings.Count(text, e.OldText)
		switch {
		case e.OldText == "":
			return "", nil, refuse("edit %d: oldText is empty; nothing was changed", i+1)
		case n == 0:
			hint := ""
			if strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), e.OldText) {
				hint = "; the file ends its lines with \\r\\n"
			}
			return "", nil, refuse("edit %d: oldText is not in the file%s; nothing was changed", i+1, hint)
		case n > 1 && !e.ReplaceAll:
			return "", nil,
				refuse("edit %d: oldText occurs %d times in the file; add surrounding lines until it is unique, or "+
					"set replaceAll; nothing was changed", i+1, n)
		}
		before, _, _ := strings.Cut(text, e.OldText)
		line := 1 + strings.Count(before, "\n")
		if n == 1 {
			lines = append(lines, fmt.Sprintf("edit %d: replaced at line %d", i+1, line))
		} else {
			lines = append(lines, fmt.Sprintf("edit %d: replaced in %d places, the first at line %d", i+1, n, line))
		}
		if grown := len(text) + n*(len(e.NewText)-len(e.OldText)); grown > maxEditBytes {
			return "", nil,
				refuse("edit %d: the file would have %d bytes, more than the limit of %d for edits; nothing "+
					"was changed", i+1, grown, maxEditBytes)
		}
		text = strings.ReplaceAll(text, e.OldText, e.NewText)
	}
	return text, lines, nil
}

type pathsArgs struct {
	Paths     []string `json:"paths"`
	Recursive bool     `json:"recursive"`
}

// names resolves all paths before any of them is acted on.
func (c call) names(paths []string) ([]string, error) {
	if len(paths) > maxPaths {
		return nil, refuse("%d folders are more than the limit of %d for one call", len(paths), maxPaths)
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if names[i], err = c.reachNew("paths", p); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func createDirectory(ctx context.Context, c call, a pathsArgs) (string, error) {
	names, err := c.names(a.Paths)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err := c.root.MkdirAll(name, 0o755); err != nil {
			return "", err
		}
	}
	return "created " + strings.Join(names, ", "), nil
}

func removeDirectory(ctx context.Context, c call, a pathsArgs) (string, error) {
	names, err := c.names(a.Paths)
	if err != nil {
		return "", err
	}
	c.set.edit.Lock()
	defer c.set.edit.Unlock()
	for i, name := range names {
		err := c.remove(ctx, name, a.Recursive)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			r, failed := report("remove_directory", err)
			if failed != nil {
				return "", failed
			}
			return "", refuse("%s; %d of %d folders were removed", r.Text, i, len(names))
		}
	}
	return "removed " + strings.Join(names, ", "), nil
}

// remove removes a folder. Its parent folder is opened once, and the removal is done through that
// handle.
func (c call) remove(ctx context.Context, name string, recursive bool) error {
	dir, base, err := c.folder(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	st, err := dir.Lstat(base)
	switch {
	case err != nil:
		return withName(err, name)
	case !st.IsDir():
		return refuse("%q is not a folder", name)
	case recursive:
		return removeAll(ctx, dir, base)
	}
	return dir.Remove(base)
}

// removeAll removes a folder of root with its content. Unlike [os.Root.RemoveAll], it stops when
// ctx is done. It holds a handle on each folder along the way, so it does not follow a link that
// replaces one in the meantime.
func removeAll(ctx context.Context, root *os.Root, name string) error {
	dir, err := within(root, name)
	if err != nil {
		return err
	}
	err = removeIn(ctx, dir)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	return root.Remove(name)
}

func removeIn(ctx context.Context, dir *os.Root) error {
	for {
		f, err := dir.Open(".")
		if err != nil {
			return err
		}
		some, err := f.ReadDir(maxPiece)
		_ = f.Close()
		if len(some) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, e := range some {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case e.IsDir():
				err = removeAll(ctx, dir, e.Name())
			default:
				err = dir.Remove(e.Name())
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
}

type moveArgs struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

func moveFile(_ context.Context, c call, a moveArgs) (string, error) {
	from, err := c.reachNew("source", a.Source)
	if err != nil {
		return "", err
	}
	to, err := c.reachNew("destination", a.Destination)
	if err != nil {
		return "", err
	}
	c.set.edit.Lock()
	defer c.set.edit.Unlock()
	for _, name := range []string{from, to} {
		dir, _, err := c.folder(name) // no link was put in the way
		if err != nil {
			return "", err
		}
		_ = dir.Close()
	}
	switch _, err := c.root.Lstat(to); {
	case err == nil:
		return "", refuse("%q already exists; nothing was moved", to)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if err := c.root.Rename(from, to); err != nil {
		return "", err
	}
	return fmt.Sprintf("moved %s to %s", from, to), nil
}
