package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// readLine reads one line from the terminal.
func (a *app) readLine() (string, error) {
	text, err := a.lines.ReadString('\n')
	if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
		fmt.Fprintln(a.Err) // further output starts on a new line
		return "", err
	}
	return strings.TrimRight(text, "\r\n"), nil
}

func (a *app) yes(question string) (bool, error) {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	text, err := a.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// ask presents the open waits of a paused run to the person at the terminal, oldest first. It
// reports whether one was answered, here or elsewhere; an empty line leaves the run paused.
func (f *follower) ask(ctx context.Context) (bool, error) {
	rec, err := f.sync(ctx)
	if err != nil {
		return false, err
	}
	o := rec.Object()
	if len(o.Waiting) == 0 {
		return o.Status == event.StatusPaused, nil
	}
	at := slices.IndexFunc(o.Waiting, func(w project.Waiting) bool { return w.Kind != workflow.WaitSignal })
	if at < 0 {
		return false, nil // a person cannot answer signals
	}
	w := o.Waiting[at]
	f.progress.hide()
	f.printQuestion(o, w)
	for {
		q, ok, err := f.readAnswer(w)
		if err != nil || !ok {
			return false, err
		}
		err = f.audited(ctx, f.service, answerRecord(f.run, w.ID), func(*access.Record) error {
			return f.service.Answer(ctx, f.run, q)
		})
		switch {
		case errors.Is(err, waits.ErrAnswer):
			fmt.Fprintln(f.Err, printable(err.Error()))
			continue
		case errors.Is(err, waits.ErrAnswered), errors.Is(err, waits.ErrClosed):
			fmt.Fprintln(f.Err, "another client has answered it in the meantime")
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return true, f.stored(ctx)
	}
}

// readAnswer reads the answer to a wait from the terminal; ok is false if the person postpones the
// answer.
func (f *follower) readAnswer(w project.Waiting) (q service.AnswerRequest, ok bool, err error) {
	q = service.AnswerRequest{Wait: w.ID, By: localActor}
	if fields := fieldsOf(w); len(fields) > 0 {
		q.Value, ok = f.askFor(fields)
		return q, ok, nil
	}
	fmt.Fprint(f.Err, f.color.bold("> "))
	text, err := f.readLine()
	if errors.Is(err, io.EOF) || (err == nil && strings.TrimSpace(text) == "") {
		return q, false, nil
	}
	q.Value = expr.Quote(strings.TrimSpace(text))
	if w.Kind == workflow.WaitApproval {
		word, note, _ := strings.Cut(text, ":")
		if isEditable(w) && strings.EqualFold(strings.TrimSpace(word), "edit") {
			word = workflow.PortApprove
			if q.Arguments, ok = f.edit(w); !ok {
				return q, false, nil
			}
		}
		q.Value, q.Note = expr.Quote(strings.TrimSpace(word)), strings.TrimSpace(note)
	}
	return q, err == nil, err
}

// printQuestion prints a question with everything that a person needs to answer it: the actual
// content to approve, not a summary (SEC12).
func (f *follower) printQuestion(o project.Run, w project.Waiting) {
	fmt.Fprintf(f.Err, "\n%s\n", f.color.bold(fmt.Sprintf("%s at %s", w.Kind, clean(w.Node))))
	if len(o.Waiting) > 1 {
		fmt.Fprintln(f.Err, f.color.dim(fmt.Sprintf("the oldest of %d", len(o.Waiting))))
	}
	if w.Prompt != "" {
		fmt.Fprintln(f.Err, escaped(w.Prompt))
	}
	if text := toApprove(w); text != "" {
		fmt.Fprintf(f.Err, "%s\n%s\n", f.color.dim("to approve:"), text)
	}
	switch {
	case isEditable(w):
		fmt.Fprintln(f.Err,
			f.color.dim("approve, edit or reject? edit asks for the arguments and approves them; add a note after a "+
				"colon, or press Enter to answer later"))
	case w.Kind == workflow.WaitApproval:
		fmt.Fprintln(f.Err, f.color.dim("approve or reject? add a note after a colon, or press Enter to answer later"))
	case len(fieldsOf(w)) > 0:
		fmt.Fprintln(f.Err, f.color.dim("a form; press Ctrl-D to answer later"))
	case len(w.Schema) > 0 && len(w.Options) == 0:
		fmt.Fprintln(f.Err,
			f.color.dim("an answer that matches "+escaped(string(w.Schema))+"; press Enter to answer later"))
	case len(w.Options) > 0:
		fmt.Fprintln(f.Err,
			f.color.dim("one of "+clean(escaped(strings.Join(w.Options, ", ")))+"; press Enter to answer later"))
	default:
		fmt.Fprintln(f.Err, f.color.dim("press Enter to answer later"))
	}
}

// toApprove returns the subject of an approval: the call that would be made, with its exact
// arguments, or the input of the waiting node.
func toApprove(w project.Waiting) string {
	switch {
	case w.Kind != workflow.WaitApproval:
		return ""
	case w.Tool != "":
		return clean(escaped(w.Tool)) + " " + escaped(indented(w.Arguments))
	}
	return escaped(outputText(w.Input))
}

// indented formats JSON over several lines.
func indented(v event.Value) string {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return b.String()
}

// escaped writes characters that a terminal must not receive or would not show as JSON escapes, so
// that a person who approves sees everything (SEC12). Line breaks and tabs are kept.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r != '\n' && r != '\t' && (isUnsafe(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapedLine is escaped for a single line.
func escapedLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(escaped(text))
}

// textOrJSON parses an answer from a flag: as JSON if it starts like an object, a list or a JSON
// string and is valid, otherwise as text.
func textOrJSON(s string) event.Value {
	t := strings.TrimSpace(s)
	if t != "" && strings.ContainsRune(`{["`, rune(t[0])) && json.Valid([]byte(t)) {
		return event.Value(t)
	}
	return expr.Quote(s)
}

// contextReader reads from r until ctx is done: a terminal or pipe that blocks must not keep Ctrl-C
// from working. An abandoned read ends with the process.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader. It also returns the error of ctx.
func (p *contextReader) Read(into []byte) (int, error) {
	type chunk struct {
		data []byte
		err  error
	}
	got := make(chan chunk, 1)
	go func() {
		data := make([]byte, min(len(into), 64<<10))
		n, err := p.r.Read(data)
		got <- chunk{data[:n], err}
	}()
	select {
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	case c := <-got:
		return copy(into, c.data), c.err
	}
}
