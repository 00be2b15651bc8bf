package ledger_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/workflow"
)

func TestFitModel(t *testing.T) {
	t.Parallel()
	rate := chat.Rate{Input: 1_000_000, Output: 2_000_000} // 1 and 2 USD per million tokens
	tokens := func(most, used, reserved int64) ledger.Balance {
		return ledger.Balance{Bound: ledger.BoundByRun, Budget: workflow.Budget{MaxTokens: most},
			Used: ledger.Amount{Tokens: used}, Reserved: ledger.Amount{Tokens: reserved}}
	}
	money := ledger.Balance{Bound: ledger.BoundByNode, Node: "n", Budget: workflow.Budget{MaxCostUSD: 0.001}}
	for name, tc := range map[string]struct {
		balances  []ledger.Balance
		priced    bool
		mustPrice bool
		output    int64
		bound     string
		met       string
		waits     bool
		noPrice   bool
	}{
		"no budget":    {output: 500},
		"room for all": {balances: []ledger.Balance{tokens(1000, 0, 0)}, output: 500},
		"the rest": {balances: []ledger.Balance{tokens(1000, 500, 200)}, output: 200,
			bound: "run"},
		"the tighter of two": {balances: []ledger.Balance{tokens(1000, 500, 0), tokens(1000, 700, 0)},
			output: 200, bound: "run"},
		"others hold the rest":           {balances: []ledger.Balance{tokens(1000, 500, 390)}, waits: true},
		"used up, whatever others leave": {balances: []ledger.Balance{tokens(1000, 890, 0)}, met: "tokens"},
		"calls": {balances: []ledger.Balance{
			{Budget: workflow.Budget{MaxCalls: 2}, Used: ledger.Amount{Calls: 2}},
		}, met: "calls"},
		"money":                    {balances: []ledger.Balance{money}, priced: true, output: 450, bound: "node"},
		"money without a price":    {balances: []ledger.Balance{money}, output: 500},
		"money that needs a price": {balances: []ledger.Balance{money}, mustPrice: true, noPrice: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ledger.FitModel(tc.balances, 100, 500, rate, tc.priced, tc.mustPrice)
			met := ""
			if got.Met != nil {
				met = got.MetDetail
			}
			if got.Output != tc.output || got.Bound != tc.bound || met != tc.met || got.Waits != tc.waits ||
				got.NoPrice != tc.noPrice {
				t.Errorf("got %+v, want %+v", got, tc)
			}
		})
	}
}

// TestFitCalls checks that a tool call uses one call. What idle calls hold counts as used, since
// nothing releases it; the call reserved for this one does not count against it.
func TestFitCalls(t *testing.T) {
	t.Parallel()
	calls := func(n int64) ledger.Amount { return ledger.Amount{Calls: n} }
	for name, tc := range map[string]struct {
		used, reserved, own, idle int64
		met, waits                bool
	}{
		"room":                      {used: 1},
		"used up":                   {used: 3, met: true},
		"others hold the rest":      {used: 1, reserved: 2, waits: true},
		"its own reservation":       {used: 2, reserved: 1, own: 1},
		"idle calls hold the rest":  {used: 1, reserved: 2, idle: 2, met: true},
		"used up but for its own":   {used: 3, reserved: 1, own: 1, met: true},
		"idle calls leave one call": {used: 1, reserved: 1, own: 1, idle: 1},
	} {
		b := []ledger.Balance{{Budget: workflow.Budget{MaxCalls: 3}, Used: calls(tc.used),
			Reserved: calls(tc.reserved)}}
		if got := ledger.FitCalls(b, calls(tc.own), calls(tc.idle)); (got.Met != nil) != tc.met ||
			got.Waits != tc.waits || got.Bounded == (tc.met || tc.waits) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	b := []ledger.Balance{{Budget: workflow.Budget{MaxTokens: 1}}}
	if got := ledger.FitCalls(b, calls(0), calls(0)); got != (ledger.Fit{}) || ledger.BoundsCalls(nil) {
		t.Errorf("a budget of tokens bounds a tool call: %+v", got)
	}
}

func TestTightest(t *testing.T) {
	t.Parallel()
	balances := []ledger.Balance{
		{Bound: "a", Budget: workflow.Budget{MaxTokens: 1000, MaxCalls: 10},
			Used: ledger.Amount{Tokens: 100, Calls: 8}},
		{Bound: "b", Budget: workflow.Budget{MaxTokens: 500, MaxCostUSD: 2},
			Used: ledger.Amount{Tokens: 100, Cost: chat.ToMoney(1)}},
	}
	if got := ledger.Tightest(balances); got != ledger.DetailCalls {
		t.Errorf("tightest is %s", got)
	}
	for detail, want := range map[string]struct {
		bound string
		limit int64
	}{ledger.DetailTokens: {"b", 500}, ledger.DetailCalls: {"a", 10}, ledger.DetailMoney: {"b", 2_000_000}} {
		if b, limit := ledger.LeastLeft(balances, detail); b == nil || b.Bound != want.bound || limit != want.limit ||
			!ledger.BoundsDetail(balances, detail) {
			t.Errorf("least left of %s: %+v, %d", detail, b, limit)
		}
	}
	if b, _ := ledger.LeastLeft(balances, "x"); b != nil || ledger.BoundsDetail(balances, "x") ||
		ledger.BoundsDetail(balances[:1], ledger.DetailMoney) {
		t.Error("something bounds what nothing bounds")
	}
	if got := ledger.RefusesUncounted(balances); got != "a" {
		t.Errorf("%q refuses uncounted work", got)
	}
	for i := range balances {
		balances[i].Budget.Uncounted = workflow.UncountedAllow
	}
	var b workflow.Budget
	if ledger.AllowUncounted(&b, balances); b.Uncounted != "" || ledger.RefusesUncounted(balances) != "" {
		t.Error("a budget that bounds no use says what becomes of uncounted work")
	}
	b.MaxTokens = 1
	if ledger.AllowUncounted(&b, balances); b.Uncounted != workflow.UncountedAllow {
		t.Error("uncounted work is not allowed below a budget that allows it")
	}
}

// TestAllot checks that a child run gets one equal share of what is free, and that a child run that
// used up its allotment gets what is free on top of it, if that is more.
func TestAllot(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	l.SetBudget(workflow.Budget{MaxTokens: 1000, MaxCalls: 10})
	w := testWorld{calls: map[string]ledger.Call{"c": {Key: "c", Step: 2, State: ledger.CallOut},
		"d": {Key: "d", Step: 2, State: ledger.CallOut}}}
	a, short, waits := l.Allot(w, l.Balances(w, 2), "c", "r", 1, nil)
	if want := (ledger.Amount{Tokens: 500, Calls: 5}); a != want || short != "" || waits {
		t.Fatalf("beside another call: %+v, %q, %v, want %+v", a, short, waits, want)
	}
	l.StartChild("r", "c", 2, a.Budget())
	if !l.IsAllotted("r", false) || !l.HasChild("r") || !l.IsActive("r") || l.Allotment("r").MaxTokens != 500 ||
		l.Allotment("x") != nil {
		t.Error("the run has no allotment")
	}
	l.UseChild(w, 2, "r", ledger.Amount{Tokens: 500, Calls: 2}, true)
	if !l.IsAllotted("r", false) || l.IsAllotted("r", true) {
		t.Error("a run that ended may ask for more, and for nothing else")
	}
	had := &workflow.Budget{MaxTokens: 500, MaxCalls: 5}
	if a, short, _ = l.Allot(w, l.Balances(w, 2), "c", "r", 1, had); short != "" ||
		a != (ledger.Amount{Tokens: 1000, Calls: 10}) {
		t.Errorf("more: %+v, %q", a, short)
	}
	l.StartChild("s", "d", 2, &workflow.Budget{MaxTokens: 490})
	if _, short, waits = l.Allot(w, l.Balances(w, 2), "c", "r", 1, had); short == "" || !waits {
		t.Errorf("while another run holds the rest: %q, %v", short, waits)
	}
	l.UseChild(w, 2, "s", ledger.Amount{Tokens: 490}, true)
	if _, short, waits = l.Allot(w, l.Balances(w, 2), "c", "r", 1, had); short != ledger.DetailTokens || waits {
		t.Errorf("when all is used: %q, %v", short, waits)
	}
}

// TestReserve_HeldCall checks that a call that a person is asked about is taken back, and stays
// reserved while its runs hold something, so that it can be made.
func TestReserve_HeldCall(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	l.SetBudget(workflow.Budget{MaxCalls: 5})
	l.StartChild("r", "c", 2, &workflow.Budget{MaxCalls: 2})
	for state, want := range map[ledger.CallState]int64{ledger.CallOut: 2, ledger.CallHeld: 3, ledger.CallApproved: 3,
		ledger.CallIdle: 2} {
		w := testWorld{calls: map[string]ledger.Call{"c": {Key: "c", Step: 2, State: state}}}
		if got := l.Balances(w, 2)[0].Reserved.Calls; got != want {
			t.Errorf("state %d reserves %d calls, want %d", state, got, want)
		}
		own, idle := l.Own(w, "c")
		if own.Calls != want-2 || idle.Calls != 2 {
			t.Errorf("state %d: own %d, idle %d", state, own.Calls, idle.Calls)
		}
	}
	l.StartChild("s", "d", 2, &workflow.Budget{MaxCalls: 1})
	w := testWorld{calls: map[string]ledger.Call{"c": {Key: "c", Step: 2, State: ledger.CallIdle},
		"d": {Key: "d", Step: 2, State: ledger.CallApproved}}}
	if own, idle := l.Own(w, "c"); own.Calls != 0 || idle.Calls != 4 {
		t.Errorf("beside an approved call: own %d, idle %d, want 0 and 4", own.Calls, idle.Calls)
	}
}

// TestSessions checks that what a function reserves counts until its usage is reported, and that
// what it never reports counts in full.
func TestSessions(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	w := testWorld{budget: workflow.Budget{MaxTokens: 400}}
	l.SetParentBudget(&workflow.Budget{MaxTokens: 1000})
	l.SetRate("m", chat.Rate{Output: 1_000_000})
	l.SetRate("m", chat.Rate{})
	rate, ok := l.Rate("m")
	if !ok || rate.Output == 0 || !l.Bounds() || l.ParentBudget() == nil {
		t.Fatal("the first price counts, and a parent's budget bounds")
	}
	for _, key := range []string{"k1", "k2", "k3"} {
		l.StartSession(key, ledger.Session{Call: "c", Step: 1, Amount: ledger.AmountOfModel(20, 80, rate), Output: 80})
	}
	balances := l.Balances(w, 1)
	if len(balances) != 2 || balances[0].Node != "n" || balances[0].Reserved.Tokens != 300 ||
		balances[1].Bound != ledger.BoundByParent || balances[1].Reserved.Calls != 3 {
		t.Errorf("balances %+v", balances)
	}
	l.UseSession(w, 1, "c", "k1", ledger.Amount{Tokens: 30})
	l.UseSession(w, 1, "other", "k2", ledger.Amount{}) // a report by another call ends nothing
	if _, ok := l.Session("k1"); ok || !l.IsAwaited("c") {
		t.Error("k1 is still reserved, or nothing is")
	}
	l.CloseSessions(w, "c")
	if got := l.Used().Tokens; got != 230 || l.IsAwaited("c") {
		t.Errorf("%d tokens are used, want 230", got)
	}
	l.StartSession("k4", ledger.Session{Call: "c"})
	if l.DropSessions(); l.IsAwaited("c") {
		t.Error("a dropped session is awaited")
	}
	if !ledger.KnowsBound("", "") || !ledger.KnowsBound("above", "calls") || ledger.KnowsBound("x", "") ||
		ledger.KnowsBound("", "x") {
		t.Error("bounds are not told apart")
	}
}

func TestUseOfModel(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	l.SetRate("m", chat.Rate{Input: 1_000_000, Output: 1_000_000})
	l.Reserve("c", 1, "m", 100, 900)
	cost := 0.5
	for name, tc := range map[string]struct {
		u    *chat.Usage
		cost *float64
		free bool
		want ledger.Amount
	}{
		"reported": {u: &chat.Usage{InputTokens: 1, OutputTokens: 2},
			want: ledger.Amount{Tokens: 3, Cost: chat.ToMoney(0.000003)}},
		"unknown":     {want: ledger.Amount{Tokens: 1000, Cost: chat.ToMoney(0.001)}},
		"turned away": {free: true},
		"the provider's cost": {u: &chat.Usage{InputTokens: 1}, cost: &cost,
			want: ledger.Amount{Tokens: 1, Cost: chat.ToMoney(0.5)}},
	} {
		if got := l.UseOfModel("c", "m", tc.u, tc.cost, tc.free); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
