// Package files gives agents the files under one folder: toolsets of type `filesystem`.
//
// It refuses to reach anything outside that folder, whatever a path says and wherever links lead: all access goes through one [os.Root] (SEC16). It
// refuses to serve an untrusted spec (SEC4, SEC5), and to read devices, pipes and other things that are no regular files.
//
// The flow of a call: the path is judged as text (resolve), then handed to the root, which judges it again while it walks. What is read is bounded,
// and what was left out is told; what is written goes to a new file beside the old one, which then takes its place, so that a crash leaves the one or
// the other. Commands of post_edit run after that, by package process.
//
// Invariants: a path that is refused was neither read nor written; edits of one toolset happen one after another; a call ends soon after its context.
package files
