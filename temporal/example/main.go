// Temporal writes a notice and publishes it, in runs that a Temporal server executes. Start it
// several times: each process with -work accepts calls of all runs, and if one is killed the others
// continue. From the folder temporal:
//
//	go run ./example -db postgres://hocket@localhost/hocket -temporal localhost:7233 -work
//	go run ./example -db postgres://hocket@localhost/hocket -temporal localhost:7233 "open on Sundays"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/postgres"
	"github.com/hocket-run/hocket/temporal"
)

// State is the state that the nodes work on. It is stored in PostgreSQL, not in Temporal.
type State struct{ Topic, Text string }

func notice() (*graph.Compiled[State], error) {
	return graph.New[State]("notice").
		Do("write", func(_ context.Context, s *State) error {
			s.Text = "Good news: " + s.Topic + "."
			return nil
		}).
		Do("publish", func(_ context.Context, s *State) error {
			s.Text = strings.ToUpper(s.Text)
			return nil
		}).
		Compile()
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("temporal", flag.ContinueOnError)
	db := fs.String("db", os.Getenv("HOCKET_DB"), "`URL` of the PostgreSQL database")
	address := fs.String("temporal", "localhost:7233", "`HOST:PORT` of the Temporal server")
	namespace := fs.String("namespace", "default", "`NAME` of the namespace of Temporal")
	work := fs.Bool("work", false, "take calls until the program is stopped")
	if err := fs.Parse(args); err != nil {
		return err
	}
	// Processes with the same name share their runs.
	cfg := hocket.Config{Program: "notices",
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	e, err := hocket.Open(ctx, cfg, postgres.Open(*db),
		temporal.Carry(temporal.Server{Address: *address, Namespace: *namespace}))
	if err != nil {
		return err
	}
	defer e.Close()
	g, err := notice()
	if err != nil {
		return err
	}
	if err := hocket.Register(e, g); err != nil {
		return err
	}
	if *work {
		return e.Work(ctx)
	}
	if fs.NArg() != 1 {
		return errors.New("say what to write about")
	}
	r, err := hocket.Run(ctx, e, g, State{Topic: fs.Arg(0)})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, r.Status, r.State.Text)
	return r.Err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}
