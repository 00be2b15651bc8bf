package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, problems io.Writer) error {
	if len(args) > 0 && args[0] == childCommand {
		return child(ctx, args[1:], out)
	}
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(problems)
	asJSON := flags.Bool("json", false, "print JSON")
	only := flags.String("row", "", "measure only the rows with these names, separated by commas")
	budget := flags.Duration("budget", 6*time.Second,
		"repeat the work of a row up to five times while it has taken less than this")
	goals := flags.Bool("goals", false, "with -row: measure the goals that no row answers, too")
	long := flags.Int("long", 0, "measure only a run of this many `steps` that is killed and resumed")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *long < 0 || *long > maxLong:
		return fmt.Errorf("-long: %d steps, at most %d are allowed", *long, maxLong)
	case *long > 0:
		goals, err := longGoals(ctx, *long)
		if err != nil {
			return err
		}
		return report{Goals: goals}.write(out, *asJSON)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	r := report{}
	for _, row := range chosen {
		fmt.Fprintln(problems, "measuring", row.name)
		m, err := measure(ctx, row, *budget)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		r.Rows = append(r.Rows, m)
	}
	if r.Goals = rowGoals(r.Rows); *only == "" || *goals {
		fmt.Fprintln(problems, "measuring goals")
		more, err := otherGoals(ctx)
		if err != nil {
			return err
		}
		r.Goals = append(r.Goals, more...)
	}
	return r.write(out, *asJSON)
}

// choose returns the rows with the given names, or all rows if names is empty.
func choose(names string) ([]row, error) {
	if names == "" {
		return rows, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no row %q", name)
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}
