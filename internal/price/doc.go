// Package price provides facts about models: their prices, the sizes of their context windows, and
// when their providers retire them. The facts are in one table, models.yaml, which is embedded in
// Hocket and whose prices a user's file extends or replaces.
//
// It does not guess. A model that no row names has no price, and its cost is unknown, never zero; a
// model is free if a row says so with prices of 0. It contacts no provider and reads no file by
// itself: internal/cmd/models refreshes models.yaml from public tables.
//
// The flow: [Default] reads the embedded models.yaml, [Parse] a user's file, [Table.Over] layers
// one over the other, and [Table.Rate] finds the first row that names a model. [Window] and
// [Retires] use only the embedded table. Amounts are whole numbers of chat.Money, so that costs add
// up without rounding.
//
// Invariants: a Table is immutable; the first row that matches wins; the embedded file is read with
// the same code as the user's.
package price
