package adapter

import "reflect"

// Answers describes the answers that an adapter expects. internal/cmd/live compares real ones with it.
type Answers struct {
	// Types are those into which an event of a stream, or a whole answer, is read.
	Types []reflect.Type
	// Extra are fields that are read although the types do not have them, as dotted paths without indices.
	Extra []string
	// Words are the known values of enumerated fields, by path.
	Words map[string][]string
	// Texts are the paths of pieces of text.
	Texts []string
	// Usage is the name of the field of the usage, wherever it stands.
	Usage string
	// End is the last event of a stream, or the type of it; "": there is no such event.
	End string
}
