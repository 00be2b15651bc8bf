package journal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/hocket-run/hocket/internal/engine/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenEvents returns two events of each type: one with all optional fields and one without.
func goldenEvents(t testing.TB, typ event.Type) []event.Event {
	return []event.Event{
		{Seq: 41, At: time.UnixMicro(1767225600000001).UTC(), Node: "outer/inner", Step: 3,
			Data: filled(t, &sample{rich: true}, typ)},
		{Seq: 42, At: time.UnixMicro(1767225600000250).UTC(), Data: filled(t, &sample{}, typ)},
	}
}

// TestOldRecords checks that records of every released version can be read by every later build
// with the same meaning (P9, P17). A file holds a record, the blobs by hash, and the events as
// public lines.
//
// A difference in v1 after a release means that old journals are read differently: raise
// RecordVersion and keep v1 as it is.
func TestOldRecords(t *testing.T) {
	t.Parallel()
	dir := fmt.Sprintf("testdata/v%d", RecordVersion)
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, typ := range eventTypes(t) {
		events := goldenEvents(t, typ)
		data, blobs, err := encode(events, 44)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, string(typ)+".golden")
		golden := txtar.Format(goldenArchive(t, data, blobs, events))
		if *update {
			if err := os.WriteFile(file, golden, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), string(want)); diff != "" {
			t.Errorf("%s: the stored form changed (-got +want):\n%s", typ, diff)
		}
	}

	files, err := filepath.Glob("testdata/v*/*.golden")
	if err != nil || len(files) < len(eventTypes(t)) {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range ar.Files {
				parts[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
			}
			events, err := Decode([]byte(parts["record"]), func(hash string) ([]byte, error) {
				if b, ok := parts["aside/"+hash]; ok {
					return []byte(b), nil
				}
				return nil, ErrNotFound
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(publicLines(t, events), parts["events"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func goldenArchive(t testing.TB, data []byte, blobs []Blob, events []event.Event) *txtar.Archive {
	ar := &txtar.Archive{Files: []txtar.File{{Name: "record", Data: data}}}
	for _, b := range blobs {
		ar.Files = append(ar.Files, txtar.File{Name: "aside/" + b.Hash, Data: b.Data})
	}
	ar.Files = append(ar.Files, txtar.File{Name: "events", Data: []byte(publicLines(t, events))})
	return ar
}

func publicLines(t testing.TB, events []event.Event) string {
	t.Helper()
	var lines []string
	for _, e := range events {
		line, err := MarshalEvent("r", e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}
