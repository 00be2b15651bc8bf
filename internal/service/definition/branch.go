package definition

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// AllBranches selects every branch that runs manually, unless a branch has that id.
const AllBranches = "all"

// Choose returns the graph that a run of the branch executes, or the main graph for "". For
// AllBranches it returns a workflow that runs the one_time branches concurrently, each as a
// separate run (ADR 8).
//
// It returns an *InvalidError if there is no such branch (S1-21), or if the main graph is empty and
// there are branches: none of them runs in its place.
func Choose(w *workflow.Workflow, branch string) (*workflow.Workflow, error) {
	if branch == "" && len(w.Nodes) == 0 && len(w.Branches) > 0 {
		return nil, failure.Refuse(errcode.MainGraphEmpty, errcode.Fields{"branches": branches(w)}, nil)
	}
	g := w.Graph(branch)
	switch {
	case g != nil:
		return g, nil
	case len(w.Branches) == 0:
		return nil, failure.Refuse(errcode.NoBranches, errcode.Fields{"branch": branch}, nil)
	case branch == AllBranches:
		return runBranchesFlow(w)
	}
	var ids []string
	for _, b := range w.Branches {
		ids = append(ids, b.ID)
	}
	return nil, failure.Refuse(errcode.BranchNotFound, errcode.Fields{"branch": branch, "branches": branches(w),
		"meant": diag.DidYouMean(branch, ids)}, nil)
}

// branches returns the names of the branches of w with their modes.
func branches(w *workflow.Workflow) []string {
	var list []string
	for _, b := range w.Branches {
		list = append(list, fmt.Sprintf("%s (%s)", b.ID, b.Mode()))
	}
	return list
}

// The nodes of a workflow that runs branches together.
const (
	togetherFork = "branches"
	TogetherTool = "run_branch"
)

// runBranchesFlow returns a workflow that runs the one_time branches of w concurrently: a fork with
// a tool step for each, which starts the run of the branch and waits for it. The definition
// contains the branches, so that a resume has them.
func runBranchesFlow(w *workflow.Workflow) (*workflow.Workflow, error) {
	t := &workflow.Workflow{ID: w.ID, Name: w.Name, Description: w.Description, Format: w.Format,
		Edges: []workflow.Edge{}}
	var fork workflow.Fork
	for _, b := range w.Branches {
		if len(b.Schedules) == 0 {
			t.Branches = append(t.Branches, w.Graph(b.ID))
			fork.Branches = append(fork.Branches, workflow.Branch{ID: b.ID})
		}
	}
	if len(t.Branches) == 0 {
		return nil, failure.Refuse(errcode.NoBranchOfMode,
			errcode.Fields{"mode": workflow.ModeOneTime, "branches": branches(w)}, nil)
	}
	free := func(id string) string {
		for slices.ContainsFunc(t.Branches, func(b *workflow.Workflow) bool { return b.ID == id }) {
			id += "_"
		}
		return id
	}
	t.Entry = free(togetherFork)
	fork.Join = free(togetherFork + "-end")
	fork.OnFailure, fork.Shape = workflow.FailCollect, workflow.ShapeMap
	t.Nodes = []workflow.Node{
		{ID: t.Entry, Kind: workflow.KindFork, Fork: &fork},
		{ID: fork.Join, Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: t.Entry}},
	}
	for _, b := range t.Branches {
		t.Nodes = append(t.Nodes, workflow.Node{ID: b.ID, Name: b.Name, Kind: workflow.KindTool, Parent: t.Entry,
			Tool: &workflow.ToolNode{Tool: TogetherTool}})
		t.Edges = append(t.Edges, workflow.Edge{From: t.Entry, Port: b.ID, To: b.ID},
			workflow.Edge{From: b.ID, To: fork.Join})
	}
	return t, nil
}

// FlowsOf returns a workflow with its sub-flows.
func FlowsOf(w *workflow.Workflow) []*workflow.Workflow {
	out := []*workflow.Workflow{w}
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		out = append(out, FlowsOf(w.Flows[name])...)
	}
	return out
}
