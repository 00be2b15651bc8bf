package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/format"
)

// Language is the name of a format of documents; "": it is detected, or any.
type Language string

// Schema lists the registered formats.
func (Language) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, name := range format.Names() {
		s.Enum = append(s.Enum, name)
	}
	return s
}
