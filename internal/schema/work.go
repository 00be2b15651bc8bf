package schema

import (
	"encoding/json"

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
	text  int // length of a string
	// weight is what it costs to compare the value, in units of 1/comparisons.
	weight int
}

// comparisons is how many comparisons of values take as long as one step of MaxWork. A number
// counts as that many: the library compares exact fractions.
const comparisons = 20

func partOf(v any) *part {
	p := &part{weight: 1}
	switch v := v.(type) {
	case string:
		p.text = len(v)
	case json.Number:
		p.weight = comparisons
	case []any:
		p.items = make([]*part, len(v))
		for i, x := range v {
			p.items[i] = partOf(x)
			p.weight += p.items[i].weight
		}
	case map[string]any:
		p.keys = make(map[string]*part, len(v))
		for k, x := range v {
			p.keys[k] = partOf(x)
			p.weight += p.keys[k].weight
		}
	}
	return p
}

// coster computes what it costs to check a subschema, apart from its own subschemas.
type coster struct {
	enums map[*jsonschema.Schema][]*part
}

// bytesAStep is how many bytes of text one step of MaxWork counts or compares; a state of a pattern
// takes as long as statesAByte bytes.
const (
	bytesAStep  = 500
	statesAByte = 5
)

// failing is what an alternative costs beyond its check: most fail, and the library makes an error for
// each.
const failing = 3

// of returns the cost of the keywords of s whose work grows with the schema or with the value, for
// p: `enum`, `const`, `required`, `uniqueItems`, patterns, and lengths of strings.
func (c *coster) of(s *jsonschema.Schema, p *part) int {
	n := len(p.keys) / comparisons
	for _, want := range c.wanted(s) {
		n += min(want.weight, p.weight)
	}
	n /= comparisons
	if s.MinLength != nil || s.MaxLength != nil {
		n += p.text / bytesAStep
	}
	if s.Pattern != nil {
		n += matching(s.Pattern, p.text)
	}
	if p.keys != nil {
		n += len(s.Required)
		for _, required := range s.DependentRequired {
			n += len(required)
		}
		if n += len(p.keys) * len(s.PatternProperties); n <= MaxWork {
			for k := range p.keys {
				for re := range s.PatternProperties {
					n += matching(re, len(k))
				}
			}
		}
	}
	if s.UniqueItems {
		times := len(p.items)
		if times > pairs {
			times = 1 // hashed
		}
		n += p.weight / comparisons * times
	}
	return n
}

// pairs is the length up to which the library compares every item of a list with every other.
const pairs = 20

// matching returns the cost of matching a pattern with a text.
func matching(re jsonschema.Regexp, length int) int {
	states := 1
	if p, ok := re.(pattern); ok {
		states = p.states
	}
	return length * states * statesAByte / bytesAStep
}

// wanted returns the values of `enum` and `const`.
func (c *coster) wanted(s *jsonschema.Schema) []*part {
	if s.Enum == nil && s.Const == nil {
		return nil
	}
	if known, ok := c.enums[s]; ok {
		return known
	}
	var out []*part
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			out = append(out, partOf(v))
		}
	}
	if s.Const != nil {
		out = append(out, partOf(*s.Const))
	}
	c.enums[s] = out
	return out
}

// work counts how often a subschema meets a part of the value, with the cost of each meeting, which
// bounds the library's work. The library has no limit of its own, and a schema that refers to
// itself in two alternatives doubles its work with every level of the value. Each pair is visited
// once here, so counting is cheap even if checking is not. It stops a little beyond MaxWork.
func work(root *jsonschema.Schema, v any) int {
	type pair struct {
		s *jsonschema.Schema
		p *part
	}
	known := map[pair]int{} // zero while being counted
	costs := coster{map[*jsonschema.Schema][]*part{}}
	total := 0 // of all pairs, each counted once
	var count func(s *jsonschema.Schema, p *part) int
	count = func(s *jsonschema.Schema, p *part) int {
		at := pair{s, p}
		if n, ok := known[at]; ok {
			return n
		}
		known[at] = 0
		n := 1 + failing*(len(s.AnyOf)+len(s.OneOf)) + costs.of(s, p)
		if total += n; total > MaxWork {
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
			if s.PropertyNames != nil {
				add(s.PropertyNames, &part{text: len(k), weight: 1})
			}
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
