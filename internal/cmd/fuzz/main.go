// Command fuzz runs every fuzz target of the module for a while, one after another, and ends with 1 at the first finding.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", time.Minute, "time for each target")
	only := flag.String("run", "", "only targets whose package or name matches this expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *each, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// target is one fuzz function.
type target struct{ pkg, name string }

var fuzzFunc = regexp.MustCompile(`^func (Fuzz\w+)\(`)

func run(ctx context.Context, each time.Duration, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	targets, err := find(".")
	if err != nil {
		return err
	}
	for _, t := range targets {
		if !match.MatchString(t.pkg + " " + t.name) {
			continue
		}
		fmt.Printf("%s %s for %s\n", t.pkg, t.name, each)
		c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "./"+t.pkg)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s %s: %w", t.pkg, t.name, err)
		}
	}
	return nil
}

// find lists the fuzz targets below root, in the order of their files.
func find(root string) ([]target, error) {
	var out []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if m := fuzzFunc.FindStringSubmatch(lines.Text()); m != nil {
				out = append(out, target{filepath.ToSlash(filepath.Dir(path)), m[1]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for fuzz targets: %w", err)
	}
	return out, nil
}
