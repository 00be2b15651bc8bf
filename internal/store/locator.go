package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// Memory is the locator of a home that keeps nothing beyond the process.
const Memory = ":memory:"

// Locator says where a home is: the path of a file, [Memory], or the URL of a store on a database server. The zero Locator names nothing.
type Locator struct {
	text    string     // the path, or Memory; "" for a store on a server
	url     *pgurl.URL // nil: no store on a server
	tenant  string     // the namespace of url
	servers Servers
}

// UnsupportedError says that a locator names a kind of store that this program does not have.
type UnsupportedError struct {
	// Locator is what was given, without its password. Kind is its scheme: `postgres`.
	Locator, Kind string
	// HasPostgres: the program has stores in PostgreSQL.
	HasPostgres bool
}

func (e *UnsupportedError) Error() string {
	what := fmt.Sprintf("stores of kind %q are not supported", e.Kind)
	if e.Kind == "postgres" || e.Kind == "postgresql" {
		what = "this program was built without PostgreSQL"
	}
	others := "or " + Memory
	if e.HasPostgres {
		others = Memory + ", or the URL of a PostgreSQL database"
	}
	return fmt.Sprintf("cannot use the store %s: %s; give the path of a file, %s", e.Locator, what, others)
}

// scheme is how a URL begins. One letter is a drive of Windows.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)

// misspelt is how a URL of PostgreSQL begins that lacks a colon or a slash.
var misspelt = regexp.MustCompile(`(?i)^postgres(ql)?(//|:/?([^/]|$))`)

// Parse reads a locator. servers are the kinds of stores that URLs may name.
//
// Errors: an empty one; *UnsupportedError for a URL of a kind that servers does not have; *errcode.Error with errcode.StoreURL for an invalid URL.
func Parse(text string, servers Servers) (Locator, error) {
	if text == "" {
		return Locator{}, errors.New("the store has no path")
	}
	m := scheme.FindStringSubmatch(text)
	switch {
	case misspelt.MatchString(text): // no file is made of it, and what it says, a password maybe, is not repeated
		_, err := pgurl.Parse(text)
		return Locator{}, err
	case m == nil:
		return Locator{text: text}, nil
	case pgurl.Is(text) && servers.Postgres != nil:
		u, err := pgurl.Parse(text)
		if err != nil {
			return Locator{}, err
		}
		return Locator{url: u, tenant: access.DefaultNamespace, servers: servers}, nil
	}
	shown := m[0] + "…"
	_, tail, _ := strings.Cut(text, "://")
	end := strings.IndexAny(tail+"/", "/?#")
	if u, err := url.Parse(text); err == nil && !strings.Contains(tail[end:], "@") { // an @ behind the host: what looks like the host may be a part of a password
		shown = m[0] + u.Host + u.EscapedPath()
	}
	return Locator{}, &UnsupportedError{Locator: shown, Kind: strings.ToLower(m[1]), HasPostgres: servers.Postgres != nil}
}

// String gives the locator as it was written, of a URL without its password.
func (l Locator) String() string {
	if l.url != nil {
		return l.url.String()
	}
	return l.text
}

// IsMemory tells whether the home keeps nothing beyond the process.
func (l Locator) IsMemory() bool { return l.text == Memory }

// IsZero tells whether the locator names nothing.
func (l Locator) IsZero() bool { return l.text == "" && l.url == nil }

// Look tells what is there without opening it; a server is asked. What is in memory is always there, and empty. Errors: those of asking.
func (l Locator) Look(ctx context.Context) (View, error) {
	switch {
	case l.url != nil:
		return l.servers.Postgres.Look(ctx, l)
	case l.IsMemory():
		return View{Exists: true}, nil
	}
	st, err := os.Stat(l.text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return View{CanCreate: l.canCreate()}, nil
	case err != nil:
		return View{}, err
	}
	return View{Exists: true, Bytes: st.Size()}, nil
}

// Facts gives what the server of the store says of itself; nil where there is no server. Errors: those of Look.
func (l Locator) Facts(ctx context.Context) ([]Fact, error) {
	if l.url == nil {
		return nil, nil
	}
	return l.servers.Postgres.Facts(ctx, l)
}

// canCreate tells why no file can be made where none exists, in folders that may not be there yet; nil where it can.
func (l Locator) canCreate() error {
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

// Beside gives the path of a file of that name in the folder of the home, of a store on a server in Servers.Folder; "" where there is no folder.
func (l Locator) Beside(name string) string {
	switch {
	case l.IsMemory(), l.url != nil && l.servers.Folder == "":
		return ""
	case l.url != nil:
		return filepath.Join(l.servers.Folder, name)
	}
	return filepath.Join(filepath.Dir(l.text), name)
}

// KeyFile is the file of the key, the same for all namespaces: beside the store, so that a copy of the store alone opens no secret and signs no link (SEC11), of a store on a server
// Servers.KeyFile; "" in memory, and where there is no folder.
func (l Locator) KeyFile() string {
	switch {
	case l.IsMemory():
		return ""
	case l.url != nil:
		return cmp.Or(l.servers.KeyFile, l.Beside("hocket.key"))
	}
	path, err := filepath.EvalSymlinks(l.text)
	if err != nil {
		path = l.text
	}
	if base, _, ok := ofNamespace(path); ok {
		path = base
	}
	return strings.TrimSuffix(path, ".db") + ".key"
}

// namespaces ends the name of the folder with the homes of other namespaces.
const namespaces = ".namespaces"

// ofNamespace tells whether a path is that of the home of a namespace, and gives the path of the default home and the name.
func ofNamespace(path string) (base, name string, ok bool) {
	folder, file := filepath.Split(path)
	base, ok = strings.CutSuffix(filepath.Clean(folder), namespaces)
	name, isStore := strings.CutSuffix(file, ".db")
	return base + ".db", name, ok && isStore && filepath.Base(base) != "" && access.CheckNamespace(name) == nil
}

// OfNamespace tells whether the locator names the home of a namespace other than the default one, and gives its name.
func (l Locator) OfNamespace() (name string, ok bool) {
	if l.url != nil {
		return l.tenant, l.tenant != access.DefaultNamespace
	}
	path, err := filepath.Abs(l.text)
	if err != nil {
		return "", false
	}
	_, name, ok = ofNamespace(path)
	return name, ok
}

// Namespace gives the locator of a namespace's home: <path without .db>.namespaces/<name>.db, or l itself for access.DefaultNamespace. l is that of the default
// namespace, and may be a link: the file that it leads to counts. In memory each namespace is one more [Memory]. Homes on a server have one URL.
//
// Errors: *access.InvalidError for what is no name (SEC16); those of following links.
func (l Locator) Namespace(name string) (Locator, error) {
	if err := access.CheckNamespace(name); err != nil {
		return Locator{}, err
	}
	if name == access.DefaultNamespace || l.IsMemory() {
		return l, nil
	}
	if l.url != nil {
		l.tenant = name
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
	return Locator{text: filepath.Join(strings.TrimSuffix(file, ".db")+namespaces, name+".db")}, nil
}

// Files gives the paths of all that belongs to the home, whether they are there or not: the store, its log, its owners, the key, the homes of other namespaces.
// Of the home of a namespace, those of the default one too. Of a store on a server, the files of its key and of passwords. None in memory.
func (l Locator) Files() []string {
	var out []string
	switch {
	case l.IsMemory():
		return nil
	case l.url != nil:
		for _, p := range []string{l.KeyFile(), l.url.Setting("passfile"), l.url.Setting("sslkey")} {
			if p != "" {
				out = append(out, p)
			}
		}
		return out
	}
	paths := []string{l.text}
	if base, _, ok := ofNamespace(l.text); ok {
		paths = append(paths, base)
	}
	out = append(out, l.KeyFile())
	for _, p := range paths {
		stem := strings.TrimSuffix(p, ".db")
		out = append(out, p, p+"-wal", p+"-shm", p+"-journal", p+".owners", stem+".key", stem+namespaces)
	}
	return out
}
