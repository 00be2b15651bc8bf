package chat

import (
	"encoding/json"
	"regexp"
	"strings"
)

// thoughts are the marks around a model's thoughts in a reply whose server does not separate them
// from the answer.
var thoughts = []struct{ begin, end *regexp.Regexp }{
	around(`<think>`, `</think>`), around(`<thinking>`, `</thinking>`), around(`<thought>`, `</thought>`),
	around(`<reasoning>`, `</reasoning>`), around(`<seed:think>`, `</seed:think>`), around(`\[think\]`, `\[/think\]`),
	around(`◁think▷`, `◁/think▷`),
	around(`(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>`,
		`<\|channel\|>final\s*(?:<\|constrain\|>\w+)?<\|message\|>`),
}

// lastMarks are the marks at the end of an answer.
var lastMarks = regexp.MustCompile(`(?:\s*<\|(?:return|end)\|>)+\s*$`)

func around(begin, end string) struct{ begin, end *regexp.Regexp } {
	return struct{ begin, end *regexp.Regexp }{regexp.MustCompile(`(?i)^` + begin), regexp.MustCompile(`(?i)` + end)}
}

// JSONIn finds the JSON value in a text reply: the whole text, or else the only fenced block in it
// (“```json” or a bare fence, with or without prose around it). Two fenced blocks are ambiguous and
// yield false, as does text without JSON. JSON in the model's thoughts, such as `<think>…</think>`,
// does not count, unless they have no end and are a JSON value: that is an answer behind a begin
// mark of the prompt.
func JSONIn(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")) // RFC 8259: a byte order mark may be ignored
	if v, ok := whole(text); ok {
		return v, true
	}
	rest, began, ended := afterBlocks(text)
	if !ended {
		return whole(rest)
	}
	at := lastEnd(rest)
	if at >= 0 { // many models write no begin mark: it is the end of their prompt
		if v, ok := only(rest[at:]); ok {
			return v, true
		}
	}
	v, ok := only(rest)
	if at >= 0 && !began && lastEnd(string(v)) < 0 {
		return nil, false // a draft before the mark
	}
	return v, ok
}

// afterBlocks returns the text after the blocks of thoughts with which text begins, and reports
// whether there is a block, and whether the last one has an end. rest is the content of a block
// without an end.
func afterBlocks(text string) (rest string, began, ended bool) {
	rest = text
next:
	for {
		for _, mark := range thoughts {
			begin := mark.begin.FindString(rest)
			if begin == "" {
				continue
			}
			inner := rest[len(begin):]
			end := mark.end.FindStringIndex(inner)
			if end == nil {
				return strings.TrimSpace(inner), true, false
			}
			rest, began = strings.TrimSpace(inner[end[1]:]), true
			continue next
		}
		return rest, began, true
	}
}

// lastEnd returns the position behind the last end mark, or -1 if there is none.
func lastEnd(text string) int {
	at := -1
	for _, mark := range thoughts {
		for _, found := range mark.end.FindAllStringIndex(text, -1) {
			at = max(at, found[1])
		}
	}
	return at
}

// whole returns text if it is JSON.
func whole(text string) (json.RawMessage, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	return json.RawMessage(text), true
}

// only returns text if it is JSON, or else the only fenced block in it if that is JSON.
func only(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(lastMarks.ReplaceAllString(text, ""))
	if v, ok := whole(text); ok {
		return v, true
	}
	block, found, inside := "", false, false
	var body []string
	for line := range strings.Lines(text) {
		fence := strings.TrimLeft(line, " ")
		switch isFence := strings.HasPrefix(fence, "```"); {
		case isFence && inside:
			block, found, inside = strings.Join(body, ""), true, false
		case isFence && found:
			return nil, false
		case isFence:
			inside = true
		case inside:
			body = append(body, line)
		}
	}
	if !found || inside {
		return nil, false
	}
	return whole(strings.TrimSpace(block))
}
