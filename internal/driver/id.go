package driver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
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
