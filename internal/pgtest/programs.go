package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// Oldest is the oldest supported major version of PostgreSQL.
const Oldest = 14

// errMissing explains how to install what the tests need.
var errMissing = fmt.Errorf("the programs of PostgreSQL %d or newer (initdb, postgres) are not on this machine: run "+
	"`apt-get install -y --no-install-recommends postgresql`, or `make test`", Oldest)

// programs are the folders into which PostgreSQL packages put initdb and postgres. Only Debian's
// psql is in PATH.
var programs = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"}

var version = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// find returns the programs installed on the machine.
var find = sync.OnceValues(func() (programsFound, error) { return findIn(exec.LookPath, programs) })

// findIn returns the folder of the newest programs, and their major version. Programs in PATH come
// first.
func findIn(inPath func(string) (string, error), patterns []string) (found programsFound, err error) {
	if path, err := inPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = newerIn(found, filepath.Dir(path))
		}
	}
	if found.dir != "" {
		return found, nil
	}
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return found, err
		}
		for _, dir := range dirs {
			found = newerIn(found, dir)
		}
	}
	if found.dir == "" {
		return found, errMissing
	}
	return found, nil
}

type programsFound struct {
	dir   string
	major int
}

// newerIn returns the newer of the programs in found and in dir.
func newerIn(found programsFound, dir string) programsFound {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return found
		}
	}
	out, err := exec.CommandContext(context.Background(), filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return found
	}
	major, err := majorOf(string(out))
	if err != nil || major < Oldest || major <= found.major {
		return found
	}
	return programsFound{dir, major}
}

// majorOf parses the output of `postgres --version`.
func majorOf(out string) (int, error) {
	m := version.FindStringSubmatch(out)
	if m == nil {
		return 0, errors.New("no version of PostgreSQL")
	}
	return strconv.Atoi(m[1])
}
