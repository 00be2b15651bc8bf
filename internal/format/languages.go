package format

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/canvas"
	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/routes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// The languages' own options and lists, in this package's words.

func readCanvas(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
	return canvas.Read(root, canvas.Options{Missing: o.MissingTools})
}

func readRoutes(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
	return routes.Read(root, routes.Options{Agents: o.Agents})
}

func readRounds(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
	return rounds.Read(root, rounds.Options{Agents: o.Agents})
}

func readSteps(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
	return steps.Read(root, steps.Options{Agents: o.Agents, Toolsets: o.Toolsets, Providers: o.Providers, Servers: o.Servers})
}
