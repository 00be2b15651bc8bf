package journal

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestEventsAsValues checks that readers get the same from events stored as values as from the same
// events stored as bytes, whenever they read.
func TestEventsAsValues(t *testing.T) {
	t.Parallel()
	types := eventTypes(t)
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		values, records := NewMemory().Open(KindRun), NewMemory().Open(KindRun)
		var seq uint64
		for i := range rapid.IntRange(1, 6).Draw(rt, "appends") {
			events := drawEvents(rt, t, types)
			for j := range events {
				seq++
				events[j].Seq = seq
			}
			data, blobs, err := Encode(events)
			if err != nil {
				rt.Fatal(err)
			}
			a := Append{Run: "r", Epoch: 1, At: time.Unix(int64(i), 0), Status: StatusRunning,
				Record: Record{First: events[0].Seq, Last: seq}}
			if i == 0 {
				a.Create = &NewRun{}
			}
			b := a
			b.Record.Data, b.Blobs = data, blobs
			if rapid.Bool().Draw(rt, "as values") {
				a.Events = slices.Clone(events)
			} else {
				a.Record.Data, a.Blobs = data, blobs
			}
			if err := values.Append(ctx, a); err != nil {
				rt.Fatal(err)
			}
			if err := records.Append(ctx, b); err != nil {
				rt.Fatal(err)
			}
			if !rapid.Bool().Draw(rt, "read") {
				continue
			}
			after := rapid.Uint64Range(0, seq).Draw(rt, "after")
			got, err1 := values.Read(ctx, "r", after)
			want, err2 := records.Read(ctx, "r", after)
			if diff := cmp.Diff(got, want); err1 != nil || err2 != nil || diff != "" {
				rt.Fatalf("%v, %v, values - records +\n%s", err1, err2, diff)
			}
			for _, blob := range blobs {
				got, err := values.Blob(ctx, blob.Hash)
				if err != nil || string(got) != string(blob.Data) {
					rt.Fatalf("blob %s: %v", blob.Hash, err)
				}
			}
		}
		if _, err := values.Read(ctx, "r", 0); err != nil {
			rt.Fatal(err)
		}
		if one, other := values.(*memHandle).m.runs["r"].sum, records.(*memHandle).m.runs["r"].sum; one != other {
			rt.Fatalf("sum %x of values, %x of records", one, other)
		}
		if err := values.Release(ctx, "r", 1); err != nil {
			rt.Fatal(err)
		}
		res, err := values.Prune(ctx, PruneQuery{Runs: []string{"r"}})
		if err == nil {
			err = values.Close()
		}
		if err != nil || res.Runs != 1 || len(values.(*memHandle).m.blobs) != 0 {
			rt.Fatalf("prune: %+v, %v, %d blobs left", res, err, len(values.(*memHandle).m.blobs))
		}
	})
}

// TestAppend_InvalidEvents checks that an append is rejected if it supplies its events in both
// forms, or if their numbers do not match its record.
func TestAppend_InvalidEvents(t *testing.T) {
	t.Parallel()
	e := event.Event{Seq: 1, Data: &event.RunStarted{}}
	for name, rec := range map[string]Record{
		"events and bytes": {First: 1, Last: 1, Data: []byte("x")},
		"other numbers":    {First: 1, Last: 2},
	} {
		a := Append{Run: "r", Create: &NewRun{}, Status: StatusRunning, Record: rec, Events: []event.Event{e}}
		if err := a.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
