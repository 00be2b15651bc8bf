package model

import "strings"

// windows are the sizes of context windows in tokens, as the providers' pages of models give them. A row holds for the name itself and for the name with
// a dash and more behind it, the longest row first.
var windows = map[string]int{
	"openai/gpt-6":                1_050_000,
	"openai/gpt-6.1":              1_050_000,
	"openai/gpt-5":                400_000,
	"openai/gpt-5-chat":           128_000,
	"openai/gpt-4.1":              1_047_576,
	"openai/gpt-4o":               128_000,
	"openai/o3":                   200_000,
	"openai/o4-mini":              200_000,
	"anthropic/claude-3-5-haiku":  200_000,
	"anthropic/claude-3-7-sonnet": 200_000,
	"anthropic/claude-sonnet-4-0": 200_000,
	"anthropic/claude-sonnet-4-5": 200_000,
	"anthropic/claude-opus-4-0":   200_000,
	"anthropic/claude-opus-4-1":   200_000,
	"anthropic/claude-opus-4-5":   200_000,
	"anthropic/claude-haiku-4-5":  200_000,
	"anthropic/claude-opus-5-5":   1_000_000,
	"anthropic/claude-sonnet-5":   1_000_000,
	"google/gemini-3.8-flash":     1_048_576,
	"google/gemini-2.0-flash":     1_048_576,
	"google/gemini-2.5-flash":     1_048_576,
	"google/gemini-2.5-pro":       1_048_576,
}

// Window gives the size of a model's context window in tokens, 0 where the table does not know it. ref is a reference as ParseRef reads it.
func Window(ref string) int {
	r, err := ParseRef(ref)
	if err != nil {
		return 0
	}
	for name := r.String(); name != ""; {
		if size, ok := windows[name]; ok {
			return size
		}
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return 0
		}
		name = name[:i]
	}
	return 0
}
