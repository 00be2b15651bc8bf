package scripts_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP and reads it with OpenTelemetry's own protocol definitions.
// TracesData and MetricsData are the export requests on the wire.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	raw     bytes.Buffer
	spans   []*tracepb.Span
	metrics map[string]*metricspb.Metric
	service string
	// caller is the span of another program that is the parent of the run.
	caller string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]*metricspb.Metric{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		switch {
		case err != nil || r.Header.Get("Content-Type") != "application/x-protobuf":
			err = errors.Join(err, errors.New("not protobuf"))
		case r.URL.Path == "/v1/traces":
			var d tracepb.TracesData
			err = proto.Unmarshal(body, &d)
			for _, rs := range d.GetResourceSpans() {
				c.service = rs.GetResource().GetAttributes()[0].GetValue().GetStringValue()
				for _, ss := range rs.GetScopeSpans() {
					c.spans = append(c.spans, ss.GetSpans()...)
				}
			}
		case r.URL.Path == "/v1/metrics":
			var d metricspb.MetricsData
			err = proto.Unmarshal(body, &d)
			for _, rm := range d.GetResourceMetrics() {
				for _, sm := range rm.GetScopeMetrics() {
					for _, m := range sm.GetMetrics() {
						c.metrics[m.GetName()] = m
					}
				}
			}
		default:
			err = errors.New("no such path")
		}
		if err != nil {
			t.Errorf("collector: %s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// tree returns the spans as name < parent's name, sorted; invalid spans are errors. If unfinished
// is set, the run continues, and spans may arrive before their parents.
func (c *collector) tree(t *testing.T, unfinished ...bool) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		id := string(s.GetSpanId())
		if byID[id] != nil {
			t.Errorf("span %s came twice", s.GetName())
		}
		byID[id] = s
		if !bytes.Equal(s.GetTraceId(), c.spans[0].GetTraceId()) {
			t.Errorf("span %s is of trace %s, others of %s", s.GetName(), hex.EncodeToString(s.GetTraceId()),
				hex.EncodeToString(c.spans[0].GetTraceId()))
		}
	}
	var out []string
	for _, s := range c.spans {
		p := byID[string(s.GetParentSpanId())]
		switch {
		case hex.EncodeToString(s.GetParentSpanId()) == c.caller:
			out = append(out, s.GetName())
			continue
		case p == nil && len(unfinished) > 0:
			out = append(out, s.GetName())
			continue
		case p == nil:
			t.Errorf("the parent of %s was not sent", s.GetName())
		case s.GetStartTimeUnixNano() < p.GetStartTimeUnixNano() || s.GetEndTimeUnixNano() > p.GetEndTimeUnixNano():
			t.Errorf("%s does not lie within %s", s.GetName(), p.GetName())
		}
		out = append(out, s.GetName()+" < "+p.GetName())
	}
	slices.Sort(out)
	return out
}

// attributes returns the attributes of the first span with a name, as strings.
func (c *collector) attributes(t *testing.T, name string) map[string]string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() != name {
			continue
		}
		out := map[string]string{}
		for _, a := range s.GetAttributes() {
			out[a.GetKey()] = a.GetValue().GetStringValue()
		}
		return out
	}
	t.Fatalf("there is no span %s", name)
	return nil
}

const canary = "canary-8e1f"

var telemetryFiles = map[string]string{
	"post.json": `{"name": "post", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "` + canary + ` bees"}},
  {"id": "w", "type": "agent", "data": {"agentName": "writer", "model": "openai/gpt-5-mini", "systemPrompt": "` +
		canary + `", "userPrompt": "{{PREVIOUS_OUTPUT}}", "tools": {"subagents": true}}},
  {"id": "h", "type": "agent", "data": {"agentName": "helper", "model": "gpt-5"}},
  {"id": "ok", "type": "approval"},
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "model": "gpt-5",
    "userPrompt": "{{PREVIOUS_OUTPUT}}"}}],
 "connections": [
  {"source": "s", "target": "w"}, {"source": "w", "target": "h", "sourceHandle": "subagent"}, {"source": "w", ` +
		`"target": "ok"},
  {"source": "ok", "target": "p", "sourceHandle": "approve"}]}`,
	"post.yaml": `replies:
  - {agent: writer, toolCalls: [{name: subagent_helper_h, arguments: {input: ` + canary +
		`}}], usage: {inputTokens: 11, outputTokens: 3}}
  - {agent: helper, text: ` + canary + ` help}
  - {agent: writer, text: ` + canary + ` a draft}
  - {agent: publisher, text: ` + canary + ` published}
`,
	"news.yaml": `agents:
  writer: {model: openai/gpt-5-mini, instruction: Write., toolsets: [{type: think}]}
  left: {model: openai/gpt-5-mini, instruction: Look.}
  right: {model: openai/gpt-5-mini, instruction: Look.}
workflow:
  - {id: draft, type: agent, name: writer}
  - id: both
    type: parallel
    steps:
      - {id: l, type: agent, name: left, retry: {max_attempts: 2, on: [rate_limit]}}
      - {id: r, type: agent, name: right}
`,
	"mcp.yaml": `agents:
  caller: {model: openai/gpt-5-mini, instruction: Shout., toolsets: [{type: mcp, name: voice, command: mcptool}]}
workflow:
  - {type: agent, name: caller}
`,
	"shout.yaml": `replies:
  - {agent: caller, toolCalls: [{name: shout, arguments: {text: ` + canary + `}}]}
  - {agent: caller, text: ` + canary + ` said}
`,
	"replies.yaml": `replies:
  - {agent: writer, toolCalls: [{name: think, arguments: {thought: ` + canary + `}}]}
  - {agent: writer, text: a draft}
  - {agent: left, error: {code: rate_limit, message: ` + canary + `}}
  - {agent: left, text: fine}
  - {agent: right, text: fine}
`,
}

// command runs the command as a separate process and checks its exit status.
func command(t *testing.T, dir string, status int, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	for name, text := range telemetryFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "hocket", args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	c.Env = append(os.Environ(), append([]string{"HOME=" + dir, "HOCKET_HOME=" + dir}, env...)...)
	err := c.Run()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != status {
		t.Fatalf("hocket %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// TestTelemetryAcrossProcesses checks that a run that pauses in one process and is answered in
// another is one trace, with each span once, complete, and under its parent (P35), and that it
// contains nothing that people wrote or models output.
func TestTelemetryAcrossProcesses(t *testing.T) {
	t.Parallel()
	c, dir := startCollector(t), t.TempDir()
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SERVICE_NAME=desk"}
	command(t, dir, 3, env, "run", "post.json", "--replies", "post.yaml", "--run-id", "r1")
	before := len(c.tree(t, true))
	command(t, dir, 0, env, "resume", "r1", "--approve", "--note", canary)
	want := []string{
		"chat gpt-5 < invoke_agent h", "chat gpt-5 < invoke_agent p", "chat gpt-5-mini < invoke_agent w",
		"chat gpt-5-mini < invoke_agent w",
		"invoke_agent h < invoke_agent w", "invoke_agent p < node p", "invoke_agent w < node w", "invoke_workflow post",
		"node ok < invoke_workflow post", "node p < invoke_workflow post", "node s < invoke_workflow post",
		"node w < invoke_workflow post",
		"run paused < invoke_workflow post", "wait ok < node ok",
	}
	if diff := cmp.Diff(want, c.tree(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if before == 0 || before >= len(want) {
		t.Errorf("%d spans came from the first process", before)
	}
	if strings.Contains(c.raw.String(), canary) {
		t.Error("content was exported")
	}
	if c.service != "desk" {
		t.Errorf("service.name is %q", c.service)
	}
	for name, want := range map[string]map[string]string{
		"chat gpt-5-mini": {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
			"gen_ai.request.model": "gpt-5-mini", "hocket.run.id": "r1", "gen_ai.agent.id": "w"},
		"wait ok": {"hocket.wait.kind": "approval", "hocket.wait.outcome": "approve",
			"hocket.node.id": "ok"},
		"invoke_workflow post": {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "post",
			"hocket.status": "completed"},
	} {
		got := c.attributes(t, name)
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s of %s is %q, want %q", k, name, got[k], v)
			}
		}
	}
	if diff := cmp.Diff([]string{
		"gen_ai.client.operation.duration", "gen_ai.client.token.usage", "gen_ai.invoke_agent.duration",
		"gen_ai.workflow.duration", "hocket.model.call.cost", "hocket.run.active", "hocket.run.count",
		"hocket.run.started", "hocket.run.waiting", "hocket.step.duration",
	}, slices.Sorted(maps.Keys(c.metrics))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestTrace_Parent checks that a run started with TRACEPARENT is under its caller's span, whichever
// process it continues in, and that an answer from another trace is linked. If the caller does not
// record its trace, no spans are sent; an invalid TRACEPARENT is ignored.
func TestTrace_Parent(t *testing.T) {
	t.Parallel()
	const trace, span, other = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7",
		"0af7651916cd43dd8448eb211c80319c"
	c, dir := startCollector(t), t.TempDir()
	c.caller = span
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}
	command(t, dir, 3, append(env, "TRACEPARENT=00-"+trace+"-"+span+"-01", "TRACESTATE=vendor=1"), "run", "post.json",
		"--replies", "post.yaml", "--run-id", "r1")
	command(t, dir, 0, append(env, "TRACEPARENT=00-"+other+"-"+span+"-01"), "resume", "r1", "--approve")
	if got := c.tree(t); len(got) != 14 || !slices.Contains(got, "invoke_workflow post") {
		t.Errorf("spans are %q", got)
	}
	links := 0
	for _, s := range c.spans {
		if got := hex.EncodeToString(s.GetTraceId()); got != trace || s.GetTraceState() != "vendor=1" {
			t.Errorf("%s is of trace %s, state %q", s.GetName(), got, s.GetTraceState())
		}
		if remote := s.GetFlags()&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0; remote !=
			strings.HasPrefix(s.GetName(), "invoke_workflow") {
			t.Errorf("%s has flags %x", s.GetName(), s.GetFlags())
		}
		for _, l := range s.GetLinks() {
			links++
			if s.GetName() != "wait ok" || hex.EncodeToString(l.GetTraceId()) != other {
				t.Errorf("%s is linked to %x", s.GetName(), l.GetTraceId())
			}
		}
	}
	if links != 1 {
		t.Errorf("there are %d links", links)
	}
	sent := len(c.spans)
	command(t, dir, 0, append(env, "TRACEPARENT=00-"+trace+"-"+span+"-00"), "run", "news.yaml", "--replies",
		"replies.yaml", "hi")
	if len(c.spans) != sent {
		t.Error("a trace that its caller does not record was sent")
	}
	c.caller, c.spans = "", nil
	command(t, dir, 0, append(env, "TRACEPARENT=00-nonsense-01"), "run", "news.yaml", "--replies", "replies.yaml", "hi")
	if !slices.Contains(c.tree(t), "invoke_workflow news") {
		t.Error("a traceparent that is not valid is no reason to have no trace")
	}
}

// TestTelemetryBranches checks that parallel branches are under their own steps, and that a call is
// one span over its attempts (P35).
func TestTelemetryBranches(t *testing.T) {
	t.Parallel()
	c, dir := startCollector(t), t.TempDir()
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=none"}
	command(t, dir, 0, env, "run", "news.yaml", "--replies", "replies.yaml", "hi")
	want := []string{
		"chat gpt-5-mini < invoke_agent left", "chat gpt-5-mini < invoke_agent right",
		"chat gpt-5-mini < invoke_agent writer", "chat gpt-5-mini < invoke_agent writer",
		"execute_tool think < invoke_agent writer",
		"invoke_agent left < node l", "invoke_agent right < node r", "invoke_agent writer < node draft",
		"invoke_workflow news",
		"node both < invoke_workflow news", "node draft < invoke_workflow news", "node l < node both",
		"node r < node both",
	}
	if diff := cmp.Diff(want, c.tree(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if strings.Contains(c.raw.String(), canary) {
		t.Error("content was exported")
	}
}

// TestTelemetryContent checks that content is exported if the variable defined by the semantic
// conventions requests it.
func TestTelemetryContent(t *testing.T) {
	t.Parallel()
	c, dir := startCollector(t), t.TempDir()
	env := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.URL + "/v1/traces",
		"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"}
	command(t, dir, 0, env, "run", "news.yaml", "--replies", "replies.yaml", "hi")
	tool := c.attributes(t, "execute_tool think")
	if got := tool["gen_ai.tool.call.arguments"]; got != `{"thought":"`+canary+`"}` {
		t.Errorf("arguments are %q", got)
	}
	chat := c.attributes(t, "chat gpt-5-mini")
	if got := chat["gen_ai.input.messages"]; !strings.Contains(got, `"role":"user"`) || !strings.Contains(got, "hi") {
		t.Errorf("input messages are %q", got)
	}
	if !strings.Contains(c.raw.String(), canary) {
		t.Error("the text of the error was not exported")
	}
	if len(c.metrics) > 0 {
		t.Error("metrics were sent, though only traces have an address")
	}
}

// TestTelemetryDeadCollector checks that a collector that refuses connections, one that fails and
// one that accepts and never responds fail no run, and that each is reported once (P11, P35).
func TestTelemetryDeadCollector(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(mute.Close)
	t.Cleanup(func() { close(hang) })
	refuses := httptest.NewServer(http.NotFoundHandler())
	refuses.Close()
	broken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	for name, url := range map[string]string{"refuses": refuses.URL, "fails": broken.URL, "mute": mute.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr := command(t, t.TempDir(), 0, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url}, "run", "news.yaml",
				"--replies", "replies.yaml", "hi")
			if n := strings.Count(stderr, "telemetry export failed"); n != 1 {
				t.Errorf("told %d times:\n%s", n, stderr)
			}
		})
	}
}

// TestTelemetryVariables checks that unusable variables are reported and keep nothing from running,
// and that the variables that turn telemetry off do so.
func TestTelemetryVariables(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	for name, test := range map[string]struct{ variable, want string }{
		"disabled": {"OTEL_SDK_DISABLED=true", ""},
		"none":     {"OTEL_TRACES_EXPORTER=none", ""},
		"protocol": {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc",
			`unsupported OTEL_EXPORTER_OTLP_TRACES_PROTOCOL \"grpc\"; known: http/protobuf`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, test.variable}
			_, stderr := command(t, t.TempDir(), 0, env, "run", "news.yaml", "--replies", "replies.yaml", "hi")
			if test.want == "" && strings.Contains(stderr, "telemetry") || !strings.Contains(stderr, test.want) {
				t.Errorf("want %q in\n%s", test.want, stderr)
			}
		})
	}
	t.Cleanup(func() {
		if c.raw.Len() > 0 {
			t.Error("telemetry was sent")
		}
	})
}
