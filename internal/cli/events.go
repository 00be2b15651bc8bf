package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// eventPrinter prints the events of a run on Out, one JSON line each, in the same form as everywhere. Every event goes through it once and in order,
// by print or by skip. Not safe for concurrent use.
type eventPrinter struct {
	*app
	run    string
	folder *project.Folder
	short  bool // short lines for people
	// err is the first failure of writing; nothing is written after it.
	err error
}

func newEventPrinter(a *app, run string, w *workflow.Workflow) *eventPrinter {
	p := &eventPrinter{app: a, run: run, folder: project.NewFolder(run, w)}
	p.folder.Forget(project.Keep{})
	return p
}

func (p *eventPrinter) skip(e engine.Event) { p.folder.Add(e) }

func (p *eventPrinter) print(e engine.Event) {
	line, err := journal.MarshalEvent(p.run, p.folder.Expand(e))
	p.folder.Add(e)
	if p.err == nil {
		p.err = err
	}
	switch {
	case p.short:
		line = shortEvent(e, line)
	case p.OutTerminal:
		line = harmless(line)
	}
	if p.err == nil {
		_, p.err = p.Out.Write(append(line, '\n'))
	}
}

// maxEventText bounds what is shown to people of an event's data.
const maxEventText = 100

// shortEvent is a line for people: number, time, type, node with step, and the beginning of what the event holds.
func shortEvent(e engine.Event, whole []byte) []byte {
	var shown struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(whole, &shown) != nil {
		return harmless(whole)
	}
	node := clean(e.Node)
	if e.Step > 0 {
		node += fmt.Sprintf("#%d", e.Step)
	}
	return fmt.Appendf(nil, "%4d  %s  %-17s  %-20s  %s", e.Seq, e.At.Local().Format("15:04:05.000"), e.Data.Type(), node, short(clean(string(shown.Data)), maxEventText))
}

// outputText is an output as people want it: a text as it is, anything else as JSON.
func outputText(v engine.Value) string { return expr.Text(v) }

func indent(v []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return v
	}
	return b.Bytes()
}

// harmless escapes in JSON what could upset a terminal; the value stays the same.
func harmless(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r == '\n' || !isUnsafe(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// writeJSON writes v as one line of JSON; indented and harmless for people at a terminal.
func writeJSON(w io.Writer, v any, pretty bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if pretty {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	text := b.Bytes()
	if pretty {
		text = harmless(text)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
