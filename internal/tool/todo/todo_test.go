package todo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/todo"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(*testing.T) tool.Toolset { return todo.New(tool.Spec{Type: tool.TypeTodo}) },
		Good: tool.Call{Name: "create_todo", Arguments: json.RawMessage(`{"description":"x"}`)},
	})
}

// step is one call and what its answer must contain.
type step struct {
	agent, name, args string
	want              todo.Answer // Revision and Reminder are not compared
	isError           bool
}

func TestCalls(t *testing.T) {
	t.Parallel()
	one := todo.Todo{ID: "todo_1", Description: "one", Status: todo.StatusPending}
	two := todo.Todo{ID: "todo_2", Description: "two", Status: todo.StatusPending}
	done := todo.Todo{ID: "todo_1", Description: "one", Status: todo.StatusCompleted}
	create := step{"a", "create_todo", `{"description":"one"}`,
		todo.Answer{Created: []todo.Todo{one}, Todos: []todo.Todo{one}}, false}
	for _, tc := range []struct {
		name   string
		shared bool
		steps  []step
	}{
		{"create", false, []step{create}},
		{"create several", false, []step{
			{"a", "create_todos", `{"descriptions":["one","two"]}`,
				todo.Answer{Created: []todo.Todo{one, two}, Todos: []todo.Todo{one, two}}, false},
		}},
		{"update", false, []step{create,
			{"a", "update_todo", `{"id":"todo_1","status":"completed"}`,
				todo.Answer{Updated: []string{"todo_1"}, Todos: []todo.Todo{done}}, false},
		}},
		{"update several, one unknown", false, []step{create,
			{"a", "update_todos",
				`{"updates":[{"id":"todo_1","status":"completed"},{"id":"todo_9","status":"completed"}]}`,
				todo.Answer{Updated: []string{"todo_1"}, NotFound: []string{"todo_9"}, Todos: []todo.Todo{done}},
				false},
		}},
		{"update of nothing is an error", false, []step{create,
			{"a", "update_todo", `{"id":"todo_9","status":"completed"}`,
				todo.Answer{NotFound: []string{"todo_9"}, Todos: []todo.Todo{one}}, true},
		}},
		{"list", false, []step{create, {"a", "list_todos", `{}`, todo.Answer{Todos: []todo.Todo{one}}, false}}},
		{"list without arguments", false, []step{{"a", "list_todos", ``, todo.Answer{Todos: []todo.Todo{}}, false}}},
		{"each agent has its own list", false,
			[]step{create, {"b", "list_todos", `{}`, todo.Answer{Todos: []todo.Todo{}}, false}}},
		{"shared", true, []step{create, {"b", "list_todos", `{}`, todo.Answer{Todos: []todo.Todo{one}}, false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, tc.shared)
			for i, s := range tc.steps {
				r, err := set.Call(t.Context(),
					tool.Call{Agent: s.agent, Name: s.name, Arguments: json.RawMessage(s.args), Key: fmt.Sprint(i)})
				if err != nil {
					t.Fatal(err)
				}
				got := answer(t, r)
				got.Revision, got.Reminder = 0, ""
				if diff := cmp.Diff(s.want, got); diff != "" || r.IsError != s.isError {
					t.Errorf("step %d: isError %v, want %v (-want +got):\n%s", i, r.IsError, s.isError, diff)
				}
			}
		})
	}
}

// TestReminder checks that every answer names the items that are not completed.
func TestReminder(t *testing.T) {
	t.Parallel()
	set := newSet(t, false)
	mustCall(t, set, "a", "create_todos", `{"descriptions":["one","two"]}`, "1")
	got := answer(t, mustCall(t, set, "a", "update_todo", `{"id":"todo_1","status":"in-progress"}`, "2")).Reminder
	if want := "not completed yet: todo_1 (in-progress) todo_2 (pending)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestKey checks that repeating a call with the same key changes nothing and returns the same
// answer (P12).
func TestKey(t *testing.T) {
	t.Parallel()
	set := newSet(t, false)
	first := mustCall(t, set, "a", "create_todo", `{"description":"one"}`, "k")
	again := mustCall(t, set, "a", "create_todo", `{"description":"one"}`, "k")
	if first.Text != again.Text {
		t.Errorf("got %s, want %s", again.Text, first.Text)
	}
}

// TestRestore checks that the list after a restart is the one before it, in whatever order
// concurrent calls were journaled (D1, P3).
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%v", shared), func(t *testing.T) {
			t.Parallel()
			live := newSet(t, shared)
			var mu sync.Mutex
			var finished []tool.Finished
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					c := tool.Call{Agent: string('a' + rune(i%2)), Name: "create_todo", Key: fmt.Sprint(i),
						Arguments: json.RawMessage(fmt.Sprintf(`{"description":"n%d"}`, i))}
					if i%4 == 0 {
						c.Name, c.Arguments = "update_todo",
							json.RawMessage(fmt.Sprintf(`{"id":"todo_%d","status":"completed"}`, 1+i/4))
					}
					r, err := live.Call(t.Context(), c)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					finished = append(finished, tool.Finished{Call: c, Result: r})
				})
			}
			wg.Wait()
			randtest.New(t).Shuffle(len(finished), func(i, j int) {
				finished[i], finished[j] = finished[j], finished[i]
			})
			restored := newSet(t, shared)
			if err := restored.Restore(t.Context(), finished); err != nil {
				t.Fatal(err)
			}
			for _, agent := range []string{"a", "b"} {
				want := mustCall(t, live, agent, "create_todo", `{"description":"last"}`, "last"+agent).Text
				if got := mustCall(t, restored, agent, "create_todo", `{"description":"last"}`,
					"last"+agent).Text; got != want {
					t.Errorf("agent %s:\n got %s\nwant %s", agent, got, want)
				}
			}
			for _, f := range finished[:3] {
				if r := mustCall(t, restored, f.Call.Agent, f.Call.Name, string(f.Call.Arguments),
					f.Call.Key); r.Text != f.Result.Text {
					t.Errorf("a retry of key %s got %s, want the recorded answer", f.Call.Key, r.Text)
				}
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	set := newSet(t, false)
	for _, args := range []string{`{}`, `{"id":"todo_1","status":"soon"}`, `{"id":1,"status":"completed"}`} {
		_, err := set.Call(t.Context(), tool.Call{Agent: "a", Name: "update_todo", Arguments: json.RawMessage(args)})
		if err == nil || !strings.Contains(err.Error(), "arguments do not fit") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func newSet(t *testing.T, shared bool) *tool.Set {
	t.Helper()
	spec := tool.Spec{Type: tool.TypeTodo, Shared: shared}
	set, err := tool.NewSet(tool.Config{
		Types:  map[string]tool.Type{tool.TypeTodo: todo.Type()},
		Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec}}, "b": {Toolsets: []tool.Spec{spec}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func mustCall(t *testing.T, set *tool.Set, agent, name, args, key string) tool.Result {
	t.Helper()
	r, err := set.Call(t.Context(), tool.Call{Agent: agent, Name: name, Arguments: json.RawMessage(args), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func answer(t *testing.T, r tool.Result) todo.Answer {
	t.Helper()
	var a todo.Answer
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatalf("%s: %v", r.Text, err)
	}
	return a
}
