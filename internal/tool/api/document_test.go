package api

import (
	"encoding/json"
	"net/url"
	"testing"
)

// FuzzOpenAPI checks that no document crashes the process, and that every tool made from one has a
// name that providers accept, an object schema, and a request to the document's server.
func FuzzOpenAPI(f *testing.F) {
	f.Add(
		[]byte(
			`{"openapi":"3.0.0","paths":{"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path",` +
				`"schema":{"type":"string"}}]}}}}`))
	f.Add([]byte("openapi: 3.1.0\nservers: [{url: '{x}', variables: {x: {default: /y}}}]\npaths: {/a: {post: " +
		"{requestBody: {content: {'*/*': {schema: {$ref: '#/paths'}}}}}}}"))
	f.Add(
		[]byte(
			"openapi: 3.1.0\npaths: &a {/a: {get: {operationId: 'ü'}, put: {parameters: [{$ref: " +
				"'#/components/parameters/p'}]}}}\ncomponents: {parameters: {p: {name: q, in: query, style: " +
				"deepObject, content: {a: {}}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := parseDocument(data)
		if err != nil {
			return
		}
		from, _ := url.Parse("https://api.example/openapi.json")
		l := &listing{doc: doc, documentURL: from, base: &base{}, problem: func(string, error) {}}
		ops, err := l.operations()
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, op := range ops {
			def := op.Def()
			if names[def.Name] || def.Name == "" || len(def.Name) > maxNameLen {
				t.Errorf("name %q", def.Name)
			}
			names[def.Name] = true
			var schema struct{ Type string }
			if json.Unmarshal(def.Parameters, &schema) != nil || schema.Type != "object" {
				t.Errorf("parameters %s", def.Parameters)
			}
			if r, err := op.build(map[string]any{"b": "../x", "q": map[string]any{"k": "v"},
				"body": []any{"x"}}); err == nil && r.url.Host == "" {
				t.Errorf("no host in %s", r.url)
			}
		}
	})
}
