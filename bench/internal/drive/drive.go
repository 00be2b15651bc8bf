// Package drive runs Go graphs on the engine alone, for benchmarks: without a journal or a driver,
// calling each function inline.
package drive

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// Graph runs a graph to its end. It returns an error if the run does not complete or its field n is
// not want.
func Graph(ctx context.Context, plan *engine.Plan, p *program.Program, input event.Value, want int) error {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := engine.New(plan, "run")
	d, err := r.Activate([]engine.Input{{At: at, Data: engine.Start{Created: event.RunCreated{Input: input}}}})
	queue := slices.Clone(d.Commands)
	var res engine.FuncResult
	for next := 0; err == nil && next < len(queue); {
		c, ok := queue[next].(*engine.CallFunc)
		if next++; next == len(queue) {
			queue, next = queue[:0], 0
		}
		if !ok {
			continue
		}
		id := c.ID
		res = p.Call(ctx, "run", c, nil)
		res.ID = id
		r.Reuse(c)
		d, err = r.Activate([]engine.Input{{At: at, Data: &res}})
		queue = append(queue, d.Commands...)
	}
	if err != nil {
		return err
	}
	if n := string(r.State()["n"]); r.Status() != event.StatusCompleted || n != strconv.Itoa(want) {
		return fmt.Errorf("the run is %s, n is %s, not %d", r.Status(), n, want)
	}
	return nil
}
