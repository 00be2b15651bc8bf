package cassette_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/cassette"
	"github.com/hocket-run/hocket/internal/model/script"
)

// answers is a client that returns its replies in order.
type answers struct {
	list []any // chat.Message or error
	n    int
}

func (a *answers) Call(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	one := a.list[a.n]
	a.n++
	if err, ok := one.(error); ok {
		return model.Reply{}, err
	}
	return model.Reply{Message: one.(chat.Message), StopReason: model.StopEnd}, nil
}

// TestContinue checks that a continued recording has the replies known to the run, without the one
// in flight, and the new ones: in both formats, with text, JSON, tool calls and errors.
func TestContinue(t *testing.T) {
	t.Parallel()
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{ID: "c1", Name: "add", Arguments: json.RawMessage(`{"n": 1.50, "s": "a: b\n# c"}`)},
	}}
	text := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("two\nlines: \u2028 and \"more\"\n")}
	object := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(`{"ok":true}`)}
	lost := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("on its way")}
	for _, name := range []string{"rec.yaml", "rec.json"} {
		path := filepath.Join(t.TempDir(), name)
		client := &answers{list: []any{call, &model.Error{Kind: model.KindRateLimit, Message: "slow"}, text, object,
			lost, lost, text}}
		r, err := cassette.New(client, path)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(r *cassette.Recorder, schema bool) {
			req := model.Request{Agent: "a", Node: "a"}
			if schema {
				req.Schema = &model.Schema{}
			}
			_, _ = r.Call(t.Context(), req, nil) // the errors are recorded, too
		}
		for i := range 5 {
			ask(r, i == 3)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r, err = cassette.Continue(client, path, []chat.Message{object, text, call})
		if err != nil {
			t.Fatal(err)
		}
		ask(r, false)
		ask(r, false)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, diags := script.Parse(path, data)
		if err := diags.Err(); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		replay := script.New(doc, nil)
		for i, want := range []any{call, "slow", text, object, lost, text} {
			reply, err := replay.Call(t.Context(), model.Request{Agent: "a", Node: "a"}, nil)
			if words, failed := want.(string); failed {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%s: reply %d: %v", name, i, err)
				}
				continue
			}
			if m := want.(chat.Message); err != nil || reply.Message.Text.String() != m.Text.String() ||
				len(reply.Message.ToolCalls) != len(m.ToolCalls) {
				t.Errorf("%s: reply %d: %+v, %v, want %+v", name, i, reply.Message, err, m)
			}
		}
		if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st.Mode(), err)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".hocket*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		// A recording that lacks a reply of the run is a different file.
		for _, known := range [][]chat.Message{{text, text, text}, {{Text: chat.NewText("never")}}} {
			if _, err := cassette.Continue(client, path, known); err == nil ||
				!strings.Contains(err.Error(), "lacks replies") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(data) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
	for text, want := range map[string]string{"export PATH": "is not a recording",
		"# Recorded by hocket. Each entry answers one model call; see --replies.\nreplies:\n- [": "cannot be read"} {
		path := filepath.Join(t.TempDir(), "rec.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.Continue(&answers{}, path, nil); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := cassette.Continue(&answers{}, t.TempDir(), nil); err == nil {
		t.Error("a folder is continued")
	}
}
