package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	codes "github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// TestLimits checks that the table of limits has the actual numbers, codes and keys (SEC17).
func TestLimits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, keys := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		rows[strings.TrimSpace(cells[1])] = strings.Join(cells[2:4], "|")
		for key := range strings.SplitSeq(cells[4], "`") {
			if strings.Contains(key, ".") {
				keys[key] = true
			}
		}
	}
	known := map[string]bool{}
	for _, key := range config.Keys() {
		known[key] = true
	}
	for key := range keys {
		if !known[key] {
			t.Errorf("hocket.yaml has no %s", key)
		}
	}
	if len(keys) < 9 {
		t.Errorf("the table names %d keys of hocket.yaml", len(keys))
	}
	for name, want := range map[string][]any{
		"assembled prompt, system prompt or arguments of a tool step": {prompt.MaxBytes, event.CodeValueTooLarge},
		"value that a step or the run makes: `values`, `over`, `output`, a default": {codes.MaxValueBytes,
			event.CodeValueTooLarge},
		"all expressions of one value": {expr.MaxValueCost, event.CodeExpression},
		"value of a signal":            {waits.MaxSignalBytes, errcode.SignalRefused},
		"signals that a run keeps because no step has taken them": {waits.MaxKept, waits.MaxKeptBytes,
			errcode.SignalsFull},
		"input of a run": {service.DefaultMaxInput, "`invalid`"},
		"runs of a namespace that have not ended": {service.DefaultMaxRuns, "`limit`"},
		"document": {source.DefaultMaxBytes, source.CodeTooLarge},
		"lists and maps inside one another in a document, aliases expanded": {source.DefaultMaxDepth,
			source.CodeTooDeep},
		"texts and keys of a document, aliases expanded":      {source.DefaultMaxBytes, source.CodeTooLarge},
		"toolsets of a steps document, each where it is used": {source.DefaultMaxBytes, source.CodeTooLarge},
		"patterns of permissions of all agents, those of the document once for each agent": {source.DefaultMaxValues,
			source.CodeTooManyValues},
		"values of a document, aliases expanded": {source.DefaultMaxValues,
			source.CodeTooManyValues},
		"steps inside one another in a steps document, parallel blocks and conditions alike": {steps.MaxDepth,
			steps.CodeTooDeep},
		"parallel blocks inside one another in a Go graph": {workflow.MaxBlockDepth,
			"blocks-too-deep"},
		"sub-flows inside one another": {workflow.MaxFlowDepth},
		"condition": {expr.MaxConditionBytes,
			expr.MaxNesting, expr.MaxCost, event.CodeCondition},
		"value that a schema is asked about": {schema.MaxValueBytes,
			schema.MaxDepth, schema.MaxWork},
		"reply of a model": {
			driver.DefaultMaxReplyBytes, driver.CodeMaxReplyBytes,
		},
		"tool calls in a reply": {
			driver.DefaultMaxReplyCalls, driver.CodeMaxReplyCalls,
		},
		"steps of a run, branches of forks too": {workflow.DefaultMaxSteps,
			event.CodeMaxSteps},
		"steps of a run with maps": {
			workflow.DefaultItemSteps, event.CodeMaxSteps,
		},
		"items of a map": {workflow.MaxItems,
			event.CodeMaxItems},
		"items of a map at work": {
			workflow.DefaultMapConcurrency,
		},
		"passes of a loop": {
			workflow.DefaultMaxLoopIterations, event.CodeMaxLoopIterations,
		},
		"turns of an agent": {workflow.DefaultMaxTurns,
			event.CodeMaxTurns},
		"size of a run": {service.DefaultMaxBytes,
			event.CodeMaxBytes},
	} {
		row, ok := rows[name]
		if !ok {
			t.Errorf("the table has no %q", name)
		}
		for _, w := range want {
			if !strings.Contains(row, fmt.Sprint(w)) {
				t.Errorf("%s: %s does not say %v", name, row, w)
			}
		}
	}
}
