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

// Limits of labels: how many a workflow or run has, how many of Hocket's own labels a run has in
// addition, and the length in bytes of a key and of a value.
const (
	MaxLabels     = 32
	MaxOwnLabels  = 8
	MaxLabelKey   = 63
	MaxLabelValue = 128
)

// OwnLabels is the prefix of the keys of Hocket's own labels, which its programs set on runs, such
// as hocket/test-run on test runs. Documents cannot set them, so a run has room for them whatever
// labels its workflow has.
const OwnLabels = "hocket/"

// Labels are strings by which runs are found, set by a person or program on a workflow or a run.
// Nil and empty are the same.
//
// A key consists of ASCII letters, digits and, not at the ends, `.`, `_`, `-` and `/`. A value is a
// printable string without a comma and without surrounding white space; it may be empty.
type Labels map[string]string

// Check returns an error for the first invalid label in the order of the keys, or nil if all are
// valid.
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

// With returns the labels of l and over; those of over take precedence. Neither is modified.
func (l Labels) With(over Labels) Labels {
	if len(l)+len(over) == 0 {
		return nil
	}
	all := make(Labels, len(l)+len(over))
	maps.Copy(all, l)
	maps.Copy(all, over)
	return all
}

// Below returns the labels of a child run with labels l whose parent run has the labels above: all
// labels of the parent, by which all runs of a tree are found, and as many of l, in the order of
// their keys, as a run can have. Neither is modified.
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

// own returns the number of Hocket's own labels.
func (l Labels) own() int {
	n := 0
	for key := range l {
		if IsOwnLabel(key) {
			n++
		}
	}
	return n
}

// IsOwnLabel reports whether key is the key of one of Hocket's own labels.
func IsOwnLabel(key string) bool { return strings.HasPrefix(key, OwnLabels) }

// CheckLabelKey returns an error if key is not a valid label key.
func CheckLabelKey(key string) error {
	isInner := func(c byte) bool { return c == '.' || c == '_' || c == '-' || c == '/' }
	for i := range len(key) {
		c := key[i]
		isAlnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isAlnum && (!isInner(c) || i == 0 || i == len(key)-1) {
			return fmt.Errorf("label key %q has other characters than letters, digits and, between them, . _ - /",
				clip(key))
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

// CheckLabelValue returns an error if value is not a valid label value.
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

// clip shortens a string to the length shown in an error.
func clip(s string) string {
	if len(s) > MaxLabelKey {
		return strings.ToValidUTF8(s[:MaxLabelKey], "") + "…"
	}
	return s
}
