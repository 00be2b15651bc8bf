package timer_test

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/timer"
)

// TestKey_String checks that the id of each timer is parsed to its key, and no other text to any.
func TestKey_String(t *testing.T) {
	t.Parallel()
	for want, k := range map[string]timer.Key{
		"timeout":       {Kind: timer.Limit},
		"settle":        {Kind: timer.Settle},
		"deadline:w3":   {Kind: timer.Deadline, Wait: "w3"},
		"remind:w4.0.1": {Kind: timer.Remind, Wait: "w4.0.1"},
		"timeout:12":    {Kind: timer.Timeout, Step: 12},
		"retry:7":       timer.RetryOf(7, ""),
		"retry:7.0.1":   timer.RetryOf(7, "7.0.1"),
	} {
		if got := k.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, ok := timer.Parse(want); !ok || got != k {
			t.Errorf("%s: got %+v, %v, want %+v", want, got, ok, k)
		}
	}
	for _, id := range []string{"", "timeout:", "timeout:0", "timeout:07", "timeout:x", "timeout:-1", "retry", "retry:",
		"deadline", "remind:", "settle:1", "other:3"} {
		if k, ok := timer.Parse(id); ok {
			t.Errorf("%q is parsed to %+v", id, k)
		}
	}
}

// TestTable checks which timers run, how many of them are retries, and their order.
func TestTable(t *testing.T) {
	t.Parallel()
	var table timer.Table
	for i, k := range []timer.Key{timer.RetryOf(10, ""), {Kind: timer.Timeout, Step: 10},
		{Kind: timer.Remind, Wait: "a"}, timer.RetryOf(2, "2.0.1"), {Kind: timer.Timeout, Step: 9},
		{Kind: timer.Deadline, Wait: "b"},
		{Kind: timer.Remind, Wait: "b"}, timer.RetryOf(10, "")} {
		table.Start(timer.Timer{Key: k, Seq: uint64(i)})
	}
	table.Stop(timer.Key{Kind: timer.Deadline, Wait: "a"}) // it is not running
	want := []string{"deadline:b", "remind:a", "remind:b", "timeout:9", "timeout:10", "retry:10", "retry:2.0.1"}
	if got := ids(&table, 9); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := ids(&table, 4), []string{"remind:a", "timeout:10", "retry:2.0.1"}; !slices.Equal(got, want) {
		t.Errorf("got %q before event 4, want %q", got, want)
	}
	if got := table.Retries(); got != 2 {
		t.Errorf("%d retries, want 2", got)
	}
	table.Stop(timer.RetryOf(10, ""))
	if _, ok := table.Get(timer.RetryOf(10, "")); ok || table.Retries() != 1 {
		t.Errorf("a stopped timer runs, or counts: %d retries", table.Retries())
	}
}

func ids(table *timer.Table, seq uint64) []string {
	var out []string
	for _, x := range table.Before(seq) {
		out = append(out, x.String())
	}
	return out
}
