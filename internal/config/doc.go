// Package config reads hocket.yaml, in which the operator of a machine says what documents may use there: model providers and their keys, MCP
// servers, tools, permissions, budgets, limits and paths (SEC5, SEC8). Its content is trusted; documents refer to it by name.
//
// It refuses to look into the working directory, since a cloned repository must not configure Hocket; to hold a secret, so keys are
// references that package secret resolves when they are used (SEC11); to guess, so an unknown key, a value of the wrong type and a reference to
// nothing are errors with their place; and to do anything with what it read.
//
// The flow:
//
//  1. [Find] tells which file counts: --config, HOCKET_CONFIG, HOCKET_HOME, the configuration folder of the XDG rules.
//  2. [Load] reads it. A file that was named must be there; a default one need not.
//  3. [Read] checks the text against the one table of keys ([Keys]) and then what no table can say, and fills a [Config].
//  4. [Schema] and [Reference] give the same table as JSON Schema and as text: package docschema and docs/configuration.md.
//
// Invariants: every key of the table has an effect; a Config of a list without errors is valid as it is; a Config is not changed after Read, so it is
// safe for concurrent use.
package config
