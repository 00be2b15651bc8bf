package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const before = `# A head that stays.
asOf: "2026-01-01"
source: here
prices:
  # OpenAI
  - {models: [openai/gpt-a, openai/gpt-a-2026*], input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25, ` +
	`window: 128000}
  - {models: [openai/gpt-b], input: 1, output: 5, window: 1000}
  - {models: [openai/gpt-c], input: 0.2, output: 1.6, retires: "2027-02-02", instead: openai/gpt-a, keep: [input]}
  - {models: [openai/gpt-d], input: 3, output: 3}

  # Google
  - {models: [google/gem], input: 7, output: 7}
`

// after is the updated table: facts that a row lists under keep are kept, a price that jumps is
// kept, nothing is removed, a zero price counts as no price, and the new general-purpose model
// becomes a row.
const after = `# A head that stays.
asOf: "2026-11-22"
source: here
prices:
  # OpenAI
  - {models: [openai/gpt-a, openai/gpt-a-2026*], input: 1.5, output: 6, cachedInput: 0.15, cacheWrite: 1.25, window: ` +
	`400000, retires: "2027-05-01"}
  - {models: [openai/gpt-b], input: 1, output: 5, window: 1000}
  - {models: [openai/gpt-c], input: 0.2, output: 2, long: {over: 272000, input: 0.5, output: 3}, retires: ` +
	`"2027-02-02", instead: openai/gpt-a, keep: [input]}
  - {models: [openai/gpt-d], input: 3, output: 3}
  - {models: [openai/gpt-new], input: 2, output: 8, long: {over: 272000, input: 4, output: 12}, window: 1050000}

  # Google
  - {models: [google/gem], input: 7, output: 7}
`

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestUpdate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-file", file, "-source", server.URL + "/modelsdev.json", "-source", server.URL + "/litellm.json"}
	var out strings.Builder
	if err := run(t.Context(), append(args, "-check"), &out, now); !errors.Is(err, errStale) {
		t.Errorf("-check of an old table: %v", err)
	}
	if err := run(t.Context(), args, &out, now); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != before {
		t.Errorf("the table was written without -update: %v", err)
	}
	out.Reset()
	if err := run(t.Context(), append(args, "-update"), &out, now); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(data), after); d != "" {
		t.Error(d)
	}
	for _, want := range []string{
		"new: {models: [openai/gpt-new]", "changed: openai/gpt-a: window 400000, was 128000",
		"changed: openai/gpt-a: retires 2027-05-01",
		"left: openai/gpt-b: the price would change from 1 and 5 to 100 and 500, by more than a factor of 10",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := run(t.Context(), append(args, "-check"), &out, now.AddDate(0, 1, 0)); err != nil ||
		!strings.Contains(out.String(), "the table is up to date") {
		t.Errorf("-check of a fresh table: %v, %s", err, out.String())
	}
}

// TestTableForm checks that the table of this repository is in the form that the command writes, so
// that an update changes only what it has to.
func TestTableForm(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../price/models.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseTable(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(table.text(now, data)), string(data)); d != "" {
		t.Error(d)
	}
}

func TestSourceProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":    {"<html>", "not a JSON object"},
		"a list":     {"[]", "not a JSON object"},
		"nothing":    {"{}", "no model of a known provider"},
		"other form": {`{"a": {"b": 1}}`, "no model of a known provider"},
		"entry":      {`{"a": 1}`, `entry "a"`},
		"price": {`{"openai": {"models": {"m": {"cost": {"input": -1, "output": 1}}}}}`,
			"the price -1 is not from 0 to 1000000"},
		"large price": {`{"m": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e9, ` +
			`"output_cost_per_token": 1}}`, `entry "m": the price`},
		"text price": {`{"m": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": "1"}}`,
			`entry "m"`},
		"window": {`{"openai": {"models": {"m": {"limit": {"context": 1000000000000}}}}}`,
			"the context window 1000000000000 is not from 0 to 100000000"},
		"no day": {`{"m": {"litellm_provider": "openai", "mode": "chat", "deprecation_date": "soon"}}`,
			`deprecation_date "soon" is no day`},
		"cut off":      {`{"openai": {"models": {`, "not a JSON object"},
		"wrong models": {`{"openai": {"models": []}}`, `entry "openai": models`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := read([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	if _, err := fetch(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Errorf("a missing table: %v", err)
	}
}

func TestTableProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":       {"", "there are no rows"},
		"two lines":   {"prices:\n  - {models: [a/b],\n     input: 1}\n", "line 2: a row is one line"},
		"unknown key": {"prices:\n  - {models: [a/b], inptu: 1}\n", "line 2"},
		"no models":   {"prices:\n  - {input: 1}\n", "line 2: the row names no model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseTable([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"testdata/modelsdev.json", "testdata/litellm.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := read(data)
		if err != nil {
			return
		}
		table, err := parseTable([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		table.merge([]map[string]fact{facts})
		if _, err := parseTable(table.text(now, nil)); err != nil {
			t.Fatal(err)
		}
	})
}
