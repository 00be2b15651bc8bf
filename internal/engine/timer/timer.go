package timer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what a timer is for.
type Kind uint8

// The kinds of timers. Those of waits, steps and calls are in the order in which they are requested
// again after a crash.
const (
	Limit    Kind = iota // the time limit of the run
	Settle               // cancelled calls of the run have settled
	Deadline             // the deadline of a wait
	Remind               // the reminder of a wait
	Timeout              // the timeout of a step
	Retry                // the retry of a call or of a step, or the end of a sleep step
)

// names are the names of the kinds in the strings of keys.
var names = [...]string{Limit: "timeout", Settle: "settle", Deadline: "deadline", Remind: "remind",
	Timeout: "timeout", Retry: "retry"}

// Key identifies a timer. Of Step, Call and Wait exactly the one to which the timer belongs is set,
// and none for timers of the run itself.
type Key struct {
	Kind Kind
	Step int
	Call string
	Wait string
}

// RetryOf returns the key of the retry timer of a call, or of the step as a whole if call is "".
func RetryOf(step int, call string) Key {
	if call != "" {
		step = 0
	}
	return Key{Kind: Retry, Step: step, Call: call}
}

// String returns the id of the timer outside of the engine.
func (k Key) String() string {
	switch {
	case k.Step > 0:
		return names[k.Kind] + ":" + strconv.Itoa(k.Step)
	case k.Call+k.Wait != "":
		return names[k.Kind] + ":" + k.Call + k.Wait
	}
	return names[k.Kind]
}

// Parse is the inverse of [Key.String]. It returns false for any other text.
func Parse(id string) (k Key, ok bool) {
	name, of, _ := strings.Cut(id, ":")
	step, _ := strconv.Atoi(of)
	switch name {
	case names[Settle]:
		k.Kind = Settle
	case names[Deadline]:
		k = Key{Kind: Deadline, Wait: of}
	case names[Remind]:
		k = Key{Kind: Remind, Wait: of}
	case names[Timeout]:
		if of != "" {
			k = Key{Kind: Timeout, Step: step}
		}
	case names[Retry]:
		if k = (Key{Kind: Retry, Step: step}); step == 0 {
			k.Call = of
		}
	}
	return k, k.String() == id && (of != "") == (k.Kind > Settle)
}

// Timer is a running timer. Step is the step that it, its call or its wait belongs to, and Seq the
// event that started it.
type Timer struct {
	Key

	At    time.Time
	Owner int
	Seq   uint64
}

// Table holds the running timers of a run. The zero Table has none. It is not safe for concurrent
// use.
type Table struct {
	timers  map[Key]*Timer
	retries int // number of timers of kind Retry
}

// Start starts a timer, or starts it again.
func (t *Table) Start(x Timer) {
	t.Stop(x.Key)
	if t.timers == nil {
		t.timers = map[Key]*Timer{}
	}
	if t.timers[x.Key] = &x; x.Kind == Retry {
		t.retries++
	}
}

// Stop removes a timer, if it is running.
func (t *Table) Stop(k Key) {
	if _, ok := t.Get(k); !ok {
		return
	}
	if delete(t.timers, k); k.Kind == Retry {
		t.retries--
	}
}

// Get returns a running timer, or false if it is not running.
func (t *Table) Get(k Key) (Timer, bool) {
	if x := t.timers[k]; x != nil {
		return *x, true
	}
	return Timer{}, false
}

// Retries returns the number of running retry timers.
func (t *Table) Retries() int { return t.retries }

// Before returns the timers that were started before event seq: by kind, and then by step or id.
// They must not be modified.
func (t *Table) Before(seq uint64) []*Timer {
	var out []*Timer
	for _, x := range t.timers {
		if x.Seq < seq {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *Timer) int {
		if a.Kind == b.Kind && a.Kind != Timeout {
			return strings.Compare(a.String(), b.String())
		}
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Step, b.Step))
	})
	return out
}
