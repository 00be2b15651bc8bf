// Package client reaches a Hocket server over its HTTP API, as if its store were one of this machine: [Remote] has the use cases of package service that the
// command line needs of runs, workflows and agents. Package api below it is generated from the server's OpenAPI document.
//
// It refuses to decide anything: what a run is follows from its definition and its events, which it fetches, and views are computed from them as everywhere.
//
// The flow: [New] with an address and a token; [Remote.Start] hands over a document or names a workflow; [Remote.Watch] follows the event stream and takes it up again where
// a connection broke, without losing or repeating an event; [Remote.Proceed] answers.
//
// Invariants: a problem of the server is an error of the same family as the one that it had there, so that exit statuses are the same. Only one [Remote.Wait] is made at a time.
package client
