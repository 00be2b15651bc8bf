package steps

import (
	"fmt"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// maxProblems is the maximum number of errors, and of warnings, reported for one document.
const maxProblems = source.DefaultMaxProblems

// problems is a diag.List of limited length, whatever a document contains.
type problems struct {
	list     diag.List
	errors   int
	faults   int // errors other than unknown names
	warnings int
	hints    int
	scratch  diag.Diagnostic
}

func (p *problems) Errorf(span diag.Span, path, code, format string, args ...any) *diag.Diagnostic {
	return p.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Span: span, Path: path,
		Message: fmt.Sprintf(format, args...)})
}

func (p *problems) Warnf(span diag.Span, path, code, format string, args ...any) *diag.Diagnostic {
	return p.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Span: span, Path: path,
		Message: fmt.Sprintf(format, args...)})
}

// Add adds d and returns a pointer to it, so that the caller can set its hint. Beyond the limit it
// returns a pointer to a diagnostic that is discarded.
func (p *problems) Add(d diag.Diagnostic) *diag.Diagnostic {
	n, word := &p.warnings, "warnings"
	if d.Severity == diag.Error {
		n, word = &p.errors, "errors"
	}
	if *n++; d.Severity == diag.Error && !d.Unknown {
		p.faults++
	}
	switch {
	case *n > maxProblems:
		p.scratch = d
		return &p.scratch
	case *n == maxProblems:
		d = diag.Diagnostic{
			Code: source.CodeTooMany, Severity: d.Severity, Span: d.Span,
			Message: fmt.Sprintf("there are %d %s or more; only the first %d are shown", maxProblems, word,
				maxProblems-1),
		}
		p.list.Add(d)
		p.scratch = d
		return &p.scratch
	}
	p.list.Add(d)
	return &p.list[len(p.list)-1]
}

// HasFaults reports whether there are errors other than unknown names: see [diag.List.HasFaults].
func (p *problems) HasFaults() bool { return p.faults > 0 }

// similar returns a hint that suggests the intended name; candidates is called only for the first
// hints.
func (p *problems) similar(name string, candidates func() []string) string {
	if p.hints++; p.hints > maxProblems {
		return ""
	}
	return diag.DidYouMean(name, candidates())
}
