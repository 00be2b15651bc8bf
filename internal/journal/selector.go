package journal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// SelectorOp is the condition that a Selector checks on a run or workflow.
type SelectorOp int

const (
	// LabelIs requires the label with this value.
	LabelIs SelectorOp = iota
	// LabelIsNot requires that the label is missing or has another value.
	LabelIsNot
	// LabelExists requires the label, with any value.
	LabelExists
	// LabelMissing requires that the label is missing.
	LabelMissing
)

// Selector selects runs and workflows by one label. Its string form is `key=value`, `key!=value`,
// `key` or `!key`.
type Selector struct {
	Key   string
	Op    SelectorOp
	Value string
}

// MaxSelectors is the maximum number of selectors in a list.
const MaxSelectors = workflow.MaxLabels

// ParseSelectors parses selectors. A string may hold several, separated by commas. Errors name the
// invalid selector, or the limit.
func ParseSelectors(texts []string) ([]Selector, error) {
	var all []Selector
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ",") {
			s, err := parseSelector(strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			if all = append(all, s); len(all) > MaxSelectors {
				return nil, fmt.Errorf("more than %d label selectors", MaxSelectors)
			}
		}
	}
	return all, nil
}

func parseSelector(text string) (s Selector, err error) {
	key, value, hasValue := strings.Cut(text, "=")
	switch {
	case hasValue && strings.HasSuffix(key, "!"):
		s = Selector{strings.TrimSpace(key[:len(key)-1]), LabelIsNot, strings.TrimSpace(value)}
	case hasValue:
		s = Selector{strings.TrimSpace(key), LabelIs, strings.TrimSpace(value)}
	case strings.HasPrefix(text, "!"):
		s = Selector{Key: strings.TrimSpace(text[1:]), Op: LabelMissing}
	default:
		s = Selector{Key: text, Op: LabelExists}
	}
	if err := workflow.CheckLabelKey(s.Key); err != nil {
		return s, fmt.Errorf("label selector %q: %w", text, err)
	}
	if err := workflow.CheckLabelValue(s.Key, s.Value); err != nil {
		return s, fmt.Errorf("label selector %q: %w", text, err)
	}
	return s, nil
}

// String returns the string form of s.
func (s Selector) String() string {
	switch s.Op {
	case LabelIsNot:
		return s.Key + "!=" + s.Value
	case LabelExists:
		return s.Key
	case LabelMissing:
		return "!" + s.Key
	}
	return s.Key + "=" + s.Value
}

// Selected reports whether labels match all selectors in by.
func Selected(by []Selector, labels map[string]string) bool {
	return !slices.ContainsFunc(by, func(s Selector) bool { return !s.Matches(labels) })
}

// Matches reports whether labels match s.
func (s Selector) Matches(labels map[string]string) bool {
	v, has := labels[s.Key]
	switch s.Op {
	case LabelIsNot:
		return !has || v != s.Value
	case LabelExists:
		return has
	case LabelMissing:
		return !has
	}
	return has && v == s.Value
}
