package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/view"
)

// registerLong registers the operations whose responses contain long values of runs.
func (a *API) registerLong() {
	r := route{
		Method: http.MethodGet, Path: "/runs/{id}/values/{digest}", ID: "getValue", Tag: tagRuns, Role: access.RoleRun,
		Errors: []int{http.StatusNotFound}, Also: []int{http.StatusNotModified},
		Summary: "Read a long value of a run",
		Description: "The whole value of a reference: a text as `text/plain`, any other value as `application/json`. " +
			"The response has a `Content-Length`, and the digest as `ETag`. " +
			"A digest that is in neither the events of this run nor its views is 404. Take the URL from the `href` " +
			"of a reference.",
	}
	add(a, r, getValue)
	op := a.huma.OpenAPI().Paths[Prefix+r.Path].Get
	op.Responses["200"] = &huma.Response{Description: "The value", Content: map[string]*huma.MediaType{
		textPlain:          {Schema: &huma.Schema{Type: huma.TypeString, Description: "The text"}},
		"application/json": {Schema: &huma.Schema{Description: "The value as JSON"}},
	}}
}

// Rendered is a response that a view writes itself; its JSON has the form of T.
type Rendered[T any] struct {
	write func(io.Writer) error
}

// WriteJSON writes the response to w.
func (b Rendered[T]) WriteJSON(w io.Writer) error { return b.write(w) }

// MarshalJSON implements json.Marshaler, for responses that are parts of other responses.
func (b Rendered[T]) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	err := b.write(&text)
	return text.Bytes(), err
}

// Schema implements huma.SchemaProvider.
func (Rendered[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// streamed returns the format f changed to write views as they are produced. If writing fails, the
// response is aborted, so that no client mistakes it for a complete one.
func streamed(f huma.Format) huma.Format {
	whole := f.Marshal
	f.Marshal = func(w io.Writer, v any) error {
		b, ok := v.(interface{ WriteJSON(w io.Writer) error })
		if !ok {
			return whole(w, v)
		}
		if err := b.WriteJSON(w); err != nil {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	return f
}

// render renders a view of a run as a response, with references in place of long values.
func render[T any](ctx context.Context, r *view.Reader, v T, short int) (Rendered[T], error) {
	doc, err := r.Prepare(ctx, v, style(r.Head.Run, short))
	return Rendered[T]{func(w io.Writer) error {
		err := doc.WriteTo(ctx, w)
		if err != nil && ctx.Err() == nil {
			transport.RecordError(ctx, err)
		}
		return err
	}}, err
}

func style(run string, short int) view.Style {
	return view.Style{Limit: short, Bounded: true, Href: view.Address(run)}
}

// ViewPage holds the paging parameters of views.
type ViewPage struct {
	Cursor string `query:"cursor" doc:"Cursor: next of the previous page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"Maximum number of entries"`
}

func (p ViewPage) page() view.Page { return view.Page{Cursor: p.Cursor, Limit: p.Limit} }

// paged maps paging errors to their status.
func paged(err error) error {
	if errors.Is(err, view.ErrCursor) {
		return formProblem(http.StatusBadRequest, "query.cursor: "+err.Error(), InputError{"query.cursor", err.Error()})
	}
	return err
}

type valueInput struct {
	RunPath
	Unless
	Digest string `path:"digest" doc:"Lower-case hexadecimal SHA-256 of a text's bytes, or of another value's JSON"`
	Type   string `query:"type" enum:"text,json" default:"text" doc:"Whether the value is a text or other JSON"`
}

const textPlain = "text/plain; charset=utf-8"

func getValue(ctx context.Context, c *transport.Caller, in *valueInput) (*huma.StreamResponse, error) {
	r, err := c.Service.View(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	found, err := r.Find(ctx, in.Digest, in.Type == "text")
	if errors.Is(err, journal.ErrNotFound) {
		return nil, notFoundInRun(in.ID, "value", in.Digest)
	}
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("ETag", quote(in.Digest))
		out.SetHeader("X-Content-Type-Options", "nosniff")
		if in.has(in.Digest) {
			out.SetStatus(http.StatusNotModified)
			return
		}
		kind := "application/json"
		if found.IsText {
			kind = textPlain
		}
		out.SetHeader("Content-Type", kind)
		out.SetHeader("Content-Length", strconv.FormatInt(found.Bytes, 10))
		out.SetStatus(http.StatusOK)
		if err := found.WriteTo(ctx, out.BodyWriter()); err != nil {
			if ctx.Err() == nil {
				transport.RecordError(ctx, err)
			}
			panic(http.ErrAbortHandler) // the client sees that the response was aborted
		}
	}}, nil
}
