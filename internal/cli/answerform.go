package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// fieldsOf returns the fields of a question, or nil if the answer is a single value, or a value
// that fields cannot express.
func fieldsOf(w project.Waiting) []form.Field {
	if w.Kind != workflow.WaitQuestion {
		return nil
	}
	return form.AnswerFields(w.Schema)
}

// fieldsText describes fields, one per line: `days (Days): a whole number, 3 by default`.
func fieldsText(fields []form.Field) string {
	var lines []string
	for i := range fields {
		f := &fields[i]
		line := f.Name
		if f.Title != "" && f.Title != f.Name {
			line += " (" + f.Title + ")"
		}
		line += ": " + f.Kind()
		switch {
		case f.Default != nil:
			line += ", " + outputText(f.Default) + " by default"
		case !f.Required:
			line += ", optional"
		}
		if f.Description != "" {
			line += "; " + f.Description
		}
		lines = append(lines, short(escapedLine(line), maxPrompt))
	}
	return strings.Join(lines, "\n")
}

// setFlags returns the required flags for answering a question with fields.
func setFlags(fields []form.Field) string {
	var flags strings.Builder
	for i := range fields {
		if f := &fields[i]; f.Required {
			flags.WriteString(" --set " + quote(f.Name) + "=VALUE")
		}
	}
	if flags.Len() == 0 {
		return " --set NAME=VALUE"
	}
	return flags.String()
}

// answer returns the answer that the flags contain for a question with fields. Errors are usage
// errors.
func (f *inputFlags) answer(w service.Asked) (event.Value, error) {
	fields := form.Fields(w.Schema)
	if w.Kind != workflow.WaitQuestion || len(fields) == 0 {
		return nil, usageErrorf("wait %s takes no fields; use --input, --approve or --reject in place of --set", w.Wait)
	}
	return f.values(func(name, path string) (json.RawMessage, error) {
		v, err := fileInput(path)
		if i := slices.IndexFunc(fields, func(x form.Field) bool { return x.Name == name }); err != nil || i < 0 ||
			fields[i].Type != "string" {
			return v, err
		}
		var file form.File
		if err := json.Unmarshal(v, &file); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if file.Text == nil {
			return nil, fmt.Errorf("%s is no text, which the field takes", path)
		}
		return encoded(*file.Text), nil
	})
}

// askFor asks the person at the terminal for the fields of a question. ok is false if the person
// postpones the answer.
func (f *follower) askFor(fields []form.Field) (v event.Value, ok bool) {
	all := map[string]json.RawMessage{}
	if _, err := f.askFields(fields, all); err != nil {
		return nil, false
	}
	return encoded(all), true
}
