package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/view"
)

// finish adds to the document what huma cannot derive, and serves it.
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
	enums(reg.Map()["Problem"])
	delete(reg.Map(), "ErrorModel")
	delete(reg.Map(), "ErrorDetail")
	longTexts(reg)
	for name, s := range reg.Map() {
		nullable(reg.TypeFromRef(schemas+name), s)
	}
	text := sync.OnceValue(func() []byte { // built on first request: few clients need it
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			panic(err) // the document is the same in every process; a test builds it
		}
		return append(text, '\n')
	})
	a.mux.HandleFunc(http.MethodGet+" "+SpecPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text()) // the client is gone
	})
}

// enums sets the codes of the error table as the enum of the problem schema.
func enums(problem *huma.Schema) {
	for _, g := range errcode.Groups() {
		if !g.OpenAI {
			problem.Properties["code"].Enum = append(problem.Properties["code"].Enum, string(g.Family))
		}
	}
	for _, e := range errcode.Entries() {
		problem.Properties["reason"].Enum = append(problem.Properties["reason"].Enum, string(e.Code))
	}
}

func operationsOf(p *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{p.Get, p.Post, p.Put, p.Patch, p.Delete}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}

// nullable marks the properties of a type that may be null: pointers to objects that are always
// present. Lists are never null.
func nullable(t reflect.Type, s *huma.Schema) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p != nil && isBehindPointer(t, f.Index) {
			// the embedded struct may be absent
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		switch {
		case p == nil:
		case p.Type == huma.TypeArray:
			p.Nullable = false
		case f.Type.Kind() == reflect.Pointer && p.Ref != "" && opts == "":
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
				Description: p.Description}
		}
	}
}

// isBehindPointer reports whether a field belongs to a struct that is embedded by pointer.
func isBehindPointer(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if t.FieldByIndex(index[:i]).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// texts lists the properties of run views that are either strings or references to long strings.
var texts = map[string][]string{"LogEntry": {"content"}, "TrailEntry": {"error"}, "Error": {"message"},
	"OpenWait": {"prompt"}, "Waiting": {"prompt"}}

// longTexts declares in the schema that each of these properties may be a reference.
func longTexts(reg huma.Registry) {
	ref := reg.Schema(reflect.TypeFor[view.Reference](), true, "Reference")
	for name, properties := range texts {
		for _, p := range properties {
			s := reg.Map()[name]
			if s == nil || s.Properties[p] == nil {
				panic("no property " + name + "." + p) // the document is the same in every process; a test builds it
			}
			text := *s.Properties[p]
			s.Properties[p] = &huma.Schema{AnyOf: []*huma.Schema{{Type: text.Type, Nullable: text.Nullable}, ref},
				Description: text.Description}
		}
	}
}
