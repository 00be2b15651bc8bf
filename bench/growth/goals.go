package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/bench/internal/drive"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
)

// rowGoals returns the goals whose figures the rows contain. A row that was not measured has none.
func rowGoals(list []measured) []goal {
	var goals []goal
	var largest int64
	var by string
	for _, m := range list {
		for _, c := range m.Costs {
			for name, s := range c.Answers {
				if s.Growth > largest {
					largest, by = s.Growth, fmt.Sprintf("%s of %s, n = %d", name, m.Row, c.N)
				}
			}
		}
		c := m.Costs[1]
		switch m.Row {
		case "steps", "state":
			what := map[string]string{"steps": "chain of %d agents, 5 KB each: ",
				"state": "Go state that appends 5 KB, %d steps: "}[m.Row]
			what = fmt.Sprintf(what, c.N)
			goals = append(goals, goal{Name: what + "disk", Measured: float64(c.Disk), Goal: 1.5*float64(c.Unique) +
				1000*float64(c.Steps), Unit: "B"})
			if c.Memory > 0 {
				goals = append(goals, goal{Name: what + "memory", Measured: float64(c.Memory), Goal: 180e6, Unit: "B"})
			}
		}
	}
	if largest > 0 {
		goals = append(goals, goal{Name: "growth of memory by one answer, at most", Measured: float64(largest),
			Goal: 64 << 20, Unit: "B", Floor: by})
	}
	return goals
}

// otherGoals measures the goals that no row covers and that need no peer.
func otherGoals(ctx context.Context) ([]goal, error) {
	typed, err := typedGoals(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := pausedGoal(ctx)
	if err != nil {
		return nil, err
	}
	turn, err := turnGoal(ctx)
	if err != nil {
		return nil, err
	}
	return append(typed, paused, turn), nil
}

// fiveFields is a typed state with five fields.
type fiveFields struct {
	N     int      `json:"n"`
	Topic string   `json:"topic"`
	Draft string   `json:"draft,omitempty"`
	Done  bool     `json:"done"`
	Notes []string `json:"notes"`
}

// typedGoals measures a chain of 100 Go functions with a typed state on the engine alone, as
// medians of five.
func typedGoals(ctx context.Context) ([]goal, error) {
	const nodes, runs, rounds = 100, 200, 5
	b := graph.New[fiveFields]("typed")
	for i := range nodes {
		b.Then(graph.Do(fmt.Sprintf("n%d", i), func(_ context.Context, s *fiveFields) error {
			s.Notes[s.N%len(s.Notes)] = "changed"
			s.N++
			return nil
		}))
	}
	g, err := b.Compile()
	if err != nil {
		return nil, err
	}
	p := program.New(g.Running().Program())
	plan, err := engine.Compile(g.Workflow(), p, nil)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(fiveFields{Topic: "a state as small ones are",
		Draft: "a sentence of some length, \"quoted\" once", Notes: []string{"one", "two", "three", "four"}})
	if err != nil {
		return nil, err
	}
	var took, allocations, allocated []float64
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range runs {
			if err := drive.Graph(ctx, plan, p, input, nodes); err != nil {
				return nil, err
			}
		}
		took = append(took, time.Since(began).Seconds()/runs/nodes)
		runtime.ReadMemStats(&after)
		allocations = append(allocations, float64(after.Mallocs-before.Mallocs)/runs/nodes)
		allocated = append(allocated, float64(after.TotalAlloc-before.TotalAlloc)/runs/nodes)
	}
	const what = "typed state of 5 fields, engine alone, a step: "
	return []goal{
		{Name: what + "time", Measured: median(took), Goal: 1e-6, Unit: "s"},
		{Name: what + "allocations", Measured: median(allocations), Goal: 5},
		{Name: what + "bytes", Measured: median(allocated), Goal: 1000, Unit: "B"},
	}, nil
}

// pausedGoal stores runs that wait for a person after one step, and measures the size of each
// beyond its own inputs and outputs.
func pausedGoal(ctx context.Context) (g goal, err error) {
	const runs = 500
	dir, err := os.MkdirTemp("", "hocket-growth")
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	asks, err := graph.New[list]("paused").Start(graph.Do("a", func(_ context.Context, s *list) error {
		s.N++
		return nil
	})).Wait("ok?").Compile()
	if err != nil {
		return g, err
	}
	e, err := hocket.Open(ctx, hocket.Config{DB: storePath(dir), Env: noEnv})
	if err != nil {
		return g, err
	}
	for range runs {
		res, err := hocket.Run(ctx, e, asks, list{})
		if err == nil && res.Status != hocket.StatusPaused {
			err = fmt.Errorf("the run is %s", res.Status)
		}
		if err != nil {
			return g, errors.Join(err, e.Close())
		}
	}
	if err := e.Close(); err != nil {
		return g, err
	}
	empty, err := emptyStore(ctx, dir)
	if err != nil {
		return g, err
	}
	full, err := fileSize(storePath(dir))
	if err != nil {
		return g, err
	}
	own := len(`{"n":0,"items":null}`) + len(`{"n":1}`) + len("ok?")
	return goal{Name: "paused run on disk, beyond its own data", Measured: float64(full-empty)/runs - float64(own),
		Goal: 1500, Unit: "B"}, nil
}
