package workflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Canonical returns the definition as JSON with a fixed order of fields and keys and no white
// space: equal definitions have equal encodings.
func (w *Workflow) Canonical() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("encode workflow: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Digest returns the SHA-256 hash of Canonical in hexadecimal. Source is not part of it.
func (w *Workflow) Digest() (string, error) {
	b, err := w.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Parse parses the output of Canonical. Unknown fields are an error: a definition that contains
// more than this version understands must not run.
func Parse(data []byte) (*Workflow, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var w Workflow
	if err := dec.Decode(&w); err != nil {
		return nil, fmt.Errorf("read workflow: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("read workflow: more text after the definition")
	}
	return &w, nil
}
