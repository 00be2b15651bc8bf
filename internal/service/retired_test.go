package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/service"
)

const oldModels = `
agents:
  a: {model: openai/gpt-5-mini, instruction: A.}
  b: {model: openai/gpt-5-mini, instruction: B.}
  c: {instruction: C.}
  d: {model: openai/gpt-6.1-terra, instruction: D.}
workflow:
  - {type: agent, name: a}
  - {type: agent, name: b}
  - {type: agent, name: c}
  - {type: agent, name: d}
`

// TestRetiredModels checks that each retired model results in one warning, at the first agent that
// uses it; agents without a model have the default.
func TestRetiredModels(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 12, 11, 0, 0, 0, 0, time.UTC)
	const (
		before = "the provider retires the model openai/gpt-5-mini on 2026-12-11; it suggests openai/gpt-6.1-terra"
		after  = "the provider retired the model openai/gpt-5-mini on 2026-12-11; it suggests openai/gpt-6.1-terra"
	)
	env := func(list map[string]string) func(string) string {
		return func(name string) string { return list[name] }
	}
	for name, tc := range map[string]struct {
		opts service.LoadOptions
		now  time.Time
		want []string
	}{
		"before":     {now: day.Add(-time.Second), want: []string{`agent "a": ` + before}},
		"on the day": {now: day, want: []string{`agent "a": ` + after}},
		"default": {opts: service.LoadOptions{Env: env(map[string]string{"HOCKET_MODEL": "gpt-5"})}, now: day,
			want: []string{`agent "a": ` + after, `agent "c" has no model of its own and gets the default: the ` +
				`provider retired the model openai/gpt-5 on`}},
		"operator": {
			opts: service.LoadOptions{
				Operator: &config.Config{DefaultModel: "fast",
					Models: map[string]config.Model{"fast": {Provider: "google", Model: "gemini-2.5-pro"}}},
			}, now: day, want: []string{`agent "a": ` + after, "google/gemini-2.5-pro"},
		},
		"same": {opts: service.LoadOptions{Env: env(map[string]string{"HOCKET_MODEL": "gpt-5-mini"})}, now: day,
			want: []string{`agent "a": ` + after}},
		"override": {opts: service.LoadOptions{Model: "openai/gpt-4o"}, now: day,
			want: []string{"the model for every agent: the provider retires the model openai/gpt-4o on 2027-01-14"}},
		"current": {opts: service.LoadOptions{Model: "openai/gpt-6.1-sol"}, now: day},
		"script":  {opts: service.LoadOptions{Offline: true}, now: day},
		"own server": {opts: service.LoadOptions{Env: env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1"})},
			now: day},
		"own program": {opts: service.LoadOptions{Providers: []string{"openai"}}, now: day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.opts.Retired, tc.opts.Now = true, func() time.Time { return tc.now }
			tc.opts.Formats = linked.Kit().Formats
			_, problems, err := service.Load(t.Context(), "old.yaml", []byte(oldModels), tc.opts)
			if err != nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			var got []string
			for _, d := range problems {
				if d.Code == price.CodeRetired {
					got = append(got, d.Message)
				}
			}
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
	r := service.Diagnose(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: env(map[string]string{"HOCKET_MODEL": "gpt-5-mini"}), Now: func() time.Time { return day }})
	if len(r.Warnings) != 1 || r.Warnings[0].Message != after || r.Warnings[0].Code != price.CodeRetired {
		t.Errorf("doctor says %v", r.Warnings)
	}
}
