package journaltest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

// testEach checks that Each reads a journal of several batches as Read does, from any position, and
// stops when take returns an error.
func testEach(t *testing.T, m Medium) {
	s := handle(t, m)
	const records = 40
	mustAppend(t, s, create("r", 0))
	for i := uint64(2); i <= records; i++ {
		a := next("r", i)
		a.Record.Data = bytes.Repeat([]byte{byte(i)}, 100<<10)
		mustAppend(t, s, a)
	}
	for _, after := range []uint64{0, 1, 17, records - 1, records} {
		if text, err := dump(t.Context(), s, "r", after); err != nil || strings.Contains(text, "but Each") {
			t.Errorf("after %d: Each gives something else than Read: %v", after, err)
		}
	}
	enough, taken := errors.New("enough"), 0
	err := s.Each(t.Context(), "r", 0, func(journal.Record) error {
		if taken++; taken == 15 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || taken != 15 {
		t.Errorf("Each went on to record %d with %v", taken, err)
	}
	checkRejected(t, "a run that is not there", s.Each(t.Context(), "none", 0, func(journal.Record) error {
		return nil
	}),
		journal.ErrNotFound)
}

// testParts checks that Part returns any piece of a blob, and its size.
func testParts(t *testing.T, m Medium) {
	s := handle(t, m)
	b := journal.NewBlob(bytes.Repeat([]byte("0123456789"), 100<<10))
	empty := journal.NewBlob(nil)
	a := create("r", 0)
	a.Blobs = []journal.Blob{b, empty}
	mustAppend(t, s, a)
	for _, c := range []struct {
		offset int64
		n      int
		want   string
	}{{0, 4, "0123"}, {500_007, 5, "78901"}, {int64(len(b.Data)) - 2, 10, "89"}, {int64(len(b.Data)), 10, ""},
		{1 << 40, 10, ""}, {3, 0, ""}} {
		part, size, err := s.Part(t.Context(), b.Hash, c.offset, c.n)
		if string(part) != c.want || size != int64(len(b.Data)) || err != nil {
			t.Errorf("%d bytes at %d: got %q of %d, %v; want %q", c.n, c.offset, part, size, err, c.want)
		}
	}
	if part, size, err := s.Part(t.Context(), empty.Hash, 0, 10); len(part) > 0 || size != 0 || err != nil {
		t.Errorf("of an empty blob: %q of %d, %v", part, size, err)
	}
	for _, hash := range []string{journal.HashOf([]byte("nothing")), "no hash"} {
		_, _, err := s.Part(t.Context(), hash, 0, 1)
		checkRejected(t, "a blob that is not there", err, journal.ErrNotFound)
	}
}
