package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/service"
)

// letter is the state of goProgram's graph.
type letter struct {
	To   string   `json:"to"`
	Text string   `json:"text"`
	Log  []string `json:"log,omitempty"`
}

// goProgram is a program that embeds Hocket: it starts the run of a graph that writes a letter and
// asks before it sends it (`goprogram start RUN TO`), answers it (`goprogram answer RUN ANSWER`),
// or works until it has ended (`goprogram work RUN`).
func goProgram() {
	if err := letters(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func letters(ctx context.Context, verb, run string, args []string) error {
	db, err := service.DefaultDB(os.Getenv)
	if err != nil {
		return err
	}
	eng, err := hocket.Open(ctx, hocket.Config{DB: db, Program: "example.com/letters"})
	if err != nil {
		return err
	}
	defer eng.Close()
	g, err := graph.New[letter]("letters").
		Start(graph.Do("write", func(ctx context.Context, s *letter) error {
			switch s.To {
			case "missing":
				return errors.New("there is no recipient")
			case "everybody":
				fmt.Println("hangs")
				<-ctx.Done()
				return context.Cause(ctx)
			}
			s.Text = "Dear " + s.To
			return nil
		}, graph.NodeOptions{Name: "Writer", Retry: graph.Retry{MaxAttempts: 1}})).
		Then(graph.WaitConfig[letter]{ID: "ask", Prompt: "Send it?"}).
		Then(graph.Do("send", func(_ context.Context, s *letter) error {
			s.Log = append(s.Log, "sent to "+s.To)
			return nil
		})).
		Compile()
	if err != nil {
		return err
	}
	var r *hocket.Result[letter]
	switch verb {
	case "start":
		r, err = hocket.Run(ctx, eng, g, letter{To: args[0]}, hocket.RunOptions{ID: run})
	case "answer":
		r, err = hocket.Resume(ctx, eng, g, run, hocket.Answer{Value: args[0]})
	case "work":
		return work(ctx, eng, g, run)
	default:
		return fmt.Errorf("no verb %q", verb)
	}
	if err != nil {
		return err
	}
	fmt.Println(r.Status, r.State.Text, r.State.Log)
	return nil
}

// work resumes the unfinished runs of the program until the given run, which need not exist yet,
// has ended, and prints its status.
func work(ctx context.Context, eng *hocket.Engine, g *graph.Compiled[letter], run string) error {
	if err := hocket.Register(eng, g); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- eng.Work(ctx) }()
	fmt.Println("working")
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		r, err := eng.Get(ctx, run)
		if err != nil && !errors.Is(err, hocket.ErrNotFound) {
			return err
		}
		if err == nil && !r.EndedAt.IsZero() {
			fmt.Println(r.Status)
			stop()
			return <-done
		}
	}
}
