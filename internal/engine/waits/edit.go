package waits

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/workflow"
)

// MaxArguments is the maximum size of an answer's arguments in bytes.
const MaxArguments = 1 << 20

// editedArguments returns the arguments with which an answer replaces those of the held call, in
// canonical form; nil if it has none or they are the same. They must match the schema of the wait
//
func (w *Wait) editedArguments(arguments event.Value, decision string) (event.Value, error) {
	switch {
	case len(bytes.TrimSpace(arguments)) == 0:
		return nil, nil
	case w.Binding == "":
		return nil, fmt.Errorf("%w: wait %s is about no tool call; it has no arguments", ErrAnswer, w.Wait)
	case !w.IsEditable():
		return nil,
			fmt.Errorf("%w: the arguments of this call of tool %s cannot be changed; the permissions would have to "+
				"name it under `edit`", ErrAnswer, w.Tool)
	case decision != workflow.PortApprove:
		return nil, fmt.Errorf("%w: a call that is rejected takes no arguments", ErrAnswer)
	case len(arguments) > MaxArguments:
		return nil, fmt.Errorf("%w: the arguments have %d bytes; the limit is %d", ErrAnswer, len(arguments),
			MaxArguments)
	case !json.Valid(arguments):
		return nil, fmt.Errorf("%w: the arguments are not JSON", ErrAnswer)
	}
	fitted, problems := form.Arguments(w.Schema, arguments)
	if w.Below != nil { // already checked by the run that asks
		problems = nil
		fitted = arguments
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: the arguments do not match the parameters of tool %s: %s", ErrAnswer, w.Tool,
			form.Describe(problems))
	}
	out := canonical(fitted)
	if bytes.Equal(out, w.Arguments) {
		return nil, nil
	}
	return out, nil
}

// canonical returns JSON in canonical form, as used for the arguments of held calls: keys sorted,
// no white space, numbers as they are written.
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
