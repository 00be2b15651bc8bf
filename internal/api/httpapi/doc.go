// Package httpapi is the HTTP API: the JSON routes below /api/v1 and the OpenAPI document that describes them (contract.md).
//
// It refuses to authenticate, to bound requests and to log them: the server's guard does that and puts a [door.Caller] into the request's context. It holds no
// use case: a handler reads a request, calls the service of the caller's namespace, and maps what comes back.
//
// The flow: [New] registers every operation with its role; [API.ServeHTTP] finds the operation, refuses unknown query parameters, asks [door.Require] for the
// role, lets huma read and check the input, and calls the handler. Every error becomes a problem (RFC 9457) with the code that [door.ProblemOf] gives it.
//
// To add routes, write a file with a method `func (a *API) registerX()`, call [add] in it for each operation, name it in [New], and run
// `go test ./internal/api/httpapi -update`, which writes docs/openapi.json and the table of roles anew.
//
// Invariants: an operation declares the role that it needs where it is registered, and nowhere else (SEC2); [API.Operations] lists them all. A handler knows no
// service but its caller's (SEC10). Unknown query parameters and unknown fields of bodies are refused (SEC7, SEC2).
package httpapi
