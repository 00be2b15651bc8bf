package checkpointtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/checkpoint"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// Store is the interface under test.
type Store = checkpoint.Store

// Run checks that a store conforms to hocket.Checkpointer (S2-65). open returns an empty store for
// each test; it may be called from within rapid.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, s Store)
	}{
		{"save, load, list, delete", testRound},
		{"a label saved again is the newest", testAgain},
		{"no label", testUnnamed},
		{"nothing there", testNothing},
		{"names of any text", testNames},
		{"refused", testRefused},
		{"states byte for byte", testBytes},
		{"slices", testSlices},
		{"at the same time", testConcurrent},
		{"done context", testContext},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t))
		})
	}
	t.Run("law", func(t *testing.T) {
		t.Parallel()
		testLaw(t, open(t))
	})
}

func save(t *testing.T, s Store, execution, label, state string) {
	t.Helper()
	if err := s.Save(t.Context(), execution, json.RawMessage(state), label); err != nil {
		t.Fatal(err)
	}
}

// expect compares the checkpoints of a run: its labels, oldest first, and the state of each,
// written as `label=state`.
func expect(t *testing.T, s Store, execution string, want ...string) {
	t.Helper()
	labels, err := s.List(t.Context(), execution)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, l := range labels {
		state, err := s.Load(t.Context(), execution, l)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l+"="+string(state))
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("checkpoints of %q (-want +got):\n%s", execution, diff)
	}
	last, err := s.Load(t.Context(), execution, "")
	switch {
	case len(want) == 0:
		if !errors.Is(err, checkpoint.ErrNone) || last != nil {
			t.Errorf("the latest: got %s, %v", last, err)
		}
	case err != nil || !strings.HasSuffix(want[len(want)-1], "="+string(last)):
		t.Errorf("the latest: got %s, %v, want %s", last, err, want[len(want)-1])
	}
}

func testRound(t *testing.T, s Store) {
	save(t, s, "r1", "step_1", `{"n":1}`)
	save(t, s, "r1", "step_2", `{"n":2}`)
	save(t, s, "r2", "step_1", `{"other":true}`)
	save(t, s, "r1", "approved", `{"n":3}`)
	expect(t, s, "r1", `step_1={"n":1}`, `step_2={"n":2}`, `approved={"n":3}`)
	if err := s.Delete(t.Context(), "r1", "approved"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "r1", `step_1={"n":1}`, `step_2={"n":2}`)
	if err := s.Delete(t.Context(), "r1", ""); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "r1")
	expect(t, s, "r2", `step_1={"other":true}`)
	save(t, s, "r1", "step_9", `9`)
	expect(t, s, "r1", `step_9=9`)
}

func testAgain(t *testing.T, s Store) {
	for i, label := range []string{"a", "b", "c", "a", "c", "c"} {
		save(t, s, "r", label, fmt.Sprint(i))
	}
	expect(t, s, "r", "b=1", "a=3", "c=5")
}

func testUnnamed(t *testing.T, s Store) {
	save(t, s, "r", "", `1`)
	save(t, s, "r", "checkpoint_3", `2`)
	save(t, s, "r", "", `3`)
	save(t, s, "r", "", `4`)
	expect(t, s, "r", "checkpoint_1=1", "checkpoint_3=2", "checkpoint_4=3", "checkpoint_5=4")
}

func testNothing(t *testing.T, s Store) {
	expect(t, s, "never")
	save(t, s, "r", "a", `1`)
	if got, err := s.Load(t.Context(), "r", "b"); !errors.Is(err, checkpoint.ErrNone) || got != nil {
		t.Errorf("got %s, %v", got, err)
	}
	for _, label := range []string{"", "a"} {
		if err := s.Delete(t.Context(), "never", label); err != nil {
			t.Error(err)
		}
	}
	if err := s.Delete(t.Context(), "r", "b"); err != nil {
		t.Error(err)
	}
	expect(t, s, "r", "a=1")
}

// testNames checks that ids and labels are not treated as paths (SEC16).
func testNames(t *testing.T, s Store) {
	names := []string{
		"a", "A", "../a", "..", ".", "/", "/etc/passwd", `C:\x`, "con", "a b", "é", "e\u0301", "%41",
		"a'; DROP TABLE checkpoints; --", "\n", "a\tb",
		strings.Repeat("x", checkpoint.MaxName),
	}
	for i, execution := range names {
		for j, label := range names {
			save(t, s, execution, label, fmt.Sprint(i*100+j))
		}
	}
	for i, execution := range names {
		var want []string
		for j, label := range names {
			want = append(want, fmt.Sprintf("%s=%d", label, i*100+j))
		}
		expect(t, s, execution, want...)
	}
}

func testRefused(t *testing.T, s Store) {
	long := strings.Repeat("x", checkpoint.MaxName+1)
	for _, tt := range []struct{ execution, label, state, want string }{
		{"", "a", `1`, "save checkpoint: the run has no id"},
		{long, "a", `1`, "save checkpoint: the id of the run has 1025 bytes; the limit is 1024"},
		{"r", long, `1`, "save checkpoint: the label has 1025 bytes; the limit is 1024"},
		{"r", "a\x00b", `1`, "save checkpoint: the label must be valid UTF-8 without NUL"},
		{"r", "\xff", `1`, "save checkpoint: the label must be valid UTF-8 without NUL"},
		{"r\x00", "a", `1`, "save checkpoint: the id of the run must be valid UTF-8 without NUL"},
		{"r", "a", ``, "save checkpoint: the state is not valid JSON"},
		{"r", "a", `{"n":`, "save checkpoint: the state is not valid JSON"},
	} {
		if err := s.Save(t.Context(), tt.execution, json.RawMessage(tt.state), tt.label); err == nil ||
			err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := s.Load(t.Context(), "", ""); err == nil || errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("load: got %v", err)
	}
	if _, err := s.List(t.Context(), ""); err == nil {
		t.Error("list: no error")
	}
	if err := s.Delete(t.Context(), "", ""); err == nil {
		t.Error("delete: no error")
	}
	expect(t, s, "r")
}

func testBytes(t *testing.T, s Store) {
	states := []string{"null", " { \"b\" : 1,\n\t\"a\" : 1e400 }\n", `"<é\u0000>"`,
		`[` + strings.Repeat(`"0123456789",`, 1<<17) + `1]`}
	for i, state := range states {
		save(t, s, "r", fmt.Sprint(i), state)
	}
	for i, want := range states {
		if got, err := s.Load(t.Context(), "r", fmt.Sprint(i)); err != nil || string(got) != want {
			t.Errorf("state %d: got %d bytes, want %d; %v", i, len(got), len(want), err)
		}
	}
}

// testSlices checks that the caller keeps ownership of the slices it passes and owns the slices it
// receives.
func testSlices(t *testing.T, s Store) {
	state := []byte(`[1]`)
	if err := s.Save(t.Context(), "r", state, "a"); err != nil {
		t.Fatal(err)
	}
	copy(state, `[2]`)
	got, err := s.Load(t.Context(), "r", "a")
	if err != nil {
		t.Fatal(err)
	}
	copy(got, `[3]`)
	expect(t, s, "r", "a=[1]")
}

func testConcurrent(t *testing.T, s Store) {
	const savers, each = 4, 20
	var wg sync.WaitGroup
	for i := range savers {
		wg.Go(func() {
			for j := range each {
				if err := s.Save(t.Context(), "shared", json.RawMessage(`1`), fmt.Sprintf("%d-%d", i, j)); err != nil {
					t.Error(err)
				}
				if err := s.Save(t.Context(), "shared", json.RawMessage(fmt.Sprint(j)),
					fmt.Sprintf("last of %d", i)); err != nil {
					t.Error(err)
				}
				if _, err := s.List(t.Context(), "shared"); err != nil {
					t.Error(err)
				}
				if _, err := s.Load(t.Context(), "shared", "last of 0"); err != nil &&
					!errors.Is(err, checkpoint.ErrNone) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	labels, err := s.List(t.Context(), "shared")
	if err != nil || len(labels) != savers*(each+1) {
		t.Fatalf("%d labels, %v", len(labels), err)
	}
	for i := range savers {
		var own []string
		for _, l := range labels {
			if strings.HasPrefix(l, fmt.Sprintf("%d-", i)) {
				own = append(own, l)
			}
		}
		want := make([]string, each)
		for j := range want {
			want[j] = fmt.Sprintf("%d-%d", i, j)
		}
		if diff := cmp.Diff(want, own); diff != "" {
			t.Errorf("labels of %d (-want +got):\n%s", i, diff)
		}
	}
}

func testContext(t *testing.T, s Store) {
	save(t, s, "r", "a", `1`)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Save(ctx, "r", json.RawMessage(`2`), "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("save: got %v", err)
	}
	if _, err := s.Load(ctx, "r", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("load: got %v", err)
	}
	if _, err := s.List(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("list: got %v", err)
	}
	if err := s.Delete(ctx, "r", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: got %v", err)
	}
	expect(t, s, "r", "a=1")
}

// testLaw compares a store with a plain list, over random sequences of calls.
func testLaw(t *testing.T, s Store) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		type entry struct{ label, state string }
		twin := map[string][]entry{}
		drop := func(run, label string) {
			twin[run] = slices.DeleteFunc(twin[run], func(e entry) bool { return label == "" || e.label == label })
		}
		n := 0
		run := func(rt *rapid.T) string {
			return fmt.Sprintf("%d-%s", round, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "run"))
		}
		label := rapid.SampledFrom([]string{"", "a", "b", "c", "checkpoint_1", "checkpoint_2"})
		rt.Repeat(map[string]func(*rapid.T){
			"save": func(rt *rapid.T) {
				n++
				r, l, state := run(rt), label.Draw(rt, "label"), fmt.Sprint(n)
				if err := s.Save(t.Context(), r, json.RawMessage(state), l); err != nil {
					rt.Fatal(err)
				}
				for i := len(twin[r]) + 1; l == ""; i++ {
					if name := fmt.Sprintf("checkpoint_%d", i); !slices.ContainsFunc(twin[r], func(e entry) bool {
						return e.label == name
					}) {
						l = name
					}
				}
				drop(r, l)
				twin[r] = append(twin[r], entry{l, state})
			},
			"delete": func(rt *rapid.T) {
				r, l := run(rt), label.Draw(rt, "label")
				if err := s.Delete(t.Context(), r, l); err != nil {
					rt.Fatal(err)
				}
				drop(r, l)
			},
			"": func(rt *rapid.T) {
				for _, x := range []string{"x", "y"} {
					r := fmt.Sprintf("%d-%s", round, x)
					labels, err := s.List(t.Context(), r)
					if err != nil || len(labels) != len(twin[r]) {
						rt.Fatalf("labels %v, %v; want %v", labels, err, twin[r])
					}
					for i, e := range twin[r] {
						state, err := s.Load(t.Context(), r, e.label)
						if err != nil || labels[i] != e.label || string(state) != e.state {
							rt.Fatalf("label %s, state %s, %v; want %v", labels[i], state, err, e)
						}
					}
				}
			},
		})
	})
}
