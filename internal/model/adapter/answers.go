package adapter

import "reflect"

// Answers describes the responses that an adapter expects. internal/cmd/live compares real
// responses with it.
type Answers struct {
	// Types are the types into which an event of a stream, or a whole response, is decoded.
	Types []reflect.Type
	// Extra are fields that are read although the types do not have them, as dotted paths without
	// indices.
	Extra []string
	// Words are the known values of enumerated fields, by path.
	Words map[string][]string
	// Texts are the paths of the text chunks.
	Texts []string
	// Usage is the name of the usage field, wherever it occurs.
	Usage string
	// End is the last event of a stream, or its type; "" means there is no such event.
	End string
}
