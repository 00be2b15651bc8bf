// Package workflow is the one graph that every document format compiles to: nodes, edges, agents, limits.
//
// A [Workflow] is a definition. It holds no run state, does no I/O, evaluates nothing and never changes once it was validated; the engine
// reads it, the formats write it, the drawers draw it. It refuses to know formats: [Workflow.Format] is a label that only
// projections read.
//
// The one rule of flow: a finished step fires one or more ports, and every edge of a fired port whose guard holds starts its target with
// the step's output as input. Nodes without a join run once for each arriving token.
//
// The flow of a definition: a format builds a Workflow and fills [Workflow.Source] with the places of its parts; [Validate] reports what
// keeps it from running and [Lint] what looks wrong, [Print] shows it to people who debug; [Workflow.Digest] names exactly this definition, and a run keeps that name for life.
//
// Invariants after Validate: ids are unique, every edge joins two nodes, the entry exists, every fork and its join name each other, every
// branch is entered by its fork and left by its join, sub-agents and flows contain no cycle.
package workflow
