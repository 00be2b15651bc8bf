package form

import (
	"encoding/json"

	"github.com/hocket-run/hocket/workflow"
)

// keyFile marks the schema of a file, with its limits.
const keyFile = "x-file"

// Schema returns the JSON Schema of the object of a workflow's inputs, for callers that provide it;
// nil if there are no inputs.
func Schema(list []workflow.Input) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	var properties members
	required := []string{}
	for i := range list {
		in := &list[i]
		properties.set(in.Name, in.Schema)
		if in.File != nil {
			properties.set(in.Name, fileSchema(in))
		}
		if isRequired(in) {
			required = append(required, in.Name)
		}
	}
	var out members
	out.set("type", encode("object"))
	out.set("properties", properties.json())
	if len(required) > 0 {
		out.set("required", encode(required))
	}
	out.set("additionalProperties", json.RawMessage("false"))
	return out.json()
}

func isRequired(in *workflow.Input) bool { return !in.Optional && defaultOf(in) == nil }

func defaultOf(in *workflow.Input) json.RawMessage {
	var p property
	_ = json.Unmarshal(in.Schema, &p) // a schema that is a boolean has no default
	return p.Default
}

// fileSchema returns the schema of a file as callers provide it: a string, or an object with its
// content.
func fileSchema(in *workflow.Input) json.RawMessage {
	out, _ := objectOf(in.Schema)
	out.set("type", encode([]string{"object", "string"}))
	out.set("properties",
		json.RawMessage(
			`{"name":{"type":"string"},"mediaType":{"type":"string"},"text":{"type":"string"},`+
				`"base64":{"type":"string","contentEncoding":"base64"}}`))
	out.set("additionalProperties", json.RawMessage("false"))
	out.set(keyFile, encode(workflow.FileInput{MediaTypes: in.File.MediaTypes, MaxBytes: in.File.Most()}))
	return out.json()
}

// fileOf returns the limits of a file in the schema that fileSchema returned; nil for any other
// schema.
func fileOf(schema json.RawMessage) *workflow.FileInput {
	var p struct {
		File *workflow.FileInput `json:"x-file"`
	}
	if json.Unmarshal(schema, &p) != nil {
		return nil
	}
	return p.File
}
