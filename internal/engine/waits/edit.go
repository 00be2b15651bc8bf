package waits

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/workflow"
)

// MaxArguments bounds the arguments of an answer, in bytes.
const MaxArguments = 1 << 20

// edited gives the arguments to which an answer changes those of the held call, in canonical form; nil where it names none, or the same. They must fit the schema of the wait.
func (w *Wait) edited(arguments event.Value, decision string) (event.Value, error) {
	switch {
	case len(bytes.TrimSpace(arguments)) == 0:
		return nil, nil
	case w.Binding == "":
		return nil, fmt.Errorf("%w: wait %s is about no tool call; it has no arguments", ErrAnswer, w.Wait)
	case !w.IsEditable():
		return nil, fmt.Errorf("%w: the arguments of this call of tool %s cannot be changed; the permissions would have to name it under `edit`", ErrAnswer, w.Tool)
	case decision != workflow.PortApprove:
		return nil, fmt.Errorf("%w: a call that is rejected takes no arguments", ErrAnswer)
	case len(arguments) > MaxArguments:
		return nil, fmt.Errorf("%w: the arguments have %d bytes; the limit is %d", ErrAnswer, len(arguments), MaxArguments)
	case !json.Valid(arguments):
		return nil, fmt.Errorf("%w: the arguments are not JSON", ErrAnswer)
	}
	fitted, problems := form.Arguments(w.Schema, arguments)
	if w.Below != nil { // the run that asks has judged them
		problems = nil
		fitted = arguments
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: the arguments do not match the parameters of tool %s: %s", ErrAnswer, w.Tool, form.Describe(problems))
	}
	out := canonical(fitted)
	if bytes.Equal(out, w.Arguments) {
		return nil, nil
	}
	return out, nil
}

// canonical gives JSON in its one form, that of the arguments of held calls: keys sorted, no blanks, numbers as they are written.
func canonical(v json.RawMessage) event.Value {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if dec.Decode(&x) != nil {
		return v
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(x) != nil {
		return v
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
