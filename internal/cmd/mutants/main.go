// Mutants measures what the tests detect: small changes to the code, each of which should make some
// test fail.
//
// Usage, from the root of the module:
//
//	go run ./internal/cmd/mutants draw [-seed 1] [-n 150]
//	go run ./internal/cmd/mutants build
//	go run ./internal/cmd/mutants cover [-packages REGEXP]
//	go run ./internal/cmd/mutants run [-budget 60s] [-out FILE] [-known FILE] [-only ID,...] [-tests REGEXP]
//	go run ./internal/cmd/mutants compare BEFORE AFTER
//
// draw chooses the changes at random and writes them to testdata/mutants.jsonl: negated conditions,
// dropped statements, swapped arguments and numbers that are off by one, in equal parts over the
// engine, the formats, the stores, the drivers, the service and the server. A change is identified
// by its function and its text, so lines may move; a change whose text no longer exists is reported
// as lost.
//
// build compiles the test binaries once, with all changes in them behind a switch: a copy of each
// file, which the compiler reads in place of the original, checks before each change whether it is
// enabled. An environment variable selects the change; a process without the variable looks in the
// environment of its ancestors, so that the change also applies in programs that tests start with
// their own environment.
//
// cover runs each test alone and records its duration and the changes whose code it reached. run
// makes one change after the other and runs the tests that reach it, cheapest first, until one
// fails or the budget is used up; a test that also fails without the change does not count. -known
// names the results of an earlier run, whose detecting tests are run first. compare prints the
// differences between two results, and fails if a change that was detected before is no longer
// detected.
//
// All build outputs and measurements are under .cache/mutants. cover and run continue where they
// were interrupted.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const (
	listFile = "internal/cmd/mutants/testdata/mutants.jsonl"
	cacheDir = ".cache/mutants"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run runs a verb.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: mutants draw|build|cover|run|compare (see the package's documentation)")
	}
	flags := flag.NewFlagSet("mutants "+args[0], flag.ExitOnError)
	var (
		seed     = flags.Uint64("seed", 1, "draw: the seed")
		n        = flags.Int("n", 150, "draw: how many changes")
		packages = flags.String("packages", "", "build, cover: only packages whose path matches; the default is all")
		budget   = flags.Duration("budget", time.Minute,
			"run: how long tests may take for one change, by their durations without it")
		out   = flags.String("out", filepath.Join(cacheDir, "results.jsonl"), "run: where results are appended")
		known = flags.String("known", "", "run: results of an earlier run")
		only  = flags.String("only", "", "run: ids of changes, separated by commas; the default is all")
		tests = flags.String("tests", "", "run: only tests whose PACKAGE.NAME matches")
	)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	match, err := regexp.Compile(*packages)
	if err != nil {
		return err
	}
	matchTest, err := regexp.Compile(*tests)
	if err != nil {
		return err
	}
	switch args[0] {
	case "draw":
		return draw(*seed, *n)
	case "build":
		return build(match)
	case "cover":
		return cover(match)
	case "run":
		return runAll(runConfig{budget: *budget, out: *out, known: *known, only: *only, tests: matchTest})
	case "compare":
		if flags.NArg() != 2 {
			return errors.New("usage: mutants compare BEFORE AFTER")
		}
		return compare(flags.Arg(0), flags.Arg(1))
	}
	return fmt.Errorf("unknown verb %q", args[0])
}

// readLines reads a file of JSON values, one per line. An incomplete last line, such as an
// interrupted run leaves, is dropped. A missing file has no lines.
func readLines[T any](name string) ([]T, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []T
	s := bufio.NewScanner(bytes.NewReader(b[:bytes.LastIndexByte(b, '\n')+1]))
	s.Buffer(nil, len(b)+1)
	for line := 1; s.Scan(); line++ {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		all = append(all, v)
	}
	return all, s.Err()
}

// appendLine appends a value to a file of JSON lines.
func appendLine(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}
