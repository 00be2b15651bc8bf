package journal_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/journal"
)

// chainOf returns a valid journal of n records, with its last event and sum.
func chainOf(run string, n int) (links []journal.Link, head uint64, sum journal.Sum) {
	sum = journal.Genesis(run)
	for i := range n {
		r := journal.Record{First: head + 1, Last: head + 1 + uint64(i%3), Version: journal.RecordVersion,
			Data: []byte(strings.Repeat("x", i+1))}
		sum = sum.Next(r, r.Digest())
		links = append(links, journal.Link{Record: r, Sum: sum})
		head = r.Last
	}
	return links, head, sum
}

// TestVerifyChain checks that a valid journal verifies from its start and from any record on, and
// that no change of any kind goes undetected (P17).
func TestVerifyChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		links, head, sum := chainOf("run", rapid.IntRange(1, 8).Draw(t, "records"))
		if err := journal.VerifyChain("run", 0, journal.Genesis("run"), links, head, sum); err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, len(links)-1).Draw(t, "at")
		if err := journal.VerifyChain("run", links[i].Last, links[i].Sum, links[i+1:], head, sum); err != nil {
			t.Fatal(err)
		}
		links[i].Data = bytes.Clone(links[i].Data)
		run, isNewer := "run", false
		switch how := rapid.SampledFrom([]string{"flip", "grow", "sum", "first", "last", "version", "drop", "twice",
			"swap", "run", "head", "end"}).
			Draw(t, "how"); how {
		case "flip":
			links[i].Data[rapid.IntRange(0, len(links[i].Data)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t,
				"bit")
		case "grow":
			links[i].Data = append(links[i].Data, 0)
		case "sum":
			links[i].Sum[rapid.IntRange(0, 15).Draw(t, "byte")]++
		case "first":
			links[i].First++
		case "last":
			links[i].Last++
		case "version":
			links[i].Version = rapid.Byte().Filter(func(b byte) bool { return b != journal.RecordVersion }).Draw(t,
				"version")
			isNewer = links[i].Version > journal.RecordVersion
		case "drop":
			links = slices.Delete(links, i, i+1)
		case "twice":
			links = slices.Insert(links, i, links[i])
		case "swap":
			j := (i + 1) % len(links)
			links[i].Data = append(links[i].Data, '!') // a change even if there is only one record
			links[i].Data, links[j].Data = links[j].Data, links[i].Data
		case "run":
			run = "another"
		case "head":
			head += rapid.SampledFrom([]uint64{1, ^uint64(0)}).Draw(t, "by")
		case "end":
			sum[0]++
		}
		err := journal.VerifyChain(run, 0, journal.Genesis(run), links, head, sum)
		if isNewer {
			if e, ok := errors.AsType[*journal.NewerError](err); !ok || e.Have != journal.RecordVersion {
				t.Fatalf("got error %v, want a newer one", err)
			}
			return
		}
		if e, ok := errors.AsType[*journal.CorruptError](err); !ok || e.Run != run || e.Seq == 0 {
			t.Fatalf("got error %v, want a corrupt one", err)
		}
	})
}

func TestParseHash(t *testing.T) {
	t.Parallel()
	hash := journal.NewBlob(nil).Hash
	if sum, err := journal.ParseHash(hash); err != nil || sum[0] != 0xe3 {
		t.Errorf("%s: %x, %v", hash, sum, err)
	}
	for _, bad := range []string{"", hash[1:], hash + "0", strings.ToUpper(hash), strings.Replace(hash, "e", "g", 1),
		" " + hash[1:]} {
		if _, err := journal.ParseHash(bad); err == nil {
			t.Errorf("%q was taken for a hash", bad)
		}
	}
}

// TestErrorTexts checks the error messages as an operator reads them.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&journal.OwnedError{Run: "r", Owner: journal.Owner{Kind: journal.KindServe, PID: 7}},
			"run r is driven by another process (hocket serve, process 7)"},
		{&journal.OwnedError{Run: "r", Owner: journal.Owner{Kind: journal.KindRun}},
			"run r is driven by another process (hocket run)"},
		{&journal.OwnedError{Run: "r", Owner: journal.Owner{ID: "o"}}, "run r is driven by another process (owner o)"},
		{&journal.CorruptError{Run: "r", Seq: 4, Reason: "why"}, "journal of run r is damaged from event 4 on: why"},
		{&journal.CorruptError{Run: "r", Reason: "why"}, "journal of run r is damaged: why"},
		{&journal.CorruptError{Reason: "why"}, "store is damaged: why"},
		{&journal.NewerError{What: "store", Have: 1, Found: 2},
			"store has format version 2, written by a newer hocket; this one reads up to 1"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
