package aimocktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/outbound/outboundtest"
	"github.com/hocket-run/hocket/internal/service"
)

// serverScript serves models, an MCP server and searches on one port: it does what `aimock -c`
// does, and adds search results, for which aimock's configuration has no key.
const serverScript = `
const [program, config, found] = process.argv.slice(1);
const { loadConfig, startFromConfig } = await import(program);
const { llmock, url } = await startFromConfig(loadConfig(config));
llmock.onSearch("weather", JSON.parse(found));
console.log("aimock server listening on " + url);
`

// document has an agent that calls a tool of an MCP server, a web search and an HTTP API, a reply
// that breaks off twice before it matches its schema, and a provider that rejects calls.
const document = `
agents:
  clerk:
    model: MAIN
    instruction: You are the clerk.
    toolsets:
      - {type: mcp, remote: {url: ORIGIN/mcp, transport_type: streamable}}
      - {type: web_search, provider: tavily, base_url: ORIGIN, api_key: "${env.TAVILY_API_KEY}"}
      - type: api
        api_config: {name: get_order, method: GET, endpoint: "SHOP/orders/${id}", args: {id: {type: string}}, ` +
	`required: [id]}
  judge:
    model: MAIN
    instruction: You are the judge.
    structured_output: {name: verdict, strict: true, schema: {type: object, properties: {fine: {type: boolean}}, ` +
	`required: [fine], additionalProperties: false}}
  reporter:
    model: MAIN
    instruction: You are the reporter.
    fallback: {models: [BACKUP]}
workflow:
  - {type: agent, name: clerk}
  - {type: agent, name: judge, retry: {max_attempts: 3, on: [server, network], backoff: {initial_delay_seconds: 0}}}
  - {type: agent, name: reporter}
`

// usageFields returns the token counts of a response under each provider's names.
func usageFields(in, out int) obj {
	return obj{
		"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out, "input_tokens": in,
		"output_tokens":    out,
		"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out,
	}
}

// conversation returns the models' replies. The clerk continues only if the result of the last call
// is what the server of the tool returned.
func conversation(main, backup string) []obj {
	var out []obj
	add := func(who string, match, response obj, chaos obj) {
		match["systemMessage"] = "You are the " + who + "."
		f := obj{"match": match, "response": response}
		if chaos != nil {
			f["chaos"] = chaos
		}
		out = append(out, f)
	}
	call := func(name string, args obj, usage obj) obj {
		return obj{"toolCalls": []obj{{"name": name, "arguments": args}}, "usage": usage}
	}
	add("clerk", obj{"toolResultContains": "Rain all day"}, call("get_order", obj{"id": "7"}, usageFields(301, 31)),
		nil)
	add("clerk", obj{"toolResultContains": "12 umbrellas"}, call("web_search", obj{"query": "weather in Paris"},
		usageFields(201, 21)), nil)
	add("clerk", obj{"toolResultContains": "order 7 is paid"},
		obj{"content": "Ship the umbrella: it rains.", "usage": usageFields(401, 41)}, nil)
	add("clerk", obj{"hasToolResult": false}, call("stock", obj{"item": "umbrella"}, usageFields(101, 11)), nil)
	verdict := obj{"content": `{"fine":true}`, "usage": usageFields(501, 51)}
	add("judge", obj{"sequenceIndex": 0}, verdict, obj{"malformedRate": 1})
	add("judge", obj{"sequenceIndex": 1}, verdict, obj{"disconnectRate": 1})
	add("judge", obj{"sequenceIndex": 2}, verdict, nil)
	add("reporter", obj{"model": main}, obj{"error": obj{"message": "slow down", "type": "rate_limit_error"},
		"status": http.StatusTooManyRequests}, nil)
	add("reporter", obj{"model": backup}, obj{"content": "All is well.", "usage": usageFields(601, 61)}, nil)
	return out
}

// entry is a request as recorded in aimock's journal.
type entry struct {
	Path    string `json:"path"`
	Service string `json:"service"`
	Body    struct {
		Stream bool `json:"stream"`
	} `json:"body"`
	Response struct {
		Status  int    `json:"status"`
		Chaos   string `json:"chaosAction"`
		Fixture *struct {
			Response struct {
				Usage struct {
					Input  int64 `json:"prompt_tokens"`
					Output int64 `json:"completion_tokens"`
				} `json:"usage"`
			} `json:"response"`
		} `json:"fixture"`
	} `json:"response"`
}

func entries(t *testing.T, origin string) []entry {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(origin + "/__aimock/journal")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list []entry
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestWorkflow checks an entire run of each protocol against third-party servers: tools, structured
// output, a reply that is not JSON, a connection that breaks, a provider that rejects calls. The
// run's recorded usage must match the servers' journal (P20).
func TestWorkflow(t *testing.T) {
	t.Parallel()
	models := []string{"openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-flash"}
	for i, main := range models {
		t.Run(strings.Split(main, "/")[0], func(t *testing.T) {
			t.Parallel()
			backup := models[(i+1)%len(models)]
			origin := startAll(t, conversation(strings.Split(main, "/")[1], strings.Split(backup, "/")[1]))
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "order %s is paid", strings.TrimPrefix(r.URL.Path, "/orders/"))
			}))
			t.Cleanup(shop.Close)
			env := map[string]string{
				"OPENAI_BASE_URL": origin + "/v1", "ANTHROPIC_BASE_URL": origin, "GOOGLE_GEMINI_BASE_URL": origin,
				"TAVILY_API_KEY": "tvly-1234",
				"OPENAI_API_KEY": "k-123456", "ANTHROPIC_API_KEY": "k-123456", "GEMINI_API_KEY": "k-123456",
			}
			s, err := service.Open(t.Context(), service.Config{
				Documents: linked.Kit(),
				DB:        service.Memory, Env: func(name string) string { return env[name] },
				Adapters: providers.Adapters(outboundtest.NoProxy),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			text := strings.NewReplacer("MAIN", main, "BACKUP", backup, "ORIGIN", origin, "SHOP", shop.URL).Replace(
				document)
			w, problems, err := s.Load(t.Context(), "doc.yaml", []byte(text), service.LoadOptions{})
			if err != nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "An umbrella, please.",
				Trust: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Wait(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			rec, err := s.Read(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			o := rec.Object()
			if string(o.Output) != `"All is well."` {
				t.Errorf("got %s, %+v", o.Output, o.Error)
			}
			events, err := s.Events(t.Context(), run, 0)
			if err != nil {
				t.Fatal(err)
			}
			check(t, rec, events, entries(t, origin))
		})
	}
}

// check compares what the run recorded with what aimock did.
func check(t *testing.T, rec service.Recorded, events []event.Event, list []entry) {
	t.Helper()
	var want chat.Usage
	got := map[string]int{}
	for _, e := range list {
		switch r := e.Response; {
		case e.Service != "":
			got[e.Service]++
		case r.Chaos != "":
			got[r.Chaos]++
		case r.Status != http.StatusOK:
			got[fmt.Sprint(r.Status)]++
		case r.Fixture == nil:
			t.Errorf("%s was answered by nothing", e.Path)
		default:
			got["answered"]++
			want.InputTokens += r.Fixture.Response.Usage.Input
			want.OutputTokens += r.Fixture.Response.Usage.Output
			if !e.Body.Stream && !strings.Contains(e.Path, ":streamGenerateContent") {
				t.Errorf("%s was asked for no stream", e.Path)
			}
		}
	}
	delete(got, "mcp") // each MCP session determines its own number of requests
	if d := cmp.Diff(got, map[string]int{"answered": 6, "search": 1, "malformed": 1, "disconnect": 1,
		"429": 1}); d != "" {
		t.Errorf("aimock's journal: -got +want\n%s", d)
	}
	if u := rec.Object().Usage; u.InputTokens != want.InputTokens || u.OutputTokens != want.OutputTokens ||
		want.InputTokens != 2106 {
		t.Errorf("the run used %d and %d tokens; aimock says %d and %d", u.InputTokens, u.OutputTokens,
			want.InputTokens, want.OutputTokens)
	}
	var failures, outputs []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ModelFailed:
			failures = append(failures, d.Error.Code)
		case *event.ModelReplied:
			if len(d.Message.ToolCalls) == 0 {
				outputs = append(outputs, d.Message.Text.String())
			}
		}
	}
	if d := cmp.Diff(failures, []string{"server", "network", "rate_limit"}); d != "" {
		t.Errorf("failures: -got +want\n%s", d)
	}
	if d := cmp.Diff(outputs, []string{"Ship the umbrella: it rains.", `{"fine":true}`, "All is well."}); d != "" {
		t.Errorf("answers: -got +want\n%s", d)
	}
}

// startAll runs aimock with models, an MCP server and searches until the test ends and returns its
// origin.
func startAll(t *testing.T, fixtures []obj) string {
	t.Helper()
	program, node := installed(t, "config-loader.js")
	at, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	config := writeFile(t, obj{
		"strict": true, "port": 0, "llm": obj{"fixtures": writeFile(t, obj{"fixtures": fixtures}), "chunkSize": 6},
		"mcp": obj{"tools": []obj{{
			"name": "stock", "description": "Tells how many there are.", "result": "12 umbrellas",
			"inputSchema": obj{"type": "object", "properties": obj{"item": obj{"type": "string"}}},
		}}},
	})
	found, err := json.Marshal(
		[]obj{{"title": "Weather of Paris", "url": "https://weather.example/paris", "content": "Rain all day"}})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, exec.Command(node, "--input-type=module", "-e", serverScript,
		(&url.URL{Scheme: "file", Path: at}).String(), config, string(found)))
}
