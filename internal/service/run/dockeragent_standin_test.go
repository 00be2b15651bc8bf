package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
	"github.com/hocket-run/hocket/workflow"
)

// envStandIn makes the test binary an MCP server on standard input and output with the tools in its
// comma-separated list.
const envStandIn = "HOCKET_TEST_STANDIN"

// serveStandIn serves the tools until the input ends.
func serveStandIn(tools string) int {
	if err := mcpServer(strings.Split(tools, ",")).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// mcpServer returns a server whose tools echo their input.
func mcpServer(tools []string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "stand-in", Version: "1"}, nil)
	for _, name := range tools {
		s.AddTool(&sdk.Tool{Name: name, Description: "Says it again",
			InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{
					Content: []sdk.Content{&sdk.TextContent{Text: string(req.Params.Arguments)}},
				}, nil
			})
	}
	return s
}

// standInTool returns the tool of an MCP server that the script calls.
func standInTool(spec tool.Spec) string {
	if len(spec.Tools) > 0 {
		return spec.Tools[0]
	}
	if spec.Remote != nil { // several servers of one agent must differ
		return "echo_" + spec.Remote.URL[strings.LastIndex(spec.Remote.URL, "/")+1:]
	}
	return "echo"
}

// standIns are the targets that the documents reach for: programs on the path, and a server at
// 127.0.0.1 for all addresses.
type standIns struct {
	bin, url string
	served   map[string][]string // tools of the MCP servers over HTTP, by path
}

// newStandIns creates programs that the scripts of the documents start, and the server.
func newStandIns(t *testing.T) *standIns {
	t.Helper()
	s := &standIns{bin: t.TempDir(), served: map[string][]string{}}
	for _, name := range []string{"curl", "docker", "htmlq", "html2markdown", "jq"} {
		s.program(t, name, "echo stand-in")
	}
	t.Setenv("PATH", s.bin+":/usr/bin:/bin")
	mux := http.NewServeMux()
	mux.Handle("/mcp/", sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		return mcpServer(s.served[r.URL.Path])
	}, nil))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"title":"Mate in two","url":"http://127.0.0.1/"}`)
	})
	mux.HandleFunc("/openapi/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"openapi":"3.0.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"http://%s/api"}],
			"paths":{"/pets":{"get":{"operationId":"listPets","responses":{"200":{"description":"ok"}}}}}}`, r.Host)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *standIns) program(t *testing.T, name, line string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// env is an environment in which every variable that a document wants is set, except Hocket's own.
func (s *standIns) env(name string) string {
	if strings.HasPrefix(name, "HOCKET_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "OTEL_") {
		return ""
	}
	return "value-of-" + name
}

// replace replaces addresses in the document with those of the stand-ins, and creates the programs
// that serve its MCP toolsets.
func (s *standIns) replace(t *testing.T, w *workflow.Workflow, data []byte) []byte {
	t.Helper()
	for i := range w.Agents {
		for j, spec := range specsOf(t, &w.Agents[i]) {
			put := func(old, path string) string {
				path = fmt.Sprintf("%s/%s-%d-%d", path, strings.ReplaceAll(w.Agents[i].ID, "_", "-"), i, j)
				data = bytes.ReplaceAll(data, []byte(old), []byte(s.url+path))
				return path
			}
			var web struct {
				URL string `json:"url"`
				API struct {
					Endpoint string `json:"endpoint"`
				} `json:"api_config"`
			}
			switch {
			case spec.Type == tool.TypeMCP && spec.Command != "":
				s.program(t, spec.Command, fmt.Sprintf("%s=%s exec %q", envStandIn,
					strings.Join(append([]string{standInTool(spec)}, spec.Tools...), ","), os.Args[0]))
			case spec.Type == tool.TypeMCP && spec.Remote != nil:
				path := put(spec.Remote.URL, "/mcp")
				spec.Remote.URL = s.url + path
				s.served[path] = append([]string{standInTool(spec)}, spec.Tools...)
			case spec.Type != tool.TypeAPI && spec.Type != tool.TypeOpenAPI:
			case json.Unmarshal(spec.Options, &web) != nil:
				t.Fatalf("options %s", spec.Options)
			case spec.Type == tool.TypeAPI:
				put(web.API.Endpoint, "/api")
			default:
				put(web.URL, "/openapi")
			}
		}
	}
	return data
}

// run executes the turn, and answers questions to people.
func (s *standIns) run(t *testing.T, on *service.Service, w *workflow.Workflow, p *played) (
	project.Run, []event.Event) {
	t.Helper()
	q := service.StartRequest{Workflow: w, Input: "go", RunID: "r", Trust: true,
		Files: service.Files{Replies: p.script()}}
	if _, err := on.Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	o := ended(t, on, "r")
	for o.Status == event.StatusPaused && len(o.Waiting) > 0 {
		answer := "yes"
		if options := o.Waiting[0].Options; len(options) > 0 {
			answer = options[0]
		}
		if err := on.Answer(t.Context(), "r", service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
			Wait: o.Waiting[0].ID, Value: fmt.Appendf(nil, "%q", answer)}); err != nil {
			t.Fatal(err)
		}
		o = ended(t, on, "r")
	}
	events, err := on.Events(t.Context(), "r", 0)
	if err != nil {
		t.Fatal(err)
	}
	return o, events
}

// inMemoryWith is inMemory with an environment.
func inMemoryWith(t *testing.T, env func(string) string) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory, Env: env,
		Pages: page.Reader{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
