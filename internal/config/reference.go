package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Reference returns a Markdown table of all keys, for docs/configuration.md.
func Reference() string {
	var b strings.Builder
	b.WriteString("| key | value | what it does |\n| --- | --- | --- |\n")
	writeKeys(&b, "", table().keys)
	return b.String()
}

func writeKeys(b *strings.Builder, above string, keys []key) {
	for _, k := range keys {
		path := above + k.name
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, k.value(), k.doc)
		switch k.kind {
		case section:
			writeKeys(b, path+".", k.keys)
		case byName:
			writeKeys(b, path+".NAME.", k.keys)
		}
	}
}

// value describes the values that a key accepts.
func (k key) value() string {
	text := map[kind]string{
		section: "a map", byName: "a map by name", text: "text", secretID: "a reference to a secret",
		address: "an http or https address",
		path:    "a path", count: "a whole number", number: "a number",
		duration: "a duration such as `90s`, `1h30m` or `30d`",
		flag:     "`true` or `false`", texts: "a list of texts", free: "a map", toolset: "a list of toolsets",
		servers: "a map of MCP servers by name",
	}[k.kind]
	if k.kind == word {
		text = "`" + strings.Join(k.values, "`, `") + "`"
	}
	switch {
	case k.max > 0:
		text += " from " + plain(k.min) + " to " + plain(k.max)
	case k.kind == count || k.kind == number:
		text += " from " + plain(k.min)
	}
	if k.required {
		text += "; required"
	}
	return text
}

// Keys returns the paths of all keys in table order.
func Keys() []string {
	var out []string
	var walk func(above string, keys []key)
	walk = func(above string, keys []key) {
		for _, k := range keys {
			path := above + k.name
			out = append(out, path)
			if k.kind == byName {
				path += ".NAME"
			}
			walk(path+".", k.keys)
		}
	}
	walk("", table().keys)
	return out
}

// plain formats a limit without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
