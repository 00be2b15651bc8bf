package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// bundle returns a short run with a value stored as a blob.
func bundle() journal.Bundle {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return journal.Bundle{Run: "r1", Model: "a/b", Events: []event.Event{
		{Seq: 1, At: at, Data: &event.RunCreated{Version: 1, Name: "<&>", Digest: "d",
			Input: event.Value(`"` + strings.Repeat("x", 2*journal.AsideBytes) + `"`)}},
		{Seq: 2, At: at.Add(time.Second), Data: &event.RunStarted{}},
	}}
}

// TestBundle checks that a run is read event by event, even if the JSON of its bundle was
// reformatted (S2-63).
func TestBundle(t *testing.T) {
	t.Parallel()
	sealed, err := bundle().Seal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := bundle().Seal()
	if err != nil || !bytes.Equal(sealed, again) {
		t.Errorf("sealed twice: other bytes, %v", err)
	}
	var carried map[string]any
	if err := json.Unmarshal(sealed, &carried); err != nil {
		t.Fatal(err)
	}
	rewritten, err := json.MarshalIndent(map[string]any{"journal": carried}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var outer struct{ Journal json.RawMessage }
	if err := json.Unmarshal(rewritten, &outer); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"as it was": sealed, "rewritten": outer.Journal} {
		got, err := journal.OpenBundle(data)
		if diff := cmp.Diff(bundle(), got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestBundleDamage checks that a bundle that was cut or changed anywhere yields an error that says
// so, never a partial run (P17).
func TestBundleDamage(t *testing.T) {
	t.Parallel()
	sealed, err := bundle().Seal()
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(t interface{ Errorf(string, ...any) }, what string, data []byte) {
		got, err := journal.OpenBundle(data)
		_, isCorrupt := errors.AsType[*journal.CorruptError](err)
		_, isNewer := errors.AsType[*journal.NewerError](err)
		if !isCorrupt && !isNewer || got.Events != nil {
			t.Errorf("%s: got %d events, %v", what, len(got.Events), err)
		}
	}
	for what, data := range map[string]string{"nothing": "", "null": "null", "no object": "7", "empty": "{}",
		"no record": `{"version":1,"run":"r1"}`} {
		damaged(t, what, []byte(data))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(sealed, &fields); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{"version": "3", "run": `"r2"`, "model": `"c/d"`, "records": `["e30="]`,
		"blobs": "[]", "sum": `"00"`} {
		changed := maps.Clone(fields)
		changed[name] = json.RawMessage(other)
		data, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		damaged(t, name, data)
	}
	rapid.Check(t, func(rt *rapid.T) {
		damaged(rt, "cut", sealed[:rapid.IntRange(0, len(sealed)-1).Draw(rt, "at")])
		flipped := bytes.Clone(sealed)
		at := rapid.IntRange(0, len(flipped)-1).Draw(rt, "flip")
		flipped[at] ^= 1 << rapid.IntRange(0, 6).Draw(rt, "bit")
		if got, err := journal.OpenBundle(flipped); err == nil && !cmp.Equal(bundle(), got) {
			rt.Errorf("byte %d: another run, and no error", at)
		}
	})
}

// TestBundle_PartialJournal checks that events that do not start with the run's first event are not
// a valid bundle.
func TestBundle_PartialJournal(t *testing.T) {
	t.Parallel()
	p := bundle()
	p.Events = p.Events[1:]
	sealed, err := p.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := journal.OpenBundle(sealed); err == nil {
		t.Errorf("got %d events", len(got.Events))
	}
	p.Events = nil
	if _, err := p.Seal(); err == nil {
		t.Error("no events: no error")
	}
}
