// Package catalog stores workflows and agents under ids, next to the runs: documents of all formats
// as they were written, in numbered versions, and the rows of routes documents and of agents as
// tables that any program may write.
//
// It does not compile documents into graphs, run anything or validate the content of documents: the
// service does that, and stores only documents without errors. The package reads documents only to
// map routes documents and agents to columns.
//
// The flow:
//
//  1. [Workflows.Put] stores a document as the next version of its id, either as a draft or
//     published immediately. Storing the text of the present version again creates no new version.
//  2. [Workflows.Publish] makes a version the published one. Runs of an id and triggers use the
//     published version, test runs the draft (P38).
//  3. A routes document that is published is also written as rows, with [FromDocument]. The rows
//     are what runs: [Rows.Document] converts them, whichever program wrote them, back to a
//     document, and [Lines.Locate] maps the locations of its problems to rows.
//
// Invariants:
//
//   - A version's text is returned byte for byte, and never changes (P29). Version numbers are not
//     reused, not even after Delete.
//   - Every call of a port is one transaction. Of several processes that call at the same time,
//     each sees either all of another's changes or none of them.
//   - Columns by position are those of [WorkflowColumns], [NodeColumns], [EdgeColumns] and
//     [AgentColumns].
//   - For an agent the columns are authoritative; its definition holds the keys that have no
//     column, as they are in documents (P29).
//   - All stores pass catalogtest.Run.
package catalog
