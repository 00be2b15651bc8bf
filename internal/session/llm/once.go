package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// maxPrefix leaves room for what follows a session's key, within the 256 bytes of a key of graph.Once.
const maxPrefix = 120

// keyPrefix gives what the keys of a session begin with: its key, or a digest of one that is too long.
func keyPrefix(key string) string {
	if len(key) <= maxPrefix {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:40] + "-" + hex.EncodeToString(sum[:8])
}

// stepKey names sub-step n of a kind. What is asked is part of the key: an attempt that asks something else must not be given the old answer.
func stepKey(prefix, kind string, n int, asked [sha256.Size]byte) string {
	return fmt.Sprintf("%s/%s/%d-%s", prefix, kind, n, hex.EncodeToString(asked[:8]))
}

// digest tells values from one another by their JSON.
func digest(values ...any) (sum [sha256.Size]byte) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			fmt.Fprintf(h, "%#v", v) // what is no JSON still tells itself from others
		}
	}
	h.Sum(sum[:0])
	return sum
}
