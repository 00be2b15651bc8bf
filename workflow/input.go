package workflow

import (
	"encoding/json"

	"github.com/hocket-run/hocket/diag"
)

// Input is a named input of a workflow. Which values are valid is decided before a run begins; the
// engine only sees the object of all inputs.
type Input struct {
	// Name is a letter or `_` followed by letters, digits and `_`, so that expressions can use
	// `$input.NAME`.
	Name string `json:"name"`
	// Schema is the JSON Schema of the values, with `title`, `description` and `default`; for a
	// file it has only these.
	Schema json.RawMessage `json:"schema"`
	// Optional inputs may be omitted although they have no default; the object of inputs then has
	// no member with their name.
	Optional bool `json:"optional,omitempty"`
	// File is set if the value is a file.
	File *FileInput `json:"file,omitempty"`
}

// FileInput limits a file that is an input.
type FileInput struct {
	// MediaTypes are patterns such as `application/pdf` and `text/*`; nil means any.
	MediaTypes []string `json:"mediaTypes,omitempty"`
	// MaxBytes is the maximum size of the content; 0 means DefaultFileBytes.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Limits of inputs.
const (
	MaxInputs        = 100
	DefaultFileBytes = 1 << 20
	MaxFileBytes     = 4 << 20
)

// Most returns MaxBytes or its default.
func (f *FileInput) Most() int64 {
	if f.MaxBytes <= 0 {
		return DefaultFileBytes
	}
	return f.MaxBytes
}

// Input returns the input with the given name, or nil if there is none.
func (w *Workflow) Input(name string) *Input {
	for i := range w.Inputs {
		if w.Inputs[i].Name == name {
			return &w.Inputs[i]
		}
	}
	return nil
}

// IsInputName reports whether name is a valid name for an input.
func IsInputName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// checkInputs reports errors in the inputs and the output.
func (c *checker) checkInputs() {
	at := diag.Span{File: c.w.Source.File}
	if len(c.w.Inputs) > MaxInputs {
		c.errorf(at, "bad-input", "there are %d inputs; the limit is %d", len(c.w.Inputs), MaxInputs)
	}
	for i := range c.w.Inputs {
		in := &c.w.Inputs[i]
		switch {
		case !IsInputName(in.Name):
			c.errorf(at, "bad-input",
				"input %q: a name has letters, digits and _, at most 64, and does not begin with a digit", in.Name)
		case c.w.Input(in.Name) != in:
			c.errorf(at, "bad-input", "two inputs have the name %q", in.Name)
		case !isObject(in.Schema):
			c.errorf(at, "bad-json", "input %q: the schema is not an object", in.Name)
		case in.File != nil && (in.File.MaxBytes < 0 || in.File.MaxBytes > MaxFileBytes):
			c.errorf(at, "bad-input", "input %q: a file has at most %d bytes", in.Name, MaxFileBytes)
		}
	}
	if len(c.w.Output) > 0 && !json.Valid(c.w.Output) {
		c.errorf(at, "bad-json", "the output is not JSON")
	}
	if len(c.w.OutputSchema) > 0 && !isObject(c.w.OutputSchema) {
		c.errorf(at, "bad-json", "the schema of the output is not an object")
	}
}
