package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/api"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

const shop = `openapi: 3.0.3
info: {title: "The  Shop"}
servers: [{url: "{base}/v1", variables: {base: {default: "/api"}}}]
paths:
  /things/{thing-id}:
    parameters:
      - {name: thing-id, in: path, required: true, schema: {type: string}}
    get:
      operationId: get thing!
      summary: Gives a thing
      parameters:
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: csv, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
        - {name: spread, in: query, schema: {type: object, properties: {from: {type: string}}}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: Authorization, in: header, schema: {type: string}}
    put:
      requestBody: {$ref: "#/components/requestBodies/Thing"}
  /things:
    post:
      operationId: addThing
      description: Adds a thing
      parameters: [{name: body, in: query, schema: {type: string}}]
      requestBody: {required: true, content: {application/json; charset=utf-8: {schema: {$ref: ` +
	`"#/components/schemas/Thing"}}, text/plain: {}}}
    patch: {operationId: addThing, requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: ` +
	`object}}}}}
  /upload:
    post: {operationId: upload, requestBody: {required: true, content: {multipart/form-data: {}}}}
  /elsewhere:
    get: {operationId: elsewhere, parameters: [{$ref: "https://evil.example/x.json#/p"}]}
components:
  requestBodies:
    Thing: {content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
  schemas:
    Thing:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, nullable: true, maxLength: 10, example: x}
        price: {type: number, minimum: 0, exclusiveMinimum: true}
        parts: {type: array, items: {$ref: "#/components/schemas/Thing"}}
`

func openAPI(t *testing.T, cfg api.Config, options string, tools ...string) (tool.Toolset, error) {
	t.Helper()
	ts, err := api.NewOpenAPI(cfg, tool.Spec{Type: tool.TypeOpenAPI, Options: json.RawMessage(options), Tools: tools,
		Trusted: true})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts, nil
}

// shopServer serves the document and records the requests to the API.
func shopServer(t *testing.T, document string) *recorder {
	t.Helper()
	return record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi" {
			io.WriteString(w, document)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{}`)
	})
}

func TestOpenAPIConform(t *testing.T) {
	t.Parallel()
	srv := shopServer(t, shop)
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
			if err != nil {
				t.Fatal(err)
			}
			return ts
		},
		Good: tool.Call{Name: "get_thing", Arguments: json.RawMessage(`{"thing-id":"7"}`)},
	})
}

// TestOpenAPITools checks that there is one tool for each operation that can be called, with a
// name, a description, a policy (P12) and a self-contained schema.
func TestOpenAPITools(t *testing.T) {
	t.Parallel()
	srv := shopServer(t, shop)
	ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tl := range tools {
		got = append(got, fmt.Sprintf("%s %s %q", tl.Def().Name, tl.Policy(), tl.Def().Description))
	}
	want := []string{
		`addThing ask "Adds a thing\nPOST /things"`, `addThing_2 ask "PATCH /things"`,
		`get_thing retry "Gives a thing\nGET /things/{thing-id}"`,
		`put_things__thing-id retry "PUT /things/{thing-id}"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// nullable and the exclusive minimum of 3.0 are converted to JSON Schema, readOnly properties
	// are omitted, and the cycle ends.
	const thing = `{"properties":{"name":{"maxLength":10,"type":["string","null"]},"parts":{"items":{},` +
		`"type":"array"},"price":{"exclusiveMinimum":0,"type":"number"}},"required":["name"],"type":"object"}`
	if p := string(tools[0].Def().Parameters); p != `{"additionalProperties":false,"properties":{"body":`+thing+
		`,"body_query":{"type":"string"}},"required":["body"],"type":"object"}` {
		t.Errorf("got %s", p)
	}
	if i := ts.(tool.Instructor).Instructions(); !strings.Contains(i, "The Shop") {
		t.Errorf("instructions %q", i)
	}
	if len(srv.all()) != 1 {
		t.Errorf("the document was fetched %d times", len(srv.all()))
	}
}

func TestOpenAPIRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, args, uri, body, contentType string
		header                             map[string]string
		refused                            string
	}{
		"styles": {
			"get_thing",
			`{"thing-id":"a/b","tags":["x&y","z"],"csv":[1,2],"filter":{"a]=1&b":"c"},"spread":{"from":"f"},` +
				`"X-Trace":"t","session":"a; b=c"}`,
			"/api/v1/things/a%2Fb?csv=1%2C2&filter[a]%3D1%26b]=c&spread&tags=x%26y&tags=z", "", "",
			map[string]string{"X-Trace": "t", "Cookie": "session=a%3B%20b%3Dc", "Authorization": ""}, ""},
		"line break in a header": {"get_thing", `{"thing-id":"a","X-Trace":"t\r\nEvil: 1"}`, "", "", "", nil,
			"line breaks"},
		"steps up": {"get_thing", `{"thing-id":"../../admin"}`, "", "", "", nil, "path segment"},
		"unknown query name": {"get_thing", `{"thing-id":"a","spread":{"admin":"1"}}`, "", "", "", nil,
			"no property"},
		"body": {"addThing", `{"body":{"name":"n"},"body_query":"q"}`, "/api/v1/things?body=q",
			`{"name":"n"}`, "application/json; charset=utf-8", map[string]string{"Idempotency-Key": "run/1/call/7"},
			""},
		"form": {"addThing_2", `{"body":{"a":"1&b=2"}}`, "/api/v1/things", "a=1%26b%3D2",
			"application/x-www-form-urlencoded", nil, ""},
		"no body":      {"addThing_2", `{}`, "/api/v1/things", "", "", nil, ""},
		"body missing": {"addThing", `{}`, "", "", "", nil, "body is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := shopServer(t, shop)
			ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
			if err != nil {
				t.Fatal(err)
			}
			res, err := ask(t, ts, tc.tool, tc.args)
			if tc.refused != "" {
				if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindInvalidArguments ||
					!strings.Contains(e.Message, tc.refused) || len(srv.all()) != 1 {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || res.IsError {
				t.Fatalf("%+v, %v", res, err)
			}
			got := srv.all()[1]
			want := strings.Replace(tc.uri, "&spread&", "&from=f&", 1)
			if got.uri != want || got.body != tc.body || got.header.Get("Content-Type") != tc.contentType {
				t.Errorf("got %s %q %s; want %s", got.uri, got.body, got.header.Get("Content-Type"), want)
			}
			for name, value := range tc.header {
				if got.header.Get(name) != value {
					t.Errorf("%s: %q", name, got.header.Get(name))
				}
			}
		})
	}
}

// TestOpenAPIAuth checks that each kind of credentials goes where it belongs, and not into what the
// model sees (SEC11).
func TestOpenAPIAuth(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]func(seen) bool{
		`{"bearer":"${env.CANARY}"}`: func(s seen) bool { return s.header.Get("Authorization") == "Bearer "+canary },
		`{"basic":{"username":"me","password":"$CANARY"}}`: func(s seen) bool {
			return s.header.Get("Authorization") == "Basic bWU6Y2FuYXJ5LTAxMjM0NTY3ODk="
		},
		`{"api_key":{"name":"X-Key","value":"$CANARY"}}`: func(s seen) bool {
			return s.header.Get("X-Key") == canary
		},
		`{"api_key":{"name":"tags","in":"query","value":"$CANARY"}}`: func(s seen) bool {
			return strings.HasSuffix(s.uri, "?csv=1&tags="+canary)
		},
		`{"api_key":{"name":"sid","in":"cookie","value":"${env.CANARY}"}}`: func(s seen) bool {
			return s.header.Get("Cookie") == "session=s; sid="+canary
		},
	} {
		t.Run(auth, func(t *testing.T) {
			t.Parallel()
			srv := shopServer(t, shop)
			ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi","auth":`+auth+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ask(t, ts, "get_thing",
				`{"thing-id":"a","tags":["evil"],"csv":[1],"session":"s"}`); err != nil {
				t.Fatal(err)
			}
			if got := srv.all()[1]; !want(got) {
				t.Errorf("sent %s %v", got.uri, got.header)
			}
		})
	}
	for bad, want := range map[string]string{
		`{}`: "needs one of", `{"bearer":"$MISSING"}`: "MISSING is not set",
		`{"api_key":{"name":"a b","value":"x"}}`:           "invalid name or value",
		`{"api_key":{"name":"a","in":"body","value":"x"}}`: "in must be",
		`{"api_key":{"name":"Host","value":"x"}}`:          "cannot be set",
	} {
		if _, err := openAPI(t, config(), `{"url":"https://x.example/","auth":`+bad+`}`); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestOpenAPIServers checks that a server other than the document's own gets no credentials if only
// the document names it, but does if the toolset names it (SEC8).
func TestOpenAPIServers(t *testing.T) {
	t.Parallel()
	target := record(t, nil)
	doc := func(server string) string {
		return `{"openapi":"3.1.0","info":{},"servers":[{"url":"` + server +
			`"}],"paths":{"/x":{"get":{"operationId":"x"}},"/y":{"servers":[{"url":"` + target.URL +
			`/deep"}],"get":{"operationId":"y"}}}}`
	}
	srv := shopServer(t, doc(target.URL))
	ts, err := openAPI(t, config(srv.URL, target.URL), `{"url":"`+srv.URL+`/openapi","headers":{"X-Key":"$CANARY"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ts.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "to allow it, set `server: ") {
		t.Errorf("got %v", err)
	}
	ts, err = openAPI(t, config(srv.URL, target.URL), `{"url":"`+srv.URL+`/openapi","server":"`+target.URL+
		`/base/","headers":{"X-Key":"$CANARY"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, ts, "x", `{}`); err != nil || target.all()[0].uri != "/base/x" ||
		target.all()[0].header.Get("X-Key") != canary {
		t.Errorf("%+v, %v", target.all(), err)
	}
	own := shopServer(t, doc("/own"))
	ts, err = openAPI(t, config(own.URL, target.URL), `{"url":"`+own.URL+`/openapi","headers":{"X-Key":"$CANARY"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, ts, "y", `{}`); err != nil || target.all()[1].uri != "/deep/y" ||
		target.all()[1].header.Get("X-Key") != "" {
		t.Errorf("an operation elsewhere: %+v, %v", target.all(), err)
	}
	if _, err := ask(t, ts, "x", `{}`); err != nil || own.all()[1].uri != "/own/x" ||
		own.all()[1].header.Get("X-Key") != canary {
		t.Errorf("its own: %+v, %v", own.all(), err)
	}
}

func TestOpenAPIDocuments(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 600 {
		fmt.Fprintf(&many, `"/p%d":{"get":{}},`, i)
	}
	tooMany := `{"openapi":"3.1.0","paths":{` + strings.TrimSuffix(many.String(), ",") + `}}`
	for name, tc := range map[string]struct{ doc, want string }{
		"none":          {"", "cannot be read"},
		"no JSON":       {"{", "cannot be read"},
		"a list":        {"[]", "not a map"},
		"swagger":       {"swagger: '2.0'\npaths: {}", "Swagger 2.0"},
		"another":       {"openapi: 4.0.0\npaths: {}", "not an OpenAPI 3 document"},
		"no paths":      {"openapi: 3.1.0", "has no paths"},
		"no operations": {"openapi: 3.1.0\npaths: {}", "no operation"},
		"too many":      {tooMany, "more than 512 operations (max_operations)"},
		"too deep": {"openapi: 3.1.0\nx: " + strings.Repeat("[", 150) + strings.Repeat("]", 150),
			"nested deeper than 100 (max_depth)"},
		"circle": {"openapi: 3.1.0\npaths: {/a: {$ref: '#/paths/~1b'}, /b: {$ref: '#/paths/~1a'}}",
			"no operation"},
		"odd server": {"openapi: 3.1.0\nservers: [{url: 'ftp://x.example'}]\npaths: {/a: {get: {}}}",
			"no operation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := shopServer(t, tc.doc)
			ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ts.Tools(t.Context())
			if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindFailed ||
				!strings.Contains(e.Message, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("behind a byte order mark", func(t *testing.T) {
		t.Parallel()
		srv := shopServer(t, "\uFEFF"+`{"openapi":"3.1.0","paths":{"/p":{"get":{"summary":"\ud83d\ude00"}}}}`)
		ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := ts.Tools(t.Context()); err != nil || len(tools) != 1 {
			t.Errorf("%d, %v", len(tools), err)
		}
	})
	t.Run("some of too many", func(t *testing.T) {
		t.Parallel()
		srv := shopServer(t, tooMany)
		ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`, "get_p7")
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := ts.Tools(t.Context()); err != nil || len(tools) != 1 {
			t.Errorf("%d, %v", len(tools), err)
		}
	})
	t.Run("not there", func(t *testing.T) {
		t.Parallel()
		srv := record(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) })
		ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ts.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		srv := record(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 17 {
				io.WriteString(w, strings.Repeat(" ", 1<<20))
			}
		})
		ts, err := openAPI(t, config(srv.URL), `{"url":"`+srv.URL+`/openapi"}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ts.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "max_document_bytes") {
			t.Errorf("got %v", err)
		}
	})
}

// TestOpenAPIFile checks that a file is read for trusted documents only, with the reader in the
// configuration.
func TestOpenAPIFile(t *testing.T) {
	t.Parallel()
	cfg := config()
	spec := tool.Spec{Type: tool.TypeOpenAPI, Options: json.RawMessage(`{"file":"shop.yaml"}`)}
	_, err := api.NewOpenAPI(cfg, spec)
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindUntrusted {
		t.Errorf("got %v", err)
	}
	spec.Trusted = true
	_, err = api.NewOpenAPI(cfg, spec)
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindUnsupported {
		t.Errorf("got %v", err)
	}
	cfg.ReadFile = func(_ tool.Spec, path string, limit int) ([]byte, error) {
		if path != "shop.yaml" || limit != 16<<20 {
			t.Errorf("%s, %d", path, limit)
		}
		return []byte(strings.Replace(shop, "/api", "https://shop.example", 1)), nil
	}
	ts, err := api.NewOpenAPI(cfg, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	if tools, err := ts.Tools(t.Context()); err != nil || len(tools) != 4 {
		t.Errorf("%d, %v", len(tools), err)
	}
}
