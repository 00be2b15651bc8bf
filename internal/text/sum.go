package text

import (
	"crypto/sha256"
	"hash"
	"slices"
)

// state is the hash of all bytes up to the end of a node. It is cloned, never written to.
type state struct{ hash.Cloner }

// markBytes is the distance between the states that a rope keeps: each takes about 150 bytes.
const markBytes = 1 << 10

// Sum returns the SHA-256 of the text. It continues from the hash state in the part that the text
// shares with one whose Sum was computed: the sums of n texts, each the previous one with something
// appended, take time proportional to the longest of them.
func (t Text) Sum() [sha256.Size]byte {
	if t.n == nil {
		return sha256.Sum256([]byte(t.s))
	}
	var todo []*node
	n := t.n
	for ; n != nil && n.mark.Load() == nil; n = n.left {
		todo = append(todo, n)
	}
	h := sha256.New()
	if n != nil {
		h = clone(n.mark.Load().Cloner)
	}
	var buf [512]byte
	since := int64(0)
	for _, n := range slices.Backward(todo) {
		for s := range n.own().Chunks() {
			since += int64(len(s))
			for s != "" {
				k := copy(buf[:], s)
				h.Write(buf[:k])
				s = s[k:]
			}
		}
		if since >= markBytes {
			n.mark.Store(&state{clone(h)})
			since = 0
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// own returns the content of a node without what comes before it.
func (n *node) own() Text {
	if n.stored != nil {
		return n.stored.Text()
	}
	return Text{s: n.lit, n: n.sub}
}

// clone copies the state of a SHA-256.
func clone(h hash.Hash) hash.Cloner {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic("text: SHA-256 cannot be cloned: " + err.Error()) // crypto/sha256 documents that it can
	}
	return c
}
