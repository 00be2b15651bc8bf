package aimocktest

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
)

// TestMain ignores one goroutine that a transitive dependency of an SDK starts at program start.
func TestMain(m *testing.M) {
	leaktest.Main(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

type obj = map[string]any

// installed returns the paths of an aimock file and of node; it ends the test if either is missing.
func installed(t *testing.T, file string) (program, node string) {
	t.Helper()
	for _, dir := range []string{"scripts/aimock", "."} {
		path := filepath.Join("..", "..", "..", dir, "node_modules", "@copilotkit", "aimock", "dist", file)
		if _, err := os.Stat(path); err == nil {
			program = path
			break
		}
	}
	node, err := exec.LookPath("node")
	if program == "" || err != nil {
		const how = "aimock is not installed: run `npm ci` in scripts/aimock, or `make test`"
		if os.Getenv("HOCKET_AIMOCK") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return program, node
}

// writeFile returns the path of a file that holds v.
func writeFile(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "aimock.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start runs aimock with fixtures until the test ends and returns its origin.
func start(t *testing.T, fixtures []obj) string {
	t.Helper()
	program, node := installed(t, "cli.js")
	file := writeFile(t, obj{"fixtures": fixtures})
	return serve(t, exec.Command(node, program, "-p", "0", "-f", file, "--strict", "--validate-on-load", "--log-level",
		"info", "-c", "12"))
}

// serve runs cmd until the test ends and returns the origin that it reports to be listening on.
func serve(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		listening := regexp.MustCompile(`listening on (http://\S+)`)
		said, up := "", false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				up = true
			}
			said += lines.Text() + "\n"
		}
		if !up {
			t.Logf("aimock said:\n%s", said)
			found <- ""
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-over
		_ = cmd.Wait() // killed
	})
	select {
	case origin := <-found:
		if origin == "" {
			t.Fatal("aimock ended before it listened")
		}
		return origin
	case <-time.After(5 * time.Minute):
		t.Fatal("aimock does not listen")
	}
	return ""
}

// fixtures returns the scenarios of the conformance suite as aimock fixtures.
func fixtures() []obj {
	var out []obj
	when := func(prompt string, match obj, response obj, more ...obj) {
		match["userMessage"] = prompt
		f := obj{"match": match, "response": response}
		for _, m := range more {
			maps.Copy(f, m)
		}
		out = append(out, f)
	}
	weather := obj{"name": "get_weather", "arguments": obj{"city": "Paris", "days": 3}}
	first, then := func() obj { return obj{"hasToolResult": false} }, func() obj { return obj{"hasToolResult": true} }
	never := obj{"streamingProfile": obj{"ttft": 600_000, "tps": 1}}

	// aimock matches a prompt to a fixture if it contains the fixture's prompt.
	when(modeltest.PromptText, obj{}, obj{"content": modeltest.ReplyText, "usage": obj{ // under each provider's names
		"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150, "input_tokens": 120, "output_tokens": 30,
		"promptTokenCount": 120, "candidatesTokenCount": 30, "totalTokenCount": 150,
	}})
	when(modeltest.PromptReasoning, obj{}, obj{"content": modeltest.ReplyText, "reasoning": modeltest.ReplyReasoning})
	when(modeltest.PromptTwoTools, first(), obj{"toolCalls": []obj{weather, {"name": "get_time", "arguments": obj{}}}})
	when(modeltest.PromptTwoTools, then(), obj{"content": modeltest.ReplyToolDone})
	when(modeltest.PromptTool, first(), obj{"content": "Let me look.", "toolCalls": []obj{weather}})
	when(modeltest.PromptTool, then(), obj{"content": modeltest.ReplyToolDone})
	when(modeltest.PromptSchema, obj{}, obj{"content": modeltest.ReplySchema})
	when(modeltest.PromptLength, obj{}, obj{"content": "cut by", "finishReason": "length"})
	when(modeltest.PromptFiltered, obj{"model": "claude-sonnet-4-5"},
		obj{"content": "half of", "finishReason": "refusal"})
	when(modeltest.PromptFiltered, obj{}, obj{"content": "half of", "finishReason": "content_filter"})
	when(modeltest.PromptHang, obj{}, obj{"content": "never"}, never)
	when(modeltest.PromptCut, obj{}, obj{"content": modeltest.ReplyText}, obj{"truncateAfterChunks": 3})
	when(modeltest.PromptDrop, obj{}, obj{"content": "x"}, obj{"chaos": obj{"disconnectRate": 1}})
	when(modeltest.PromptMalformed, obj{}, obj{"content": "x"}, obj{"chaos": obj{"malformedRate": 1}})
	for kind, status := range map[model.ErrorKind]int{
		model.KindRateLimit: 429, model.KindTimeout: 504, model.KindOverloaded: 503, model.KindAuth: 401,
		model.KindNotFound: 404, model.KindInvalidRequest: 400, model.KindServer: 500,
	} {
		when(modeltest.ErrorPrompt(kind), obj{}, obj{
			"error": obj{"message": modeltest.ErrorText(kind) + " for key " + modeltest.Canary}, "status": status,
		})
	}
	return out
}

// TestConformance checks every provider, through the registry, against a third-party server.
func TestConformance(t *testing.T) {
	t.Parallel()
	origin := start(t, fixtures())
	env := map[string]string{
		"OPENAI_BASE_URL": origin + "/v1", "ANTHROPIC_BASE_URL": origin, "GOOGLE_GEMINI_BASE_URL": origin,
		"OPENAI_API_KEY": modeltest.Canary, "ANTHROPIC_API_KEY": modeltest.Canary, "GEMINI_API_KEY": modeltest.Canary,
	}
	registry := providers.New(model.Config{Env: func(name string) string { return env[name] }}, outboundtest.NoProxy)
	for _, ref := range []string{"openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-flash"} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Harness{Client: registry, Model: ref, Wait: 300 * time.Millisecond,
				Skip: map[string]string{
					"exact usage":   "aimock estimates tokens",
					"retry after":   "aimock names its own time",
					"bad arguments": "aimock refuses fixtures with arguments that are no JSON",
					"empty":         "aimock refuses fixtures without content",
					"end":           "aimock cuts a stream by closing the connection only",
					"search":        "a server in the provider's place is not asked to search",
					"late error":    "aimock tells no error inside a stream",
				}})
		})
	}
}
