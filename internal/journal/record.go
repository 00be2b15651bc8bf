package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

const (
	// RecordVersion is the newest version of Record.Data that this program reads. A change to the
	// encoding of events increases it.
	RecordVersion = 2
)

// Record is what one activation adds to a run, or a part of it: events First to Last, encoded. All
// records of an activation are stored in one transaction, and none is ever changed.
type Record struct {
	// First and Last are the inclusive numbers of the events. First is the previous record's Last
	// plus one; the first record of a run has First 1. Last is not less than First.
	First, Last uint64
	// Version is the version of Data's encoding. In Append 0 means RecordVersion; Read never
	// returns 0.
	Version uint8
	// Data is opaque and not empty. A store copies it: the slice remains the caller's.
	Data []byte
}

// clone returns r with its own copy of the data and its version set.
func (r Record) clone() Record {
	r.Version, r.Data = cmp.Or(r.Version, RecordVersion), bytes.Clone(r.Data)
	return r
}

// Digest returns the SHA-256 of r's data. It is separate from [Sum.Next] so that it can be computed
// before it is known what r continues.
func (r Record) Digest() [sha256.Size]byte { return sha256.Sum256(r.Data) }

// Sum is the checksum of a journal up to and including one record: 128 bits of a SHA-256 over the
// previous sum and the record. It detects damage; it is no defense against anyone who can write to
// the store.
type Sum [16]byte

// Genesis returns the sum before the first record of run. The id is part of it, so that records of
// two runs cannot be swapped.
func Genesis(run string) Sum {
	h := sha256.Sum256([]byte("hocket journal\x00" + run))
	return Sum(h[:16])
}

// Next returns the sum after r, where digest is r.Digest().
func (s Sum) Next(r Record, digest [sha256.Size]byte) Sum {
	var b [16 + 1 + 8 + 8 + sha256.Size]byte
	copy(b[:], s[:])
	b[16] = r.Version
	binary.BigEndian.PutUint64(b[17:], r.First)
	binary.BigEndian.PutUint64(b[25:], r.Last)
	copy(b[33:], digest[:])
	h := sha256.Sum256(b[:])
	return Sum(h[:16])
}

// Link is a record as a store keeps it: with the sum computed when it was written.
type Link struct {
	Record
	Sum Sum
}

// VerifyChain verifies that links, in ascending order, continue the journal of run from event after
// and sum base, without a gap and up to exactly the event head and the sum headSum. It checks every
// version before any sum, since a newer format may compute sums differently.
//
// Errors: *NewerError, *CorruptError.
func VerifyChain(run string, after uint64, base Sum, links []Link, head uint64, headSum Sum) error {
	for _, l := range links {
		if l.Version > RecordVersion {
			return &NewerError{What: "record of run " + run, Have: RecordVersion, Found: int(l.Version)}
		}
	}
	seq, sum := after, base
	for _, l := range links {
		if l.First != seq+1 || l.Last < l.First {
			return &CorruptError{Run: run, Seq: seq + 1, Reason: "a record is missing"}
		}
		sum = sum.Next(l.Record, l.Digest())
		if sum != l.Sum {
			return &CorruptError{Run: run, Seq: l.First, Reason: "checksum does not match"}
		}
		seq = l.Last
	}
	switch {
	case seq < head:
		return &CorruptError{Run: run, Seq: seq + 1, Reason: "the last records are missing"}
	case seq > head:
		return &CorruptError{Run: run, Seq: head + 1, Reason: "there are records after the end"}
	case sum != headSum:
		return &CorruptError{Run: run, Seq: seq, Reason: "checksum does not match the head"}
	}
	return nil
}

// Blob is a value stored outside the records, addressed by its content: large values, definitions,
// attachments. A store keeps one copy of identical blobs across all runs, as long as any run holds
// it.
type Blob struct {
	// Hash is the name of the blob: [HashOf] of Data.
	Hash string
	// Data may be nil if the caller knows that the blob is stored: the run then holds the stored
	// one, or the append fails with ErrNotFound if there is none. An empty blob has Data that is
	// empty but not nil.
	Data []byte
	// sum is Hash as bytes if hashed is set: NewBlob computed it from Data.
	sum    [sha256.Size]byte
	hashed bool
}

// NewBlob returns a blob that holds data. It keeps the slice.
func NewBlob(data []byte) Blob {
	if data == nil {
		data = []byte{}
	}
	sum := sha256.Sum256(data)
	return Blob{Hash: hex.EncodeToString(sum[:]), Data: data, sum: sum, hashed: true}
}

// key returns the hash of a valid blob as bytes.
func (b *Blob) key() [sha256.Size]byte {
	if b.hashed {
		return b.sum
	}
	sum, _ := ParseHash(b.Hash) // checked by Validate
	return sum
}

// HashOf returns the name of a blob: the SHA-256 of its data in lower-case hexadecimal.
func HashOf(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// ParseHash parses the hexadecimal form of a hash; it rejects every other spelling, so that a blob
// has exactly one name.
func ParseHash(hash string) ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	if len(hash) != hex.EncodedLen(len(sum)) {
		return sum, errHash
	}
	if _, err := hex.Decode(sum[:], []byte(hash)); err != nil || hex.EncodeToString(sum[:]) != hash {
		return sum, errHash
	}
	return sum, nil
}

var errHash = errors.New("not the hash of a blob")
