package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "github.com/hocket-run/hocket/"
	// alias is the import name of the switch package in the changed files.
	alias = "mutated__"
	// switchPackage exists only in the overlay.
	switchPackage = "internal/cmd/mutants/mutated"
)

// switches is the source of the switch package.
//
//go:embed testdata/switches.go.txt
var switches []byte

// edit inserts text into a file.
type edit struct {
	at      int
	size    int  // of the code that it surrounds: the outer of two starts first and ends last
	replace int  // number of bytes to replace
	isOpen  bool // inserted before the code at its position
	text    string
}

// apply applies edits. They may overlap only if one surrounds the other.
func apply(source []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		switch {
		case a.isOpen && b.isOpen:
			return cmp.Compare(b.size, a.size)
		case a.isOpen:
			return 1
		case b.isOpen:
			return -1
		}
		return cmp.Compare(a.size, b.size)
	})
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.Write(source[last:e.at])
		b.WriteString(e.text)
		last = e.at + e.replace
	}
	b.Write(source[last:])
	return b.Bytes()
}

var packageClause = regexp.MustCompile(`(?m)^package \w+`)

// writeOverlay writes the changed files and the overlay file for the go command, and returns the
// name of the overlay file. Line numbers do not change.
func writeOverlay(sites []site) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, cacheDir, "overlay")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	files := map[string][]edit{}
	for _, s := range sites {
		files[s.File] = append(files[s.File], s.edits(s.ID)...)
	}
	replace := map[string]string{}
	put := func(file string, b []byte) error {
		name := filepath.Join(dir, strings.ReplaceAll(file, "/", "+"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = name
		return os.WriteFile(name, b, 0o600)
	}
	if err := put(switchPackage+"/switches.go", switches); err != nil {
		return "", err
	}
	for file, edits := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		at := packageClause.FindIndex(source)
		edits = append(edits, edit{at: at[1], text: fmt.Sprintf("; import %s %q", alias, module+switchPackage)})
		if err := put(file, apply(source, edits)); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, b, 0o600)
}

// goCommand returns a go command that builds as `make` does, with an overlay.
func goCommand(overlay string, args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=grpcnotrace -overlay="+overlay)
	return c
}

// notCompiling returns the indexes of changes that the compiler rejects.
func notCompiling(sites []site) ([]int, error) {
	overlay, err := writeOverlay(sites)
	if err != nil {
		return nil, err
	}
	out, err := goCommand(overlay, "build", "-gcflags=-e", "./...").CombinedOutput()
	if err == nil {
		return nil, nil
	}
	var bad []int
	for _, m := range regexp.MustCompile(`(?m)^\S*?overlay/(\S+?\.go):(\d+):|^(\S+?\.go):(\d+):`).FindAllStringSubmatch(
		string(out), -1) {
		file, number := cmp.Or(strings.ReplaceAll(m[1], "+", "/"), m[3]), cmp.Or(m[2], m[4])
		line, err := strconv.Atoi(number)
		if err != nil {
			return nil, err
		}
		for i, s := range sites {
			if s.File == strings.TrimPrefix(file, "./") && s.Line <= line && line <= s.lastLine &&
				!slices.Contains(bad, i) {
				bad = append(bad, i)
			}
		}
	}
	if len(bad) == 0 {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bad, nil
}

// testPackage is a package with tests.
type testPackage struct {
	Path   string // relative to the module's root, "." for the root
	Dir    string
	Binary string
}

// testPackages lists the packages with tests.
func testPackages(match *regexp.Regexp) ([]testPackage, error) {
	out, err := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}",
		"./...").Output()
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var all []testPackage
	for line := range strings.Lines(string(out)) {
		path, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		path = cmp.Or(strings.TrimPrefix(path+"/", module), "")
		path = cmp.Or(strings.TrimSuffix(path, "/"), ".")
		if match.MatchString(path) {
			all = append(all, testPackage{path, dir,
				filepath.Join(root, cacheDir, "bin", strings.ReplaceAll(path, "/", "+")+".test")})
		}
	}
	return all, nil
}

// build compiles the test binaries with all changes.
func build(match *regexp.Regexp) error {
	sites, lost, err := listedSites()
	if err != nil {
		return err
	}
	for _, m := range lost {
		fmt.Printf("%d: %s of %s is lost: %s\n", m.ID, m.Kind, m.Func, m.Text)
	}
	overlay, err := writeOverlay(sites)
	if err != nil {
		return err
	}
	pkgs, err := testPackages(match)
	if err != nil {
		return err
	}
	for i, p := range pkgs {
		fmt.Printf("\r\033[K%d of %d: %s", i+1, len(pkgs), p.Path)
		c := goCommand(overlay, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", p.Binary, ".")
		c.Dir = p.Dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.Path, err, out)
		}
	}
	fmt.Println()
	return nil
}
