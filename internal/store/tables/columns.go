package tables

import "time"

// Int gives a column that holds an integer. A column of another type reads as 0: the damage is found by checksums, or by what the reader expects.
func Int(column any) int64 {
	n, _ := column.(int64)
	return n
}

// String gives a column that holds a text or bytes, "" for one of another type.
func String(column any) string {
	switch s := column.(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}

// Bytes gives a column that holds bytes, or a text that another program wrote in their place; never nil.
func Bytes(column any) []byte {
	switch b := column.(type) {
	case []byte:
		return b
	case string:
		return []byte(b)
	}
	return []byte{}
}

// Micros is a time as tables keep it: microseconds since 1970, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time gives a column that Micros made, in UTC.
func Time(column any) time.Time { return TimeOf(Int(column)) }

// TimeOf is the inverse of Micros, in UTC.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
