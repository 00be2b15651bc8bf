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
			panic(err) // the document is the same in every process: a test makes it
		}
		return append(text, '\n')
	})
	a.mux.HandleFunc(http.MethodGet+" "+SpecPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text()) // the client has left
	})
}

// enums gives the schema of problems the codes of the table.
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

// nullable says of the properties of a type which of them may be null: pointers to objects that are always there. Lists never are.
func nullable(t reflect.Type, s *huma.Schema) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p != nil && isBehindPointer(t, f.Index) {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name }) // what it is in may be absent
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

// isBehindPointer tells whether a field belongs to a struct that is embedded by a pointer.
func isBehindPointer(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if t.FieldByIndex(index[:i]).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// texts are the properties of runs' views which are texts, or references to long ones.
var texts = map[string][]string{"LogEntry": {"content"}, "TrailEntry": {"error"}, "Error": {"message"}, "OpenWait": {"prompt"}, "Waiting": {"prompt"}}

// longTexts says of each of these properties that it may be a reference.
func longTexts(reg huma.Registry) {
	ref := reg.Schema(reflect.TypeFor[view.Reference](), true, "Reference")
	for name, properties := range texts {
		for _, p := range properties {
			s := reg.Map()[name]
			if s == nil || s.Properties[p] == nil {
				panic("no property " + name + "." + p) // the document is the same in every process: a test makes it
			}
			text := *s.Properties[p]
			s.Properties[p] = &huma.Schema{AnyOf: []*huma.Schema{{Type: text.Type, Nullable: text.Nullable}, ref}, Description: text.Description}
		}
	}
}
