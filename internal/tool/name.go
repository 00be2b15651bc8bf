package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// maxNameLen is the maximum length of a tool name that every provider accepts.
const maxNameLen = 64

// cleanName returns name in the form that providers accept: letters, digits, `_` and `-`, at most
// maxNameLen. A valid name is unchanged; one that is too long is cut and ends with a hash of the
// whole name.
func cleanName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		clean = "_"
	}
	if len(clean) > maxNameLen {
		sum := sha256.Sum256([]byte(name))
		clean = clean[:maxNameLen-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return clean
}

// offerNames sets the name under which each of the tools is offered: its own name, or the toolset's
// name and its own if two names would be equal or its own name is taken. If those are equal too, a
// number is appended. The names depend only on the order of tools.
func offerNames(tools []*binding, taken map[string]bool) {
	count := map[string]int{}
	for _, b := range tools {
		count[cleanName(b.own)]++
	}
	used := map[string]bool{}
	for name := range taken {
		used[name] = true
	}
	for _, b := range tools {
		name := cleanName(b.own)
		if b.qualified || count[name] > 1 || taken[name] {
			name = qualifiedName(b.inst.name, b.own)
		}
		unique := name
		for n := 2; used[unique]; n++ {
			unique = cleanName(name + "_" + strconv.Itoa(n))
		}
		used[unique] = true
		b.offered = unique
	}
}

// qualifiedName prefixes a tool's own name with the toolset.
func qualifiedName(toolset, own string) string { return cleanName(toolset + "_" + own) }

// Known returns the tools of toolsets that share a list, as permissions see them, without opening
// any. One without Own stands for the tools of a toolset that only its server or a catalog knows.
func Known(specs []Spec) []permit.Call {
	var out []permit.Call
	titles := nameSpecs(specs)
	for i := range specs {
		s, name := &specs[i], titles[i]
		of := permit.Call{Toolset: name, Type: s.Type}
		if s.Type == TypeMCP {
			of.Type = s.Ref // the name of a server whose definition is elsewhere
		}
		names, known := Offers(*s)
		if len(s.Tools) > 0 {
			names, known = s.Tools, true
		}
		if !known {
			out = append(out, of)
		}
		for _, own := range names {
			c := of
			c.Own, c.Offered = own, cleanName(own)
			if k, ok := kinds.Of(s.Type); ok {
				c.Takes = k.Arguments[own]
			}
			out = append(out, c)
			c.Offered = qualifiedName(name, own)
			out = append(out, c)
		}
	}
	return out
}

// Offers returns the sorted names of the tools that a toolset may have, ignoring its filter
// (Spec.Tools). It returns false if only the server or the catalog knows them.
func Offers(s Spec) ([]string, bool) {
	if k, ok := kinds.Of(s.Type); ok && k.Tools != nil {
		return slices.Clone(k.Tools), true
	}
	var o struct {
		Shell  map[string]json.RawMessage `json:"shell"`
		Config struct {
			Name string `json:"name"`
		} `json:"api_config"`
		Tool     string `json:"tool"`
		Workflow string `json:"workflow"`
	}
	if len(s.Options) > 0 && json.Unmarshal(s.Options, &o) != nil {
		return nil, false
	}
	switch {
	case s.Type == TypeScript:
		return slices.Sorted(maps.Keys(o.Shell)), true
	case s.Type == TypeAPI && o.Config.Name != "":
		return []string{o.Config.Name}, true
	case s.Type == TypeWorkflow && o.Tool != "":
		return []string{o.Tool}, true
	case s.Type == TypeWorkflow && o.Workflow != "":
		return []string{o.Workflow}, true
	}
	return nil, false
}
