// Package search lets agents search the web: one tool over a provider with which the operator has
// an account, or over the operator's own SearXNG.
//
// It never uses a provider that is not configured, and never sends a key to an address that only a
// document names (SEC8, SEC11).
//
// In a call, the query is sent to the provider in the provider's format, and the response becomes a
// list of titles, addresses and snippets. Snippets are data: their content is marked as external
// and is never interpreted as anything else.
//
// Invariants: a call makes one request and ends in finite time (P11); its result is limited
// (SEC17); searching changes nothing, so the policy is retry (P12).
package search
