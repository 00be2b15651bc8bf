// Package explain holds the reference of all codes: what each one means, what causes it and how to
// resolve it.
//
// The tables are data, in the folder codes: a line for each code with the columns code, meaning,
// cause and repair, and for some an example. `hocket explain CODE` prints an entry, and [Pages]
// generates docs/diagnostics.md and docs/reasons.md from all of them. A test reads the source of
// the program and checks that each code has an entry and each entry is a code that the program
// reports. The codes of problems and their reasons come from package errcode.
package explain

import (
	"cmp"
	_ "embed" // the tables
	"slices"
	"strings"
)

// Kinds of codes: where they are reported.
const (
	// Document is the kind of problems with documents, reported by `hocket validate` and in
	// diagnostics of the HTTP API.
	Document = "document"
	// Graph is the kind of problems with graphs, for Go programs, and for documents if their reader
	// has no code of its own.
	Graph = "graph"
	// Run is the kind of failures of a run, a step or a call, in the error of a run and in
	// `retry.on`.
	Run = "run"
	// API is the kind of problems that a server responds with.
	API = "api"
	// Reason is the kind of codes that specify the error within the code of a problem.
	Reason = "reason"
	// Exit is the kind of the exit statuses of the command line.
	Exit = "exit"
)

var (
	//go:embed codes/documents.txt
	documentCodes string
	//go:embed codes/tools.txt
	toolCodes string
	//go:embed codes/graphs.txt
	graphCodes string
	//go:embed codes/runs.txt
	runCodes string
	//go:embed codes/exit.txt
	exitCodes string
)

// Entry explains a code. Meaning, Cause and Repair are one line each and end with a full stop.
type Entry struct {
	Code    string `json:"code"`
	Kind    string `json:"kind"`
	Meaning string `json:"meaning"`
	Cause   string `json:"cause"`
	Repair  string `json:"repair"`
	// Wrong and Right are an example of a text that has the problem, and its correction. Both are
	// "" if there is no example.
	Wrong string `json:"wrong,omitempty"`
	Right string `json:"right,omitempty"`
}

// All returns all entries, ordered by kind and code.
func All() []Entry {
	var out []Entry
	for _, table := range []struct {
		kind, text string
	}{{Document, documentCodes}, {Document, toolCodes}, {Graph, graphCodes}, {Run, runCodes}, {Exit, exitCodes}} {
		for line := range strings.Lines(strings.TrimSpace(table.text)) {
			part := strings.SplitN(strings.TrimSpace(line), " | ", 5)
			for len(part) < 5 {
				part = append(part, "")
			}
			wrong, right, _ := strings.Cut(part[4], " => ")
			out = append(out, Entry{Code: part[0], Kind: table.kind, Meaning: part[1], Cause: part[2], Repair: part[3],
				Wrong: wrong, Right: right})
		}
	}
	out = append(out, problems()...)
	order := []string{Document, Graph, Run, API, Reason, Exit}
	slices.SortStableFunc(out, func(a, b Entry) int {
		if a.Kind != b.Kind {
			return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
		}
		return cmp.Compare(a.Code, b.Code)
	})
	return out
}

// Find returns the entry of a code, or false if there is none. Codes are unique.
func Find(code string) (Entry, bool) {
	for _, e := range All() {
		if e.Code == code {
			return e, true
		}
	}
	return Entry{}, false
}

// Codes returns all codes in the order of All.
func Codes() []string {
	var out []string
	for _, e := range All() {
		out = append(out, e.Code)
	}
	return out
}
