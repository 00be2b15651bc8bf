package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goNames holds what packages declare, by the name of the package.
type goNames map[string]*types.Package

// source imports nothing: what a package declares is known without its imports.
type source struct{}

func (source) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// resolver reads the packages.
func resolver(t *testing.T) goNames {
	t.Helper()
	out := goNames{}
	for name, dir := range map[string]string{"graph": ".", "hocket": "..", "compat": "compat"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset, files := token.NewFileSet(), []*ast.File(nil)
		for _, p := range paths {
			if strings.HasSuffix(p, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		conf := types.Config{Importer: source{}, IgnoreFuncBodies: true, Error: func(error) {}}
		out[name], _ = conf.Check(name, fset, files, nil) // everything imported is unknown
	}
	return out
}

// has reports whether a name exists in the package home, such as `New` or `Builder.Then`, or in the
// package that it begins with, such as `hocket.RunOptions.ID`.
func (n goNames) has(home, name string) bool {
	parts := strings.Split(name, ".")
	pkg := n[home]
	if p := n[parts[0]]; p != nil {
		pkg, parts = p, parts[1:]
	}
	if len(parts) == 0 || !ast.IsExported(parts[0]) {
		return false
	}
	obj := pkg.Scope().Lookup(parts[0])
	for _, part := range parts[1:] {
		if obj == nil {
			return false
		}
		obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, pkg, part)
	}
	return obj != nil && obj.Exported()
}

// TestDocs_NamesTable checks that the tables in the package documentation have every name of
// 2-graph.md and 4-steps.md that Go has under another name, and that the Go names in them exist
// (S2-76, S4-34).
func TestDocs_NamesTable(t *testing.T) {
	t.Parallel()
	for file, tc := range map[string]struct{ home, after, names string }{
		"doc.go":    {"graph", "# Names", graphNames},
		"../doc.go": {"hocket", "The document that describes steps", stepsNames},
	} {
		names := resolver(t)
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		_, table, ok := strings.Cut(f.Doc.Text(), tc.after)
		if !ok {
			t.Fatalf("%s has no table of names", file)
		}
		table, _, _ = strings.Cut(table, "\n# ")
		mapped := map[string]bool{}
		for line := range strings.Lines(table) {
			seed, inGo, ok := strings.Cut(strings.TrimRight(line, "\n"), "  ")
			if !ok || !strings.HasPrefix(line, "\t") {
				continue
			}
			for name := range strings.SplitSeq(strings.TrimSpace(seed), ", ") {
				mapped[name] = true
			}
			if inGo = strings.TrimSpace(inGo); strings.HasPrefix(inGo, "none: ") {
				continue // with the reason
			}
			for name := range strings.SplitSeq(inGo, ", ") {
				if !names.has(tc.home, name) {
					t.Errorf("%s: %s is said to be %s, which does not exist", file, seed, name)
				}
			}
		}
		for name := range strings.FieldsSeq(tc.names) {
			if !mapped[name] {
				t.Errorf("%s: the table does not say what %s is in Go", file, name)
			}
		}
	}
}

// TestDocs_NamesInRules checks that the Go names in the rules exist (S2-76).
func TestDocs_NamesInRules(t *testing.T) {
	t.Parallel()
	names := resolver(t)
	rules, err := os.ReadFile(filepath.Join("..", "docs", "spec", "graph.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("`((?:graph|hocket|compat)\\.[A-Z][\\w.]*)").FindAllStringSubmatch(string(rules), -1)
	for _, m := range found {
		if !names.has("", m[1]) {
			t.Errorf("the rules name %s, which does not exist", m[1])
		}
	}
	if len(found) < 20 {
		t.Errorf("found %d names", len(found))
	}
}

// stepsNames are the names of 4-steps.md for parts of its implementation.
const stepsNames = `Config Config.Workflow Step StepContext Snapshot NewLocalExecutor Executor Executor.Run RunStream
	events SetCurrentAgent runnerMu buildPriorContext sess SQLiteSessionStore AddMessage UpdateMessage`

// graphNames holds the names that 2-graph.md defines for things that a user of the document calls,
// implements or names.
const graphNames = `
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
	SchemaValidationError NodeExecutionError ErrorFeedback
	zodError errorHandlerId nodes edges startNode endNodes config condition backoffMs backoffMultiplier ` +
	`fallbackState nodeId getAll spawn spawnParallel
	executionId initialState resumeFrom abortSignal maxSteps workflowName telemetry onProgress autoCheckpoint ` +
	`clientProvider workflowResolver
	subagentBridge subagentRegistry stateUpdate goto signals emit getNodeOutput onError isRecoveryNode inputSchema ` +
	`outputSchema inherit type`
