package canvas

import "github.com/hocket-run/hocket/internal/format/source"

// keyRemindAfter is the spelling of remind_after that approvals of canvas documents had first.
const keyRemindAfter = "remindAfter"

// reminder gives the spelling in which an approval says when a person is reminded.
func reminder(data *source.Fields) string {
	const key = "remind_after"
	if data.Node().Get(key) == nil && data.Get(keyRemindAfter) != nil {
		return keyRemindAfter
	}
	return key
}
