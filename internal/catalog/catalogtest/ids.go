package catalogtest

import "strings"

// GoodIDs are ids that are hard to carry and may be stored: each must be stored, shown and deleted by every transport.
func GoodIDs() []string {
	return []string{
		"a", "0", "007", "null", "true", "a b", "a.b", "a..b", "100%", "%2F", "%00", "a?b=c", "a#b", "a+b", "a&b", "a;b", "a:b", "a,b", "*", "~", "@me", `"quoted"`, "it's", "<b>", "{id}", "$HOME",
		"Ärger", "日本語", "👩‍💻"[:4], "apply", "versions", "latest", strings.Repeat("x", 200), strings.Repeat("ä", 100),
	}
}

// BadIDs may not be stored.
func BadIDs() []string {
	return []string{
		"", " ", " a", "a ", "\ta", "a\tb", "a\nb", "a\x00b", "a\x1bb", "a\u202eb", "a\u200bb", "\ufeffa", "a/b", "/", `a\b`, ".", "..", ".a", "-", "-a", "--", "a\xff", "../../etc/passwd",
		strings.Repeat("x", 201), strings.Repeat("ä", 101), strings.Repeat("x", 70_000),
	}
}
