//go:build unix

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// private holds the strings to look for, keyed by what they are. The password of the store is
// searched for too.
var private = map[string]string{
	"instruction": "canary-instruction-1", "input": "canary-input-2", "reply": "canary-reply-3",
	"argument": "canary-argument-4", "result": "canary-result-5", "tool error": "canary-toolerror-6",
	"key of the provider": "canary-apikey-7", "note": "canary-note-8", "echo of the provider": "canary-echo-10",
	"long reply": "canary-long-11", "token": testToken,
}

// secretDocument is a workflow whose first agent calls a tool, whose second agent returns a long
// reply, and whose third agent fails.
const secretDocument = `name: secretly
agents:
  clerk:
    model: openai/m
    instruction: clerk canary-instruction-1
    toolsets:
      - type: api
        api_config: {name: book, instruction: Books, method: POST, endpoint: %[1]s/%[2]s, args: {what: {type: ` +
	`string}}, required: [what]}
  long: {model: openai/m, instruction: long canary-instruction-1}
  broken: {model: openai/m, instruction: broken canary-instruction-1}
workflow:
  - {type: agent, name: clerk}
  - {type: agent, name: long}
  - {type: agent, name: broken}
`

// answerSecretly answers as the model of the workflow secretly.
func answerSecretly(r modeltest.Request) modeltest.Answer {
	switch last := r.Messages[len(r.Messages)-1]; {
	case len(r.Tools) > 0 && last.Role != chat.RoleTool:
		return modeltest.Answer{
			ToolCalls: []chat.ToolCall{{Name: "book", Arguments: json.RawMessage(`{"what": "canary-argument-4"}`)}},
		}
	case strings.HasPrefix(r.System, "long"):
		return modeltest.Answer{Text: strings.Repeat("canary-long-11 ", 10_000)}
	case strings.HasPrefix(r.System, "broken"):
		return modeltest.Answer{Status: http.StatusBadRequest, Error: "cannot answer canary-echo-10: " + r.LastText()}
	}
	return modeltest.Answer{Text: "canary-reply-3", Latency: 30 * time.Millisecond}
}

// forms returns the encodings in which a text may appear.
func forms(text string) []string {
	quoted, _ := json.Marshal(text)
	all := []string{text, strings.Trim(string(quoted), `"`), url.QueryEscape(text), url.PathEscape(text),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	for shift := range 3 { // base64 within a longer text, without the characters that depend on the surrounding text
		enc := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		all = append(all, enc[4:len(enc)-4])
	}
	return all
}

// exposed returns the names of the private strings that text contains.
func exposed(text string) (found []string) {
	for what, secret := range private {
		if slices.ContainsFunc(forms(secret), func(form string) bool { return strings.Contains(text, form) }) {
			found = append(found, what)
		}
	}
	if slices.ContainsFunc(forms(pgtest.Password), func(form string) bool { return strings.Contains(text, form) }) {
		found = append(found, "password")
	}
	return found
}

// activity collects the statements shown for sessions until stop is called.
func activity(t *testing.T, server *pgtest.Server) (stop func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen := map[string]bool{}
	var done sync.WaitGroup
	done.Go(func() {
		var conn *pgx.Conn
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			var rows pgx.Rows
			var err error
			if conn == nil || conn.IsClosed() { // the server is being restarted
				conn, err = pgx.Connect(ctx, server.Superuser(pgtest.Name))
			}
			if err == nil {
				rows, err = conn.Query(ctx,
					"SELECT concat_ws(' ', query, application_name, usename, wait_event) FROM pg_stat_activity")
			}
			if err == nil {
				var text string
				_, err = pgx.ForEachRow(rows, []any{&text}, func() error { seen[text] = true; return nil })
			}
			if err != nil {
				pause(ctx)
			}
		}
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	})
	return func() []string {
		cancel()
		done.Wait()
		all := make([]string, 0, len(seen))
		for text := range seen {
			all = append(all, text)
		}
		return all
	}
}

// TestLogsHoldNoSecrets checks runs with prompts, replies, tools and failures on two servers
// and a worker that print debug logs, through a restart of PostgreSQL and a kill. Neither their
// logs, nor errors, nor the log of PostgreSQL with all statements, nor pg_stat_activity contain a
// prompt, a reply, an argument, a result, a key or the password of the store.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const runs = 20
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := pgtest.Start(t, pgtest.Config{TCP: true, Settings: map[string]string{
		"log_min_duration_statement": "0", "log_parameter_max_length": "0", "log_connections": "on",
		"log_error_verbosity": "verbose", "log_line_prefix": "%m %a %u %d ",
	}})
	book := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			http.Error(w, "canary-toolerror-6", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "canary-result-5")
	}))
	t.Cleanup(book.Close)
	m := modeltest.Start(t, answerSecretly)
	c := newCluster(t, server.TCP(t).String())
	c.config = fmt.Sprintf("outbound: {allow: ['%s']}\nserver: {takeOverAfter: 15s}\n",
		strings.TrimPrefix(book.URL, "http://"))
	c.env = []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=canary-apikey-7"}
	from := len(server.Said(t)) // after the creation of the test user
	stop := activity(t, server)
	all := []*member{c.join("", "-v"), c.join("", "-v"), c.work("-v", "--max-driven", "5")}
	c.apply("secretly", fmt.Sprintf(secretDocument, book.URL, "book"))
	c.apply("fails", fmt.Sprintf(secretDocument, book.URL, "fails"))
	c.apply("gate", gate)

	var ids []string
	start := func(workflow string, i int) {
		status, data := c.ask(ctx, http.MethodPost, "/runs",
			fmt.Sprintf(`{"workflow": %q, "input": "canary-input-2 %d"}`, workflow, i), "Idempotency-Key",
			fmt.Sprint(workflow, i))
		var o struct{ ID string }
		if err := json.Unmarshal(data, &o); err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s", status, data)
		}
		ids = append(ids, o.ID)
	}
	var refusals strings.Builder
	refuse := func(path, body string) {
		for _, m := range c.members {
			method := http.MethodPost
			if body == "" {
				method = http.MethodGet
			}
			if status, data, err := m.do(ctx, method, path, body); err == nil && status >= http.StatusBadRequest {
				refusals.Write(data)
			}
		}
	}
	for i := range runs {
		for _, workflow := range []string{"secretly", "fails", "gate"} {
			start(workflow, i)
		}
		switch i {
		case runs / 3:
			server.Stop(t, pgtest.Immediate)
			refuse("/runs", `{"workflow": "secretly", "input": "canary-input-2"}`)
			refuse("/runs/"+ids[0], "")
			server.Start(t)
			c.readiness(http.StatusOK)
		case 2 * runs / 3:
			c.kill(all[0])
		}
	}
	refuse("/runs/nosuch", "")
	refuse("/runs", `{"workflow": "nosuch", "input": "canary-input-2"}`)
	refuse("/runs/"+ids[0]+"/resume", `{"wait": "nosuch", "input": "canary-input-2"}`)
	failed := 0
	for _, id := range ids {
		var o struct {
			Status  string
			Waiting []struct{ ID, Kind string }
		}
		c.until(ctx, "the run ends", func() bool {
			status, data := c.ask(ctx, http.MethodGet, "/runs/"+id, "")
			if err := json.Unmarshal(data, &o); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s", status, data)
			}
			for _, w := range o.Waiting {
				answer := `{"wait": %q, "input": "retry"}` // for a call of unknown outcome
				if w.Kind == "approval" {
					answer = `{"wait": %q, "decision": "approve", "note": "canary-note-8"}`
				}
				c.ask(ctx, http.MethodPost, "/runs/"+id+"/resume", fmt.Sprintf(answer, w.ID))
			}
			return o.Status == "completed" || o.Status == "failed"
		})
		if o.Status == "failed" {
			failed++
		}
	}
	if failed != 2*runs {
		t.Errorf("%d runs failed, want %d", failed, 2*runs)
	}
	_, events := c.ask(ctx, http.MethodGet, "/runs/"+ids[0]+"/events?expand=1", "")
	for _, what := range []string{"input", "reply", "argument", "result", "echo of the provider"} {
		if !slices.Contains(exposed(string(events)), what) {
			t.Errorf("the search does not find the %s in the journal", what)
		}
	}
	for _, m := range all {
		m.kill()
	}

	statements := stop()
	if text := strings.Join(statements, "\n"); !strings.Contains(text, "unnest") || len(statements) < 10 {
		t.Errorf("pg_stat_activity showed %d statements, and no append", len(statements))
	}
	for _, text := range statements {
		if found := exposed(text); len(found) > 0 {
			t.Errorf("pg_stat_activity shows %v: %s", found, text)
		}
	}
	log := server.Said(t)[from:]
	if !strings.Contains(log, "unnest") {
		t.Error("the log of PostgreSQL has no append")
	}
	for line := range strings.Lines(log) {
		if found := exposed(line); len(found) > 0 {
			t.Errorf("the log of PostgreSQL shows %v: %.1000s", found, line)
		}
	}
	for _, m := range all {
		if !strings.Contains(m.said(), "level=DEBUG") {
			t.Errorf("no debug logs: %s", m.said())
		}
		for line := range strings.Lines(m.said()) {
			if found := exposed(line); len(found) > 0 {
				t.Errorf("the log of process %d shows %v: %.1000s", m.number, found, line)
			}
		}
	}
	if refusals.Len() == 0 {
		t.Error("nothing was refused")
	}
	if found := exposed(refusals.String()); len(found) > 0 {
		t.Errorf("errors show %v: %s", found, refusals.String())
	}
}
