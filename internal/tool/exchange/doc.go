// Package exchange makes one request over HTTP and reads one bounded answer, for the toolsets that speak HTTP: fetch, search and api.
//
// It refuses to build a client (SEC8: the wiring hands in one of internal/outbound), to repeat a request (D11), to read without an end (P11, SEC17), and to
// carry what a request says to a host that it was not for.
//
// The flow of one [Client.Do]: the target is judged, the request sent, each redirect judged as the first target was, the answer read up to the limit.
//
// Invariants: an exchange ends with its context, with the client, or when the server shows no sign of life, whichever is first; no error holds an address in
// full, since addresses may hold keys (SEC11); an error tells whether the request may have been carried out (P12).
package exchange
