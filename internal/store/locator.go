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

// Memory is the locator of a home that does not outlive the process.
const Memory = ":memory:"

// Locator names the location of a home: the path of a file, [Memory], or the URL of a store on a
// database server. The zero Locator names nothing.
type Locator struct {
	text    string     // the path, or Memory; "" for a store on a server
	url     *pgurl.URL // nil if not a store on a server
	tenant  string     // the namespace in url
	servers Servers
}

// UnsupportedError is returned when a locator names a kind of store that this program does not
// have.
type UnsupportedError struct {
	// Locator is the locator as passed, without its password. Kind is its scheme: `postgres`.
	Locator, Kind string
	// HasPostgres reports whether the program supports stores in PostgreSQL.
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

// scheme matches the start of a URL. A single letter is a Windows drive.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)

// misspelt matches the start of a PostgreSQL URL in which a colon or a slash is missing.
var misspelt = regexp.MustCompile(`(?i)^postgres(ql)?(//|:/?([^/]|$))`)

// Parse parses a locator. servers are the kinds of stores that URLs may name.
//
// Parse returns an error for an empty locator, an *UnsupportedError for a URL of a kind that
// servers does not have, and an *errcode.Error with errcode.StoreURL for an invalid URL.
func Parse(text string, servers Servers) (Locator, error) {
	if text == "" {
		return Locator{}, errors.New("the store has no path")
	}
	m := scheme.FindStringSubmatch(text)
	switch {
	case misspelt.MatchString(text): // no file is created, and the text, which may contain a password, is not repeated
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
	// an @ after the host: the apparent host may be part of a password
	if u, err := url.Parse(text); err == nil && !strings.Contains(tail[end:], "@") {
		shown = m[0] + u.Host + u.EscapedPath()
	}
	return Locator{}, &UnsupportedError{Locator: shown, Kind: strings.ToLower(m[1]),
		HasPostgres: servers.Postgres != nil}
}

// String returns the locator as it was written, without the password of a URL.
func (l Locator) String() string {
	if l.url != nil {
		return l.url.String()
	}
	return l.text
}

// IsMemory reports whether the home does not outlive the process.
func (l Locator) IsMemory() bool { return l.text == Memory }

// IsZero reports whether the locator names nothing.
func (l Locator) IsZero() bool { return l.text == "" && l.url == nil }

// Look returns what is there without opening it; it queries a server if there is one. A home in
// memory always exists and is empty. Errors are those of the query.
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

// Facts returns what the store's server reports about itself, or nil if there is no server. Errors
// are those of Look.
func (l Locator) Facts(ctx context.Context) ([]Fact, error) {
	if l.url == nil {
		return nil, nil
	}
	return l.servers.Postgres.Facts(ctx, l)
}

// canCreate returns the reason why no file can be created if none exists, in folders that may not
// exist yet; nil means that it can.
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
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return fmt.Errorf("%s is not writable: %w", dir, e.Err)
		}
		if err != nil {
			return fmt.Errorf("%s is not writable: %w", dir, err)
		}
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
}

// Beside returns the path of a file with the given name in the folder of the home, or in
// Servers.Folder for a store on a server; it returns "" if there is no folder.
func (l Locator) Beside(name string) string {
	switch {
	case l.IsMemory(), l.url != nil && l.servers.Folder == "":
		return ""
	case l.url != nil:
		return filepath.Join(l.servers.Folder, name)
	}
	return filepath.Join(filepath.Dir(l.text), name)
}

// KeyFile returns the path of the key file, which is the same for all namespaces. It is next to the
// store, so that a copy of the store alone cannot open secrets or sign links (SEC11); for a store
// on a server it is Servers.KeyFile. It is "" in memory, and if there is no folder.
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
	if base, _, ok := parseNamespacePath(path); ok {
		path = base
	}
	return strings.TrimSuffix(path, ".db") + ".key"
}

// namespaces is the suffix of the folder with the homes of other namespaces.
const namespaces = ".namespaces"

// parseNamespacePath reports whether a path names the home of a namespace, and returns the path of
// the default home and the name.
func parseNamespacePath(path string) (base, name string, ok bool) {
	folder, file := filepath.Split(path)
	base, ok = strings.CutSuffix(filepath.Clean(folder), namespaces)
	name, isStore := strings.CutSuffix(file, ".db")
	return base + ".db", name, ok && isStore && filepath.Base(base) != "" && access.CheckNamespace(name) == nil
}

// OfNamespace reports whether the locator names the home of a namespace other than the default one,
// and returns its name.
func (l Locator) OfNamespace() (name string, ok bool) {
	if l.url != nil {
		return l.tenant, l.tenant != access.DefaultNamespace
	}
	path, err := filepath.Abs(l.text)
	if err != nil {
		return "", false
	}
	_, name, ok = parseNamespacePath(path)
	return name, ok
}

// Namespace returns the locator of a namespace's home: <path without .db>.namespaces/<name>.db, or
// l itself for access.DefaultNamespace. l must be the locator of the default namespace; if it is a
// link, its target is used. In memory each namespace is a separate [Memory]. Homes on a server
// share one URL.
//
// Errors are *access.InvalidError for an invalid name (SEC16), and errors from following links.
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

// Files returns the paths of everything that belongs to the home, existing or not: the store, its
// log, its owners, the key, the homes of other namespaces. For the home of a namespace, they
// include those of the default one. For a store on a server, they are its key file and its password
// files. There are none in memory.
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
	if base, _, ok := parseNamespacePath(l.text); ok {
		paths = append(paths, base)
	}
	out = append(out, l.KeyFile())
	for _, p := range paths {
		stem := strings.TrimSuffix(p, ".db")
		out = append(out, p, p+"-wal", p+"-shm", p+"-journal", p+".owners", stem+".key", stem+namespaces)
	}
	return out
}
