package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// FuzzDecode checks that any bytes yield events or a typed error, and that decoded events survive
// being stored and read again.
func FuzzDecode(f *testing.F) {
	big := make([]byte, AsideBytes+1)
	for i := range big {
		big[i] = 'x'
	}
	hash := HashOf(big)
	load := func(h string) ([]byte, error) {
		if h == hash {
			return big, nil
		}
		return nil, ErrNotFound
	}
	for _, typ := range eventTypes(f) {
		for _, rich := range []bool{false, true} {
			data, _, err := Encode(
				[]event.Event{{Seq: 3, Node: "n", Step: 1, Data: filled(f, &sample{rich: rich}, typ)}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	data, _, err := Encode([]event.Event{{Seq: 1, Data: &event.ToolReturned{Text: string(big)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":2,"seq":1,"at":0,"events":[[10000000000000000000`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(data, load)
		if err != nil {
			if events != nil {
				t.Error("events beside an error")
			}
			return
		}
		again, blobs, err := Encode(events)
		if err != nil {
			t.Fatalf("encode what was read: %v", err)
		}
		got, err := Decode(again, blobsOf(t, blobs))
		if err != nil {
			t.Fatalf("decode again: %v", err)
		}
		third, _, err := Encode(got)
		if err != nil || string(third) != string(again) {
			t.Fatalf("encoding is not stable: %v\n%s", err, cmp.Diff(string(third), string(again)))
		}
	})
}
