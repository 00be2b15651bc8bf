// Package inputs reads and writes the keys `inputs`, `output`, `output_schema`, `labels` and
// `concurrency` of documents, which mean the same in every format that has them (X-50 to X-55,
//
//
// It does not read expressions: the format knows what its texts may refer to. Package form
// determines which values an input accepts.
package inputs
