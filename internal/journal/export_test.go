package journal

// Of gives what is stored of a run, for tests that damage it.
func (m *Memory) Of(run string) (links *[]Link) {
	return &m.runs[run].links
}

// BlobData gives the stored bytes of a blob themselves.
func (m *Memory) BlobData(hash string) []byte {
	sum, _ := ParseHash(hash)
	return m.blobs[sum].data
}
