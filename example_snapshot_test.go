package hocket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// letterState holds the parts of the letters in these examples.
type letterState struct {
	Draft string `json:"draft,omitempty"`
	Sent  bool   `json:"sent,omitempty"`
}

// letterGraph returns a graph that writes a letter and sends it once a person has agreed.
func letterGraph() (*graph.Compiled[letterState], error) {
	return graph.New[letterState]("letter").
		Start(graph.Do("write", func(_ context.Context, s *letterState) error {
			s.Draft = "Dear reader"
			return nil
		})).
		Wait("Send it?").
		Then(graph.Do("send", func(_ context.Context, s *letterState) error {
			s.Sent = true
			return nil
		})).
		Compile()
}

// A run that waits for a person continues in another process, which has only the snapshot.
func ExampleSnapshotOf() {
	ctx := context.Background()
	g, err := letterGraph()
	if err != nil {
		fmt.Println(err)
		return
	}

	first, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	paused, err := hocket.Run(ctx, first, g, letterState{}, hocket.RunOptions{ID: "letter-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(paused.Status, paused.Snapshot.Waiting[0].Prompt)
	snapshot, err := hocket.SnapshotOf(ctx, first, g, "letter-1") // the same as paused.Snapshot
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := json.Marshal(snapshot)
	_ = first.Close()
	if err != nil {
		fmt.Println(err)
		return
	}

	// Later, in another process.
	var found hocket.Snapshot[letterState]
	if err := json.Unmarshal(stored, &found); err != nil {
		fmt.Println(err)
		return
	}
	second, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = second.Close() }()
	done, err := hocket.Run(ctx, second, g, letterState{}, hocket.RunOptions{
		ResumeFrom: &found, Answer: &hocket.Answer{Value: "yes"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Status, done.State.Sent, strings.Join(done.Snapshot.VisitedNodes, " "))
	// Output:
	// paused Send it?
	// completed true write wait_1 send
}

// OnProgress reports nodes and saved states as the run proceeds.
func ExampleRunOptions() {
	ctx := context.Background()
	g, err := letterGraph()
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = e.Close() }()
	_, err = hocket.Run(ctx, e, g, letterState{}, hocket.RunOptions{
		Checkpointer: compat.MemoryCheckpoints(),
		OnProgress: hocket.OnProgress(func(p hocket.Progress[letterState]) {
			fmt.Printf("%s %s %q\n", p.Type, p.NodeID, p.Label)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Output:
	// node_started write ""
	// node_completed write ""
	// checkpoint_saved write "step_1"
	// node_started wait_1 ""
	// checkpoint_saved wait_1 "step_2"
}

// StreamModes shows a run in several modes simultaneously.
func ExampleStreamModes() {
	ctx := context.Background()
	g, err := letterGraph()
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = e.Close() }()
	for ev, err := range compat.StreamModes(ctx, e, g, letterState{},
		[]compat.Mode{compat.ModeUpdates, compat.ModeValues}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := json.Marshal(ev)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(text))
	}
	// Output:
	// {"mode":"updates","nodeId":"write","update":{"draft":"Dear reader"}}
	// {"mode":"values","nodeId":"write","state":{"draft":"Dear reader"}}
	// {"mode":"values","nodeId":"wait_1","state":{"draft":"Dear reader"}}
}
