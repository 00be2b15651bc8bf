package openaiapi_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

type piece struct {
	ID, Object string
	Choices    []struct {
		Delta  struct{ Role, Content string }
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
	Hocket *struct{ Run, Status string } `json:"x_hocket"`
	Error  *struct{ Message, Code string }
}

// pieces returns the chunks of a stream without its end marker, and checks their form.
func pieces(t *testing.T, r reply) (list []piece) {
	t.Helper()
	data := dataOf(t, r.body)
	if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") || len(data) == 0 ||
		data[len(data)-1] != "[DONE]" {
		t.Fatalf("no stream: %d %s", r.status, r.body)
	}
	for i, text := range data[:len(data)-1] {
		var p piece
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if p.Object != "chat.completion.chunk" || p.ID != "chatcmpl-"+r.header.Get("Hocket-Run") ||
			(i == 0) != (len(p.Choices) > 0 && p.Choices[0].Delta.Role == "assistant") {
			t.Errorf("piece %d: %s", i, text)
		}
		list = append(list, p)
	}
	return list
}

func streamed(t *testing.T, r reply) string {
	t.Helper()
	var b strings.Builder
	for _, p := range pieces(t, r) {
		for _, c := range p.Choices {
			b.WriteString(c.Delta.Content)
		}
	}
	return b.String()
}

func (w *world) stream(t *testing.T, name string) reply {
	t.Helper()
	return w.ask(t, tokenRun, obj{"model": name, "messages": conversation("x"), "stream": true,
		"stream_options": obj{"include_usage": true}})
}

// TestStream checks that the text of the last agent is streamed while it is generated, and that no
// text of earlier agents is.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]turn{"First": says("Secret ", "notes."), "Poet": says("\n Roses ", "are", " red. \n")})
	for name, want := range map[string][]string{"poet": {"Roses", " are", " red."},
		"pair": {"Roses", " are", " red."}} {
		r := w.stream(t, name)
		list := pieces(t, r)
		if n := strings.Count(r.body, `"usage":null`); n != len(list)-1 {
			t.Errorf("%s: %d of %d pieces say that the usage comes later", name, n, len(list))
		}
		var texts []string
		for _, p := range list {
			if len(p.Choices) > 0 && p.Choices[0].Delta.Content != "" {
				texts = append(texts, p.Choices[0].Delta.Content)
			}
		}
		if strings.Join(texts, "") != strings.Join(want, "") {
			t.Errorf("%s: got %q, want %q", name, texts, want)
		}
		end, last := list[len(list)-2], list[len(list)-1]
		if end.Choices[0].Finish == nil || *end.Choices[0].Finish != "stop" || end.Hocket == nil ||
			end.Hocket.Status != "completed" || len(last.Choices) != 0 || last.Usage == nil || last.Usage.Total == 0 {
			t.Errorf("%s: it ends with %+v %+v", name, end, last)
		}
	}
}

// TestStream_Immediate checks that text arrives before the run ends, and heartbeats before any
// text.
func TestStream_Immediate(t *testing.T) {
	t.Parallel()
	alive, heard := make(chan struct{}), make(chan struct{})
	until := func(ctx context.Context, c chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w := newWorld(t, map[string]turn{
		"First": func(ctx context.Context, _ model.Request, _ func(string)) (chat.Message, error) {
			return chat.Message{Text: chat.NewText("notes")}, until(ctx, alive)
		},
		"Poet": func(ctx context.Context, _ model.Request, say func(string)) (chat.Message, error) {
			say("Roses")
			return chat.Message{Text: chat.NewText("Roses are red.")}, until(ctx, heard)
		},
	})
	lines, stop := w.open(t, `{"model": "pair", "stream": true, "messages": [{"role": "user", "content": "x"}]}`)
	defer stop()
	var seen []string
	for line := range lines {
		switch {
		case line == ": heartbeat" && !slices.Contains(seen, "alive"):
			close(alive)
			seen = append(seen, "alive")
		case strings.Contains(line, `"content":"Roses"`):
			close(heard)
			seen = append(seen, "heard")
		case strings.Contains(line, `"content":" are red."`):
			seen = append(seen, "rest")
		}
	}
	if want := []string{"alive", "heard", "rest"}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

// TestStream_Question checks that a stream with a question ends like any other.
func TestStream_Question(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateTurns())
	r := w.ask(t, tokenPerson, obj{"model": "gate", "messages": conversation("x"), "stream": true})
	text := streamed(t, r)
	if !lastLine.MatchString(text) {
		t.Fatalf("got %q", text)
	}
	done := w.ask(t, tokenPerson, obj{"model": "gate", "messages": conversation("x", text, "approve"), "stream": true})
	if got := streamed(t, done); got != "Printed." {
		t.Errorf("got %q", got)
	}
}

// TestStream_RetryBuffering checks P22: text that a retry makes void is never sent.
func TestStream_RetryBuffering(t *testing.T) {
	t.Parallel()
	tries := 0
	w := newWorld(t,
		map[string]turn{"Poet": func(_ context.Context, _ model.Request, say func(string)) (chat.Message, error) {
			if tries++; tries == 1 {
				say("Void ")
				return chat.Message{}, &model.Error{Kind: model.KindOverloaded, Message: "busy"}
			}
			say("Kept.")
			return chat.Message{}, nil
		}})
	r := w.stream(t, "steady")
	if got := streamed(t, r); got != "Kept." {
		t.Errorf("got %q", got)
	}
	var deltas []string
	for _, p := range pieces(t, r) {
		if len(p.Choices) > 0 && p.Choices[0].Delta.Content != "" {
			deltas = append(deltas, p.Choices[0].Delta.Content)
		}
	}
	if !slices.Equal(deltas, []string{"Kept."}) {
		t.Errorf("deltas: %q", deltas)
	}
}

// TestStreamFails checks that a stream that has started ends with an error, so that no client takes
// the deltas for an answer.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		map[string]turn{"Poet": func(ctx context.Context, _ model.Request, say func(string)) (chat.Message, error) {
			say("Roses")
			return chat.Message{}, &model.Error{Kind: model.KindInvalidRequest, Message: "no more"}
		}})
	r := w.stream(t, "poet")
	data := dataOf(t, r.body)
	if r.status == 422 && r.json.Error.Code == "invalid_request" {
		return // it failed before anything was sent
	}
	var p piece
	if err := json.Unmarshal([]byte(data[len(data)-1]), &p); err != nil || p.Error == nil ||
		p.Error.Code != "invalid_request" || strings.Contains(r.body, "[DONE]") {
		t.Errorf("got %d %s", r.status, r.body)
	}
}
