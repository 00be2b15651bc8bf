// Package conformance checks that Hocket conforms to the formats, rule by rule. It contains only
// tests.
//
// Each rule of docs/spec (S0-1 to S0-60, S1-1 to S1-28, S2-0 to S2-79, S3-1 to S3-23, S4-1 to
// S4-39) and each requirement (P…) that a document can show has a subtest whose name starts with
// its number. A test loads a document and runs it through package service, as the command line and
// the API do, with a scripted model in place of a provider, and inspects only what is publicly
// visible: the requests that the model received, the run object, the log, the step context, the
// events. It never queries the engine itself. Graphs (S2) are not documents: their tests build and
// run them with packages graph and hocket, as programs do.
//
// Each file ends with a list of the numbers that it covers; a number without a subtest fails there,
// and TestEveryRule fails for a number that no file covers. testdata contains the examples of the
// reference documents unchanged.
//
// Not tested here, because only a server can show them: the routes, status codes and event names of
// S0-60. The runtime's responses 400 and 409 of S0-34 over HTTP are tested as the error families
// from which they are derived.
package conformance
