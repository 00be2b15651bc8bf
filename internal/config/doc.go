// Package config reads hocket.yaml, in which the operator of a machine configures what documents
// may use there: model providers and their keys, MCP servers, tools, permissions, budgets, limits
// and paths (SEC5, SEC8). Its content is trusted; documents refer to it by name.
//
// It never reads the working directory, since a cloned repository must not configure Hocket. It
// holds no secrets: keys are references that package secret resolves when they are used (SEC11). It
// does not guess: an unknown key, a value of the wrong type and a dangling reference are errors
// with their location. It does not act on what it has read.
//
// The flow:
//
//  1. [Find] determines the file to use: --config, HOCKET_CONFIG, HOCKET_HOME, the configuration
//     directory of the XDG specification.
//  2. [Load] reads it. A file that was named explicitly must exist; a default file need not.
//  3. [Read] checks the text against the single table of keys ([Keys]) and then what a table cannot
//     express, and fills a [Config].
//  4. [Schema] and [Reference] return the same table as JSON Schema and as text: package docschema
//     and docs/configuration.md.
//
// Invariants: every key of the table has an effect; a Config whose list has no errors is valid as
// it is; a Config is not modified after Read, so it is safe for concurrent use.
package config
