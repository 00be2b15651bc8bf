package workflow

// Kind determines what a node does.
type Kind string

// The kinds of nodes.
const (
	KindStart   Kind = "start"   // passes the run's input on
	KindAgent   Kind = "agent"   // runs an agent loop
	KindTool    Kind = "tool"    // calls one tool
	KindFunc    Kind = "func"    // calls a Go function
	KindDecide  Kind = "decide"  // chooses among its ports; no side effect
	KindWait    Kind = "wait"    // asks a person
	KindFork    Kind = "fork"    // starts branches
	KindJoin    Kind = "join"    // waits for branches
	KindExec    Kind = "exec"    // makes the tool calls of the calling agent
	KindSubflow Kind = "subflow" // runs another workflow as one step
	KindSet     Kind = "set"     // creates a value
	KindSleep   Kind = "sleep"   // sleeps
	KindMap     Kind = "map"     // runs its body for each item of a list
	KindEnd     Kind = "end"     // ends the run
)

// kindInfo describes a kind, except for how its steps run.
type kindInfo struct {
	kind Kind
	// spec reports whether a node has settings of the kind; nil means that nodes of the kind have
	// no settings.
	spec func(*Node) bool
	// optional is set if a node of the kind needs no settings.
	optional bool
	// check validates the settings; nil means that there is nothing to check.
	check func(*checker, *Node)
	// ports returns the ports that a node with settings fires, in addition to those for failures;
	// open reports whether it may fire others too. If ports is nil, any port may be fired.
	ports func(*Node) (names []string, open bool)
	// calls is set if steps call models, tools or functions, so that a node may have a budget.
	calls bool
	// output is set if steps have their own output in the step context.
	output bool
	// words holds the names that documents use for nodes of the kind, by format; the key "" applies
	// to all other formats. Without an entry, the name is the kind itself.
	words map[string]string
}

// kinds lists all kinds. Validation, lint, words and the lists of kinds are derived from it.
var kinds = []kindInfo{
	{kind: KindStart, ports: outPort},
	{kind: KindAgent, spec: func(n *Node) bool { return n.Agent != nil }, check: (*checker).checkAgentNode,
		ports: agentPorts, calls: true, output: true},
	{
		kind: KindTool, spec: func(n *Node) bool { return n.Tool != nil }, check: (*checker).checkTool, calls: true,
		output: true,
		ports:  func(*Node) ([]string, bool) { return []string{PortOut, PortReject}, false },
	},
	{kind: KindFunc, spec: func(n *Node) bool { return n.Func != nil }, check: (*checker).checkFunc, ports: outPort,
		calls: true, output: true},
	{
		kind: KindDecide, spec: func(n *Node) bool { return n.Decide != nil }, check: (*checker).checkDecide,
		ports: decidePorts,
		words: map[string]string{"": "condition", "canvas": "if", "graph": "decision"},
	},
	{
		kind: KindWait, spec: func(n *Node) bool { return n.Wait != nil }, check: (*checker).checkWait,
		ports: waitPorts, output: true,
		words: map[string]string{"": "approval", "routes": "human", "graph": "wait"},
	},
	{
		kind: KindFork, spec: func(n *Node) bool { return n.Fork != nil }, ports: forkPorts, calls: true, output: true,
		words: map[string]string{"": "parallel"},
	},
	{kind: KindJoin, spec: func(n *Node) bool { return n.Join != nil }, ports: outPort},
	{
		kind: KindSubflow, spec: func(n *Node) bool { return n.Subflow != nil }, check: (*checker).checkSubflow,
		ports: outPort, calls: true, output: true,
		words: map[string]string{"": "subgraph"},
	},
	{kind: KindMap, spec: func(n *Node) bool { return n.Map != nil }, check: (*checker).checkMap, ports: outPort,
		calls: true, output: true},
	{kind: KindExec, calls: true, output: true, words: map[string]string{"": "tool_executor"}},
	{kind: KindSet, spec: func(n *Node) bool { return n.Set != nil }, check: (*checker).checkSet, ports: outPort,
		output: true},
	{kind: KindSleep, spec: func(n *Node) bool { return n.Sleep != nil }, check: (*checker).checkSleep, ports: outPort},
	{
		kind: KindEnd, spec: func(n *Node) bool { return n.End != nil }, optional: true, check: (*checker).checkEnd,
		ports: func(n *Node) ([]string, bool) {
			if n.If != nil {
				return []string{PortOut}, false
			}
			return nil, false
		},
	},
}

func kindOf(k Kind) (*kindInfo, bool) {
	for i := range kinds {
		if kinds[i].kind == k {
			return &kinds[i], true
		}
	}
	return &kindInfo{}, false
}

// Kinds returns all kinds of nodes. The slice belongs to the caller.
func Kinds() []Kind {
	out := make([]Kind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.kind)
	}
	return out
}

// HasOutput reports whether steps of the kind have an output in the step context. It returns true
// for an unknown kind.
func (k Kind) HasOutput() bool {
	info, ok := kindOf(k)
	return !ok || info.output
}

// In returns the name that documents of a format use for nodes of a kind, which is the name shown
// to people. A format that has no name of its own, and an unknown format, use the names of steps
// documents and of approvals.
func (k Kind) In(format string) string {
	info, _ := kindOf(k)
	for _, name := range []string{format, ""} {
		if word, ok := info.words[name]; ok {
			return word
		}
	}
	return string(k)
}

// KindIn returns the name for the node, as [Kind.In] does for its kind, except that a wait is named
// after what it waits for.
func (n *Node) KindIn(format string) string {
	word := n.Kind.In(format)
	if n.Kind != KindWait || n.Wait == nil {
		return word
	}
	switch {
	case n.Wait.Kind == WaitSignal:
		return WaitSignal
	case n.Wait.Kind == WaitQuestion && word == WaitApproval:
		return "ask"
	}
	return word
}

func outPort(*Node) (names []string, open bool) { return []string{PortOut}, false }

func agentPorts(n *Node) (names []string, open bool) {
	names = []string{PortOut, PortCalls}
	if r := n.Agent.Routing; r != nil {
		names = append(names, r.Else)
		for _, v := range r.Values {
			names = append(names, NextPort(v))
		}
	}
	return names, false
}

func decidePorts(n *Node) (names []string, open bool) {
	names = []string{n.Decide.Else}
	for _, k := range n.Decide.Cases {
		names = append(names, k.Port)
	}
	return names, false
}

func waitPorts(n *Node) (names []string, open bool) {
	if n.Wait.Kind == WaitApproval {
		return []string{PortApprove, PortReject}, n.Wait.AutoApprove
	}
	return []string{PortOut}, n.Wait.Route
}

func forkPorts(n *Node) (names []string, open bool) {
	for _, b := range n.Fork.Branches {
		names = append(names, b.ID)
	}
	return names, false
}
