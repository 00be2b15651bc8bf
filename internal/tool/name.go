package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxNameLen is what every provider accepts as the length of a tool's name.
const maxNameLen = 64

// cleanName gives name as providers accept it: letters, digits, `_` and `-`, at most maxNameLen. A name that is so already is unchanged; one that
// is too long keeps a hash of the whole at its end.
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

// offerNames gives each of tools the name under which it is offered: its own, or toolset and own where two would be equal or the own name is
// taken. Where even those are equal, a number follows. The names depend on the order of tools and on nothing else.
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

// qualifiedName puts the toolset in front of a tool's own name.
func qualifiedName(toolset, own string) string { return cleanName(toolset + "_" + own) }
