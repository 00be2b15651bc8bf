package engine

import (
	"math"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/text"
)

// LargeBytes is the size above which drivers let outputs leave memory ([Run.StoreTexts]); they are
// stored in the journal next to its records.
const LargeBytes = 32 << 10

// textStore converts large texts into stored texts. A nil textStore converts none.
type textStore struct {
	above int64
	made  []*text.Stored
}

// limit returns the length above which texts are stored.
func (k *textStore) limit() int64 {
	if k == nil {
		return math.MaxInt64
	}
	return k.above
}

// store returns t, as a stored text if it is large. A text that is composed of other texts is not
// stored itself.
func (k *textStore) store(t text.Text) text.Text {
	if t.Len() <= k.limit() || !t.IsString() {
		return t
	}
	s := text.Keep(t.String())
	k.made = append(k.made, s)
	return s.Text()
}

// output is store for an output.
func (k *textStore) output(o graph.Output) graph.Output {
	if o.Size() <= k.limit() {
		return o
	}
	return o.Kept(k.store)
}

// StoreTexts makes the run keep outputs, and messages of a shared conversation, of more than above
// bytes as stored texts, which [Run.TakeStored] returns; once the run's events are stored, the
// caller may let those texts leave memory. It must be called before the run has events.
//
// If the bytes of a stored text cannot be loaded again, Activate and Apply return a
// *[text.LoadError], and all other methods that need them panic with it.
func (r *Run) StoreTexts(above int64) { r.state.kept = &textStore{above: above} }

// TakeStored returns the stored texts that the run has made since the last call.
func (r *Run) TakeStored() []*text.Stored {
	k := r.state.kept
	if k == nil {
		return nil
	}
	made := k.made
	k.made = nil
	return made
}

// Keep implements loop.World.
func (s *state) Keep(t text.Text) text.Text { return s.kept.store(t) }
