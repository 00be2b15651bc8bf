package refs_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool/refs"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"KEY": "canary-1", "HOST": "example.com", "NESTED": "${KEY}", "file:/k": "of a file",
		"EMPTY": ""}[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"plain":              "plain",
		"${KEY}":             "canary-1",
		"${env.KEY}/x":       "canary-1/x",
		"${ env.KEY }":       "canary-1",
		"$KEY.":              "canary-1.",
		"a $$KEY":            "a $KEY",
		"5 $ and ${":         "5 $ and ${",
		"${file:/k}":         "of a file",
		"${ file:/k }":       "of a file",
		"${env.file:/k}":     "${env.file:/k}", // not a reference, so no person would be asked (SEC5)
		"${NESTED}":          "${KEY}",
		"[${EMPTY}]":         "[]",
		"https://$HOST/$KEY": "https://example.com/canary-1",
	} {
		e := refs.Expander{Lookup: lookup}
		if got, err := e.Expand(text, false); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, e := range []refs.Expander{{Lookup: lookup}, {}} {
		if got, err := e.Expand("Bearer ${MISSING}", false); err == nil ||
			!strings.Contains(err.Error(), "MISSING is not set") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestRedactor checks that a value that is a secret, because of its name or because the caller says
// so, can be redacted, and that other values stay readable (SEC11).
func TestRedactor(t *testing.T) {
	t.Parallel()
	e := refs.Expander{Lookup: lookup}
	for name, text := range map[string]string{"Host": "$HOST", "Authorization": "Bearer written-out"} {
		if _, err := e.Named(name, text, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Expand("$KEY", true); err != nil {
		t.Fatal(err)
	}
	if got := e.Redactor().Text("canary-1 written-out example.com"); got != "[redacted] [redacted] example.com" {
		t.Errorf("got %q", got)
	}
}
