// Package script answers model calls from a reply script: a file that says what the models answer, so that a workflow runs without network
// and key, and runs the same again.
//
// It refuses to guess: a call for which no entry is left fails with the code no_reply and names the agent. It knows no provider and no
// workflow.
//
// The flow:
//
//  1. [Parse] reads the file (YAML or JSON, the form is in the contract) into a [Script], or says what is wrong where.
//  2. [New] makes a client of it. Each call takes the first entry, in file order, that fits and is not used up.
//  3. Each answer, and each failure, says which entry it was ([model.Reply.Source], [model.SourceOf]). A recorder of that can make, after a
//     crash, a client that goes on where the first one was (D19): what is recorded is used, what was in flight is not.
package script
