package waits_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// journal applies events to waits as a run does.
type journal struct {
	t   *testing.T
	s   waits.Waits
	seq uint64
}

func (j *journal) event(step int) *event.Event {
	j.seq++
	return &event.Event{Seq: j.seq, At: time.Unix(int64(j.seq), 0).UTC(), Step: step}
}

func (j *journal) open(step int, d event.WaitOpened) {
	j.t.Helper()
	if why := j.s.CheckOpened(&d); why != "" {
		j.t.Fatal(why)
	}
	j.s.ApplyOpened(j.event(step), &d)
}

func (j *journal) answer(a waits.Answer) error {
	j.t.Helper()
	w, d, err := j.s.Read(a, false, nil)
	if err != nil || w == nil {
		return err
	}
	ev := j.event(w.Step)
	if why := j.s.CheckAnswered(ev, d); why != "" {
		j.t.Fatal(why)
	}
	j.s.ApplyAnswered(ev, d)
	return nil
}

// TestFind checks that an answer without an id is for the only open wait, for the oldest if an open
// wait holds the run, and for the one that ended last if none is open.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		j := &journal{t: t, s: waits.New(hold)}
		if err := j.answer(waits.Answer{Value: event.Value("1")}); !errors.Is(err, waits.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		j.open(1, event.WaitOpened{Wait: "a", Kind: workflow.WaitQuestion})
		j.open(2, event.WaitOpened{Wait: "b", Kind: workflow.WaitQuestion})
		err := j.answer(waits.Answer{Value: event.Value("1")})
		if hold != (err == nil) || !hold && !errors.Is(err, waits.ErrAmbiguous) {
			t.Errorf("hold %v: got %v", hold, err)
		}
		if !hold {
			continue
		}
		if group, on := j.s.Turn(); !on || j.s.Queues(group) || !j.s.Queues(group+1) {
			t.Errorf("turn %d, %v: only the group of the answer goes on", group, on)
		}
		if err := j.answer(waits.Answer{Value: event.Value("2")}); err != nil {
			t.Fatal(err)
		}
		if err := j.answer(waits.Answer{Value: event.Value("2")}); err != nil {
			t.Errorf("the same answer again: %v", err)
		}
		if err := j.answer(waits.Answer{Value: event.Value("3")}); !errors.Is(err, waits.ErrAnswered) {
			t.Errorf("got %v, want ErrAnswered", err)
		}
	}
}

// TestParseDecision checks what opens a gate, what closes it, and what is rejected (S0-31).
func TestParseDecision(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"approve"`: "approve", `"Approved."`: "approve", `" yes "`: "approve", `"Y"`: "approve", `"ok!"`: "approve",
		`"true"`:   "approve",
		`"reject"`: "reject", `"I must REJECT this"`: "reject", `"no"`: "reject", `"n"`: "reject", `"Deny"`: "reject",
		`"false"`:                "reject",
		`{"decision":"APPROVE"}`: "approve", `{"decision":"reject","note":"why"}`: "reject",
		`{"decision":"approve","note":7}`: "approve",
		`"yes, but not like this"`:        "", `""`: "", `42`: "", `null`: "", `{}`: "", `{"decision":42}`: "",
		`{"decision":"maybe"}`: "", `[]`: "", `"approve it later"`: "", ``: "",
	} {
		got, note, err := waits.ParseDecision(event.Value(in))
		if got != want || (want == "") != errors.Is(err, waits.ErrAnswer) {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
		if in == `{"decision":"reject","note":"why"}` && note != "why" {
			t.Errorf("note %q", note)
		}
		if in == `{"decision":"approve","note":7}` && note != "" {
			t.Errorf("note %q, want none", note)
		}
	}
}
