// Package files provides agents with access to the files under one folder: toolsets of type
// `filesystem`.
//
// Nothing outside that folder can be reached, whatever a path says and wherever links lead: all
// access goes through one [os.Root] (SEC16). It does not serve an untrusted spec (SEC4, SEC5), and
// does not read devices, pipes and other things that are not regular files.
//
// A call first checks the path as a string (resolve), then passes it to the root, which checks it
// again during the walk. Reads are limited, and the result states what was left out. Writes go to a
// new file next to the old one, which then replaces it, so that a crash leaves either the old or
// the new file. The post_edit commands run after that, through package process.
//
// Invariants: a rejected path was neither read nor written; the edits of a toolset are serialized;
// a call ends soon after its context.
package files
