package lint_test

import (
	archivezip "archive/zip"
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	xmod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/hocket-run/hocket/internal/testinput"
)

// TestInstall checks that `go install github.com/hocket-run/hocket/cmd/hocket@latest` works, from a
// proxy that serves this work tree as a release. It needs no network: Hocket's dependencies are in
// the module cache. A full build takes a minute, so the test only plans it (go install -n) unless
// HOCKET_INSTALL is set; then the program is built, prints its version, and serves the page.
// Neither needs Node: the release includes the built page.
func TestInstall(t *testing.T) {
	t.Parallel()
	m := xmod.Version{Path: strings.TrimSuffix(module, "/"), Version: "v1.2.3"}
	proxy := serveModule(t, m)
	hasPage(t, filepath.Join(proxy, filepath.FromSlash(m.Path), "@v", m.Version+".zip"), m.String()+"/web/dist/")
	bin, cache := t.TempDir(), linkedCache(t)
	args := []string{"install", "-trimpath", "-n", m.Path + "/cmd/hocket@latest"}
	if os.Getenv("HOCKET_INSTALL") != "" {
		args = append(args[:2], args[3:]...)
	}
	testinput.Files(t)
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = t.TempDir() // outside any module, as for users
	c.Env = append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy), "GOSUMDB=off", "GONOSUMDB=*",
		"GOFLAGS=-modcacherw", "GOWORK=off",
		"GOMODCACHE="+cache, "GOBIN="+bin, "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, last(string(out), 2000))
	}
	if os.Getenv("HOCKET_INSTALL") == "" {
		return
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "hocket"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "hocket version v1.2.3\n") {
		t.Errorf("hocket version prints %q, %v; want the version of the module", out, err)
	}
	servesPage(t, filepath.Join(bin, "hocket"))
}

// asset matches a file that the page's index refers to.
var asset = regexp.MustCompile(`"\./(assets/[^"]+)"`)

// hasPage checks that the archive of a release contains the page in a folder: its index, and the
// files the index refers to.
func hasPage(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := archivezip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	index, err := fs.ReadFile(z, dir+"index.html")
	if err != nil {
		t.Fatal(err)
	}
	named := asset.FindAllSubmatch(index, -1)
	if len(named) < 2 {
		t.Errorf("the page names %d files", len(named))
	}
	for _, name := range named {
		if _, err := fs.Stat(z, dir+string(name[1])); err != nil {
			t.Error(err)
		}
	}
}

// servesPage checks that a program serves the page of the work tree, with no other program on its
// PATH.
func servesPage(t *testing.T, program string) {
	t.Helper()
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), program, "serve", "--addr", "127.0.0.1:0")
	c.Dir, c.Env = home,
		[]string{"HOME=" + home, "HOCKET_HOME=" + home, "HOCKET_TOKEN=hk_of-the-install-test-0123456789abcdefghij"}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	var url string
	for sc := bufio.NewScanner(stderr); url == "" && sc.Scan(); {
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(sc.Text())
	}
	got := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", path, answer.Status, err)
		}
		return string(body)
	}
	named := asset.FindAllStringSubmatch(strings.ReplaceAll(got(""), `"/assets/`, `"./assets/`), -1)
	if len(named) < 2 {
		t.Errorf("the page names %d files", len(named))
	}
	for _, name := range named {
		want, err := os.ReadFile(filepath.Join("web", "dist", filepath.FromSlash(name[1])))
		if err != nil || got(name[1]) != string(want) {
			t.Errorf("%s differs from the work tree: %v", name[1], err)
		}
	}
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// serveModule writes a proxy with one version of the module, containing the files tracked by git as
// they are in the work tree.
func serveModule(t *testing.T, m xmod.Version) (dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("the files of a release are those that git knows, and there is no repository here: %v", err)
	}
	var files []zip.File
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(name); err == nil { // a file removed but not committed is left out
			files = append(files, workFile(name))
		}
	}
	dir = t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.Create(archive, m, files); err != nil { // it rejects names and sizes that a proxy rejects
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]string{"Version": m.Version, "Time": "2026-01-01T00:00:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info,
		m.Version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// workFile is the slash-separated path of a file in the work tree.
type workFile string

func (f workFile) Path() string                 { return string(f) }
func (f workFile) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.FromSlash(string(f))) }
func (f workFile) Open() (io.ReadCloser, error) { return os.Open(filepath.FromSlash(string(f))) }

// linkedCache returns a module cache with links to the contents of the real one, except for this
// module, so that the test leaves nothing in the real cache.
func linkedCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	from, to := strings.TrimSpace(string(out)), t.TempDir()
	// These folders are created, as they contain entries of this module; everything else in them is
	// a link.
	own := []string{".", "cache", filepath.Join("cache", "download"), filepath.Join("cache", "download", "github.com"),
		"github.com"}
	for _, dir := range own {
		if err := os.MkdirAll(filepath.Join(to, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(from, dir))
		if err != nil {
			t.Skipf("there is no module cache to build from: %v", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if slices.Contains(own, path) || e.Name() == "hocket-run" || e.Name() == "lock" {
				continue
			}
			if err := os.Symlink(filepath.Join(from, path), filepath.Join(to, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}
