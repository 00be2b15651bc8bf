package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, problems io.Writer) (err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(problems)
	asJSON := flags.Bool("json", false, "print JSON")
	rounds := flags.Int("rounds", 5, "how often everything is measured; the table has medians")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0 || *rounds < 1:
		return errors.New("usage: peers [-json] [-rounds N], N at least 1")
	}
	engines := []engine{hocketEngine{}, langgraphEngine{}, einoEngine{}, goroutines{},
		dbosEngine{title: "DBOS on SQLite"}}
	t := newTable(*rounds)
	address, stop, err := startPostgres(ctx)
	var none noPostgresError
	switch {
	case errors.As(err, &none):
		t.Skipped = append(t.Skipped, "DBOS on PostgreSQL: "+none.reason)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, stop()) }()
		engines = append(engines, dbosEngine{"DBOS on PostgreSQL", address})
	}
	engines = append(engines, inserts{})
	for round := range *rounds {
		fmt.Fprintf(problems, "round %d of %d\n", round+1, *rounds)
		for _, w := range workloads {
			for _, e := range engines {
				perSecond, ok, err := measure(ctx, e, w)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", e.name(), w.name, err)
				}
				if ok {
					t.add(w, e, perSecond)
				}
			}
		}
	}
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(t)
	}
	return t.print(out)
}

// measure runs a workload on an engine for a while, in a folder of its own, and returns the steps
// per second.
func measure(ctx context.Context, e engine, w *workload) (perSecond float64, ok bool, err error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if t, ok := e.(timer); ok {
		return t.rate(ctx, w, dir)
	}
	op, stop, err := e.open(ctx, w, dir)
	if err != nil || op == nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := op(ctx); err != nil { // opens files, fills pools
		return 0, false, err
	}
	runtime.GC()
	least := 250 * time.Millisecond
	if w.durable {
		least = time.Second
	}
	done, began := 0, time.Now()
	for time.Since(began) < least {
		if err := atOnce(ctx, op, w.atOnce); err != nil {
			return 0, false, err
		}
		done += w.atOnce
	}
	return float64(done) * w.steps / time.Since(began).Seconds(), true, nil
}

// atOnce runs n operations concurrently.
func atOnce(ctx context.Context, op func(context.Context) error, n int) error {
	if n == 1 {
		return op(ctx)
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = op(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
