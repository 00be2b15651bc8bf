// Package prompt builds the prompts of agent steps as recipes: lists of literals and of references
// to the outputs of earlier steps.
//
// A prompt repeats earlier outputs. Stored as text, each prompt would hold a copy of all of them,
// and a run's journal would grow with the square of its steps. A [Recipe] refers to outputs by the
// numbers of their steps, and to the prefix of an earlier recipe as a stretch of its parts: a step
// of a chain stores five parts, whatever came before.
//
// The flow:
//
//  1. A [Builder] receives literals, outputs and stretches, and returns the recipe and its text
//     ([Context], [Turns], [Template]).
//  2. The recipe is stored with the step that it belongs to; its text is a rope over the texts that
//     it refers to, which are not copied.
//  3. [Texts.Add] rebuilds the same text from a stored recipe, for the engine that folds a journal
//     and for every view of the run.
//
// Rendering has no versions: order, headings and omissions are literals. The only remaining rule is
// [OfJSON], the text of a JSON value.
//
// The package knows nothing of state, events or formats. Invariants: a recipe refers only to ended
// steps with numbers below its own; a text longer than [MaxBytes] is not built.
package prompt
