package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// finish completes the document with what huma cannot know, and serves it.
func (a *API) finish() {
	doc := a.huma.OpenAPI()
	reg := doc.Components.Schemas
	problem := reg.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, item := range doc.Paths {
		for _, op := range operationsOf(item) {
			for _, r := range op.Responses {
				if _, ok := r.Content["application/problem+json"]; ok {
					r.Content["application/problem+json"].Schema = problem
				}
			}
		}
	}
	delete(reg.Map(), "ErrorModel")
	delete(reg.Map(), "ErrorDetail")
	for name, s := range reg.Map() {
		nullable(reg.TypeFromRef(schemas+name), s)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // the document is the same in every process: a test makes it
	}
	text = append(text, '\n')
	a.mux.HandleFunc(http.MethodGet+" "+SpecPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text) // whoever asked has left
	})
}

func operationsOf(p *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{p.Get, p.Post, p.Put, p.Patch, p.Delete}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}

// nullable says of the properties of a type which of them may be null: pointers to objects that are always there. Lists never are.
func nullable(t reflect.Type, s *huma.Schema) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p != nil && len(f.Index) > 1 && t.Field(f.Index[0]).Type.Kind() == reflect.Pointer {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name }) // what it stands in may be absent
		}
		switch {
		case p == nil:
		case p.Type == huma.TypeArray:
			p.Nullable = false
		case f.Type.Kind() == reflect.Pointer && p.Ref != "" && opts == "":
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, Description: p.Description}
		}
	}
}
