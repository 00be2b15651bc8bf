package chat

import (
	"encoding/json"
	"strings"
)

// thoughts are the marks around a model's thoughts in a reply whose server does not separate them
// from the answer.
var thoughts = []struct{ begin, end string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"}, {"<seed:think>", "</seed:think>"}, {"[THINK]", "[/THINK]"},
	{"<|channel|>analysis<|message|>", "<|channel|>final<|message|>"},
}

// JSONIn finds the JSON value in a text reply: the whole text, or else the only fenced block in it
// (“```json” or a bare fence, with or without prose around it). Two fenced blocks are ambiguous and
// yield false, as does text without JSON. JSON in the model's thoughts, such as `<think>…</think>`,
// does not count.
func JSONIn(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")) // RFC 8259: a byte order mark may be ignored
	if v, ok := whole(text); ok {
		return v, true
	}
	rest, began, ended := afterBlocks(text)
	last := afterLast(rest)
	if last != "" { // many models write no begin mark: it is the end of their prompt
		if v, ok := only(last); ok {
			return v, true
		}
		if !began {
			return nil, false
		}
	}
	if !ended {
		return whole(rest)
	}
	return only(rest)
}

// afterBlocks returns the text after the blocks of thoughts with which text begins, and reports
// whether there is a block, and whether the last one has an end. rest is the content of a block
// without an end.
func afterBlocks(text string) (rest string, began, ended bool) {
	rest = text
next:
	for {
		for _, mark := range thoughts {
			inner, found := strings.CutPrefix(rest, mark.begin)
			if !found {
				continue
			}
			_, after, closed := strings.Cut(inner, mark.end)
			if !closed {
				return strings.TrimSpace(inner), true, false
			}
			rest, began = strings.TrimSpace(after), true
			continue next
		}
		return rest, began, true
	}
}

// afterLast returns the text after the last end mark, or "" if there is none.
func afterLast(text string) string {
	at := -1
	for _, mark := range thoughts {
		if i := strings.LastIndex(text, mark.end); i >= 0 {
			at = max(at, i+len(mark.end))
		}
	}
	if at < 0 {
		return ""
	}
	return strings.TrimSpace(text[at:])
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
