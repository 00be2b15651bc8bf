package prompt

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/text"
)

// MaxBytes is the maximum size of the text of one recipe.
const MaxBytes = 64 << 20

// ErrTooLarge is returned when the text of a recipe would exceed [MaxBytes].
var ErrTooLarge = fmt.Errorf("the text would exceed the limit of %d MB for one assembled value", MaxBytes>>20)

// Recipe describes how a text is composed. It is immutable.
type Recipe struct {
	// Parts are concatenated in order. A stored recipe has at least one.
	Parts []Part `json:"parts"`
	// Bytes is the length of the text, SHA256 its hash in lower-case hexadecimal.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Part is one piece of a recipe: exactly one of a literal, the run's input, the output of a step,
// or a stretch of a step's recipe.
type Part struct {
	// Text is the literal.
	Text string `json:"text,omitempty"`
	// Input selects the text of the run's input.
	Input bool `json:"input,omitempty"`
	// Step selects the text of the output of that step; with Parts it selects a stretch, the first
	// Parts parts of that step's recipe. A negative Step selects the item of the scope -Step.
	Step  int `json:"step,omitempty"`
	Parts int `json:"parts,omitempty"`
}

// Size returns how much a recipe counts toward stored bytes: its literals, and a little for each
// part.
func (r *Recipe) Size() int {
	if r == nil {
		return 0
	}
	n := 0
	for i := range r.Parts {
		n += partBytes + len(r.Parts[i].Text)
	}
	return n
}

// partBytes is the approximate size of a part in addition to its literal.
const partBytes = 16

// Outputs returns the text of the output of a step, of the run's input if step is 0, or of the item
// of a scope if step is negative; false for a step that has not ended.
type Outputs func(step int) (text.Text, bool)

// OfJSON returns the text of a JSON value: a string is decoded, null and a missing value are empty,
// anything else is its compact JSON with numbers as they were written. Bytes that are not JSON are
// used as they are.
func OfJSON(v json.RawMessage) text.Text { return text.Of(expr.Text(v)) }

// Texts holds the texts of the recipes of one run. The zero Texts is empty. It is not safe for
// concurrent use.
type Texts struct {
	// Short reports that long texts are replaced by short references to them, so that lengths are
	// not compared.
	Short bool
	// made maps a step to the texts of the first n parts of its recipe, at index n.
	made map[int][]text.Text
}

// Of returns the text of a step's recipe, or false if it has none.
func (t *Texts) Of(step int) (text.Text, bool) {
	ends := t.made[step]
	if ends == nil {
		return text.Text{}, false
	}
	return ends[len(ends)-1], true
}

// Add builds the text of the recipe of step from outputs, and stores it. step must be greater than
// all steps added before, and the recipe must have passed Check.
func (t *Texts) Add(step int, r *Recipe, outputs Outputs) {
	ends := make([]text.Text, 1, len(r.Parts)+1)
	for i := range r.Parts {
		one, err := t.part(step, &r.Parts[i], outputs)
		if err != nil {
			return
		}
		ends = append(ends, ends[i].Append(one))
	}
	t.keep(step, ends)
}

// Check returns an error if no [Builder] can have built the recipe. It changes nothing.
func (t *Texts) Check(step int, r *Recipe, outputs Outputs) error {
	if len(r.Parts) == 0 {
		return errors.New("a recipe without parts")
	}
	size := int64(0)
	for i := range r.Parts {
		one, err := t.part(step, &r.Parts[i], outputs)
		if err != nil {
			return fmt.Errorf("part %d of a recipe: %w", i, err)
		}
		if size += one.Len(); size > MaxBytes {
			return ErrTooLarge
		}
	}
	if !t.Short && size != r.Bytes {
		return fmt.Errorf("a recipe gives %d bytes, not %d", size, r.Bytes)
	}
	return nil
}

// Forget drops the text of a step's recipe that no later text is built from.
func (t *Texts) Forget(step int) { delete(t.made, step) }

func (t *Texts) keep(step int, ends []text.Text) {
	if t.made == nil {
		t.made = map[int][]text.Text{}
	}
	t.made[step] = ends
}

// part returns the text of one part of the recipe of step.
func (t *Texts) part(step int, p *Part, outputs Outputs) (text.Text, error) {
	switch {
	case p.Text != "" && *p == Part{Text: p.Text}:
		return text.Of(p.Text), nil
	case *p == Part{Input: true}:
		one, _ := outputs(0)
		return one, nil
	case p.Text != "" || p.Input || p.Step == 0 || p.Parts < 0 || p.Step < 0 && p.Parts > 0:
		return text.Text{}, errors.New("it is none of a literal, the input, an output and a stretch")
	case p.Step >= step:
		return text.Text{}, fmt.Errorf("step %d is not below step %d", p.Step, step)
	case p.Parts > 0:
		ends := t.made[p.Step]
		if p.Parts >= len(ends) {
			return text.Text{}, fmt.Errorf("step %d has no recipe of %d parts", p.Step, p.Parts)
		}
		return ends[p.Parts], nil
	}
	one, ended := outputs(p.Step)
	if !ended {
		return text.Text{}, fmt.Errorf("step %d has not ended", p.Step)
	}
	return one, nil
}

// Check returns an error if t does not match the recipe.
func (r *Recipe) Check(t text.Text) error {
	if sum := t.Sum(); hex.EncodeToString(sum[:]) != r.SHA256 {
		return errors.New("the SHA-256 of a recipe's text is another one")
	}
	return nil
}
