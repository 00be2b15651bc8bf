package journal

// Of returns the stored links of a run, for tests that damage them.
func (m *Memory) Of(run string) (links *[]Link) {
	return &m.runs[run].links
}

// BlobData returns the stored bytes of a blob without copying them.
func (m *Memory) BlobData(hash string) []byte {
	sum, _ := ParseHash(hash)
	return m.blobs[sum].data
}
