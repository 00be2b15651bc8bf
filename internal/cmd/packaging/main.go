// Command packaging writes to .cache/packaging what packages of Hocket contain in addition to the
// program: completion scripts and manual pages, generated from the commands themselves. The release
// process runs it in the root of the repository.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/hocket-run/hocket/internal/cli"
)

func main() {
	if err := write(filepath.Join(".cache", "packaging")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write recreates the directories completions and man in dir.
func write(dir string) error {
	completions, man := filepath.Join(dir, "completions"), filepath.Join(dir, "man")
	for _, d := range []string{completions, man} {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // what packages contain is public
			return err
		}
	}
	root := cli.Command()
	for name, generate := range map[string]func(io.Writer) error{
		"hocket.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"hocket.zsh":  root.GenZshCompletion,
		"hocket.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		f, err := os.Create(filepath.Join(completions, name))
		if err != nil {
			return err
		}
		if err := generate(f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	never := time.Unix(0, 0) // otherwise pages would contain the day of their generation
	return doc.GenManTree(root, &doc.GenManHeader{Title: "HOCKET", Section: "1", Source: "Hocket",
		Manual: "Hocket Manual", Date: &never}, man)
}
