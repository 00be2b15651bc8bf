package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// Pins maps the tools of one run to their pinned definitions: those that were offered first, or
// that a person has accepted since. It is plain data: a process that resumes a run passes it in
// again, so that a definition that changed in between is still noticed (SEC14). The keys are
// opaque.
type Pins map[string]Pin

// Pin is one definition with its fingerprint; see [Hash].
type Pin struct {
	Hash   string       `json:"hash"`
	Def    chat.ToolDef `json:"def"`
	Policy Policy       `json:"policy"`
	// At is the position of the tool in the list of its toolset, counting from 1; 0 means that it
	// was not listed, as for instructions.
	At int `json:"at,omitempty"`
}

func pinOf(def chat.ToolDef, p Policy) Pin { return Pin{Hash: Hash(def, p), Def: def, Policy: p} }

// Hash returns the fingerprint of a definition: name, description, parameters (regardless of
// spacing and order) and policy.
func Hash(def chat.ToolDef, p Policy) string {
	var params any
	if len(def.Parameters) > 0 && json.Unmarshal(def.Parameters, &params) != nil {
		params = string(def.Parameters)
	}
	// Marshal sorts the keys of maps.
	b, _ := json.Marshal([]any{def.Name, def.Description, params,
		p}) //nolint:errchkjson // params came out of Unmarshal, so it cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func pinKey(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

func (p Pins) clone() Pins {
	if p == nil {
		return Pins{}
	}
	return maps.Clone(p)
}

// NewPins returns the pins that were made since the last call, or nil if there are none. The caller
// must store them with the run.
func (s *Set) NewPins() Pins {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.newPins
	s.newPins = nil
	return fresh
}

// setPin pins a definition. The caller holds s.mu.
func (s *Set) setPin(key string, p Pin) {
	if s.newPins == nil {
		s.newPins = Pins{}
	}
	s.pins[key], s.newPins[key] = p, p
}
