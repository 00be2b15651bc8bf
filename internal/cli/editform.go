package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/project"
)

// argumentsOf parses the value of --arguments: JSON, or the content of a file after an @. Errors
// are usage errors.
func argumentsOf(s string) (event.Value, error) {
	name := "--arguments"
	if path, ok := strings.CutPrefix(s, "@"); ok {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, usageErrorf("--arguments: %s", err)
		}
		s, name = strings.TrimPrefix(string(data), "\uFEFF"), path
	}
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &v); err != nil || v == nil {
		return nil, usageErrorf("%s: the arguments must be a JSON object", name)
	}
	return event.Value(strings.TrimSpace(s)), nil
}

// isEditable reports whether the answer to a wait may change the arguments of the held call.
func isEditable(w project.Waiting) bool {
	return (&event.WaitOpened{Kind: w.Kind, Tool: w.Tool, Schema: w.Schema}).IsEditable()
}

// edit asks the person at the terminal for the arguments of a held call: field by field, with the
// current values as defaults, or as JSON if the parameters have no fields. ok is false if the
// person postpones the answer.
func (f *follower) edit(w project.Waiting) (v event.Value, ok bool) {
	var held map[string]json.RawMessage
	if json.Unmarshal(w.Arguments, &held) != nil {
		held = nil
	}
	fields := form.Fields(w.Schema)
	if len(fields) == 0 || held == nil {
		fmt.Fprintln(f.Err, f.color.dim("the arguments as a JSON object, on one line; press Enter to answer later"))
		fmt.Fprint(f.Err, f.color.bold("> "))
		text, err := f.readLine()
		return event.Value(strings.TrimSpace(text)), err == nil && strings.TrimSpace(text) != ""
	}
	for i := range fields {
		x := &fields[i]
		x.Default, x.File = held[x.Name], nil // exactly what the tool would receive
		x.Required = x.Required && x.Default == nil
	}
	given := map[string]json.RawMessage{}
	if _, err := f.askFields(fields, given); err != nil {
		return nil, false
	}
	for name, value := range held {
		if _, asked := given[name]; !asked {
			given[name] = value // includes values that the parameters do not declare
		}
	}
	return encoded(given), true
}
