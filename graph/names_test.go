package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exported adds to into the exported names of the package in a folder; those of fields and methods
// are prefixed with their type's name and a dot.
func exported(t *testing.T, dir, prefix string, into map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				into[prefix+receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					declared(s, prefix, into)
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	switch p := x.(type) {
	case *ast.IndexExpr:
		x = p.X
	case *ast.IndexListExpr:
		x = p.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name + "."
	}
	return "?."
}

func declared(s ast.Spec, prefix string, into map[string]bool) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			into[prefix+n.Name] = true
		}
	case *ast.TypeSpec:
		into[prefix+s.Name.Name] = true
		var members *ast.FieldList
		switch x := s.Type.(type) {
		case *ast.StructType:
			members = x.Fields
		case *ast.InterfaceType:
			members = x.Methods
		default:
			return
		}
		for _, m := range members.List {
			for _, n := range m.Names {
				into[prefix+s.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// TestDocs_NamesTable checks that the table in the package documentation has every name of
// 2-graph.md, and that the Go names in it exist (S2-76).
func TestDocs_NamesTable(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	exported(t, ".", "", names)
	exported(t, "..", "hocket.", names)
	exported(t, "compat", "compat.", names)
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(f.Doc.Text(), "# Names")
	if !ok {
		t.Fatal("the documentation has no table of names")
	}
	goName := regexp.MustCompile(`^(hocket\.|compat\.)?[A-Z]\w*(\.[A-Z]\w*)*$`)
	mapped := map[string]bool{}
	rows := 0
	for line := range strings.Lines(table) {
		seed, inGo, ok := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		if !ok || !strings.HasPrefix(line, "\t") {
			continue
		}
		rows++
		for name := range strings.SplitSeq(strings.TrimSpace(seed), ", ") {
			mapped[name] = true
		}
		for name := range strings.SplitSeq(strings.TrimSpace(inGo), ", ") {
			if goName.MatchString(name) && !names[name] {
				t.Errorf("%s is said to be %s, which does not exist", seed, name)
			}
		}
	}
	if rows < 80 {
		t.Errorf("the table has %d rows", rows)
	}
	for name := range strings.FieldsSeq(seedNames) {
		if !mapped[name] {
			t.Errorf("the table does not say what %s is in Go", name)
		}
	}
}

// seedNames holds the names that 2-graph.md defines for things that a user of the document calls,
// implements or names.
const seedNames = `
	graph<TState>() GraphBuilder start then if IfConfig else endif parallel ParallelConfig loop LoopConfig wait ` +
	`subagent SubAgentConfig tool
	ToolBuilderConfig catch end compile getNode getEdgesFrom getEdgesTo createNode createDecisionNode createWaitNode
	GraphExecutor ExecutionOptions StepResult ExecutionResult execute stream createExecutor executeGraph streamGraph ` +
	`StreamRouter routeStream StreamEvent
	resolveModel executeWithRetry getNextNodes saveCheckpoint createSnapshot initializeExecutionState mergeState
	agentNode AgentNodeConfig toolNode ToolNodeConfig clearContextNode ClearContextNodeConfig decisionNode ` +
	`DecisionNodeConfig DecisionRoute waitNode
	WaitNodeConfig askUserNode AskUserNodeConfig AskUserOptions AskUserOption parallelNode ParallelNodeConfig ` +
	`subgraphNode SubgraphNodeConfig
	contextMonitorNode ContextMonitorNodeConfig customToolNode CustomToolNodeConfig subagentNode SubagentNodeConfig ` +
	`parallelSubagentNode
	WorkflowToolContext getDefaultCompactionAction toContextWindowUsage isContextThresholdExceeded checkContextUsage ` +
	`compactContext
	NodeId ModelSpec NodeType BaseState ContextWindowUsage Signal SignalData ExecutionError RetryConfig ErrorAction ` +
	`DebugReport NodeResult ExecutionContext
	NodeExecuteFn NodeDefinition ProgressEvent GraphRuntimeDependencies GraphConfig EdgeCondition Edge CompiledGraph ` +
	`ExecutionStatus ExecutionSnapshot
	Checkpointer isNodeType isSignal isExecutionStatus isBaseState isNodeResult isDebugReport StateOf StateUpdate ` +
	`StateValidator fromGraphConfig
	BACKGROUND_COMPACTION_THRESHOLD BUFFER_EXHAUSTION_THRESHOLD DEFAULT_RETRY_CONFIG DEFAULT_GRAPH_CONFIG ` +
	`AGENT_NODE_RETRY_CONFIG
	SchemaValidationError NodeExecutionError ErrorFeedback`
