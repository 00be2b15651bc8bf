package hooks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// Vault encrypts secrets and signs links with the key of one store. It is safe for concurrent use.
type Vault struct {
	seal cipher.AEAD
	link []byte
}

// NewVault returns a Vault with the key of a store, or an error if the key has the wrong length.
func NewVault(key []byte) (*Vault, error) {
	sealing, err := hkdf.Key(sha256.New, key, nil, "hocket hooks seal", len(key))
	if err != nil {
		return nil, err
	}
	link, err := hkdf.Key(sha256.New, key, nil, "hocket hooks approve links", len(key))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Vault{aead, link}, nil
}

// Seal encrypts a secret of the object with this id.
func (v *Vault) Seal(id, text string) []byte {
	//nolint:gosec // the cipher makes the nonce itself, at random
	return v.seal.Seal(nil, nil, []byte(text),
		[]byte(id))
}

// Open is the inverse of Seal. The error reveals nothing about the secret.
func (v *Vault) Open(id string, sealed []byte) (string, error) {
	text, err := v.seal.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return "", fmt.Errorf("the secret of %s was sealed with another key; rotate it", id)
	}
	return string(text), nil
}
