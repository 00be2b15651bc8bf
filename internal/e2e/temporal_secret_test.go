//go:build unix

package e2e_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// texts is a workflow whose texts must not reach Temporal. Its name and the names of its nodes may.
const texts = `name: visible-workflow
agents:
  writer:
    model: openai/m
    instruction: canary-instruction
    toolsets:
      - type: api
        api_config:
          name: book
          instruction: canary-description
          method: POST
          endpoint: %s/book
          headers: {X-Tenant: canary-header}
          args: {what: {type: string}}
          required: [what]
workflow:
  - {id: visible-node, type: agent, name: writer}
`

// TestTemporalHoldsNoText checks that after runs that complete, fail, are answered and are
// cancelled, no table of Temporal's databases contains any of their prompts, replies, arguments,
// results, errors or secrets.
func TestTemporalHoldsNoText(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := onDisk(t, func() *pgtest.Server { return pgtest.Shared(t) })
	book := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(data), "fails") {
			http.Error(w, "canary-refusal", http.StatusUnprocessableEntity)
			return
		}
		_, _ = io.WriteString(w, "canary-result")
	}))
	t.Cleanup(book.Close)
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	models := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		last := r.Messages[len(r.Messages)-1]
		input := ""
		for _, m := range r.Messages {
			if m.Role == chat.RoleUser {
				input = m.Text.String()
			}
		}
		switch {
		case strings.Contains(input, "canary-error"):
			return modeltest.Answer{Status: http.StatusBadRequest, Error: "canary-error", Code: "canary-code"}
		case strings.Contains(input, "canary-held"):
			return modeltest.Answer{Wait: held}
		case len(r.Tools) > 0 && last.Role != chat.RoleTool:
			what := "canary-argument"
			if strings.Contains(input, "fails") {
				what += " fails"
			}
			return modeltest.Answer{
				ToolCalls: []chat.ToolCall{{Name: "book", Arguments: fmt.Appendf(nil, `{"what": %q}`, what)}},
			}
		}
		return modeltest.Answer{Text: "canary-reply"}
	})
	c.config = fmt.Sprintf("outbound: {allow: ['%s']}\n", strings.TrimPrefix(book.URL, "http://"))
	c.env = append(c.env, "OPENAI_BASE_URL="+models.BaseURL(), "OPENAI_API_KEY=canary-key")
	c.joinTwo()
	c.apply("visible-workflow", fmt.Sprintf(texts, book.URL))
	c.apply("gate", strings.ReplaceAll(gate, "Print it?", "canary-question"))
	end := func(run, want string) {
		t.Helper()
		var o struct{ Status string }
		c.until(ctx, "run "+run+" is "+want, func() bool {
			_, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
			return json.Unmarshal(data, &o) == nil && o.Status == want
		})
	}
	ids := map[string]string{}
	for input, want := range map[string]string{"canary-prompt": "completed", "canary-prompt that fails": "completed",
		"canary-error": "failed"} {
		ids[input] = c.start(ctx, "visible-workflow", input)
		end(ids[input], want)
	}
	gone := c.start(ctx, "visible-workflow", "canary-held")
	c.until(ctx, "the call is under way", func() bool {
		_, data := c.ask(ctx, http.MethodGet, "/runs/"+gone+"/events", "")
		return strings.Contains(string(data), "model.called")
	})
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+gone+"/cancel",
		`{"reason": "canary-reason"}`); status != http.StatusOK {
		t.Fatalf("cancel: %d %s", status, data)
	}
	end(gone, "cancelled")
	asks := c.start(ctx, "gate", "canary-input")
	wait := c.waitAsked(ctx, asks)
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+asks+"/resume",
		fmt.Sprintf(`{"wait": %q, "decision": "approve", "note": "canary-note"}`, wait)); status != http.StatusOK {
		t.Fatalf("answer: %d %s", status, data)
	}
	end(asks, "completed")

	// The texts are in the journals, which shows that the search can find them.
	var journals strings.Builder
	for _, events := range c.journals() {
		data, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		journals.Write(data)
	}
	for _, text := range []string{"prompt", "reply", "argument", "result", "refusal", "error", "reason", "note",
		"question"} {
		if !strings.Contains(journals.String(), "canary-"+text) {
			t.Errorf("no journal holds canary-%s: the test looks for a text that was not there", text)
		}
	}
	found := map[string]bool{}
	for _, at := range c.databases {
		dump := c.postgres.Dump(t, at)
		for _, text := range []string{"canary", "CANARY", "Y2FuYXJ5"} { // the last one is in base64
			if strings.Contains(dump, text) || strings.Contains(dump, hex.EncodeToString([]byte(text))) {
				t.Errorf("a database of Temporal holds %s:\n%s", text, excerpt(dump, text))
			}
		}
		for _, text := range []string{ids["canary-prompt"], "visible-workflow", "visible-node"} {
			found[text] = found[text] || strings.Contains(dump, hex.EncodeToString([]byte(text)))
		}
	}
	for text, is := range found {
		if !is {
			t.Errorf("no database of Temporal holds %s: the test looks in the wrong place", text)
		}
	}
	if said := c.carrier.Said(); strings.Contains(said, "canary") {
		t.Errorf("Temporal has logged:\n%s", said)
	}
}

// excerpt returns the part of a dump around an occurrence of text.
func excerpt(dump, text string) string {
	i := max(strings.Index(dump, text), strings.Index(dump, hex.EncodeToString([]byte(text))))
	return dump[max(0, i-200):min(len(dump), i+200)]
}
