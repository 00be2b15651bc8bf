package catalogtest

import "strings"

// GoodIDs returns unusual but valid ids: every transport must be able to store, show and delete
// each of them.
func GoodIDs() []string {
	return []string{
		"a", "0", "007", "null", "true", "a b", "a.b", "a..b", "100%", "%2F", "%00", "a?b=c", "a#b", "a+b", "a&b",
		"a;b", "a:b", "a,b", "*", "~", "@me", `"quoted"`, "it's", "<b>", "{id}", "$HOME",
		"Ärger", "日本語", "👩‍💻"[:4], "apply", "versions", "latest", strings.Repeat("x", 200), strings.Repeat("ä", 100),
	}
}

// BadIDs returns invalid ids, which must not be stored.
func BadIDs() []string {
	return []string{
		"", " ", " a", "a ", "\ta", "a\tb", "a\nb", "a\x00b", "a\x1bb", "a\u202eb", "a\u200bb", "\ufeffa", "a/b", "/",
		`a\b`, ".", "..", ".a", "-", "-a", "--", "a\xff", "../../etc/passwd",
		strings.Repeat("x", 201), strings.Repeat("ä", 101), strings.Repeat("x", 70_000),
	}
}
