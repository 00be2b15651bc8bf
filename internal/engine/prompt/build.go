package prompt

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/text"
)

// Builder builds one recipe. Its only state is that recipe.
type Builder struct {
	texts   *Texts
	outputs Outputs
	parts   []Part
	ends    []text.Text
	// sealed is the number of parts that must not be extended, since a stretch ends there.
	sealed int
	refers bool
}

// NewBuilder returns a Builder for a recipe that may refer to entries of outputs and texts.
func NewBuilder(texts *Texts, outputs Outputs) *Builder {
	return &Builder{texts: texts, outputs: outputs, ends: make([]text.Text, 1, 8)}
}

// Text returns the text built so far.
func (b *Builder) Text() text.Text { return b.ends[len(b.ends)-1] }

// Literal appends a literal.
func (b *Builder) Literal(s string) {
	if s == "" {
		return
	}
	if n := len(b.parts); n > b.sealed && b.parts[n-1].Text != "" {
		s = b.parts[n-1].Text + s
		b.parts, b.ends = b.parts[:n-1], b.ends[:n]
	}
	b.add(Part{Text: s}, text.Of(s))
}

// Output appends the output of a step, the run's input if step is 0, or the item of a scope if step
// is negative. It appends nothing if that text is empty.
func (b *Builder) Output(step int) {
	one, ended := b.outputs(step)
	if !ended || one.IsZero() {
		return
	}
	b.refers = true
	b.add(Part{Input: step == 0, Step: step}, one)
}

func (b *Builder) add(p Part, one text.Text) {
	b.parts, b.ends = append(b.parts, p), append(b.ends, b.Text().Append(one))
}

// appendStretch appends the first parts of another step's recipe; one is their text.
func (b *Builder) appendStretch(step, parts int, one text.Text) {
	b.refers = true
	b.add(Part{Step: step, Parts: parts}, one)
}

// seal seals the parts so far and returns their number.
func (b *Builder) seal() int {
	b.sealed = len(b.parts)
	return b.sealed
}

// Lone returns the step whose output makes up the whole recipe, 0 for the run's input, or false if
// the recipe contains anything else.
func (b *Builder) Lone() (step int, ok bool) {
	if len(b.parts) != 1 || b.parts[0].Text != "" || b.parts[0].Parts != 0 {
		return 0, false
	}
	return b.parts[0].Step, true
}

// Recipe returns the recipe, or nil if it refers to nothing, in which case Text is sufficient.
// Errors: [ErrTooLarge].
func (b *Builder) Recipe() (*Recipe, error) {
	t := b.Text()
	if t.Len() > MaxBytes {
		return nil, ErrTooLarge
	}
	if !b.refers {
		return nil, nil
	}
	sum := t.Sum()
	return &Recipe{Parts: b.parts, Bytes: t.Len(), SHA256: hex.EncodeToString(sum[:])}, nil
}

// Keep has the effect of [Texts.Add] with r if r is the recipe that the builder has built;
// otherwise it does nothing and returns false.
func (b *Builder) Keep(step int, r *Recipe) bool {
	if r.Bytes != b.Text().Len() || !slices.Equal(r.Parts, b.parts) {
		return false
	}
	b.texts.keep(step, b.ends)
	return true
}

// Template appends s with tokens replaced: an output for each token of outputs, a literal for each
// token of literals. Inserted text is not scanned again.
func Template(b *Builder, s string, outputs map[string]int, literals map[string]string) {
	for s != "" {
		at, token := len(s), ""
		find := func(one string) {
			if i := strings.Index(s, one); i >= 0 && i < at {
				at, token = i, one
			}
		}
		for one := range outputs { // tokens do not overlap: order is irrelevant
			find(one)
		}
		for one := range literals {
			find(one)
		}
		b.Literal(s[:at])
		if step, ok := outputs[token]; ok {
			b.Output(step)
		}
		b.Literal(literals[token])
		s = s[min(len(s), at+len(token)):]
	}
}

// Turn is one turn of an agent as displayed by [Turns].
type Turn struct {
	Speaker string
	Step    int
}

// Turns appends an instruction, the turns (oldest first) and the output of the last one (S1-3). If
// there are no turns, it appends the run's input, and if that is empty too, noInput.
func Turns(b *Builder, instruction string, turns []Turn, noInput string) {
	if strings.TrimSpace(instruction) != "" {
		b.Literal(instruction)
	}
	Recent(b, turns, noInput)
}

// Recent appends what [Turns] appends after the instruction, which b already contains.
func Recent(b *Builder, turns []Turn, noInput string) {
	gap := ""
	if !b.Text().IsBlank() {
		gap = "\n\n"
	}
	if len(turns) == 0 {
		switch input, _ := b.outputs(0); {
		case !input.IsBlank():
			b.Literal(gap)
			b.Output(0)
		case gap == "":
			b.Literal(noInput)
		}
		return
	}
	b.Literal(gap + "Recent turns:")
	for _, t := range turns {
		b.Literal("\n" + t.Speaker + ": ")
		b.Output(t.Step)
	}
	last := turns[len(turns)-1]
	b.Literal("\n\nOutput from " + last.Speaker + ":\n")
	b.Output(last.Step)
}
