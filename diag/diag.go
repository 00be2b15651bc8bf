package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a document. Line and Column count from 1, Column in Unicode code points; Offset counts bytes from 0.
// The zero Pos means that the place is not known.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset,omitempty"`
}

// IsKnown tells whether p names a place.
func (p Pos) IsKnown() bool { return p.Line > 0 }

// Span is a stretch of one file, Start included, End excluded. End may be zero where only the start is known.
type Span struct {
	File  string `json:"file,omitempty"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end,omitzero"`
}

// String gives FILE:LINE:COL, without the parts that are not known.
func (s Span) String() string {
	file := s.File
	if file == "" {
		file = "-"
	}
	if !s.Start.IsKnown() {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, s.Start.Line, s.Start.Column)
}

// Severity orders problems. Only an Error keeps a document from running.
type Severity string

const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	}
	return 2
}

// Related points at a second place that explains a problem, such as the first of two equal ids.
type Related struct {
	Span    Span   `json:"span"`
	Message string `json:"message"`
}

// Diagnostic is one problem of a document.
//
// Code is a stable lower-case word with dashes (`unknown-node`); Path is where the value is in the document (`nodes[2].data.model`), empty
// for the whole document; Hint says what to do, empty where there is nothing to say.
type Diagnostic struct {
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Span     Span      `json:"span"`
	Path     string    `json:"path,omitempty"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"`
	Related  []Related `json:"related,omitempty"`
	// Remedy names what to do about the problem, where that differs between the command line, HTTP and MCP; Hint then has words that hold for all. "": Hint is complete.
	Remedy string `json:"remedy,omitempty"`
	// Name is the name that the document misses, for programs that can find it elsewhere: with the code `unknown-agent` the agent's id. It is not shown.
	Name string `json:"-"`
	// Unknown marks a key, or the type of a toolset, that the reader does not know and refuses: [List.AllowUnknown] makes it a warning.
	Unknown bool `json:"-"`
}

// String gives the line that `hocket validate` prints: FILE:LINE:COL: severity: message (code), then the hint after a semicolon.
func (d Diagnostic) String() string {
	s := fmt.Sprintf("%s: %s: %s (%s)", d.Span, d.Severity, d.Message, d.Code)
	if d.Hint != "" {
		s += "; hint: " + d.Hint
	}
	return s
}

// List is every problem that was found, in the order in which it was found until Sort is called. The zero List is ready for use.
// Not safe for concurrent use.
type List []Diagnostic

// Add appends d.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// Errorf adds an error.
func (l *List) Errorf(span Span, path, code, format string, args ...any) *Diagnostic {
	return l.addf(Error, span, path, code, format, args...)
}

// Warnf adds a warning.
func (l *List) Warnf(span Span, path, code, format string, args ...any) *Diagnostic {
	return l.addf(Warning, span, path, code, format, args...)
}

func (l *List) addf(sev Severity, span Span, path, code, format string, args ...any) *Diagnostic {
	l.Add(Diagnostic{Code: code, Severity: sev, Span: span, Path: path, Message: fmt.Sprintf(format, args...)})
	return &(*l)[len(*l)-1]
}

// HasErrors tells whether the document may not run.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// HasFaults is HasErrors without regard to the names that [List.AllowUnknown] would allow: what was understood can be checked beside them.
func (l List) HasFaults() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error && !d.Unknown })
}

// AllowUnknown turns the errors of unknown keys and types of toolsets into warnings.
func (l List) AllowUnknown() {
	for i := range l {
		if l[i].Unknown && l[i].Severity == Error {
			l[i].Severity = Warning
		}
	}
}

// UnknownKey marks d as an unknown name and gives it its severity and its hint: one that is a misspelling of a known name is an error; any other has the
// severity that d has, which is that of the reader.
func (d *Diagnostic) UnknownKey(name string, known []string) *Diagnostic {
	if meant := Misspelt(name, known); meant != "" {
		d.Severity, d.Hint = Error, didYouMean(meant)
	} else {
		d.Hint = DidYouMean(name, known)
	}
	d.Unknown = true
	return d
}

// UnknownAs is UnknownKey for a name that is known to be written for another one, meant.
func (d *Diagnostic) UnknownAs(meant string) {
	d.Severity, d.Unknown, d.Hint = Error, true, didYouMean(meant)
}

// Sort orders by file, place, severity and code, and keeps the order of equals.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Span.File, b.Span.File),
			cmp.Compare(a.Span.Start.Line, b.Span.Start.Line),
			cmp.Compare(a.Span.Start.Column, b.Span.Start.Column),
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			cmp.Compare(a.Code, b.Code),
		)
	})
}

// Err gives l as an error, or nil where l holds no error (warnings alone are none).
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error gives one line per problem. It makes List an error; use [List.Err] rather than a conversion.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}
