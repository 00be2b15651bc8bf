// Package script answers model calls from a reply script: a file with the models' replies, so that
// a workflow runs without network and key, and runs the same every time.
//
// It does not guess: a call without a remaining entry fails with the kind no_reply and names the
// agent. It is independent of any provider and workflow.
//
// The flow:
//
//  1. [Parse] reads the file (YAML or JSON, in the form that docs/testing.md describes) into a
//     [Script], or reports what is wrong and where.
//  2. [New] returns a client of it. Each call uses the first entry, in file order, that matches and
//     is not used up.
//  3. Each reply, and each failure, identifies its entry ([model.Reply.Source], [model.SourceOf]).
//     Code that records them can, after a crash, create a client that continues where the first one
//     was (D19): entries that were recorded are used, entries in flight are not.
package script
