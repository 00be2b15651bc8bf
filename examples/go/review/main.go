// Review drafts a notice, checks it, and asks a person, round after round until the person says
// yes. The question is answered by another invocation of the program, at any later time: finished
// steps are in the store and do not run again.
//
//	go run ./examples/go/review "the town library opens on Sundays"
//	go run ./examples/go/review -answer "name the hours"
//	go run ./examples/go/review -answer yes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// State is the state that the nodes share. It is stored as JSON after each node.
type State struct {
	Topic    string   `json:"topic"`
	Draft    string   `json:"draft,omitempty"`
	Remarks  []string `json:"remarks,omitempty"` // from the check, on this draft
	Wishes   []string `json:"wishes,omitempty"`  // from the person, on all drafts
	Approved bool     `json:"approved,omitempty"`
}

// write stands in for a model call. The call is paid for only once: the result of Once is on disk
// before the node continues.
func write(ctx context.Context, s *State) error {
	text, err := graph.Once(ctx, "text", func(context.Context) (string, error) {
		return "Good news: " + s.Topic + "." + strings.Join(s.Wishes, ""), nil
	})
	s.Draft = text
	return err
}

func check(_ context.Context, s *State) error {
	s.Remarks = nil
	if !strings.ContainsAny(s.Draft, "0123456789") {
		s.Remarks = append(s.Remarks, "it names no day and no hour")
	}
	if !strings.Contains(s.Draft, "!") {
		s.Remarks = append(s.Remarks, "readers will not be excited")
	}
	return nil
}

func question(v graph.View[State]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Draft: %s\n", v.State.Draft)
	for _, r := range v.State.Remarks {
		fmt.Fprintf(&b, "  - %s\n", r)
	}
	b.WriteString("Publish it? Answer yes, or what to add.")
	return b.String()
}

func decide(s *State, answer string) error {
	if s.Approved = answer == "yes"; !s.Approved {
		s.Wishes = append(s.Wishes, " "+answer)
	}
	return nil
}

func approved(v graph.View[State]) bool { return v.State.Approved }

func publish(_ context.Context, s *State) error {
	s.Draft = strings.ToUpper(s.Draft)
	return nil
}

func review() (*graph.Compiled[State], error) {
	return graph.New[State]("review").
		Then(graph.Loop(approved, graph.Do("write", write), graph.Do("check", check),
			graph.Ask("ask", question, decide)).AtMost(10)).
		If(approved, graph.Do("publish", publish)).
		Compile(graph.Config{Version: "1"})
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "review:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("review", flag.ContinueOnError)
	db := flags.String("db", "review.db", "file of the store")
	id := flags.String("id", "review", "name of the review")
	answer := flags.String("answer", "", "answer to the open question")
	if err := flags.Parse(args); err != nil {
		return err
	}
	g, err := review()
	if err != nil {
		return err
	}
	eng, err := hocket.Open(ctx, hocket.Config{DB: *db})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()

	var r *hocket.Result[State]
	if *answer == "" { // start it, show it, or continue it if a process was killed or interrupted
		r, err = hocket.Run(ctx, eng, g, State{Topic: strings.Join(flags.Args(), " ")},
			hocket.RunOptions{ID: *id, Attach: true})
	} else {
		r, err = hocket.Resume(ctx, eng, g, *id, hocket.Answer{Value: *answer})
	}
	switch {
	case errors.Is(err, hocket.ErrInterrupted):
		return fmt.Errorf("%w; call me without arguments to go on", err)
	case err != nil:
		return err
	case r.Status == hocket.StatusPaused:
		fmt.Fprintln(out, r.Snapshot.Waiting[0].Prompt)
	case !r.State.Approved:
		fmt.Fprintln(out, "not published:", r.Status, r.Err)
	default:
		fmt.Fprintln(out, "Published:", r.State.Draft)
		fmt.Fprintln(out, "Nodes that ran:", strings.Join(r.Snapshot.VisitedNodes, " "))
	}
	return nil
}
