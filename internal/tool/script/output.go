package script

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
)

// output builds the result of a script that succeeded and declares its output. Output that is too
// long, or that is not JSON although JSON was declared, is a failure of the tool. A model reads
// only the start of a long text.
func output(res tool.Result, kind string) (tool.Result, error) {
	var a command.Answer
	if err := json.Unmarshal(res.Structured, &a); err != nil {
		return tool.Result{}, fmt.Errorf("read the result of a program: %w", err)
	}
	short := res.Text
	if len(short) > command.DefaultBytes {
		short = fmt.Sprintf("%s\n[truncated: the output has %d bytes]",
			strings.ToValidUTF8(short[:command.DefaultBytes], ""), len(res.Text))
	}
	failed := func(format string, args ...any) (tool.Result, error) {
		return tool.Result{Text: "the script ran, but " + fmt.Sprintf(format, args...) + "\n" + short, IsError: true,
			Structured: res.Structured}, nil
	}
	if a.Dropped > 0 {
		return failed("its output is longer than the limit of %d bytes", maxOutputBytes)
	}
	text := strings.TrimRight(a.Stdout, "\r\n")
	if kind == tool.OutputText {
		b, err := json.Marshal(text)
		return tool.Result{Text: short, Structured: b}, err
	}
	if value := []byte(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))); json.Valid(value) {
		return tool.Result{Text: short, Structured: value}, nil
	}
	return failed("its output is not one JSON value, as output: json says")
}
