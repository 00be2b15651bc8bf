package nodes

import (
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// promptTokens are the tokens of prompts, exactly as S0-11 spells them.
var promptTokens = []string{"{{PREVIOUS_OUTPUT}}", "{{APPROVAL_NOTE}}"}

// tokenForm matches text that can only be meant as a token: a word in capitals between double
// braces, or the name of a token in another spelling.
var tokenForm = regexp.MustCompile(`\{\{[ \t]*([A-Z][A-Z0-9_]*|(?i:previous[_ -]?output|approval[_ -]?note))[ \t]*\}\}`)

// HasExpressions reports whether a text has anything between double braces other than the tokens of
// prompts.
func HasExpressions(text string) bool {
	for _, t := range promptTokens {
		text = strings.ReplaceAll(text, t, "")
	}
	return strings.Contains(text, "{{")
}

// Token is a token in a text that is not replaced there.
type Token struct {
	Text   string // as it is written, with its braces
	Offset int    // in bytes of the text
	Hint   string
}

// UnknownTokens returns the tokens in a text that are not replaced in it. The tokens of prompts are
// replaced if isPrompt is true.
func UnknownTokens(text string, isPrompt bool) []Token {
	var out []Token
	for _, m := range tokenForm.FindAllStringSubmatchIndex(text, -1) {
		t := Token{Text: text[m[0]:m[1]], Offset: m[0],
			Hint: "write {{ $steps.ID.output }} for an output, {{ $input }} for the input of the run"}
		if near := nearToken(text[m[2]:m[3]]); isPrompt {
			if t.Text == near {
				continue
			}
			t.Hint = "the tokens of a prompt are " + strings.Join(promptTokens, " and ")
			if near != "" {
				t.Hint = "write " + near
			}
		} else if near != "" {
			t.Hint = "move it into the prompt of the step, or write {{ $steps.ID.output }}"
		}
		out = append(out, t)
	}
	return out
}

// nearToken returns the token of prompts that a name stands for, or "".
func nearToken(name string) string {
	name = strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToUpper(name))
	for _, t := range promptTokens {
		if want := strings.ReplaceAll(strings.Trim(t, "{}"), "_", ""); name == want ||
			diag.Suggest(name, []string{want}) != "" {
			return t
		}
	}
	return ""
}

// PlainReference returns the start of the first reference between double braces in a text that is
// not read for expressions, such as `$input`, or "".
func PlainReference(text string) string {
	for _, after := range strings.Split(text, "{{")[1:] {
		for _, v := range []string{"$input", "$steps"} {
			if strings.HasPrefix(strings.TrimLeft(after, " \t"), v) {
				return v
			}
		}
	}
	return ""
}
