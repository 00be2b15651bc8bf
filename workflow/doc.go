// Package workflow defines the single graph representation that every document format compiles to:
// nodes, edges, agents, limits.
//
// A [Workflow] is a definition. It holds no run state, does no I/O, evaluates nothing and never
// changes after it has been validated; the engine reads it, the formats write it, and the renderers
// draw it. It does not depend on formats: [Workflow.Format] is a label that only projections read.
//
// There is one flow rule: a finished step fires one or more ports, and every edge of a fired port
// whose guard holds starts its target with the step's output as input. Nodes without a join run
// once for each arriving token.
//
// A format builds a Workflow and fills [Workflow.Source] with the positions of its parts;
// [Validate] reports what prevents it from running and [Lint] what looks wrong; [Print] shows it
// for debugging; [Workflow.Digest] identifies exactly this definition, and a run keeps that
// identifier for life.
//
// Invariants after Validate: IDs are unique, every edge joins two nodes, the entry exists, every
// fork and its join name each other, every branch is entered through its fork and left through its
// join, and sub-agents and flows contain no cycle.
package workflow
