// Check builds, lints and tests what a change affects: it runs before each commit.
//
// Usage, from the root of the module:
//
//	go run ./internal/cmd/check [-base REVISION] [-lint PROGRAM]
//
// A change is everything that differs from the revision, including untracked files; the revision is
// HEAD by default, or its parent if the work tree has no changes. The whole module is built, and so
// is the module in temporal, which is linted and tested if it has changed itself. The packages of
// changed files are linted. They and the packages that import them are tested, with -short and
// without the race detector; the few packages whose tests take minutes are tested only if they have
// changed themselves, and are listed at the end. Changed sources of the page are checked and tested
// by their own programs.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

const module = "github.com/hocket-run/hocket"

// temporal is the directory of the module that uses this one.
const temporal = "temporal/"

// readers are the packages whose tests read the sources of the module.
var readers = []string{"./internal/cmd/notice", "./internal/explain", "./internal/faultmatrix", "./internal/lint"}

// slow lists packages whose tests take too long to run just because something else has changed.
// `make test` runs them.
var slow = []string{"internal/e2e", "internal/killtest", "internal/cli", "internal/conformance", "internal/sim", "docs",
	"examples", "bench", "bench/cluster", "bench/growth", "bench/scale"}

func main() {
	base := flag.String("base", "", "what the change is compared with")
	lint := flag.String("lint", "golangci-lint", "the linter")
	flag.Parse()
	if err := check(*base, *lint); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// check runs all steps, even after one has failed.
func check(base, lint string) error {
	files, err := changed(base)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Println("nothing has changed")
		return nil
	}
	pkgs, err := list()
	if err != nil {
		return err
	}
	own, users, left := affected(files, pkgs)
	inTemporal := slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, temporal) })
	if inTemporal {
		users = slices.Compact(slices.Sorted(slices.Values(append(users, readers...))))
		users = slices.DeleteFunc(users, func(pkg string) bool { return slices.Contains(own, pkg) })
	}
	var failed []string
	step := func(name string, command ...string) {
		start := time.Now()
		c := exec.Command(command[0], command[1:]...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0") // as for programs, so that each package is compiled once
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		word := "ok"
		if err := c.Run(); err != nil {
			word = err.Error()
			failed = append(failed, name)
		}
		fmt.Printf("%-24s %6.1fs  %s\n", name, time.Since(start).Seconds(), word)
	}
	if len(own) > 0 || inTemporal || slices.ContainsFunc(files, isModuleFile) {
		step("build", "go", "build", "./...")
		step("vet "+temporal, "go", "vet", "-C", temporal, "./...")
	}
	if len(failed) == 0 && len(own) > 0 {
		step(fmt.Sprintf("lint %d packages", len(own)), append([]string{lint, "run"}, own...)...)
	}
	if len(failed) == 0 && len(own)+len(users) > 0 {
		step(fmt.Sprintf("test %d packages", len(own)+len(users)),
			slices.Concat([]string{"go", "test", "-short", "-vet=off", "-timeout", "20m"}, own, users)...)
	}
	if len(failed) == 0 && inTemporal {
		step("lint "+temporal, "sh", "-c", `cd "$1" && exec "$2" run ./...`, "sh", temporal, lint)
		step("test "+temporal, "go", "test", "-C", temporal, "-short", "-vet=off", "-timeout", "20m", "./...")
	}
	if slices.ContainsFunc(files, func(f string) bool {
		return strings.HasPrefix(f, "web/") && !strings.HasPrefix(f, "web/dist/")
	}) {
		step("page: check", "npm", "--prefix", "web", "run", "check")
		step("page: test", "npm", "--prefix", "web", "test")
	}
	if len(left) > 0 {
		fmt.Printf("left to make test: %s\n", strings.Join(left, " "))
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// isModuleFile reports whether a change to a file may affect every package.
func isModuleFile(f string) bool { return f == "go.mod" || f == "go.sum" }

// lines returns the lines that a command prints.
func lines(command string, args ...string) ([]string, error) {
	out, err := exec.Command(command, args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

// changed returns the files that differ from a revision.
func changed(base string) ([]string, error) {
	untracked, err := lines("git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	tracked, err := lines("git", "diff", "--name-only", cmp.Or(base, "HEAD"))
	if err != nil {
		return nil, err
	}
	if base == "" && len(tracked)+len(untracked) == 0 {
		return lines("git", "diff", "--name-only", "HEAD~1")
	}
	return append(tracked, untracked...), nil
}

// list returns, for the path of each package of the module ("." for the root), the paths of the
// packages that it or its tests import.
func list() (map[string][]string, error) {
	found, err := lines("go", "list", "-f",
		`{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	if err != nil {
		return nil, err
	}
	pkgs := map[string][]string{}
	for _, line := range found {
		var own []string
		for f := range strings.FieldsSeq(line) {
			if f == module || strings.HasPrefix(f, module+"/") {
				own = append(own, cmp.Or(strings.TrimPrefix(strings.TrimPrefix(f, module), "/"), "."))
			}
		}
		pkgs[own[0]] = own[1:]
	}
	return pkgs, nil
}

// affected returns the packages of changed files (own), the packages that import them (users), and
// those of the importing packages that are too slow (left), each as an argument of the go command.
func affected(files []string, pkgs map[string][]string) (own, users, left []string) {
	owns := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(f, "web/") && !strings.HasSuffix(f, ".go") || strings.HasPrefix(f, temporal) {
			continue
		}
		// A file, such as test data or an embedded file, belongs to the nearest package above it. A
		// file above all packages belongs to the root.
		dir := path.Dir(f)
		for ; dir != "."; dir = path.Dir(dir) {
			if _, ok := pkgs[dir]; ok {
				break
			}
		}
		if strings.HasSuffix(f, ".md") && dir == "." {
			dir = "docs" // its tests read them
		}
		owns[dir] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(pkgs)) {
		switch {
		case owns[pkg]:
			own = append(own, "./"+pkg)
		case !slices.ContainsFunc(pkgs[pkg], func(imported string) bool { return owns[imported] }):
		case slices.Contains(slow, pkg):
			left = append(left, pkg)
		default:
			users = append(users, "./"+pkg)
		}
	}
	return own, users, left
}
