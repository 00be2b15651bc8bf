package price

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRetires(t *testing.T) {
	t.Parallel()
	if _, problems := parseRetirements("retirements.yaml", embeddedRetirements); len(problems) > 0 {
		t.Fatal(problems)
	}
	r, ok := Retires("OpenAI/gpt-5-mini")
	day := time.Date(2026, 12, 11, 0, 0, 0, 0, time.UTC)
	if !ok || !r.On.Equal(day) {
		t.Fatalf("%+v, %v", r, ok)
	}
	if got := r.Text("openai/gpt-5-mini", day.Add(-time.Second)); got != "the provider retires the model openai/gpt-5-mini on 2026-12-11; it suggests openai/gpt-6.1-terra" {
		t.Error(got)
	}
	if got := r.Text("openai/gpt-5-mini", day); !strings.HasPrefix(got, "the provider retired the model") {
		t.Error(got)
	}
	for _, ref := range []string{"openai/gpt-6.1-terra", "openai/gpt-5.6-sol", "ollama/gpt-5", "gpt-5"} {
		if _, ok := Retires(ref); ok {
			t.Errorf("%s is retired", ref)
		}
	}
	for _, r := range retirements() {
		if _, ok := Retires(r.Instead); ok {
			t.Errorf("the replacement %s is retired, too", r.Instead)
		}
	}
	for file, text := range map[string]string{"no day": "retirements: [{models: [a/b], on: soon}]", "no models": `retirements: [{on: "2026-01-01"}]`, "unknown": "retirement: []"} {
		if _, problems := parseRetirements(file, []byte(text)); !problems.HasErrors() {
			t.Errorf("%s is taken", file)
		}
	}
}

// TestExamplesLast: README and the examples name no model whose retirement is known.
func TestExamplesLast(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	named := regexp.MustCompile(`\b(openai|anthropic|google)/[a-z0-9.-]+[a-z0-9]`)
	seen := 0
	for _, file := range append(files, "../../README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range named.FindAllString(string(data), -1) {
			seen++
			if r, ok := Retires(ref); ok {
				t.Errorf("%s: %s", file, r.Text(ref, time.Unix(0, 0)))
			}
		}
	}
	if seen == 0 {
		t.Error("no model is named")
	}
}
