package journal_test

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/journal/journaltest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(*testing.T) journaltest.Medium {
		m := journal.NewMemory()
		return journaltest.Medium{
			Open:   func(*testing.T) journal.Backend { return m.Open(journal.KindRun) },
			Damage: func(t *testing.T, d journaltest.Damage) { damage(t, m, d) },
		}
	})
}

func damage(t *testing.T, m *journal.Memory, d journaltest.Damage) {
	t.Helper()
	if d.Kind == journaltest.FlipBlob {
		m.BlobData(d.Hash)[0] ^= 1
		return
	}
	links := m.Of(d.Run)
	i := slices.IndexFunc(*links, func(l journal.Link) bool { return l.First <= d.Seq && d.Seq <= l.Last })
	switch d.Kind {
	case journaltest.FlipRecord:
		(*links)[i].Data[0] ^= 1
	case journaltest.DropRecord:
		*links = slices.Delete(*links, i, i+1)
	case journaltest.NewerRecord:
		(*links)[i].Version++
	default:
		t.Fatalf("no such damage: %s", d.Kind)
	}
}
