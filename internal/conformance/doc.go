// Package conformance holds Hocket to the formats, rule by rule. It has tests only.
//
// Each rule of formats.md (S0-1 to S0-60, S1-1 to S1-28, S2-0 to S2-79, S3-1 to S3-23, S4-1 to S4-38) and each requirement (P…) that a document can show has a subtest whose name begins
// with its number. A test loads a document and runs it through package service, as the command line and the API do, with a scripted model in place of a
// provider, and looks at what anybody can see: the requests that the model got, the run object, the log, the step context, the events. Nothing is
// asked of the engine itself. Graphs (S2) are no documents: their tests build and run them with packages graph and hocket, as programs do.
//
// Each file ends with a list of the numbers that it answers for; a number without a subtest fails there, and TestEveryRule fails for a number
// that no file answers for. testdata holds the examples of the reference documents as they are there.
//
// Not here, because only a server can show it: the routes, status codes and event names of S0-60; the runtime's answers 400 and 409 of S0-34
// over HTTP are shown as the error families from which they are made.
package conformance
