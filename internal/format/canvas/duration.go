package canvas

import "github.com/hocket-run/hocket/internal/format/source"

// keyRemindAfter is the original spelling of remind_after in approvals of canvas documents.
const keyRemindAfter = "remindAfter"

// reminder returns the spelling of the key that an approval uses for the time of the reminder.
func reminder(data *source.Fields) string {
	const key = "remind_after"
	if data.Node().Get(key) == nil && data.Get(keyRemindAfter) != nil {
		return keyRemindAfter
	}
	return key
}
