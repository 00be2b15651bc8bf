// Package prompt makes the prompts of agent steps, as recipes: lists of literals and of references to what steps gave before.
//
// A prompt repeats earlier outputs. As a text each would hold a copy of all of them, and a run's journal would grow with the square of its steps. A [Recipe]
// refers to them by the numbers of their steps, and to the beginning of an earlier recipe as a stretch of its parts: a step of a chain stores five parts,
// whatever came before.
//
// The flow:
//
//  1. A [Builder] is given literals, outputs and stretches, and gives the recipe and its text ([Context], [Turns], [Template]).
//  2. The recipe is stored with the step that it belongs to; its text is a rope on the texts that it refers to, of which nothing is copied.
//  3. [Texts.Add] makes the same text of a stored recipe again, for the engine that folds a journal and for every view of the run.
//
// Rendering has no versions: order, headings and omissions are literals. The one rule left is [OfJSON], the text of a JSON value.
//
// The package knows no state, no event and no format. Invariants: a recipe refers to ended steps below its own alone; a text longer than [MaxBytes] is not made.
package prompt
