package inputs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

const codeBadConcurrency = "bad-concurrency"

// ConcurrencyKeys are the keys of `concurrency`.
var ConcurrencyKeys = []string{"key", "max", "if_busy"}

// Concurrency reads `concurrency`. Anything that it reports is left out. A number alone is
// max.
func Concurrency(n *source.Node, report Report) *workflow.Concurrency {
	if n.IsNull() {
		return nil
	}
	c := &workflow.Concurrency{}
	ok := true
	wrong := func(at *source.Node, code, format string, args ...any) {
		ok = false
		report.Errorf(at.Span, at.Path(), code, "concurrency: "+format,
			args...).Hint = "for example `concurrency: {key: \"{{ $input.customer }}\", max: 1, if_busy: queue}`"
	}
	limit := func(at *source.Node) {
		most, err := strconv.Atoi(at.Text)
		if !at.IsScalar() || err != nil || most < 1 || most > workflow.MaxConcurrentRuns {
			wrong(at, codeBadConcurrency, "max must be a number from 1 to %d", workflow.MaxConcurrentRuns)
		}
		c.Max = most
	}
	if n.IsScalar() {
		limit(n)
	} else if n.Kind != source.Map {
		wrong(n, codeWrongType, "it must be a map or a number, got %s", n.Kind)
	}
	for _, e := range n.Entries {
		if !slices.Contains(ConcurrencyKeys, e.Key) {
			ok = false
			report.Errorf(e.KeySpan, e.Value.Path(), codeUnknownKey, "concurrency: unknown key %q",
				e.Key).Hint = "it has " + strings.Join(ConcurrencyKeys, ", ")
			continue
		}
		if e.Value.IsNull() {
			continue
		}
		switch e.Key {
		case "max":
			limit(e.Value)
		case "key":
			c.Key = e.Value.Text
			readKey(e.Value, wrong)
		default:
			if c.IfBusy = e.Value.Text; !e.Value.IsScalar() || !slices.Contains(workflow.BusyWords(), c.IfBusy) {
				wrong(e.Value, codeBadConcurrency, "if_busy must be queue, skip or cancel")
			}
		}
	}
	if !ok {
		return nil
	}
	return c
}

// readKey reports problems with a key.
func readKey(n *source.Node, wrong func(at *source.Node, code, format string, args ...any)) {
	if !n.IsScalar() {
		wrong(n, codeWrongType, "key must be a text, got %s", n.Kind)
		return
	}
	if len(n.Text) > workflow.MaxConcurrencyKey {
		wrong(n, codeBadConcurrency, "the key has %d bytes, at most %d are possible", len(n.Text),
			workflow.MaxConcurrencyKey)
		return
	}
	t, problems := expr.ParseInputText(n.Text, celexpr.Compiler{})
	for _, p := range problems {
		wrong(n, p.Code, "key: %s", p.Message)
	}
	if text, literal := t.Literal(); literal && len(problems) == 0 && strings.Contains(text, "$"+expr.VarInput) {
		wrong(n, codeBadConcurrency, "the key has no expression: write it between {{ and }}")
	}
}

// ConcurrencyDoc is the JSON form of `concurrency` in documents.
type ConcurrencyDoc struct {
	Key    string `json:"key,omitempty"`
	Max    int    `json:"max,omitempty"`
	IfBusy string `json:"if_busy,omitempty"`
}

// WriteConcurrency returns `concurrency` for a document; nil means to write nothing.
func WriteConcurrency(c *workflow.Concurrency) *ConcurrencyDoc {
	if c == nil {
		return nil
	}
	return &ConcurrencyDoc{c.Key, c.Runs(), c.IfBusy}
}

// ConcurrencyForm returns the schema of the key `concurrency`, for editors.
func ConcurrencyForm() part.Object {
	most := part.Object{"type": []string{"integer", "null"}, "minimum": 1, "maximum": workflow.MaxConcurrentRuns}
	return part.With(part.Object{
		"type": []string{"object", "integer", "null"}, "minimum": 1, "maximum": workflow.MaxConcurrentRuns,
		"additionalProperties": false,
		"properties": part.Object{
			"key": part.With(part.Object{"type": []string{"string", "number", "boolean", "null"},
				"maxLength": workflow.MaxConcurrencyKey, part.KeyExpressions: part.ExpressionInput},
				"runs for which this text is the same count together; {{ … }} in it are expressions over $input. "+
					"Without it all runs of the workflow do"),
			"max": part.With(most, "how many of them run at once; 1 without it"),
			"if_busy": part.With(part.Object{"enum": []any{workflow.BusyQueue, workflow.BusySkip, workflow.BusyCancel,
				nil}}, "how another one is handled: it waits for its turn (queue, the default), is not started "+
				"(skip), or the oldest is cancelled (cancel)"),
		},
	}, "how many runs run at once")
}
