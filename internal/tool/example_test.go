package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/todo"
)

// The tools of a run: an agent of a steps document lists a toolset, its model gets the tools, and
// calls one.
func ExampleSet() {
	set, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{
			"planner": {Toolsets: []tool.Spec{{Type: tool.TypeTodo, Tools: []string{"create_todo", "list_todos"}}}},
		},
		Types: map[string]tool.Type{tool.TypeTodo: todo.Type()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	ctx := context.Background()
	defs, _ := set.Defs(ctx, "planner")
	for _, d := range defs {
		fmt.Println(d.Name)
	}
	for _, args := range []string{`{"description":"write"}`, `{}`} {
		res, err := set.Call(ctx, tool.Call{Agent: "planner", Name: "create_todo", Arguments: json.RawMessage(args),
			Key: "run/n1/1/1" + args})
		fmt.Println(strings.ReplaceAll(res.Text, "],", "],\n"), err)
	}
	// Output:
	// create_todo
	// list_todos
	// {"created":[{"id":"todo_1","description":"write","status":"pending"}],
	// "todos":[{"id":"todo_1","description":"write","status":"pending"}],
	// "revision":1,"reminder":"not completed yet: todo_1 (pending)"} <nil>
	//  tool "create_todo" was not called: arguments do not fit the schema: (root): lacks "description"
}

// The commands that a document would start are shown to a person first, and the approval is stored
// as a hash.
func ExampleCommands() {
	specs, problems := tool.ParseToolsFile("tools.yaml", []byte(`
toolsets:
  - {type: mcp, name: files, command: npx, args: [-y, some-server], env: {TOKEN: "${TOKEN}"}}
  - {type: mcp, name: docs, remote: {url: "https://example.com/mcp"}}
  - {type: thnk}
`))
	for _, p := range problems {
		hint := p.Hint
		p.Hint = ""
		fmt.Println(p)
		fmt.Println(hint)
	}
	for _, argv := range tool.Commands(specs) {
		fmt.Printf("%q\n", argv)
	}
	fmt.Println(len(tool.TrustHash(specs)))
	// Output:
	// tools.yaml:5:5: error: toolsets of type "thnk" are not supported yet (unsupported-toolset)
	// did you mean "think"?
	// ["env" "TOKEN=${TOKEN}" "npx" "-y" "some-server"]
	// 64
}
