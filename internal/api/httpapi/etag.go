package httpapi

import (
	"context"
	"errors"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/service"
)

// Tagged is the response header with the entity tag of a definition.
type Tagged struct {
	ETag string `header:"ETag" doc:"Identifies the state of the definition, for If-Match and If-None-Match"`
}

// quote returns a tag in the form that a header requires.
func quote(tag string) string { return `"` + tag + `"` }

// Unless is the request header of conditional reads: the body is sent only if the definition has
// changed.
type Unless struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the client has; if one matches, the response is 304"`
}

// has reports whether the client already has the definition with the tag.
func (u Unless) has(tag string) bool { return matches(u.IfNoneMatch, tag) }

// matches reports whether a list of tags, or *, matches the tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == "*" || one == quote(tag) {
			return true
		}
	}
	return false
}

// Only is the request header of conditional changes: they apply only to the state that the client
// has read.
type Only struct {
	IfMatch string `header:"If-Match" doc:"ETag last read, or * (any existing); 409 with the current ETag if stale"`
}

// expect returns the tag that the stored definition must have before the change; "" means any tag.
// The error is a *Problem if the header is not a tag.
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

// withTag adds the current tag to the error of a change that was rejected because something else is
// stored, so that the client can read that and change it next. It adds no tag if nothing is stored
// or if the tag cannot be read.
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

// workflowTag returns a function for withTag. A workflow that cannot run, for example one with only
// a draft, has a tag too.
func workflowTag(ctx context.Context, c *transport.Caller, id string) func() (string, error) {
	return func() (string, error) {
		d, err := c.Service.Definition(ctx, id, service.Which{})
		if d.Tag != "" {
			err = nil
		}
		return d.Tag, err
	}
}
