package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// transcript writes what the agents of a run say to Out: a line for each agent, followed by its
// text as it arrives (S4-31). The texts of agents that run at the same time follow each other: the
// one that began first is written as it arrives, the others when it has ended. Everything else is
// shown by the progress inside; on a terminal its lines wait for the end of the text that is being
// written.
type transcript struct {
	progress
	app *app

	mu      sync.Mutex
	names   board    // for titles of agents
	replies []*reply // in order of their first text, or, if done, of their end
	calls   map[string]*reply
	step    int           // whose header was written last
	agent   string        // and which agent it named
	open    bool          // a line of text has not been ended
	last    string        // the text that was written last; "" if it was cut off
	later   []event.Event // to be shown at the end of the text that is being written
	ended   bool          // nothing is shown any more but the result
	err     error         // the first write error; nothing is written after it
}

// reply is a model call whose text is being received.
type reply struct {
	step    int
	agent   string
	attempt int
	text    []byte
	written int
	done    bool
	cut     bool // the run ended before it did
}

func newTranscript(a *app) *transcript {
	t := &transcript{app: a, progress: newPlain(a), calls: map[string]*reply{}}
	if !a.OutTerminal && a.ErrTerminal && a.Env("TERM") != "dumb" {
		t.progress = newLive(a)
	}
	return t
}

func (t *transcript) name(w *workflow.Workflow) {
	t.names.name(w)
	t.progress.name(w)
}

func (t *transcript) event(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.later = append(t.later, e)
	switch d := e.Data.(type) {
	case *event.ModelCalled:
		if t.drop(d.Call); d.Compaction == nil {
			t.calls[d.Call] = &reply{step: e.Step, agent: clean(cmp.Or(t.names.agents[d.Agent], d.Agent)),
				attempt: d.Attempt}
		}
	case *event.ModelFailed:
		t.drop(d.Call)
	case *event.ModelReplied:
		r := t.calls[d.Call]
		delete(t.calls, d.Call)
		switch whole, err := replyText(d); {
		case r == nil:
		case err != nil || d.Late || d.Compaction:
			t.remove(r)
			t.err = cmp.Or(t.err, err)
		default:
			t.replied(r, whole)
		}
	}
	t.write()
	if writing := len(t.replies) > 0 && t.replies[0].written > 0; !writing || !t.app.OutTerminal {
		t.release()
	}
}

// replyText returns the text of a reply.
func replyText(d *event.ModelReplied) (s string, err error) {
	defer text.Recover(&err)
	return d.Message.Text.String(), nil
}

func (t *transcript) delta(d driver.Delta) {
	t.progress.delta(d)
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.calls[d.Call]
	if t.ended || r == nil || d.Text == "" || d.Attempt != r.attempt || d.Offset != len(r.text) {
		return // the reply has the rest
	}
	t.add(r, []byte(d.Text))
	t.write()
}

func (t *transcript) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.app.OutTerminal && !t.ended {
		t.endLine()
	}
	t.progress.say(text)
}

// add appends to the text of a reply.
func (t *transcript) add(r *reply, more []byte) {
	if len(r.text) == 0 {
		t.replies = append(t.replies, r)
	}
	r.text = append(r.text, more...)
}

// replied ends a reply with its whole text.
func (t *transcript) replied(r *reply, whole string) {
	if more, ok := bytes.CutPrefix([]byte(whole), r.text); ok {
		t.add(r, more)
	} else { // what was received is not how it ended
		t.remove(r)
		t.add(&reply{step: r.step, agent: r.agent, done: true}, []byte(whole))
		return
	}
	if r.done = true; whole == "" {
		t.remove(r)
	}
}

// drop gives up a call, which failed or is made again.
func (t *transcript) drop(call string) {
	if r := t.calls[call]; r != nil {
		t.remove(r)
		delete(t.calls, call)
	}
}

// remove takes a reply out of the list; what was written of it stays.
func (t *transcript) remove(r *reply) {
	if i := slices.Index(t.replies, r); i >= 0 {
		t.replies = slices.Delete(t.replies, i, i+1)
		if r.written > 0 {
			t.endText("")
		}
	}
}

// write writes what may be written now.
func (t *transcript) write() {
	for len(t.replies) > 0 {
		r := t.replies[0]
		if r.written == 0 && (r.step != t.step || r.agent != t.agent) {
			header := "--- Agent: " + r.agent + " ---\n"
			if t.step > 0 {
				header = "\n" + header
			}
			t.step, t.agent = r.step, r.agent
			t.print(header)
		}
		end := len(r.text)
		if !r.done {
			end -= partialRune(r.text[r.written:])
		}
		piece := string(r.text[r.written:end])
		if r.written = end; t.app.OutTerminal {
			piece = printable(piece)
		}
		t.print(piece)
		if !r.done {
			return
		}
		t.replies = t.replies[1:]
		if r.cut {
			t.endText("")
		} else {
			t.endText(string(r.text))
		}
	}
}

// partialRune returns the length of the incomplete UTF-8 encoding at the end of b.
func partialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// endText ends the text that is being written; whole is "" if it was cut off.
func (t *transcript) endText(whole string) {
	t.last = whole
	t.endLine()
	t.release()
}

func (t *transcript) print(piece string) {
	if piece == "" || t.err != nil {
		return
	}
	t.open = !strings.HasSuffix(piece, "\n")
	if _, err := fmt.Fprint(t.app.Out, piece); err != nil {
		t.err = fmt.Errorf("write output: %w", err)
	}
}

func (t *transcript) endLine() {
	if t.open {
		t.print("\n")
	}
}

// release shows the events that waited for the end of a text.
func (t *transcript) release() {
	for _, e := range t.later {
		t.progress.event(e)
	}
	t.later = nil
}

func (t *transcript) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.replies {
		r.cut, r.done = !r.done, true
	}
	t.write()
	t.release()
	t.ended = true
	t.progress.done()
}

// result writes the final output of a completed run, unless it is the text that was written last.
// It returns the first write error.
func (t *transcript) result(o project.Run) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	said, isJSON := event.JSONOf(t.last)
	shown := outputText(o.Output)
	if o.Status != event.StatusCompleted || shown == t.last || isJSON && bytes.Equal(said, o.Output) {
		return t.err
	}
	if t.step > 0 {
		shown = "\n" + shown
	}
	if t.app.OutTerminal {
		shown = printable(shown)
	}
	t.print(shown + "\n")
	return t.err
}
