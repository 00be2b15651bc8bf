// Command docs writes the command line reference docs/cli from the commands themselves, and removes
// pages of verbs that no longer exist. Then it writes docs/llms.txt, the list of all pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hocket-run/hocket/internal/cli"
)

func main() {
	if err := write(filepath.Join("docs", "cli"), cli.ReferencePages()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	list, err := llms(os.DirFS("docs"))
	if err == nil {
		err = os.WriteFile(filepath.Join("docs", "llms.txt"), []byte(list), 0o644) //nolint:gosec // the list is public
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string, pages map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages are public
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := pages[filepath.Base(path)]; ok {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for name, text := range pages {
		//nolint:gosec // pages are public
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text),
			0o644); err != nil {
			return err
		}
	}
	return nil
}
