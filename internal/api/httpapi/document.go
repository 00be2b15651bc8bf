package httpapi

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// securityScheme is the name of the bearer token scheme in the document.
const securityScheme = "token"

const about = `Runs agent workflows. All errors are ` + "`application/problem+json`" + ` (RFC 9457) with a ` +
	"`code`" + ` for programs.

Lists have ` + "`items`" + ` and ` + "`next`" +
	`, the cursor of the next page. Unknown query parameters and unknown fields are refused.
The role that an operation needs is in its ` + "`x-role`" + `: run, edit or admin; each role includes those before it.`

// document returns the OpenAPI document without operations.
func (a *API) document() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Hocket", Version: a.cfg.Version, Description: about,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: "/", Description: "this server"}},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry(schemas, schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				securityScheme: {Type: "http", Scheme: "bearer",
					Description: "A token from `hocket tokens create`, or the server's HOCKET_TOKEN"},
			},
		},
	}
}

const schemas = "#/components/schemas/"

// schemaName returns the schema name of a type: its own name, prefixed with the name of the item
// type for a List.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if of, ok := strings.CutPrefix(name, "List"); ok && of != "" {
		return of + "List"
	}
	return name
}
