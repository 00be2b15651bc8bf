// Package errcode holds the table of error codes and the errors that consist of a code and fields.
//
// An [Error] has a code, the values of the particular case as fields, and its cause. The table has
// the rest, once for each code: the family, which determines the HTTP status and the exit status,
// the message with placeholders for the fields, and a hint for each transport: flags and verbs for
// the command line, routes and fields for HTTP, tools for MCP. A transport appends the hint that
// [Hint] returns for it. It never edits the text of an error, which can contain user data.
//
// The same table is the source of the codes of problems (RFC 9457), the enums of the OpenAPI
// document, the entries of `hocket explain` and docs/reasons.md. Hints of diagnostics that differ
// by transport are remedies, with a table of their own ([Remedies]).
//
// The package imports only diag, so that each layer can use it.
package errcode
