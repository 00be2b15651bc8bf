package client

// Bound sets the maximum size of an answer in bytes.
func (r *Remote) Bound(bytes int64) { r.most = bytes }
