package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// eventPrinter prints the events of a run on Out, one JSON line each, in the form that all
// interfaces share. Every event must pass through it once and in order, with print or skip. It is
// not safe for concurrent use.
type eventPrinter struct {
	*app
	run    string
	folder *project.Folder
	short  bool // short lines for people
	// err is the first write error; nothing is written after it.
	err error
}

func newEventPrinter(a *app, run string, w *workflow.Workflow) *eventPrinter {
	p := &eventPrinter{app: a, run: run, folder: project.NewFolder(run, w)}
	p.folder.Forget(project.Keep{})
	return p
}

func (p *eventPrinter) skip(e event.Event) { p.folder.Add(e) }

func (p *eventPrinter) print(e event.Event) {
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

// maxEventText is the maximum length of an event's data shown to people.
const maxEventText = 100

// shortEvent returns a line for people: number, time, type, node with step, and the beginning of
// the event's data.
func shortEvent(e event.Event, whole []byte) []byte {
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
	return fmt.Appendf(nil, "%4d  %s  %-17s  %-20s  %s", e.Seq, e.At.Local().Format("15:04:05.000"), e.Data.Type(),
		node, short(clean(string(shown.Data)), maxEventText))
}

// outputText returns an output for people: a string as is, any other value as JSON.
func outputText(v event.Value) string { return expr.Text(v) }

func indent(v []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return v
	}
	return b.Bytes()
}

// harmless escapes characters in JSON that could corrupt a terminal; the value does not change.
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

// writeJSON writes v as one line of JSON, or indented and harmless for people at a terminal.
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
