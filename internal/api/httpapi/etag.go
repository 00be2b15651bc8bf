package httpapi

import (
	"strings"

	"github.com/hocket-run/hocket/internal/catalog"
)

// Tagged is the header that names the state of a definition.
type Tagged struct {
	ETag string `header:"ETag" doc:"Identifies the state of the definition, for If-Match and If-None-Match"`
}

// quote gives a tag as a header has it.
func quote(tag string) string { return `"` + tag + `"` }

// Unless is the header of reads that are needed only where something has changed.
type Unless struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the client has; if one matches, the response is 304"`
}

// has tells whether the asker has the definition with a tag.
func (u Unless) has(tag string) bool { return matches(u.IfNoneMatch, tag) }

// matches tells whether a list of tags, or *, has a tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == "*" || one == quote(tag) {
			return true
		}
	}
	return false
}

// Only is the header of changes that are made only to what the client has read.
type Only struct {
	IfMatch string `header:"If-Match" doc:"The ETag that was read: if the definition has changed since, the response is 409 and nothing is changed. * matches any existing definition"`
}

// expect gives the tag that what is changed must have; "" is any. Errors: *Problem for what is no tag.
func (o Only) expect() (string, error) {
	tag := strings.TrimPrefix(strings.TrimSpace(o.IfMatch), "W/")
	if tag == "" || tag == "*" {
		return "", nil
	}
	inner := strings.Trim(tag, `"`)
	if quote(inner) != tag || strings.ContainsAny(inner, `",`) || inner == "" || inner == catalog.TagAbsent {
		return "", badField("header.If-Match", "must be one ETag in quotes, as returned with the definition, or *")
	}
	return inner, nil
}
