package inputs

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

const codeBadLabel = "bad-label"

// Labels reads `labels`. Anything that it reports is left out.
func Labels(n *source.Node, report Report) workflow.Labels {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.Map {
		report.Errorf(n.Span, n.Path(), codeWrongType, "labels must be a map of keys to values, got %s",
			n.Kind).Hint = "for example `labels: {team: news}`"
		return nil
	}
	if len(n.Entries) > workflow.MaxLabels {
		report.Errorf(n.Span, n.Path(), codeBadLabel, "there are %d labels; the limit is %d", len(n.Entries),
			workflow.MaxLabels)
		return nil
	}
	out := workflow.Labels{}
	for _, e := range n.Entries {
		if err := workflow.CheckLabelKey(e.Key); err != nil {
			report.Errorf(e.KeySpan, e.Value.Path(), codeBadLabel, "%s", err)
			continue
		}
		if workflow.IsOwnLabel(e.Key) {
			report.Errorf(e.KeySpan, e.Value.Path(), codeBadLabel,
				"label key %q is reserved: keys that begin with %s are for Hocket", e.Key, workflow.OwnLabels).
				Hint = "choose another key"
			continue
		}
		value := ""
		switch {
		case e.Value.IsNull():
		case e.Value.IsScalar():
			value = e.Value.Text
		default:
			report.Errorf(e.Value.Span, e.Value.Path(), codeWrongType, "the value of label %s must be a text, got %s",
				e.Key, e.Value.Kind)
			continue
		}
		if err := workflow.CheckLabelValue(e.Key, value); err != nil {
			report.Errorf(e.Value.Span, e.Value.Path(), codeBadLabel, "%s", err)
			continue
		}
		out[e.Key] = value
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// LabelsForm returns the schema of the key `labels`, for editors.
func LabelsForm() part.Object {
	return part.With(part.Object{
		"type": []string{"object", "null"}, "maxProperties": workflow.MaxLabels,
		"propertyNames": part.Object{"pattern": "^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$",
			"not": part.Object{"pattern": "^" + workflow.OwnLabels}},
		"additionalProperties": part.Object{"type": []string{"string", "number", "boolean", "null"},
			"maxLength": workflow.MaxLabelValue},
	}, "labels of each run of the workflow, by which runs are found")
}
