package kinds

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind describes one type of toolset.
type Kind struct {
	// Name is what documents write as `type`.
	Name string
	// Keys are the keys of the type's own options, beside those of all toolsets.
	Keys []string
	// Check gives what is wrong with the values of a document's options, by key, as JSON would give them; a key that the document lacks is absent. It is not asked where a key is unknown. Nil: package tool
	// checks them, or any value will do. It must not change them.
	Check func(options map[string]any) []Problem
	// Tools are the tools of every toolset of the type, sorted; nil: they depend on the entry or on a server.
	Tools []string
	// Path is the option that is a path, which a relative path in the operator's configuration starts at; "": none.
	Path string
	// Guarded types are asked about again each time a toolset is opened: they read files or start programs, which may have changed.
	Guarded bool
	// Local says what a toolset with these options reaches of this machine: a document that names it must be trusted. A relative path is below at. An error says that the
	// options cannot be read; what was read of them is in the answer nevertheless. Nil: toolsets of the type reach nothing by themselves.
	Local func(options []byte, at At) (Local, error)
	// How says on one line how an agent gets the tools and what they need, for `hocket doctor`.
	How string
	// Gives, Wants and Page are for the table in docs/tools.md: what an agent gets, when it needs --trust or the operator, and the page below docs.
	Gives, Wants, Page string
	// Unsupported types are those of docker-agent that Hocket cannot open. Their entries are kept, with a warning.
	Unsupported bool
}

// Problem is an error in the options of a toolset.
type Problem struct {
	// Key is the option; "": the toolset as a whole.
	Key string
	// Message says what is wrong, and Hint what to write instead; Hint may be "".
	Message, Hint string
}

var (
	mu         sync.RWMutex
	registered = slices.Concat([]Kind{
		filesystem, shell, script, mcp, memory, think, todo, userPrompt, workflow, fetch, api, openAPI, webSearch,
	}, unsupported)
)

// Register adds a type, after those that are there. It panics if the name is empty or taken. It is meant for the start of a program, before documents are read.
func Register(k Kind) {
	mu.Lock()
	defer mu.Unlock()
	if k.Name == "" || slices.ContainsFunc(registered, func(o Kind) bool { return o.Name == k.Name }) {
		panic(fmt.Sprintf("kinds: register toolset type %q: the name is empty or registered already", k.Name))
	}
	registered = append(registered, k)
}

// All gives the registered types, in the order in which they are shown. The slice is the caller's own.
func All() []Kind {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Clone(registered)
}

// Supported gives the types that Hocket can open.
func Supported() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return k.Unsupported })
}

// Of gives the type of a name; false: no such type is registered.
func Of(name string) (Kind, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], true
	}
	return Kind{}, false
}

// Names gives the names of some types in their order.
func Names(of []Kind) []string {
	out := make([]string, len(of))
	for i, k := range of {
		out[i] = k.Name
	}
	return out
}

// Table gives the table of the supported types in docs/tools.md, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| type | gives an agent | needs `--trust` or the operator |\n| --- | --- | --- |\n")
	for _, k := range Supported() {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s |\n", k.Name, k.Page, k.Gives, k.Wants)
	}
	return b.String()
}
