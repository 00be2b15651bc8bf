// Package search lets agents search the web: one tool over a provider that the operator has an account with, or a SearXNG of his own.
//
// It refuses to choose a provider that is not configured, and to send a key to an address that only a document names (SEC8, SEC11).
//
// The flow of one call: the query goes to the provider in its own words, its answer becomes a list of titles, addresses and snippets. Snippets are data: what
// they say is marked as coming from outside and is never read as anything else.
//
// Invariants: a call asks once and ends in finite time (P11); its result is bounded (SEC17); searching changes nothing, so the policy is retry (P12).
package search
