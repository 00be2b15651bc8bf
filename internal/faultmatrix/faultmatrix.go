package faultmatrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Row is one failure. All texts are for users, in Markdown.
type Row struct {
	// Key identifies the row in tests.
	Key string
	// Failure is what happens.
	Failure string
	// Survives, Repeated, Asked and Takes are the columns: what is kept, what is done more than
	// once, what a person is asked, how long it takes until work continues.
	Survives, Repeated, Asked, Takes string
	// Tests are the tests that produce the failure: the folder of the package and the function,
	// "internal/e2e TestPair". The first is displayed.
	Tests []string
}

// Part is a group of rows with a heading.
type Part struct {
	Heading string
	Rows    []Row
}

// Proves declares that a test produces the failure of a row. The test fails if the row does not
// name it.
func Proves(t testing.TB, key string) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	r, ok := find(key)
	switch {
	case !ok:
		t.Fatalf("the failure matrix has no row %q", key)
	case !slices.ContainsFunc(r.Tests, func(test string) bool { return strings.HasSuffix(test, " "+name) }):
		t.Fatalf("the row %q of the failure matrix does not name %s", key, name)
	}
}

func find(key string) (Row, bool) {
	for _, p := range Parts() {
		if i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Key == key }); i >= 0 {
			return p.Rows[i], true
		}
	}
	return Row{}, false
}

// Table returns the matrix in Markdown, as one table with the headings of its parts as rows.
func Table() string {
	var b strings.Builder
	b.WriteString("| failure | what survives | what is repeated | what a person is asked | how long it takes | test " +
		"|\n| --- | --- | --- | --- | --- | --- |\n")
	for _, p := range Parts() {
		fmt.Fprintf(&b, "| **%s** | | | | | |\n", p.Heading)
		for _, r := range p.Rows {
			_, test, _ := strings.Cut(r.Tests[0], " ")
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | `%s` |\n", r.Failure, r.Survives, r.Repeated, r.Asked, r.Takes,
				test)
		}
	}
	return b.String()
}
