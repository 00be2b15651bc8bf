// Package catalog keeps workflows and agents under ids, beside the runs: documents of all formats as they were written, in numbered versions, and
// the rows of routes documents and of agents as tables that any program may write.
//
// It refuses to read documents into graphs, to run anything, and to check what a document says: the service does that, and stores only what has no
// errors. It knows of documents only where the columns of routes documents and of agents are in them.
//
// The flow:
//
//  1. [Workflows.Put] stores a document as the next version of its id, as a draft or published at once. The text of the present version again makes
//     no new one.
//  2. [Workflows.Publish] makes a version the published one. Runs of an id and triggers take the published version, trial runs the draft (P38).
//  3. A routes document that is published is also written as rows, by [FromDocument]. The rows are what runs: [Rows.Document] gives them as a
//     document again, written by any program, and [Rows.Locate] turns the places of its problems into rows.
//
// Invariants:
//
//   - A version's text is given back byte for byte, and never changes (P29). Numbers of versions are not used again, not even after Delete.
//   - Every call of a port is one transaction. Of several processes that call at once each sees the other's whole work or nothing of it.
//   - Where columns go by position they are those of [WorkflowColumns], [NodeColumns], [EdgeColumns] and [AgentColumns].
//   - Of an agent the columns count; its definition holds the keys that have none, as they are in documents (P29).
//   - All stores pass catalogtest.Run.
package catalog
