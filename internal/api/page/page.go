package page

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// Config configures a Page.
type Config struct {
	// Files contains index.html and the files that it refers to by URLs that start with `./`.
	Files fs.FS
	// Base is the path under which browsers reach the server, such as `/hocket`; "" and "/" mean
	// the root.
	Base string
}

// Page serves the files of a single-page application. It is safe for concurrent use.
type Page struct {
	// head and tail are the parts of index.html before and after the nonce.
	head, tail string
	files      map[string]*file
	tag        string // of all files under /assets/
}

// file is a file of the built application.
type file struct {
	kind  string
	plain []byte
	// compressed returns the compressed file, or nil if compression does not pay.
	// It compresses on the first call: compressing all files at startup took 90 ms.
	compressed func() []byte
	tag        string // without quotes
}

// routes are the path prefixes of the application's views; the rest of a path is interpreted by the
// application.
var routes = []string{"/runs/", "/inbox/", "/workflows/", "/agents/", "/schedules/", "/tools/", "/settings/"}

const index = "index.html"

// New reads the files. It returns an error if a file cannot be read, or if index.html has no head.
func New(cfg Config) (*Page, error) {
	p := &Page{files: map[string]*file{}}
	var text string
	err := fs.WalkDir(cfg.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(cfg.Files, name)
		if err != nil {
			return err
		}
		if name == index {
			text = string(b)
			return nil
		}
		p.files["/"+name] = newFile(name, b)
		return nil
	})
	if err == nil {
		p.tag = tagOf(p.files)
		err = p.readIndex(text, cfg.Base)
	}
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return p, nil
}

// readIndex writes the base and the tag of all assets into index.html, since the policy allows no
// base element and routes have different depths. References between assets are relative.
func (p *Page) readIndex(text, base string) error {
	const head = "<head>"
	if text == "" {
		return errors.New("there is no index.html")
	}
	before, behind, ok := strings.Cut(text, head)
	if !ok {
		return errors.New("index.html has no <head>")
	}
	base = (&url.URL{Path: path.Clean("/" + base)}).EscapedPath()
	if base != "/" {
		base += "/"
	}
	base = html.EscapeString(base)
	p.head = before + head + `<meta name="hocket-base" content="` + base + `"><meta property="csp-nonce" nonce="`
	p.tail = `">` + strings.NewReplacer(`="./assets/`, `="`+base+`assets/`+p.tag+`/`, `="./`, `="`+base).Replace(
		behind)
	return nil
}

const assets = "/assets/"

// tagOf returns the tag of all files under /assets/.
func tagOf(files map[string]*file) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, assets) {
			_, _ = fmt.Fprintln(sum, name, files[name].tag) // writing to a hash cannot fail
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:tagBytes])
}

const tagBytes = 12

// find returns the file at a path, and whether the path has the tag of its content. A path under
// /assets/ may have the tag of another release, from a page that was loaded before the server was
// updated, or from a server of another release behind the same address: find returns the file for
// such a path too.
func (p *Page) find(path string) (f *file, isTagged bool) {
	if f := p.files[path]; f != nil {
		return f, false
	}
	rest, _ := strings.CutPrefix(path, assets)
	tag, name, _ := strings.Cut(rest, "/")
	if b, err := hex.DecodeString(tag); err != nil || len(b) != tagBytes {
		return nil, false
	}
	return p.files[assets+name], tag == p.tag
}

// minCompressed is the minimum size in bytes of files to compress.
const minCompressed = 512

func newFile(name string, b []byte) *file {
	sum := sha256.Sum256(b)
	return &file{
		kind:       kindOf(name),
		plain:      b,
		compressed: sync.OnceValue(func() []byte { return compress(b) }),
		tag:        hex.EncodeToString(sum[:tagBytes]),
	}
}

// compress compresses b. It returns nil if that saves less than a tenth: fonts and images are
// already compressed.
func compress(b []byte) []byte {
	if len(b) < minCompressed {
		return nil
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a constant
	_, _ = z.Write(b)
	if err := z.Close(); err != nil || packed.Len() >= len(b)*9/10 {
		return nil
	}
	return packed.Bytes()
}

// contentTypes are the content types by extension, independent of the machine's configuration.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon",
	".js": "text/javascript; charset=utf-8", ".json": "application/json",
	".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

func kindOf(name string) string {
	if kind := contentTypes[path.Ext(name)]; kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// Patterns returns the paths of the page as patterns of http.ServeMux: its routes, its top-level
// files, and the directories of the other files.
func (p *Page) Patterns() []string {
	all := append([]string{"/{$}"}, routes...)
	for name := range p.files {
		if folder, _, below := strings.Cut(name[1:], "/"); below {
			name = "/" + folder + "/"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Routes returns the routes behind the patterns, each as a method and a path.
func (p *Page) Routes() []string {
	var all []string
	for _, at := range append([]string{"/"}, routes...) {
		all = append(all, "GET "+at)
	}
	for name := range p.files {
		all = append(all, "GET "+name)
	}
	slices.Sort(all)
	return all
}

// ServeHTTP serves a file, or index.html for a route of the application.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		transport.WriteProblem(w, r, transport.NoMethod(r.URL.Path, "GET, HEAD"))
		return
	}
	f, isTagged := p.find(r.URL.Path)
	switch {
	case f != nil:
		f.serve(w, r, isTagged)
	case r.URL.Path == "/" || slices.ContainsFunc(routes, func(at string) bool {
		return strings.HasPrefix(r.URL.Path+"/", at)
	}):
		p.serveIndex(w, r, http.StatusOK)
	default:
		transport.WriteProblem(w, r, transport.NoPath(r.URL.Path))
	}
}

// NotFound serves a browser that requests an unknown URL: with the page, which reports the error,
// and status 404.
func (p *Page) NotFound(w http.ResponseWriter, r *http.Request) {
	p.serveIndex(w, r, http.StatusNotFound)
}

// policy is the content security policy of the page, with a placeholder for the nonce. It has a
// nonce for styles because parts of the page add styles with scripts; no text of the page becomes
// markup (SEC15).
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// serveIndex serves index.html. It has no entity tag: a cached response would contain the nonce of
// another policy.
func (p *Page) serveIndex(w http.ResponseWriter, r *http.Request, status int) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // without randomness it ends the process
	nonce := base64.RawStdEncoding.EncodeToString(b[:])
	text := p.head + nonce + p.tail
	h := w.Header()
	secure(h)
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
	h.Set("Content-Type", contentTypes[".html"])
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text)) // the client may be gone
	}
}

// secure sets the security headers of the page apart from its policy.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// serve serves a file. Browsers revalidate it each time and download it again if it has changed; at
// a URL with the tag of its content they cache it permanently.
func (f *file) serve(w http.ResponseWriter, r *http.Request, isTagged bool) {
	h := w.Header()
	secure(h)
	if isTagged {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", f.kind)
	body, tag := f.plain, f.tag
	if packed := f.compressed(); packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if transport.TakesGzip(r) {
			body, tag = packed, f.tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
			if r.Header.Get("Range") == "" {
				h.Set("Content-Length", strconv.Itoa(len(body)))
			}
		}
	}
	h.Set("ETag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
