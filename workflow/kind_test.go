package workflow_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// TestKinds checks that validation knows each kind, and that each settings field of a node belongs
// to exactly one kind.
func TestKinds(t *testing.T) {
	t.Parallel()
	code := func(n workflow.Node, code string) bool {
		n.ID = "n"
		problems := workflow.Validate(&workflow.Workflow{Entry: "n", Nodes: []workflow.Node{n}})
		return slices.ContainsFunc(problems, func(d diag.Diagnostic) bool { return d.Code == code })
	}
	settings := 0
	node := reflect.TypeFor[workflow.Node]()
	for _, k := range workflow.Kinds() {
		if code(workflow.Node{Kind: k}, "unknown-kind") {
			t.Errorf("kind %q is unknown to validation", k)
		}
		if code(workflow.Node{Kind: k}, "missing-spec") {
			settings++
		}
	}
	if !code(workflow.Node{Kind: "rest"}, "unknown-kind") {
		t.Error("kind rest is known")
	}
	fields := 0
	for i := range node.NumField() {
		f := node.Field(i)
		// shared by several kinds, or optional for one
		if slices.Contains([]string{"Retry", "Budget", "If", "Catch", "End"}, f.Name) ||
			f.Type.Kind() != reflect.Pointer {
			continue
		}
		fields++
		n := workflow.Node{Kind: workflow.KindEnd}
		reflect.ValueOf(&n).Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		if !code(n, "foreign-spec") {
			t.Errorf("a node of kind end may hold %s", f.Name)
		}
	}
	if settings != fields {
		t.Errorf("%d kinds have settings, and nodes have %d fields for them", settings, fields)
	}
}

// TestWordsOfKinds checks that the names shown to people depend only on the format of the document.
func TestWordsOfKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind                           workflow.Kind
		steps, canvas, routes, program string
	}{
		{workflow.KindDecide, "condition", "if", "condition", "decision"},
		{workflow.KindWait, "approval", "approval", "human", "wait"},
		{workflow.KindFork, "parallel", "parallel", "parallel", "parallel"},
		{workflow.KindExec, "tool_executor", "tool_executor", "tool_executor", "tool_executor"},
		{workflow.KindAgent, "agent", "agent", "agent", "agent"},
		{"sleep", "sleep", "sleep", "sleep", "sleep"},
	} {
		got := [...]string{tc.kind.In("steps"), tc.kind.In("canvas"), tc.kind.In("routes"), tc.kind.In("graph")}
		if want := [...]string{tc.steps, tc.canvas, tc.routes, tc.program}; got != want {
			t.Errorf("words of %s are %v, want %v", tc.kind, got, want)
		}
	}
}

// TestKindIn checks that waits are named after what they wait for.
func TestKindIn(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][4]string{
		workflow.WaitApproval: {"approval", "approval", "human", "wait"},
		workflow.WaitQuestion: {"ask", "ask", "human", "wait"},
		workflow.WaitSignal:   {"signal", "signal", "signal", "signal"},
	} {
		n := &workflow.Node{Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: kind}}
		if got := [...]string{n.KindIn("steps"), n.KindIn("canvas"), n.KindIn("routes"),
			n.KindIn("graph")}; got != want {
			t.Errorf("words of a wait of kind %s are %v, want %v", kind, got, want)
		}
	}
	if n := (&workflow.Node{Kind: workflow.KindFork}); n.KindIn("steps") != "parallel" ||
		(&workflow.Node{Kind: workflow.KindWait}).KindIn("") != "approval" {
		t.Error("other nodes have the word of their kind")
	}
}
