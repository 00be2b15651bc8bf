package acp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// maxFileBytes is the maximum size of a file transferred through us.
const maxFileBytes = 4 << 20

// files is the session's folder as the agent may see it through us. All access goes through one
// rooted handle (SEC16): neither `..` nor links lead out of it.
type files struct {
	root        *os.Root
	dirs        []string // names of the folder: as given, and with links resolved
	read, write bool
}

func openFiles(dir string, read, write bool) (*files, error) {
	f := &files{dirs: []string{dir}, read: read, write: write}
	if !read && !write {
		return f, nil
	}
	if plain, err := filepath.EvalSymlinks(dir); err == nil && plain != dir {
		f.dirs = append(f.dirs, plain)
	}
	var err error
	f.root, err = os.OpenRoot(dir)
	return f, err
}

func (f *files) capabilities() sdk.FileSystemCapabilities {
	return sdk.FileSystemCapabilities{ReadTextFile: f.read, WriteTextFile: f.write}
}

func (f *files) close() {
	if f.root != nil {
		_ = f.root.Close()
	}
}

// local returns the name of a file in the root. The protocol's paths are absolute.
func (f *files) local(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is not absolute", path)
	}
	for _, dir := range f.dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", fmt.Errorf("path %q is outside of the session's folder", path)
}

// text reads a file, or `limit` lines of it from line `line`, counted from 1; nil means from the
// first line, and all lines.
func (f *files) text(path string, line, limit *int) (string, error) {
	name, err := f.local(path)
	if err != nil {
		return "", err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if err := checkRegular(name, file.Stat); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxFileBytes:
		return "", fmt.Errorf("file %q has more than %d bytes", path, maxFileBytes)
	}
	return lines(string(data), line, limit), nil
}

// checkRegular returns an error if the path is not a regular file: reading a pipe would hang. It
// checks the opened file, since the agent may replace the path meanwhile.
func checkRegular(name string, stat func() (fs.FileInfo, error)) error {
	info, err := stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a file", name)
	}
	return err
}

func lines(text string, line, limit *int) string {
	if line == nil && limit == nil {
		return text
	}
	list := strings.SplitAfter(text, "\n")
	if line != nil && *line > 1 {
		list = list[min(*line-1, len(list)):]
	}
	if limit != nil && *limit >= 0 {
		list = list[:min(*limit, len(list))]
	}
	return strings.Join(list, "")
}

// put writes a file and creates the folders that it needs.
func (f *files) put(path, text string) error {
	name, err := f.local(path)
	if err != nil {
		return err
	}
	if len(text) > maxFileBytes {
		return fmt.Errorf("file %q would have more than %d bytes", path, maxFileBytes)
	}
	if err := f.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|noWait, 0o644)
	if err != nil {
		return err
	}
	err = checkRegular(name, file.Stat)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteString(text)
	}
	return errors.Join(err, file.Close())
}
