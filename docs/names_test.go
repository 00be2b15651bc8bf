package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestNames checks that Go names mentioned in the documentation exist.
func TestNames(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, dir := range []string{"acp", "graph", "hocket", "oteltrack", "provider"} {
		exported(t, strings.TrimSuffix(dir, "hocket"), dir, known)
	}
	span := regexp.MustCompile("`[^`\n]+`")
	name := regexp.MustCompile(`^(?:(?:acp|graph|hocket|oteltrack|provider)\.)?[A-Z]\w*(?:\.[A-Z]\w*)?$`)
	found := 0
	for _, file := range []string{"graphs.md", "graphs-agents.md", "graphs-runs.md", "roadmap.md", "../README.md",
		"../CHANGELOG.md", "../ARCHITECTURE.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, s := range span.FindAllString(string(text), -1) {
			word := strings.TrimSuffix(strings.Trim(s, "`*"), "()")
			if !strings.Contains(word, ".") || !name.MatchString(word) {
				continue
			}
			checked++
			if !known[word] && !known["graph."+word] && !known["hocket."+word] {
				t.Errorf("%s: there is no %s", file, word)
			}
		}
		found += checked
	}
	if found < 20 {
		t.Errorf("found %d Go names", found)
	}
}

// TestCompatibility_Packages checks that the promise of compatibility names every public package.
func TestCompatibility_Packages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(text), "\n| Go packages ")
	row, _, _ = strings.Cut(row, "|")
	promised := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
		promised[m[1]] = true
	}
	files, err := fs.Glob(os.DirFS(".."), "*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := fs.Glob(os.DirFS(".."), "*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{"hocket": true}
	for _, file := range append(files, below...) {
		dir := path.Dir(file)
		switch top, _, _ := strings.Cut(dir, "/"); top {
		case "bench", "cmd", "docs", "examples", "internal", "scripts", "temporal", "web":
			continue // programs, tests, and what no other program can import
		}
		if !strings.HasSuffix(file, "_test.go") && !strings.Contains(dir, "testdata") {
			found[dir] = true
		}
	}
	for dir := range found {
		if !promised[dir] {
			t.Errorf("compatibility.md does not name package %s", dir)
		}
	}
	for name := range promised {
		if !found[name] {
			t.Errorf("compatibility.md names %s, which is no public package", name)
		}
	}
}

// exported adds to into the exported names of the package in a folder, as pkg.Name and
// pkg.Type.Member.
func exported(t *testing.T, dir, pkg string, into map[string]bool) {
	t.Helper()
	source := os.DirFS(path.Join("..", dir))
	files, err := fs.Glob(source, "*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", dir, files, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(source, file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != pkg {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				into[pkg+"."+receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					declared(s, pkg+".", into)
				}
			}
		}
	}
}

func declared(s ast.Spec, prefix string, into map[string]bool) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			into[prefix+n.Name] = true
		}
	case *ast.TypeSpec:
		into[prefix+s.Name.Name] = true
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, m := range f.Names {
					into[prefix+s.Name.Name+"."+m.Name] = true
				}
			}
			return true
		})
	}
}

func receiver(d *ast.FuncDecl) (prefix string) {
	if d.Recv == nil {
		return ""
	}
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && prefix == "" {
			prefix = id.Name + "."
		}
		return true
	})
	return prefix
}
