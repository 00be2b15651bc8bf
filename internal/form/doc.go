// Package form reads what people and programs give under names: the inputs of a workflow, and the answers to questions with a schema of an object.
//
// The flow:
//
//  1. [Schema] gives the JSON Schema of a workflow's inputs, for pages, models and callers. [Fields] gives the fields of such a schema, or of a question's, in their order.
//  2. [Read] checks what was given for a run and makes the object that expressions see as `$input`. [Fill] completes an answer.
//
// A text that does not fit, and whose JSON does, is read as JSON: people type 5 where 5 is meant. A member that is missing gets its default.
//
// It refuses to do I/O: files come with their content. It keeps no state, and the same values give the same result, byte for byte.
package form
