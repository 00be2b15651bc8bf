package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// maxPrefix leaves room for the rest of the key after a session's key, within the 256 bytes of a
// graph.Once key.
const maxPrefix = 120

// keyPrefix returns the prefix of a session's keys: the session's key, or a digest if the key is
// too long.
func keyPrefix(key string) string {
	if len(key) <= maxPrefix {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:40] + "-" + hex.EncodeToString(sum[:8])
}

// stepKey returns the key of sub-step n of a kind. The request is part of the key, because an
// attempt with a different request must not receive the old answer.
func stepKey(prefix, kind string, n int, asked [sha256.Size]byte) string {
	return fmt.Sprintf("%s/%s/%d-%s", prefix, kind, n, hex.EncodeToString(asked[:8]))
}

// digest returns a hash of the values, computed from their JSON.
func digest(values ...any) (sum [sha256.Size]byte) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			fmt.Fprintf(h, "%#v", v) // a value without JSON must still have a distinct digest
		}
	}
	h.Sum(sum[:0])
	return sum
}
