package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file, with its comments.
type source struct {
	*ast.File
	path string // slash-separated
}

// folder returns the folder of the file, which is its package's path within the module.
func (s source) folder() string { return path.Dir(s.path) }

// isTest reports whether the file is part of the tests of its package.
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// importName returns the name under which the file imports a package, or "" if it does not.
func (s source) importName(pkg string) string {
	for _, imp := range s.Imports {
		if importPath(imp) == pkg {
			if imp.Name != nil {
				return imp.Name.Name
			}
			return path.Base(pkg)
		}
	}
	return ""
}

func importPath(imp *ast.ImportSpec) string {
	name, _ := strconv.Unquote(imp.Path.Value)
	return name
}

// fset has the positions of all parsed files.
var fset = token.NewFileSet()

// at returns the position of a node of a parsed file.
func at(n ast.Node) string { return fset.Position(n.Pos()).String() }

// parse parses the text of a Go file that is not in the repository.
func parse(t *testing.T, text string) source {
	t.Helper()
	f, err := parser.ParseFile(fset, "x.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{f, "x.go"}
}

// readSources parses each Go file of the repository once, for all tests.
var readSources = sync.OnceValues(func() (all []source, err error) {
	files, err := listFiles()
	for _, name := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		all = append(all, source{f, name})
	}
	return all, err
})

// sources returns the Go files of the repository, of all its modules and for all systems.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil || len(all) < 2000 {
		t.Fatalf("%d Go files: %v", len(all), err)
	}
	return all
}

// listFiles lists the files of the repository by their slash-separated paths, without test data,
// the modules of Node and what is built.
var listFiles = sync.OnceValues(func() (all []string, err error) {
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch base := d.Name(); {
		case err != nil:
			return err
		case !d.IsDir():
			all = append(all, filepath.ToSlash(name))
		case base == "testdata" || base == "node_modules" || base == "dist" || name != "." && base[0] == '.':
			return fs.SkipDir
		}
		return nil
	})
	return all, err
})

// files returns the files of the repository as [listFiles] does.
func files(t *testing.T) []string {
	t.Helper()
	all, err := listFiles()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// read returns the text of a file.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
