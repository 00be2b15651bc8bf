package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
)

// PreviousOutput is replaced by the step's input in prompts and arguments (S0-11).
const PreviousOutput = "{{PREVIOUS_OUTPUT}}"

// ArgText is a string of a tool node's arguments: templates with the previous output between them.
type ArgText []*expr.Template

// compileArgs reads a tool node's arguments: JSON whose strings are templates, each by itself, so that an output can never change its shape.
func compileArgs(raw json.RawMessage, opts expr.Options) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers stay as they are written
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return compileArg(v, opts)
}

func compileArg(v any, opts expr.Options) (out any, err error) {
	switch x := v.(type) {
	case string:
		text := ArgText{}
		for part := range strings.SplitSeq(x, PreviousOutput) {
			t, problems := expr.ParseTemplate(part, opts)
			if p := expr.Refusal(problems); p != nil {
				return nil, fmt.Errorf("arguments: %s", p.Message)
			}
			text = append(text, t)
		}
		return text, nil
	case []any:
		for i := range x {
			if x[i], err = compileArg(x[i], opts); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if x[k], err = compileArg(x[k], opts); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
