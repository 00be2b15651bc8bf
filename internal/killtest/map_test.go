package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// envMap makes a child execute a run of a map, over as many items as it specifies.
const envMap = "HOCKET_TEST_MAP"

// mapDocument returns a map over the numbers below items, sixteen concurrently, each with a call.
func mapDocument(items int) []byte {
	list := make([]string, items)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return fmt.Appendf(nil, "workflow:\n  - {type: map, over: [%s], max_concurrency: 16, steps: [{type: tool, tool: "+
		"count, args: {n: \"{{ $item }}\"}}]}\n", strings.Join(list, ","))
}

// childMap executes a run of the map to its end, or resumes it.
func childMap(run string) (err error) {
	ctx := context.Background()
	d, err := openDiary(os.Getenv(envDiary), run)
	if err != nil {
		return err
	}
	items, err := strconv.Atoi(os.Getenv(envMap))
	if err != nil {
		return err
	}
	count := &tooltest.Tool{Name: "count", Retry: true, Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Text: "counted"}, d.write(wroteCall, run+"/"+string(c.Arguments), "")
	}}
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: os.Getenv(envDB), Env: func(string) string {
		return ""
	}, Tools: []tool.Tool{count}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, "map.yaml", mapDocument(items), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	if _, err = s.Start(ctx, service.StartRequest{RunID: run, Workflow: w}); errors.Is(err, journal.ErrExists) {
		err = s.Resume(ctx, run)
	}
	if err == nil {
		_, err = s.Wait(ctx, run)
	}
	return err
}

// mapItems returns the number of items of the map: HOCKET_ITEMS, or 100 by default.
func mapItems() int {
	if n, err := strconv.Atoi(os.Getenv("HOCKET_ITEMS")); err == nil {
		return n
	}
	return 100
}

// TestKillMap checks that a map whose process is killed does not repeat an item whose result was
// stored, and returns the same result as an undisturbed one.
func TestKillMap(t *testing.T) {
	t.Parallel()
	folder, items := t.TempDir(), mapItems()
	db, path := filepath.Join(folder, "hocket.db"), filepath.Join(folder, "diary")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	w, _, err := watch.Load(t.Context(), "map.yaml", mapDocument(items), service.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Compile(w, nil, celexpr.Compiler{})
	if err != nil {
		t.Fatal(err)
	}
	read, again, twice := 0, 0, 0
	done := map[string]bool{}  // calls whose results are in the journal, by run and arguments
	begun := map[string]bool{} // calls that were made
	h := killtest.Harness{
		Env: func(string) []string {
			return []string{envDB + "=" + db, envDiary + "=" + path, envMap + "=" + strconv.Itoa(items)}
		},
		After: func(run string) bool {
			raw, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(raw[read:])) {
				if !strings.HasSuffix(line, "\n") {
					break // the child was killed while writing
				}
				read += len(line)
				key := strings.TrimSpace(strings.TrimPrefix(line, wroteCall))
				if done[key] {
					again++
					t.Errorf("%s was called again though its result was in the journal", key)
				}
				if begun[key] {
					twice++ // it was in flight when its process was killed
				}
				begun[key] = true
			}
			events, err := watch.Events(t.Context(), run, 0)
			if errors.Is(err, journal.ErrNotFound) {
				return false
			}
			if err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			args := map[int]string{}
			for _, e := range events {
				switch d := e.Data.(type) {
				case *event.StepStarted:
					args[e.Step] = string(d.Input)
				case *event.ToolReturned:
					done[run+"/"+args[e.Step]] = true
				case *event.RunCompleted:
					folded := engine.New(plan, run)
					var out []string
					if err := folded.Apply(events); err != nil || json.Unmarshal(folded.Output(), &out) != nil ||
						len(out) != items || strings.Count(strings.Join(out, " "), "counted") != items {
						t.Fatalf("run %s: %v with %.200s", run, err, folded.Output())
					}
					return true
				case *event.RunFailed:
					t.Fatalf("run %s failed: %+v", run, d.Error)
				}
			}
			return false
		},
	}
	runs := h.Kill(t, killtest.Kills())
	t.Logf("%d items a run, %d runs: %d calls, %d made twice because they were out at a kill, %d made again after "+
		"their results", items, runs+1, len(begun)+twice, twice, again)
}
