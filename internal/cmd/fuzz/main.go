// Command fuzz runs every fuzz target of the module for a while, one after another, and exits with
// 1 at the first finding.
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
	"path"
	"regexp"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", time.Minute, "time for each target")
	only := flag.String("run", "", "only targets whose package or name matches this expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *each, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
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
	targets, err := find(os.DirFS("."))
	if err != nil {
		return err
	}
	for _, t := range targets {
		if !match.MatchString(t.pkg + " " + t.name) {
			continue
		}
		fmt.Printf("%s %s for %s\n", t.pkg, t.name, each)
		c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
			"./"+t.pkg)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s %s: %w", t.pkg, t.name, err)
		}
	}
	return nil
}

// find lists the fuzz targets of a tree, in file order.
func find(root fs.FS) ([]target, error) {
	var out []target
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" ||
			d.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := root.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if m := fuzzFunc.FindStringSubmatch(lines.Text()); m != nil {
				out = append(out, target{path.Dir(file), m[1]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for fuzz targets: %w", err)
	}
	return out, nil
}
