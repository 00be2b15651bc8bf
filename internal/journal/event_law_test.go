package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestEvents_RoundTrip checks that any stored events are read back unchanged, and that
// large strings are stored as blobs (D2, SEC6).
func TestEvents_RoundTrip(t *testing.T) {
	t.Parallel()
	types := eventTypes(t)
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, t, types)
		data, blobs, err := encode(events, testLimit)
		if err != nil {
			rt.Fatalf("encode: %v", err)
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			if !hasBrokenValue(events) {
				rt.Fatalf("record is not JSON: %q", data)
			}
		}
		got, err := Decode(data, blobsOf(t, blobs))
		if err != nil {
			rt.Fatalf("decode %q: %v", data, err)
		}
		if diff := cmp.Diff(got, events); diff != "" {
			rt.Fatalf("events changed (-got +want):\n%s", diff)
		}
		again, _, err := encode(got, testLimit)
		if err != nil || !bytes.Equal(again, data) {
			rt.Fatalf("second encoding differs: %v\n%q\n%q", err, again, data)
		}
	})
}

// hasBrokenValue reports whether a Value, which is stored verbatim, is not UTF-8.
func hasBrokenValue(events []event.Event) bool {
	for _, e := range events {
		b, err := json.Marshal(e.Data)
		if err != nil || !utf8.Valid(b) {
			return true
		}
	}
	return false
}

// TestPublicLine_MatchesData checks that the public line is equivalent to the encoding/json form of
// the data, on one line.
func TestPublicLine_MatchesData(t *testing.T) {
	t.Parallel()
	types := eventTypes(t)
	rapid.Check(t, func(rt *rapid.T) {
		e := drawEvents(rt, t, types)[0]
		line, err := MarshalEvent("run \xff1", e)
		if err != nil {
			rt.Fatalf("marshal: %v", err)
		}
		if !json.Valid(line) || !utf8.Valid(line) || bytes.ContainsAny(line, "\n\r") {
			rt.Fatalf("not one line of JSON: %q", line)
		}
		var got struct {
			Run, Type, Time string
			Seq             uint64
			Node            *string
			Step            *int
			Data            json.RawMessage
		}
		if err := json.Unmarshal(line, &got); err != nil {
			rt.Fatal(err)
		}
		if got.Seq != e.Seq || got.Type != string(e.Data.Type()) || got.Run != "run \uFFFD1" ||
			got.Time != e.At.Format(timeLayout) {
			rt.Fatalf("wrong head: %s", line)
		}
		if (got.Node == nil) != (e.Node == "") || (got.Step == nil) != (e.Step == 0) {
			rt.Fatalf("wrong node or step: %s", line)
		}
		wantJSON, err := json.Marshal(e.Data)
		if err != nil {
			rt.Fatal(err)
		}
		want, _ := engine.NewData(e.Data.Type())
		if err := json.Unmarshal(wantJSON, want); err != nil {
			rt.Fatal(err)
		}
		have, _ := engine.NewData(e.Data.Type())
		if err := json.Unmarshal(got.Data, have); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(viaEncodingJSON(have), viaEncodingJSON(want)); diff != "" {
			rt.Fatalf("data changed (-got +want):\n%s", diff)
		}
		run, read, err := UnmarshalEvent(line)
		if err != nil || run != got.Run || read.Seq != e.Seq || !read.At.Equal(e.At) ||
			(read.Node == "") != (e.Node == "") || read.Step != e.Step {
			rt.Fatalf("read %q %+v, %v, from %s", run, read, err, line)
		}
		if diff := cmp.Diff(viaEncodingJSON(read.Data), viaEncodingJSON(want)); diff != "" {
			rt.Fatalf("data changed when it was read (-got +want):\n%s", diff)
		}
	})
}

// TestPublicLine_UnknownEvent checks that anything that is not an event of this program yields an
// error and never an event.
func TestPublicLine_UnknownEvent(t *testing.T) {
	t.Parallel()
	for _, line := range []string{``, `null`, `[]`, `{}`, `{"type":"run.paused"}`, `{"type":"run.paused","data":[]}`,
		`{"seq":-1,"type":"run.paused","data":{}}`, `{"seq":1,"time":"soon","type":"run.paused","data":{}}`} {
		if run, e, err := UnmarshalEvent([]byte(line)); err == nil || run != "" || e.Data != nil {
			t.Errorf("%s: %q %+v, %v", line, run, e, err)
		}
	}
	_, _, err := UnmarshalEvent([]byte(`{"seq":1,"time":"2026-01-01T00:00:00Z","type":"run.danced","data":{}}`))
	if _, isNewer := errors.AsType[*NewerError](err); !isNewer {
		t.Errorf("an unknown type: %v, want *NewerError", err)
	}
}

// viaEncodingJSON returns d after a round trip through encoding/json, which escapes differently
// than we do.
func viaEncodingJSON(d event.Data) any {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	return v
}

// TestDecode_Damage checks that a record cut anywhere, or with any bit flipped, yields a
// typed error or, if the bit was inside a value, other data; never a panic and never a part of the
// events (P17).
func TestDecode_Damage(t *testing.T) {
	t.Parallel()
	for _, typ := range eventTypes(t) {
		events := []event.Event{
			{Seq: 7, Node: "n", Step: 1, Data: filled(t, &sample{rich: true}, typ)},
			{Seq: 8, Data: &event.StepCompleted{
				Output: event.Value(`"a text that stands aside, since it is so very long"`),
			}},
		}
		data, blobs, err := encode(events, 40)
		if err != nil {
			t.Fatal(err)
		}
		load := blobsOf(t, blobs)
		for n := range data {
			if got, err := Decode(data[:n], load); !isTyped(err) || got != nil {
				t.Fatalf("%s cut at %d: %d events, error %v", typ, n, len(got), err)
			}
		}
		for n := range data {
			for bit := range 8 {
				bad := bytes.Clone(data)
				bad[n] ^= 1 << bit
				got, err := Decode(bad, load)
				if err != nil && (!isTyped(err) && !errors.Is(err, ErrNotFound) || got != nil) {
					t.Fatalf("%s byte %d bit %d: error %v", typ, n, bit, err)
				}
				if err == nil && (len(got) != len(events) || reflect.DeepEqual(got, events)) {
					t.Fatalf("%s byte %d bit %d (%q): damage goes unseen", typ, n, bit, bad[max(0, n-10):n+1])
				}
			}
		}
	}
}

func isTyped(err error) bool {
	var corrupt *CorruptError
	var newer *NewerError
	return errors.As(err, &corrupt) || errors.As(err, &newer)
}
