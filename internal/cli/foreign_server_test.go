package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

// TestForeignServer checks that nothing that a server sends reaches the terminal as a control
// character: lists, documents, views and errors (SEC15).
func TestForeignServer(t *testing.T) {
	t.Parallel()
	const date = `"2026-01-01T00:00:00Z"`
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("H", string(text), "D", date)
	answers := map[string]string{
		"/api/v1/agents":    `{"items":[{"id":"a","name":H,"description":H,"model":H,"systemPrompt":H,"tools":[]}]}`,
		"/api/v1/workflows": `{"items":[{"id":H,"name":H,"format":H,"published":1,"updatedAt":D,"labels":{"l":H}}]}`,
		"/api/v1/workflows/w": `{"id":"w","name":H,"format":"steps","document":H,"file":H,"version":1,"published":1,` +
			`"updatedAt":D,"versions":[1]}`,
		"/api/v1/workflows/w/versions": `{"items":[{"number":1,"name":H,"format":H,"file":H,"digest":H,` +
			`"createdAt":D}]}`,
		"/api/v1/runs": `{"items":[{"id":H,"workflow":H,"workflowName":H,"format":H,"trigger":H,"status":H,` +
			`"createdAt":D,"updatedAt":D,"waitingFor":H,"inputPreview":H,"error":{"code":H,"message":H}}]}`,
		"/api/v1/runs/r": `{"id":H,"status":H,"workflow":{"id":H,"name":H,"format":H},"input":H,"error":{"code":H,` +
			`"message":H,"node":H},"waiting":[{"id":H,"kind":H,"node":H,"prompt":H,"since":D}],"steps":[` +
			`{"seq":1,"node":H,"kind":H,"status":H,"decision":H,"model":H,"warnings":[H]}],"answers":[{"wait":H,` +
			`"kind":H,"node":H,"decision":H,"at":D,"note":H}]}`,
		"/api/v1/runs/r/definition": `{"name":"n"}`,
		"/api/v1/runs/r/events":     `{"items":[{"run":"r","seq":1,"time":D,"type":H,"node":H,"step":null,"data":{}}]}`,
		"/api/v1/waits":             `{"items":[{"run":H,"workflow":H,"id":H,"kind":H,"node":H,"prompt":H,"since":D}]}`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			answer = `{"title":H,"status":422,"detail":H,"code":"invalid","reason":H,"errors":[{"message":H,` +
				`"location":H}],"diagnostics":[{"code":H,"severity":"error","message":H,"hint":H,"span":{"file":H}}]}`
		}
		_, _ = w.Write([]byte(fill.Replace(answer))) // the client may be gone
	}))
	t.Cleanup(srv.Close)
	for command, shows := range map[string]bool{
		"agents": true, "agents list --json": true, "agents show": true, "workflows": true,
		"workflows list --json": true,
		"workflows show w":      true, "workflows show w --json": true, "runs": true,
		"runs list --json": true, "runs show r": false, "runs show r --json": false, "runs show r --logs": false,
		"runs show r --trail": false, "runs events r": false, "waits": false, "resume r": false, "cancel r": false,
		"retry r": false, "fork r --at 1": false, "run --workflow w": false, "workflows publish w": false,
		"workflows delete w": false, "agents delete a": false, "validate $DIR/d.yaml": false,
	} {
		d := newDesk(t, "", map[string]string{"d.yaml": document})
		d.env["HOCKET_SERVER"], d.env["HOCKET_TOKEN"], d.env["NO_COLOR"] = srv.URL, "hk_1", "1"
		status := d.main(t.Context(), strings.Fields(command)...)
		checkHarmless(t, command+": standard output", d.out.String())
		checkHarmless(t, command+": standard error", drawing.ReplaceAllString(d.err.String(), ""))
		if shows && (status != cli.ExitOK || !strings.Contains(d.out.String(), "shown")) {
			t.Errorf("%s: exit status %d:\n%s%s", command, status, &d.out, &d.err)
		}
	}
}
