// Package exchange makes one request over HTTP and reads one bounded response, for the toolsets
// that use HTTP: fetch, search and api.
//
// It does not create clients (SEC8: the wiring passes one from internal/outbound), does not repeat
// requests (D11), does not read without limits (P11, SEC17), and does not send the contents of a
// request to a host that they are not meant for.
//
// The flow of one [Client.Do]: the target is checked, the request sent, each redirect checked like
// the first target, and the response read up to the limit.
//
// Invariants: an exchange ends with its context, with the client, or when the server sends nothing
// for too long, whichever is first; no error contains a full address, because addresses may contain
// keys (SEC11); an error shows whether the request may have been carried out (P12).
package exchange
