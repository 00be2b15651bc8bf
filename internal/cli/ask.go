package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// readLine reads one line from the terminal; ctx ends the waiting.
func (a *app) readLine(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // it ends with the process where nobody types any more
		text, err := bufio.NewReader(a.In).ReadString('\n')
		got <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case g := <-got:
		if g.err != nil && (g.text == "" || !errors.Is(g.err, io.EOF)) {
			return "", g.err
		}
		return strings.TrimRight(g.text, "\r\n"), nil
	}
}

func (a *app) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	text, err := a.readLine(ctx)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// ask puts the open waits of a paused run to the person at the terminal, the oldest first. It tells whether one was answered; an empty line leaves
// the run paused.
func (f *follower) ask(ctx context.Context, run string) (bool, error) {
	o, err := f.service.Show(ctx, run)
	if err != nil || len(o.Waiting) == 0 {
		return false, err
	}
	w := o.Waiting[0]
	f.progress.hide()
	fmt.Fprintf(f.Err, "\n%s\n", f.color.bold(fmt.Sprintf("%s at %s", w.Kind, clean(w.Node))))
	if w.Prompt != "" {
		fmt.Fprintf(f.Err, "%s\n", printable(w.Prompt))
	}
	if w.Kind == workflow.WaitApproval {
		for _, st := range o.Steps {
			if st.Node == w.Node && st.Status == "waiting" && len(st.Input) > 0 {
				fmt.Fprintf(f.Err, "%s\n%s\n", f.color.dim("to approve:"), printable(outputText(st.Input)))
			}
		}
		fmt.Fprint(f.Err, "approve or reject, with a note after a colon if you like (empty: leave it for later): ")
	} else {
		if len(w.Options) > 0 {
			fmt.Fprintf(f.Err, "options: %s\n", strings.Join(w.Options, ", "))
		}
		fmt.Fprint(f.Err, "answer (empty: leave it for later): ")
	}
	text, err := f.readLine(ctx)
	if errors.Is(err, io.EOF) || (err == nil && strings.TrimSpace(text) == "") {
		fmt.Fprintln(f.Err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	q := service.AnswerRequest{Wait: w.ID, Value: expr.Quote(text)}
	if w.Kind == workflow.WaitApproval {
		word, note, _ := strings.Cut(text, ":")
		q.Value, q.Note = expr.Quote(strings.TrimSpace(word)), strings.TrimSpace(note)
	}
	err = f.service.Answer(ctx, run, q)
	if errors.Is(err, engine.ErrAnswer) {
		fmt.Fprintf(f.Err, "%v\n", err)
		return true, nil
	}
	return err == nil, err
}

// printable keeps line ends and takes control characters out of text from models.
func printable(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// textOrJSON reads an answer from a flag: JSON where it begins like an object, a list or a JSON string and is valid, else text.
func textOrJSON(s string) engine.Value {
	t := strings.TrimSpace(s)
	if t != "" && strings.ContainsRune(`{["`, rune(t[0])) && json.Valid([]byte(t)) {
		return engine.Value(t)
	}
	return expr.Quote(s)
}
