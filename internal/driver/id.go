package driver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"time"
	"unicode/utf8"
)

// NewRunID makes the id of a run: 26 characters that sort by time, 48 bits of milliseconds and 80 random ones.
//
// Source: the ULID specification, https://github.com/ulid/spec.
func NewRunID(now time.Time) string {
	var b [20]byte // 160 bits: the first 30 are not of the id, so that the rest is a whole number of characters
	binary.BigEndian.PutUint64(b[2:], uint64(now.UnixMilli()))
	rand.Read(b[10:])
	var text [32]byte
	crockford.Encode(text[:], b[:])
	return string(text[6:])
}

// crockford is the alphabet of ULIDs, without the letters that look like digits.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// DerivedRunID makes the id of a run that two makers must give the same id: the time of at, and a digest of at and parts in place of what is
// random otherwise.
func DerivedRunID(at time.Time, parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{at.UTC().Format(time.RFC3339Nano)}, parts...) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(p))) // a digest takes everything
		h.Write([]byte(p))
	}
	var b [20]byte
	binary.BigEndian.PutUint64(b[2:], uint64(at.UnixMilli()))
	copy(b[10:], h.Sum(nil))
	var text [32]byte
	crockford.Encode(text[:], b[:])
	return string(text[6:])
}

// KeyedRunID makes the id of the run that was asked for with a key. It has as many characters as the others and sorts behind them all: nothing in it is a time,
// so that a request which is made again, whenever that is, names the same run.
func KeyedRunID(key string) string {
	h := sha256.Sum256([]byte("hocket start\x00" + key))
	return "K" + crockford.EncodeToString(h[:20])[:25]
}

// MaxRunID is the length that ids of runs have at most, in bytes.
const MaxRunID = 200

// plainName matches what the id of a child run may hold as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._#-]{1,64}$`)

// ChildRunID makes the id of the run that parent starts for one piece of work. The same work has the same id, so that a call which is made again after a crash finds the run
// that it began (P12).
//
// It is `PARENT.NAME` where name is plain and there is room for it, and otherwise `PARENT.DIGEST` with 20 hexadecimal digits of the SHA-256 of key. name tells the work from others of
// parent, "" for none; key tells it from all others in the store, and is needed. A parent without room for a digest is cut.
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
