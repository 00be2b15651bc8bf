// Package price knows models: what they cost, how large their context windows are, and when their providers retire them. The facts are in one table,
// models.yaml, which comes with Hocket and whose prices a file of the user's extends or replaces.
//
// It refuses to guess. A model that no row names has no price, and what it costs is unknown, never zero; a model is free where a row says so with
// prices of 0. It asks no provider and reads no file by itself: internal/cmd/models refreshes models.yaml from public tables.
//
// The flow: [Default] reads the embedded models.yaml, [Parse] a file of the user's, [Table.Over] puts one above the other, and [Table.Rate] finds the
// first row that names a model. [Window] and [Retires] look into the embedded table alone. Amounts are whole numbers of chat.Money, so that costs add up
// without rounding.
//
// Invariants: a Table does not change; the first row that matches wins; the embedded file is read by the same code as the user's.
package price
