// Package checkpointtest holds the suite that all stores of checkpoints pass. It refuses to know how they store.
package checkpointtest
