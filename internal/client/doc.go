// Package client accesses a Hocket server over its HTTP API as if its store were local: [Remote]
// implements the use cases of package service that the command line needs for runs, workflows and
// agents. [Call] carries out the operations of the table in package op; for the others, the
// subpackage api is generated from the server's OpenAPI document.
//
// It makes no decisions: the state of a run follows from its definition and its events, which the
// client fetches, and views are computed from them as everywhere else.
//
// The flow: [New] with a URL and a token; [Remote.Start] sends a document or names a workflow;
// [Remote.Watch] follows the event stream and resumes it after a lost connection, without losing or
// repeating an event; [Remote.Proceed] answers.
//
// Invariants: a problem reported by the server becomes an error of the same family as on the
// server, so that exit statuses are the same. Only one [Remote.Wait] is called at a time.
package client
