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

// Pins maps the tools of one run to the definitions that it holds on to: those that were offered first, or that a person accepted since. It is plain
// data: a process that resumes a run gives it back, and a definition that changed in between is still noticed (SEC14). The keys are opaque.
type Pins map[string]Pin

// Pin is one definition with what is told from others by: see [Hash].
type Pin struct {
	Hash   string       `json:"hash"`
	Def    chat.ToolDef `json:"def"`
	Policy Policy       `json:"policy"`
	// At is the place of the tool in the list of its toolset, from 1; 0: it was not listed, as instructions.
	At int `json:"at,omitempty"`
}

func pinOf(def chat.ToolDef, p Policy) Pin { return Pin{Hash: Hash(def, p), Def: def, Policy: p} }

// Hash gives the fingerprint of a definition: name, description, parameters (however they are spaced and ordered) and policy.
func Hash(def chat.ToolDef, p Policy) string {
	var params any
	if len(def.Parameters) > 0 && json.Unmarshal(def.Parameters, &params) != nil {
		params = string(def.Parameters)
	}
	// Marshal sorts the keys of maps.
	b, _ := json.Marshal([]any{def.Name, def.Description, params, p}) //nolint:errchkjson // params came out of Unmarshal, so it cannot fail
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

// NewPins gives the pins that were made since it was last asked, nil where there are none: what is to be stored with the run.
func (s *Set) NewPins() Pins {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.fresh
	s.fresh = nil
	return fresh
}

// setPin holds on to a definition. s.mu is held.
func (s *Set) setPin(key string, p Pin) {
	if s.fresh == nil {
		s.fresh = Pins{}
	}
	s.pins[key], s.fresh[key] = p, p
}
