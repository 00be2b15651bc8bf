// Package form parses values that people and programs provide by name: the inputs of a workflow,
// and the answers to questions with an object schema.
//
// The flow:
//
//  1. [Schema] returns the JSON Schema of a workflow's inputs, for pages, models and callers.
//     [Fields] returns the fields of such a schema, or of a question's, in order.
//  2. [Read] checks the inputs of a run and builds the object that expressions see as `$input`.
//     [Fill] completes an answer.
//
// A string that does not match, but whose content as JSON does, is parsed as JSON: a person who
// types 5 means the number. A missing member gets its default.
//
// The package does no I/O: files come with their content. It keeps no state, and the same values
// produce the same result, byte for byte.
package form
