package expr

import "encoding/json"

// ParseInputText parses a text with expressions that may only use `$input`. Its results are those
// of [ParseInterpolation].
func ParseInputText(src string, c Compiler) (*Interpolation, []Problem) {
	return ParseInterpolation(src, Options{Steps: []Step{}, Vars: []string{VarInput}, Compiler: c})
}

// InputEnv returns the Env for expressions over `$input`.
func InputEnv(input json.RawMessage) Env { return EnvMap{"$" + VarInput: Entry{Output: input}} }
