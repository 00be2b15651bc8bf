package errcode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code identifies one kind of error, such as `workflow-draft-only`. It never changes once released.
type Code string

// Fields are the values of an error by name. The field `meant` is a suggestion, such as `did you
// mean "x"?`, which follows the message. Values are strings, integers, floating-point numbers and
// lists of strings. They survive JSON: integers received from a server are float64 and lists are
// []any, but both render like the original values.
type Fields map[string]any

// Transport is one of the ways to use the program; each has its own wording of how to resolve an
// error.
type Transport int

const (
	// Command is the command line: hints name flags and verbs.
	Command Transport = iota
	// HTTP is the HTTP API: hints name routes and fields.
	HTTP
	// Tools is the MCP server: hints name tools and their arguments.
	Tools
)

// Entry is one row of the table.
type Entry struct {
	Code   Code
	Family Family
	// Message describes the problem. {name} is a placeholder for a field, {name:q} for a field in
	// quotation marks; {cause} is the text of the error's cause.
	Message string
	// Hints, by transport, say how to resolve the error, with placeholders for fields as in
	// Message; "" means there is nothing to add.
	Hints [3]string
	// Cause explains, for the reference, how the error comes about.
	Cause string
}

// Coded is an error with a code. The code is "" if the error has only a family.
type Coded interface {
	error
	Coded() (Code, Fields)
}

// Error is an error of the table. Its text is the message of the table, without a hint. Values are
// immutable after New.
type Error struct {
	Code   Code
	Fields Fields
	// Err is the cause; nil means none.
	Err error
	// text is the message as it was received; "" means the message of the table.
	text string
}

// New returns the error of a code. fields has a value for each placeholder in the message and hints
// of the code; cause may be nil.
func New(code Code, fields Fields, cause error) *Error {
	return &Error{Code: code, Fields: fields, Err: cause}
}

// Received returns an error reported by another process: with its text, and with the code and the
// fields from which this process builds the hint.
func Received(code Code, fields Fields, text string, cause error) *Error {
	return &Error{Code: code, Fields: fields, Err: cause, text: text}
}

func (e *Error) Error() string {
	if e.text != "" {
		return e.text
	}
	entry, ok := Find(e.Code)
	if !ok {
		return string(e.Code)
	}
	text := expand(entry.Message, e.Fields, e.Err)
	if meant, _ := e.Fields["meant"].(string); meant != "" {
		text += "; " + meant
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Coded implements Coded.
func (e *Error) Coded() (Code, Fields) { return e.Code, e.Fields }

// Of returns the code and the fields of an error: those of the outermost error of its chain that
// has a code. The code is "" if there is none.
func Of(err error) (Code, Fields) {
	for err != nil {
		c, ok := errors.AsType[Coded](err)
		if !ok {
			return "", nil
		}
		if code, fields := c.Coded(); code != "" {
			return code, fields
		}
		err = errors.Unwrap(c)
	}
	return "", nil
}

// Find returns the entry of a code, or false if there is none.
func Find(code Code) (Entry, bool) {
	e, ok := index()[code]
	return e, ok
}

// Message returns the message of a code with fields.
func Message(code Code, fields Fields) string {
	return expand(index()[code].Message, fields, nil)
}

// Hint returns how to resolve an error, in the terms of a transport; "" means there is nothing to
// add. On the command line, an error whose text already contains a suggestion (the field `meant`)
// has no hint.
func Hint(code Code, fields Fields, t Transport) string {
	if meant, _ := fields["meant"].(string); meant != "" && t == Command {
		return ""
	}
	return expand(index()[code].Hints[t], fields, nil)
}

// Text returns the text of an error for a transport: its own text, followed by the hint.
func Text(err error, t Transport) string {
	code, fields := Of(err)
	if hint := Hint(code, fields, t); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

// expand replaces the placeholders of a text with fields, in one pass: the content of a field is
// not scanned again.
func expand(text string, fields Fields, cause error) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		place, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String()
		}
		name, form, _ := strings.Cut(place, ":")
		if name == "cause" && cause != nil {
			b.WriteString(cause.Error())
		} else {
			b.WriteString(render(fields[name], form == "q"))
		}
		text = after
	}
}

func render(v any, quoted bool) string {
	switch v := v.(type) {
	case string:
		if quoted {
			return strconv.Quote(v)
		}
		return v
	case []string:
		list := make([]string, len(v))
		for i := range v {
			list[i] = render(v[i], quoted)
		}
		return strings.Join(list, ", ")
	case []any:
		list := make([]string, len(v))
		for i := range v {
			list[i] = render(v[i], quoted)
		}
		return strings.Join(list, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

// Places returns the names of the fields in a text of the table, in order.
func Places(text string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "{")
		place, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return out
		}
		name, _, _ := strings.Cut(place, ":")
		out, text = append(out, name), after
	}
}
