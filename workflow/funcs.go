package workflow

import (
	"slices"
	"strings"
)

// reducerFunc is the prefix of a reducer that is a Go function.
const reducerFunc = "func:"

// RenameFuncs returns a copy of w in which the program's Go functions are renamed with rename, in
// its flows and branches too. w must be valid. Parts that name no function are shared with w, so
// neither may be changed afterwards.
func (w *Workflow) RenameFuncs(rename func(string) string) *Workflow {
	put := func(name *string) {
		if *name != "" {
			*name = rename(*name)
		}
	}
	c := *w
	c.Nodes = slices.Clone(w.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].renameFuncs(put)
	}
	c.Edges = slices.Clone(w.Edges)
	for i := range c.Edges {
		if when := replaceWithCopy(&c.Edges[i].When); when != nil {
			put(&when.Func)
		}
	}
	if len(w.Rules.Reducers) > 0 {
		c.Rules.Reducers = map[string]string{}
	}
	for field, word := range w.Rules.Reducers {
		if name, ok := strings.CutPrefix(word, reducerFunc); ok {
			put(&name)
			word = reducerFunc + name
		}
		c.Rules.Reducers[field] = word
	}
	if len(w.Flows) > 0 {
		c.Flows = map[string]*Workflow{}
	}
	for name, f := range w.Flows {
		c.Flows[name] = f.RenameFuncs(rename)
	}
	c.Branches = slices.Clone(w.Branches)
	for i, b := range c.Branches {
		c.Branches[i] = b.RenameFuncs(rename)
	}
	return &c
}

// replaceWithCopy replaces the value that p points to with a copy and returns the copy, or nil if
// there is no value.
func replaceWithCopy[T any](p **T) *T {
	if *p != nil {
		v := **p
		*p = &v
	}
	return *p
}

func (n *Node) renameFuncs(put func(*string)) {
	put(&n.OnError)
	if v := replaceWithCopy(&n.Retry); v != nil {
		put(&v.Func)
	}
	if v := replaceWithCopy(&n.If); v != nil {
		put(&v.Func)
	}
	if v := replaceWithCopy(&n.Agent); v != nil && v.Prompt.Mode == PromptFunc {
		put(&v.Prompt.Text)
	}
	if v := replaceWithCopy(&n.Tool); v != nil {
		put(&v.ArgsFunc)
	}
	if v := replaceWithCopy(&n.Func); v != nil {
		put(&v.Func)
	}
	if v := replaceWithCopy(&n.Decide); v != nil {
		v.Cases = slices.Clone(v.Cases)
		for i := range v.Cases {
			put(&v.Cases[i].When.Func)
		}
	}
	if v := replaceWithCopy(&n.Wait); v != nil {
		put(&v.PromptFunc)
		put(&v.Mapper)
		put(&v.DefaultFunc)
		if f := replaceWithCopy(&v.Filter); f != nil {
			put(&f.Func)
		}
	}
	if v := replaceWithCopy(&n.Fork); v != nil {
		put(&v.Merge)
	}
	if v := replaceWithCopy(&n.Map); v != nil {
		put(&v.OverFunc)
		put(&v.Merge)
	}
	if v := replaceWithCopy(&n.Subflow); v != nil {
		put(&v.Input)
		put(&v.Mapper)
	}
}
