package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of labels: how many a workflow or run has, how many of Hocket's own a run has beside them, and the bytes of a key and of a value.
const (
	MaxLabels     = 32
	MaxOwnLabels  = 8
	MaxLabelKey   = 63
	MaxLabelValue = 128
)

// OwnLabels is the beginning of the keys of Hocket's own labels: what its programs say of a run, such as hocket/test-run of test runs. Documents have none of them, so that a run has
// room for them whatever its workflow says.
const OwnLabels = "hocket/"

// Labels are texts by which runs are found: what a person or program says of a workflow or a run. Nil and empty are the same.
//
// A key has letters, digits, and inside of it `.`, `_`, `-` and `/`, all of ASCII. A value is a text that can be printed, without a comma and without space around it; it may be empty.
type Labels map[string]string

// Check tells what is no label; nil: all are. The first problem in the order of the keys is given.
func (l Labels) Check() error {
	switch own := l.own(); {
	case len(l)-own > MaxLabels:
		return fmt.Errorf("%d labels, at most %d are possible", len(l)-own, MaxLabels)
	case own > MaxOwnLabels:
		return fmt.Errorf("%d labels that begin with %s, at most %d are possible", own, OwnLabels, MaxOwnLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(l)) {
		if err := CheckLabelKey(key); err != nil {
			return err
		}
		if err := CheckLabelValue(key, l[key]); err != nil {
			return err
		}
	}
	return nil
}

// With gives l with the labels of over, which win. Both stay as they are.
func (l Labels) With(over Labels) Labels {
	if len(l)+len(over) == 0 {
		return nil
	}
	all := make(Labels, len(l)+len(over))
	maps.Copy(all, l)
	maps.Copy(all, over)
	return all
}

// Below gives the labels of a run with the labels l below one with the labels above: those of above, by which all runs of a tree are found, and of l as many, in the
// order of their keys, as a run can have. Both stay as they are.
func (l Labels) Below(above Labels) Labels {
	all := Labels(nil).With(above)
	own := all.own()
	others := len(all) - own
	for _, key := range slices.Sorted(maps.Keys(l)) {
		count, most := &others, MaxLabels
		if IsOwnLabel(key) {
			count, most = &own, MaxOwnLabels
		}
		if _, taken := all[key]; taken || *count >= most {
			continue
		}
		if all == nil {
			all = Labels{}
		}
		all[key] = l[key]
		*count++
	}
	return all
}

// own counts Hocket's own labels.
func (l Labels) own() int {
	n := 0
	for key := range l {
		if IsOwnLabel(key) {
			n++
		}
	}
	return n
}

// IsOwnLabel tells whether key is that of one of Hocket's own labels.
func IsOwnLabel(key string) bool { return strings.HasPrefix(key, OwnLabels) }

// CheckLabelKey tells why key is none of a label.
func CheckLabelKey(key string) error {
	isInner := func(c byte) bool { return c == '.' || c == '_' || c == '-' || c == '/' }
	for i := range len(key) {
		c := key[i]
		isAlnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isAlnum && (!isInner(c) || i == 0 || i == len(key)-1) {
			return fmt.Errorf("label key %q has other characters than letters, digits and, between them, . _ - /", clip(key))
		}
	}
	switch {
	case key == "":
		return errors.New("a label has no key")
	case len(key) > MaxLabelKey:
		return fmt.Errorf("label key %q has %d bytes, at most %d are possible", clip(key), len(key), MaxLabelKey)
	}
	return nil
}

// CheckLabelValue tells why value is none of a label.
func CheckLabelValue(key, value string) error {
	switch {
	case len(value) > MaxLabelValue:
		return fmt.Errorf("the value of label %s has %d bytes, at most %d are possible", key, len(value), MaxLabelValue)
	case !utf8.ValidString(value), strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the value of label %s has characters that cannot be printed", key)
	case strings.Contains(value, ","):
		return fmt.Errorf("the value of label %s has a comma", key)
	case strings.TrimSpace(value) != value:
		return fmt.Errorf("the value of label %s has space around it", key)
	}
	return nil
}

// clip gives so much of a text as an error shows.
func clip(s string) string {
	if len(s) > MaxLabelKey {
		return strings.ToValidUTF8(s[:MaxLabelKey], "") + "…"
	}
	return s
}
