package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// compileTexts parses a node's condition, values and texts.
func (n *Node) compileTexts(opts expr.Options) (err error) {
	if n.Node.If != nil {
		if n.If, err = compileCondition(n.Node.If, opts); err != nil {
			return err
		}
	}
	if c := n.Catch; c != nil {
		if n.Default, err = compileValue("default", c.Default, opts); err != nil {
			return err
		}
	}
	switch n.Kind {
	case workflow.KindAgent:
		if p := n.Agent.Prompt; p.Expressions {
			n.Text, err = compileText("prompt", p.Text, opts)
		}
	case workflow.KindTool:
		n.Value, err = compileValue("arguments", n.Tool.Args, opts)
	case workflow.KindSet:
		n.Value, err = compileValue("value", n.Set.Value, opts)
	case workflow.KindMap:
		n.Value, err = compileValue("over", n.Map.Over, opts)
	case workflow.KindSleep:
		n.Text, err = compileText("sleep", n.Sleep.For+n.Sleep.Until, opts)
	case workflow.KindEnd:
		if e := n.End; e != nil {
			if n.Text, err = compileText("message", e.Message, opts); err == nil {
				n.Value, err = compileValue("output", e.Output, opts)
			}
		}
	case workflow.KindWait:
		if w := n.Wait; w.Template {
			if n.Text, err = compileText("prompt", w.Prompt, opts); err != nil {
				return err
			}
		}
		if n.Value, err = compileValue("default", n.Wait.Default, opts); err == nil &&
			n.Wait.Kind == workflow.WaitSignal {
			err = n.compileSignal(opts)
		}
	}
	return err
}

// compileSignal parses the filter and the schema of a wait for a signal.
func (n *Node) compileSignal(opts expr.Options) (err error) {
	opts.Vars = append(slices.Clone(opts.Vars), expr.VarSignal)
	if n.Wait.Filter != nil {
		if n.Filter, err = compileCondition(n.Wait.Filter, opts); err != nil {
			return fmt.Errorf("filter: %w", err)
		}
	}
	if len(n.Wait.Schema) > 0 {
		if n.Schema, err = schema.Compile(n.Wait.Schema); err != nil {
			return fmt.Errorf("schema of the signal: %w", err)
		}
	}
	return nil
}

// compileValue parses a value; it returns nil if there is none.
func compileValue(what string, raw json.RawMessage, opts expr.Options) (*expr.Value, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, problems, err := expr.ParseValue(raw, opts)
	if p := expr.Refusal(problems); p != nil {
		return nil, fmt.Errorf("%s: %s", what, p.Message)
	}
	return v, err
}

// compileText parses a text; it returns nil if the text is empty.
func compileText(what, text string, opts expr.Options) (*expr.Interpolation, error) {
	if text == "" {
		return nil, nil
	}
	t, problems := expr.ParseInterpolation(text, opts)
	if p := expr.Refusal(problems); p != nil {
		return nil, fmt.Errorf("%s: %s", what, p.Message)
	}
	return t, nil
}

// compileOutput parses the workflow's output definition and its schema.
func (f *Flow) compileOutput(opts expr.Options) (err error) {
	if f.Output, err = compileValue("output", f.Workflow.Output, opts); err != nil ||
		len(f.Workflow.OutputSchema) == 0 {
		return err
	}
	if f.OutputSchema, err = schema.Compile(f.Workflow.OutputSchema); err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	return nil
}
