package project

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
)

// Assembled makes the folder call show for values assembled from other values, instead of returning
// them whole; the text is a rope over the contents of the events. If the events hold short
// stand-ins for long strings, so does the rope. Assembled must be called before any event is added.
func (f *Folder) Assembled(show func(*prompt.Recipe, text.Text) event.Value) {
	f.show, f.texts.Short = show, true
}

// assemble keeps the string assembled from a step's recipe. A string that cannot be assembled,
// because the journal is damaged, is not shown.
func (f *Folder) assemble(st *step) {
	if r := st.data.Recipe; r != nil {
		for i := range r.Parts {
			if n := r.Parts[i].Step; f.isForgotten(n) {
				f.forget.missed[n] = true
			}
		}
		if f.texts.Check(st.n, r, f.outputText) == nil {
			f.texts.Add(st.n, r, f.outputText)
		}
	}
}

// assembled returns the assembled input of a step, or nil if it cannot be assembled.
func (f *Folder) assembled(st *step) event.Value {
	t, ok := f.texts.Of(st.n)
	switch {
	case !ok:
		return nil
	case f.show != nil:
		return f.show(st.data.Recipe, t)
	}
	return expr.Quote(t.String())
}

// outputText returns the text of a step's output, of the run's input, or of an item.
func (f *Folder) outputText(n int) (text.Text, bool) {
	switch {
	case n == 0:
		return prompt.OfJSON(f.created.Input), true
	case n < 0:
		if sc := f.scope(-n); sc != nil {
			return prompt.OfJSON(sc.item), true
		}
		return text.Text{}, false
	}
	st := f.steps[n]
	if st == nil || st.status == StepRunning {
		return text.Text{}, false
	}
	if !st.hasText {
		st.text, st.hasText = prompt.OfJSON(st.output), true
	}
	return st.text, true
}
