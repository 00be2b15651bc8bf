package hooks

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/form"
)

// field is a field of the form that answers a question.
type field struct {
	form.Field
	// Text is the content of the field: the default, or what was entered. For a choice it is the
	// index of the value, from 0, or "" for none.
	Text string
}

// fieldsOf returns the fields of a question whose schema is an object. It returns nil if the answer
// is a single text, which is also the case if a required member has no field, or is a file, which
// the page cannot accept.
func (w *journaledWait) fieldsOf() []field {
	if !w.takesText() {
		return nil
	}
	list := form.AnswerFields(w.Schema)
	if slices.ContainsFunc(list, func(f form.Field) bool { return f.File != nil }) {
		return nil
	}
	var out []field
	for _, f := range list {
		one := field{Field: f}
		one.Text = one.initial()
		out = append(out, one)
	}
	return out
}

// initial returns the content of the field for its default, or "" if it has none.
func (f *field) initial() string {
	switch {
	case f.Default == nil:
		return ""
	case len(f.Enum) > 0:
		if i := slices.IndexFunc(f.Enum, func(e json.RawMessage) bool { return sameJSON(e, f.Default) }); i >= 0 {
			return strconv.Itoa(i)
		}
		return ""
	case f.IsJSON():
		return string(f.Default)
	}
	return expr.Text(f.Default)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// fieldName returns the name of a field in the submitted form; names in the schema may be arbitrary
// strings.
func fieldName(i int) string { return "field-" + strconv.Itoa(i) }

// isRaw reports whether the content is kept exactly as entered, including spaces and line breaks.
func (f *field) isRaw() bool { return f.Type == "string" && f.Format == "" }

// fillFields stores the submitted values in the fields.
func fillFields(fields []field, sent url.Values) {
	for i := range fields {
		fields[i].Text = fields[i].normal(sent.Get(fieldName(i)))
	}
}

// normal returns content as it is read.
func (f *field) normal(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !f.isRaw() {
		text = strings.TrimSpace(text)
	}
	return text
}

// answerOfFields returns an object with the contents of the fields. Empty fields and those with the
// content of their default are omitted: the run adds the defaults unchanged.
func answerOfFields(fields []field) (value event.Value, problem string) {
	size, list, values := 0, make([]form.Field, len(fields)), map[string]json.RawMessage{}
	for i := range fields {
		f := &fields[i]
		list[i] = f.Field
		if size += len(f.Text); size > maxAnswer || !utf8.ValidString(f.Text) {
			return nil, "The answer is too long."
		}
		if f.Text == "" {
			if f.Required {
				return nil, f.Label() + " is needed."
			}
			continue
		}
		if f.Text == f.normal(f.initial()) {
			continue
		}
		v, why := f.value()
		if why != "" {
			return nil, f.Label() + " " + why + "."
		}
		values[f.Name] = v
	}
	return form.Object(list, values), ""
}

// value parses the content of the field.
func (f *field) value() (v json.RawMessage, why string) {
	switch {
	case f.IsJSON():
		return f.TakeJSON(f.Text)
	case len(f.Enum) == 0:
		return f.Take(f.Text)
	}
	i, err := strconv.Atoi(f.Text)
	if err != nil || i < 0 || i >= len(f.Enum) {
		return nil, "must be " + f.Kind()
	}
	return f.Enum[i], ""
}

// fields writes the fields of a form.
func (p *canvas) fields(list []field, required bool) {
	for i := range list {
		f := &list[i]
		name := fieldName(i)
		p.HTML(`<label for="`)
		p.Text(name)
		p.HTML(`">`)
		p.visible(f.Label())
		if !f.Required {
			p.HTML(` <span class="quiet">(optional)</span>`)
		}
		p.HTML("</label>\n<p class=\"hint\" id=\"")
		p.Text(name)
		p.HTML(`-hint">`)
		if f.Description != "" {
			p.visible(f.Description)
			p.HTML("; ")
		}
		p.visible(f.Kind())
		if f.IsJSON() {
			p.HTML(", as JSON")
		}
		p.HTML("</p>\n")
		p.control(f, name, required && f.Required)
	}
}

// control writes the form control of a field.
func (p *canvas) control(f *field, name string, required bool) {
	attributes := func() {
		p.HTML(` id="`)
		p.Text(name)
		p.HTML(`" name="`)
		p.Text(name)
		p.HTML(`" aria-describedby="`)
		p.Text(name)
		p.HTML(`-hint"`)
		if required {
			p.HTML(" required")
		}
	}
	switch {
	case len(f.Enum) > 0 || f.Type == "boolean":
		p.HTML("<select")
		attributes()
		p.HTML(">\n<option value=\"\"></option>\n")
		if len(f.Enum) == 0 {
			p.option("true", "yes", f.Text)
			p.option("false", "no", f.Text)
		}
		for i, v := range f.Enum {
			p.option(strconv.Itoa(i), enumText(v), f.Text)
		}
		p.HTML("</select>\n")
	case f.Type == "number" || f.Type == "integer" || f.Format != "":
		switch f.Format {
		case "date":
			p.HTML(`<input type="date"`)
		case "email":
			p.HTML(`<input type="email"`)
		default:
			p.HTML(`<input type="text"`)
		}
		attributes()
		if f.Type == "number" || f.Type == "integer" {
			p.HTML(` inputmode="decimal"`)
		}
		p.HTML(` value="`)
		p.Text(f.Text)
		p.HTML("\">\n")
	default:
		p.HTML("<textarea")
		attributes()
		p.HTML(" rows=\"1\" class=\"field\">\n") // parsers drop this line break
		p.Text(f.Text)
		p.HTML("</textarea>\n")
	}
}

// option writes one of several values. Elements are not rendered in it, so hidden characters are
// only shown as escapes.
func (p *canvas) option(value, label, chosen string) {
	p.HTML(`<option value="`)
	p.Text(value)
	p.HTML(`"`)
	if value == chosen {
		p.HTML(" selected")
	}
	p.HTML(">")
	for _, piece := range pieces(label) {
		p.Text(piece.Text)
	}
	p.HTML("</option>\n")
}

// enumText returns the label of a value: a string unchanged; anything else, and a string that would
// be invisible, as JSON.
func enumText(v json.RawMessage) string {
	if text := expr.Text(v); text != "" {
		return text
	}
	return string(v)
}
