package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/view"
)

// TestJSON_LongValues checks that --json prints one object whose input, output and outputs are
// complete, that long values elsewhere are references, and that with --full none are.
func TestJSON_LongValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a \"line\"\n", view.Limit/8)
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "", map[string]string{
		"doc.yaml": document, "replies.yaml": fmt.Sprintf("replies: [{text: %s}]", quoted),
	})
	d.InTerminal, d.OutTerminal, d.ErrTerminal = false, false, false
	did := func(args ...string) string {
		t.Helper()
		d.out.b.Reset()
		if got := d.main(t.Context(), args...); got != cli.ExitOK {
			t.Fatalf("%v: exit status %d: %.500s", args, got, d.err.String())
		}
		return d.out.String()
	}
	isReference := func(what string, v any, want bool) {
		t.Helper()
		m, _ := v.(map[string]any)
		ref, _ := m["$value"].(map[string]any)
		switch {
		case !want && v != long:
			t.Errorf("%s is %.200v", what, v)
		case want && (ref["sha256"] != journal.HashOf([]byte(long)) || ref["bytes"] != float64(len(long)) ||
			!strings.Contains(fmt.Sprint(ref["href"]), "/values/")):
			t.Errorf("%s is %.200v, no reference", what, v)
		}
	}
	object := func(text string, full bool) {
		t.Helper()
		var o struct {
			Input, Output any
			Outputs       map[string]any
			Steps         []struct{ Output any }
		}
		if err := json.Unmarshal([]byte(text), &o); err != nil || strings.Count(text, "\n") != 1 {
			t.Fatalf("%v: %.200s", err, text)
		}
		isReference("output", o.Output, false)
		for _, v := range o.Outputs {
			isReference("outputs", v, false)
		}
		isReference("the step's output", o.Steps[len(o.Steps)-1].Output, !full)
	}
	object(did("run", "$DIR/doc.yaml", "x", "--replies", "$DIR/replies.yaml", "--run-id", "r1", "--json"), false)
	object(did("run", "$DIR/doc.yaml", "x", "--replies", "$DIR/replies.yaml", "--run-id", "r2", "--json", "--full"),
		true)
	object(did("runs", "show", "r1", "--json"), false)
	object(did("runs", "show", "r1", "--json", "--full"), true)
	for _, full := range []bool{false, true} {
		flags := []string{"runs", "show", "r1", "--json"}
		if full {
			flags = append(flags, "--full")
		}
		var logs []struct{ Content any }
		var trail []struct{ Output any }
		var steps map[string]struct{ Output any }
		for flag, into := range map[string]any{"--logs": &logs, "--trail": &trail, "--context": &steps} {
			if err := json.Unmarshal([]byte(did(append(flags, flag)...)), into); err != nil {
				t.Fatalf("%s: %v", flag, err)
			}
		}
		isReference("the log entry", logs[len(logs)-1].Content, !full)
		isReference("the trail", trail[0].Output, !full)
		for _, s := range steps {
			isReference("the context", s.Output, !full)
		}
		events := did(append([]string{"runs", "events"}, flags[2:]...)...)
		for line := range strings.Lines(events) {
			var e struct {
				Type string
				Data struct{ Output any }
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			if e.Type == "step.completed" {
				isReference("the event", e.Data.Output, !full)
			}
		}
	}
	if text := did("runs", "show", "r1"); !strings.Contains(text, `a "line"`) || len(text) < len(long) {
		t.Errorf("shown to people: %.300s", text)
	}
	for _, flag := range []string{"--logs", "--trail"} {
		if text := did("runs", "show", "r1", flag); !strings.Contains(text,
			fmt.Sprintf("(%d bytes; --full shows all)", len(long))) || len(text) > 4000 {
			t.Errorf("%s: %.300s", flag, text)
		}
		if text := did("runs", "show", "r1", flag, "--full"); len(text) < len(long) {
			t.Errorf("%s --full: %.300s", flag, text)
		}
	}
}

// TestApproval_LongText checks that a long text to be approved is truncated with a notice when its
// run pauses, complete in `runs show`, and a reference in JSON.
func TestApproval_LongText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("one line\n", view.Limit/8) + "the end"
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "", map[string]string{
		"doc.json": `{"nodes": [{"id": "s", "type": "start"}, {"id": "w", "type": "agent"}, {"id": "ok", "type": ` +
			`"approval"}],
			"connections": [{"source": "s", "target": "w"}, {"source": "w", "target": "ok"}]}`,
		"replies.yaml": fmt.Sprintf("replies: [{text: %s}]", quoted),
	})
	d.InTerminal, d.OutTerminal, d.ErrTerminal = false, false, false
	if got := d.main(t.Context(), "run", "$DIR/doc.json", "--replies", "$DIR/replies.yaml", "--run-id",
		"r1"); got != cli.ExitPaused {
		t.Fatalf("exit status %d: %.500s", got, d.err.String())
	}
	if text := d.err.String(); strings.Contains(text, "the end") ||
		!strings.Contains(text, "(the first 4.0 KiB of 36.0 KiB; see all of it with: hocket runs show r1)") {
		t.Errorf("shown: %s", text)
	}
	show := func(args ...string) string {
		t.Helper()
		d.out.b.Reset()
		if got := d.main(t.Context(), append([]string{"runs", "show", "r1"}, args...)...); got != cli.ExitOK {
			t.Fatalf("%v: exit status %d: %.500s", args, got, d.err.String())
		}
		return d.out.String()
	}
	if text := show(); !strings.Contains(text, "the end") {
		t.Errorf("not whole for people: %.500s", text)
	}
	var o struct{ Waiting []struct{ Input any } }
	if err := json.Unmarshal([]byte(show("--json")), &o); err != nil {
		t.Fatal(err)
	}
	m, _ := o.Waiting[0].Input.(map[string]any)
	if ref, _ := m["$value"].(map[string]any); ref["sha256"] != journal.HashOf([]byte(long)) {
		t.Errorf("in JSON it is %.200v, no reference", o.Waiting[0].Input)
	}
	if err := json.Unmarshal([]byte(show("--json", "--full")), &o); err != nil || o.Waiting[0].Input != long {
		t.Errorf("with --full it is %.200v", o.Waiting[0].Input)
	}
}
