package driver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// NewRunID returns a new run id: 26 characters that sort by time, with 48 bits of milliseconds and
// 80 random bits.
//
// Source: the ULID specification, https://github.com/ulid/spec.
func NewRunID(now time.Time) string {
	var b [20]byte // 160 bits; the first 30 are not part of the id, so that the rest is a whole number of characters
	binary.BigEndian.PutUint64(b[2:], uint64(now.UnixMilli()))
	rand.Read(b[10:])
	var text [32]byte
	crockford.Encode(text[:], b[:])
	return string(text[6:])
}

// crockford encodes with the alphabet of ULIDs, which excludes letters that look like digits.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// DerivedRunID returns the id of a run to which two processes must assign the same id: the time at,
// with a digest of at and parts in place of the random bits.
func DerivedRunID(at time.Time, parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{at.UTC().Format(time.RFC3339Nano)}, parts...) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(p))) // writing to a hash never fails
		h.Write([]byte(p))
	}
	var b [20]byte
	binary.BigEndian.PutUint64(b[2:], uint64(at.UnixMilli()))
	copy(b[10:], h.Sum(nil))
	var text [32]byte
	crockford.Encode(text[:], b[:])
	return string(text[6:])
}

// KeyedRunID returns the id of the run that was requested with a key. It has as many characters as
// other ids and sorts after all of them: it contains no time, so a request that is repeated at any
// time names the same run.
func KeyedRunID(key string) string {
	h := sha256.Sum256([]byte("hocket start\x00" + key))
	return "K" + crockford.EncodeToString(h[:20])[:25]
}

// MaxRunID is the maximum length of run ids in bytes.
const MaxRunID = 200

// plainName matches names that the id of a child run may contain unchanged.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._#-]{1,64}$`)

// ChildRunID returns the id of the run that parent starts for one piece of work. The same work has
// the same id, so a call that is repeated after a crash finds the run that it started (P12).
//
// The id is `PARENT.NAME` if name is plain and fits, and otherwise `PARENT.DIGEST` with 20
// hexadecimal digits of the SHA-256 of key. name distinguishes the work from other work of parent,
// and is "" if there is no name; key distinguishes it from all other work in the store, and is
// required. A parent that leaves no room for a digest is truncated.
func ChildRunID(parent, name, key string) string {
	if plainName.MatchString(name) && len(parent)+1+len(name) <= MaxRunID {
		return parent + "." + name
	}
	sum := sha256.Sum256([]byte(key))
	digest := "." + hex.EncodeToString(sum[:10])
	n := min(len(parent), MaxRunID-len(digest))
	for n > 0 && n < len(parent) && !utf8.RuneStart(parent[n]) {
		n--
	}
	return parent[:n] + digest
}

// digestName matches what takes the place of the name in the id of a child run without one.
var digestName = regexp.MustCompile(`^[0-9a-f]{20}$`)

// ChildName returns the name in the id of a child run of parent. It returns false if the id has a
// digest instead.
func ChildName(parent, child string) (name string, ok bool) {
	name, ok = strings.CutPrefix(child, parent+".")
	return name, ok && plainName.MatchString(name) && !digestName.MatchString(name)
}
