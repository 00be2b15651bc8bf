package openaiapi

import (
	"regexp"
	"strings"
)

// last returns the text of the last message, which is the user's.
func (q *request) last() string { return q.Messages[len(q.Messages)-1].text }

// input returns the input of the run that the conversation starts. A single user message is the
// input as is. Earlier messages precede the last one in a block that a model can distinguish from
// it:
//
//	<conversation>
//	<system>
//	Be brief.
//	</system>
//	<user>
//	…
//	</user>
//	<assistant>
//	…
//	</assistant>
//	</conversation>
//
//	the last message
//
// The request proper is therefore what follows the last line `</conversation>`. Tags with these
// names inside messages are escaped with a backslash: no message can end the block or speak for
// another one. The last line of a message that asked a person for an answer is left out, since
// models have no use for it (SEC12).
func (q *request) input() string {
	if q.Metadata[metadataInput] == inputLast {
		return q.last()
	}
	var b strings.Builder
	for _, m := range q.Messages[:len(q.Messages)-1] {
		text, role := strings.TrimSpace(m.text), m.Role
		switch role {
		case roleDeveloper:
			role = roleSystem
		case roleAssistant:
			text = withoutMark(text)
		}
		if text == "" {
			continue
		}
		b.WriteString("<" + role + ">\n" + quoteTags(text) + "\n</" + role + ">\n")
	}
	if b.Len() == 0 {
		return q.last()
	}
	return "<conversation>\n" + b.String() + "</conversation>\n\n" + quoteTags(q.last())
}

var tags = regexp.MustCompile(`(?i)<(/?\s*(?:conversation|system|user|assistant)\s*>)`)

func quoteTags(text string) string { return tags.ReplaceAllString(text, `<\$1`) }
