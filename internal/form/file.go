package form

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/workflow"
)

// File is a file as an input contains it: `$input.doc.text`, or `$input.doc.base64` if the content
// is not text.
type File struct {
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	// Size is the length of the content in bytes.
	Size   int64   `json:"size"`
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// NewFile returns the value of a file with that content.
func NewFile(name string, content []byte) json.RawMessage {
	f := File{Name: path.Base(strings.ReplaceAll(name, `\`, "/")), Size: int64(len(content))}
	f.setContent(content)
	return encode(f)
}

// setContent sets the content, as text if it is UTF-8 without a zero byte.
func (f *File) setContent(content []byte) {
	f.Text, f.Base64 = nil, nil
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
		text := string(content)
		f.Text = &text
		return
	}
	text := base64.StdEncoding.EncodeToString(content)
	f.Base64 = &text
}

// readFile returns the value of a file in the form in which it is stored; a plain string is the
// content of a file without a name. why describes what is wrong with it.
func readFile(in *workflow.Input, v json.RawMessage) (out json.RawMessage, why, hint string) {
	var f File
	var text string
	if json.Unmarshal(v, &text) == nil {
		f.Text = &text
	} else {
		dec := json.NewDecoder(bytes.NewReader(v))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			return nil, "must be a file", `give {"name": "a.pdf", "base64": "…"}, or text in place of base64`
		}
	}
	var content []byte
	switch {
	case (f.Text == nil) == (f.Base64 == nil):
		return nil, "must have text or base64", "text is the content of a text file, base64 that of any other"
	case f.Text != nil:
		content = []byte(*f.Text)
	default:
		var err error
		if content, err = base64.StdEncoding.DecodeString(*f.Base64); err != nil {
			return nil, "has a content that is not base64", "use the standard alphabet, with padding"
		}
	}
	f.Name = path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	if f.Name == "." || f.Name == "/" {
		f.Name = ""
	}
	f.Size = int64(len(content))
	if most := in.File.Most(); f.Size > most {
		return nil, fmt.Sprintf("has %d bytes; the limit is %d (maxBytes)", f.Size, most), ""
	}
	f.setContent(content)
	if f.MediaType == "" {
		f.MediaType = mediaType(f.Name, f.Text != nil)
	}
	if kind, _, err := mime.ParseMediaType(f.MediaType); err != nil {
		return nil, fmt.Sprintf("has the media type %q, which is none", f.MediaType),
			"write one such as application/pdf"
	} else if !accepts(in.File.MediaTypes, kind) {
		return nil, "is of the media type " + kind, "it must be of " + strings.Join(in.File.MediaTypes, ", ")
	}
	return encode(f), "", ""
}

// accepts reports whether a media type matches one of the patterns; no patterns match all.
func accepts(patterns []string, kind string) bool {
	for _, p := range patterns {
		p = strings.ToLower(p)
		if p == kind || p == "*/*" || strings.HasSuffix(p, "/*") &&
			strings.HasPrefix(kind, strings.TrimSuffix(p, "*")) {
			return true
		}
	}
	return len(patterns) == 0
}

// mediaTypes maps file name extensions to media types. The machine's own list is not used, so that
// the same file has the same type everywhere.
var mediaTypes = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html",
	".htm": "text/html", ".xml": "application/xml", ".json": "application/json",
	".jsonl": "application/jsonl", ".yaml": "application/yaml", ".yml": "application/yaml", ".pdf": "application/pdf",
	".zip": "application/zip", ".gz": "application/gzip", ".png": "image/png",
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".eml":  "message/rfc822", ".diff": "text/x-diff", ".patch": "text/x-diff",
}

func mediaType(name string, text bool) string {
	if t := mediaTypes[strings.ToLower(path.Ext(name))]; t != "" {
		return t
	}
	if text {
		return "text/plain"
	}
	return "application/octet-stream"
}
