package journaltest

import (
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// testDamage checks that damage yields a typed error, never a shorter or an empty run (P17).
func testDamage(t *testing.T, m Medium) {
	h := handle(t, m)
	blob := journal.NewBlob([]byte("some large value"))
	seed := func(run string) {
		t.Helper()
		a := create(run, 0)
		a.Blobs = []journal.Blob{blob}
		mustAppend(t, h, a)
		for seq := uint64(2); seq <= 5; seq++ {
			mustAppend(t, h, next(run, seq))
		}
	}
	for _, tt := range []struct {
		name  string
		kind  DamageKind
		seq   uint64
		after uint64
		newer bool
		fine  bool // the read does not touch the damage
	}{
		{name: "first record flipped", kind: FlipRecord, seq: 1},
		{name: "middle record flipped", kind: FlipRecord, seq: 3},
		{name: "last record flipped", kind: FlipRecord, seq: 5},
		{name: "last record flipped, read from the middle", kind: FlipRecord, seq: 5, after: 3},
		{name: "first record flipped, read from the middle", kind: FlipRecord, seq: 1, after: 3, fine: true},
		{name: "first record missing", kind: DropRecord, seq: 1},
		{name: "middle record missing", kind: DropRecord, seq: 3},
		{name: "record missing that was asked for", kind: DropRecord, seq: 4, after: 3},
		{name: "last record missing", kind: DropRecord, seq: 5},
		{name: "last record missing, nothing asked for", kind: DropRecord, seq: 5, after: 5},
		{name: "newer record", kind: NewerRecord, seq: 4, newer: true},
		{name: "newer record, last", kind: NewerRecord, seq: 5, after: 4, newer: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seed(tt.name)
			m.Damage(t, Damage{Kind: tt.kind, Run: tt.name, Seq: tt.seq})
			records, err := h.Read(t.Context(), tt.name, tt.after)
			if tt.fine {
				if err != nil || len(records) != int(5-tt.after) {
					t.Errorf("got %d records, %v", len(records), err)
				}
				return
			}
			if records != nil {
				t.Errorf("got %d records with error %v", len(records), err)
			}
			if newer, ok := errors.AsType[*journal.NewerError](err); tt.newer {
				if !ok || newer.Have != journal.RecordVersion || newer.Found != journal.RecordVersion+1 {
					t.Errorf("got error %v, want a newer one", err)
				}
				return
			}
			if c, ok := errors.AsType[*journal.CorruptError](err); !ok || c.Run != tt.name {
				t.Errorf("got error %v, want a corrupt one that names the run", err)
			}
			// No other run is affected, and the damaged one is still listed.
			if got := head(t, h, tt.name).LastSeq; got != 5 {
				t.Errorf("last event in the list: %d", got)
			}
		})
	}
	t.Run(string(FlipBlob), func(t *testing.T) {
		seed("blob")
		m.Damage(t, Damage{Kind: FlipBlob, Hash: blob.Hash})
		_, err := h.Blob(t.Context(), blob.Hash)
		if _, ok := errors.AsType[*journal.CorruptError](err); !ok {
			t.Errorf("got error %v, want a corrupt one", err)
		}
	})
}
