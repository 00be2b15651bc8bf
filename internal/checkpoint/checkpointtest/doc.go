// Package checkpointtest holds the suite that all checkpoint stores pass. It does not depend on how
// they store checkpoints.
package checkpointtest
