package tables

import "time"

// Int returns a column that holds an integer. A column of another type reads as 0; checksums, or
// the reader's own checks, detect the corruption.
func Int(column any) int64 {
	n, _ := column.(int64)
	return n
}

// String returns a column that holds text or bytes, and "" for a column of another type.
func String(column any) string {
	switch s := column.(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}

// Bytes returns a column that holds bytes, or text that another program wrote instead; it never
// returns nil.
func Bytes(column any) []byte {
	switch b := column.(type) {
	case []byte:
		return b
	case string:
		return []byte(b)
	}
	return []byte{}
}

// Micros returns a time as tables store it: microseconds since 1970, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time returns a column encoded by Micros, in UTC.
func Time(column any) time.Time { return TimeOf(Int(column)) }

// TimeOf is the inverse of Micros, in UTC.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
