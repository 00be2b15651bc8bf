// Package explain says what each code of a problem means, what causes it and how it is repaired.
//
// It refuses to know who reports a code. The tables are data: `hocket explain CODE` prints an entry, and docs/diagnostics.md is made of
// them by [Page]. A test reads the source of the program and holds that each code has an entry and each entry is a code.
package explain

import (
	"cmp"
	"slices"
	"strings"
)

// Kinds of codes: where they are met.
const (
	// Document: a problem of a document, in `hocket validate` and diagnostics of the HTTP API.
	Document = "document"
	// Graph: a problem of a graph, which Go programs meet, and documents where their reader has no code of its own.
	Graph = "graph"
	// Run: the failure of a run, a step or a call, in the error of a run and in `retry.on`.
	Run = "run"
	// API: the code of a problem that a server answers with.
	API = "api"
	// Exit: the exit status of the command line.
	Exit = "exit"
)

// Entry explains a code. Meaning, Cause and Repair are one line each and end with a full stop.
type Entry struct {
	Code    string `json:"code"`
	Kind    string `json:"kind"`
	Meaning string `json:"meaning"`
	Cause   string `json:"cause"`
	Repair  string `json:"repair"`
}

// All gives all entries, by kind and code.
func All() []Entry {
	var out []Entry
	for _, table := range []struct{ kind, text string }{{Document, documentCodes}, {Document, toolCodes}, {Graph, graphCodes}, {Run, runCodes}, {API, apiCodes}, {Exit, exitCodes}} {
		for line := range strings.Lines(strings.TrimSpace(table.text)) {
			part := strings.SplitN(strings.TrimSpace(line), " | ", 4)
			for len(part) < 4 {
				part = append(part, "")
			}
			out = append(out, Entry{Code: part[0], Kind: table.kind, Meaning: part[1], Cause: part[2], Repair: part[3]})
		}
	}
	order := []string{Document, Graph, Run, API, Exit}
	slices.SortStableFunc(out, func(a, b Entry) int {
		if a.Kind != b.Kind {
			return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
		}
		return cmp.Compare(a.Code, b.Code)
	})
	return out
}

// Find gives the entry of a code; false where there is none. Codes are unique.
func Find(code string) (Entry, bool) {
	for _, e := range All() {
		if e.Code == code {
			return e, true
		}
	}
	return Entry{}, false
}

// Codes gives all codes in the order of All.
func Codes() []string {
	var out []string
	for _, e := range All() {
		out = append(out, e.Code)
	}
	return out
}
