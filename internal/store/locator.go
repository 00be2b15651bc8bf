package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
)

// Memory is the locator of a home that keeps nothing beyond the process.
const Memory = ":memory:"

// Locator says where a home is: the path of a file, or [Memory]. The zero Locator names nothing.
type Locator struct{ text string }

// UnsupportedError says that a locator names a kind of store that this version does not have.
type UnsupportedError struct {
	// Locator is what was given, without its password. Kind is its scheme: `postgres`.
	Locator, Kind string
}

func (e *UnsupportedError) Error() string {
	what := fmt.Sprintf("stores of kind %q are not supported", e.Kind)
	if e.Kind == "postgres" || e.Kind == "postgresql" {
		what = "PostgreSQL stores are not supported yet"
	}
	return fmt.Sprintf("cannot use the store %s: %s; give the path of a file, or %s", e.Locator, what, Memory)
}

// scheme is how a URL begins. One letter is a drive of Windows.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)

// Parse reads a locator. Errors: an empty one; *UnsupportedError for a URL.
func Parse(text string) (Locator, error) {
	if text == "" {
		return Locator{}, errors.New("the store has no path")
	}
	if m := scheme.FindStringSubmatch(text); m != nil {
		shown := m[0] + "…"
		if u, err := url.Parse(text); err == nil {
			shown = m[0] + u.Host + u.EscapedPath()
		}
		return Locator{}, &UnsupportedError{Locator: shown, Kind: strings.ToLower(m[1])}
	}
	return Locator{text}, nil
}

// String gives the locator as it was written.
func (l Locator) String() string { return l.text }

// IsMemory tells whether the home keeps nothing beyond the process.
func (l Locator) IsMemory() bool { return l.text == Memory }

// Exists tells whether something is there, and how large it is in bytes, without opening it. What is in memory is always there, and empty. Errors: those of asking.
func (l Locator) Exists() (exists bool, bytes int64, err error) {
	if l.IsMemory() {
		return true, 0, nil
	}
	st, err := os.Stat(l.text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, 0, nil
	case err != nil:
		return false, 0, err
	}
	return true, st.Size(), nil
}

// CanCreate tells why no home can be made where none exists, in folders that may not be there yet; nil where it can.
func (l Locator) CanCreate() error {
	if l.IsMemory() {
		return nil
	}
	dir := filepath.Dir(l.text)
	for {
		st, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
			dir = filepath.Dir(dir)
			continue
		case err != nil:
			return err
		case !st.IsDir():
			return fmt.Errorf("%s is not a folder", dir)
		}
		f, err := os.CreateTemp(dir, ".hocket-*")
		if err != nil {
			return fmt.Errorf("%s is not writable: %w", dir, err)
		}
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
}

// Beside gives the path of a file of that name in the folder of the home; "" where there is no folder.
func (l Locator) Beside(name string) string {
	if l.IsMemory() {
		return ""
	}
	return filepath.Join(filepath.Dir(l.text), name)
}

// KeyFile is the file of the home's key: beside the store, so that a copy of the store alone opens no secret and signs no link (SEC11); "" in memory.
func (l Locator) KeyFile() string {
	if l.IsMemory() {
		return ""
	}
	return strings.TrimSuffix(l.text, ".db") + ".key"
}

// namespaces ends the name of the folder with the homes of other namespaces.
const namespaces = ".namespaces"

// Namespace gives the locator of a namespace's home: <path without .db>.namespaces/<name>.db, or l itself for access.DefaultNamespace. l is that of the default
// namespace, and may be a link: the file that it leads to counts. In memory each namespace is one more [Memory].
//
// Errors: *access.InvalidError for what is no name (SEC16); those of following links.
func (l Locator) Namespace(name string) (Locator, error) {
	if err := access.CheckNamespace(name); err != nil {
		return Locator{}, err
	}
	if name == access.DefaultNamespace || l.IsMemory() {
		return l, nil
	}
	file, err := filepath.EvalSymlinks(l.text)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = l.text, nil
	}
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return Locator{}, fmt.Errorf("find the store of a namespace: %w", err)
	}
	return Locator{filepath.Join(strings.TrimSuffix(file, ".db")+namespaces, name+".db")}, nil
}

// Files gives the paths of all that belongs to the home, whether they are there or not: the store, its log, its owners, the key, the homes of other namespaces.
// Of the home of a namespace, those of the default one too. None in memory.
func (l Locator) Files() []string {
	if l.IsMemory() {
		return nil
	}
	var out []string
	paths := []string{l.text}
	if folder := filepath.Dir(l.text); strings.HasSuffix(folder, namespaces) {
		paths = append(paths, strings.TrimSuffix(folder, namespaces)+".db")
	}
	for _, p := range paths {
		stem := strings.TrimSuffix(p, ".db")
		out = append(out, p, p+"-wal", p+"-shm", p+"-journal", p+".owners", stem+".key", stem+namespaces)
	}
	return out
}
