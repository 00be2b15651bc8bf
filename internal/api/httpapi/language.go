package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/format"
)

// Language is the name of a document format. If empty, the format is detected, or any format
// matches.
type Language string

// Schema lists the registered formats.
func (Language) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, name := range format.Names() {
		s.Enum = append(s.Enum, name)
	}
	return s
}
