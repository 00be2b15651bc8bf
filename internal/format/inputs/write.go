package inputs

import (
	"bytes"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/workflow"
)

// JSON returns inputs in the form in which a document contains them; nil if there are none.
func JSON(list []workflow.Input) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		in := &list[i]
		more := map[string]any{}
		if in.Optional {
			more["optional"] = true
		}
		if f := in.File; f != nil {
			more["type"] = form.TypeFile
			if f.MediaTypes != nil {
				more["mediaTypes"] = f.MediaTypes
			}
			if f.MaxBytes > 0 {
				more["maxBytes"] = f.MaxBytes
			}
		}
		b.WriteString(`"` + in.Name + `":`)
		b.Write(join(in.Schema, more))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// join returns an object with further members appended.
func join(object json.RawMessage, more map[string]any) json.RawMessage {
	object = bytes.TrimSpace(object)
	if len(more) == 0 || len(object) < 2 {
		return object
	}
	tail, _ := json.Marshal(more) // strings, numbers and lists of strings
	if len(bytes.TrimSpace(object[1:len(object)-1])) == 0 {
		return tail
	}
	return append(append(bytes.TrimSuffix(bytes.Clone(object), []byte("}")), ','), tail[1:]...)
}

// Types returns the JSON types of a workflow's input as expressions see it; nil means any.
func Types(w *workflow.Workflow, name string) []string {
	in := w.Input(name)
	switch {
	case in == nil:
		return nil
	case in.File != nil:
		return []string{"object"}
	}
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(in.Schema, &s) != nil || s.Type == "" {
		return nil
	}
	return []string{s.Type}
}

// Form returns the schema of the key `inputs`, for editors.
func Form() part.Object {
	text, words := part.Scalar, kinds
	number, whole := part.Number, func(doc string) part.Object { return part.Whole(doc, 0) }
	forms := part.Object{
		"type":  part.Needed(part.OneOf("what the value is; a text without it", words...)),
		"title": text("its name for people"), "description": text("what it is for"),
		"default": part.Anything("the value where none is given"),
		"enum":    part.With(part.Object{"type": "array", "minItems": 1}, "the values that it can have"),
		"format":  part.Needed(part.OneOf("the form of a text", form.Formats()...)),
		"pattern": text("a regular expression that a text must match"),
		"minimum": number("the least number"), "maximum": number("the largest number"),
		"exclusiveMinimum": number("it must be more"), "exclusiveMaximum": number("it must be less"),
		"multipleOf": number("it must be a multiple"), "minLength": whole("the least characters"),
		"maxLength": whole("the most characters"),
		"items": part.With(part.Object{"type": []string{"object", "boolean"}},
			"the JSON Schema of the items of a list"), "minItems": whole("the least items"),
		"maxItems":    whole("the most items"),
		"uniqueItems": part.Flag("no two items are equal"), "properties": part.With(part.Object{"type": "object"},
			"the JSON Schemas of the members of an object"),
		"required": part.With(part.Object{"type": "array"}, "the members that an object must have"),
		"additionalProperties": part.With(part.Object{"type": []string{"object", "boolean"}},
			"of other members of an object"),
		"optional": part.Flag("the input can be left out although it has no default"),
		"mediaTypes": part.Either("of a file: patterns such as application/pdf and text/*",
			part.Object{"type": "string"}, part.Object{"type": "array", "items": part.Object{"type": "string"}}),
		"maxBytes": part.With(part.Object{"type": "integer", "minimum": 1,
			"maximum": workflow.MaxFileBytes}, "of a file: the most bytes, 1048576 without it"),
	}
	all := part.Object{}
	for _, key := range Keys {
		all[key] = forms[key]
	}
	return part.With(part.Object{
		"type": []string{"object", "null"}, "propertyNames": part.Object{"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
		"maxProperties": workflow.MaxInputs,
		"additionalProperties": part.Either("", part.Needed(part.OneOf("", words...)), part.Entry("", all),
			part.Object{"type": "null"}),
	}, "what a run is given, by names")
}
