package model

import "github.com/hocket-run/hocket/internal/price"

// Window gives the size of a model's context window in tokens, 0 where the table of models does not know it. ref is a reference as ParseRef reads it.
func Window(ref string) int {
	r, err := ParseRef(ref)
	if err != nil {
		return 0
	}
	return price.Window(r.String())
}
