// Package expr parses and evaluates the two small languages that documents contain: templates (`{{
// $steps.gen.output }}` in an agent's instruction) and conditions (`{{ $steps.qa.output.score >=
// 0.8 }}`), and the canvas format's token and match rules.
//
// The package does no I/O, reads no clock, starts no goroutines, keeps no state between calls, and
// evaluates nothing that did not come from the definition: output of a model or a tool is inserted,
// compared and traversed, never parsed as a template or a condition (SEC3, S4-16).
//
// The flow:
//
//  1. A format parses each text once ([ParseTemplate], [ParseCondition]) against the steps that the
//     document declares, and converts the [Problem] values to diagnostics.
//  2. The engine implements [Env] over its folded state and calls [Template.Expand] and
//     [Condition.Eval]; only the steps that a text names are looked up.
//
// Invariants:
//
//   - Same text, same Env, same result, byte for byte: objects are walked in key order, cost is
//     counted, wall time plays no part (D9).
//   - Nothing here can run for long: sources, nesting and evaluation cost are limited by the
//     constants of this package.
//   - References are cut out by the lexer of this package before CEL sees the text; a lone
//     reference never reaches CEL.
//   - Values of different JSON types are never "just not equal": comparing them is an error (P25).
//
// A parsed [Template] and a parsed [Condition] are immutable and safe for concurrent use.
//
// Sources: docs/spec S0-11 to S0-13, S0-20, S0-21, S4-7 to S4-18, S4-36; decisions D2, D9;
// https://cel.dev for the expression language.
package expr
