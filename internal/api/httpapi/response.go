package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// response is the output type of every operation for huma. Operations share it because
// huma.Register is compiled for each pair of an input and an output type, at 40 KB each.
type response struct {
	Status int
	Body   any
}

// output describes the output type of an operation: a struct with a field for each header of the
// response, and with the optional fields Status and Body.
type output struct {
	status             int // the status of responses whose Status is absent or 0
	hasStatus, hasBody bool
	headers            map[string][]int // from the header's name to the field's index
}

// outputOf returns the description of an output type, for responses with a status, by default 200,
// or 204 without a body; and the documentation of the response. The schemas of types without a name
// are named after the operation with the ID id.
func outputOf(t reflect.Type, status int, id string, schemas huma.Registry) (output, *huma.Response) {
	o, doc := output{headers: map[string][]int{}}, &huma.Response{Headers: map[string]*huma.Param{}}
	for _, f := range reflect.VisibleFields(t) {
		header := f.Tag.Get("header")
		switch {
		case header != "":
			o.headers[header] = f.Index
			if f.Type == reflect.TypeFor[http.Cookie]() {
				f.Type = reflect.TypeFor[string]()
			}
			doc.Headers[header] = &huma.Param{Schema: huma.SchemaFromField(schemas, f, id+header)}
		case f.Name == "Status":
			o.hasStatus = true
		case f.Name == "Body":
			o.hasBody = true
			if f.Type.Kind() != reflect.Func { // a function writes what the operation documents itself
				doc.Content = map[string]*huma.MediaType{"application/json": {
					Schema: huma.SchemaFromField(schemas, f, id+"Response")}}
			}
		}
	}
	o.status = http.StatusNoContent
	if o.hasBody {
		o.status = http.StatusOK
	}
	o.status = cmp.Or(status, o.status)
	doc.Description = http.StatusText(o.status)
	return o, doc
}

// write writes the headers of an output to the response, and returns the rest for huma: nil if
// there is no body.
func (o output) write(ctx context.Context, c huma.Context, out reflect.Value) *response {
	for name, index := range o.headers {
		text := ""
		switch value := out.FieldByIndex(index).Interface().(type) {
		case string:
			text = value
		case http.Cookie:
			text = value.String()
		}
		if text != "" {
			c.SetHeader(name, text)
		}
	}
	if !o.hasBody {
		return nil
	}
	r := &response{o.status, out.FieldByName("Body").Interface()}
	if write, ok := r.Body.(func(huma.Context)); ok {
		write(c)
		if b, ok := ctx.Value(bodyErrorKey{}).(*bodyErrorContext); ok {
			b.written = true
		}
		return nil
	}
	if o.hasStatus {
		r.Status = cmp.Or(int(out.FieldByName("Status").Int()), r.Status)
	}
	return r
}
