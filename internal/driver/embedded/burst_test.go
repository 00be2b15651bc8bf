package embedded

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// TestTrail_Stop checks that a trail that was stopped accepts no record, and that Last follows the
// records that were published, across blocks.
func TestTrail_Stop(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	tr := newTrail(7, begin, 0, func() *engine.Expander { return nil })
	if seq, at := tr.Last(); seq != 7 || !at.Equal(begin) {
		t.Errorf("an empty trail ends with event %d at %v", seq, at)
	}
	for i := range 3 * maxChunk {
		tr.add(&record{LineRecord: engine.LineRecord{At: int64(i)}, last: uint64(8 + i)})
		if !tr.publish() {
			t.Fatal("a record was not published")
		}
		want := begin.Add(time.Duration(i) * time.Microsecond)
		if seq, at := tr.Last(); seq != uint64(8+i) || !at.Equal(want) {
			t.Fatalf("record %d ends with event %d at %v", i, seq, at)
		}
	}
	tr.Stop()
	seq, _ := tr.Last()
	tr.add(&record{last: 1000})
	if err := tr.Commit(); !errors.Is(err, errStoppedTrail) {
		t.Errorf("a record was committed: %v", err)
	}
	if now, _ := tr.Last(); now != seq {
		t.Errorf("the trail ends with event %d, not %d", now, seq)
	}
}
