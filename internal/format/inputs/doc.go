// Package inputs reads and writes the keys `inputs`, `output` and `output_schema` of documents, which mean the same in every format that has them.
//
// It refuses to read expressions: the format knows what its texts may name. What fits an input is decided by package form.
package inputs
