package steps_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/format/steps"
)

// TestProviders_Unknown checks that the address of a provider whose protocol is unknown is not
// spoken to in another protocol: its models have no provider.
func TestProviders_Unknown(t *testing.T) {
	t.Parallel()
	for word, hint := range map[string]string{"amazon-bedrock": "", "antropic": "anthropic"} {
		w, diags := read(t, `
providers: {mine: {provider: `+word+`, base_url: "https://x.example.com", token_key: K}}
models: {m: {provider: mine, model: x}}
agents: {root: {model: m}}
`, steps.Options{Providers: []string{"openai", "anthropic", "google", "groq"}})
		if len(w.Providers) != 0 || w.Agents[0].Model != "mine/x" || diags.HasErrors() {
			t.Errorf("%s: providers %v, model %q, %v", word, w.Providers, w.Agents[0].Model, diags)
		}
		if len(diags) == 0 || !strings.Contains(diags[0].Message, `"`+word+`" is not supported`) ||
			!strings.Contains(diags[0].Hint, hint) {
			t.Errorf("%s: %v", word, diags)
		}
	}
}

// TestProviders_NoAddress checks that a provider needs an address unless its protocol has one.
func TestProviders_NoAddress(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"{token_key: K}", "{provider: groq, token_key: K}"} {
		_, diags := read(t, "providers: {a: "+body+"}\nagents: {root: {model: a/x}}\n", steps.Options{})
		if !diags.HasErrors() || !strings.Contains(diags.Error(), "needs a base_url") {
			t.Errorf("%s: %v", body, diags)
		}
	}
}
