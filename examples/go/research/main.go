// Research queries two sources concurrently, one of them through two mirrors of which the faster
// counts, has two agents examine the findings, and combines everything in a report. The model is
// written in Go, so that nothing leaves the machine.
//
//	go run ./examples/go/research
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// State is the state that the nodes share. Branches change Facts and Cost concurrently: the
// reducers below define how the changes are merged.
type State struct {
	Topic  string   `json:"topic"`
	Facts  []string `json:"facts,omitempty"`
	Cost   int      `json:"cost"` // in cents
	Report string   `json:"report,omitempty"`
}

// source returns a node that looks up a topic somewhere, which takes a while.
func source(id, fact string, cents int, takes time.Duration) graph.Node[State] {
	return graph.Do(id, func(ctx context.Context, s *State) error {
		select {
		case <-time.After(takes):
		case <-ctx.Done(): // the other mirror won
			return ctx.Err()
		}
		s.Facts = append(s.Facts, fact)
		s.Cost += cents
		return nil
	})
}

func research() (*graph.Compiled[State], error) {
	return graph.New[State]("research").
		Then(graph.Parallel("sources",
			graph.Race("mirrors",
				source("far", "The hocket is a medieval technique (far mirror).", 1, time.Minute),
				source("near", "The hocket is a medieval technique (near mirror).", 1, 10*time.Millisecond)),
			source("archive", "Two voices share one melody, note by note.", 3, time.Millisecond))).
		Then(graph.ParallelSubagentConfig[State]{
			ID: "discuss",
			Agents: []graph.ParallelAgent[State]{{Agent: "historian", TaskFunc: task},
				{Agent: "singer", TaskFunc: task}},
			Output: func(s *State, results []graph.AgentResult) error {
				for _, r := range results {
					if !r.Success {
						return fmt.Errorf("%s: %s", r.Key, r.Error)
					}
					s.Facts = append(s.Facts, r.Output)
				}
				return nil
			},
		}).
		Do("report", func(_ context.Context, s *State) error {
			s.Report = s.Topic + ":\n- " + strings.Join(s.Facts, "\n- ")
			return nil
		}).
		Compile(graph.Config{Reducers: map[string]graph.Reducer{"facts": graph.Append(), "cost": graph.Sum()}})
}

func task(v graph.View[State]) string { return strings.Join(v.State.Facts, "\n") }

// offline is a model: its answer depends on the caller and on how much it was told.
func offline(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
	facts := strings.Count(r.Messages[len(r.Messages)-1].Text, "\n") + 1
	return hocket.ModelReply{Text: fmt.Sprintf("The %s agrees with all %d facts.", r.Agent, facts)}, nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "research:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	g, err := research()
	if err != nil {
		return err
	}
	eng, err := hocket.Open(ctx, hocket.Config{}, // in memory
		hocket.WithModel("offline", hocket.ModelFunc(offline)),
		hocket.WithAgent(hocket.Agent{Name: "historian", SystemPrompt: "You know the sources.", Model: "offline/echo"}),
		hocket.WithAgent(hocket.Agent{Name: "singer", SystemPrompt: "You know how it sounds.", Model: "offline/echo"}))
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()

	var last hocket.Step[State]
	for step, err := range hocket.Stream(ctx, eng, g, State{Topic: "The hocket"}) {
		if err != nil {
			return err
		}
		if last = step; step.Error != nil {
			fmt.Printf("%s: %v\n", step.NodeID, step.Error)
			continue
		}
		fmt.Println(step.NodeID)
	}
	if last.Error != nil {
		return last.Error
	}
	fmt.Printf("\n%s\n\nIt cost %d cents.\n", last.State.Report, last.State.Cost)
	return nil
}
