package ledger_test

import (
	"fmt"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// testWorld is a World in which odd steps are inside the node "n", which has a budget of its own.
type testWorld struct {
	budget workflow.Budget
	calls  map[string]ledger.Call
}

func (w testWorld) Around(step int) (node string, budget *workflow.Budget, outward int) {
	if step%2 == 1 && w.budget.Bounds() {
		return "n", &w.budget, 0
	}
	return "", nil, 0
}

func (w testWorld) Calls() iter.Seq[ledger.Call] {
	return func(yield func(ledger.Call) bool) {
		for _, c := range w.calls {
			if !yield(c) {
				return
			}
		}
	}
}

// TestLedger_Random checks that in whatever order amounts are reserved, used and reported, the sum
// of used and reserved amounts never exceeds a budget, whether of the run, its parent or a node, as
// long as nothing uses more than was reserved for it (P20).
func TestLedger_Random(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := func(name string) int64 { return rapid.Int64Range(1, 5000).Draw(t, name) }
		w := testWorld{calls: map[string]ledger.Call{}}
		var l ledger.Ledger
		l.SetBudget(workflow.Budget{MaxTokens: tokens("run"), MaxCalls: rapid.Int64Range(0, 20).Draw(t, "calls")})
		if rapid.Bool().Draw(t, "has parent") {
			l.SetParentBudget(&workflow.Budget{MaxTokens: tokens("parent")})
		}
		if rapid.Bool().Draw(t, "has node") {
			w.budget = workflow.Budget{MaxTokens: tokens("node")}
		}
		type open struct {
			key    string
			step   int
			child  bool
			amount int64
		}
		var out []open
		for i := range 40 {
			step := rapid.IntRange(1, 4).Draw(t, "step")
			balances := l.Balances(w, step)
			for _, b := range balances {
				if sum := b.Used.Tokens + b.Reserved.Tokens; sum > b.Budget.MaxTokens && b.Budget.MaxTokens > 0 {
					t.Fatalf("%d of %d tokens of the budget %s are used or reserved", sum, b.Budget.MaxTokens, b.Bound)
				}
			}
			key := fmt.Sprint(i)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				input := rapid.Int64Range(0, 500).Draw(t, "input")
				fit := ledger.FitModel(balances, input, 1000, chat.Rate{}, false, false)
				if fit.Met == nil && !fit.Waits {
					l.Reserve(key, step, "m", input, fit.Output)
					l.Charge(w, step, ledger.Amount{Calls: 1})
					out = append(out, open{key, step, false, input + fit.Output})
				}
			case 1:
				w.calls[key] = ledger.Call{Key: key, Step: step, State: ledger.CallOut}
				a, short, _ := l.Allot(w, balances, key, "run"+key, 1, nil)
				if short == "" {
					l.StartChild("run"+key, key, step, a.Budget())
					out = append(out, open{key, step, true, a.Tokens})
				}
			default:
				if len(out) == 0 {
					continue
				}
				at := rapid.IntRange(0, len(out)-1).Draw(t, "settles")
				o := out[at]
				out = append(out[:at:at], out[at+1:]...)
				used := ledger.Amount{Tokens: rapid.Int64Range(0, o.amount).Draw(t, "used")}
				switch {
				case !o.child:
					l.Charge(w, o.step, l.UseOfModel(o.key, "m", &chat.Usage{OutputTokens: used.Tokens}, nil, false))
					l.Release(o.key)
				case rapid.Bool().Draw(t, "is lost"):
					l.CloseCall(w, o.key)
				default:
					l.UseChild(w, o.step, "run"+o.key, used, true)
				}
			}
		}
	})
}

// TestChildren checks that a child run reported twice counts once, with the larger report, and that
// what its call leaves unreported counts in full.
func TestChildren(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	w := testWorld{}
	l.SetBudget(workflow.Budget{MaxTokens: 1000})
	l.StartChild("r", "c", 2, &workflow.Budget{MaxTokens: 600})
	for _, tc := range []struct {
		used  int64
		ended bool
		want  int64
	}{{100, false, 100}, {100, false, 100}, {50, false, 100}, {400, false, 400}} {
		l.UseChild(w, 2, "r", ledger.Amount{Tokens: tc.used}, tc.ended)
		if got := l.Used().Tokens; got != tc.want {
			t.Errorf("a report of %d tokens makes %d, want %d", tc.used, got, tc.want)
		}
	}
	if !l.IsAwaited("c") || !l.HasReserved("c") {
		t.Error("nothing is awaited of a run that has not ended")
	}
	l.CloseCall(w, "c")
	if got := l.Used().Tokens; got != 600 || l.IsAwaited("c") || l.IsActive("r") {
		t.Errorf("%d tokens are used after the call was closed, want 600", got)
	}
}
