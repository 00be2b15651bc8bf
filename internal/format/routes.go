package format

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/routes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Routes is the name of the format of documents with agents that choose their successor.
const Routes = routes.Format

func routesFormat() Format {
	return Format{
		Name: Routes, Title: "A workflow as routes: agents that choose who is next", Page: "routes.md",
		Form:   "`entrypointNodeId`, `nodes` with a `nodeType`, and `edges`",
		Choose: "one conversation in which agents decide who is next; rows of database tables",
		Usual:  []string{"unbounded-cycle"}, // agents may route to each other; the step limit ends cycles (S3-13)
		Detect: routes.Detect, Write: routes.Write, Schema: routes.Schema,
		Read: func(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
			return routes.Read(root, routes.Options{Agents: o.Agents})
		},
		adapt: nil, // no other format has agents that share one conversation
	}
}
