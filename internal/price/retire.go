package price

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// CodeRetired is the code of warnings about models that are, or will be, retired.
const CodeRetired = "model-retired"

//go:embed retirements.yaml
var embeddedRetirements []byte

// Retirement says when a provider stops to serve a model.
type Retirement struct {
	// On is the day, in UTC.
	On time.Time
	// Instead is the model that the provider suggests, with its provider; "" where it suggests none.
	Instead string
}

type retirement struct {
	patterns []string
	Retirement
}

// retirements are those that come with Hocket.
var retirements = sync.OnceValue(func() []retirement {
	list, problems := parseRetirements("retirements.yaml", embeddedRetirements)
	if problems.HasErrors() {
		return nil // a test keeps the file readable
	}
	return list
})

func parseRetirements(file string, data []byte) ([]retirement, diag.List) {
	root, diags := source.Parse(file, data)
	top := root.Fields(&diags)
	if top == nil {
		return nil, diags
	}
	var list []retirement
	top.Text("asOf")
	items, _ := top.RequireList("retirements")
	for _, item := range items {
		f := item.Fields(&diags)
		if f == nil {
			continue
		}
		r := retirement{patterns: f.Strs("models"), Retirement: Retirement{Instead: f.Text("instead")}}
		on, err := time.Parse(time.DateOnly, f.Text("on"))
		if err != nil || len(r.patterns) == 0 {
			diags.Errorf(f.Node().Span, f.Node().Path(), CodeBadPrice, "an entry has models, and the day as YYYY-MM-DD")
		}
		r.On = on
		f.Unknown(diag.Error)
		list = append(list, r)
	}
	top.Unknown(diag.Error)
	return list, diags
}

// Retires tells when the model that ref names in full (`provider/model`) is retired; false where no date is known.
func Retires(ref string) (Retirement, bool) {
	ref = strings.ToLower(ref)
	for _, r := range retirements() {
		for _, p := range r.patterns {
			if matches(p, ref) {
				return r.Retirement, true
			}
		}
	}
	return Retirement{}, false
}

// Text says that a model is, or will be, retired. ref is the model, now the present time.
func (r Retirement) Text(ref string, now time.Time) string {
	text := fmt.Sprintf("the provider retires the model %s on %s", ref, r.On.Format(time.DateOnly))
	if !now.Before(r.On) {
		text = fmt.Sprintf("the provider retired the model %s on %s", ref, r.On.Format(time.DateOnly))
	}
	if r.Instead != "" {
		text += "; it suggests " + r.Instead
	}
	return text
}
