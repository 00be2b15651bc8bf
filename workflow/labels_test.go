package workflow_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/workflow"
)

// many returns n labels whose keys begin with prefix.
func many(prefix string, n int) workflow.Labels {
	l := workflow.Labels{}
	for i := range n {
		l[fmt.Sprintf("%s%02d", prefix, i)] = "x"
	}
	return l
}

// TestLabelsCheck checks that users' labels and Hocket's labels are counted separately, each with
// its own limit.
func TestLabelsCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		labels workflow.Labels
		want   string // part of the error; "" means none
	}{
		"as many as possible": {many("k", workflow.MaxLabels), ""},
		"beside them as many of Hocket": {
			many("k", workflow.MaxLabels).With(many(workflow.OwnLabels, workflow.MaxOwnLabels)), "",
		},
		"one too many": {many("k", workflow.MaxLabels+1), "33 labels, at most 32 are possible"},
		"one too many, and some of Hocket": {many("k", workflow.MaxLabels+1).With(many(workflow.OwnLabels, 2)),
			"33 labels, at most 32 are possible"},
		"one too many of Hocket": {many(workflow.OwnLabels, workflow.MaxOwnLabels+1),
			"9 labels that begin with hocket/, at most 8 are possible"},
		"a key that is like that of Hocket": {many("hocket-", workflow.MaxLabels+1), "33 labels"},
		"nothing behind the prefix":         {workflow.Labels{workflow.OwnLabels: "x"}, "other characters"},
	} {
		if err := tt.labels.Check(); (err == nil) != (tt.want == "") || err != nil &&
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestLabels_ChildRun checks that a child run has the labels of its parent run, and as many of its
// own as there is room for, whatever labels Hocket sets on the parent run.
func TestLabels_ChildRun(t *testing.T) {
	t.Parallel()
	own := many(workflow.OwnLabels, 1)
	for name, tt := range map[string]struct{ labels, above, want workflow.Labels }{
		"nothing": {nil, nil, nil},
		"the run above wins": {workflow.Labels{"team": "sport", "tier": "1"}, workflow.Labels{"team": "news"},
			workflow.Labels{"team": "news", "tier": "1"}},
		"those of Hocket take none": {many("k", workflow.MaxLabels), own, many("k", workflow.MaxLabels).With(own)},
		"as many as there is room": {many("k", workflow.MaxLabels), own.With(workflow.Labels{"a": "x"}),
			many("k", workflow.MaxLabels-1).With(own).With(workflow.Labels{"a": "x"})},
		"no room for more of Hocket": {workflow.Labels{"hocket/z": "x", "z": "x"}, many(workflow.OwnLabels,
			workflow.MaxOwnLabels), many(workflow.OwnLabels, workflow.MaxOwnLabels).With(workflow.Labels{"z": "x"})},
	} {
		got := tt.labels.Below(tt.above)
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
