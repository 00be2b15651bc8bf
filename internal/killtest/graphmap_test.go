package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/service"
)

// envGraphMap makes a child execute a run of a Go graph with a map, over as many items as it
// specifies.
const envGraphMap = "HOCKET_TEST_GRAPHMAP"

// squares is the state of the graph with the map, square an item of the map.
type (
	squares struct {
		Items int `json:"items"`
		Ended int `json:"ended"`
		Sum   int `json:"sum"`
	}
	square struct {
		N      int  `json:"n"`
		Of     int  `json:"of"`
		Looked bool `json:"looked"`
	}
)

// squaring returns a map over the numbers below items, sixteen concurrently, each with two
// functions that record their calls.
func (d *diary) squaring() (*graph.Compiled[squares], error) {
	over := func(v graph.View[squares]) []square {
		list := make([]square, v.State.Items)
		for i := range list {
			list[i].N = i
		}
		return list
	}
	node := func(id string, do func(s *square)) graph.Node[square] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[square]) (graph.Result[square], error) {
				do(&c.State)
				return graph.Result[square]{Update: &c.State}, d.write(wroteCall, c.Key, "")
			})
	}
	return graph.New[squares]("squares").Then(graph.Map("each", over,
		node("multiply", func(s *square) { s.Of = s.N * s.N }), node("look", func(s *square) { s.Looked = true }),
	).AtOnce(16).Into(func(s *squares, list []square) error {
		for _, one := range list {
			if s.Sum += one.Of; one.Looked {
				s.Ended++
			}
		}
		return nil
	})).Compile()
}

// childGraphMap executes a run of the graph to its end, or resumes it.
func childGraphMap(run string) (err error) {
	ctx := context.Background()
	d, err := openDiary(os.Getenv(envDiary), run)
	if err != nil {
		return err
	}
	items, err := strconv.Atoi(os.Getenv(envGraphMap))
	if err != nil {
		return err
	}
	g, err := d.squaring()
	if err != nil {
		return err
	}
	e, err := hocket.Open(ctx, hocket.Config{DB: os.Getenv(envDB), Env: func(string) string { return "" }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	_, err = hocket.Run(ctx, e, g, squares{Items: items}, hocket.RunOptions{ID: run, Attach: true})
	return err
}

// TestKillGraphMap checks X-141: a map of a Go graph whose process is killed calls no function
// again whose result was stored, so that no ended item is repeated, and returns the same result as
// an undisturbed one.
func TestKillGraphMap(t *testing.T) {
	t.Parallel()
	folder, items := t.TempDir(), mapItems()
	db := filepath.Join(folder, "hocket.db")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	g, err := new(diary).squaring()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Compile(g.Workflow(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := squares{Items: items, Ended: items, Sum: (items - 1) * items * (2*items - 1) / 6}
	r := &reader{
		t: t, watch: watch, diary: filepath.Join(folder, "diary"),
		status: map[string]event.Status{}, returned: map[string]bool{}, noted: map[string]string{},
		received: map[string]string{}, begun: map[string]int{},
	}
	h := killtest.Harness{
		Env: func(string) []string {
			return []string{envDB + "=" + db, envDiary + "=" + r.diary, envGraphMap + "=" + strconv.Itoa(items)}
		},
		After: func(run string) bool {
			r.readDiary()
			events, err := watch.Events(t.Context(), run, 0)
			if errors.Is(err, journal.ErrNotFound) {
				return false
			}
			if err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			for _, e := range events {
				switch d := e.Data.(type) {
				case *event.FuncReturned:
					if d.Error == nil {
						r.returned[run+"/"+d.Call] = true
					}
				case *event.RunFailed:
					t.Fatalf("run %s failed: %+v", run, d.Error)
				}
			}
			folded := engine.New(plan, run)
			if err := folded.Apply(events); err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			if !folded.Status().Ended() {
				return false
			}
			var got squares
			raw, err := json.Marshal(folded.State())
			if err == nil {
				err = json.Unmarshal(raw, &got)
			}
			if err != nil || got != want || folded.Status() != event.StatusCompleted {
				t.Fatalf("run %s: %s with %+v, %v; want %+v", run, folded.Status(), got, err, want)
			}
			return true
		},
	}
	runs := h.Kill(t, killtest.Kills())
	for _, wrong := range r.wrong {
		t.Error(wrong)
	}
	times := 0
	for _, n := range r.begun {
		times += n
	}
	if got := len(r.begun); got != 2*items*(runs+1) {
		t.Errorf("%d functions over %d runs, want two for each of %d items", got, runs+1, items)
	}
	t.Logf("%d items a run, %d runs: %d functions were called %d times", items, runs+1, len(r.begun), times)
}
