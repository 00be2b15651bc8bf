package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a position in a document. Line and Column count from 1, Column in Unicode code points;
// Offset counts bytes from 0. The zero Pos means that the position is unknown.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset,omitempty"`
}

// IsKnown reports whether p is a known position.
func (p Pos) IsKnown() bool { return p.Line > 0 }

// Span is a range in one file, including Start and excluding End. End may be zero if only the start
// is known.
type Span struct {
	File  string `json:"file,omitempty"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end,omitzero"`
}

// String returns FILE:LINE:COL, omitting unknown parts.
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

// Severity is the severity of a problem. Only an Error prevents a document from running.
type Severity string

// The severities, most severe first.
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

// Related points to another position that explains a problem, such as the first of two identical
// ids.
type Related struct {
	Span    Span   `json:"span"`
	Message string `json:"message"`
}

// Diagnostic is one problem in a document.
//
// Code is a stable lower-case word with dashes (`unknown-node`). Path is the path of the value in
// the document (`nodes[2].data.model`), empty for the whole document. Hint suggests what to do; it
// may be empty.
type Diagnostic struct {
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Span     Span      `json:"span"`
	Path     string    `json:"path,omitempty"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"`
	Related  []Related `json:"related,omitempty"`
	// Remedy names what to do about the problem, if that differs between the command line, HTTP and
	// MCP; Hint is then worded to fit all of them. If "", Hint is complete.
	Remedy string `json:"remedy,omitempty"`
	// Name is the name that the document fails to resolve, for programs that can find it elsewhere:
	// with the code `unknown-agent` it is the agent's id. It is not displayed.
	Name string `json:"-"`
	// Unknown marks a key or toolset type that the reader does not know and rejects;
	// [List.AllowUnknown] turns it into a warning.
	Unknown bool `json:"-"`
}

// String returns the line that `hocket validate` prints: FILE:LINE:COL: severity: message (code),
// then the hint after a semicolon.
func (d Diagnostic) String() string {
	s := fmt.Sprintf("%s: %s: %s (%s)", d.Span, d.Severity, d.Message, d.Code)
	if d.Hint != "" {
		s += "; hint: " + d.Hint
	}
	return s
}

// List is a list of problems, in the order in which they were found until Sort is called. The zero
// List is ready to use. It is not safe for concurrent use.
type List []Diagnostic

// Add appends d to l.
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

// HasErrors reports whether l contains an error, so that the document cannot run.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// HasFaults is like HasErrors but ignores the names that [List.AllowUnknown] would allow, so that
// the rest of the document can still be checked.
func (l List) HasFaults() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error && !d.Unknown })
}

// AllowUnknown turns the errors for unknown keys and toolset types into warnings.
func (l List) AllowUnknown() {
	for i := range l {
		if l[i].Unknown && l[i].Severity == Error {
			l[i].Severity = Warning
		}
	}
}

// UnknownKey marks d as an unknown name and sets its severity and hint: a misspelling of a known
// name is an error; any other name keeps the severity of d, which the reader chose.
func (d *Diagnostic) UnknownKey(name string, known []string) *Diagnostic {
	if meant := Misspelt(name, known); meant != "" {
		d.Severity, d.Hint = Error, didYouMean(meant)
	} else {
		d.Hint = DidYouMean(name, known)
	}
	d.Unknown = true
	return d
}

// UnknownAs is like UnknownKey for a name that is a known mistake for another name, meant: d
// becomes an error.
func (d *Diagnostic) UnknownAs(meant string) {
	d.Severity, d.Unknown, d.Hint = Error, true, didYouMean(meant)
}

// Sort sorts l by file, position, severity and code. The sort is stable.
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

// Err returns l as an error, or nil if l contains no error; warnings alone do not count.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error returns one line per problem. It makes List an error; use [List.Err] rather than a
// conversion.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Names of remedies, the values of [Diagnostic.Remedy].
const (
	// DefineAgent means: define the missing agent.
	DefineAgent = "define-agent"
	// GiveAgentsFile means: the document is a list of agents; pass it along with a workflow.
	GiveAgentsFile = "give-agents-file"
	// DefineProvider means: define the model provider, or choose another model.
	DefineProvider = "define-provider"
	// DefineServer means: leave the operator's server unchanged, or define another one.
	DefineServer = "define-server"
	// GiveTools means: provide a toolset with the tool.
	GiveTools = "give-tools"
	// GiveID means: specify an id for the document.
	GiveID = "give-id"
	// SameID means: the document and the request specify different ids.
	SameID = "same-id"
)

// remedies holds the hint of each remedy, worded for every transport.
var remedies = map[string]string{
	DefineAgent:    "agents are defined under the key agents, in a file of agents, or in the catalog",
	GiveAgentsFile: "give it as the file of agents, together with a workflow",
	DefineProvider: "define it under `providers:` with a base_url, or choose a model of another provider",
	DefineServer:   "leave it out, or define a server of your own under `mcps:`",
	GiveTools:      "add a toolset that has it, or leave it out",
	GiveID:         "name an id",
	SameID:         "leave the id of the request out, or give the id of the document",
}

// Remedies returns the names of all remedies, each with the hint that [Diagnostic.Advise] sets.
func Remedies() map[string]string { return remedies }

// Advise sets the remedy of d and its hint.
func (d *Diagnostic) Advise(remedy string) {
	d.Remedy, d.Hint = remedy, remedies[remedy]
}
