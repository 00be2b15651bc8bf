package journal

import (
	"bytes"
	"context"
	"fmt"
)

// Each implements Log.
func (h *memHandle) Each(ctx context.Context, run string, after uint64, take func(Record) error) error {
	links, err := h.links(ctx, run, after)
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := take(l.clone()); err != nil {
			return err
		}
	}
	return nil
}

// Part implements Log.
func (h *memHandle) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	sum, err := ParseHash(hash)
	if err != nil {
		return nil, 0, fmt.Errorf("read blob %q: %w", hash, ErrNotFound)
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	b := h.m.blobs[sum]
	if b == nil {
		return nil, 0, fmt.Errorf("read blob %s: %w", hash, ErrNotFound)
	}
	size := int64(len(b.data))
	offset = min(offset, size)
	return bytes.Clone(b.data[offset:min(size, offset+int64(n))]), size, nil
}
