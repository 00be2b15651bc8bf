// Package nodes reads and writes the extensions X of documents that are graphs (canvas, rounds):
// nodes of the types tool, workflow, set and ask, further keys of approvals, policies, the keys of
// a document outside its graph, and expressions in prompts. The keys are those of steps documents.
//
// It does not know where a document keeps the settings of a node or how it draws edges.
//
// The flow:
//
//  1. [Read] reads the settings of one node, and returns the texts with expressions. What they
//     refer to is not known yet.
//  2. [ReadDocument] reads the keys of the document, or of a branch.
//  3. When the graph is built, [Document.Check] checks all these texts and sets what each node
//     reads.
//  4. [Write] and [WriteDocument] do the reverse.
//
// Invariants: a value in a workflow is the JSON of the document, since ids of steps are those of
// nodes; a document without these keys is read as before.
package nodes
