package openaiapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/testinput"
)

// clientWorld returns a world with workflows that fail and workflows that wait.
func clientWorld(t *testing.T) *world {
	t.Helper()
	turns := gateTurns()
	turns["First"] = says("notes")
	turns["Broken"] = fails(model.KindOverloaded, "busy")
	turns["Late"] = func(_ context.Context, req model.Request, _ func(string)) (chat.Message, error) {
		return chat.Message{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no more"}
	}
	turns["Slow"] = func(ctx context.Context, _ model.Request, say func(string)) (chat.Message, error) {
		say("I begin")
		<-ctx.Done()
		return chat.Message{}, ctx.Err()
	}
	w := newWorld(t, turns)
	for id, agent := range map[string]string{"broken": "Broken", "slow": "Slow"} {
		w.store(t, id+".json", strings.ReplaceAll(documents["poet.json"], `"agentName": "Poet"`,
			`"agentName": "`+agent+`"`), false)
	}
	w.store(t, "broken-late.json", strings.ReplaceAll(strings.ReplaceAll(documents["pair.json"], `"agentName": "First"`,
		`"agentName": "Held"`), `"agentName": "Poet"`, `"agentName": "Late"`), false)
	w.set("Held", w.untilStreaming(t))
	return w
}

// untilStreaming returns a turn that lasts until a stream about its run has started, that is, until
// the server has sent a heartbeat.
func (w *world) untilStreaming(t *testing.T) turn {
	t.Helper()
	return func(ctx context.Context, _ model.Request, _ func(string)) (chat.Message, error) {
		select {
		case <-w.beats:
			return chat.Message{Text: chat.NewText("notes")}, nil
		case <-ctx.Done():
			return chat.Message{}, ctx.Err()
		}
	}
}

func (w *world) runsOf(t *testing.T, workflow string) []journal.Head {
	t.Helper()
	heads, _, err := w.service.List(t.Context(), journal.Query{Workflow: workflow})
	if err != nil {
		t.Fatal(err)
	}
	return heads
}

// TestGoClient tests the endpoint with OpenAI's own Go client.
func TestGoClient(t *testing.T) {
	t.Parallel()
	w := clientWorld(t)
	client := func(token string) openai.Client {
		return openai.NewClient(option.WithBaseURL(w.url+"/v1/"), option.WithAPIKey(token),
			option.WithHTTPClient(&http.Client{}))
	}
	c, ctx := client(tokenRun), t.Context()
	params := func(name string, messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
		if messages == nil {
			messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}
		}
		return openai.ChatCompletionNewParams{Model: name, Messages: messages}
	}
	list, err := c.Models.List(ctx)
	if err != nil || !slices.ContainsFunc(list.Data, func(m openai.Model) bool { return m.ID == "desk/report" }) {
		t.Errorf("models: %v, %v", list, err)
	}
	if m, err := c.Models.Get(ctx, "poet"); err != nil || m.ID != "poet" {
		t.Errorf("model: %v, %v", m, err)
	}
	if r, err := c.Chat.Completions.New(ctx, params("poet")); err != nil || r.Choices[0].Message.Content != "A poem." ||
		r.Usage.TotalTokens != 13 {
		t.Errorf("chat: %+v, %v", r, err)
	}
	p := params("pair")
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	s := c.Chat.Completions.NewStreaming(ctx, p)
	var all openai.ChatCompletionAccumulator
	for s.Next() {
		all.AddChunk(s.Current())
	}
	if s.Err() != nil || all.Choices[0].Message.Content != "A poem." || all.Usage.TotalTokens != 26 {
		t.Errorf("stream: %+v, %v", all.ChatCompletion, s.Err())
	}

	person := client(tokenPerson)
	asked, err := person.Chat.Completions.New(ctx, params("gate"))
	if err != nil {
		t.Fatal(err)
	}
	answered, err := person.Chat.Completions.New(ctx,
		params("gate", openai.UserMessage("x"), asked.Choices[0].Message.ToParam(), openai.UserMessage("approve")))
	if err != nil || answered.Choices[0].Message.Content != "Printed." || answered.ID != asked.ID {
		t.Errorf("answered: %+v, %v", answered, err)
	}

	for name, want := range map[string]struct {
		status int
		code   string
	}{"none": {404, "model_not_found"}, "broken": {422, "overloaded"}} {
		_, err := c.Chat.Completions.New(ctx, params(name))
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != want.status || e.Code != want.code || e.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(w.runsOf(t, "broken")); n != 1 {
		t.Errorf("the failed run was begun %d times", n)
	}
	s = c.Chat.Completions.NewStreaming(ctx, params("broken-late"))
	for s.Next() {
		_ = s.Current()
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "no more") {
		t.Errorf("broken stream: %v", s.Err())
	}

	stopped, stop := context.WithCancel(ctx)
	s = c.Chat.Completions.NewStreaming(stopped, params("slow"), option.WithHeader("Hocket-Disconnect", "cancel"))
	for s.Next() {
		stop()
	}
	if !errors.Is(s.Err(), context.Canceled) {
		t.Errorf("abort: %v", s.Err())
	}
	stop()
	w.isCancelled(t, "slow")
}

// isCancelled waits for the only run of a workflow and checks that it was cancelled.
func (w *world) isCancelled(t *testing.T, workflow string) {
	t.Helper()
	heads := w.runsOf(t, workflow)
	if len(heads) != 1 {
		t.Fatalf("%d runs of %s", len(heads), workflow)
	}
	if st, err := w.service.Wait(t.Context(), heads[0].Run); err != nil || st.Status != event.StatusCancelled {
		t.Errorf("run of %s: %v, %v", workflow, st, err)
	}
}

// TestHocketClient tests the endpoint with our own provider for OpenAI's protocol: an agent on one
// server whose model is a workflow on another.
func TestHocketClient(t *testing.T) {
	t.Parallel()
	w := clientWorld(t)
	outer, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory, Adapters: providers.Adapters(nil),
		Operator: &config.Config{Providers: map[string]config.Provider{
			"inner": {Protocol: "openai", BaseURL: w.url + "/v1", Key: "${env.INNER_TOKEN}"},
		}},
		Env: func(name string) string { return map[string]string{"INNER_TOKEN": tokenRun}[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	for name, want := range map[string]struct {
		status event.Status
		output string
		code   string
	}{"pair": {event.StatusCompleted, `"A poem."`, ""}, "broken": {event.StatusFailed, "", "overloaded"}} {
		doc := strings.ReplaceAll(documents["poet.json"], "test/x", "inner/"+name)
		wf, ds, err := outer.Load(t.Context(), "outer.json", []byte(doc), service.LoadOptions{})
		if err != nil || ds.HasErrors() {
			t.Fatal(err, ds)
		}
		run, err := outer.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outer.Wait(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		o, err := outer.Show(t.Context(), run)
		if err != nil || o.Status != want.status || string(o.Output) != want.output || o.Error != nil &&
			o.Error.Code != want.code {
			t.Errorf("%s: %v %s %+v, %v", name, o.Status, o.Output, o.Error, err)
		}
		if n := len(w.runsOf(t, name)); n != 1 {
			t.Errorf("%s was begun %d times", name, n)
		}
	}
}

// nodeClient returns the path of node and the directory of OpenAI's package for it. If they are
// missing, it ends the test.
func nodeClient(t *testing.T) (node, dir string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "openai", "node_modules", "openai"))
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(dir)
	node, err = exec.LookPath("node")
	if missing != nil || err != nil {
		const how = "OpenAI's client is not installed: run `npm ci` in scripts/openai, or `make test`"
		if os.Getenv("HOCKET_OPENAI") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return node, dir
}

// TestNodeClient tests the endpoint with OpenAI's own Node client: what it reads, and which error
// classes it throws.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	node, dir := nodeClient(t)
	w := clientWorld(t)
	testinput.Files(t, "internal/api/openaiapi/testdata")
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "client.cjs"), dir, w.url+"/v1", tokenRun,
		tokenPerson)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, problems.String(), out)
	}
	got := map[string]obj{}
	for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); {
		var line obj
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, in.Text())
		}
		step, _ := line["step"].(string)
		got[step] = line
	}
	for step, want := range map[string]obj{
		"model":         {"id": "desk/report"},
		"chat":          {"text": "A poem.", "reason": "stop", "total": 13.0},
		"stream":        {"text": "A poem.", "total": 26.0},
		"runner":        {"text": "A poem."},
		"wait":          {"text": "Printed.", "same": true},
		"unknown model": {"error": "NotFoundError", "status": 404.0, "code": "model_not_found", "param": "model"},
		"bad request":   {"error": "BadRequestError", "status": 400.0, "code": "unsupported", "param": "n"},
		"no token":      {"error": "AuthenticationError", "status": 401.0, "code": "unauthorized"},
		"not a person":  {"error": "PermissionDeniedError", "status": 403.0, "type": "permission_error"},
		"failed run": {"error": "UnprocessableEntityError", "status": 422.0, "code": "overloaded",
			"type": "run_error"},
		"broken stream": {"error": "APIError", "code": "invalid_request"},
		"abort":         {"error": "StreamEnded"}, // this client ends the loop without an error
	} {
		for field, value := range want {
			if got[step][field] != value {
				t.Errorf("%s: %s is %v, want %v: %v", step, field, got[step][field], value, got[step])
			}
		}
	}
	if ids, _ := got["models"]["ids"].([]any); !slices.Contains(ids, any("desk/headline")) {
		t.Errorf("models: %v", got["models"])
	}
	if q, _ := got["wait"]["asked"].(string); !lastLine.MatchString(q) {
		t.Errorf("asked: %v", got["wait"])
	}
	if n := len(w.runsOf(t, "broken")); n != 1 {
		t.Errorf("the failed run was begun %d times", n)
	}
	w.isCancelled(t, "slow")
}
