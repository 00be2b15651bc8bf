package httpapi

import (
	"context"
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/service"
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
	IfMatch string `header:"If-Match" doc:"The ETag that was read: if the definition has changed since, the response is 409 with the ETag of what is stored now, and nothing is changed. * matches any existing definition"`
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

// withTag gives a change that was refused since something else is stored the tag of that, which the client may read and change next. Nothing is named where nothing
// is stored, or where it cannot be read.
func withTag(err error, tag func() (string, error)) error {
	if !errors.Is(err, catalog.ErrChanged) {
		return err
	}
	p := problemOf(err)
	if now, terr := tag(); terr == nil {
		p.tag = now
	}
	return p
}

// workflowTag is for withTag. A workflow that cannot run, such as one that is only a draft, has a tag too.
func workflowTag(ctx context.Context, c *transport.Caller, id string) func() (string, error) {
	return func() (string, error) {
		d, err := c.Service.Definition(ctx, id, service.Which{})
		if d.Tag != "" {
			err = nil
		}
		return d.Tag, err
	}
}
