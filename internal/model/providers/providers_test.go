package providers_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
)

func env(pairs ...string) model.Env {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// TestCalls checks every provider, from reference to reply, with addresses from the environment.
func TestCalls(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	r := providers.New(model.Config{Env: env(
		"OPENAI_BASE_URL", srv.BaseURL(), "ANTHROPIC_BASE_URL", srv.URL(), "GOOGLE_GEMINI_BASE_URL", srv.URL(),
		"GEMINI_API_KEY", modeltest.Canary,
		"OLLAMA_HOST", strings.TrimPrefix(srv.URL(), "http://"),
	)}, outboundtest.NoProxy)
	for ref, want := range map[string]struct{ path, full string }{
		"gpt-5-mini":        {"/v1/chat/completions", "openai/gpt-5-mini"},
		"some-local-model":  {"/v1/chat/completions", "openai/some-local-model"},
		"anthropic/claude":  {"/v1/messages", "anthropic/claude"},
		"gemini-2.5-pro":    {"/v1beta/models/gemini-2.5-pro:streamGenerateContent", "google/gemini-2.5-pro"},
		"ollama/qwen3:8b":   {"/v1/chat/completions", "ollama/qwen3:8b"},
		"openai/meta/llama": {"/v1/chat/completions", "openai/meta/llama"},
	} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			if err := r.Check(ref); err != nil {
				t.Fatal(err)
			}
			reply, err := r.Call(t.Context(), model.Request{
				Model: ref, System: "as " + ref,
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptText)}},
			}, nil)
			if err != nil || reply.Message.Text.String() != modeltest.ReplyText || reply.Model != want.full {
				t.Fatalf("got %q of %q, %v", reply.Message.Text.String(), reply.Model, err)
			}
			for _, seen := range srv.Requests() {
				if seen.System == "as "+ref && seen.Path != want.path {
					t.Errorf("got path %s; want %s", seen.Path, want.path)
				}
			}
		})
	}
}

// TestOneRequestPerCall checks D8 and D11: one call is one request, however it fails; the SDKs
// would retry.
func TestOneRequestPerCall(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	r := providers.New(model.Config{Env: env("OPENAI_BASE_URL", srv.BaseURL(), "ANTHROPIC_BASE_URL", srv.URL(),
		"GOOGLE_GEMINI_BASE_URL", srv.URL())}, outboundtest.NoProxy)
	prompts := []string{modeltest.PromptDrop, modeltest.PromptCut, modeltest.PromptMalformed, modeltest.PromptText}
	for _, k := range model.ErrorKinds() {
		prompts = append(prompts, modeltest.ErrorPrompt(k))
	}
	calls := 0
	for _, ref := range []string{"openai/m", "anthropic/m", "google/m"} {
		for _, prompt := range prompts {
			_, _ = r.Call(t.Context(), model.Request{ // the result is checked elsewhere
				Model: ref, IdempotencyKey: "k",
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(prompt)}},
			}, nil)
			if calls++; srv.Count("") != calls {
				t.Fatalf("%s, %s: the server saw %d requests after %d calls", ref, prompt, srv.Count(""), calls)
			}
		}
	}
}

// TestPrivateAddressOfDocument checks SEC8: a document's address may be private only if the
// operator vouches for it.
func TestPrivateAddressOfDocument(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	for _, trusted := range []bool{false, true} {
		t.Run(strconv.FormatBool(trusted), func(t *testing.T) { // sequential: the calls are counted below
			r := providers.New(model.Config{Providers: map[string]model.ProviderDef{
				"gw": {BaseURL: srv.BaseURL(), Trusted: trusted},
			}}, outboundtest.NoProxy)
			_, err := r.Call(t.Context(), model.Request{Model: "gw/m",
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptText)}}}, nil)
			if refused := errors.Is(err, outbound.ErrRefused); refused == trusted {
				t.Errorf("got %v", err)
			}
		})
	}
	if n := srv.Count(""); n != 1 {
		t.Errorf("the server saw %d calls; want 1", n)
	}
}

// TestCall_StandardLoggerSilent checks that a failed call writes nothing to the standard logger, as
// one of the SDKs would. It is not parallel because the logger is global to the process.
func TestCall_StandardLoggerSilent(t *testing.T) {
	var out bytes.Buffer
	log.SetOutput(&out)
	defer log.SetOutput(os.Stderr)
	srv := modeltest.Start(t, modeltest.Conformance)
	r := providers.New(model.Config{Env: env("OPENAI_BASE_URL", srv.BaseURL(), "ANTHROPIC_BASE_URL", srv.URL(),
		"GOOGLE_GEMINI_BASE_URL", srv.URL())}, outboundtest.NoProxy)
	for _, ref := range []string{"openai/m", "anthropic/m", "google/m"} {
		for _, prompt := range []string{modeltest.PromptCut, modeltest.PromptEnd, modeltest.PromptMalformed,
			modeltest.PromptDrop} {
			if _, err := r.Call(t.Context(), model.Request{Model: ref,
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(prompt)}}}, nil); err == nil {
				t.Errorf("%s, %s: got no error", ref, prompt)
			}
		}
	}
	if out.Len() > 0 {
		t.Errorf("got on the logger: %s", out.String())
	}
}

// TestEnv_ProcessEnvironmentUnused checks that keys and addresses come from the given Env, never
// from the process. It is not parallel because the environment is global to the process.
func TestEnv_ProcessEnvironmentUnused(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
		"ANTHROPIC_CUSTOM_HEADERS", "GEMINI_API_KEY",
	} {
		t.Setenv(name, "x-leaked: leaked-canary")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	srv := modeltest.Start(t, modeltest.Conformance)
	r := providers.New(model.Config{Env: env("OPENAI_BASE_URL", srv.BaseURL(), "ANTHROPIC_BASE_URL", srv.URL(),
		"GOOGLE_GEMINI_BASE_URL", srv.URL())}, outboundtest.NoProxy)
	for _, ref := range []string{"openai/m", "anthropic/m", "google/m"} {
		if _, err := r.Call(t.Context(),
			model.Request{Model: ref, Messages: []chat.Message{
				{Role: chat.RoleUser, Text: chat.NewText(modeltest.PromptText)},
			}}, nil); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, seen := range srv.Requests() {
		if strings.Contains(fmt.Sprint(seen.Header), "leaked-canary") {
			t.Errorf("%s: the process environment was sent: %v", seen.Path, seen.Header)
		}
	}
}

// officialClient is the test that uses the SDK as one of the clients of our OpenAI-compatible
// endpoint.
const officialClient = "internal/api/openaiapi/client_test.go"

// TestImports_SDKsIsolated checks that only model/<provider> imports that provider's SDK.
func TestImports_SDKsIsolated(t *testing.T) {
	t.Parallel()
	home := map[string]string{
		"github.com/openai/openai-go":            "internal/model/openai",
		"github.com/anthropics/anthropic-sdk-go": "internal/model/anthropic",
		"google.golang.org/genai":                "internal/model/google",
	}
	root := filepath.Join("..", "..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" ||
			name == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			for sdk, folder := range home {
				if p == sdk || strings.HasPrefix(p, sdk+"/") {
					seen[sdk] = true
					if filepath.ToSlash(filepath.Dir(rel)) != folder && filepath.ToSlash(rel) != officialClient {
						t.Errorf("%s imports %s, which belongs into %s alone", rel, p, folder)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(home) {
		t.Errorf("saw %v only", seen)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		r := providers.New(model.Config{Env: env("OPENAI_API_KEY", "k")}, outboundtest.NoProxy)
		if err := r.Check("openai/gpt-5-mini"); err != nil {
			b.Fatal(err)
		}
	}
}
