package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// expansion returns the largest number of subschemas that apply to the same value anywhere in the
// schema, and the longest chain of them; neither is counted far beyond its limit. Cycles count once
// here; checking a value finds them.
func expansion(root *jsonschema.Schema) (weight, chain int) {
	type size struct{ weight, chain int }
	sizes := map[*jsonschema.Schema]size{} // zero while being counted
	var measure func(s *jsonschema.Schema, depth int) size
	measure = func(s *jsonschema.Schema, depth int) size {
		if known, seen := sizes[s]; seen {
			return known
		}
		if depth > MaxChain {
			return size{1, 1} // enough to push the chain's start over the limit
		}
		sizes[s] = size{}
		all := size{1, 1}
		for _, sub := range inPlace(s) {
			one := measure(sub, depth+1)
			all.weight = min(all.weight+one.weight, MaxExpansion+1)
			all.chain = max(all.chain, one.chain+1)
		}
		sizes[s] = all
		return all
	}
	seen := map[*jsonschema.Schema]bool{}
	todo := []*jsonschema.Schema{root}
	for len(todo) > 0 && weight <= MaxExpansion && chain <= MaxChain {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		one := measure(s, 1)
		weight, chain = max(weight, one.weight), max(chain, one.chain)
		todo = append(append(todo, inPlace(s)...), partSchemas(s)...)
	}
	return weight, chain
}

// part mirrors a value and its parts; its address serves as the value's identity.
type part struct {
	keys  map[string]*part
	items []*part
}

func partOf(v any) *part {
	p := &part{}
	switch v := v.(type) {
	case []any:
		p.items = make([]*part, len(v))
		for i, x := range v {
			p.items[i] = partOf(x)
		}
	case map[string]any:
		p.keys = make(map[string]*part, len(v))
		for k, x := range v {
			p.keys[k] = partOf(x)
		}
	}
	return p
}

// work counts how often a subschema meets a part of the value, which bounds the library's work. The
// library has no limit of its own, and a schema that refers to itself in two alternatives doubles
// its work with every level of the value. Each pair is visited once here, so counting is cheap even
// if checking is not. It stops a little beyond MaxWork.
func work(root *jsonschema.Schema, v any) int {
	type pair struct {
		s *jsonschema.Schema
		p *part
	}
	known := map[pair]int{} // zero while being counted
	var count func(s *jsonschema.Schema, p *part) int
	count = func(s *jsonschema.Schema, p *part) int {
		at := pair{s, p}
		if n, ok := known[at]; ok {
			return n
		}
		known[at] = 0
		n := 1
		if len(known) > MaxWork {
			return MaxWork + 1
		}
		add := func(sub *jsonschema.Schema, of *part) {
			if sub != nil && n <= MaxWork {
				n = min(n+count(sub, of), MaxWork+1)
			}
		}
		for _, sub := range inPlace(s) {
			add(sub, p)
		}
		for k, child := range p.keys {
			for _, sub := range keySchemas(s, k) {
				add(sub, child)
			}
			add(s.UnevaluatedProperties, child)
			add(s.PropertyNames, child) // of the key, which has no parts; this overestimates
		}
		for i, child := range p.items {
			add(itemSchema(s, i), child)
			add(s.Contains, child)
			add(s.UnevaluatedItems, child)
		}
		known[at] = n
		return n
	}
	return count(root, partOf(v))
}

// keySchemas returns the subschemas of s that apply to a key of an object.
func keySchemas(s *jsonschema.Schema, key string) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	sub, matched := s.Properties[key]
	if matched {
		out = append(out, sub)
	}
	for pattern, sub := range s.PatternProperties {
		if pattern.MatchString(key) {
			out, matched = append(out, sub), true
		}
	}
	if additional, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !matched {
		out = append(out, additional)
	}
	return out
}
