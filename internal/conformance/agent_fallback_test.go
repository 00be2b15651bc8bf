package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// agentDocuments returns a document of each format with one step of an agent with these keys, which
// are JSON in the spelling of lists.
func agentDocuments(keys string) map[string]string {
	list := `"agents": [{"id": "a", "systemPrompt": "Do.", ` + keys + `}]`
	return map[string]string{
		"steps":  `{"workflow": [{"id": "s", "type": "agent", "name": "a"}], ` + list + `}`,
		"rounds": `{"nodes": [{"id": "s", "type": "agent", "config": {"agentId": "a"}}], "edges": [], ` + list + `}`,
		"routes": `{"id": "w", "name": "w", "entrypointNodeId": "s", "nodes": [{"id": "s", "workflowId": "w", ` +
			`"nodeType": "AGENT", "nodeName": "N", "agentId": "a"}], "edges": [], ` + list + `}`,
		"canvas": `{"nodes": [{"id": "b", "type": "start"}, {"id": "s", "type": "agent", "data": {"systemPrompt": ` +
			`"Do.", "userPrompt": "{{PREVIOUS_OUTPUT}}", ` + keys +
			`}}], "connections": [{"source": "b", "target": "s"}]}`,
	}
}

// inEachFormat runs test with a document of each format.
func inEachFormat(keys string, test func(t *testing.T, doc string)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		docs := agentDocuments(keys)
		for _, format := range []string{"steps", "rounds", "routes", "canvas"} {
			before := t.Failed()
			test(t, docs[format])
			if t.Failed() && !before {
				t.Logf("as a %s document", format)
			}
		}
	}
}

const fallbacks = `"model": "openai/one", "fallback": {"models": ["openai/two", "openai/three"], "retries": 1, ` +
	`"cooldown": "1m"}`

// models returns the models that were called, in order.
func (f *fake) models() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, q := range f.requests {
		out = append(out, q.Model)
	}
	return strings.Join(out, " ")
}

// scriptedWorld returns a world whose model chooses its reply by the number of earlier requests.
func scriptedWorld(t *testing.T, lines ...line) *world {
	t.Helper()
	w := newWorld(t)
	w.acts = func(before int) line {
		if before >= len(lines) {
			return say("done")
		}
		return lines[before]
	}
	return w
}

var agentFallbacks = []rule{
	{name: "X-80 the same model is asked again", test: inEachFormat(fallbacks, func(t *testing.T, doc string) {
		t.Helper()
		for _, kind := range []model.ErrorKind{model.KindServer, model.KindNetwork, model.KindTimeout,
			model.KindOverloaded} {
			w := scriptedWorld(t, fail(kind, "no"))
			w.completes(doc, "go")
			same(t, "models", w.models(), "one one")
			if kind != model.KindOverloaded { // calls with the same API key then wait a little longer
				same(t, "pauses", fmt.Sprint(w.pauses()), "[200ms]")
			}
			w = scriptedWorld(t, fail(kind, "no"), fail(kind, "no"))
			w.completes(doc, "go")
			same(t, "models", w.models(), "one one two")
		}
		slow := fail(model.KindServer, "no")
		slow.fail.RetryAfter = 5 * time.Minute
		w := scriptedWorld(t, slow)
		w.completes(doc, "go")
		same(t, "models after a long wait was asked for", w.models(), "one two")
	})},
	{name: "X-81 the next model is asked at once", test: inEachFormat(fallbacks, func(t *testing.T, doc string) {
		t.Helper()
		for _, kind := range []model.ErrorKind{
			model.KindRateLimit, model.KindQuota, model.KindAuth, model.KindNotFound, model.KindInvalidRequest,
			model.KindContextLength,
		} {
			w := scriptedWorld(t, fail(kind, "no"), fail(kind, "no"))
			w.completes(doc, "go")
			same(t, "models", w.models(), "one two three")
			if kind != model.KindRateLimit {
				same(t, "pauses", fmt.Sprint(w.pauses()), "[0s 0s]")
			}
		}
		w := scriptedWorld(t, fail(model.KindContentFilter, "no"))
		o := w.runs(doc, "go").is(event.StatusFailed)
		same(t, "code", o.Error.Code, "content_filter")
		w = scriptedWorld(t, slices.Repeat([]line{fail(model.KindAuth, "no")}, 3)...)
		o = w.runs(doc, "go").is(event.StatusFailed)
		same(t, "code", o.Error.Code, "auth")
		same(t, "models", w.models(), "one two three")
	})},
	{name: "X-82 the agent stays with a fallback", test: inEachFormat(fallbacks+`, "toolsets": [{"type": "think"}]`,
		func(t *testing.T, doc string) {
			t.Helper()
			if strings.Contains(doc, "AGENT") { // its tools are called by other nodes
				second := strings.Replace(doc, `], "edges": []`,
					`, {"id": "t", "workflowId": "w", "nodeType": "AGENT", "nodeName": "M", "agentId": "a"}], `+
						`"edges": [{"id": "e", "workflowId": "w", "sourceNodeId": "s", "targetNodeId": "t", `+
						`"conditionType": "ALWAYS", "conditionValue": null}]`, 1)
				w := scriptedWorld(t, fail(model.KindAuth, "no"))
				w.completes(second, "go")
				same(t, "models", w.models(), "one two two")
				return
			}
			again := func() line { return use("think", `{"thought":"hm"}`) }
			late := again()
			late.delay = 2 * time.Minute
			w := scriptedWorld(t, fail(model.KindAuth, "no"), again(), again(), late)
			w.completes(doc, "go")
			same(t, "models", w.models(), "one two two two one")
		})},
	{name: "X-83 the journal says who answered, and instead of whom",
		test: inEachFormat(fallbacks, func(t *testing.T, doc string) {
			t.Helper()
			w := scriptedWorld(t, fail(model.KindAuth, "wrong key"))
			r := w.runs(doc, "go")
			o := r.is(event.StatusCompleted)
			var told []string
			for _, e := range r.recorded().Events {
				switch d := e.Data.(type) {
				case *event.ModelCalled:
					if told = append(told, "asks "+d.Model); d.Instead != nil {
						told = append(told, "instead of "+d.Instead.Model+" "+d.Instead.Code)
					}
				case *event.ModelFailed:
					told = append(told, "failed "+d.Model)
				case *event.ModelReplied:
					told = append(told, "answered "+d.Model)
				}
			}
			same(t, "journal", strings.Join(told, ", "),
				"asks openai/one, failed openai/one, asks openai/two, instead of openai/one auth, answered openai/two")
			step := o.Steps[slices.IndexFunc(o.Steps, func(s project.Step) bool { return s.Model != nil })]
			same(t, "model of the step", *step.Model, "openai/two")
			same(t, "warning", strings.Join(step.Warnings, "|"),
				"The model openai/two is asked instead of openai/one, which failed (auth): wrong key")
		})},
}

func TestAgentFallbacks(t *testing.T) { check(t, agentFallbacks) }

func TestEveryAgentRule(t *testing.T) {
	t.Parallel()
	covered(t, agentFallbacks, "X-80", "X-81", "X-82", "X-83")
	covered(t, agentCompactions, "X-84", "X-85", "X-86", "X-87", "X-88")
}

// TestFallbacksOnEachSDK simulates each kind of failure on a server of each provider's protocol,
// with the client of its SDK: the second model replies, on the same server, and output of the first
// model before the failure is not part of the answer.
func TestFallbacksOnEachSDK(t *testing.T) {
	t.Parallel()
	type failing struct {
		modeltest.Answer
		code    string
		retries int
	}
	for name, tc := range map[string]failing{
		"500":        {modeltest.Answer{Status: 500, Error: "broken"}, "server", 1},
		"503":        {modeltest.Answer{Status: 503, Error: "busy"}, "overloaded", 1},
		"504":        {modeltest.Answer{Status: 504, Error: "slow"}, "timeout", 1},
		"connection": {modeltest.Answer{Fault: modeltest.FaultDrop}, "network", 1},
		"cut stream": {modeltest.Answer{Text: "half an answer of many words",
			Fault: modeltest.FaultCut}, "network", 1},
		"end of the stream in the middle": {modeltest.Answer{Text: "half an answer of many words",
			Fault: modeltest.FaultEnd}, "network", 1},
		"error in the middle of the stream": {modeltest.Answer{Text: "half an answer of many words",
			Fault: modeltest.FaultLate, Status: 529, Code: "overloaded_error", Error: "busy"}, "overloaded", 1},
		"malformed": {modeltest.Answer{Text: "x", Fault: modeltest.FaultMalformed}, "server",
			1},
		"silence": {modeltest.Answer{Fault: modeltest.FaultHang}, "timeout", 1},
		"401":     {modeltest.Answer{Status: 401, Error: "wrong key"}, "auth", 0},
		"403":     {modeltest.Answer{Status: 403, Error: "not you"}, "auth", 0},
		"404":     {modeltest.Answer{Status: 404, Error: "no such thing"}, "unknown_model", 0},
		"429":     {modeltest.Answer{Status: 429, Error: "slow down"}, "rate_limit", 0},
		"context": {modeltest.Answer{Status: 400, Error: "prompt is too long: 9 tokens > 8 maximum",
			Code: "invalid_request_error"}, "context_length_exceeded", 0},
	} {
		for _, protocol := range []string{"openai", "anthropic", "google"} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				server := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
					if strings.Contains(r.Model, "one") {
						return tc.Answer
					}
					return modeltest.Answer{Text: "from " + r.Model}
				})
				base := server.URL()
				if protocol == "openai" {
					base = server.BaseURL()
				}
				s, err := service.Open(t.Context(), service.Config{
					Documents: linked.Kit(),
					DB:        service.Memory, Adapters: providers.Adapters(nil), Operator: &config.Config{
						Limits: config.Limits{ModelIdleTimeout: config.Duration(500 * time.Millisecond)},
					},
					Env: env(map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k",
						map[string]string{"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL",
							"google": "GOOGLE_GEMINI_BASE_URL"}[protocol]: base}),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				w := &world{Service: s, t: t}
				r := w.runs(
					fmt.Sprintf(
						`{"agents": {"a": {"instruction": "Do.", "model": "%[1]s/one", "fallback": {"models": `+
							`["%[1]s/two"], "retries": 1}}}, "workflow": [{"type": "agent", "name": "a"}]}`, protocol),
					"go")
				o := r.is(event.StatusCompleted)
				same(t, "output", string(o.Output), `"from two"`)
				var failed []string
				for _, e := range r.recorded().Events {
					if d, ok := e.Data.(*event.ModelFailed); ok {
						failed = append(failed, d.Error.Code)
					}
				}
				same(t, "failures", strings.Join(failed, " "),
					strings.TrimSpace(strings.Repeat(tc.code+" ", tc.retries+1)))
				same(t, "calls", o.Usage.ModelCalls, tc.retries+2)
			})
		}
	}
}
