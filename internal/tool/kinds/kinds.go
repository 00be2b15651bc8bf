package kinds

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind describes one type of toolset.
type Kind struct {
	// Name is the value of `type` in documents.
	Name string
	// Keys are the keys of the type's own options, in addition to those common to all toolsets.
	Keys []string
	// Check returns the problems in the option values of a document, which are passed by key as
	// decoded from JSON; a key that the document lacks is absent. Check is not called if a key is
	// unknown. Nil means that package tool checks the values, or that any value is valid. Check
	// must not change the options.
	Check func(options map[string]any) []Problem
	// Tools are the tools of every toolset of the type, sorted; nil means that they depend on the
	// entry or on a server.
	Tools []string
	// Path is the option that holds a path; in the operator's configuration a relative path is
	// resolved against the configuration's folder. Empty means that no option is a path.
	Path string
	// Guarded is set for types whose trust is checked again each time a toolset is opened, because
	// they read files or start programs, which may have changed.
	Guarded bool
	// Local returns what a toolset with these options reaches on this machine: a document that
	// names it must be trusted. Relative paths are resolved with at. If the options cannot be fully
	// decoded, Local returns an error together with what it could decode. Nil means that toolsets
	// of the type reach nothing by themselves.
	Local func(options []byte, at At) (Local, error)
	// How says in one line how an agent gets the tools and what they need, for `hocket doctor`.
	How string
	// Gives, Wants and Page are columns of the table in docs/tools.md: what an agent gets, when it
	// needs --trust or the operator, and the page in docs.
	Gives, Wants, Page string
	// Unsupported types are docker-agent types that Hocket cannot open. Their entries are kept,
	// with a warning.
	Unsupported bool
}

// Problem is an error in the options of a toolset.
type Problem struct {
	// Key is the option; empty means the toolset as a whole.
	Key string
	// Message says what is wrong, and Hint what to write instead; Hint may be empty.
	Message, Hint string
}

var (
	mu         sync.RWMutex
	registered = slices.Concat([]Kind{
		filesystem, shell, script, mcp, memory, think, todo, userPrompt, workflow, fetch, api, openAPI, webSearch,
	}, unsupported)
)

// Register adds a type after the existing ones. It panics if the name is empty or taken. It is
// meant to be called at program start, before documents are read.
func Register(k Kind) {
	mu.Lock()
	defer mu.Unlock()
	if k.Name == "" || slices.ContainsFunc(registered, func(o Kind) bool { return o.Name == k.Name }) {
		panic(fmt.Sprintf("kinds: register toolset type %q: the name is empty or registered already", k.Name))
	}
	registered = append(registered, k)
}

// All returns the registered types in display order. The slice belongs to the caller.
func All() []Kind {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Clone(registered)
}

// Supported returns the types that Hocket can open.
func Supported() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return k.Unsupported })
}

// Of returns the type with the given name, and false if no such type is registered.
func Of(name string) (Kind, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], true
	}
	return Kind{}, false
}

// Names returns the names of the given types, in order.
func Names(of []Kind) []string {
	out := make([]string, len(of))
	for i, k := range of {
		out[i] = k.Name
	}
	return out
}

// Table returns the table of supported types in docs/tools.md, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| type | gives an agent | needs `--trust` or the operator |\n| --- | --- | --- |\n")
	for _, k := range Supported() {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s |\n", k.Name, k.Page, k.Gives, k.Wants)
	}
	return b.String()
}
