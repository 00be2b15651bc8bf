package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/openaiapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestProblems checks the table of problems in api.md against the actual replies: the status and
// the code over HTTP, the type in OpenAI's form, and the exit status of a command that gets the
// problem from a server.
func TestProblems(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		transport.ErrUnauthorized, &transport.ForbiddenError{Reason: "no"}, &transport.TooLargeError{Limit: "1 MiB"},
		&service.InvalidError{Err: errors.New("bad")}, journal.ErrNotFound,
		waits.ErrAmbiguous, waits.ErrClosed, &service.LimitError{Limit: "runs", Max: 3},
		errors.New("broken"),
	} {
		p := transport.ProblemOf(err)
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(p.Status)
			_ = json.NewEncoder(w).Encode(p)
		}))
		var errs bytes.Buffer
		env := func(name string) string { return map[string]string{"HOCKET_TOKEN": "hk_test"}[name] }
		st := cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs, Env: env}
		exit := cli.Main(context.Background(), []string{"runs", "show", "01M80XCV600VW9MM1G1GVHA4ZT", "--server",
			at.URL}, st, cli.Wiring{Version: "test"})
		at.Close()

		rec := httptest.NewRecorder()
		openaiapi.WriteProblem(rec, nil, p)
		var form struct {
			Error struct{ Type string }
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &form); err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprintf("| %d | `%s` | `%s` | %d |", p.Status, p.Code, form.Error.Type, exit)
		if !strings.Contains(string(text), row) {
			t.Errorf("api.md has no row %s (%s)", row, strings.TrimSpace(errs.String()))
		}
	}
}
