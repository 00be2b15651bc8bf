package price

import (
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// CodeRetired is the code of warnings about models that are, or will be, retired.
const CodeRetired = "model-retired"

// codeBadFact is the code of diagnostics about the embedded table.
const codeBadFact = "bad-fact"

// maxWindow is the maximum size of a context window in tokens.
const maxWindow = 100_000_000

// Retirement is when a provider stops serving a model.
type Retirement struct {
	// On is the day, in UTC.
	On time.Time
	// Replacement is the model that the provider suggests, with its provider, or "" if it suggests
	// none.
	Replacement string
}

// readFacts reads the facts in a row of the embedded table other than prices.
func (e *entry) readFacts(f *source.Fields, diags *diag.List) {
	f.Strs("keep") // for the refresh command
	if w, ok := f.Int("window"); ok {
		if w <= 0 || w > maxWindow {
			diags.Errorf(f.Node().Span, f.Node().Path(), codeBadFact, "window is a number of tokens from 1 to %d",
				maxWindow)
		}
		e.window = int(w)
	}
	day, instead := f.Text("retires"), strings.ToLower(f.Text("instead"))
	switch on, err := time.Parse(time.DateOnly, day); {
	case day == "" && instead != "":
		diags.Errorf(f.Node().Span, f.Node().Path(), codeBadFact, "instead needs retires, the day of the retirement")
	case day == "":
	case err != nil:
		diags.Errorf(f.Node().Span, f.Node().Path(), codeBadFact, "retires is a day, as YYYY-MM-DD")
	default:
		e.retirement = &Retirement{On: on, Replacement: instead}
	}
}

// Window returns the size of the context window, in tokens, of the model that ref names in full
// (`provider/model`), or 0 if the table does not contain it. A row applies to its names and to
// names that continue them after a dash; the longest match takes precedence.
func Window(ref string) int {
	for name := strings.ToLower(ref); ; {
		for i := range Default().entries {
			e := &Default().entries[i]
			if e.window > 0 && e.names(name) {
				return e.window
			}
		}
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return 0
		}
		name = name[:i]
	}
}

// Retires returns when the model that ref names in full (`provider/model`) is retired; false if no
// date is known.
func Retires(ref string) (Retirement, bool) {
	ref = strings.ToLower(ref)
	for i := range Default().entries {
		e := &Default().entries[i]
		if e.retirement != nil && e.names(ref) {
			return *e.retirement, true
		}
	}
	return Retirement{}, false
}

// Text returns a message that a model is, or will be, retired. ref is the model, now the current
// time.
func (r Retirement) Text(ref string, now time.Time) string {
	text := fmt.Sprintf("the provider retires the model %s on %s", ref, r.On.Format(time.DateOnly))
	if !now.Before(r.On) {
		text = fmt.Sprintf("the provider retired the model %s on %s", ref, r.On.Format(time.DateOnly))
	}
	if r.Replacement != "" {
		text += "; it suggests " + r.Replacement
	}
	return text
}
