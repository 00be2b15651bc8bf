package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/docschema"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
)

// registerConvert registers the operations about document formats.
func (a *API) registerConvert() {
	add(a, route{
		Method: http.MethodPost, Path: "/documents/convert", ID: "convertDocument", Tag: tagDocuments,
		Role: access.RoleRun, Errors: []int{http.StatusRequestEntityTooLarge},
		Summary: "Write a document in another format",
		Description: "Executes and stores nothing. Every difference is in `changes`. A conversion that would run " +
			"differently is refused, unless it is asked for with `lossy`. " +
			"A document with errors is 422 with `diagnostics`.",
	}, convertDocument)
	add(a, route{
		Method: http.MethodGet, Path: "/schemas/{format}", ID: "getSchema", Tag: tagDocuments, Role: access.RoleRun,
		Errors:  []int{http.StatusNotFound},
		Summary: "Show the JSON Schema of a kind of document",
		Description: "Of workflows in a format: canvas, rounds, routes, steps; or of the other files: agents, " +
			"config, replies, tools.",
	}, getSchema)
}

// ConvertBody is a document and the format to convert it to.
type ConvertBody struct {
	Document string   `json:"document" doc:"Text of the document, YAML or JSON"`
	From     Language `json:"from,omitempty" doc:"Language of the document; absent: it is detected"`
	To       Language `json:"to" doc:"Language to write"`
	Lossy    bool     `json:"lossy,omitempty" doc:"Write the document even if it runs differently"`
	Leniency
}

// Converted is a document converted to another format.
type Converted struct {
	Format   string          `json:"format"`
	Refused  bool            `json:"refused" doc:"The format cannot express something that a run depends on"`
	Document *string         `json:"document" doc:"Text of the document; null: it was refused, or would not load"`
	Changes  []format.Change `json:"changes" doc:"All differences, those of kind meaning (which cause refusal) last"`
}

func convertDocument(ctx context.Context, c *transport.Caller, in *struct{ Body ConvertBody }) (
	*struct{ Body Converted }, error) {
	b := &in.Body
	w, problems, err := c.Service.Load(ctx, documentName, []byte(b.Document),
		service.LoadOptions{Format: string(b.From), AllowUnknown: b.AllowUnknown})
	switch {
	case err != nil:
		return nil, err
	case problems.HasErrors():
		return nil, &service.InvalidError{Diagnostics: problems, Err: errcode.New(errcode.InvalidDocument, nil, nil)}
	}
	got, err := format.Convert(w, string(b.To))
	if err != nil {
		return nil, fmt.Errorf("convert document: %w", err)
	}
	out := Converted{Format: string(b.To), Refused: len(got.Meaning()) > 0 && !b.Lossy || got.Document == nil,
		Changes: append([]format.Change{}, got.Changes...)}
	if !out.Refused {
		text := string(got.Document)
		out.Document = &text
	}
	return &struct{ Body Converted }{out}, nil
}

// SchemaPath is the path parameter that identifies a kind of document.
type SchemaPath struct {
	Format string `path:"format" doc:"Kind of document" example:"steps"`
}

// schemaAnswer is the response with a schema.
type schemaAnswer struct {
	Body event.Value `doc:"A JSON Schema, draft 2020-12"`
}

func getSchema(_ context.Context, _ *transport.Caller, in *SchemaPath) (*schemaAnswer, error) {
	text, err := docschema.Get(in.Format)
	if err != nil {
		return nil,
			&service.NotFoundError{What: "Schema", ID: in.Format, Hint: diag.DidYouMean(in.Format, docschema.Names())}
	}
	return &schemaAnswer{text}, nil
}
