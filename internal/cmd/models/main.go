// Command models refreshes the table of models, internal/price/models.yaml, from public tables. Run
// it in the root of the repository:
//
//	go run ./internal/cmd/models            # print what would change
//	go run ./internal/cmd/models -check     # the same, and end with 1 if anything would
//	go run ./internal/cmd/models -update    # write it
//
// Each -source is the URL of a table in one of two forms, which is detected: api.json of
// models.dev, and LiteLLM's model_prices_and_context_window.json. Both projects have the MIT
// license. [table.merge] describes how tables are merged.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// defaultSources are queried in this order: the first that knows a fact provides it.
var defaultSources = []string{
	"https://models.dev/api.json",
	"https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
}

// errStale is returned when the table differs from its sources.
var errStale = errors.New("the table of models is not up to date; go run ./internal/cmd/models -update writes it")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, time.Now())
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return fmt.Sprint(*l) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func run(ctx context.Context, args []string, out io.Writer, now time.Time) error {
	var sources list
	f := flag.NewFlagSet("models", flag.ContinueOnError)
	update := f.Bool("update", false, "write the table")
	check := f.Bool("check", false, "end with 1 if the table would change")
	file := f.String("file", "internal/price/models.yaml", "`path` of the table")
	f.Var(&sources, "source", "`URL` of a public table; may be given several times (default "+
		fmt.Sprint(defaultSources)+")")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if *update && *check {
		return errors.New("-update and -check exclude each other")
	}
	if len(sources) == 0 {
		sources = defaultSources
	}
	old, err := os.ReadFile(*file)
	if err != nil {
		return fmt.Errorf("read the table: %w", err)
	}
	t, err := parseTable(old)
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	var all []map[string]fact
	for _, url := range sources {
		facts, err := fetch(ctx, url)
		if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		all = append(all, facts)
	}
	for _, line := range t.merge(all) {
		fmt.Fprintln(out, line)
	}
	text := t.text(now, old)
	switch {
	case bytes.Equal(text, old):
		fmt.Fprintln(out, "the table is up to date")
	case *check:
		return errStale
	case *update:
		if err := os.WriteFile(*file, text, 0o644); err != nil { //nolint:gosec // a file of the repository
			return fmt.Errorf("write the table: %w", err)
		}
	}
	return nil
}
