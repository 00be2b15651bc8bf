package expr

import "encoding/json"

// ParseInputText reads a text with expressions over `$input` alone. It is as with [ParseInterpolation].
func ParseInputText(src string, c Compiler) (*Interpolation, []Problem) {
	return ParseInterpolation(src, Options{Steps: []Step{}, Vars: []string{VarInput}, Compiler: c})
}

// InputEnv is what expressions over `$input` read.
func InputEnv(input json.RawMessage) Env { return EnvMap{"$" + VarInput: Entry{Output: input}} }
