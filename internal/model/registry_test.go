package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]model.Ref{
		"openai/gpt-5-mini":             {Provider: "openai", Model: "gpt-5-mini"},
		"openrouter/meta-llama/llama-3": {Provider: "openrouter", Model: "meta-llama/llama-3"},
		"ollama/qwen3:8b":               {Provider: "ollama", Model: "qwen3:8b"},
		"gpt-4o":                        {Provider: "openai", Model: "gpt-4o"},
		"chatgpt-4o-latest":             {Provider: "openai", Model: "chatgpt-4o-latest"},
		"o1":                            {Provider: "openai", Model: "o1"},
		"o4-mini":                       {Provider: "openai", Model: "o4-mini"},
		"claude-sonnet-4-5":             {Provider: "anthropic", Model: "claude-sonnet-4-5"},
		"gemini-2.5-pro":                {Provider: "google", Model: "gemini-2.5-pro"},
		"qwen3":                         {Model: "qwen3"},
		"o":                             {Model: "o"},
		"olmo-2":                        {Model: "olmo-2"},
	} {
		if got, err := model.ParseRef(in); got != want || err != nil {
			t.Errorf("ParseRef(%q): got %+v, %v; want %+v", in, got, err, want)
		}
	}
	if got, err := model.ParseRef(" openai/gpt-5\n"); got.String() != "openai/gpt-5" || err != nil {
		t.Errorf("spaces around a reference: got %+v, %v", got, err)
	}
	for _, in := range []string{"", "  ", "/x", "openai/", "/", "a b", "openai/gpt 5"} {
		if got, err := model.ParseRef(in); !errors.Is(err, model.ErrBadRef) {
			t.Errorf("ParseRef(%q): got %+v, %v; want ErrBadRef", in, got, err)
		}
	}
}

func env(pairs ...string) model.Env {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(name string) string { return m[name] }
}

// endpointClient is an adapter that replies with the endpoint for which it was built.
type endpointClient struct{ e model.Endpoint }

func (w endpointClient) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	return model.Reply{Message: chat.Message{Text: chat.NewText(fmt.Sprintf("%s|%s|%s|%s|key=%s|named=%t|own=%t",
		w.e.Protocol, w.e.Provider, req.Model, w.e.BaseURL, w.e.Key, w.e.Named, w.e.Own))}}, nil
}

func registry(cfg model.Config) *model.Registry {
	f := func(e model.Endpoint) (model.Client, error) { return endpointClient{e}, nil }
	cfg.Adapters = map[model.Protocol]model.Factory{model.ProtocolOpenAI: f, model.ProtocolAnthropic: f,
		model.ProtocolGoogle: f}
	return model.NewRegistry(cfg)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	keys := []string{"OPENAI_API_KEY=ok1", "ANTHROPIC_API_KEY=ak1", "GEMINI_API_KEY=gk1"}
	for name, tc := range map[string]struct {
		cfg  model.Config
		ref  string
		want string
	}{
		"openai": {model.Config{Env: env(keys...)}, "openai/gpt-5-mini",
			"openai|openai|gpt-5-mini|https://api.openai.com/v1|key=ok1|named=true|own=true"},
		"anthropic": {model.Config{Env: env(keys...)}, "claude-x",
			"anthropic|anthropic|claude-x|https://api.anthropic.com|key=ak1|named=true|own=true"},
		"google": {model.Config{Env: env(keys...)}, "google/gemini-x",
			"google|google|gemini-x|https://generativelanguage.googleapis.com|key=gk1|named=true|own=true"},
		"google, first": {model.Config{Env: env("GEMINI_API_KEY=b", "GOOGLE_API_KEY= a\n")}, "gemini-x",
			"google|google|gemini-x|https://generativelanguage.googleapis.com|key=a|named=true|own=true"},
		"known name": {model.Config{Env: env("GROQ_API_KEY=g")}, "groq/a/b",
			"openai|groq|a/b|https://api.groq.com/openai/v1|key=g|named=true|own=false"},
		"server, no key": {model.Config{Env: env("OPENAI_BASE_URL=http://127.0.0.1:9/v1/")}, "openai/m",
			"openai|openai|m|http://127.0.0.1:9/v1|key=|named=true|own=false"},
		"D26 bare": {model.Config{Env: env("OPENAI_BASE_URL=http://h/v1")}, "qwen3",
			"openai|openai|qwen3|http://h/v1|key=|named=true|own=false"},
		"D26 no key": {model.Config{Env: env("OPENAI_BASE_URL=http://h/v1")}, "claude-x",
			"openai|openai|claude-x|http://h/v1|key=|named=true|own=false"},
		"prefix wins": {model.Config{Env: env("OPENAI_BASE_URL=http://h/v1", "ANTHROPIC_API_KEY=a")}, "claude-x",
			"anthropic|anthropic|claude-x|https://api.anthropic.com|key=a|named=true|own=true"},
		"anthropic base": {model.Config{Env: env("ANTHROPIC_BASE_URL=http://h:1/")}, "anthropic/c",
			"anthropic|anthropic|c|http://h:1|key=|named=true|own=false"},
		"ollama": {model.Config{}, "ollama/qwen3",
			"openai|ollama|qwen3|http://127.0.0.1:11434/v1|key=|named=true|own=false"},
		"ollama host": {model.Config{Env: env("OLLAMA_HOST=0.0.0.0:999")}, "ollama/q",
			"openai|ollama|q|http://127.0.0.1:999/v1|key=|named=true|own=false"},
		"dmr": {model.Config{}, "dmr/ai/qwen3",
			"openai|dmr|ai/qwen3|http://127.0.0.1:12434/engines/v1|key=|named=true|own=false"},
		"ollama bare": {model.Config{Env: env("OLLAMA_HOST=box")}, "ollama/q",
			"openai|ollama|q|http://box:11434/v1|key=|named=true|own=false"},
		"ollama v6": {model.Config{Env: env("OLLAMA_HOST=https://[fd00::1]")}, "ollama/q",
			"openai|ollama|q|https://[fd00::1]:443/v1|key=|named=true|own=false"},
		"named model": {
			model.Config{Env: env(keys...),
				Models: map[string]model.Def{"fast": {Provider: "openai", Model: "gpt-5-nano"}}}, "fast",
			"openai|openai|gpt-5-nano|https://api.openai.com/v1|key=ok1|named=true|own=true",
		},
		"own provider": {
			model.Config{Env: env("MY=k"), Providers: map[string]model.ProviderDef{"gw": {BaseURL: "http://10.0.0.1/v1",
				KeyEnv: "MY", Trusted: true}}}, "gw/m", "openai|gw|m|http://10.0.0.1/v1|key=k|named=true|own=false",
		},
		"variables in the address": {
			model.Config{Env: env("MY=k", "HOST=10.0.0.1"), Providers: map[string]model.ProviderDef{
				"gw": {BaseURL: "http://${env.HOST}/v1", KeyEnv: "MY", Trusted: true}}}, "gw/m",
			"openai|gw|m|http://10.0.0.1/v1|key=k|named=true|own=false",
		},
		"no key of ours": {
			model.Config{Env: env(keys...),
				Providers: map[string]model.ProviderDef{"gw": {BaseURL: "https://evil.example/v1"}}}, "gw/m",
			"openai|gw|m|https://evil.example/v1|key=|named=false|own=false",
		},
		"same address": {
			model.Config{Env: env(keys...),
				Providers: map[string]model.ProviderDef{"gw": {BaseURL: "https://api.openai.com/v1"}}}, "gw/m",
			"openai|gw|m|https://api.openai.com/v1|key=ok1|named=true|own=true",
		},
		"no address": {
			model.Config{Env: env(keys...),
				Providers: map[string]model.ProviderDef{"cl": {Protocol: model.ProtocolAnthropic}}}, "cl/m",
			"anthropic|cl|m|https://api.anthropic.com|key=ak1|named=true|own=true",
		},
		"model elsewhere": {
			model.Config{Env: env(keys...),
				Models: map[string]model.Def{
					"m": {Provider: "openai", Model: "x", BaseURL: "http://127.0.0.1:5/v1", Trusted: true},
				}}, "m", "openai|openai|x|http://127.0.0.1:5/v1|key=ok1|named=true|own=false",
		},
		"model untrusted": {
			model.Config{Env: env(keys...),
				Models: map[string]model.Def{
					"m": {Provider: "openai", Model: "x", BaseURL: "https://evil.example/v1"},
				}}, "m", "openai|openai|x|https://evil.example/v1|key=|named=false|own=false",
		},
		"model key": {
			model.Config{Env: env("K2=k2"), Models: map[string]model.Def{"m": {Provider: "openai", Model: "x",
				KeyEnv: "K2"}}}, "m", "openai|openai|x|https://api.openai.com/v1|key=k2|named=true|own=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry(tc.cfg)
			if err := r.Check(tc.ref); err != nil {
				t.Fatal(err)
			}
			reply, err := r.Call(t.Context(), model.Request{Model: tc.ref}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(reply.Message.Text.String(), tc.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
			parts := strings.Split(tc.want, "|")
			if want := parts[1] + "/" + parts[2]; reply.Model != want {
				t.Errorf("got model %q; want %q", reply.Model, want)
			}
		})
	}
}

// TestCheck checks S0-17: missing settings are found before the run, with the provider, the key and
// the hint.
func TestCheck(t *testing.T) {
	t.Parallel()
	hints := []string{"--replies", "--model", "OPENAI_BASE_URL"}
	for name, tc := range map[string]struct {
		cfg    model.Config
		ref    string
		reason error
		says   []string
	}{
		"no key": {model.Config{}, "openai/gpt-5-mini", model.ErrMissingKey,
			append([]string{`"openai/gpt-5-mini"`, "openai", "OPENAI_API_KEY", "found: none"}, hints...)},
		"no key, bare": {model.Config{Env: env("GROQ_API_KEY=g", "OLLAMA_HOST=h")}, "gemini-2.5-pro",
			model.ErrMissingKey, []string{"google", "GOOGLE_API_KEY or GEMINI_API_KEY", "found: ollama, groq"}},
		"blank key": {model.Config{Env: env("ANTHROPIC_API_KEY=  ")}, "anthropic/c", model.ErrMissingKey,
			[]string{"ANTHROPIC_API_KEY"}},
		"empty": {model.Config{}, "", model.ErrNoModel, hints},
		"tells nothing": {model.Config{Env: env("OPENAI_API_KEY=k")}, "qwen3", model.ErrAmbiguousRef,
			[]string{`"qwen3"`, "provider/qwen3", "found: openai"}},
		"unknown": {model.Config{}, "opnai/gpt-5", model.ErrUnknownProvider,
			[]string{`"opnai"`, `did you mean "openai"?`, "mistral"}},
		"program's own": {model.Config{Clients: map[string]model.Client{"house": registry(model.Config{})}},
			"hose/m", model.ErrUnknownProvider, []string{`did you mean "house"?`, "found: house"}},
		"slash in a name": {model.Config{Env: env("OPENAI_BASE_URL=http://h/v1")}, "meta/llama",
			model.ErrUnknownProvider, []string{"openai/meta/llama"}},
		"malformed": {model.Config{}, "openai/", model.ErrBadRef, hints},
		"variable in the address of a document": {model.Config{Env: env("AWS_SECRET=s"),
			Providers: map[string]model.ProviderDef{"gw": {BaseURL: "https://evil.example/${AWS_SECRET}"}}},
			"gw/m", model.ErrUntrusted, []string{"${AWS_SECRET}", "evil.example", "--trust"}},
		"variable that is not set": {model.Config{Providers: map[string]model.ProviderDef{
			"gw": {BaseURL: "${env.GW}/v1", Trusted: true}}}, "gw/m", model.ErrBadProvider, []string{"GW is not set"}},
		"bad base": {model.Config{Env: env("OPENAI_BASE_URL=ftp://h")}, "openai/m", model.ErrBadProvider,
			[]string{"OPENAI_BASE_URL", "http"}},
		"defined, no key": {
			model.Config{Providers: map[string]model.ProviderDef{"gw": {BaseURL: "https://h/v1", KeyEnv: "GW_KEY",
				Trusted: true}}}, "gw/m", model.ErrMissingKey, []string{"gw", "GW_KEY"},
		},
		"SEC8 untrusted": {
			model.Config{Env: env("AWS_SECRET=s3cr3t"),
				Providers: map[string]model.ProviderDef{
					"gw": {BaseURL: "https://evil.example/v1", KeyEnv: "AWS_SECRET"},
				}}, "gw/m", model.ErrUntrusted, []string{"AWS_SECRET", "evil.example", "--trust"},
		},
		"unknown kind": {model.Config{Providers: map[string]model.ProviderDef{"gw": {Protocol: "smoke"}}}, "gw/m",
			model.ErrBadProvider, []string{"smoke"}},
		"half a model": {model.Config{Models: map[string]model.Def{"m": {Provider: "openai"}}}, "m",
			model.ErrBadRef, []string{`"m"`}},
		"model of unknown": {
			model.Config{Models: map[string]model.Def{"m": {Provider: "missing", Model: "x", KeyEnv: "K"}}}, "m",
			model.ErrUnknownProvider, []string{"missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry(tc.cfg)
			err := r.Check(tc.ref)
			if !errors.Is(err, tc.reason) {
				t.Fatalf("got %v; want %v", err, tc.reason)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("got %q; want it to say %q", err, s)
				}
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows a key: %q", err)
			}
			var failed *model.Error
			if _, err := r.Call(t.Context(), model.Request{Model: tc.ref}, nil); !errors.As(err, &failed) {
				t.Errorf("Call: got %v; want *model.Error", err)
			} else if wantAuth := errors.Is(tc.reason, model.ErrMissingKey); wantAuth !=
				(failed.Kind == model.KindAuth) {
				t.Errorf("Call: got kind %s", failed.Kind)
			}
		})
	}
}

func TestRegistry_ConfiguredProviders(t *testing.T) {
	t.Parallel()
	r := registry(model.Config{
		Env: env("OPENAI_BASE_URL=http://me:pass@h:1/v1?token=t", "GROQ_API_KEY=canary", "GEMINI_API_KEY=canary"),
		Providers: map[string]model.ProviderDef{
			"zz": {BaseURL: "https://zz.example/v1"},
			"gw": {BaseURL: "https://gw.example/v1", KeyEnv: "GW_KEY", Trusted: true},
		},
	})
	got := r.Found()
	if strings.Contains(fmt.Sprint(got), "canary") || strings.Contains(fmt.Sprint(got), "pass") {
		t.Errorf("a secret is shown: %v", got)
	}
	for i := range got {
		got[i].Problem = ""
	}
	want := []model.Finding{
		{Provider: "openai", KeyEnv: "OPENAI_API_KEY", BaseURL: "http://h:1/v1", Usable: true, Configured: true},
		{Provider: "anthropic", KeyEnv: "ANTHROPIC_API_KEY", BaseURL: "https://api.anthropic.com"},
		{Provider: "google", KeyEnv: "GEMINI_API_KEY", KeySet: true,
			BaseURL: "https://generativelanguage.googleapis.com", Usable: true, Configured: true},
		{Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Usable: true},
		{Provider: "groq", KeyEnv: "GROQ_API_KEY", KeySet: true, BaseURL: "https://api.groq.com/openai/v1",
			Usable: true, Configured: true},
		{Provider: "gw", KeyEnv: "GW_KEY", BaseURL: "https://gw.example/v1", Configured: true},
		{Provider: "zz", BaseURL: "https://zz.example/v1", Usable: true, Configured: true},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// TestLazyAdapters checks that an adapter is built once, on first use, and that a failing one
// reveals no key.
func TestLazyAdapters(t *testing.T) {
	t.Parallel()
	built := 0
	r := model.NewRegistry(model.Config{
		Env: env("OPENAI_API_KEY=sk-canary-canary"),
		Adapters: map[model.Protocol]model.Factory{
			model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
				built++
				return endpointClient{e}, nil
			},
		},
	})
	if built != 0 {
		t.Error("built before use")
	}
	for range 3 {
		if _, _, err := r.Client("openai/a"); err != nil {
			t.Fatal(err)
		}
	}
	if built != 1 {
		t.Errorf("built %d times; want once", built)
	}
	if err := r.Check("ollama/x"); err != nil || built != 2 {
		t.Errorf("got %v, %d built", err, built)
	}
	if _, _, err := r.Client("google/x"); err == nil {
		t.Error("got no error without an adapter")
	}
	broken := model.NewRegistry(model.Config{
		Env: env("OPENAI_API_KEY=canary-key"),
		Adapters: map[model.Protocol]model.Factory{
			model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
				return nil, fmt.Errorf("no use for %s", e.Key)
			},
		},
	})
	if err := broken.Check("openai/x"); !errors.Is(err, model.ErrBadProvider) ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
	e := model.Endpoint{Provider: "p", BaseURL: "https://u:secret@h/v1", Key: "secret"}
	if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, "secret") {
		t.Errorf("an endpoint prints its key: %s", s)
	}
}
