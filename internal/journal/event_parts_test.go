package journal

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestParts checks that the records of an activation are limited in size, follow each other, and
// yield the same events and blobs as a single record.
func TestParts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 1, 100, 5000, AsideBytes, AsideBytes + 1}), 1,
			20).Draw(rt, "sizes")
		events := make([]event.Event,
			rapid.SampledFrom([]int{1, 2, 17, 60, partEvents, partEvents + 1, 2*partEvents + 1}).Draw(rt, "events"))
		for i := range events {
			n := sizes[min(i, i*31%997%len(sizes))]
			if i > 100 {
				n = min(n, 100)
			}
			events[i] = event.Event{Seq: uint64(i) + 7, At: at.Add(time.Duration(i) * time.Second), Step: 1, Node: "n",
				Data: &event.StepCompleted{Output: event.Value(`"` + strings.Repeat("x", n) + `"`)}}
		}
		first, more, blobs, err := EncodeParts(make([]byte, 3, rapid.IntRange(3, 1<<20).Draw(rt, "room")), events)
		if err != nil {
			rt.Fatal(err)
		}
		if _, whole, err := Encode(events); err != nil || !reflect.DeepEqual(blobs, whole) {
			rt.Fatalf("%d blobs, %v; %d of one record", len(blobs), err, len(whole))
		}
		var got []event.Event
		for i, r := range append([]Record{first}, more...) {
			part, err := Decode(r.Data, blobsOf(t, blobs))
			if err != nil {
				rt.Fatal(err)
			}
			if r.First != part[0].Seq || r.Last != part[len(part)-1].Seq || r.Version != RecordVersion {
				rt.Fatalf("record of events %d to %d, version %d, holds %d to %d", r.First, r.Last, r.Version,
					part[0].Seq, part[len(part)-1].Seq)
			}
			if len(part) > partEvents || len(r.Data) > partBytes+AsideBytes+1000 {
				rt.Fatalf("a record of %d events with %d bytes", len(part), len(r.Data))
			}
			if IsContinued(r.Data) != (i < len(more)) {
				rt.Fatalf("record %d of %d: continued is %t", i, len(more)+1, IsContinued(r.Data))
			}
			got = append(got, part...)
		}
		if !reflect.DeepEqual(got, events) {
			rt.Fatal("events changed")
		}
		again, rest, _, err := EncodeParts(nil, got)
		if err != nil || !bytes.Equal(again.Data, first.Data) || !reflect.DeepEqual(rest, more) {
			rt.Fatalf("a second encoding differs: %v", err)
		}
	})
	for _, data := range []string{"", "{", `{"v":3,"seq":1,"at":1,"more":true,`, `{"v":2,"seq":0,"at":1,"more":true,`} {
		if IsContinued([]byte(data)) {
			t.Errorf("%q is continued", data)
		}
	}
}
