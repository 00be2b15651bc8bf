package run_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/service"
)

// TestRun_RefusedParameters checks that a run survives a parameter that its server refuses, says so
// in its log once for the process, and sends no refused request if the operator or the document
// omits the parameter. The structured output works without response_format.
func TestRun_RefusedParameters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operator, document string
		requests           []int64 // after each run
		warns              bool
	}{
		"found":       {"", "", []int64{2, 3}, true},
		"by operator": {"omit: [response_format]", "", []int64{1, 2}, false},
		"by document": {"", "omit: [response_format]", []int64{1, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(string(body), `"response_format"`) {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":{"message":"This response_format type is unavailable now"}}`)
					return
				}
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"{\"score\":3}"},"finish_reason":"stop"}]}`)
			}))
			t.Cleanup(srv.Close)
			text, provider := "", "providers: {lab: {base_url: "+srv.URL+", "+tc.document+"}}"
			if tc.document == "" {
				text, provider = "providers: {lab: {base_url: \""+srv.URL+"\", "+tc.operator+"}}", ""
			}
			operator, problems := config.Read("hocket.yaml", []byte(text))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			s := opened(t, "", nil, func(c *service.Config) {
				c.Operator, c.Models = operator, nil
				c.Adapters = map[model.Protocol]model.Factory{
					model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
						return openai.New(openai.Config{BaseURL: e.BaseURL, HTTP: outbound.New(outbound.Config{
							Allow: []string{srv.URL}})})
					}}
			})
			w, ds, err := s.Load(t.Context(), "doc.yaml", []byte(provider+`
agents:
  root:
    model: lab/m
    structured_output: {name: v, schema: {type: object, required: [score], properties: {score: {type: integer}}}}
workflow: [{type: agent, name: root}]
`), service.LoadOptions{})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			for i, want := range tc.requests {
				id := fmt.Sprint("r", i)
				if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: id,
					Trust: true}); err != nil {
					t.Fatal(err)
				}
				run := ended(t, s, id)
				if string(run.Output) != `{"score":3}` || requests.Load() != want {
					t.Fatalf("got %s, %v after %d requests; want %d", run.Output, run.Error, requests.Load(), want)
				}
				warned := strings.Contains(fmt.Sprint(run.Steps[0].Warnings), "the server refused response_format")
				if warned != (tc.warns && i == 0) {
					t.Errorf("run %d: got warnings %q", i, run.Steps[0].Warnings)
				}
			}
		})
	}
}
