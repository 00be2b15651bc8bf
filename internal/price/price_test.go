package price_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/price"
)

const own = `
asOf: "2026-11"
source: our contract
prices:
  - {models: [openai/gpt-5-mini*, house/*-large], input: 0.2, output: 1.6, cachedInput: 0.02}
  - {models: [house/*], input: 0, output: 0}
`

func parse(t *testing.T, text string) *price.Table {
	t.Helper()
	table, problems := price.Parse("prices.yaml", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return table
}

// TestRate checks P20: a price comes from the table, the user's before Hocket's; the price of a
// model without an entry is unknown, never zero.
func TestRate(t *testing.T) {
	t.Parallel()
	mine, builtin := parse(t, own), price.Default()
	for name, tc := range map[string]struct {
		table *price.Table
		ref   string
		want  chat.Money // of input; -1 means unknown
	}{
		"built in":                    {builtin, "openai/gpt-5", 1_250_000},
		"dated":                       {builtin, "anthropic/claude-sonnet-4-5-20250929", 3_000_000},
		"letters do not matter":       {builtin, "OpenAI/GPT-5", 1_250_000},
		"unknown":                     {builtin, "openai/gpt-77", -1},
		"longer name":                 {builtin, "openai/gpt-5-turbo", -1},
		"without provider":            {builtin, "gpt-5", -1},
		"elsewhere":                   {builtin, "openrouter/openai/gpt-5", -1},
		"on one's own machine":        {builtin, "ollama/qwen3:8b", 0},
		"own":                         {mine, "house/a-large", 200_000},
		"own, free":                   {mine, "house/b", 0},
		"own above built in":          {mine.Over(builtin), "openai/gpt-5-mini", 200_000},
		"own above built in, further": {mine.Over(builtin), "openai/gpt-5", 1_250_000},
		"own alone":                   {parse(t, "replace: true\n"+own).Over(builtin), "openai/gpt-5", -1},
		"none of one's own":           {(*price.Table)(nil).Over(builtin), "openai/gpt-5", 1_250_000},
		"no table":                    {nil, "openai/gpt-5", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := tc.table.Rate(tc.ref)
			if ok != (tc.want >= 0) || ok && got.Input != tc.want {
				t.Errorf("got %d, %v, want %d", got.Input, ok, tc.want)
			}
			if cost := tc.table.Cost(tc.ref, chat.Usage{InputTokens: 1_000_000}); (cost == nil) != !ok {
				t.Errorf("cost %v of a model whose price is known: %v", cost, ok)
			}
		})
	}
	if cost := builtin.Cost("google/gemini-2.5-pro",
		chat.Usage{InputTokens: 300_000, OutputTokens: 1000}); cost == nil || *cost != 0.765 {
		t.Errorf("a long prompt costs %v", cost)
	}
}

// TestDefault checks that the embedded file says when and from where its facts were read.
func TestDefault(t *testing.T) {
	t.Parallel()
	table := price.Default()
	if table.AsOf == "" || table.Source == "" {
		t.Fatalf("as of %q from %q", table.AsOf, table.Source)
	}
	for _, ref := range []string{"openai/gpt-5-mini", "openai/o3", "anthropic/claude-haiku-4-5",
		"google/gemini-2.5-flash", "openai/gpt-4o-mini-2024-07-18"} {
		if _, ok := table.Rate(ref); !ok {
			t.Errorf("no price of %s", ref)
		}
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":    {"", "prices.yaml:1:1: error: the document is empty"},
		"no price": {"prices: [{models: [a/b], input: 1}]", "output"},
		"below nothing": {"prices: [{models: [a/b], input: -1, output: 1}]",
			"prices.yaml:1:33: error: input is USD for a million tokens, from 0 to 1000000 (bad-price)"},
		"too much": {"prices: [{models: [a/b], input: 1e300, output: 1}]", "from 0 to 1000000"},
		"too fine": {"prices: [{models: [a/b], input: 1, output: 0.0000001}]",
			"output has more than six decimals"},
		"no model":    {"prices: [{input: 1, output: 1}]", "models"},
		"bare model":  {"prices: [{models: [gpt-5], input: 1, output: 1}]", `"gpt-5" does not name a provider`},
		"unknown key": {"prices: [{models: [a/b], input: 1, output: 1, inptu: 2}]", "inptu"},
		"long for ever": {"prices: [{models: [a/b], input: 1, output: 1, long: {input: 1, output: 1}}]",
			"over is a number of input tokens above 0"},
		"not a document": {"[", "syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := price.Parse("prices.yaml", []byte(tc.text))
			if !problems.HasErrors() || !strings.Contains(problems.Error(), tc.want) {
				t.Errorf("got %v, want %q", problems, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(own, "house/x")
	f.Add("prices: [{models: ['*/*a*'], input: 1e3, output: .5, long: {over: 3}}]", "x/ya")
	f.Fuzz(func(t *testing.T, text, ref string) {
		table, problems := price.Parse("f", []byte(text))
		if problems.HasErrors() {
			return
		}
		if rate, ok := table.Rate(ref); ok && (rate.Input < 0 || rate.Output < 0) {
			t.Fatalf("%q costs %+v", ref, rate)
		}
		one := table.Over(&price.Table{})
		a, okA := table.Rate(ref)
		b, okB := one.Rate(ref)
		if d := cmp.Diff(a, b); d != "" || okA != okB {
			t.Fatal(d)
		}
	})
}
