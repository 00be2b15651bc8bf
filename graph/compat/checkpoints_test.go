package compat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph/compat"
)

type counted struct {
	N    int      `json:"n"`
	Tags []string `json:"tags,omitempty"`
}

// checkpointStores returns one Checkpointer of each kind, by name.
func checkpointStores(t *testing.T) map[string]compat.Checkpointer {
	t.Helper()
	files, err := compat.FileCheckpoints(filepath.Join(t.TempDir(), "states"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := compat.SQLiteCheckpoints(t.Context(), filepath.Join(t.TempDir(), "states.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(files.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return map[string]compat.Checkpointer{"memory": compat.MemoryCheckpoints(), "files": files, "sqlite": db}
}

// TestLoadState checks that states are returned with their type, the latest one or by label, and
// that a state that does not fit is an error, never a partial value (S2-65).
func TestLoadState(t *testing.T) {
	t.Parallel()
	for name, c := range checkpointStores(t) {
		if _, err := compat.LoadState[counted](t.Context(), c, "r", ""); !errors.Is(err, compat.ErrNoCheckpoint) {
			t.Errorf("%s: got %v", name, err)
		}
		for label, state := range map[string]string{"first": `{"n":1,"tags":["a"]}`, "odd": `{"n":1,"tags":7}`} {
			if err := c.Save(t.Context(), "r", json.RawMessage(state), label); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got, err := compat.LoadState[counted](t.Context(), c, "r", "first")
		if diff := cmp.Diff(counted{1, []string{"a"}}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		got, err = compat.LoadState[counted](t.Context(), c, "r", "odd")
		if diff := cmp.Diff(counted{}, got); err == nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestCheckpointsRefused checks that opening an invalid store returns an error and no store.
func TestCheckpointsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := compat.FileCheckpoints(path); err == nil || c != nil {
		t.Errorf("a file for a folder: got %v, %v", c, err)
	}
	if c, err := compat.SQLiteCheckpoints(t.Context(), path); err == nil || c != nil {
		t.Errorf("a text for a database: got %v, %v", c, err)
	}
}

func ExampleLoadState() {
	ctx := context.Background()
	checkpoints := compat.MemoryCheckpoints()
	// A run whose RunOptions set the Checkpointer does this after each node.
	_ = checkpoints.Save(ctx, "review-7", json.RawMessage(`{"draft":"First words.","rounds":1}`), "step_1")
	_ = checkpoints.Save(ctx, "review-7", json.RawMessage(`{"draft":"Better words.","rounds":2}`), "step_2")

	type State struct {
		Draft  string `json:"draft"`
		Rounds int    `json:"rounds"`
	}
	last, err := compat.LoadState[State](ctx, checkpoints, "review-7", "")
	fmt.Println(last.Rounds, last.Draft, err)
	first, err := compat.LoadState[State](ctx, checkpoints, "review-7", "step_1")
	fmt.Println(first.Rounds, first.Draft, err)
	_, err = compat.LoadState[State](ctx, checkpoints, "review-7", "approved")
	fmt.Println(errors.Is(err, compat.ErrNoCheckpoint))
	// Output:
	// 2 Better words. <nil>
	// 1 First words. <nil>
	// true
}
