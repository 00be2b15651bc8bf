//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/explain"
)

// marksDir has a document for each diagnostic code, named after it, with umlauts, characters beyond
// the basic plane and combining characters before the error. The page's spec marks opens each of
// them in the editor.
const marksDir = "testdata/marks"

// withoutDocument returns the codes that no document reports. The file without.txt lists them in
// groups, each below a line with the reason.
func withoutDocument(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(marksDir, "without.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for group := range strings.SplitSeq(string(data), "\n\n") {
		why, list, ok := strings.Cut(group, "\n")
		if strings.HasPrefix(why, "#") {
			continue
		}
		if !ok || !strings.HasSuffix(why, ".") || len(strings.Fields(why)) < 5 {
			t.Errorf("without.txt: %q is no reason with codes under it", why)
		}
		codes = append(codes, strings.Fields(list)...)
	}
	return codes
}

// checkedMarks returns the program's diagnostics for all documents of marksDir, by file.
func checkedMarks(t *testing.T) map[string]diag.List {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.json", "*.yaml"} {
		found, err := filepath.Glob(filepath.Join(marksDir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatal("no documents", err)
		}
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	home := t.TempDir()
	c := exec.Command(programOf(t, nil), append([]string{"validate", "--json"}, names...)...)
	c.Dir = marksDir
	c.Env = []string{"HOME=" + home, "HOCKET_HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := c.Output()
	var list diag.List
	if jsonErr := json.Unmarshal(out, &list); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	got := map[string]diag.List{}
	for _, name := range names {
		got[name] = nil
	}
	for _, d := range list {
		got[d.Span.File] = append(got[d.Span.File], d)
	}
	return got
}

// TestDiagnosticRanges checks that each diagnostic code that documents can have has a document that
// reports it, preceded by text that differs in its numbers of bytes, characters and UTF-16 units.
func TestDiagnosticRanges(t *testing.T) {
	t.Parallel()
	without := withoutDocument(t)
	seen := map[string]bool{}
	for name, list := range checkedMarks(t) {
		code := strings.TrimSuffix(name, filepath.Ext(name))
		seen[code] = true
		text, err := os.ReadFile(filepath.Join(marksDir, name))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Code == code })
		if at < 0 {
			t.Errorf("%s does not report its code, but %v", name, list)
			continue
		}
		offset := list[at].Span.Start.Offset
		begin := bytes.LastIndexByte(text[:offset], '\n') + 1
		end := bytes.IndexByte(text[begin:], '\n') + begin
		// These codes mark the start of the text.
		first := slices.Contains([]string{"empty-document", "no-agents", "unknown-format"}, code)
		if !first && (isASCII(text[:offset]) || isASCII(text[begin:end])) {
			t.Errorf("%s has no character beyond ASCII before %d:%d and in that line", name, list[at].Span.Start.Line,
				list[at].Span.Start.Column)
		}
		if !bytes.Contains(text, []byte("👩")) || !bytes.Contains(text, []byte("e\u0301")) {
			t.Errorf("%s has no character beyond the basic plane, or no combining one", name)
		}
	}
	for _, e := range explain.All() {
		if e.Kind != explain.Document && e.Kind != explain.Graph {
			continue
		}
		if has, listed := seen[e.Code], slices.Contains(without, e.Code); has == listed {
			t.Errorf("the code %s has a document: %v; it is among those without one: %v", e.Code, has, listed)
		}
	}
}

func isASCII(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return b > 0x7f })
}
