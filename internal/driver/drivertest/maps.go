package drivertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// mapOver is a map over the numbers below n, two at a time, whose body calls the tool act with the
// item and passes the result to a second step.
func mapOver(n int) *flow {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	f := chain(workflow.Node{ID: "m", Kind: workflow.KindMap, Retry: retryOnce(), Map: &workflow.Map{
		Over: []byte("[" + strings.Join(list, ",") + "]"), Entry: "act", MaxConcurrency: 2,
		OnItemError: workflow.FailCollect,
	}})
	act := toolNode("act", "act")
	act.Tool.Args = []byte(`{"item":"{{ $item }}"}`)
	f.add(within("m", act))
	f.add(within("m", workflow.Node{ID: "both", Kind: workflow.KindSet,
		Set: &workflow.SetNode{Value: []byte(`"{{ $item_index }}: {{ $steps.act.output }}"`)}}))
	f.edge("act", "", "both")
	return f
}

// itemCalls records the calls of the tool act.
type itemCalls struct {
	mu                        sync.Mutex
	begun                     map[int]int // by item
	ended                     []int       // items, in the order of their results
	concurrent, maxConcurrent int         // concurrent calls
}

// world returns a world with the tool; took returns how long each call takes for its item, and
// fails reports whether the nth call for an item fails.
func (c *itemCalls) world(took func(item int) time.Duration, fails func(item, n int) bool) *sim.World {
	c.begun = map[int]int{}
	return &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyRetry, Do: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var args struct{ Item int }
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				return tool.Result{}, fmt.Errorf("arguments %s: %w", call.Arguments, err)
			}
			n := c.begin(args.Item)
			err := wait(ctx, took(args.Item))
			c.end(args.Item, err == nil)
			if err == nil && fails(args.Item, n) {
				return tool.Result{Text: "refused", IsError: true}, nil
			}
			return tool.Result{Text: fmt.Sprintf("did %d", args.Item)}, err
		}}}}
}

func (c *itemCalls) begin(item int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun[item]++
	c.concurrent++
	c.maxConcurrent = max(c.maxConcurrent, c.concurrent)
	return c.begun[item]
}

func (c *itemCalls) end(item int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.concurrent--
	if ok {
		c.ended = append(c.ended, item)
	}
}

// check checks how often each item was processed, and that the run returned the list of all results
// in item order.
func (c *itemCalls) check(t *testing.T, f *flow, events []event.Event, want map[int]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !maps.Equal(c.begun, want) {
		t.Errorf("calls by item: %v, want %v\n%s", c.begun, want, show(events))
	}
	if c.maxConcurrent != 2 {
		t.Errorf("%d items were at work at once, want 2", c.maxConcurrent)
	}
	plan, err := engine.Compile(f.workflow(), nil, celexpr.Compiler{})
	if err != nil {
		t.Fatal(err)
	}
	run := engine.New(plan, "run")
	if err := run.Apply(events); err != nil {
		t.Fatal(err)
	}
	var got, list []string
	if err := json.Unmarshal(run.Output(), &got); err != nil {
		t.Fatalf("the output %s: %v", run.Output(), err)
	}
	for i := range want {
		list = append(list, fmt.Sprintf("%d: did %d", i, i))
	}
	if slices.Sort(list); !slices.Equal(got, list) {
		t.Errorf("the map gave %q, want %q", got, list)
	}
}

// testMap checks that two items run concurrently, that results arrive in another order than the
// items, and that an attempt after a failure repeats only the failed item.
func testMap(t *testing.T, c Cluster) {
	var calls itemCalls
	w := calls.world(func(item int) time.Duration { return time.Duration(7-item) * 30 * time.Millisecond },
		func(item, n int) bool { return item == 3 && n == 1 })
	p := c.Open(t, Options{World: w})
	f := mapOver(7)
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusCompleted)
	calls.check(t, f, c.Events(t, run), map[int]int{0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 1})
	if slices.IsSorted(calls.ended) {
		t.Errorf("the results came in the order of the items: %v", calls.ended)
	}
	closeAll(t, p)
}

// testMapDeath checks that a process that dies in the middle of a map leaves it to another process,
// which repeats no item that has ended.
func testMapDeath(t *testing.T, c Cluster) {
	var calls itemCalls
	w := calls.world(func(int) time.Duration { return time.Minute }, func(int, int) bool { return false })
	dies, heir := c.Open(t, Options{World: w}), c.Open(t, Options{World: w})
	f := mapOver(9)
	run := start(t, dies, f)
	time.Sleep(150 * time.Second) // four have ended, two are running
	dies.Kill()
	if err := heir.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, heir, run, event.StatusCompleted)
	calls.check(t, f, c.Events(t, run), map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 1, 7: 1, 8: 1})
	closeAll(t, heir)
}
