// Package price knows what models cost: a table of rates by model, which comes with Hocket and which a file of the user's extends or replaces.
//
// It refuses to guess. A model that no entry names has no price, and what it costs is unknown, never zero; a model is free where an entry says so with
// prices of 0. It asks no provider and reads no file by itself.
//
// The flow: [Default] reads the embedded prices.yaml, [Parse] a file of the user's, [Table.Over] puts one above the other, and [Table.Rate] finds the
// first entry that names a model. Amounts are whole numbers of chat.Money, so that costs add up without rounding.
//
// Invariants: a Table does not change; the first entry that matches wins; the embedded file is read by the same code as the user's.
package price
